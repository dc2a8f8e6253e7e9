"""A model of Anthropic's API by script, on loopback: the nth request that offers tools gets the nth answer."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, NamedTuple
from uuid import uuid4


class ToolUse(NamedTuple):
    """A call in an answer."""

    name: str
    arguments: dict[str, Any]


Answer = str | ToolUse


class Provider:
    """What was asked, and what is answered: after the script, an end of turn."""

    def __init__(self, script: Sequence[Answer]) -> None:
        self.requests: list[dict[str, Any]] = []
        """Those that offer tools; others, such as for a title, are answered with a word."""
        self._script = list(script)
        self._lock = Lock()
        self.port = 0

    def answer(self, request: dict[str, Any]) -> Answer:
        with self._lock:
            if not request.get("tools"):
                return "Work"
            self.requests.append(request)
            return self._script.pop(0) if self._script else "Done."

    def results(self) -> list[str]:
        """The texts of all results of calls, as the model was told of them last."""
        blocks = [
            block
            for message in self.requests[-1]["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
            if block["type"] == "tool_result"
        ]
        return [json.dumps(block["content"], ensure_ascii=False) for block in blocks]


def _events(answer: Answer) -> list[tuple[str, dict[str, Any]]]:
    if isinstance(answer, str):
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": answer}
        reason = "end_turn"
    else:
        block = {"type": "tool_use", "id": f"toolu_{uuid4().hex}", "name": answer.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(answer.arguments)}
        reason = "tool_use"
    usage = {"input_tokens": 10, "output_tokens": 5}
    message: dict[str, Any] = {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    return [
        ("message_start", {"message": message}),
        ("content_block_start", {"index": 0, "content_block": block}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}),
        ("message_stop", {}),
    ]


@contextmanager
def serve(script: Sequence[Answer]) -> Generator[Provider]:
    provider = Provider(script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._send(b"", "text/plain")

        def do_GET(self) -> None:
            self._send(b"{}", "application/json")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if "/messages" not in self.path or "count_tokens" in self.path:
                self._send(b'{"input_tokens": 10}', "application/json")
                return
            request: dict[str, Any] = json.loads(body)
            answer = provider.answer(request)
            events = _events(answer)
            if request.get("stream"):
                text = "".join(f"event: {k}\ndata: {json.dumps({'type': k, **data})}\n\n" for k, data in events)
                self._send(text.encode(), "text/event-stream")
                return
            message = events[0][1]["message"]
            content = [{"type": "text", "text": answer if isinstance(answer, str) else ""}]
            self._send(
                json.dumps({**message, "content": content, "stop_reason": "end_turn"}).encode(), "application/json"
            )

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing of each request."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
