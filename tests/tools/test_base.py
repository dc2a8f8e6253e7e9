"""The one type of everything a model may call: what it declares, and what it takes for granted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from pydantic import BaseModel, Field

from headway import HeadwayError
from headway.tools import Context, Effect, Tool, ToolFault, ToolInput, ToolResult
from headway.tools.base import checked_name, description_beside

from .samples import Marking, executor


class Node(BaseModel):
    """A node."""

    name: str = Field(description="Its name.")
    below: list[Node] = []


class Walk(Tool[Node]):
    name = "walk"
    description = "Walks."
    input = Node

    async def run(self, call: Node, context: Context) -> ToolResult:
        return ToolResult(call.name)


def test_a_tool_that_declares_nothing_executes_and_has_no_subject():
    walk = Walk()
    call = walk.read({"name": "a"})
    assert (walk.effect, walk.effect_of(call), walk.aliases, walk.edits_project) == (
        Effect.EXECUTE,
        "execute",
        (),
        False,
    )
    assert (walk.subject(call), walk.host(call), walk.matches("*", call)) == (None, None, False)


def test_a_tool_must_say_how_it_runs():
    class Idle(Tool[Any]):
        name = "idle"

    with pytest.raises(TypeError):
        Idle()  # pyright: ignore


def test_an_input_that_contains_itself_still_has_an_object_as_its_schema():
    assert Walk().parameters() == snapshot(
        {
            "properties": {
                "name": {"description": "Its name.", "type": "string"},
                "below": {"default": [], "items": {"$ref": "#/$defs/Node"}, "type": "array"},
            },
            "required": ["name"],
            "type": "object",
            "$defs": {
                "Node": {
                    "properties": {
                        "name": {"description": "Its name.", "type": "string"},
                        "below": {"default": [], "items": {"$ref": "#/$defs/Node"}, "type": "array"},
                    },
                    "required": ["name"],
                    "type": "object",
                }
            },
        }
    )


def test_a_schema_is_made_afresh_so_that_nobody_can_spoil_it():
    before = repr(Walk().parameters())
    Walk().parameters()["properties"].clear()
    assert repr(Walk().parameters()) == before


def test_faults_deep_in_an_input_that_contains_itself_have_their_path():
    with pytest.raises(ToolFault, match=r"- below\[0\]\.below\[1\]\.name: Required"):
        Walk().read({"name": "a", "below": [{"name": "b", "below": [{"name": "c"}, {}]}]})


def test_an_unknown_field_of_a_built_in_input_is_a_fault():
    class Input(ToolInput):
        path: str

    with pytest.raises(ValueError, match="forbidden"):
        Input.model_validate({"path": "a", "paht": "b"})


@pytest.mark.parametrize("name", ["a", "TodoWrite", "read_file", "_x", "mcp__server__do-it", "a" * 64])
def test_a_good_name_is_taken(name: str):
    assert checked_name(name) == name


@pytest.mark.parametrize("name", ["", "9a", "a b", "a\n", "é", "a" * 65])
def test_a_bad_name_is_named(name: str):
    with pytest.raises(HeadwayError, match=r"A tool cannot be called '.*'; use 1 to 64 of the characters"):
        checked_name(name)


def test_the_description_is_the_markdown_beside_the_module(tmp_path: Path):
    (tmp_path / "walk.md").write_text("\nGeht 走.\n", encoding="utf-8")
    assert description_beside(str(tmp_path / "walk.py")) == "Geht 走."


async def test_a_call_under_an_alias_is_a_call_of_the_tool(tmp_path: Path):
    result = await executor(tmp_path, Marking(Effect.READ, aliases=("rg",))).call("rg", '{"subject": "x"}')
    assert result == ToolResult("ran on x", effect=Effect.READ)
