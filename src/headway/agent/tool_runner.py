"""The calls of one answer: those that only read side by side, the others in their order; each recorded when it is over.

What a call means for the list is decided with its record. A call that fails is a result that the model sees.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic_ai.messages import ModelRequest, ToolReturnPart

from headway.agent.conversation import Redact, to_result_part
from headway.agent.repair import NO_OUTPUT
from headway.tools.base import ToolResult
from headway.tools.executor import Executor, PreparedCall

if TYPE_CHECKING:
    from headway.agent.repair import SentCall
    from headway.agent.run_checks import RunChecks
    from headway.core.run_events import ToolFinished, ToolStarted
    from headway.planner.run import PlannerRun

FinishedCall: TypeAlias = "tuple[ToolFinished, ToolReturnPart[Any]]"
SIDE_BY_SIDE = 8
MAX_DIFF = 20_000
_SEARCHED = 200_000
"""Characters of a diff in which keys are looked for; no more of it is kept than fits into a tenth."""
_MORE = 40
"""Characters of a diff that are left for how much more there is."""
_TAKEN_OUT = re.compile(r"^-", re.MULTILINE)
_MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class RoundOutcome:
    """What the calls of a round came to."""

    results: ModelRequest
    finished: list[ToolFinished]


class ToolRunner:
    def __init__(self, executor: Executor, run: PlannerRun, checks: RunChecks | None = None) -> None:
        self._checks = checks
        self._executor = executor
        self._run_log = run
        self._prepared: dict[str, PreparedCall] = {}
        self.files: dict[str, None] = {}
        """Files that were changed, in the order of their first change."""

    @property
    def mode(self) -> str:
        """The approval mode in force."""
        return str(self._executor.approvals.mode)

    def describe_first_calls(self, calls: Sequence[SentCall]) -> list[ToolStarted]:
        """Return what is recorded of the calls that begin first, together with the answer that has them."""
        return [self._prepare(call) for call in next(self._group_calls(calls), ())]

    async def run(self, calls: Sequence[SentCall]) -> RoundOutcome:
        """Run the calls of an answer, the first of which were described before."""
        done: dict[str, FinishedCall] = {}
        for number, group in enumerate(self._group_calls(calls)):
            if number:
                self._run_log.record_starts([self._prepare(call) for call in group])
            if len(group) == 1:
                done[group[0].id] = await self._run_and_record(group[0])
            else:
                done |= await self._run_group(group)
        ordered = [done[call.id] for call in calls]
        for call, (finished, _) in zip(calls, ordered, strict=True):
            self._run_log.repeated.add(call.arguments, finished)
        return RoundOutcome(ModelRequest([part for _, part in ordered]), [finished for finished, _ in ordered])

    def _prepare(self, call: SentCall) -> ToolStarted:
        if call.fault is None:
            prepared = self._executor.prepare(call.tool, call.arguments)
        else:
            prepared = PreparedCall(None, fault=ToolResult(call.fault, ok=False))
        self._prepared[call.id] = prepared
        effect = prepared.effect
        return self._run_log.describe_start(call.id, call.tool, call.arguments, effect and str(effect))

    def _group_calls(self, calls: Sequence[SentCall]) -> Iterator[list[SentCall]]:
        """Group the calls: neighbours that only read are one group, every other call is one by itself."""
        reading: list[SentCall] = []
        for call in calls:
            if self._executor.is_read_only(call.tool):
                reading.append(call)
                continue
            if reading:
                yield reading
                reading = []
            yield [call]
        if reading:
            yield reading

    async def _run_group(self, group: Sequence[SentCall]) -> dict[str, FinishedCall]:
        room = asyncio.Semaphore(SIDE_BY_SIDE)

        async def one(call: SentCall) -> FinishedCall:
            async with room:
                return await self._run_and_record(call)

        running = {call.id: asyncio.create_task(one(call)) for call in group}
        try:
            await asyncio.gather(*running.values())
        finally:
            for task in running.values():
                task.cancel()
        return {call_id: task.result() for call_id, task in running.items()}

    async def _run(self, call_id: str, prepared: PreparedCall) -> ToolResult:
        checks = self._checks
        if checks is None or prepared.tool is None:
            return await self._executor.run(prepared, call_id)
        await checks.note_start(self._run_log.state)

        async def again() -> ToolResult:
            return await self._executor.run(prepared, call_id)

        def report(text: str) -> None:
            self._run_log.publish_live(text, "output", call_id)

        return await checks.complete(await again(), again, report)

    async def _run_and_record(self, call: SentCall) -> FinishedCall:
        began = time.monotonic()
        result = await self._run(call.id, self._prepared.pop(call.id))
        for path in result.files:
            self.files[path] = None
        redact = self._run_log.redact
        finished = self._run_log.describe_finish(
            call.id,
            call.tool,
            call.arguments,
            ok=result.ok,
            text=result.text if result.text.strip() else NO_OUTPUT,  # some providers refuse a blank one
            denied=result.denied,
            effect=result.effect and str(result.effect),
            exit_code=result.exit_code,
            files=result.files,
            kept=result.kept,
            seconds=time.monotonic() - began - self._run_log.seconds_waited.pop(call.id, 0.0),
            diff=shorten_diff(result.diff, redact) if isinstance(result.diff, str) else None,
        )
        finished = self._run_log.finish(finished)
        return finished, to_result_part(finished)


def shorten_diff(diff: str, redacted: Redact) -> str | None:
    """The diff without keys and tokens, in at most `MAX_DIFF` characters: whole lines, and how many more there are."""
    if not diff:
        return None
    rest = diff[_SEARCHED:]
    diff = diff[:_SEARCHED]
    # A hyphen before a key makes it part of a longer word, and of `-----END` no end: so keys are looked for once more
    # while lines that were taken out begin with another sign.
    diff = redacted(_TAKEN_OUT.sub(_MINUS, redacted(diff)))
    diff = re.sub(f"^{_MINUS}", "-", diff, flags=re.MULTILINE)
    if len(diff) <= MAX_DIFF and not rest:
        return diff
    end = diff.rfind("\n", 0, MAX_DIFF - _MORE) + 1
    left = diff.count("\n", end) + rest.count("\n") + (not (rest or diff).endswith("\n"))
    return f"{diff[:end]}… {left:,} line{'' if left == 1 else 's'} more"
