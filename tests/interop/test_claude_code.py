"""Claude Code itself, without a network, with a model by script: it finds the server, and works on the list with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support import processes
from tests.support.processes import until

import headway
from headway.core.model import Status

from .anthropic_provider import Answer, Provider, ToolUse, serve

PROGRAM = os.environ.get("HEADWAY_CLAUDE", "")
WAIT = 120
"""Seconds that a turn may take on a slow machine."""
pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(not PROGRAM, reason="needs Claude Code; run it with: make test-interop"),
]
TODO_WRITE, TODO_UPDATE, TODO_READ = (f"mcp__headway__{name}" for name in ("todo_write", "todo_update", "todo_read"))


def begin(project: Path, provider: Provider, *words: str) -> subprocess.Popen[str]:
    """A headless turn in the project, of a person who has set up nothing but the server."""
    env = processes.environment(
        ANTHROPIC_BASE_URL=f"http://127.0.0.1:{provider.port}",
        ANTHROPIC_API_KEY="sk-x",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
        DISABLE_AUTOUPDATER="1",
    )
    command = [PROGRAM, "-p", "Work on it", "--output-format", "json", "--allowedTools", "mcp__headway", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=project, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
    )


def run_turn(project: Path, script: list[Answer], *words: str) -> Provider:
    with serve(script) as provider:
        process = begin(project, provider, *words)
        out, err = process.communicate(timeout=WAIT)
        assert process.returncode == 0, (out, err)
        assert json.loads(out)["is_error"] is False, out
    return provider


@pytest.fixture
def installed(project: Path) -> Path:
    assert processes.run("mcp", "install", "claude").code == 0
    return project


def test_it_offers_the_tools_at_once_and_works_through_a_list(installed: Path) -> None:
    todos = [{"content": f"Step {n}", "status": "pending"} for n in range(1, 6)]
    steps: list[Answer] = [ToolUse(TODO_WRITE, {"todos": todos})]
    for n in range(1, 6):
        steps += [ToolUse(TODO_UPDATE, {"id": f"t{n}", "status": status}) for status in ("in_progress", "completed")]
    provider = run_turn(installed, [*steps, "All five are done."])
    offered = {tool["name"] for tool in provider.requests[0]["tools"]}
    assert {TODO_WRITE, TODO_UPDATE, TODO_READ, "mcp__headway__todo_claim"} <= offered
    assert "Headway keeps the todo list" in json.dumps(provider.requests[0])
    results = provider.results()
    assert len(results) == 11 and "Todo list updated: 5 pending" in results[0]
    session = headway.open(installed)
    assert {todo.status for todo in session.todos} == {Status.COMPLETED}
    assert session.history()[-1].actor.startswith("claude-code-")


def test_what_a_person_edits_reaches_it_and_its_mistakes_are_answered_in_words(installed: Path) -> None:
    session = headway.open(installed)
    session.write([{"content": "A"}])
    steps: list[Answer] = [
        ToolUse(TODO_UPDATE, {"id": "t9", "status": "completed"}),
        ToolUse(TODO_WRITE, {"todos": [{"contnt": "B"}]}),
        ToolUse(TODO_READ, {}),
    ]
    results = run_turn(installed, steps).results()
    assert "No todo has the id 't9'; the ids are: t1." in results[0]
    assert "todos[0].contnt: Unknown field" in results[1]
    session.add("Mine, added in between")
    again = run_turn(installed, [ToolUse(TODO_UPDATE, {"id": "t1", "status": "completed"})], "--continue").results()
    assert "Mine, added in between" in again[-1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_it_leaves_in_progress_when_it_is_stopped_is_pending(installed: Path, number: signal.Signals) -> None:
    session = headway.open(installed)
    session.write([{"content": "A"}])
    script: list[Answer] = [
        ToolUse(TODO_UPDATE, {"id": "t1", "status": "in_progress"}),
        ToolUse("Bash", {"command": "sleep 60"}),
    ]
    with serve(script) as provider:
        process = begin(installed, provider, "--allowedTools", "Bash")
        until(lambda: session.todos[0].status is Status.IN_PROGRESS)
        process.send_signal(number)
        process.communicate(timeout=WAIT)
    until(lambda: session.todos[0].interrupted)
    assert session.todos[0].status is Status.PENDING


@pytest.mark.parametrize(("dialect", "tool"), [("claude", "TodoWrite"), ("claude-tasks", "TaskCreate")])
def test_it_works_with_the_tools_that_its_models_know(installed: Path, dialect: str, tool: str) -> None:
    assert processes.run("mcp", "install", "claude", "--dialect", dialect).code == 0
    todos: dict[str, Any] = {"todos": [{"content": "A", "activeForm": "Doing A", "status": "in_progress"}]}
    arguments = todos if tool == "TodoWrite" else {"subject": "A", "description": "All of it"}
    provider = run_turn(installed, [ToolUse(f"mcp__headway__{tool}", arguments), "Done."])
    assert "A" in [todo.content for todo in headway.open(installed).todos], provider.results()
