"""Merge the changes of two sides path by path: a file is the same file only under the same name.

Git's own merge takes a similar file for the same one renamed, and would put an item's changes into a file of a
person's that the item never saw.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence

from headway.execute import on_disk
from headway.execute.git import Git, GitFailed
from headway.execute.on_disk import PathChange

_MOST_CONFLICTS = 127
"""What `git merge-file` ends with when there are that many or more; what is above says that it could not merge."""


def merge_changes(
    git: Git, ours: Sequence[PathChange], theirs: Sequence[PathChange]
) -> tuple[list[PathChange], list[str]]:
    """Return what `theirs` changes on top of `ours`, and the paths that both changed in the same places."""
    there = {change.path: change for change in ours}
    wanted: list[PathChange] = []
    both: list[tuple[PathChange, PathChange]] = []
    conflicts = set(_list_file_folder_conflicts(ours, theirs))
    for change in theirs:
        other = there.get(change.path)
        if other is None:
            wanted.append(change)
        elif _merge_result(change) != _merge_result(other):
            both.append((other, change))
    blobs = {name for pair in both if _is_edited_by_both(pair) for name in (pair[0].old, pair[0].new, pair[1].new)}
    contents = git.read_blobs(blobs)
    for other, change in both:
        mode = _merge_value(change.old_mode, other.new_mode, change.new_mode)
        blob = _merge_value(change.old, other.new, change.new)
        if blob is None and _is_edited_by_both((other, change)):
            blob = _merge_contents(git, *(contents[name] for name in (other.new, change.old, change.new)))
        if mode is None or blob is None:
            conflicts.add(change.path)
        else:
            wanted.append(PathChange(other.new_mode, mode, other.new, blob, change.path))
    return wanted, sorted(conflicts)


def _list_file_folder_conflicts(ours: Sequence[PathChange], theirs: Sequence[PathChange]) -> Iterable[str]:
    """What is a file on one side and a folder on the other can only come on both."""
    for some, others in ((ours, theirs), (theirs, ours)):
        files = {change.path for change in some if not change.leaves}
        for change in others:
            if change.comes:
                yield from (folder for folder in on_disk.list_parents(change.path) if folder in files)


def _merge_result(change: PathChange) -> tuple[str, str]:
    return change.new_mode, change.new


def _is_edited_by_both(pair: tuple[PathChange, PathChange]) -> bool:
    """Whether both have changed a file that was there and still is, none of them a link."""
    return not any(change.comes or change.leaves for change in pair) and not any(
        on_disk.LINK in (change.old_mode, change.new_mode) for change in pair
    )


def _merge_value(before: str, ours: str, theirs: str) -> str | None:
    """Return what becomes of a value; None if both changed it, and not to the same."""
    if ours in (before, theirs):
        return theirs
    return ours if theirs == before else None


def _merge_contents(git: Git, ours: bytes, before: bytes, theirs: bytes) -> str | None:
    """Write what becomes of a file's content and return its name; None for a conflict."""
    with tempfile.TemporaryDirectory(prefix="headway-") as folder:
        paths = [os.path.join(folder, name) for name in ("ours", "before", "theirs")]
        for path, content in zip(paths, (ours, before, theirs), strict=True):
            with open(path, "wb") as file:
                file.write(content)
        try:
            merged = git.run("merge-file", "--stdout", "--quiet", *paths)
        except GitFailed as failed:
            if 0 < failed.code <= _MOST_CONFLICTS or "binary" in failed.said:
                return None
            raise
    return git.run("hash-object", "-w", "--stdin", stdin=merged).decode().strip()
