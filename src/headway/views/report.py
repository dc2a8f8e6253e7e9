"""What came of a session, as data: each item with its state and what shows it, each execution, each run. Pure.

`report_markdown` and `report_html` show it to a person.
"""

from __future__ import annotations

from headway.core.evidence import EvidenceLevel, evidence_record, level_of
from headway.core.graph import critical_path
from headway.core.model import MAIN_AGENT, Status, counts
from headway.views.lanes import lanes_of
from headway.views.report_reading import CONFLICT, INTERRUPTED, Attempt, Execution, Reading, Span, Use, seconds_between
from headway.views.spending import Spent, total_cost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from headway.core.events import Event
    from headway.core.model import Todo
    from headway.core.plans import Plan


def report_record(
    events: Iterable[Event],
    todos: Sequence[Todo],
    *,
    session: str,
    agent: str,
    generated_at: str,
    plan: Plan | None = None,
) -> dict[str, Any]:
    """The report as data. Reads the log once."""
    reading = Reading(agent)
    for event in events:
        reading.see(event)
    items = [_item(todo, reading, generated_at) for todo in todos]
    needs = {todo.id: todo.depends_on for todo in todos}
    executions = [_execution(each, needs, generated_at) for each in reading.executions]
    runs = _runs(reading, agent, generated_at)
    number = counts(list(todos))
    levels = [item["evidence_level"] for item in items]
    outside = [span for span in reading.spans if span.run is None]
    worked = {item["id"]: item["worked_seconds"] for item in items if item["worked_seconds"] is not None}
    return {
        "session": session,
        "agent": agent,
        "generated_at": generated_at,
        "plan": None if plan is None else {"title": plan.title, "overview": plan.overview, "steps": len(plan.steps)},
        "statistics": {"total": len(todos), **{str(status): count for status, count in number.items()}},
        "evidence": {str(level): levels.count(level) for level in EvidenceLevel},
        "items": items,
        "dropped": [{**each, "attempts": _attempts(each["id"], reading)} for each in reading.dropped.values()],
        "critical_path": _path(worked, needs),
        "half_changed": reading.is_half_changed,
        "executions": executions,
        **_speed(executions),
        "runs": runs,
        "by_hand": _by_hand(outside, generated_at),
        "seconds": _sum(
            seconds_between(run["started_at"], run["ended_at"] or generated_at) for run in runs if run["agent"] == agent
        ),
        "input_tokens": sum(run["input_tokens"] for run in runs),
        "cached_tokens": sum(run["cached_tokens"] for run in runs),
        "output_tokens": sum(run["output_tokens"] for run in runs),
        "tokens": sum(run["input_tokens"] + run["output_tokens"] for run in runs),
        "cost": total_cost(run["cost"] for run in runs),
    }


# items


def _item(todo: Todo, reading: Reading, until: str) -> dict[str, Any]:
    attempts = reading.attempts.get(todo.id, [])
    records = _attempts(todo.id, reading)
    seconds = seconds_between(todo.started_at, todo.completed_at) if todo.started_at and todo.completed_at else None
    level = level_of(todo)
    return {
        "id": todo.id,
        "content": todo.content,
        "status": str(todo.status),
        "set_by": reading.set_by.get(todo.id),
        "depends_on": list(todo.depends_on),
        "started_at": todo.started_at,
        "completed_at": todo.completed_at,
        "seconds": seconds,
        "worked_seconds": _sum(_took(attempt, until) for attempt in attempts) if attempts else seconds,
        "started_at_round": todo.started_at_round,
        "completed_at_round": todo.completed_at_round,
        "tool_calls": todo.tool_calls,
        "failed_calls": todo.failed_calls,
        **_used([*(attempt.use for attempt in attempts), reading.uses.get(todo.id, Use())]),
        "files": [*reading.files.get(todo.id, ())],
        "evidence": evidence_record(todo.evidence) if todo.evidence else None,
        "evidence_level": level and str(level),
        "verify": todo.verify,
        "error": _error(todo, attempts),
        "interrupted": todo.interrupted,
        "owner": todo.owner,
        "notes": todo.notes,
        "attempts": records,
        "retried": max(len(attempts) - 1, 0),
        "conflicts": [
            {"attempt": attempt.number, "place": attempt.place, "files": [*attempt.files], "reason": attempt.reason}
            for attempt in attempts
            if attempt.outcome == CONFLICT
        ],
        "rolled_back": reading.rolled_back.get(todo.id, []),
    }


