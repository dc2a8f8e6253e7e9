"""The MCP server, beside a bare one on the same SDK: until it answers, and for each call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .measure import Measured, Row, side_by_side

BARE = str(Path(__file__).parent / "others" / "bare_mcp_server.py")
HEADWAY = [str(Path(sys.executable).with_name("headway")), "mcp"]
HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
STATUSES = ("pending", "in_progress", "completed")


class _Client:
    """Speaks the protocol over pipes, with no library that would take time itself."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ask(0, "initialize", HELLO)
        self._send({"method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        os.write(self.process.stdin.fileno(), json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdout is not None
        self._send({"id": number, "method": method, "params": params})
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert answer["id"] == number and "error" not in answer and not answer["result"].get("isError"), answer
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(30)


def _measure_start(folder: Path) -> Measured:
    def start(command: Sequence[str]) -> Callable[[int], object]:
        return lambda number: clients.append(_Client(command, folder / "mcp"))

    def close(number: int) -> None:
        while clients:
            clients.pop().close()

    clients: list[_Client] = []
    measured = side_by_side(start(HEADWAY), start([sys.executable, BARE]), 7, before=close, between=close)
    close(0)
    return measured


def _measure_calls(folder: Path) -> Measured:
    """In memory where the system offers that: on a disk, ours waits until the change is there for good."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else folder) as memory:
        return _measure_calls_in(Path(memory))


def _measure_calls_in(folder: Path) -> Measured:
    ours, base = _Client(HEADWAY, folder / "mcp"), _Client([sys.executable, BARE], folder / "mcp")

    def write(client: _Client) -> Callable[[int], object]:
        def call(number: int) -> object:
            todos = [{"content": f"Item {at}", "status": STATUSES[(number + at) % 3]} for at in range(10)]
            return client.ask(number + 1, "tools/call", {"name": "todo_write", "arguments": {"todos": todos}})

        return call

    measured = side_by_side(write(ours), write(base), 500)
    for client in (ours, base):
        client.close()
    return measured


ROWS = [
    Row("headway mcp: first answer", "the same SDK with one tool", 2, _measure_start),
    Row("headway mcp: write 10 todos, in memory", "a tool there that keeps them in a list", 2, _measure_calls),
]
