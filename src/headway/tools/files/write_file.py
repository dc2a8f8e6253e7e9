"""`write_file`: a whole file, new or in place of one that this run has read."""

from __future__ import annotations

import asyncio

from pydantic import Field

from headway.core.text import sanitize_for_display
from headway.tools.base import Context, Preview, Tool, ToolInput, ToolResult, read_description
from headway.tools.effects import Effect
from headway.tools.files.atomic_write import write_bytes
from headway.tools.files.content import (
    check_text_to_write,
    decode,
    encode,
    has_byte_order_mark,
    read_bytes,
    split_lines,
    too_large_fault,
)
from headway.tools.files.file_change import FileChange
from headway.tools.files.workspace import OpenPath, PathNotFound, Workspace
from headway.tools.threads import call_in_thread


class WriteFileInput(ToolInput):
    path: str = Field(min_length=1, description="File, relative to the project's folder; missing folders are created.")
    content: str = Field(description="The whole new content.")


class WriteFile(Tool[WriteFileInput]):
    name = "write_file"
    description = read_description(__file__)
    input = WriteFileInput
    effect = Effect.WRITE

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.folder = workspace.root

    def edits_project(self, call: WriteFileInput) -> bool:
        return not self._workspace.is_executed(call.path)

    def subject(self, call: WriteFileInput) -> str:
        return self._workspace.relative_path(call.path)

    async def preview(self, call: WriteFileInput, context: Context) -> Preview:
        return await asyncio.to_thread(self._preview, call, context)

    async def run(self, call: WriteFileInput, context: Context) -> ToolResult:
        return await call_in_thread(self._write, call, context)

    def _preview(self, call: WriteFileInput, context: Context) -> Preview:
        try:
            with self._workspace.open_place(call.path, write=True) as place:
                return _prepare_change(place, call.content, context).preview()
        except PathNotFound:  # its folders are still to be made
            return _prepare_creation(self._workspace.relative_path(call.path), call.content, context).preview()

    def _write(self, call: WriteFileInput, context: Context) -> ToolResult:
        with self._workspace.open_place(call.path, write=True, make_folders=True) as place:
            change = _prepare_change(place, call.content, context)
            name = sanitize_for_display(place.path, 200)
            if change.before == change.after:
                return ToolResult(f"{name} already has this content; nothing was changed.")
            write_bytes(place, change.after, change.before)
            context.seen.note(place.path, change.after)
        lines = len(split_lines(change.new))
        size = f"{lines:,} line{'' if lines == 1 else 's'}"
        text = f"{'Created' if change.before is None else 'Replaced'} {name} ({size})."
        if change.recoded:
            text += f" It is now in UTF-8, because {change.recoded} cannot represent this content."
        return ToolResult(text, files=(place.path,), diff=change.diff())


def _prepare_creation(path: str, content: str, context: Context) -> FileChange:
    context.seen.check_new(path)
    content = check_text_to_write(content, "content")
    return FileChange(path, None, _check_size(content.encode(), path, context), "", content)


def _prepare_change(place: OpenPath, content: str, context: Context) -> FileChange:
    """The change from what is there, which must be what the run has seen, in the encoding and line ends it has."""
    if place.status() is None and place.name != ".":
        return _prepare_creation(place.path, content, context)
    before = read_bytes(place, context.limits.file_bytes)
    text, encoding = decode(before, place.path)
    context.seen.check(place.path, before, whole=True)
    content = check_text_to_write(content, "content")
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        content = content.replace("\r\n", "\n").replace("\n", "\r\n")
    if has_byte_order_mark(encoding):
        content = content.removeprefix("\ufeff")
    recoded = None
    try:
        data = encode(content, encoding)
    except UnicodeEncodeError:
        data, recoded = content.encode(), encoding
    return FileChange(place.path, before, _check_size(data, place.path, context), text, content, recoded)


def _check_size(data: bytes, path: str, context: Context) -> bytes:
    if len(data) > context.limits.file_bytes:
        raise too_large_fault(path, len(data), context.limits.file_bytes)
    return data
