"""Whatever a loop calls, in any order: the log is the state, wrong use is a sentence, nothing stays in progress."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import headway
from headway import HeadwayError
from headway.core.evolve import fold
from headway.core.model import State
from headway.core.run_events import RunFinished, ToolFinished, ToolStarted

IDS = st.sampled_from(["c1", "c2", "c3"])
TODO_IDS = st.sampled_from(["t1", "t2", "t9"])
TODO_CALLS = st.one_of(
    st.just(("create_todo_list", {"items": [{"description": "Fix it"}, {"description": "Run the tests"}]})),
    st.tuples(
        st.just("todo"),
        st.dictionaries(st.sampled_from(["done", "drop"]), st.lists(TODO_IDS)),
    ),
    st.tuples(st.just("todo"), st.fixed_dictionaries({"start": TODO_IDS})),
    st.tuples(st.sampled_from(["todo", "nothing"]), st.one_of(st.none(), st.text(), st.integers())),
)
STEPS = st.one_of(
    st.just(("context",)),
    st.just(("request_failed",)),
    st.just(("compacted",)),
    st.just(("on_stop", "Done.")),
    st.tuples(st.just("usage"), st.integers(0, 1_000)),
    TODO_CALLS.map(lambda call: ("call", *call)),
    st.tuples(st.just("tool_started"), IDS, st.sampled_from(["bash", "edit", "todo"]), st.just({"command": "pytest"})),
    st.tuples(st.just("tool_finished"), IDS),
    st.tuples(st.just("edit"), st.sampled_from(["t1", "t2"])),
)


@given(st.lists(STEPS, max_size=25), st.sampled_from(["manual", "auto"]), st.integers(0, 25), st.booleans())
def test_any_order_of_calls_keeps_the_list_and_the_log_sound(
    steps: list[tuple[Any, ...]], tracking: str, ends_after: int, raises: bool
) -> None:
    session = headway.open(memory=True)
    run = session.planner(tracking=tracking).run("Work")
    open_calls: set[str] = set()

    def take(step: tuple[Any, ...]) -> None:
        name, *arguments = step
        refused = False
        try:
            if name == "edit":
                session.update(arguments[0], notes="by hand")
            else:
                getattr(run, name)(*arguments)
        except HeadwayError as error:
            refused = True
            assert str(error).endswith(".")
        if name == "tool_started" and arguments[1] != "todo" and not ended:
            assert refused == (arguments[0] in open_calls)
            open_calls.add(arguments[0])
        if name == "tool_finished" and not ended:
            assert refused == (arguments[0] not in open_calls)
            open_calls.discard(arguments[0])
        assert refused or not ended or name == "edit"

    ended = False
    try:
        with run:
            for step in steps[:ends_after]:
                take(step)
            if raises:
                raise LookupError("lost")
    except LookupError:
        assert raises
    ended = True
    for step in steps[ends_after:]:
        take(step)
    events = list(session.events())
    assert [event.version for event in events] == [*range(1, len(events) + 1)]
    assert fold(State(), events) == session.state
    assert all(todo.status != "in_progress" for todo in session.todos)
    started = [event.data.call_id for event in events if isinstance(event.data, ToolStarted)]
    finished = [event.data for event in events if isinstance(event.data, ToolFinished)]
    assert sorted(started) == sorted(call.call_id for call in finished)
    assert {call.call_id for call in finished if call.cancelled} == open_calls
    assert sum(isinstance(event.data, RunFinished) for event in events) == 1
