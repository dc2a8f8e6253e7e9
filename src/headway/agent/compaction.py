"""When the history does not fit: its older part gives way to a summary, the newest is kept whole.

The model writes the summary, on the history that the provider has cached; where it cannot, a digest of what was called
takes its place. What the user asked for is kept in their own words. A call and its results are never parted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
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

from headway.agent.conversation import Conversation, Redact
from headway.agent.repair import repair_messages
from headway.core.errors import ModelError
from headway.core.text import neutralize_lines, sanitize_for_display, truncate
from headway.planner.run import LimitReached

HEADWAY_MARK = "headway"
"""Marks messages that Headway wrote, not the user."""
SUMMARY_TOKENS = 2_000
_KEPT = 0.5
"""How much of the room the newest messages may take."""
_SUMMARY = 0.25
"""How much of it the summary may take."""
_LEAST = 400
"""Characters of a summary that is worth having."""
_MOST_ASKED = 8_000
"""Characters of what the user asked for."""
_MOST_CALLS = 60
_HEADING = "(The earlier conversation was too long and is summarised here.)"

Ask = Callable[[list[ModelMessage]], Awaitable[str]]
"""Has the model answer once, without tools; may raise `ModelError`."""


@dataclass(frozen=True, slots=True)
class Compacted:
    conversation: Conversation
    summary: ModelRequest
    first: int
    """Where the messages that were kept began before."""


def to_headway_message(text: str, **about: Any) -> ModelRequest:
    """Return a message that Headway writes in the user's place."""
    return ModelRequest([UserPromptPart(text)], metadata={"by": HEADWAY_MARK, **about})


def find_split(conversation: Conversation, room: int) -> int:
    """Where the kept part begins: as many of the newest messages as have room, from a place where it can be parted."""
    sizes, messages = conversation.sizes, conversation.messages
    first, taken = len(messages), 0
    while first > 0 and taken + sizes[first - 1] <= room:
        first -= 1
        taken += sizes[first]
    while first < len(messages) and not _can_begin_history(messages[first]):
        first += 1
    if first == len(messages) and messages and _is_prompt(messages[-1]):
        return first - 1  # what was just asked is never left out
    return first


def _can_begin_history(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) or _is_prompt(message)


def _is_prompt(message: ModelMessage) -> bool:
    """Something to go on from, and no summary: of those there is one, at the beginning."""
    if not isinstance(message, ModelRequest) or _mark_as_headways(message).get("asked") is not None:
        return False
    return not any(isinstance(part, ToolReturnPart) for part in message.parts)


def _mark_as_headways(message: ModelRequest) -> dict[str, Any]:
    about = message.metadata or {}
    return about if about.get("by") == HEADWAY_MARK else {}


async def compact(
    conversation: Conversation, room: int, ask: Ask | None, *, fits: Callable[[int], bool], redacted: Redact
) -> Compacted | None:
    """Return the conversation in `room` bytes; None if there is nothing older that could give way.

    `ask` has the model write the summary, if what it is about `fits` into a request.
    """
    first = find_split(conversation, round(room * _KEPT))
    older = conversation.messages[:first]
    if not older:
        return None
    if not fits(sum(conversation.sizes[:first])):
        ask = None
    text = await _write_summary(older, ask, redacted)
    summary = _to_summary_message(older, text, max(round(room * _SUMMARY), _LEAST))
    kept = repair_messages([summary, *conversation.messages[first:]])
    return Compacted(Conversation(kept, [0, *conversation.versions[first:]]), summary, first)


async def _write_summary(older: Sequence[ModelMessage], ask: Ask | None, redacted: Redact) -> str:
    if ask is None:
        return write_digest(older, redacted)
    prompt = UserPromptPart(Path(__file__).with_name("summary.md").read_text(encoding="utf-8").strip())
    last = older[-1]
    if isinstance(last, ModelRequest):
        messages = [*older[:-1], replace(last, parts=[*last.parts, prompt])]
    else:
        messages = [*older, ModelRequest([prompt])]
    try:
        return (await ask(messages)).strip() or write_digest(older, redacted)
    except (ModelError, LimitReached):
        return write_digest(older, redacted)


def _to_summary_message(older: Sequence[ModelMessage], done: str, room: int) -> ModelRequest:
    """At most `room` characters, of which what was asked for may have half."""
    asked = _list_prompts(older, min(room // 2, _MOST_ASKED))
    done = _cut_middle(done, max(room - sum(map(len, asked)), _LEAST))
    lines = [_HEADING, "", "# What the user asked for", "", *(f"- {text}" for text in asked), "", "# What was done", ""]
    return to_headway_message("\n".join([*lines, done]), asked=asked, done=done)


def _cut_middle(text: str, limit: int) -> str:
    """At most so many characters: the beginning, and more of the end, where the newest is."""
    if len(text) <= limit:
        return text
    head = limit // 3
    return f"{text[:head].rstrip()}\n… (some steps omitted) …\n{text[-(limit - head - 40) :].lstrip()}"


def _list_prompts(messages: Sequence[ModelMessage], room: int) -> list[str]:
    """Return the user's prompts, also those of earlier summaries; of too many the first and the last ones."""
    found: list[str] = []
    for message in messages:
        if not isinstance(message, ModelRequest):
            continue
        if (message.metadata or {}).get("by") == HEADWAY_MARK:
            found += [str(text) for text in _mark_as_headways(message).get("asked") or ()]
        else:
            found += [_prompt_text(part) for part in message.parts if isinstance(part, UserPromptPart)]
    found = [truncate(text, max(room // 2, 100)) for text in found if text]
    while len(found) > 2 and sum(map(len, found)) > room:
        del found[1]
    return found


def _prompt_text(part: UserPromptPart) -> str:
    content = part.content if isinstance(part.content, str) else " ".join(c for c in part.content if isinstance(c, str))
    return neutralize_lines(content).strip()


def write_digest(messages: Sequence[ModelMessage], redacted: Redact) -> str:
    """Return what happened, drawn from the messages themselves. Keys are looked for before anything is cut."""
    outcomes = {
        part.tool_call_id: part.outcome
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    lines: list[str] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            lines += [str(_mark_as_headways(message)["done"])] if "done" in _mark_as_headways(message) else []
            continue
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                outcome = outcomes.get(part.tool_call_id, "not finished")
                args = redacted(part.args_as_json_str()[:4_000])
                lines.append(f"- {sanitize_for_display(part.tool_name)} {sanitize_for_display(args, 160)}: {outcome}")
            elif isinstance(part, TextPart) and part.content.strip():
                lines.append(f"- said: {sanitize_for_display(redacted(part.content.strip()[:4_000]), 400)}")
    if len(lines) > _MOST_CALLS:
        half = _MOST_CALLS // 2
        lines = [*lines[:half], f"- … {len(lines) - 2 * half} steps omitted", *lines[-half:]]
    return "\n".join(lines) or "Nothing has been done yet."
