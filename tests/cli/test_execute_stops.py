"""An execution that is stopped, killed, or changed by others meanwhile: what is kept, and how it goes on."""

from __future__ import annotations

import signal
from itertools import count
from pathlib import Path

import pytest
from tests.support.executions import (
    ALL,
    COMPLETE,
    MODEL,
    NAME,
    Turns,
    at,
    done,
    door,
    ending,
    item,
    let,
    listed,
    said,
    scripted,
    starts,
    states,
)
from tests.support.processes import Running, run, until
from tests.support.scripts import bash, talking, turn
from tests.support.terminal import Terminal

import headway as api
from headway.core.batch_events import BatchFinished, ItemFinished

from .conftest import Headway
from .test_run_terminal import one_box

CTRL_C = "\x03"
INTERRUPTED = "⏸ Batch Execution Interrupted"
ITEMS = ("s1", "s2", "s3", "s4", "s5")


@pytest.fixture(autouse=True)
def project(repository: Path) -> Path:
    return repository


def stopping_at_two(**more: Turns) -> str:
    """A model that does the first item, and waits at a door in the second."""
    return done("s1", "s3", "s4", "s5", s2=[door("two", "touch after"), "Done."], **more)


def outcomes() -> list[tuple[str, str]]:
    """What came of each attempt."""
    finished = [event.data for event in api.open(".", NAME).events() if isinstance(event.data, ItemFinished)]
    return [(one.item_id, one.outcome) for one in finished]


def seen_alive_after(path: Path) -> None:
    """Waits for a sign of life: what is changed after the last one may be someone else's work, and is left alone."""
    (alive,) = Path(".headway/checkpoints").glob("alive-*")
    until(lambda: alive.stat().st_mtime > path.stat().st_ctime)


def last_lines(shown: str, number: int) -> list[str]:
    return shown.rstrip().splitlines()[-number:]


# Ctrl+C


def test_ctrl_c_keeps_what_is_done_and_says_how_to_resume_and_resuming_completes_it() -> None:
    session = listed(*ITEMS)
    terminal = Terminal(*ALL, "--mode=yolo", "--model", stopping_at_two(), lines=40)
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
    ended = run("todos", "execute-all", "--mode=yolo", "--model", stopping_at_two())
    assert ended.code == 0
    assert ending(ended)[0] == COMPLETE and ending(ended)[1].startswith("Executed 4/4 todos in ")
    assert {*states().values()} == {"completed"}


def test_ctrl_c_stops_all_items_that_run_at_once_and_all_they_started(project: Path) -> None:
    session = listed(*ITEMS)
    pid = f"echo $$ > {project / 'doors' / 'pid'}; exec sleep 60"
    model = done("s1", s2=[door("two")], s3=[turn("", bash(pid))], s4=[talking()], s5=["Done."])
    terminal = Terminal(*ALL, "--mode=yolo", "--parallel=3", "--model", model, lines=40, columns=100)
    at("two")
    until(lambda: (project / "doors" / "pid").exists() and (project / "doors" / "pid").read_text().endswith("\n"))
    terminal.until(lambda shown: "● s4  answering …" in shown and "✓ s1" in shown)
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
    until(lambda: not Path(f"/proc/{(project / 'doors' / 'pid').read_text().strip()}").exists())
    ended = run(*ALL, "--mode=yolo", "--parallel=3", "--model", done(*ITEMS))
    assert ending(ended)[1].startswith("Executed 4/4 todos in ")


@pytest.mark.parametrize("parallel", [1, 2])
def test_ctrl_c_during_a_question_ends_it_unanswered_and_the_question_comes_again(project: Path, parallel: int) -> None:
    listed("s1", "s2")
    model = scripted(s1=[turn("", bash("touch 1")), "Done."], s2=["Done."])
    words = ("todos", "execute-all", f"--parallel={parallel}", "--model", model)
    terminal = Terminal(*words)
    terminal.asked("? Run: touch 1")
    terminal.send(CTRL_C)
    assert terminal.end() == 130
    assert terminal.given_back and INTERRUPTED in terminal.all
    assert states()["s1"] == "pending" and not (project / "1").exists()
    terminal = Terminal(*words)
    terminal.asked("? Run: touch 1")
    terminal.send("y\n")
    assert terminal.end() == 0
    assert (project / "1").exists() and {*states().values()} == {"completed"}


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_terminal_a_signal_does_the_same(number: signal.Signals) -> None:
    listed(*ITEMS)
    running = Running(*ALL, "--mode=yolo", "--model", stopping_at_two())
    at("two")
    running.signal(number)
    ended = running.end()
    assert ended.code == 130 and "Traceback" not in ended.err
    assert ending(ended)[:2] == [INTERRUPTED, "Completed: 1/5 todos"]
    assert states()["s2"] == "pending"


