"""Writers that are killed at any moment: what they were told is kept is kept, and the next one goes on at once."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

import headway

from .processes import assert_intact, go, kill, noted, repeated, start_worker
from .worker import LIST_SIZE

pytestmark = pytest.mark.disk
"""Where writing takes a while, more of the kills come in the middle of it."""


def killed_after(project: Path, name: str, seconds: float) -> list[str]:
    """The changes that a writer had acknowledged when it was killed."""
    worker = start_worker("change_all", project, name)
    go(worker)
    time.sleep(seconds)
    return kill(worker)


def kill_again_and_again(project: Path, times: int, longest_life: float) -> None:
    moments = random.Random(times)
    items = [{"id": f"i{item}", "content": f"Item {item}"} for item in range(LIST_SIZE)]
    headway.open(project).write(items)
    acknowledged: list[str] = []
    longest, known = 0.0, 0
    for run in range(times):
        acknowledged += killed_after(project, f"k{run}", moments.uniform(0, longest_life))
        begin = time.monotonic()
        session = headway.open(project)
        assert len({todo.notes for todo in session.todos}) == 1, "half a change is in the list"
        session.write([{**item, "notes": f"after-{run}"} for item in items])
        longest = max(longest, time.monotonic() - begin)
        acknowledged.append(f"after-{run}")
        assert_intact(project, session, after=known)
        known = session.version
        session.close()
    session = headway.open(project)
    assert_intact(project, session)
    kept = noted(session)
    session.close()
    assert repeated(kept) == []
    assert set(acknowledged) <= set(kept)
    unheard = len(kept) - len(acknowledged)
    assert unheard <= times, "at most the last change of a killed writer is kept without having been acknowledged"
    print(f"\n{len(acknowledged)} changes, {times} kills, {unheard} kept unheard, next writer within {longest:.3f} s")


def test_what_a_killed_writer_was_told_is_kept(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, 4, 0.1)


@pytest.mark.slow
def test_what_a_hundred_killed_writers_were_told_is_kept(tmp_path: Path) -> None:
    kill_again_and_again(tmp_path, 100, 0.5)


def kill_at_the_beginning(folder: Path, times: int) -> None:
    """Kills the writer while the file is being created."""
    moments = random.Random(times)
    for run in range(times):
        project = folder / str(run)
        project.mkdir()
        acknowledged = killed_after(project, "first", moments.uniform(0, 0.02))
        session = headway.open(project)
        assert len(session.todos) in (0, LIST_SIZE)
        added = session.add("next")
        assert set(acknowledged) <= set(noted(session))
        assert added in session.todos
        assert_intact(project, session)
        session.close()


def test_a_writer_killed_while_it_creates_the_file_leaves_it_usable(tmp_path: Path) -> None:
    kill_at_the_beginning(tmp_path, 4)


@pytest.mark.slow
def test_writers_killed_while_they_create_the_file_leave_it_usable(tmp_path: Path) -> None:
    kill_at_the_beginning(tmp_path, 100)
