"""An execution that is stopped, killed, or changed by others meanwhile: what is kept, and how it goes on."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.support.executions import (
    ALL,
    COMPLETE,
    FIVE,
    INTERRUPTED,
    MODEL,
    NAME,
    at,
    done,
    door,
    ending,
    let,
    listed,
    scripted,
    starts,
    states,
    stopping_at_two,
)
from tests.support.processes import Running, run, until
from tests.support.scripts import bash, talking, turn
from tests.support.terminal import Terminal, one_box

import headway as api

CTRL_C = "\x03"

pytestmark = [pytest.mark.more, pytest.mark.usefixtures("repository")]


def last_lines(shown: str, number: int) -> list[str]:
    return shown.rstrip().splitlines()[-number:]


@pytest.mark.smoke
def test_ctrl_c_keeps_what_is_done_and_says_how_to_resume_and_resuming_completes_it() -> None:
    session = listed(*FIVE)
    terminal = Terminal(*ALL, "--mode=yolo", "--model", stopping_at_two("touch after"), lines=40)
    at("two")
    terminal.until(lambda shown: "│ ● Do s2..." in shown)
    terminal.send(CTRL_C)
    assert terminal.end() == 130
    assert terminal.given_back and one_box(terminal.all, rows=7)
    assert last_lines(terminal.all, 3) == [
        INTERRUPTED,
        "Completed: 1/5 todos",
        f"Resume with: headway todos execute-all --mode=yolo{MODEL}",
    ]
    assert [*states().values()] == ["completed", "pending", "pending", "pending", "pending"]
    assert [todo.interrupted for todo in session.todos] == [False, True, False, False, False]
    let("two")
    ended = run("todos", "execute-all", "--mode=yolo", "--model", stopping_at_two("touch after"))
    assert ended.code == 0
    assert ending(ended)[0] == COMPLETE and ending(ended)[1].startswith("Executed 4/4 todos in ")
    assert {*states().values()} == {"completed"}


def test_ctrl_c_stops_all_items_that_run_at_once_and_all_they_started(repository: Path) -> None:
    session = listed(*FIVE)
    pid = f"echo $$ > {repository / 'doors' / 'pid'}; exec sleep 60"
    model = done("s1", s2=[door("two")], s3=[turn("", bash(pid))], s4=[talking()], s5=["Done."])
    terminal = Terminal(*ALL, "--mode=yolo", "--parallel=3", "--model", model, lines=40, columns=100)
    at("two")
    until(lambda: (repository / "doors" / "pid").exists() and (repository / "doors" / "pid").read_text().endswith("\n"))
    terminal.until(lambda shown: "● s4  answering …" in shown and "✓? s1" in shown)
    terminal.send(CTRL_C)
    assert terminal.end() == 130
    assert terminal.given_back and one_box(terminal.all, rows=7)
    assert last_lines(terminal.all, 3) == [
        INTERRUPTED,
        "Completed: 1/5 todos",
        f"Resume with: headway todos execute-all --mode=yolo --parallel=3{MODEL}",
    ]
    assert sorted(line[:5] for line in terminal.all.splitlines() if line.startswith("⏸ s")) == [
        "⏸ s2:",
        "⏸ s3:",
        "⏸ s4:",
    ]
    assert [todo.interrupted for todo in session.todos] == [False, True, True, True, False]
    until(lambda: not Path(f"/proc/{(repository / 'doors' / 'pid').read_text().strip()}").exists())
    ended = run(*ALL, "--mode=yolo", "--parallel=3", "--model", done(*FIVE))
    assert ending(ended)[1].startswith("Executed 4/4 todos in ")


@pytest.mark.parametrize("parallel", [1, 2])
def test_ctrl_c_during_a_question_ends_it_unanswered_and_the_question_comes_again(
    repository: Path, parallel: int
) -> None:
    listed("s1", "s2")
    model = scripted(s1=[turn("", bash("touch 1")), "Done."], s2=["Done."])
    words = ("todos", "execute-all", f"--parallel={parallel}", "--model", model)
    terminal = Terminal(*words)
    terminal.asked("? Run: touch 1")
    terminal.send(CTRL_C)
    assert terminal.end() == 130
    assert terminal.given_back and INTERRUPTED in terminal.all
    assert states()["s1"] == "pending" and not (repository / "1").exists()
    terminal = Terminal(*words)
    terminal.asked("? Run: touch 1")
    terminal.send("y\n")
    assert terminal.end() == 0
    assert (repository / "1").exists() and {*states().values()} == {"completed"}


@pytest.mark.parametrize("parallel", [1, 2])
def test_ctrl_c_twice_gives_the_terminal_back_too_and_leaves_nothing_in_progress(parallel: int) -> None:
    listed("s1", "s2")
    model = scripted(s1=[door("one")], s2=[door("two")])
    terminal = Terminal(*ALL, "--mode=yolo", f"--parallel={parallel}", "--model", model)
    at(*("one", "two")[:parallel])
    terminal.until(lambda shown: "● Do s1..." in shown)
    terminal.send(CTRL_C + CTRL_C)
    assert terminal.end() == 130
    assert terminal.given_back
    assert {*states().values()} == {"pending"}
    assert run(*ALL, "--mode=yolo", "--model", done("s1", "s2")).code == 0


def test_ctrl_c_twice_still_says_what_came_of_it_and_how_to_resume() -> None:
    listed("s1")
    terminal = Terminal(*ALL, "--mode=yolo", "--model", scripted(s1=[door("one")]))
    at("one")
    terminal.until(lambda shown: "● Do s1..." in shown)
    # Both are there before the first is answered.
    terminal.signal(signal.SIGSTOP)
    terminal.signal(signal.SIGINT)
    terminal.signal(signal.SIGTERM)
    terminal.signal(signal.SIGCONT)
    assert terminal.end() == 130
    assert INTERRUPTED in terminal.all and "Resume with: " in terminal.all


def test_a_single_item_that_is_stopped_is_resumed_by_the_command_that_it_names() -> None:
    listed("s1", "s2")
    terminal = Terminal("todos", "execute", "s2", "--mode=yolo", "--model", stopping_at_two("touch after"))
    at("two")
    terminal.until(lambda shown: "● Do s2..." in shown)
    terminal.send(CTRL_C)
    assert terminal.end() == 130
    *_, resume = last_lines(terminal.all, 1)
    assert resume == f"Resume with: headway todos execute s2 --mode=yolo{MODEL}"
    let("two")
    words = resume.removeprefix("Resume with: headway ").split()
    assert run(*words, "--model", stopping_at_two("touch after")).code == 0
    assert states() == {"s1": "pending", "s2": "completed"}


def test_a_terminal_that_goes_away_leaves_nothing_in_progress() -> None:
    listed("s1", "s2")
    terminal = Terminal(*ALL, "--mode=yolo", "--model", done("s1", s2=[door("two")]))
    at("two")
    terminal.close()
    terminal.wait()
    assert states() == {"s1": "completed", "s2": "pending"}


def test_a_question_can_be_answered_from_elsewhere(repository: Path) -> None:
    session = listed("s1")
    terminal = Terminal(*ALL, "--model", scripted(s1=[turn("", bash("touch 1")), "Done."]))
    terminal.asked("? Run: touch 1")
    asking = session.agent(starts()[0].agent)
    assert asking.run is not None
    asking.answer(next(iter(asking.run.questions)), "once")
    assert terminal.end() == 0
    assert (repository / "1").exists() and terminal.given_back


def test_watch_shows_the_list_as_it_is_worked_on() -> None:
    listed("s1", "s2")
    watching = Terminal("watch")
    watching.until(lambda shown: "│ ○ Do s1" in shown)
    running = Running(*ALL, "--mode=yolo", "--model", stopping_at_two("touch after"))
    watching.until(lambda shown: "│ ✓ Do s1" in shown and "│ ● Do s2..." in shown)
    assert "Executing · Mode: yolo (never asks)" in watching.shown
    at("two")
    api.open(".", NAME).set_plan_mode(True)
    watching.until(lambda shown: "Execution paused until plan mode is off · Mode: yolo (never asks)" in shown)
    api.open(".", NAME).set_plan_mode(False)
    let("two")
    assert running.end().code == 0
    watching.until(lambda shown: "│ ✓ Do s2" in shown and "Mode:" not in shown)
    watching.send(CTRL_C)
    watching.end()
    assert watching.given_back
