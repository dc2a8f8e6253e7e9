"""An item is rolled back: the files that it changed are as before it, nothing else is, and nothing is lost unsaid."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from tests.support.projects import temporary_folder

import headway
from headway.core.batch_events import ItemRolledBack
from headway.core.errors import NotRunnable, TodoNotFound
from headway.execute import roll_back
from headway.execute.rollback import RolledBack
from headway.execute.shadow import Shadow

from .dags import Dag
from .executing import (
    Answer,
    Doors,
    always,
    bash,
    begun,
    cancelled,
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
    [fact] = facts(session, ItemRolledBack)
    assert (fact.item_id, fact.files, fact.forced, fact.saved) == (which, rolled.files, False, rolled.saved)
    sound(session)


async def test_a_rolled_back_item_can_be_executed_and_rolled_back_again(folder: Path) -> None:
    session = await chain(folder)
    roll_back(session, "c")
    await go(session, scripted({"c": runs("echo again > c.txt")}))
    assert texts(folder)["c.txt"] == "again\n"
    roll_back(session, "c")
    assert "c.txt" not in texts(folder)
    with pytest.raises(NotRunnable, match="'c': it was not executed in this session, or was rolled back already"):
        roll_back(session, "c")


async def test_a_chain_is_rolled_back_from_its_end(folder: Path) -> None:
    edits = {name: f"echo {name} >> readme.txt" for name in "abc"}
    session = await chain(folder, 1, **edits)
    for name, left in (("c", "read me\na\nb\n"), ("b", "read me\na\n"), ("a", "read me\n")):
        roll_back(session, name)
        assert texts(folder) == {"readme.txt": left}
    assert set(states(session).values()) == {"pending"}


async def test_a_file_that_a_later_item_changed_is_not_taken_from_it_and_the_item_is_named(folder: Path) -> None:
    session = await chain(folder, a="echo a > f.txt; echo a > own.txt", c="echo c >> f.txt")
    before, version = texts(folder), session.version
    with pytest.raises(NotRunnable, match=r"'a' was not rolled back: f.txt changed since, by c\. Roll that back first"):
        roll_back(session, "a")
    assert (texts(folder), session.version) == (before, version)
    roll_back(session, "c")
    roll_back(session, "a")
    assert set(texts(folder)) == {"readme.txt", "b.txt"}


async def test_a_file_that_a_person_changed_is_not_taken_from_them(folder: Path) -> None:
    session = await chain(folder)
    put(folder, {"b.txt": "mine\n"})
    before = texts(folder)
    with pytest.raises(NotRunnable, match=r"b.txt changed since, by someone else\..* --force"):
        roll_back(session, "b")
    assert (texts(folder), states(session)["b"]) == (before, "completed")


async def test_with_force_the_files_are_brought_back_and_kept_as_they_were(folder: Path) -> None:
    session = await chain(folder, a="echo a > f.txt", c="echo c >> f.txt")
    put(folder, {"f.txt": "a\nc\nmine\n", "mine.txt": "mine\n"})
    rolled = roll_back(session, "a", force=True)
    assert "f.txt" not in texts(folder)
    assert texts(folder)["mine.txt"] == "mine\n"
    assert rolled.saved is not None
    shadow = Shadow(folder)
    shadow.apply(shadow.snapshot(), rolled.saved)
    assert texts(folder)["f.txt"] == "a\nc\nmine\n"


async def test_a_file_that_a_person_removed_counts_as_changed(folder: Path) -> None:
    session = await chain(folder)
    (folder / "c.txt").unlink()
    with pytest.raises(NotRunnable, match=r"c.txt changed since, by someone else"):
        roll_back(session, "c")
    roll_back(session, "c", force=True)
    assert states(session)["c"] == "pending"


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
        "old.log": "old\nmore\n",
        "new.log": "new\n",
        "readme.txt": "read me\n",
    }


async def test_an_item_that_changed_nothing_is_only_set_to_pending(folder: Path) -> None:
    session = await chain(folder, b="true")
    before = texts(folder)
    assert roll_back(session, "b") == RolledBack((), None, ("c",))
    assert (texts(folder), states(session)["b"]) == (before, "pending")


async def test_a_failed_item_can_be_rolled_back(folder: Path) -> None:
    session = opened(folder, ["a"])
    await go(session, model(a=always(bash("echo x > x.txt"), bash("false"))))
    assert (states(session), "x.txt" in texts(folder)) == ({"a": "blocked"}, True)
    assert roll_back(session, "a").files == ("x.txt",)
    assert (states(session), "x.txt" in texts(folder)) == ({"a": "pending"}, False)


async def test_an_item_that_was_stopped_can_be_rolled_back(folder: Path, doors: Doors) -> None:
    session = opened(folder, ["a"])
    task = begun(session, model(a=[bash("echo x > x.txt"), waits("a")]), tools=doors.tools)
    await doors.until("a")
    await cancelled(task)
    assert roll_back(session, "a").files == ("x.txt",)
    assert "x.txt" not in texts(folder)
    assert not todo(session, "a").interrupted
    await go(session, model(a=runs("echo y > y.txt")))
    assert set(texts(folder)) == {"readme.txt", "y.txt"}


async def test_what_was_not_executed_cannot_be_rolled_back(folder: Path) -> None:
    session = opened(folder, ["a"])
    with pytest.raises(NotRunnable, match="There is nothing to roll back for 'a': it was not executed in this"):
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
    with pytest.raises(NotRunnable, match="A run is going on in this session"):
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


@pytest.fixture
def killed(tmp_path: Path) -> headway.Session:
    """A session whose item `i0` was killed right after it wrote into `one.txt`; `i1` needs nothing of it."""
    put(tmp_path, {"old.txt": "old\n"})
    Dag(((), ()), (("one.txt",), ("two.txt",))).open(tmp_path).close()
    assert kill(tmp_path, "wrote")
    return headway.open(tmp_path)


def test_an_item_that_was_killed_can_be_rolled_back_with_force_at_the_least(
    tmp_path: Path, killed: headway.Session
) -> None:
    roll_back(killed, "i0", force=True)
    assert texts(tmp_path) == {"old.txt": "old\n"}
    assert states(killed)["i0"] == "pending"


def test_rolling_back_an_item_that_was_killed_says_which_files_came_back(
    tmp_path: Path, killed: headway.Session
) -> None:
    assert roll_back(killed, "i0", force=True).files == ("one.txt",)
    assert facts(killed, ItemRolledBack)[0].files == ("one.txt",)


def test_rolling_back_an_item_that_was_killed_leaves_what_others_did_since(
    tmp_path: Path, killed: headway.Session
) -> None:
    killed.update("i0", status="blocked")  # so that only the other one runs
    asyncio.run(play(killed))
    assert (texts(tmp_path)["two.txt"], states(killed)["i1"]) == ("i1.0\n", "completed")
    try:
        roll_back(killed, "i0")
    except NotRunnable as refused:
        assert "i1" in str(refused)
    assert texts(tmp_path).get("two.txt") == "i1.0\n"
