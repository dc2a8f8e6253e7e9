"""What holds of executions whatever happens: the log is the state, and people's words are never overridden."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from headway import HeadwayError, Session, Status
from headway.core.codec import read_event, read_state, to_event_json, write_state
from headway.core.events import ListDelta
from headway.core.evolve import fold
from headway.core.execution_events import AttemptFinished, AttemptStarted
from headway.core.model import EXECUTOR, LOOP, MODEL, State
from headway.core.run_events import EvidenceAsked

from .executing import SHOWN, Executing
from .samples import Ticking, in_memory, visible

IDS = ("a", "b", "c", "d")
ITEMS = [
    {"id": "a", "content": "Do a"},
    {"id": "b", "content": "Do b", "depends_on": ["a"]},
    {"id": "c", "content": "Do c"},
    {"id": "d", "content": "Do d", "depends_on": ["b", "c"]},
]
OUTCOMES = ("completed", "completed", "completed", "blocked", "cancelled", "conflict", "interrupted")
ON = st.sampled_from(IDS)
Step = tuple[str, str, str]
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("start"), ON, st.just("")),
    st.tuples(st.just("start"), ON, st.just("")),
    st.tuples(st.just("finish"), ON, st.sampled_from(OUTCOMES)),
    st.tuples(st.just("finish"), ON, st.sampled_from(OUTCOMES)),
    st.tuples(st.just("again"), ON, st.sampled_from(("blocked", "conflict"))),
    st.tuples(st.just("person"), ON, st.sampled_from([status.value for status in Status])),
    st.tuples(st.just("model"), ON, st.sampled_from(["completed", "in_progress"])),
    st.tuples(st.sampled_from(["drop", "move", "undo", "redo", "roll back", "ask", "call"]), ON, st.just("")),
    st.tuples(st.sampled_from(["end", "begin"]), st.just(""), st.just("")),
)
STORIES = st.lists(STEPS, max_size=30)


class Stage:
    def __init__(self) -> None:
        self.session: Session = in_memory(Ticking())
        self.session.write(ITEMS, replace=True)
        self.batch = Executing(self.session).begin(rounds=1)

    def do(self, step: Step) -> None:
        name, todo_id, what = step
        session, batch = self.session, self.batch
        if name == "begin":
            if not batch.run.is_active:
                self.batch = Executing(session).begin(rounds=1)
            return
        steps: dict[str, Callable[[], object]] = {
            "start": lambda: batch.start(todo_id),
            "finish": lambda: batch.finish_item(
                todo_id, what, evidence=SHOWN, tool_calls=2, failed_calls=1, reason="Because."
            ),
            "again": lambda: batch.finish_item(todo_id, what, again=True, reason="Because."),
            "person": lambda: session.update(todo_id, status=what),
            "model": lambda: session.update(todo_id, actor=MODEL, status=what),
            "drop": lambda: session.drop(todo_id),
            "move": lambda: session.move(todo_id, 1),
            "undo": session.undo,
            "redo": session.redo,
            "roll back": lambda: batch.roll_back(todo_id),
            "ask": lambda: batch.record(EvidenceAsked(item_ids=(todo_id, "x"))),
            "call": lambda: batch.call("bash", exit_code=0),
            "end": lambda: batch.end("cancelled"),
        }
        steps[name]()


def told(story: list[Step]) -> Session:
    stage = Stage()
    for step in story:
        with suppress(HeadwayError):
            stage.do(step)
    return stage.session


@given(STORIES)
def test_events_survive_json_and_the_state_its_snapshot(story: list[Step]) -> None:
    session = told(story)
    events = [read_event(e.version, e.at, e.agent, e.actor, e.type, to_event_json(e)) for e in session.events()]
    assert events == list(session.events())
    assert fold(State(), events) == session.state
    for cut in (len(events) // 2, len(events)):
        before = fold(State(), events[:cut])
        kept = read_state(write_state(before))
        assert kept == before
        assert kept is not None
        for agent, run in before.runs.items():
            other = kept.runs[agent]
            assert (other.execution, other.executed, other.work, other.asked) == (
                run.execution,
                run.executed,
                run.work,
                run.asked,
            )
        assert fold(kept, events[cut:]) == session.state


@given(STORIES)
def test_the_executor_only_ends_what_it_began_and_nobody_changed(story: list[Step]) -> None:
    before = State()
    for event in told(story).events():
        data = event.data
        if isinstance(data, ListDelta) and event.actor in (EXECUTOR, LOOP) and data.cause in ("execute", "interrupt"):
            run = before.runs["main"]
            assert run.execution is not None
            for todo_id, fields in data.changed.items():
                if "status" not in fields:
                    continue
                was, now = fields["status"]
                if now is Status.IN_PROGRESS:
                    assert was in (Status.PENDING, Status.BLOCKED)
                    assert todo_id not in run.execution.executing
                else:
                    assert was is Status.IN_PROGRESS
                    assert todo_id in run.execution.executing
        before = fold(before, [event])


@given(STORIES)
def test_nothing_begins_twice_or_too_early_and_what_began_is_known(story: list[Step]) -> None:
    before = State()
    working: dict[str, str] = {}
    for event in told(story).events():
        data = event.data
        if isinstance(data, AttemptStarted):
            items = before.list_of("main").items
            assert data.item_id not in working
            assert all(items[node].status is Status.COMPLETED for node in items[data.item_id].depends_on)
            working[data.item_id] = data.agent
        elif isinstance(data, AttemptFinished):
            assert working.pop(data.item_id) == data.agent
        elif event.type == "RunFinished":
            working.clear()
        before = fold(before, [event])
        run = before.runs.get("main")
        if run is not None and run.is_active and run.execution is not None:
            assert run.execution.executing == working


@given(STORIES)
def test_after_the_end_nothing_that_was_executed_is_in_progress(story: list[Step]) -> None:
    stage = Stage()
    for step in story:
        with suppress(HeadwayError):
            stage.do(step)
    with suppress(HeadwayError):
        run = stage.session.run
        executing = (
            [*run.execution.executing] if run is not None and run.is_active and run.execution is not None else []
        )
        stage.batch.end("cancelled")
        items = stage.session.todo_list.items
        assert not [i for i in executing if i in items and items[i].status is Status.IN_PROGRESS]


@given(STORIES)
def test_all_of_it_can_be_undone_and_done_again(story: list[Step]) -> None:
    session = told([*(step for step in story if step[0] not in ("undo", "redo")), ("end", "", "")])
    end = visible(session.todo_list)
    changes = 0
    with suppress(HeadwayError):
        while True:
            session.undo()
            changes += 1
    assert session.todos == []
    session.redo(changes)
    assert visible(session.todo_list) == end
