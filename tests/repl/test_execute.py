"""`/todos execute`, `execute-all` and `rollback`: what is wanted, offered and refused; and piped, to the end."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from tests.support.executions import (
    COMPLETE,
    FAILED,
    FAILS,
    NAME,
    at,
    done,
    door,
    item,
    let,
    listed,
    scripted,
    starts,
    states,
)
from tests.support.processes import Done, headway, run, start
from tests.support.scripts import bash, turn, write
from tests.support.tables import check_rows
from tests.support.terminal import Terminal

from headway.execute.options import ExecutionOptions
from headway.repl.completion import complete

from .at_terminal import AtTerminal

MODES = ["default", "auto_edit", "sandboxed", "yolo"]
NO_MODEL = [
    "  No model is set yet. Everything else works: /help lists the commands.",
    "  Set one: /model provider:name (openai:…, anthropic:…, google:…, ollama:…).",
    '  Type "demo" for an offline tour.',
]

pytestmark = pytest.mark.usefixtures("repository")


@pytest.fixture
def say(repository: Path) -> AtTerminal:
    listed(item("step-1", "First", status="cancelled"), item("step-2", "Second", "step-1"), item("step-3", "Third"))
    return AtTerminal(repository, NAME)


# what is wanted


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("/todos execute step-3", ExecutionOptions("step-3", None, 1, 0, False, False)),
        ("/todos execute step-3 --mode=yolo --retries=2", ExecutionOptions("step-3", "yolo", 1, 2, False, False)),
        ("/todos execute step-3 --require-evidence", ExecutionOptions("step-3", None, 1, 0, False, True)),
        ("/todos execute-all", ExecutionOptions(None, None, None, 1, False, False)),
        ("／todos execute-all --mode AUTO-EDIT", ExecutionOptions(None, "auto_edit", None, 1, False, False)),
        (
            "/todos execute-all --parallel 4 --retries 0 --keep-going --require-evidence",
            ExecutionOptions(None, None, 4, 0, True, True),
        ),
    ],
)
def test_what_was_typed_is_what_is_wanted_of_the_terminal_session(
    say: AtTerminal, line: str, wanted: ExecutionOptions
) -> None:
    assert say(line) == ""
    assert say.wanted == [wanted]


MISTAKES: list[tuple[str, str]] = [
    ("/todos execute", "Error: Missing argument 'ID'; see /help todos execute."),
    ("/todos execute step-1 step-2", "Error: Got unexpected extra argument (step-2); quote a text"),
    ("/todos execute-al", "Error: No command '/todos execute-al'; did you mean '/todos execute-all'?"),
    ("/todos execute-all --paralel=2", "Error: No such option '--paralel'. Did you mean '--parallel'?"),
    ("/todos execute-all --parallel=0", "Error: Invalid value for '--parallel': 0 is not in the range 1<=x<=64."),
    (
        "/todos execute-all --retries=101",
        "Error: Invalid value for '--retries': 101 is not in the range 0<=x<=100.",
    ),
    (
        "/todos execute-all --mode=jolo",
        "Error: Invalid value for '--mode': 'jolo' is not a valid mode; did you mean 'yolo'?",
    ),
    ("/todos rollback", "Error: Missing argument 'ID'; see /help todos rollback."),
    ("/todos rollback step-9", "Error: No todo has the id 'step-9'; the ids are: step-1, step-2, step-3."),
    ("/todos rollback step-3", "Error: 'step-3' "),
]


def test_what_is_typed_wrongly_is_answered_in_one_line_and_nothing_begins(say: AtTerminal) -> None:
    def check(line: str, told: str) -> None:
        said = say(line)
        assert said.startswith(told) and "\n" not in said
        assert say.wanted == []

    check_rows(MISTAKES, check)


@pytest.mark.parametrize("flag", ["--session=else", "--agent=helper"])
def test_a_list_that_is_not_the_open_one_is_not_executed_in_its_place(say: AtTerminal, flag: str) -> None:
    listed("e1", name="else")
    say(f"/todos execute-all {flag}")
    assert say.wanted == []


def test_help_teaches_them_as_they_are_typed_here(say: AtTerminal) -> None:
    overview = say("/help todos")
    for name in ("execute", "execute-all", "rollback"):
        assert re.search(rf"^  {name} +\w", overview, re.MULTILINE)
    told = say("/help todos execute-all")
    assert "/todos execute-all --mode=yolo --parallel=4 --keep-going" in told and "Ctrl+C" in told
    assert "headway todos" not in told + say("/help todos execute") + say("/help todos rollback")


OFFERED: list[tuple[str, list[str]]] = [
    ("/todos exe", ["execute", "execute-all"]),
    ("/todos execute ", ["step-1", "step-2", "step-3"]),
    ("/todos execute step-3", ["step-3"]),
    ("/todos rollback s", ["step-1", "step-2", "step-3"]),
    ("/todos execute step-3 --mode ", MODES),
    ("/todos execute-all --mode=", MODES),
    ("/todos execute-all --mode=y", ["yolo"]),
    ("/todos execute-all --k", ["--keep-going"]),
    ("/todos rollback step-1 --w", ["--with-later"]),
    ("/todos execute-all ", []),
]


def test_ids_modes_and_flags_are_offered(say: AtTerminal) -> None:
    def check(line: str, offered: list[str]) -> None:
        assert [found.text for found in complete(line, say.chosen)] == offered

    check_rows(OFFERED, check)


def test_an_id_is_offered_with_its_text(say: AtTerminal) -> None:
    assert [found.meta for found in complete("/todos execute ", say.chosen)] == ["First", "Second", "Third"]


# piped


def typed(lines: str, *words: str, model: str = "", env: dict[str, str] | None = None) -> Done:
    given = ("--model", model) if model else ()
    return run("--session", NAME, *given, *words, env=env or {}, given=lines.encode())


def test_piped_the_next_line_is_taken_when_all_is_executed(repository: Path) -> None:
    listed(item("s1", "第一"), item("s2", "Implement JWT", "s1", estimated_time="45min"))
    model = scripted(s1=[turn("I begin.", bash("touch a")), "Done."], s2=["Done, too."])
    ended = typed("/todos execute-all --mode=yolo\n/todos list\n", model=model)
    assert (ended.code, ended.err) == (0, f"Project: {repository}\n")
    texts = [
        "▶ [1/2] 第一",
        "I begin.",
        "✓ bash touch a",
        "✓? s1: 第一 (",
        "▶ [2/2] Implement JWT ⏱ 45min",
        "Done, too.",
    ]
    places = [ended.out.index(text) for text in (*texts, "✓? s2", COMPLETE, "Executed 2/2 todos in ", "📋 Todo List")]
    assert places == sorted(places)
    assert "\x1b" not in ended.out and (repository / "a").exists()


def test_piped_a_failure_is_told_with_what_to_type_and_in_the_exit_code() -> None:
    listed("s1", "s2", "s3")
    ended = typed("/todos execute-all --parallel=2\n", "--mode", "yolo", model=done("s1", "s3", s2=FAILS * 2))
    assert ended.code == 1
    last = ended.out.rstrip().splitlines()[-4:]
    assert last[:2] == [FAILED, "s2 failed: Its last command failed (exit code 3: exit 3)."]
    assert last[3] == "Resume with: /todos execute-all --parallel=2   (also retries failed items)"
    ended = typed("/todos execute-all\n/todos add Then\n", "--mode", "yolo", model=done("s1", "s2", "s3"))
    assert ended.code == 0 and COMPLETE in ended.out


def test_piped_where_nothing_is_pending_it_says_so_and_that_is_no_failure(repository: Path) -> None:
    listed(item("s1", status="completed"))
    named = f"Project: {repository}\n"
    assert typed("/todos execute-all\n", model=done("s1")) == (0, "No pending todos\n", named)


def test_piped_nobody_is_asked_and_the_item_is_blocked(repository: Path) -> None:
    listed("s1")
    ended = typed("/todos execute s1\ny\n", model=scripted(s1=[turn("", write("a.txt")), "Done."], said=["Yes."]))
    assert "write_file was denied; allow it, or choose another mode." in ended.out
    assert states() == {"s1": "blocked"} and not (repository / "a.txt").exists()


REFUSED = [
    ("/plan on\n/todos execute-all\n", "❌ Plan mode is on, which changes nothing; first turn it off with /plan off."),
    ("/todos execute s9\n", "Error: No todo has the id 's9'; the ids are: s1, s2, s3."),
    (
        "/todos execute s2\n",
        "❌ Cannot execute s2. Dependencies not completed:\n  - s1 (cancelled: reopen it, or remove the dependency)",
    ),
    (
        "/todos update s3 completed\n/todos execute s3\n",
        "❌ Cannot execute s3: it is completed. To repeat it, first set it to pending with /todos update.",
    ),
]


@pytest.mark.parametrize(("lines", "told"), REFUSED)
def test_what_cannot_be_executed_is_told_with_what_to_do_and_nothing_begins(lines: str, told: str) -> None:
    listed(item("s1", status="cancelled"), item("s2", "", "s1"), "s3")
    ended = typed(lines, model=done("s1", "s2", "s3"))
    assert ended.code == 1
    assert ended.out.rstrip("\n").endswith(f"\n{told}") or ended.out == f"{told}\n"
    assert starts() == []


def test_without_a_model_three_lines_say_what_to_do() -> None:
    listed("s1")
    ended = typed("/todos execute-all\n")
    assert (ended.code, ended.out.splitlines()) == (1, NO_MODEL)
    assert states() == {"s1": "pending"}


def test_a_model_that_is_named_with_the_command_is_the_one_that_is_asked() -> None:
    listed("s1")
    other = scripted("other.json", s1=["From the other."])
    assert "From the other." in typed(f"/todos execute-all --model {other}\n", model=done("s1")).out


def test_items_of_another_project_are_executed_or_refused_in_a_sentence(repository: Path) -> None:
    (repository / "other").mkdir()
    listed("s1")
    said = typed("/todos execute-all --project other\n", model=done("s1")).out
    assert "No pending todos" in said or said.startswith(("Error: ", "❌ "))
    assert "ValueError" not in said and states() == {"s1": "pending"}


def test_piped_without_unicode_only_ascii_is_printed() -> None:
    listed(item("s1", "第一", estimated_time="1h"), "s2")
    env = {"PYTHONIOENCODING": "ascii"}
    ended = typed("/todos execute-all\n", "--mode", "yolo", model=done("s1", s2=FAILS * 2), env=env)
    assert ended.code == 1
    assert ended.out.isascii() and "Batch Execution Failed" in ended.out


def test_piped_a_signal_stops_the_execution_and_the_next_line_is_taken() -> None:
    listed("s1", "s2")
    model = done("s1", s2=[door("two"), "Done."])
    words = ("--session", NAME, "--model", model, "--mode", "yolo")
    process = start(headway(*words), given=b"/todos execute-all\n/todos list\n")
    at("two")
    process.signal(signal.SIGINT)
    ended = process.end()
    assert ended.code != 0
    said = ended.out
    places = [said.index(text) for text in ("⏸ Batch Execution Interrupted", "Completed: 1/2 todos", "📋 Todo List")]
    assert places == sorted(places) and "Resume with: /todos execute-all\n" in said
    assert states() == {"s1": "completed", "s2": "pending"}


@pytest.mark.more
def test_on_a_dumb_terminal_questions_are_asked_in_words_and_ctrl_c_stops(repository: Path) -> None:
    listed("s1", "s2")
    model = scripted(s1=[turn("", bash("touch 1")), "Done."], s2=[door("two"), "Done."])
    terminal = Terminal("--session", NAME, "--model", model, env={"TERM": "dumb"})
    terminal.until(lambda shown: shown.startswith("Project: ") and shown.rstrip("\n").endswith("\n>"))
    terminal.send("/todos execute-all\n")
    terminal.asked("? Run: touch 1")
    terminal.send("a\n")
    at("two")
    assert (repository / "1").exists()
    terminal.send("\x03")
    terminal.until(lambda shown: "⏸ Batch Execution Interrupted" in shown and shown.rstrip().endswith("\n>"))
    let("two")
    terminal.send("/todos execute-all --mode=yolo\n")
    terminal.until(lambda shown: "Executed 1/1 todos in " in shown and shown.rstrip().endswith("\n>"))
    terminal.send("/quit\n")
    assert terminal.end() == 0
    assert "\x1b" not in terminal.raw and terminal.given_back
