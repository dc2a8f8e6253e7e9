"""A server that lives for days: thousands of calls, good and bad, do not make it grow."""

from __future__ import annotations

from pathlib import Path

import pytest

import headway

from .clients import McpProcess

HELLO: dict[str, object] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "agent", "version": "1"},
}
CALLS = 10_000
MOST_GROWTH = 20_000
"""Kilobytes, from the thousandth call on."""


def resident(process: McpProcess) -> int:
    """The kilobytes of memory that a process has."""
    status = Path(f"/proc/{process.id}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_ten_thousand_calls_do_not_make_the_server_grow(project: Path) -> None:
    process = McpProcess()
    process.request("initialize", 1, **HELLO)
    process.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    before = 0
    for number in range(2, CALLS + 2):
        calls: list[tuple[str, dict[str, object]]] = [
            ("todo_write", {"todos": [{"content": f"Item {n}"} for n in range(number % 7, 12)]}),
            ("todo_read", {}),
            ("todo_update", {"id": "t1", "status": "in_progress"}),
            ("todo_write", {"todos": [{"wrong": number}]}),
            ("next_todos", {}),
        ]
        name, arguments = calls[number % len(calls)]
        assert "result" in process.request("tools/call", number, name=name, arguments=arguments)
        if number == 1_000:
            before = resident(process)
    assert resident(process) - before < MOST_GROWTH
    process.close_stdin()
    assert process.end().code == 0
    assert len(headway.open(project).todos) > 0
