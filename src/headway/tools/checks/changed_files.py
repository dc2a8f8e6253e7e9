"""Which files of a project changed since a moment, as far as their sizes and times tell it; of ignored ones not."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress

from headway.tools.checks.check_files import NOT_LOOKED_INTO
from headway.tools.files.gitignore import IgnoreRules, TooManyRules

MAX_FILES = 100_000
Tree = Mapping[str, tuple[int, int, int]]
"""Path → size, time and inode of a file."""


def read_tree(folder: str) -> Tree:
    rules = _read_ignore_rules(folder)
    found: dict[str, tuple[int, int, int]] = {}
    for at, folders, names in os.walk(folder):
        inside = os.path.relpath(at, folder)
        prefix = "" if inside == "." else f"{inside}/"
        folders[:] = [
            name for name in folders if name not in NOT_LOOKED_INTO and not rules.is_ignored(f"{prefix}{name}/")
        ]
        for name in names:
            if name.endswith((".pyc", ".pyo")) or name == ".coverage" or rules.is_ignored(f"{prefix}{name}"):
                continue
            with suppress(OSError):
                about = os.lstat(os.path.join(at, name))
                found[f"{prefix}{name}"] = (about.st_size, about.st_mtime_ns, about.st_ino)
        if len(found) > MAX_FILES:
            break
    return found


def read_files(folder: str, paths: Iterable[str]) -> Tree:
    """Return those of the files that are there."""
    found: dict[str, tuple[int, int, int]] = {}
    for path in paths:
        with suppress(OSError):
            about = os.lstat(os.path.join(folder, path))
            found[path] = (about.st_size, about.st_mtime_ns, about.st_ino)
    return found


def list_changed(before: Tree, now: Tree) -> list[str]:
    return sorted(path for path in {*before, *now} if before.get(path) != now.get(path))


def _read_ignore_rules(folder: str) -> IgnoreRules:
    path = os.path.join(folder, ".gitignore")
    with suppress(OSError, TooManyRules):
        if os.path.isfile(path):  # a pipe would be waited for
            with open(path, "rb") as file:
                return IgnoreRules(os.fsdecode(file.read(1_000_000)))
    return IgnoreRules("")
