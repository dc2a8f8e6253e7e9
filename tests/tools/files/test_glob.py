"""`glob`: exactly the files that fit, in the order of their paths, for any pattern in bounded time."""

from __future__ import annotations

import asyncio
import os
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.counts import some
from tests.tools.files.finding import answer, context, write

from headway.tools.files.glob import Glob
from headway.tools.files.wildcards import expand_braces, to_path_expression
from headway.tools.files.workspace import Workspace


def glob(project: Path, pattern: str, path: str = ".", **limits: float) -> str:
    return answer(Glob(Workspace(project)), project, {"pattern": pattern, "path": path}, **limits)


FILES = ["a.py", "b.txt", "src/a.py", "src/b.ts", "src/c.tsx", "src/deep/er/a.py", ".hidden/a.py", "src/[id].ts"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["a.py"]),
        ("**/*.py", [".hidden/a.py", "a.py", "src/a.py", "src/deep/er/a.py"]),
        ("src/*.{ts,tsx}", ["src/[id].ts", "src/b.ts", "src/c.tsx"]),
        ("src/**", ["src/[id].ts", "src/a.py", "src/b.ts", "src/c.tsx", "src/deep/er/a.py"]),
        ("src/**/a.py", ["src/a.py", "src/deep/er/a.py"]),
        ("**/er/**", ["src/deep/er/a.py"]),
        ("./src/?.py", ["src/a.py"]),
        ("src/a.py", ["src/a.py"]),
        ("src/[a-b].*", ["src/a.py", "src/b.ts"]),
        ("src/[!a].ts", ["src/b.ts"]),
        ("src/\\[id\\].ts", ["src/[id].ts"]),
        ("{a,b}.{py,txt}", ["a.py", "b.txt"]),
        ("{src/{a,b},b}.*", ["b.txt", "src/a.py", "src/b.ts"]),
        ("**", sorted(FILES)),
    ],
)
def test_a_pattern_finds_the_files_that_fit(tmp_path: Path, pattern: str, found: list[str]):
    write(tmp_path, dict.fromkeys(FILES, ""))
    assert glob(tmp_path, pattern).split("\n") == found


@pytest.mark.parametrize("pattern", ["*.rs", "src", "src/", "{a}.py", "none/*.py", "a.py/", "A.PY", "{", "src//a.py/*"])
def test_a_pattern_that_fits_nothing_says_so(tmp_path: Path, pattern: str):
    write(tmp_path, {"a.py": "", "src/a.py": ""})
    assert glob(tmp_path, pattern) == f"No file matches '{pattern}' in '.'."


def test_a_path_is_where_the_pattern_begins(tmp_path: Path):
    write(tmp_path, dict.fromkeys(FILES, ""))
    assert glob(tmp_path, "*.py", "src") == "src/a.py"
    assert glob(tmp_path, "deep/**/*.py", "src") == "src/deep/er/a.py"
    assert "There is no 'none'" in glob(tmp_path, "*", "none")
    assert "is a file" in glob(tmp_path, "*", "a.py")


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../../*", "src/*/../x", "{..,a}/*", "{.,}./x", "**/.."])
def test_patterns_that_lead_out_are_refused_with_a_sentence(tmp_path: Path, pattern: str):
    assert "pass the folder to search as path" in glob(tmp_path, pattern)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("[ab", "a [ that is not closed"),
        ("[a-", "a [ that is not closed"),
        ("[[:none:]]", "unknown class"),
        ("a\\", "ends in a backslash"),
        ("{a,b}" * 8, "more than 100 patterns"),
        ("{a," * 100 + "}" * 100, "nested more than 10 deep"),
    ],
)
def test_a_pattern_that_is_none_is_refused_with_its_reason(tmp_path: Path, pattern: str, why: str):
    assert why in glob(tmp_path, pattern)


