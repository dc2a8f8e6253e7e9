"""With ripgrep and without it, `grep` gives the same answers; what comes of a ripgrep that fails or hangs."""

from __future__ import annotations

import codecs
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.counts import FULL, some
from tests.support.processes import run_python
from tests.support.projects import temporary_folder
from tests.tools.files.finding import answer, write

from headway.tools.files import ripgrep
from headway.tools.files.grep import Grep
from headway.tools.files.workspace import Workspace

needs_ripgrep = pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed; scripts/setup does it")


def both(project: Path, arguments: dict[str, Any], **limits: Any) -> tuple[str, str]:
    workspace = Workspace(project)
    first = answer(Grep(workspace), project, arguments, **limits)
    return first, answer(Grep(workspace, use_ripgrep=False), project, arguments, **limits)


WORDS = ["needle", "NEEDLE", "nee", "dle", "\n", "\r\n", "ü", "你好", " ", "ſ", "K", "kick", "KICK", "\0", "a.c", "abc"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "gb18030", "latin-1"]
MARKS = [b"", codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF8, codecs.BOM_UTF32_BE, b"\xff"]
PATTERNS = [
    "needle",
    "nee.?dle",
    "need(le|x)",
    "kick",
    "a.c",
    r"a\.c",
    r"\bneedle\b",
    "^needle$",
    "n+eedle",
    "^",
    "need[l]e ",
]
NAMES = ["a", "b.py", "-", "--null", "c\nd", "src/a.py", "src/é", ".hidden", "big"]


def contents() -> st.SearchStrategy[bytes]:
    encoded = st.tuples(TEXTS, st.sampled_from(ENCODINGS)).map(lambda pair: pair[0].encode(pair[1], "replace"))
    marked = st.tuples(st.sampled_from(MARKS), TEXTS.map(str.encode)).map(b"".join)
    return encoded | marked | st.binary(max_size=20)


@needs_ripgrep
@settings(max_examples=some(100))
@given(
    st.dictionaries(st.sampled_from(NAMES), contents(), max_size=6),
    st.sampled_from(PATTERNS) | st.text("nedl.*", min_size=1, max_size=8),
    st.fixed_dictionaries(
        {
            "fixed": st.booleans(),
            "ignore_case": st.booleans(),
            "context": st.integers(0, 2),
            "output": st.sampled_from(["lines", "files", "count"]),
        }
    ),
    st.integers(1, 4),
)
@example({"a": codecs.BOM_UTF16_LE + b"needl", "b.py": codecs.BOM_UTF16_LE + b"needle!"}, "needl", {}, 4)
@example({"a": "needle".encode("utf-32"), "b.py": "needle".encode("utf-16")}, "needle", {}, 4)
def test_the_answers_are_the_same(files: dict[str, bytes], pattern: str, options: dict[str, Any], results: int):
    with temporary_folder() as project:
        write(project, {**files, "large": b"needle" * 1_000})
        with_it, without = both(project, {"pattern": pattern, **options}, results=results, file_bytes=5_000)
        assert with_it == without


@needs_ripgrep
@pytest.mark.full
def test_the_answers_are_the_same_over_many_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if not FULL:
        monkeypatch.setattr(ripgrep, "_MOST_BYTES", 50_000)
    names = {f"{number % 50}/{'x' * 100}{number}": f"text {number}\n" for number in range(some(9_000, 10))}
    write(tmp_path, dict(names))
    for pattern in ("text 765", "text 99", "nothing"):
        with_it, without = both(tmp_path, {"pattern": pattern})
        assert with_it == without
    assert "text 765" in both(tmp_path, {"pattern": "text 765"})[0]


@needs_ripgrep
def test_a_file_that_may_not_be_read_is_said_in_both_ways(tmp_path: Path):
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
    Grep(Workspace(project), use_ripgrep=False)
    answer(Grep(Workspace(project)), project, {"pattern": "needle"})
    (project / "unreadable").chmod(0)
    (project / "closed").chmod(0)
    os.seteuid(65534)
    try:
        for use in (True, False):
            print(answer(Grep(Workspace(project), use_ripgrep=use), project, {"pattern": "needle"}))
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
    assert done.out.splitlines() == [*found, *found, *names, no_permission, no_permission]


def program(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / "rg"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize("behaviour", ["exit 2", "exit 4", "kill -9 $$", "echo nonsense; exit 3", "exec /nothing"])
def test_a_ripgrep_that_fails_makes_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str):
    program(tmp_path / "bin", behaviour)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    project = tmp_path / "project"
    write(project, {"a": "needle"})
    assert both(project, {"pattern": "needle"}) == ("a:1: needle", "a:1: needle")


def running_in(group: int) -> list[str]:
    """The processes of a group that are more than a record of their end."""
    found = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    fields = [line.split(None, 2) for line in found.splitlines()]
    return [args for pgid, state, args in fields if int(pgid) == group and not state.startswith("Z")]


def test_a_ripgrep_that_hangs_is_ended_with_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program(tmp_path / "bin", f"echo $$ > {tmp_path}/pid; sleep 600 & wait")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    project = tmp_path / "project"
    write(project, {"a": "needle"})
    text = answer(Grep(Workspace(project)), project, {"pattern": "needle"}, search_seconds=1)
    assert "Stopped after 1 seconds" in text
    assert running_in(int((tmp_path / "pid").read_text())) == []


def test_a_ripgrep_that_comes_from_the_project_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program(tmp_path / "node_modules", "touch was_run")
    workspace = Workspace(tmp_path)
    for path in (str(tmp_path / "node_modules"), "node_modules", f"{tmp_path}/x/../node_modules"):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PATH", path)
        assert ripgrep.installed(workspace) is None
    elsewhere = tmp_path.parent / f"{tmp_path.name}-bin"
    elsewhere.mkdir()
    (elsewhere / "rg").symlink_to(tmp_path / "node_modules" / "rg")
    monkeypatch.setenv("PATH", str(elsewhere))
    assert ripgrep.installed(workspace) is None
