"""`read_many_files`: several files in one answer that always fits, with those that cannot be read told among them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.counts import some
from tests.tools.files.desk import Desk, executor


async def test_files_come_in_the_order_asked_for_each_once(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(f"{name}1\n{name}2\n")
    result = await Desk(tmp_path).call("read_many_files", paths=["c", "a", "c"])
    assert result.text == "==> c <==\n     1\tc1\n     2\tc2\n\n==> a <==\n     1\ta1\n     2\ta2"


async def test_what_cannot_be_read_is_told_among_the_others(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("text")
    (tmp_path / "b").write_bytes(b"\0")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    paths = ["a", "b", "pipe", "loop", "../x", "missing", ".", "nul\0", "e"]
    (tmp_path / "e").touch()
    result = await Desk(tmp_path).call("read_many_files", paths=paths)
    assert result.ok
    assert result.text.split("\n\n") == [
        "==> a <==\n     1\ttext",
        "==> b <==\n('b' is a binary file (1 byte), which cannot be shown as text; if you need its contents, use "
        "bash with a program that reads this format.)",
        "==> pipe <==\n('pipe' is a pipe; use a regular file.)",
        "==> loop <==\n('loop' is part of a loop of links; use the real path.)",
        "==> ../x <==\n('../x' leads out of the project; use a path inside it, relative to its folder.)",
        "==> missing <==\n(There is no 'missing'; use ls or glob to see what exists.)",
        "==> . <==\n('.' is a folder; name a file in it, or list it with ls.)",
        "==> nul␀ <==\n('nul␀' is not a valid path; use one inside the project, relative to its folder.)",
        "==> e <==\n(e is empty)",
    ]


async def test_it_fails_only_if_nothing_could_be_read(tmp_path: Path) -> None:
    assert not (await Desk(tmp_path).call("read_many_files", paths=["x", "y"])).ok


@pytest.mark.full
async def test_a_hundred_long_files_fit_into_one_answer_and_each_is_there(tmp_path: Path) -> None:
    lines = some(500, 10)
    for number in range(100):
        (tmp_path / f"file{number}.txt").write_text((f"{number} " + "word " * 600 + "\n") * lines)
    paths = [f"file{number}.txt" for number in range(100)]
    result = await executor(tmp_path).call("read_many_files", {"paths": paths})
    assert len(result.text) <= 30_000
    assert result.kept is None
    for number in range(100):
        assert f"==> file{number}.txt <==\n     1\t{number} word" in result.text
    assert result.text.count(f"[lines 1–1 of {lines}; read on with offset=2]") == 100


async def test_short_files_leave_their_room_to_long_ones(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"{number}").write_text("short\n")
    (tmp_path / "long").write_text("a line of some length\n" * 500)
    result = await executor(tmp_path).call("read_many_files", {"paths": [*"012345678", "long"]})
    assert "   500\ta line of some length" in result.text


async def test_more_than_a_hundred_files_are_refused(tmp_path: Path) -> None:
    result = await executor(tmp_path).call("read_many_files", {"paths": [str(number) for number in range(101)]})
    assert not result.ok
    assert "paths: Must have at most 100 items, received 101" in result.text
