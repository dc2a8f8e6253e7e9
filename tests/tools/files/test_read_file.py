"""`read_file`: which lines, how they are numbered, and what is said at each end."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tools.files.desk import Desk, executor

from headway.tools.limits import Limits


def lines(count: int, text: str = "line") -> str:
    return "".join(f"{text} {number}\n" for number in range(1, count + 1))


async def test_lines_come_with_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    assert await Desk(tmp_path).read("a.txt") == "     1\tone\n     2\ttwo"


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"no end", ["no end"]),
        (b"\n", [""]),
        (b"\n\n\n", ["", "", ""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a␍b"]),
        (b"a\r", ["a␍"]),
        (b"a\r\r\nb", ["a␍", "b"]),
        (b"a\x0cb\x0bc\n", ["a\x0cb\x0bc"]),
        ("a\u2028b\x85c\n".encode(), ["a\u2028b\x85c"]),
        ("表格 😀 é\n第二行".encode(), ["表格 😀 é", "第二行"]),
    ],
)
async def test_lines_end_where_editors_end_them(tmp_path: Path, data: bytes, shown: list[str]) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    expected = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(shown, start=1))
    assert await Desk(tmp_path).read("a.txt") == expected


async def test_an_empty_file_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"")
    assert await Desk(tmp_path).read("a.txt") == "(a.txt is empty)"


async def test_both_sides_of_every_range(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(lines(10))
    desk = Desk(tmp_path)
    assert await desk.read("a.txt", limit=1) == "     1\tline 1\n[lines 1–1 of 10; read on with offset=2]"
    assert await desk.read("a.txt", offset=10) == "    10\tline 10\n[lines 10–10 of 10]"
    assert await desk.read("a.txt", offset=9, limit=1) == "     9\tline 9\n[lines 9–9 of 10; read on with offset=10]"
    assert await desk.read("a.txt", offset=10, limit=5) == "    10\tline 10\n[lines 10–10 of 10]"
    assert await desk.read("a.txt", offset=11) == "(a.txt has only 10 lines, so there is nothing from line 11 on)"
    assert "there is nothing" in await desk.read("a.txt", offset=10**30)
    assert (await desk.read("a.txt", limit=10**30)).endswith("    10\tline 10")


async def test_one_line_is_called_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("only\n")
    assert await Desk(tmp_path).read("a.txt", offset=2) == "(a.txt has only 1 line, so there is nothing from line 2 on)"


@pytest.mark.parametrize("count", [9, 10])
async def test_as_many_lines_as_one_reading_gives_need_no_note(tmp_path: Path, count: int) -> None:
    (tmp_path / "a.txt").write_text(lines(count))
    assert (await Desk(tmp_path, read_lines=10).read("a.txt")).endswith(f"line {count}")


async def test_a_longer_file_says_where_to_read_on_and_all_of_it_can_be_had(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(lines(11))
    desk = Desk(tmp_path, read_lines=10)
    assert (await desk.read("a.txt", limit=100)).endswith("\n[lines 1–10 of 11; read on with offset=11]")
    assert await desk.read("a.txt", offset=11) == "    11\tline 11\n[lines 11–11 of 11]"


async def test_an_answer_always_fits_and_never_has_a_hole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(lines(1_000, "表" * 30))
    run = executor(tmp_path, limits=Limits(output_chars=1_000))
    found: list[str] = []
    offset = 1
    while offset <= 1_000:
        result = await run.call("read_file", {"path": "a.txt", "offset": offset})
        assert len(result.text) <= 1_000
        assert result.kept is None
        part = [line.split("\t")[1] for line in result.text.split("\n") if "\t" in line]
        found += part
        offset += len(part)
    assert found == lines(1_000, "表" * 30).split("\n")[:-1]


@pytest.mark.parametrize("length", [1_999, 2_000])
async def test_a_line_up_to_the_limit_is_whole(tmp_path: Path, length: int) -> None:
    (tmp_path / "a.txt").write_text("字" * length)
    assert await Desk(tmp_path).read("a.txt") == "     1\t" + "字" * length


async def test_a_longer_line_is_cut_and_says_by_how_much(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("字" * 3_234 + "\nnext\n")
    text = await Desk(tmp_path).read("a.txt")
    assert text == "     1\t" + "字" * 2_000 + " [… 1,234 more characters in this line]\n     2\tnext"


async def test_a_kept_answer_can_be_read(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    _, kept = desk.context.outputs.shorten("bash", lines(500), 1_000)
    assert kept is not None
    assert kept.startswith(".headway/outputs/")
    assert (await desk.read(kept, offset=250, limit=1)).startswith("   250\tline 250\n")


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0", "a PNG picture"),
        ("a.jpg", b"\xff\xd8\xff\xe0abc", "a JPEG picture"),
        ("a.gif", b"GIF89a...", "a GIF picture"),
        ("a.bmp", b"BM\x36\0\0\0", "a bitmap picture"),
        ("a.webp", b"RIFF\x10\x20\x30\x40WEBPVP8 ", "a WebP picture"),
        ("a.pdf", b"%PDF-1.7\n", "a PDF document"),
        ("a.zip", b"PK\x03\x04...", "a ZIP archive or Office document"),
        ("a.gz", b"\x1f\x8b\x08...", "a gzip archive"),
        ("a.out", b"\x7fELF\x02", "a program"),
        ("a.db", b"SQLite format 3\0", "an SQLite database"),
        ("a.bin", b"text\0text", "a binary file"),
        ("few.bin", b"\x01\x02\xf0\x9f\x03", "a binary file"),
        ("mark.bin", b"\xff\xfe\x00\xd8\x00\x00", "a binary file"),
    ],
)
async def test_pictures_and_binaries_are_declined(tmp_path: Path, name: str, data: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(data)
    assert await Desk(tmp_path).fault("read_file", path=name) == (
        f"'{name}' is {kind} ({len(data)} bytes), which cannot be shown as text; if you need its contents, use "
        "bash with a program that reads this format."
    )


@pytest.mark.parametrize(
    "text", ["BM is short for bitmap\n", "GIF8 is no picture\n", "SQLite format 3 it is\n", "\x1b[31m"]
)
async def test_text_that_begins_like_a_picture_is_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    assert await Desk(tmp_path).read("a.txt") == "     1\t" + text.rstrip("\n")


async def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "a.txt").write_text("a")
    desk = Desk(tmp_path)
    assert await desk.fault("read_file", path="b.txt") == "There is no 'b.txt'; use ls or glob to see what exists."
    assert await desk.fault("read_file", path="src") == ("'src' is a folder; name a file in it, or list it with ls.")
    assert await desk.fault("read_file", path="a.txt/b") == (
        "'a.txt/b' has a part that is not a folder; use ls to see what exists."
    )


async def test_bad_arguments_name_the_field(tmp_path: Path) -> None:
    run = executor(tmp_path)
    for arguments in ({"path": ""}, {"path": "a", "offset": 0}, {"path": "a", "limit": 0}, {}):
        result = await run.call("read_file", arguments)
        assert not result.ok
        assert result.text.startswith("read_file was not run.")


async def test_the_executor_runs_it_unasked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    result = await executor(tmp_path).call("read_file", '{"path": "a.txt"}')
    assert (result.ok, result.text) == (True, "     1\thello")


async def test_names_with_control_characters_are_shown_harmlessly(tmp_path: Path) -> None:
    name = "a\x1b[31m\nb"
    (tmp_path / name).write_bytes(b"")
    assert await Desk(tmp_path).read(name) == "(a␛[31m b is empty)"
