"""The shell contract: what is accepted, what it answers, and what it leaves alone."""

from __future__ import annotations

import json
import logging
from itertools import product
from pathlib import Path

import pytest
from tests.support.tables import check_rows

import headway
from headway import Session, Status
from headway.contracts.router import find_agent_command
from headway.contracts.shell import INVALID, MISSING, help_text, run_todo_write, run_words
from headway.views.box import box_lines, draw_rows

from .samples import VALIDATION, Updates, call, contents, ids, item, numbered, refused, shell

THREE = call(
    item("Analyze requirements", "completed", "Analyzing requirements"),
    item("Write implementation", "in_progress", "Writing implementation"),
    item("Run tests", "pending", "Running tests"),
)


# The eleven cases of the first source.


def test_creating_a_list_answers_with_the_counts(session: Session):
    result = shell(session, THREE)
    assert result.stdout == "Todo list updated: 1 completed, 1 in_progress, 1 pending"
    assert (result.stderr, result.exit_code) == ("", 0)
    assert contents(session) == ["Analyze requirements", "Write implementation", "Run tests"]


def test_updating_a_status_replaces_the_whole_list(session: Session):
    shell(session, THREE)
    result = shell(session, call(item("Write implementation", "completed"), item("Ship it")))
    assert result.stdout.split("\n")[0] == "Todo list updated: 1 completed, 1 pending"
    assert contents(session) == ["Write implementation", "Ship it"]
    assert [todo.status for todo in session.todos] == [Status.COMPLETED, Status.PENDING]


def test_clearing_the_list_leaves_nothing(session: Session):
    shell(session, call(item("Done", "completed")))
    assert shell(session, call()).stdout == "Todo list cleared"
    assert session.todos == []


def test_text_that_is_no_json_is_refused_with_the_usage(session: Session):
    result = shell(session, "{todos: []}")
    assert result.stderr == (
        "Error: Invalid JSON format\n"
        'Usage: TodoWrite \'{"todos":[{"content":"...","activeForm":"...","status":"pending"}]}\'\n'
        "At line 1, column 2: expecting property name enclosed in double quotes"
    )
    assert (result.stdout, result.exit_code) == ("", 1)


@pytest.mark.parametrize("name", ["content", "activeForm", "status"])
def test_a_missing_field_is_named(session: Session, name: str):
    sent = item("Task")
    del sent[name]
    assert refused(session, call(sent)) == [f"- todos[0].{name}: Required"]


def test_an_illegal_status_is_answered_with_the_legal_ones(session: Session):
    result = shell(session, call({"activeForm": "A", "status": "pending"}, item("B", "done")))
    assert result.stderr == (
        "Error: Validation failed\n"
        "- todos[0].content: Required\n"
        "- todos[1].status: Expected 'pending' | 'in_progress' | 'completed', received 'done'"
    )


def test_an_empty_list_for_an_empty_list_is_cleared_without_an_event(session: Session, updates: Updates):
    assert tuple(shell(session, call())) == ("Todo list cleared", "", 0)
    assert updates == []


def test_content_over_200_characters_is_refused(session: Session):
    assert refused(session, call(item("a"), item("b"), item("x" * 240, active="X"))) == [
        "- todos[2].content: Must be at most 200 characters, received 240"
    ]


def test_more_than_50_items_are_refused(session: Session):
    assert refused(session, numbered(51)) == ["- todos: Must have at most 50 items, received 51"]


def test_a_change_fires_the_listener_with_the_full_list(session: Session, updates: Updates):
    shell(session, THREE)
    shell(session, call(item("Only one")))
    assert [[todo.content for todo in todos] for todos in updates] == [
        ["Analyze requirements", "Write implementation", "Run tests"],
        ["Only one"],
    ]


def test_the_written_list_is_drawn_with_its_icons_and_colours(session: Session):
    shell(session, THREE)
    assert [line[2:29].rstrip() for line in box_lines(session.todos)[1:-1]] == [
        "✓ Analyze requirements",
        "● Writing implementation...",
        "○ Run tests",
    ]
    drawn = "\n".join(draw_rows(session.todos))
    assert "\x1b[90m✓ Analyze requirements\x1b[0m" in drawn
    assert "\x1b[33m● Writing implementation...\x1b[0m" in drawn
    assert "\x1b[2m○ Run tests\x1b[0m" in drawn


