"""One attempt at an item: a run of a sub-agent with a conversation of its own, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from headway.agent.config import LoopConfig
from headway.agent.run import run_loop
from headway.core.errors import HeadwayError
from headway.core.evidence import EvidenceLevel
from headway.core.model import FINISHED, Status
from headway.core.text import SENTENCE_ENDS, sanitize_for_display
from headway.core.tracking import NO_WORK, RunWork
from headway.execute.execution_checks import NO_CHECK, Verdict
from headway.execute.report_item import NOT_REPORTED, NOTHING_SHOWS, ReportItem

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from headway.agent.config import RunResult
    from headway.core.evidence import Evidence
    from headway.execute.execution_checks import AttemptCheck
    from headway.session import Session
    from headway.tools.approvals import Approvals
    from headway.tools.base import Tool
    from headway.tools.functions import Function
    from headway.tools.limits import Limits

Tools: TypeAlias = "Callable[[str], Iterable[Tool[Any] | Function]]"
"""The tools for a folder: an item may work in one of its own."""
_MOST_NAMED = 5
_REPAIR = "The item is not done while its check fails. Fix the problem, then report it as completed again."
_NOT_VERIFIED = (
    "The check passed, but it does not verify the item ({note}). Fix this if you can; if not, report the item as "
    "completed again."
)


@dataclass(frozen=True, slots=True)
class AttemptSettings:
    """With what items are executed; the same for all of them."""

    model: str | Model
    tools: Tools
    approvals: Approvals
    config: LoopConfig
    limits: Limits | None
    base_url: str | None
    required: EvidenceLevel | None
    """The least evidence with which a completion is accepted at once."""
    verify_tries: int


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """What an attempt came to."""

    status: Status
    """Completed, blocked or cancelled; pending if someone stopped its run."""
    reason: str
    """Why it is not completed."""
    is_reported: bool = False
    """Whether the model reported it so, which no further attempt overrules."""
    text: str = ""
    evidence: Evidence | None = None
    rounds: int = 0
    tool_calls: int = 0
    failed_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = 0.0
    check: AttemptCheck | None = None
    """The check, which may have yet to run in the project."""


async def run_attempt(
    sub: Session, prompt: str, folder: str, settings: AttemptSettings, config: LoopConfig, check: AttemptCheck
) -> AttemptOutcome:
    """Has the sub-agent do the item. Whatever goes wrong is the outcome; only being cancelled goes through."""
    # What a check shows is better than what a command of the model's own would show.
    report = ReportItem(asks=settings.required is not None, asks_at_once=not check.runs)
    one = _AttemptRun(sub, [*settings.tools(folder), report], report, folder, settings, config, check)
    try:
        await one.run(prompt)
    except HeadwayError as error:
        one.status, one.reason = Status.BLOCKED, str(error)
    results, work = one.results, one.work
    costs = [result.cost for result in results]
    return AttemptOutcome(
        one.status,
        one.reason,
        is_reported=one.is_reported,
        text=next((result.text for result in reversed(results) if result.text), ""),
        evidence=one.find_evidence() if one.status is Status.COMPLETED else None,
        rounds=sum(result.rounds for result in results),
        tool_calls=sum(result.tool_calls for result in results),
        failed_calls=work.failed_calls,
        input_tokens=sum(result.input_tokens for result in results),
        output_tokens=sum(result.output_tokens for result in results),
        cached_tokens=sum(result.cache_read_tokens for result in results),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
        check=check if check.runs else None,
    )


@dataclass(slots=True)
class _AttemptRun:
    """The runs of one attempt: the first, and those in which the model is sent what is missing."""

    sub: Session
    tools: list[Tool[Any] | Function]
    report: ReportItem
    folder: str
    settings: AttemptSettings
    config: LoopConfig
    check: AttemptCheck
    results: list[RunResult] = field(default_factory=list["RunResult"])
    work: RunWork = NO_WORK
    verdict: Verdict = NO_CHECK
    status: Status = Status.BLOCKED
    reason: str = ""
    is_reported: bool = False

    async def run(self, prompt: str) -> None:
        """Run until the item is settled: reported, checked and shown, or blocked."""
        message: str | None = prompt
        tries = 0
        reminded = False
        while message is not None:
            await self._run(message)
            message = None
            if self._is_over():
                return
            self.verdict = await self.check.run()
            reported = self.report.status is Status.COMPLETED
            if not reported and not self.verdict.completes:
                if reminded or self.sub.plan_mode:  # in which nothing can be reported
                    self._block(self._find_denial() or self._find_last_words())
                    return
                reminded = True
                message = "\n\n".join(text for text in (self.verdict.failure, NOT_REPORTED) if text)
            elif self.verdict.failure:
                if tries == self.settings.verify_tries:
                    self._block(self.verdict.failure)
                    return
                tries += 1
                message = f"{self.verdict.failure}\n\n{_REPAIR}"
            elif self._is_settled():
                message = self._ask_for_evidence()

    async def _run(self, task: str) -> None:
        settings = self.settings
        result = await run_loop(
            self.sub,
            task,
            model=settings.model,
            tools=self.tools,
            approvals=settings.approvals,
            config=self.config,
            limits=settings.limits,
            base_url=settings.base_url,
            project=self.folder,
            variables=self.check.variables,
            run_checks=False,
        )
        self.work = _join_work(self.work, _read_work(self.sub)) if self.results else _read_work(self.sub)
        self.results.append(result)

    def _block(self, reason: str) -> None:
        self.status, self.reason = Status.BLOCKED, reason

    def _is_over(self) -> bool:
        """Whether the last run ended in a way that no check can change."""
        result, report = self.results[-1], self.report
        if result.reason == "cancelled":
            self.status, self.reason = Status.PENDING, "The run was stopped."
        elif report.status is not None and report.status is not Status.COMPLETED:
            self.status, self.reason, self.is_reported = report.status, sanitize_for_display(report.reason, 1_000), True
        elif not result.ok:
            self._block(result.error or _explain_end(result))
        else:
            return False
        return True

    def _is_settled(self) -> bool:
        """Set what became of an item that was reported as completed, or whose check passed; return whether it is."""
        left = [todo for todo in self.sub.todos if todo.status not in FINISHED]
        if self.work.broken and not self._is_checked():
            self._block(sanitize_for_display(f"Its last command failed ({self.work.broken}).", 500))
        elif self.work.denied and not self._is_checked():
            self._block(self._find_denial())
        elif left:
            names = "; ".join(sanitize_for_display(todo.content, 100) for todo in left[:_MOST_NAMED])
            more = f"; and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
            self._block(f"The agent stopped with {len(left)} of its own items still open: {names}{more}.")
        else:
            self.status, self.reason = Status.COMPLETED, ""
        return self.status is Status.COMPLETED

    def _find_denial(self) -> str:
        tool = sanitize_for_display(self.work.denied, 60)
        return f"{tool} was denied; allow it, or choose another mode." if tool else ""

    def _is_checked(self) -> bool:
        """Whether the check outweighs a command that failed; one that may have been weakened does not."""
        return self.verdict.evidence is not None and self.verdict.evidence.level is EvidenceLevel.VERIFIED

    def _ask_for_evidence(self) -> str | None:
        """Return what the model is told, once, if what shows the item's completion is less than is required."""
        required = self.settings.required
        if required is None or self.check.reason_to_run_in_project:
            return None
        # Without a check nothing could verify it, so that a command has to do.
        enough = required if self.check.runs else min(required, EvidenceLevel.COMMAND_OK)
        if not self.report.takes_evidence_question(shown=self.find_evidence().level >= enough):
            return None
        return _NOT_VERIFIED.format(note=self.find_evidence().note) if self.check.runs else NOTHING_SHOWS

    def find_evidence(self) -> Evidence:
        """Return what shows the item's completion: the check, else the last command that could have failed."""
        shown = self.work.track.evidence
        checked, note = self.verdict.evidence, self.verdict.note
        if checked is not None and checked.level >= shown.level:
            return checked
        note = note or (checked.note if checked is not None else None)
        return replace(shown, note=note) if note else shown

    def _find_last_words(self) -> str:
        words = sanitize_for_display(next((result.text for result in reversed(self.results) if result.text), ""), 1_000)
        if self.report.was_refused:
            said = (
                f"Its completion was refused, because no command shows it (evidence required: {self.settings.required})"
            )
        elif not words:
            return "The model ended without reporting how the item ended."
        else:
            said = "Not reported as completed"
        end = "" if words.endswith(SENTENCE_ENDS) else "."
        return f"{said}; the model's last words: “{words}”{end}" if words else f"{said}."


def _read_work(sub: Session) -> RunWork:
    run = sub.run
    return run.work if run is not None else NO_WORK


def _join_work(first: RunWork, then: RunWork) -> RunWork:
    """What two runs of one attempt come to."""
    track = then.track
    files = tuple(dict.fromkeys((*first.track.files, *track.files)))
    return replace(then, track=replace(track, files=files), failed_calls=first.failed_calls + then.failed_calls)


def _explain_end(result: RunResult) -> str:
    return f"It was not done after {result.rounds} rounds; allow more with max_rounds, or split the item."
