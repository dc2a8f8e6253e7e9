"""What a report takes from the log: one pass over it, in which every item, run and execution is followed. Pure.

Times are wall-clock time, which may jump; nothing here lasts less than no time at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from headway.core.batch_events import (
    BatchFinished,
    BatchStarted,
    FilesReverted,
    ItemFinished,
    ItemMerging,
    ItemRolledBack,
    ItemStarted,
)
from headway.core.events import ListDelta
from headway.core.model import FINISHED, Status
from headway.core.run_events import RoundStarted, RunFinished, RunStarted, ToolFinished, Usage
from headway.core.runs import CUT_OFF
from headway.core.tracking import TODO_EFFECT
from headway.views.spending import Spending, Spent, tells_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from headway.core.events import Event

INTERRUPTED = "interrupted"
CONFLICT = "conflict"


def seconds_between(start: str, end: str) -> float:
    """Never less than 0."""
    return max(round((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 3), 0.0)


@dataclass(slots=True)
class Use:
    """What work on something took of a model."""

    rounds: int = 0
    tool_calls: int = 0
    failed_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None where the price is not known."""

    def add(self, usage: Usage, cost: float | None) -> None:
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cached_tokens += usage.cache_read_tokens
        self.cost = None if cost is None or self.cost is None else self.cost + cost


@dataclass(slots=True)
class Attempt:
    """One execution of an item, from its beginning on."""

    item_id: str
    agent: str
    number: int
    started_at: str
    place: int = 1
    """Which of the item's attempts it is, counted from 1; one that is run again after a conflict keeps its number."""
    alone: bool = False
    restored: tuple[str, ...] = ()
    ended_at: str | None = None
    seconds: float | None = None
    outcome: str | None = None
    """None while it goes on."""
    reason: str = ""
    again: bool = False
    use: Use = field(default_factory=Use)
    files: dict[str, None] = field(default_factory=dict[str, None])
    kept: str | None = None
    not_merged: tuple[str, ...] = ()
    worktree: str | None = None
    """Where its files are, if they are kept."""

    def see(self, event: Event) -> None:
        """What the sub-agent does, for as long as its own sum is not known."""
        data = event.data
        if isinstance(data, RoundStarted):
            self.use.rounds += 1
        elif isinstance(data, Usage):
            self.use.add(data, None)
            self.use.cost = data.total_cost
        elif isinstance(data, ToolFinished) and data.effect != TODO_EFFECT:
            self.use.tool_calls += 1
            self.use.failed_calls += not data.succeeded and not data.denied
            self.files.update(dict.fromkeys(data.files))

    def end(self, data: ItemFinished, at: str) -> None:
        counted = self.use
        self.use = Use(
            data.rounds or counted.rounds,
            data.tool_calls or counted.tool_calls,
            data.failed_calls or counted.failed_calls,
            data.input_tokens or counted.input_tokens,
            data.output_tokens or counted.output_tokens,
            data.cached_tokens or counted.cached_tokens,
        )
        seen = counted.input_tokens or not data.input_tokens
        self.use.cost = counted.cost if data.cost is None and seen else data.cost
        self.files = dict.fromkeys(data.files)
        self.outcome, self.reason, self.again = data.outcome, data.reason, data.again
        self.kept, self.not_merged, self.worktree = data.kept, data.not_merged, data.worktree
        self._over(at, data.seconds or None)

    def cut_off(self, reason: str, at: str) -> None:
        self.outcome, self.reason = INTERRUPTED, reason
        self._over(at, None)

    def _over(self, at: str, seconds: float | None) -> None:
        self.ended_at = at
        self.seconds = round(seconds, 3) if seconds is not None else seconds_between(self.started_at, at)


@dataclass(slots=True)
class Execution:
    """One execution of items: what was asked for, and what came of it."""

    run: Spent | None
    asked: BatchStarted
    started_at: str
    last_at: str
    ended_at: str | None = None
    finished: BatchFinished | None = None
    total: int = 0
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    rolled_back: list[dict[str, Any]] = field(default_factory=list["dict[str, Any]"])


@dataclass(slots=True)
class Span:
    """A time in which an item was in progress without being executed."""

    item_id: str
    by: str
    started_at: str
    run: Spent | None
    """The run in which it began."""
    ended_at: str | None = None
    outcome: str | None = None
    """What the item was then; None while it is in progress."""