# The table of contracts, row by row.


@pytest.mark.parametrize(
    ("statuses", "answer"),
    [
        (["pending"], "1 pending"),
        (["in_progress"], "1 in_progress"),
        (["completed", "completed"], "2 completed"),
        (["pending", "completed"], "1 completed, 1 pending"),
        (["pending", "in_progress"], "1 in_progress, 1 pending"),
        (["pending", "in_progress", "completed", "pending"], "1 completed, 1 in_progress, 2 pending"),
    ],
)
def test_only_statuses_that_occur_are_counted_in_their_fixed_order(session: Session, statuses: list[str], answer: str):
    items = [item(f"Task {number}", status) for number, status in enumerate(statuses)]
    assert shell(session, call(*items)).stdout == f"Todo list updated: {answer}"


@pytest.mark.parametrize("status", ["cancelled", "blocked", "PENDING", "in progress", ""])
def test_other_statuses_are_refused(session: Session, status: str):
    assert refused(session, call(item("A", status))) == [
        f"- todos[0].status: Expected 'pending' | 'in_progress' | 'completed', received '{status}'"
    ]


def test_a_field_that_the_contract_does_not_have_is_named() -> None:
    def check(name: str) -> None:
        session = headway.open(memory=True)
        assert refused(session, call({**item("A"), name: "x"})) == [f"- todos[0].{name}: Unknown field"]

    check_rows(["id", "priority", "notes", "active_form", "description", "depends_on", "Content"], check)


@pytest.mark.parametrize("name", ["summary", "title", "merge"])
def test_a_list_field_that_the_contract_does_not_have_is_named(session: Session, name: str):
    assert refused(session, {name: "x", **call()}) == [f"- {name}: Unknown field"]


def test_the_list_is_required(session: Session):
    assert refused(session, {}) == ["- todos: Required"]


def test_two_items_in_progress_are_refused(session: Session):
    assert refused(session, call(item("A", "in_progress"), item("B", "in_progress"))) == [
        "- todos: At most one item may be in_progress, received 2"
    ]


def test_fifty_items_are_accepted(session: Session):
    assert shell(session, numbered(50)).stdout == "Todo list updated: 50 pending"


def test_200_characters_are_accepted_and_201_are_not() -> None:
    def check(name: str, letter: str) -> None:
        session = headway.open(memory=True)
        assert shell(session, call({**item("A"), name: letter * 200})).exit_code == 0
        assert refused(session, call({**item("A"), name: letter * 201})) == [
            f"- todos[0].{name}: Must be at most 200 characters, received 201"
        ]

    check_rows(product(["content", "activeForm"], ["x", "修", "👩", "é"]), check)


def test_length_is_counted_after_trimming(session: Session):
    assert shell(session, call(item(" \n" + "x" * 200 + "\t ", active="  X  "))).exit_code == 0
    (todo,) = session.todos
    assert (todo.content, todo.active_form) == ("x" * 200, "X")


def test_blank_text_counts_as_missing() -> None:
    def check(name: str, blank: str) -> None:
        session = headway.open(memory=True)
        assert refused(session, call({**item("A"), name: blank})) == [f"- todos[0].{name}: Required"]

    check_rows(product(["content", "activeForm"], ["", " ", "\t\n", "\u3000", "\u2003"]), check)


def test_ids_are_stable_and_not_positions(session: Session):
    shell(session, call(item("A"), item("B"), item("C")))
    shell(session, call(item("C"), item("A", "completed"), item("D")))
    assert list(zip(contents(session), ids(session), strict=True)) == [("C", "t3"), ("A", "t1"), ("D", "t4")]


# Limits that people set.


