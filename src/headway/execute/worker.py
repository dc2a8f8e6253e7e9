"""One attempt at an item: a run of a sub-agent with a conversation of its own, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from headway.agent.config import LoopConfig
from headway.agent.run import run_loop
from headway.core.errors import HeadwayError
from headway.core.model import FINISHED, Status
from headway.core.text import shown
from headway.core.tracking import NO_WORK, Work
from headway.execute.report_item import NOTHING_SHOWS, ReportItem

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from headway.agent.config import RunResult
    from headway.core.evidence import Evidence
    from headway.core.session import Session
    from headway.tools.approvals import Approvals
    from headway.tools.base import Tool
    from headway.tools.functions import Function
    from headway.tools.limits import Limits

Tools: TypeAlias = "Callable[[str], Iterable[Tool[Any] | Function]]"
"""The tools for a folder: an item may work in one of its own."""
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Means:
    """With what items are executed; the same for all of them."""

    model: str | Model
    tools: Tools
    approvals: Approvals
    config: LoopConfig
    limits: Limits | None
    base_url: str | None
    require_evidence: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an attempt came to."""

    status: Status
    """Completed, blocked or cancelled; pending if someone stopped its run."""
    reason: str
    """Why it is not completed."""
    text: str = ""
    evidence: Evidence | None = None
    rounds: int = 0
    tool_calls: int = 0
    failed_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = 0.0


async def attempt(sub: Session, prompt: str, folder: str, means: Means, config: LoopConfig) -> Outcome:
    """Has the sub-agent do the item. Whatever goes wrong is the outcome; only being cancelled goes through."""
    report = ReportItem(require_evidence=means.require_evidence)
    tools = [*means.tools(folder), report]
    results: list[RunResult] = []

    async def run(task: str) -> RunResult:
        result = await run_loop(
            sub,
            task,
            model=means.model,
            tools=tools,
            approvals=means.approvals,
            config=config,
            limits=means.limits,
            base_url=means.base_url,
            project=folder,
        )
        results.append(result)
        return result

    work = NO_WORK
    try:
        result = await run(prompt)
        work = _work(sub)
        status, reason = _judged(sub, result, work, report)
        if status is Status.COMPLETED and report.asks(shown=work.track.command is not None):
            result = await run(NOTHING_SHOWS)
            work = _joined(work, _work(sub))
            status, reason = _judged(sub, result, work, report)
    except HeadwayError as error:
        status, reason = Status.BLOCKED, str(error)
    costs = [result.cost for result in results]
    return Outcome(
        status,
        reason,
        text=next((result.text for result in reversed(results) if result.text), ""),
        evidence=work.track.evidence if status is Status.COMPLETED else None,
        rounds=sum(result.rounds for result in results),
        tool_calls=sum(result.tool_calls for result in results),
        failed_calls=work.failed_calls,
        input_tokens=sum(result.input_tokens for result in results),
        output_tokens=sum(result.output_tokens for result in results),
        cached_tokens=sum(result.cache_read_tokens for result in results),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


def _work(sub: Session) -> Work:
    run = sub.run
    return run.work if run is not None else NO_WORK


def _joined(first: Work, then: Work) -> Work:
    """What two runs of one attempt come to."""
    track = then.track
    files = tuple(dict.fromkeys((*first.track.files, *track.files)))
    return replace(then, track=replace(track, files=files), failed_calls=first.failed_calls + then.failed_calls)


def _judged(sub: Session, result: RunResult, work: Work, report: ReportItem) -> tuple[Status, str]:
    """What the item is to be set to, and why if it is not completed."""
    if result.reason == "cancelled":
        return Status.PENDING, "Its run was stopped."
    if not result.ok:
        return Status.BLOCKED, result.error or _why(result)
    if report.status is not Status.COMPLETED:
        return report.status, shown(report.reason, 1_000)
    if work.broken:
        return Status.BLOCKED, shown(f"Its last command failed ({work.broken}).", 500)
    if work.denied:
        return (
            Status.BLOCKED,
            f"{shown(work.denied, 60)} was not allowed; allow it, or choose another mode with --mode.",
        )
    left = [todo for todo in sub.todos if todo.status not in FINISHED]
    if left:
        names = "; ".join(shown(todo.content, 100) for todo in left[:_MOST_NAMED])
        more = f"; and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
        return Status.BLOCKED, f"The agent stopped with {len(left)} of its own items open: {names}{more}."
    return Status.COMPLETED, ""


def _why(result: RunResult) -> str:
    return f"It was not done after {result.rounds} rounds; allow more with max_rounds, or make the item smaller."
