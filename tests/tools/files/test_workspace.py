"""Paths stay inside the project: what is resolved, what is refused, and how that is said."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from tests.tools.files.desk import Desk

from headway.tools.base import ToolFault
from headway.tools.files.workspace import PathNotFound, Workspace, file_kind

OUT = "leads out of the project; use a path inside it, relative to its folder."
CLOSED = "is off limits to file tools, because Headway or git keeps records there; use another path."


@pytest.fixture
def inner_project(tmp_path: Path) -> Path:
    """A project beside a folder that it must not reach."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("SECRET")
    (tmp_path / "project/src").mkdir(parents=True)
    (tmp_path / "project/src/a.txt").write_text("inside")
    return tmp_path / "project"


def reached(project: Path, path: str) -> str:
    with Workspace(project).open_place(path) as place:
        return place.path


def refused(project: Path, path: str, *, write: bool = False, make_folders: bool = False) -> str:
    with (
        pytest.raises(ToolFault) as caught,
        Workspace(project).open_place(path, write=write, make_folders=make_folders),
    ):
        pass
    return str(caught.value)


@pytest.mark.parametrize(
    "path",
    ["src/a.txt", "./src//a.txt", "src/../src/./a.txt", "src/a.txt/", "in/a.txt", "deep/../src/a.txt", "abs/a.txt"],
)
def test_ways_inside_lead_to_the_same_place(inner_project: Path, path: str) -> None:
    (inner_project / "in").symlink_to("src")
    (inner_project / "deep").symlink_to("src/../src")
    (inner_project / "abs").symlink_to(inner_project / "src")
    assert reached(inner_project, path) == "src/a.txt"
    assert reached(inner_project, f"{inner_project}/{path}") == "src/a.txt"
    assert Workspace(inner_project).relative_path(path) == "src/a.txt"


def test_a_project_reached_through_a_link_knows_both_of_its_names(inner_project: Path) -> None:
    link = inner_project.parent / "link"
    link.symlink_to("project")
    for root in (link, inner_project):
        assert reached(link, f"{root}/src/a.txt") == "src/a.txt"
    assert reached(inner_project, str(inner_project)) == "."


@pytest.mark.parametrize(
    "path",
    ["..", "../outside/secret.txt", "src/../../outside/secret.txt", "/etc/passwd", "//etc", "out/secret.txt", "up/x"],
)
def test_ways_out_are_refused(inner_project: Path, path: str) -> None:
    (inner_project / "out").symlink_to("../outside")
    (inner_project / "up").symlink_to("..")
    for write in (False, True):
        assert refused(inner_project, path, write=write, make_folders=write) == f"'{path}' {OUT}"


def test_absolute_links_and_look_alike_folders_lead_out(inner_project: Path) -> None:
    (inner_project.parent / "project2").mkdir()
    (inner_project / "abs").symlink_to(inner_project.parent / "outside/secret.txt")
    (inner_project / "back").symlink_to(f"{inner_project}/../outside/secret.txt")
    for path in ("abs", "back", f"{inner_project}2/x", f"{inner_project}/../outside/secret.txt"):
        assert refused(inner_project, path).endswith(OUT)


def test_circles_of_links_end(inner_project: Path) -> None:
    (inner_project / "a").symlink_to("b")
    (inner_project / "b").symlink_to("a")
    (inner_project / "self").symlink_to("self/x")
    for path in ("a", "b/x", "self"):
        assert refused(inner_project, path) == f"'{path}' is part of a loop of links; use the real path."


async def test_a_dangling_link_inside_can_be_written_through(inner_project: Path) -> None:
    (inner_project / "link").symlink_to("new/file.txt")
    desk = Desk(inner_project)
    assert await desk.fault("read_file", path="link") == "There is no 'link'; use ls or glob to see what exists."
    assert (await desk.preview("write_file", path="link", content="x")).line == "Create new/file.txt"
    assert await desk.write("link", "x") == "Created new/file.txt (1 line)."
    assert (inner_project / "link").is_symlink()


@pytest.mark.parametrize("path", ["a\0b", "x" * 4_001])
def test_paths_that_can_be_none_are_refused(inner_project: Path, path: str) -> None:
    assert refused(inner_project, path).endswith(
        "is not a valid path; use one inside the project, relative to its folder."
    )
    assert Workspace(inner_project).relative_path(path) == path


@pytest.mark.parametrize("path", ["a\ud800", "a\udcff", "src/\udc80/x"])
def test_names_that_are_not_utf8_are_left_to_bash(inner_project: Path, path: str) -> None:
    assert refused(inner_project, path).endswith("has a name that is not UTF-8; use bash for it.")


def test_a_link_to_a_name_that_is_not_utf8_is_refused(inner_project: Path) -> None:
    os.symlink(b"\xff.txt", os.fsencode(inner_project / "link"))
    assert refused(inner_project, "link") == "'link' has a name that is not UTF-8; use bash for it."


def test_names_and_ways_that_are_too_long_are_refused(inner_project: Path) -> None:
    assert refused(inner_project, "n" * 300).endswith("is too long for a path; use a shorter one.")
    deep = "d/" * 101 + "f"
    (inner_project / deep).parent.mkdir(parents=True)
    assert refused(inner_project, deep).endswith("is nested too deeply; use a path of at most 100 folders.")
    assert reached(inner_project, "d/" * 100 + "f") == "d/" * 100 + "f"


