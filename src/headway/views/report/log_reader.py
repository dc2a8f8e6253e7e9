"""What was done on the todos of one agent, read from the log in one pass. Pure.

Times are wall-clock time, which may jump; no duration is below zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from headway.core.events import ListDelta
from headway.core.execution_events import (
    AttemptFinished,
    AttemptStarted,
    ExecutionFinished,
    ExecutionStarted,
    FilesReverted,
    MergeStarted,
    TodosRolledBack,
)
from headway.core.model import FINISHED, Status
from headway.core.run_events import RoundStarted, RunFinished, RunStarted, ToolFinished, Usage
from headway.core.runs import CUT_OFF
from headway.core.tracking import TODO_EFFECT
from headway.views.report.model import ModelUsage, RolledBack
from headway.views.usage import RunUsage, UsageCounter, is_made_by_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from headway.core.events import Event
    from headway.core.model import Todo

INTERRUPTED = "interrupted"
CONFLICT = "conflict"


def seconds_between(start: str, end: str) -> float:
    """Return how much later the end is; never less than 0."""
    return max(round((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 3), 0.0)


@dataclass(slots=True)
class Effort:
    """What work on a todo took."""

    rounds: int = 0
    tool_calls: int = 0
    failed_calls: int = 0
    usage: ModelUsage = field(default_factory=ModelUsage)

    def add_request(self, usage: Usage, cost: float | None) -> None:
        self.usage += ModelUsage(usage.input_tokens, usage.cache_read_tokens, usage.output_tokens, cost)


@dataclass(slots=True)
class AttemptLog:
    """One attempt of a todo, as far as the log has been read."""

    item_id: str
    agent: str
    number: int
    started_at: str
    place: int
    alone: bool
    restored: tuple[str, ...]
    worktree: str | None
    ended_at: str | None = None
    seconds: float | None = None
    outcome: str | None = None
    reason: str = ""
    again: bool = False
    effort: Effort = field(default_factory=Effort)
    files: dict[str, None] = field(default_factory=dict[str, None])
    kept: str | None = None
    not_merged: tuple[str, ...] = ()

    def seconds_until(self, until: str) -> float:
        return seconds_between(self.started_at, until) if self.seconds is None else self.seconds

    def read(self, event: Event) -> None:
        """Count what the sub-agent does; the attempt's end brings its own totals."""
        data, effort = event.data, self.effort
        if isinstance(data, RoundStarted):
            effort.rounds += 1
        elif isinstance(data, Usage):
            effort.add_request(data, 0.0)
            effort.usage = replace(effort.usage, cost=data.total_cost)
        elif isinstance(data, ToolFinished) and data.effect != TODO_EFFECT and not data.cancelled:
            effort.tool_calls += 1
            effort.failed_calls += not data.succeeded and not data.denied
            self.files.update(dict.fromkeys(data.files))

    def finish(self, data: AttemptFinished, at: str) -> None:
        counted, used = self.effort, self.effort.usage
        is_counted = used.input_tokens or not data.input_tokens
        usage = ModelUsage(
            data.input_tokens or used.input_tokens,
            data.cached_tokens or used.cached_tokens,
            data.output_tokens or used.output_tokens,
            used.cost if data.cost is None and is_counted else data.cost,
        )
        self.effort = Effort(
            data.rounds or counted.rounds,
            data.tool_calls or counted.tool_calls,
            data.failed_calls or counted.failed_calls,
            usage,
        )
        self.files = dict.fromkeys(data.files)
        self.outcome, self.reason, self.again = data.outcome, data.reason, data.again
        self.kept, self.not_merged, self.worktree = data.kept, data.not_merged, data.worktree
        self.ended_at = at
        self.seconds = round(data.seconds, 3) if data.seconds else seconds_between(self.started_at, at)

    def interrupt(self, reason: str, at: str) -> None:
        self.outcome, self.reason, self.ended_at = INTERRUPTED, reason, at
        self.seconds = seconds_between(self.started_at, at)


@dataclass(slots=True)
class ExecutionLog:
    """One execution, as far as the log has been read."""

    run: RunUsage | None
    started: ExecutionStarted
    started_at: str
    last_at: str
    """When something last happened in it."""
    total: int
    ended_at: str | None = None
    finished: ExecutionFinished | None = None
    attempts: list[AttemptLog] = field(default_factory=list[AttemptLog])
    rolled_back: list[RolledBack] = field(default_factory=list[RolledBack])


@dataclass(slots=True)
class Span:
    """A time in which a todo was in progress without being executed."""

    item_id: str
    agent: str
    """Who works on it."""
    started_at: str
    run: RunUsage | None
    """The run in which it began."""
    ended_at: str | None = None
    outcome: str | None = None
    """Its status afterwards; None while it is in progress."""
    number = place = 1
    again = alone = False


