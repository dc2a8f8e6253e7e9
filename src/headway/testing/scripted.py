"""A model that answers by script. It streams as a real one does: text by words, arguments in pieces, usage at the end.

A pydantic-ai model like any other, that needs no key, no network and no server.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Self

from pydantic_ai import RunContext, exceptions
from pydantic_ai.messages import (
    FinishReason,
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from headway.core.errors import ModelError
from headway.core.text import sanitize_for_display
from headway.testing.script import (
    Call,
    Failure,
    Request,
    Turn,
    TurnForm,
    TurnMaker,
    list_prompt_texts,
    list_user_texts,
    read_script,
    to_script,
    to_turn,
)

# A turn of a script, as a model sends it: in pieces or whole, with the tokens it took, or as the error it ends in.

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


def _list_texts(message: ModelMessage) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            yield from list_prompt_texts(part)
        elif isinstance(part, ToolReturnPart):
            yield part.model_response_str()
        elif isinstance(part, ToolCallPart):
            yield part.tool_name + part.args_as_json_str()
        elif isinstance(content := getattr(part, "content", None), str):
            yield content


def _count_tokens(texts: Iterable[str]) -> int:
    return sum(len(text.encode(errors="replace")) for text in texts) // _PER_TOKEN


class ScriptedModel(Model):
    """Answers one turn of its script for each request.

    A turn is a text, a `Turn`, the same as a dict, or a function of the messages and the request that gives one:

        model = ScriptedModel([
            Turn(text="I look first.", calls=[Call("bash", {"command": "ls"})]),
            {"error": {"status": 429, "message": "slow down"}},
            lambda messages, request: f"I was given {len(request.tools)} tools.",
            "Done.",
        ])

    With `conversations`, each has turns of its own. A request belongs to the one whose key stands earliest in the
    first of the user's prompts that contains a key; of several at one place, the longest. They may run at the same
    time.
    """

    def __init__(
        self,
        script: Iterable[TurnForm | TurnMaker] | None = None,
        *,
        conversations: Mapping[str, Iterable[TurnForm | TurnMaker]] | None = None,
        context_window: int | None = None,
        delay: float = 0,
        keep_requests: int | None = None,
    ) -> None:
        """`delay` is for turns that have none; `keep_requests` bounds how many of the newest requests are kept."""
        if (script is None) == (conversations is None):
            raise TypeError("Pass either a script or conversations, not both.")
        super().__init__(profile=None if context_window is None else ModelProfile(context_window=context_window))
        every = {None: script} if script is not None else conversations or {}
        self._conversations = {key: _Conversation(to_script(turns)) for key, turns in every.items()}
        self._delay = delay
        self._requests = deque[Request](maxlen=keep_requests)
        self._calls = 0
        self._lock = Lock()

    @classmethod
    def from_file(cls, path: str | Path, *, context_window: int | None = None, delay: float = 0) -> Self:
        """The model for a JSON file: a list of turns, {"turns": […]} or {"conversations": [{"match", "turns"}]}."""
        script = read_script(path)
        if isinstance(script, dict):
            return cls(conversations=script, context_window=context_window, delay=delay)
        return cls(script, context_window=context_window, delay=delay)

    @property
    def requests(self) -> list[Request]:
        """What the model was asked, oldest first."""
        return list(self._requests)

    def assert_used_up(self) -> None:
        """Raise an `AssertionError` that names the turns which no request has used."""
        left = [
            f"{len(each.turns) - each.taken} of {len(each.turns)}" + (f" of the conversation '{key}'" if key else "")
            for key, each in self._conversations.items()
            if each.taken < len(each.turns)
        ]
        if left:
            raise AssertionError(f"Turns of the script were not used: {', '.join(left)}.")

    @property
    def model_name(self) -> str:
        return MODEL_NAME

    @property
    def system(self) -> str:
        return MODEL_NAME

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        request = Request(list(messages), model_settings, model_request_parameters, streamed=False)
        turn, counter = self._next_turn(request)
        await asyncio.sleep(turn.delay)
        if turn.error:
            raise to_error(turn.error, in_stream=False)
        return ModelResponse(
            parts=to_parts(turn),
            usage=estimate_usage(turn, request, counter),
            model_name=MODEL_NAME,
            provider_name=MODEL_NAME,
            finish_reason=_finish_reason(turn),
        )

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        request = Request(list(messages), model_settings, model_request_parameters, streamed=True)
        turn, counter = self._next_turn(request)
        if turn.error and not turn.error.after:
            await asyncio.sleep(turn.delay)
            raise to_error(turn.error, in_stream=False)
        yield _Stream(model_request_parameters, turn, estimate_usage(turn, request, counter))

    def _next_turn(self, request: Request) -> tuple[Turn, TokenCounter]:
        """The turn for this request, its calls with ids. Each turn is given out once, also to requests side by side."""
        with self._lock:
            self._requests.append(request)
            conversation = self._conversation(request)
            turn = conversation.take()
        if not isinstance(turn, Turn):
            turn = to_turn(turn(request.messages, request))
        with self._lock:
            calls = [call if call.id is not None else replace(call, id=self._new_id()) for call in turn.calls]
        return replace(turn, calls=calls, delay=turn.delay or self._delay), conversation.counter

    def _conversation(self, request: Request) -> _Conversation:
        if None in self._conversations:
            return self._conversations[None]
        for text in list_user_texts(request.messages):
            keys = [key for key in self._conversations if key is not None and key in text]
            if places := [(text.index(key), -len(key), key) for key in keys]:
                return self._conversations[min(places)[2]]
        # Without the keys: the message may become part of a later prompt, which must not match because of it.
        prompt = sanitize_for_display(next(list_user_texts(request.messages), ""), 100)
        raise ModelError(f"No conversation of the script has a `match` that is in the prompt “{prompt}”.")

    def _new_id(self) -> str:
        self._calls += 1
        return f"call-{self._calls}"


@dataclass
class _Conversation:
    turns: list[Turn | TurnMaker]
    taken: int = 0
    counter: TokenCounter = field(default_factory=TokenCounter)

    def take(self) -> Turn | TurnMaker:
        if self.taken == len(self.turns):
            turns = "the one turn" if self.taken == 1 else f"all {self.taken} turns"
            raise ModelError(f"The script has no turns left ({turns} used); add a turn, or send fewer requests.")
        self.taken += 1
        return self.turns[self.taken - 1]


_AT_ONCE = 8
"""Pieces that come without a pause in which others run."""


@dataclass
class _Stream(StreamedResponse):
    _turn: Turn
    _in_the_end: RequestUsage
    _closed: asyncio.Event = field(default_factory=asyncio.Event)
    _timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        arriving = list(split_into_pieces(self._turn))
        for number, piece in enumerate(arriving):
            if self._turn.delay or number % _AT_ONCE == 0:
                await self._pause(self._turn.delay / len(arriving))
            if self._closed.is_set():
                return
            match piece.kind:
                case "thinking":
                    events = self._parts_manager.handle_thinking_delta(vendor_part_id="thinking", content=piece.content)
                case "text":
                    events = self._parts_manager.handle_text_delta(vendor_part_id="text", content=piece.content)
                case "call":
                    events = self._parts_manager.handle_tool_call_delta_events(
                        vendor_part_id=piece.index,
                        tool_name=piece.call.name if piece.call else None,
                        args=piece.content,
                        tool_call_id=piece.call.id if piece.call else None,
                    )
            for event in events:
                yield event
        if not arriving:
            await self._pause(self._turn.delay)
        if self._turn.error:
            raise to_error(self._turn.error, in_stream=True)
        self._usage = self._in_the_end
        self.finish_reason = _finish_reason(self._turn)

    async def _pause(self, seconds: float) -> None:
        """Lets others run; ends early when the stream is closed."""
        if not seconds:
            return await asyncio.sleep(0)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), seconds)
        return None

    async def close_stream(self) -> None:
        self._closed.set()

    @property
    def model_name(self) -> str:
        return MODEL_NAME

    @property
    def provider_name(self) -> str:
        return MODEL_NAME

    @property
    def provider_url(self) -> None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self._timestamp


def _finish_reason(turn: Turn) -> FinishReason:
    return turn.finish_reason or ("tool_call" if turn.calls else "stop")