def _used(uses: Sequence[Use]) -> dict[str, Any]:
    return {
        "rounds": sum(use.rounds for use in uses),
        "input_tokens": sum(use.input_tokens for use in uses),
        "cached_tokens": sum(use.cached_tokens for use in uses),
        "output_tokens": sum(use.output_tokens for use in uses),
        "cost": total_cost(use.cost for use in uses),
    }


def _error(todo: Todo, attempts: Sequence[Attempt]) -> str | None:
    """Why it is blocked."""
    if todo.status is not Status.BLOCKED:
        return None
    return todo.notes or (attempts[-1].reason if attempts else "") or None


def _attempts(item_id: str, reading: Reading) -> list[dict[str, Any]]:
    return [_attempt(attempt) for attempt in reading.attempts.get(item_id, ())]


def _attempt(attempt: Attempt) -> dict[str, Any]:
    use = attempt.use
    return {
        "agent": attempt.agent,
        "attempt": attempt.number,
        "place": attempt.place,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "seconds": attempt.seconds,
        "outcome": attempt.outcome,
        "reason": attempt.reason,
        "again": attempt.again,
        "alone": attempt.alone,
        "tool_calls": use.tool_calls,
        "failed_calls": use.failed_calls,
        **_used([use]),
        "files": [*attempt.files],
        "kept": attempt.kept,
        "not_merged": [*attempt.not_merged],
        "worktree": attempt.worktree,
        "restored": [*attempt.restored],
    }


def _took(attempt: Attempt, until: str) -> float:
    return seconds_between(attempt.started_at, until) if attempt.seconds is None else attempt.seconds


def _sum(numbers: Iterable[float]) -> float:
    return round(sum(numbers), 3)


# executions


def _execution(execution: Execution, needs: Mapping[str, Sequence[str]], until: str) -> dict[str, Any]:
    asked, finished, attempts = execution.asked, execution.finished, execution.attempts
    ended_at = execution.ended_at
    seconds = seconds_between(execution.started_at, ended_at or until)
    if finished is not None and finished.seconds > 0:
        seconds = round(finished.seconds, 3)
    last = {attempt.item_id: attempt.outcome for attempt in attempts}
    goes_on = finished is None and ended_at is None
    outcome = finished.outcome if finished else None if goes_on else INTERRUPTED
    # A conflict is what working side by side has cost; one after the other there is none.
    serial = _sum(_took(attempt, until) for attempt in attempts if attempt.outcome != CONFLICT)
    compared = asked.parallel > 1 and len(last) > 1 and not goes_on and seconds > 0 and serial > 0
    worked: dict[str, float] = {}
    for attempt in attempts:
        worked[attempt.item_id] = worked.get(attempt.item_id, 0.0) + _took(attempt, until)
    return {
        "run_id": execution.run.run_id if execution.run else None,
        "model": execution.run.model if execution.run else None,
        "mode": asked.mode,
        "parallel": asked.parallel,
        "retries": asked.retries,
        "only": asked.only,
        "worktrees": asked.worktrees,
        "checkpoints": asked.checkpoints,
        "note": asked.note,
        "outcome": outcome,
        "error": execution.run.error if execution.run else None,
        "started_at": execution.started_at,
        "ended_at": ended_at,
        "seconds": seconds,
        "completed": finished.completed if finished else sum(each == "completed" for each in last.values()),
        "failed": finished.failed if finished else sum(each == "blocked" for each in last.values()),
        "total": max(finished.total if finished else execution.total, len(last)),
        "failed_items": [*finished.failed_items] if finished else [i for i, each in last.items() if each == "blocked"],
        "tool_calls": sum(attempt.use.tool_calls for attempt in attempts),
        "failed_calls": sum(attempt.use.failed_calls for attempt in attempts),
        **_used([attempt.use for attempt in attempts]),
        "attempts": len(attempts),
        "retried": len(attempts) - len(last),
        "conflicts": sum(attempt.outcome == CONFLICT for attempt in attempts),
        "saving_seconds": (finished or asked).saving_seconds,
        "serial_seconds": serial,
        "speed_up": round(serial / seconds, 2) if compared else None,
        "timeline": _bars([(each, each.started_at, each.ended_at) for each in attempts], execution.started_at, until),
        "critical_path": _path(worked, needs),
        "rolled_back": execution.rolled_back,
    }


