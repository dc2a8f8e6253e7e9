"""When the history does not fit: its older part gives way to a summary, the newest is kept whole.

The model writes the summary, on the history that the provider has cached; where it cannot, a digest of what was called
takes its place. What the user asked for is kept in their own words. A call and its results are never parted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from headway.agent.conversation import Conversation
from headway.agent.repair import repair_messages
from headway.core.errors import ModelError
from headway.core.text import cut, neutral_lines, shown

OWN = "headway"
"""Marks messages that Headway wrote, not the user."""
SUMMARY_TOKENS = 2_000
_KEPT = 0.5
"""How much of the room the newest messages may take."""
_MOST_ASKED = 8_000
"""Characters of what the user asked for."""
_MOST_CALLS = 60
_HEADING = "(The conversation before this was too long and is summarised here.)"

Ask = Callable[[list[ModelMessage]], Awaitable[str]]
"""Has the model answer once, without tools; may raise `ModelError`."""


def own_request(text: str, **about: Any) -> ModelRequest:
    """A message that Headway writes in the user's place."""
    return ModelRequest([UserPromptPart(text)], metadata={"by": OWN, **about})


def split(conversation: Conversation, room: int) -> int:
    """Where the kept part begins: as many of the newest messages as have room, from a place where it can be parted."""
    sizes, messages = conversation.sizes, conversation.messages
    first, taken = len(messages), 0
    while first > 0 and taken + sizes[first - 1] <= room:
        first -= 1
        taken += sizes[first]
    while first < len(messages) and not _can_begin(messages[first]):
        first += 1
    if first == len(messages) and messages and _is_prompt(messages[-1]):
        return first - 1  # what was just asked is never left out
    return first


def _can_begin(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) or _is_prompt(message)


def _is_prompt(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and not any(isinstance(part, ToolReturnPart) for part in message.parts)


async def compacted(conversation: Conversation, room: int, ask: Ask | None) -> tuple[Conversation, ModelRequest, int]:
    """The shorter conversation, the summary that begins it, and where the kept messages began in the old one."""
    first = split(conversation, round(room * _KEPT))
    older = conversation.messages[:first]
    summary = _summary(older, await _written(older, ask))
    kept = repair_messages([summary, *conversation.messages[first:]])
    versions = [0, *conversation.versions[first:]]
    shorter = Conversation(kept, versions)
    return shorter, summary, first


async def _written(older: Sequence[ModelMessage], ask: Ask | None) -> str:
    if ask is None:
        return digest(older)
    prompt = UserPromptPart(Path(__file__).with_name("summary.md").read_text(encoding="utf-8").strip())
    last = older[-1]
    if isinstance(last, ModelRequest):
        messages = [*older[:-1], replace(last, parts=[*last.parts, prompt])]
    else:
        messages = [*older, ModelRequest([prompt])]
    try:
        return (await ask(messages)).strip() or digest(older)
    except ModelError:
        return digest(older)


def _summary(older: Sequence[ModelMessage], text: str) -> ModelRequest:
    asked = list(_asked(older))
    lines = [_HEADING, "", "# What the user asked for", "", *(f"- {text}" for text in asked), "", "# What was done", ""]
    return own_request("\n".join([*lines, text]), asked=asked)


def _asked(messages: Sequence[ModelMessage]) -> list[str]:
    """The user's prompts, also those of earlier summaries; of too many the first and the last ones."""
    found: list[str] = []
    for message in messages:
        if not isinstance(message, ModelRequest):
            continue
        about = message.metadata or {}
        if about.get("by") == OWN:
            found += [str(text) for text in about.get("asked", ())]
        else:
            found += [_prompt(part) for part in message.parts if isinstance(part, UserPromptPart)]
    found = [cut(text, _MOST_ASKED // 4) for text in found if text]
    while len(found) > 2 and sum(map(len, found)) > _MOST_ASKED:
        del found[1]
    return found


def _prompt(part: UserPromptPart) -> str:
    content = part.content if isinstance(part.content, str) else " ".join(c for c in part.content if isinstance(c, str))
    return neutral_lines(content).strip()


def digest(messages: Sequence[ModelMessage]) -> str:
    """What happened, drawn from the messages themselves."""
    outcomes = {
        part.tool_call_id: part.outcome
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    lines: list[str] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                outcome = outcomes.get(part.tool_call_id, "not finished")
                lines.append(f"- {shown(part.tool_name)} {shown(part.args_as_json_str(), 160)}: {outcome}")
            elif isinstance(part, TextPart) and part.content.strip():
                lines.append(f"- said: {shown(part.content.strip(), 400)}")
            elif isinstance(message, ModelRequest) and (message.metadata or {}).get("asked") is not None:
                lines.append(cut(neutral_lines(_prompt(part)), 4_000) if isinstance(part, UserPromptPart) else "")
    if len(lines) > _MOST_CALLS:
        half = _MOST_CALLS // 2
        lines = [*lines[:half], f"- … {len(lines) - 2 * half} steps are left out here", *lines[-half:]]
    return "\n".join(line for line in lines if line) or "Nothing was done yet."
