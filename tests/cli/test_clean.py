"""`headway clean`: what `.headway` holds, and what is freed of it; sessions are never touched."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
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
    with pytest.raises(NotRunnable, match="thinned out"):
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
    assert "confirm it with --yes" in headway("clean", "--all", code=1).stderr
    assert data(headway("clean", "--json"))["bytes"] == before


def test_nothing_is_freed_while_a_run_goes_on(headway: Headway, kept_session: Session) -> None:
    from headway.agent.recorder import Recorder
    from headway.core.clock import now

    kept_session.write([{"content": "First"}])
    recorder = Recorder(kept_session, now)
    recorder.begin("work", "test", 5)
    try:
        refused = headway("clean", "--all", "--yes", code=1).stderr
    finally:
        recorder.end("finished", None)
    assert refused.startswith("Error: A run is going on in 'default'")
    headway("clean", "--all", "--yes")


def test_an_age_that_cannot_be_read_says_how_to_write_it(headway: Headway) -> None:
    assert "write it as 30d, 12h or 2w" in headway("clean", "--all", "--older-than=soon", code=2).stderr
    assert "checkpoints" in headway("clean", "checkpoint", code=2).stderr


def test_deleting_a_session_removes_its_worktrees(headway: Headway, executed: Path) -> None:
    assert any((executed / ".headway/worktrees").iterdir())
    headway("sessions", "delete", "default", "--yes")
    assert not (executed / ".headway/worktrees").exists()
