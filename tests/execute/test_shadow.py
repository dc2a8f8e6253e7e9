"""Checkpoints: what is saved is the project as it is, and what comes back is the project as it was."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from headway.core.errors import FilesChanged, HeadwayError
from headway.execute.shadow_repository import NoCheckpoints, ShadowRepository

from .shadows import Content, Link, Program, become, files, git, write

ODD: dict[str, Content] = {
    "with space": b"1",
    "line\nbreak": b"2",
    "quo\"te's\\": b"3",
    "-rf": b"4",
    "--exec=touch x": b"5",
    "中文/文件.txt": "内容\n".encode(),
    os.fsdecode(b"latin-\xff\xfe"): b"6",
    "git~1": b"7",
    "tab\there": b"8",
    ":(top)magic*?[a]": b"9",
    "!neg#": b"10",
    " lead and trail ": b"11",
    "empty": b"",
    "crlf.txt": b"a\r\nb\r\n\nc\r",
    "binary": bytes(range(256)) * 20,
    "run.sh": Program(b"#!/bin/sh\n"),
    "link": Link("crlf.txt"),
    "dangling": Link("nowhere/at all"),
    "to-folder": Link("中文"),
    "outward": Link("/etc"),
}


@pytest.fixture
def shadow(tmp_path: Path) -> ShadowRepository:
    return ShadowRepository(tmp_path)


def test_every_kind_of_file_and_name_comes_back_exactly(tmp_path: Path, shadow: ShadowRepository) -> None:
    write(tmp_path, ODD)
    saved = shadow.snapshot()
    become(tmp_path, {"other": b"x", "link": b"no link", "run.sh": b"#!/bin/sh\n"})
    now = shadow.snapshot()
    changed = shadow.apply_change(now, saved)
    assert files(tmp_path) == ODD
    assert sorted(changed) == shadow.list_changed(now, saved) == sorted([*ODD, "other"])


def test_a_snapshot_of_an_empty_folder_can_be_gone_back_to(tmp_path: Path, shadow: ShadowRepository) -> None:
    empty = shadow.snapshot()
    write(tmp_path, {"a/b/c": b"1"})
    shadow.apply_change(shadow.snapshot(), empty)
    assert files(tmp_path) == {}


def test_the_same_files_are_the_same_commit_and_others_a_child_of_it(tmp_path: Path, shadow: ShadowRepository) -> None:
    write(tmp_path, {"a": b"1"})
    first = shadow.snapshot()
    (tmp_path / "a").touch()
    assert shadow.snapshot() == first
    assert ShadowRepository(tmp_path).snapshot() == first
    write(tmp_path, {"a": b"2"})
    second = shadow.snapshot()
    assert _git(tmp_path, "rev-list", "--parents", "-1", second).split() == [second, first]
    write(tmp_path, {"a": b"1"})
    third = shadow.snapshot()
    assert third not in (first, second)
    assert shadow.list_changed(first, third) == []
    _git(tmp_path, "fsck", "--strict", "--no-dangling")


def test_a_change_that_keeps_size_and_time_is_seen(tmp_path: Path, shadow: ShadowRepository) -> None:
    write(tmp_path, {"a": b"11111"})
    before = os.stat(tmp_path / "a")
    first = shadow.snapshot()
    (tmp_path / "a").write_bytes(b"22222")
    os.utime(tmp_path / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert shadow.list_changed(first, shadow.snapshot()) == ["a"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"x": b"file"}, {"x/y": b"in a folder"}),
        ({"x": b"file"}, {"x/y/z": b"1", "x/y/w": Link("z")}),
        ({"x": Link("t"), "t/a": b"1"}, {"x/a": b"2", "t/a": b"1"}),
        ({"x/a": b"1", "x/b/c": b"2"}, {"x": Link("moved"), "moved/a": b"1", "moved/b/c": b"2"}),
        ({"x/a": b"1"}, {"x": Link("."), "a": b"1"}),
        ({"x/a": b"1"}, {"x": Link("nowhere")}),
        ({"x": b"same", "deep/er/est": b"1", "deep/b": b""}, {"x": Program(b"same"), "deep/b": b""}),
        ({"x": Link("same"), "y": b"a\n"}, {"x": b"same", "y": b"a\r\n"}),
        ({"only": b"1"}, {}),
    ],
)
def test_files_folders_and_links_take_each_others_places(
    tmp_path: Path, shadow: ShadowRepository, one: dict[str, Content], other: dict[str, Content]
) -> None:
    write(tmp_path, one)
    first = shadow.snapshot()
    become(tmp_path, other)
    second = shadow.snapshot()
    assert first != second
    shadow.apply_change(second, first)
    assert files(tmp_path) == one
    assert shadow.list_changed(first, shadow.snapshot()) == []
    shadow.apply_change(first, second)
    assert files(tmp_path) == other


def test_special_files_are_left_where_they_are(tmp_path: Path, shadow: ShadowRepository) -> None:
    write(tmp_path, {"a": b"1", "b": b"2"})
    first = shadow.snapshot()
    os.unlink(tmp_path / "a")
    os.mkfifo(tmp_path / "a")
    os.mkfifo(tmp_path / "c")
    second = shadow.snapshot()
    assert shadow.list_changed(first, second) == ["a"]
    with pytest.raises(FilesChanged) as refused:
        shadow.apply_change(second, first)
    assert refused.value.files == ["a"]
    assert stat.S_ISFIFO(os.lstat(tmp_path / "a").st_mode)


# What is in the way


def test_an_edit_since_the_snapshot_is_not_overwritten(tmp_path: Path, shadow: ShadowRepository) -> None:
    write(tmp_path, {"a": b"1", "b": b"1", "c": b"1", "d": b"1", "e": b"1"})
    first = shadow.snapshot()
    write(tmp_path, {"a": b"2", "b": b"2", "c": b"2", "d": b"2"})
    second = shadow.snapshot()
    write(tmp_path, {"b": b"3", "e": b"3"})
    os.chmod(tmp_path / "c", 0o755)
    os.unlink(tmp_path / "d")
    here = files(tmp_path)
    with pytest.raises(FilesChanged, match="b; c; d") as refused:
        shadow.apply_change(second, first)
    assert refused.value.files == ["b", "c", "d"]
    assert files(tmp_path) == here


def test_edits_elsewhere_stay_and_are_no_obstacle(tmp_path: Path, shadow: ShadowRepository) -> None:
    write(tmp_path, {"a": b"1", "e": b"1", "gone": b"1"})
    first = shadow.snapshot()
    write(tmp_path, {"a": b"2"})
    second = shadow.snapshot()
    write(tmp_path, {"e": b"3", "new": b"4"})
    os.unlink(tmp_path / "gone")
    assert shadow.apply_change(second, first) == ["a"]
    assert files(tmp_path) == {"a": b"1", "e": b"3", "new": b"4"}


@pytest.mark.parametrize(
    ("obstacle", "named"),
    [
        ({"x": b"untracked"}, "x"),
        ({"x": Link("/etc/passwd")}, "x"),
        ({"x/inside": b"untracked"}, "x/inside"),
        ({"f": b"a file, not a folder"}, "f"),
        ({"f": Link("/tmp")}, "f"),
        ({"x/.git/config": b"some repository"}, "x/.git/config"),
        ({"f/.git/HEAD": b"ref: refs/heads/main\n"}, "f"),
    ],
)
@pytest.mark.parametrize("ignored", [False, pytest.param(True, marks=pytest.mark.more)])
def test_what_came_into_the_way_is_not_overwritten(
    tmp_path: Path, shadow: ShadowRepository, obstacle: dict[str, Content], named: str, ignored: bool
) -> None:
    write(tmp_path, {"x": b"1", "f/y": b"1", "z": b"1"})
    first = shadow.snapshot()
    become(tmp_path, {"z": b"2"})
    if ignored:
        write(tmp_path, {".git/info/exclude": b"x\nf\n"})
    second = shadow.snapshot()
    write(tmp_path, obstacle)
    here = files(tmp_path)
    with pytest.raises(FilesChanged) as refused:
        shadow.apply_change(second, first)
    assert refused.value.files == [named]
    assert files(tmp_path) == here


def test_an_ignored_file_in_a_folder_that_should_be_a_file_keeps_its_place(
    tmp_path: Path, shadow: ShadowRepository
) -> None:
    write(tmp_path, {".gitignore": b"*.o\n", "x": b"1"})
    first = shadow.snapshot()
    become(tmp_path, {".gitignore": b"*.o\n", "x/a.c": b"1", "x/a.o": b"2"})
    second = shadow.snapshot()
    with pytest.raises(FilesChanged) as refused:
        shadow.apply_change(second, first)
    assert refused.value.files == ["x/a.o"]
    os.unlink(tmp_path / "x/a.o")
    shadow.apply_change(second, first)
    assert (tmp_path / "x").read_bytes() == b"1"


def test_a_link_in_place_of_a_folder_leads_nothing_out_of_the_project(tmp_path: Path) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    write(project, {"d/a": b"1", "d/b": b"1"})
    write(outside, {"a": b"2", "b": b"1"})
    shadow = ShadowRepository(project)
    first = shadow.snapshot()
    write(project, {"d/a": b"2"})
    second = shadow.snapshot()
    become(project, {"d": Link(os.fspath(outside))})
    with pytest.raises(FilesChanged):
        shadow.apply_change(second, first)
    third = shadow.snapshot()
    assert shadow.list_changed(second, third) == ["d", "d/a", "d/b"]
    shadow.apply_change(third, first)
    assert files(project) == {"d/a": b"1", "d/b": b"1"}
    assert files(outside) == {"a": b"2", "b": b"1"}


@pytest.mark.parametrize("to", ["moved", "nowhere"])
def test_an_ignored_link_in_place_of_a_folder_is_not_taken_for_its_files(
    tmp_path: Path, shadow: ShadowRepository, to: str
) -> None:
    write(tmp_path, {"x/a": b"1", "b": b"1"})
    first = shadow.snapshot()
    become(tmp_path, {"x": Link(to), "b": b"1", "moved/a": b"1", ".git/info/exclude": b"x\nmoved\n"})
    second = shadow.snapshot()
    assert shadow.list_changed(first, second) == ["x/a"]
    with pytest.raises(FilesChanged) as refused:
        shadow.apply_change(second, first)
    assert refused.value.files == ["x"]


def test_files_that_were_only_touched_are_no_obstacle(tmp_path: Path, shadow: ShadowRepository) -> None:
    write(tmp_path, {"a": b"1", "b": b"1"})
    first = shadow.snapshot()
    write(tmp_path, {"a": b"2"})
    second = shadow.snapshot()
    os.utime(tmp_path / "a", (1, 1))
    assert shadow.apply_change(second, first) == ["a"]
    assert files(tmp_path) == {"a": b"1", "b": b"1"}


def test_an_index_of_another_commit_is_no_obstacle(tmp_path: Path, shadow: ShadowRepository) -> None:
    write(tmp_path, {"a": b"1", "b": b"1"})
    first = shadow.snapshot()
    write(tmp_path, {"a": b"2"})
    second = shadow.snapshot()
    write(tmp_path, {"a": b"3"})
    shadow.snapshot()
    write(tmp_path, {"a": b"2"})
    assert shadow.apply_change(second, first) == ["a"]
    assert files(tmp_path) == {"a": b"1", "b": b"1"}


# Commits


def test_a_commit_is_put_together_from_two_by_paths(tmp_path: Path, shadow: ShadowRepository) -> None:
    write(tmp_path, {"a": b"1", "b": b"1", "c": b"1", "d/e": b"1"})
    first = shadow.snapshot()
    become(tmp_path, {"a": b"2", "b": b"2", "d": b"now a file", "new\nline": Program(b"2")})
    second = shadow.snapshot()
    mixed = shadow.commit_with_paths(second, first, ["a", "c", "new\nline", "not there"])
    shadow.apply_change(second, mixed)
    assert files(tmp_path) == {"a": b"1", "b": b"2", "c": b"1", "d": b"now a file"}
    assert shadow.list_changed(first, shadow.commit_with_paths(second, first, shadow.list_changed(first, second))) == []
    assert shadow.commit_with_paths(second, first, []) == second
    assert shadow.list_changed(second, shadow.commit_with_paths(second, first, ["d/e"])) == ["d", "d/e"]


# What is asked of it besides


def test_without_git_there_are_no_checkpoints_and_a_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    with pytest.raises(NoCheckpoints, match=r"needs git, which is not installed; install git"):
        ShadowRepository(tmp_path)


@pytest.mark.parametrize(("version", "can"), [("2.37.9", False), ("2.38.0", True), ("10.1", True), ("1.9.5", False)])
def test_only_a_git_that_is_new_enough_has_worktrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, can: bool
) -> None:
    fake, project = tmp_path / "bin/git", tmp_path / "project"
    project.mkdir()
    write(tmp_path, {"bin/git": Program(f"#!/bin/sh\necho git version {version}\n".encode())})
    monkeypatch.setenv("PATH", os.fspath(fake.parent), prepend=os.pathsep)
    assert ShadowRepository(project).has_worktrees is can


@pytest.mark.parametrize("part", [".headway", ".headway/checkpoints", ".headway/checkpoints/objects"])
@pytest.mark.parametrize("inside", [True, False])
def test_a_link_in_place_of_a_folder_of_checkpoints_is_refused(tmp_path: Path, part: str, inside: bool) -> None:
    project = tmp_path / "project"
    other = project / ".git" if inside else tmp_path / "outside"
    write(project, {"a": b"1"})
    git(tmp_path, "init", "-q", "--bare", os.fspath(other))
    before = files(other)
    Path(project, part).parent.mkdir(parents=True, exist_ok=True)
    Path(project, part).symlink_to(other)
    with pytest.raises(HeadwayError, match=f"is a link{'' if inside else ' that leads out of the project'}; replace"):
        ShadowRepository(project).snapshot()
    assert files(other) == before


def test_a_repository_that_headway_did_not_make_is_never_written(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"1"})
    ours = tmp_path / ".headway/checkpoints"
    git(tmp_path, "init", "-q", "--bare", os.fspath(ours))
    before = files(ours)
    with pytest.raises(NoCheckpoints, match="checkpoints' is a git repository that Headway did not make; move it"):
        ShadowRepository(tmp_path).snapshot()
    assert files(ours) == before


def test_a_repository_of_the_user_in_the_place_of_checkpoints_is_never_written(tmp_path: Path) -> None:
    """Also if it has the mark: an archive may come with all of it."""
    write(tmp_path, {"a": b"1"})
    ShadowRepository(tmp_path).snapshot()
    ours = tmp_path / ".headway/checkpoints"
    write(tmp_path, {".git": b"gitdir: .headway/checkpoints\n"})
    before = files(ours)
    with pytest.raises(NoCheckpoints, match=r"git repository is in '\.headway'; move it"):
        ShadowRepository(tmp_path).snapshot()
    assert files(ours) == before


def test_a_commit_that_is_unknown_is_told_in_a_sentence(tmp_path: Path, shadow: ShadowRepository) -> None:
    known = shadow.snapshot()
    with pytest.raises(NoCheckpoints, match="git could not compare two checkpoints"):
        shadow.list_changed(known, "0123456789" * 4)


def test_a_snapshot_takes_few_processes(
    tmp_path: Path, shadow: ShadowRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, {"a": b"1", ".gitignore": b"kept\n", "kept": b"1"})
    git(tmp_path, "add", "a")
    git(tmp_path, "init", "-q", "inside")
    write(tmp_path, {"inside/x": b"1"})
    first = shadow.snapshot()
    shadow.make_worktree("w", first)
    started: list[str] = []
    real = subprocess.run

    def counted(command: list[str], **options: object) -> object:
        started.append(command[1])
        return real(command, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "run", counted)
    shadow.snapshot()
    assert len(started) == 1
    started.clear()
    git(tmp_path, "add", "-f", "kept")
    kept = shadow.snapshot()
    started.clear()
    assert shadow.snapshot() == kept != first
    assert len(started) <= 3
    started.clear()
    write(tmp_path, {"b": b"1"})
    shadow.snapshot()
    assert len(started) <= 4
    started.clear()
    shadow.make_worktree("w", first)
    assert len(started) <= 3


def _git(project: Path, *arguments: str) -> str:
    return git(project, "--git-dir", os.fspath(project / ".headway/checkpoints"), *arguments)
