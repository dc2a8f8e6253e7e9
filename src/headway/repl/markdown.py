"""Markdown as it streams in: what is complete can be drawn, the rest waits. Pure; drawing is in `renderer`.

A block ends at an empty line; a fence at its own end, whatever is in it. Only one that is very long is given out before
that, in parts; a fence then goes on as a fence of its own.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"(\s*)(`{3,}|~{3,})(.*)$")
"""Also far to the right, where the items of a list have theirs."""
_LONGEST = 12_000
"""Characters after which a block is given out although it has not ended."""


class LineStream:
    """The same for text that is printed as it is: whole lines, empty ones too."""

    def __init__(self) -> None:
        self.rest = ""

    def feed(self, text: str) -> list[str]:
        lines, found, self.rest = (self.rest + text).rpartition("\n")
        return [lines] if found else []

    def end(self) -> list[str]:
        rest, self.rest = self.rest, ""
        return [rest] if rest else []


class MarkdownStream:
    """`feed` gives the blocks that are complete; `rest` is what is not, `end` gives it out."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        """What has come of the line that has not ended."""
        self._fence = ""
        """What closes the fence that is open."""
        self._indent = 0
        self._size = 0
        self._goes_on = False
        """Whether the fence that is open began in a block before."""

    @property
    def rest(self) -> str:
        return "\n".join([*self._lines, "".join(self._line)])

    def feed(self, text: str) -> list[str]:
        if "\n" not in text:
            self._line.append(text)
            return []
        *lines, last = ("".join(self._line) + text).split("\n")
        self._line = [last]
        done: list[str] = []
        for line in lines:
            self._take(line, done)
        return done

    def end(self) -> list[str]:
        done: list[str] = []
        line, self._line = "".join(self._line), []
        if line:
            self._take(line, done)
        if self._goes_on and len(self._lines) == 1:
            self._lines = []
        self._give(done)
        self._fence, self._goes_on = "", False
        return done

    def _take(self, line: str, done: list[str]) -> None:
        found = _FENCE.match(line)
        if self._fence:
            self._lines.append(line)
            closes = (
                found
                and found[2].startswith(self._fence)
                and not found[3].strip()
                and len(found[1]) <= self._indent + 3
            )
            if closes:
                self._fence = ""
                if self._goes_on and len(self._lines) == 2:  # it ended where it was cut
                    self._lines = []
                self._goes_on = False
                self._give(done)
        elif found:
            self._give(done)
            self._fence, self._indent = found[2], len(found[1])
            self._lines.append(line)
        elif line.strip():
            self._lines.append(line)
        else:
            self._give(done)
        self._size += len(line) + 1
        if self._size > _LONGEST and self._lines:
            self._cut(done)

    def _cut(self, done: list[str]) -> None:
        """Gives out a part of a block; a fence goes on in a new one."""
        if not self._fence:
            self._give(done)
            return
        opening = self._lines[0]
        self._lines.append(self._fence)
        self._give(done)
        self._lines = [opening]
        self._goes_on = True

    def _give(self, done: list[str]) -> None:
        if self._lines:
            done.append("\n".join(self._lines))
        self._lines = []
        self._size = 0
