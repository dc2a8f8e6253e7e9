"""An item is rolled back: the files that it changed are as before it, nothing else is, and nothing is lost unsaid."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.projects import temporary_folder

import headway
from headway.core.errors import FilesChanged, NotRunnable, TodoNotFound
from headway.core.execution_events import AttemptFinished, AttemptStarted, TodosRolledBack
from headway.execute import diff_todo, roll_back, undo
from headway.execute.rollback import RollbackResult
from headway.testing import Call, Turn

from .dags import Dag
from .executing import (
    Answer,
    Doors,
    always,
    bash,
    begun,
    cancelled,
    does,
    facts,
    go,
    item,
    model,
    one,
    opened,
    put,
    runs,
    scripted,
    shared_folders,
    sound,
    states,
    texts,
    todo,
    waits,
    write,
)
from .playing import kill, play
from .shadows import Content, Link, Program, files, git
from .shadows import write as write_files

CHAIN = [item("a"), item("b", "a"), item("c", "b")]


executed: dict[object, Path] = {}
"""Projects whose items have been executed, by what was."""


async def chain(folder: Path, parallel: int = 1, **commands: str) -> headway.Session:
    """Three items, each built on the one before, that have been executed; once for all tests."""
    key = (parallel, *sorted(commands.items()))
    if key not in executed:
        executed[key] = Path(shared_folders.enter_context(temporary_folder()), "project")
        session = opened(folder, CHAIN)
        turns: dict[str, list[Answer]] = {name: runs(commands.get(name, f"echo {name} > {name}.txt")) for name in "abc"}
        await go(session, scripted(turns), parallel=parallel)
        assert set(states(session).values()) == {"completed"}
        session.close()
        shutil.copytree(folder, executed[key], symlinks=True)
    shutil.rmtree(folder)
    shutil.copytree(executed[key], folder, symlinks=True)
    return headway.open(folder)


@pytest.mark.parametrize(
    ("which", "parallel"),
    [
        *(("a", 1), ("b", 2), ("c", 1)),
        *(pytest.param(which, parallel, marks=pytest.mark.more) for which, parallel in (("a", 2), ("b", 1), ("c", 2))),
    ],
)
async def test_any_item_of_a_chain_can_be_rolled_back(folder: Path, which: str, parallel: int) -> None:
    session = await chain(folder, parallel)
    before = texts(folder)
    rolled = roll_back(session, which)
    after = texts(folder)
    assert after == {name: text for name, text in before.items() if name != f"{which}.txt"}
    assert rolled.files == (f"{which}.txt",)
    assert rolled.dependents == tuple({"a": "b", "b": "c"}.get(which, ""))
    assert states(session) == {name: "pending" if name == which else "completed" for name in "abc"}
    assert todo(session, which).completed_at is None
    assert todo(session, which).evidence is None
    [fact] = facts(session, TodosRolledBack)
    assert (fact.item_id, fact.files, fact.removed, fact.saved) == (which, rolled.files, rolled.files, rolled.saved)
    sound(session)


async def test_a_rolled_back_item_can_be_executed_and_rolled_back_again(folder: Path) -> None:
    session = await chain(folder)
    roll_back(session, "c")
    assert (session.get("c").started_at, session.get("c").started_at_round) == (None, None)
    await go(session, scripted({"c": runs("echo again > c.txt")}))
    assert texts(folder)["c.txt"] == "again\n"
    roll_back(session, "c")
    assert "c.txt" not in texts(folder)
    with pytest.raises(NotRunnable, match="'c' has nothing to roll back: it was not executed"):
        roll_back(session, "c")


async def test_a_chain_is_rolled_back_from_its_end(folder: Path) -> None:
    edits = {name: f"echo {name} >> readme.txt" for name in "abc"}
    session = await chain(folder, 1, **edits)
    for name, left in (("c", "read me\na\nb\n"), ("b", "read me\na\n"), ("a", "read me\n")):
        roll_back(session, name)
        assert texts(folder) == {"readme.txt": left}
    assert set(states(session).values()) == {"pending"}


LINES = "".join(f"line {number}\n" for number in range(1, 10))


async def chain_in_lines(folder: Path) -> headway.Session:
    """Three items that change lines 1, 9 and 1 of one file."""
    put(folder, {"lines.txt": LINES})
    return await chain(
        folder,
        a="sed -i '1s/$/ a/' lines.txt; echo a > a.txt",
        b="sed -i '9s/$/ b/' lines.txt",
        c="sed -i '1s/$/ c/' lines.txt",
    )


async def test_a_later_change_of_other_lines_stays_whoever_made_it(folder: Path) -> None:
    session = await chain_in_lines(folder)
    text = texts(folder)["lines.txt"].replace("line 5", "line 5 mine")
    put(folder, {"lines.txt": text})
    assert roll_back(session, "b").files == ("lines.txt",)
    assert texts(folder)["lines.txt"] == text.replace(" b", "")


async def test_a_later_item_in_the_same_lines_is_named_and_nothing_changes(folder: Path) -> None:
    session = await chain_in_lines(folder)
    before, version = texts(folder), session.version
    with pytest.raises(FilesChanged, match=r"conflicting changes were made to lines\.txt later, by c\.") as refused:
        roll_back(session, "a")
    assert (refused.value.files, refused.value.items) == (["lines.txt"], ["c"])
    assert (texts(folder), session.version) == (before, version)


async def test_with_later_rolls_back_what_is_in_the_way_and_leaves_the_rest(folder: Path) -> None:
    session = await chain_in_lines(folder)
    rolled = roll_back(session, "a", with_later=True)
    assert (rolled.with_later, rolled.removed, rolled.dependents) == (("c",), ("a.txt",), ("b",))
    assert texts(folder) == {"lines.txt": LINES.replace("line 9", "line 9 b"), "readme.txt": "read me\n"}
    assert states(session) == {"a": "pending", "b": "completed", "c": "pending"}
    with pytest.raises(NotRunnable, match="'c' has nothing to roll back"):
        roll_back(session, "c")
    sound(session)


async def test_a_person_s_change_of_the_same_lines_stops_a_rollback_also_with_later(folder: Path) -> None:
    session = await chain_in_lines(folder)
    put(folder, {"lines.txt": texts(folder)["lines.txt"].replace("line 9 b", "line 9 mine")})
    before, version = texts(folder), session.version
    for with_later in (False, True):
        with pytest.raises(FilesChanged, match=r"lines\.txt later, by someone else") as refused:
            roll_back(session, "b", with_later=with_later)
        assert refused.value.items == []
    assert (texts(folder), session.version, states(session)["b"]) == (before, version, "completed")


async def test_a_file_that_a_person_removed_is_gone_already(folder: Path) -> None:
    session = await chain(folder)
    (folder / "c.txt").unlink()
    assert roll_back(session, "c").files == ()
    assert states(session)["c"] == "pending"


async def test_what_an_item_changed_is_shown_as_a_diff(folder: Path) -> None:
    session = await chain_in_lines(folder)
    shown = diff_todo(session, "c")
    assert [line for line in shown.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")] == [
        "-line 1 a",
        "+line 1 a c",
    ]
    roll_back(session, "c")
    with pytest.raises(NotRunnable, match="'c' was not executed in this session, was interrupted, or was rolled back"):
        diff_todo(session, "c")


async def test_where_an_item_is_being_worked_on_is_said(folder: Path) -> None:
    session = opened(folder, ["a"])
    refusals: list[str] = []

    def look() -> None:
        with pytest.raises(NotRunnable) as refused:
            diff_todo(session, "a")
        refusals.append(str(refused.value))

    turns = [*always(bash("echo old > x.txt"), bash("false"))[:4], does(look, bash("echo x > x.txt")), "Done."]
    await go(session, model(a=turns), retries=1)
    worktree = facts(session, AttemptStarted)[-1].worktree
    assert refusals == [f"'a' is in progress in {worktree}, where git status and git diff show what it changed."]


async def test_what_a_failed_attempt_left_in_its_worktree_is_shown_and_where_it_is_kept(folder: Path) -> None:
    session = opened(folder, ["a"])
    await go(session, model(a=always(bash("echo x > x.txt"), bash("false"))), retries=0)
    assert (states(session), texts(folder)) == ({"a": "blocked"}, {"readme.txt": "read me\n"})
    assert "+x" in diff_todo(session, "a")
    [finished] = facts(session, AttemptFinished)
    assert finished.worktree is not None
    assert (folder / finished.worktree / "x.txt").read_text() == "x\n"
    assert roll_back(session, "a").files == ()
    assert states(session) == {"a": "pending"}


async def test_other_files_that_a_person_changed_meanwhile_stay(folder: Path) -> None:
    session = await chain(folder)
    put(folder, {"readme.txt": "mine\n", "new.txt": "new\n", "a.txt": "mine too\n"})
    roll_back(session, "c")
    assert texts(folder) == {"readme.txt": "mine\n", "new.txt": "new\n", "a.txt": "mine too\n", "b.txt": "b\n"}


async def test_files_of_every_kind_come_back_byte_for_byte(folder: Path) -> None:
    put(folder, {".gitignore": "*.log\n"})
    kinds: dict[str, Content] = {
        "data.bin": bytes(range(256)),
        "crlf.txt": b"a\r\nb\r\n",
        "run.sh": Program(b"#!/bin/sh\n"),
        "link": Link("readme.txt"),
        "nowhere": Link("not/there"),
        "untracked/deep/x": b"x",
        "空 格.txt": "é\n".encode(),
        "kept.log": b"ignored\n",
    }
    write_files(folder, kinds)
    git(folder, "add", "-A", "-f", "data.bin", "run.sh")
    git(folder, "commit", "-q", "-m", "second")
    put(folder, {"readme.txt": "dirty\n"})
    before, status = files(folder), git(folder, "status", "--short")
    session = opened(folder, ["a"])
    spoil = [
        "printf 'x' > data.bin; printf 'a\\n' > crlf.txt; chmod -x run.sh; rm link nowhere; ln -s run.sh link",
        "rm -r untracked; echo '#!/bin/sh' > new.sh; chmod +x new.sh; mkdir -p p/q; echo > p/q/r; mv '空 格.txt' moved",
        "echo more >> readme.txt; git add -A > /dev/null 2>&1; git reset -q",
    ]
    await one(session, "a", model(a=runs(*spoil)))
    assert files(folder) != before
    rolled = roll_back(session, "a")
    assert {"data.bin", "crlf.txt", "run.sh", "link", "nowhere", "untracked/deep/x", "new.sh", "p/q/r"} <= {
        *rolled.files
    }
    assert files(folder) == before
    assert git(folder, "status", "--short") == status


async def test_ignored_files_are_left_as_they_are(folder: Path) -> None:
    put(folder, {".gitignore": "*.log\n", "old.log": "old\n"})
    session = opened(folder, ["a"])
    await one(session, "a", model(a=runs("echo more >> old.log; echo new > new.log; echo a > a.txt")))
    assert roll_back(session, "a").files == ("a.txt",)
    assert texts(folder) == {
        ".gitignore": "*.log\n",
        "old.log": "old\n",
        "readme.txt": "read me\n",
    }


async def test_an_item_that_changed_nothing_is_only_set_to_pending(folder: Path) -> None:
    session = await chain(folder, b="true")
    before = texts(folder)
    assert roll_back(session, "b") == RollbackResult((), (), (), (), None, ("c",))
    assert (texts(folder), states(session)["b"]) == (before, "pending")


async def test_of_an_item_that_was_stopped_nothing_is_in_the_project(folder: Path, doors: Doors) -> None:
    session = opened(folder, ["a"])
    task = begun(session, model(a=[bash("echo x > x.txt"), waits("a")]), tools=doors.tools)
    await doors.until("a")
    await cancelled(task)
    assert texts(folder) == {"readme.txt": "read me\n"}
    assert roll_back(session, "a").files == ()
    assert not todo(session, "a").interrupted
    await go(session, model(a=runs("echo y > y.txt")))
    assert set(texts(folder)) == {"readme.txt", "y.txt"}


async def test_what_was_not_executed_cannot_be_rolled_back(folder: Path) -> None:
    session = opened(folder, ["a"])
    with pytest.raises(NotRunnable, match="'a' has nothing to roll back: it was not executed in this"):
        roll_back(session, "a")
    with pytest.raises(TodoNotFound):
        roll_back(session, "x")
    session.update("a", status="completed")
    with pytest.raises(NotRunnable, match="was not executed"):
        roll_back(session, "a")


async def test_while_a_run_goes_on_nothing_is_rolled_back(folder: Path, doors: Doors) -> None:
    session = opened(folder, ["a", "b"])
    turns: dict[str, list[Answer]] = {"a": runs("echo a > a.txt"), "b": [waits("b"), "Done."]}
    task = begun(session, scripted(turns), tools=doors.tools)
    await doors.until("b")
    with pytest.raises(NotRunnable, match="A run is in progress in this session"):
        roll_back(headway.open(folder), "a")
    doors.open("b")
    await task
    roll_back(session, "a")
    assert "a.txt" not in texts(folder)


async def test_another_process_can_roll_back(folder: Path) -> None:
    session = await chain(folder)
    session.close()
    fresh = headway.open(folder)
    assert roll_back(fresh, "c").files == ("c.txt",)
    assert states(fresh)["c"] == "pending"


async def test_what_a_person_put_where_a_file_has_to_come_back_is_not_lost_unsaid(folder: Path) -> None:
    session = opened(folder, ["a"])
    await one(session, "a", model(a=runs("rm readme.txt; mkdir readme.txt; echo x > readme.txt/x")))
    put(folder, {"readme.txt/mine": "mine\n"})
    before = texts(folder)
    with pytest.raises(headway.HeadwayError):
        roll_back(session, "a")
    assert (texts(folder), states(session)) == (before, {"a": "completed"})


# an execution that was killed


@pytest.mark.parametrize("moment", ["wrote", "applied"])
def test_of_an_item_that_was_killed_nothing_is_left_to_roll_back(tmp_path: Path, moment: str) -> None:
    put(tmp_path, {"old.txt": "old\n"})
    Dag(((), ()), (("one.txt",), ("two.txt",))).open(tmp_path).close()
    assert kill(tmp_path, moment)
    killed = headway.open(tmp_path)
    with suppress(NotRunnable):
        roll_back(killed, "i0")
    assert texts(tmp_path) == {"old.txt": "old\n"}
    assert states(killed)["i0"] == "pending"
    asyncio.run(play(killed))
    assert (texts(tmp_path)["one.txt"], set(states(killed).values())) == ("i0.0\n", {"completed"})


# in the project's own files


async def test_in_place_only_what_its_own_file_tools_wrote_is_rolled_back_and_the_rest_is_named(folder: Path) -> None:
    session = opened(folder, ["a"])
    await go(session, model(a=[write("a.txt", "a\n"), bash("echo b > b.txt"), "Done."]), in_place=True)
    put(folder, {"a.txt": "mine\na\n", "mine.txt": "mine\n"})
    [finished] = facts(session, AttemptFinished)
    assert (finished.files, finished.by_others) == (("a.txt",), ("b.txt",))
    with pytest.raises(FilesChanged, match="someone else"):
        roll_back(session, "a")
    put(folder, {"a.txt": "a\n"})
    rolled = roll_back(session, "a")
    assert (rolled.files, rolled.removed, rolled.left) == (("a.txt",), ("a.txt",), ("b.txt",))
    assert texts(folder) == {"readme.txt": "read me\n", "b.txt": "b\n", "mine.txt": "mine\n"}


async def test_in_place_what_a_person_changed_in_the_same_file_meanwhile_stays(folder: Path) -> None:
    lines = [f"{number}\n" for number in range(20)]
    put(folder, {"a.txt": "".join(lines)})
    session = opened(folder, ["a"])

    def edit(old: str, new: str) -> None:
        put(folder, {"a.txt": texts(folder)["a.txt"].replace(old, new)})

    turns = [
        does(lambda: edit("9\n10\n", "9\nmine\n10\n"), Turn(calls=[Call("read_file", {"path": "a.txt"})])),
        Turn(calls=[Call("edit", {"path": "a.txt", "old_string": "0\n1\n", "new_string": "its\n1\n"})]),
        does(lambda: edit("19\n", "19\nmine too\n"), "Done."),
    ]
    await go(session, model(a=turns), in_place=True)
    [finished] = facts(session, AttemptFinished)
    assert (finished.files, finished.by_others) == (("a.txt",), ("a.txt",))
    assert texts(folder)["a.txt"].startswith("its\n")
    roll_back(session, "a")
    assert texts(folder)["a.txt"] == "".join([*lines[:10], "mine\n", *lines[10:], "mine too\n"])


async def test_in_place_a_new_file_to_which_a_person_added_is_not_removed(folder: Path) -> None:
    session = opened(folder, ["a"])
    turns = [write("new.txt", "its\n"), does(lambda: put(folder, {"new.txt": "its\nmine\n"}), "Done.")]
    await go(session, model(a=turns), in_place=True)
    with pytest.raises(FilesChanged, match="someone else"):
        roll_back(session, "a")
    with pytest.raises(FilesChanged, match="someone else"):
        undo(session)
    assert texts(folder)["new.txt"] == "its\nmine\n"


async def test_in_place_all_attempts_of_an_item_are_rolled_back(folder: Path) -> None:
    session = opened(folder, ["a"])
    turns = [write("a.txt", "first\n"), bash("false"), "No.", write("b.txt", "second\n"), bash("true"), "Done."]
    await go(session, model(a=turns), in_place=True, retries=1)
    assert states(session) == {"a": "completed"}
    assert roll_back(session, "a").removed == ("a.txt", "b.txt")
    assert texts(folder) == {"readme.txt": "read me\n"}


def test_a_merge_that_was_cut_off_is_reversed_also_once_a_person_has_touched_the_item(tmp_path: Path) -> None:
    put(tmp_path, {"old.txt": "old\n"})
    Dag(((), ()), (("one.txt",), ("two.txt",))).open(tmp_path).close()
    assert kill(tmp_path, "applied")
    killed = headway.open(tmp_path)
    killed.update("i0", status="blocked")
    asyncio.run(play(killed))
    assert texts(tmp_path) == {"old.txt": "old\n", "two.txt": "i1.0\n"}
