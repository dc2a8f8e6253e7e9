"""`read_many_files`: several files in one call. A file that cannot be read is told as such among the others."""

from __future__ import annotations

import asyncio

from pydantic import Field

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.tools.base import Context, Tool, ToolInput, ToolResult, read_description
from headway.tools.effects import Effect
from headway.tools.files.read_file import FOOT, number_lines, read_part
from headway.tools.files.workspace import Workspace

MOST_FILES = 100


class ReadManyFilesInput(ToolInput):
    paths: list[str] = Field(
        min_length=1, max_length=MOST_FILES, description="Files to read, relative to the project's folder, in order."
    )


class ReadManyFiles(Tool[ReadManyFilesInput]):
    name = "read_many_files"
    description = read_description(__file__)
    input = ReadManyFilesInput
    effect = Effect.READ

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.folder = workspace.root

    async def run(self, call: ReadManyFilesInput, context: Context) -> ToolResult:
        answers: list[str] = []
        unread = 0
        paths = list(dict.fromkeys(call.paths))
        left = context.limits.output_chars
        for index, path in enumerate(paths):
            head = f"==> {sanitize_for_display(path, 200)} <==\n"
            # An equal share of what is left: a short file leaves more to those after it.
            room = left // (len(paths) - index) - len(head) - FOOT
            try:
                text = await asyncio.to_thread(self._read, path, room, context)
            except HeadwayError as error:
                unread += 1
                text = f"({error})"
            answers.append(head + text)
            left -= len(answers[-1]) + 2
        return ToolResult("\n\n".join(answers), ok=unread < len(answers))

    def _read(self, path: str, room: int, context: Context) -> str:
        with self._workspace.open_place(path) as place:
            part = read_part(place, 1, context.limits.read_lines, context, room)
        return number_lines(part, place.path)
