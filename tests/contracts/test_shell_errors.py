"""The shell contract on input that is wrong or hostile: exact texts, every violation, nothing that a terminal obeys."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import check_rows

import headway
from headway import Session
from headway.contracts.shell import INVALID, MISSING, run_todo_write, run_words
from headway.core.text import neutralize

from .samples import HOSTILE, VALIDATION, Updates, call, contents, item, refused, shell

STATUSES = "'pending' | 'in_progress' | 'completed'"


VIOLATIONS: list[tuple[object, list[str]]] = [
    ([], ["- (root): Expected object, received array"]),
    (1, ["- (root): Expected object, received number"]),
    ('"todos"', ["- (root): Expected object, received string"]),
    ("null", ["- (root): Expected object, received null"]),
    ("true", ["- (root): Expected object, received boolean"]),
    ({}, ["- todos: Required"]),
    ({"summary": "x"}, ["- summary: Unknown field", "- todos: Required"]),
    ({"todos": "A, B"}, ["- todos: Expected array, received string"]),
    ({"todos": {}}, ["- todos: Expected array, received object"]),
    ({"todos": None}, ["- todos: Expected array, received null"]),
    (call(1), ["- todos[0]: Expected object, received number"]),
    (
        call("A", None),
        ["- todos[0]: Expected object, received string", "- todos[1]: Expected object, received null"],
    ),
    (call([]), ["- todos[0]: Expected object, received array"]),
    (call({**item("A"), "content": 7}), ["- todos[0].content: Expected string, received number"]),
    (call({**item("A"), "content": None}), ["- todos[0].content: Expected string, received null"]),
    (call({**item("A"), "activeForm": ["x"]}), ["- todos[0].activeForm: Expected string, received array"]),
    (call({**item("A"), "activeForm": False}), ["- todos[0].activeForm: Expected string, received boolean"]),
    (call({**item("A"), "status": 3}), [f"- todos[0].status: Expected {STATUSES}, received number"]),
    (call({**item("A"), "status": None}), [f"- todos[0].status: Expected {STATUSES}, received null"]),
    (call({**item("A"), "status": {}}), [f"- todos[0].status: Expected {STATUSES}, received object"]),
    (call({**item("A"), "priority": "high"}), ["- todos[0].priority: Unknown field"]),
    (
        call({}),
        ["- todos[0].content: Required", "- todos[0].activeForm: Required", "- todos[0].status: Required"],
    ),
]


def test_each_violation_has_its_exact_text() -> None:
    def check(sent: object, lines: list[str]) -> None:
        session = headway.open(memory=True)
        assert refused(session, sent) == lines

    check_rows(VIOLATIONS, check)


def test_every_violation_is_listed_in_input_order_and_those_of_the_list_last(session: Session):
    items: list[object] = [item(f"Task {n}", "in_progress") for n in range(49)]
    sent = {
        "title": "x",
        "todos": [{**item("", "done"), "owner": "me"}, *items, item("x" * 201, active=" "), 5],
        "merge": True,
    }
    assert refused(session, sent) == [
        "- title: Unknown field",
        "- todos[0].content: Required",
        f"- todos[0].status: Expected {STATUSES}, received 'done'",
        "- todos[0].owner: Unknown field",
        "- todos[50].content: Must be at most 200 characters, received 201",
        "- todos[50].activeForm: Required",
        "- todos[51]: Expected object, received number",
        "- merge: Unknown field",
        "- todos: Must have at most 50 items, received 52",
        "- todos: At most one item may be in_progress, received 49",
    ]


def test_an_item_that_is_wrong_elsewhere_still_counts_as_in_progress(session: Session):
    assert refused(session, call(item("", "in_progress"), item("B", "in_progress"))) == [
        "- todos[0].content: Required",
        "- todos: At most one item may be in_progress, received 2",
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            '{"todos":[{"content":"A","activeForm":"B","status":"pending","status":"completed"}]}',
            ["- todos[0].status: Duplicate field"],
        ),
        ('{"todos":[],"todos":[]}', ["- todos: Duplicate field"]),
        (
            '{"todos":[{"content":"","content":"A","content":"A","activeForm":"B","status":"done"}]}',
            [f"- todos[0].status: Expected {STATUSES}, received 'done'", "- todos[0].content: Duplicate field"],
        ),
    ],
)
def test_a_key_that_comes_twice_is_named_rather_than_guessed_at(session: Session, text: str, lines: list[str]):
    assert refused(session, text) == lines


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"todos": [}', "At line 1, column 12: expecting value"),
        ('{\n  "todos": [],\n}', "At line 3, column 1: expecting property name enclosed in double quotes"),
        ('{"a": "NaN",\n"b": NaN}', "At line 2, column 6: NaN is not a JSON value"),
        ("[1, -Infinity]", "At line 1, column 5: -Infinity is not a JSON value"),
    ],
)
def test_a_third_line_says_where_it_is_no_json_and_why(session: Session, text: str, where: str):
    assert shell(session, text).stderr == f"{INVALID}\n{where}"


def test_text_with_nothing_to_see_in_it_is_missing() -> None:
    def check(text: str) -> None:
        assert refused(headway.open(memory=True), call(item(text, active=text))) == [
            "- todos[0].content: Required",
            "- todos[0].activeForm: Required",
        ]

    invisible = "200b 3164 115f ffa0 2800 2060 feff ad 34f 180e fe0f 3000 e0041 202e"
    check_rows([*(chr(int(code, 16)) for code in invisible.split()), "\u200b\u3164", " \u200d\n\u2064"], check)
    assert shell(headway.open(memory=True), call(item("\u200bन\u200d"))).exit_code == 0


def test_what_is_no_json_is_refused_as_such() -> None:
    def check(text: str) -> None:
        session = headway.open(memory=True)
        answer, error, code = shell(session, text)
        assert (answer, code) == ("", 1)
        assert re.fullmatch(rf"{re.escape(INVALID)}\nAt line \d+, column \d+: \S.*", str(error))

    check_rows(
        [
            "{",
            "'",
            '{"todos":[]',
            '{"todos":[],}',
            "{'todos':[]}",
            '{"todos":[]} {"todos":[]}',
            '{"todos":[]}]',
            "undefined",
            '{"todos":NaN}',
            '{"todos":[{"content":Infinity}]}',
            '{"todos":[-Infinity]}',
            '{"todos":[{"content":"two\nlines","activeForm":"B","status":"pending"}]}',
            '{"todos":[{"content":"nul\0","activeForm":"B","status":"pending"}]}',
            "\0",
            "[" * 200_000,
            '{"todos":' + "[" * 200_000 + "]" * 200_000 + "}",
            '{"a":' * 100_000,
            '"\\ud8"',
            "\ufeff",
            "\ufeff\ufeff{}",
        ],
        check,
    )


def test_json_as_editors_save_it_with_a_byte_order_mark_is_accepted(session: Session):
    assert shell(session, "\ufeff" + json.dumps(call(item("A")))).exit_code == 0
    assert run_words(session, ["-"], "\ufeff" + json.dumps(call(item("B")))).exit_code == 0
    assert contents(session) == ["B"]


@pytest.mark.parametrize("number", ["1e999", "-0", "9" * 400, "1.5"])
def test_a_number_of_any_size_is_a_number(session: Session, number: str):
    assert refused(session, f'{{"todos":[{{"content":{number},"activeForm":"B","status":"pending"}}]}}') == [
        "- todos[0].content: Expected string, received number"
    ]


def test_a_number_too_long_for_python_is_refused(session: Session):
    assert shell(session, f'{{"todos":[{"9" * 5_000}]}}').exit_code == 1


def test_a_string_of_a_megabyte_is_measured_not_repeated(session: Session):
    huge = "x" * 1_000_000
    assert refused(session, call({**item(huge, huge), huge: 1})) == [
        "- todos[0].content: Must be at most 200 characters, received 1000000",
        "- todos[0].activeForm: Must be at most 200 characters, received 1000007",
        f"- todos[0].status: Expected {STATUSES}, received '{'x' * 59}…'",
        f"- todos[0].{'x' * 59}…: Unknown field",
    ]


def test_a_deep_value_is_named_by_its_type(session: Session):
    deep = "[" * 500 + "]" * 500
    assert refused(session, f'{{"todos":[{deep}]}}') == ["- todos[0]: Expected object, received array"]


@pytest.mark.parametrize(
    ("escape", "kept"),
    [
        ("\\u0000", "a\0b"),
        ("\\ud800", "a\ufffdb"),
        ("\\udfff", "a\ufffdb"),
        ("\\ud83d\\ude00", "a😀b"),
        ("\\u001b[31m", "a\x1b[31mb"),
    ],
)
def test_escapes_are_kept_and_lone_surrogates_become_storable(folder: Path, escape: str, kept: str):
    session = headway.open(folder)
    result = shell(session, f'{{"todos":[{{"content":"a{escape}b","activeForm":"B","status":"pending"}}]}}')
    assert result.stdout == "Todo list updated: 1 pending"
    session.close()
    assert contents(headway.open(folder)) == [kept]


def test_nothing_that_a_terminal_obeys_comes_back_in_an_error() -> None:
    def check(text: str) -> None:
        session = headway.open(memory=True)
        sent = {"todos": [{**item("A", f"x{text}y"), f"f{text}": 1}], f"g{text}": 1}
        clean = neutralize(text)
        lines = refused(session, sent)
        assert lines == [
            f"- todos[0].status: Expected {STATUSES}, received 'x{clean}y'",
            f"- todos[0].f{clean}: Unknown field",
            f"- g{clean}: Unknown field",
        ]
        assert all(line.isprintable() for line in lines)
        "\n".join(lines).encode()

    check_rows(["\x1b[2J\x1b]0;owned\x07", "a\nb", "a\rb", "\u202eabc", "\x9b31m", "\ud800", "\0"], check)


def test_hostile_content_is_kept_and_dropped_by_name_without_harm() -> None:
    def check(text: str) -> None:
        session = headway.open(memory=True)
        assert shell(session, call(item(text, active=text))).exit_code == 0
        assert contents(session) == [text.strip()]
        note = shell(session, call()).stdout
        assert note == f"Todo list cleared\nNote: 1 unfinished todo was dropped: {neutralize(text.strip())}"
        assert all(line.isprintable() for line in note.split("\n"))

    check_rows(HOSTILE, check)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["todos", "content", "activeForm", "status", "id"]) | st.text(), inner)
    ),
    max_leaves=12,
)
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        "content": st.text(max_size=3) | JSON,
        "activeForm": st.text(max_size=3) | JSON,
        "status": st.sampled_from(["pending", "in_progress", "completed", "done"]) | JSON,
    },
)


@given(st.one_of(JSON, st.lists(NEARLY, max_size=4).map(lambda items: {"todos": items})))
def test_any_json_is_either_applied_whole_or_refused_with_reasons(sent: object):
    session = headway.open(memory=True)
    shell(session, call(item("Before")))
    before = session.todos
    heard: Updates = []
    session.on("todos:update", heard.append)
    result = shell(session, json.dumps(sent))
    if result.exit_code:
        first, *lines = result.stderr.split("\n")
        assert first == VALIDATION
        assert lines and all(line.startswith("- ") and ": " in line for line in lines)
        assert result.stdout == ""
        assert (session.todos, heard) == (before, [])
    else:
        assert result.stderr == ""
        assert isinstance(sent, dict)
        assert contents(session) == [entry["content"].strip() for entry in sent["todos"]]  # type: ignore[union-attr]
    (result.stdout + result.stderr).encode()


@given(st.text())
def test_any_text_after_the_name_gets_one_of_the_documented_answers(args: str):
    session = headway.open(memory=True)
    result = run_todo_write(session, args)
    if result.exit_code:
        assert result.stdout == ""
        assert result.stderr == MISSING or result.stderr.startswith((f"{INVALID}\nAt ", VALIDATION))
    else:
        assert result.stderr == ""
