"""The execution of items: what the state holds of one, and what follows from a command or an event of it. Pure.

`runs` comes here for everything that is about items being executed; loaded only where some were.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from headway.core import delta as deltas
from headway.core import execution_commands
from headway.core import execution_events as facts
from headway.core.errors import HeadwayError, NotRunnable, TodoNotFound
from headway.core.events import Event, ListDelta
from headway.core.graph import check_dependencies
from headway.core.model import EXECUTOR, LOOP, Status
from headway.core.replace import patch_todo
from headway.core.text import sanitize_for_display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from headway.core.model import State, Todo, TodoList
    from headway.core.rules import Patch
    from headway.core.runs import Run

BUSY = "A run is in progress in this session; wait for it or stop it before you roll back or undo file changes."
_BECOMES = {
    "completed": Status.COMPLETED,
    "blocked": Status.BLOCKED,
    "cancelled": Status.CANCELLED,
    "conflict": Status.PENDING,
    "interrupted": Status.PENDING,
}


@dataclass(frozen=True, slots=True)
class Execution:
    """What is being executed; part of the run that it is."""

    mode: str
    parallel: int
    total: int
    index: int = 0
    """Items that have begun, each counted once."""
    executing: dict[str, str] = field(default_factory=dict[str, str])
    """Item → the sub-agent that works on it."""


@dataclass(frozen=True, slots=True)
class LastAttempt:
    """The last execution of an item."""

    version: int
    """Of the event in which it ended."""
    failed: bool = False
    """Whether the item is blocked because of it, and nobody has changed that since."""
    began: int = 0
    """Version of the event with which an attempt began that may be half done in the project's files."""
    merging: int = 0
    """Version of the event that says what came into the project's files, if the end of the attempt is not known."""
    run_id: str = ""
    """The run that executed it."""

    @property
    def newest_version(self) -> int:
        """Version of the last that is known of it."""
        return max(self.version, self.began, self.merging)


# what follows from a command


def decide_execution(state: State, run: Run | None, command: execution_commands.ExecutionCommand) -> list[Event]:
    todo_list = state.list_of(command.agent)
    match command:
        case execution_commands.StartAttempt():
            return _start_attempt(state, todo_list, run, command)
        case execution_commands.FinishAttempt():
            return _finish_attempt(state, todo_list, run, command)
        case execution_commands.MergeFiles():
            return [_event(state, command, command.fact, 1)]
        case execution_commands.RollBackTodos():
            return _roll_back(state, todo_list, run, command)
        case _:
            raise HeadwayError(f"Unknown command {type(command).__name__}.")


def _event(state: State, command: execution_commands.ExecutionCommand, data: Any, offset: int) -> Event:
    return Event(state.version + offset, command.at, command.agent, EXECUTOR, data)


def _list_event(
    state: State, todo_list: TodoList, command: execution_commands.ExecutionCommand, touched: Sequence[Todo], cause: str
) -> list[Event]:
    """Return the event for items that became something else; none if they did not."""
    changed = {todo.id: deltas.field_changes(todo_list.items[todo.id], todo) for todo in touched}
    changed = {todo_id: fields for todo_id, fields in changed.items() if fields}
    if not changed:
        return []
    below = 0 if todo_list.open_step else todo_list.undo
    delta = deltas.link_delta(ListDelta(cause=cause, changed=changed), todo_list.open_step, below, partial=True)
    return [Event(state.version + 1, command.at, command.agent, command.actor, delta)]


def _start_attempt(
    state: State, todo_list: TodoList, run: Run | None, command: execution_commands.StartAttempt
) -> list[Event]:
    started = command.started
    todo = _get_todo(todo_list, started.item_id)
    assert run is not None
    if run.execution is None or todo.id in run.execution.executing:
        raise NotRunnable(f"'{sanitize_for_display(todo.id, 40)}' is already being executed.")
    refuse_unready(todo, todo_list)
    patch: Patch = {"status": Status.IN_PROGRESS, "interrupted": False}
    if todo.status is Status.BLOCKED:
        patch["notes"] = None if _was_blocked_by(todo, run) else todo.notes
    made = _list_event(state, todo_list, command, [patch_todo(todo, patch, command.at)], "execute")
    return [*made, _event(state, command, started, len(made) + 1)]


