"""The folder a model works in, and the only one: every path is walked step by step from its root, never leaving it.

Each step opens one folder without following links, relative to the folder before; links are read and followed by hand,
and only inside. So a folder that is swapped for a link meanwhile cannot lead out. POSIX only.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from headway.core.text import sanitize_for_display
from headway.tools.base import ToolFault
from headway.tools.files import protected_folders as closed
from headway.tools.files.gitignore import IgnoreRules
from headway.tools.files.protected_folders import plain_name

# Whether a file is, or could become, part of the program that runs here: a change of it would be a command unasked.

_PACKAGE = Path(__file__).resolve().parents[2]
_OF_AN_ENVIRONMENT = ("bin", "lib", "lib64", "include", "pyvenv.cfg")
_IMPORTED = (".py", ".pyc", ".so", ".pth")


def is_running_code(root: str, path: str) -> bool:
    """Whether it is in the interpreter's own folders, or would hide a module that may be imported."""
    try:
        return _is_running(root, Path(os.path.realpath(os.path.join(root, path))))
    except (OSError, ValueError):
        return True  # no path that can be: whoever looks at it next will say so


def _is_running(root: str, file: Path) -> bool:
    for home in (Path(sys.prefix).resolve(), _PACKAGE):
        if home.is_relative_to(root) and file.is_relative_to(home):
            inside = file.relative_to(home).parts
            return home != Path(root) or inside[0] in _OF_AN_ENVIRONMENT
    for entry in sys.path:
        home = Path(entry or os.curdir).resolve()
        if home.is_relative_to(root) and file != home and file.is_relative_to(home) and file.suffix in _IMPORTED:
            first = home / file.relative_to(home).parts[0]
            if file.suffix == ".pth" or (not first.exists() and _is_imported(first.stem, root)):
                return True
    return False


def _is_imported(name: str, root: str) -> bool:
    """Whether the program could mean another module by the name, one that is not of the project."""
    if name in sys.stdlib_module_names or name in ("sitecustomize", "usercustomize"):
        return True
    elsewhere = [entry for entry in sys.path if not Path(entry or os.curdir).resolve().is_relative_to(root)]
    return PathFinder.find_spec(name, elsewhere) is not None


# Files that run something later, outside the agent: a change of one is a command that nobody approved.

EXECUTED_LATER = (
    # shells, and folders that are entered
    *(".envrc", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".kshrc"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".config/fish/"),
    # editors, hooks and continuous integration
    *(".vscode/", ".idea/", ".devcontainer/", ".husky/", ".githooks/", ".pre-commit-config.yaml", "lefthook.yml"),
    *(".github/workflows/", ".github/actions/", ".gitlab-ci.yml", ".circleci/"),
    # tests and builds
    *("conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", "pyproject.toml", "setup.py", "setup.cfg"),
    *("tox.ini", "noxfile.py", "Makefile", "GNUmakefile", "*.mk", "justfile", "package.json", ".npmrc", ".yarnrc*"),
    *("build.rs", "build.gradle*"),
    # other agents
    *(".claude/", ".cursor/", ".codex/", ".gemini/", ".opencode/", ".mcp.json", "AGENTS.md", "CLAUDE.md", "GEMINI.md"),
)
"""In the syntax of `.gitignore`. Case and invisible characters are ignored, as some file systems do."""
_WITH_LINKS = ("", ".github")
"""Folders, relative to the project, in which links of such names are looked for."""


class ExecutedLater:
    """The default patterns with further ones; `!pattern` takes files out, and the last pattern that fits decides."""

    def __init__(self, further: Sequence[str] = ()) -> None:
        self._rules = IgnoreRules("\n".join(pattern.casefold() for pattern in (*EXECUTED_LATER, *further)))

    def includes(self, path: str) -> bool:
        """Return whether a file, by its path in the project, is among them, or is in a folder that is."""
        parts = plain_name(path).split("/")
        verdicts = [self._rules.is_ignored("/".join(parts[:depth]) + "/") for depth in range(1, len(parts))]
        verdicts.append(self._rules.is_ignored("/".join(parts)))
        return next((verdict for verdict in reversed(verdicts) if verdict is not None), False)

    def has_link_to(self, root: str, path: str) -> bool:
        """Return whether a link of the project that has such a name leads to the file, or to a folder around it."""
        file = os.path.realpath(os.path.join(root, path))
        for folder in _WITH_LINKS:
            with suppress(OSError), os.scandir(os.path.join(root, folder)) as entries:
                for entry in entries:
                    name = f"{folder}/{entry.name}".lstrip("/")
                    if entry.is_symlink() and (self.includes(name) or self.includes(f"{name}/x")):
                        leads_to = os.path.realpath(entry.path)
                        if file == leads_to or file.startswith(f"{leads_to}{os.sep}"):
                            return True
        return False