def test_ignored_files_are_found_only_if_the_pattern_names_their_folder(tmp_path: Path):
    write(tmp_path, {".gitignore": "build\n*.log\n", "build/a.py": "", "src/a.py": "", "src/a.log": ""})
    assert glob(tmp_path, "**/*.py") == "src/a.py"
    assert glob(tmp_path, "build/*.py") == glob(tmp_path, "*.py", "build") == "build/a.py"
    assert "No file" in glob(tmp_path, "**/*.log")


@pytest.mark.full
def test_what_is_over_the_limit_is_counted(tmp_path: Path):
    many = some(10_000, 5)
    write(tmp_path, {f"{number:05}.txt": "" for number in range(many)})
    lines = glob(tmp_path, "*.txt", results=20).split("\n")
    assert lines[:2] == ["00000.txt", "00001.txt"]
    assert lines[20:] == [f"[… and {many - 20:,} more; narrow the pattern or the path]"]


def test_when_its_time_is_over_it_says_so(tmp_path: Path):
    write(tmp_path, {"a": ""})
    assert "Stopped after 1e-09 seconds; there may be more." in glob(tmp_path, "*", search_seconds=1e-9)


async def test_a_cancelled_call_ends_its_walk(tmp_path: Path):
    write(tmp_path, {f"{number}/a": "" for number in range(100)})
    tool = Glob(Workspace(tmp_path))
    task = asyncio.create_task(tool.run(tool.parse_input({"pattern": "**"}), context(tmp_path)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("name", [b"a\nb", b"\x1b[31mred", b"\xff\xfe", b"x\ry", "\u2028".encode()])
def test_any_name_is_found_and_is_one_harmless_line(tmp_path: Path, name: bytes):
    (tmp_path / os.fsdecode(name)).write_text("")
    found = glob(tmp_path, "*")
    assert found.isprintable()
    found.encode()
    assert "No file" not in found


@pytest.mark.parametrize(
    "pattern", ["*a" * 400, "**/*a/" * 150 + "b", "?*" * 400 + "b", "[a-z]*" * 150 + "!", "a" * 999]
)
def test_patterns_with_very_many_stars_come_to_an_end(tmp_path: Path, pattern: str):
    write(tmp_path, {"a" * 250: "", "a/" * 90 + "a" * 200: ""})
    assert "a" in glob(tmp_path, pattern)


@given(
    st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]", "[a-c]"]), max_size=7).map("".join),
    st.text("abc", max_size=8),
)
def test_within_a_name_a_pattern_fits_as_in_the_standard_library(pattern: str, name: str):
    fits = re.fullmatch(to_path_expression(pattern), name) is not None
    assert fits == fnmatchcase(name, pattern) or pattern == "**"


def _fits(names: list[str], segments: list[str]) -> bool:
    """Slow, and plainly right."""
    if not segments:
        return not names
    if segments[0] == "**":
        if len(segments) == 1:
            return bool(names)
        return any(_fits(names[start:], segments[1:]) for start in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], segments[0]) and _fits(names[1:], segments[1:])


@given(
    st.lists(st.sampled_from(["a", "b", "*", "?", "a*", "*b*a", "**"]), min_size=1, max_size=7),
    st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=6),
)
def test_across_folders_a_pattern_fits_as_told(segments: list[str], names: list[str]):
    expression = to_path_expression("/".join(segments))
    assert (re.fullmatch(expression, "/".join(names)) is not None) == _fits(names, segments)


@given(st.text("{},\\a/", max_size=12))
def test_braces_in_any_order_give_patterns_of_what_is_in_them(pattern: str):
    for one in expand_braces(pattern):
        assert set(one) <= set(pattern)


def test_a_wide_choice_is_every_combination():
    assert expand_braces("{a,b}{1,2}") == ["a1", "a2", "b1", "b2"]
    assert expand_braces("x{a,}y") == ["xay", "xy"]
    assert expand_braces("\\{a,b}") == ["\\{a,b}"]
