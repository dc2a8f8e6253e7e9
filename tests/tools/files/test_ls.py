"""`ls`: every name of one folder on a line of its own, whatever it is called and wherever it leads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.counts import some
from tests.tools.files.finding import answer, write

from headway.tools.files.ls import Ls
from headway.tools.files.workspace import Workspace


def ls(project: Path, path: str = ".", **limits: int) -> str:
    return answer(Ls(Workspace(project)), project, {"path": path}, **limits)


def test_folders_come_first_then_files_with_their_sizes(tmp_path: Path):
    write(tmp_path, {"b.txt": "x" * 1_234, ".hidden": "", "z/x": "", "a/x": "", ".gitignore": "*"})
    assert ls(tmp_path).split("\n") == ["a/", "z/", ".gitignore (1 byte)", ".hidden (0 bytes)", "b.txt (1,234 bytes)"]
    assert ls(tmp_path, "a") == "x (0 bytes)"


def test_without_a_path_it_lists_the_project(tmp_path: Path):
    write(tmp_path, {"a": ""})
    assert answer(Ls(Workspace(tmp_path)), tmp_path) == "a (0 bytes)"


def test_headways_own_folder_is_named_but_closed(tmp_path: Path):
    write(tmp_path, {".headway/secret": "", "a/.headway/x": ""})
    assert ls(tmp_path) == ".headway/ (off limits: Headway's own records)\na/"
    assert "off limits to file tools" in ls(tmp_path, ".headway")


def test_links_are_shown_with_where_they_lead_but_nothing_outside_is_named(tmp_path: Path):
    project = tmp_path / "project"
    write(project, {"real": "", "folder/x": ""})
    write(tmp_path, {"secret": ""})
    for name, target in {
        "a": "real",
        "b": "folder",
        "c": "missing",
        "d": "../secret",
        "e": str(tmp_path / "secret"),
        "f": "f",
        "g": "d",
    }.items():
        (project / name).symlink_to(target)
    assert ls(project).split("\n") == [
        "folder/",
        "a -> real",
        "b -> folder/",
        "c -> missing (missing)",
        *(f"{name} -> (outside the project)" for name in "defg"),
        "real (0 bytes)",
    ]
    assert ls(project, "b") == "x (0 bytes)"
    assert "leads out of the project" in ls(project, "d")


def test_what_is_no_folder_is_said(tmp_path: Path):
    write(tmp_path, {"a.txt": "abc"})
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").mkdir()
    assert ls(tmp_path, "a.txt") == "a.txt is a file of 3 bytes; read it with read_file."
    assert ls(tmp_path, "pipe") == "pipe is a pipe."
    assert ls(tmp_path, "empty") == "empty is empty."
    assert "pipe (a pipe)" in ls(tmp_path)
    assert "There is no 'x'" in ls(tmp_path, "x")
    assert "not a folder" in ls(tmp_path, "a.txt/x")


@pytest.mark.full
def test_of_very_many_names_the_first_are_given_and_the_others_counted(tmp_path: Path):
    many = some(10_000, 5)
    write(tmp_path, {f"{number:05}": "" for number in range(many)})
    lines = ls(tmp_path, results=50).split("\n")
    assert lines[0] == "00000 (0 bytes)"
    assert lines[50:] == [f"[… and {many - 50:,} more; use glob to find the ones you need]"]


@pytest.mark.parametrize(
    "name", [b"a\nb", b"\x1b[31mred", b"\xff\xfe", "\u202egnp.exe".encode(), b"  ", b"-rf", b"x\ry"]
)
def test_any_name_is_one_harmless_line(tmp_path: Path, name: bytes):
    (tmp_path / os.fsdecode(name)).write_text("")
    listing = ls(tmp_path)
    assert listing.endswith(" (0 bytes)")
    assert listing.isprintable()
    listing.encode()


def test_the_subject_is_the_path_inside_the_project(tmp_path: Path):
    tool = Ls(Workspace(tmp_path))
    assert tool.subject(tool.parse_input({"path": f"{tmp_path}/a/./b"})) == "a/b"
    assert tool.subject(tool.parse_input({})) == "."
