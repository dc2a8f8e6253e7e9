"""What models are sent, as the tests compare it: the requests of four protocols as they would leave, and messages.

The models are real ones; what they send stays here, and is answered by script.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import Any, Literal, TypeAlias, cast

import httpx2
from pydantic_ai.messages import (
    CachePoint,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

from headway.agent.openai_bodies import skip_message_walk
from headway.core.events import Event
from headway.session import Session
from headway.store.memory import MemoryStore
from headway.testing import Call, Turn

Protocol: TypeAlias = Literal["chat", "responses", "anthropic", "google"]
PROTOCOLS: tuple[Protocol, ...] = ("chat", "responses", "anthropic", "google")
_SYSTEM = {"responses": "instructions", "anthropic": "system", "google": "systemInstruction"}
_HISTORY = {"chat": "messages", "responses": "input", "anthropic": "messages", "google": "contents"}
Json: TypeAlias = dict[str, Any]
OPENING = "<todo-list>"
CLOSING = "</todo-list>"
TAILS = (OPENING, "(", "[")
"""How what goes along with a request begins: the block, a line in brackets, or the recap."""
NO_JSON = "{no JSON"


@dataclass(frozen=True)
class Body:
    """A request as a provider receives it."""

    protocol: Protocol
    raw: bytes

    @cached_property
    def parsed(self) -> Json:
        return json.loads(self.raw)

    @cached_property
    def text(self) -> str:
        """All of it, as one would read it."""
        return json.dumps(self.parsed, ensure_ascii=False)

    @cached_property
    def system(self) -> str:
        """What the model is told before anything is said."""
        if self.protocol == "chat":
            return json.dumps([message for message in self.parsed["messages"] if message["role"] == "system"])
        return json.dumps(self.parsed[_SYSTEM[self.protocol]])

    @cached_property
    def tools(self) -> bytes:
        """The bytes that tell of the tools."""
        return b"".join(raw_items(self.raw, "tools"))

    @cached_property
    def blocks(self) -> list[Json]:
        """What was said, piece by piece and in order; each with the mark for the cache, if it has one."""
        if self.protocol == "responses":
            return self.parsed["input"]
        messages = self.parsed[_HISTORY[self.protocol]]
        if self.protocol == "google":
            return [{"role": message["role"], **part} for message in messages for part in message["parts"]]
        if self.protocol == "chat":
            return [message for message in messages if message["role"] != "system"]
        return [{"role": message["role"], **block} for message in messages for block in message["content"]]

    @cached_property
    def tail(self) -> str:
        """The list that is shown at the end, with what stands beside it; nothing if it is not there."""
        last = self.blocks[-1]
        text = _said(last)
        return text if last.get("role") == "user" and text.startswith(OPENING) else ""

    @cached_property
    def history(self) -> list[str]:
        """Each piece of what was said, without the list at the end and without marks for the cache."""
        blocks = self.blocks[:-1] if self.tail else self.blocks
        return [json.dumps({**block, "cache_control": None}) for block in blocks]

    @cached_property
    def prefix(self) -> list[str]:
        """All that a provider can find in its cache when the next request comes, in the order in which it looks."""
        return [self.tools.decode(), self.system, *self.history]

    @cached_property
    def marked(self) -> list[int]:
        """Which pieces of what was said carry a mark for the cache."""
        return [at for at, block in enumerate(self.blocks) if block.get("cache_control")]

    @cached_property
    def raw_history(self) -> bytes:
        """The bytes of what was said up to the list at the end, or up to the message that has the list in it."""
        items = raw_items(self.raw, _HISTORY[self.protocol])
        return b",".join(items[:-1] if self.tail or self.protocol in ("anthropic", "google") else items)


def _said(block: Json) -> str:
    content = block.get("content", block.get("text", ""))
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def raw_items(raw: bytes, name: str) -> list[bytes]:
    """The bytes of each element of an array at the top of a JSON object."""
    text = raw.decode()
    decoder = json.JSONDecoder()
    at = 1
    while True:
        key, at = decoder.raw_decode(text, _next(text, at, " \n,"))
        at = _next(text, at, " \n:")
        if key == name:
            return [item.encode() for item in _elements(text, at + 1, decoder)]
        _, at = decoder.raw_decode(text, at)


def _elements(text: str, at: int, decoder: json.JSONDecoder) -> Iterator[str]:
    while text[at := _next(text, at, " \n,")] != "]":
        start = at
        _, at = decoder.raw_decode(text, at)
        yield text[start:at]


def _next(text: str, at: int, skipped: str) -> int:
    while text[at] in skipped:
        at += 1
    return at


def shared(before: Sequence[str], after: Sequence[str]) -> float:
    """How much of one request, in bytes, stands at the beginning of another: 1 is all of it."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    return sum(len(one) for one, _ in same) / sum(map(len, before))


