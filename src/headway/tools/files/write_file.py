"""`write_file`: a whole file, new or in place of one that this run has read."""

from __future__ import annotations

import asyncio

from pydantic import Field

from headway.core.text import storable
from headway.tools.effects import Effect
from headway.tools.files.changes import FileChange
from headway.tools.files.content import decoded, encoded, read_bytes, too_large, write_bytes
from headway.tools.files.workspace import NotThere, Place, Workspace
from headway.tools.tool import Context, Preview, Tool, ToolInput, ToolResult, description_beside


class WriteFileInput(ToolInput):
    path: str = Field(min_length=1, description="File, relative to the project's folder; missing folders are made.")
    content: str = Field(description="The whole new content.")


class WriteFile(Tool[WriteFileInput]):
    name = "write_file"
    description = description_beside(__file__)
    input = WriteFileInput
    effect = Effect.WRITE
    edits_project = True

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def subject(self, call: WriteFileInput) -> str:
        return self._workspace.relative(call.path)

    async def preview(self, call: WriteFileInput, context: Context) -> Preview:
        return await asyncio.to_thread(self._preview, call, context)

    async def run(self, call: WriteFileInput, context: Context) -> ToolResult:
        return await asyncio.to_thread(self._write, call, context)

    def _preview(self, call: WriteFileInput, context: Context) -> Preview:
        try:
            with self._workspace.place(call.path, write=True) as place:
                return _change(place, call.content, context).preview()
        except NotThere:  # its folders are still to be made
            path = self._workspace.relative(call.path)
            return FileChange(path, None, storable(call.content).encode()).preview()

    def _write(self, call: WriteFileInput, context: Context) -> ToolResult:
        with self._workspace.place(call.path, write=True, make_folders=True) as place:
            change = _change(place, call.content, context)
            if change.before == change.after:
                return ToolResult(f"{place.path} already has this content; nothing was changed.")
            write_bytes(place, change.after, change.before)
            context.seen.note(place.path, change.after)
        what = "Created" if change.before is None else "Replaced"
        lines = call.content.count("\n") + bool(call.content and not call.content.endswith("\n"))
        text = f"{what} {place.path} ({lines:,} line{'' if lines == 1 else 's'})."
        return ToolResult(text, files=(place.path,), diff=change.diff())


def _change(place: Place, content: str, context: Context) -> FileChange:
    """The change from what is there, which must be what the run has seen, in the encoding and line ends it has."""
    content = storable(content)
    status = place.status()
    if status is None and place.name != ".":
        return FileChange(place.path, None, _sized(content.encode(), place.path, context))
    before = read_bytes(place, context.limits.file_bytes)
    context.seen.check(place.path, before)
    text, encoding = decoded(before, place.path)
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        content = content.replace("\r\n", "\n").replace("\n", "\r\n")
    return FileChange(place.path, before, _sized(encoded(content, encoding), place.path, context))


def _sized(data: bytes, path: str, context: Context) -> bytes:
    if len(data) > context.limits.file_bytes:
        raise too_large(path, len(data), context.limits.file_bytes)
    return data
