"""What is on the disk of a project, looked at without following a link."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from headway.execute.checkpoint_rules import is_cache

LINK, PROGRAM, NOTHING = "120000", "100755", "000000"
"""Modes of files as git writes them."""


class PathChange(NamedTuple):
    """What becomes of a file, as git tells it."""

    old_mode: str
    new_mode: str
    old: str
    new: str
    path: str

    @property
    def comes(self) -> bool:
        return self.old_mode == NOTHING

    @property
    def leaves(self) -> bool:
        return self.new_mode == NOTHING


def list_not_as_before(root: str, changes: Sequence[PathChange]) -> list[str]:
    """Files that are not as they were before the changes, and what is in the way of new ones."""
    leaving = {change.path for change in changes if change.leaves}
    wrong: list[str] = []
    for change in changes:
        if not change.comes:
            if not is_as_before(root, change):
                wrong.append(change.path)
        elif (found := find_obstacle(root, change.path, leaving)) is not None:
            wrong.append(found)
    return wrong


def list_parents(path: str) -> Iterator[str]:
    """The folders a path is in, from the top."""
    at = path.find("/")
    while at != -1:
        yield path[:at]
        at = path.find("/", at + 1)


def file_kind(root: str, path: str) -> str:
    """`file` (or link), `folder`, `missing`, `unreadable` or `special`."""
    return file_kind_and_size(root, path)[0]


def file_kind_and_size(root: str, path: str) -> tuple[str, int]:
    full = os.path.join(root, path)
    try:
        found = os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return "missing", 0
    except OSError:
        return "unreadable", 0
    mode = found.st_mode
    if stat.S_ISREG(mode):
        is_readable = mode & 0o444 == 0o444 or os.access(full, os.R_OK)
        return "file" if is_readable else "unreadable", found.st_size
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISLNK(mode) else "special", 0


def is_beyond_link(root: str, path: str) -> bool:
    return any(os.path.islink(os.path.join(root, folder)) for folder in list_parents(path))


def is_file(root: str, path: str) -> bool:
    """Whether a file or link is there itself, and not only by way of a link."""
    return file_kind(root, path) == "file" and not is_beyond_link(root, path)


def is_as_before(root: str, change: PathChange) -> bool:
    """Whether the file is what it is before the change."""
    full, mode, blob = os.path.join(root, change.path), change.old_mode, change.old
    if is_beyond_link(root, change.path):
        return False
    try:
        there = os.lstat(full).st_mode
        if mode == LINK:
            return stat.S_ISLNK(there) and _blob(os.fsencode(os.readlink(full))) == blob
        if not stat.S_ISREG(there) or bool(there & 0o100) != (mode == PROGRAM):
            return False
        with open(full, "rb") as file:
            return _blob(file.read()) == blob
    except OSError:
        return False


def read_file(path: str) -> bytes | None:
    """Return the content of a file; None if there is none. Waits for no pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a file", path)
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def find_blob(full: str) -> str | None:
    """The name that git gives to the content of a file or link; None for what is neither."""
    try:
        if os.path.islink(full):
            return _blob(os.fsencode(os.readlink(full)))
        with open(full, "rb") as file:
            return _blob(file.read())
    except OSError:
        return None


def _blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def find_obstacle(root: str, path: str, leaving: Collection[str]) -> str | None:
    """What keeps a new file from its place, apart from files that leave before it comes."""
    for folder in list_parents(path):
        full = os.path.join(root, folder)
        if os.path.islink(full) or (os.path.lexists(full) and not os.path.isdir(full)):
            return None if folder in leaving else folder
        if os.path.lexists(os.path.join(full, ".git")):
            return folder  # a repository of its own: nothing is put into it
    full = os.path.join(root, path)
    if os.path.isdir(full) and not os.path.islink(full):
        return next((file for file in list_files_below(root, path) if file not in leaving and not is_cache(file)), None)
    return path if os.path.lexists(full) else None


def remove_caches(root: str, folder: str) -> None:
    """Remove a folder in which nothing is but caches and empty folders; of another one, only those."""
    for file in list(list_files_below(root, folder)):
        if is_cache(file):
            os.unlink(os.path.join(root, file))
    for at, _, _ in os.walk(os.path.join(root, folder), topdown=False):
        with suppress(OSError):  # something is left in it
            os.rmdir(at)


def list_files_below(root: str, folder: str) -> Iterator[str]:
    with os.scandir(os.path.join(root, folder)) as entries:
        for entry in entries:
            path = f"{folder}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield from list_files_below(root, path)
            else:
                yield path


def find_write_protected(root: str, paths: Iterable[str]) -> str | None:
    """A folder that must be written to for a change of these files, and may not be."""
    seen: set[str] = set()
    for path in paths:
        folder = os.path.dirname(os.path.join(root, path))
        while not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        if folder not in seen and not os.access(folder, os.W_OK | os.X_OK):
            return folder
        seen.add(folder)
    return None


def remove(path: str) -> None:
    """Removes a file, link or folder with all there is in it, also what is protected from that."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, onerror=_allow_and_retry)
        return
    with suppress(FileNotFoundError):
        os.unlink(path)


def make_way(folder: str, path: str) -> None:
    """Remove links and files in the place of folders on the way down to a path, so that it leads nowhere else."""
    for part in os.path.relpath(path, folder).split(os.sep):
        folder = os.path.join(folder, part)
        if os.path.islink(folder) or os.path.isfile(folder):
            os.unlink(folder)


def remove_within(folder: str, wanted: Callable[[str], bool], *, in_use: bool = False) -> None:
    """Remove what has such a name from a folder, and that if it is empty then; never what a link leads to.

    `in_use`: others make something in the folder at the same time, so it stays.
    """
    if os.path.islink(folder):
        os.unlink(folder)
    elif os.path.isdir(folder):
        for name in os.listdir(folder):
            if wanted(name):
                remove(os.path.join(folder, name))
        if not in_use:
            with suppress(OSError):  # something is left in it
                os.rmdir(folder)


def _allow_and_retry(function: Callable[[str], object], path: str, _: object) -> None:
    if not os.path.lexists(path):
        return
    for folder in (os.path.dirname(path), path):
        if os.path.isdir(folder) and not os.path.islink(folder):
            os.chmod(folder, 0o700)
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