_MOST_LINKS = 40
_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LONGEST = 4_000
_DEEPEST = 100


class PathNotFound(ToolFault):
    """Nothing has that path."""

    code = "path_not_found"


@dataclass(frozen=True, slots=True)
class OpenPath:
    """Where a path leads: an open folder and a name in it that is no link. `.` is the folder itself."""

    folder: int
    name: str
    path: str
    """Relative to the root, with links resolved; for people and models."""

    def status(self) -> os.stat_result | None:
        """None if nothing is there."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, flags: int, mode: int = 0o666) -> int:
        return os.open(self.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=self.folder)


class Workspace:
    """A folder whose files tools may read and write."""

    def __init__(self, root: str | os.PathLike[str], *, ask_before_editing: Sequence[str] = ()) -> None:
        """`ask_before_editing`: further patterns of `ExecutedLater`."""
        self._executed_later = ExecutedLater(ask_before_editing)
        self.root: str = os.path.realpath(root)
        self._given = os.path.abspath(root)

    @contextmanager
    def open_place(self, path: str, *, write: bool = False, make_folders: bool = False) -> Generator[OpenPath]:
        """The place of a path, with its folder held open. Raises `ToolFault` for a path that leads out.

        Folders that were made on the way are removed again if what follows fails.
        """
        steps = self._split_path(path)
        if write and path.endswith("/"):
            raise ToolFault(f"'{sanitize_for_display(path, 200)}' names a folder; name a file in it.")
        walk = _PathWalk(self, path, write, make_folders)
        try:
            walk.follow(steps)
            closed.refuse_path(walk.names, walk.folders, path, write=write)
            yield OpenPath(walk.folders[-1], walk.last, "/".join(walk.names) or ".")
        except BaseException as error:
            walk.remove_made_folders()
            if isinstance(error, OSError):
                raise (PathNotFound if error.errno == errno.ENOENT else ToolFault)(
                    _explain_os_error(error, path)
                ) from None
            raise
        finally:
            walk.close()

    def relative_path(self, path: str) -> str:
        """Where the path leads, relative to the root, as far as anything is there; for patterns and previews."""
        try:
            steps, walk = self._split_path(path), _PathWalk(self, path)
        except ToolFault:
            return path
        try:
            walk.follow(steps)
        except FileNotFoundError:
            walk.names += walk.ahead[::-1]
        except (OSError, ToolFault):
            return path
        finally:
            walk.close()
        return os.path.normpath("/".join(walk.names) or ".")

    def is_executed(self, path: str) -> bool:
        """Return whether a change of this file could run something, now or later: by its own name, or by a link's."""
        leads_to = self.relative_path(path)
        try:
            as_named = os.path.normpath("/".join(self._split_path(path)) or ".")
        except ToolFault:  # whoever takes the path next will say what is wrong with it
            as_named = leads_to
        files = self._executed_later
        return (
            is_running_code(self.root, leads_to)
            or files.includes(leads_to)
            or files.includes(as_named)
            or files.has_link_to(self.root, leads_to)
        )

    def path_below(self, path: str) -> str | None:
        """What an absolute path says after the root; None if it does not begin with it."""
        for root in (self.root, self._given):
            bare = root.rstrip("/")
            if path == root or path.startswith(f"{bare}/"):
                return path[len(bare) :]
        return None

    def _split_path(self, path: str) -> list[str]:
        if "\0" in path or len(path) > _LONGEST:
            raise ToolFault(
                f"'{sanitize_for_display(path)}' is not a valid path; use one "
                "inside the project, relative to its folder."
            )
        below = self.path_below(path) if os.path.isabs(path) else path
        if below is None:
            raise _outside_fault(path)
        return _split(below)


