"""Matching lines of a text, and how they are shown: `path:12: text`, with lines around them as `path-11- text`.

A line is searched on its own, with a time limit, since some patterns would take for ever on some lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import regex

from headway.core.text import neutralize, sanitize_for_display
from headway.tools.base import ToolFault
from headway.tools.files.walk import SearchDeadline

Output = Literal["lines", "files", "count"]

LONGEST_LINE = 500
"""Characters that are shown of a line."""
_LINE_SECONDS = 1.0
"""Longest search in one line, of processor time, which is what `regex` counts; what takes longer has no useful end."""
_LINES_UNTIMED = 100
_TAME_LENGTH = 500
_MOST_UNROLLED = 250_000
"""A pattern's length times its counts: compiling writes out `(a{1000}){1000}` in memory."""
_COUNT = re.compile(r"\{\s*(\d+)")
_RECURSION = re.compile(r"(?<!\\)(?:\\\\)*\(\?(?:R|&|P>|[+-]?\d)")
"""A pattern that contains itself takes memory without bound."""
_VERBOSE = re.compile(r"(?<!\\)(?:\\\\)*\(\?[\w-]*x")


class TooSlow(Exception):
    """The pattern took too long on a line."""


class TextLine(NamedTuple):
    """A line of a text: its number, from 1, and where it is."""

    number: int
    start: int
    end: int
    """Without its line ending."""
    after: int
    """Where the next one starts."""


class Matcher:
    """A pattern that lines are searched for."""

    def __init__(
        self, pattern: str, *, fixed: bool, ignore_case: bool, literal: str | None, stop: SearchDeadline
    ) -> None:
        self._expression = _compile(pattern, fixed, ignore_case)
        self._literal = None if ignore_case else literal
        self._is_tame = fixed or _is_always_fast(pattern)
        self._stop = stop

    def find_lines(self, text: str) -> Iterator[tuple[TextLine, int, int]]:
        """The lines that match, each with the place of its first match. Raises `TooSlow`."""
        for count, line in enumerate(_list_lines(text, self._literal)):
            if count % _LINES_UNTIMED == 0 and self._stop:
                return
            if match := self._match(text[line.start : line.end]):
                yield line, match.start(), match.end()

    def _match(self, line: str) -> regex.Match[str] | None:
        if self._is_tame and len(line) <= _TAME_LENGTH:
            return self._expression.search(line)
        try:
            # Other threads go on meanwhile.
            return self._expression.search(
                line, timeout=max(min(self._stop.remaining, _LINE_SECONDS), 0.01), concurrent=True
            )
        except (TimeoutError, MemoryError):
            raise TooSlow from None


@dataclass(slots=True)
class Findings:
    """What a search found, as it is shown; at most so much."""

    output: Output
    context: int
    most: int
    """Matching lines, or files."""
    room: int
    """Characters."""
    lines: list[str] = field(default_factory=list[str])
    matches: int = 0
    full: bool = False
    """There is more than is shown."""

    def add(self, path: str, text: str, matcher: Matcher) -> None:
        """Searches a text. Raises `TooSlow`; what was found until then is kept."""
        name = neutralize(path)
        found: list[tuple[TextLine, int, int]] = []
        count = 0
        try:
            for match in matcher.find_lines(text):
                if self.output == "lines":
                    if self.matches >= self.most:
                        self.full = True
                        break
                    self.matches += 1
                    found.append(match)
                count += 1
                if self.output == "files":
                    break
        finally:
            if self.output == "lines":
                self._put_lines(name, text, found)
            elif count and self.matches >= self.most:
                self.full = True
            elif count:
                self.matches += 1
                self._put(name if self.output == "files" else f"{name}:{count}")

    def _put(self, line: str) -> None:
        self.room -= len(line) + 1
        if self.room < 0:
            self.full = True
        else:
            self.lines.append(line)

    def _put_lines(self, name: str, text: str, found: list[tuple[TextLine, int, int]]) -> None:
        last = 0
        """Number of the last line shown."""
        for index, (line, start, end) in enumerate(found):
            before = _lines_before(text, line, min(self.context, line.number - last - 1))
            if self.context and self.lines and (not last or line.number - len(before) > last + 1):
                self._put("--")
            following = found[index + 1][0].number if index + 1 < len(found) else math.inf
            after = _lines_after(text, line, min(self.context, following - line.number - 1))
            self._put_around(name, text, before)
            self._put(f"{name}:{line.number}: {_cut_around_match(text[line.start : line.end], start, end)}")
            self._put_around(name, text, after)
            last = line.number + len(after)
            if self.room < 0:
                return

    def _put_around(self, name: str, text: str, lines: list[TextLine]) -> None:
        for line in lines:
            self._put(f"{name}-{line.number}- {_cut_around_match(text[line.start : line.end])}")


