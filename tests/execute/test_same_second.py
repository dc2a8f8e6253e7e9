"""What a worktree has from its first second on, when the times of its files tell nothing yet."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from headway.execute.checkpoint_rules import CheckpointRules
from headway.execute.shadow_repository import ShadowRepository
from headway.execute.workspaces import open_workspaces

from .shadows import Content, Link, Program, files, git, write

TREE: dict[str, Content] = {**{f"part/{n}": b"1" for n in range(300)}, "run": Program(b"x"), ".gitignore": b"*.o\n"}


def _edit_in_place(path: Path, content: bytes) -> None:
    """Change bytes of a file and not its size."""
    with open(path, "r+b") as file:
        file.write(content)


@pytest.mark.parametrize(("count", "has_find"), [(300, True), (2_000, True), (2_000, False)])
def test_edits_of_the_same_size_are_saved_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, has_find: bool
) -> None:
    project = tmp_path / "project"
    write(project, {**TREE, **{f"part/{n}": b"1" for n in range(count)}, "kept.o": b"1"})
    git(project, "init", "-q")
    git(project, "add", "-f", "kept.o", "part/0")
    if not has_find:
        (tmp_path / "programs").mkdir()
        (tmp_path / "programs/git").symlink_to(shutil.which("git") or "")
        monkeypatch.setenv("PATH", os.fspath(tmp_path / "programs"))
    shadow = ShadowRepository(project)
    first = shadow.snapshot()
    for number in range(5):
        root = Path(shadow.make_worktree("t1", first))
        expected = ["kept.o", "part/7", f"part/{number + 10}"]
        for path in expected:
            _edit_in_place(root / path, b"2")
        now = shadow.snapshot_worktree("t1", first)
        assert shadow.list_changed(first, now) == sorted(expected)
        _edit_in_place(root / "part/7", b"1")
        _edit_in_place(root / "part/200", b"2")
        assert shadow.list_changed(first, shadow.snapshot_worktree("t1", first)) == [
            "kept.o",
            f"part/{number + 10}",
            "part/200",
        ]


@pytest.mark.parametrize("inside", ["", "services/api/"])
def test_the_first_worktree_has_the_projects_files_whatever_the_last_commit_has(tmp_path: Path, inside: str) -> None:
    top, project = tmp_path / "top", tmp_path / "top" / inside
    write(project, {**TREE, "gone": b"1", "becomes a folder": b"1", "link": Link("gone"), "tracked.o": b"1"})
    write(project, {".headway/worktrees/x": b"1"})
    write(top, {"outside": b"1"})
    git(top, "init", "-q")
    git(top, "add", "-A", "-f")
    git(top, "commit", "-q", "-m", "first")
    for path in ("gone", "becomes a folder", "link"):
        os.unlink(project / path)
    changed: dict[str, Content] = {"part/3": b"2", "becomes a folder/x": b"1", "link": b"no link", "new": b"1"}
    write(project, {**changed, "not tracked.o": b"1"})
    expected = files(project)
    expected.pop("not tracked.o")
    places = open_workspaces(os.fspath(project), "s", parallel=1, in_memory=False)

    async def first() -> str:
        return await places.prepare(await places.reserve("t1"))

    assert files(asyncio.run(first())) == expected
    places.close()


@pytest.mark.parametrize("what", ["too large", "a repository", "sparse"])
def test_a_last_commit_with_other_files_than_the_project_is_not_checked_out(tmp_path: Path, what: str) -> None:
    write(tmp_path, TREE)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    if what == "a repository":
        git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(tmp_path, "commit", "-q", "-m", "first")
    if what == "sparse":
        git(tmp_path, "sparse-checkout", "set", "--no-cone", "/run")
    if what == "too large":
        write(tmp_path, {"large": b"0" * 1_100_000})
        git(tmp_path, "add", "large")
        git(tmp_path, "commit", "-q", "-m", "large")
    shadow = ShadowRepository(tmp_path, rules=CheckpointRules(max_file_mb=1))
    shadow.fill_worktree_early("t1")
    assert not (tmp_path / ".headway/worktrees/t1").exists()
