"""The todo tools as a set: which there are, what a model is told of them, and what holds for each."""

from __future__ import annotations

import asyncio
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from tests.support.tables import check_rows

from headway import HeadwayError, Session
from headway.contracts import agent
from headway.core.events import ListDelta
from headway.planner.config import TodoToolsName
from headway.tools.base import Tool, ToolFault
from headway.tools.effects import Effect
from headway.tools.executor import Executor
from headway.tools.todos import CreateTodoList, TodoTool, TodoWrite, UpdateTodoItem, make_todo_tools
from headway.views.history import history_lines

from .conftest import Call, context_of, in_memory_and_on_disk

SOUND: list[tuple[Tool[Any], dict[str, Any]]] = [
    (TodoWrite(), {"todos": []}),
    (CreateTodoList(), {"items": [{"description": "A"}]}),
    (UpdateTodoItem(), {"item_id": "t1", "status": "completed"}),
    (TodoTool(), {"add": ["A"]}),
]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("full", ["TodoWrite", "create_todo_list", "update_todo_item"]),
        ("light", ["create_todo_list", "todo"]),
        ("plan", ["write_todos"]),
        ("off", []),
    ],
)
def test_how_much_a_model_is_given_is_a_choice_in_a_fixed_order(kind: TodoToolsName, names: list[str]):
    assert [tool.name for tool in make_todo_tools(kind)] == names


def test_another_choice_is_refused_with_those_there_are():
    with pytest.raises(HeadwayError, match="'some'; choose from: full, light, plan, off"):
        make_todo_tools("some")  # pyright: ignore


@pytest.mark.parametrize(("tool", "arguments"), SOUND)
def test_each_changes_todos_and_nothing_else(tool: Tool[Any], arguments: dict[str, Any]):
    assert tool.effect_of(tool.parse_input(arguments)) is Effect.TODO


@pytest.mark.parametrize(("tool", "arguments"), SOUND)
async def test_without_a_session_the_answer_says_so(tool: Tool[Any], arguments: dict[str, Any], tmp_path: Path):
    with pytest.raises(ToolFault, match=f"{tool.name} was not run: this run has no session"):
        await tool.run(tool.parse_input(arguments), context_of(tmp_path, None))


def test_what_is_no_object_is_refused():
    def check(tool: Tool[Any], arguments: object) -> None:
        with pytest.raises(ToolFault, match=f"{tool.name} was not run"):
            tool.parse_input(arguments)

    check_rows(product([CreateTodoList(), UpdateTodoItem(), TodoTool()], [[], "[]", "x", 1]), check)


async def test_changes_of_a_model_are_logged_as_its_own(session: Session, call: Call):
    await call(CreateTodoList(), items=[{"description": "A"}, {"description": "B"}])
    await call(UpdateTodoItem(), item_id="t1", status="in_progress")
    await call(TodoTool(), done=["t1"])
    await call(TodoWrite(), todos=[])
    logged = [(event.actor, event.data.cause) for event in session.events() if isinstance(event.data, ListDelta)]
    assert logged == [("model", "create"), ("model", "update"), ("model", "advance"), ("model", "write")]


async def test_the_history_tells_what_they_did(session: Session, call: Call):
    await call(CreateTodoList(), title="Parser", items=[{"description": "A"}, {"description": "B"}])
    await call(TodoTool(), done=["t1"], add=["C"])
    lines = history_lines(session.history())
    assert [line.split("  ")[-1] for line in lines if not line.startswith(" ")] == ["create", "advance"]
    assert [line.strip() for line in lines if line.startswith(" ")] == snapshot(
        [
            'title "Agent Tasks" → "Parser"',
            "now kept by the agent loop",
            'added t1 "A"',
            'added t2 "B"',
            'added t3 "C"',
            "t1 pending → completed",
            "t2 pending → in_progress",
        ]
    )


@in_memory_and_on_disk
async def test_calls_at_once_from_many_threads_are_all_in_the_log(session: Session, call: Call):
    await call(CreateTodoList(), items=[{"description": f"item {n}"} for n in range(20)])
    calls = [call(UpdateTodoItem(), item_id=f"t{n}", status="completed") for n in range(1, 21)]
    assert all(result.ok for result in await asyncio.gather(*calls))
    assert {todo.status for todo in session.todos} == {"completed"}
    assert session.version == 21


async def test_an_executor_offers_and_runs_none_of_them_in_plan_mode(session: Session, tmp_path: Path):
    executor = Executor([*make_todo_tools("full"), TodoTool()], session, project=tmp_path)
    assert (await executor.call("todo", '{"add":["A"]}')).text == "ok 0/1; added t1; nothing in progress"
    session.set_plan_mode(True)
    assert executor.list_offered() == []
    for tool, arguments in SOUND:
        result = await executor.call(tool.name, json.dumps(arguments))
        assert (result.ok, "plan mode" in result.text) == (False, True)
    assert [todo.content for todo in session.todos] == ["A"]


async def test_an_executor_hands_the_errors_of_the_list_to_the_model(session: Session, tmp_path: Path):
    executor = Executor([*make_todo_tools("full"), TodoTool()], session, project=tmp_path)
    await executor.call("create_todo_list", {"items": [{"description": "A"}]})
    result = await executor.call("update_todo_item", {"item_id": "t7", "status": "completed"})
    assert (result.ok, result.text) == (False, "No todo has the id 't7'; the ids are: t1.")


