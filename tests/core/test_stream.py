"""A session's events as others get them: from a version on, as they come, in a thread of their own, and on the wire."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest
from tests.support.processes import python, start

import headway
from headway import Event, Session, Todo
from headway.core.model import LOOP
from headway.core.run_events import MessageAdded, RunError, TextDelta
from headway.store.memory import MemoryStore

from .running import SECONDS, Running, create, until
from .samples import in_memory

MOST_WAITING = 1_000


def versions(events: Iterator[Event] | list[Event]) -> list[int]:
    return [event.version for event in events]


def contents(todos: tuple[Todo, ...] | list[Todo] | None) -> list[str] | None:
    return None if todos is None else [todo.content for todo in todos]


class Ear:
    """A listener that can be held up, and what it heard."""

    def __init__(self) -> None:
        self.heard: list[Event] = []
        self.threads: set[int] = set()
        self.busy = threading.Event()
        self._free = threading.Event()
        self._free.set()

    def __call__(self, event: Event) -> None:
        self.threads.add(threading.get_ident())
        self.busy.set()
        assert self._free.wait(SECONDS)
        self.heard.append(event)

    def hold_up(self) -> None:
        self._free.clear()

    def go_on(self) -> None:
        self._free.set()

    @property
    def versions(self) -> list[int]:
        return versions(self.heard)

    def until(self, version: int) -> list[Event]:
        """What it heard when it has heard of a version."""
        until(lambda: version in self.versions, f"version {version}")
        return self.heard


@contextmanager
def apart(session: Session, *ears: Ear) -> Generator[None]:
    """While a run goes on, as far as listeners are concerned."""
    end = session.log.deliver_in_background()
    try:
        yield
    finally:
        for ear in ears:
            ear.go_on()
        end(SECONDS)


def held_up(session: Session, ear: Ear) -> None:
    """The listener is in the middle of the first event that it heard."""
    ear.hold_up()
    session.add("first")
    assert ear.busy.wait(SECONDS)


def live(session: Session, text: str) -> None:
    session.log.publish_live(Event(0, "2025-01-02T03:04:05.000Z", "main", LOOP, TextDelta(text=text)))


# from a version on


@pytest.mark.parametrize("after", [0, 1, 4, 6, 7, 99])
def test_who_was_away_gets_exactly_what_came_after_a_version(after: int) -> None:
    session = in_memory()
    running = Running(session).begin()
    create(session, "Run the tests")
    running.call()
    assert session.version == 6
    session.agent("sub-1").add("of the sub-agent")
    expected = list(range(after + 1, 8))
    assert versions(session.events(after)) == expected
    assert versions(session.follow(after, timeout=0.05)) == expected
    assert versions(session.agent("sub-1").events(after)) == expected


def test_a_follower_gets_what_is_there_and_what_others_add_once_and_in_order() -> None:
    store = MemoryStore()
    first, second = in_memory(store=store), in_memory(store=store)
    for n in range(10):
        first.add(f"before {n}")
    got: list[Event] = []

    def follow() -> None:
        got.extend(islice(second.follow(3, timeout=SECONDS), 107))

    follower = threading.Thread(target=follow)
    follower.start()

    def work(session: Session) -> None:
        for n in range(50):
            session.add(f"later {n}")

    workers = [threading.Thread(target=work, args=(session,)) for session in (first, in_memory(store=store))]
    for worker in workers:
        worker.start()
    for thread in (*workers, follower):
        thread.join(SECONDS)
    assert versions(got) == list(range(4, 111))
    assert {event.session_id for event in got} == {"test"}
    assert contents(got[-1].todos) == contents(first.todos)


FOLLOW = """
import sys, headway
session = headway.open(sys.argv[1])
print("ready", flush=True)
for event in session.follow(int(sys.argv[2]), timeout=30):
    full = event.todos and [todo.content for todo in event.todos]
    print(event.version, event.session_id, event.agent_id, event.type, full and full[-1], flush=True)
    if event.type == "RunFinished":
        break
