"""Others who swap folders, replace files, write meanwhile or kill the process: nothing leaks, nothing is torn."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.support.counts import some
from tests.support.processes import run_python
from tests.tools.files.desk import Desk

from headway.tools.base import ToolFault
from headway.tools.files.atomic_write import changed_meanwhile_fault, exchange_files, write_bytes
from headway.tools.files.workspace import Workspace


@contextmanager
def meanwhile(act: Callable[[], None]) -> Generator[None]:
    """Does something again and again in another thread."""
    done = threading.Event()
    failures: list[BaseException] = []

    def loop() -> None:
        try:
            while not done.is_set():
                act()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    assert not failures


def swapper(folder: Path, outside: Path) -> Callable[[], None]:
    """Makes a folder a link to outside, and a folder again."""
    parked = folder.with_name("parked")

    def swap() -> None:
        with suppress(OSError):
            folder.rename(parked)
        with suppress(OSError):
            folder.symlink_to(outside)
        with suppress(OSError):
            folder.unlink()
        shutil.rmtree(folder, ignore_errors=True)  # a tool may have made it anew in between
        with suppress(OSError):
            parked.rename(folder)

    return swap


@pytest.fixture
def inner_project(tmp_path: Path) -> Path:
    """A project beside a folder that it must not reach."""
    (tmp_path / "outside/sub").mkdir(parents=True)
    (tmp_path / "project/folder/sub").mkdir(parents=True)
    for name in ("a.txt", "sub/a.txt"):
        (tmp_path / "outside" / name).write_text("SECRET")
        (tmp_path / "project/folder" / name).write_text("inside")
    return tmp_path / "project"


def everything(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.full
async def test_a_folder_swapped_for_a_link_to_outside_leaks_nothing(inner_project: Path) -> None:
    outside = inner_project.parent / "outside"
    before = everything(outside)
    desk = Desk(inner_project)
    hits = 0
    with meanwhile(swapper(inner_project / "folder", outside)):
        for number in range(some(300, 3)):
            for name, arguments in (
                ("read_file", {"path": "folder/a.txt"}),
                ("read_many_files", {"paths": ["folder/a.txt", "folder/sub/a.txt"]}),
                ("edit", {"path": "folder/a.txt", "old_string": "inside", "new_string": "inside inside"}),
                ("edit", {"path": "folder/a.txt", "old_string": "inside inside", "new_string": "inside"}),
                ("write_file", {"path": f"folder/new/{number}.txt", "content": "x"}),
            ):
                try:
                    result = await desk.call(name, **arguments)
                    hits += result.ok
                    assert "SECRET" not in result.text
                except ToolFault as fault:
                    assert "SECRET" not in str(fault)
    assert hits
    assert everything(outside) == before


@pytest.mark.full
async def test_a_file_swapped_for_a_link_to_outside_leaks_nothing(inner_project: Path) -> None:
    outside = inner_project.parent / "outside"
    desk = Desk(inner_project)
    with meanwhile(swapper(inner_project / "folder/a.txt", outside / "a.txt")):
        for number in range(some(300, 3)):
            with suppress(ToolFault):
                assert "SECRET" not in await desk.read("folder/a.txt")
            with suppress(ToolFault):
                await desk.write("folder/a.txt", f"mine {number}")
    assert everything(outside) == {"a.txt": "SECRET", "sub/a.txt": "SECRET"}


def at_the_worst_moment(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object]) -> None:
    """Acts once, right after a path's step with that name was looked at."""
    look, acts = os.readlink, [act]

    def look_then_act(path: str, *, dir_fd: int | None = None) -> str:
        try:
            return look(path, dir_fd=dir_fd)
        finally:
            if path == name and acts:
                acts.pop()()

    monkeypatch.setattr(os, "readlink", look_then_act)


@pytest.mark.parametrize("name", ["read_file", "write_file", "edit"])
@pytest.mark.parametrize("swapped", ["folder", "folder/a.txt"])
async def test_a_swap_between_looking_and_opening_leads_nowhere(
    inner_project: Path, monkeypatch: pytest.MonkeyPatch, name: str, swapped: str
) -> None:
    outside = inner_project.parent / "outside"
    arguments = {"write_file": {"content": "x"}, "edit": {"old_string": "S", "new_string": "x"}}.get(name, {})
    desk = Desk(inner_project)
    desk.context.seen.note("folder/a.txt", b"SECRET")

    def swap() -> None:
        (inner_project / swapped).rename(inner_project / "parked")
        (inner_project / swapped).symlink_to(outside / swapped.removeprefix("folder").removeprefix("/"))

    at_the_worst_moment(monkeypatch, Path(swapped).name, swap)
    assert await desk.fault(name, path="folder/a.txt", **arguments) in (
        "'folder/a.txt' has a part that is not a folder; use ls to see what exists.",
        "'folder/a.txt' was replaced by a link in the meantime; try again.",
    )
    assert (inner_project / swapped).is_symlink()
    assert everything(outside) == {"a.txt": "SECRET", "sub/a.txt": "SECRET"}


@pytest.mark.full
async def test_of_many_writers_of_a_new_file_one_wins_and_the_others_are_told(tmp_path: Path) -> None:
    for round in range(some(20, 2)):
        desks = [Desk(tmp_path) for _ in range(8)]
        results = await asyncio.gather(
            *(desk.write(f"new{round}/a.txt", f"writer {number}") for number, desk in enumerate(desks)),
            return_exceptions=True,
        )
        winners = [number for number, result in enumerate(results) if isinstance(result, str)]
        assert len(winners) == 1
        assert (tmp_path / f"new{round}/a.txt").read_text() == f"writer {winners[0]}"
        for result in results:
            told = ("was changed by someone else in the meantime", "has not been read yet")
            assert isinstance(result, str) or any(text in str(result) for text in told)
        assert os.listdir(tmp_path / f"new{round}") == ["a.txt"]