class LogReader:
    """Follows one agent's list through the log. `read` takes every event of the session, in order."""

    def __init__(self, agent: str) -> None:
        self.spending: UsageCounter = UsageCounter()
        self.set_by: dict[str, str] = {}
        self.executions: list[ExecutionLog] = []
        self.attempts: dict[str, list[AttemptLog]] = {}
        """Todo → its attempts, in the order in which they began."""
        self.spans: list[Span] = []
        self.work: list[AttemptLog | Span] = []
        """All attempts and spans, in the order in which they began."""
        self.efforts: dict[str, Effort] = {}
        """Todo → what ordinary runs took for it."""
        self.files: dict[str, dict[str, None]] = {}
        self.rolled_back: dict[str, list[RolledBack]] = {}
        self.dropped: dict[str, tuple[Todo, Event]] = {}
        self.worked_for: dict[str, str] = {}
        """Id of a sub-agent's run → the todo that it was for."""
        self.family: set[str] = {agent}
        """The agent, and the sub-agents that worked for it."""
        self._agent = agent
        self._execution: ExecutionLog | None = None
        self._merging: set[str] = set()
        """Todos with which the project's files began to change, if it is not known how that ended."""
        self._open: dict[str, AttemptLog] = {}
        """Sub-agent → its attempt."""
        self._executed_in: dict[str, ExecutionLog] = {}
        """Todo → its last execution."""
        self._in_progress: dict[str, Span] = {}
        self._request: tuple[int, Usage, float | None] | None = None
        """The last request, with its round and cost, if it does not belong to a todo yet."""
        self._cost: float | None = 0.0
        self._counted_rounds: dict[str, tuple[str, int]] = {}
        """Todo → the last round that was counted for it."""
        self._handlers: dict[type, Callable[[Event, Any], None]] = {
            ListDelta: self._change_list,
            RunStarted: self._start_run,
            Usage: self._record_request,
            ToolFinished: self._record_call,
            RunFinished: self._finish_run,
            ExecutionStarted: self._start_execution,
            AttemptStarted: self._start_attempt,
            MergeStarted: self._merge_files,
            AttemptFinished: self._finish_attempt,
            ExecutionFinished: self._finish_execution,
            TodosRolledBack: self._roll_back,
            FilesReverted: self._revert_files,
        }

    def read(self, event: Event) -> None:
        data = event.data
        self.spending.count(event)
        if self._execution is not None and event.agent in self.family and is_made_by_run(data):
            self._execution.last_at = event.at
        if attempt := self._open.get(event.agent):
            if isinstance(data, RunStarted):
                self.worked_for[data.run_id] = attempt.item_id
            attempt.read(event)
        if event.agent == self._agent:
            if handle := self._handlers.get(type(data)):
                handle(event, data)
        elif isinstance(data, AttemptStarted) and event.agent in self.family:
            self.family.add(data.agent)

    @property
    def is_half_changed(self) -> bool:
        """Whether a process was killed while it changed the project's files, and nothing has settled that since."""
        return self._current_run is None and bool(self._merging)

    @property
    def _current_run(self) -> RunUsage | None:
        run = self.spending.usage_of(self._agent)
        return run if run is not None and run.reason is None else None

    # the list

    def _change_list(self, event: Event, data: ListDelta) -> None:
        for todo in data.added:
            self.set_by[todo.id] = event.actor
            self.dropped.pop(todo.id, None)
            if todo.status is Status.IN_PROGRESS:
                self._begin_span(todo.id, event, todo.owner)
        for todo_id, fields in data.changed.items():
            if "status" in fields:
                self.set_by[todo_id] = event.actor
                after = fields["status"][1]
                if after != Status.IN_PROGRESS:
                    was_interrupted, is_interrupted = fields.get("interrupted", (False, False))
                    if was_interrupted:
                        self._resume_span(todo_id, event)
                    self._end_span(todo_id, event.at, INTERRUPTED if is_interrupted else str(after))
                elif data.cause != "execute":
                    self._begin_span(todo_id, event)
        for todo in data.removed:
            self._end_span(todo.id, event.at, "dropped")
            if todo.status not in FINISHED and data.cause != "undo":
                self.dropped[todo.id] = (todo, event)

    def _resume_span(self, todo_id: str, event: Event) -> None:
        """Count a todo that an earlier run left as worked on in this one, though nobody said so before it was done."""
        run = self._current_run
        if run is not None and self._execution is None and todo_id not in self._in_progress:
            ends = [span.ended_at for span in self.spans if span.run is run and span.ended_at]
            self._begin_span(todo_id, event, at=max([run.started_at, *ends]))

    def _begin_span(self, todo_id: str, event: Event, owner: str | None = None, at: str | None = None) -> None:
        run = self._current_run if self._execution is None else None
        span = Span(todo_id, owner or event.actor, at or event.at, run)
        self.work.append(span)
        self._in_progress[todo_id] = span
        self.spans.append(span)

    def _end_span(self, todo_id: str, at: str, outcome: str) -> None:
        if span := self._in_progress.pop(todo_id, None):
            span.ended_at, span.outcome = at, outcome

    # ordinary runs

    def _start_run(self, event: Event, data: RunStarted) -> None:
        self._end_execution("Another run started.", event.at)
        self._request, self._cost = None, 0.0

    def _record_request(self, event: Event, data: Usage) -> None:
        before, self._cost = self._cost, data.total_cost
        cost = None if before is None or self._cost is None else self._cost - before
        self._request = (data.round, data, cost)

    def _record_call(self, event: Event, data: ToolFinished) -> None:
        """Count a call; the request of a round belongs to the todo of the round's first call."""
        if data.item_id is None:
            return
        self.files.setdefault(data.item_id, {}).update(dict.fromkeys(data.files))
        effort = self.efforts.setdefault(data.item_id, Effort())
        run = self.spending.usage_of(self._agent)
        current = (run.run_id if run else "", data.round)
        if self._counted_rounds.get(data.item_id) != current:
            self._counted_rounds[data.item_id] = current
            effort.rounds += 1
        if self._request is not None and self._request[0] == data.round:
            effort.add_request(self._request[1], self._request[2])
            self._request = None

    def _finish_run(self, event: Event, data: RunFinished) -> None:
        execution = self._execution
        at = execution.last_at if execution is not None and data.error == CUT_OFF else event.at
        self._end_execution(data.error or "The execution ended before this attempt.", at)

    # executions

    def _end_execution(self, reason: str, at: str) -> None:
        """End the execution with all attempts that have not ended by themselves."""
        execution, self._execution = self._execution, None
        if execution is None:
            return
        execution.ended_at = execution.ended_at or at
        for attempt in self._open.values():
            attempt.interrupt(reason, max(at, attempt.started_at))
        self._open = {}

    def _start_execution(self, event: Event, data: ExecutionStarted) -> None:
        self._end_execution("Another execution started.", event.at)
        self._execution = ExecutionLog(self._current_run, data, event.at, event.at, data.total)
        self.executions.append(self._execution)

    def _start_attempt(self, event: Event, data: AttemptStarted) -> None:
        if self._execution is None:
            self._start_execution(event, ExecutionStarted(mode="", parallel=1, total=0))
        assert self._execution is not None
        attempts = self.attempts.setdefault(data.item_id, [])
        attempt = AttemptLog(
            data.item_id,
            data.agent,
            data.attempt,
            event.at,
            len(attempts) + 1,
            data.alone,
            data.restored,
            data.worktree,
        )
        attempts.append(attempt)
        self.work.append(attempt)
        for file in data.restored:
            self.files.get(data.item_id, {}).pop(file, None)
        self._execution.attempts.append(attempt)
        self._execution.total = max(data.total, self._execution.total)
        self._open[data.agent] = attempt
        self._executed_in[data.item_id] = self._execution
        self.family.add(data.agent)

    def _merge_files(self, event: Event, data: MergeStarted) -> None:
        if data.before == data.after:
            self._merging.discard(data.item_id)
        else:
            self._merging.add(data.item_id)

    def _finish_attempt(self, event: Event, data: AttemptFinished) -> None:
        self._merging.discard(data.item_id)
        attempt = self._open.pop(data.agent, None)
        files = data.files
        if attempt is not None:
            attempt.finish(data, event.at)
            if data.after is None and data.kept is not None:  # its changes did not come into the project
                files = ()
        self.files.setdefault(data.item_id, {}).update(dict.fromkeys(files))

    def _finish_execution(self, event: Event, data: ExecutionFinished) -> None:
        if self._execution is not None:
            self._execution.finished = data
            self._execution.ended_at = event.at

    def _roll_back(self, event: Event, data: TodosRolledBack) -> None:
        self._merging.clear()
        self._remove_changes(RolledBack(data.item_id, event.at, tuple(data.files), data.forced))

    def _remove_changes(self, rolled_back: RolledBack) -> None:
        self.rolled_back.setdefault(rolled_back.item_id, []).append(rolled_back)
        if execution := self._executed_in.get(rolled_back.item_id):
            execution.rolled_back.append(rolled_back)
        for file in rolled_back.files:
            self.files.get(rolled_back.item_id, {}).pop(file, None)

    def _revert_files(self, event: Event, data: FilesReverted) -> None:
        """Follow an undo or redo that removed what todos changed, or restored it."""
        self._merging.clear()
        for todo_id, (before, after) in data.executed.items():
            if before[0] and not after[0]:
                known = self.files.get(todo_id, {})
                files = tuple(file for file in data.files if file in known)
                self._remove_changes(RolledBack(todo_id, event.at, files, False))
            elif after[0] and self.rolled_back.get(todo_id):
                restored = self.rolled_back[todo_id].pop()
                self.files.setdefault(todo_id, {}).update(dict.fromkeys(restored.files))
                if (execution := self._executed_in.get(todo_id)) and restored in execution.rolled_back:
                    execution.rolled_back.remove(restored)