# TodoWrite


def test_todo_write_is_described_by_its_contract():
    tool = TodoWrite()
    told = {"name": tool.name, "description": tool.description, "parameters": tool.parameters()}
    assert told == agent.definition()


async def test_todo_write_answers_as_its_contract_does(session: Session, call: Call):
    item = {"content": "修复解析器", "activeForm": "正在修复", "status": "in_progress"}
    result = await call(TodoWrite(), todos=[item])
    assert (result.text, result.ok) == ("Todo list updated: 1 in_progress", True)
    assert [(todo.content, todo.status) for todo in session.todos] == [("修复解析器", "in_progress")]
    result = await call(TodoWrite(), todos=[])
    assert result.text == "Todo list cleared\nNote: 1 unfinished todo was dropped: 修复解析器"


REPEATED = [
    "todos[0]: Expected object, received number",
    "a: Unknown field",
    "todos: Duplicate field",
    "a: Duplicate field",
]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({}, ["todos: Required"]),
        ("", ["todos: Required"]),
        ([1], ["(root): Expected object, received array"]),
        (None, ["todos: Required"]),
        ("null", ["(root): Expected object, received null"]),
        ('{"todos":[{}],"a":1,"todos":[3],"a":2}', REPEATED),
        (
            {"todos": [{"content": " ", "status": "done", "colour": "red"}, 3], "summary": "x"},
            [
                "todos[0].content: Required",
                "todos[0].activeForm: Required",
                "todos[0].status: Expected 'pending' | 'in_progress' | 'completed', received 'done'",
                "todos[0].colour: Unknown field",
                "todos[1]: Expected object, received number",
                "summary: Unknown field",
            ],
        ),
    ],
)
async def test_todo_write_names_every_violation_as_its_contract_does(
    arguments: object, lines: list[str], session: Session, tmp_path: Path
):
    tool = TodoWrite()
    result = await tool.run(tool.parse_input(arguments), context_of(tmp_path, session))
    assert not result.ok
    assert result.text.splitlines()[1:] == [f"- {line}" for line in lines]
    assert session.version == 0


def test_todo_write_refuses_what_is_no_json():
    with pytest.raises(ToolFault, match="not valid JSON"):
        TodoWrite().parse_input('{"todos":')


@in_memory_and_on_disk
async def test_whose_list_it_is_follows_the_last_replacement(session: Session, call: Call):
    item = {"content": "A", "activeForm": "Doing A", "status": "pending"}
    await call(CreateTodoList(), items=[{"description": "A"}])
    assert session.todo_list.kept_by_loop
    await call(TodoTool(), start="t1")
    assert session.todo_list.kept_by_loop
    await call(TodoWrite(), todos=[item])
    assert not session.todo_list.kept_by_loop
    session.undo()
    assert session.todo_list.kept_by_loop


# what a model is told


def test_the_descriptions_are_short():
    for tool in (CreateTodoList(), UpdateTodoItem(), TodoTool()):
        assert 50 < len(tool.description) < 250


def test_the_schema_of_create_todo_list_is_pinned():
    assert CreateTodoList().parameters() == snapshot(
        {
            "additionalProperties": False,
            "properties": {
                "title": {"type": "string"},
                "items": {
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": {"type": "string", "description": "Needed only if other items depend on it."},
                            "description": {
                                "type": "string",
                                "description": "What to do, in the imperative.",
                                "maxLength": 1000,
                            },
                            "depends_on": {
                                "type": "array",
                                "items": {"type": "string"},
                                "description": "Ids of items that must be completed first.",
                            },
                            "notes": {"type": "string"},
                        },
                        "required": ["description"],
                        "additionalProperties": False,
                    },
                    "maxItems": 1000,
                    "type": "array",
                },
            },
            "required": ["items"],
            "type": "object",
        }
    )


def test_the_schema_of_update_todo_item_is_pinned():
    assert UpdateTodoItem().parameters() == snapshot(
        {
            "additionalProperties": False,
            "properties": {
                "item_id": {"type": "string"},
                "status": {"enum": ["pending", "in_progress", "completed", "blocked", "cancelled"], "type": "string"},
                "notes": {"type": "string"},
            },
            "required": ["item_id", "status"],
            "type": "object",
        }
    )


def test_the_schema_of_todo_is_pinned():
    assert TodoTool().parameters() == snapshot(
        {
            "additionalProperties": False,
            "properties": {
                "done": {"description": "Ids.", "items": {"type": "string"}, "type": "array"},
                "start": {"description": "Id of the todo to start; only needed to change the order.", "type": "string"},
                "block": {
                    "type": "object",
                    "properties": {"id": {"type": "string"}, "why": {"type": "string"}},
                    "required": ["id", "why"],
                    "additionalProperties": False,
                },
                "add": {"description": "Texts of new todos.", "items": {"type": "string"}, "type": "array"},
                "drop": {"description": "Ids.", "items": {"type": "string"}, "type": "array"},
            },
            "type": "object",
        }
    )


@pytest.mark.parametrize("kind", ["full", "light"])
def test_what_is_sent_with_every_request_stays_small(kind: TodoToolsName):
    """In characters; light, which is for saving tokens, is the smaller one."""
    sent = [json.dumps([tool.name, tool.description, tool.parameters()]) for tool in make_todo_tools(kind)]
    assert sum(map(len, sent)) < {"full": 2_700, "light": 1_800}[kind]
