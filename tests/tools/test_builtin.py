"""The built-in tools as a model is told of them: which, in which order, with which inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

import headway
from headway.agent import tool_definitions
from headway.core.errors import HeadwayError
from headway.tools import Approvals, Executor, builtin_tools
from headway.tools.base import Tool
from headway.tools.todos import make_todo_tools

FILE_TOOLS = ["read_file", "read_many_files", "ls", "glob", "grep", "write_file", "edit"]
OTHERS = ["bash", "web_fetch", "create_plan"]


def names(tools: list[Tool[Any]]) -> list[str]:
    return [tool.name for tool in tools]


def inputs(tools: list[Tool[Any]]) -> dict[str, Any]:
    """Each tool's properties, and what of it is required."""
    found: dict[str, Any] = {}
    for tool in tools:
        schema = tool.parameters()
        assert schema["type"] == "object" and schema["additionalProperties"] is False
        found[tool.name] = {"required": schema.get("required", []), **schema["properties"]}
    return found


def test_the_tools_come_in_one_order(tmp_path: Path) -> None:
    full = ["TodoWrite", "create_todo_list", "update_todo_item"]
    assert names(builtin_tools(tmp_path)) == [*FILE_TOOLS, *OTHERS, "create_todo_list", "todo"]
    assert names(builtin_tools(tmp_path, todo_tools="full")) == [*FILE_TOOLS, *OTHERS, *full]
    assert names(builtin_tools(tmp_path, todo_tools="plan")) == [*FILE_TOOLS, *OTHERS, "write_todos"]
    assert names(builtin_tools(tmp_path, todo_tools="off")) == [*FILE_TOOLS, *OTHERS]


def test_a_web_search_is_offered_only_with_a_provider(tmp_path: Path) -> None:
    found = builtin_tools(tmp_path, todo_tools="off", web_search="brave", environ={"BRAVE_API_KEY": "k"})
    assert names(found) == [*FILE_TOOLS, "bash", "web_fetch", "web_search", "create_plan"]
    with pytest.raises(HeadwayError, match="BRAVE_API_KEY"):
        builtin_tools(tmp_path, web_search="brave", environ={})


def test_effects_are_as_the_page_on_tools_says(tmp_path: Path) -> None:
    found = {
        tool.name: str(tool.effect) for tool in [*builtin_tools(tmp_path, todo_tools="full"), *make_todo_tools()[1:]]
    }
    assert found == snapshot(
        {
            "read_file": "read",
            "read_many_files": "read",
            "ls": "read",
            "glob": "read",
            "grep": "read",
            "write_file": "write",
            "edit": "write",
            "bash": "execute",
            "web_fetch": "network",
            "create_plan": "plan",
            "TodoWrite": "todo",
            "create_todo_list": "todo",
            "update_todo_item": "todo",
            "todo": "todo",
        }
    )


def test_the_inputs_of_file_tools_are_pinned(tmp_path: Path) -> None:
    assert inputs(builtin_tools(tmp_path, todo_tools="off")[:7]) == snapshot(
        {
            "read_file": {
                "required": ["path"],
                "path": {"description": "File, relative to the project's folder.", "minLength": 1, "type": "string"},
                "offset": {
                    "default": 1,
                    "description": "First line to read, starting at 1.",
                    "minimum": 1,
                    "type": "integer",
                },
                "limit": {"description": "Number of lines to read.", "minimum": 1, "type": "integer"},
            },
            "read_many_files": {
                "required": ["paths"],
                "paths": {
                    "description": "Files to read, relative to the project's folder, in order.",
                    "items": {"type": "string"},
                    "maxItems": 100,
                    "minItems": 1,
                    "type": "array",
                },
            },
            "ls": {
                "required": [],
                "path": {"default": ".", "description": "Folder, relative to the project's folder.", "type": "string"},
            },
            "glob": {
                "required": ["pattern"],
                "pattern": {
                    "description": "Pattern such as `**/*.py`, relative to `path`.",
                    "maxLength": 1000,
                    "minLength": 1,
                    "type": "string",
                },
                "path": {
                    "default": ".",
                    "description": "Folder to search, relative to the project's folder.",
                    "type": "string",
                },
            },
            "grep": {
                "required": ["pattern"],
                "pattern": {
                    "description": "Regular expression, compared line by line.",
                    "maxLength": 2000,
                    "minLength": 1,
                    "type": "string",
                },
                "path": {
                    "default": ".",
                    "description": "Folder or file to search, relative to the project's folder.",
                    "type": "string",
                },
                "glob": {
                    "description": "Files to search: `*.py`.",
                    "maxLength": 1000,
                    "minLength": 1,
                    "type": "string",
                },
                "fixed": {"default": False, "description": "Treat the pattern as plain text.", "type": "boolean"},
                "ignore_case": {"default": False, "type": "boolean"},
                "context": {
                    "default": 0,
                    "description": "Lines to show before and after each match.",
                    "maximum": 20,
                    "minimum": 0,
                    "type": "integer",
                },
                "output": {"default": "lines", "enum": ["lines", "files", "count"], "type": "string"},
            },
            "write_file": {
                "required": ["path", "content"],
                "path": {
                    "description": "File, relative to the project's folder; missing folders are created.",
                    "minLength": 1,
                    "type": "string",
                },
                "content": {"description": "The whole new content.", "type": "string"},
            },
            "edit": {
                "required": ["path", "old_string", "new_string"],
                "path": {"description": "File, relative to the project's folder.", "minLength": 1, "type": "string"},
                "old_string": {
                    "description": "The text to replace, exactly as it is in the file.",
                    "minLength": 1,
                    "type": "string",
                },
                "new_string": {"description": "The text that replaces it.", "type": "string"},
                "replace_all": {
                    "default": False,
                    "description": "Replace every occurrence; otherwise old_string must be unique.",
                    "type": "boolean",
                },
            },
        }
    )


