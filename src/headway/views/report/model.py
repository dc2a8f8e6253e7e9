"""What a report says, as data: the todos, executions and runs of a session. Built by `build.py`.

The fields are those of `headway report --format json`; the figures of a `ModelUsage` stand there beside the others.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from headway.core.evidence import Evidence, to_evidence_record

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Tokens and their price."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None if a price is not known."""

    def __add__(self, other: ModelUsage) -> ModelUsage:
        return ModelUsage(
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
        )

    def __sub__(self, other: ModelUsage) -> ModelUsage:
        """What is left beside the other; never less than nothing."""
        cost = None if self.cost is None or other.cost is None else max(round(self.cost - other.cost, 9), 0.0)
        return ModelUsage(
            max(self.input_tokens - other.input_tokens, 0),
            max(self.cached_tokens - other.cached_tokens, 0),
            max(self.output_tokens - other.output_tokens, 0),
            cost,
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class PlanSummary:
    title: str
    overview: str
    steps: int


@dataclass(frozen=True, slots=True)
class RolledBack:
    item_id: str
    at: str
    files: tuple[str, ...]
    forced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    agent: str
    attempt: int
    place: int
    """Which of the todo's attempts it is, from 1; one that is repeated after a conflict keeps its `attempt`."""
    started_at: str
    ended_at: str | None
    seconds: float | None
    outcome: str | None
    """None while it goes on."""
    reason: str
    again: bool
    """Whether another attempt follows."""
    alone: bool
    tool_calls: int
    failed_calls: int
    rounds: int
    usage: ModelUsage
    files: tuple[str, ...]
    kept: str | None
    not_merged: tuple[str, ...]
    worktree: str | None
    """Where its files are, if they still exist."""
    restored: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    attempt: int
    place: int
    files: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TodoReport:
    id: str
    content: str
    status: str
    set_by: str | None
    """Who gave it its status."""
    depends_on: tuple[str, ...]
    started_at: str | None
    completed_at: str | None
    seconds: float | None
    """From its start to its completion."""
    worked_seconds: float | None
    """The time of its attempts, if it was executed."""
    started_at_round: int | None
    completed_at_round: int | None
    tool_calls: int
    failed_calls: int
    rounds: int
    usage: ModelUsage
    files: tuple[str, ...]
    evidence: Evidence | None
    evidence_level: str | None
    verify: str | None
    error: str | None
    """Why it is blocked."""
    interrupted: bool
    owner: str | None
    notes: str | None
    attempts: tuple[Attempt, ...]
    retried: int
    conflicts: tuple[Conflict, ...]
    rolled_back: tuple[RolledBack, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedTodo:
    """A todo that was removed before it was finished."""

    id: str
    content: str
    status: str
    at: str
    by: str
    cause: str
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The chain of todos, each needed by the next, that took longest."""

    item_ids: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPeriod:
    """Work on one todo without a break. Times are seconds since the beginning of the timeline."""

    item_id: str
    agent: str
    attempt: int
    place: int
    start: float
    end: float
    outcome: str | None
    """None while it goes on."""
    again: bool
    alone: bool
    lane: int
    """From 1; periods of one lane do not overlap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    run_id: str | None
    model: str | None
    mode: str
    parallel: int
    retries: int
    only: str | None
    worktrees: bool
    checkpoints: bool
    note: str | None
    outcome: str | None
    """None while it goes on."""
    error: str | None
    started_at: str
    ended_at: str | None
    seconds: float
    completed: int
    failed: int
    total: int
    failed_items: tuple[str, ...]
    tool_calls: int
    failed_calls: int
    rounds: int
    usage: ModelUsage
    attempts: int
    retried: int
    conflicts: int
    saving_seconds: float
    serial_seconds: float
    """The time of all attempts that did not end in a conflict."""
    speed_up: float | None
    """How many times as fast it was as one todo at a time; None if that cannot be compared."""
    timeline: tuple[WorkPeriod, ...]
    critical_path: CriticalPath | None
    rolled_back: tuple[RolledBack, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    id: str
    agent: str
    item_id: str | None
    """The todo for which a sub-agent ran."""
    task: str
    model: str
    started_at: str
    ended_at: str | None
    seconds: float | None
    reason: str | None
    """None while it goes on."""
    rounds: int
    tool_calls: int
    error: str | None
    usage: ModelUsage
    timeline: tuple[WorkPeriod, ...]


@dataclass(frozen=True, slots=True)
class ManualWork:
    """Work on todos outside of the session's runs."""

    started_at: str
    seconds: float
    timeline: tuple[WorkPeriod, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    session: str
    agent: str
    generated_at: str
    plan: PlanSummary | None
    statistics: Mapping[str, int]
    """The number of todos of each status, and `total`."""
    evidence: Mapping[str, int]
    """The number of completed todos of each level of evidence."""
    items: tuple[TodoReport, ...]
    dropped: tuple[DroppedTodo, ...]
    critical_path: CriticalPath | None
    half_changed: bool
    """Whether a process was killed while it changed the project's files, and nothing has settled that since."""
    executions: tuple[Execution, ...]
    serial_seconds: float
    speed_up: float | None
    runs: tuple[Run, ...]
    by_hand: ManualWork | None
    seconds: float
    usage: ModelUsage
    tokens: int
    unattributed: ModelUsage
    """What no todo of the list took: rounds before and between them, dropped todos, calls that were cancelled."""

    def markdown(self) -> str:
        """Return the report as Markdown, without control characters."""
        from headway.core.text import neutralize_lines
        from headway.views.report.markdown import report_markdown

        return neutralize_lines(report_markdown(self))

    def html(self) -> str:
        """Return the report as one HTML page."""
        from headway.views.report.html import report_html

        return report_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as `headway report --format json` writes it."""
        return to_record(self)


def to_record(value: Any) -> Any:
    """Return a report, or a part of one, as data for JSON."""
    if isinstance(value, Evidence):
        return to_evidence_record(value)
    if is_dataclass(value):
        record: dict[str, Any] = {}
        for field in fields(value):
            part = getattr(value, field.name)
            record |= to_record(part) if field.name == "usage" else {field.name: to_record(part)}
        return record
    return [to_record(part) for part in value] if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownVariableType]
