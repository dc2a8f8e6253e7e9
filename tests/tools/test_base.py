"""The one type of everything a model may call: what it declares, and what it takes for granted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from pydantic import BaseModel, Field

from headway import HeadwayError
from headway.tools import Context, Effect, Limits, Tool, ToolFault, ToolInput, ToolResult, tool
from headway.tools.base import build_schema, check_tool_name, read_description
from headway.tools.files.known_files import KnownFiles
from headway.tools.outputs import OutputFiles

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
    call = walk.parse_input({"name": "a"})
    assert (walk.effect, walk.effect_of(call), walk.aliases) == (Effect.EXECUTE, "execute", ())
    assert (walk.edits_project(call), walk.folder) == (False, None)
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
        Walk().parse_input({"name": "a", "below": [{"name": "b", "below": [{"name": "c"}, {}]}]})


def test_an_unknown_field_of_a_built_in_input_is_a_fault():
    class Input(ToolInput):
        path: str

    with pytest.raises(ValueError, match="forbidden"):
        Input.model_validate({"path": "a", "paht": "b"})


@pytest.mark.parametrize("name", ["a", "TodoWrite", "read_file", "_x", "mcp__server__do-it", "a" * 64])
def test_a_good_name_is_taken(name: str):
    assert check_tool_name(name) == name


@pytest.mark.parametrize("name", ["", "9a", "a b", "a\n", "é", "a" * 65])
def test_a_bad_name_is_named(name: str):
    with pytest.raises(HeadwayError, match=r"A tool cannot be named '.*'; use 1 to 64 of the characters"):
        check_tool_name(name)


def test_the_description_is_the_markdown_beside_the_module(tmp_path: Path):
    (tmp_path / "walk.md").write_text("\nGeht 走.\n", encoding="utf-8")
    assert read_description(str(tmp_path / "walk.py")) == "Geht 走."


async def test_a_call_under_an_alias_is_a_call_of_the_tool(tmp_path: Path):
    result = await executor(tmp_path, Marking(Effect.READ, aliases=("rg",))).call("rg", '{"subject": "x"}')
    assert result == ToolResult("ran on x", effect=Effect.READ)


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"path": "a", "paht": "b"}, True),
        ({"path": 3}, False),
        ({}, False),
        ({"path": "a", "inner": {"path": "b", "deep": 1}}, False),
    ],
)
def test_a_field_that_is_unknown_is_answered_with_those_there_are(sent: dict[str, Any], told: bool):
    class Input(ToolInput):
        path: str
        inner: Input | None = None

    class Open(Walk):
        input = Input

    with pytest.raises(ToolFault) as caught:
        Open().parse_input(sent)
    assert str(caught.value).endswith("\nIts fields are: path, inner.") is told


def test_an_input_without_fields_says_that_there_are_none():
    class Open(Walk):
        input = ToolInput

    with pytest.raises(ToolFault, match=r"- x: Unknown field\nIts fields are: none\.$"):
        Open().parse_input({"x": 1})


async def shown(arguments: dict[str, Any]) -> str:
    def send(to: str, body: str = "", copies: int | None = None, tags: list[str] | None = None) -> None: ...

    made = tool(send)
    return (await made.preview(made.parse_input(arguments), context_of())).line


def context_of() -> Context:
    return Context(
        project=".", session=None, limits=Limits(), seen=KnownFiles(), outputs=OutputFiles(".", kept_bytes=0)
    )


async def test_one_argument_cannot_look_like_several_in_a_preview():
    assert await shown({"to": 'me", body="hi', "copies": 2, "tags": ["a", "b"]}) == (
        r'send(to="me\", body=\"hi", copies=2, tags=["a", "b"])'
    )
    assert await shown({"to": "a\nb\x1b[2J\u202e你"}) == r'send(to="a\nb\u001b[2J⟨U+202E⟩你")'


async def test_a_huge_argument_is_shown_whole():
    assert await shown({"to": "x" * 50_000, "body": "end"}) == f'send(to="{"x" * 50_000}", body="end")'


def test_what_may_be_left_out_is_told_without_null():
    class Input(BaseModel):
        one: int | None = None
        many: list[str] | None = Field(None, description="Several.")
        node: Node | None = None
        must: int | None
        word: str = "x"

    assert build_schema(Input)["properties"] == snapshot(
        {
            "one": {"type": "integer"},
            "many": {"description": "Several.", "items": {"type": "string"}, "type": "array"},
            "node": {"$ref": "#/$defs/Node"},
            "must": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "word": {"default": "x", "type": "string"},
        }
    )


def test_what_may_be_one_of_several_types_or_left_out_is_told_without_null():
    class Input(BaseModel):
        either: int | str | None = None

    assert build_schema(Input)["properties"] == {"either": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}