def test_as_json_a_stop_is_in_the_events_and_in_the_exit_code() -> None:
    listed("s1", "s2", "s3")
    running = Running(*ALL, "--mode=yolo", "--json", "--model", stopping_at_two())
    at("two")
    running.signal(signal.SIGINT)
    ended = running.end()
    assert (ended.code, ended.err) == (130, "")
    *_, batch, last = ended.events
    assert (batch["type"], batch["outcome"], batch["completed"]) == ("BatchFinished", "interrupted", 1)
    assert (last["type"], last["reason"]) == ("RunFinished", "cancelled")


def test_a_single_item_that_is_stopped_is_resumed_by_the_command_that_it_names() -> None:
    listed("s1", "s2")
    terminal = Terminal("todos", "execute", "s2", "--mode=yolo", "--model", stopping_at_two())
    at("two")
    terminal.until(lambda shown: "● Do s2..." in shown)
    terminal.send(CTRL_C)
    assert terminal.end() == 130
    *_, resume = last_lines(terminal.all, 1)
    assert resume == f"Resume with: headway todos execute s2 --mode=yolo{MODEL}"
    let("two")
    words = resume.removeprefix("Resume with: headway ").split()
    assert run(*words, "--model", stopping_at_two()).code == 0
    assert states() == {"s1": "pending", "s2": "completed"}


def test_a_terminal_that_goes_away_leaves_nothing_in_progress() -> None:
    listed("s1", "s2")
    terminal = Terminal(*ALL, "--mode=yolo", "--model", done("s1", s2=[door("two")]))
    at("two")
    terminal.close()
    terminal.wait()
    assert states() == {"s1": "completed", "s2": "pending"}


def test_an_output_that_nobody_reads_any_more_ends_it_quietly() -> None:
    listed("s1", "s2")
    running = Running(*ALL, "--mode=yolo", "--json", "--model", done("s1", s2=[talking()]))
    running.event("ItemFinished")
    running.out.close()
    assert running.wait() == 130
    assert "Traceback" not in running.err.rest()
    assert states()["s1"] == "completed"


# killed


def test_after_kill_9_the_same_command_begins_the_item_anew_from_the_files_before_it(project: Path) -> None:
    (project / "a.txt").write_text("before\n", encoding="utf-8")
    listed("s1", "s2", "s3")
    model = done("s1", "s3", s2=[turn("", bash("echo half > a.txt; touch half.txt")), door("two"), "Done."])
    running = Running(*ALL, "--mode=yolo", "--model", model)
    at("two")
    seen_alive_after(project / "half.txt")
    running.signal(signal.SIGKILL)
    assert running.end().code == -signal.SIGKILL
    ended = run(
        *ALL, "--mode=yolo", "--model", done("s3", s2=[turn("", bash("cat a.txt; cat half.txt; true")), "Done."])
    )
    assert ended.code == 0, ended.out
    assert "! 2 files brought back to where the attempt before began" in said(ended)
    assert ending(ended)[1].startswith("Executed 2/2 todos in ")
    assert (project / "a.txt").read_text() == "before\n" and not (project / "half.txt").exists()
    assert {*states().values()} == {"completed"}


def test_after_kill_9_at_once_the_same_command_completes_everything(project: Path) -> None:
    listed("s1", "s2", "s3")
    model = done("s3", s1=[door("one"), "Done."], s2=[turn("", bash("touch half.txt")), door("two"), "Done."])
    running = Running(*ALL, "--mode=yolo", "--parallel=2", "--model", model)
    at("one", "two")
    running.signal(signal.SIGKILL)
    running.end()
    assert not (project / "half.txt").exists(), "it worked in a folder of its own"
    ended = run(*ALL, "--mode=yolo", "--parallel=2", "--model", done("s1", "s2", "s3"))
    assert ended.code == 0, ended.out
    assert ending(ended)[1].startswith("Executed 3/3 todos in ")


# others, meanwhile


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("todos", "execute-all"), "Another run has the session 'mine', since "),
        (("todos", "execute", "s3"), "Another run has the session 'mine', since "),
        (("run", "--continue", "Go on"), "Another run has the session 'mine', since "),
        (("todos", "rollback", "s1"), "A run is going on in this session; wait for it or stop it "),
    ],
)
def test_a_second_process_is_refused_with_a_sentence_and_the_first_goes_on(words: tuple[str, ...], why: str) -> None:
    listed("s1", "s2", "s3")
    running = Running(*ALL, "--mode=yolo", "--model", stopping_at_two())
    at("two")
    refused = run(*words, "--model", stopping_at_two())
    assert refused.code == 1 and refused.out.strip() == ""
    assert refused.err.startswith(f"Error: {why}") and refused.err.count("\n") == 1
    let("two")
    assert running.end().code == 0
    assert {*states().values()} == {"completed"} and len(starts()) == 3


