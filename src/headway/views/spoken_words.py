"""What was said in a message of a conversation, without calls and their results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_DATE = re.compile(r"\n\n\(Today is \d{4}-\d\d-\d\d\.\)\Z")
_SAID = {"response": ("assistant", "text"), "request": ("user", "user-prompt")}


def find_spoken_words(message: Mapping[str, Any]) -> tuple[str, str]:
    """(user or assistant, the words); no words in a message that only calls tools, or only has their results."""
    role, kind = _SAID.get(str(message.get("kind")), ("", ""))
    texts = (part.get("content", "") for part in message.get("parts", ()) if part.get("part_kind") == kind)
    text = "".join(_join_texts(text) for text in texts).strip()
    return role, _DATE.sub("", text) if role == "user" else text


def add_date(text: str, day: str) -> str:
    """Return the first message of a conversation with its date, which a view leaves out. The system prompt has no date:
    what a provider has cached of a conversation stays valid over midnight."""
    return f"{text}\n\n(Today is {day}.)"


def _join_texts(content: Any) -> str:
    """A prompt may be a list of texts and other things."""
    if isinstance(content, list):
        return "\n".join(part for part in content if isinstance(part, str))  # pyright: ignore[reportUnknownVariableType]
    return content if isinstance(content, str) else ""


def answer_text(message: Mapping[str, Any]) -> str:
    """What the model said; nothing in a message that is not its own."""
    role, text = find_spoken_words(message)
    return text if role == "assistant" else ""