def _compile(pattern: str, fixed: bool, ignore_case: bool) -> regex.Pattern[str]:
    if fixed:
        pattern = regex.escape(pattern)
    elif _RECURSION.search(pattern):
        raise _unusable_pattern_fault(pattern, "recursive patterns, (?R), are not supported")
    elif _VERBOSE.search(pattern):
        raise _unusable_pattern_fault(pattern, "verbose patterns, (?x), are not supported")
    elif len(pattern) * math.prod(max(int(count), 1) for count in _COUNT.findall(pattern)) > _MOST_UNROLLED:
        raise _unusable_pattern_fault(pattern, "its repeat counts are too large")
    try:
        return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0, cache_pattern=False)
    except regex.error as error:
        raise _unusable_pattern_fault(pattern, sanitize_for_display(str(error), 200)) from None
    except (RecursionError, OverflowError, MemoryError):
        raise _unusable_pattern_fault(pattern, "its groups are nested too deeply") from None


def _unusable_pattern_fault(pattern: str, why: str) -> ToolFault:
    return ToolFault(
        f"'{sanitize_for_display(pattern, 200)}' is not a usable pattern: {why}. "
        "Correct it, or set fixed to search for it as "
        "plain text."
    )


def _is_always_fast(pattern: str) -> bool:
    """Whether it is quick on any short line. A time limit costs more than most searches do."""
    repeats = sum(pattern.count(char) for char in "*+?{")
    return repeats == 0 or (repeats <= 2 and not any(char in pattern for char in "(|"))


def _list_lines(text: str, literal: str | None) -> Iterator[TextLine]:
    """The lines of a text; only those with the literal, if there is one."""
    number, start = 1, 0
    while start < len(text):
        if literal is not None:
            found = text.find(literal, start)
            if found < 0:
                return
            number += text.count("\n", start, found)
            start = max(text.rfind("\n", start, found) + 1, start)
        line = _line_from(text, number, start)
        yield line
        number, start = number + 1, line.after


def _line_from(text: str, number: int, start: int) -> TextLine:
    end = text.find("\n", start)
    if end < 0:
        end = len(text)
    return TextLine(number, start, end - (end > start and text[end - 1] == "\r"), end + 1)


def _lines_before(text: str, line: TextLine, count: int) -> list[TextLine]:
    found: list[TextLine] = []
    while len(found) < count:
        line = _line_from(text, line.number - 1, text.rfind("\n", 0, line.start - 1) + 1)
        found.insert(0, line)
    return found


def _lines_after(text: str, line: TextLine, count: float) -> list[TextLine]:
    found: list[TextLine] = []
    while len(found) < count and line.after < len(text):
        line = _line_from(text, line.number + 1, line.after)
        found.append(line)
    return found


def _cut_around_match(line: str, start: int = 0, end: int = 0) -> str:
    """The part of a long line around its match."""
    if len(line) <= LONGEST_LINE:
        return line
    room = max(LONGEST_LINE - (end - start), 0)
    first = max(min(start - room // 2, len(line) - LONGEST_LINE), 0)
    part = line[first : first + LONGEST_LINE]
    return f"{'…' * (first > 0)}{part}{'…' * (first + LONGEST_LINE < len(line))}"
