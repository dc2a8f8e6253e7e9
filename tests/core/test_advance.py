"""`Session.advance`: several steps through a list as one change, all of them or none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.counts import some

from headway import ClaimRefused, InvalidTodos, Session, Status
from headway.core.events import ListDelta

from .samples import (
    ADVANCES,
    CONTENTS,
    SEEDS,
    STORIES,
    Clock,
    Named,
    attempt,
    by_content,
    ids,
    in_memory,
    tell,
    visible,
)

ROLES = st.sampled_from(["done", "block", "drop", "nothing", "nothing"])


def parts_for(session: Session, data: st.DataObject) -> dict[str, Any]:
    """Steps that name only what is there, and each item once."""
    parts: dict[str, Any] = {"done": [], "block": {}, "drop": [], "add": data.draw(st.lists(CONTENTS, max_size=2))}
    for todo_id in ids(session):
        match data.draw(ROLES):
            case "block":
                parts["block"][todo_id] = "no key"
            case "nothing":
                if data.draw(st.booleans()):
                    parts["start"] = todo_id
            case role:
                parts[role].append(todo_id)
    return parts


def one_by_one(session: Session, parts: dict[str, Any]) -> None:
    """The same with the changes that there are for one item."""
    for todo_id in parts["drop"]:
        session.drop(todo_id)
    finished = [todo_id for todo_id in parts["done"] if session.todo_list.items[todo_id].status != "completed"]
    for todo_id in finished:
        session.update(todo_id, status="completed")
    for todo_id, why in parts["block"].items():
        session.update(todo_id, status="blocked", notes=why)
    if "start" in parts:
        session.update(parts["start"], status="in_progress")
    for content in parts["add"]:
        session.add(content)
    active = [todo for todo in session.todos if todo.status == "in_progress" and todo.owner is None]
    if finished and "start" not in parts and not active:
        runnable = [todo for todo in session.next_todos()[0] if todo.status == "pending" and todo.owner is None]
        if runnable:
            session.update(runnable[0].id, status="in_progress")


@given(SEEDS, STORIES, st.data())
def test_it_is_the_same_as_doing_the_parts_one_by_one(seed: Named, story: list[Named], data: st.DataObject) -> None:
    clock = Clock()
    session, twin = in_memory(clock), in_memory(clock)
    for each in (session, twin):
        attempt(each, seed)
        tell(each, story)
    assert twin.todos == session.todos
    parts = parts_for(session, data)
    attempt(session, lambda s: s.advance(**parts))
    one_by_one(twin, parts)
    assert session.todos == twin.todos


@given(SEEDS, STORIES, ADVANCES)
def test_it_is_one_change_that_one_undo_takes_back_or_none(seed: Named, story: list[Named], step: Named) -> None:
    session = in_memory()
    attempt(session, seed)
    tell(session, story)
    before, version = visible(session.todo_list), session.version
    error = attempt(session, step)
    made = list(session.events(version))
    assert len(made) <= (0 if error else 1)
    if made:
        after = visible(session.todo_list)
        session.undo()
        assert visible(session.todo_list) == before
        session.redo()
        assert visible(session.todo_list) == after
    else:
        assert visible(session.todo_list) == before


@given(SEEDS, st.lists(ADVANCES, max_size=8))
def test_an_id_is_never_given_twice(seed: Named, story: list[Named]) -> None:
    session = in_memory()
    attempt(session, seed)
    used = set(ids(session))
    for step in story:
        version = session.version
        attempt(session, step)
        added = [todo.id for event in session.events(version) for todo in delta_of(event).added]
        assert used.isdisjoint(added)
        used.update(added)
        assert len(ids(session)) == len(set(ids(session)))


def delta_of(event: Any) -> ListDelta:
    assert isinstance(event.data, ListDelta)
    return event.data


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["t1", "t2", "", " ", "\ud800", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["t1", "", "\ud800"]), inner),
    max_leaves=4,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("done", "start", "block", "add", "drop"), JSON)))
def test_whatever_is_sent_it_ends_in_a_list_or_in_an_error_that_names_the_faults(parts: dict[str, Any]) -> None:
    session = in_memory()
    session.write([{"content": "A"}, {"content": "B"}])
    before = session.todos
    error = attempt(session, lambda s: s.advance(**parts))
    if error is not None:
        assert isinstance(error, InvalidTodos)
        assert error.violations
        assert (session.todos, session.version) == (before, 1)


# finishing and starting


def started(session: Session) -> list[str]:
    return [todo.content for todo in session.todos if todo.status is Status.IN_PROGRESS]


def test_finishing_the_active_item_starts_the_next_one(session: Session) -> None:
    session.write([{"content": "A", "status": "in_progress"}, {"content": "B"}, {"content": "C"}])
    written = session.advance(done=["t1"])
    assert [todo.status for todo in written.todos] == ["completed", "in_progress", "pending"]
    assert written.todos[1].started_at is not None


def test_the_next_one_is_the_first_of_the_highest_priority_whose_dependencies_are_done(session: Session) -> None:
    session.write(
        [
            {"content": "A", "status": "in_progress"},
            {"content": "low", "priority": "low"},
            {"content": "waits", "priority": "high", "depends_on": ["t5"]},
            {"content": "freed", "priority": "high", "depends_on": ["t1"]},
            {"content": "plain"},
        ]
    )
    session.advance(done=["t1"])
    assert started(session) == ["freed"]


def test_finishing_an_item_that_was_never_started_starts_the_next_one_too(session: Session) -> None:
    session.write([{"content": "A"}, {"content": "B"}])
    session.advance(done=["t1"])
    assert started(session) == ["B"]


def test_nothing_starts_by_itself_while_another_item_is_in_progress(session: Session) -> None:
    session.write([{"content": "A"}, {"content": "B", "status": "in_progress"}, {"content": "C"}])
    session.advance(done=["t1"])
    assert started(session) == ["B"]


def test_a_named_start_takes_the_place_of_the_next_one_and_leaves_what_is_active(session: Session) -> None:
    session.write([{"content": "A", "status": "in_progress"}, {"content": "B"}, {"content": "C"}])
    session.advance(start="t3")
    assert started(session) == ["A", "C"]
    session.advance(done=["t1", "t3"], start="t2")
    assert started(session) == ["B"]


def test_an_item_that_is_added_or_freed_by_the_same_change_can_be_the_next_one(session: Session) -> None:
    session.write([{"content": "A"}])
    session.advance(done=["t1"], add=["B"])
    assert started(session) == ["B"]
    session.write([{"content": "C"}, {"content": "D", "depends_on": ["x"]}, {"id": "x", "content": "X"}], replace=True)
    session.advance(done=[by_content(session)["C"].id], drop=["x"])
    assert started(session) == ["D"]


def test_blocking_or_dropping_the_active_item_starts_nothing(session: Session) -> None:
    session.write(
        [{"content": "A", "status": "in_progress"}, {"content": "B", "status": "in_progress"}, {"content": "C"}]
    )
    session.advance(block={"t1": "no key"}, drop=["t2"])
    assert [(todo.content, todo.status, todo.notes) for todo in session.todos] == [
        ("A", "blocked", "no key"),
        ("C", "pending", None),
    ]


def test_what_is_finished_may_be_said_to_be_done_again(session: Session) -> None:
    session.write([{"content": "A", "status": "completed"}, {"content": "B"}, {"content": "C", "status": "cancelled"}])
    assert not session.advance(done=["t1", "t1"]).changed
    assert started(session) == []
    session.advance(done=["t3"])
    assert session.todos[2].status is Status.COMPLETED


def test_an_item_may_be_done_before_what_it_depends_on(session: Session) -> None:
    session.write([{"content": "A"}, {"content": "B", "depends_on": ["t1"]}])
    session.advance(done=["t2"])
    assert [todo.status for todo in session.todos] == ["in_progress", "completed"]


def test_dropping_takes_dependencies_along_and_names_them(session: Session) -> None:
    session.write([{"content": "A"}, {"content": "B", "depends_on": ["t1"]}, {"content": "C", "depends_on": ["t1"]}])
    written = session.advance(drop=["t1", "t2"])
    assert [(todo.content, todo.depends_on) for todo in written.todos] == [("C", ())]
    assert [todo.content for todo in written.dropped] == ["A", "B"]
    assert written.detached == [("t3", "t1")]


def test_new_items_come_last_under_ids_that_were_never_used(session: Session) -> None:
    session.write([{"content": "A"}, {"content": "B"}, {"id": "t9", "content": "C"}])
    session.advance(drop=["t9"])
    session.advance(add=[" D ", "修复"])
    assert [(todo.id, todo.content) for todo in session.todos][2:] == [("t12", "D"), ("t13", "修复")]


# refusals


def test_every_fault_is_named_in_the_order_of_the_steps_and_nothing_changes(session: Session) -> None:
    session.write([{"content": "A"}, {"content": "B"}])
    with pytest.raises(InvalidTodos) as caught:
        session.advance(
            done=["t1", "t9"], start="t8", block={"t1": "why", "t2": " "}, add=["good", ""], drop=["t1", "x\x1b[2J"]
        )
    assert caught.value.violations == [
        "done[1]: Unknown id 't9'",
        "start: Unknown id 't8'",
        "block: 't2' needs a reason",
        "block: 't1' is also in done; name it in only one of them",
        "add[1]: Required",
        "drop[0]: 't1' is also in done; name it in only one of them",
        "drop[1]: Unknown id 'x␛[2J'",
        "todos: The known ids are: t1, t2",
    ]
    assert session.version == 1


@pytest.mark.parametrize(
    ("parts", "place"),
    [
        ({"done": ["t1"], "start": "t1"}, "start"),
        ({"start": "t1", "block": {"t1": "why"}}, "block"),
        ({"start": "t1", "drop": ["t1"]}, "drop[0]"),
        ({"block": {"t1": "why"}, "drop": ["t1"]}, "drop[0]"),
    ],
)
def test_an_item_cannot_become_two_things_at_once(session: Session, parts: dict[str, Any], place: str) -> None:
    session.write([{"content": "A"}])
    with pytest.raises(InvalidTodos, match="'t1' is also in") as caught:
        session.advance(**parts)
    assert [line.partition(":")[0] for line in caught.value.violations] == [place]


def test_asking_for_nothing_is_refused(session: Session) -> None:
    with pytest.raises(InvalidTodos, match="at least one of done, start, block, add, drop"):
        session.advance(done=[], add=())


def test_an_unknown_id_in_an_empty_or_a_long_list_is_answered_in_a_few_words(session: Session) -> None:
    with pytest.raises(InvalidTodos, match="The list is empty"):
        session.advance(done=["t1"])
    session.write([{"content": f"item {n}"} for n in range(10_000)])
    with pytest.raises(InvalidTodos, match="t20 and 9980 more") as caught:
        session.advance(drop=["nope"])
    assert len(str(caught.value)) < 300


# workers


def test_what_a_worker_holds_is_not_for_others_to_set_and_then_nothing_is(session: Session) -> None:
    session.write([{"content": "A"}, {"content": "B"}])
    session.claim("ada")
    before = session.todos
    refused: list[dict[str, Any]] = [{"done": ["t2", "t1"]}, {"start": "t1"}, {"block": {"t1": "no"}}]
    for parts in refused:
        with pytest.raises(ClaimRefused, match="claimed by 'ada'"):
            session.advance(actor="model", **parts)
    assert session.todos == before
    session.advance(done=["t1"])
    assert session.todos[0].status is Status.COMPLETED


def test_anothers_claimed_item_does_not_keep_the_next_one_from_starting(session: Session) -> None:
    session.write([{"content": "A"}, {"content": "B"}, {"content": "C"}])
    session.claim("ada")
    session.advance(done=["t2"], actor="model")
    assert [(todo.content, todo.owner) for todo in session.todos if todo.status == "in_progress"] == [
        ("A", "ada"),
        ("C", None),
    ]


def test_an_item_whose_lease_ran_out_is_not_started_by_itself(session: Session, clock: Clock) -> None:
    session.write([{"content": "A"}, {"content": "B"}])
    session.claim("ada", lease=1)
    clock.forward(2)
    session.advance(done=["t2"], actor="model")
    assert session.todos[0].owner == "ada"


def test_a_worker_finishes_what_it_holds_and_claims_its_next_item_itself(session: Session, clock: Clock) -> None:
    session.write([{"content": "A"}, {"content": "B"}])
    session.claim("ada", lease=10)
    session.advance(done=["t1"], actor="ada")
    assert [todo.status for todo in session.todos] == ["completed", "pending"]
    with pytest.raises(ClaimRefused, match="claim it before finishing it"):
        session.advance(done=["t2"], actor="ada")
    session.claim("ada", lease=10)
    clock.forward(11)
    with pytest.raises(ClaimRefused, match="ran out"):
        session.advance(done=["t2"], actor="ada")
    session.claim("bob")
    with pytest.raises(ClaimRefused, match="last worked on by 'ada'"):
        session.advance(drop=["t1"], actor="bob")


# size


@pytest.mark.full
def test_a_list_of_thousands_is_advanced_as_a_short_one(session: Session) -> None:
    count = some(10_000)
    session.write([{"content": f"item {n}", "depends_on": [f"t{n}"] if n else []} for n in range(count)])
    for n in range(1, 6):
        session.advance(done=[f"t{n}"])
    assert started(session) == ["item 5"]
    session.advance(drop=[f"t{n}" for n in range(1, count)], add=["last"])
    assert [(todo.id, todo.depends_on) for todo in session.todos] == [(f"t{count}", ()), (f"t{count + 1}", ())]
    assert session.version == 7
    session.undo()
    assert len(session.todos) == count
