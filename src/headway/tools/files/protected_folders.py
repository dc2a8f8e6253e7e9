"""Folders inside the project that are not for file tools: Headway's own, and git's.

By name, whatever a file system makes of it; by being the very folder that such a name leads to; and for git by looks,
since a hook or a setting written there is a command that nobody approved.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from unicodedata import category

from headway.core.text import sanitize_for_display
from headway.project import FOLDER
from headway.tools.base import ToolFault
from headway.tools.outputs import FOLDER as OUTPUTS

_GIT = ".git"
_FOLDERS = ("objects", "refs")
"""With the file HEAD beside them, git takes a folder for one of its own."""


def refuse_step(step: str, path: str, *, write: bool) -> None:
    """Raises `ToolFault` for a step that may not be taken, or followed if it is a link."""
    if plain_name(step) == FOLDER or (write and plain_name(step) == _GIT):
        raise _closed_fault(path)


def refuse_path(names: Sequence[str], folders: Sequence[int], path: str, *, write: bool) -> None:
    """Raises `ToolFault` for a way through these folders that ends where tools have no business."""
    own = next((depth for depth, name in enumerate(names) if plain_name(name) == FOLDER), None)
    if own is not None and (write or own > 0 or names[1:2] != [OUTPUTS]):
        raise _closed_fault(path)
    marks = [mark for name in ((FOLDER, _GIT) if write else (FOLDER,)) if (mark := _identify(name, folders[0]))]
    if own is None and names and _identify(names[-1], folders[-1]) in marks:
        raise _closed_fault(path)
    for depth, folder in enumerate(folders):
        if depth and own is None and _identify(".", folder) in marks:
            raise _closed_fault(path)
        if write and _is_git_folder(folder, names[depth : depth + 2]):
            raise _closed_fault(path)


def is_headway_folder(folder: int, root: str) -> bool:
    """Whether an open folder is the one that the project's `.headway` is, or leads to."""
    try:
        return os.path.samestat(os.fstat(folder), os.stat(os.path.join(root, FOLDER)))
    except OSError:
        return False


def plain_name(step: str) -> str:
    """The name as a file system may take it that knows neither case nor invisible characters."""
    if not step.isascii():
        step = "".join(char for char in step if category(char) != "Cf")
    return step.casefold()


def _identify(name: str, folder: int) -> tuple[int, int] | None:
    """Which folder a name leads to, also if it is a link."""
    try:
        status = os.stat(name, dir_fd=folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_git_folder(folder: int, steps: Sequence[str]) -> bool:
    """Whether git would take the folder for its own once the next step is there."""
    head = _is_file("HEAD", folder) or list(steps) == ["HEAD"]
    return head and all(look in steps[:1] or _identify(look, folder) is not None for look in _FOLDERS)


def _is_file(name: str, folder: int) -> bool:
    try:
        return not stat.S_ISDIR(os.stat(name, dir_fd=folder).st_mode)
    except OSError:
        return False


def _closed_fault(path: str) -> ToolFault:
    return ToolFault(
        f"'{sanitize_for_display(path, 200)}' is off limits to file tools, "
        "because Headway or git keeps records there; use "
        "another path."
    )