def refuse_unready(todo: Todo, todo_list: TodoList) -> None:
    """Raise `NotRunnable` for an item that cannot be executed now, with what to do."""
    name = sanitize_for_display(todo.id, 40)
    if todo.status in (Status.COMPLETED, Status.CANCELLED):
        again = "To repeat it, first set it to pending."
        raise NotRunnable(f"Cannot execute {name}: it is {todo.status}. {again}").with_advice("reset_todo")
    if todo.status is Status.IN_PROGRESS:
        who = f" by {sanitize_for_display(todo.owner)}" if todo.owner else ""
        raise NotRunnable(f"Cannot execute {name}: it is already in progress{who}. Wait, or set it to pending.")
    check = check_dependencies(todo, todo_list.items)
    if not check.are_completed:
        lines = "\n".join(f"  - {line}" for line in check.lines)
        raise NotRunnable(f"Cannot execute {name}. Dependencies not completed:\n{lines}")


def _was_blocked_by(todo: Todo, run: Run) -> bool:
    """Whether the note says only why its last execution failed."""
    last = run.executed.get(todo.id)
    return last is not None and last.failed


def _finish_attempt(
    state: State, todo_list: TodoList, run: Run | None, command: execution_commands.FinishAttempt
) -> list[Event]:
    """Give the item its outcome, unless someone has set it to something else meanwhile."""
    finished = command.finished
    assert run is not None
    if run.execution is None or run.execution.executing.get(finished.item_id) != finished.agent:
        raise NotRunnable(
            f"'{sanitize_for_display(finished.item_id, 40)}' is not being executed "
            f"by '{sanitize_for_display(finished.agent)}'."
        )
    made: list[Event] = []
    todo = todo_list.items.get(finished.item_id)
    if todo is not None:
        counted = {
            "tool_calls": todo.tool_calls + finished.tool_calls,
            "failed_calls": todo.failed_calls + finished.failed_calls,
        }
        patch: Patch = dict(counted)
        if todo.status is Status.IN_PROGRESS:
            patch |= _outcome(todo, command)
        made = _list_event(state, todo_list, command, [patch_todo(todo, patch, command.at)], "execute")
    return [*made, _event(state, command, finished, len(made) + 1)]


def _outcome(todo: Todo, command: execution_commands.FinishAttempt) -> Patch:
    finished = command.finished
    if finished.again:
        return {"status": Status.PENDING}
    status = _BECOMES[finished.outcome]
    patch: Patch = {"status": status}
    if status is Status.COMPLETED and command.evidence is not None:
        patch["evidence"] = command.evidence
    if status in (Status.BLOCKED, Status.CANCELLED) and finished.reason:
        patch["notes"] = finished.reason
    if finished.outcome == "interrupted":
        patch["interrupted"] = True
    return patch


def _roll_back(
    state: State, todo_list: TodoList, run: Run | None, command: execution_commands.RollBackTodos
) -> list[Event]:
    rolled = command.rolled
    if run is not None and run.is_active:
        raise NotRunnable(BUSY)
    later = [todo_id for todo_id in rolled.with_later if todo_id in todo_list.items]
    touched: list[Todo] = []
    for todo in (_get_todo(todo_list, rolled.item_id), *(todo_list.items[todo_id] for todo_id in later)):
        patch: Patch = {"status": Status.PENDING, "interrupted": False, "started_at": None, "started_at_round": None}
        if run is not None and _was_blocked_by(todo, run):
            patch["notes"] = None
        touched.append(patch_todo(todo, patch, command.at))
    made = _list_event(state, todo_list, command, touched, "rollback")
    rolled = replace(rolled, step=made[0].version if made else 0, previous=todo_list.undo)
    return [*made, _event(state, command, rolled, len(made) + 1)]


