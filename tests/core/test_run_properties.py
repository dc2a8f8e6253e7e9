"""What holds whatever happens in and around a run: the log is the state, counts add up, the tracker keeps its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counts import some

from headway import Event, HeadwayError, NothingToUndo, RunRefused, Session, Status
from headway.core.codec import load_event_classes, read_event, read_state, to_event_json, write_state
from headway.core.events import ListDelta, RunData
from headway.core.evolve import fold
from headway.core.model import FINISHED, LOOP, MODEL, TRACKER, State
from headway.core.run_commands import RecordEvents, StartRun
from headway.core.run_events import (
    ApprovalAsked,
    ConversationCompacted,
    MessageAdded,
    RunStarted,
    TodoListContextInjected,
    TodoListItemProgress,
    ToolFinished,
    ToolStarted,
)
from headway.core.tracking import AUTO, JUDGED, MANUAL, TODO_EFFECT, Policy, find_active_todo, is_ours

from .running import Running, check_completions, create
from .samples import in_memory, seen

# what can happen


@dataclass
class Stage:
    """A session with a run of each of its two agents, as far as they go on."""

    session: Session = field(default_factory=in_memory)
    runs: dict[str, Running] = field(default_factory=dict[str, Running])
    before: State = field(default_factory=State)
    """The state before the last step."""
    made: list[Event] = field(default_factory=list[Event])
    """What the last step brought."""

    def of(self, agent: str) -> Session:
        return self.session if agent == "main" else self.session.agent(agent)

    def do(self, step: Step) -> HeadwayError | None:
        self.before = self.session.state
        error = None
        try:
            step(self)
        except HeadwayError as refusal:
            error = refusal
        self.made = list(self.session.events(self.before.version))
        return error


@dataclass
class Step:
    """A step with a name, so that a failing example reads as a story."""

    name: str
    arguments: tuple[object, ...]
    run: Callable[[Stage], object] = field(repr=False)

    def __call__(self, stage: Stage) -> object:
        return self.run(stage)


def _begin(agent: str) -> Step:
    def begin(stage: Stage) -> None:
        if agent not in stage.runs:
            stage.runs[agent] = Running(stage.of(agent)).begin(rounds=0)
            return
        start = RunStarted(run_id="another", task="Do it", model="scripted", max_rounds=5, holder="someone")
        with pytest.raises(RunRefused):
            stage.session.log.execute(lambda state: StartRun(agent, LOOP, "2025-01-02T03:04:05.000Z", start))

    return Step("begin", (agent,), begin)


def _in_run(name: str, agent: str, arguments: tuple[object, ...], run: Callable[[Running], object]) -> Step:
    """A step of a run; nothing where none goes on."""

    def go(stage: Stage) -> None:
        if running := stage.runs.get(agent):
            run(running)

    return Step(name, (agent, *arguments), go)


def _call(agent: str, tool: str, outcome: str, policy: Policy) -> Step:
    denied, code = outcome == "denied", {"exit 1": 1, "exit 0": 0}.get(outcome)
    ok = outcome not in ("failed", "denied")
    return _in_run(
        "call",
        agent,
        (tool, outcome, policy),
        lambda running: running.call(tool, ok, denied=denied, exit_code=code, policy=policy),
    )


def _starts(agent: str, tool: str, effect: str | None, policy: Policy) -> Step:
    def begin(running: Running) -> None:
        begun = ToolStarted(round=running.run.round, call_id="call-0", tool=tool, summary=tool, effect=effect)
        running.session.log.execute(
            lambda state: RecordEvents(agent, LOOP, running.clock(), running.id, [begun], policy)
        )

    return _in_run("a call begins", agent, (tool, effect, policy), begin)


def _sets(agent: str, todo_id: str, state: str, policy: Policy) -> Step:
    def change(running: Running) -> None:
        running.session.update(todo_id, actor=MODEL, status=state)
        running.todo_call(policy=policy)

    return _in_run("the model sets", agent, (todo_id, state, policy), change)


def _advances(agent: str, done: list[str], start: str | None, policy: Policy) -> Step:
    def change(running: Running) -> None:
        running.session.advance(done=done, start=start, add=["one more"], actor=MODEL)
        running.todo_call(policy=policy)

    return _in_run("the model goes on", agent, (done, start, policy), change)


def _end(agent: str) -> Step:
    def end(stage: Stage) -> None:
        if running := stage.runs.pop(agent, None):
            running.end("cancelled")

    return Step("end", (agent,), end)


def _facts(agent: str, facts: tuple[RunData, ...]) -> Step:
    return _in_run("record", agent, facts, lambda running: running.record(*facts))


def _asked(agent: str, what: str) -> Step:
    def ask(stage: Stage) -> None:
        session = stage.of(agent)
        {"stop": session.stop_run, "pause": session.pause_run, "resume": session.resume_run}[what]()

    return Step("ask", (agent, what), ask)


def _of_session(name: str, agent: str, arguments: tuple[object, ...], run: Callable[[Session], object]) -> Step:
    return Step(name, (agent, *arguments), lambda stage: run(stage.of(agent)))


def _person_sets(agent: str, todo_id: str, state: str) -> Step:
    return _of_session("a person sets", agent, (todo_id, state), lambda s: s.update(todo_id, status=state))


def _writes(agent: str, todos: list[dict[str, object]], cause: str) -> Step:
    return _of_session(cause, agent, (todos,), lambda s: s.write(todos, replace=True, actor=MODEL, cause=cause))


def _creates(agent: str, todos: list[dict[str, object]]) -> Step:
    return _of_session("create", agent, (todos,), lambda s: create(s, *todos))


def _claims(agent: str, worker: str, lease: int) -> Step:
    return _of_session("claim", agent, (worker, lease), lambda s: s.claim(worker, lease))


def _others(agent: str, todo_id: str, which: str) -> Step:
    steps: dict[str, Callable[[Session], object]] = {
        "undo": lambda s: s.undo(),
        "redo": lambda s: s.redo(),
        "drop": lambda s: s.drop(todo_id),
        "move": lambda s: s.move(todo_id, 1),
        "plan mode on": lambda s: s.set_plan_mode(True),
        "plan mode off": lambda s: s.set_plan_mode(False),
        "answer": lambda s: s.answer("q1", "once"),
    }
    return _of_session(which, agent, (todo_id,), steps[which])


def _round(agent: str) -> Step:
    return _in_run("round", agent, (), lambda running: running.next_round())


TEXTS = ("Run the tests", "Run the linter", "运行测试", "Read the parser", "Fix the parser", "Delete a file", "Think")
IDS = ("t1", "t2", "t3", "t4", "t5", "a")
STATES = tuple(status.value for status in Status)
OUTCOMES = ("ok", "ok", "ok", "exit 0", "failed", "failed", "exit 1", "denied")
FACTS: tuple[tuple[RunData, ...], ...] = (
    (
        ApprovalAsked(question_id="q1", tool="bash", effect="execute", line="make"),
        ApprovalAsked(question_id="q2", tool="bash", effect="execute", line="make", diff="+a"),
    ),
    (TodoListContextInjected(total_items=2, active_item="t1", round=1, finished=True),),
    (MessageAdded(message={"n": 1}), ConversationCompacted(message={"n": 2}, kept_from=1)),
)


class Chance(Random):
    """Draws what a step is about. The same seed gives the same story, and a shorter one its beginning."""

    def agent(self) -> str:
        return self.choice(["main"] * 6 + ["sub-1"])

    def policy(self) -> Policy:
        return Policy(self.choice([AUTO] * 4 + [MANUAL, JUDGED]), self.randint(1, 3), self.randint(1, 3))

    def items(self) -> list[dict[str, object]]:
        return [self.item() for _ in range(self.randint(0, 4))]

    def item(self) -> dict[str, object]:
        some: dict[str, object] = {
            "status": self.choice(STATES),
            "id": self.choice(IDS),
            "depends_on": [self.choice(IDS)],
            "notes": "a note",
        }
        rest = {name: value for name, value in some.items() if self.random() < 0.2}
        return {"content": self.choice(TEXTS), **rest}


def _works(chance: Chance) -> Step:
    tool = chance.choice(["bash", "bash", "bash", "read_file", "ls", "write_file"])
    return _call(chance.agent(), tool, chance.choice(OUTCOMES), chance.policy())


_STEPS: dict[Callable[[Chance], Step], int] = {
    _works: 40,
    lambda c: _starts(c.agent(), "bash", c.choice(["execute", "execute", None]), c.policy()): 6,
    lambda c: _round(c.agent()): 10,
    lambda c: _sets(c.agent(), c.choice(IDS), c.choice(STATES), c.policy()): 8,
    lambda c: _advances(c.agent(), c.sample(IDS, c.randint(0, 1)), c.choice([None, *IDS]), c.policy()): 5,
    lambda c: _person_sets(c.agent(), c.choice(IDS), c.choice(STATES)): 6,
    lambda c: _writes(c.agent(), c.items(), c.choice(["write", "import"])): 3,
    lambda c: _creates(c.agent(), c.items()): 4,
    lambda c: _claims(c.agent(), c.choice(["ada", MODEL]), c.randint(1, 600)): 3,
    lambda c: _begin(c.agent()): 4,
    lambda c: _end(c.agent()): 2,
    lambda c: _facts(c.agent(), c.choice(FACTS)): 3,
    lambda c: _asked(c.agent(), c.choice(["stop", "pause", "resume"])): 2,
    lambda c: _others(c.agent(), c.choice(IDS), c.choice(["undo", "undo", "redo"])): 7,
    lambda c: _others(c.agent(), c.choice(IDS), c.choice(["drop", "move", "answer"])): 2,
    lambda c: _others(c.agent(), "", c.choice(["plan mode on", "plan mode off", "plan mode off"])): 2,
}
"""What comes next, and how often."""


def _story(seed: int, length: int) -> list[Step]:
    """A list that the loop keeps and a run, then work, and whatever else happens."""
    chance = Chance(seed)
    todos: list[dict[str, object]] = [{"content": chance.choice(TEXTS)} for _ in range(3)]
    steps = [_creates("main", todos), _begin("main"), _round("main")]
    for make in chance.choices(list(_STEPS), list(_STEPS.values()), k=60)[:length]:
        steps.append(make(chance))
    return steps


STORIES: st.SearchStrategy[list[Step]] = st.builds(_story, st.integers(0, 2**32), st.integers(0, 60))


def told(story: list[Step]) -> Stage:
    stage = Stage()
    for step in story:
        stage.do(step)
    return stage


def through_json(event: Event) -> Event:
    return read_event(event.version, event.at, event.agent, event.actor, event.type, to_event_json(event))


# what holds


@given(STORIES)
def test_the_log_is_the_state_from_its_beginning_and_from_any_snapshot(story: list[Step]) -> None:
    session = told(story).session
    events = [through_json(event) for event in session.events()]
    assert events == list(session.events())
    assert fold(State(), events) == session.state
    for cut in (len(events) // 3, len(events) // 2, len(events)):
        before = fold(State(), events[:cut])
        snapshot = read_state(write_state(before))
        assert snapshot == before
        assert snapshot is not None
        assert fold(snapshot, events[cut:]) == session.state
        for agent, run in before.runs.items():
            assert list(snapshot.runs[agent].tracks) == list(run.tracks)
            assert snapshot.runs[agent].started == run.started


@given(STORIES)
def test_deciding_leaves_the_state_before_as_it_was_and_a_refusal_leaves_no_trace(story: list[Step]) -> None:
    stage = Stage()
    for step in story:
        state = stage.session.state
        before = write_state(state)
        error = stage.do(step)
        assert write_state(state) == before
        if error is not None and step.name not in ("the model sets", "the model goes on"):
            assert stage.made == []
        assert [event.version for event in stage.made] == list(
            range(state.version + 1, state.version + 1 + len(stage.made))
        )


@given(STORIES)
def test_calls_are_counted_once_where_they_were_recorded(story: list[Step]) -> None:
    stage = Stage()
    for step in story:
        stage.do(step)
        calls = [event.data for event in stage.session.events() if isinstance(event.data, ToolFinished)]
        made = [event.data for event in stage.made if isinstance(event.data, ToolFinished)]
        recorded = [event.data for event in stage.made if isinstance(event.data, TodoListItemProgress)]
        assert [call.item_id for call in made if call.item_id] == [fact.item_id for fact in recorded]
        assert all(call.item_id is None for call in calls if call.effect == TODO_EFFECT)
        for agent, todo_list in stage.session.state.lists.items():
            for todo in todo_list.items.values():
                assert 0 <= todo.failed_calls <= todo.tool_calls <= len(calls)
            run = stage.session.state.runs.get(agent)
            for fact in recorded if run is not None and step.arguments[0] == agent else []:
                todo = todo_list.items[fact.item_id]
                assert (fact.status, fact.tool_calls_count, fact.round) == (
                    todo.status,
                    todo.tool_calls,
                    run and run.round,
                )


@given(STORIES)
def test_a_runs_own_count_is_that_of_its_calls(story: list[Step]) -> None:
    stage = told(story)
    counts: dict[str, int] = {}
    for event in stage.session.events():
        if event.type == "RunStarted":
            counts[event.agent] = 0
        elif isinstance(event.data, ToolFinished):
            counts[event.agent] += event.data.effect != TODO_EFFECT
    assert {agent: run.tool_calls for agent, run in stage.session.state.runs.items()} == counts


@given(STORIES)
def test_after_the_end_nothing_of_the_runs_is_in_progress(story: list[Step]) -> None:
    stage = told(story)
    for agent in list(stage.runs):
        claimed = [todo for todo in stage.of(agent).todos if not is_ours(todo)]
        stage.do(_end(agent))
        session = stage.of(agent)
        run = session.run
        assert run is not None
        assert (run.is_active, run.started, run.questions) == (False, (), {})
        assert not [todo for todo in session.todos if todo.status is Status.IN_PROGRESS and is_ours(todo)]
        assert [todo for todo in session.todos if not is_ours(todo)] == claimed


@given(STORIES)
def test_the_tracker_keeps_its_place(story: list[Step]) -> None:
    stage = Stage()
    for step in story:
        stage.do(step)
        before = stage.before
        for event in stage.made:
            if event.actor == TRACKER:
                assert isinstance(event.data, ListDelta)
                todos, run = before.list_of(event.agent), before.runs[event.agent]
                assert todos.kept_by_loop
                assert not before.plan_mode
                assert run.is_active
                for todo_id in event.data.changed:
                    todo = todos.items[todo_id]
                    assert is_ours(todo)
                    assert todo_id not in run.forced
                    assert todo_id not in run.set_by_user
                    assert todo.status not in FINISHED
            before = fold(before, [event])


@given(STORIES)
def test_nothing_is_completed_without_a_successful_call_of_a_matching_kind_or_somebodys_word(story: list[Step]) -> None:
    check_completions(told(story).session.events())


_CALLS = st.tuples(st.sampled_from(["bash", "read_file", "write_file", "ls"]), st.sampled_from(OUTCOMES))
_BEGINS = st.tuples(st.just("begins"), st.sampled_from(IDS))


@given(st.lists(_CALLS | _BEGINS, max_size=30), st.integers(1, 3))
@settings(max_examples=some(600, 2))
def test_calls_and_beginnings_alone_complete_only_what_a_call_of_its_kind_was_made_for(
    steps: list[tuple[str, str]], needed: int
) -> None:
    session = in_memory()
    create(session, *TEXTS)
    running = Running(session).begin()
    stage, policy = Stage(session, {"main": running}), Policy(complete_after=needed)
    for what, how in steps:
        if what == "begins":
            running.next_round()
            stage.do(_sets("main", how, "in_progress", policy))
        else:
            stage.do(_call("main", what, how, policy))
    running.end()
    check_completions(session.events())


@given(STORIES)
def test_what_a_person_set_stays_until_someone_says_otherwise(story: list[Step]) -> None:
    stage = Stage()
    for step in story:
        before = stage.session.state
        stage.do(step)
        for agent, run in before.runs.items():
            if not run.is_active or step.arguments[0] != agent or step.name not in ("call", "a call begins", "round"):
                continue
            items = stage.session.state.list_of(agent).items
            for todo_id in run.set_by_user:
                assert items[todo_id].status is before.list_of(agent).items[todo_id].status


@given(STORIES)
def test_the_active_item_is_one_that_can_be_worked_on(story: list[Step]) -> None:
    stage = Stage()
    for step in story:
        stage.do(step)
        for agent, run in stage.session.state.runs.items():
            items = stage.session.state.list_of(agent).items
            active = find_active_todo(items, run)
            working = [todo for todo in items.values() if todo.status is Status.IN_PROGRESS and is_ours(todo)]
            if active is None:
                assert working == []
            else:
                assert active.status is Status.IN_PROGRESS or run.tracks[active.id].blocked
            assert set(run.tracks) <= set(items)
            begun = [items[todo_id] for todo_id in run.started]
            assert all(todo.status is Status.IN_PROGRESS or run.tracks[todo.id].blocked for todo in begun)
            assert len(set(run.started)) == len(run.started)


@given(STORIES)
def test_everything_can_be_undone_and_done_again(story: list[Step]) -> None:
    session = told(story).session
    end = seen(session.todo_list)
    changes = 0
    while True:
        try:
            session.undo()
        except NothingToUndo:
            break
        changes += 1
        assert changes <= session.version
    assert seen(session.todo_list) == seen(in_memory().todo_list)
    if changes:
        session.redo(changes)
    assert seen(session.todo_list) == end
    assert fold(State(), session.events()) == session.state


# every kind of event


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
_FLOATS = st.floats(allow_nan=False)
_OF_FIELD: dict[str, st.SearchStrategy[object]] = {
    "message: dict[str, Any]": st.dictionaries(st.text(max_size=6), JSON, max_size=3),
    "kept_from: int": st.integers(),
    "seconds: float": _FLOATS,
    "retry_in: float | None": st.none() | _FLOATS,
    "total_cost: float | None": st.none() | _FLOATS,
    "cost: float | None": st.none() | _FLOATS,
}


def _data(kind: type[RunData]) -> st.SearchStrategy[Any]:
    annotations = {field.name: str(field.type) for field in kind.__dataclass_fields__.values()}
    hints = get_type_hints(type("Fields", (), {"__annotations__": annotations}), {"Any": Any})
    fields = {
        name: _OF_FIELD[written] if (written := f"{name}: {kind}") in _OF_FIELD else st.from_type(hints[name])
        for name, kind in annotations.items()
    }
    return st.fixed_dictionaries(fields).map(lambda values: kind(**values))


_ALL = [kind for kind in load_event_classes().values() if issubclass(kind, RunData)]


@given(st.one_of([_data(kind) for kind in _ALL]), st.integers(1, 2**40), st.text(max_size=10))
@settings(max_examples=some(300))
def test_any_event_of_a_run_survives_being_written_down(data: RunData, version: int, agent: str) -> None:
    event = Event(version, "2025-01-02T03:04:05.000Z", agent, LOOP, data)
    read = through_json(event)
    assert read == event
    assert repr(read.data) == repr(data)
