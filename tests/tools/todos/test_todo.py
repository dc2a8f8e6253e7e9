"""`todo`, the light tool, as a model calls it: only what changed is sent, and one line comes back."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from headway import ClaimRefused, Session
from headway.tools.base import ToolFault
from headway.tools.todos import CreateTodoList, TodoTool

from .conftest import Call, in_memory_and_on_disk


def write(session: Session, *contents: str) -> None:
    session.write([{"content": content} for content in contents])


async def test_the_answer_says_how_far_the_list_is_and_what_comes_now(session: Session, call: Call):
    write(session, "A", "B", "修复解析器")
    assert (await call(TodoTool(), start="t1")).text == "ok 0/3; now t1: A"
    assert (await call(TodoTool(), done=["t1", "t2"])).text == "ok 2/3; now t3: 修复解析器"
    assert (await call(TodoTool(), done=["t3"])).text == "ok 3/3; all done"


async def test_new_and_dropped_items_are_told(session: Session, call: Call):
    write(session, "A")
    assert (await call(TodoTool(), add=["B", "C"])).text == "ok 0/3; added t2, t3; nothing in progress"
    assert (await call(TodoTool(), drop=["t2"], done=["t1"])).text == "ok 1/2; now t3: C"
    many = await call(TodoTool(), add=[f"item {n}" for n in range(30)])
    assert many.text == "ok 1/32; added t4 … t33; now t3: C"


async def test_a_dependency_that_goes_with_a_dropped_item_is_told(session: Session, call: Call):
    session.write([{"content": "A"}, {"content": "B", "depends_on": ["t1"]}])
    result = await call(TodoTool(), drop=["t1"])
    assert result.text == "ok 0/1; dependencies removed: t2 on t1; nothing in progress"


async def test_a_blocked_item_has_the_reason_as_its_note(session: Session, call: Call):
    write(session, "A", "B")
    result = await call(TodoTool(), block={"id": "t1", "why": "no key"}, done=["t2"])
    assert result.text == "ok 1/2; nothing in progress"
    assert (session.todos[0].status, session.todos[0].notes) == ("blocked", "no key")


async def test_cancelled_items_need_no_more_work_and_are_not_counted_as_completed(session: Session, call: Call):
    session.write([{"content": "A"}, {"content": "B", "status": "cancelled"}])
    assert (await call(TodoTool(), done=["t1"])).text == "ok 1/2; all done"


async def test_of_several_active_items_the_one_started_last_is_told(session: Session, call: Call):
    write(session, "A", "B", "C")
    await call(TodoTool(), start="t2")
    assert (await call(TodoTool(), start=" t1 ")).text == "ok 0/3; now t1: A"
    session.write([{"id": "t1", "started_at": "2030-01-01"}, {"id": "t2", "started_at": "2020-01-01"}])
    assert (await call(TodoTool(), done=["t3"])).text == "ok 1/3; now t1: A"


async def test_what_a_worker_has_claimed_is_neither_the_models_nor_its_to_set(session: Session, call: Call):
    write(session, "A", "B")
    session.claim("ada")
    assert (await call(TodoTool(), done=["t2"])).text == "ok 1/2; nothing in progress"
    with pytest.raises(ClaimRefused, match="claimed by 'ada'"):
        await call(TodoTool(), done=["t1"])


async def test_text_in_the_answer_is_short_and_harmless(session: Session, call: Call):
    session.write([{"id": "i" * 99, "content": "x\x1b[2J\n# Heading\u202e " + "long " * 50}])
    (line,) = (await call(TodoTool(), start="i" * 99)).text.splitlines()
    assert not {"\x1b", "\u202e"} & set(line)
    text = line.partition(": ")[2]
    assert len(text) <= 60
    assert text.endswith("…")


@in_memory_and_on_disk
async def test_one_call_is_one_change_and_one_undo_takes_it_back(session: Session, call: Call):
    write(session, "A", "B", "C", "D")
    before = session.todos
    await call(TodoTool(), done=["t1"], start="t4", block={"id": "t2", "why": "no key"}, add=["E"], drop=["t3"])
    assert session.version == 2
    assert [(todo.content, todo.status) for todo in session.todos] == [
        ("A", "completed"),
        ("B", "blocked"),
        ("D", "in_progress"),
        ("E", "pending"),
    ]
    assert session.undo() == before


REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["(root): Expected at least one of done, start, block, add, drop"]),
    (
        {"done": [], "start": None, "block": None, "add": [], "drop": None},
        ["(root): Expected at least one of done, start, block, add, drop"],
    ),
    (
        {"done": ["t1", "t8"], "drop": ["t1", "t9"], "add": [" "], "block": {"id": "t2", "why": ""}, "start": ""},
        [
            "done[1]: Unknown id 't8'",
            "start: Required",
            "block: 't2' needs a reason",
            "add[0]: Required",
            "drop[0]: 't1' is also in done; name it in only one of them",
            "drop[1]: Unknown id 't9'",
            "todos: The known ids are: t1, t2",
        ],
    ),
    (
        {"done": "t1", "start": 2, "block": {"id": "t2", "status": "x"}, "add": [1], "finish": ["t1"]},
        [
            "done: Expected array, received string",
            "start: Expected string, received number",
            "block.why: Required",
            "block.status: Unknown field",
            "add[0]: Expected string, received number",
            "finish: Unknown field",
        ],
    ),
]


@pytest.mark.parametrize(("arguments", "lines"), REFUSED)
async def test_every_violation_is_named_and_nothing_changes(
    session: Session, call: Call, arguments: dict[str, Any], lines: list[str]
):
    write(session, "A", "B")
    with pytest.raises(ToolFault) as caught:
        await call(TodoTool(), **arguments)
    fields = ["Its fields are: done, start, block, add, drop."] if "finish" in arguments else []
    assert str(caught.value).splitlines()[1:] == [*(f"- {line}" for line in lines), *fields]
    assert session.version == 1


async def test_an_empty_list_can_be_added_to_and_says_that_it_is_empty(session: Session, call: Call):
    with pytest.raises(ToolFault, match="The list is empty"):
        await call(TodoTool(), done=["t1"])
    assert (await call(TodoTool(), add=["A"])).text == "ok 0/1; added t1; nothing in progress"
    assert (await call(TodoTool(), drop=["t1"])).text == "ok 0/0; nothing in progress"


async def test_a_list_of_ten_thousand_is_worked_on_as_a_short_one(session: Session, call: Call):
    session.write([{"content": f"item {n}"} for n in range(10_000)], actor="model", cause="create")
    assert (await call(TodoTool(), done=["t1"])).text == "ok 1/10000; now t2: item 1"
    assert (await call(TodoTool(), drop=[f"t{n}" for n in range(3, 10_001)])).text == "ok 1/2; now t2: item 1"


TASKS = [
    "Read the failing tests of the date parser",
    "Find where time zones are lost",
    "Write a test for ISO week dates",
    "Fix the parser for ISO week dates",
    "Write a test for fractional seconds",
    "Fix the parser for fractional seconds",
    "Remove the old regular expressions",
    "Add the new grammar to the package",
    "Update callers in the import module",
    "Update callers in the export module",
    "Cache the compiled grammar",
    "Measure parsing of a million dates",
    "Handle years before 1000",
    "Handle leap seconds as errors",
    "Name the bad part in error messages",
    "Translate the error messages",
    "Document the accepted formats",
    "Add a changelog entry",
    "Run the whole test suite",
    "Ask for a review",
]


def tokens(text: str) -> int:
    """A careful estimate for plain ASCII text, where four characters are about a token: also one for each run of
    letters, of up to three digits or of signs, since short JSON is mostly signs."""
    return max(len(re.findall(r"[A-Za-z]+|\d{1,3}|[^\sA-Za-z\d]+", text)), -(-len(text) // 4))


async def test_going_through_a_list_of_twenty_costs_less_than_a_thousand_tokens(session: Session, call: Call):
    spent = 0
    for tool, arguments in [
        (CreateTodoList(), {"items": [{"description": task} for task in TASKS]}),
        *((TodoTool(), {"done": [f"t{n}"]}) for n in range(1, 21)),
    ]:
        result = await call(tool, **arguments)
        spent += tokens(json.dumps(arguments, separators=(",", ":"))) + tokens(result.text)
    assert {todo.status for todo in session.todos} == {"completed"}
    assert spent < 1_000
