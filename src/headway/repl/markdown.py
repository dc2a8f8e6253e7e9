"""Markdown as it streams in: what is complete can be drawn, the rest waits. Pure; drawing is in `drawing`.

A block ends at an empty line, unless it is inside a fence. Long blocks of code and of plain lines do not wait for their
end: a fence is given out line by line as a fence of its own would be drawn, which is what a person wants to watch.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_LONGEST = 12_000
"""Characters after which a block is given out although it has not ended."""


class Stream:
    """`feed` gives the blocks that are complete; `rest` is what is not, `end` gives it out."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line = ""
        self._fence = ""
        """What closes the fence that is open."""
        self._size = 0

    @property
    def rest(self) -> str:
        return "\n".join([*self._lines, self._line]) if self._lines else self._line

    def feed(self, text: str) -> list[str]:
        *lines, self._line = (self._line + text).split("\n")
        done: list[str] = []
        for line in lines:
            self._take(line, done)
        return done

    def end(self) -> list[str]:
        done: list[str] = []
        if self._line:
            line, self._line = self._line, ""
            self._take(line, done)
        self._give(done)
        self._fence = ""
        return done

    def _take(self, line: str, done: list[str]) -> None:
        found = _FENCE.match(line)
        if self._fence:
            self._lines.append(line)
            closes = found and found[1].startswith(self._fence) and not found[2].strip()
            if closes:
                self._fence = ""
                self._give(done)
        elif found:
            self._give(done)
            self._fence = found[1]
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

    def _give(self, done: list[str]) -> None:
        if self._lines:
            done.append("\n".join(self._lines))
        self._lines = []
        self._size = 0
