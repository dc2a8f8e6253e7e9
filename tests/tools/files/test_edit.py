"""`edit`: exactly one stretch changes; a text that is not there, or there twice, is answered with what helps."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.counts import some
from tests.tools.files.desk import Desk, executor


async def opened(project: Path, content: str | bytes, **limits: int) -> Desk:
    """A run that has read `a.txt`."""
    (project / "a.txt").write_bytes(content if isinstance(content, bytes) else content.encode())
    desk = Desk(project, **limits)
    await desk.read("a.txt")
    return desk


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"one two three", "two", "2", b"one 2 three"),
        (b"one two", "one", "1", b"1 two"),
        (b"one two", "two", "", b"one "),
        (b"all", "all", "", b""),
        (b"a.*b [x] $1 \\n (", ".*b [x] $1 \\n (", "\\1\\g<0>", b"a\\1\\g<0>"),
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "a\r\nb", "x\ny", b"x\r\ny\r\nc\r\n"),
        (b"a\nb\nc\n", "a\r\nb\r\n", "x\r\n", b"x\nc\n"),
        (b"a\r\nb\nc\r\n", "b\n", "x\ny\n", b"a\r\nx\r\ny\r\nc\r\n"),
        (b"a\nb\nc\r\n", "b\n", "x\n", b"a\nx\nc\r\n"),
        (b"a\r\nb", "\n", "", b"ab"),
        (b"a\rb\r", "a\rb", "x", b"x\r"),
        (b"\xef\xbb\xbfa\n", "a", "\xe9", b"\xef\xbb\xbf\xc3\xa9\n"),
        ("a中\r\n".encode("utf-16"), "中\n", "文\n\n", "a文\r\n\r\n".encode("utf-16")),
        ("中文字 x".encode("gb18030"), "文", "本😀", "中本😀字 x".encode("gb18030")),
        (b"caf\xe9 x", "é x", "è y", b"caf\xe8 y"),
        ("表格 x\n".encode(), "表", "列", "列格 x\n".encode()),
        ("x 😀😀 y".encode(), "😀 y", "é", "x 😀é".encode()),
    ],
)
async def test_only_the_stretch_changes(tmp_path: Path, before: bytes, old: str, new: str, after: bytes) -> None:
    desk = await opened(tmp_path, before)
    assert await desk.edit("a.txt", old, new) == "Changed a.txt in 1 place."
    assert (tmp_path / "a.txt").read_bytes() == after
    assert os.listdir(tmp_path) == ["a.txt"]


async def test_every_occurrence_changes_if_asked_for(tmp_path: Path) -> None:
    desk = await opened(tmp_path, b"aaaa\r\naa\n")
    assert await desk.edit("a.txt", "aa", "b\n", every=True) == "Changed a.txt in 3 places."
    assert (tmp_path / "a.txt").read_bytes() == b"b\r\nb\r\n\r\nb\r\n\n"


async def test_several_occurrences_are_named_by_their_lines(tmp_path: Path) -> None:
    desk = await opened(tmp_path, "x = 1\ny\nx = 1\n")
    assert await desk.edit_fault("a.txt", "x = 1", "x = 2") == (
        "old_string occurs 2 times in 'a.txt' (lines 1, 3); nothing was changed."
        " Add surrounding lines until it is unique, or set replace_all."
    )
    desk = await opened(tmp_path, "x\n" * 7)
    assert "occurs 7 times in 'a.txt' (lines 1, 2, 3, 4, 5, …)" in await desk.edit_fault("a.txt", "x", "y")
    desk = await opened(tmp_path, "x\n" * 1_500)
    assert "occurs 1,000 or more times in" in await desk.edit_fault("a.txt", "x", "y")
    assert (tmp_path / "a.txt").read_text() == "x\n" * 1_500


async def test_overlapping_occurrences_are_several(tmp_path: Path) -> None:
    desk = await opened(tmp_path, "aaa")
    assert "occurs 2 times in 'a.txt' (lines 1, 1)" in await desk.edit_fault("a.txt", "aa", "b")
    assert await desk.edit("a.txt", "aa", "b", every=True) == "Changed a.txt in 1 place."
    assert (tmp_path / "a.txt").read_text() == "ba"


@pytest.mark.parametrize(("old", "new"), [("x", "x"), ("x\r\n", "x\n")])
async def test_a_change_to_the_same_is_refused(tmp_path: Path, old: str, new: str) -> None:
    desk = await opened(tmp_path, b"x\r\n")
    assert await desk.edit_fault("a.txt", old, new) == (
        "old_string and new_string are the same (line endings aside); nothing was changed."
    )


CODE = """\
def first(value):
    return value + 1


