"""Where Anthropic is told to cache: after tools, system prompt and history, and in the middle of a long round.

Anthropic looks for what it has cached at most 20 blocks before a breakpoint, and takes four of them in a request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import CachePoint, ModelMessage, ModelRequest, ModelResponse, UserPromptPart

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelRequestPart

CACHED_AHEAD: dict[str, Any] = {"anthropic_cache_tool_definitions": True, "anthropic_cache_instructions": True}
"""Settings for breakpoints on the tools and on the system prompt."""
_LONG_ROUND = 15
"""Blocks that a round may add before it gets a breakpoint in its middle."""


def find_middle_of_round(messages: Sequence[ModelMessage]) -> int | None:
    """Return before which part of the last message a breakpoint divides what was added since the last answer began.

    None if it added few blocks. Before the first part means: after the answer's last block.
    """
    last = messages[-1]
    answered = next((at for at in range(len(messages) - 2, -1, -1) if isinstance(messages[at], ModelResponse)), None)
    if answered is None:
        return None
    before = sum(len(message.parts) for message in messages[answered:-1])
    if before + len(last.parts) <= _LONG_ROUND:
        return None
    middle = (before + len(last.parts)) // 2
    return min(max(middle - before, 0), len(last.parts) - 1)


def add_cache_points(messages: Sequence[ModelMessage], *, changing_parts: int) -> list[ModelMessage]:
    """Return the messages with breakpoints; the last parts of the last message, so many of them, are not worth caching.

    The messages themselves are not changed, nor is any but the last copied.
    """
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    end = len(last.parts) - changing_parts
    if end == 0 and len(messages) == 1:
        return [*messages]  # there is nothing before it
    points = {end}
    history = [*messages[:-1], replace(last, parts=last.parts[:end])] if end else messages[:-1]
    if end and (middle := find_middle_of_round(history)) is not None:
        points.add(middle)
    parts: list[ModelRequestPart] = []
    for at, part in enumerate(last.parts):
        if at in points:
            parts.append(UserPromptPart([CachePoint()]))
        parts.append(part)
    if len(last.parts) in points:
        parts.append(UserPromptPart([CachePoint()]))
    return [*messages[:-1], replace(last, parts=parts)]
