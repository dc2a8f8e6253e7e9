"""The report of a session, built from its todos and its log. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headway.core.evidence import EvidenceLevel, evidence_level
from headway.core.graph import find_critical_path
from headway.core.model import MAIN_AGENT, Status, count_by_status
from headway.views.pictures.timeline import assign_lanes
from headway.views.report.log_reader import CONFLICT, INTERRUPTED, Effort, LogReader, seconds_between
from headway.views.report.model import (
    Attempt,
    Conflict,
    CriticalPath,
    DroppedTodo,
    Execution,
    ManualWork,
    ModelUsage,
    PlanSummary,
    Report,
    Run,
    TodoReport,
    WorkPeriod,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headway.core.events import Event
    from headway.core.model import Todo
    from headway.core.plans import Plan
    from headway.views.report.log_reader import AttemptLog, ExecutionLog, Span
    from headway.views.usage import RunUsage


def build_report(
    events: Iterable[Event],
    todos: Sequence[Todo],
    *,
    session: str,
    agent: str,
    generated_at: str,
    plan: Plan | None = None,
) -> Report:
    """Return the report of one agent's list. Reads the log once."""
    reader = LogReader(agent)
    for event in events:
        reader.read(event)
    items = tuple(_todo_report(todo, reader, generated_at) for todo in todos)
    needs = {todo.id: todo.depends_on for todo in todos}
    executions = tuple(_execution(each, needs, generated_at) for each in reader.executions)
    runs = _runs(reader, agent, generated_at)
    usage = sum((run.usage for run in runs), ModelUsage())
    levels = Counter(item.evidence_level for item in items)
    compared = [each for each in executions if each.speed_up is not None]
    serial, seconds = _total(each.serial_seconds for each in compared), _total(each.seconds for each in compared)
    return Report(
        session=session,
        agent=agent,
        generated_at=generated_at,
        plan=None if plan is None else PlanSummary(plan.title, plan.overview, len(plan.steps)),
        statistics={"total": len(todos), **{str(status): count for status, count in count_by_status([*todos]).items()}},
        evidence={str(level): levels[level] for level in EvidenceLevel},
        items=items,
        dropped=tuple(_dropped_todo(todo, event, reader) for todo, event in reader.dropped.values()),
        critical_path=_path({item.id: item.worked_seconds for item in items if item.worked_seconds is not None}, needs),
        half_changed=reader.is_half_changed,
        executions=executions,
        serial_seconds=serial,
        speed_up=round(serial / seconds, 2) if seconds else None,
        runs=runs,
        by_hand=_manual_work([span for span in reader.spans if span.run is None], generated_at),
        seconds=_total(
            seconds_between(run.started_at, run.ended_at or generated_at) for run in runs if run.agent == agent
        ),
        usage=usage,
        tokens=usage.tokens,
        unattributed=usage - sum((item.usage for item in items), ModelUsage()),
    )


def _total(numbers: Iterable[float]) -> float:
    return round(sum(numbers), 3)


def _usage(efforts: Iterable[Effort]) -> ModelUsage:
    return sum((effort.usage for effort in efforts), ModelUsage())


