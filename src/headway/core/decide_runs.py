"""What follows from a command about a run: what `decide` is for a list. Pure; loaded only where there is a run."""

from __future__ import annotations

from dataclasses import replace

from headway.core import delta as deltas
from headway.core import run_commands, tracking
from headway.core import run_events as facts
from headway.core.errors import HeadwayError, NoRun, QuestionNotKept, RunRefused
from headway.core.events import Event, ListDelta, RunData
from headway.core.evolve import evolve
from headway.core.model import LOOP, TRACKER, State, Status, Todo, TodoList
from headway.core.open_questions import is_answer_to
from headway.core.replace import patch_todo
from headway.core.runs import Run, find_active_run
from headway.core.text import sanitize_for_display
from headway.core.tracking import NO_CALLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REQUESTS = ("stop", "pause", "resume")
REPLIES = ("once", "always", "offline", "no")
_PLAN_MODE_PAUSES = "The execution is paused by plan mode; turn plan mode off to resume it."


def decide_run(state: State, command: run_commands.RunCommand) -> list[Event]:
    match command:
        case run_commands.StartRun():
            return _start(state, command)
        case run_commands.RecordEvents():
            _get_run(state, command.agent, command.run_id)
            return _record(state, command)
        case run_commands.FinishTool():
            return _finish_tool(state, _get_run(state, command.agent, command.run_id), command)
        case run_commands.EndRun():
            return _end(state, _get_run(state, command.agent, command.run_id), command)
        case run_commands.ControlRun():
            return _request(state, command)
        case run_commands.AnswerQuestion():
            return _answer(state, command)
        case _:
            return _decide_execution(state, command)


def _decide_execution(state: State, command: run_commands.RunCommand) -> list[Event]:
    from headway.core.execution_commands import ExecutionCommand
    from headway.core.executions import decide_execution

    if not isinstance(command, ExecutionCommand):
        raise HeadwayError(f"Unknown command {type(command).__name__}.")
    run = state.runs.get(command.agent) if command.run_id is None else _get_run(state, command.agent, command.run_id)
    return decide_execution(state, run, command)


def _get_run(state: State, agent: str, run_id: str) -> Run:
    run = find_active_run(state, agent)
    if run is None or run.id != run_id:
        raise RunRefused("This run has ended: another process ended it or took over the session; start it again.")
    return run


def _get_active_run(state: State, agent: str) -> Run:
    run = find_active_run(state, agent)
    if run is None:
        raise NoRun("No run is in progress in this session; start one.").with_advice("start_run")
    return run


def _new_events(state: State, command: run_commands.RunCommand, data: tuple[RunData, ...] | Any) -> list[Event]:
    return [
        Event(version, command.at, command.agent, command.actor, fact)
        for version, fact in enumerate(data, state.version + 1)
    ]


def _start(state: State, command: run_commands.StartRun) -> list[Event]:
    run = find_active_run(state, command.agent)
    if run is not None:
        raise RunRefused(
            f"A run is already in progress in this session ({sanitize_for_display(run.holder, 100)}, "
            f"since {run.started_at}); "
            "wait for it, stop it, or use another session."
        )
    return _new_events(state, command, (command.start, *command.first))


def _request(state: State, command: run_commands.ControlRun) -> list[Event]:
    if command.request not in REQUESTS:
        raise HeadwayError(
            f"A run does not understand the request '{sanitize_for_display(command.request)}'; "
            f"choose from: {', '.join(REQUESTS)}."
        )
    run = _get_active_run(state, command.agent)
    if command.request == "resume" and state.plan_mode and run.execution is not None:
        raise HeadwayError(_PLAN_MODE_PAUSES)
    there = {"stop": run.stopping, "pause": run.paused, "resume": not run.paused}[command.request]
    return [] if there else _new_events(state, command, (facts.RunControlRequested(request=command.request),))


def _answer(state: State, command: run_commands.AnswerQuestion) -> list[Event]:
    if command.reply not in REPLIES:
        raise HeadwayError(
            f"'{sanitize_for_display(command.reply)}' is not a valid answer; choose from: {', '.join(REPLIES)}."
        )
    run = _get_active_run(state, command.agent)
    if command.question_id not in run.questions:
        raise HeadwayError(f"There is no open question '{sanitize_for_display(command.question_id)}' in this run.")
    asked, answered = run.questions[command.question_id]
    if answered is not None:  # the first answer counts
        return []
    answer = facts.ApprovalAnswered(
        question_id=command.question_id, reply=command.reply, reason=command.reason, key=command.key
    )
    if not is_answer_to(asked, answer):
        raise QuestionNotKept
    return _new_events(state, command, (answer,))


def _end(state: State, run: Run, command: run_commands.EndRun) -> list[Event]:
    todo_list = state.list_of(command.agent)
    if run.execution is None:
        ours = (todo for todo in todo_list.items.values() if tracking.is_ours(todo))
        open_items = [todo for todo in ours if todo.status is Status.IN_PROGRESS]
    else:
        from headway.core.executions import list_interrupted_todos

        open_items = list_interrupted_todos(run, todo_list)
    made: list[Event] = []
    if open_items:
        made.append(_interrupt(state, command, command.agent, open_items, state.version + 1))
    finished = facts.RunFinished(
        run_id=run.id,
        reason=command.reason,
        rounds=run.round,
        tool_calls=run.tool_calls,
        error=command.error,
        step=0 if run.execution is None else made[0].version if made else todo_list.open_step,
    )
    for agent, others in state.lists.items():  # what it claimed of lists that it shares
        held = [todo for todo in others.items.values() if todo.owner == command.agent and todo.lease_until is not None]
        if held and agent != command.agent:
            made.append(_interrupt(state, command, agent, held, state.version + len(made) + 1))
    return [*made, Event(state.version + len(made) + 1, command.at, command.agent, LOOP, finished)]


