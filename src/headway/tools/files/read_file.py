"""`read_file`: a text file, or a range of its lines, with line numbers. Of a huge file only the range is in memory."""

from __future__ import annotations

import asyncio
import codecs
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from pydantic import Field

from headway.core.text import sanitize_for_display
from headway.tools.base import Context, Tool, ToolFault, ToolInput, ToolResult, read_description
from headway.tools.effects import Effect
from headway.tools.files.content import decline_binary, decode, detect_encoding, open_file, read_bytes, split_lines
from headway.tools.files.workspace import OpenPath, Workspace

_CHUNK = 1 << 18
LONGEST_LINE = 2_000
"""A longer line is cut."""
FOOT = 100
"""Characters that the line after the lines may take."""
_NOTE = 60
"""Characters that say how much of a line was left out."""
_MARGIN = 10
"""Characters that go before and after each line."""


class ReadFileInput(ToolInput):
    path: str = Field(min_length=1, description="File, relative to the project's folder.")
    offset: int = Field(default=1, ge=1, description="First line to read, starting at 1.")
    limit: int | None = Field(default=None, ge=1, description="Number of lines to read.")


@dataclass(slots=True)
class FilePart:
    """Some lines of a file."""

    lines: list[str]
    first: int
    total: int
    more: bool = False
    """There are lines after these, and the file was too large to count them."""


class ReadFile(Tool[ReadFileInput]):
    name = "read_file"
    description = read_description(__file__)
    input = ReadFileInput
    effect = Effect.READ

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.folder = workspace.root

    def subject(self, call: ReadFileInput) -> str:
        return self._workspace.relative_path(call.path)

    async def run(self, call: ReadFileInput, context: Context) -> ToolResult:
        return ToolResult(await asyncio.to_thread(self._read, call, context))

    def _read(self, call: ReadFileInput, context: Context) -> str:
        lines = min(call.limit or context.limits.read_lines, context.limits.read_lines)
        with self._workspace.open_place(call.path) as place:
            part = read_part(place, call.offset, lines, context, context.limits.output_chars - FOOT)
        return number_lines(part, place.path)


def read_part(place: OpenPath, offset: int, lines: int, context: Context, room: int) -> FilePart:
    """Lines of a file, as many as there is room for. What is shown of one that can be changed is noted as seen."""
    limit = context.limits.file_bytes
    status = place.status()
    if status is not None and status.st_size > limit:
        return _read_part_of_large(place, offset, lines, context, room)
    data = read_bytes(place, limit)
    text, _ = decode(data, place.path)
    every = split_lines(text)
    some, _ = _fit_lines(((line, 0) for line in every[offset - 1 : offset - 1 + lines]), room)
    # A first line that had to be cut for want of room can still be read whole.
    seen = 0 if some and len(every[offset - 1]) > _max_line_length(room) < LONGEST_LINE else len(some)
    context.seen.note(place.path, data, range(offset, offset + seen), len(every))
    return FilePart(some, offset, len(every))


def number_lines(part: FilePart, path: str) -> str:
    """The lines with their numbers, and where to read on."""
    if not part.total:
        return f"({sanitize_for_display(path, 200)} is empty)"
    if not part.lines:
        lines = "1 line" if part.total == 1 else f"{part.total:,} lines"
        return f"({sanitize_for_display(path, 200)} has only {lines}, so there is nothing from line {part.first:,} on)"
    last = part.first + len(part.lines) - 1
    # A lone carriage return would let a line look like several.
    lines = (line.replace("\r", "␍") for line in part.lines)
    text = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, start=part.first))
    if part.more:
        return f"{text}\n[lines {part.first:,}–{last:,}; read on with offset={last + 1}]"
    if part.first == 1 and last == part.total:
        return text
    on = f"; read on with offset={last + 1}" if last < part.total else ""
    return f"{text}\n[lines {part.first:,}–{last:,} of {part.total:,}{on}]"


def _max_line_length(room: int) -> int:
    return max(min(LONGEST_LINE, room - _NOTE), 20)


def _fit_lines(lines: Iterable[tuple[str, int]], room: int) -> tuple[list[str], bool]:
    """Lines, each with how much of it is not in memory, as far as there is room; and whether one was left over."""
    longest = _max_line_length(room)
    found: list[str] = []
    for line, dropped in lines:
        left_out = dropped + max(len(line) - longest, 0)
        if left_out:
            line = f"{line[:longest]} [… {left_out:,} more characters in this line]"
        room -= len(line) + _MARGIN
        if found and (room < 0 or (left_out and longest < LONGEST_LINE)):
            return found, True
        found.append(line)
    return found, False


def _read_part_of_large(place: OpenPath, offset: int, lines: int, context: Context, room: int) -> FilePart:
    descriptor, status = open_file(place)
    context.seen.forget(place.path)
    deadline = time.monotonic() + context.limits.search_seconds
    try:
        start = os.pread(descriptor, _CHUNK, 0)
        decline_binary(place.path, start, status.st_size)
        every = _read_lines(descriptor, detect_encoding(start), status.st_size, deadline)
        before = sum(1 for _ in islice(every, min(offset - 1, sys.maxsize)))
        found, more = _fit_lines(islice(every, lines), room)
        more = more or next(every, None) is not None
        return FilePart(found, offset, before + len(found), more)
    except TimeoutError:
        raise ToolFault(
            f"'{sanitize_for_display(place.path, 200)}' is so large ({status.st_size:,} "
            f"bytes) that line {offset:,} was not "
            f"reached in {context.limits.search_seconds:g} s; use bash to extract the part you need."
        ) from None
    finally:
        os.close(descriptor)


def _read_lines(descriptor: int, encoding: str, size: int, deadline: float) -> Iterator[tuple[str, int]]:
    """The lines of an open file, each in memory only as far as it is shown, and how much of it is not."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    rest, dropped, begun = "", 0, False
    while True:
        if time.monotonic() > deadline:
            raise TimeoutError
        # What is appended meanwhile is left for another time: it might never end.
        data = os.read(descriptor, min(_CHUNK, size))
        size -= len(data)
        text = decoder.decode(data, final=not data)
        rest += text if begun else text.removeprefix("\ufeff")
        begun = begun or bool(text)
        *whole, rest = rest.split("\n")
        for line in whole:
            yield line.removesuffix("\r"), dropped
            dropped = 0
        if len(rest) > 2 * LONGEST_LINE:
            dropped += len(rest) - 2 * LONGEST_LINE
            rest = rest[: 2 * LONGEST_LINE]
        if not data:
            if rest:
                yield rest, dropped
            return
