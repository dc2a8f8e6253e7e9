"""Which command lines are answered by the agent itself, and which go to a real shell."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import check_rows

import headway
from headway import Session
from headway.contracts.router import find_agent_command
from headway.contracts.shell import INVALID, MISSING, help_text, run_todo_write

from .samples import call, contents, item

NOT_JSON = "At line 1, column 1: expecting value"
JSON = json.dumps(call(item("It's A; B && $C `D`\n# E")))
QUOTED = shlex.quote(JSON)


def test_a_plain_call_is_an_agent_command_and_does_what_it_says(session: Session):
    args = find_agent_command(f"TodoWrite {QUOTED}")
    assert args is not None
    assert args == QUOTED
    assert run_todo_write(session, args).stdout == "Todo list updated: 1 pending"
    assert contents(session) == ["It's A; B && $C `D`\n# E"]


def test_space_lines_and_quotes_around_it_make_no_difference() -> None:
    def check(line: str) -> None:
        session = headway.open(memory=True)
        args = find_agent_command(line)
        assert args is not None
        assert run_todo_write(session, args).stderr == "Error: Validation failed\n- todos: Required"

    check_rows(
        [
            "TodoWrite '{}'",
            "  TodoWrite   '{}'  ",
            "\nTodoWrite '{}'\n",
            "\tTodoWrite\t'{}'\t\n\n",
            "TodoWrite \\\n  '{}'",
            "\"TodoWrite\" '{}'",
            "'TodoWrite' '{}'",
            "TodoWrite '{}' 2>&1",
            "TodoWrite '{}';",
            "TodoWrite '{}' 2>&1 ;\n",
        ],
        check,
    )


@pytest.mark.parametrize(
    ("line", "stderr"), [("TodoWrite", MISSING), ("TodoWrite ''", MISSING), ("TodoWrite x", f"{INVALID}\n{NOT_JSON}")]
)
def test_a_call_without_json_is_still_an_agent_command(session: Session, line: str, stderr: str):
    args = find_agent_command(line)
    assert args is not None
    assert run_todo_write(session, args).stderr == stderr


@pytest.mark.parametrize("line", ["TodoWrite -h", "TodoWrite --help", "TodoWrite '-h'"])
def test_help_is_an_agent_command(session: Session, line: str):
    args = find_agent_command(line)
    assert args is not None
    assert run_todo_write(session, args).stdout == help_text()


def test_json_over_several_lines_in_single_quotes_is_an_agent_command(session: Session):
    line = """TodoWrite '{"todos":[
  {"content":"Analyze requirements","activeForm":"Analyzing requirements","status":"completed"},
  {"content":"Write implementation","activeForm":"Writing implementation","status":"in_progress"},
  {"content":"Run tests","activeForm":"Running tests","status":"pending"}
]}'
"""
    args = find_agent_command(line)
    assert args is not None
    assert run_todo_write(session, args).stdout == "Todo list updated: 1 completed, 1 in_progress, 1 pending"


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ('TodoWrite {"todos":[]}', "Todo list cleared"),
        ('TodoWrite  {"todos": [ ]} \n', "Todo list cleared"),
        (
            'TodoWrite {"todos":[{"content":"A & B; it\'s", "activeForm":"*", "status":"pending"}]}',
            "Todo list updated: 1 pending",
        ),
        ("TodoWrite [1]", "Error: Validation failed\n- (root): Expected object, received array"),
    ],
)
def test_json_without_quotes_is_accepted_as_it_stands(session: Session, line: str, answer: str):
    args = find_agent_command(line)
    assert args is not None
    result = run_todo_write(session, args)
    assert (result.stdout or result.stderr) == answer


OTHER_COMMANDS = [
    "",
    "   ",
    "ls",
    "TodoWriteX '{}'",
    "TodoWrite2 '{}'",
    "TodoWrite'{}'",
    "todowrite '{}'",
    "echo TodoWrite",
    "echo 'TodoWrite {}'",
    "./TodoWrite '{}'",
    "/usr/bin/TodoWrite '{}'",
    "A=1 TodoWrite '{}'",
    "TodoWrite=1",
    "env TodoWrite '{}'",
    "! TodoWrite '{}'",
    "# TodoWrite '{}'",
    "TodoWrite\u00a0'{}'",
    "TodoWrite\r",
]
COMPOUND = [
    "TodoWrite '{}' && make test",
    "TodoWrite '{}'&&make test",
    "TodoWrite '{}' || true",
    "TodoWrite '{}' | cat",
    "cat x | TodoWrite -",
    "TodoWrite - < todos.json",
    "TodoWrite '{}' > out",
    "TodoWrite '{}' 2>/dev/null",
    "TodoWrite '{}';;",
    "TodoWrite '{}' ; ls",
    "TodoWrite '{}' &",
    "TodoWrite '{}'\nls",
    "TodoWrite\nls",
    "cd src\nTodoWrite '{}'",
    "(TodoWrite '{}')",
    "{ TodoWrite '{}'; }",
    "if true; then TodoWrite '{}'; fi",
    "TodoWrite '{}' # done",
    "TodoWrite - <<'EOF'\n{}\nEOF",
    'TodoWrite {"todos":[]} && ls',
    'TodoWrite {"todos":[]} | tee log',
]
EXPANDING = [
    'TodoWrite "$(cat todos.json)"',
    "TodoWrite \"$(cat <<'EOF'\n{}\nEOF\n)\"",
    "TodoWrite `cat todos.json`",
    'TodoWrite "`cat todos.json`"',
    'TodoWrite "$TODOS"',
    "TodoWrite $TODOS",
    'TodoWrite "{\\"todos\\": $TODOS}"',
    'TodoWrite {"todos":["$HOME"]}',
    "TodoWrite $'{}'",
    "TodoWrite *.json",
    "TodoWrite todos?.json",
    "TodoWrite todo[12]",
    "TodoWrite x{a,b}",
    "TodoWrite ~/todos.json",
    "TodoWrite '{}' ~",
]
ONLY_A_SHELL_CAN_TELL = [
    "TodoWrite '{}'\\",
    "TodoWrite '{}' # don't",
    'TodoWrite - <<\'EOF\'\n{"todos": "don\'t"}\nEOF',
    'TodoWrite "$(cat <<EOF\n{"todos": "don\'t"}\nEOF\n)"',
    'TodoWrite \'{"todos":[{"content":"\'"$WHAT"\'"}]}\'',
]


def test_everything_else_goes_to_a_real_shell() -> None:
    def check(line: str) -> None:
        assert find_agent_command(line) is None

    check_rows([*OTHER_COMMANDS, *COMPOUND, *EXPANDING, *ONLY_A_SHELL_CAN_TELL], check)


TEXT = '{"todos":[{"content":"%s","activeForm":"a","status":"pending"}]}'
APOSTROPHE, QUOTE, OPEN = (
    "this apostrophe ends the word",
    "this quote ends the word",
    "the quote that begins here is never closed",
)
BROKEN = [
    ("TodoWrite '" + TEXT % "don't do" + "'", "column 27", APOSTROPHE),
    ("TodoWrite '" + TEXT % "don't pay $5 & can't" + "'", "column 27", APOSTROPHE),
    ("TodoWrite '" + TEXT % "the users' list; the admins' one" + "' 2>&1", "column 33", APOSTROPHE),
    ("TodoWrite '" + TEXT % "don't" + "' && make test", "column 27", APOSTROPHE),
    ('TodoWrite "' + TEXT % "say so" + '"', "column 3", QUOTE),
    ("TodoWrite '" + TEXT % "x", "column 1", OPEN),
    ('TodoWrite "{}', "column 1", OPEN),
    ('TodoWrite {"todos":["it\'s]}', "column 11", OPEN),
]


@pytest.mark.parametrize(("line", "column", "reason"), BROKEN)
def test_broken_quotes_are_answered_at_once_with_how_to_write_it(session: Session, line: str, column: str, reason: str):
    args = find_agent_command(line)
    assert args is not None
    advice = "put single quotes around the JSON, and write an apostrophe in it as \\u0027"
    assert tuple(run_todo_write(session, args)) == ("", f"{INVALID}\nAt line 1, {column}: {reason}; {advice}", 1)
    assert session.todos == []


def test_an_apostrophe_written_as_advised_is_taken(session: Session):
    args = find_agent_command("TodoWrite '" + TEXT % "don\\u0027t" + "'")
    assert args is not None
    assert run_todo_write(session, args).exit_code == 0
    assert contents(session) == ["don't"]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_as_one_quoted_word_is_an_agent_command(text: str):
    args = find_agent_command(f"TodoWrite {shlex.quote(text)}")
    assert args == shlex.quote(text)


@given(st.text())
def test_a_second_command_is_never_swallowed(text: str):
    for operator in ("&&", "||", ";", "&", "|", "\n"):
        assert find_agent_command(f"TodoWrite {shlex.quote(text)} {operator} ls") is None


@given(st.text())
def test_any_line_is_decided_without_an_error(text: str):
    assert find_agent_command(text) is None or "TodoWrite" in text
    find_agent_command("TodoWrite " + text)