def _get_todo(todo_list: TodoList, todo_id: str) -> Todo:
    todo = todo_list.items.get(todo_id)
    if todo is None:
        raise TodoNotFound(todo_id, todo_list.items)
    return todo


def list_interrupted_todos(run: Run, todo_list: TodoList) -> list[Todo]:
    """Return what an execution that ends now leaves in progress."""
    executing = run.execution.executing if run.execution is not None else {}
    left = [todo_list.items[todo_id] for todo_id in executing if todo_id in todo_list.items]
    return [todo for todo in left if todo.status is Status.IN_PROGRESS]


# what follows from an event


def evolve_execution(run: Run, data: object, version: int) -> Run:
    match data:
        case facts.ExecutionStarted():
            return replace(run, mode=data.mode, execution=Execution(data.mode, data.parallel, data.total))
        case facts.AttemptStarted() if run.execution is not None:
            execution = replace(
                run.execution,
                index=max(run.execution.index, data.index),
                total=data.total,
                executing={**run.execution.executing, data.item_id: data.agent},
            )
            before = run.executed.get(data.item_id, LastAttempt(0))
            began = LastAttempt(before.version, False, version if data.in_place and data.checkpoint else 0, 0, run.id)
            return replace(
                run, execution=execution, begun=run.begun + 1, executed={**run.executed, data.item_id: began}
            )
        case facts.MergeStarted() if data.item_id in run.executed:
            merging = replace(run.executed[data.item_id], merging=version if data.before != data.after else 0)
            return replace(run, executed={**run.executed, data.item_id: merging})
        case facts.AttemptFinished():
            execution = run.execution
            if execution is not None:
                executing = {
                    todo_id: agent for todo_id, agent in execution.executing.items() if todo_id != data.item_id
                }
                execution = replace(execution, executing=executing)
            failed = data.outcome == "blocked" and not data.again
            last = run.executed.get(data.item_id, LastAttempt(0))
            half_done = data.outcome in ("interrupted", "blocked")
            ended = LastAttempt(version, failed, last.began if half_done else 0, 0, run.id)
            return replace(run, execution=execution, executed={**run.executed, data.item_id: ended})
        case facts.TodosRolledBack():
            gone = {todo_id: LastAttempt(0) for todo_id in (data.item_id, *data.with_later)}
            return replace(run, executed={**run.executed, **gone})
        case facts.FilesReverted():
            known = read_attempts_record({todo_id: after for todo_id, (_, after) in data.executed.items()})
            return replace(run, executed={**run.executed, **known})
        case facts.ModeChanged():
            return replace(run, mode=data.mode, execution=run.execution and replace(run.execution, mode=data.mode))
        case _:
            return run


def forget_changed_todos(run: Run, delta: ListDelta, actor: str) -> dict[str, LastAttempt]:
    """Return what is known of executions after others changed the list."""
    if actor in (EXECUTOR, LOOP):
        return run.executed
    changed = {todo_id for todo_id, fields in delta.changed.items() if "status" in fields}
    changed |= {todo.id for todo in (*delta.added, *delta.removed)}
    known = {todo_id: replace(last, failed=False) for todo_id, last in run.executed.items() if todo_id in changed}
    return {**run.executed, **known}


# as the snapshot keeps it


def to_execution_record(execution: Execution) -> list[object]:
    return [execution.mode, execution.parallel, execution.total, execution.index, execution.executing]


def to_attempts_record(executed: dict[str, LastAttempt]) -> dict[str, list[Any]]:
    return {todo_id: to_attempt_record(last) for todo_id, last in executed.items()}


def to_attempt_record(last: LastAttempt) -> list[Any]:
    return [last.version, last.failed, last.began, last.merging, last.run_id]


def read_attempts_record(record: dict[str, list[Any]]) -> dict[str, LastAttempt]:
    return {todo_id: LastAttempt(*values) for todo_id, values in record.items()}
