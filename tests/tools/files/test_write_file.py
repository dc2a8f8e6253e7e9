"""`write_file`: new files and folders, replacing only what was seen, and what is kept of the old file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.tools.files.desk import Desk, executor, file_tools

from headway.tools.approvals import Answer, Approvals, Question, Reply
from headway.tools.base import ToolFault
from headway.tools.executor import Executor
from headway.tools.files.atomic_write import write_bytes
from headway.tools.files.workspace import Workspace


@pytest.mark.disk
async def test_a_new_file_comes_with_its_folders(tmp_path: Path) -> None:
    result = await Desk(tmp_path).call("write_file", path="src/new/a.py", content="one\ntwo\n")
    assert (result.text, result.files) == ("Created src/new/a.py (2 lines).", ("src/new/a.py",))
    assert result.diff == "--- /dev/null\n+++ b/src/new/a.py\n@@ -0,0 +1,2 @@\n+one\n+two"
    assert (tmp_path / "src/new/a.py").read_bytes() == b"one\ntwo\n"
    assert os.listdir(tmp_path / "src/new") == ["a.py"]


@pytest.mark.parametrize(
    ("content", "lines"), [("", "0 lines"), ("x", "1 line"), ("x\n", "1 line"), ("\n\n", "2 lines")]
)
async def test_the_answer_counts_lines(tmp_path: Path, content: str, lines: str) -> None:
    assert await Desk(tmp_path).write("a.txt", content) == f"Created a.txt ({lines})."
    assert (tmp_path / "a.txt").read_text() == content


async def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    await Desk(tmp_path).write("a.txt", "x")
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "usual").stat().st_mode


async def test_an_unread_file_is_not_replaced_even_by_itself(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("theirs")
    for content in ("mine", "theirs"):
        assert await Desk(tmp_path).fault("write_file", path="a.txt", content=content) == (
            "'a.txt' has not been read yet; read it with read_file first, then change it."
        )
    assert (tmp_path / "a.txt").read_text() == "theirs"


async def test_a_read_file_is_replaced_and_may_be_again(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("theirs")
    desk = Desk(tmp_path)
    await desk.read("a.txt")
    assert await desk.write("a.txt", "mine") == "Replaced a.txt (1 line)."
    assert await desk.write("a.txt", "mine") == "a.txt already has this content; nothing was changed."
    assert await desk.edit("a.txt", "mine", "ours") == "Changed a.txt in 1 place."
    assert await desk.write("a.txt", "again") == "Replaced a.txt (1 line)."


async def test_a_file_read_with_others_counts_as_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("theirs")
    desk = Desk(tmp_path)
    await desk.call("read_many_files", paths=["a.txt", "missing"])
    assert await desk.write("a.txt", "mine") == "Replaced a.txt (1 line)."


async def test_someone_elses_change_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    desk = Desk(tmp_path)
    await desk.read("a.txt")
    before = path.stat()
    path.write_text("new")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    for name, arguments in (
        ("write_file", {"content": "mine"}),
        ("edit", {"old_string": "new", "new_string": "mine"}),
    ):
        await desk.read("a.txt")
        path.write_text(path.read_text() + "!")
        assert await desk.fault(name, path="a.txt", **arguments) == (
            "'a.txt' was changed by someone else or by a command since you read it; nothing was written. Read it "
            "again, and keep those changes."
        )
        assert "has not been read yet" in await desk.fault(name, path="a.txt", **arguments)
    assert path.read_text() == "new!!"


async def test_a_file_read_in_part_is_replaced_only_once_the_rest_was_shown(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{number}\n" for number in range(1, 31)))
    desk = Desk(tmp_path, read_lines=10)
    await desk.read("a.txt")
    await desk.read("a.txt", offset=21)
    assert await desk.fault("write_file", path="a.txt", content="x") == (
        "'a.txt' was only partly read, so nothing was written; read the rest from line 11 on,"
        " or change the part with edit."
    )
    await desk.read("a.txt", offset=5)
    await desk.read("a.txt", offset=14)
    assert await desk.write("a.txt", "x") == "Replaced a.txt (1 line)."


async def test_an_edit_does_not_make_a_file_read_in_part_a_known_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{number}\n" for number in range(1, 31)))
    desk = Desk(tmp_path)
    await desk.read("a.txt", limit=5)
    await desk.edit("a.txt", "30", "thirty")
    assert "was only partly read" in await desk.fault("write_file", path="a.txt", content="x")
    await desk.read("a.txt")
    await desk.edit("a.txt", "thirty", "30")
    assert await desk.write("a.txt", "x") == "Replaced a.txt (1 line)."


async def test_what_was_cut_from_a_joint_reading_counts_as_unread(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("word " * 300)
    desk = Desk(tmp_path, output_chars=1_000)
    await desk.call("read_many_files", paths=["a.txt", "b.txt"])
    assert "was only partly read" in await desk.fault("write_file", path="a.txt", content="x")


async def test_a_deleted_file_is_told_once_and_then_made_anew(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.txt").write_text("old")
    desk = Desk(tmp_path)
    await desk.read("sub/a.txt")
    (tmp_path / "sub/a.txt").unlink()
    (tmp_path / "sub").rmdir()
    assert await desk.fault("write_file", path="sub/a.txt", content="x") == (
        "'sub/a.txt' was deleted by someone else since you read it; nothing was written. To create it again, call "
        "write_file once more."
    )
    assert os.listdir(tmp_path) == []
    assert await desk.write("sub/a.txt", "x") == "Created sub/a.txt (1 line)."


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\r\n"),
        (b"a\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\r\nb\n", "x\ny\r\n", b"x\ny\r\n"),
        (b"\xef\xbb\xbfa\n", "x é\n", b"\xef\xbb\xbfx \xc3\xa9\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffx\n", b"\xef\xbb\xbfx\n"),
        ("a\r\n".encode("utf-16"), "中\n", "中\r\n".encode("utf-16")),
        (b"\xfe\xff\0a", "中", b"\xfe\xff" + "中".encode("utf-16-be")),
        ("中文".encode("gb18030"), "文字 é 😀", "文字 é 😀".encode("gb18030")),
        ("caf\xe9 x".encode("latin-1"), "th\xe9", "th\xe9".encode("latin-1")),
        (b"", "中\n", "中\n".encode()),
    ],
)
async def test_encoding_and_line_ends_of_the_old_file_are_kept(
    tmp_path: Path, before: bytes, content: str, after: bytes
) -> None:
    (tmp_path / "a.txt").write_bytes(before)
    desk = Desk(tmp_path)
    await desk.read("a.txt")
    await desk.write("a.txt", content)
    assert (tmp_path / "a.txt").read_bytes() == after


async def test_what_the_old_encoding_cannot_hold_becomes_utf8_and_the_answer_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("caf\xe9 x".encode("latin-1"))
    desk = Desk(tmp_path)
    await desk.read("a.txt")
    assert await desk.write("a.txt", "中文") == (
        "Replaced a.txt (1 line). It is now in UTF-8, because latin-1 cannot represent this content."
    )
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "中文"


@pytest.mark.parametrize(
    ("mode", "after"),
    [(0o755, 0o755), (0o600, 0o600), (0o640, 0o640), (0o4755, 0o755), (0o2755, 0o755), (0o6711, 0o711)],
)
async def test_the_mode_is_kept_but_new_content_does_not_run_as_someone_else(
    tmp_path: Path, mode: int, after: int
) -> None:
    path = tmp_path / "run.sh"
    path.write_text("old")
    path.chmod(mode)
    desk = Desk(tmp_path)
    await desk.read("run.sh")
    await desk.write("run.sh", "new")
    assert path.stat().st_mode & 0o7777 == after


async def test_a_write_protected_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o444)
    desk = Desk(tmp_path)
    await desk.read("a.txt")
    sentence = "'a.txt' is write-protected; leave it, or ask the user to allow it."
    assert await desk.fault("write_file", path="a.txt", content="new") == sentence
    assert await desk.edit_fault("a.txt", "old", "new") == sentence
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("path", [".", "src", "./src/.", "src/.."])
async def test_a_folder_is_no_target(tmp_path: Path, path: str) -> None:
    (tmp_path / "src").mkdir()
    fault = await Desk(tmp_path).fault("write_file", path=path, content="x")
    assert fault.endswith("is a folder; name a file in it, or list it with ls.")


@pytest.mark.parametrize("path", ["src/", "new/", "new/sub/"])
async def test_a_path_that_ends_like_a_folder_makes_nothing(tmp_path: Path, path: str) -> None:
    assert await Desk(tmp_path).fault("write_file", path=path, content="x") == (
        f"'{path}' names a folder; name a file in it."
    )
    assert os.listdir(tmp_path) == []


async def test_a_file_that_became_a_pipe_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    desk = Desk(tmp_path)
    await desk.read("a")
    (tmp_path / "a").unlink()
    os.mkfifo(tmp_path / "a")
    assert await desk.fault("write_file", path="a", content="new") == "'a' is a pipe; use a regular file."
    assert (tmp_path / "a").is_fifo()


async def test_too_much_content_makes_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path, file_bytes=1_000)
    assert "has 1,002 bytes, more than the 1,000" in await desk.fault(
        "write_file", path="new/a.txt", content="中" * 334
    )
    assert os.listdir(tmp_path) == []
    assert await desk.write("new/a.txt", "x" * 1_000) == "Created new/a.txt (1 line)."


async def test_a_nul_is_refused_since_the_file_could_not_be_read_again(tmp_path: Path) -> None:
    assert await Desk(tmp_path).fault("write_file", path="a.txt", content="a\0b") == (
        "content contains a NUL character, which is not allowed in a text file; remove it, or use bash."
    )
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("path", ["new/sub/" + "n" * 300, "new/.git/config", "new/" + "d/" * 101 + "f"])
async def test_a_failed_call_leaves_no_folders_behind(tmp_path: Path, path: str) -> None:
    await Desk(tmp_path).fault("write_file", path=path, content="x")
    assert os.listdir(tmp_path) == []


async def test_a_link_inside_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    desk = Desk(tmp_path)
    await desk.read("link.txt")
    assert await desk.write("link.txt", "new") == "Replaced real.txt (1 line)."
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


async def test_a_file_system_without_hard_links_is_written_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    assert await Desk(tmp_path).write("a.txt", "x") == "Created a.txt (1 line)."
    with (
        pytest.raises(ToolFault, match="in the meantime"),
        Workspace(tmp_path).open_place("a.txt", write=True) as place,
    ):
        write_bytes(place, b"other", None)
    assert os.listdir(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "x"


async def test_a_pattern_covers_where_a_path_leads_and_not_how_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "docs/link").symlink_to("../src")
    allowed = Approvals(allow=["write_file: docs/*", "edit: docs/*"])
    run = Executor(file_tools(tmp_path), project=tmp_path, approvals=allowed)
    assert (await run.call("write_file", {"path": "docs/sub/../a.md", "content": "x"})).ok is False
    assert (await run.call("write_file", {"path": "docs/a.md", "content": "x"})).ok
    assert (await run.call("edit", {"path": "src/../docs/a.md", "old_string": "x", "new_string": "y"})).ok
    for path in ("docs/link/a.py", "docs/../src/a.py", "docs/link/../docs2/a.md"):
        result = await run.call("write_file", {"path": path, "content": "x"})
        assert "it needs approval" in result.text
    assert os.listdir(tmp_path / "src") == []


async def test_the_preview_shows_what_then_happens(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    desk = Desk(tmp_path)
    await desk.read("a.txt")
    preview = await desk.preview("write_file", path="./a.txt", content="one\n2\n")
    assert (preview.line, preview.path) == ("Change a.txt", "a.txt")
    assert preview.diff == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2"
    assert (await desk.preview("write_file", path="new/sub/b.txt", content="x")).line == "Create new/sub/b.txt"
    assert (await desk.preview("write_file", path="a.txt", content="one\ntwo")).diff == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+two\n\\ No newline at end of file"
    )
    assert (await desk.preview("write_file", path="a.txt", content="one\r\ntwo\n")).diff == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+one␍\n two"
    )
    assert (await desk.preview("write_file", path="c.txt", content="x" * 200_001 + "\n")).diff == (
        f"--- /dev/null\n+++ b/c.txt\n@@ -0,0 +1,1 @@\n+{'x' * 200_001}"
    )
    assert sorted(os.listdir(tmp_path)) == ["a.txt"]


async def test_a_change_between_question_and_answer_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    asked: list[Question] = []

    async def meddle(question: Question) -> Answer:
        asked.append(question)
        (tmp_path / "a.txt").write_text("theirs")
        (tmp_path / "b.txt").write_text("theirs")
        return Answer(Reply.ONCE)

    run = executor(tmp_path, meddle)
    await run.call("read_file", {"path": "a.txt"})
    changed = await run.call("write_file", {"path": "a.txt", "content": "mine"})
    created = await run.call("write_file", {"path": "b.txt", "content": "mine"})
    assert [question.preview.line for question in asked] == ["Change a.txt"]
    assert "since you read it" in changed.text
    assert "has not been read yet" in created.text
    assert {path.read_text() for path in tmp_path.iterdir() if path.is_file()} == {"theirs"}