def test_the_inputs_of_the_other_tools_are_pinned(tmp_path: Path) -> None:
    environ = {"TAVILY_API_KEY": "k"}
    assert inputs(builtin_tools(tmp_path, todo_tools="off", web_search="tavily", environ=environ)[7:-1]) == snapshot(
        {
            "bash": {
                "required": ["command"],
                "command": {"maxLength": 100000, "type": "string"},
                "timeout": {"exclusiveMinimum": 0, "type": "number"},
            },
            "web_fetch": {
                "required": ["url"],
                "url": {"description": "http or https URL of the page", "maxLength": 2000, "type": "string"},
            },
            "web_search": {
                "required": ["query"],
                "query": {"description": "What to search for", "maxLength": 400, "type": "string"},
                "count": {
                    "default": 8,
                    "description": "How many results",
                    "maximum": 20,
                    "minimum": 1,
                    "type": "integer",
                },
            },
        }
    )


def test_descriptions_are_there_and_short(tmp_path: Path) -> None:
    for tool in builtin_tools(tmp_path):
        assert 40 < len(tool.description) < 1_200, tool.name


def test_a_provider_is_told_the_same_bytes_each_time(tmp_path: Path) -> None:
    first, second = (
        [(d.name, d.description, json.dumps(d.parameters_json_schema)) for d in tool_definitions(builtin_tools(folder))]
        for folder in (tmp_path, str(tmp_path))
    )
    assert first == second
    assert [name for name, _, _ in first] == names(builtin_tools(tmp_path))


async def test_plan_mode_offers_what_reads_in_the_same_order(tmp_path: Path) -> None:
    session = headway.open(memory=True)
    executor = Executor(builtin_tools(tmp_path), session, project=tmp_path, approvals=Approvals(mode="yolo"))
    session.set_plan_mode(True)
    assert names(executor.list_offered()) == [
        *("read_file", "read_many_files", "ls", "glob", "grep", "web_fetch", "create_plan")
    ]
    refused = await executor.call("bash", {"command": "TodoWrite '{\"todos\":[]}'"})
    assert not refused.ok and "plan mode" in refused.text


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="There is no folder"):
        builtin_tools(tmp_path / "nowhere")


async def test_grep_answers_under_its_other_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("needle\n")
    executor = Executor(builtin_tools(tmp_path), project=tmp_path)
    by_name = await executor.call("grep", {"pattern": "needle"})
    assert by_name.ok and "a.txt:1: needle" in by_name.text
    assert (await executor.call("rg", {"pattern": "needle"})).text == by_name.text


@pytest.mark.parametrize("wrong", [{"private_hosts": "localhost"}, {"env": "HOME"}, {"env": [3]}])
def test_a_single_text_in_place_of_a_list_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(HeadwayError, match=f"`{next(iter(wrong))}` must be a list of strings, not "):
        builtin_tools(tmp_path, **wrong)


@pytest.mark.parametrize(("kind", "told"), [("full", True), ("light", False), ("plan", False), ("off", False)])
def test_bash_speaks_of_todo_write_only_where_there_is_one(tmp_path: Path, kind: Any, told: bool) -> None:
    [bash] = [tool for tool in builtin_tools(tmp_path, todo_tools=kind) if tool.name == "bash"]
    assert ("TodoWrite" in bash.description) is told
    assert "- To read, search and change files, use the file tools" in bash.description.splitlines()[8]


async def test_long_answers_are_kept_where_the_tools_work_and_can_be_read_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    executor = Executor(builtin_tools(tmp_path / "project"), approvals=Approvals(mode="yolo"))
    result = await executor.call("bash", {"command": "seq 1 20000"})
    assert result.kept is not None
    assert (tmp_path / "project" / result.kept).parent == tmp_path / "project/.headway/outputs"
    read = await executor.call("read_file", {"path": result.kept, "offset": 20_000})
    assert read.ok and " 20000\t20000" in read.text
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_every_tool_that_works_in_a_folder_says_which(tmp_path: Path) -> None:
    found = {tool.name: tool.folder for tool in builtin_tools(tmp_path)}
    assert {name for name, folder in found.items() if folder == str(tmp_path.resolve())} == {*FILE_TOOLS, "bash"}
    assert {name for name, folder in found.items() if folder is None} == {*found} - {*FILE_TOOLS, "bash"}


async def test_a_tool_that_is_not_offered_is_not_taken_for_another(tmp_path: Path) -> None:
    light = Executor(builtin_tools(tmp_path, todo_tools="light"))
    result = await light.call("update_todo_item", {})
    assert result.text.startswith("There is no tool named 'update_todo_item'; available tools: read_file, ")
    assert (await light.call("readfile", {})).text == "There is no tool named 'readfile'; did you mean read_file?"
