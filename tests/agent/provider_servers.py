"""Servers on loopback that speak the protocols of OpenAI, Anthropic and Google, and end answers in every way."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Literal, TypeAlias

from pydantic_ai.models import Model

from headway.agent import resolve_model

Json: TypeAlias = dict[str, Any]
Format: TypeAlias = Literal["chat", "responses", "anthropic", "google"]
FORMATS: tuple[Format, ...] = ("chat", "responses", "anthropic", "google")


@dataclass(frozen=True)
class Answer:
    """One answer: a status and a body, or a stream that may end early."""

    body: bytes
    status: int = 200
    content_type: str = "text/event-stream"
    drops: bool = False
    """Whether the connection is closed before the stream has ended."""


@dataclass
class ProviderServer:
    """What it answers, in this order, and what it was sent. A function of a request's body decides when it is there."""

    url: str = ""
    answers: list[Answer | Callable[[Json], Answer]] = field(default_factory=list[Any])
    bodies: list[Json] = field(default_factory=list[Json])
    about: dict[str, Json] = field(default_factory=dict[str, Json])
    """Path → what is answered to a question about the model."""
    asked: list[str] = field(default_factory=list[str])
    """Paths of such questions."""

    def model(self, format: Format, name: str = "", **variables: str) -> Model:
        """A model of that provider at this server, as it is made by name."""
        bare = self.url.removesuffix("/v1")
        environ = {
            "OPENAI_API_KEY": "k",
            "ANTHROPIC_API_KEY": "k",
            "GOOGLE_API_KEY": "k",
            "ANTHROPIC_BASE_URL": bare,
            "GOOGLE_GEMINI_BASE_URL": bare,
            **variables,
        }
        match format:
            case "chat":
                return resolve_model(f"compatible:{name or 'm'}", base_url=self.url, environ=environ)
            case "responses":
                from pydantic_ai.models.openai import OpenAIResponsesModel
                from pydantic_ai.providers.openai import OpenAIProvider

                return OpenAIResponsesModel(name or "gpt-5", provider=OpenAIProvider(api_key="k", base_url=self.url))
            case "anthropic":
                return resolve_model(f"anthropic:{name or 'claude-sonnet-5'}", environ=environ)
            case "google":
                return resolve_model(f"google:{name or 'gemini-2.5-pro'}", environ=environ)


class _Handler(BaseHTTPRequestHandler):
    server_state: ProviderServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""

    def do_GET(self) -> None:
        self._tell(self.path)

    def do_POST(self) -> None:
        state = self.server_state
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.startswith("/api/"):
            self._tell(self.path)
            return
        state.bodies.append(body)
        answer = state.answers[min(len(state.bodies), len(state.answers)) - 1]
        answer = answer if isinstance(answer, Answer) else answer(body)
        self.send_response(answer.status)
        self.send_header("content-type", answer.content_type)
        self.send_header("content-length", str(len(answer.body) + 1_000 * answer.drops))
        self.end_headers()
        self.wfile.write(answer.body)
        self.close_connection = answer.drops

    def _tell(self, path: str) -> None:
        state = self.server_state
        state.asked.append(path)
        found = state.about.get(path)
        text = json.dumps(found or {}).encode()
        self.send_response(404 if found is None else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@contextmanager
def provider_server(*answers: Answer | Callable[[Json], Answer]) -> Generator[ProviderServer]:
    """A server that gives these answers, the last one again and again."""
    state = ProviderServer(answers=list(answers))
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"server_state": state}))
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def refusal(status: int, body: object) -> Answer:
    return Answer(json.dumps(body).encode(), status, "application/json")


# Streams. Each function gives the events of an answer; the last one says how it ended.

Events: TypeAlias = list[bytes]
Made: TypeAlias = Callable[..., Events]


def streamed(events: Events, *, without_end: int = 0, drops: bool = False) -> Answer:
    """The answer with these events, or without so many of the last."""
    return Answer(b"".join(events[: len(events) - without_end]), drops=drops)


def _event(data: Json, kind: str | None = None) -> bytes:
    return ((f"event: {kind}\n" if kind else "") + f"data: {json.dumps(data)}\n\n").encode()


