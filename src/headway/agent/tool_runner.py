"""The calls of one answer: those that only read side by side, the others in their order; each recorded when it is over.

What a call means for the list is decided with its record. A call that fails is a result that the model sees.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic_ai.messages import ModelRequest, ToolCallPart, ToolReturnPart

from headway.agent.conversation import Redact, to_result_part
from headway.agent.repair import NO_OUTPUT
from headway.core.run_events import ToolFinished, ToolStarted
from headway.core.tracking import TODO_EFFECT
from headway.planner.call_summary import find_command_kind, summarize_call
from headway.tools.base import ToolResult
from headway.tools.effects import Effect

if TYPE_CHECKING:
    from headway.agent.run_checks import RunChecks
    from headway.core.tracking import Policy
    from headway.planner.recorder import Recorder
    from headway.tools.executor import Executor

Call: TypeAlias = ToolCallPart[Any]
FinishedCall: TypeAlias = tuple[ToolFinished, ToolReturnPart[Any]]
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
    worked: bool
    """Whether any was work, and not only a change of the list."""
    succeeded: bool
    finished: list[ToolFinished]


class ToolRunner:
    def __init__(self, executor: Executor, recorder: Recorder, policy: Policy, checks: RunChecks | None = None) -> None:
        self._checks = checks
        self._executor = executor
        self._recorder = recorder
        self._policy = policy
        self.files: dict[str, None] = {}
        """Files that were changed, in the order of their first change."""

    @property
    def mode(self) -> str:
        """The approval mode in force."""
        return str(self._executor.approvals.mode)

    def describe_first_calls(self, calls: Sequence[Call], round: int) -> list[ToolStarted]:
        """Return what is recorded of the calls that begin first, together with the answer that has them."""
        return [self._describe_start(call, round) for call in next(self._group_calls(calls), ())]

    async def run(self, calls: Sequence[Call], faults: Mapping[str, str], round: int) -> RoundOutcome:
        """Run the calls of an answer. `faults` has a sentence for those that cannot be run."""
        done: dict[str, FinishedCall] = {}
        for number, group in enumerate(self._group_calls(calls)):
            if number:
                self._recorder.record(*(self._describe_start(call, round) for call in group), policy=self._policy)
            if len(group) == 1:
                done[group[0].tool_call_id] = await self._run_and_record(group[0], faults, round)
            else:
                done |= await self._run_group(group, faults, round)
        ordered = [done[call.tool_call_id] for call in calls]
        finished = [call for call, _ in ordered]
        return RoundOutcome(
            ModelRequest([part for _, part in ordered]),
            worked=any(call.effect != TODO_EFFECT for call in finished),
            succeeded=any(call.succeeded for call in finished),
            finished=finished,
        )

    def _describe_start(self, call: Call, round: int) -> ToolStarted:
        effect = self._executor.effect_of(call.tool_name, call.args)
        said = summarize_call(call.tool_name, call.args, self._recorder.redact)
        command_kind = find_command_kind(call.args) if effect is Effect.EXECUTE else None
        return ToolStarted(round, call.tool_call_id, call.tool_name, said, effect and str(effect), command_kind)

    def _find_command(self, call: Call) -> str:
        return summarize_call(call.tool_name, call.args, self._recorder.redact).removeprefix(f"{call.tool_name} ")

    def _group_calls(self, calls: Sequence[Call]) -> Iterator[list[Call]]:
        """Group the calls: neighbours that only read are one group, every other call is one by itself."""
        reading: list[Call] = []
        for call in calls:
            if self._executor.is_read_only(call.tool_name):
                reading.append(call)
                continue
            if reading:
                yield reading
                reading = []
            yield [call]
        if reading:
            yield reading

    async def _run_group(self, group: Sequence[Call], faults: Mapping[str, str], round: int) -> dict[str, FinishedCall]:
        room = asyncio.Semaphore(SIDE_BY_SIDE)

        async def one(call: Call) -> FinishedCall:
            async with room:
                return await self._run_and_record(call, faults, round)

        running = {call.tool_call_id: asyncio.create_task(one(call)) for call in group}
        try:
            await asyncio.gather(*running.values())
        finally:
            for task in running.values():
                task.cancel()
        return {call_id: task.result() for call_id, task in running.items()}

    async def _run(self, call: Call) -> ToolResult:
        checks = self._checks
        if checks is None:
            return await self._executor.call(call.tool_name, call.args, call.tool_call_id)
        state = self._recorder.state
        await checks.note_start(state if state is not None else self._recorder.session.state)

        async def again() -> ToolResult:
            return await self._executor.call(call.tool_name, call.args, call.tool_call_id)

        def report(text: str) -> None:
            self._recorder.publish_live(text, "output", call.tool_call_id)

        return await checks.complete(await again(), again, report)

    async def _run_and_record(self, call: Call, faults: Mapping[str, str], round: int) -> FinishedCall:
        began = time.monotonic()
        if fault := faults.get(call.tool_call_id):
            result = ToolResult(fault, ok=False)
        else:
            result = await self._run(call)
        for path in result.files:
            self.files[path] = None
        finished = ToolFinished(
            round,
            call.tool_call_id,
            call.tool_name,
            result.ok,
            result.text if result.text.strip() else NO_OUTPUT,  # some providers refuse a blank one
            result.denied,
            result.effect and str(result.effect),
            result.exit_code,
            result.files,
            result.kept,
            round_to_ms(time.monotonic() - began - self._recorder.seconds_waited.pop(call.tool_call_id, 0.0)),
            diff=shorten_diff(result.diff, self._recorder.redact) if isinstance(result.diff, str) else None,
            command=self._find_command(call) if result.effect is Effect.EXECUTE else None,
            command_kind=find_command_kind(call.args) if result.effect is Effect.EXECUTE else None,
        )
        # What the model is told now keeps keys and tokens, since it may have to write them back; the log does not.
        text = self._recorder.redact(finished.text)
        safe = finished if text == finished.text else replace(finished, text=text)
        finished.item_id = self._recorder.finish_tool(safe, self._policy)
        return finished, to_result_part(finished)


def round_to_ms(seconds: float) -> float:
    return round(seconds, 3)


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
