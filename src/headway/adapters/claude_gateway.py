"""A server on loopback between Claude Code and its provider, which adds the list to each request of the main agent.

It passes on all else as it is, streams included. Its address has a secret in it, so that no one else on the machine
is shown the list.
"""

from __future__ import annotations

import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from headway.core.errors import HeadwayError

DEFAULT_UPSTREAM = "https://api.anthropic.com"
_HOP = frozenset({"host", "connection", "content-length", "transfer-encoding", "keep-alive", "accept-encoding"})
"""Headers of one connection, not of the message; and what would have the answer packed."""
_SUB_AGENT = "x-claude-code-agent-id"
_CHUNK = 65_536
_TIMEOUT = 900.0


class ClaudeGateway:
    """Runs in a thread until the process ends."""

    def __init__(
        self, upstream: str, tool_prefix: str, render_tail: Callable[[], str], note_answer: Callable[..., None]
    ) -> None:
        """`tool_prefix` tells requests of the agent that has the todo tools from others."""
        self._upstream = upstream.rstrip("/")
        self._prefix = tool_prefix
        self._render_tail = render_tail
        self._note_answer = note_answer
        self._secret = f"/{secrets.token_urlsafe(16)}"
        handler = type("Handler", (_Handler,), {"gateway": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}{self._secret}"
        Thread(target=self._server.serve_forever, name="headway gateway", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def find_target(self, path: str) -> str | None:
        """Return the provider's address for a path; None for a path without the secret."""
        start, rest = path[: len(self._secret)], path[len(self._secret) :]
        return self._upstream + rest if secrets.compare_digest(start, self._secret) else None

    def add_list(self, path: str, headers: Any, body: bytes) -> tuple[bytes, bool]:
        """Return the body of a request with the list behind its last message, and whether it is one of the agent's."""
        if not path.partition("?")[0].endswith("/v1/messages") or headers.get(_SUB_AGENT):
            return body, False
        try:
            request = json.loads(body)
            named = any(str(tool.get("name", "")).startswith(self._prefix) for tool in request.get("tools") or ())
            messages = request["messages"]
            last = messages[-1]
        except (ValueError, TypeError, LookupError, AttributeError):
            return body, False
        if not named or not (tail := self._render_tail()):
            return body, named
        block = {"type": "text", "text": tail}
        if last.get("role") == "user":
            content = last["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            last["content"] = [*blocks, block]
        else:  # a message of the system's, behind the user's
            messages.append({"role": "user", "content": [block]})
        return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode(), True

    def note_answer(self) -> None:
        self._note_answer()


class _Handler(BaseHTTPRequestHandler):
    gateway: ClaudeGateway
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def do_POST(self) -> None:
        self._pass_on(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def do_GET(self) -> None:
        self._pass_on(None)

    do_HEAD = do_GET

    def _pass_on(self, body: bytes | None) -> None:
        target = self.gateway.find_target(self.path)
        if target is None:
            self.send_error(404)
            return
        is_ours = False
        if body is not None:
            try:
                body, is_ours = self.gateway.add_list(self.path, self.headers, body)
            except HeadwayError as error:
                self._refuse(error)
                return
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
        request = urllib.request.Request(target, data=body, headers=headers, method=self.command)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
                self._send(answer)
            if is_ours:
                self.gateway.note_answer()
        except urllib.error.HTTPError as refusal:
            with refusal:
                self._send(refusal)
        except (urllib.error.URLError, OSError) as error:
            self.close_connection = True
            if not isinstance(error, BrokenPipeError | ConnectionResetError):
                self.send_error(502, "The provider cannot be reached")

    def _refuse(self, error: HeadwayError) -> None:
        """Answer as the provider does to a request that is not to be repeated."""
        body = {"type": "error", "error": {"type": "invalid_request_error", "message": str(error)}}
        content = json.dumps(body).encode()
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _send(self, answer: Any) -> None:
        """Pass an answer on piece by piece, as it comes."""
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in _HOP:
                self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        while piece := answer.read1(_CHUNK):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