def second(value):
\tif value:
        return value * 2
    return None
"""


@pytest.mark.parametrize(
    ("old", "near"),
    [
        ("\treturn value + 1", "Only whitespace differs from this:\n     2\t    return value + 1"),
        (
            "    if value:\n        return value*2",
            "Only whitespace differs from this:\n     6\t\tif value:\n     7\t",
        ),
        ("    return valeu + 1\n", "The closest text is:\n     2\t    return value + 1"),
        (
            "def first(value):\n    return value - 10",
            "The closest text is:\n     1\tdef first(value):\n     2\t    return",
        ),
        ("def second(value):\n    pass\n", "The closest text is:\n     5\tdef second(value):\n     6\t\tif value:"),
        (
            "     1\tdef first(value):\n     2\t    return value + 1",
            "Leave out the line number and tab that read_file puts before each line.",
        ),
        ("#########", "Nothing in the file is similar; read the file again."),
        ("\n\n\n\n", "Nothing in the file is similar; read the file again."),
        ("?", "Nothing in the file is similar; read the file again."),
    ],
)
async def test_a_text_that_is_not_there_is_answered_with_what_is_near(tmp_path: Path, old: str, near: str) -> None:
    desk = await opened(tmp_path, CODE)
    fault = await desk.edit_fault("a.txt", old, "x")
    assert fault.startswith(f"old_string was not found in 'a.txt'; nothing was changed. {near}")
    assert (tmp_path / "a.txt").read_text() == CODE


async def test_near_is_found_in_long_lines_and_in_chinese(tmp_path: Path) -> None:
    desk = await opened(tmp_path, "start\n" + "some words of a long line, " * 12 + "\n这是第一行内容\n")
    fault = await desk.edit_fault("a.txt", "some words of a lnog line, " * 12, "x")
    assert "The closest text is:\n     2\tsome words" in fault
    assert "The closest text is:\n     3\t这是第一行内容" in await desk.edit_fault("a.txt", "这是第一行的内容", "x")


async def test_nothing_is_near_in_an_empty_file(tmp_path: Path) -> None:
    desk = await opened(tmp_path, "")
    assert (await desk.edit_fault("a.txt", "x", "y")).endswith("Nothing in the file is similar; read the file again.")


async def test_a_file_at_the_limit_is_edited_and_may_not_outgrow_it(tmp_path: Path) -> None:
    desk = await opened(tmp_path, "word\n" * 199 + "last!", file_bytes=1_000)
    assert await desk.edit("a.txt", "last!", "least") == "Changed a.txt in 1 place."
    assert "has 1,001 bytes, more than the 1,000" in await desk.edit_fault("a.txt", "least", "losing")
    assert (tmp_path / "a.txt").read_text().endswith("least")


@pytest.mark.full
async def test_megabytes_are_searched_for_what_is_near(tmp_path: Path) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    lines = [letters[number % 26 :] + letters[: number % 26] + str(number) for number in range(some(300_000, 3))]
    desk = await opened(tmp_path, "\n".join(lines), read_lines=10)
    assert "The closest text in its first 20,000 lines is:\n" in await desk.edit_fault(
        "a.txt", letters[::-1] + letters + "7", "x"
    )
    result = await desk.call("edit", path="a.txt", old_string=lines[50_000], new_string="here")
    assert result.diff is not None
    assert result.diff.split("\n")[2] == "@@ -49998,7 +49998,7 @@"


async def test_what_the_encoding_cannot_hold_is_refused(tmp_path: Path) -> None:
    desk = await opened(tmp_path, b"caf\xe9 x")
    assert await desk.edit_fault("a.txt", "x", "→") == (
        "'a.txt' is in latin-1, which does not have '→'; nothing was changed. Use other characters, or first "
        "convert the file to UTF-8 with bash."
    )
    assert (tmp_path / "a.txt").read_bytes() == b"caf\xe9 x"


@pytest.mark.parametrize("field", ["old_string", "new_string"])
async def test_a_nul_is_refused(tmp_path: Path, field: str) -> None:
    desk = await opened(tmp_path, "x")
    arguments = {"old_string": "x", "new_string": "y", field: "\0"}
    assert await desk.fault("edit", path="a.txt", **arguments) == (
        f"{field} contains a NUL character, which is not allowed in a text file; remove it, or use bash."
    )


async def test_an_unread_a_missing_and_a_binary_file_are_not_edited(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.bin").write_bytes(b"x\0")
    desk = Desk(tmp_path)
    assert await desk.edit_fault("a.txt", "x", "y") == (
        "'a.txt' has not been read yet; read it with read_file first, then change it."
    )
    assert await desk.edit_fault("c.txt", "x", "y") == "There is no 'c.txt'; use ls or glob to see what exists."
    assert "is a binary file (2 bytes)" in await desk.edit_fault("b.bin", "x", "y")
    assert await desk.edit_fault("new/", "x", "y") == "'new/' names a folder; name a file in it."


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o666])
async def test_the_mode_is_kept(tmp_path: Path, mode: int) -> None:
    desk = await opened(tmp_path, "x")
    (tmp_path / "a.txt").chmod(mode)
    await desk.edit("a.txt", "x", "y")
    assert (tmp_path / "a.txt").stat().st_mode & 0o7777 == mode


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
async def test_the_owner_is_kept(tmp_path: Path) -> None:
    desk = await opened(tmp_path, "x")
    os.chown(tmp_path / "a.txt", 12_345, 12_346)
    await desk.edit("a.txt", "x", "y")
    status = (tmp_path / "a.txt").stat()
    assert (status.st_uid, status.st_gid) == (12_345, 12_346)


@pytest.mark.parametrize("absolute", [False, True])
async def test_a_link_inside_stays_and_its_target_is_changed(tmp_path: Path, absolute: bool) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.txt").write_text("old")
    (tmp_path / "links").mkdir()
    target = tmp_path / "real/a.txt" if absolute else Path("../real/a.txt")
    (tmp_path / "links/a.txt").symlink_to(target)
    desk = Desk(tmp_path)
    await desk.read("real/a.txt")
    assert await desk.edit("links/a.txt", "old", "new") == "Changed real/a.txt in 1 place."
    assert (tmp_path / "links/a.txt").readlink() == target
    assert (tmp_path / "real/a.txt").read_text() == "new"


async def test_the_executor_answers_with_text_files_and_diff(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    run = executor(tmp_path)
    await run.call("read_file", {"path": "a.txt"})
    result = await run.call("edit", {"path": str(tmp_path / "a.txt"), "old_string": "two", "new_string": "2"})
    assert (result.ok, result.text, result.files) == (True, "Changed a.txt in 1 place.", ("a.txt",))
    assert result.diff == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2"
    refused = await run.call("edit", {"path": "a.txt", "old_string": "", "new_string": "2"})
    assert refused.text.startswith("edit was not run.")


async def test_a_preview_changes_nothing_and_refuses_what_cannot_work(tmp_path: Path) -> None:
    desk = await opened(tmp_path, "one\n")
    preview = await desk.preview("edit", path="a.txt", old_string="one", new_string="1")
    assert (preview.line, preview.diff) == ("Change a.txt", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1")
    assert (tmp_path / "a.txt").read_text() == "one\n"
