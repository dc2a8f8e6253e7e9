"""A server on loopback that speaks as much of OpenAI's protocol as the tests need, and fails as servers do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Literal

Behaviour = Literal["answer", "status", "web page", "no JSON", "hang", "close", "break off", "error inside"]


@dataclass
class Loopback:
    """What the server does next, and what it was sent."""

    url: str = ""
    behaviour: Behaviour = "answer"
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: Any = None
    """Of an answer with a status."""
    paths: list[str] = field(default_factory=list[str])
    received: list[Message] = field(default_factory=list[Message])
    """The headers of each request."""
    bodies: list[Any] = field(default_factory=list[Any])
    over: Event = field(default_factory=Event)

    def fail(self, status: int, message: str = "no", /, **more: Any) -> None:
        self.behaviour, self.status = "status", status
        self.body = {"error": {"message": message, **more}}


def chunk(**delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    event = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return f"data: {json.dumps(event)}\n\n".encode()


class Handler(BaseHTTPRequestHandler):
    loopback: Loopback

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""

    def do_POST(self) -> None:
        does = self.loopback
        if self.path == "/api/show":  # a question about the model, before a run
            self._send(404, b"{}")
            return
        does.paths.append(self.path)
        does.received.append(self.headers)
        does.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        streamed = bool(does.bodies[-1].get("stream"))
        match does.behaviour:
            case "answer":
                self._answer(streamed)
            case "status":
                self._send(does.status, json.dumps(does.body).encode())
            case "web page":
                self._send(200, b"<html>Welcome</html>", "text/html")
            case "no JSON":
                self._send(200, b"{{{")
            case "hang":
                does.over.wait(60)
            case "close":
                self.close_connection = True
            case "break off":
                self._start_stream()
                self.wfile.write(b"1000\r\n" + chunk(role="assistant", content="Half an "))
                self.close_connection = True
            case "error inside":
                self._start_stream()
                error = {"error": {"message": "ran out of memory", "type": "server_error", "code": 500}}
                events = chunk(role="assistant", content="Half an ") + f"data: {json.dumps(error)}\n\n".encode()
                self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(events), events))

    def _answer(self, streamed: bool) -> None:
        usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
        if streamed:
            self._start_stream()
            last: dict[str, Any] = {**json.loads(chunk()[6:]), "choices": [], "usage": usage}
            end = f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n".encode()
            events = chunk(role="assistant", content="Hello ") + chunk(content="you") + end
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(events), events))
            return
        message = {"role": "assistant", "content": "Hello you"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
        self._send(200, json.dumps(body).encode())

    def _send(self, status: int, body: bytes, content_type: str = "application/json") -> None:
        self.send_response(status)
        for name, value in self.loopback.headers.items():
            self.send_header(name, value)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _start_stream(self) -> None:
        self.protocol_version = "HTTP/1.1"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()


@contextmanager
def serving() -> Generator[Loopback]:
    loopback = Loopback()
    handler = type("LoopbackHandler", (Handler,), {"loopback": loopback})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    loopback.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield loopback
    finally:
        loopback.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


@asynccontextmanager
async def silent_server() -> AsyncGenerator[tuple[str, asyncio.Event, asyncio.Event]]:
    """Its address, and whether it was asked, and whether the connection was closed."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            asked.set()
        writer.close()
        closed.set()

    asked, closed = asyncio.Event(), asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", asked, closed
