"""How an answer ended: as it should, cut off at a limit, stopped by a filter, failed, or broken off on the way.

pydantic-ai maps what the providers say onto a few reasons; where it maps nothing, the provider's own word counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic_ai.messages import TextPart, ThinkingPart

if TYPE_CHECKING:
    from pydantic_ai.messages import FinishReason, ModelResponse


class Ending(StrEnum):
    COMPLETE = "complete"
    EMPTY = "empty"
    """It ended well, but there is nothing in it."""
    CUT_OFF = "cut_off"
    """At the limit of output tokens, or where the provider paused it."""
    REFUSED = "refused"
    """By the model itself or by a content filter."""
    FAILED = "failed"
    BROKEN_OFF = "broken_off"
    """The stream ended before the answer did."""


@dataclass(frozen=True, slots=True)
class CutOff:
    """An answer that was cut off, and what the model is told about it."""

    limit: int | None
    """The tokens that it could have, where that is known."""

    @property
    def _at_limit(self) -> str:
        return f"at the limit of {self.limit:,} output tokens" if self.limit else "at the output limit"

    @property
    def line(self) -> str:
        return f"(Your answer was cut off {self._at_limit}. Continue exactly where it stopped, and repeat nothing.)"

    @property
    def line_before_text(self) -> str:
        return f"(Your answer was cut off {self._at_limit} before its first word. Think less, and answer briefly.)"

    @property
    def fault(self) -> str:
        return (
            f"This call was cut off {self._at_limit}, so it was not run. Send "
            "it in smaller pieces: for example, write a "
            "long file in several calls, each with a part of it."
        )


_BY_REASON: dict[FinishReason, Ending] = {
    "length": Ending.CUT_OFF,
    "content_filter": Ending.REFUSED,
    "error": Ending.FAILED,
}
_BY_PROVIDERS_WORD = {
    "max_tokens": Ending.CUT_OFF,
    "model_length": Ending.CUT_OFF,
    "pause_turn": Ending.CUT_OFF,
    "refusal": Ending.REFUSED,
    "sensitive": Ending.REFUSED,
    "guardrail_intervened": Ending.REFUSED,
    "error": Ending.FAILED,
    "failed": Ending.FAILED,
    "network_error": Ending.FAILED,
    "insufficient_system_resource": Ending.FAILED,
}
"""Reasons of OpenAI-compatible servers and of Anthropic that pydantic-ai does not map."""


def find_ending(answer: ModelResponse, *, is_remote: bool) -> Ending:
    """Return how the answer ended. `is_remote`: it came over a connection, which may break without an error."""
    details = answer.provider_details or {}
    word = str(details.get("finish_reason") or "")
    ending = _BY_REASON.get(answer.finish_reason) if answer.finish_reason else _BY_PROVIDERS_WORD.get(word.lower())
    if ending is not None:
        return ending
    if is_remote and not word and _lacks_end(answer):
        return Ending.BROKEN_OFF
    return Ending.EMPTY if is_empty(answer) else Ending.COMPLETE


def _lacks_end(answer: ModelResponse) -> bool:
    """Return whether a stream without a reason stopped too early.

    Some OpenAI-compatible servers never give a reason, and pydantic-ai puts `stop` in its place; what comes last is
    then the usage.
    """
    return answer.finish_reason is None or not (answer.usage.input_tokens or answer.usage.output_tokens)


def is_empty(answer: ModelResponse) -> bool:
    """Return whether nothing is in it but thoughts and blank text."""
    return all(
        isinstance(part, ThinkingPart) or (isinstance(part, TextPart) and not part.content.strip())
        for part in answer.parts
    )