@pytest.mark.parametrize(("parallel", "status"), [(1, "cancelled"), (2, "completed"), (2, "cancelled")])
def test_an_item_that_another_process_ends_is_stopped_and_the_others_go_on(
    headway: Headway, project: Path, parallel: int, status: str
) -> None:
    listed("s1", "s2", item("s3", "", "s2"))
    model = done("s2", "s3", s1=[door("one", "touch after"), "Done."])
    running = Running(*ALL, "--mode=yolo", f"--parallel={parallel}", "--model", model)
    at("one")
    headway("todos", "update", "s1", status)
    ended = running.end()
    assert ended.code == 0
    assert states() == {"s1": status, "s2": "completed", "s3": "completed"}
    assert ("s1", "interrupted") in outcomes() and "⏸ s1: Do s1: interrupted" in said(ended)
    assert not (project / "after").exists()
    assert ending(ended)[1].startswith("Executed 2/3 todos in ")


def test_an_item_that_another_process_drops_is_stopped(headway: Headway) -> None:
    listed("s1", "s2")
    running = Running(*ALL, "--mode=yolo", "--model", done("s2", s1=[door("one"), "Done."]))
    at("one")
    headway("todos", "drop", "s1")
    assert running.end().code == 0
    assert states() == {"s2": "completed"}


def test_an_item_that_another_process_adds_is_taken_up_and_counted(headway: Headway) -> None:
    listed("s1")
    running = Running(*ALL, "--mode=yolo", "--model", scripted(s1=[door("one"), "Done."], t1=["Done."]))
    at("one")
    headway("todos", "add", "One more")
    let("one")
    ended = running.end()
    assert ended.code == 0
    assert "▶ [1/1] Do s1" in said(ended) and "▶ [2/2] One more" in said(ended)
    assert ending(ended)[1].startswith("Executed 2/2 todos in ")


def test_a_stop_from_elsewhere_is_told_with_who_wanted_it() -> None:
    session = listed("s1", "s2")
    running = Running(*ALL, "--mode=yolo", "--model", stopping_at_two())
    at("two")
    session.stop_run(actor="somebody")
    ended = running.end()
    assert ended.code == 130
    assert "! Stopped by somebody" in said(ended)
    assert ending(ended)[:2] == [INTERRUPTED, "Completed: 1/2 todos"]


def test_a_question_can_be_answered_from_elsewhere(project: Path) -> None:
    session = listed("s1")
    terminal = Terminal(*ALL, "--model", scripted(s1=[turn("", bash("touch 1")), "Done."]))
    terminal.asked("? Run: touch 1")
    asking = session.agent(starts()[0].agent)
    assert asking.run is not None
    asking.answer(next(iter(asking.run.questions)), "once")
    assert terminal.end() == 0
    assert (project / "1").exists() and terminal.given_back


def test_watch_shows_the_list_as_it_is_worked_on() -> None:
    listed("s1", "s2")
    watching = Terminal("watch")
    watching.until(lambda shown: "│ ○ Do s1" in shown)
    running = Running(*ALL, "--mode=yolo", "--model", stopping_at_two())
    watching.until(lambda shown: "│ ✓ Do s1" in shown and "│ ● Do s2..." in shown)
    at("two")
    let("two")
    assert running.end().code == 0
    watching.until(lambda shown: "│ ✓ Do s2" in shown)
    watching.send(CTRL_C)
    watching.end()
    assert watching.given_back


def test_watch_as_json_has_the_events_of_the_execution() -> None:
    session = listed("s1")
    watching = Running("watch", "--json")
    changes = count()
    until(lambda: session.update("s1", notes=f"Note {next(changes)}") and watching.out.has_line())
    assert run(*ALL, "--mode=yolo", "--model", done("s1")).code == 0
    assert watching.event("ItemStarted")["item_id"] == "s1"
    assert watching.event("BatchFinished")["outcome"] == "complete"


def test_the_log_has_one_end_for_every_beginning_however_it_ended() -> None:
    session = listed("s1", "s2")
    for signalled in (signal.SIGINT, signal.SIGKILL):
        running = Running(*ALL, "--mode=yolo", "--model", done("s2", s1=[door("one"), "Done."]))
        before = len(starts())
        until(lambda before=before: len(starts()) > before)
        running.signal(signalled)
        running.end()
    assert run(*ALL, "--mode=yolo", "--model", done("s1", "s2")).code == 0
    ends = [event.data.outcome for event in session.events() if isinstance(event.data, BatchFinished)]
    assert ends == ["interrupted", "complete"]
    assert session.run is not None and not session.run.goes_on