def test_limits_come_from_the_environment(session: Session, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TODO_MAX_ITEMS", "2")
    monkeypatch.setenv("TODO_MAX_CONTENT_LENGTH", "5")
    assert shell(session, call(item("12345", active="修修修修修"), item("B", active="b"))).exit_code == 0
    assert refused(session, call(item("123456", active="c"), item("B", active="b"), item("C", active="c"))) == [
        "- todos[0].content: Must be at most 5 characters, received 6",
        "- todos: Must have at most 2 items, received 3",
    ]


def test_limits_above_the_default_hold_too(session: Session, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TODO_MAX_ITEMS", " 51 ")
    monkeypatch.setenv("TODO_MAX_CONTENT_LENGTH", "100000")
    assert shell(session, numbered(51)).exit_code == 0
    assert refused(session, numbered(52)) == ["- todos: Must have at most 51 items, received 52"]
    assert shell(session, call(item("x" * 100_000, active="X"))).exit_code == 0


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "many", "", "٣", "1e3", "0x10", "\x1b[31m7"])
@pytest.mark.parametrize(("name", "default"), [("TODO_MAX_ITEMS", 50), ("TODO_MAX_CONTENT_LENGTH", 200)])
def test_a_limit_that_is_no_positive_whole_number_is_reported_once_and_not_used(
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
    default: int,
    value: str,
):
    monkeypatch.setenv(name, value)
    assert shell(session, numbered(50)).exit_code == 0
    assert refused(session, numbered(51)) == ["- todos: Must have at most 50 items, received 51"]
    assert refused(session, call(item("x" * 201, active="X"))) == [
        "- todos[0].content: Must be at most 200 characters, received 201"
    ]
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"Warning: {name} must be a positive whole number, not '")
    assert err.endswith(f"; using {default}.\n")
    assert "\x1b" not in err


# What a call leaves alone.


def test_a_rejected_call_changes_nothing_and_fires_nothing() -> None:
    def check(sent: object) -> None:
        session = headway.open(memory=True)
        shell(session, THREE)
        before, version = session.todos, session.version
        heard: Updates = []
        session.on("todos:update", heard.append)
        assert shell(session, sent).exit_code == 1
        assert (session.todos, session.version, heard) == (before, version, [])

    check_rows(
        [
            "not json",
            "",
            "[]",
            {"todos": [item("New"), item("")]},
            {"todos": [item("New")], "summary": "x"},
            {"todos": [item("A", "in_progress"), item("B", "in_progress")]},
            numbered(51),
        ],
        check,
    )


def test_an_identical_list_is_answered_as_usual_and_changes_nothing(session: Session, updates: Updates):
    first = shell(session, THREE)
    version, updated_at = session.version, session.updated_at
    assert tuple(shell(session, THREE)) == tuple(first)
    assert (session.version, session.updated_at, len(updates)) == (version, updated_at, 1)


def test_text_that_differs_only_in_blanks_around_it_is_identical(session: Session):
    shell(session, call(item("A", active="B")))
    version = session.version
    assert shell(session, call(item("  A\n", " pending ", active=" B "))).exit_code == 0
    assert session.version == version


def test_an_item_with_the_same_content_keeps_its_identity_and_what_the_contract_cannot_carry(session: Session):
    session.write([{"content": "A", "priority": "high", "notes": "careful"}, {"content": "B", "depends_on": ["t1"]}])
    before = session.todos
    shell(session, call(item("B"), item("A", "completed", active="Doing A")))
    b, a = session.todos
    assert (a.id, a.priority, a.notes, a.created_at) == ("t1", "high", "careful", before[0].created_at)
    assert (b.id, b.depends_on) == ("t2", ("t1",))
    assert (a.status, a.active_form) == (Status.COMPLETED, "Doing A")
    assert a.completed_at is not None


def test_the_nth_of_equal_contents_is_the_nth_that_was_there(session: Session):
    shell(session, call(item("Same", "completed"), item("Same"), item("Other")))
    shell(session, call(item("Same", "completed"), item("New"), item("Same")))
    assert ids(session) == ["t1", "t4", "t2"]


def test_a_renamed_item_counts_as_new(session: Session):
    shell(session, call(item("Write test")))
    shell(session, call(item("Write tests")))
    assert ids(session) == ["t2"]


