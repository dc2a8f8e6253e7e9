"""A turn of a script, as a model sends it: in pieces or whole, with the tokens it took, or as the error it ends in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from pydantic_ai import exceptions
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponsePart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from headway.testing.script import Call, Failure, Request, Turn

MODEL_NAME = "scripted"
_WORD = re.compile(r"\s*\S{1,12}|\s+")
"""A word with the space before it; long ones, as sentences without spaces are, come in parts."""
_SHORT, _PIECE = 32, 16
"""Characters of arguments that come at once, and in each piece of longer ones."""
_MOST_PIECES = 500
_PER_TOKEN = 4
"""Bytes of text that a token stands for, roughly."""
_PER_MESSAGE = 4

_Category = type[
    exceptions.ModelRateLimitError
    | exceptions.ModelQuotaExceededError
    | exceptions.ModelUnavailableError
    | exceptions.ModelServerError
    | exceptions.ModelRequestRejectedError
]
_CATEGORIES: dict[int, _Category] = {
    400: exceptions.ModelRequestRejectedError,
    401: exceptions.ModelAuthenticationError,
    402: exceptions.ModelQuotaExceededError,
    403: exceptions.ModelAuthenticationError,
    404: exceptions.ModelNotFoundError,
    422: exceptions.ModelRequestRejectedError,
    429: exceptions.ModelRateLimitError,
    503: exceptions.ModelUnavailableError,
    529: exceptions.ModelOverloadedError,
}


@dataclass(frozen=True, slots=True)
class Piece:
    """What arrives at once."""

    kind: Literal["thinking", "text", "call"]
    content: str
    call: Call | None = None
    """With the first piece of a call: its name and id."""
    index: int = 0
    """Which of the turn's calls it belongs to."""


def split_into_pieces(turn: Turn) -> Iterator[Piece]:
    """The turn as it is streamed: thinking, text, then each call. A turn that fails has only what came before."""
    if turn.error:
        yield from (Piece("text", word) for word in _WORD.findall(turn.error.after))
        return
    if turn.thinking:
        yield from (Piece("thinking", word) for word in _WORD.findall(turn.thinking))
    if turn.text:
        yield from (Piece("text", word) for word in _WORD.findall(turn.text))
    for index, call in enumerate(turn.calls):
        first, *others = _split_arguments(call.args_text)
        yield Piece("call", first, call, index)
        yield from (Piece("call", part, None, index) for part in others)


def _split_arguments(arguments: str) -> list[str]:
    """Short ones come at once, as some providers send all of them; very long ones not in thousands of pieces."""
    if len(arguments) <= _SHORT:
        return [arguments]
    size = max(_PIECE, len(arguments) // _MOST_PIECES)
    return [arguments[at : at + size] for at in range(0, len(arguments), size)]


def to_parts(turn: Turn) -> list[ModelResponsePart]:
    """The turn as it is without streaming."""
    found: list[ModelResponsePart] = []
    if turn.thinking:
        found.append(ThinkingPart(turn.thinking))
    if turn.text:
        found.append(TextPart(turn.text))
    found += (ToolCallPart(call.name, call.args_text, call.id or "") for call in turn.calls)
    return found


def to_error(failure: Failure, *, in_stream: bool) -> exceptions.ModelAPIError:
    """The error that pydantic-ai raises for such a failure of a real provider."""
    match failure.kind:
        case "connection":
            phase = "read" if in_stream else "connect"
            return exceptions.ModelConnectionError(MODEL_NAME, failure.message, phase=phase)
        case "timeout":
            return exceptions.ModelTimeoutError(MODEL_NAME, failure.message, phase="read")
        case "context":
            status, category = 400, exceptions.ModelContextWindowExceededError
        case "http":
            status = failure.status
            category = _CATEGORIES.get(status, exceptions.ModelServerError if status >= 500 else None)
    return exceptions.ModelHTTPError.for_category(
        category,
        status_code=status,
        model_name=MODEL_NAME,
        body={"message": failure.message},
        retry_after=failure.retry_after,
        in_stream=in_stream,
    )


class TokenCounter:
    """Estimates tokens. Each message is counted once while it stays in the conversation: long ones take many rounds."""

    def __init__(self) -> None:
        self._counted: dict[int, tuple[ModelMessage, int]] = {}

    def tokens(self, messages: Iterable[ModelMessage]) -> int:
        # By identity, which holds while the message itself is kept beside its count.
        before = self._counted
        self._counted = {
            id(message): before.get(id(message)) or (message, _PER_MESSAGE + _count_tokens(_list_texts(message)))
            for message in messages
        }
        return sum(count for _, count in self._counted.values())


def estimate_usage(turn: Turn, request: Request, counter: TokenCounter) -> RequestUsage:
    """The tokens that the script gives, else an estimate from the texts."""
    if turn.usage is not None:
        return RequestUsage(**turn.usage)
    said = [turn.thinking, turn.text, *(call.name + call.args_text for call in turn.calls)]
    tools = request.parameters.function_tools
    told = [request.instructions, *(f"{tool.name}{tool.description}{tool.parameters_json_schema}" for tool in tools)]
    asked = counter.tokens(request.messages)
    return RequestUsage(input_tokens=_count_tokens(told) + asked, output_tokens=1 + _count_tokens(said))


def list_user_texts(messages: Iterable[ModelMessage]) -> Iterator[str]:
    """The texts of the user's prompts, first one first."""
    for message in messages:
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, UserPromptPart):
                    yield from _prompt_texts(part)


def _prompt_texts(part: UserPromptPart) -> Iterator[str]:
    for content in [part.content] if isinstance(part.content, str) else part.content:
        if isinstance(content, str | TextContent):
            yield content if isinstance(content, str) else content.content


def _list_texts(message: ModelMessage) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            yield from _prompt_texts(part)
        elif isinstance(part, ToolReturnPart):
            yield part.model_response_str()
        elif isinstance(part, ToolCallPart):
            yield part.tool_name + part.args_as_json_str()
        elif isinstance(content := getattr(part, "content", None), str):
            yield content


def _count_tokens(texts: Iterable[str]) -> int:
    return sum(len(text.encode(errors="replace")) for text in texts) // _PER_TOKEN
