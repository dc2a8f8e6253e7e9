"""`TodoWrite` on a command line: answered by the agent itself if it stands alone, by the installed script otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headway
from headway.planner.config import TodoTools
from headway.tools import Approvals, Executor
from headway.tools.base import ToolFault
from headway.tools.effects import Effect
from headway.tools.files.workspace import Workspace
from headway.tools.shell.bash import Bash, BashInput
from headway.tools.todos import resolve_tools

from .calls import bash

TODOS = json.dumps({"todos": [{"content": "写文档", "activeForm": "Writing docs", "status": "in_progress"}]})


async def test_alone_it_starts_no_process_and_writes_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.executable", "/does/not/exist")
    session = headway.open(tmp_path)
    result = await bash(tmp_path, f"TodoWrite '{TODOS}'", session=session)
    assert (result.text, result.ok, result.exit_code) == ("Todo list updated: 1 in_progress", True, 0)
    assert [todo.content for todo in session.todos] == ["写文档"]


@pytest.mark.parametrize("kind", list(TodoTools))
async def test_whatever_todo_tools_a_model_has_nobody_is_asked_about_it(tmp_path: Path, kind: TodoTools):
    session = headway.open(memory=True)
    executor = Executor(resolve_tools(None, kind, str(tmp_path)), session, approvals=Approvals())
    open_quote = await executor.call("bash", {"command": """TodoWrite '{"todos":[{"content":"don't"}]}'"""})
    whole = await executor.call("bash", {"command": f"TodoWrite '{TODOS}'"})
    assert not open_quote.denied and not whole.denied
    if kind == TodoTools.FULL:
        assert "this apostrophe ends the word" in open_quote.text and whole.ok
    else:
        assert open_quote.text == whole.text and "use the todo tools that you have" in whole.text and not whole.ok
    assert [todo.content for todo in session.todos] == (["写文档"] if kind == TodoTools.FULL else [])


async def test_a_rejected_list_is_a_failure_that_says_why(tmp_path: Path):
    result = await bash(tmp_path, "TodoWrite 'nonsense'", session=headway.open(tmp_path))
    assert (result.ok, result.exit_code) == (False, 1)
    assert result.text.startswith("Error: Invalid JSON format\nUsage: ")


async def test_without_a_session_it_says_that_there_is_no_list(tmp_path: Path):
    with pytest.raises(ToolFault, match="no todo list"):
        await bash(tmp_path, f"TodoWrite '{TODOS}'")


async def test_with_other_commands_the_installed_script_writes_the_same_list(tmp_path: Path):
    session = headway.open(tmp_path, "work")
    result = await bash(tmp_path, f"TodoWrite '{TODOS}' && echo ok", session=session)
    assert (result.text, result.exit_code) == ("Todo list updated: 1 in_progress\nok", 0)
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


async def test_the_effect_of_a_result_tells_the_agents_own_command_from_work(tmp_path: Path):
    session = headway.open(tmp_path)
    runner = Executor([Bash(Workspace(tmp_path))], session, approvals=Approvals(mode="yolo"))
    assert (await runner.call("bash", {"command": f"TodoWrite '{TODOS}'"})).effect is Effect.TODO
    assert (await runner.call("bash", {"command": f"TodoWrite '{TODOS}' && true"})).effect is Effect.EXECUTE


async def test_a_list_in_memory_is_not_written_to_disk_by_the_script(tmp_path: Path):
    session = headway.open(memory=True)
    result = await bash(tmp_path, f"TodoWrite '{TODOS}' && echo ok", session=session)
    assert not result.ok
    assert "The agent keeps this list in memory; call TodoWrite on a line of its own, not as part of" in result.text
    assert "\nok" not in result.text and "Traceback" not in result.text
    assert (session.todos, list(tmp_path.iterdir())) == ([], [])
    assert (await bash(tmp_path, f"TodoWrite '{TODOS}'", session=session)).ok
    assert [todo.content for todo in session.todos] == ["写文档"]


async def test_the_list_is_that_of_the_session_wherever_the_tools_work(tmp_path: Path):
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    session = headway.open(tmp_path / "home")
    result = await bash(tmp_path / "work", f"TodoWrite '{TODOS}' && pwd", session=session)
    assert result.text.splitlines()[-1] == str((tmp_path / "work").resolve())
    assert [todo.content for todo in session.todos] == ["写文档"]
    assert list((tmp_path / "work").iterdir()) == []