def _todo_report(todo: Todo, reader: LogReader, until: str) -> TodoReport:
    attempts = reader.attempts.get(todo.id, [])
    efforts = [*(attempt.effort for attempt in attempts), reader.efforts.get(todo.id, Effort())]
    seconds = seconds_between(todo.started_at, todo.completed_at) if todo.started_at and todo.completed_at else None
    level = evidence_level(todo)
    error = (todo.notes or (attempts[-1].reason if attempts else "")) if todo.status is Status.BLOCKED else ""
    return TodoReport(
        id=todo.id,
        content=todo.content,
        status=str(todo.status),
        set_by=reader.set_by.get(todo.id),
        depends_on=tuple(todo.depends_on),
        started_at=todo.started_at,
        completed_at=todo.completed_at,
        seconds=seconds,
        worked_seconds=_total(attempt.seconds_until(until) for attempt in attempts)
        if attempts
        else seconds and _worked_seconds(todo.id, reader, until, seconds),
        started_at_round=todo.started_at_round,
        completed_at_round=todo.completed_at_round,
        tool_calls=todo.tool_calls,
        failed_calls=todo.failed_calls,
        rounds=sum(effort.rounds for effort in efforts),
        usage=_usage(efforts),
        files=tuple(reader.files.get(todo.id, ())),
        evidence=todo.evidence,
        evidence_level=level and str(level),
        verify=todo.verify,
        error=error or None,
        interrupted=todo.interrupted,
        owner=todo.owner,
        notes=todo.notes,
        attempts=tuple(map(_attempt, attempts)),
        retried=max(len(attempts) - 1, 0),
        conflicts=tuple(
            Conflict(each.number, each.place, tuple(each.files), each.reason)
            for each in attempts
            if each.outcome == CONFLICT
        ),
        rolled_back=tuple(reader.rolled_back.get(todo.id, ())),
    )


def _worked_seconds(todo_id: str, reader: LogReader, until: str, seconds: float) -> float:
    """Return how long a todo was in progress, without the time in between; undone work has left no times."""
    spans = [span for span in reader.spans if span.item_id == todo_id]
    return _total(seconds_between(span.started_at, span.ended_at or until) for span in spans) if spans else seconds


def _attempt(attempt: AttemptLog) -> Attempt:
    effort = attempt.effort
    return Attempt(
        agent=attempt.agent,
        attempt=attempt.number,
        place=attempt.place,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        seconds=attempt.seconds,
        outcome=attempt.outcome,
        reason=attempt.reason,
        again=attempt.again,
        alone=attempt.alone,
        tool_calls=effort.tool_calls,
        failed_calls=effort.failed_calls,
        rounds=effort.rounds,
        usage=effort.usage,
        files=tuple(attempt.files),
        kept=attempt.kept,
        not_merged=attempt.not_merged,
        worktree=attempt.worktree,
        restored=attempt.restored,
    )


def _dropped_todo(todo: Todo, event: Event, reader: LogReader) -> DroppedTodo:
    return DroppedTodo(
        id=todo.id,
        content=todo.content,
        status=str(todo.status),
        at=event.at,
        by=event.actor,
        cause=getattr(event.data, "cause", ""),
        attempts=tuple(map(_attempt, reader.attempts.get(todo.id, ()))),
    )


def _execution(execution: ExecutionLog, needs: Mapping[str, Sequence[str]], until: str) -> Execution:
    started, finished, attempts = execution.started, execution.finished, execution.attempts
    ended_at = execution.ended_at
    goes_on = finished is None and ended_at is None
    seconds = seconds_between(execution.started_at, ended_at or until)
    if finished is not None and finished.seconds > 0:
        seconds = round(finished.seconds, 3)
    last = {attempt.item_id: attempt.outcome for attempt in attempts}
    # A conflict is a cost of working in parallel; there is none when items run one at a time.
    serial = _total(attempt.seconds_until(until) for attempt in attempts if attempt.outcome != CONFLICT)
    comparable = started.parallel > 1 and len(last) > 1 and not goes_on and seconds > 0 and serial > 0
    worked: dict[str, float] = {}
    for attempt in attempts:
        worked[attempt.item_id] = worked.get(attempt.item_id, 0.0) + attempt.seconds_until(until)
    return Execution(
        run_id=execution.run.run_id if execution.run else None,
        model=execution.run.model if execution.run else None,
        mode=started.mode,
        parallel=started.parallel,
        retries=started.retries,
        only=started.only,
        worktrees=started.worktrees,
        checkpoints=started.checkpoints,
        note=started.note,
        outcome=finished.outcome if finished else None if goes_on else INTERRUPTED,
        error=execution.run.error if execution.run else None,
        started_at=execution.started_at,
        ended_at=ended_at,
        seconds=seconds,
        completed=finished.completed if finished else sum(each == "completed" for each in last.values()),
        failed=finished.failed if finished else sum(each == "blocked" for each in last.values()),
        total=max(finished.total if finished else execution.total, len(last)),
        failed_items=tuple(finished.failed_items if finished else (i for i, each in last.items() if each == "blocked")),
        tool_calls=sum(attempt.effort.tool_calls for attempt in attempts),
        failed_calls=sum(attempt.effort.failed_calls for attempt in attempts),
        rounds=sum(attempt.effort.rounds for attempt in attempts),
        usage=_usage(attempt.effort for attempt in attempts),
        attempts=len(attempts),
        retried=len(attempts) - len(last),
        conflicts=sum(attempt.outcome == CONFLICT for attempt in attempts),
        saving_seconds=(finished or started).saving_seconds,
        serial_seconds=serial,
        speed_up=round(serial / seconds, 2) if comparable else None,
        timeline=_timeline(attempts, execution.started_at, until),
        critical_path=_path(worked, needs),
        rolled_back=tuple(execution.rolled_back),
    )


