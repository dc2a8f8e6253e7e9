"""Exports carry the whole list, imports give it back, and no file brings more than an error sentence."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.tables import check_rows

import headway
from headway.core.model import Status, Todo
from headway.core.plans import Plan, PlanStep
from headway.views.checklist import to_markdown
from headway.views.export import from_json_export, import_items, to_csv, to_json_export

from .lists import KEPT, TIME, full_item, kept, lists, written
from .samples import HOSTILE, STATUSES, hostile_text, todo, todos

PLAN = Plan("Title", "Overview", (PlanStep("step-1", "Do it", dependencies=(), risks=("r",)),), risks=("overall",))


def imported(text: str, name: str = "list.json") -> list[Todo]:
    return written(import_items(text, name))


def refusal(text: str, name: str = "list.json") -> str:
    with pytest.raises(headway.HeadwayError) as caught:
        import_items(text, name)
    return str(caught.value)


def test_the_export_is_the_json_of_the_specification():
    assert to_json_export([full_item(), todo(3, status=Status.BLOCKED)], PLAN, TIME) == {
        "version": "1.0",
        "generatedAt": TIME,
        "sourcePlan": {
            "title": "Title",
            "overview": "Overview",
            "steps": [{"id": "step-1", "description": "Do it", "risks": ["r"]}],
            "risks": ["overall"],
        },
        "todos": [
            {
                "id": "t2",
                "description": "Fix the parser",
                "activeForm": "Fixing the parser",
                "status": "completed",
                "priority": "high",
                "module": "core",
                "dependencies": ["t1"],
                "risks": ["slow", "breaks, maybe"],
                "estimatedTime": "45min",
                "verify": "make test",
                "notes": "first\nsecond",
                "createdFrom": "plan",
                "createdAt": TIME,
                "completedAt": TIME,
            },
            {
                "id": "t3",
                "description": "Run tests",
                "activeForm": None,
                "status": "blocked",
                "priority": None,
                "module": None,
                "dependencies": [],
                "risks": [],
                "estimatedTime": None,
                "verify": None,
                "notes": None,
                "createdFrom": None,
                "createdAt": None,
                "completedAt": None,
            },
        ],
        "statistics": {"total": 2, "pending": 0, "in_progress": 0, "completed": 1, "cancelled": 0, "blocked": 1},
    }


def test_an_export_without_plan_and_items_has_every_key():
    exported = to_json_export([], None, TIME)
    assert exported["sourcePlan"] is None
    assert exported["todos"] == []
    assert exported["statistics"] == dict.fromkeys(
        ["total", "pending", "in_progress", "completed", "cancelled", "blocked"], 0
    )
    assert from_json_export(exported) == []


@given(lists(), st.booleans())
def test_any_list_comes_back_equal_from_its_export(items: list[Todo], ascii: bool):
    text = json.dumps(to_json_export(items, PLAN, TIME), ensure_ascii=ascii)
    assert kept(imported("\ufeff" + text)) == kept(items)


def test_importing_over_a_changed_list_unsets_what_was_unset_in_the_export():
    session = headway.open(memory=True)
    session.write([{"content": "a"}, {"content": "b"}])
    before = session.todos
    exported = to_json_export(session.todos, None, TIME)
    session.update("t1", priority="high", notes="n", depends_on=["t2"], risks=["r"], status="completed")
    session.write(from_json_export(exported), replace=True)
    assert kept(session.todos) == kept(before)


def test_a_bare_array_and_an_object_with_todos_are_read_too():
    assert [item.content for item in imported('[{"content": "a"}, {"description": "b", "status": "completed"}]')] == [
        "a",
        "b",
    ]
    assert [item.status for item in imported('{"todos": [{"description": "b"}]}')] == [Status.PENDING]


def test_what_a_file_does_not_say_is_unset():
    session = headway.open(memory=True)
    session.write([{"content": "a", "priority": "high", "notes": "n", "risks": ["r"], "status": "blocked"}])
    session.write(import_items('[{"id": "t1", "content": "a"}]', "a.json"), replace=True)
    made = session.todos[0].created_at
    assert made is not None
    assert kept(session.todos) == [
        ["t1", "a", None, Status.PENDING, None, None, (), (), None, None, None, None, made, None]
    ]


def test_every_fault_of_a_file_is_named():
    text = (
        '{"todos": [3, {"status": "done"}, {"content": " ", "x": 1}, {"content": "a", "content": "b"}], "todos": [4]}'
    )
    assert refusal(text.replace(', "todos": [4]', "")).split("\n")[1:] == [
        "- todos[0]: Expected object, received number",
        "- todos[1].description: Required",
        "- todos[1].status: Expected 'pending' | 'in_progress' | 'completed' | 'cancelled' | 'blocked',"
        " received 'done'",
        "- todos[2].content: Required",
        "- todos[2].x: Unknown field",
        "- todos[3].content: Duplicate field",
    ]
    assert "- todos: Duplicate field" in refusal(text)


def test_what_is_no_export_is_refused_in_one_sentence() -> None:
    def check(text: str, sentence: str) -> None:
        assert refusal(text) == sentence

    check_rows(
        [
            ("", "list.json is empty; expected a JSON export or a Markdown checklist."),
            (" \n\ufeff", "list.json is not valid JSON: expecting value at line 2, column 1."),
            ("[", "list.json is not valid JSON: expecting value at line 1, column 2."),
            ("[" * 200_000, "list.json is not valid JSON: it is nested too deeply."),
            ('{"a":' * 200_000, "list.json is not valid JSON: it is nested too deeply."),
            ("[NaN]", "list.json is not valid JSON: NaN is not a JSON value at line 1, column 2."),
            ("[-Infinity]", "list.json is not valid JSON: -Infinity is not a JSON value at line 1, column 2."),
            (f"[1{'0' * 5_000}]", "list.json is not valid JSON: it has a number with too many digits."),
            (
                '{"version": "2.0", "todos": []}',
                "This export has version 2.0, but this version of Headway reads only version 1.0.",
            ),
            (
                '{"version": 1, "todos": []}',
                "This export has version 1, but this version of Headway reads only version 1.0.",
            ),
            ("hello", "list.json is not valid JSON: expecting value at line 1, column 1."),
        ],
        check,
    )


def test_a_wrong_shape_is_named() -> None:
    def check(text: str, line: str) -> None:
        assert refusal(text).split("\n")[1:] == [line]

    check_rows(
        [
            ("{}", "- todos: Required"),
            ("null", "- todos: Expected array, received null"),
            ('{"todos": {}}', "- todos: Expected array, received object"),
            ('{"todos": "x"}', "- todos: Expected array, received string"),
            (
                '[{"content": "a", "createdAt": "yesterday"}]',
                "- todos[0].createdAt: Expected an ISO 8601 time, received 'yesterday'",
            ),
            ('[{"content": "a", "risks": [1e999]}]', "- todos[0].risks: Expected strings, received number"),
            ('[{"content": "a", "\\ud800": 1}]', "- todos[0].\ufffd: Unknown field"),
        ],
        check,
    )


def test_prose_is_refused_with_what_was_expected():
    assert refusal("Dear diary", "notes.txt").startswith(
        "notes.txt is neither a JSON export nor a checklist. There are no"
    )


def test_the_name_of_a_file_is_shown_harmless():
    assert "\x1b" not in refusal("", "evil\x1b[31m\n.json")


def test_lone_surrogates_in_a_file_are_replaced():
    assert imported('[{"content": "a\\ud800b"}, {"content": "c\ud800d"}]')[0].content == "a\ufffdb"


def test_what_a_file_holds_decides_how_it_is_read():
    items = [todo(1, created_at=TIME)]
    markdown, exported = to_markdown("T", items), json.dumps(to_json_export(items, None, TIME))
    for name in ("a.json", "a.md", "a"):
        assert kept(imported(markdown, name)) == kept(items)
        assert kept(imported(exported, name)) == kept(items)


def test_a_checklist_that_begins_with_a_link_is_a_checklist():
    assert [item.content for item in imported("[plan](plan.md)\n\n- [ ] a\n", "a.md")] == ["a"]


@given(st.text(max_size=60) | st.text(st.sampled_from('[]{}":,01eE.+-nulltrue \\x - []'), max_size=40))
def test_no_file_brings_more_than_a_headway_error(text: str):
    for name in ("a.json", "a.md"):
        try:
            items = import_items(text, name)
        except headway.HeadwayError as error:
            assert str(error)
        else:
            assert isinstance(items, list)


@pytest.mark.full
def test_thousands_of_items_come_back():
    items = [todo(n, f"Task {n}", created_at=TIME) for n in range(some(10_000))]
    assert kept(imported(json.dumps(to_json_export(items, None, TIME)))) == kept(items)


def rows(items: list[Todo]) -> list[list[str]]:
    return list(csv.reader(io.StringIO(to_csv(items))))


def test_a_table_has_a_header_and_a_row_for_each_item():
    assert rows([full_item()]) == [
        [
            "id",
            "description",
            "activeForm",
            "status",
            "priority",
            "module",
            "dependencies",
            "risks",
            "estimatedTime",
            "verify",
            "notes",
            "createdFrom",
            "createdAt",
            "completedAt",
        ],
        [
            *("t2", "Fix the parser", "Fixing the parser", "completed", "high", "core", "t1", "slow; breaks, maybe"),
            *("45min", "make test", "first second", "plan", TIME, TIME),
        ],
    ]
    assert len(rows([])) == 1


def test_no_cell_is_a_formula() -> None:
    def check(text: str) -> None:
        for row in (rows(todos(text))[1], rows([todo(1, "x", risks=(text,))])[1], rows([todo(1, "x", id=text)])[1]):
            assert sum(cell.startswith("'") for cell in row) == 1

    check_rows(["=1+1", "+1", "-1", "@SUM(A1)", "＝1", "\t=1", "\r=1", "\n@x"], check)


def test_an_ordinary_cell_gets_no_apostrophe():
    assert rows(todos("a = b - c"))[1][1] == "a = b - c"


@given(st.lists(hostile_text, max_size=4))
def test_any_list_is_a_table_of_its_own_size(texts: list[str]):
    items = [todo(n, text, STATUSES[n % 5], notes=text or None) for n, text in enumerate(texts)]
    table = to_csv(items)
    assert len(table.split("\n")) == len(items) + 2
    assert not any(ord(char) < 32 and char != "\n" for char in table)
    assert {len(row) for row in rows(items)} == {len(KEPT)}
    table.encode()


def test_a_hostile_content_comes_back_from_json() -> None:
    def check(text: str) -> None:
        exported = json.dumps(to_json_export(todos(f"a{text}b"), None, TIME))
        assert imported(exported)[0].content == headway.open(memory=True).add(f"a{text}b").content

    check_rows(HOSTILE, check)
