"""The walk through a project's files: in order, never out of it, never for ever, and as git would leave files out."""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.projects import temporary_folder
from tests.tools.files.finding import write

from headway.tools.base import ToolFault
from headway.tools.files.gitignore import MOST_BYTES, MOST_RULES, IgnoreRules
from headway.tools.files.walk import DEEPEST, SearchDeadline, Walk
from headway.tools.files.workspace import Workspace


def walked(project: Path, path: str = ".") -> list[str]:
    return [file.path for file in Walk(Workspace(project), path, SearchDeadline(60)).files()]


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_files_come_in_the_order_of_their_paths(tmp_path: Path):
    names = ["a/z", "a-b", "a.b", "a/b/c", "b", "B", "ab/x"]
    write(tmp_path, dict.fromkeys(names, ""))
    assert walked(tmp_path) == sorted(names)
    assert walked(tmp_path, "a") == ["a/b/c", "a/z"]


def test_records_of_git_and_headway_are_left_out_at_every_depth(tmp_path: Path):
    write(tmp_path, dict.fromkeys([".git/x", ".headway/x", "a/.git/x", "a/.headway/x", ".GIT/y", "a/.gitkeep"], ""))
    assert walked(tmp_path) == ["a/.gitkeep"]


def test_links_pipes_and_sockets_are_no_files_and_loops_end(tmp_path: Path):
    write(tmp_path, {"a/real": ""})
    (tmp_path / "a" / "loop").symlink_to("..")
    (tmp_path / "a" / "self").symlink_to("self")
    (tmp_path / "link").symlink_to("a/real")
    os.mkfifo(tmp_path / "pipe")
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(os.path.relpath(tmp_path / "socket"))
        assert walked(tmp_path) == ["a/real"]


def test_a_path_that_is_a_link_inside_is_walked_where_it_leads(tmp_path: Path):
    write(tmp_path, {"a/real": ""})
    (tmp_path / "link").symlink_to("a")
    assert walked(tmp_path, "link") == ["a/real"]


def test_a_missing_path_and_a_pipe_are_answered_with_a_sentence(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ToolFault, match="There is no 'x'"):
        walked(tmp_path, "x")
    with pytest.raises(ToolFault, match="is a pipe"):
        walked(tmp_path, "pipe")


def test_five_thousand_folders_in_each_other_do_not_use_up_descriptors(tmp_path: Path):
    write(tmp_path, {"a.txt": ""})
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(5_000):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    walk = Walk(Workspace(tmp_path), ".", SearchDeadline(60))
    before = open_descriptors()
    assert [file.path for file in walk.files()] == ["a.txt"]
    assert open_descriptors() == before
    assert walk.list_notes() == [f"1 folder nested deeper than {DEEPEST} levels left out."]
    # Neither pytest nor shutil can remove such a tree.
    subprocess.run(["rm", "-rf", "d"], cwd=tmp_path, check=True)


def test_a_file_in_the_deepest_folder_that_is_walked_can_be_placed(tmp_path: Path):
    name = "d/" * DEEPEST + "a.txt"
    write(tmp_path, {name: "", "d/" * (DEEPEST + 1) + "a.txt": ""})
    workspace = Workspace(tmp_path)
    assert walked(tmp_path) == [name]
    with workspace.open_place(name) as place:
        assert place.status() is not None


def test_a_walk_that_is_left_early_closes_what_it_opened(tmp_path: Path):
    write(tmp_path, {"a/b/c/d": "", "a/b/c/e": ""})
    before = open_descriptors()
    with closing(Walk(Workspace(tmp_path), ".", SearchDeadline(60)).files()) as files:
        next(files)
        assert open_descriptors() > before
    assert open_descriptors() == before


def test_a_walk_ends_when_its_time_is_over_or_it_is_told_to(tmp_path: Path):
    write(tmp_path, {str(number): "" for number in range(10)})
    late = Walk(Workspace(tmp_path), ".", SearchDeadline(-1))
    assert (list(late.files()), late.stopped) == ([], True)
    stop = SearchDeadline(60)
    walk = Walk(Workspace(tmp_path), ".", stop)
    files = walk.files()
    next(files)
    stop.set()
    assert (list(files), walk.stopped) == ([], True)


def test_rules_of_nested_gitignore_files_hold_with_the_innermost_first(tmp_path: Path):
    files = {
        ".gitignore": "*.log\nbuild/\n/top.txt\n",
        "a.log": "",
        "build/x": "",
        "top.txt": "",
        "src/.gitignore": "!keep.log\nown\n",
        "src/keep.log": "",
        "src/drop.log": "",
        "src/own/x": "",
        "src/top.txt": "",
    }
    write(tmp_path, dict.fromkeys(files, "") | files)
    assert walked(tmp_path) == [".gitignore", "src/.gitignore", "src/keep.log", "src/top.txt"]
    assert walked(tmp_path, "src") == ["src/.gitignore", "src/keep.log", "src/top.txt"]


