"""`report_item`: with it a model says how the todo ended for which its run was started."""

from __future__ import annotations

from typing import Literal

from headway.core.model import Status
from headway.core.text import sanitize_for_display
from headway.tools.base import Context, Tool, ToolFault, ToolInput, ToolResult, read_description
from headway.tools.effects import Effect

NOTHING_SHOWS = (
    "Nothing shows yet that the item is done: since the last edit, no command that could have failed has "
    "succeeded. Run one that checks the item, such as its tests. If nothing can check it, report it as completed "
    "again."
)
NOT_REPORTED = (
    "You stopped without reporting how the item ended. Call report_item now: completed if it is fully done; "
    "blocked, with the reason, if it is not. If work remains, do it first."
)


class ReportItemInput(ToolInput):
    status: Literal["completed", "blocked", "cancelled"]
    reason: str = ""


class ReportItem(Tool[ReportItemInput]):
    """One per attempt: it remembers what was reported."""

    name = "report_item"
    description = read_description(__file__)
    input = ReportItemInput
    effect = Effect.TODO

    def __init__(self, *, asks: bool, asks_at_once: bool = True) -> None:
        """`asks`: refuse, once, a completion that too little shows; `asks_at_once`: if no command does."""
        self._asks = asks
        self._asks_at_once = asks_at_once
        self.status: Status | None = None
        """What was reported; None: nothing yet."""
        self.reason = ""
        self.was_refused = False
        """Whether a completion was refused because too little showed it."""

    def takes_evidence_question(self, *, shown: bool) -> bool:
        """Return whether to ask for evidence, which happens once."""
        asked, self._asks = self._asks, self._asks and shown
        return asked and not shown

    async def run(self, call: ReportItemInput, context: Context) -> ToolResult:
        reason = call.reason.strip()
        if call.status != "completed" and not reason:
            raise ToolFault(f"report_item changed nothing: say in `reason` why the item is {call.status}.")
        run = context.session.run if context.session is not None else None
        asks = call.status == "completed" and run is not None and self._asks_at_once
        if asks and self.takes_evidence_question(shown=run is not None and run.work.track.command is not None):
            self.was_refused = True
            raise ToolFault(NOTHING_SHOWS)
        self.status, self.reason = Status(call.status), reason
        return ToolResult(
            f"Recorded: {call.status}{f' ({sanitize_for_display(reason, 200)})' if reason else ''}. "
            "Finish with a short answer."
        )
