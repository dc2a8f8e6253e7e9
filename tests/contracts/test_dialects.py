"""The list under the names of other todo tools: what they can say goes to and fro unchanged, and the rest stays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

import headway
from headway.contracts.arguments import ToolFault
from headway.contracts.dialects import Dialect, find_dialect, list_dialects
from headway.core.errors import HeadwayError
from headway.core.model import Priority, Status, Todo

NAMES = ("claude", "claude-tasks", "gemini", "codex", "opencode", "qwen", "langchain", "kimi")
WHOLE = tuple(name for name in NAMES if name != "claude-tasks")
TEXTS = st.sampled_from(["Read", "Write", "Test it", "修复", "a" * 300])
ITEM = st.fixed_dictionaries(
    {"content": TEXTS, "status": st.sampled_from(list(Status))},
    optional={
        "active_form": TEXTS,
        "priority": st.sampled_from(list(Priority)),
        "notes": TEXTS,
        "module": TEXTS,
        "verify": st.just("true"),
        "risks": st.lists(TEXTS, max_size=2),
        "depends_on": st.just(["t1"]),
    },
)


def begin(items: list[dict[str, Any]]) -> headway.Session:
    session = headway.open(memory=True)
    if items:
        items[0].pop("depends_on", None)
    session.write(items)
    return session


def call(session: headway.Session, dialect: Dialect, values: object, tool: int = 0) -> str:
    """A call as a model makes it: checked, then done."""
    chosen = dialect.tools[tool]
    return chosen.change(session, chosen.parse(values)).text


def root_of(dialect: Dialect) -> str:
    return dialect.tools[0].root


@pytest.mark.parametrize("name", WHOLE)
@given(items=st.lists(ITEM, max_size=6))
def test_the_list_sent_back_as_it_was_read_changes_nothing(name: str, items: list[dict[str, Any]]) -> None:
    dialect, session = find_dialect(name), begin(items)
    before = session.version, session.todos
    call(session, dialect, {root_of(dialect): dialect.read(session)})
    assert (session.version, session.todos) == before


@pytest.mark.parametrize("name", WHOLE)
@given(items=st.lists(ITEM, min_size=1, max_size=6), data=st.data())
def test_a_status_that_changes_changes_one_todo_and_only_its_status(
    name: str, items: list[dict[str, Any]], data: st.DataObject
) -> None:
    for number, item in enumerate(items):
        item["content"] += f" {number}"
    dialect, session = find_dialect(name), begin(items)
    shown = dialect.read(session)
    if not shown:
        return
    one = data.draw(st.sampled_from(shown))
    item = dialect.tools[0].parameters["properties"][root_of(dialect)]["items"]
    words: list[str] = item["properties"]["status"]["enum"]
    others = [word for word in words if word not in (one["status"], "pending")]
    one["status"] = data.draw(st.sampled_from(others or words))
    before = {todo.id: todo for todo in session.todos}
    call(session, dialect, {root_of(dialect): shown})
    after = {todo.id: todo for todo in session.todos}
    assert after.keys() == before.keys()
    changed = [todo_id for todo_id in before if before[todo_id] != after[todo_id]]
    assert len(changed) <= 1
    for todo_id in changed:
        assert list(kept_fields(before[todo_id])) == list(kept_fields(after[todo_id]))
        assert str(after[todo_id].status) == {"done": "completed"}.get(one["status"], one["status"])


def kept_fields(todo: Todo) -> Iterator[object]:
    for name in ("content", "active_form", "priority", "notes", "module", "verify", "risks", "depends_on"):
        yield getattr(todo, name)


@given(items=st.lists(ITEM, min_size=1, max_size=6))
def test_a_task_updated_to_what_it_is_stays_as_it_is(items: list[dict[str, Any]]) -> None:
    dialect, session = find_dialect("claude-tasks"), begin(items)
    before = session.todos
    for task in dialect.read(session):
        waits_for = task.pop("blockedBy")
        answer = call(session, dialect, {**task, "addBlockedBy": waits_for, "metadata": {"any": ["thing"]}}, 1)
        kept = session.todo_list.items[task["taskId"]].status
        assert (f"stays {kept}" in answer) == (kept is Status.BLOCKED)
    assert session.todos == before


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "gemini"])
def test_a_state_that_cannot_be_said_stays_until_another_one_is_said(name: str) -> None:
    dialect = find_dialect(name)
    session = begin([{"content": "A", "status": "blocked"}, {"content": "B", "status": "cancelled"}, {"content": "C"}])
    shown = dialect.read(session)
    assert [item["status"] for item in shown][:1] == ["pending"]
    assert "Note: 'A' stays blocked" in call(session, dialect, {root_of(dialect): shown})
    shown[0]["status"] = "in_progress"
    call(session, dialect, {root_of(dialect): shown})
    assert [str(todo.status) for todo in session.todos] == ["in_progress", "cancelled", "pending"]


def test_a_list_with_nothing_but_cancelled_todos_is_not_cleared_by_what_shows_none() -> None:
    session = begin([{"content": "A", "status": "cancelled"}])
    assert "only cancelled" in call(session, find_dialect("claude"), {"todos": []})
    assert len(session.todos) == 1
    assert call(session, find_dialect("gemini"), {"todos": []}) == "Todo list cleared"
    assert session.todos == []


def test_tasks_are_made_ordered_shown_and_deleted_one_by_one() -> None:
    session, dialect = headway.open(memory=True), find_dialect("claude-tasks")
    assert call(session, dialect, {}, 3) == "No tasks found"
    made = call(session, dialect, {"subject": "Read", "description": "All of it", "activeForm": "Reading"})
    assert made == "Task #t1 created successfully: Read"
    call(session, dialect, {"subject": "Write", "description": ""})
    call(session, dialect, {"subject": "Ship", "description": "", "metadata": {"a": 1}})
    assert call(session, dialect, {"taskId": "2", "status": "completed"} | {"taskId": "t2"}, 1) == "Updated task #t2"
    answer = call(session, dialect, {"taskId": "#t1", "addBlocks": ["t3"], "owner": "me", "status": "in_progress"}, 1)
    assert answer == "Updated task #t1\nNote: owner was not set; who works on a task claims it"
    assert call(session, dialect, {}, 3) == snapshot("""\