def test_an_id_is_never_used_for_something_else(session: Session):
    for content in ("A", "B", "C"):
        shell(session, call(item(content)))
    shell(session, call())
    shell(session, call(item("D")))
    assert ids(session) == ["t4"]


def test_unfinished_items_that_are_dropped_are_named_in_a_second_line(session: Session):
    shell(
        session, call(item("Keep"), item("Draw the box"), item("Old", "completed"), item("Write docs", "in_progress"))
    )
    assert shell(session, call(item("Keep"))).stdout == (
        "Todo list updated: 1 pending\nNote: 2 unfinished todos were dropped: Draw the box; Write docs"
    )
    assert [todo.content for todo in session.undo()] == ["Keep", "Draw the box", "Old", "Write docs"]


def test_a_single_dropped_item_is_named_in_the_singular_also_when_the_list_is_cleared(session: Session):
    shell(session, call(item("A")))
    assert shell(session, call()).stdout == "Todo list cleared\nNote: 1 unfinished todo was dropped: A"


def test_dropped_finished_items_are_not_worth_a_note(session: Session):
    shell(session, call(item("A", "completed"), item("B")))
    assert shell(session, call(item("B"))).stdout == "Todo list updated: 1 pending"


def test_a_note_stays_on_its_line_and_is_short_whatever_was_dropped(session: Session):
    session.write([{"content": f"\x1b[31m{n}\n" + "x" * 10_000} for n in range(300)])
    first, note = shell(session, call()).stdout.split("\n")
    assert first == "Todo list cleared"
    assert note.startswith("Note: 300 unfinished todos were dropped: ")
    assert note.endswith("; and 295 more")
    assert len(note) < 500
    assert "\x1b" not in note


def test_removed_dependencies_are_named(session: Session):
    session.write([{"content": "A", "status": "completed"}, {"content": "B", "depends_on": ["t1"]}])
    assert shell(session, call(item("B"))).stdout == (
        "Todo list updated: 1 pending\nNote: 1 dependency on dropped todos removed: t2 on t1"
    )


def test_a_sub_agent_has_its_own_list_and_fires_nothing(session: Session, updates: Updates):
    shell(session, call(item("Main")))
    shell(session.agent("sub-1"), call(item("Sub")))
    assert contents(session) == ["Main"]
    assert contents(session.agent("sub-1")) == ["Sub"]
    assert len(updates) == 1


def test_a_listener_that_raises_stops_neither_the_others_nor_the_change(
    session: Session, caplog: pytest.LogCaptureFixture
):
    def broken(todos: object) -> None:
        raise RuntimeError("listener")

    heard: Updates = []
    session.on("todos:update", broken)
    off = session.on("todos:update", heard.append)
    with caplog.at_level(logging.ERROR, "headway"):
        assert shell(session, call(item("A"))).exit_code == 0
    assert "RuntimeError: listener" in caplog.text
    assert len(heard) == 1
    off()
    shell(session, call(item("B")))
    assert len(heard) == 1


def test_the_model_is_recorded_as_the_one_who_changed_the_list(session: Session):
    shell(session, call(item("A")))
    assert [event.actor for event in session.history()] == ["model"]


# Words, help and standard input.


@pytest.mark.parametrize("words", [[], [""], ["  "], ["\n\t"], ["", ""]])
def test_without_json_the_parameter_is_missing(session: Session, words: list[str]):
    assert tuple(run_words(session, words)) == (
        "",
        "Error: Missing JSON parameter\nUsage: TodoWrite '{\"todos\":[...]}'",
        1,
    )


@pytest.mark.parametrize("stdin", [None, "", "  \n"])
def test_a_dash_without_input_is_a_missing_parameter(session: Session, stdin: str | None):
    assert run_words(session, ["-"], stdin).stderr == MISSING


def test_a_dash_takes_the_json_from_standard_input(session: Session):
    assert run_words(session, ["-"], json.dumps(THREE)).exit_code == 0
    assert run_todo_write(session, " - ", json.dumps(call(item("A", "completed")))).stdout.startswith("Todo list upd")
    assert contents(session) == ["A"]