@pytest.mark.parametrize(
    "path",
    [".headway/headway.db", ".headway", ".HeadWay/x", "src/../.headway/x", "own/x", ".headway/outputs/../x"],
)
def test_headways_own_folder_is_closed(inner_project: Path, path: str) -> None:
    (inner_project / ".headway/outputs").mkdir(parents=True)
    (inner_project / ".headway/x").touch()
    (inner_project / ".HeadWay").mkdir(exist_ok=True)
    (inner_project / "own").symlink_to(".headway")
    for write in (False, True):
        assert refused(inner_project, path, write=write) == f"'{path}' {CLOSED}"


def test_kept_answers_are_open_for_reading_only(inner_project: Path) -> None:
    (inner_project / ".headway/outputs").mkdir(parents=True)
    assert reached(inner_project, ".headway/outputs/x.txt") == ".headway/outputs/x.txt"
    assert refused(inner_project, ".headway/outputs/x.txt", write=True).endswith(CLOSED)
    assert refused(inner_project, ".headway/outputs/../headway.db").endswith(CLOSED)


@pytest.mark.parametrize(
    "path", [".git/config", ".GIT/config", ".git", "src/.git", "sub/.Git/x", ".g\u200cit/config", "git/config"]
)
def test_git_folders_are_closed_for_writing(inner_project: Path, path: str) -> None:
    (inner_project / ".git").mkdir()
    (inner_project / "git").symlink_to(".git")
    assert refused(inner_project, path, write=True) == f"'{path}' {CLOSED}"
    assert refused(inner_project, path, write=True, make_folders=True).endswith(CLOSED)
    assert reached(inner_project, ".git/config") == ".git/config"


def test_names_that_only_begin_alike_are_open(inner_project: Path) -> None:
    for path in (".gitignore", ".github/x", ".headwayrc", "src/headway", "src/.headway.toml"):
        with Workspace(inner_project).open_place(path, write=True, make_folders=True) as place:
            assert place.path == path


def test_a_way_that_is_missing_is_not_made_on_the_way_back_up(inner_project: Path) -> None:
    assert refused(inner_project, "new/../src/b.txt", write=True, make_folders=True).startswith("There is no ")
    assert os.listdir(inner_project) == ["src"]


async def test_a_project_that_is_gone_is_told(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    desk = Desk(tmp_path / "project")
    (tmp_path / "project").rmdir()
    sentence = "The project's folder cannot be opened: No such file or directory; ask the user to fix this."
    assert await desk.fault("read_file", path="a") == sentence
    assert await desk.fault("write_file", path="a", content="") == sentence
    assert Workspace(tmp_path / "project").relative_path("a") == "a"


def test_patterns_are_compared_with_where_a_path_leads(inner_project: Path) -> None:
    (inner_project / "docs").mkdir()
    (inner_project / "docs/link").symlink_to("../src")
    workspace = Workspace(inner_project)
    assert workspace.relative_path("docs/link/a.txt") == "src/a.txt"
    assert workspace.relative_path("docs/link/new/b.txt") == "src/new/b.txt"
    assert workspace.relative_path("docs/../src/./a.txt") == "src/a.txt"
    assert workspace.relative_path(f"{inner_project}/src/a.txt") == "src/a.txt"
    assert workspace.relative_path("docs/missing/../../x") == "x"
    assert workspace.relative_path("../x") == "../x"


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (errno.ENOENT, "There is no 'a'; use ls or glob to see what exists."),
        (errno.ENOTDIR, "'a' has a part that is not a folder; use ls to see what exists."),
        (errno.ELOOP, "'a' was replaced by a link in the meantime; try again."),
        (errno.EACCES, "'a' cannot be accessed: permission denied; leave it, or ask the user to allow it."),
        (errno.EPERM, "'a' cannot be accessed: permission denied; leave it, or ask the user to allow it."),
        (errno.EISDIR, "'a' is a folder; name a file in it."),
        (errno.ENAMETOOLONG, "'a' is too long for a path; use a shorter one."),
        (errno.ENOSPC, "'a' was not written: no space is left on the disk; nothing was changed."),
        (errno.EDQUOT, "'a' was not written: no space is left on the disk; nothing was changed."),
        (errno.EROFS, "'a' is on a read-only disk; nothing was changed."),
        (errno.EIO, "'a' cannot be accessed: Input/output error."),
    ],
)
def test_every_fault_of_the_system_is_a_sentence(tmp_path: Path, code: int, sentence: str) -> None:
    with pytest.raises(ToolFault) as caught, Workspace(tmp_path).open_place("a"):
        raise OSError(code, os.strerror(code))
    assert str(caught.value) == sentence
    assert isinstance(caught.value, PathNotFound) == (code == errno.ENOENT)


def test_no_descriptor_is_left_open(inner_project: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    (inner_project / "loop").symlink_to("loop")
    for path in ("src/a.txt", "src/../src/a.txt", "..", "loop", "missing/x", ".headway/x", "src/a.txt/x"):
        for _ in range(5):
            try:
                with Workspace(inner_project).open_place(path, write=True, make_folders=True):
                    pass
            except ToolFault:
                pass
    assert len(os.listdir("/dev/fd")) == before


def test_kinds_of_files_have_names(inner_project: Path) -> None:
    (inner_project / "link").symlink_to("src")
    assert file_kind((inner_project / "src").stat()) == "a folder"
    assert file_kind((inner_project / "link").lstat()) == "a link"
    assert file_kind((inner_project / "src/a.txt").stat()) == ""
