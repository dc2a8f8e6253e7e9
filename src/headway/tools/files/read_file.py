"""`read_file`: a text file, or a range of its lines, with line numbers. Of a huge file only the range is in memory."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import Field

from headway.tools.effects import Effect
from headway.tools.files.content import decline_binary, decoded, encoding_of, opened, read_bytes
from headway.tools.files.workspace import Place, Workspace
from headway.tools.tool import Context, Tool, ToolInput, ToolResult, description_beside

_CHUNK = 1 << 18
LONGEST_LINE = 2_000
"""A longer line is cut."""


class ReadFileInput(ToolInput):
    path: str = Field(min_length=1, description="File, relative to the project's folder.")
    offset: int = Field(default=1, ge=1, description="First line to read, counted from 1.")
    limit: int | None = Field(default=None, ge=1, description="Number of lines to read.")


@dataclass(slots=True)
class Part:
    """Some lines of a file."""

    lines: list[str]
    first: int
    total: int
    more: bool = False
    """There are lines after these, and the file was too large to count them."""


class ReadFile(Tool[ReadFileInput]):
    name = "read_file"
    description = description_beside(__file__)
    input = ReadFileInput
    effect = Effect.READ

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def subject(self, call: ReadFileInput) -> str:
        return self._workspace.relative(call.path)

    async def run(self, call: ReadFileInput, context: Context) -> ToolResult:
        return ToolResult(await asyncio.to_thread(self._read, call, context))

    def _read(self, call: ReadFileInput, context: Context) -> str:
        lines = min(call.limit or context.limits.read_lines, context.limits.read_lines)
        with self._workspace.place(call.path) as place:
            part = read_part(place, call.offset, lines, context)
        return numbered(part, place.path)


def read_part(place: Place, offset: int, lines: int, context: Context) -> Part:
    """Lines of a file. One that fits into memory is noted as seen, whatever part of it is asked for."""
    limit = context.limits.file_bytes
    status = place.status()
    if status is not None and status.st_size > limit:
        return _part_of_large(place, offset, lines, context)
    data = read_bytes(place, limit)
    text, _ = decoded(data, place.path)
    context.seen.note(place.path, data)
    every = split_lines(text)
    return Part([_cut(line) for line in every[offset - 1 : offset - 1 + lines]], offset, len(every))


def split_lines(text: str) -> list[str]:
    """Lines as editors count them: ended by a line feed, or by carriage return and line feed."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def numbered(part: Part, path: str) -> str:
    """The lines with their numbers, and where to read on."""
    if not part.total:
        return f"({path} is empty)"
    if not part.lines:
        return f"({path} has {part.total:,} lines; there is none from {part.first:,} on)"
    last = part.first + len(part.lines) - 1
    text = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(part.lines, start=part.first))
    if part.more:
        return f"{text}\n[lines {part.first:,}–{last:,}; read on with offset={last + 1}]"
    if part.first == 1 and last == part.total:
        return text
    on = f"; read on with offset={last + 1}" if last < part.total else ""
    return f"{text}\n[lines {part.first:,}–{last:,} of {part.total:,}{on}]"


def _cut(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]} [… {len(line) - LONGEST_LINE:,} characters of this line left out]"


def _part_of_large(place: Place, offset: int, lines: int, context: Context) -> Part:
    descriptor, status = opened(place)
    context.seen.forget(place.path)
    try:
        start = os.pread(descriptor, _CHUNK, 0)
        decline_binary(place.path, start, status.st_size)
        found: list[str] = []
        number = 0
        for line in _lines(descriptor, encoding_of(start)):
            number += 1
            if number >= offset + lines:
                return Part(found, offset, number, more=True)
            if number >= offset:
                found.append(_cut(line))
        return Part(found, offset, number)
    finally:
        os.close(descriptor)


def _lines(descriptor: int, encoding: str) -> Iterator[str]:
    """The lines of an open file, each in memory only as far as it is shown."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    rest, dropped = "", 0
    while True:
        data = os.read(descriptor, _CHUNK)
        rest += decoder.decode(data, final=not data).replace("\ufeff", "")
        *whole, rest = rest.split("\n")
        for line in whole:
            yield line.removesuffix("\r") + "…" * bool(dropped)
            dropped = 0
        if len(rest) > 2 * LONGEST_LINE:
            dropped += len(rest) - 2 * LONGEST_LINE
            rest = rest[: 2 * LONGEST_LINE]
        if not data:
            if rest:
                yield rest
            return
