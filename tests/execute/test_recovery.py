"""Changes of the project's files that fail or are cut off in the middle: what is then there, and what is said of it."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

import headway
from headway.core import clock
from headway.core.errors import NotRunnable
from headway.core.execution_events import AttemptFinished, AttemptStarted, ExecutionStarted, MergeStarted
from headway.execute import ExecutionEnding, diff_todo, roll_back, undo
from headway.views.listing import explain_half_changed, is_half_changed
from headway.views.report.build import build_report
from headway.views.report.markdown import report_markdown
from headway.views.report.wording import attention_notes

from .dags import Dag
from .executing import facts, go, item, model, opened, put, runs, scripted, sound, states, texts
from .playing import kill, kill_undo, play


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
    [finished] = facts(session, AttemptFinished)
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


# killed while its changes come into the project

TWO_FILES = Dag(((), ()), (("one.txt", "two.txt"), ("three.txt",)))
OLD = {"old.txt": "old\n"}


def killed_at(folder: Path, place: str) -> headway.Session:
    """An execution of two items, of which the first has two files, that was killed."""
    put(folder, OLD)
    TWO_FILES.open(folder).close()
    assert kill(folder, place)
    return headway.open(folder)


@pytest.mark.parametrize("place", ["applying", "applied"])
def test_once_the_item_is_dropped_what_had_come_of_it_is_gone_too(tmp_path: Path, place: str) -> None:
    session = killed_at(tmp_path, place)
    assert texts(tmp_path) != OLD
    session.drop("i0")
    asyncio.run(play(session))
    assert texts(tmp_path) == {**OLD, "three.txt": "i1.0\n"}
    assert "one.txt" in facts(session, ExecutionStarted)[-1].note
    assert facts(session, MergeStarted)[1].files[0] == "one.txt"
    sound(session)


@pytest.mark.parametrize("place", ["applying", "applied"])
def test_an_undo_of_something_else_puts_right_what_was_cut_off_and_names_the_files(tmp_path: Path, place: str) -> None:
    session = killed_at(tmp_path, place)
    session.update("i1", status="cancelled")
    assert "repaired first, in one.txt" in undo(session).recovery
    assert texts(tmp_path) == OLD
    assert (states(session), undo(session).recovery) == ({"i0": "pending", "i1": "pending"}, "")
    sound(session)


@pytest.mark.parametrize("place", ["applying", "applied"])
def test_once_a_person_has_completed_the_item_all_of_it_comes_and_can_be_rolled_back(
    tmp_path: Path, place: str
) -> None:
    session = killed_at(tmp_path, place)
    session.update("i0", status="completed")
    asyncio.run(play(session))
    assert texts(tmp_path) == {**OLD, "one.txt": "i0.0\n", "two.txt": "i0.1\n", "three.txt": "i1.0\n"}
    assert facts(session, AttemptFinished)[0].files == ("one.txt", "two.txt")
    assert roll_back(session, "i0").removed == ("one.txt", "two.txt")
    assert texts(tmp_path) == {**OLD, "three.txt": "i1.0\n"}
    sound(session)


@pytest.mark.parametrize("place", ["merging", "applying", "applied"])
def test_however_far_it_was_it_begins_anew(tmp_path: Path, place: str) -> None:
    session = killed_at(tmp_path, place)
    asyncio.run(play(session))
    assert texts(tmp_path) == {**OLD, "one.txt": "i0.0\n", "two.txt": "i0.1\n", "three.txt": "i1.0\n"}
    assert [*(tmp_path / ".headway" / "checkpoints" / "staging").glob("*")] == []


def test_where_the_files_of_a_killed_attempt_are_is_said_until_the_next_attempt(tmp_path: Path) -> None:
    session = killed_at(tmp_path, "wrote")
    worktree = facts(session, AttemptStarted)[0].worktree
    assert worktree is not None
    assert (tmp_path / worktree / "one.txt").read_text() == "i0.0\n"
    with pytest.raises(
        NotRunnable, match=f"'i0' was interrupted; its files are in {worktree}, where git status and git diff show"
    ):
        diff_todo(session, "i0")
    assert f"last attempt's folder: {worktree}" in report_of(session)
    asyncio.run(play(session))
    assert "+i0.0" in diff_todo(session, "i0")
    assert "last attempt's folder" not in report_of(session)


def test_what_an_item_changed_that_was_killed_in_place_is_not_known_and_stays(tmp_path: Path) -> None:
    session = killed_at(tmp_path, "wrote in place")
    with pytest.raises(NotRunnable, match=r"'i0' cannot be rolled back: .* its changes there are not known"):
        roll_back(session, "i0")
    with pytest.raises(
        NotRunnable, match="The changes of 'i0' are not known: it was interrupted in the project's own files"
    ):
        diff_todo(session, "i0")
    assert texts(tmp_path) == {**OLD, "one.txt": "i0.0\n"}


def report_of(session: headway.Session) -> str:
    todos = session.todos
    report = build_report(session.events(), todos, session="default", agent="main", generated_at=clock.now())
    return report_markdown(report)


def test_what_a_person_wrote_before_anything_came_stays_though_it_is_the_same(tmp_path: Path) -> None:
    session = killed_at(tmp_path, "merging")
    put(tmp_path, {"one.txt": "i0.0\n"})
    session.update("i0", status="cancelled")
    asyncio.run(play(session))
    assert texts(tmp_path)["one.txt"] == "i0.0\n"


# killed while it is undone


def report(session: headway.Session) -> str:
    """What `todos list` says of it, if the report says the same."""
    found = build_report(
        session.events(), session.todos, session=session.name, agent=session.agent_id, generated_at=clock.now()
    )
    said = explain_half_changed() if is_half_changed(session.state, session.agent_id) else ""
    assert [note.text for note in attention_notes(found) if note.subject == "Files"] == ([said] if said else [])
    return said


@pytest.mark.parametrize("rewritten", [False, True])
async def test_an_execution_repairs_what_an_undo_left_half_also_if_nothing_is_to_be_done(
    folder: Path, rewritten: bool
) -> None:
    session = opened(folder, [item("a"), item("b")])
    await go(session, scripted({"a": runs("rm readme.txt; echo a > a.txt"), "b": runs("echo b > b.txt")}))
    done = texts(folder)
    session.close()
    kill_undo(folder, "applied")
    again = headway.open(folder)
    assert texts(folder) != done
    assert explain_half_changed() in report(again)
    if rewritten:
        again.write([{"id": "c", "content": "Do c", "status": "completed"}], replace=True)
    result = await go(again, scripted({}))
    assert (result.outcome, texts(folder)) == (ExecutionEnding.NOTHING, done)
    assert explain_half_changed() not in report(again)
    undo(again, 2 if rewritten else 1)
    assert texts(folder) == {"readme.txt": "read me\n"}