"""


def test_a_follower_in_another_process_gets_a_run_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    session = headway.open(tmp_path)
    session.add("A")
    session.add("B")
    follower = start(python(FOLLOW, tmp_path, 1))
    try:
        assert follower.out.line() == "ready"
        assert follower.out.line() == "2 default main TodoListUpdated B"
        running = Running(session).begin()
        create(session, "Run the tests")
        running.calls(True, True, True)
        running.end()
        done = follower.end()
    finally:
        follower.discard()
    session.close()
    assert done.code == 0, done.err
    rows = [line.split(" ", 4) for line in done.out.splitlines()]
    assert [int(row[0]) for row in rows] == list(range(3, 3 + len(rows)))
    assert [row[3] for row in rows[:2]] == ["RunStarted", "RoundStarted"]
    assert (rows[-1][3], sum(row[3] == "TodoListItemProgress" for row in rows)) == ("RunFinished", 3)


def test_of_list_changes_read_together_the_last_of_each_agent_has_the_full_list() -> None:
    session = in_memory()
    for text in ("A", "B"):
        session.add(text)
    session.agent("sub-1").add("of the sub-agent")
    session.set_plan_mode(True)
    full = [contents(event.todos) for event in session.follow(timeout=0.05)]
    assert full == [None, ["A", "B"], ["of the sub-agent"], None]


def test_a_list_change_long_before_the_end_has_the_full_list_too() -> None:
    session = in_memory()
    running = Running(session).begin()
    session.add("A")
    running.record(*(MessageAdded(message={"n": n}) for n in range(600)))
    full = [event.todos for event in session.follow(timeout=0.05)]
    assert len(full) == 603
    assert [contents(todos) for todos in full if todos is not None] == [["A"]]


def test_a_list_change_has_the_full_list_whatever_comes_right_after_it() -> None:
    store = MemoryStore()
    session, other = in_memory(store=store), in_memory(store=store)

    def plan(event: Event) -> None:
        other.set_plan_mode(True)

    session.on("TodoListUpdated", plan)
    other.add("A")
    events = session.follow(timeout=0.05)
    assert [contents(event.todos) for event in events] == [["A"], None]


def test_following_ends_after_a_quiet_time_and_with_the_session() -> None:
    session = in_memory()
    session.add("A")
    assert versions(session.follow(1, timeout=0.02)) == []
    follower = session.follow(timeout=SECONDS)
    assert next(follower).version == 1
    session.store.delete("test")
    for text in ("X", "Y", "Z"):  # of another log of the same name
        session.add(text)
    assert list(follower) == []


def test_a_follower_that_waits_for_nothing_gets_what_is_there() -> None:
    session = in_memory()
    session.add("A")
    assert versions(session.follow(timeout=0)) == [1]


def test_a_follower_gets_the_end_of_a_run_whose_process_is_gone() -> None:
    session = in_memory()
    running = Running(session).begin()
    follower = session.follow(timeout=2.5)
    assert [next(follower).type for _ in range(2)] == ["RunStarted", "RoundStarted"]
    running.let_go()
    assert next(follower).type == "RunFinished"


def test_a_follower_gets_no_live_text() -> None:
    session = in_memory()
    session.add("A")
    live(session, "Hello")
    session.add("B")
    assert [event.type for event in session.follow(timeout=0.02)] == ["TodoListUpdated"] * 2


# as they come


def test_live_text_is_heard_but_neither_numbered_nor_kept() -> None:
    session = in_memory()
    heard: list[Event] = []
    texts: list[Event] = []
    session.subscribe(heard.append)
    session.on("TextDelta", texts.append)
    session.add("A")
    live(session, "Hel")
    live(session, "lo")
    session.add("B")
    assert [(event.version, event.type, event.session_id) for event in heard] == [
        (1, "TodoListUpdated", "test"),
        (0, "TextDelta", "test"),
        (0, "TextDelta", "test"),
        (2, "TodoListUpdated", "test"),
    ]
    assert [event.data for event in texts] == [TextDelta(text="Hel"), TextDelta(text="lo")]
    assert versions(session.events()) == [1, 2]


# in a thread of their own


def test_listeners_are_called_in_another_thread_and_in_order() -> None:
    session = in_memory()
    ear = Ear()
    session.subscribe(ear)
    with apart(session):
        for n in range(100):
            session.add(f"item {n}")
            live(session, str(n))
        heard = ear.until(100)
        until(lambda: len(heard) == 200)
    assert threading.get_ident() not in ear.threads
    assert [event.version for event in heard if event.version] == list(range(1, 101))
    texts = [event.data.text for event in heard if isinstance(event.data, TextDelta)]
    assert texts == [str(n) for n in range(100)]
    session.add("after it")
    assert ear.versions[-1] == 101
    assert threading.get_ident() in ear.threads


def test_a_listener_that_is_held_up_holds_up_no_change() -> None:
    session = in_memory()
    ear = Ear()
    session.subscribe(ear)
    with apart(session, ear):
        held_up(session, ear)
        for n in range(50):
            session.add(f"item {n}")
        assert len(session.todos) == 51
        assert ear.heard == []
        ear.go_on()
        assert versions(ear.until(51)) == list(range(1, 52))


def test_the_end_waits_for_listeners_but_not_for_ever() -> None:
    session = in_memory()
    ear = Ear()
    session.subscribe(ear)
    end = session.log.deliver_in_background()
    held_up(session, ear)
    session.add("second")
    end(0.05)
    session.add("third")
    assert ear.heard == []
    ear.go_on()
    assert versions(ear.until(3)) == [1, 2, 3]
    end = session.log.deliver_in_background()
    for n in range(20):
        session.add(f"item {n}")
    end(SECONDS)
    assert ear.versions == list(range(1, 24))


def test_as_long_as_one_of_two_wants_it_listeners_are_called_apart() -> None:
    session = in_memory()
    ear = Ear()
    session.subscribe(ear)
    first, second = session.log.deliver_in_background(), session.log.deliver_in_background()
    session.add("A")
    first(SECONDS)
    session.add("B")
    ear.until(2)
    second(SECONDS)
    assert threading.get_ident() not in ear.threads
    session.add("C")
    assert ear.versions == [1, 2, 3]
    assert threading.get_ident() in ear.threads


def test_a_listener_that_raises_stops_neither_the_others_nor_itself(caplog: pytest.LogCaptureFixture) -> None:
    session = in_memory()
    ear = Ear()
    tried: list[int] = []

    def broken(event: Event) -> None:
        tried.append(event.version)
        raise ValueError("broken")

    session.subscribe(broken)
    session.subscribe(ear)
    with caplog.at_level(logging.ERROR), apart(session):
        for n in range(3):
            session.add(f"item {n}")
        assert versions(ear.until(3)) == [1, 2, 3]
        until(lambda: len(caplog.records) == 3, "the third error")
    assert tried == [1, 2, 3]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_listener_that_wants_to_leave_takes_nobody_with_it() -> None:
    session = in_memory()
    ear, gone = Ear(), threading.Event()

    def leave(event: Event) -> None:
        gone.set()
        sys.exit(1)

    session.subscribe(leave)
    session.subscribe(ear)
    with apart(session):
        session.add("A")
        assert gone.wait(SECONDS)
        session.add("B")
    assert ear.versions == [1, 2]


def test_a_listener_may_change_the_list_which_is_told_after_what_it_heard() -> None:
    session = in_memory()
    ear = Ear()

    def answer(event: Event) -> None:
        if event.version <= 5:
            session.add(f"answer to {event.version}")

    session.subscribe(answer)
    session.subscribe(ear)
    with apart(session):
        session.add("A")
        assert versions(ear.until(6)) == [1, 2, 3, 4, 5, 6]
    assert [todo.content for todo in session.todos[1:]] == [f"answer to {n}" for n in range(1, 6)]


def test_after_unsubscribing_nothing_more_is_heard_even_of_what_waits() -> None:
    session = in_memory()
    ear, other = Ear(), Ear()
    stop = session.subscribe(ear)
    session.subscribe(other)
    with apart(session, ear):
        held_up(session, ear)
        session.add("second")
        stop()
        ear.go_on()
        other.until(2)
    assert ear.versions == [1]


def test_a_listener_hears_nothing_of_what_waited_before_it_came() -> None:
    session = in_memory()
    slow, late = Ear(), Ear()
    session.subscribe(slow)
    with apart(session, slow):
        held_up(session, slow)
        session.add("second")
        session.subscribe(late)
        session.add("third")
        slow.go_on()
        slow.until(3)
        late.until(3)
    assert late.versions == [3]


def test_a_listener_hears_of_a_log_that_is_begun_again_from_its_first_event() -> None:
    session = in_memory()
    for n in range(5):
        session.add(f"item {n}")
    ear = Ear()
    session.subscribe(ear)
    session.store.delete("test")
    for n in range(3):
        session.add(f"new {n}")
    assert ear.versions == [1, 2, 3]


FORKED = """
import os, sys, threading, time, headway
session = headway.open(sys.argv[1], memory=True)
held, heard = threading.Event(), []

