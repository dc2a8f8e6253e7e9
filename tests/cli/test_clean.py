"""`headway clean`: what `.headway` holds, and what is freed of it; sessions are never touched."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.execute.dags import Dag
from tests.execute.playing import kill
from tests.support.executions import scripted
from tests.support.processes import run
from tests.support.scripts import bash, turn

from headway import Session
from headway.core.errors import NotRunnable
from headway.execute import roll_back

from .commands import Headway, data


@pytest.fixture
def executed(repository: Path, kept_session: Session) -> Path:
    """A project in which one item was executed and one failed."""
    kept_session.write([{"id": "t1", "content": "First"}, {"id": "t2", "content": "Second"}])
    (repository / "big.txt").write_text("x" * 100_000, encoding="utf-8")
    works, fails = turn("", bash("echo 1 > a.txt")), turn("", bash("echo 2 > b.txt; false"))
    model = scripted(t1=[works, "Done."], t2=[fails, "I tried."])
    run("todos", "execute-all", "--mode=yolo", "--retries=0", "--keep-going", "--model", model)
    (repository / ".headway/outputs").mkdir(exist_ok=True)
    (repository / ".headway/outputs/1.txt").write_text("long", encoding="utf-8")
    return repository


def test_what_headway_holds_is_shown_with_sizes(headway: Headway, executed: Path) -> None:
    found = data(headway("clean", "--json"))
    assert found["folder"] == str(executed / ".headway")
    assert found["bytes"]["outputs"] == 4
    assert min(found["bytes"][part] for part in ("log", "checkpoints", "worktrees")) > 0
    assert found["total"] == sum(found["bytes"].values())
    shown = headway("clean").stdout
    assert "checkpoints" in shown and "kB" in shown and "headway clean --all" in shown


def test_only_what_is_asked_for_is_freed(headway: Headway, executed: Path, kept_session: Session) -> None:
    before = data(headway("clean", "--json"))["bytes"]
    freed = data(headway("clean", "worktrees", "outputs", "--yes", "--json"))
    assert freed["bytes"] == {"worktrees": before["worktrees"], "outputs": 4}
    after = data(headway("clean", "--json"))["bytes"]
    assert (after["worktrees"], after["outputs"], after["log"]) == (0, 0, before["log"])
    assert roll_back(kept_session, "t1").files == ("a.txt",)


def test_after_everything_was_freed_sessions_are_there_and_executions_work(
    headway: Headway, executed: Path, kept_session: Session
) -> None:
    headway("clean", "--all", "--yes")
    assert not (executed / ".headway/checkpoints").exists()
    assert [todo["id"] for todo in data(headway("todos", "list", "--json"))["todos"]] == ["t1", "t2"]
    with pytest.raises(NotRunnable, match="has been removed"):
        roll_back(kept_session, "t1")
    assert run("todos", "execute", "t2", "--mode=yolo", "--model", scripted(t2=["Done."])).code in (0, 1)


def test_only_what_is_old_enough_is_freed(headway: Headway, executed: Path, kept_session: Session) -> None:
    old = executed / ".headway/outputs/old.txt"
    old.write_text("old", encoding="utf-8")
    os.utime(old, (time.time() - 90_000, time.time() - 90_000))
    headway("clean", "--all", "--older-than=1d", "--yes")
    assert not old.exists() and (executed / ".headway/outputs/1.txt").exists()
    assert roll_back(kept_session, "t1").files == ("a.txt",)


def test_looking_first_and_not_confirming_free_nothing(headway: Headway, executed: Path) -> None:
    before = data(headway("clean", "--json"))["bytes"]
    assert "Would free" in headway("clean", "--all", "--dry-run").stdout
    assert "confirm with --yes" in headway("clean", "--all", code=1).stderr
    assert data(headway("clean", "--json"))["bytes"] == before


def test_nothing_is_freed_while_a_run_goes_on(headway: Headway, kept_session: Session) -> None:
    from headway.core.clock import now
    from headway.planner.recorder import Recorder

    kept_session.write([{"content": "First"}])
    recorder = Recorder(kept_session, now)
    recorder.begin("work", "test", 5)
    try:
        refused = headway("clean", "--all", "--yes", code=1).stderr
    finally:
        recorder.end("finished", None)
    assert refused.startswith("Error: A run is in progress in 'default'")
    headway("clean", "--all", "--yes")


def test_what_puts_half_changed_files_right_is_neither_freed_nor_deleted(headway: Headway, repository: Path) -> None:
    Dag(((), ()), (("one.txt", "two.txt"), ("three.txt",))).open(repository).close()
    assert kill(repository, "applied")
    for command in (("clean", "--all"), ("clean", "checkpoints", "--older-than=1h"), ("sessions", "delete", "default")):
        refused = headway(*command, "--yes", code=1).stderr
        assert refused.startswith("Error: An execution, rollback or undo was interrupted")
        assert refused.endswith("Repair them with: headway todos execute-all --session=default\n")
    headway("todos", "update", "i0", "cancelled")
    headway("todos", "update", "i1", "cancelled")
    assert headway("todos", "execute-all", "--session=default").stdout == (
        "Interrupted changes were repaired first, in one.txt; two.txt.\nNo pending todos\n"
    )
    assert not (repository / "one.txt").exists()
    headway("clean", "--all", "--yes")
    headway("sessions", "delete", "default", "--yes")


def test_checkpoints_into_which_an_execution_still_writes_at_its_end_are_freed(
    headway: Headway, executed: Path
) -> None:
    over, objects = threading.Event(), executed / ".headway/checkpoints/objects"
    for number in range(3_000):
        (objects / "info" / f"{number}").touch()

    def write() -> None:
        number = 0
        while not over.is_set():
            number += 1
            with suppress(OSError):
                (objects / f"tmp_{number}").touch()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        headway("clean", "checkpoints", "--yes")
    finally:
        over.set()
        thread.join()
    assert not [*executed.glob(".headway/checkpoints*"), *executed.glob(".headway/removed*")]


def test_an_age_that_cannot_be_read_says_how_to_write_it(headway: Headway) -> None:
    assert "write it as 30d, 12h or 2w" in headway("clean", "--all", "--older-than=soon", code=2).stderr
    assert "checkpoints" in headway("clean", "checkpoint", code=2).stderr


def test_deleting_a_session_removes_its_worktrees(headway: Headway, executed: Path) -> None:
    assert any((executed / ".headway/worktrees").iterdir())
    headway("sessions", "delete", "default", "--yes")
    assert not (executed / ".headway/worktrees").exists()
