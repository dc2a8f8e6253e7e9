"""`grep`: the lines that match, with where they are; whatever the pattern, the files and their names."""

from __future__ import annotations

import asyncio
import codecs
import os
import socket
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.counts import some
from tests.support.processes import run_python
from tests.tools.files.finding import answer, context, write

from headway.tools.files.grep import Grep
from headway.tools.files.workspace import Workspace


def grep(
    project: Path, pattern: str, path: str = ".", *, limits: dict[str, Any] | None = None, **arguments: Any
) -> str:
    return answer(Grep(Workspace(project)), project, {"pattern": pattern, "path": path, **arguments}, **(limits or {}))


def test_matches_come_with_path_and_line_in_the_order_of_the_paths(tmp_path: Path):
    write(tmp_path, {"b.py": "x = 1\ny = 2\nx = 3\n", "a/c.py": "    x = 4", "d.txt": "no"})
    assert grep(tmp_path, r"x = \d").split("\n") == ["a/c.py:1:     x = 4", "b.py:1: x = 1", "b.py:3: x = 3"]
    assert grep(tmp_path, "nothing") == "No match for 'nothing' in 3 files."


def test_only_paths_or_counts_are_given_if_asked(tmp_path: Path):
    write(tmp_path, {"a": "x\nx\n", "b": "x\n", "c": "y\n"})
    assert grep(tmp_path, "x", output="files") == "a\nb"
    assert grep(tmp_path, "x", output="count") == "a:2\nb:1"


def test_lines_around_a_match_are_told_from_it_and_never_repeated(tmp_path: Path):
    write(tmp_path, {"a": "1\n2 x\n3\n4 x\n5\n6\n7\n8 x", "b": "x"})
    assert grep(tmp_path, "x", context=1).split("\n") == [
        *("a-1- 1", "a:2: 2 x", "a-3- 3", "a:4: 4 x", "a-5- 5", "--", "a-7- 7", "a:8: 8 x", "--", "b:1: x"),
    ]
    assert grep(tmp_path, "4", "a", context=20).count("\n") == 7


def test_a_line_is_searched_on_its_own_without_its_ending(tmp_path: Path):
    write(tmp_path, {"a": "one\r\ntwo\r\n\r\nend"})
    assert grep(tmp_path, "^two$") == "a:2: two"
    assert grep(tmp_path, "^$", output="count") == "a:1"
    assert grep(tmp_path, r"one\s+two") == "No match for 'one\\s+two' in 1 file."


def test_case_and_special_characters_count_as_asked(tmp_path: Path):
    write(tmp_path, {"a": "Kelvin a.b\nKELVIN axb\n"})
    assert grep(tmp_path, "kelvin", ignore_case=True, output="count") == "a:2"
    assert grep(tmp_path, "a.b", fixed=True) == "a:1: Kelvin a.b"
    assert grep(tmp_path, "A.B", fixed=True, ignore_case=True) == "a:1: Kelvin a.b"


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*.py", ["a.py", "src/b.py"]),
        ("src/*.py", ["src/b.py"]),
        ("**/*.{py,ts}", ["a.py", "src/b.py", "src/c.ts"]),
        ("!*.py", ["src/c.ts"]),
        ("src/**", ["src/b.py", "src/c.ts"]),
    ],
)
def test_a_filter_chooses_files_by_name_or_path(tmp_path: Path, glob: str, found: list[str]):
    write(tmp_path, dict.fromkeys(["a.py", "src/b.py", "src/c.ts"], "x"))
    assert grep(tmp_path, "x", glob=glob, output="files").split("\n") == found


def test_a_filter_is_relative_to_the_path_searched(tmp_path: Path):
    write(tmp_path, {"src/in/a.py": "x", "src/a.py": "x"})
    assert grep(tmp_path, "x", "src", glob="in/*.py", output="files") == "src/in/a.py"
    assert "is not valid" in grep(tmp_path, "x", glob="../*.py")


