"""What saving the files and making a worktree costs in a repository of 20,000 files, beside git's own commands."""

from __future__ import annotations

import asyncio
import os
import subprocess
from functools import cache
from pathlib import Path

from headway.execute.workspaces import Workspaces, open_workspaces

from .measure import Measured, Row, side_by_side

FOLDERS, FILES = 200, 100


@cache
def _repository(folder: Path) -> Path:
    """Make a repository with 20,000 committed files; once for all rows."""
    project = folder / "repository"
    for number in range(FOLDERS):
        part = project / f"part{number}"
        part.mkdir(parents=True)
        for file in range(FILES):
            (part / f"module{file}.py").write_text(
                f"def value_{number}_{file}() -> int:\n    return {number * file}\n" * 10
            )
    _git(project, "init", "-q")
    _git(project, "add", "-A")
    _git(project, "-c", "user.name=bench", "-c", "user.email=bench", "commit", "-qm", "files")
    return project


def _git(project: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=project, check=True, capture_output=True)


def _do_item(workspaces: Workspaces, todo_id: str) -> None:
    """Do with the files what an item does that changes one of them."""

    async def work() -> None:
        workspace = await workspaces.reserve(todo_id)
        folder = await workspaces.prepare(workspace)
        Path(folder, "part1", "module1.py").write_text(f"{todo_id}\n")
        await workspaces.collect(workspace, wanted=True, written=(), merging=lambda before, after: None)
        workspaces.release(workspace, keep=False)

    asyncio.run(work())


def _open(project: Path) -> Workspaces:
    return open_workspaces(str(project), "default", parallel=1, in_memory=False)


def first(folder: Path) -> Measured:
    project = _repository(folder)

    def clear(number: int) -> None:
        (project / ".headway").mkdir(exist_ok=True)
        (project / ".headway").rename(folder / f"before{number}")  # ext4 is slow to reuse what was just deleted
        (project / ".headway").mkdir()
        os.sync()

    return side_by_side(
        lambda number: _do_item(_open(project), f"t{number}"),
        lambda number: _git(project, "worktree", "add", "-q", "--detach", str(folder / f"tree{number}")),
        5,
        before=clear,
        between=lambda number: os.sync(),  # else either side waits for what the other wrote
    )


def further(folder: Path) -> Measured:
    project = _repository(folder)
    workspaces = _open(project)
    _do_item(workspaces, "first")
    measured = side_by_side(
        lambda number: _do_item(workspaces, f"t{number}"),
        lambda number: _git(project, "status", "--porcelain"),
        7,
    )
    workspaces.close()
    return measured


ROWS = [
    Row("20,000 files: the first item", "git worktree add", 2, first),
    Row("20,000 files: each further item", "git status", 6, further),
]