class _PathWalk:
    """One way from the root: the folders held open, and the names that led to them."""

    def __init__(self, workspace: Workspace, path: str, write: bool = False, make_folders: bool = False) -> None:
        self._workspace = workspace
        self._path = path
        self._write = write
        self._make = make_folders
        self._made: list[tuple[int, str]] = []
        """Folders that were not there before: how deep, and their names."""
        self._links = 0
        try:
            self.folders = [os.open(workspace.root, _FOLDER_FLAGS)]
        except OSError as error:
            why = sanitize_for_display(error.strerror or str(error), 200)
            raise ToolFault(f"The project's folder cannot be opened: {why}; ask the user to fix this.") from None
        self.names: list[str] = []
        self.ahead: list[str] = []
        """Steps still to go, the next one last."""
        self.last = "."

    def close(self) -> None:
        for folder in self.folders:
            os.close(folder)

    def remove_made_folders(self) -> None:
        for depth, step in reversed(self._made):
            with suppress(OSError):  # not empty: someone else uses it already
                os.rmdir(step, dir_fd=self.folders[depth])

    def follow(self, steps: list[str]) -> None:
        self.ahead = steps[::-1]
        while self.ahead:
            step = self.ahead.pop()
            if step == "..":
                self._go_up()
            elif (target := self._read_link(step)) is not None:
                closed.refuse_step(step, self._path, write=self._write)
                self._follow_link(target)
            else:
                self.names.append(step)
                if self._write:
                    closed.refuse_step(step, self._path, write=True)
                if self.ahead:
                    self._go_down(step)
                else:
                    self.last = step

    def _go_up(self) -> None:
        if len(self.folders) == 1:
            raise _outside_fault(self._path)
        os.close(self.folders.pop())
        self.names.pop()
        self._made = [made for made in self._made if made[0] < len(self.folders)]

    def _read_link(self, step: str) -> str | None:
        try:
            step.encode()
            return os.readlink(step, dir_fd=self.folders[-1])
        except UnicodeEncodeError:
            raise ToolFault(
                f"'{sanitize_for_display(self._path, 200)}' has a name that is not UTF-8; use bash for it."
            ) from None
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def _follow_link(self, target: str) -> None:
        self._links += 1
        if self._links > _MOST_LINKS:
            raise ToolFault(f"'{sanitize_for_display(self._path, 200)}' is part of a loop of links; use the real path.")
        if os.path.isabs(target):
            below = self._workspace.path_below(target)
            if below is None:
                raise _outside_fault(self._path)
            while len(self.folders) > 1:
                self._go_up()
            target = below
        self.ahead += _split(target)[::-1]

    def _go_down(self, step: str) -> None:
        """Into a folder. Where the way may be made, missing folders are; but not on the way back up."""
        here = self.folders[-1]
        if len(self.folders) > _DEEPEST:
            raise ToolFault(
                f"'{sanitize_for_display(self._path)}' is nested too deeply; use a path of at most {_DEEPEST} folders."
            )
        try:
            self.folders.append(os.open(step, _FOLDER_FLAGS, dir_fd=here))
        except FileNotFoundError:
            if self._write:
                closed.refuse_path(self.names, self.folders, self._path, write=True)
                for name in self.ahead:
                    closed.refuse_step(name, self._path, write=True)
            if not self._make or ".." in self.ahead:
                raise
            with suppress(FileExistsError):  # someone else was quicker
                os.mkdir(step, dir_fd=here)
                self._made.append((len(self.folders) - 1, step))
            self.folders.append(os.open(step, _FOLDER_FLAGS, dir_fd=here))


def _split(path: str) -> list[str]:
    return [step for step in path.split("/") if step not in ("", ".")]


def _outside_fault(path: str) -> ToolFault:
    return ToolFault(
        f"'{sanitize_for_display(path, 200)}' leads out of the project; use a path inside it, relative to its folder."
    )


def _explain_os_error(error: OSError, path: str) -> str:
    name = sanitize_for_display(path, 200)
    match error.errno:
        case errno.ENOENT:
            return f"There is no '{name}'; use ls or glob to see what exists."
        case errno.ENOTDIR:
            return f"'{name}' has a part that is not a folder; use ls to see what exists."
        case errno.ELOOP:
            return f"'{name}' was replaced by a link in the meantime; try again."
        case errno.EACCES | errno.EPERM:
            return f"'{name}' cannot be accessed: permission denied; leave it, or ask the user to allow it."
        case errno.EISDIR:
            return f"'{name}' is a folder; name a file in it."
        case errno.ENAMETOOLONG:
            return f"'{name}' is too long for a path; use a shorter one."
        case errno.ENOSPC | errno.EDQUOT:
            return f"'{name}' was not written: no space is left on the disk; nothing was changed."
        case errno.EROFS:
            return f"'{name}' is on a read-only disk; nothing was changed."
        case _:
            return f"'{name}' cannot be accessed: {sanitize_for_display(error.strerror or str(error), 200)}."


def file_kind(status: os.stat_result) -> str:
    """What a file is, if it is no ordinary one."""
    mode = status.st_mode
    for test, name in (
        (stat.S_ISREG, ""),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISLNK, "a link"),
    ):
        if test(mode):
            return name
    return "a device"
