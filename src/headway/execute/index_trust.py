"""What git writes in the second in which it also writes the index: as a rule, it reads all of it again to be sure.

Most builds of git compare times by the second. A file that was changed in the second in which it was checked out looks
unchanged to them, so they trust no entry as young as the index. For 20,000 files, that takes half as long as checking
them out. Here, the index is made to look a second younger, and git is told which files changed since.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress

from headway.execute.git import Git, IndexedTree

_SECOND = 1_000_000_000
_TICK = 20_000_000
"""Nanoseconds in which two changes may get the same time."""
_WORTHWHILE = 100_000
"""Bytes of an index, of about a thousand files; git reads fewer again in less time than the commands here take."""
_FEW = 100
"""Files that are asked about by name; reading what git says of 20,000 takes 6 ms."""


def trust_index(tree: IndexedTree) -> None:
    """Have git trust an index that has just been written with all its files, until `doubt_changed`.

    Where it was trusted before, all that changed since the first time will be doubted. A small index is left alone.
    """
    if os.stat(tree.index).st_size < _WORTHWHILE:
        return
    mark = _mark_path(tree)
    if not os.path.lexists(mark):
        before = _file_system_time(tree) - _TICK
        with open(mark, "xb"):
            os.utime(mark, ns=(before, before))
    written = os.stat(tree.index).st_mtime_ns
    os.utime(tree.index, ns=(written, written + _SECOND))


def is_trusted(tree: IndexedTree) -> bool:
    return os.path.lexists(_mark_path(tree))


def doubt_changed(git: Git, tree: IndexedTree) -> None:
    """Have git read the files again that changed since the index was trusted."""
    mark = _mark_path(tree)
    if not os.path.lexists(mark):
        return
    trusted_at, now = os.stat(mark).st_mtime_ns, _file_system_time(tree)
    changed = _list_changed(tree.root, mark)
    if changed is None:
        os.utime(tree.index, ns=(trusted_at, trusted_at))
        os.unlink(mark)
        return
    written = os.stat(tree.index).st_mtime_ns
    asked = ["--", *map(os.fsdecode, changed)] if len(changed) <= _FEW else []
    listed = git.run("--literal-pathspecs", "ls-files", "-z", "-s", *asked, tree=tree) if changed else b""
    entries = listed.split(b"\0")
    if doubted := [entry for entry in entries if entry.partition(b"\t")[2] in changed]:
        # An entry that is written anew says nothing of what its file looks like.
        git.run("update-index", "-z", "--index-info", tree=tree, stdin=b"".join(entry + b"\0" for entry in doubted))
        os.utime(tree.index, ns=(written, written))
    if now > written + _TICK:
        os.unlink(mark)


def _mark_path(tree: IndexedTree) -> str:
    return f"{tree.index}.trusted"


def _file_system_time(tree: IndexedTree) -> int:
    """Return the time that a file gets which is changed now, by the clock of the file system."""
    os.utime(tree.lock)
    return os.fstat(tree.lock).st_mtime_ns


def _list_changed(root: str, mark: str) -> set[bytes] | None:
    """Return the files below a folder that are younger than the mark; None if that cannot be told."""
    with suppress(OSError):
        done = subprocess.run(
            ["find", ".", "-cnewer", mark, "!", "-type", "d", "-print0"],
            cwd=root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode == 0:
            return {path.removeprefix(b"./") for path in done.stdout.split(b"\0")[:-1]}
    return None
