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

from headway.core.errors import HeadwayError
from headway.core.text import some
from headway.execute import on_disk
from headway.execute.on_disk import Change
from headway.tools.files.writing import exchange

_ANY_FOLDER = -100
"""AT_FDCWD: both paths are absolute."""


class FilesChanged(HeadwayError):
    """Files of the project are not as they were; nothing was changed."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = sorted(set(paths))
        super().__init__(
            f"Someone changed these files in the meantime: {some(self.paths)}; nothing was written. Review them, "
            "and move conflicting files out of the way."
        )


class Disturbed(Exception):
    """Someone else changed a file in the meantime; everything is as it was."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(path)


@dataclass(frozen=True, slots=True)
class _Step:
    """What was done to one file."""

    change: Change
    aside: str | None
    """Where the old file is until the end; None if there was none."""


class FileReplacement:
    """One pass over a project's files. `read` returns the content of a blob."""

    def __init__(self, root: str, staging: str, changes: Sequence[Change], read: Callable[[str], bytes]) -> None:
        self._root = root
        self._staging = os.path.join(staging, secrets.token_hex(8))
        self._changes = changes
        self._read = read
        self._done: list[_Step] = []
        self._moved: dict[str, os.stat_result] = {}
        """Blob → how the file was protected that had it and leaves."""

    def run(self) -> None:
        """Make all changes or, with `Disturbed` or `OSError`, none."""
        try:
            for change in sorted(self._changes, key=_order):
                self._apply(change)
            self._check_once_more()
        except BaseException:
            self._undo()
            self._clear()
            raise
        self._clear()

    def _apply(self, change: Change) -> None:
        if on_disk.beyond_link(self._root, change.path):
            raise Disturbed(change.path)
        if change.leaves:
            self._remove(change)
        elif change.comes:
            self._add(change)
        else:
            self._replace(change)

    def _remove(self, change: Change) -> None:
        aside = self._stage(change)
        try:
            try:
                os.rename(self._full(change), aside)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                aside = self._beside(change)
                os.rename(self._full(change), aside)
        except (FileNotFoundError, NotADirectoryError):
            raise Disturbed(change.path) from None
        self._done.append(_Step(change, aside))
        self._expect(change, aside)
        self._moved[change.old] = os.lstat(aside)
        self._remove_empty_folders(change.path)

    def _add(self, change: Change) -> None:
        try:
            if on_disk.kind(self._root, change.path) == "folder":
                on_disk.remove_caches(self._root, change.path)
            os.makedirs(os.path.dirname(self._full(change)), exist_ok=True)
            like = self._moved.get(change.new)
            new = self._write(change, self._stage(change), like)
            try:
                os.link(new, self._full(change), follow_symlinks=False)
            except OSError as error:
                if error.errno not in (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP):
                    raise
                self._write(change, self._full(change), like)  # another file system, or one without hard links
            finally:
                os.unlink(new)
        except (FileExistsError, NotADirectoryError):
            raise Disturbed(change.path) from None
        self._done.append(_Step(change, None))

    def _replace(self, change: Change) -> None:
        try:
            status = os.lstat(self._full(change))
        except (FileNotFoundError, NotADirectoryError):
            raise Disturbed(change.path) from None
        for place in (self._stage, self._beside):
            new = self._write(change, place(change), status)
            if exchange(_ANY_FOLDER, new, self._full(change)):
                break
            os.unlink(new)
        else:
            new = self._replace_after_a_look(change, status)
        self._done.append(_Step(change, new))
        self._expect(change, new)

    def _replace_after_a_look(self, change: Change, status: os.stat_result) -> str:
        """Where the system cannot make two files change places, the look just before has to do."""
        new, old = self._write(change, self._beside(change), status), self._beside(change)
        if not on_disk.is_as(self._root, change):
            os.unlink(new)
            raise Disturbed(change.path)
        os.rename(self._full(change), old)
        os.rename(new, self._full(change))
        return old

    def _write(self, change: Change, path: str, like: os.stat_result | None) -> str:
        """Write what a file is to be; return where."""
        content = self._read(change.new)
        if change.new_mode == on_disk.LINK:
            os.symlink(os.fsdecode(content), path)
            return path
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with open(descriptor, "wb") as file:
            file.write(content)
            mode = (os.fstat(descriptor).st_mode if like is None else like.st_mode) & 0o777
            os.fchmod(descriptor, _executable(mode) if change.new_mode == on_disk.PROGRAM else mode & ~0o111)
            if like is not None:
                with suppress(PermissionError):
                    os.fchown(descriptor, like.st_uid, like.st_gid)
        return path

    def _expect(self, change: Change, aside: str) -> None:
        """Refuse an old file that is not as it was."""
        if not on_disk.is_as(os.path.dirname(aside), change._replace(path=os.path.basename(aside))):
            raise Disturbed(change.path)

    def _check_once_more(self) -> None:
        """Whoever had a file open may have written into it after it was set aside."""
        for step in self._done:
            if step.aside is not None:
                self._expect(step.change, step.aside)

    def _undo(self) -> None:
        for step in reversed(self._done):
            path, new_is_there = self._full(step.change), on_disk.is_as(self._root, _backwards(step.change))
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

    def _full(self, change: Change) -> str:
        return os.path.join(self._root, change.path)

    def _stage(self, change: Change) -> str:
        # A file that leaves and one that comes may be each other's folder.
        path = os.path.join(self._staging, "old" if change.leaves else "new", change.path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def _beside(self, change: Change) -> str:
        return os.path.join(os.path.dirname(self._full(change)), f".headway-{secrets.token_hex(8)}.tmp")

    def _remove_empty_folders(self, path: str) -> None:
        with suppress(OSError):
            for folder in reversed(list(on_disk.parents(path))):
                os.rmdir(os.path.join(self._root, folder))


def recover_staged(root: str, staging: str, known: Mapping[str, frozenset[str]]) -> list[str]:
    """Put back what a process that was killed had set aside; return the paths that could not be.

    `known` has the blobs of each path that are saved anyway. Anything else is what a person saved in that very moment.
    """
    left: list[str] = []
    for pass_folder in _entries(staging):
        for full in _files_below(pass_folder):
            path = os.path.relpath(full, pass_folder).partition(os.sep)[2]  # without "old" or "new"
            here = os.path.join(root, path)
            if on_disk.blob_of(full) in known.get(path, ()):
                os.unlink(full)
            elif not os.path.lexists(here) or on_disk.blob_of(here) in known.get(path, ()):
                os.makedirs(os.path.dirname(here), exist_ok=True)
                os.replace(full, here)
            else:
                left.append(path)
        if not any(_files_below(pass_folder)):
            shutil.rmtree(pass_folder, ignore_errors=True)
    return left


def _entries(folder: str) -> list[str]:
    with suppress(FileNotFoundError):
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    return []


def _files_below(folder: str) -> Iterator[str]:
    for at, folders, names in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(at, name))]
        yield from (os.path.join(at, name) for name in (*names, *links))


def _order(change: Change) -> tuple[bool, bool]:
    """What leaves makes room for what comes."""
    return (not change.leaves, change.comes)


def _backwards(change: Change) -> Change:
    return Change(change.new_mode, change.old_mode, change.new, change.old, change.path)


def _executable(mode: int) -> int:
    """Whoever may read it may run it."""
    return mode | (mode & 0o444) >> 2