#t1 [in_progress] Read
#t2 [completed] Write
#t3 [pending] Ship [blocked by #t1]\
""")
    assert call(session, dialect, {"taskId": "t1"}, 2) == snapshot("""\
Task #t1: Read
Status: in_progress
Description: All of it
Blocks: #t3\
""")
    for wrong in ({"taskId": "t9"}, {"taskId": "t1", "status": "completed", "addBlocks": ["t9"]}):
        with pytest.raises(HeadwayError, match="No todo has the id 't9'"):
            call(session, dialect, wrong, 1)
    with pytest.raises(ToolFault, match="Dependency cycle"):
        call(session, dialect, {"taskId": "t1", "status": "completed", "addBlockedBy": ["t3"]}, 1)
    with pytest.raises(ToolFault, match="cannot block itself"):
        call(session, dialect, {"taskId": "t1", "addBlocks": ["t1"]}, 1)
    assert session.todos[0].status == "in_progress"
    assert call(session, dialect, {"taskId": "t1", "status": "deleted"}, 1) == "Deleted task #t1"
    assert session.todos[-1].depends_on == ()


def test_what_a_call_says_besides_the_list() -> None:
    session = begin([{"content": "A", "status": "in_progress"}])
    call(
        session, find_dialect("codex"), {"plan": [{"step": "A", "status": "completed"}], "explanation": "It was easy."}
    )
    assert (session.todo_list.summary, session.todos[0].status) == ("It was easy.", "completed")
    assert call(session, find_dialect("kimi"), {}) == "- [done] A"
    call(session, find_dialect("kimi"), {"todos": [{"title": "B", "status": "done"}]})
    assert session.todos[0].status == "completed"
    ids = [{"id": "x", "content": "B", "status": "completed"}, {"id": "y", "content": "C", "status": "pending"}]
    call(session, find_dialect("qwen"), {"todos": ids})
    assert [todo.id for todo in session.todos] == ["x", "y"]
    assert "1 unfinished todo was dropped: C" in call(session, find_dialect("langchain"), {"todos": []})


@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_named_in_the_words_of_the_dialect_and_changes_nothing(name: str) -> None:
    dialect, session = find_dialect(name), begin([{"content": "A"}])
    before = session.version
    tool = dialect.tools[1] if name == "claude-tasks" else dialect.tools[0]
    item = {"title": 5, "status": "finished", "todo": 1}
    values = {"taskId": "t1", "status": "finished", "todo": 1} if name == "claude-tasks" else {tool.root: [item]}
    with pytest.raises(ToolFault) as fault:
        tool.parse(values)
    words = {"kimi": "'pending' | 'in_progress' | 'done'"}.get(name, "'pending' | 'in_progress' | 'completed'")
    assert f"status: Expected {words}" in str(fault.value) and "todo: Unknown field" in str(fault.value)
    assert session.version == before


def test_what_models_are_told_is_pinned() -> None:
    tools = [tool for name in NAMES for tool in find_dialect(name).tools]
    assert all(tool.parameters["additionalProperties"] is False for tool in tools)
    assert [tool.name for tool in tools] == snapshot(
        [
            "TodoWrite",
            "TaskCreate",
            "TaskUpdate",
            "TaskGet",
            "TaskList",
            "write_todos",
            "update_plan",
            "todowrite",
            "todo_write",
            "write_todos",
            "SetTodoList",
        ]
    )
    assert find_dialect("opencode").tools[0].parameters == snapshot(
        {
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": {"type": "string", "maxLength": 10000},
                            "priority": {"type": "string", "enum": ["high", "medium", "low"]},
                            "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "cancelled"]},
                        },
                        "required": ["content", "priority", "status"],
                        "additionalProperties": False,
                    },
                }
            },
            "required": ["todos"],
            "additionalProperties": False,
        }
    )


def test_packages_add_dialects_by_an_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "from headway.contracts.dialects.gemini import DIALECT\nWRONG = 5\n"
    (tmp_path / "theirs.py").write_text(module, encoding="utf-8")
    info = tmp_path / "theirs-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n", encoding="utf-8")
    entries = "[headway.dialects]\ntheirs = theirs:DIALECT\nwrong = theirs:WRONG\nmissing = nowhere:X\n"
    (info / "entry_points.txt").write_text(entries, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert find_dialect("theirs") is find_dialect("gemini")
    assert list_dialects() == [*NAMES, "missing", "theirs", "wrong"]
    faults = {"wrong": "is not a dialect", "missing": "could not be loaded", "none": "There is no dialect"}
    for name, why in faults.items():
        with pytest.raises(HeadwayError, match=why):
            find_dialect(name)
