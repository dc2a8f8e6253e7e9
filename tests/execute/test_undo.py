"""Undo and redo of executions and rollbacks: list and files change together, or nothing does."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from tests.support.counts import some
from tests.support.projects import temporary_folder

import headway
from headway.core.clock import now
from headway.core.errors import FilesChanged, NothingToUndo, NotRunnable
from headway.execute import redo, roll_back, undo
from headway.views.report.build import build_report

from .executing import (
    Doors,
    begun,
    go,
    item,
    one,
    opened,
    put,
    runs,
    scripted,
    shared_folders,
    sound,
    states,
    texts,
    waits,
)
from .playing import kill_undo

CHAIN = [item("a"), item("b", "a"), item("c", "b")]
LINES = "".join(f"line {number}\n" for number in range(1, 10))
PENDING = dict.fromkeys("abc", "pending")
COMPLETED = dict.fromkeys("abc", "completed")

executed: list[Path] = []
"""A project whose items have been executed, once for all tests."""


@pytest.fixture
async def chain(folder: Path) -> headway.Session:
    """Three items, executed: each made a file of its own, and changed lines 1, 5 and 1 of one file."""
    if not executed:
        copy = Path(shared_folders.enter_context(temporary_folder()), "project")
        put(folder, {"lines.txt": LINES})
        session = opened(folder, CHAIN)
        edits = {"a": "sed -i 1s/line/a/", "b": "sed -i 5s/line/b/", "c": "sed -i 1s/a/c/"}
        turns = {name: runs(f"echo {name} > {name}.txt; {edit} lines.txt") for name, edit in edits.items()}
        await go(session, scripted(turns))
        assert states(session) == COMPLETED
        session.close()
        shutil.copytree(folder, copy, symlinks=True)
        executed.append(copy)
    shutil.rmtree(folder)
    shutil.copytree(executed[0], folder, symlinks=True)
    return headway.open(folder)


def test_undoing_an_execution_takes_back_list_and_files_and_redoing_brings_them_again(
    chain: headway.Session, folder: Path
) -> None:
    before = texts(folder)
    undone = undo(chain)
    assert states(chain) == PENDING
    assert texts(folder) == {"readme.txt": "read me\n", "lines.txt": LINES}
    assert len(undone.steps) == 1
    assert set(undone.files) == {"a.txt", "b.txt", "c.txt", "lines.txt"}
    assert set(undone.removed) == {"a.txt", "b.txt", "c.txt"}
    redone = redo(chain)
    assert states(chain) == COMPLETED
    assert texts(folder) == before
    assert set(redone.files) == set(undone.files)
    undo(chain, 2)
    assert chain.todos == []
    with pytest.raises(NothingToUndo):
        undo(chain)
    redo(chain, 2)
    assert (states(chain), texts(folder)) == (COMPLETED, before)
    sound(chain)


def test_undoing_a_rollback_brings_its_files_back(chain: headway.Session, folder: Path) -> None:
    before = texts(folder)
    roll_back(chain, "b")
    rolled = texts(folder)
    undo(chain)
    assert (states(chain), texts(folder)) == (COMPLETED, before)
    redo(chain)
    assert (states(chain), texts(folder)) == (COMPLETED | {"b": "pending"}, rolled)
    undo(chain)
    roll_back(chain, "b")
    assert texts(folder) == rolled, "it can be rolled back again, since its work is there again"
    undo(chain, 2)
    assert (states(chain), texts(folder)) == (PENDING, {"readme.txt": "read me\n", "lines.txt": LINES})
    with pytest.raises(NotRunnable, match="was not executed"):
        roll_back(chain, "b")
    sound(chain)


def test_what_others_changed_meanwhile_stays(chain: headway.Session, folder: Path) -> None:
    put(folder, {"mine.txt": "mine\n"})
    (folder / "lines.txt").write_text(texts(folder)["lines.txt"].replace("line 9", "my 9"))
    undo(chain)
    assert texts(folder) == {
        "readme.txt": "read me\n",
        "mine.txt": "mine\n",
        "lines.txt": LINES.replace("line 9", "my 9"),
    }
    (folder / "lines.txt").write_text(LINES)
    redo(chain)
    assert texts(folder)["lines.txt"] == LINES.replace("line 1", "c 1").replace("line 5", "b 5")


@pytest.mark.parametrize("which", ["execution", "rollback", "redo"])
def test_where_it_conflicts_neither_list_nor_files_change(chain: headway.Session, folder: Path, which: str) -> None:
    if which == "rollback":
        roll_back(chain, "b")
    if which == "redo":
        undo(chain)
    (folder / "lines.txt").write_text("mine\n")
    before, version = texts(folder), chain.version
    revert = redo if which == "redo" else undo
    with pytest.raises(
        FilesChanged, match=r"^Nothing was (un|re)done: conflicting changes were made to lines\.txt"
    ) as refused:
        revert(chain)
    assert (texts(folder), chain.version) == (before, version)
    assert (refused.value.files, refused.value.items) == (["lines.txt"], [])


async def test_items_in_the_way_are_named(chain: headway.Session, folder: Path) -> None:
    roll_back(chain, "c")
    await go(chain, scripted({"c": runs("sed -i 5s/b/other/ lines.txt")}))
    chain.undo()
    undo(chain)
    with pytest.raises(FilesChanged, match="later, by c") as refused:
        undo(chain)
    assert refused.value.items == ["c"]


async def test_two_executions_are_undone_one_after_the_other(folder: Path) -> None:
    session = opened(folder, CHAIN)
    for name in "abc":
        await one(session, name, scripted({name: runs(f"echo {name} >> all.txt")}))
    undo(session)
    assert (texts(folder)["all.txt"], states(session)["c"]) == ("a\nb\n", "pending")
    undo(session, 2)
    assert (texts(folder), states(session)) == ({"readme.txt": "read me\n"}, PENDING)
    redo(session, 3)
    assert texts(folder)["all.txt"] == "a\nb\nc\n"


async def test_an_undone_execution_can_be_executed_again(chain: headway.Session, folder: Path) -> None:
    undo(chain)
    await go(chain, scripted({name: runs(f"echo again > {name}.txt") for name in "abc"}))
    assert (texts(folder)["a.txt"], states(chain)) == ("again\n", COMPLETED)
    undo(chain)
    assert texts(folder) == {"readme.txt": "read me\n", "lines.txt": LINES}


def test_the_list_alone_is_undone_in_python_and_the_result_says_so(chain: headway.Session, folder: Path) -> None:
    before = texts(folder)
    assert chain.undo().keeps_files
    assert (states(chain), texts(folder)) == (PENDING, before)
    chain.redo()
    undo(chain)
    assert texts(folder) == {"readme.txt": "read me\n", "lines.txt": LINES}
    assert chain.redo().keeps_files
    assert states(chain) == PENDING, "nothing is completed while its work is gone"


def test_files_follow_also_where_the_list_alone_was_undone_and_redone_before(
    chain: headway.Session, folder: Path
) -> None:
    before = texts(folder)
    roll_back(chain, "c")
    chain.undo()
    assert states(chain)["c"] == "pending"
    chain.redo()
    undo(chain)
    assert (states(chain), texts(folder)) == (COMPLETED, before)


def test_no_edit_of_the_list_needs_the_files(chain: headway.Session, folder: Path) -> None:
    chain.add("One more")
    shutil.rmtree(folder / ".headway" / "checkpoints")
    assert undo(chain).files == ()
    assert len(redo(chain).todos) == 4


@pytest.mark.parametrize("place", ["applying", "applied"])
def test_an_undo_that_is_killed_is_reversed_by_the_next_one(chain: headway.Session, folder: Path, place: str) -> None:
    before = texts(folder)
    chain.close()
    kill_undo(folder, place)
    again = headway.open(folder)
    assert states(again) == COMPLETED
    undo(again)
    assert (states(again), texts(folder)) == (PENDING, {"readme.txt": "read me\n", "lines.txt": LINES})
    redo(again)
    assert texts(folder) == before


class Story:
    """Someone who executes, rolls back, undoes, redoes and edits at random; each item has a file and a line."""

    def __init__(self, folder: Path, seed: int) -> None:
        put(folder, {"lines.txt": LINES, "mine.txt": ""})
        self.session = opened(folder, [item(name) for name in "abcd"])
        self.folder, self.chance = folder, Random(seed)
        self.shared, self.mine = folder / "lines.txt", folder / "mine.txt"

    def having(self, status: str) -> list[str]:
        return [name for name in "abcd" if states(self.session).get(name) == status]

    async def execute(self) -> None:
        for name in self.having("pending")[: self.chance.randint(1, 2)]:
            edit = f"sed -i {'abcd'.index(name) * 2 + 1}s/line/{name}/ lines.txt"
            await one(self.session, name, scripted({name: runs(f"echo {name} > {name}.txt; {edit}")}))

    async def roll_back(self) -> None:
        if completed := self.having("completed"):
            roll_back(self.session, self.chance.choice(completed))

    async def write(self) -> None:
        self.mine.write_text(f"{self.mine.read_text()}{self.chance.random()}\n")
        self.shared.write_text(self.shared.read_text().replace("\nline 9", "\nmy line 9"))

    async def edit(self) -> None:
        if self.session.todos and self.chance.random() < 0.5:
            self.session.move(self.session.todos[-1].id, 1)
        else:
            self.session.add("One more")

    async def undo(self) -> None:
        undo(self.session, self.chance.randint(1, 2))

    async def redo(self) -> None:
        redo(self.session, self.chance.randint(1, 2))

    async def go_on(self) -> None:
        steps = [self.execute, self.roll_back, self.write, self.edit, self.undo, self.undo, self.redo]
        with suppress(NothingToUndo):
            await self.chance.choice(steps)()


@pytest.mark.parametrize("seed", range(some(40, 20)))
async def test_whatever_is_executed_rolled_back_undone_and_redone_list_and_files_agree(folder: Path, seed: int) -> None:
    story = Story(folder, seed)
    for _ in range(12):
        written = story.mine.read_text()
        await story.go_on()
        assert story.mine.read_text().startswith(written)
        completed, there = set(story.having("completed")), texts(folder)
        assert {name for name in "abcd" if f"{name}.txt" in there} == completed
        assert {name for name in "abcd" if f"{name} " in there["lines.txt"]} == completed
    with suppress(NothingToUndo):
        while True:
            undo(story.session)
    assert story.session.todos == []
    assert story.shared.read_text().replace("my line 9", "line 9") == LINES
    sound(story.session)


def test_the_report_tells_of_an_item_only_what_is_in_the_files(chain: headway.Session) -> None:
    def told() -> dict[str, tuple[list[str], int]]:
        report = build_report(chain.events(), chain.todos, session="default", agent="main", generated_at=now())
        return {todo.id: (sorted(todo.files), len(todo.rolled_back)) for todo in report.items}

    before = told()
    roll_back(chain, "b")
    assert told() == before | {"b": ([], 1)}
    undo(chain)
    assert told() == before
    undo(chain)
    assert told() == {name: ([], 1) for name in "abc"}
    redo(chain)
    assert told() == before


@pytest.mark.parametrize("edit", ["drop", "clear", "completed", "cancelled"])
async def test_what_took_a_running_item_away_is_undone_before_the_execution(
    folder: Path, doors: Doors, edit: str
) -> None:
    session = opened(folder, [item("a"), item("b", "a")])
    answers = scripted({"a": runs("echo a > a.txt"), "b": [waits("b"), "Done."]})
    task = begun(session, answers, tools=doors.tools)
    await doors.until("b")
    if edit in ("drop", "clear"):
        session.drop("b") if edit == "drop" else session.clear()
    else:
        session.update("b", status=edit)
    await task
    undo(session)
    assert states(session) == {"a": "completed", "b": "pending"}
    assert "a.txt" in texts(folder)
    undo(session)
    assert states(session) == {"a": "pending", "b": "pending"}
    assert "a.txt" not in texts(folder)
    redo(session)
    assert states(session) == {"a": "completed", "b": "pending"}
    assert "a.txt" in texts(folder)
    sound(session)


async def test_an_item_that_was_taken_away_and_given_back_while_it_ran_is_pending(folder: Path, doors: Doors) -> None:
    session = opened(folder, ["a", "b"])
    task = begun(session, scripted({name: [waits(name), "Done."] for name in "ab"}), tools=doors.tools, parallel=2)
    await doors.until("a", "b")
    session.update("b", status="cancelled")
    undo(session)
    assert states(session) == {"a": "in_progress", "b": "pending"}
    doors.open("a")
    result = await task
    assert states(session) == {"a": "completed", "b": "pending"}
    assert not result.ok
    sound(session)
