"""Ignored files that work in a worktree needs: some are copied into it, some folders are shared with the project.

What is copied is said by `.worktreeinclude` in the project, in the syntax of `.gitignore`; without one, `.env*`.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from headway.execute import on_disk
from headway.execute.git import Git, IndexedTree, parse_paths
from headway.execute.user_git import UserGit
from headway.tools.files.gitignore import IgnoreRules, TooManyRules

PATTERNS_FILE = ".worktreeinclude"
DEFAULT_PATTERNS = ".env*\n"
_USERS_EXCLUDES = "info/users-excludes"
_MOST_FILES = 5_000
_MOST_BYTES = 20_000_000
"""A larger file is copied only to be read."""
_ROOM = 200_000_000
"""Bytes of what is copied to be read, where the file system cannot share them between copies."""
_CLONE = 0x40049409
"""FICLONE: a copy that shares its bytes with the original until one of them is changed."""
_MOST_FOLDERS = 300


@dataclass(frozen=True, slots=True)
class IncludedFiles:
    """What a worktree has besides the files of its checkpoint."""

    folder: str
    copies: dict[str, str | None]
    """Path → the content it had, as git names it."""
    shared: dict[str, frozenset[str]]
    """Folder of the project → what was in it."""
    large: dict[str, object]
    """Path of a larger copy, of a file or a folder → what differs once it was changed."""
    missing: tuple[str, ...] = ()
    """What is not there because the copies would have taken too much space."""

    def list_changed(self) -> list[str]:
        """Return what is no longer as it was."""
        copies = [
            path for path, blob in self.copies.items() if on_disk.find_blob(os.path.join(self.folder, path)) != blob
        ]
        large = [path for path, state in self.large.items() if _state_stamp(os.path.join(self.folder, path)) != state]
        return [*copies, *large, *(path for path, names in self.shared.items() if _list_names(path) != names)]

    def has(self, path: str) -> bool:
        return path in self.copies or path in self.large or not self.large.keys().isdisjoint(on_disk.list_parents(path))

    def drop_included(self, paths: Iterable[str]) -> list[str]:
        """Return the paths that did not come from the project; of a folder with some that did, the others in it."""
        found: list[str] = []
        for path in paths:
            if path.rstrip("/") in self.large:
                continue
            if path.endswith("/") and any(name.startswith(path) for name in (*self.copies, *self.large)):
                inside = on_disk.list_files_below(self.folder, path.rstrip("/"))
                found += [file for file in inside if not self.has(file)]
            elif not self.has(path):
                found.append(path)
        return found


def read_patterns(project: str) -> IgnoreRules:
    """Return the rules for what is copied; an unusable file counts as an empty one."""
    path = os.path.join(project, PATTERNS_FILE)
    try:
        if not os.path.lexists(path):
            return IgnoreRules(DEFAULT_PATTERNS)
        if os.path.islink(path) or os.path.getsize(path) > 1_000_000:
            return IgnoreRules("")
        return IgnoreRules(os.fsdecode(on_disk.read_file(path) or b""))
    except (OSError, TooManyRules):
        return IgnoreRules("")


def include_files(
    project: str, folder: str, ignored: Iterable[str], linked: Sequence[str], left_out: Iterable[str] = ()
) -> IncludedFiles:
    """Copy files into a worktree, and note what it shares with the project.

    `ignored` are paths that are in no checkpoint; folders end in a slash. Those `left_out` are there to be read: copies
    that are write-protected, as many as there is room for.
    """
    patterns = read_patterns(project)
    copies: dict[str, str | None] = {}
    for path in _list_matching(project, patterns, ignored, linked):
        if len(copies) >= _MOST_FILES:
            break
        with suppress(OSError):
            source, target = os.path.join(project, path), os.path.join(folder, path)
            if os.path.islink(source) and _is_link_out(project, source):
                continue
            if os.lstat(source).st_size > _MOST_BYTES or os.path.lexists(target):
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
            copies[path] = on_disk.find_blob(target)
    large: dict[str, object] = {}
    missing: list[str] = []
    room = _ROOM
    for path in (path.rstrip("/") for path in left_out):
        with suppress(OSError):
            size = _include_read_only(project, folder, path, copies, large, room)
            room -= size or 0
            missing += [path] if size is None else []
    homes = [os.path.join(project, name) for name in linked if os.path.islink(os.path.join(folder, name))]
    return IncludedFiles(folder, copies, {home: _list_names(home) for home in homes}, large, tuple(missing))


def _include_read_only(
    project: str, folder: str, path: str, copies: dict[str, str | None], large: dict[str, object], room: int
) -> int | None:
    """Return what a copy took of the room; None if there is not enough."""
    source, target = os.path.join(project, path), os.path.join(folder, path)
    if os.path.lexists(target) or on_disk.is_beyond_link(folder, path) or on_disk.is_beyond_link(project, path):
        return 0
    if os.path.islink(source) or not (os.path.isfile(source) or os.path.isdir(source)):
        return 0
    is_small = os.path.isfile(source) and os.path.getsize(source) <= _MOST_BYTES and len(copies) < _MOST_FILES
    took = 0
    for file in _list_repository_files(source) if os.path.isdir(source) else ("",):
        full, copied = (os.path.join(at, file).rstrip("/") for at in (source, target))
        os.makedirs(os.path.dirname(copied), exist_ok=True)
        if os.path.isdir(full) and not os.path.islink(full):
            os.makedirs(copied, exist_ok=True)
            continue
        cost = _copy(full, copied, room - took)
        if cost is None:
            on_disk.remove(target)
            return None
        took += cost
        if not os.path.islink(copied) and not file.startswith(".git/"):
            os.chmod(copied, os.stat(copied).st_mode & ~0o222)
    if is_small:
        copies[path] = on_disk.find_blob(target)
        return 0
    large[path] = _state_stamp(target)
    return took


def _list_repository_files(folder: str) -> Iterator[str]:
    """All that there is, but not what says that its repository is elsewhere: git would write there."""
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (os.path.relpath(os.path.join(at, name), folder) for name in folders)
        for name in names:
            full = os.path.join(at, name)
            if name != ".git" and (os.path.isfile(full) or os.path.islink(full)):
                yield os.path.relpath(full, folder)


def _copy(source: str, target: str, room: int) -> int | None:
    """Copy a file or link and return what it took of the room; None if there is not enough."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return 0
    try:
        with open(source, "rb") as file, open(target, "xb") as copy:
            fcntl.ioctl(copy, _CLONE, file.fileno())
        shutil.copystat(source, target)
        return 0
    except OSError:
        on_disk.remove(target)
    if (size := os.path.getsize(source)) > room:
        return None
    shutil.copy2(source, target, follow_symlinks=False)
    return size