def test_what_is_ignored_is_walked_if_it_is_asked_for_by_name(tmp_path: Path):
    write(tmp_path, {".gitignore": "build/\n*.o\n", "build/a.o": "", "build/deep/b": "", "src/a.o": "", "src/a.c": ""})
    assert walked(tmp_path) == [".gitignore", "src/a.c"]
    assert walked(tmp_path, "build") == ["build/a.o", "build/deep/b"]
    assert walked(tmp_path, "build/deep") == ["build/deep/b"]
    assert walked(tmp_path, "src/a.o") == ["src/a.o"]


@pytest.mark.parametrize(
    "hostile", [b"\xff\xfe\x00[", b"[\n\\\n[[:no:]]\n" + b"(" * 5_000, b"{" * 9_000, b"a\0b\n!\n/\n!/\n"]
)
def test_rules_that_are_none_leave_nothing_out(tmp_path: Path, hostile: bytes):
    write(tmp_path, {".gitignore": hostile, "a": "", "[": "", "{": ""})
    assert walked(tmp_path) == [".gitignore", "[", "a", "{"]


@pytest.mark.parametrize("content", [b"a" * (MOST_BYTES + 1), b"*\n" * (MOST_RULES + 1)])
def test_a_gitignore_that_is_too_large_is_not_used_and_said(tmp_path: Path, content: bytes):
    write(tmp_path, {".gitignore": content, "a": ""})
    walk = Walk(Workspace(tmp_path), ".", SearchDeadline(60))
    assert [file.path for file in walk.files()] == [".gitignore", "a"]
    assert walk.list_notes() == ["1 `.gitignore` too large to use."]


def test_a_gitignore_that_is_a_link_or_a_pipe_is_not_read(tmp_path: Path):
    write(tmp_path, {"rules": "*", "b/x": ""})
    (tmp_path / ".gitignore").symlink_to("rules")
    os.mkfifo(tmp_path / "b" / ".gitignore")
    assert walked(tmp_path) == ["b/x", "rules"]


def test_rules_with_many_stars_come_to_an_end():
    rules = IgnoreRules("*a" * 100 + "*b\n" + "**/a/" * 100 + "b\n" + "a**" * 300 + "c")
    assert rules.is_ignored("a" * 4_000) is None
    assert rules.is_ignored("a/" * 2_000) is None


PIECES = [
    *("a", "b", "ab", "*", "?", "**", "/", "!", "[ab]", "[!a]", "[^b-z]", "\\", "\\a", ".", "#", " ", "[", "]", "-"),
    *("ä", "文", "[a-[]", "[b-a]", "[ä]", "[à-ü]"),
]
NAMES = ["a", "b", "ab", "aab", "#a", "!b", "a b", "a ", "[", ".a", "-", "ä", "aä", "文"]


@example(rules=["[/[ab]"], inner=[], paths={"a", "b/a"})  # a slash in brackets
@example(rules=["?", "[!b]a", "[ä]b"], inner=[], paths={"ä", "äa", "äb", "文"})  # git compares bytes
@example(rules=["[a-[]", "[b-a]c"], inner=[], paths={"a", "[", "b", "bc", "ac"})  # ranges that end before they begin
@example(rules=["a[/]b", "b[!/]a", "[/"], inner=[], paths={"a/b", "ab", "b/a", "b-a"})
@given(
    st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), max_size=5),
    st.lists(st.lists(st.sampled_from(PIECES), max_size=4).map("".join), max_size=3),
    st.sets(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join), min_size=1, max_size=6),
)
def test_git_leaves_out_the_same_files(rules: list[str], inner: list[str], paths: set[str]):
    with temporary_folder() as project:
        for path in sorted(paths, key=len, reverse=True):
            if not (project / path).exists():
                write(project, {path: ""})
        (project / ".gitignore").write_text("\n".join(rules))
        if (project / "a").is_dir():
            (project / "a" / ".gitignore").write_text("\r\n".join(inner))
        write(project, {".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", ".git/refs/x": ""})
        listing = ["git", "-c", "core.excludesFile=", "ls-files", "-z", "--others"]
        listing.append("--exclude-per-directory=.gitignore")
        others = subprocess.run(listing, cwd=project, check=True, capture_output=True).stdout
        assert walked(project) == sorted(os.fsdecode(name) for name in others.split(b"\0") if name)
