"""What holds whatever is sent to a session: the log is the state, undo is exact, nothing refused leaves a trace."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counts import some

from headway import InvalidPlan, InvalidTodos, NothingToUndo, Status, Todo
from headway.core.codec import read_event, read_state, to_event_json, write_state
from headway.core.events import Event, ListDelta
from headway.core.evolve import fold
from headway.core.graph import PRIORITY_ORDER, find_cycle, is_ready
from headway.core.model import FINISHED, State

from .samples import (
    CHANGES,
    CONTENTS,
    NEW_ITEMS,
    SEEDS,
    STORIES,
    WORKERS,
    Clock,
    Named,
    Ticking,
    attempt,
    in_memory,
    seen,
    tell,
    visible,
)


def through_json(event: Event) -> Event:
    return read_event(event.version, event.at, event.agent, event.actor, event.type, to_event_json(event))


@given(STORIES)
def test_folding_the_log_gives_the_state(story: list[Named]) -> None:
    session = in_memory()
    tell(session, story)
    assert fold(State(), session.events()) == session.state


@given(STORIES)
def test_events_and_states_survive_being_written_down(story: list[Named]) -> None:
    session = in_memory()
    tell(session, story)
    events = list(session.events())
    assert [through_json(event) for event in events] == events
    read = read_state(write_state(session.state))
    assert read == session.state
    assert read is not None
    for agent, todos in session.state.lists.items():
        assert list(read.lists[agent].items) == list(todos.items)


@given(STORIES)
def test_any_point_of_the_log_is_a_place_to_go_on_from(story: list[Named]) -> None:
    session = in_memory()
    tell(session, story)
    events = list(session.events())
    middle = fold(State(), events[: len(events) // 2])
    snapshot = read_state(write_state(middle))
    assert snapshot is not None
    assert fold(snapshot, events[len(events) // 2 :]) == session.state


@given(SEEDS, STORIES)
def test_a_refused_change_leaves_no_trace(seed: Named, story: list[Named]) -> None:
    session = in_memory()
    attempt(session, seed)
    for step in story:
        heard: list[object] = []
        before, log = session.state, list(session.events())
        stop = session.on("todos:update", heard.append)
        if attempt(session, step):
            assert session.state == before
            assert list(session.events()) == log
            assert heard == []
        stop()


@given(STORIES)
def test_versions_rise_by_exactly_one(story: list[Named]) -> None:
    session = in_memory()
    tell(session, story)
    assert [event.version for event in session.events()] == list(range(1, session.version + 1))


@given(STORIES, CHANGES)
def test_undo_restores_the_list_exactly_and_redo_returns(story: list[Named], step: Named) -> None:
    session = in_memory()
    tell(session, story)
    old, before = session.todo_list, visible(session.todo_list)
    attempt(session, step)
    if seen(session.todo_list) == seen(old):
        return
    after = visible(session.todo_list)
    session.undo()
    assert visible(session.todo_list) == before
    session.redo()
    assert visible(session.todo_list) == after
    session.undo()
    assert visible(session.todo_list) == before


@given(st.lists(CHANGES, min_size=1, max_size=10), st.data())
def test_undo_goes_back_n_changes_and_redo_as_many_forward(story: list[Named], data: st.DataObject) -> None:
    session = in_memory()
    states = [seen(session.todo_list)]
    for step in story:
        attempt(session, step)
        if (state := seen(session.todo_list)) != states[-1]:
            states.append(state)
    changes = len(states) - 1
    with pytest.raises(NothingToUndo):
        session.undo(changes + 1)
    if not changes:
        return
    back = data.draw(st.integers(1, changes))
    session.undo(back)
    assert seen(session.todo_list) == states[changes - back]
    with pytest.raises(NothingToUndo):
        session.redo(back + 1)
    forward = data.draw(st.integers(1, back))
    session.redo(forward)
    assert seen(session.todo_list) == states[changes - back + forward]
    session.undo(changes - back + forward)
    assert seen(session.todo_list) == states[0]
    session.redo(changes)
    assert seen(session.todo_list) == states[-1]


@given(STORIES, CHANGES)
def test_a_new_change_leaves_nothing_to_redo(story: list[Named], step: Named) -> None:
    session = in_memory()
    tell(session, story)
    session.add("something to take back")
    session.undo()
    version = session.version
    attempt(session, step)
    if session.version == version:
        assert session.redo()[-1].content == "something to take back"
    else:
        with pytest.raises(NothingToUndo):
            session.redo()


@given(SEEDS, STORIES, st.integers(1, 3))
def test_a_renewed_lease_is_neither_undone_nor_lost_by_undo_and_redo(seed: Named, story: list[Named], n: int) -> None:
    session = in_memory()
    attempt(session, seed)
    tell(session, story)
    claimed = session.claim("dee", 1000)
    if claimed is None:
        return
    renewed = session.renew(claimed.id, "dee", 2000 + n)
    session.undo()
    session.redo()
    assert session.todo_list.items[claimed.id] == renewed


@given(STORIES)
def test_sending_the_same_list_again_changes_nothing_and_fires_nothing(story: list[Named]) -> None:
    session = in_memory()
    tell(session, story)
    version, heard = session.version, list[object]()
    session.on("todos:update", heard.append)
    same = [{"content": todo.content, "status": todo.status} for todo in session.todos]
    written = session.write(same, replace=True)
    assert not written.changed
    assert (session.version, heard) == (version, [])


@given(SEEDS, st.data())
def test_ids_stay_with_their_content_across_replacement(seed: Named, data: st.DataObject) -> None:
    session = in_memory()
    attempt(session, seed)
    before = session.todos
    contents = data.draw(st.lists(st.one_of(CONTENTS, st.sampled_from([t.content for t in before] or ["A"]))))
    session.write([{"content": content} for content in contents], replace=True)
    for content in {todo.content for todo in session.todos}:
        old = [todo for todo in before if todo.content == content]
        new = [todo for todo in session.todos if todo.content == content]
        assert [todo.id for todo in new[: len(old)]] == [todo.id for todo in old[: len(new)]]
        for was, now in zip(old, new, strict=False):
            assert (now.status, now.priority, now.created_at) == (was.status, was.priority, was.created_at)
        assert {todo.id for todo in new[len(old) :]}.isdisjoint(todo.id for todo in before)


@given(st.lists(st.one_of(CHANGES, st.just(Named("undo", (), lambda s: s.undo()))), max_size=15))
def test_a_generated_id_is_never_given_twice(story: list[Named]) -> None:
    session = in_memory()
    used: set[str] = set()
    for step in story:
        attempt(session, step)
        version = session.version
        made = session.add("one more").id
        assert session.version == version + 1
        assert made not in used
        used |= {made, *session.todo_list.items}


@given(STORIES)
def test_ids_are_unique_and_dependencies_point_into_the_list_without_a_cycle(story: list[Named]) -> None:
    session = in_memory()
    for step in story:
        attempt(session, step)
        items = session.todo_list.items
        assert all(key == todo.id for key, todo in items.items())
        assert all(node in items for todo in items.values() for node in todo.depends_on)
        assert find_cycle({todo.id: todo.depends_on for todo in items.values()}) == []


@given(SEEDS, st.lists(NEW_ITEMS, max_size=6))
def test_whatever_a_replacement_drops_or_detaches_is_named(seed: Named, new: list[dict[str, object]]) -> None:
    session = in_memory()
    attempt(session, seed)
    before = session.todos
    try:
        written = session.write(new, replace=True)
    except InvalidTodos:
        return
    lived_on = Counter(todo.content for todo in written.todos)
    gone = Counter(todo.content for todo in before) - lived_on
    unfinished = Counter(todo.content for todo in before if todo.status not in FINISHED)
    named = Counter(todo.content for todo in written.dropped)
    assert named <= gone
    assert all(
        named[text] == gone[text] for text in gone if unfinished[text] == Counter(t.content for t in before)[text]
    )
    assert all(todo in before for todo in written.dropped)
    gone_ids = {todo.id for todo in before if not lived_on[todo.content]}
    kept = {todo.content: todo for todo in before if [t.content for t in before].count(todo.content) == 1}
    for todo in written.todos:
        if todo.content in kept and lived_on[todo.content] == 1:
            lost = {node for node in kept[todo.content].depends_on if node in gone_ids} - set(todo.depends_on)
            assert {(todo.id, node) for node in lost} <= set(written.detached)


@given(st.lists(st.tuples(WORKERS, st.integers(1, 3), st.integers(0, 3)), min_size=1, max_size=15), SEEDS)
def test_claims_respect_owners_dependencies_priorities_and_leases(
    attempts: list[tuple[str, int, int]], seed: Named
) -> None:
    clock = Clock()
    session = in_memory(clock)
    attempt(session, seed)
    held: dict[str, tuple[str, str]] = {}
    for actor, lease, wait in attempts:
        clock.forward(wait)
        before = session.todo_list.items
        free = [todo for todo in before.values() if is_ready(todo, before) or _lapsed(todo, before, clock.at)]
        todo = session.claim(actor, lease)
        if todo is None:
            assert free == []
            continue
        assert before[todo.id] in free
        assert PRIORITY_ORDER[todo.priority] == min(PRIORITY_ORDER[other.priority] for other in free)
        first = next(other for other in free if PRIORITY_ORDER[other.priority] == PRIORITY_ORDER[todo.priority])
        assert todo.id == first.id
        if todo.id in held:
            assert held[todo.id][1] <= clock.at, "taken from an owner whose lease still ran"
        assert (todo.owner, todo.status) == (actor, Status.IN_PROGRESS)
        assert todo.lease_until is not None
        held[todo.id] = (actor, todo.lease_until)


def _lapsed(todo: Todo, items: dict[str, Todo], at: str) -> bool:
    met = all(items[node].status is Status.COMPLETED for node in todo.depends_on)
    return todo.status is Status.IN_PROGRESS and todo.lease_until is not None and todo.lease_until <= at and met


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=8)
    | st.sampled_from(["\ud800", " ", "t1", "pending", "2025-01-01", "0001-01-01T00:00+14:00"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
_FIELD_NAMES = st.sampled_from(
    [
        "id",
        "content",
        "description",
        "activeForm",
        "status",
        "priority",
        "module",
        "depends_on",
        "dependencies",
        "risks",
        "estimatedTime",
        "notes",
        "owner",
        "leaseUntil",
        "createdFrom",
        "created_at",
        "startedAt",
        "completedAt",
        "started_at_round",
        "interrupted",
        "evidence",
        "tool_calls",
        "nope",
    ]
)
ODD_ITEMS = st.one_of(JSON, st.dictionaries(_FIELD_NAMES, JSON, max_size=4), NEW_ITEMS)


@given(st.lists(ODD_ITEMS, max_size=4) | JSON, JSON, JSON)
@settings(max_examples=some(150))
def test_any_write_ends_in_a_list_or_an_error_that_says_why(todos: Any, title: Any, summary: Any) -> None:
    session = in_memory()
    session.write([{"content": "A"}, {"content": "B"}])
    if attempt(session, lambda s: s.write(todos, title=title, summary=summary)):
        assert session.version == 1
    for event in session.events():
        to_event_json(event).encode()
        assert through_json(event) == event


@given(st.dictionaries(_FIELD_NAMES, JSON, max_size=4), JSON)
@settings(max_examples=some(150))
def test_any_update_or_addition_ends_in_an_item_or_an_error(fields: dict[str, Any], content: Any) -> None:
    session = in_memory()
    session.write([{"content": "A"}, {"content": "B"}])
    attempt(session, lambda s: s.update("t1", **fields))
    fields.pop("content", None)
    attempt(session, lambda s: s.add(content, **fields))
    for event in session.events():
        to_event_json(event).encode()
        assert through_json(event) == event


_STEP_NAMES = st.sampled_from(
    ["id", "description", "module", "dependencies", "depends_on", "risks", "estimatedTime", "nope"]
)
_PLAN_NAMES = st.sampled_from(
    ["title", "overview", "risks", "testingStrategy", "testing_strategy", "estimatedDuration", "nope"]
)


@given(st.dictionaries(_PLAN_NAMES, JSON), st.lists(JSON | st.dictionaries(_STEP_NAMES, JSON), max_size=4) | JSON, JSON)
@settings(max_examples=some(150))
def test_any_plan_is_taken_or_refused_with_its_faults(head: dict[str, object], steps: object, other: Any) -> None:
    session = in_memory()
    for raw in ({"title": "t", "overview": "o", **head, "steps": steps}, other):
        error = attempt(session, lambda s, raw=raw: s.set_plan(raw))
        assert error is None or (isinstance(error, InvalidPlan) and error.violations)
    assert [through_json(event) for event in session.events()] == list(session.events())


@given(STORIES)
def test_every_change_of_the_list_moves_updated_at(story: list[Named]) -> None:
    session = in_memory(Ticking())
    for step in story:
        version, before = session.version, session.updated_at
        attempt(session, step)
        changes = [e for e in session.events(version) if isinstance(e.data, ListDelta) and e.agent == "main"]
        assert (session.updated_at != before) == bool(changes)
        if changes:
            assert session.updated_at == changes[-1].at