class Reading:
    """Follows one agent's list through the log. `see` takes every event of the session, in order."""

    def __init__(self, agent: str) -> None:
        self.spending = Spending()
        self.set_by: dict[str, str] = {}
        self.executions: list[Execution] = []
        self.attempts: dict[str, list[Attempt]] = {}
        """Item → its attempts, in the order in which they began."""
        self.spans: list[Span] = []
        self.uses: dict[str, Use] = {}
        """Item → what ordinary runs took for it."""
        self.files: dict[str, dict[str, None]] = {}
        self.rolled_back: dict[str, list[dict[str, Any]]] = {}
        self.dropped: dict[str, dict[str, Any]] = {}
        self.worked_for: dict[str, str] = {}
        """Id of a sub-agent's run → the item that it was for."""
        self.family = {agent}
        """The agent, and the sub-agents that worked for it."""
        self._agent = agent
        self._execution: Execution | None = None
        self._merging: set[str] = set()
        """Items with which the project's files began to change, as far as it is not known how that ended."""
        self._open: dict[str, Attempt] = {}
        """Sub-agent → what it is at."""
        self._executed_in: dict[str, Execution] = {}
        """Item → its last execution."""
        self._in_progress: dict[str, Span] = {}
        self._round: tuple[int, Usage, float | None] | None = None
        """What the last request used that is not an item's yet, and in which round."""
        self._paid: float | None = 0.0
        self._counted: dict[str, tuple[str, int]] = {}
        """Item → the last round that was counted for it."""
        self._handlers: dict[type, Callable[[Event, Any], None]] = {
            ListDelta: self._listed,
            RunStarted: self._started,
            Usage: self._used,
            ToolFinished: self._called,
            RunFinished: self._finished,
            BatchStarted: self._batch_started,
            ItemStarted: self._item_started,
            ItemMerging: self._merged,
            ItemFinished: self._item_finished,
            BatchFinished: self._batch_finished,
            ItemRolledBack: self._undone,
            FilesReverted: self._reverted,
        }

    def see(self, event: Event) -> None:
        data = event.data
        self.spending.see(event)
        if self._execution is not None and event.agent in self.family and tells_time(data):
            self._execution.last_at = event.at
        if attempt := self._open.get(event.agent):
            if isinstance(data, RunStarted):
                self.worked_for[data.run_id] = attempt.item_id
            attempt.see(event)
        if event.agent == self._agent:
            if handle := self._handlers.get(type(data)):
                handle(event, data)
        elif isinstance(data, ItemStarted) and event.agent in self.family:
            self.family.add(data.agent)

    @property
    def _run(self) -> Spent | None:
        """The agent's run that goes on."""
        run = self.spending.of(self._agent)
        return run if run is not None and run.reason is None else None

    # the list

    def _listed(self, event: Event, data: ListDelta) -> None:
        for todo in data.added:
            self.set_by[todo.id] = event.actor
            self.dropped.pop(todo.id, None)
            if todo.status is Status.IN_PROGRESS:
                self._begin_span(todo.id, event)
        for todo_id, fields in data.changed.items():
            if "status" in fields:
                self.set_by[todo_id] = event.actor
                after = fields["status"][1]
                if after != Status.IN_PROGRESS:
                    cut = fields.get("interrupted", (False, False))[1]
                    self._end_span(todo_id, event.at, INTERRUPTED if cut else str(after))
                elif data.cause != "execute":
                    self._begin_span(todo_id, event)
        for todo in data.removed:
            self._end_span(todo.id, event.at, "dropped")
            if todo.status not in FINISHED and data.cause != "undo":
                self.dropped[todo.id] = {
                    "id": todo.id,
                    "content": todo.content,
                    "status": str(todo.status),
                    "at": event.at,
                    "by": event.actor,
                    "cause": data.cause,
                }

    def _begin_span(self, todo_id: str, event: Event) -> None:
        run = self._run if self._execution is None else None
        span = Span(todo_id, event.actor, event.at, run)
        self._in_progress[todo_id] = span
        self.spans.append(span)

    def _end_span(self, todo_id: str, at: str, outcome: str) -> None:
        if span := self._in_progress.pop(todo_id, None):
            span.ended_at, span.outcome = at, outcome

    # ordinary runs

    def _started(self, event: Event, data: RunStarted) -> None:
        self._end_execution("Another run started.", event.at)
        self._round, self._paid = None, 0.0

    def _used(self, event: Event, data: Usage) -> None:
        before, self._paid = self._paid, data.total_cost
        cost = None if before is None or self._paid is None else self._paid - before
        self._round = (data.round, data, cost)

    def _called(self, event: Event, data: ToolFinished) -> None:
        """A round's use is that of the item to which its first call belongs."""
        if data.item_id is None:
            return
        self.files.setdefault(data.item_id, {}).update(dict.fromkeys(data.files))
        use = self.uses.setdefault(data.item_id, Use())
        run = self.spending.of(self._agent)
        here = (run.run_id if run else "", data.round)
        if self._counted.get(data.item_id) != here:
            self._counted[data.item_id] = here
            use.rounds += 1
        if self._round is not None and self._round[0] == data.round:
            use.add(self._round[1], self._round[2])
            self._round = None

    def _finished(self, event: Event, data: RunFinished) -> None:
        execution = self._execution
        at = execution.last_at if execution is not None and data.error == CUT_OFF else event.at
        self._end_execution(data.error or "The execution ended before this attempt.", at)

    # executions

    def _end_execution(self, reason: str, at: str) -> None:
        """Whatever has not ended by itself has now."""
        execution, self._execution = self._execution, None
        if execution is None:
            return
        execution.ended_at = execution.ended_at or at
        for attempt in self._open.values():
            attempt.cut_off(reason, max(at, attempt.started_at))
        self._open = {}

    def _batch_started(self, event: Event, data: BatchStarted) -> None:
        self._end_execution("Another execution started.", event.at)
        self._execution = Execution(self._run, data, event.at, event.at, total=data.total)
        self.executions.append(self._execution)

    def _item_started(self, event: Event, data: ItemStarted) -> None:
        if self._execution is None:
            self._batch_started(event, BatchStarted("", 1, 0))
        assert self._execution is not None
        before = self.attempts.setdefault(data.item_id, [])
        attempt = Attempt(data.item_id, data.agent, data.attempt, event.at, len(before) + 1)
        attempt.alone, attempt.restored, attempt.worktree = data.alone, data.restored, data.worktree
        before.append(attempt)
        for file in data.restored:
            self.files.get(data.item_id, {}).pop(file, None)
        self._execution.attempts.append(attempt)
        self._execution.total = max(data.total, self._execution.total)
        self._open[data.agent] = attempt
        self._executed_in[data.item_id] = self._execution
        self.family.add(data.agent)

    @property
    def is_half_changed(self) -> bool:
        """Whether a process was killed while it changed the project's files, and nothing has settled that since."""
        return self._run is None and bool(self._merging)

    def _merged(self, event: Event, data: ItemMerging) -> None:
        if data.before == data.after:
            self._merging.discard(data.item_id)
        else:
            self._merging.add(data.item_id)

    def _item_finished(self, event: Event, data: ItemFinished) -> None:
        self._merging.discard(data.item_id)
        attempt = self._open.pop(data.agent, None)
        if attempt is None:  # it was cut off, and its changes brought into the project since
            self.files.setdefault(data.item_id, {}).update(dict.fromkeys(data.files))
            return
        attempt.end(data, event.at)
        if data.after is not None or data.kept is None:  # else it did not come into the project
            self.files.setdefault(data.item_id, {}).update(attempt.files)

    def _batch_finished(self, event: Event, data: BatchFinished) -> None:
        if self._execution is not None:
            self._execution.finished = data
            self._execution.ended_at = event.at

    def _undone(self, event: Event, data: ItemRolledBack) -> None:
        self._merging.clear()
        self._take_back(data.item_id, list(data.files), event.at, forced=data.forced)

    def _take_back(self, todo_id: str, files: list[str], at: str, *, forced: bool = False) -> None:
        record: dict[str, Any] = {"item_id": todo_id, "at": at, "files": files, "forced": forced}
        self.rolled_back.setdefault(todo_id, []).append(record)
        if execution := self._executed_in.get(todo_id):
            execution.rolled_back.append(record)
        for file in files:
            self.files.get(todo_id, {}).pop(file, None)

    def _reverted(self, event: Event, data: FilesReverted) -> None:
        """An undo or redo takes back what items changed, or brings it back."""
        self._merging.clear()
        for todo_id, (before, after) in data.executed.items():
            if before[0] and not after[0]:
                known = self.files.get(todo_id, {})
                self._take_back(todo_id, [file for file in data.files if file in known], event.at)
            elif after[0] and self.rolled_back.get(todo_id):
                record = self.rolled_back[todo_id].pop()
                self.files.setdefault(todo_id, {}).update(dict.fromkeys(record["files"]))
                if (execution := self._executed_in.get(todo_id)) and record in execution.rolled_back:
                    execution.rolled_back.remove(record)
