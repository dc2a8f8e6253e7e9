"""`write_todos`: the whole list with all that a plan's steps have; offered only where it is asked for."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from tests.support.growth import assert_linear
from tests.support.tables import check_rows

import headway
from headway import Session
from headway.core.events import ListDelta
from headway.planner.config import TodoToolsName
from headway.tools import Executor, WriteTodos, builtin_tools
from headway.tools.base import ToolFault
from headway.tools.effects import Effect
from headway.tools.todos import TodoWrite, UpdateTodoItem, make_todo_tools, resolve_tools

from .conftest import Call, context_of, in_memory_and_on_disk

TIME = "2025-01-02T17:42:33.123Z"
FULL: dict[str, Any] = {
    "id": "step-2",
    "description": "写测试",
    "status": "in_progress",
    "priority": "high",
    "module": "parser",
    "dependencies": ["step-1"],
    "risks": ["Slow"],
    "estimatedTime": "45min",
    "verify": "make test",
    "createdFrom": "plan",
    "createdAt": TIME,
    "completedAt": None,
}


def item(todo_id: str, *needed: str, **fields: object) -> dict[str, object]:
    found: dict[str, object] = {"id": todo_id, "description": f"Do {todo_id}", "status": "pending", **fields}
    return {**found, "dependencies": list(needed)} if needed else found


async def faults(session: Session, tmp_path: Path, sent: object) -> list[str]:
    before = session.version
    tool = WriteTodos()
    with pytest.raises(ToolFault) as caught:
        await tool.run(tool.parse_input(sent), context_of(tmp_path, session))
    first, *lines = str(caught.value).split("\n- ")
    assert first == "write_todos changed nothing. Correct this and call it again:"
    assert session.version == before
    return lines


@in_memory_and_on_disk
async def test_every_field_is_kept(session: Session, call: Call):
    result = await call(WriteTodos(), todos=[item("step-1", status="completed", completedAt=TIME), FULL])
    assert (result.text, result.ok) == ("Todo list updated: 1 completed, 1 in_progress", True)
    first, second = session.todos
    assert (first.id, first.status, first.completed_at) == ("step-1", "completed", TIME)
    found = [getattr(second, name) for name in ("id", "content", "status", "priority", "module", "depends_on")]
    assert found == ["step-2", "写测试", "in_progress", "high", "parser", ("step-1",)]
    assert (second.risks, second.estimated_time, second.created_from) == (("Slow",), "45min", "plan")
    assert second.verify == "make test"
    assert (second.created_at, second.completed_at) == (TIME, None)


@pytest.mark.parametrize("status", ["pending", "in_progress", "completed", "cancelled"])
async def test_each_status_is_taken_and_counted(session: Session, call: Call, status: str):
    result = await call(WriteTodos(), todos=[item("a", status=status)])
    assert result.text == f"Todo list updated: 1 {status}"
    assert session.todos[0].status == status


async def test_times_that_are_null_are_those_of_the_list(session: Session, call: Call):
    await call(WriteTodos(), todos=[item("a", status="completed", createdAt=None, completedAt=None)])
    [todo] = session.todos
    assert todo.created_at is not None and todo.completed_at is not None


async def test_it_always_replaces_and_names_what_is_dropped(session: Session, call: Call):
    await call(WriteTodos(), todos=[item("a"), item("b", "a")])
    result = await call(WriteTodos(), todos=[item("b", status="completed")])
    assert [todo.id for todo in session.todos] == ["b"]
    assert result.text.splitlines() == [
        "Todo list updated: 1 completed",
        "Note: 1 unfinished todo was dropped: Do a",
        "Note: 1 dependency on dropped todos removed: b on a",
    ]
    assert (await call(WriteTodos(), todos=[])).text == "Todo list cleared"
    session.undo(2)
    assert [todo.id for todo in session.todos] == ["a", "b"]


async def test_what_is_left_out_of_an_item_stays_and_what_is_sent_empty_goes(session: Session, call: Call):
    await call(WriteTodos(), todos=[item("step-1"), FULL])
    await call(WriteTodos(), todos=[item("step-1"), {**item("step-2"), "description": "写测试"}])
    assert (session.todos[1].module, session.todos[1].depends_on) == ("parser", ("step-1",))
    empty: dict[str, object] = {"dependencies": [], "module": None, "priority": None}
    await call(WriteTodos(), todos=[item("step-1"), {**item("step-2"), "description": "写测试", **empty}])
    assert (session.todos[1].module, session.todos[1].depends_on, session.todos[1].priority) == (None, (), None)


async def test_its_statuses_are_the_models_own_and_no_loop_keeps_the_list(session: Session, call: Call):
    session.set_plan({"title": "T", "overview": "O", "steps": [{"id": "a", "description": "Do a"}]})
    session.plan_to_todos()
    assert session.todo_list.kept_by_loop
    await call(WriteTodos(), todos=[item("a", status="in_progress")])
    assert not session.todo_list.kept_by_loop
    [*_, last] = session.events()
    assert isinstance(last.data, ListDelta) and (last.actor, last.data.cause) == ("model", "write")


async def test_several_may_be_in_progress(session: Session, call: Call):
    await call(WriteTodos(), todos=[item("a", status="in_progress"), item("b", status="in_progress")])
    assert [todo.status for todo in session.todos] == ["in_progress", "in_progress"]


STATUSES = "'pending' | 'in_progress' | 'completed' | 'cancelled'"


FAULTY: list[tuple[object, list[str]]] = [
    ({}, ["todos: Required"]),
    (None, ["todos: Required"]),
    ("", ["todos: Required"]),
    ("null", ["(root): Expected object, received null"]),
    ([item("a")], ["(root): Expected object, received array"]),
    ({"todos": {}}, ["todos: Expected array, received object"]),
    ({"todos": None}, ["todos: Expected array, received null"]),
    ({"todos": [3]}, ["todos[0]: Expected object, received number"]),
    ({"todos": [{}]}, ["todos[0].id: Required", "todos[0].description: Required", "todos[0].status: Required"]),
    ({"todos": [item(" ", description="")]}, ["todos[0].id: Required", "todos[0].description: Required"]),
    ({"todos": [item("a", id=1)]}, ["todos[0].id: Expected string, received number"]),
    ({"todos": [item("a", description=None)]}, ["todos[0].description: Expected string, received null"]),
    ({"todos": [item("a", status="blocked")]}, [f"todos[0].status: Expected {STATUSES}, received 'blocked'"]),
    ({"todos": [item("a", status="done")]}, [f"todos[0].status: Expected {STATUSES}, received 'done'"]),
    ({"todos": [item("a", status=None)]}, [f"todos[0].status: Expected {STATUSES}, received null"]),
    ({"todos": [item("a", priority="1")]}, ["todos[0].priority: Expected 'high' | 'medium' | 'low', received '1'"]),
    ({"todos": [item("a", module=1)]}, ["todos[0].module: Expected string, received number"]),
    ({"todos": [item("a", risks="r")]}, ["todos[0].risks: Expected array, received string"]),
    ({"todos": [item("a", risks=[1])]}, ["todos[0].risks: Expected strings, received number"]),
    ({"todos": [item("a", estimatedTime=4)]}, ["todos[0].estimatedTime: Expected string, received number"]),
    ({"todos": [item("a", createdFrom="me")]}, ["todos[0].createdFrom: Expected 'plan' | 'manual', received 'me'"]),
    ({"todos": [item("a", createdAt="now")]}, ["todos[0].createdAt: Expected an ISO 8601 time, received 'now'"]),
    ({"todos": [item("a", completedAt=1)]}, ["todos[0].completedAt: Expected string, received number"]),
    ({"todos": [item("a", dependencies="b")]}, ["todos[0].dependencies: Expected array, received string"]),
    ({"todos": [item("a", "b")]}, ["todos[0].dependencies: Unknown id 'b'"]),
    ({"todos": [item("a", "a")]}, ["todos[0].dependencies: 'a' depends on itself"]),
    ({"todos": [item("step-1", "step-3"), item("x"), item("step-3", "step-1")]}, [
        "todos: Dependency cycle step-1 → step-3 → step-1"]),
    ({"todos": [item("a"), item("a")]}, ["todos[1].id: Duplicate id 'a'"]),
    ({"todos": [item("a", content="x")]}, ["todos[0].content: Unknown field"]),
    ({"todos": [item("a", depends_on=[])]}, ["todos[0].depends_on: Unknown field"]),
    ({"todos": [item("a", activeForm="x", notes="y")]}, [
        "todos[0].activeForm: Unknown field", "todos[0].notes: Unknown field"]),
    ({"todos": [], "merge": True}, ["merge: Unknown field"]),
    ('{"todos":[],"todos":[{"id":"a","id":"a","description":"b","status":"pending"}]}', [
        "todos[0].id: Duplicate field", "todos: Duplicate field"]),
]  # fmt: skip


def test_each_fault_has_its_text_and_nothing_changes(session: Session, tmp_path: Path):
    def check(sent: object, expected: list[str]) -> None:
        assert asyncio.run(faults(session, tmp_path, sent)) == expected

    check_rows(FAULTY, check)


async def test_all_faults_are_named_in_one_answer(session: Session, tmp_path: Path):
    sent = {"todos": [item("a", "b"), item("b", "a", "gone", status="blocked"), item("b"), {"id": "c"}, 3], "x": 1}
    assert await faults(session, tmp_path, sent) == [
        f"todos[1].status: Expected {STATUSES}, received 'blocked'",
        "todos[3].description: Required",
        "todos[3].status: Required",
        "todos[4]: Expected object, received number",
        "todos[2].id: Duplicate id 'b'",
        "todos[1].dependencies: Unknown id 'gone'",
        "todos: Dependency cycle a → b → a",
        "x: Unknown field",
    ]


async def test_dependencies_that_were_kept_count_too(session: Session, call: Call, tmp_path: Path):
    await call(WriteTodos(), todos=[item("a"), item("b", "a")])
    assert await faults(session, tmp_path, {"todos": [item("a", "b"), item("b")]}) == [
        "todos: Dependency cycle a → b → a"
    ]


def test_what_is_no_json_is_refused():
    with pytest.raises(ToolFault, match=r"write_todos was not run: its arguments are not valid JSON \(expecting value"):
        WriteTodos().parse_input('{"todos":')


async def test_without_a_session_the_answer_says_so(tmp_path: Path):
    tool = WriteTodos()
    with pytest.raises(ToolFault, match="write_todos was not run: this run has no session and therefore no list"):
        await tool.run(tool.parse_input({"todos": []}), context_of(tmp_path, None))


async def test_a_thousand_items_are_checked_in_one_pass(session: Session, call: Call):
    todos = [item(f"s{n}", *{f"s{(n * 7 + k) % n}" for k in range(5) if n}) for n in range(1_000)]
    assert (await call(WriteTodos(), todos=todos)).text.startswith("Todo list updated: 1000 pending")
    assert_linear(lambda size: headway.open(memory=True).write(todos[:size]), 250)


async def test_plan_mode_refuses_it(session: Session, tmp_path: Path):
    executor = Executor([WriteTodos()], session, project=tmp_path)
    assert WriteTodos().effect is Effect.TODO
    session.set_plan_mode(True)
    result = await executor.call("write_todos", {"todos": [item("a")]})
    assert (result.ok, result.denied, session.todos) == (False, True, [])
    assert executor.list_offered() == []


# where it is offered


@pytest.mark.parametrize("kind", ["full", "light", "plan", "off"])
def test_a_run_has_the_todo_tools_of_one_kind_whatever_is_passed(kind: TodoToolsName, tmp_path: Path):
    usual = [tool.name for tool in make_todo_tools(kind)]
    assert ("write_todos" in usual) is (kind == "plan") and ("write_todos" not in usual or len(usual) == 1)
    assert [tool.name for tool in builtin_tools(tmp_path, todo_tools=kind)][-len(usual) or 99 :] == usual
    given = resolve_tools([TodoWrite(), WriteTodos(), UpdateTodoItem()], kind, str(tmp_path))
    assert [tool.name for tool in given] == usual


def test_the_description_and_the_input_are_pinned():
    tool = WriteTodos()
    assert 50 < len(tool.description) < 300
    assert len(json.dumps(tool.parameters())) < 1_200
    assert tool.parameters()["properties"]["todos"]["items"]["properties"] == snapshot(
        {
            "id": {"type": "string"},
            "description": {"description": "What to do, in the imperative.", "type": "string"},
            "status": {"enum": ["pending", "in_progress", "completed", "cancelled"], "type": "string"},
            "priority": {"enum": ["high", "medium", "low"], "type": "string"},
            "module": {"type": "string"},
            "dependencies": {
                "description": "Ids of items that must be completed first.",
                "items": {"type": "string"},
                "type": "array",
            },
            "risks": {"items": {"type": "string"}, "type": "array"},
            "estimatedTime": {"type": "string"},
            "verify": {
                "description": "A command that fails until the item is done, such as its tests.",
                "type": "string",
            },
            "createdFrom": {"enum": ["plan", "manual"], "type": "string"},
            "createdAt": {"description": "ISO 8601.", "type": "string"},
            "completedAt": {"type": "string"},
        }
    )
