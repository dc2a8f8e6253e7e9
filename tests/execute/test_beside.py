"""Whoever works beside an execution, a person or another session, loses nothing."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest

import headway
from headway import Status
from headway.agent import LoopConfig
from headway.core.errors import NothingToUndo
from headway.core.execution_events import AttemptFinished
from headway.execute import roll_back, undo
from headway.execute.shadow_repository import ShadowRepository
from headway.testing import Turn
from headway.views.execution_lines import detail_lines

from .executing import (
    Answer,
    Doors,
    bash,
    begun,
    cancelled,
    does,
    facts,
    go,
    in_memory,
    model,
    one,
    opened,
    outcomes,
    prompts,
    put,
    runs,
    scripted,
    states,
    texts,
    waits,
)
from .shadows import git

MINE = {"mine.txt": "mine\n", "readme.txt": "read me, and mine\n"}


def person_writes(folder: Path, answer: str | Turn) -> Answer:
    """A person writes something while the model thinks."""
    return does(lambda: put(folder, MINE), answer)


async def test_what_a_person_writes_while_an_attempt_fails_is_there_for_the_next(folder: Path) -> None:
    session = opened(folder, ["a"])
    seen = bash("cat mine.txt readme.txt > seen.txt")
    turns = [bash("echo half > a.txt"), person_writes(folder, bash("false")), "Hm.", seen, "Done."]
    asked = model(a=turns)
    await go(session, asked, retries=1)
    assert texts(folder) == {**MINE, "seen.txt": "mine\nread me, and mine\n"}
    assert "The files are unchanged by that attempt." in prompts(asked, "a")[-1]


async def test_what_a_person_writes_while_an_item_is_stopped_is_there_when_it_is_resumed(
    folder: Path, doors: Doors
) -> None:
    session = opened(folder, ["a"])
    turns = [bash("echo half > a.txt"), person_writes(folder, waits("in a"))]
    task = begun(session, model(a=turns), tools=doors.tools)
    await doors.until("in a")
    await cancelled(task)
    await go(session, model(a=runs("echo whole > a.txt")))
    assert texts(folder) == {**MINE, "a.txt": "whole\n"}


async def test_a_rollback_leaves_what_a_person_wrote_while_the_item_ran(folder: Path) -> None:
    session = opened(folder, ["a"])
    await go(session, model(a=[bash("echo a > a.txt"), person_writes(folder, bash("true")), "Done."]))
    assert facts(session, AttemptFinished)[0].files == ("a.txt",)
    assert roll_back(session, "a").files == ("a.txt",)
    assert texts(folder) == MINE


async def test_a_person_s_edit_of_another_line_of_the_same_file_is_merged(folder: Path) -> None:
    lines = "".join(f"line {number}\n" for number in range(1, 8))
    put(folder, {"lines.txt": lines})
    session = opened(folder, ["a"])
    mine = {"lines.txt": lines.replace("line 2", "line 2 mine")}
    edit = does(lambda: put(folder, mine), bash("sed -i '6s/$/ a/' lines.txt"))
    await go(session, model(a=[edit, "Done."]))
    assert texts(folder)["lines.txt"] == mine["lines.txt"].replace("line 6", "line 6 a")


async def test_a_person_s_edit_of_the_same_line_makes_the_item_run_again_on_top_of_it(folder: Path) -> None:
    put(folder, {"lines.txt": "one\n"})
    session = opened(folder, ["a"])
    add = bash("sed -i '1s/$/ a/' lines.txt")
    turns = [does(lambda: put(folder, {"lines.txt": "one mine\n"}), add), "Done.", add, "Done."]
    await go(session, model(a=turns))
    assert outcomes(session) == [("a", "conflict"), ("a", "completed")]
    assert texts(folder)["lines.txt"] == "one mine a\n"


async def test_a_second_conflict_blocks_the_item_with_its_files_and_leaves_the_project_alone(folder: Path) -> None:
    put(folder, {"lines.txt": "one\n"})
    session = opened(folder, ["a"])
    add = bash("sed -i '1s/$/ a/' lines.txt")
    edits = [does(lambda text=text: put(folder, {"lines.txt": text}), add) for text in ("mine\n", "mine again\n")]
    await go(session, model(a=[edits[0], "Done.", edits[1], "Done."]), retries=1)
    assert outcomes(session) == [("a", "conflict"), ("a", "blocked")]
    assert session.todos[0].notes == "Conflict with changes made in the meantime in lines.txt."
    assert texts(folder)["lines.txt"] == "mine again\n"


async def test_a_file_that_a_person_deletes_meanwhile_stays_deleted(folder: Path) -> None:
    session = opened(folder, ["a"])
    delete = does((folder / "readme.txt").unlink, bash("echo a > a.txt"))
    await go(session, model(a=[delete, bash("false"), "No.", bash("echo b > b.txt"), "Done."]), retries=1)
    assert texts(folder) == {"b.txt": "b\n"}


async def test_files_that_an_item_removes_are_named(folder: Path) -> None:
    session = opened(folder, ["a"])
    await go(session, model(a=runs("rm readme.txt; echo a > a.txt")))
    [finished] = facts(session, AttemptFinished)
    assert (finished.files, finished.removed) == (("a.txt", "readme.txt"), ("readme.txt",))


async def test_copied_files_come_along_and_a_change_to_one_is_named_as_not_merged(folder: Path) -> None:
    put(folder, {".gitignore": ".env\n", ".env": "KEY=1\n"})
    session = opened(folder, ["a"])
    await go(session, model(a=runs("cp .env seen.txt; echo KEY=2 > .env")))
    [finished] = facts(session, AttemptFinished)
    assert (finished.files, finished.not_merged) == (("seen.txt",), (".env",))
    assert (texts(folder)[".env"], texts(folder)["seen.txt"]) == ("KEY=1\n", "KEY=1\n")


async def test_what_git_ignores_of_an_item_s_work_is_named_and_kept_though_it_is_completed(folder: Path) -> None:
    put(folder, {".gitignore": "dist/\n*.sqlite\n.venv\n", ".venv/x": ""})
    session = opened(folder, ["a", "b"])
    makes = (
        "mkdir -p dist __pycache__ .pytest_cache; echo app > dist/app.js; echo 1 > db.sqlite; touch __pycache__/a.pyc"
    )
    await go(session, model(a=runs(makes), b=runs("echo b > b.txt; mkdir __pycache__; touch __pycache__/b.pyc")))
    a, b = facts(session, AttemptFinished)
    assert (a.outcome, set(a.not_merged), b.not_merged, b.worktree) == ("completed", {"dist/", "db.sqlite"}, (), None)
    assert a.worktree is not None
    assert (folder / a.worktree / "dist/app.js").read_text() == "app\n"
    assert (detail_lines(a)[0][1], len(detail_lines(a))) == (
        ("None of its changes were merged into the project's files."),
        3,
    )
    assert set(texts(folder)) == {"readme.txt", ".gitignore", ".venv/x", "b.txt"}


async def test_a_copied_file_that_is_ignored_no_longer_is_no_conflict(folder: Path) -> None:
    put(folder, {".gitignore": ".env*\n", ".env.example": "KEY=\n"})
    session = opened(folder, ["a"])
    await go(session, model(a=runs("echo '!.env.example' >> .gitignore")), retries=0)
    assert [(fact.outcome, fact.files) for fact in facts(session, AttemptFinished)] == [("completed", (".gitignore",))]
    assert texts(folder)[".env.example"] == "KEY=\n"


async def test_a_folder_with_a_cache_in_it_can_become_a_file(folder: Path) -> None:
    put(folder, {".gitignore": "__pycache__/\n", "pkg/a.py": "a\n", "pkg/__pycache__/a.pyc": "1"})
    (folder / "pkg/empty").mkdir()
    session = opened(folder, ["a"])
    await go(session, model(a=runs("rm -r pkg; echo one > pkg")), retries=0)
    assert (session.todos[0].status, texts(folder)["pkg"]) == (Status.COMPLETED, "one\n")


async def test_ignored_files_in_the_way_of_a_file_stay_and_are_named(folder: Path) -> None:
    put(folder, {".gitignore": "*.log\n", "pkg/a.py": "a\n", "pkg/mine.log": "mine\n"})
    here, session = texts(folder), opened(folder, ["a"])
    await go(session, model(a=runs("rm -r pkg; echo one > pkg")), retries=0)
    [finished] = facts(session, AttemptFinished)
    assert (finished.outcome, texts(folder)) == ("blocked", here)
    assert "files that are in no checkpoint are in the way: pkg/mine.log; move them out of the way" in finished.reason


async def test_a_file_that_is_renamed_stays_as_closed_to_others_as_it_was(folder: Path) -> None:
    put(folder, {"private.sh": "secret\n", "other.txt": "other\n"})
    os.chmod(folder / "private.sh", 0o700)
    session = opened(folder, ["a"])
    await go(session, model(a=runs("mv private.sh renamed.sh; mv other.txt another.txt")))
    assert (folder / "renamed.sh").stat().st_mode & 0o777 == 0o700
    roll_back(session, "a")
    assert (folder / "private.sh").stat().st_mode & 0o777 == 0o700


async def test_an_item_sees_the_user_s_history_and_its_commits_come_back_as_files(folder: Path) -> None:
    before = git(folder, "rev-parse", "HEAD")
    session = opened(folder, ["a"])
    commands = "git log --format=%s > log.txt; git add log.txt; git -c user.name=x -c user.email=x commit -qm mine"
    await go(session, model(a=runs(commands)))
    [finished] = facts(session, AttemptFinished)
    assert (finished.files, finished.committed) == (("log.txt",), True)
    assert texts(folder)["log.txt"] == "first\n"
    assert (git(folder, "rev-parse", "HEAD"), git(folder, "status", "--short")) == (before, "?? log.txt\n")


async def test_an_item_that_failed_is_begun_anew_by_the_next_execution_which_knows_why(folder: Path) -> None:
    session = opened(folder, ["a"])
    await go(session, model(a=runs("echo half > a.txt; false")), retries=0)
    assert "a.txt" not in texts(folder)
    asked = scripted({"a": runs("ls; echo whole > b.txt")})
    await go(session, asked)
    assert "a.txt" not in texts(folder) and texts(folder)["b.txt"] == "whole\n"
    assert "An earlier attempt failed: Its last command failed" in prompts(asked, "a")[0]
    assert roll_back(session, "a").files == ("b.txt",)


async def test_a_file_whose_name_is_no_text_comes_back_too(folder: Path) -> None:
    session = opened(folder, ["a"])
    await one(session, "a", model(a=runs("printf x > \"$(printf 'caf\\351')\"")))
    name = os.path.join(os.fsencode(folder), b"caf\xe9")
    assert os.path.exists(name)
    assert len(roll_back(session, "a").files) == 1
    assert not os.path.exists(name)


async def test_undo_of_the_list_alone_does_not_say_that_rolled_back_files_are_there(folder: Path) -> None:
    session = opened(folder, ["a"])
    await one(session, "a", model(a=runs("echo a > a.txt")))
    roll_back(session, "a")
    session.undo()
    assert session.todos[0].status is Status.PENDING


async def test_undo_during_an_execution_undoes_what_a_person_changed_meanwhile_and_nothing_before(
    folder: Path, doors: Doors
) -> None:
    session = opened(folder, ["a"])
    task = begun(session, model(a=[waits("in a"), "Done."]), tools=doors.tools)
    await doors.until("in a")
    person = headway.open(folder)
    person.add("One more")
    undo(person)
    with pytest.raises(NothingToUndo, match="An execution is in progress; stop it"):
        undo(person)
    doors.open("in a")
    assert (await task).ok
    assert states(session) == {"a": "completed"}


async def test_stopped_before_their_folders_are_there_items_are_pending_and_not_blocked(folder: Path) -> None:
    put(folder, {f"d{number}/f{number}.txt": "x\n" for number in range(300)})
    session = opened(folder, [f"i{number}" for number in range(12)])
    answers = {f"i{number}": [Turn(text="Done.", delay=60)] for number in range(12)}
    task = begun(session, scripted(answers), parallel=12)
    while session.run is None or session.run.execution is None or len(session.run.execution.executing) < 12:
        await asyncio.sleep(0.01)
    session.stop_run()
    result = await task
    assert {todo.status for todo in session.todos} == {Status.PENDING}
    assert (result.outcome, result.failed) == ("interrupted", ())


async def test_a_folder_that_is_still_being_filled_when_it_stops_is_removed_as_well(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filling, stopped, filled = threading.Event(), threading.Event(), threading.Event()
    fill = ShadowRepository.make_worktree

    def slowly(self: ShadowRepository, name: str, commit: str) -> str:
        filling.set()
        assert stopped.wait(60)
        time.sleep(0.3)  # it comes to its end meanwhile
        try:
            return fill(self, name, commit)
        finally:
            filled.set()

    monkeypatch.setattr(ShadowRepository, "make_worktree", slowly)
    session = opened(folder, ["a"])
    task = begun(session, scripted({"a": ["Done."]}), parallel=2)
    assert await asyncio.to_thread(filling.wait, 60)
    session.stop_run()
    stopped.set()
    await task
    assert await asyncio.to_thread(filled.wait, 60)
    assert [*(folder / ".headway/worktrees").glob("*")] == []


@pytest.mark.parametrize("parallel", [1, 4])
async def test_a_limit_on_tokens_holds_for_all_items_together(project: Path, parallel: int) -> None:
    session = in_memory([f"i{number}" for number in range(6)])
    usage = {"input_tokens": 900, "output_tokens": 100}
    answers = {f"i{number}": [Turn(text="Done.", usage=usage)] for number in range(6)}  # pyright: ignore[reportArgumentType]
    await go(
        session, scripted(answers), parallel=parallel, retries=0, config=LoopConfig(max_tokens=4_000, reply_tokens=100)
    )
    used = sum(item.input_tokens + item.output_tokens for item in facts(session, AttemptFinished))
    assert used <= 4_000
