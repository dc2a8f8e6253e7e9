"""What a command prints: streamed as it comes, read as text, bounded in memory."""

from __future__ import annotations

import asyncio
import logging
import resource
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.tables import check_rows

from headway.tools.limits import Limits
from headway.tools.shell.run_in_shell import PlainText

from .calls import bash, python, running, until

MUCH = some(200_000_000, 2)
LEAST_KEPT = Limits(kept_bytes=1_000_000)


def plain(*pieces: bytes) -> str:
    added: list[str] = []
    text = PlainText(added.append, lambda piece: None)
    for piece in pieces:
        text.add_bytes(piece)
    text.close()
    return "".join(added)


async def test_output_is_heard_while_the_command_still_runs(tmp_path: Path):
    said: list[str] = []
    command = "printf first; while [ ! -e go ]; do sleep 0.05; done; echo ' last'"
    call = asyncio.create_task(bash(tmp_path, command, report=said.append))
    await until(lambda: "".join(said) == "first")
    assert not call.done()
    (tmp_path / "go").touch()
    assert (await call).text == "first last"
    assert "".join(said) == "first last\n"


async def test_a_watcher_that_fails_does_not_harm_the_command(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    def fail(text: str) -> None:
        raise RuntimeError("nobody looks")

    with caplog.at_level(logging.ERROR):
        result = await bash(tmp_path, "echo one; sleep 0.2; echo two", report=fail)
    assert (result.text, result.exit_code) == ("one\ntwo", 0)
    assert len(caplog.records) == 1


async def test_bytes_that_are_no_text_are_replaced(tmp_path: Path):
    assert (await bash(tmp_path, r"printf 'a\xff\xfeb\0c\n'")).text == "a\ufffd\ufffdb\ufffdc"


async def test_characters_in_two_pieces_are_put_together(tmp_path: Path):
    command = r"printf '\xe4\xbd'; sleep 0.2; printf '\xa0好\n'"
    said: list[str] = []
    assert (await bash(tmp_path, command, report=said.append)).text == "你好"
    assert "".join(said) == "你好\n"


@given(st.text(alphabet="aé你🎉\t\n \r\x1b[;m\0", max_size=80), st.lists(st.integers(0, 200), max_size=6))
def test_how_output_is_cut_into_pieces_does_not_matter(text: str, cuts: list[int]):
    data = text.encode()
    at = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    assert plain(*(data[a:b] for a, b in pairwise(at))) == plain(data)


def test_a_model_reads_what_a_person_would_see():
    def check(printed: bytes, read: str) -> None:
        assert plain(printed) == read
        assert plain(*(printed[at : at + 1] for at in range(len(printed)))) == read

    check_rows(
        [
            (b"\x1b[31mred\x1b[0m\n", "red\n"),
            (b"\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link\n", "textlink\n"),
            (b"\x1b(Bplain\x1b=\n", "plain\n"),
            (b"10%\r50%\r100%\nnext\n", "100%\nnext\n"),
            (b"\r10%\r\x1b[2K100%\r\n", "100%\n"),
            (b"one\r\ntwo\r\n", "one\ntwo\n"),
            (b"50%\r", "50%"),
            (b"a\x08b\x7f\n", "a\ufffdb\ufffd\n"),
            (b"tab\tand\n\nlines", "tab\tand\n\nlines"),
            (b"\x1b[", "\ufffd["),
            ("a\x9b2Jb\x85c\n".encode(), "a\ufffd2Jb\ufffdc\n"),
            ("a\u202eb\u2066c\u200fd\n".encode(), "a\ufffdb\ufffdc\ufffdd\n"),
            ("表格 é 👩\u200d💻\n".encode(), "表格 é 👩\u200d💻\n"),
        ],
        check,
    )


async def test_long_output_is_cut_in_the_middle_and_kept(tmp_path: Path):
    result = await bash(tmp_path, "seq 1 20000; exit 2", limits=Limits(output_chars=2_000))
    assert len(result.text) <= 2_000
    assert result.text.startswith("1\n2\n3\n")
    assert result.text.endswith("\n20000\n[exit code 2]")
    assert result.kept is not None
    assert result.kept in result.text
    assert (tmp_path / result.kept).read_text() == "".join(f"{n}\n" for n in range(1, 20_001))


@pytest.mark.full
async def test_much_output_takes_little_memory_and_leaves_time_for_others(tmp_path: Path):
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    beside = asyncio.create_task(others())
    result = await bash(tmp_path, f"yes some text | head -c {MUCH}; echo; echo end", limits=LEAST_KEPT)
    beside.cancel()
    assert result.exit_code == 0
    assert result.text.endswith("\nend")
    assert len(result.text) <= LEAST_KEPT.output_chars
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
    assert turns > 100


@pytest.mark.usefixtures("short_grace")
@pytest.mark.parametrize("command", ["yes", "cat /dev/zero", "trap '' TERM; while :; do echo y; done", "yes & yes"])
async def test_a_flood_is_ended_in_time(tmp_path: Path, command: str):
    result = await bash(tmp_path, command, timeout=0.5, limits=LEAST_KEPT)
    assert result.exit_code == 124
    assert "[timed out after 0.5 s" in result.text
    assert running(tmp_path) == []


async def test_one_endless_line_is_bounded_too(tmp_path: Path):
    command = python("import sys\nfor _ in range(300): sys.stdout.write('x' * 100_000)\nprint('end')")
    result = await bash(tmp_path, command, limits=LEAST_KEPT)
    assert result.text.endswith("xend")
    assert len(result.text) <= LEAST_KEPT.output_chars


async def test_who_watches_gets_nothing_that_a_terminal_obeys(tmp_path: Path):
    said: list[str] = []
    command = r"printf '\033[2Ja\033]0;title\007b\tc\r\n50%%\r99%%\n\xc2\x9b31m\xe2\x80\xaex\n'"
    await bash(tmp_path, command, report=said.append)
    assert "".join(said) == "ab\tc\n50%\n99%\n\ufffd31m\ufffdx\n"


@given(st.text(alphabet="aé你\t\n\r\x1b[2J]\x07\x9b\u202e\0;", max_size=60), st.lists(st.integers(0, 150), max_size=6))
def test_however_output_comes_in_pieces_no_escape_reaches_who_watches(text: str, cuts: list[int]):
    data = text.encode()
    at = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
    said: list[str] = []
    reader = PlainText(lambda piece: None, said.append)
    for a, b in pairwise(at):
        reader.add_bytes(data[a:b])
    reader.close()
    assert all(line.isprintable() for piece in said for line in piece.replace("\t", " ").split("\n"))
