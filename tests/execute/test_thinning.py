"""Checkpoints are thinned out: those of the last executions and days stay, others make room."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headway import Session
from headway.core.errors import NotRunnable
from headway.execute import redo, roll_back, undo
from headway.execute.checkpoint_rules import CheckpointRules
from headway.execute.shadow_repository import ShadowRepository
from headway.execute.thinning import forget_session, list_executions, thin_out

from .executing import item, model, one, opened, put, runs, texts
from .shadows import git

FEW = CheckpointRules(keep_executions=1, keep_days=0)


async def execute_each(folder: Path, *todo_ids: str, session: str = "default") -> Session:
    """Each in an execution of its own."""
    opened_session = opened(folder, [item(todo_id) for todo_id in todo_ids], session)
    for todo_id in todo_ids:
        assert (await one(opened_session, todo_id, model(**{todo_id: runs(f"echo {todo_id} > {todo_id}.txt")}))).ok
    return opened_session


def commits(shadow: ShadowRepository) -> set[str]:
    return set(git(shadow.repository.folder, "rev-list", "--all", "HEAD").split())


async def test_checkpoints_of_young_executions_are_kept(folder: Path) -> None:
    session = await execute_each(folder, "a", "b")
    shadow = ShadowRepository(folder)
    before = commits(shadow)
    assert thin_out(session.store, shadow) == 0
    assert commits(shadow) == before


async def test_the_last_executions_can_be_rolled_back_and_older_ones_say_why_not(folder: Path) -> None:
    session = await execute_each(folder, "a", "b")
    put(folder, {"readme.txt": "changed by hand\n"})
    shadow = ShadowRepository(folder, rules=FEW)
    shadow.snapshot()
    assert thin_out(session.store, shadow, at_once=True) > 0
    git(shadow.repository.folder, "fsck", "--strict", "--no-dangling")
    with pytest.raises(NotRunnable, match=r"'a' cannot be rolled back: the checkpoint for it has been removed"):
        roll_back(session, "a")
    assert roll_back(session, "b").files == ("b.txt",)
    assert texts(folder) == {"a.txt": "a\n", "readme.txt": "changed by hand\n"}


async def test_an_undo_is_redone_while_its_execution_is_kept_and_an_older_one_says_why_not(folder: Path) -> None:
    session = await execute_each(folder, "a", "b")
    undo(session)
    put(folder, {"readme.txt": "changed by hand\n"})
    shadow = ShadowRepository(folder, rules=FEW)
    shadow.snapshot()
    thin_out(session.store, shadow, at_once=True)
    with pytest.raises(NotRunnable, match=r"nothing was undone: the checkpoint for it has been removed"):
        undo(session)
    assert redo(session).files == ("b.txt",)
    assert texts(folder) == {"a.txt": "a\n", "b.txt": "b\n", "readme.txt": "changed by hand\n"}


async def test_thinning_gives_the_room_back(folder: Path) -> None:
    (folder / "big.bin").write_bytes(os.urandom(1_000_000))
    session = await execute_each(folder, "a")
    (folder / "big.bin").unlink()
    await execute_each(folder, "b", session="later")

    def size() -> int:
        return sum(path.stat().st_size for path in (folder / ".headway/checkpoints").rglob("*") if path.is_file())

    before = size()
    thin_out(session.store, ShadowRepository(folder, rules=FEW), at_once=True)
    assert before > 1_000_000 > size()


async def test_what_only_a_deleted_session_used_goes_with_it(folder: Path) -> None:
    mine = await execute_each(folder, "a", session="mine")
    yours = await execute_each(folder, "b", session="yours")
    shadow = ShadowRepository(folder)
    own = {each.session: each.commits for each in list_executions(mine.store)}
    forget_session(mine.store, shadow, "mine")
    mine.store.delete("mine")
    there = commits(shadow)
    assert own["yours"] <= there
    assert not (own["mine"] - own["yours"]) & there
    assert roll_back(yours, "b").files == ("b.txt",)
