"""What a person approves is what is then done, and what they are shown is safe to print."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.tools.files.desk import Desk, executor

from headway.tools import Answer, Executor, Question

CHANGED = (
    "was not run: what it would do changed while the user was being asked; check the current state, then call it again."
)
HOSTILE = "a\tb\x1b[2J\x1b]0;x\x07\n\u202e中\x9b31m\r\n"


@pytest.mark.parametrize("name", ["write_file", "edit"])
async def test_a_file_that_is_changed_and_read_again_during_the_question_is_not_overwritten(tmp_path: Path, name: str):
    (tmp_path / "a.txt").write_text("old\n")
    runs: list[Executor] = []

    async def meddle(question: Question) -> Answer:
        (tmp_path / "a.txt").write_text("old\ntheirs\n")
        assert (await runs[0].call("read_file", {"path": "a.txt"})).ok
        return Answer("once")

    run = executor(tmp_path, meddle)
    runs.append(run)
    await run.call("read_file", {"path": "a.txt"})
    arguments = {"content": "mine\n"} if name == "write_file" else {"old_string": "old", "new_string": "mine"}
    result = await run.call(name, {"path": "a.txt", **arguments})
    assert (result.text, result.denied, result.effect) == (f"{name} {CHANGED}", True, None)
    assert (tmp_path / "a.txt").read_text() == "old\ntheirs\n"


async def test_a_link_that_is_swapped_during_the_question_is_not_followed(tmp_path: Path):
    for name in ("harmless", "precious"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("harmless")
    asked: list[str | None] = []

    async def swap(question: Question) -> Answer:
        asked.append(question.preview.path)
        os.unlink(tmp_path / "link")
        (tmp_path / "link").symlink_to("precious")
        return Answer("always")

    run = executor(tmp_path, swap)
    result = await run.call("write_file", {"path": "link/a.txt", "content": "x"})
    assert asked == ["harmless/a.txt"]
    assert (result.text, result.denied) == (f"write_file {CHANGED}", True)
    assert os.listdir(tmp_path / "harmless") == os.listdir(tmp_path / "precious") == []


async def test_what_stayed_the_same_during_the_question_is_done(tmp_path: Path):
    async def look(question: Question) -> Answer:
        (tmp_path / "other.txt").write_text("theirs")
        return Answer("once")

    run = executor(tmp_path, look)
    assert (await run.call("write_file", {"path": "new/a.txt", "content": "x\n"})).ok
    assert (await run.call("edit", {"path": "new/a.txt", "old_string": "x", "new_string": "y"})).ok
    assert (tmp_path / "new/a.txt").read_text() == "y\n"


async def test_previews_are_safe_to_print_and_keep_lines_and_tabs(tmp_path: Path):
    desk = Desk(tmp_path)
    name = "a\x1b[2J\u202eb.txt"
    preview = await desk.preview("write_file", path=name, content=HOSTILE)
    assert (preview.line, preview.path) == ("Create a␛[2J⟨U+202E⟩b.txt", "a␛[2J⟨U+202E⟩b.txt")
    assert preview.diff == (
        "--- /dev/null\n+++ b/a␛[2J⟨U+202E⟩b.txt\n@@ -0,0 +1,2 @@\n+a\tb␛[2J␛]0;x␇\n+⟨U+202E⟩中⟨U+009B⟩31m␍"
    )
    (tmp_path / "c.txt").write_text(HOSTILE)
    await desk.read("c.txt")
    preview = await desk.preview("edit", path="c.txt", old_string="中", new_string="\x1bc文")
    assert preview.diff is not None
    assert "+⟨U+202E⟩␛c文⟨U+009B⟩31m␍" in preview.diff.split("\n")
    assert preview.diff.replace("\n", "").replace("\t", "").isprintable()


async def test_a_binary_file_is_declined_before_it_is_asked_to_be_read(tmp_path: Path):
    (tmp_path / "a.bin").write_bytes(b"x\0y")
    desk = Desk(tmp_path)
    for fault in (
        await desk.fault("write_file", path="a.bin", content="x"),
        await desk.edit_fault("a.bin", "x", "y"),
    ):
        assert fault.startswith("'a.bin' is a binary file (3 bytes)")
    assert (tmp_path / "a.bin").read_bytes() == b"x\0y"


async def test_a_change_by_a_command_is_told_as_such(tmp_path: Path):
    (tmp_path / "a.txt").write_text("old")
    desk = Desk(tmp_path)
    await desk.read("a.txt")
    (tmp_path / "a.txt").write_text("formatted")
    assert await desk.edit_fault("a.txt", "old", "new") == (
        "'a.txt' was changed by someone else or by a command since you read it; nothing was written. Read it "
        "again, and keep those changes."
    )


async def test_a_lone_carriage_return_does_not_let_a_line_look_like_several(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(b"one\r     2\ttwo\r\nlast\n")
    shown = "     1\tone␍     2\ttwo\n     2\tlast"
    desk = Desk(tmp_path)
    assert await desk.read("a.txt") == shown
    assert (await desk.call("read_many_files", paths=["a.txt"])).text == f"==> a.txt <==\n{shown}"
    assert await desk.edit("a.txt", "one\r     2\ttwo", "1") == "Changed a.txt in 1 place."
    assert (tmp_path / "a.txt").read_bytes() == b"1\r\nlast\n"


async def test_an_edit_drops_the_bits_that_let_a_file_run_as_someone_else(tmp_path: Path):
    (tmp_path / "a.sh").write_text("old")
    (tmp_path / "a.sh").chmod(0o6755)
    desk = Desk(tmp_path)
    await desk.read("a.sh")
    await desk.edit("a.sh", "old", "new")
    assert (tmp_path / "a.sh").stat().st_mode & 0o7777 == 0o755
