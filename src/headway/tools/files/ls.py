"""`ls`: the names in one folder, hidden and ignored ones included."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from dataclasses import dataclass
from itertools import islice

from pydantic import Field

from headway.core.text import neutralize
from headway.project import FOLDER
from headway.tools.base import Context, Tool, ToolFault, ToolInput, ToolResult, read_description
from headway.tools.effects import Effect
from headway.tools.files.walk import MOST_NAMES
from headway.tools.files.workspace import Workspace, file_kind


class LsInput(ToolInput):
    path: str = Field(default=".", description="Folder, relative to the project's folder.")


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of a folder, those of folders first."""

    shown: list[str]
    total: int
    uncounted: bool = False


class Ls(Tool[LsInput]):
    name = "ls"
    description = read_description(__file__)
    input = LsInput
    effect = Effect.READ

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.folder = workspace.root

    def subject(self, call: LsInput) -> str:
        return self._workspace.relative_path(call.path)

    async def run(self, call: LsInput, context: Context) -> ToolResult:
        return ToolResult(await asyncio.to_thread(self._list, call.path, context.limits.results))

    def _list(self, path: str, most: int) -> str:
        with self._workspace.open_place(path) as place:
            status = place.status()
            if status is None:
                raise FileNotFoundError(errno.ENOENT, "")  # told as the workspace tells it
            if not stat.S_ISDIR(status.st_mode):
                kind = file_kind(status) or f"a file of {_format_size(status.st_size)}; read it with read_file"
                return f"{neutralize(place.path)} is {kind}."
            folder = place.open(os.O_RDONLY | os.O_DIRECTORY)
            try:
                names = _list_names(folder, most)
                lines = [self._format_line(folder, place.path, name) for name in names.shown]
            finally:
                os.close(folder)
        if not lines:
            return f"{neutralize(place.path)} is empty."
        if names.total > len(lines):
            lines.append(_count_more(names))
        return "\n".join(lines)

    def _format_line(self, folder: int, path: str, name: str) -> str:
        label = neutralize(name)
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            return f"{label} (cannot be read)"
        if stat.S_ISDIR(status.st_mode):
            is_own = name.casefold() == FOLDER
            return f"{label}/ (off limits: Headway's own records)" if is_own else f"{label}/"
        if stat.S_ISLNK(status.st_mode):
            return f"{label} -> {self._format_target(f'{path}/{name}')}"
        return f"{label} ({file_kind(status) or _format_size(status.st_size)})"

    def _format_target(self, link: str) -> str:
        """Where a link leads. What is outside is not named."""
        try:
            with self._workspace.open_place(link) as place:
                status = place.status()
        except ToolFault:
            return "(outside the project)"
        if status is None:
            return f"{neutralize(place.path)} (missing)"
        return neutralize(place.path) + "/" * stat.S_ISDIR(status.st_mode)


def _list_names(folder: int, most: int) -> _Names:
    with os.scandir(folder) as entries:
        found = sorted((not _is_folder(entry), entry.name) for entry in islice(entries, MOST_NAMES))
        uncounted = next(entries, None) is not None
    return _Names([name for _, name in found[:most]], len(found), uncounted)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _count_more(names: _Names) -> str:
    count = f"{'more than ' * names.uncounted}{names.total - len(names.shown):,}"
    return f"[… and {count} more; use glob to find the ones you need]"


def _format_size(size: int) -> str:
    return f"{size:,} byte{'' if size == 1 else 's'}"