def _interrupt(state: State, command: run_commands.RunCommand, agent: str, todos: list[Todo], version: int) -> Event:
    """Return the event with which todos in progress are pending again."""
    left = [patch_todo(todo, {"status": Status.PENDING, "interrupted": True}, command.at) for todo in todos]
    return _list_event(state, command, left, LOOP, "interrupt", version, agent)


def _list_event(
    state: State,
    command: run_commands.RunCommand,
    touched: list[Todo],
    actor: str,
    cause: str,
    version: int,
    agent: str | None = None,
) -> Event:
    """Return the event for items that became something else; the order stays."""
    agent = agent or command.agent
    todo_list = state.list_of(agent)
    changed = {todo.id: deltas.field_changes(todo_list.items[todo.id], todo) for todo in touched}
    delta = ListDelta(cause=cause, changed=changed)
    run = find_active_run(state, agent)
    if run and run.round:
        delta = tracking.add_rounds(delta, todo_list.items, run.round)
    executing = run is not None and run.execution is not None
    delta = deltas.link_delta(delta, todo_list.open_step if executing else todo_list.undo, partial=executing)
    return Event(version, command.at, agent, actor, delta)


def _record(state: State, command: run_commands.RecordEvents) -> list[Event]:
    """Record facts; calls that begin also start the item that they are work on."""
    events = _new_events(state, command, command.facts)
    begun = [fact for fact in command.facts if isinstance(fact, facts.ToolStarted)]
    if not begun or command.policy is None:
        return events
    items = state.list_of(command.agent).items
    if command.policy.tracking == tracking.MANUAL or not _is_kept(state, command.agent):
        return events
    if tracking.find_active_todo(items, state.runs[command.agent]):
        return events
    steps = _EventBuilder(state, command)
    for event in events:
        steps.add(event)
    item = next((item for call in begun if (item := tracking.find_matching_todo(items, steps.run, call))), None)
    if item is not None:
        steps.set_fields(item, {"status": Status.IN_PROGRESS})
    return steps.events


def _is_kept(state: State, agent: str) -> bool:
    """Return whether the list is the loop's to keep now."""
    return state.list_of(agent).kept_by_loop and not state.is_planning(agent)


class _EventBuilder:
    """Events that build on each other, and the state of the list and the run after them."""

    def __init__(self, state: State, command: run_commands.RunCommand) -> None:
        self.state = state
        self.command = command
        self.events: list[Event] = []

    @property
    def todos(self) -> TodoList:
        return self.state.list_of(self.command.agent)

    @property
    def run(self) -> Run:
        return self.state.runs[self.command.agent]

    def add(self, event: Event) -> None:
        self.events.append(event)
        self.state = evolve(self.state, event)

    def add_call(self, data: RunData) -> None:
        """Of a call, which by itself changes nothing that is looked at here."""
        command = self.command
        self.events.append(Event(self._next_version, command.at, command.agent, command.actor, data))

    @property
    def _next_version(self) -> int:
        return (self.events[-1].version if self.events else self.state.version) + 1

    def set_fields(self, todo: Todo, fields: dict[str, object]) -> None:
        touched = patch_todo(todo, fields, self.command.at)
        self.add(_list_event(self.state, self.command, [touched], TRACKER, "track", self._next_version))


def _finish_tool(state: State, run: Run, command: run_commands.FinishTool) -> list[Event]:
    """Record a call and what it means for the list: match first, then record."""
    call, policy = command.call, command.policy
    steps = _EventBuilder(state, command)
    is_kept = _is_kept(state, command.agent)
    keeps = is_kept and policy.tracking != tracking.MANUAL
    if call.effect == tracking.TODO_EFFECT:
        steps.add_call(call)
        if keeps and call.ok and policy.tracking == tracking.AUTO:
            for todo in tracking.list_overtaken(steps.todos.items, steps.run):
                steps.set_fields(todo, tracking.complete_by_tracker(todo))
        return steps.events
    item = tracking.find_active_todo(steps.todos.items, run)
    if item is None and is_kept:
        begins = tracking.find_todo_to_start if policy.tracking == tracking.MANUAL else tracking.find_matching_todo
        if item := begins(steps.todos.items, run, call):
            steps.set_fields(item, {"status": Status.IN_PROGRESS})
    if item is None:
        steps.add_call(call)
        return steps.events
    steps.add_call(replace(call, item_id=item.id))
    item = steps.todos.items[item.id]
    track = steps.run.tracks.get(item.id, NO_CALLS)
    matching = tracking.is_matching(item, call)
    if keeps and tracking.can_tracker_set(item, run):
        counted = track if call.denied else track.add_call(call.succeeded, matching)
        if fields := tracking.decide_after_call(item, counted, call, policy, matching=matching):
            steps.set_fields(item, fields)
    after = steps.todos.items[item.id]
    count = item.tool_calls + 1
    ok = call.succeeded
    steps.add_call(
        facts.TodoListItemProgress(
            item_id=item.id,
            status=after.status,
            tool_calls_count=count,
            round=call.round,
            tool=call.tool,
            ok=ok,
            denied=call.denied,
            matching=matching,
        )
    )
    return steps.events