def _path(worked: Mapping[str, float], needs: Mapping[str, Sequence[str]]) -> dict[str, Any] | None:
    """The chain of items, each needed by the next, that took longest."""
    ids = critical_path({item_id: tuple(needs.get(item_id, ())) for item_id in worked}, worked)
    return {"item_ids": ids, "seconds": _sum(worked[item_id] for item_id in ids)} if ids else None


def _bars(stretches: Sequence[tuple[Attempt | Span, str, str | None]], began: str, until: str) -> list[dict[str, Any]]:
    """What was worked on when, in seconds from the beginning, in lanes counted from 1."""
    times: list[tuple[float, float]] = []
    for _, started_at, ended_at in stretches:
        start = seconds_between(began, started_at)
        times.append((start, max(seconds_between(began, ended_at or until), start)))
    return [
        {
            "item_id": what.item_id,
            "agent": what.agent if isinstance(what, Attempt) else what.by,
            "attempt": what.number if isinstance(what, Attempt) else 1,
            "place": what.place if isinstance(what, Attempt) else 1,
            "start": start,
            "end": end,
            "outcome": what.outcome,
            "again": isinstance(what, Attempt) and what.again,
            "alone": isinstance(what, Attempt) and what.alone,
            "lane": lane + 1,
        }
        for (what, _, _), (start, end), lane in zip(stretches, times, lanes_of(times), strict=True)
    ]


def _speed(executions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How much faster all executions were than one item after the other."""
    known = [each for each in executions if each["speed_up"] is not None]
    serial, seconds = _sum(each["serial_seconds"] for each in known), _sum(each["seconds"] for each in known)
    return {"serial_seconds": serial, "speed_up": round(serial / seconds, 2) if seconds else None}


# runs


def _runs(reading: Reading, agent: str, until: str) -> list[dict[str, Any]]:
    """Of the agent and of those that worked for it; for the main agent, all there were."""
    spans: dict[int, list[Span]] = {}
    for span in reading.spans:
        if span.run is not None:
            spans.setdefault(id(span.run), []).append(span)
    ends = {id(each.run): each.ended_at for each in reading.executions}
    return [
        _run(run, reading.worked_for.get(run.run_id), spans.get(id(run), []), ends.get(id(run)), until)
        for run in reading.spending.runs
        if agent == MAIN_AGENT or run.agent in reading.family
    ]


def _run(run: Spent, item_id: str | None, spans: Sequence[Span], ended: str | None, until: str) -> dict[str, Any]:
    ended_at = max(run.ended_at, ended or "") if run.ended_at else None
    return {
        "id": run.run_id,
        "agent": run.agent,
        "item_id": item_id,
        "task": run.task,
        "model": run.model,
        "started_at": run.started_at,
        "ended_at": ended_at,
        "seconds": seconds_between(run.started_at, ended_at) if ended_at else None,
        "reason": run.reason,
        "rounds": run.rounds,
        "tool_calls": run.tool_calls,
        "error": run.error,
        "input_tokens": run.input_tokens,
        "cached_tokens": run.cached_tokens,
        "output_tokens": run.output_tokens,
        "cost": run.cost,
        "timeline": _bars([(span, span.started_at, span.ended_at) for span in spans], run.started_at, until),
    }


def _by_hand(spans: Sequence[Span], until: str) -> dict[str, Any] | None:
    """Work on items that no run of this session did."""
    if not spans:
        return None
    began = min(span.started_at for span in spans)
    ended = max(span.ended_at or until for span in spans)
    return {
        "started_at": began,
        "seconds": seconds_between(began, ended),
        "timeline": _bars([(span, span.started_at, span.ended_at) for span in spans], began, until),
    }
