"""Requests for servers that refuse a user message after a tool's result, as Mistral's do; the history stays as is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelRequestPart
    from pydantic_ai.models import Model

_BETWEEN = "(I stopped here.)"
"""What the model says, in the request only, between a tool's result and what the user asks next."""


def refuses_user_after_tool(model: Model) -> bool:
    """Whether the provider is known for it; of others it shows in their first refusal."""
    host = urlsplit(model.base_url or "").hostname or ""
    return model.system == "mistral" or host == "mistral.ai" or host.endswith(".mistral.ai")


def insert_answers(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Return the messages with an answer before each user message that another request comes before."""
    ordered: list[ModelMessage] = []
    for message in messages:
        results = [part for part in message.parts if not isinstance(part, UserPromptPart)]
        if isinstance(message, ModelResponse) or len(results) == len(message.parts):
            ordered.append(message)
            continue
        if results:
            ordered.append(replace(message, parts=results))
            message = replace(message, parts=[part for part in message.parts if isinstance(part, UserPromptPart)])
        if ordered and isinstance(ordered[-1], ModelRequest):
            ordered.append(ModelResponse([TextPart(_BETWEEN)]))
        ordered.append(message)
    return ordered


def append_block(message: ModelMessage, block: str) -> ModelRequest:
    """Return the message with the block at the end of its last text, a tool's result or what the user said."""
    assert isinstance(message, ModelRequest)
    *parts, last = message.parts
    whole: ModelRequestPart = UserPromptPart(block)
    if isinstance(last, ToolReturnPart | UserPromptPart) and isinstance(last.content, str):
        whole = replace(last, content=f"{last.content}\n\n{block}")
    else:
        parts.append(last)
    return replace(message, parts=[*parts, whole])