def test_a_file_that_changes_between_reading_and_writing_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("theirs")
    for expected in (b"old", None, b"longer than it is now"):
        with pytest.raises(ToolFault) as caught, Workspace(tmp_path).open_place("a.txt", write=True) as place:
            write_bytes(place, b"mine", expected)
        assert str(caught.value) == str(changed_meanwhile_fault("a.txt"))
    assert str(changed_meanwhile_fault("a.txt")) == (
        "'a.txt' was changed by someone else in the meantime; nothing was written. Read it again."
    )
    with pytest.raises(ToolFault), Workspace(tmp_path).open_place("gone.txt", write=True) as place:
        write_bytes(place, b"mine", b"old")
    assert everything(tmp_path) == {"a.txt": "theirs"}


def test_a_file_that_became_a_folder_or_a_link_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to("a")
    for name, kind in (("a", "a folder"), ("b", "a link")):
        with pytest.raises(ToolFault) as caught, Workspace(tmp_path).open_place("x", write=True) as place:
            write_bytes(type(place)(place.folder, name, name), b"mine", b"old")
        assert f"'{name}' is {kind}; " in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


async def test_two_runs_editing_the_same_file_never_lose_an_edit(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("start\n")
    made: list[str] = []

    async def work(name: str) -> None:
        desk = Desk(tmp_path)
        for number in range(40):
            with suppress(ToolFault):
                await desk.read("a.txt")
                await desk.edit("a.txt", "start\n", f"start\n{name}{number}\n")
                made.append(f"{name}{number}")

    await asyncio.gather(work("a"), work("b"), work("c"))
    assert sorted((tmp_path / "a.txt").read_text().split()) == sorted(["start", *made])


_KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.tools.files.desk import Desk
from headway.tools.files import atomic_write as writing
project, name, when = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
where = writing if name == "exchange_files" else os
if name == "rename":  # as on a system where files cannot change places
    writing.exchange_files = lambda *_: False
real = getattr(where, name)
def die(*arguments, **options):
    if name == "write":
        arguments = (arguments[0], arguments[1][: len(arguments[1]) // 2])
    if when == "after":
        real(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)
async def main():
    desk = Desk(project)
    await desk.read("a.txt")
    setattr(where, name, die)
    await desk.write("a.txt", "new\\n" * 100_000)
asyncio.run(main())
"""


@pytest.mark.disk
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", ["write", "fchmod", "fsync", "rename", "exchange_files"])
def test_a_writer_killed_at_any_step_leaves_the_old_or_the_new_content_whole(
    tmp_path: Path, name: str, when: str
) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    killed = run_python(_KILLED, tmp_path, name, when)
    assert killed.code == -signal.SIGKILL, killed.err
    is_done = when == "after" and name in ("rename", "exchange_files")
    assert (tmp_path / "a.txt").read_text() == ("new\n" * 100_000 if is_done else "old\n")
    left = [file for file in os.listdir(tmp_path) if file != "a.txt"]
    # What was begun proves that the kill came in the middle.
    assert len(left) == (0 if (name, when) == ("rename", "after") else 1)


@pytest.mark.parametrize("as_editors_do", [True, False])
async def test_a_save_in_the_last_moment_is_kept_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_editors_do: bool
) -> None:
    """A person saves between the last look at the file and the change."""
    (tmp_path / "a.txt").write_text("old")
    desk = Desk(tmp_path)
    await desk.read("a.txt")
    saves = ["theirs"]

    def saved_first(folder: int, one: str, other: str) -> bool:
        if saves:
            (tmp_path / "draft").write_text(saves.pop())
            if as_editors_do:
                os.rename(tmp_path / "draft", tmp_path / "a.txt")
            else:
                (tmp_path / "a.txt").write_text((tmp_path / "draft").read_text())
                (tmp_path / "draft").unlink()
        return exchange_files(folder, one, other)

    monkeypatch.setattr("headway.tools.files.atomic_write.exchange_files", saved_first)
    if sys.platform == "linux":
        assert "was changed by someone else in the meantime" in await desk.fault(
            "write_file", path="a.txt", content="mine"
        )
        assert everything(tmp_path) == {"a.txt": "theirs"}


async def test_a_folder_that_stays_locked_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("old")
    monkeypatch.setattr("headway.store.folder.PATIENCE", 0.0)
    desk = Desk(tmp_path)
    await desk.read("a.txt")
    held = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert await desk.fault("write_file", path="a.txt", content="new") == (
            "'a.txt' is in a folder that another program has locked; nothing was written. Try again in a moment."
        )
    finally:
        os.close(held)
    assert everything(tmp_path) == {"a.txt": "old"}


_FULL = """
import asyncio, resource, sys
from pathlib import Path
from tests.tools.files.desk import executor
async def main():
    run = executor(Path(sys.argv[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))
    await run.call("read_file", {"path": "a.txt"})
    for path in ("a.txt", "new/b.txt"):
        print((await run.call("write_file", {"path": path, "content": "x" * 6_000})).text)
asyncio.run(main())
"""


def test_a_write_that_breaks_off_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    answer = run_python(_FULL, tmp_path)
    assert answer.code == 0, answer.err
    assert answer.out.splitlines() == [
        "'a.txt' cannot be accessed: File too large.",
        "'new/b.txt' cannot be accessed: File too large.",
    ]
    assert everything(tmp_path) == {"a.txt": "old"}
    assert os.listdir(tmp_path) == ["a.txt"]
