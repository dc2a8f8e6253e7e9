"""Files that are huge, strange, closed or changing: bounded memory, no waiting, a clear result."""

from __future__ import annotations

import os
import socket
import stat
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.processes import run_python
from tests.support.projects import temporary_folder
from tests.tools.files.desk import Desk

MEGABYTE = 1_000_000


@pytest.fixture
def memory() -> Iterator[None]:
    """Fails a test that takes more than 20 MB at any moment."""
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * MEGABYTE


def large(path: Path, piece: bytes, size: int = 50 * MEGABYTE) -> int:
    """A file of that size, in pieces; how many there are."""
    count = size // len(piece)
    with path.open("wb") as file:
        for _ in range(100):
            file.write(piece * (count // 100))
    return count // 100 * 100


async def test_a_range_of_fifty_megabytes_is_read_without_the_rest(tmp_path: Path, memory: None) -> None:
    count = large(tmp_path / "a.log", b"x" * 99_999 + b"\n")
    desk = Desk(tmp_path)
    text = await desk.read("a.log", offset=count - 1, limit=1)
    assert text.startswith(f"{count - 1:>6}\t" + "x" * 2_000 + " [… 97,999 more characters in this line]\n")
    assert text.endswith(f"\n[lines {count - 1}–{count - 1}; read on with offset={count}]")
    assert (await desk.read("a.log", offset=count)).endswith(f"[lines {count}–{count} of {count}]")
    assert (
        await desk.read("a.log", offset=count + 1)
        == f"(a.log has only {count} lines, so there is nothing from line {count + 1} on)"
    )


async def test_one_line_of_fifty_megabytes_is_cut(tmp_path: Path, memory: None) -> None:
    large(tmp_path / "a.json", b"x" * 1_000)
    text = await Desk(tmp_path).read("a.json")
    assert text == "     1\t" + "x" * 2_000 + " [… 49,998,000 more characters in this line]"


async def test_a_large_file_cannot_be_changed_and_the_answer_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("line\n" * 1_000)
    desk = Desk(tmp_path, file_bytes=4_999)
    await desk.read("a.log")
    sentence = (
        "'a.log' has 5,000 bytes, more than the 4,999 that can be read at once; read parts of it with offset and "
        "limit, or use bash."
    )
    assert await desk.edit_fault("a.log", "line", "x") == sentence
    assert await desk.fault("write_file", path="a.log", content="x") == sentence


async def test_a_file_at_the_limit_is_read_like_one_beyond_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + "第一行\r\n\ufeff第二行\r\n".encode() * 100)
    size = (tmp_path / "a.txt").stat().st_size
    parts = [await Desk(tmp_path, file_bytes=limit).read("a.txt", offset=199) for limit in (size, size - 1)]
    assert parts[0] == parts[1] == "   199\t第一行\n   200\t\ufeff第二行\n[lines 199–200 of 200]"


@pytest.mark.parametrize("codec", ["utf-16", "utf-8-sig", "gb18030", "latin-1", "utf-32"])
async def test_the_encoding_of_a_large_file_is_known_from_its_beginning(tmp_path: Path, codec: str) -> None:
    line = "déjà vu, garçon" if codec == "latin-1" else "中文内容,第一行"
    (tmp_path / "a.txt").write_bytes((f"{line}\r\n" * 40_000).encode(codec))
    text = await Desk(tmp_path, file_bytes=1_000).read("a.txt", offset=39_999)
    assert text == f" 39999\t{line}\n 40000\t{line}\n[lines 39,999–40,000 of 40,000]"


async def test_a_large_binary_is_declined(tmp_path: Path) -> None:
    with (tmp_path / "disk.img").open("wb") as file:
        file.truncate(10**12)
    assert "is a binary file (1,000,000,000,000 bytes)" in await Desk(tmp_path).fault("read_file", path="disk.img")


async def test_a_line_too_far_away_is_given_up_in_time(tmp_path: Path) -> None:
    large(tmp_path / "a.log", b"line\n", 2 * MEGABYTE)
    desk = Desk(tmp_path, file_bytes=1_000, search_seconds=1e-9)
    assert await desk.fault("read_file", path="a.log", offset=400_000) == (
        "'a.log' is so large (2,000,000 bytes) that line 400,000 was not reached in 1e-09 s; use bash to extract "
        "the part you need."
    )


async def test_pipes_sockets_and_devices_are_declined_without_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    desk = Desk(tmp_path)
    assert await desk.fault("read_file", path="pipe") == "'pipe' is a pipe; use a regular file."
    assert await desk.fault("write_file", path="pipe", content="") == "'pipe' is a pipe; use a regular file."
    assert await desk.edit_fault("pipe", "a", "b") == "'pipe' is a pipe; use a regular file."
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert await desk.fault("read_file", path="socket") == "'socket' is a socket; use a regular file."


async def test_a_device_is_declined(tmp_path: Path) -> None:
    try:
        os.mknod(tmp_path / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this user may not make devices")
    desk = Desk(tmp_path)
    assert await desk.fault("read_file", path="zero") == "'zero' is a device; use a regular file."
    assert await desk.fault("write_file", path="zero", content="x") == "'zero' is a device; use a regular file."


async def test_a_file_that_changes_whenever_it_is_read_is_told_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("start")
    read, changes = os.read, iter([b"first", b"again"])

    def read_and_change(descriptor: int, size: int) -> bytes:
        data = read(descriptor, size)
        if data and (change := next(changes, b"")):
            path.write_bytes(change)
            os.utime(path, ns=(0, len(change) + change[0] * 10**9))
        return data

    monkeypatch.setattr(os, "read", read_and_change)
    desk = Desk(tmp_path, file_bytes=1_000)
    assert await desk.read("a.txt") == "     1\tagain"
    changes = iter([b"1", b"2", b"3"])
    assert await desk.fault("read_file", path="a.txt") == "'a.txt' is being written right now; try again in a moment."
    changes = iter([b"x" * 1_000, b"x" * 1_001])
    assert "has 1,001 bytes, more than the 1,000" in await desk.fault("read_file", path="a.txt")


async def test_a_log_that_grows_while_it_is_read_is_read_to_where_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.log"
    path.write_text("line\n" * 20_000)
    read = os.read

    def read_and_grow(descriptor: int, size: int) -> bytes:
        with path.open("a") as file:
            file.write("line\n" * 20_000)
        return read(descriptor, size)

    monkeypatch.setattr(os, "read", read_and_grow)
    text = await Desk(tmp_path, file_bytes=1_000).read("a.log", offset=10**9)
    assert text == "(a.log has only 20,000 lines, so there is nothing from line 1,000,000,000 on)"


_AS_NOBODY = """
import asyncio, os, sys
from pathlib import Path
from tests.tools.files.desk import executor
async def main():
    run = executor(Path(sys.argv[1]))
    await run.call("read_file", {"path": "theirs.txt"})
    if os.getuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
    for name, arguments in (
        ("read_file", {"path": "secret.txt"}),
        ("read_file", {"path": "closed/a.txt"}),
        ("write_file", {"path": "new.txt", "content": "x"}),
        ("write_file", {"path": "new/a.txt", "content": "x"}),
        ("edit", {"path": "theirs.txt", "old_string": "a", "new_string": "b"}),
        ("edit", {"path": "open/theirs.txt", "old_string": "a", "new_string": "b"}),
    ):
        if arguments["path"] == "open/theirs.txt":
            await run.call("read_file", {"path": "open/theirs.txt"})
        print((await run.call(name, arguments)).text)
asyncio.run(main())
"""


@pytest.mark.skipif(os.getuid() != 0, reason="needs files of another user")
def test_what_may_not_be_touched_is_told_and_left_alone() -> None:
    with temporary_folder() as project:
        project.chmod(0o755)
        for name in ("secret.txt", "theirs.txt", "closed/a.txt", "open/theirs.txt"):
            (project / name).parent.mkdir(exist_ok=True)
            (project / name).write_text("a")
        (project / "secret.txt").chmod(0o600)
        (project / "closed").chmod(0o700)
        (project / "open").chmod(0o777)
        answer = run_python(_AS_NOBODY, project)
        assert answer.code == 0, answer.err
        names = ("secret.txt", "closed/a.txt", "new.txt", "new/a.txt", "theirs.txt", "open/theirs.txt")
        assert answer.out.splitlines() == [
            f"'{name}' cannot be accessed: permission denied; leave it, or ask the user to allow it." for name in names
        ]
        assert sorted(os.listdir(project)) == ["closed", "open", "secret.txt", "theirs.txt"]
        assert os.listdir(project / "open") == ["theirs.txt"]
        assert (project / "open/theirs.txt").read_text() == "a"