def _path(worked: Mapping[str, float], needs: Mapping[str, Sequence[str]]) -> CriticalPath | None:
    ids = find_critical_path({item_id: tuple(needs.get(item_id, ())) for item_id in worked}, worked)
    return CriticalPath(tuple(ids), _total(worked[item_id] for item_id in ids)) if ids else None


def _timeline(periods: Sequence[AttemptLog | Span], beginning: str, until: str) -> tuple[WorkPeriod, ...]:
    times: list[tuple[float, float]] = []
    for period in periods:
        start = seconds_between(beginning, period.started_at)
        times.append((start, max(seconds_between(beginning, period.ended_at or until), start)))
    return tuple(
        WorkPeriod(
            item_id=period.item_id,
            agent=period.agent,
            attempt=period.number,
            place=period.place,
            start=start,
            end=end,
            outcome=period.outcome,
            again=period.again,
            alone=period.alone,
            lane=lane + 1,
        )
        for period, (start, end), lane in zip(periods, times, assign_lanes(times), strict=True)
    )


def _runs(reader: LogReader, agent: str, until: str) -> tuple[Run, ...]:
    """Return the runs of the agent and of those that worked for it; for the main agent, all runs."""
    spans: dict[int, list[Span]] = {}
    for span in reader.spans:
        if span.run is not None:
            spans.setdefault(id(span.run), []).append(span)
    ends = {id(each.run): each.ended_at for each in reader.executions}
    return tuple(
        _run(run, reader.worked_for.get(run.run_id), spans.get(id(run), []), ends.get(id(run)), until)
        for run in reader.spending.runs
        if agent == MAIN_AGENT or run.agent in reader.family
    )


def _run(run: RunUsage, item_id: str | None, spans: Sequence[Span], execution_end: str | None, until: str) -> Run:
    ended_at = max(run.ended_at, execution_end or "") if run.ended_at else None
    return Run(
        id=run.run_id,
        agent=run.agent,
        item_id=item_id,
        task=run.task,
        model=run.model,
        started_at=run.started_at,
        ended_at=ended_at,
        seconds=seconds_between(run.started_at, ended_at) if ended_at else None,
        reason=run.reason,
        rounds=run.rounds,
        tool_calls=run.tool_calls,
        error=run.error,
        usage=ModelUsage(run.input_tokens, run.cached_tokens, run.output_tokens, run.cost),
        timeline=_timeline(spans, run.started_at, until),
    )


def _manual_work(spans: Sequence[Span], until: str) -> ManualWork | None:
    if not spans:
        return None
    beginning = min(span.started_at for span in spans)
    end = max(span.ended_at or until for span in spans)
    return ManualWork(beginning, seconds_between(beginning, end), _timeline(spans, beginning, until))
