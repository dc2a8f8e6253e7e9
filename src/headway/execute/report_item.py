"""`report_item`: how the item ended that a run was started for, where it is not simply done."""

from __future__ import annotations

from typing import Literal

from headway.core.model import Status
from headway.core.text import shown
from headway.tools.base import Context, Tool, ToolFault, ToolInput, ToolResult, description_beside
from headway.tools.effects import Effect

NOTHING_SHOWS = (
    "Nothing shows yet that the item is done: no command has succeeded since the last edit. Run one that checks it, "
    "such as its tests. If nothing can check it, say so and end."
)


class ReportItemInput(ToolInput):
    status: Literal["completed", "blocked", "cancelled"]
    reason: str = ""


class ReportItem(Tool[ReportItemInput]):
    """One per attempt: it remembers what was reported."""

    name = "report_item"
    description = description_beside(__file__)
    input = ReportItemInput
    effect = Effect.TODO

    def __init__(self, *, require_evidence: bool) -> None:
        self._asks = require_evidence
        self.status = Status.COMPLETED
        self.reason = ""

    def asks(self, *, shown: bool) -> bool:
        """Whether to ask for evidence, which happens once."""
        asked, self._asks = self._asks, self._asks and shown
        return asked and not shown

    async def run(self, call: ReportItemInput, context: Context) -> ToolResult:
        reason = call.reason.strip()
        if call.status != "completed" and not reason:
            raise ToolFault(f"report_item changed nothing: say in `reason` why the item is {call.status}.")
        run = context.session.run if context.session is not None else None
        if call.status == "completed" and run is not None and self.asks(shown=run.work.track.command is not None):
            raise ToolFault(NOTHING_SHOWS)
        self.status, self.reason = Status(call.status), reason
        return ToolResult(
            f"Noted: {call.status}{f' ({shown(reason, 200)})' if reason else ''}. End with a short answer."
        )