def slow(event):
    heard.append(event.version)
    if event.version == 1:
        held.wait(20)

session.subscribe(slow)
end = session.log.deliver_in_background()
session.add("A")
while not heard:
    time.sleep(0.01)
session.add("B")
session.add("C")
if not os.fork():
    heard.clear()
    session.add("of the child")
    print("child", *heard, flush=True)
    os._exit(0)
os.wait()
held.set()
end(20)
print("parent", *heard)
"""


def test_what_waits_in_a_parent_is_not_told_in_its_child(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("child 4\nparent 1 2 3\n", "")


def test_what_another_session_changes_is_heard_in_its_order() -> None:
    store = MemoryStore()
    session, other = in_memory(store=store), in_memory(store=store)
    ear = Ear()
    session.subscribe(ear)
    with apart(session):
        other.add("A")
        other.add("B")
        session.add("C")
        heard = ear.until(3)
    assert versions(heard) == [1, 2, 3]
    assert contents(heard[-1].todos) == ["A", "B", "C"]


def test_of_list_changes_that_wait_only_the_newest_is_built_in_full() -> None:
    session = in_memory()
    ear = Ear()
    lists: list[list[str] | None] = []

    def note(todos: list[Todo]) -> None:
        lists.append(contents(todos))

    session.subscribe(ear)
    session.on("todos:update", note)
    with apart(session, ear):
        held_up(session, ear)
        for n in range(10):
            session.add(f"item {n}")
        ear.go_on()
        heard = ear.until(11)
    now = contents(session.todos)
    assert [contents(event.todos) for event in heard[1:]] == [None] * 9 + [now]
    assert lists[-1] == now


# when more waits than is kept


def flooded(session: Session, ear: Ear, events: int) -> None:
    """The listener is held up at version 1, and so many facts come after it."""
    running = Running(session).begin(rounds=0)
    assert session.version == 1
    assert ear.busy.wait(SECONDS)
    for first in range(0, events, 100):
        running.record(*(RunError(message=str(n)) for n in range(first, min(first + 100, events))))


@pytest.mark.parametrize("count", [MOST_WAITING, MOST_WAITING + 1, 2 * MOST_WAITING + 700])
def test_however_much_waits_everything_is_heard_once_and_in_order(count: int) -> None:
    session = in_memory()
    ear = Ear()
    session.subscribe(ear)
    ear.hold_up()
    with apart(session, ear):
        flooded(session, ear, count)
        session.add("last")
        ear.go_on()
        ear.until(count + 2)
    assert ear.versions == list(range(1, count + 3))
    assert contents(ear.heard[-1].todos) == ["last"]


def test_what_is_read_again_is_of_its_session() -> None:
    session = in_memory()
    ear = Ear()
    session.subscribe(ear)
    ear.hold_up()
    with apart(session, ear):
        flooded(session, ear, MOST_WAITING + 100)
        ear.go_on()
        ear.until(MOST_WAITING + 101)
    assert {event.session_id for event in ear.heard} == {"test"}


def test_the_newest_list_is_told_however_much_came_after_it() -> None:
    session = in_memory()
    ear = Ear()
    lists: list[list[str] | None] = []

    def note(todos: list[Todo]) -> None:
        lists.append(contents(todos))

    session.subscribe(ear)
    session.on("todos:update", note)
    ear.hold_up()
    with apart(session, ear):
        running = Running(session).begin(rounds=0)
        assert ear.busy.wait(SECONDS)
        session.add("A")
        running.record(*(RunError(message=str(n)) for n in range(MOST_WAITING + 100)))
        ear.go_on()
        ear.until(MOST_WAITING + 102)
    assert lists == [["A"]]


def test_live_text_pushes_no_change_out() -> None:
    session = in_memory()
    ear = Ear()
    session.subscribe(ear)
    with apart(session, ear):
        held_up(session, ear)
        session.add("second")
        for n in range(MOST_WAITING + 100):
            live(session, str(n))
    assert [version for version in ear.versions if version] == [1, 2]
