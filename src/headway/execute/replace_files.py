"""Change files of a project one by one, such that nothing is lost that someone else saves in the same moment.

A new file changes places with the old one, which is looked at once more before it goes. If one of them turns out to be
different from what was expected, everything is put back. New and old files wait in a staging folder under the paths
that they have in the project, so that `recover_staged` can tell what belongs where after a `kill -9`.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from headway.core.errors import FilesChanged
from headway.core.text import join_first_few
from headway.execute import on_disk
from headway.execute.on_disk import PathChange
from headway.tools.files.atomic_write import exchange_files

_ANY_FOLDER = -100
"""AT_FDCWD: both paths are absolute."""


def changed_meanwhile_error(paths: Iterable[str]) -> FilesChanged:
    """Return what says that files of the project are not as they were, so that nothing was written."""
    files = sorted(set(paths))
    return FilesChanged(
        f"Someone changed these files in the meantime: {join_first_few(files)}; nothing was written. Review them, "
        "and move conflicting files out of the way.",
        files,
        is_momentary=True,
    )


class FileDisturbed(Exception):
    """Someone else changed a file in the meantime; everything is as it was."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(path)


@dataclass(frozen=True, slots=True)
class _ReplacementStep:
    """What was done to one file."""

    change: PathChange
    aside: str | None
    """Where the old file is until the end; None if there was none."""


