"""Sessions: listeners, sub-agents, history, watching."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from headway import Event, HeadwayError, Session, Todo, TodoNotFound
from headway.core.events import ListDelta
from headway.core.model import CompletionLog
from headway.store.memory import MemoryStore

from .samples import PLAN, Clock, in_memory, items


def counting(heard: list[int]) -> Callable[[list[Todo]], None]:
    """A listener that notes how many items it heard of."""

    def note(todos: list[Todo]) -> None:
        heard.append(len(todos))

    return note


def test_a_listener_hears_the_full_list_after_every_change(session: Session) -> None:
    heard: list[list[Todo]] = []
    session.on("todos:update", heard.append)
    session.write(items("A", "B"))
    session.update("t2", status="completed")
    session.undo()
    session.clear()
    assert [[(todo.id, todo.status) for todo in todos] for todos in heard] == [
        [("t1", "pending"), ("t2", "pending")],
        [("t1", "pending"), ("t2", "completed")],
        [("t1", "pending"), ("t2", "pending")],
        [],
    ]


def test_a_listener_is_not_told_of_what_is_no_change_of_the_list(session: Session) -> None:
    session.write(items("A"))
    session.claim("ada")
    heard: list[object] = []
    session.on("todos:update", heard.append)
    session.write([{"id": "t1", "content": "A"}])
    session.renew("t1", "ada", 900)
    session.set_plan(PLAN)
    session.set_plan_mode(True)
    session.log_completion(CompletionLog("a.md", 1, {"main": "d"}))
    with pytest.raises(TodoNotFound):
        session.update("t9", notes="n")
    assert heard == []


def test_a_listener_may_do_what_it_likes_with_the_list_it_gets(session: Session) -> None:
    heard: list[int] = []
    session.on("todos:update", list[Todo].clear)
    session.on("todos:update", counting(heard))
    session.write(items("A"))
    assert heard == [1]
    assert len(session.todos) == 1


def test_only_the_main_agents_list_is_told(session: Session) -> None:
    heard: list[object] = []
    session.on("todos:update", heard.append)
    session.agent("sub-1").write(items("A"))
    assert heard == []
    session.write(items("B"))
    assert len(heard) == 1


def test_an_event_is_heard_by_its_name_for_every_agent(session: Session) -> None:
    heard: list[Event] = []
    session.on("TodoListUpdated", heard.append)
    session.on("PlanUpdated", heard.append)
    session.write(items("A"))
    session.agent("sub-1").write(items("B"))
    session.set_plan(PLAN)
    assert heard == list(session.events())
    assert [(event.agent, event.type) for event in heard] == [
        ("main", "TodoListUpdated"),
        ("sub-1", "TodoListUpdated"),
        ("main", "PlanUpdated"),
    ]


def test_after_unsubscribing_nothing_more_is_heard(session: Session) -> None:
    first: list[object] = []
    second: list[object] = []
    stop = session.on("todos:update", first.append)
    session.on("todos:update", second.append)
    session.write(items("A"))
    stop()
    stop()
    session.write(items("B"))
    assert (len(first), len(second)) == (1, 2)


def test_the_same_function_twice_is_heard_twice_until_one_is_taken_away(session: Session) -> None:
    heard: list[object] = []
    stop = session.on("todos:update", heard.append)
    session.on("todos:update", heard.append)
    session.write(items("A"))
    stop()
    session.write(items("B"))
    assert len(heard) == 3


def test_a_listener_that_raises_is_logged_and_stops_neither_the_others_nor_the_change(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[object] = []

    def fail(todos: list[Todo]) -> None:
        raise RuntimeError("listener broke")

    session.on("todos:update", fail)
    session.on("todos:update", heard.append)
    with caplog.at_level(logging.ERROR, "headway"):
        session.write(items("A"))
    assert (len(heard), len(session.todos)) == (1, 1)
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("headway", "ERROR")
    assert record.exc_info is not None
    assert "listener broke" in str(record.exc_info[1])


def test_a_change_made_by_a_listener_is_told_after_the_one_it_heard(session: Session) -> None:
    told: list[tuple[str, list[str]]] = []

    def note(todos: list[Todo]) -> None:
        told.append(("second", [todo.content for todo in todos]))

    def react(todos: list[Todo]) -> None:
        told.append(("first", [todo.content for todo in todos]))
        if len(todos) == 1:
            session.add("B")

    session.on("todos:update", react)
    session.on("todos:update", note)
    session.write(items("A"))
    assert told == [("first", ["A"]), ("second", ["A"]), ("first", ["A", "B"]), ("second", ["A", "B"])]


def test_a_method_answers_with_its_own_change_whatever_a_listener_does_next(session: Session) -> None:
    session.write(items("A", "B"))

    def clear(todos: list[Todo]) -> None:
        session.clear()

    session.on("todos:update", clear)
    assert session.update("t1", notes="n").notes == "n"
    assert session.todos == []
    assert [todo.content for todo in session.write(items("C")).todos] == ["C"]
    assert session.todos == []


def test_a_listener_hears_nothing_of_what_happened_before_it_came() -> None:
    store = MemoryStore()
    mine, other = in_memory(store=store), in_memory(store=store)
    mine.write(items("A"))
    other.write(items("B"))
    heard: list[list[Todo]] = []
    mine.on("todos:update", heard.append)
    assert [todo.content for todo in mine.todos] == ["B"]
    assert heard == []
    other.write(items("C"))
    assert [todo.content for todo in mine.todos] == ["C"]
    assert [[todo.content for todo in todos] for todos in heard] == [["C"]]


def test_sub_agents_have_lists_of_their_own(session: Session) -> None:
    sub, again = session.agent("sub-1"), session.agent(" sub-1 ")
    session.write(items("A"))
    sub.write(items("B"))
    sub.update("t1", status="completed")
    assert [todo.status for todo in session.todos] == ["pending"]
    assert again.todos == sub.todos
    assert (sub.agent_id, sub.name, session.agent_id) == ("sub-1", session.name, "main")
    assert session.agent("sub-2").todos == []
    assert session.agent("main").todos == session.todos
    sub.undo(2)
    assert (sub.todos, len(session.todos)) == ([], 1)


def test_the_history_tells_who_changed_what_when(session: Session, clock: Clock) -> None:
    session.write(items("A"), actor="model")
    at = clock.forward(5)
    session.update("t1", status="completed", actor="ada")
    session.set_plan(PLAN)
    session.agent("sub-1").add("B")
    session.undo(actor="eve")
    history = session.history()
    assert [(event.version, event.actor) for event in history] == [(1, "model"), (2, "ada"), (5, "eve")]
    causes = [event.data.cause for event in history if isinstance(event.data, ListDelta)]
    assert causes == ["write", "update", "undo"]
    data = history[1].data
    assert isinstance(data, ListDelta)
    assert history[1].at == at
    assert data.changed["t1"]["status"] == ("pending", "completed")
    assert [event.version for event in session.agent("sub-1").history()] == [4]


def test_events_after_a_version_are_exactly_those(session: Session) -> None:
    assert list(session.events()) == []
    for content in "ABCD":
        session.add(content)
    assert [event.version for event in session.events(after=2)] == [3, 4]
    assert list(session.events(after=4)) == list(session.events(after=99)) == []


def test_a_watcher_sees_what_happened_since_it_was_asked_for(session: Session) -> None:
    session.add("A")
    watch = session.watch(timeout=5)
    session.add("B")
    session.add("C")
    assert [event.version for event in next(watch)] == [2, 3]
    session.undo(2)
    assert [event.version for event in next(watch)] == [4, 5]


def test_a_watcher_ends_after_a_quiet_time(session: Session) -> None:
    assert list(session.watch(timeout=0.01)) == []


def test_a_watcher_is_not_woken_by_a_worker_that_only_keeps_its_claim(session: Session) -> None:
    session.add("A")
    session.claim("worker-1", lease=300)
    watch, quiet = session.watch(timeout=5), session.watch(timeout=0.01)
    session.renew("t1", "worker-1", lease=400)
    assert list(quiet) == []
    session.renew("t1", "worker-1", lease=500)
    session.update("t1", status="completed", actor="worker-1")
    assert [event.version for event in next(watch)] == [3, 4, 5]


def test_a_watcher_wakes_the_listeners() -> None:
    store = MemoryStore()
    mine, other = in_memory(store=store), in_memory(store=store)
    heard: list[list[Todo]] = []
    mine.on("todos:update", heard.append)
    watch = mine.watch(timeout=5)
    other.add("A")
    assert len(next(watch)) == 1
    assert [todo.content for todo in heard[-1]] == ["A"]


def test_a_deleted_session_reads_as_empty_and_can_be_written_again() -> None:
    store = MemoryStore()
    session = in_memory(store=store)
    session.write(items("A"))
    watch = session.watch(timeout=0.05)
    store.delete("test")
    assert (session.todos, session.version) == ([], 0)
    assert list(watch) == [[]]
    assert session.add("B").id == "t1"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_session_deleted_and_begun_again_is_told_from_the_one_before(count: int) -> None:
    store = MemoryStore()
    mine, other = in_memory(store=store), in_memory(store=store)
    other.write(items("A"))
    other.write(items("B"))
    watch = mine.watch(timeout=5)
    assert len(mine.todos) == 1
    store.delete("test")
    for n in range(count):
        other.add(f"new {n}")
    assert [event.version for event in next(watch)] == list(range(1, count + 1))
    assert [todo.content for todo in mine.todos] == [f"new {n}" for n in range(count)]
    assert mine.state == other.state


def test_two_threads_on_one_session_lose_nothing(session: Session) -> None:
    together = threading.Barrier(2)
    heard: list[int] = []
    session.on("todos:update", counting(heard))

    def work(name: str) -> None:
        together.wait(10)
        for n in range(50):
            session.add(f"{name} {n}")

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len({todo.id for todo in session.todos}) == 100
    assert heard == list(range(1, 101))


def test_the_completion_log_is_remembered(session: Session) -> None:
    log = CompletionLog("memory/todos/a.md", 2, {"main": "digest"})
    session.log_completion(log)
    assert session.state.completion_log == log


def test_a_session_says_which_it_is(session: Session) -> None:
    assert repr(session.agent("sub-1")) == "<headway.Session 'test' agent='sub-1'>"


def test_a_listener_runs_without_the_lock_so_that_other_threads_go_on() -> None:
    session = in_memory()
    seen: list[int] = []

    def listener(todos: list[Todo]) -> None:
        reader = threading.Thread(target=lambda: seen.append(len(session.todos)))
        reader.start()
        reader.join(10)
        assert not reader.is_alive()

    session.on("todos:update", listener)
    session.write(items("A"))
    assert seen == [1]


def test_a_subscriber_to_a_list_change_gets_the_whole_list() -> None:
    session = in_memory()
    heard: list[Event] = []
    session.on("TodoListUpdated", heard.append)
    session.write(items("A", "B"))
    session.agent("sub").write(items("C"))
    assert [(event.agent, [todo.content for todo in event.todos or ()]) for event in heard] == [
        ("main", ["A", "B"]),
        ("sub", ["C"]),
    ]


def test_a_sub_agent_hears_only_of_its_own_list() -> None:
    session = in_memory()
    heard: list[Event] = []
    session.agent("sub").on("TodoListUpdated", heard.append)
    session.write(items("A"))
    session.agent("sub").write(items("B"))
    assert [event.agent for event in heard] == ["sub"]


def test_an_event_that_does_not_exist_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(HeadwayError, match="did you mean 'todos:update'"):
        in_memory().on("todos:updated", print)  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_events_are_read_page_by_page_in_order() -> None:
    session = in_memory()
    for number in range(1_203):
        session.add(f"{number}")
    assert [event.version for event in session.events(after=2)] == list(range(3, 1_204))


def test_items_of_a_list_can_be_written_back_as_they_are() -> None:
    session = in_memory()
    session.write([{"content": "A", "priority": "high", "evidence": {"level": "reported"}}, {"content": "B"}])
    before = session.todos
    assert not session.write(before).changed
    other = in_memory()
    other.write(before)
    assert other.todos == before


MISUSES: list[Callable[[Any], object]] = [
    lambda session: session.claim(5),
    lambda session: session.claim("w", lease="5"),
    lambda session: session.move("t1", "1"),
    lambda session: session.undo("x"),
    lambda session: session.add("B", actor=5),
    lambda session: session.write([{10**5000: 1}]),
    lambda session: session.write(todo for todo in ()),
]


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse_is_an_error_with_a_sentence_and_changes_nothing(misuse: Callable[[Any], object]) -> None:
    session = in_memory()
    session.write(items("A"))
    with pytest.raises(HeadwayError):
        misuse(session)
    assert session.version == 1


def test_each_event_of_an_undo_of_several_comes_with_the_list_after_it() -> None:
    session = in_memory()
    for text in ("A", "B", "C"):
        session.add(text)
    heard: list[Event] = []
    session.on("TodoListUpdated", heard.append)
    session.undo(3)
    assert [len(event.todos or ()) for event in heard] == [2, 1, 0]
