"""Hold a question back until what happened before it is shown. Light: loaded before the first prompt is there."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from headway.core.run_events import ApprovalAsked

if TYPE_CHECKING:
    from headway.core.events import Event
    from headway.tools.approvals import Answer, Ask, Question

_PATIENCE = 10.0
"""Seconds to wait for what came before a question: not for ever, since a listener may be stuck."""


class AskInOrder:
    """Asks once everything that happened before the question has reached the screen.

    Events reach a screen in a thread of their own, so a question could overtake the line of the call before it.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._reached: set[str] = set()

    def note_shown(self, event: Event) -> None:
        """Record that the screen has received an event."""
        if isinstance(event.data, ApprovalAsked):
            self._reached.add(event.data.question_id)

    async def __call__(self, question: Question) -> Answer:
        deadline = time.monotonic() + _PATIENCE
        while question.id not in self._reached and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        return await self._ask(question)
