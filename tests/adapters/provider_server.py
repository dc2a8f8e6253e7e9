"""A provider on loopback that speaks Anthropic's protocol, and OpenAI's of responses, and answers by script."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from tests.adapters.obligations import Turn

Body = dict[str, Any]


@dataclass
class Provider:
    """What it answers next, and what it was sent."""

    turns: list[Turn]
    is_asked: Callable[[Body], bool] = lambda body: True
    """Whether a request takes the next turn."""
    rename: Callable[[str], str] = lambda name: name
    """What the client calls a tool."""
    others: list[Turn] = field(default_factory=list[Turn])
    """What other requests are answered, before they are told `ok`."""
    url: str = ""
    bodies: list[Body] = field(default_factory=list[Body])
    """Of the requests that took a turn."""
    lock: Lock = field(default_factory=Lock)


def to_content(turn: Turn, rename: Callable[[str], str]) -> list[Body]:
    text: list[Body] = [{"type": "text", "text": turn.text}] if turn.text else []
    calls = zip(turn.calls, turn.ids, strict=True)
    return text + [{"type": "tool_use", "id": i, "name": rename(name), "input": args} for (name, args), i in calls]


def to_message(turn: Turn, rename: Callable[[str], str]) -> Body:
    """Return an answer as Anthropic has it."""
    return {
        "id": f"msg_{turn.key}",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": to_content(turn, rename),
        "stop_reason": "tool_use" if turn.calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def to_response(turn: Turn) -> Body:
    """Return an answer as OpenAI has it."""
    parts: list[Body] = [{"type": "output_text", "text": turn.text, "annotations": []}]
    said: Body = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": parts}
    output: list[Body] = [said] if turn.text else []
    for (name, args), call_id in zip(turn.calls, turn.ids, strict=True):
        call = {"id": f"f-{call_id}", "call_id": call_id, "name": name, "arguments": json.dumps(args)}
        output.append({"type": "function_call", "status": "completed", **call})
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": f"resp_{turn.key}",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {**usage, **details},
    }


def to_events(message: Body) -> bytes:
    content, reason = message["content"], message["stop_reason"]
    events: list[Body] = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}]
    for index, block in enumerate(content):
        start: Body
        delta: Body
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    events += [
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


class Handler(BaseHTTPRequestHandler):
    provider: Provider
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "count_tokens" in self.path:
            self._send(200, json.dumps({"input_tokens": 10}).encode())
            return
        provider = self.provider
        with provider.lock:
            if not provider.is_asked(body):
                turn = provider.others.pop(0) if provider.others else Turn("ok")
            else:
                turn = provider.turns[len(provider.bodies)]
                if not turn.error:  # an error is one for each request that comes
                    provider.bodies.append(body)
        turn.before()
        if turn.error:
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": turn.error}}
            self._send(400, json.dumps(error).encode())
        elif self.path.endswith("/responses"):
            self._send(200, json.dumps(to_response(turn)).encode())
        elif body.get("stream"):
            self._send(200, to_events(to_message(turn, provider.rename)), "text/event-stream")
        else:
            self._send(200, json.dumps(to_message(turn, provider.rename)).encode())

    def do_GET(self) -> None:
        self._send(404, b"{}")

    do_HEAD = do_GET

    def _send(self, status: int, body: bytes, content_type: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serve_provider(provider: Provider) -> Generator[Provider]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("ProviderHandler", (Handler,), {"provider": provider}))
    server.daemon_threads = True
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
