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

from headway.core.text import sanitize_for_display
from headway.project import FOLDER
from headway.tools.base import ToolFault
from headway.tools.files import protected_folders as closed
from headway.tools.files.gitignore import IgnoreRules, TooManyRules, read_ignore_rules
from headway.tools.files.workspace import OpenPath, Workspace, file_kind

DEEPEST = 100
"""Folders in each other; each is held open on the way down, and the workspace goes no deeper."""
MOST_NAMES = 200_000
"""Names taken from one folder."""
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CLOSED = frozenset({".git", FOLDER})


class SearchDeadline:
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
class WalkedFile:
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
    rules: list[tuple[int, IgnoreRules]]
    """Innermost first, each with the length of its folder's path."""


class Walk:
    """One way through the files under a folder."""

    def __init__(self, workspace: Workspace, path: str, stop: SearchDeadline) -> None:
        self._workspace = workspace
        self._stop = stop
        self._way: list[_Folder] = []
        self._closed = self._deep = self._crowded = self._rules_unused = 0
        self.stopped = False
        with workspace.open_place(path) as place:
            self.start: str = place.path
            """The folder or file, relative to the root."""
            status = place.status()
            if status is None:
                raise FileNotFoundError(errno.ENOENT, "")  # told as the workspace tells it
            self.file: WalkedFile | None = None if stat.S_ISDIR(status.st_mode) else _to_walked_file(place, status)
            """Set if the path is that of a file, which is then all there is."""

    def files(self) -> Generator[WalkedFile]:
        """To be closed if it is left early."""
        if self.file is not None:
            yield self.file
            return
        path = "" if self.start == "." else f"{self.start}/"
        rules = self._read_rules_above(path)
        try:
            self._enter(self._open_folder(self.start), path, rules)
            while self._way:
                if self._stop:
                    self.stopped: bool = True
                    return
                if (file := self._next_file(self._way[-1])) is not None:
                    yield file
        finally:
            while self._way:
                os.close(self._way.pop().descriptor)

    def place_of(self, file: WalkedFile) -> OpenPath:
        """Where the file that the walk is at can be opened; only until it goes on."""
        return OpenPath(self._way[-1].descriptor, file.path.rpartition("/")[2], file.path)

    def list_notes(self) -> list[str]:
        """What was left out, a sentence each."""
        found = (
            (self._closed, "folder", "could not be opened"),
            (self._deep, "folder", f"nested deeper than {DEEPEST} levels left out"),
            (self._crowded, "folder", f"with more than {MOST_NAMES:,} names searched only in part"),
            (self._rules_unused, "`.gitignore`", "too large to use"),
        )
        return [f"{count:,} {thing}{'s' * (count > 1)} {what}." for count, thing, what in found if count]

    def _next_file(self, folder: _Folder) -> WalkedFile | None:
        name, is_folder = next(folder.names, ("", False))
        if not name:
            os.close(self._way.pop().descriptor)
        elif is_folder:
            self._enter_subfolder(folder, name)
        else:
            with suppress(OSError):  # it is gone again
                status = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    return WalkedFile(folder.path + name, status.st_size)
        return None

    def _enter_subfolder(self, folder: _Folder, name: str) -> None:
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
            if closed.is_headway_folder(descriptor, self._workspace.root):
                os.close(descriptor)
            else:
                self._enter(descriptor, f"{folder.path}{name}/", folder.rules)

    def _enter(self, descriptor: int, path: str, rules: list[tuple[int, IgnoreRules]]) -> None:
        folder = _Folder(descriptor, path, iter(()), rules)
        self._way.append(folder)  # from here on it is closed with the others
        if (own := self._read_rules(descriptor)) is not None:
            folder.rules = [(len(path), own), *rules]
        try:
            folder.names = iter(self._list_names(folder))
        except OSError:
            self._closed += 1

    def _list_names(self, folder: _Folder) -> list[tuple[str, bool]]:
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
                    if (is_folder or entry.is_file(follow_symlinks=False)) and not _is_left_out(
                        entry.name, is_folder, folder
                    ):
                        found.append((entry.name, is_folder))
        return sorted(found, key=_sort_key)

    def _open_folder(self, path: str) -> int:
        with self._workspace.open_place(path) as place:
            return place.open(_FOLDER_FLAGS)

    def _read_rules(self, descriptor: int) -> IgnoreRules | None:
        try:
            return read_ignore_rules(descriptor)
        except TooManyRules:
            self._rules_unused += 1
            return None

    def _read_rules_above(self, path: str) -> list[tuple[int, IgnoreRules]]:
        """The rules of the folders around the first one; none if they ignore it, for then it was asked for by name."""
        rules: list[tuple[int, IgnoreRules]] = []
        above = ""
        for name in path.split("/")[:-1]:
            with suppress(ToolFault):  # a folder that may be gone through but not read
                descriptor = self._open_folder(above or ".")
                try:
                    if (found := self._read_rules(descriptor)) is not None:
                        rules.insert(0, (len(above), found))
                finally:
                    os.close(descriptor)
            above += f"{name}/"
            if is_ignored(above, rules):
                return []
        return rules


def is_ignored(path: str, rules: list[tuple[int, IgnoreRules]]) -> bool:
    """Whether rules leave out a path, relative to the root; that of a folder ends in `/`."""
    for length, ignored in rules:
        verdict = ignored.is_ignored(path[length:])
        if verdict is not None:
            return verdict
    return False


def _is_left_out(name: str, is_folder: bool, folder: _Folder) -> bool:
    if name.casefold() in _CLOSED:
        return True
    return bool(folder.rules) and is_ignored(f"{folder.path}{name}{'/' * is_folder}", folder.rules)


def _sort_key(entry: tuple[str, bool]) -> str:
    name, is_folder = entry
    return f"{name}/" if is_folder else name


def _to_walked_file(place: OpenPath, status: os.stat_result) -> WalkedFile:
    if kind := file_kind(status):
        raise ToolFault(f"'{sanitize_for_display(place.path, 200)}' is {kind}; name a regular file or a folder.")
    return WalkedFile(place.path, status.st_size)
