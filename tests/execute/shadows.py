"""Projects on the disk for the tests of checkpoints: how they are written, looked at, and put into a repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Link:
    to: str


@dataclass(frozen=True)
class Program:
    content: bytes


Content = bytes | Link | Program


def write(root: Path | str, files: Mapping[str, Content]) -> None:
    for path, content in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if isinstance(content, Link):
            os.symlink(content.to, full)
            continue
        with open(full, "wb") as file:
            file.write(content.content if isinstance(content, Program) else content)
        os.chmod(full, 0o755 if isinstance(content, Program) else 0o644)


def files(root: Path | str) -> dict[str, Content]:
    """All there is, apart from the folders `.git` and `.headway` at the top; an empty folder ends in a slash."""
    found: dict[str, Content] = {}
    _look(os.fspath(root), "", found)
    return found


def _look(root: str, folder: str, found: dict[str, Content]) -> None:
    entries = [e for e in os.scandir(os.path.join(root, folder)) if folder or e.name not in (".git", ".headway")]
    if folder and not entries:
        found[f"{folder}/"] = b""
    for entry in entries:
        path = os.path.join(folder, entry.name)
        if entry.is_symlink():
            found[path] = Link(os.readlink(entry.path))
        elif entry.is_dir():
            _look(root, path, found)
        else:
            with open(entry.path, "rb") as file:
                content = file.read()
            found[path] = Program(content) if entry.stat().st_mode & 0o100 else content


def clear(root: Path | str) -> None:
    for entry in list(os.scandir(root)):
        if entry.name in (".git", ".headway"):
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def become(root: Path | str, tree: Mapping[str, Content]) -> None:
    clear(root)
    write(root, tree)


def git(root: Path | str, *arguments: str, fine: tuple[int, ...] = (0,)) -> str:
    """The user's own git, in the user's own repository."""
    who = ("-c", "user.name=u", "-c", "user.email=u@example.org")
    done = subprocess.run(["git", *who, *arguments], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode in fine, done.stderr
    return done.stdout


def bytes_below(folder: Path | str) -> dict[str, tuple[int, bytes]]:
    """Every file of a folder with its mode and content."""
    return {
        os.path.relpath(os.path.join(at, name), folder): (
            os.lstat(os.path.join(at, name)).st_mode,
            Path(at, name).read_bytes(),
        )
        for at, _, names in os.walk(folder)
        for name in names
    }