def test_ignored_files_are_searched_only_if_asked_for(tmp_path: Path):
    write(
        tmp_path, {".gitignore": "*.log\nout\n", "a.log": "x", "out/b": "x", "c": "x", ".git/d": "x", ".headway/e": "x"}
    )
    assert grep(tmp_path, "^x", output="files") == "c"
    assert grep(tmp_path, "x", "a.log") == "a.log:1: x"
    assert grep(tmp_path, "x", "out") == "out/b:1: x"
    assert grep(tmp_path, "x", ".git") == ".git/d:1: x"
    assert "off limits" in grep(tmp_path, "x", ".headway")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        *((pattern, "at position") for pattern in ("(", "[a", "a{3,1}", "*")),
        ("(" * 900 + ")" * 900, "nested too deeply"),
        ("((a{900}){900}){900}", "repeat counts are too large"),
        ("(?x) a { 9 9 }", "verbose"),
        (r"\\(?x)a", "verbose"),
        *((pattern, "recursive patterns") for pattern in ("a(?R)?b", "(a(?1)?b)", "(?<n>a(?&n)?)", "(?P<n>a(?P>n)?)")),
        *((pattern, "recursive patterns") for pattern in ("(a(?-1)?b)", "(?+1)?(a)")),
    ],
)
def test_a_pattern_that_is_none_is_refused_with_its_reason_and_a_way_out(tmp_path: Path, pattern: str, why: str):
    text = grep(tmp_path, pattern)
    assert why in text
    assert "set fixed" in text
    assert "No match" in grep(tmp_path, pattern, fixed=True)


def test_an_optional_bracket_before_an_x_is_no_verbose_pattern(tmp_path: Path):
    write(tmp_path, {"a": "f(x"})
    assert grep(tmp_path, r"f\(?x") == "a:1: f(x"


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "a+" * 30 + "b", "(.*)*x(.*)*y", "a?" * 500 + "a" * 500])
def test_a_pattern_that_would_never_end_is_ended_with_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
):
    monkeypatch.setattr("headway.tools.files.grep_matches._LINE_SECONDS", 0.1)
    write(tmp_path, {"1": "a" * 1_000, "2": "a" * 5_000 + "!" + "xa" * 500})
    text = grep(tmp_path, pattern, limits={"search_seconds": 3})
    assert (
        "the pattern takes too long" in text or "Stopped after" in text or "No match" in text or text.startswith("1:1:")
    )


def test_what_was_found_before_a_line_that_takes_too_long_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("headway.tools.files.grep_matches._LINE_SECONDS", 0.2)
    write(tmp_path, {"1": "aaa\naaa", "2": "a" * 60 + "!"})
    lines = grep(tmp_path, "^(a|aa)+$").split("\n")
    assert lines[:2] == ["1:1: aaa", "1:2: aaa"]
    assert lines[2].startswith("[Stopped in '2': the pattern takes too long on one of its lines")


def test_when_its_time_is_over_it_says_so(tmp_path: Path):
    write(tmp_path, {"a": "x"})
    assert "Stopped after 1e-09 seconds; there may be more." in grep(tmp_path, "x", limits={"search_seconds": 1e-9})


async def test_others_go_on_while_a_pattern_takes_its_time_and_a_cancelled_one_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("headway.tools.files.grep_matches._LINE_SECONDS", 0.6)
    write(tmp_path, {str(number): "a" * 60 + "!\n" for number in range(100)})
    tool = Grep(Workspace(tmp_path))
    task = asyncio.create_task(tool.run(tool.parse_input({"pattern": "^(a|aa)+$"}), context(tmp_path)))
    for _ in range(5):
        await asyncio.sleep(0.01)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_long_lines_are_cut_around_the_match(tmp_path: Path):
    write(
        tmp_path, {"a": "l" * 5_000 + "needle" + "r" * 5_000, "b": "needle" + "r" * 5_000, "c": "l" * 5_000 + "needle"}
    )
    a, b, c = (line.partition(": ")[2] for line in grep(tmp_path, "needle").split("\n"))
    assert len(a) == 502
    assert a.startswith("…l") and "needle" in a and a.endswith("r…")
    assert b.startswith("needle") and b.endswith("r…")
    assert c.startswith("…l") and c.endswith("needle")