def _state_stamp(path: str) -> object:
    """Return what differs once a file, or something in a folder, was changed."""
    if not os.path.isdir(path):
        try:
            status = os.stat(path)
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    found: set[tuple[str, int, int, int]] = set()
    queue = [path]
    for at in queue:
        with suppress(OSError), os.scandir(at) as entries:
            for entry in entries:
                if len(found) >= _MOST_FILES or entry.name in ("__pycache__", ".git"):
                    continue
                status, is_folder = entry.stat(follow_symlinks=False), entry.is_dir(follow_symlinks=False)
                if is_folder:
                    queue.append(entry.path)
                size, changed_at = (0, 0) if is_folder else (status.st_size, status.st_mtime_ns)
                found.add((os.path.relpath(entry.path, path), status.st_ino, size, changed_at))
    return found


def list_ignored(git: Git, users: UserGit, worth_naming: IgnoreRules, tree: IndexedTree) -> tuple[list[str], list[str]]:
    """Return the project's paths that no checkpoint has, a folder as a whole, and those that git does not ignore.

    The second are without caches.
    """
    options = ("ls-files", "-z", "--others", "--ignored", "--directory")
    ignored = parse_paths(git.run(*users.excludes_option(), *options, "--exclude-standard", tree=tree))
    excluded = [path for path in ignored if worth_naming.is_ignored(path)]
    if excluded:
        git.write_file(_USERS_EXCLUDES, users.excludes())
        files = [os.path.join(git.folder, _USERS_EXCLUDES), users.excludes_file()]
        options += tuple(f"--exclude-from={file}" for file in files if file is not None and os.path.isfile(file))
        theirs = parse_paths(git.run(*options, "--exclude-per-directory=.gitignore", tree=tree))
        excluded = sorted(set(excluded) - set(theirs))
    return ignored, excluded


def _list_matching(project: str, patterns: IgnoreRules, ignored: Iterable[str], linked: Sequence[str]) -> Iterator[str]:
    for path in ignored:
        if path.rstrip("/") in linked or path.startswith((".git/", ".headway/")):
            continue
        if not path.endswith("/"):
            if patterns.is_ignored(path) and on_disk.is_file(project, path):
                yield path
            continue
        whole = bool(patterns.is_ignored(path))
        for at, folders, names in os.walk(os.path.join(project, path)):
            folders[:] = [name for name in folders if name not in linked and name != ".git"]
            inside = os.path.relpath(at, project)
            for name in names:
                file = os.path.join(inside, name)
                if (whole or patterns.is_ignored(file)) and on_disk.is_file(project, file):
                    yield file


def _is_link_out(project: str, link: str) -> bool:
    return os.path.commonpath([project, os.path.realpath(link)]) != project


def _list_names(folder: str) -> frozenset[str]:
    """Return what is in a folder and in the first of its subfolders: enough to see that something was installed."""
    found: set[str] = set()
    queue = [folder]
    for at in queue:
        with suppress(OSError), os.scandir(at) as entries:
            for entry in entries:
                if entry.name == "__pycache__":
                    continue
                found.add(os.path.relpath(entry.path, folder))
                if len(queue) < _MOST_FOLDERS and entry.is_dir(follow_symlinks=False):
                    queue.append(entry.path)
    return frozenset(found)
