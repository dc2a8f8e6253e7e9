"""`edit`: one exact stretch of text in a file gives way to another; the rest keeps its bytes, line ends and mode."""

from __future__ import annotations

import asyncio
from bisect import bisect_left

from pydantic import Field

from headway.core.text import sanitize_for_display
from headway.tools.base import Context, Preview, Tool, ToolFault, ToolInput, ToolResult, read_description
from headway.tools.effects import Effect
from headway.tools.files.atomic_write import write_bytes
from headway.tools.files.content import check_text_to_write, decode, encode, read_bytes, split_lines, too_large_fault
from headway.tools.files.file_change import FileChange
from headway.tools.files.similar_lines import no_match_fault, several_matches_fault
from headway.tools.files.workspace import OpenPath, Workspace
from headway.tools.threads import call_in_thread


class EditInput(ToolInput):
    path: str = Field(min_length=1, description="File, relative to the project's folder.")
    old_string: str = Field(min_length=1, description="The text to replace, exactly as it is in the file.")
    new_string: str = Field(description="The text that replaces it.")
    replace_all: bool = Field(
        default=False, description="Replace every occurrence; otherwise old_string must be unique."
    )


class Edit(Tool[EditInput]):
    name = "edit"
    description = read_description(__file__)
    input = EditInput
    effect = Effect.WRITE

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.folder = workspace.root

    def edits_project(self, call: EditInput) -> bool:
        return not self._workspace.is_executed(call.path)

    def subject(self, call: EditInput) -> str:
        return self._workspace.relative_path(call.path)

    async def preview(self, call: EditInput, context: Context) -> Preview:
        return await asyncio.to_thread(self._preview, call, context)

    async def run(self, call: EditInput, context: Context) -> ToolResult:
        return await call_in_thread(self._edit, call, context)

    def _preview(self, call: EditInput, context: Context) -> Preview:
        with self._workspace.open_place(call.path, write=True) as place:
            return _prepare_change(place, call, context)[0].preview()

    def _edit(self, call: EditInput, context: Context) -> ToolResult:
        with self._workspace.open_place(call.path, write=True) as place:
            change, count = _prepare_change(place, call, context)
            write_bytes(place, change.after, change.before)
            context.seen.note_edit(place.path, change.after, len(split_lines(change.new)))
        places = "1 place" if count == 1 else f"{count:,} places"
        return ToolResult(
            f"Changed {sanitize_for_display(place.path, 200)} in {places}.", files=(place.path,), diff=change.diff()
        )


def _prepare_change(place: OpenPath, call: EditInput, context: Context) -> tuple[FileChange, int]:
    before = read_bytes(place, context.limits.file_bytes)
    text, encoding = decode(before, place.path)
    context.seen.check(place.path, before)
    old, new = check_text_to_write(call.old_string, "old_string"), check_text_to_write(call.new_string, "new_string")
    after, count = replace_text(text, old, new, call.replace_all, place.path)
    try:
        data = encode(after, encoding)
    except UnicodeEncodeError as error:
        char = sanitize_for_display(after[error.start])
        raise ToolFault(
            f"'{sanitize_for_display(place.path, 200)}' is in {encoding}, which does "
            f"not have '{char}'; nothing was changed. Use "
            "other characters, or first convert the file to UTF-8 with bash."
        ) from None
    if len(data) > context.limits.file_bytes:
        raise too_large_fault(place.path, len(data), context.limits.file_bytes)
    return FileChange(place.path, before, data, text, after), count


def replace_text(text: str, old: str, new: str, every: bool, path: str) -> tuple[str, int]:
    """The text with `old` replaced, and how often. Line ends match whatever their kind; new ones are as the file's."""
    plain = text.replace("\r\n", "\n")
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if old == new:
        raise ToolFault("old_string and new_string are the same (line endings aside); nothing was changed.")
    first = plain.find(old)
    if first < 0:
        raise no_match_fault(plain, old, path)
    if not every and plain.find(old, first + 1) >= 0:
        raise several_matches_fault(plain, old, path)
    ends = _list_two_byte_line_ends(text)
    if ends and 2 * len(ends) >= plain.count("\n"):
        new = new.replace("\n", "\r\n")
    pieces: list[str] = []
    count = done = 0
    while first >= 0:
        start = first + bisect_left(ends, first)
        after = first + len(old)
        pieces += [text[done:start], new]
        done = after + bisect_left(ends, after)
        count += 1
        first = plain.find(old, after) if every else -1
    return "".join([*pieces, text[done:]]), count


def _list_two_byte_line_ends(text: str) -> list[int]:
    """Where the line ends of two characters would be if they were of one."""
    found: list[int] = []
    at = text.find("\r\n")
    while at >= 0:
        found.append(at - len(found))
        at = text.find("\r\n", at + 2)
    return found
