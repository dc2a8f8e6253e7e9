"""Changes of the project's files that fail or are cut off in the middle: what is then there, and what is said of it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from headway.core.batch_events import ItemFinished
from headway.execute import diff_todo, roll_back

from .executing import facts, go, model, opened, put, runs, states, texts


def fail_to_write(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """The disk is full the next few times that a file of the project is written."""
    left, change_mode = times, os.fchmod

    def fchmod(descriptor: int, mode: int) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        change_mode(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", fchmod)


async def test_a_merge_that_failed_is_not_rolled_back_from_what_a_person_then_wrote(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(folder, ["a"])
    fail_to_write(monkeypatch, 1)
    await go(session, model(a=runs("echo work > a.txt")), retries=0)
    [finished] = facts(session, ItemFinished)
    assert (finished.outcome, finished.files, finished.before) == ("blocked", (), finished.after)
    assert "+work" in diff_todo(session, "a"), "what it did is kept"
    put(folder, {"a.txt": "work\n"})
    assert roll_back(session, "a").files == ()
    assert texts(folder)["a.txt"] == "work\n"


async def test_an_item_whose_merge_failed_and_then_succeeded_changed_the_files_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(folder, ["a"])
    fail_to_write(monkeypatch, 1)
    await go(session, model(a=runs("echo work >> a.txt") * 2), retries=1)
    assert (states(session), diff_todo(session, "a").count("+work")) == ({"a": "completed"}, 1)
