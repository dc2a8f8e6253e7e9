"""`glob`: files whose path fits a pattern, in the order of their paths."""

from __future__ import annotations

import asyncio
import re
from contextlib import closing

from pydantic import Field

from headway.core.text import neutralize, sanitize_for_display
from headway.tools.base import Context, Tool, ToolFault, ToolInput, ToolResult, read_description
from headway.tools.effects import Effect
from headway.tools.files.walk import SearchDeadline, Walk
from headway.tools.files.wildcards import BadWildcards, expand_braces, to_path_expression
from headway.tools.files.workspace import Workspace
from headway.tools.limits import Limits

_WILD = re.compile(r"[*?\[{\\]")


class GlobInput(ToolInput):
    pattern: str = Field(min_length=1, max_length=1_000, description="Pattern such as `**/*.py`, relative to `path`.")
    path: str = Field(default=".", description="Folder to search, relative to the project's folder.")


class Glob(Tool[GlobInput]):
    name = "glob"
    description = read_description(__file__)
    input = GlobInput
    effect = Effect.READ

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.folder = workspace.root

    def subject(self, call: GlobInput) -> str:
        return self._workspace.relative_path(call.path)

    async def run(self, call: GlobInput, context: Context) -> ToolResult:
        stop = SearchDeadline(context.limits.search_seconds)
        try:
            return ToolResult(await asyncio.to_thread(self._find, call, context.limits, stop))
        finally:
            stop.set()

    def _find(self, call: GlobInput, limits: Limits, stop: SearchDeadline) -> str:
        folder, pattern = _split_fixed_folders(call.pattern)
        expression = compile_path_matcher(pattern, call.pattern)
        walk = self._walk(call.path, folder, stop)
        if walk is None:
            return _explain_nothing_found(call)
        skipped = 0 if walk.start == "." else len(walk.start) + 1
        found: list[str] = []
        count = 0
        with closing(walk.files()) as files:
            for file in files:
                if expression.match(file.path, skipped):
                    count += 1
                    if count <= limits.results:
                        found.append(neutralize(file.path))
        if count > len(found):
            found.append(f"[… and {count - len(found):,} more; narrow the pattern or the path]")
        notes = walk.list_notes()
        if walk.stopped:
            notes.append(f"Stopped after {limits.search_seconds:g} seconds; there may be more. Narrow the path.")
        return "\n".join([*(found or [_explain_nothing_found(call)]), *(f"[{note}]" for note in notes)])

    def _walk(self, path: str, folder: str, stop: SearchDeadline) -> Walk | None:
        """The walk from where the pattern's wildcards begin; None if there is no folder."""
        walk = Walk(self._workspace, path, stop)
        if walk.file is not None:
            raise ToolFault(
                f"'{sanitize_for_display(path, 200)}' is a file; pass its folder as path, or read it with read_file."
            )
        if not folder:
            return walk
        try:
            walk = Walk(self._workspace, f"{path}/{folder}", stop)
        except ToolFault:
            return None
        return walk if walk.file is None else None


def compile_path_matcher(pattern: str, given: str) -> re.Pattern[str]:
    """What whole paths are compared with. Raises `ToolFault` for a pattern that cannot be used, as it was given."""
    try:
        choices = expand_braces(pattern)
        if any(choice.startswith("/") or ".." in choice.split("/") for choice in choices):
            raise ToolFault(
                f"'{sanitize_for_display(given, 200)}' is not valid: a pattern must "
                "be relative and must not contain '..'; pass "
                "the folder to search as path."
            )
        return re.compile(f"(?:{'|'.join(map(to_path_expression, choices))})\\Z")
    except BadWildcards as error:
        raise ToolFault(f"'{sanitize_for_display(given, 200)}' is not valid: {error}.") from None


def _split_fixed_folders(pattern: str) -> tuple[str, str]:
    """The folders that a pattern names outright, and the rest of it."""
    wild = _WILD.search(pattern)
    plain = pattern[: wild.start()] if wild else pattern
    at = plain.rfind("/")
    folder = plain[: max(at, 0)].removeprefix("./")
    if pattern.startswith("/") or ".." in plain.split("/"):
        return "", pattern  # refused with the whole pattern
    return folder, pattern[at + 1 :]


def _explain_nothing_found(call: GlobInput) -> str:
    return f"No file matches '{sanitize_for_display(call.pattern, 200)}' in '{sanitize_for_display(call.path, 200)}'."
