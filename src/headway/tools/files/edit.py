"""`edit`: one exact stretch of text in a file gives way to another; the rest keeps its bytes, line ends and mode."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left
from difflib import get_close_matches
from heapq import nlargest
from operator import add

from pydantic import Field

from headway.core.text import sanitize_for_display, truncate
from headway.tools.base import Context, Preview, Tool, ToolFault, ToolInput, ToolResult, read_description
from headway.tools.effects import Effect
from headway.tools.files.atomic_write import write_bytes
from headway.tools.files.content import check_text_to_write, decode, encode, read_bytes, split_lines, too_large_fault
from headway.tools.files.file_change import FileChange
from headway.tools.files.workspace import OpenPath, Workspace
from headway.tools.threads import call_in_thread

# What is near a text that `edit` did not find, or found more than once, so that the next try hits.

_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)
_MOST_LINES = 20_000
_MOST_COMPARED = 100
_COMPARED = 199
"""Characters of a line that are compared; from 200 on difflib leaves out the frequent ones."""
_LONGEST = 300
_SHOWN = 6


def several_matches_fault(text: str, old: str, path: str) -> ToolFault:
    at, lines, count = text.find(old), list[str](), 0
    while at >= 0:
        count += 1
        if len(lines) < 5:
            lines.append(str(text.count("\n", 0, at) + 1))
        at = text.find(old, at + 1) if count < 1_000 else -1
    more = ", …" if count > len(lines) else ""
    times = f"{count}" if count < 1_000 else "1,000 or more"
    return ToolFault(
        f"old_string occurs {times} times in '{sanitize_for_display(path, 200)}' "
        f"(lines {', '.join(lines)}{more}); nothing was "
        "changed. Add surrounding lines until it is unique, or set replace_all."
    )


def no_match_fault(text: str, old: str, path: str) -> ToolFault:
    start = f"old_string was not found in '{sanitize_for_display(path, 200)}'; nothing was changed."
    if _NUMBERED.search(old) and _NUMBERED.sub("", old) in text:
        return ToolFault(f"{start} Leave out the line number and tab that read_file puts before each line.")
    lines = text.split("\n")
    wanted = old.strip("\n").split("\n")
    if (at := _find_spaced_differently(lines, wanted)) is not None:
        return ToolFault(f"{start} Only whitespace differs from this:\n{_format_excerpt(lines, at, len(wanted))}")
    if (at := _find_closest_line(lines, wanted)) is not None:
        within = f" in its first {_MOST_LINES:,} lines" if len(lines) > _MOST_LINES else ""
        return ToolFault(f"{start} The closest text{within} is:\n{_format_excerpt(lines, at, len(wanted))}")
    return ToolFault(f"{start} Nothing in the file is similar; read the file again.")


def _find_spaced_differently(lines: list[str], wanted: list[str]) -> int | None:
    """Where the same words are, with other spaces between or around them."""
    bare = ["".join(line.split()) for line in wanted]
    if not any(bare):
        return None
    there = ["".join(line.split()) for line in lines]
    for at in range(len(there) - len(bare) + 1):
        if there[at] == bare[0] and there[at : at + len(bare)] == bare:
            return at
    return None


def _find_closest_line(lines: list[str], wanted: list[str]) -> int | None:
    """The line most like the longest one that is wanted, put where the first would be."""
    place = max(range(len(wanted)), key=lambda index: len(wanted[index].strip()))
    text = wanted[place].strip()[:_COMPARED]
    if not text:
        return None
    for at, line in enumerate(lines):
        if line.strip() == wanted[place].strip():
            return max(at - place, 0)
    pairs = _letter_pairs(text)
    alike: dict[str, int] = {}
    for at, line in enumerate(lines[:_MOST_LINES]):
        alike.setdefault(line.strip()[:_COMPARED], at)
    likely = nlargest(_MOST_COMPARED, alike, key=lambda line: len(pairs & _letter_pairs(line)))
    found = get_close_matches(text, likely, n=1, cutoff=0.5)
    return max(alike[found[0]] - place, 0) if found else None


def _letter_pairs(text: str) -> set[str]:
    return set(map(add, text, text[1:]))


def _format_excerpt(lines: list[str], at: int, count: int) -> str:
    some = lines[at : at + min(max(count, 1), _SHOWN)]
    return "\n".join(f"{number:>6}\t{truncate(line, _LONGEST)}" for number, line in enumerate(some, start=at + 1))


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