Answers: TypeAlias = Callable[[int, Body], Turn]
"""The turn for a request, with its number, counted from 1."""


@dataclass
class Wire:
    """A provider of one protocol."""

    protocol: Protocol
    answers: Answers
    bodies: list[Body] = field(default_factory=list[Body])
    as_they_are: bool = False
    """Whether OpenAI's library takes messages as they are, as it does for models that are named."""

    def model(self) -> Model:
        """A new one, as another process would make it."""
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(self._receive), timeout=60)
        if self.protocol == "anthropic":
            return AnthropicModel("claude-sonnet-5", provider=AnthropicProvider(api_key="k", http_client=client))
        if self.protocol == "google":
            return GoogleModel("gemini-2.5-pro", provider=GoogleProvider(api_key="k", http_client=client))
        provider = OpenAIProvider(api_key="k", http_client=client)
        if self.as_they_are:
            skip_message_walk(provider.client)
        if self.protocol == "responses":
            return OpenAIResponsesModel("gpt-5", provider=provider)
        return OpenAIChatModel("gpt-5", provider=provider)

    def _receive(self, request: httpx2.Request) -> httpx2.Response:
        body = Body(self.protocol, request.content)
        self.bodies.append(body)
        turn = self.answers(len(self.bodies), body)
        if turn.error is not None:
            error = {"type": "error", "message": turn.error.message, "code": "context_length_exceeded"}
            return httpx2.Response(turn.error.status, json={"error": error})
        streamed = bool(body.parsed.get("stream")) or "streamGenerateContent" in str(request.url)
        number = len(self.bodies)
        match self.protocol:
            case "google":
                made = [_event(_google(turn, number))] if streamed else _google(turn, number)
            case "chat":
                made = _chat_events(turn, number) if streamed else _chat(turn, number)
            case "responses":
                made = _responses_events(turn, number) if streamed else _response(turn, number)
            case "anthropic":
                made = _anthropic_events(turn, number) if streamed else _anthropic(turn, number)
        if isinstance(made, dict):
            return httpx2.Response(200, json=made)
        return httpx2.Response(200, content="".join(made).encode(), headers={"content-type": "text/event-stream"})


def _ids(turn: Turn, number: int) -> list[tuple[str, Call]]:
    return [(call.id or f"call_{number}_{at}", call) for at, call in enumerate(turn.calls)]


def _usage(turn: Turn, sent: str, answered: str) -> dict[str, int]:
    given = turn.usage or {}
    found = {sent: given.get("input_tokens", 1_000), answered: given.get("output_tokens", 10)}
    return {**found, "total_tokens": sum(found.values())}


# OpenAI's chat completions


