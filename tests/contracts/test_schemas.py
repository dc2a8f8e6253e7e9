"""The schemas that models are given: pinned, so that a change shows in review, and in step with what is accepted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

import headway
from headway.contracts import agent, envelope
from headway.contracts.schema import build_agent_parameters, build_envelope_parameters
from headway.core.rules import is_object
from headway.tools.todo_write import TodoWriteTool

from .envelopes import answer

OF_THE_SOURCE = {
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "todos": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "cancelled"]},
                    "id": {"type": "string"},
                },
                "required": ["content", "status"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["summary", "todos"],
}


def undescribed(schema: object) -> object:
    """A schema without its descriptions."""
    if is_object(schema):
        return {key: undescribed(value) for key, value in schema.items() if not is_description(key, value)}
    return schema


def spoil(schema: Any) -> None:
    """Empties every object in it."""
    for value in list(schema.values()):
        if isinstance(value, dict):
            spoil(value)
    schema.clear()


def is_description(key: str, value: object) -> bool:
    return key == "description" and isinstance(value, str)


def test_the_envelope_has_the_structure_of_its_source():
    assert undescribed(build_envelope_parameters()) == OF_THE_SOURCE


def test_every_property_of_both_schemas_is_described():
    for parameters in (build_envelope_parameters(), build_agent_parameters()):
        properties: Any = parameters["properties"]
        for described in [*properties.values(), *properties["todos"]["items"]["properties"].values()]:
            assert described["description"].strip()


def test_the_envelope_schema_is_pinned():
    assert build_envelope_parameters() == snapshot(
        {
            "type": "object",
            "properties": {
                "summary": {
                    "type": "string",
                    "description": "The overall task that the todos serve, in one sentence.",
                },
                "todos": {
                    "type": "array",
                    "description": "The whole list, which replaces the previous one; an empty array clears it.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": {"type": "string", "description": "What to do, in the imperative."},
                            "status": {
                                "type": "string",
                                "description": "State of the item.",
                                "enum": ["pending", "in_progress", "completed", "cancelled"],
                            },
                            "id": {
                                "type": "string",
                                "description": "Optional and ignored; the framework assigns the ids.",
                            },
                        },
                        "required": ["content", "status"],
                        "additionalProperties": False,
                    },
                },
            },
            "required": ["summary", "todos"],
        }
    )


def test_the_agent_schema_is_pinned_without_its_descriptions():
    text = {"type": "string", "minLength": 1, "maxLength": 200}
    assert undescribed(build_agent_parameters()) == {
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "maxItems": 50,
                "items": {
                    "type": "object",
                    "properties": {
                        "content": text,
                        "activeForm": text,
                        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                    },
                    "required": ["content", "activeForm", "status"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["todos"],
        "additionalProperties": False,
    }


def test_the_description_of_the_envelope_carries_the_six_rules():
    lines = envelope.DESCRIPTION.split("\n")
    assert [line[:3] for line in lines[1:7]] == ["1. ", "2. ", "3. ", "4. ", "5. ", "6. "]
    for word in ("three steps", "pending, in_progress, completed, cancelled", "at most one", "every item", "summary"):
        assert word in envelope.DESCRIPTION


@pytest.mark.parametrize("definition", [agent.definition, envelope.definition])
def test_a_definition_is_made_afresh_so_that_nobody_can_spoil_it(definition: Any):
    before = repr(definition())
    spoil(definition())
    assert repr(definition()) == before


def test_the_tool_shows_its_name_description_and_schema():
    tool = TodoWriteTool(".")
    assert tool.name == "TodoWrite"
    assert tool.definition == {
        "name": "TodoWrite",
        "description": tool.description,
        "parameters": build_envelope_parameters(),
    }


ENVELOPE_ITEM = st.fixed_dictionaries(
    {
        "content": st.text("abc修", min_size=1, max_size=60),
        "status": st.sampled_from(["pending", "completed", "cancelled"]),
    },
    optional={"id": st.text()},
)


@given(st.text("xyz", min_size=1), st.lists(ENVELOPE_ITEM, max_size=10))
def test_what_the_envelope_schema_and_its_limits_allow_is_accepted(summary: str, todos: list[dict[str, str]]):
    found = answer(TodoWriteTool("\0nowhere"), {"summary": summary, "todos": todos})
    assert found["status"] in ("success", "partial")
    assert [entry["content"] for entry in found["data"]["todos"]] == [entry["content"] for entry in todos]


AGENT_ITEM = st.fixed_dictionaries(
    {
        "content": st.text("abc修", min_size=1, max_size=200),
        "activeForm": st.text("abc修", min_size=1, max_size=200),
        "status": st.sampled_from(["pending", "completed"]),
    }
)


@given(st.lists(AGENT_ITEM, max_size=50))
def test_what_the_agent_schema_allows_is_accepted(todos: list[dict[str, str]]):
    found = agent.run(headway.open(memory=True), {"todos": todos})
    assert found.ok
    assert [(todo.content, todo.active_form, todo.status.value) for todo in found.todos] == [
        (entry["content"], entry["activeForm"], entry["status"]) for entry in todos
    ]
