"""Going through the files under a folder of the workspace, in the order of their paths, for `glob` and `grep`.

Folders are opened one in the other and links never followed, so there are no circles and no way out, also when a folder
is swapped for a link meanwhile. What could not be looked at is counted, and said in `notes`.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from threading import Event

from headway.core.text import shown
from headway.project import FOLDER
from headway.tools.base import ToolFault
from headway.tools.files import closed
from headway.tools.files.ignored import Ignored, TooManyRules, read_ignored
from headway.tools.files.workspace import Place, Workspace, kind_of

DEEPEST = 100
"""Folders in each other; each is held open on the way down, and the workspace goes no deeper."""
MOST_NAMES = 200_000
"""Names taken from one folder."""
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CLOSED = frozenset({".git", FOLDER})


class Stop:
    """When a search must end: its time is over, or nobody waits for it any more."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._set = Event()

    def set(self) -> None:
        self._set.set()

    @property
    def remaining(self) -> float:
        return 0 if self._set.is_set() else self._end - time.monotonic()

    def __bool__(self) -> bool:
        return self.remaining <= 0


@dataclass(frozen=True, slots=True)
class File:
    """An ordinary file, as the walk met it."""

    path: str
    """Relative to the root, links on the way to the walk's beginning resolved."""
    size: int


@dataclass(slots=True)
class _Folder:
    """A folder on the way down."""

    descriptor: int
    path: str
    """With a slash at its end; empty for the root."""
    names: Iterator[tuple[str, bool]]
    """Those not looked at yet, and whether each is a folder."""
    rules: list[tuple[int, Ignored]]
    """Innermost first, each with the length of its folder's path."""


class Walk:
    """One way through the files under a folder."""

    def __init__(self, workspace: Workspace, path: str, stop: Stop) -> None:
        self._workspace = workspace
        self._stop = stop
        self._way: list[_Folder] = []
        self._closed = self._deep = self._crowded = self._rules_unused = 0
        self.stopped = False
        with workspace.place(path) as place:
            self.start = place.path
            """The folder or file, relative to the root."""
            status = place.status()
            if status is None:
                raise FileNotFoundError(errno.ENOENT, "")  # told as the workspace tells it
            self.file = None if stat.S_ISDIR(status.st_mode) else _ordinary(place, status)
            """Set if the path is that of a file, which is then all there is."""

    def files(self) -> Generator[File]:
        """To be closed if it is left early."""
        if self.file is not None:
            yield self.file
            return
        path = "" if self.start == "." else f"{self.start}/"
        rules = self._rules_above(path)
        try:
            self._enter(self._opened(self.start), path, rules)
            while self._way:
                if self._stop:
                    self.stopped = True
                    return
                if (file := self._step(self._way[-1])) is not None:
                    yield file
        finally:
            while self._way:
                os.close(self._way.pop().descriptor)

    def place(self, file: File) -> Place:
        """Where the file that the walk is at can be opened; only until it goes on."""
        return Place(self._way[-1].descriptor, file.path.rpartition("/")[2], file.path)

    def notes(self) -> list[str]:
        """What was left out, a sentence each."""
        found = (
            (self._closed, "folder", "could not be opened"),
            (self._deep, "folder", f"nested deeper than {DEEPEST} levels left out"),
            (self._crowded, "folder", f"with more than {MOST_NAMES:,} names searched only in part"),
            (self._rules_unused, "`.gitignore`", "too large to use"),
        )
        return [f"{count:,} {thing}{'s' * (count > 1)} {what}." for count, thing, what in found if count]

    def _step(self, folder: _Folder) -> File | None:
        name, is_folder = next(folder.names, ("", False))
        if not name:
            os.close(self._way.pop().descriptor)
        elif is_folder:
            self._down(folder, name)
        else:
            with suppress(OSError):  # it is gone again
                status = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    return File(folder.path + name, status.st_size)
        return None

    def _down(self, folder: _Folder, name: str) -> None:
        if folder.path.count("/") >= DEEPEST:
            self._deep += 1
            return
        try:
            descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=folder.descriptor)
        except PermissionError:
            self._closed += 1
        except OSError:  # gone, or something else by now
            pass
        else:
            if closed.is_headways(descriptor, self._workspace.root):
                os.close(descriptor)
            else:
                self._enter(descriptor, f"{folder.path}{name}/", folder.rules)

    def _enter(self, descriptor: int, path: str, rules: list[tuple[int, Ignored]]) -> None:
        folder = _Folder(descriptor, path, iter(()), rules)
        self._way.append(folder)  # from here on it is closed with the others
        if (own := self._rules_in(descriptor)) is not None:
            folder.rules = [(len(path), own), *rules]
        try:
            folder.names = iter(self._names(folder))
        except OSError:
            self._closed += 1

    def _names(self, folder: _Folder) -> list[tuple[str, bool]]:
        found: list[tuple[str, bool]] = []
        with os.scandir(folder.descriptor) as entries:
            for count, entry in enumerate(entries):
                if self._stop:
                    break
                if count >= MOST_NAMES:
                    self._crowded += 1
                    break
                with suppress(OSError):
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if (is_folder or entry.is_file(follow_symlinks=False)) and not _left_out(
                        entry.name, is_folder, folder
                    ):
                        found.append((entry.name, is_folder))
        return sorted(found, key=_order)

    def _opened(self, path: str) -> int:
        with self._workspace.place(path) as place:
            return place.open(_FOLDER_FLAGS)

    def _rules_in(self, descriptor: int) -> Ignored | None:
        try:
            return read_ignored(descriptor)
        except TooManyRules:
            self._rules_unused += 1
            return None

    def _rules_above(self, path: str) -> list[tuple[int, Ignored]]:
        """The rules of the folders around the first one; none if they ignore it, for then it was asked for by name."""
        rules: list[tuple[int, Ignored]] = []
        above = ""
        for name in path.split("/")[:-1]:
            with suppress(ToolFault):  # a folder that may be gone through but not read
                descriptor = self._opened(above or ".")
                try:
                    if (found := self._rules_in(descriptor)) is not None:
                        rules.insert(0, (len(above), found))
                finally:
                    os.close(descriptor)
            above += f"{name}/"
            if is_ignored(above, rules):
                return []
        return rules


def is_ignored(path: str, rules: list[tuple[int, Ignored]]) -> bool:
    """Whether rules leave out a path, relative to the root; that of a folder ends in `/`."""
    for length, ignored in rules:
        verdict = ignored.verdict(path[length:])
        if verdict is not None:
            return verdict
    return False


def _left_out(name: str, is_folder: bool, folder: _Folder) -> bool:
    if name.casefold() in _CLOSED:
        return True
    return bool(folder.rules) and is_ignored(f"{folder.path}{name}{'/' * is_folder}", folder.rules)


def _order(entry: tuple[str, bool]) -> str:
    name, is_folder = entry
    return f"{name}/" if is_folder else name


def _ordinary(place: Place, status: os.stat_result) -> File:
    if kind := kind_of(status):
        raise ToolFault(f"'{shown(place.path, 200)}' is {kind}; name a regular file or a folder.")
    return File(place.path, status.st_size)
