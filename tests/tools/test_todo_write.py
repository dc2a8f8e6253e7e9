"""`TodoWriteTool` as agents use it: made with a folder, called with a dict, read as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import headway
from headway.tools.todo_write import TodoWriteTool


def call(tool: TodoWriteTool, *contents: str, status: str = "pending") -> dict[str, Any]:
    todos = [{"content": content, "status": status} for content in contents]
    return json.loads(tool.run({"summary": "All of it", "todos": todos}))


def test_without_a_session_it_keeps_one_of_its_own_in_memory(tmp_path: Path):
    one, other = TodoWriteTool(project_root=tmp_path), TodoWriteTool(project_root=tmp_path)
    assert call(one, "A")["status"] == "success"
    assert [todo.content for todo in one.session.todos] == ["A"]
    assert other.session.todos == []
    assert list(tmp_path.iterdir()) == []


def test_with_a_session_it_shares_that_list(tmp_path: Path):
    session = headway.open(tmp_path)
    heard: list[object] = []
    session.on("todos:update", heard.append)
    call(TodoWriteTool(tmp_path, session), "A", "B")
    call(TodoWriteTool(tmp_path, session), "B")
    assert [(todo.id, todo.content) for todo in session.todos] == [("t2", "B")]
    assert len(heard) == 2


def test_a_sub_agents_list_is_kept_apart_but_logged_in_the_same_session(tmp_path: Path):
    session = headway.open(tmp_path)
    first = call(TodoWriteTool(tmp_path, session), "A", status="completed")
    second = call(TodoWriteTool(tmp_path, session.agent("sub-1")), "B", status="completed")
    assert first["data"]["persisted_to"] == second["data"]["persisted_to"]
    assert [todo.content for todo in session.todos] == ["A"]


@pytest.mark.parametrize("kind", [str, Path])
def test_the_project_may_be_a_text_or_a_path(tmp_path: Path, kind: type[str] | type[Path]):
    found = call(TodoWriteTool(kind(tmp_path)), "A", status="completed")
    assert (tmp_path / found["data"]["persisted_to"]).is_file()


def test_a_relative_project_stays_where_it_was_when_the_working_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path)
    tool = TodoWriteTool(".")
    monkeypatch.chdir(tmp_path / "inner")
    found = call(tool, "A", status="completed")
    assert found["context"]["cwd"] == "inner"
    assert (tmp_path / found["data"]["persisted_to"]).is_file()


def test_importing_it_loads_no_library_and_touches_no_file(tmp_path: Path):
    code = (
        "import sys; import headway.tools.todo_write;"
        "heavy = {'pydantic', 'pydantic_ai', 'rich', 'click', 'starlette', 'mcp', 'asyncio'} & set(sys.modules);"
        "sys.exit(' '.join(heavy) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ}, capture_output=True, text=True, timeout=30
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    assert list(tmp_path.iterdir()) == []