class FileReplacer:
    """One pass over a project's files. `read` returns the content of a blob."""

    def __init__(self, root: str, staging: str, changes: Sequence[PathChange], read: Callable[[str], bytes]) -> None:
        self._root = root
        self._staging = os.path.join(staging, secrets.token_hex(8))
        self._changes = changes
        self._read = read
        self._done: list[_ReplacementStep] = []
        self._moved: dict[str, os.stat_result] = {}
        """Blob → how the file was protected that had it and leaves."""

    def run(self) -> None:
        """Make all changes or, with `FileDisturbed` or `OSError`, none."""
        try:
            for change in sorted(self._changes, key=_removal_first):
                self._apply(change)
            self._check_once_more()
        except BaseException:
            self._undo()
            self._clear()
            raise
        self._clear()

    def _apply(self, change: PathChange) -> None:
        if on_disk.is_beyond_link(self._root, change.path):
            raise FileDisturbed(change.path)
        if change.leaves:
            self._remove(change)
        elif change.comes:
            self._add(change)
        else:
            self._replace(change)

    def _remove(self, change: PathChange) -> None:
        aside = self._stage(change)
        try:
            try:
                os.rename(self._full_path(change), aside)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                aside = self._path_beside(change)
                os.rename(self._full_path(change), aside)
        except (FileNotFoundError, NotADirectoryError):
            raise FileDisturbed(change.path) from None
        self._done.append(_ReplacementStep(change, aside))
        self._check_unchanged(change, aside)
        self._moved[change.old] = os.lstat(aside)
        self._remove_empty_folders(change.path)

    def _add(self, change: PathChange) -> None:
        try:
            if on_disk.file_kind(self._root, change.path) == "folder":
                on_disk.remove_caches(self._root, change.path)
            os.makedirs(os.path.dirname(self._full_path(change)), exist_ok=True)
            like = self._moved.get(change.new)
            new = self._write(change, self._stage(change), like)
            try:
                os.link(new, self._full_path(change), follow_symlinks=False)
            except OSError as error:
                if error.errno not in (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP):
                    raise
                self._write(change, self._full_path(change), like)  # another file system, or one without hard links
            finally:
                os.unlink(new)
        except (FileExistsError, NotADirectoryError):
            raise FileDisturbed(change.path) from None
        self._done.append(_ReplacementStep(change, None))

    def _replace(self, change: PathChange) -> None:
        try:
            status = os.lstat(self._full_path(change))
        except (FileNotFoundError, NotADirectoryError):
            raise FileDisturbed(change.path) from None
        for place in (self._stage, self._path_beside):
            new = self._write(change, place(change), status)
            if exchange_files(_ANY_FOLDER, new, self._full_path(change)):
                break
            os.unlink(new)
        else:
            new = self._replace_after_a_look(change, status)
        self._done.append(_ReplacementStep(change, new))
        self._check_unchanged(change, new)

    def _replace_after_a_look(self, change: PathChange, status: os.stat_result) -> str:
        """Where the system cannot make two files change places, the look just before has to do."""
        new, old = self._write(change, self._path_beside(change), status), self._path_beside(change)
        if not on_disk.is_as_before(self._root, change):
            os.unlink(new)
            raise FileDisturbed(change.path)
        os.rename(self._full_path(change), old)
        os.rename(new, self._full_path(change))
        return old

    def _write(self, change: PathChange, path: str, like: os.stat_result | None) -> str:
        """Write what a file is to be; return where."""
        content = self._read(change.new)
        if change.new_mode == on_disk.LINK:
            os.symlink(os.fsdecode(content), path)
            return path
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with open(descriptor, "wb") as file:
            file.write(content)
            mode = (os.fstat(descriptor).st_mode if like is None else like.st_mode) & 0o777
            os.fchmod(descriptor, _executable_bits(mode) if change.new_mode == on_disk.PROGRAM else mode & ~0o111)
            if like is not None:
                with suppress(PermissionError):
                    os.fchown(descriptor, like.st_uid, like.st_gid)
        return path

    def _check_unchanged(self, change: PathChange, aside: str) -> None:
        """Refuse an old file that is not as it was."""
        if not on_disk.is_as_before(os.path.dirname(aside), change._replace(path=os.path.basename(aside))):
            raise FileDisturbed(change.path)

    def _check_once_more(self) -> None:
        """Whoever had a file open may have written into it after it was set aside."""
        for step in self._done:
            if step.aside is not None:
                self._check_unchanged(step.change, step.aside)

    def _undo(self) -> None:
        for step in reversed(self._done):
            path, new_is_there = (
                self._full_path(step.change),
                on_disk.is_as_before(self._root, _invert_change(step.change)),
            )
            with suppress(OSError):
                if step.aside is None:
                    if new_is_there:
                        os.unlink(path)
                        self._remove_empty_folders(step.change.path)
                elif step.change.leaves:
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    if not os.path.lexists(path):
                        os.rename(step.aside, path)
                elif new_is_there:
                    os.replace(step.aside, path)

    def _clear(self) -> None:
        for step in self._done:
            if step.aside is not None:
                with suppress(OSError):
                    os.unlink(step.aside)
        shutil.rmtree(self._staging, ignore_errors=True)

    def _full_path(self, change: PathChange) -> str:
        return os.path.join(self._root, change.path)

    def _stage(self, change: PathChange) -> str:
        # A file that leaves and one that comes may be each other's folder.
        path = os.path.join(self._staging, "old" if change.leaves else "new", change.path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def _path_beside(self, change: PathChange) -> str:
        return os.path.join(os.path.dirname(self._full_path(change)), f".headway-{secrets.token_hex(8)}.tmp")

    def _remove_empty_folders(self, path: str) -> None:
        with suppress(OSError):
            for folder in reversed(list(on_disk.list_parents(path))):
                os.rmdir(os.path.join(self._root, folder))


def recover_staged(root: str, staging: str, known: Mapping[str, frozenset[str]]) -> list[str]:
    """Put back what a process that was killed had set aside; return the paths that could not be.

    `known` has the blobs of each path that are saved anyway. Anything else is what a person saved in that very moment.
    """
    left: list[str] = []
    for pass_folder in _list_entries(staging):
        for full in _list_files_below(pass_folder):
            path = os.path.relpath(full, pass_folder).partition(os.sep)[2]  # without "old" or "new"
            here = os.path.join(root, path)
            if on_disk.find_blob(full) in known.get(path, ()):
                os.unlink(full)
            elif not os.path.lexists(here) or on_disk.find_blob(here) in known.get(path, ()):
                os.makedirs(os.path.dirname(here), exist_ok=True)
                os.replace(full, here)
            else:
                left.append(path)
        if not any(_list_files_below(pass_folder)):
            shutil.rmtree(pass_folder, ignore_errors=True)
    return left


def _list_entries(folder: str) -> list[str]:
    with suppress(FileNotFoundError):
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    return []


def _list_files_below(folder: str) -> Iterator[str]:
    for at, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(at, name))]
        yield from (os.path.join(at, name) for name in (*names, *links))


def _removal_first(change: PathChange) -> tuple[bool, bool]:
    """What leaves makes room for what comes."""
    return (not change.leaves, change.comes)


def _invert_change(change: PathChange) -> PathChange:
    return PathChange(change.new_mode, change.old_mode, change.new, change.old, change.path)


def _executable_bits(mode: int) -> int:
    """Whoever may read it may run it."""
    return mode | (mode & 0o444) >> 2
