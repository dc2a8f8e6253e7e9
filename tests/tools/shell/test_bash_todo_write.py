"""`TodoWrite` on a command line: answered by the agent itself if it stands alone, by the installed script otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headway
from headway.tools.base import ToolFault
from headway.tools.effects import Effect
from headway.tools.files.workspace import Workspace
from headway.tools.shell.bash import Bash, BashInput

from .calls import bash

TODOS = json.dumps({"todos": [{"content": "写文档", "activeForm": "Writing docs", "status": "in_progress"}]})


async def test_alone_it_starts_no_process_and_writes_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.executable", "/does/not/exist")
    session = headway.open(tmp_path)
    result = await bash(tmp_path, f"TodoWrite '{TODOS}'", session=session)
    assert (result.text, result.ok, result.exit_code) == ("Todo list updated: 1 in_progress", True, 0)
    assert (result.effect, result.agent_command) == (Effect.TODO, True)
    assert [todo.content for todo in session.todos] == ["写文档"]


async def test_a_rejected_list_is_a_failure_that_says_why(tmp_path: Path):
    result = await bash(tmp_path, "TodoWrite 'nonsense'", session=headway.open(tmp_path))
    assert (result.ok, result.exit_code, result.agent_command) == (False, 1, True)
    assert result.text.startswith("Error: Invalid JSON format\nUsage: ")


async def test_without_a_session_it_says_that_there_is_no_list(tmp_path: Path):
    with pytest.raises(ToolFault, match="no todo list"):
        await bash(tmp_path, f"TodoWrite '{TODOS}'")


async def test_with_other_commands_the_installed_script_writes_the_same_list(tmp_path: Path):
    session = headway.open(tmp_path, "work")
    result = await bash(tmp_path, f"TodoWrite '{TODOS}' && echo ok", session=session)
    assert (result.text, result.exit_code) == ("Todo list updated: 1 in_progress\nok", 0)
    assert (result.effect, result.agent_command) == (Effect.EXECUTE, False)
    assert [todo.content for todo in session.todos] == ["写文档"]


async def test_a_sub_agents_list_is_the_one_the_script_writes(tmp_path: Path):
    session = headway.open(tmp_path)
    await bash(tmp_path, f"cd / && TodoWrite '{TODOS}'", session=session.agent("sub-1"))
    assert session.todos == []
    assert [todo.content for todo in session.agent("sub-1").todos] == ["写文档"]


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        (f"TodoWrite '{TODOS}'", Effect.TODO),
        ("TodoWrite --help", Effect.TODO),
        (f"TodoWrite '{TODOS}' && make", Effect.EXECUTE),
        ("TodoWriteX '{}'", Effect.EXECUTE),
        ("echo TodoWrite", Effect.EXECUTE),
        ("./TodoWrite '{}'", Effect.EXECUTE),
    ],
)
def test_the_effect_is_that_of_the_very_command(tmp_path: Path, command: str, effect: Effect):
    assert Bash(Workspace(tmp_path)).effect_of(BashInput(command=command)) is effect
