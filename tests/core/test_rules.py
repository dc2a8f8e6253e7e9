"""Every violation has its exact text, and all of them come at once, in input order."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.tables import check_rows

from headway import Evidence, EvidenceLevel, InvalidTodos, Session
from headway.core.fields import FIELDS
from headway.core.json_text import parse_json
from headway.core.model import Status, Todo
from headway.core.rules import FULL, Shape, fields_by_name

from .samples import in_memory

MODEL = Shape(
    fields_by_name("content", "activeForm", "status"),
    required=("content", "activeForm", "status"),
    statuses=(Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED),
    max_items=3,
    max_chars=10,
    one_active=True,
    ignored=frozenset({"ignored"}),
)


def item(**fields: object) -> dict[str, object]:
    return {"content": "Fix it", "activeForm": "Fixing it", "status": "pending", **fields}


def violations(todos: object, shape: Shape = MODEL, **more: object) -> list[str]:
    session = in_memory()
    session.write([{"content": "here before"}])
    with pytest.raises(InvalidTodos) as caught:
        session.write(todos, shape=shape, **more)  # pyright: ignore[reportArgumentType]
    assert session.version == 1
    for violation in caught.value.violations:
        assert f"- {violation}" in str(caught.value)
    return [str(violation) for violation in caught.value.violations]


VIOLATIONS = [
    ("x", ["todos: Expected array, received string"]),
    (None, ["todos: Expected array, received null"]),
    ({"content": "x"}, ["todos: Expected array, received object"]),
    ([7], ["todos[0]: Expected object, received number"]),
    ([item(), [1]], ["todos[1]: Expected object, received array"]),
    ([item(content=7)], ["todos[0].content: Expected string, received number"]),
    ([item(content=True)], ["todos[0].content: Expected string, received boolean"]),
    ([item(content=None)], ["todos[0].content: Expected string, received null"]),
    ([item(content="  \n\t")], ["todos[0].content: Required"]),
    ([item(activeForm="")], ["todos[0].activeForm: Required"]),
    ([{"content": "a", "status": "pending"}], ["todos[0].activeForm: Required"]),
    (
        [item(status="done")],
        ["todos[0].status: Expected 'pending' | 'in_progress' | 'completed', received 'done'"],
    ),
    (
        [item(status="cancelled")],
        ["todos[0].status: Expected 'pending' | 'in_progress' | 'completed', received 'cancelled'"],
    ),
    (
        [item(status=3)],
        ["todos[0].status: Expected 'pending' | 'in_progress' | 'completed', received number"],
    ),
    ([item(content="x" * 11)], ["todos[0].content: Must be at most 10 characters, received 11"]),
    ([item(activeForm="修" * 12)], ["todos[0].activeForm: Must be at most 10 characters, received 12"]),
    ([item(priority="high")], ["todos[0].priority: Unknown field"]),
    ([item(content=str(n)) for n in range(4)], ["todos: Must have at most 3 items, received 4"]),
    ([item(status="in_progress")] * 2, ["todos: At most one item may be in_progress, received 2"]),
]


def test_each_violation_of_a_contract_has_its_text() -> None:
    def check(todos: object, expected: list[str]) -> None:
        assert violations(todos) == expected

    check_rows(VIOLATIONS, check)


@pytest.mark.parametrize(
    "todos",
    [
        [],
        [item(content="x" * 10)],
        [item(content="  " + "修" * 10 + "\n")],
        [item(content=str(n)) for n in range(3)],
        [item(status="in_progress"), item(content="b", status="completed")],
        [item(status=" pending ")],
        [item(ignored={"any": "thing"})],
    ],
)
def test_what_is_just_within_a_contract_is_taken(todos: object, session: Session) -> None:
    session.write([{"content": "here before"}])
    assert session.write(todos, shape=MODEL).changed


def test_all_violations_are_listed_in_input_order_those_of_the_list_last() -> None:
    found = violations(
        [
            {"nope": 1, "status": "done", "content": " "},
            5,
            item(status="in_progress", content="x" * 12),
            item(status="in_progress", extra=None),
        ]
    )
    assert found == [
        "todos[0].content: Required",
        "todos[0].activeForm: Required",
        "todos[0].status: Expected 'pending' | 'in_progress' | 'completed', received 'done'",
        "todos[0].nope: Unknown field",
        "todos[1]: Expected object, received number",
        "todos[2].content: Must be at most 10 characters, received 12",
        "todos[3].extra: Unknown field",
        "todos: Must have at most 3 items, received 4",
        "todos: At most one item may be in_progress, received 2",
    ]


def test_missing_content_is_listed_among_the_other_violations_of_a_replacement() -> None:
    assert violations([{"status": "pending"}, {"content": 5}, {"id": "t1", "status": "completed"}], FULL) == [
        "todos[0].content: Required",
        "todos[1].content: Expected string, received number",
        "todos[2].content: Required",
    ]


def test_missing_content_is_named_as_the_contract_calls_it() -> None:
    assert violations([{"status": "pending"}], Shape(fields_by_name("description", "status"))) == [
        "todos[0].description: Required"
    ]


def test_a_title_or_summary_that_is_no_text_is_a_violation() -> None:
    assert violations([{"content": 1}], FULL, title=5, summary=["a"]) == [
        "todos[0].content: Expected string, received number",
        "title: Expected string, received number",
        "summary: Expected string, received array",
    ]


def test_a_field_given_under_two_names_is_a_violation() -> None:
    assert violations([{"content": "a", "description": "b"}], FULL) == [
        "todos[0].description: Given twice, also under another name"
    ]


def test_a_key_that_came_twice_in_the_json_is_a_violation() -> None:
    assert violations(parse_json('[{"content": "a", "content": "b"}]'), FULL) == ["todos[0].content: Duplicate field"]


GOOD: dict[str, list[tuple[object, object]]] = {
    "id": [("x", "x"), ("  x ", "x")],
    "content": [(" a\ud800 ", "a\ufffd")],
    "active_form": [("Doing", "Doing"), ("  ", None), (None, None)],
    "status": [(status.value, status) for status in Status],
    "priority": [("high", "high"), ("medium", "medium"), ("low", "low"), (None, None)],
    "module": [("core", "core")],
    "depends_on": [([], ()), (None, ())],
    "risks": [(["a", " ", " b "], ("a", "b")), ((), ()), (None, ())],
    "estimated_time": [("2h", "2h")],
    "notes": [("n", "n"), ("", None)],
    "owner": [("ada", "ada")],
    "lease_until": [("2025-01-02T03:04:05Z", "2025-01-02T03:04:05.000Z"), (None, None)],
    "created_from": [("plan", "plan"), ("manual", "manual")],
    "created_at": [("2025-01-02 03:04:05.6789+02:00", "2025-01-02T01:04:05.678Z")],
    "started_at": [("20250102T030405", "2025-01-02T03:04:05.000Z")],
    "completed_at": [("2025-01-02", "2025-01-02T00:00:00.000Z")],
    "started_at_round": [(0, 0), (2**31 - 1, 2**31 - 1), (None, None)],
    "completed_at_round": [(1, 1)],
    "interrupted": [(True, True), (False, False), (None, False)],
    "verify": [(" pytest -q ", "pytest -q"), ("", None), (None, None)],
    "evidence": [
        (None, None),
        ({"level": "reported"}, Evidence(EvidenceLevel.REPORTED)),
        (
            {"level": "verified", "command": " make ", "exit_code": -1, "files": ["a"]},
            Evidence(EvidenceLevel.COMMAND_OK, "make", -1, ("a",)),
        ),
        (
            {"level": "verified", "command": "make", "seconds": 2, "output": " ok\n", "note": "n"},
            Evidence(EvidenceLevel.VERIFIED, "make", seconds=2.0, output="ok", note="n"),
        ),
        (Evidence(EvidenceLevel.REPORTED, "ls"), Evidence(EvidenceLevel.REPORTED, "ls")),
    ],
    "tool_calls": [(0, 0), (7, 7)],
    "failed_calls": [(3, 3)],
}
TIME = "Expected an ISO 8601 time, received 'soon'"
WHOLE = f"Must be a whole number from 0 to {2**31 - 1}"
BAD: dict[str, list[tuple[object, str]]] = {
    "id": [(1, "Expected string, received number"), (" ", "Required"), (None, "Expected string, received null")],
    "content": [("", "Required"), ({}, "Expected string, received object")],
    "active_form": [(False, "Expected string, received boolean")],
    "status": [
        ("", "Expected 'pending' | 'in_progress' | 'completed' | 'cancelled' | 'blocked', received ''"),
        (None, "Expected 'pending' | 'in_progress' | 'completed' | 'cancelled' | 'blocked', received null"),
    ],
    "priority": [("urgent", "Expected 'high' | 'medium' | 'low', received 'urgent'")],
    "module": [([], "Expected string, received array")],
    "depends_on": [("t1", "Expected array, received string"), ([1], "Expected strings, received number")],
    "risks": [({}, "Expected array, received object"), ([None], "Expected strings, received null")],
    "estimated_time": [(2, "Expected string, received number")],
    "notes": [(1.5, "Expected string, received number")],
    "owner": [(1, "Expected string, received number")],
    "lease_until": [("soon", TIME)],
    "created_from": [("model", "Expected 'plan' | 'manual', received 'model'")],
    "created_at": [("0001-01-01T00:00+14:00", "Expected an ISO 8601 time, received '0001-01-01T00:00+14:00'")],
    "started_at": [(5, "Expected string, received number")],
    "completed_at": [("soon", TIME), ("", "Expected an ISO 8601 time, received ''")],
    "started_at_round": [(-1, WHOLE), (2**31, WHOLE), (True, "Expected whole number, received boolean")],
    "completed_at_round": [(1.0, "Expected whole number, received number")],
    "interrupted": [("yes", "Expected boolean, received string"), (1, "Expected boolean, received number")],
    "verify": [(["pytest"], "Expected string, received array")],
    "evidence": [
        ("yes", "Expected object, received string"),
        ({}, "Expected 'inferred' | 'reported' | 'command_ok' | 'verified', received null"),
        ({"level": "reported", "exit_code": "0"}, "Expected whole number, received string"),
        ({"level": "reported", "files": "a"}, "Expected array, received string"),
        ({"level": "reported", "seconds": "2"}, "Expected number, received string"),
        ({"level": "reported", "seconds": -1}, "Must be a number from 0 to 2147483647"),
        ({"level": "reported", "why": 1}, "Unknown field 'why'"),
    ],
    "tool_calls": [(None, "Expected whole number, received null"), (-1, WHOLE)],
    "failed_calls": [("3", "Expected whole number, received string")],
}


def test_the_tables_below_name_every_field() -> None:
    assert list(GOOD) == list(BAD) == [field.name for field in FIELDS] == list(Todo.__dataclass_fields__)


KEPT = [(name, *pair) for name, pairs in GOOD.items() for pair in pairs]


def test_a_field_is_kept_as_it_should_be_under_each_of_its_names() -> None:
    def check(name: str, value: object, kept: object) -> None:
        aliases = [wire for wire, field in FULL.names.items() if field.name == name]
        for wire in aliases:
            session = in_memory()
            content = {} if name == "content" else {"content": "a"}
            (todo,) = session.write([{**content, wire: value}]).todos
            assert getattr(todo, name) == kept

    check_rows(KEPT, check)


REFUSED = [(name, *pair) for name, pairs in BAD.items() for pair in pairs]


def test_a_field_that_breaks_its_rule_is_refused_under_each_of_its_names() -> None:
    def check(name: str, value: object, fault: str) -> None:
        for wire in [wire for wire, field in FULL.names.items() if field.name == name]:
            content = {} if name == "content" else {"content": "a"}
            assert violations([{**content, wire: value}], FULL) == [f"todos[0].{wire}: {fault}"]

    check_rows(REFUSED, check)


WRONG: dict[str, Any] = {"status": "done", "nope": 1, "id": "t2"}


def test_an_update_names_the_item_in_its_violations(session: Session) -> None:
    session.write([{"content": "a"}])
    with pytest.raises(InvalidTodos) as caught:
        session.update("t1", **WRONG)
    assert caught.value.violations == [
        "t1.status: Expected 'pending' | 'in_progress' | 'completed' | 'cancelled' | 'blocked', received 'done'",
        "t1.nope: Unknown field",
        "t1.id: Cannot be changed",
    ]


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"id": "t1"}, "todo.id: Already in the list"),
        ({"id": " "}, "todo.id: Expected a non-blank string"),
        ({"id": 4}, "todo.id: Expected a non-blank string"),
        ({"content": " "}, "todo.content: Required"),
        ({"status": "done"}, "todo.status: Expected "),
        ({"depends_on": ["t9"]}, "todo.depends_on: Unknown id 't9'"),
        ({"depends_on": ["t2"]}, "todo.depends_on: Unknown id 't2'"),
        ({"depends_on": ["x"], "id": "x"}, "todo.depends_on: 'x' depends on itself"),
    ],
)
def test_an_addition_that_breaks_a_rule_is_refused(session: Session, fields: dict[str, object], fault: str) -> None:
    session.write([{"content": "a"}])
    new: dict[str, object] = {"content": "b", **fields}
    with pytest.raises(InvalidTodos) as caught:
        session.add(**new)  # pyright: ignore[reportArgumentType]
    assert [str(violation)[: len(fault)] for violation in caught.value.violations] == [fault]
    assert session.version == 1


def test_text_in_error_messages_is_short_and_harmless() -> None:
    (violation,) = violations([item(**{"\x1b[31m" + "k" * 5000: 1})])
    assert "\x1b" not in violation
    assert len(violation) < 100


def test_the_list_itself_has_no_limits(session: Session) -> None:
    many: list[dict[str, object]] = [{"content": f"{n} " + "x" * 500, "status": "in_progress"} for n in range(2000)]
    assert len(session.write(many).todos) == 2000