def chat(
    text: str = "",
    call: tuple[str, str] | None = None,
    end: str | None = "stop",
    *,
    prompt_tokens: int = 7,
    **delta: Any,
) -> Events:
    """OpenAI's chat completions; `call` is a tool's name and the text of its arguments."""
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}

    def chunk(delta: Json, reason: str | None = None) -> bytes:
        return _event({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    events = [chunk({"role": "assistant", "content": text, **delta})]
    if call is not None:
        function = {"name": call[0], "arguments": call[1]}
        events.append(chunk({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}))
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 5, "total_tokens": prompt_tokens + 5}
    return [*events, chunk({}, end), _event({**base, "choices": [], "usage": usage}), b"data: [DONE]\n\n"]


def responses(
    text: str = "", call: tuple[str, str] | None = None, end: str | None = None, *, status: str = "", **about: Any
) -> Events:
    """OpenAI's responses; `end` is why it is incomplete, `status` a status that does not follow from that."""
    base: Json = {"id": "r", "object": "response", "created_at": 1, "model": "gpt-5", "parallel_tool_calls": True}
    base |= {"tool_choice": "auto", "tools": [], "metadata": {}, "instructions": None, "error": None}
    status = status or ("incomplete" if end else "completed")
    events = [_event({"type": "response.created", "sequence_number": 0, "response": {**base, "status": "in_progress",
                      "output": [], "incomplete_details": None}}, "response.created")]  # fmt: skip
    output: list[Json] = []
    if text:
        item: Json = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": []}
        output.append({**item, "content": [{"type": "output_text", "text": text, "annotations": []}]})
        events.append(_numbered("response.output_item.added", output_index=0, item=item))
        delta: Json = {"item_id": "m1", "output_index": 0, "content_index": 0, "delta": text, "logprobs": []}
        events.append(_numbered("response.output_text.delta", **delta))
    if refusal := about.get("refusal"):
        item = {"type": "message", "id": "m1", "role": "assistant", "status": "in_progress", "content": []}
        events.append(_numbered("response.output_item.added", output_index=0, item=item))
        delta = {"item_id": "m1", "output_index": 0, "content_index": 0}
        events.append(_numbered("response.refusal.delta", **delta, delta=refusal))
        events.append(_numbered("response.refusal.done", **delta, refusal=refusal))
    if call is not None:
        item = {"type": "function_call", "id": "f1", "call_id": "call_1", "name": call[0], "arguments": ""}
        events.append(_numbered("response.output_item.added", output_index=1, item={**item, "status": "in_progress"}))
        delta = {"item_id": "f1", "output_index": 1, "delta": call[1]}
        events.append(_numbered("response.function_call_arguments.delta", **delta))
    usage = {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12, "input_tokens_details": {"cached_tokens": 0},
             "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
    whole = {**base, "status": status, "output": output, "usage": usage,
             "incomplete_details": {"reason": end} if end else None}  # fmt: skip
    return [*events, _numbered(f"response.{status}", response=whole)]


def _numbered(kind: str, **about: Any) -> bytes:
    return _event({"type": kind, "sequence_number": 1, **about}, kind)


def anthropic(
    text: str = "", call: tuple[str, str] | None = None, end: str = "end_turn", *, thinking: str = "", **details: Any
) -> Events:
    """Anthropic's messages; `thinking` comes with a signature."""
    message: Json = {"id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-5", "content": []}
    usage = {"input_tokens": 7, "output_tokens": 1}
    events = [_event({"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None,
                      "usage": usage}}, "message_start")]  # fmt: skip
    blocks: list[tuple[Json, list[Json]]] = []
    if thinking:
        deltas = [{"type": "thinking_delta", "thinking": thinking}, {"type": "signature_delta", "signature": "signed"}]
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, deltas))
    if text:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": text}]))
    if call is not None:
        deltas = [{"type": "input_json_delta", "partial_json": call[1]}] if call[1] else []
        blocks.append(({"type": "tool_use", "id": "call_1", "name": call[0], "input": {}}, deltas))
    for at, (begun, deltas) in enumerate(blocks):
        events.append(_event({"type": "content_block_start", "index": at, "content_block": begun},
                             "content_block_start"))  # fmt: skip
        events += [
            _event({"type": "content_block_delta", "index": at, "delta": delta}, "content_block_delta")
            for delta in deltas
        ]
        events.append(_event({"type": "content_block_stop", "index": at}, "content_block_stop"))
    delta = {"stop_reason": end, "stop_sequence": None, **details}
    last = {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}
    return [*events, _event(last, "message_delta") + _event({"type": "message_stop"}, "message_stop")]


def google(
    text: str = "", call: tuple[str, str] | None = None, end: str | None = "STOP", *, block: str = "", **about: Any
) -> Events:
    """Google's content; a call's arguments come as an object, `block` is why a prompt was not answered at all."""
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12}
    if block:
        return [_event({"promptFeedback": {"blockReason": block}, "usageMetadata": usage})]
    parts: list[Json] = [{"text": text}] if text else []
    if call is not None:
        parts.append({"functionCall": {"name": call[0], "args": json.loads(call[1] or "{}")}})
    begun = _event({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}]})
    ended: Json = {"index": 0, "content": {"role": "model", "parts": []}, "finishReason": end}
    return [*([begun] if parts else []), _event({"candidates": [ended], "usageMetadata": usage})]


MAKERS: dict[Format, Made] = {"chat": chat, "responses": responses, "anthropic": anthropic, "google": google}
