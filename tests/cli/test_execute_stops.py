"""An execution that is stopped, killed, or changed by others meanwhile: what is kept, and how it goes on."""

from __future__ import annotations

import signal
from itertools import count
from pathlib import Path

import pytest
from tests.support.executions import (
    ALL,
    FIVE,
    INTERRUPTED,
    NAME,
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
    stopping_at_two,
)
from tests.support.processes import Running, run, until
from tests.support.scripts import bash, talking, turn
from tests.support.tables import check_rows

import headway as api
from headway.core.execution_events import AttemptFinished, ExecutionFinished

from .commands import Headway

pytestmark = pytest.mark.usefixtures("repository")


def outcomes() -> list[tuple[str, str]]:
    """What came of each attempt."""
    finished = [event.data for event in api.open(".", NAME).events() if isinstance(event.data, AttemptFinished)]
    return [(one.item_id, one.outcome) for one in finished]


# Ctrl+C


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_terminal_a_signal_does_the_same(number: signal.Signals) -> None:
    listed(*FIVE)
    running = Running(*ALL, "--mode=yolo", "--model", stopping_at_two("touch after"))
    at("two")
    running.signal(number)
    ended = running.end()
    assert ended.code == 130 and "Traceback" not in ended.err
    assert ending(ended)[:2] == [INTERRUPTED, "Completed: 1/5 todos"]
    assert states()["s2"] == "pending"


def test_as_json_a_stop_is_in_the_events_and_in_the_exit_code() -> None:
    listed("s1", "s2", "s3")
    running = Running(*ALL, "--mode=yolo", "--json", "--model", stopping_at_two("touch after"))
    at("two")
    running.signal(signal.SIGINT)
    ended = running.end()
    assert (ended.code, ended.err) == (130, "")
    *_, batch, last = ended.events
    assert (batch["type"], batch["outcome"], batch["completed"]) == ("BatchFinished", "interrupted", 1)
    assert (last["type"], last["reason"]) == ("RunFinished", "cancelled")


def test_an_output_that_nobody_reads_any_more_ends_it_quietly() -> None:
    listed("s1", "s2")
    running = Running(*ALL, "--mode=yolo", "--json", "--model", done("s1", s2=[talking()]))
    running.event("ItemFinished")
    running.out.close()
    assert running.wait() == 130
    assert "Traceback" not in running.err.rest()
    assert states()["s1"] == "completed"


# killed


def test_after_kill_9_the_same_command_begins_the_item_anew_from_the_files_before_it(repository: Path) -> None:
    (repository / "a.txt").write_text("before\n", encoding="utf-8")
    listed("s1", "s2", "s3")
    model = done("s1", "s3", s2=[turn("", bash("echo half > a.txt; touch half.txt")), door("two"), "Done."])
    running = Running(*ALL, "--mode=yolo", "--model", model)
    at("two")
    running.signal(signal.SIGKILL)
    assert running.end().code == -signal.SIGKILL
    ended = run(
        *ALL, "--mode=yolo", "--model", done("s3", s2=[turn("", bash("cat a.txt; cat half.txt; true")), "Done."])
    )
    assert ended.code == 0, ended.out
    assert ending(ended)[1].startswith("Executed 2/2 todos in ")
    assert (repository / "a.txt").read_text() == "before\n" and not (repository / "half.txt").exists()
    assert {*states().values()} == {"completed"}


def test_after_kill_9_at_once_the_same_command_completes_everything(repository: Path) -> None:
    listed("s1", "s2", "s3")
    model = done("s3", s1=[door("one"), "Done."], s2=[turn("", bash("touch half.txt")), door("two"), "Done."])
    running = Running(*ALL, "--mode=yolo", "--parallel=2", "--model", model)
    at("one", "two")
    running.signal(signal.SIGKILL)
    running.end()
    assert not (repository / "half.txt").exists(), "it worked in a folder of its own"
    ended = run(*ALL, "--mode=yolo", "--parallel=2", "--model", done("s1", "s2", "s3"))
    assert ended.code == 0, ended.out
    assert ending(ended)[1].startswith("Executed 3/3 todos in ")


# others, meanwhile


REFUSED = [
    (("todos", "execute-all"), "Another run has been using the session 'mine' since "),
    (("todos", "execute", "s3"), "Another run has been using the session 'mine' since "),
    (("run", "--continue", "Go on"), "Another run has been using the session 'mine' since "),
    (("todos", "rollback", "s1"), "A run is in progress in this session; wait for it or stop it "),
]


def test_a_second_process_is_refused_with_a_sentence_and_the_first_goes_on() -> None:
    listed("s1", "s2", "s3")
    model = stopping_at_two("touch after")
    running = Running(*ALL, "--mode=yolo", "--model", model)
    at("two")

    def check(words: tuple[str, ...], why: str) -> None:
        refused = run(*words, "--model", model)
        assert refused.code == 1 and refused.out.strip() == ""
        assert refused.err.startswith(f"Error: {why}") and refused.err.count("\n") == 1

    check_rows(REFUSED, check)
    let("two")
    assert running.end().code == 0
    assert {*states().values()} == {"completed"} and len(starts()) == 3


@pytest.mark.parametrize(("parallel", "status"), [(1, "cancelled"), (2, "completed"), (2, "cancelled")])
def test_an_item_that_another_process_ends_is_stopped_and_the_others_go_on(
    headway: Headway, repository: Path, parallel: int, status: str
) -> None:
    listed("s1", "s2", item("s3", "", "s2"))
    model = done("s2", "s3", s1=[door("one", "touch after"), "Done."])
    running = Running(*ALL, "--mode=yolo", f"--parallel={parallel}", "--model", model)
    at("one")
    headway("todos", "update", "s1", status)
    ended = running.end()
    assert ended.code == 0
    assert states() == {"s1": status, "s2": "completed", "s3": "completed"}
    line = f"⏸ s1: Do s1: stopped, since it was {status} meanwhile"
    assert ("s1", "interrupted") in outcomes() and line in said(ended)
    assert not (repository / "after").exists()
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
    running = Running(*ALL, "--mode=yolo", "--model", stopping_at_two("touch after"))
    at("two")
    session.stop_run(actor="somebody")
    ended = running.end()
    assert ended.code == 130
    assert "! Stopped by somebody" in said(ended)
    assert ending(ended)[:2] == [INTERRUPTED, "Completed: 1/2 todos"]


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
        before = len(starts())
        running = Running(*ALL, "--mode=yolo", "--model", done("s2", s1=[door("one"), "Done."]))
        until(lambda before=before: len(starts()) > before)
        running.signal(signalled)
        running.end()
    assert run(*ALL, "--mode=yolo", "--model", done("s1", "s2")).code == 0
    ends = [event.data.outcome for event in session.events() if isinstance(event.data, ExecutionFinished)]
    assert ends == ["interrupted", "complete"]
    assert session.run is not None and not session.run.is_active
