"""`headway` alone without a terminal: lines from a pipe or a file are messages and commands."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.support.processes import PROGRAM, WAIT, Pipe, Process, environment, headway, run
from tests.support.scripts import bash, script, turn, writing

from .screens import NAME, WITHOUT_UNICODE, said

pytestmark = pytest.mark.usefixtures("project")


def test_lines_from_a_pipe_are_messages_and_commands_one_after_the_other(project: Path) -> None:
    lines = "First 第一\n\n/todos add 'An item'\r\n/todos list\n/todos clear\nSecond"
    done = run("--model", script("Hello 你好."), "--session", NAME, given=lines.encode())
    assert (done.code, done.err) == (0, f"Project: {os.getcwd()}\n")
    assert said(project) == ["First 第一", "Second"]
    places = [done.out.index(text) for text in ("Hello 你好.", "Finished after 1 round", "Added t1", "○ t1")]
    assert places == sorted(places) and done.out.count("Hello 你好.") == 2
    assert "\x1b" not in done.out and "\n> " not in done.out


def test_an_answer_is_printed_as_it_is_and_the_list_change_by_change(project: Path) -> None:
    answer = "First 第一.\n\n```\nprint(1)\n\n\nprint(2)\n```\nSo."
    model = script(
        turn(answer, writing(("One", "in_progress"), ("Two", "pending"))),
        turn("", writing(("One", "completed"), ("Two", "pending"))),
        turn("", writing(("One", "completed"), ("Two", "completed"))),
        "Done.\n\nReally.",
    )
    done = run("--model", model, given=b"Go\n")
    assert (done.code, done.err) == (0, f"Project: {os.getcwd()}\n")
    assert done.out.startswith(f"{answer}\n")  # changes that come fast are told together
    assert done.out.count("\n✓ One\n") <= 1 and done.out.count("┌─ Tasks") == 1
    assert "\n✓ One\n" in done.out and "\n✓ Two\n" in done.out and "Done.\n\nReally.\n┌─ Tasks" in done.out


def test_lines_from_a_file_are_taken_too(project: Path) -> None:
    (project / "lines.txt").write_text("Hi\n/todos add x\n", encoding="utf-8")
    done = run("--model", script("Hello."), "--session", NAME, given=project / "lines.txt")
    assert (done.code, done.err) == (0, f"Project: {os.getcwd()}\n")
    assert "Hello." in done.out and "Added t1" in done.out


def test_quit_leaves_the_lines_after_it_unread() -> None:
    done = run("--model", script("Hello."), given=b"/quit\nHi\n")
    assert done.code == 0 and "Hello." not in done.out


@pytest.mark.parametrize(
    ("lines", "turns", "code"),
    [
        ("Hi\n", ["Hello."], 0),
        ("Hi\n", [turn("", error={"status": 401, "message": "no"})], 1),
        ("Hi\n/todos add x\n", [turn("", error={"status": 401, "message": "no"})], 1),
        ("/nonsense\nHi\n", ["Hello."], 0),
    ],
)
def test_the_exit_code_is_that_of_the_last_run(lines: str, turns: list[str], code: int) -> None:
    done = run("--model", script(*turns), given=lines.encode())
    assert done.code == code, done.out


def test_without_a_person_nothing_that_needs_one_is_run(project: Path) -> None:
    done = run("--model", script(turn("", bash("touch 1")), "End."), "--session", NAME, given=b"Go\ny\n")
    assert "⊘ bash touch 1: denied" in done.out
    assert not (project / "1").exists()


def test_without_a_screen_and_unicode_outcomes_can_be_told_apart() -> None:
    model = script(turn("", bash("true"), bash("exit 3")), "End.")
    done = run("--model", model, "--mode", "yolo", env=WITHOUT_UNICODE, given=b"Go\n")
    marks = [line[0] for line in done.out.splitlines() if " bash " in line]
    assert len({*marks}) == 2 and "?" not in marks


@pytest.mark.more
def test_the_demo_that_is_offered_can_be_seen_without_a_screen(project: Path) -> None:
    assert "The model is scripted" in run(env={"TMPDIR": str(project)}, given=b"demo\n").out


def test_a_closed_standard_input_is_an_empty_one() -> None:
    done = subprocess.run(
        ["sh", "-c", f"{PROGRAM} <&-"], env=environment(), capture_output=True, text=True, timeout=WAIT, check=False
    )
    assert "Traceback" not in done.stderr


def test_output_that_is_piped_is_plain() -> None:
    out = Pipe()
    terminal, other = os.openpty()
    process = Process((other, out.other, other), headway("--model", script("Hello **you**."), "--memory"))
    os.close(out.other)
    os.close(other)
    os.write(terminal, b"Hi\n\x04")
    printed = out.rest()
    assert process.wait() == 0
    os.close(terminal)
    assert "Hello **you**." in printed and "\x1b" not in printed


@pytest.mark.parametrize("words", [["--continue"], ["--continue", "--session", "nowhere"]])
def test_where_there_is_nothing_to_continue_it_says_so_in_one_sentence(words: list[str]) -> None:
    done = run(*words)
    assert (done.code, done.out) == (1, "")
    assert "has no conversation to continue" in done.err and done.err.count("\n") == 1