def test_too_many_matches_are_cut_and_said(tmp_path: Path):
    write(tmp_path, {f"{number:03}": "x\nx\n" for number in range(50)})
    lines = grep(tmp_path, "x", limits={"results": 5}).split("\n")
    assert lines[4:] == ["002:1: x", "[There are more matching lines than these; narrow the pattern, path or glob.]"]
    assert "more" not in grep(tmp_path, "x", limits={"results": 100})
    files = grep(tmp_path, "x", output="files", limits={"results": 5})
    assert files.endswith("004\n[There are more matching files than these; narrow the pattern, path or glob.]")


def test_the_answer_is_bounded_however_much_matches(tmp_path: Path):
    write(tmp_path, {"a": ("x" * 400 + "\n") * 20_000})
    text = grep(tmp_path, "x", limits={"results": 100_000, "output_chars": 1_000})
    assert len(text) < 21_000
    assert text.endswith("narrow the pattern, path or glob.]")


@pytest.mark.parametrize(
    "data",
    [
        "grüße needle 你好".encode(),
        codecs.BOM_UTF8 + b"needle",
        codecs.BOM_UTF16_LE + "ü needle".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "ü needle".encode("utf-16-be"),
        codecs.BOM_UTF32_LE + "ü needle".encode("utf-32-le"),
        codecs.BOM_UTF32_BE + "ü needle".encode("utf-32-be"),
        "你好，世界 needle 这是中文".encode("gb18030"),
        "gr\xfc\xdfe needle".encode("latin-1"),
    ],
)
def test_texts_of_usual_encodings_are_searched(tmp_path: Path, data: bytes):
    write(tmp_path, {"a": data})
    assert "needle" in grep(tmp_path, "needle$|needle ")
    assert "needle" in grep(tmp_path, "NEEDLE", ignore_case=True)
    assert "a:1" in grep(tmp_path, "needle")
    assert "a:1" in grep(tmp_path, "needle", "a")


def test_binary_files_pipes_and_sockets_are_left_out(tmp_path: Path):
    write(tmp_path, {"binary": b"needle\0needle", "text": "needle"})
    os.mkfifo(tmp_path / "pipe")
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(os.path.relpath(tmp_path / "socket"))
        assert grep(tmp_path, "needle") == "text:1: needle"
        assert "is a socket" in grep(tmp_path, "needle", "socket")
    assert "is a pipe" in grep(tmp_path, "needle", "pipe")
    assert "is a binary file" in grep(tmp_path, "needle", "binary")


def test_a_file_of_fifty_megabytes_is_skipped_and_said(tmp_path: Path):
    with open(tmp_path / "large", "wb") as file:
        file.write(b"needle\n")
        file.truncate(50_000_000)
    write(tmp_path, {"small": "needle"})
    assert grep(tmp_path, "needle") == "small:1: needle\n[Skipped 1 file larger than 10,000,000 bytes.]"
    assert "50,000,000 bytes" in grep(tmp_path, "needle", "large")


def test_a_line_of_nine_megabytes_is_searched(tmp_path: Path):
    write(tmp_path, {"a": "ab" * 4_500_000 + "needle"})
    assert grep(tmp_path, "needle").endswith("needle")
    assert grep(tmp_path, "[x-z]|needl[e]").endswith("needle")


@pytest.mark.full
def test_thousands_of_files_are_searched(tmp_path: Path):
    write(tmp_path, {f"{number % 100}/{number}": f"text {number}" for number in range(some(10_000, 5))})
    assert grep(tmp_path, "text 1321$") == "21/1321:1: text 1321"
    assert grep(tmp_path, r"^\D+18\d6$", output="count").count("\n") == 9