def _chat(turn: Turn, number: int) -> Json:
    calls = [
        {"id": id, "type": "function", "function": {"name": call.name, "arguments": call.args_text}}
        for id, call in _ids(turn, number)
    ]
    message = {"role": "assistant", "content": turn.text or None, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = _usage(turn, "prompt_tokens", "completion_tokens")
    return {**_CHAT, "object": "chat.completion", "id": f"c{number}", "choices": [choice], "usage": usage}


def _chat_events(turn: Turn, number: int) -> Iterator[str]:
    def chunk(delta: Json, reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return _event({**_CHAT, "id": f"c{number}", "choices": [choice]})

    yield chunk({"role": "assistant", "content": turn.text})
    for at, (id, call) in enumerate(_ids(turn, number)):
        begins = {"index": at, "id": id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield chunk({"tool_calls": [begins]})
        for piece in _pieces(call.args_text):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if turn.calls else "stop")
    usage = _usage(turn, "prompt_tokens", "completion_tokens")
    yield _event({**_CHAT, "id": f"c{number}", "choices": [], "usage": usage})
    yield "data: [DONE]\n\n"


_CHAT: Json = {"object": "chat.completion.chunk", "created": 1, "model": "gpt-5"}


# OpenAI's responses


def _items(turn: Turn, number: int) -> list[Json]:
    items: list[Json] = []
    if turn.thinking:
        summary = [{"type": "summary_text", "text": turn.thinking}]
        items.append({"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": "sealed"})
    if turn.text:
        content: list[Json] = [{"type": "output_text", "text": turn.text, "annotations": []}]
        items.append(
            {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content}
        )
    for id, call in _ids(turn, number):
        about = {"name": call.name, "arguments": call.args_text, "status": "completed"}
        items.append({"type": "function_call", "id": f"fc_{id}", "call_id": id, **about})
    return items


def _response(turn: Turn, number: int) -> Json:
    usage = {
        **_usage(turn, "input_tokens", "output_tokens"),
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {**_RESPONSE, "id": f"resp_{number}", "status": "completed", "output": _items(turn, number), "usage": usage}


def _responses_events(turn: Turn, number: int) -> Iterator[str]:
    whole = _response(turn, number)
    numbered = iter(range(10_000))

    def event(kind: str, **about: Any) -> str:
        return _event({"type": kind, "sequence_number": next(numbered), **about}, kind)

    yield event("response.created", response={**whole, "status": "in_progress", "output": [], "usage": None})
    for at, item in enumerate(whole["output"]):
        about: Json = {"item_id": item["id"], "output_index": at}
        match item["type"]:
            case "function_call":
                begun = {**item, "arguments": "", "status": "in_progress"}
                yield event("response.output_item.added", output_index=at, item=begun)
                for piece in _pieces(item["arguments"]):
                    yield event("response.function_call_arguments.delta", **about, delta=piece)
            case "message":
                empty: Json = {**item, "content": [], "status": "in_progress"}
                yield event("response.output_item.added", output_index=at, item=empty)
                yield event("response.output_text.delta", **about, content_index=0, delta=turn.text, logprobs=[])
            case _:
                yield event("response.output_item.added", output_index=at, item={**item, "summary": []})
                yield event("response.reasoning_summary_text.delta", **about, summary_index=0, delta=turn.thinking)
        yield event("response.output_item.done", output_index=at, item=item)
    yield event("response.completed", response=whole)


_RESPONSE: Json = {
    "object": "response",
    "created_at": 1,
    "model": "gpt-5",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "metadata": {},
}


# Anthropic's messages


def _anthropic(turn: Turn, number: int) -> Json:
    content: list[Json] = []
    if turn.thinking:
        content.append({"type": "thinking", "thinking": turn.thinking, "signature": f"signed {number}"})
    if turn.text:
        content.append({"type": "text", "text": turn.text})
    content += [
        {"type": "tool_use", "id": id, "name": call.name, "input": _object(call)} for id, call in _ids(turn, number)
    ]
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-sonnet-5"}
    reason = "tool_use" if turn.calls else "end_turn"
    return {
        **message,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": _anthropic_usage(turn),
    }


def _object(call: Call) -> Json:
    """Arguments that are no JSON can only be streamed."""
    return {} if call.args == NO_JSON else json.loads(call.args_text or "{}")


def _anthropic_usage(turn: Turn) -> dict[str, int]:
    given = turn.usage or {}
    return {
        "input_tokens": given.get("input_tokens", 1_000),
        "output_tokens": given.get("output_tokens", 10),
        "cache_read_input_tokens": given.get("cache_read_tokens", 0),
        "cache_creation_input_tokens": given.get("cache_write_tokens", 0),
    }


def _anthropic_events(turn: Turn, number: int) -> Iterator[str]:
    whole = _anthropic(turn, number)

    def event(kind: str, **about: Any) -> str:
        return _event({"type": kind, **about}, kind)

    yield event("message_start", message={**whole, "content": [], "stop_reason": None})
    calls = iter(turn.calls)
    for at, block in enumerate(whole["content"]):
        match block["type"]:
            case "tool_use":
                begun: Json = {**block, "input": {}}
                pieces = _pieces(next(calls).args_text)
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
            case "text":
                begun, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": turn.text}]
            case _:
                begun = {**block, "thinking": "", "signature": ""}
                deltas = [
                    {"type": "thinking_delta", "thinking": turn.thinking},
                    {"type": "signature_delta", "signature": block["signature"]},
                ]
        yield event("content_block_start", index=at, content_block=begun)
        for delta in deltas:
            yield event("content_block_delta", index=at, delta=delta)
        yield event("content_block_stop", index=at)
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=delta, usage=whole["usage"])
    yield event("message_stop")


# Google's content


def _google(turn: Turn, number: int) -> Json:
    parts: list[Json] = []
    if turn.thinking:
        parts.append({"text": turn.thinking, "thought": True})
    if turn.text:
        parts.append({"text": turn.text})
    parts += [{"functionCall": {"id": id, "name": call.name, "args": _object(call)}} for id, call in _ids(turn, number)]
    usage = _usage(turn, "promptTokenCount", "candidatesTokenCount")
    usage["totalTokenCount"] = usage.pop("total_tokens")
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": usage}


def _event(data: Json, kind: str | None = None) -> str:
    return (f"event: {kind}\n" if kind else "") + f"data: {json.dumps(data)}\n\n"


def _pieces(text: str) -> list[str]:
    return [text[at : at + 40] for at in range(0, len(text), 40)]


# messages before they become a request


def told(messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """All that is in the messages, except when they were made."""
    return cast("list[dict[str, Any]]", _timeless(ModelMessagesTypeAdapter.dump_python([*messages], mode="json")))


def _timeless(value: object) -> object:
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {name: _timeless(item) for name, item in fields.items() if name != "timestamp"}
    return [_timeless(item) for item in cast("list[object]", value)] if isinstance(value, list) else value


def tail_of(messages: Sequence[ModelMessage]) -> str:
    """The list that goes along with a request; nothing if there is none."""
    *before, last = messages[-1].parts
    if before and isinstance(last, UserPromptPart) and isinstance(last.content, str):
        return last.content if last.content.startswith(TAILS) else ""
    return ""


def unmarked(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages without the marks for Anthropic's cache."""
    return [
        replace(message, parts=[part for part in message.parts if not _is_mark(part)])
        if isinstance(message, ModelRequest)
        else message
        for message in messages
    ]


def _is_mark(part: object) -> bool:
    return isinstance(part, UserPromptPart) and all(isinstance(item, CachePoint) for item in part.content)


def untailed(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The history alone."""
    last = messages[-1]
    return [*messages[:-1], replace(last, parts=last.parts[:-1])] if tail_of(messages) else [*messages]


def said_in(message: ModelMessage) -> Iterator[str]:
    """Every text of a message."""
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            yield part.tool_name + part.args_as_json_str()
        elif isinstance(part, ToolReturnPart):
            yield part.model_response_str()
        elif isinstance(part, UserPromptPart) and not isinstance(part.content, str):
            yield from (item for item in part.content if isinstance(item, str))
        else:
            yield str(getattr(part, "content", ""))


def cut_off(events: Sequence[Event], last: int) -> Session:
    """The session as it is when nothing after this version was written."""
    store = MemoryStore()
    store.append("cut", 0, [*events[:last]], None)
    return store.session("cut")