@pytest.mark.parametrize("words", [['{"todos":[]}', "more"], ["-", "x"], ['{"todos":', "[]}"], ["--verbose", "{}"]])
def test_more_than_one_word_is_not_one_word_of_json(session: Session, words: list[str]):
    answer, error, code = run_words(session, words, '{"todos":[]}')
    assert (answer, code) == ("", 1)
    assert str(error).startswith(f"{INVALID}\nAt argument 2 ({words[1]}): the JSON must be one word; put single quotes")


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_has_every_part_and_changes_nothing(session: Session, word: str):
    shell(session, THREE)
    before = session.version
    result = run_todo_write(session, word)
    assert tuple(result) == (help_text(), "", 0)
    assert session.version == before
    sections = [line for line in result.stdout.split("\n") if line and not line.startswith(" ")]
    assert sections[2:] == [
        "Usage",
        "Parameters",
        "Use it when",
        "Skip it when",
        "States",
        "Rules",
        "Completed means",
        "Example",
    ]
    for word in ("content", "activeForm", "status", "pending", "in_progress", "completed"):
        assert word in result.stdout


def test_the_example_in_the_help_does_what_it_says(session: Session):
    text = help_text()
    example, answer = text[text.index("Example") :].split("\n", 1)[1].rsplit("\n\n", 1)
    args = find_agent_command(example)
    assert args is not None
    assert run_todo_write(session, args).stdout == answer.strip()


def test_the_help_gives_the_limits_that_apply(monkeypatch: pytest.MonkeyPatch):
    assert "at most 50;" in help_text()
    assert help_text().count("at most 200 characters") == 2
    monkeypatch.setenv("TODO_MAX_ITEMS", "7")
    monkeypatch.setenv("TODO_MAX_CONTENT_LENGTH", "80")
    assert "at most 7;" in help_text()
    assert help_text().count("at most 80 characters") == 2


@pytest.mark.parametrize(
    "args",
    [
        """'{"todos":[{"content":"It'\\''s it","activeForm":"B","status":"pending"}]}'""",
        '"{\\"todos\\":[{\\"content\\":\\"It\'s it\\",\\"activeForm\\":\\"B\\",\\"status\\":\\"pending\\"}]}"',
        """'{"todos":[
             {"content":"It'"'"'s it",
              "activeForm":"B","status":"pending"}
           ]}'""",
        """{"todos":[{"content":"It's it","activeForm":"B","status":"pending"}]}""",
        """  {"todos": [ {"content": "It's it", "activeForm": "B", "status": "pending"} ]}\n""",
    ],
)
def test_any_quoting_of_the_same_json_gives_the_same_list(session: Session, args: str):
    assert run_todo_write(session, args).stdout == "Todo list updated: 1 pending"
    assert contents(session) == ["It's it"]


def test_text_of_any_script_comes_back_as_it_was_sent(session: Session):
    texts = ["修复重叠检测", "Ünïcödé", "👨‍👩‍👧 family", "שלום", "e\u0301"]
    run_todo_write(session, "'" + json.dumps(call(*map(item, texts)), ensure_ascii=False) + "'")
    assert contents(session) == texts
    run_todo_write(session, "'" + json.dumps(call(*map(item, texts))) + "'")
    assert (contents(session), session.version) == (texts, 1)


def test_thousands_of_items_written_in_python_do_not_bind_the_contract(session: Session):
    session.write([{"content": f"Task {n}", "status": "in_progress"} for n in range(2_000)])
    assert len(session.todos) == 2_000
    assert shell(session, call(item("Task 7", "completed"))).exit_code == 0
    assert ids(session) == ["t8"]


def test_a_store_that_cannot_be_used_is_one_sentence(folder: Path):
    (folder / ".headway").write_text("in the way", encoding="utf-8")
    result = shell(headway.open(folder), call(item("A")))
    assert (result.stdout, result.exit_code) == ("", 1)
    assert result.stderr.startswith("Error: ")
    assert VALIDATION not in result.stderr
    assert "\n" not in result.stderr