@pytest.mark.full
def test_a_file_that_changes_while_it_is_searched_does_no_harm(tmp_path: Path):
    done = threading.Event()

    def rewrite() -> None:
        while not done.is_set():
            (tmp_path / "a").write_text("needle\n" * 1_000)
            (tmp_path / "a").write_text("")

    write(tmp_path, {"a": "", "b": "needle"})
    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        answers = [grep(tmp_path, "needle", output="files") for _ in range(some(20, 2))]
    finally:
        done.set()
        thread.join()
    assert all("b" in text.split("\n") for text in answers)


@pytest.mark.parametrize("name", [b"a\nb", b"\x1b[31mred", b"x\ry", b"-e", b"-", b"--"])
def test_a_file_of_any_name_is_searched_and_named_in_one_harmless_line(tmp_path: Path, name: bytes):
    (tmp_path / os.fsdecode(name)).write_text("needle")
    found = grep(tmp_path, "needle")
    assert found.endswith(":1: needle")
    assert found.isprintable()
    found.encode()


def test_a_file_whose_name_is_not_utf8_is_skipped_and_said(tmp_path: Path):
    (tmp_path / os.fsdecode(b"\xff")).write_text("needle")
    assert grep(tmp_path, "needle").endswith("[Skipped 1 file that could not be read.]")


def test_a_file_that_may_not_be_read_is_skipped_and_said(tmp_path: Path):
    script = """
import os, tempfile
from pathlib import Path
from headway.tools.files.grep import Grep
from headway.tools.files.glob import Glob
from headway.tools.files.ls import Ls
from headway.tools.files.workspace import Workspace
from tests.tools.files.finding import answer, write
with tempfile.TemporaryDirectory() as folder:
    project = Path(folder)
    write(project, {"a": "needle", "closed/b": "needle", "unreadable": "needle", ".gitignore": "x"})
    project.chmod(0o755)
    answer(Grep(Workspace(project)), project, {"pattern": "needle"})
    (project / "unreadable").chmod(0)
    (project / "closed").chmod(0)
    os.seteuid(65534)
    try:
        print(answer(Grep(Workspace(project)), project, {"pattern": "needle"}))
        print(answer(Glob(Workspace(project)), project, {"pattern": "**/*"}))
        print(answer(Glob(Workspace(project)), project, {"pattern": "*", "path": "closed"}))
        print(answer(Ls(Workspace(project)), project, {"path": "closed"}))
    finally:
        os.seteuid(0)
"""
    if os.geteuid() != 0:
        pytest.skip("only root can become someone who may not read a file")
    done = run_python(script)
    assert done.code == 0, done.err
    found = ["a:1: needle", "[1 folder could not be opened.]", "[Skipped 1 file that could not be read.]"]
    no_permission = "'closed' cannot be accessed: permission denied; leave it, or ask the user to allow it."
    names = [".gitignore", "a", "unreadable", "[1 folder could not be opened.]"]
    assert done.out.splitlines() == [*found, *names, no_permission, no_permission]


@pytest.mark.parametrize("pattern", ["a\ud800b", "\0", "\udcff", "é", "\n"])
def test_patterns_of_odd_characters_do_no_harm(tmp_path: Path, pattern: str):
    write(tmp_path, {"a": "text"})
    assert "No match" in grep(tmp_path, pattern)
    assert "No match" in grep(tmp_path, pattern, fixed=True)


def test_it_goes_by_another_name_too(tmp_path: Path):
    tool = Grep(Workspace(tmp_path))
    assert tool.aliases == ("rg",)
    assert tool.subject(tool.parse_input({"pattern": "x", "path": "./a/"})) == "a"


def test_groups_that_only_look_like_recursion_are_searched_for(tmp_path: Path):
    write(tmp_path, {"a": "ab\n(?R)\n"})
    assert grep(tmp_path, r"(?P<n>a)(?=b)") == "a:1: ab"
    assert grep(tmp_path, r"(?i:A)b") == "a:1: ab"
    assert grep(tmp_path, "(?R)", fixed=True) == "a:2: (?R)"
    assert grep(tmp_path, r"\(?\?R") == "a:2: (?R)"
    assert "No match" in grep(tmp_path, r"range\(?0")
