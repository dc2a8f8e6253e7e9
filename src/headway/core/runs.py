"""Runs of an agent: what the state holds of one, and what follows from an event of it. Pure.

`evolve` comes here for everything that is about a run; loaded only where there is one. What follows from a command
is in `decide_runs`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headway.core import run_events as facts
from headway.core import tracking
from headway.core.events import Event, ExecutionData
from headway.core.model import State, Status, Todo, TodoList, replace_fields
from headway.core.open_questions import is_answer_to
from headway.core.tracking import NO_CALLS, NO_WORK, RunWork, TodoCalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from headway.core.executions import Execution, LastAttempt

_NO_ITEMS: frozenset[str] = frozenset()
CUT_OFF = "The run was cut off: its process no longer exists."


@dataclass(frozen=True)
class Run:
    """An agent's run: what goes on, or what the last one left."""

    id: str
    model: str
    holder: str
    """Which process has it."""
    started_at: str
    max_rounds: int
    round: int = 0
    reason: str | None = None
    """Why it ended; None while it goes on."""
    mode: str = ""
    """The approval mode in force; empty in logs that do not say."""
    paused: bool = False
    """Whether someone asked it to pause."""
    waiting: bool = False
    """Whether it has paused: its round is over, and the next has not begun."""
    stopping: bool = False
    tool_calls: int = 0
    """Other than those of todo tools."""
    questions: dict[str, tuple[facts.ApprovalAsked, facts.ApprovalAnswered | None]] = field(
        default_factory=dict[str, "tuple[facts.ApprovalAsked, facts.ApprovalAnswered | None]"]
    )
    """Questions of this round, with their answers."""
    started: tuple[str, ...] = ()
    """Items that it has in progress, in the order in which it began them."""
    tracks: dict[str, TodoCalls] = field(default_factory=dict[str, TodoCalls])
    forced: frozenset[str] = frozenset()
    """Items whose state was set in this round by someone else than the tracker."""
    started_by_model: frozenset[str] = frozenset()
    """Of the items that it has in progress, those that its model began."""
    set_by_user: dict[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    """Items whose state a person set in this run, with the states that they had before."""
    shown_statuses: dict[str, str] = field(default_factory=dict[str, str])
    """Items whose state others changed since the model was last shown the list, with the states that it was shown."""
    list_changed: bool = False
    """Whether its model wrote or changed the list."""
    finished_shown: bool = False
    """Whether the model was shown that the list is finished, which happens once."""
    work: RunWork = NO_WORK
    require_evidence: bool | str = False
    asked: frozenset[str] = frozenset()
    """Items whose completion was refused once, because nothing showed it."""
    execution: Execution | None = None
    """The items that it executes, if it is such a run."""
    begun: int = 0
    """Executions of items that have begun in this session."""
    executed: dict[str, LastAttempt] = field(default_factory=dict[str, "LastAttempt"])
    """Item → its last execution in this session."""

    @property
    def is_active(self) -> bool:
        return self.reason is None


def find_active_run(state: State, agent: str) -> Run | None:
    """Return the agent's run that goes on."""
    run = state.runs.get(agent)
    return run if run is not None and run.is_active else None


def evolve_run(state: State, event: Event) -> tuple[dict[str, TodoList], dict[str, Run], dict[str, tuple[int, int]]]:
    """(lists, runs, conversations) after an event of a run."""
    agent, data = event.agent, event.data
    lists, runs, conversations = state.lists, state.runs, state.conversations
    if isinstance(data, facts.RunStarted):
        if data.new_conversation or (agent not in runs and agent not in conversations):
            conversations = {**conversations, agent: (0, event.version)}
        return lists, {**runs, agent: _start_run_state(runs.get(agent), data, event.at)}, conversations
    if isinstance(data, facts.ConversationCompacted):
        return lists, runs, {**conversations, agent: (event.version, data.kept_from)}
    run = runs.get(agent)
    if run is None:
        return lists, runs, conversations
    if isinstance(data, ExecutionData):
        return _evolve_execution(state, run, event)
    if isinstance(data, facts.TodoListItemProgress):
        todo_list = state.list_of(agent)
        if todo := todo_list.items.get(data.item_id):
            lists = {**lists, agent: _count_call_on_todo(todo_list, todo, data)}
        run = _track_call(run, data)
    else:
        before, run = run, _evolve_run_state(run, data)
        if run is before:
            return lists, runs, conversations
        if isinstance(data, facts.RunFinished):
            lists = _close_step(state, event)
    return lists, {**runs, agent: run}, conversations


def _evolve_execution(
    state: State, run: Run, event: Event
) -> tuple[dict[str, TodoList], dict[str, Run], dict[str, tuple[int, int]]]:
    from headway.core.execution_events import AttemptFinished
    from headway.core.executions import evolve_execution

    runs, conversations = (
        {**state.runs, event.agent: evolve_execution(run, event.data, event.version)},
        state.conversations,
    )
    if isinstance(event.data, AttemptFinished):
        # Nobody goes on with the sub-agent's run: what there is to know of it is in the log.
        gone = event.data.agent
        runs.pop(gone, None)
        conversations = {agent: where for agent, where in conversations.items() if agent != gone}
    return _close_step(state, event), runs, conversations


def _close_step(state: State, event: Event) -> dict[str, TodoList]:
    """Return the lists after an event that makes one step of what went before."""
    todo_list = state.list_of(event.agent)
    if getattr(event.data, "previous", None) is None:
        if getattr(event.data, "step", 0):  # an execution, which has its place where it began
            return {**state.lists, event.agent: replace(todo_list, redo=0, open_step=0)}
        return state.lists
    undo, redo, cause = event.version, 0, getattr(event.data, "cause", None)
    if cause == "undo":
        undo, redo = getattr(event.data, "other", 0), event.version
    elif cause == "redo":
        redo = getattr(event.data, "other", 0)
    return {**state.lists, event.agent: replace(todo_list, undo=undo, redo=redo, open_step=0)}


def _start_run_state(before: Run | None, data: facts.RunStarted, at: str) -> Run:
    evidence, mode = data.require_evidence, data.mode
    run = Run(data.run_id, data.model, data.holder, at, data.max_rounds, require_evidence=evidence, mode=mode)
    if before is None:
        return run
    # What tracking knows of the items, and what came of executing them, goes on with them.
    return replace(
        run,
        tracks=before.tracks,
        finished_shown=before.finished_shown and not data.new_conversation,
        begun=before.begun,
        executed=before.executed,
    )


def _evolve_run_state(run: Run, data: object) -> Run:
    match data:
        case facts.RoundStarted():
            return replace(run, round=data.round, questions={}, forced=_NO_ITEMS, waiting=False)
        case facts.ToolFinished():
            return run if data.effect == tracking.TODO_EFFECT or data.cancelled else _count_call(run, data)
        case facts.TodoListContextInjected():
            if run.shown_statuses:
                run = replace(run, shown_statuses={})
            return replace(run, finished_shown=True) if data.finished else run
        case facts.RunControlRequested():
            return _control_run(run, data.request)
        case facts.EvidenceAsked():
            return replace(run, asked=run.asked | frozenset(data.item_ids))
        case facts.RunPaused():
            return replace(run, waiting=True)
        case facts.ApprovalAsked():
            # Another one in the place of the first would be someone else's.
            first = run.questions.get(data.question_id, (data, None))
            return replace(run, questions={**run.questions, data.question_id: first})
        case facts.ApprovalAnswered():
            return _add_answer(run, data)
        case facts.RunFinished():
            return replace(
                run, reason=data.reason, started=(), started_by_model=_NO_ITEMS, questions={}, forced=_NO_ITEMS
            )
        case _:
            return run


def _control_run(run: Run, request: str) -> Run:
    if request == "stop":
        return replace(run, stopping=True)
    return replace(run, paused=True) if request == "pause" else replace(run, paused=False, waiting=False)


def _add_answer(run: Run, answer: facts.ApprovalAnswered) -> Run:
    asked, earlier = run.questions.get(answer.question_id, (None, None))
    if asked is None or earlier is not None or not is_answer_to(asked, answer):
        return run
    return replace(run, questions={**run.questions, answer.question_id: (asked, answer)})


def _count_call(run: Run, call: facts.ToolFinished) -> Run:
    tracks = run.tracks
    if call.item_id is not None:
        before = tracks.get(call.item_id, NO_CALLS)
        if (after := before.add_evidence(call)) is not before:
            tracks = {**tracks, call.item_id: after}
    return replace(run, tool_calls=run.tool_calls + 1, tracks=tracks, work=run.work.add_call(call))


def _count_call_on_todo(todo_list: TodoList, todo: Todo, data: facts.TodoListItemProgress) -> TodoList:
    failed = todo.failed_calls + (not data.ok and not data.denied)
    counted = replace_fields(todo, {"tool_calls": data.tool_calls_count, "failed_calls": failed})
    return replace(todo_list, items={**todo_list.items, todo.id: counted})


def _track_call(run: Run, data: facts.TodoListItemProgress) -> Run:
    if data.status in (Status.COMPLETED, Status.CANCELLED) or (data.denied and not data.matching):
        return run
    track = run.tracks.get(data.item_id, NO_CALLS)
    track = replace(track, matching_ok=False) if data.denied else track.add_call(data.ok, data.matching)
    return replace(run, tracks={**run.tracks, data.item_id: track})
