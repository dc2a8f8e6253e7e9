"""Executions that are stopped in the terminal session, or with it; and those of other processes seen from there."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.support.executions import (
    ALL,
    FIVE,
    INTERRUPTED,
    NAME,
    Turns,
    at,
    done,
    door,
    in_worktree,
    item,
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

from .screens import CTRL_C, CTRL_D, Repl, bottom, kept, prompt, reasons, talk, typed

pytestmark = [pytest.mark.more, pytest.mark.usefixtures("repository")]


def until_told(terminal: Repl, *texts: str) -> str:
    """The screen, when it is idle after a stop and these texts are there."""
    return terminal.idle(INTERRUPTED, *texts)


# Ctrl+C


@pytest.mark.parametrize("parallel", [pytest.param(1, marks=pytest.mark.smoke), 2])
def test_ctrl_c_stops_the_execution_keeps_the_session_and_resuming_completes_it(parallel: int) -> None:
    session = listed(*FIVE)
    turns: Turns = [door("three"), "Done."] if parallel == 2 else ["Done."]
    terminal = talk(model=done("s1", "s4", "s5", s2=[door("two"), "Done."], s3=turns))
    words = "" if parallel == 1 else " --parallel=2"
    terminal.say(f"/todos execute-all{words}")
    at("two", *(() if parallel == 1 else ("three",)))
    terminal.busy("● Do s2...")
    terminal.send(CTRL_C)
    seen = until_told(terminal)
    assert seen[seen.index(INTERRUPTED) :].splitlines()[:3] == [
        INTERRUPTED,
        "Completed: 1/5 todos",
        f"Resume with: /todos execute-all{words}",
    ]
    assert one_box(seen, "✓ Do s1", "○ Do s2", "○ Do s3", "○ Do s4", "○ Do s5") and prompt(seen) == ">"
    assert [todo.interrupted for todo in session.todos][:3] == [False, True, parallel == 2]
    terminal.say("/mode")
    terminal.idle("The mode is yolo.")
    let("two", "three")
    terminal.say(f"/todos execute-all{words}")
    terminal.idle("Executed 4/4 todos in ")
    assert {*states().values()} == {"completed"}
    assert terminal.leave() == 0 and terminal.given_back


def test_after_ctrl_c_the_mode_is_as_before_and_what_waited_is_given_back(repository: Path) -> None:
    listed("s1")
    model = scripted(s1=[turn("", bash("touch 1")), talking()], said=[turn("", bash("touch 2")), "Heard you."])
    terminal = Repl("--session", NAME, "--model", model)
    terminal.idle()
    terminal.say("/todos execute-all --mode=yolo")
    terminal.busy("So on")
    terminal.say("said later")
    terminal.busy("queued: said later")
    terminal.send(CTRL_C)
    seen = until_told(terminal, "Resume with: /todos execute-all --mode=yolo")
    assert typed(seen) == "said later" and in_worktree("1")
    terminal.send("\r")
    terminal.until_there("? Run: touch 2", "no >")
    terminal.say("n")
    terminal.idle("Heard you.")
    assert not (repository / "2").exists()


@pytest.mark.parametrize("parallel", [1, 2])
def test_ctrl_c_during_a_question_ends_it_and_the_question_comes_again(repository: Path, parallel: int) -> None:
    listed("s1", "s2")
    model = done("s2", s1=[turn("", bash("touch 1")), "Done."])
    terminal = Repl("--session", NAME, "--model", model)
    terminal.idle()
    terminal.say(f"/todos execute-all --parallel={parallel}")
    terminal.until_there("? Run: touch 1", "no >")
    terminal.send(CTRL_C)
    seen = until_told(terminal)
    assert prompt(seen) == ">" and states()["s1"] == "pending" and not (repository / "1").exists()
    terminal.say("/todos execute-all")
    terminal.until(lambda seen: seen.count("? Run: touch 1") == 2 and "no >" in seen)
    terminal.say("y")
    terminal.idle("✅ Batch Execution Complete!")
    assert (repository / "1").exists()


def test_ctrl_c_twice_stops_too_and_the_session_goes_on() -> None:
    listed("s1")
    terminal = talk(model=scripted(s1=[door("one"), "Done."], said=["Heard you."]))
    terminal.say("/todos execute-all")
    at("one")
    terminal.busy("● Do s1...")
    terminal.send(CTRL_C + CTRL_C)
    terminal.until(lambda seen: bottom(seen).endswith("/help") and "○ Do s1" in seen)
    assert states() == {"s1": "pending"} and reasons(Path()) == ["cancelled", "cancelled"]
    terminal.say("said now")
    terminal.idle("Heard you.")


def test_a_single_item_is_resumed_by_what_it_says() -> None:
    listed("s1", "s2")
    terminal = talk(model=stopping_at_two())
    terminal.say("/todos execute s2 --mode=yolo")
    at("two")
    terminal.busy("● Do s2...")
    terminal.send(CTRL_C)
    seen = terminal.idle("⏸ s2 interrupted after ")
    (resume,) = [line for line in seen.splitlines() if line.startswith("Resume with: ")]
    assert resume == "Resume with: /todos execute s2 --mode=yolo"
    let("two")
    terminal.say(resume.removeprefix("Resume with: "))
    terminal.idle("✅ s2 completed (")
    assert states() == {"s1": "pending", "s2": "completed"}


# the session ends


@pytest.mark.parametrize("how", ["Ctrl+D", "/quit", "SIGTERM", "SIGHUP"])
def test_leaving_stops_the_execution_first_and_gives_the_terminal_back(how: str) -> None:
    session = listed("s1", "s2")
    terminal = talk(model=stopping_at_two())
    terminal.say("/todos execute-all")
    at("two")
    terminal.busy("● Do s2...")
    if how.startswith("SIG"):
        terminal.signal(signal.Signals[how])
    else:
        terminal.send(CTRL_D if how == "Ctrl+D" else f"{how}\r")
    assert terminal.end() == 0
    assert terminal.given_back
    assert states() == {"s1": "completed", "s2": "pending"}
    assert session.run is not None and not session.run.is_active
    assert "Resume with: headway --continue   (session mine)" in terminal.all


@pytest.mark.parametrize("parallel", [1, 2])
def test_after_kill_9_the_session_can_be_gone_on_with_and_so_can_the_execution(parallel: int) -> None:
    listed("s1", "s2", "s3")
    terminal = talk(model=done("s1", s2=[door("two"), "Done."], s3=[door("three"), "Done."]))
    terminal.say(f"/todos execute-all --parallel={parallel}")
    at("two", *(() if parallel == 1 else ("three",)))
    terminal.signal(signal.SIGKILL)
    terminal.end()
    done("s2", "s3")
    terminal = Repl("--continue", "--mode", "yolo")
    seen = terminal.idle("Resuming mine.")
    assert "The last execution was interrupted. Type /todos execute-all to continue." in seen
    terminal.say("/todos execute-all")
    terminal.idle("Executed 2/2 todos in ")
    assert {*states().values()} == {"completed"}
    assert terminal.leave() == 0 and terminal.given_back


def test_a_terminal_that_goes_away_leaves_nothing_in_progress() -> None:
    listed("s1", "s2")
    terminal = talk(model=stopping_at_two())
    terminal.say("/todos execute-all")
    at("two")
    terminal.close()
    terminal.wait()
    assert states() == {"s1": "completed", "s2": "pending"}


# other processes


def test_while_it_executes_another_process_is_refused_and_can_change_the_list() -> None:
    listed("s1", item("s2", "Two"), "s3")
    terminal = talk(model=stopping_at_two(t1=["Done."]))
    terminal.say("/todos execute-all")
    at("two")
    terminal.busy("● Two...")
    refused = run(*ALL, "--model", scripted("other.json", s3=["Done."]))
    assert refused.code == 1 and refused.err.startswith("Error: Another run has been using the session 'mine' since ")
    assert run("todos", "drop", "s3").code == 0
    assert run("todos", "add", "One more").code == 0
    terminal.busy("○ One more")
    let("two")
    seen = terminal.idle("Executed 3/3 todos in ")
    assert one_box(seen, "✓ Do s1", "✓ Two", "✓ One more") and len(starts()) == 3


def test_what_another_process_executes_is_seen_and_cannot_be_begun_twice() -> None:
    listed("s1", "s2", "s3")
    running = Running(*ALL, "--mode=yolo", "--model", stopping_at_two())
    at("two")
    terminal = Repl("--continue", "--model", done("s3"))
    seen = terminal.until_there(
        "A run is in progress in this session, in another process; its work is shown here.", "● Do s2..."
    )
    assert one_box(seen, "✓ Do s1", "● Do s2...", "○ Do s3")
    terminal.say("/todos execute-all")
    terminal.until_there("❌ Another run has been using the session 'mine' since ")
    let("two")
    assert running.end().code == 0
    terminal.until(lambda seen: one_box(seen, "✓ Do s1", "✓ Do s2", "✓ Do s3"))
    assert len(starts()) == 3
    assert terminal.leave() == 0


def test_watch_shows_what_the_terminal_session_executes() -> None:
    listed("s1", "s2")
    watching = Terminal("watch")
    watching.until(lambda shown: "○ Do s1" in shown)
    terminal = talk(model=stopping_at_two())
    terminal.say("/todos execute-all")
    watching.until(lambda shown: "✓ Do s1" in shown and "● Do s2..." in shown)
    at("two")
    let("two")
    watching.until(lambda shown: "✓ Do s2" in shown)
    terminal.idle("Executed 2/2 todos in ")


def test_a_stop_from_elsewhere_is_told_with_who_wanted_it() -> None:
    listed("s1", "s2")
    terminal = talk(model=stopping_at_two())
    terminal.say("/todos execute-all")
    at("two")
    kept(Path()).stop_run(actor="somebody")
    until_told(terminal, "! Stopped by somebody", "Completed: 1/2 todos")
    until(lambda: states() == {"s1": "completed", "s2": "pending"})
