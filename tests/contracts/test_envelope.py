"""The envelope contract: `TodoWriteTool.run` takes a dict and always answers the Standard Envelope."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import check_rows

import headway
from headway import Session, Status
from headway.tools.todo_write import TodoWriteTool

from .envelopes import accepted, answer, params, todo, violations
from .samples import Updates, contents, files_in, ids

STATUSES = "'pending' | 'in_progress' | 'completed' | 'cancelled'"


@pytest.fixture
def tool(folder: Path, session: Session) -> TodoWriteTool:
    return TodoWriteTool(project_root=folder, session=session)


# The answer to an accepted call.


def test_the_chinese_example_is_answered_exactly(tool: TodoWriteTool, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    sent = params(
        todo("修复重叠检测", "in_progress"),
        todo("更新文档"),
        todo("跑通测试", "completed"),
        todo("性能优化脚本", "cancelled"),
        summary="修复 multi_edit 重叠检测并完善文档",
    )
    found = answer(tool, sent)
    time_ms = found["stats"].pop("time_ms")
    assert 0 <= time_ms < 10_000
    assert found == {
        "status": "success",
        "data": {
            "todos": [
                {"id": "t1", "content": "修复重叠检测", "status": "in_progress"},
                {"id": "t2", "content": "更新文档", "status": "pending"},
                {"id": "t3", "content": "跑通测试", "status": "completed"},
                {"id": "t4", "content": "性能优化脚本", "status": "cancelled"},
            ],
            "recap": "[2/4] In progress: 修复重叠检测. Pending: 更新文档. Cancelled: 性能优化脚本.",
            "summary": "修复 multi_edit 重叠检测并完善文档",
        },
        "text": (
            "--- TODO UPDATE ---\n[▶] 修复重叠检测\n[ ] 更新文档\n[✓] 跑通测试\n[~] 性能优化脚本\n-------------------"
        ),
        "stats": {"total": 4, "pending": 1, "in_progress": 1, "completed": 1, "cancelled": 1},
        "context": {"cwd": ".", "params_input": sent},
    }


def test_in_plan_mode_a_call_is_refused_and_changes_nothing(tool: TodoWriteTool, session: Session):
    session.set_plan_mode(True)
    found = answer(tool, params(todo("A")))
    assert (found["status"], found["error"]["code"]) == ("error", "INVALID_PARAM")
    assert "not available in plan mode" in found["text"]
    assert session.todos == []
    session.set_plan_mode(False)
    accepted(tool, todo("A"))


def test_the_answer_is_readable_text_not_escapes(tool: TodoWriteTool):
    assert "修复" in tool.run(params(todo("修复")))


def test_an_empty_list_clears_and_is_never_logged(tool: TodoWriteTool, folder: Path):
    accepted(tool, todo("A"))
    found = accepted(tool)
    assert found["data"] == {"todos": [], "recap": "[0/0] In progress: None.", "summary": "The whole task"}
    assert found["text"].split("\n")[0] == "--- TODO UPDATE ---"
    assert found["text"].split("\n")[-1] == "Note: 1 unfinished todo was dropped: A"
    assert found["stats"]["total"] == 0
    assert tool.session.todos == []
    assert files_in(folder) == []


def test_dropped_items_are_named_after_the_dashes(tool: TodoWriteTool):
    accepted(tool, todo("A", "in_progress"), todo("B"), todo("C", "cancelled"))
    assert accepted(tool, todo("D"))["text"] == (
        "--- TODO UPDATE ---\n[ ] D\n-------------------\nNote: 2 unfinished todos were dropped: A; B"
    )


def test_content_keeps_to_its_line_in_the_text_and_is_whole_in_the_data(tool: TodoWriteTool):
    found = accepted(tool, todo("two\nlines \x1b[31mred"), todo("plain"))
    assert found["text"].split("\n")[1:3] == ["[ ] two lines ␛[31mred", "[ ] plain"]
    assert found["data"]["todos"][0]["content"] == "two\nlines \x1b[31mred"


def test_ids_are_positions_and_ids_that_are_sent_are_ignored(tool: TodoWriteTool):
    accepted(tool, todo("A"), todo("B"))
    found = accepted(tool, {**todo("B"), "id": "t9"}, {**todo("C"), "id": "t1"}, {**todo("A"), "id": ""})
    assert [(entry["id"], entry["content"]) for entry in found["data"]["todos"]] == [
        ("t1", "B"),
        ("t2", "C"),
        ("t3", "A"),
    ]
    assert ids(tool.session) == ["t2", "t3", "t1"]


def test_a_call_with_known_ids_still_replaces_the_list(tool: TodoWriteTool):
    accepted(tool, todo("A"), todo("B"))
    accepted(tool, {**todo("A", "completed"), "id": "t1"})
    assert contents(tool.session) == ["A"]


def test_summary_and_content_are_trimmed(tool: TodoWriteTool):
    found = accepted(tool, todo("  A\n", " completed "), todo("B"), summary="\n The task ")
    assert found["data"]["summary"] == "The task"
    assert found["data"]["todos"][0] == {"id": "t1", "content": "A", "status": "completed"}
    assert tool.session.todo_list.summary == "The task"


def test_an_identical_call_is_answered_as_usual_and_changes_nothing(tool: TodoWriteTool):
    first = accepted(tool, todo("A"))
    heard: Updates = []
    tool.session.on("todos:update", heard.append)
    version = tool.session.version
    second = accepted(tool, todo("A"))
    del first["stats"]["time_ms"], second["stats"]["time_ms"]
    assert first == second
    assert (tool.session.version, heard) == (version, [])


def test_a_change_fires_the_full_list(tool: TodoWriteTool, updates: Updates):
    accepted(tool, todo("A"), todo("B", "cancelled"))
    assert [[(entry.content, entry.status) for entry in heard] for heard in updates] == [
        [("A", Status.PENDING), ("B", Status.CANCELLED)]
    ]


def test_items_keep_what_the_contract_cannot_carry(tool: TodoWriteTool):
    tool.session.write([{"content": "A", "activeForm": "Doing A", "priority": "low", "notes": "x"}])
    accepted(tool, todo("New"), todo("A", "in_progress"))
    kept = tool.session.todos[1]
    assert (kept.id, kept.active_form, kept.priority, kept.notes) == ("t1", "Doing A", "low", "x")


def test_a_listener_that_changes_the_list_does_not_change_the_answer(tool: TodoWriteTool):
    def add_once(todos: object) -> None:
        off()
        tool.session.add("Added by a listener")

    off = tool.session.on("todos:update", add_once)
    found = accepted(tool, todo("A", "completed"))
    assert [entry["content"] for entry in found["data"]["todos"]] == ["A"]
    assert found["stats"]["total"] == 1
    assert contents(tool.session) == ["A", "Added by a listener"]


# Limits and violations.


def test_ten_items_are_accepted_and_eleven_are_not(tool: TodoWriteTool):
    accepted(tool, *(todo(f"Task {n}") for n in range(10)))
    assert violations(tool, params(*(todo(f"Task {n}") for n in range(11)))) == [
        "todos: Must have at most 10 items, received 11"
    ]


@pytest.mark.parametrize("letter", ["x", "修", "👩"])
def test_sixty_characters_are_accepted_and_sixty_one_are_not(tool: TodoWriteTool, letter: str):
    accepted(tool, todo(f"  {letter * 60}  "))
    assert violations(tool, params(todo(letter * 61))) == [
        "todos[0].content: Must be at most 60 characters, received 61"
    ]


def test_limits_from_the_environment_are_not_for_this_contract(tool: TodoWriteTool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TODO_MAX_ITEMS", "1")
    monkeypatch.setenv("TODO_MAX_CONTENT_LENGTH", "1")
    accepted(tool, *(todo(f"Task {n}") for n in range(10)))


def test_a_summary_may_be_long(tool: TodoWriteTool):
    assert accepted(tool, summary="x" * 100_000)["data"]["summary"] == "x" * 100_000


WRONG: list[tuple[object, list[str]]] = [
    (None, ["(root): Expected object, received null"]),
    ([], ["(root): Expected object, received array"]),
    ("{}", ["(root): Expected object, received string"]),
    (3.5, ["(root): Expected object, received number"]),
    (True, ["(root): Expected object, received boolean"]),
    ({}, ["summary: Required", "todos: Required"]),
    ({"todos": []}, ["summary: Required"]),
    ({"summary": "x"}, ["todos: Required"]),
    (params(summary=""), ["summary: Required"]),
    (params(summary=" \n"), ["summary: Required"]),
    (params(summary=None), ["summary: Expected string, received null"]),
    (params(summary=["x"]), ["summary: Expected string, received array"]),
    ({"summary": "x", "todos": "A"}, ["todos: Expected array, received string"]),
    ({"summary": "x", "todos": None}, ["todos: Expected array, received null"]),
    ({**params(), "title": "x"}, ["title: Unknown field"]),
    (params(7), ["todos[0]: Expected object, received number"]),
    (params({}), ["todos[0].content: Required", "todos[0].status: Required"]),
    (params({"content": "A"}), ["todos[0].status: Required"]),
    (params({"status": "pending"}), ["todos[0].content: Required"]),
    (params(todo("  ")), ["todos[0].content: Required"]),
    (params({"content": 5, "status": "pending"}), ["todos[0].content: Expected string, received number"]),
    (params(todo("A", "blocked")), [f"todos[0].status: Expected {STATUSES}, received 'blocked'"]),
    (params({**todo("A"), "activeForm": "Doing A"}), ["todos[0].activeForm: Unknown field"]),
    (params({**todo("A"), "priority": "high"}), ["todos[0].priority: Unknown field"]),
    (
        params(todo("A", "in_progress"), todo("B", "in_progress")),
        ["todos: At most one item may be in_progress, received 2"],
    ),
    (
        params({**todo("", "done"), "x": 1}, *(todo("y" * 61, "in_progress") for _ in range(10)), summary=" "),
        [
            "summary: Required",
            "todos[0].content: Required",
            f"todos[0].status: Expected {STATUSES}, received 'done'",
            "todos[0].x: Unknown field",
            *(f"todos[{n}].content: Must be at most 60 characters, received 61" for n in range(1, 11)),
            "todos: Must have at most 10 items, received 11",
            "todos: At most one item may be in_progress, received 10",
        ],
    ),
]


def test_a_wrong_call_is_refused_with_every_violation_and_echoed(tool: TodoWriteTool):
    accepted(tool, todo("Before", "in_progress"), todo("Done", "completed"))
    heard: Updates = []
    tool.session.on("todos:update", heard.append)
    before, version = tool.session.todos, tool.session.version

    def check(sent: object, lines: list[str]) -> None:
        assert violations(tool, sent) == lines
        assert (tool.session.todos, tool.session.version, heard) == (before, version, [])
        found = answer(tool, sent)
        assert found["context"]["params_input"] == sent
        assert (found["stats"]["total"], found["stats"]["in_progress"], found["stats"]["completed"]) == (2, 1, 1)

    check_rows(WRONG, check)


def test_one_item_in_progress_and_none_are_both_fine(tool: TodoWriteTool):
    assert accepted(tool, todo("A", "in_progress"))["stats"]["in_progress"] == 1
    assert accepted(tool, todo("A"))["stats"]["in_progress"] == 0


# The recap.


@pytest.mark.parametrize(
    ("todos", "recap"),
    [
        ([], "[0/0] In progress: None."),
        ([todo("a")], "[0/1] In progress: None. Pending: a."),
        ([todo("a", "in_progress")], "[0/1] In progress: a."),
        ([todo("a", "cancelled"), todo("b")], "[1/2] In progress: None. Pending: b. Cancelled: a."),
        (
            [*(todo(name) for name in "abcd"), todo("z", "in_progress")],
            "[0/5] In progress: z. Pending: a; b; c.",
        ),
        (
            [todo("a", "in_progress"), *(todo(name, "cancelled") for name in "xyz"), todo("done", "completed")],
            "[4/5] In progress: a. Cancelled: x; y.",
        ),
        (
            [todo("a", "cancelled"), todo("b"), todo("c", "in_progress"), todo("d"), todo("e", "completed")],
            "[2/5] In progress: c. Pending: b; d. Cancelled: a.",
        ),
    ],
)
def test_the_recap_names_what_matters(tool: TodoWriteTool, todos: list[object], recap: str):
    assert accepted(tool, *todos)["data"]["recap"] == recap


def test_a_finished_list_has_a_recap_of_counts_and_cancelled_items(tool: TodoWriteTool):
    assert accepted(tool, todo("a", "completed"))["data"]["recap"] == "[1/1] In progress: None."


def test_a_long_recap_shortens_items_but_never_the_counts(tool: TodoWriteTool):
    names = [f"{letter} " + "修" * 58 for letter in "abcdef"]
    statuses = ["in_progress", "pending", "pending", "pending", "cancelled", "cancelled"]
    recap = accepted(tool, *map(todo, names, statuses))["data"]["recap"]
    assert 280 < len(recap) < 300
    assert recap.startswith("[2/6] In progress: a 修修")
    assert recap.count("…") == 6
    assert all(f" {letter} 修" in recap for letter in "abcdef")
    assert recap.endswith("….")


@given(st.lists(st.tuples(st.text(min_size=1, max_size=60), st.sampled_from(list("pxcz"))), max_size=10))
def test_any_recap_is_one_line_under_300_characters(drawn: list[tuple[str, str]]):
    statuses = {"p": "pending", "x": "cancelled", "c": "pending", "z": "pending"}
    tool = TodoWriteTool(".")
    found = answer(tool, params(*(todo(text, statuses[code]) for text, code in drawn), todo("end")))
    if found["status"] == "success":
        recap = found["data"]["recap"]
        cancelled = sum(code == "x" for _, code in drawn)
        assert recap.startswith(f"[{cancelled}/{len(drawn) + 1}] In progress: None. Pending: ")
        assert len(recap.splitlines()) == 1
        assert len(recap) < 300


# Context.


def test_cwd_is_relative_to_the_project(tool: TodoWriteTool, folder: Path, monkeypatch: pytest.MonkeyPatch):
    inner = folder / "src" / "deep"
    inner.mkdir(parents=True)
    for place, shown in ((folder, "."), (inner, "src/deep"), (folder.parent, "..")):
        monkeypatch.chdir(place)
        assert accepted(tool)["context"]["cwd"] == shown


def test_cwd_is_the_same_when_the_project_is_named_through_a_link(folder: Path, monkeypatch: pytest.MonkeyPatch):
    link = folder.parent / "link"
    link.symlink_to(folder)
    monkeypatch.chdir(folder)
    assert accepted(TodoWriteTool(link))["context"]["cwd"] == "."


def test_a_working_folder_that_is_gone_is_no_reason_to_fail(
    tool: TodoWriteTool, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        assert accepted(tool, todo("A"))["context"]["cwd"] == "."
    finally:
        os.chdir(folder)


def test_time_is_measured_in_whole_milliseconds(tool: TodoWriteTool):
    def slow(todos: object) -> None:
        time.sleep(0.02)

    tool.session.on("todos:update", slow)
    assert 20 <= accepted(tool, todo("A"))["stats"]["time_ms"] < 5_000


def test_the_input_is_not_changed_by_the_call(tool: TodoWriteTool):
    sent = params({**todo(" A ", " pending "), "id": "t7"}, summary=" s ")
    before = repr(sent)
    found = answer(tool, sent)
    assert repr(sent) == before
    assert found["context"]["params_input"] == sent


def test_every_row_of_the_contract_holds_over_a_stored_session_too(folder: Path):
    stored = headway.open(folder)
    tool = TodoWriteTool(folder, stored)
    accepted(tool, todo("A", "in_progress"), todo("B", "cancelled"))
    stored.close()
    again = headway.open(folder)
    assert [(entry.content, entry.status.value) for entry in again.todos] == [("A", "in_progress"), ("B", "cancelled")]
    assert again.todo_list.summary == "The whole task"
