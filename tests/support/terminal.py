"""A `headway` on a real terminal: what a person sees, and what is typed at it."""

from __future__ import annotations

import codecs
import os
import select
import termios
import time
from collections.abc import Callable, Mapping
from typing import Any

import pyte

from .processes import NOTHING, WAIT, Process, headway, headway_from_nothing


class Terminal(Process):
    """A `headway` on a terminal of a given size, with the screen as a person sees it."""

    def __init__(
        self,
        *words: str,
        columns: int = 80,
        lines: int = 24,
        typed: bool = True,
        loaded: bool = True,
        env: Mapping[str, str] = NOTHING,
    ) -> None:
        """With `typed=False` only its output goes to the terminal; with `loaded=False` it begins from nothing."""
        self._screen = pyte.HistoryScreen(columns, lines, history=500, ratio=1)
        self._stream = pyte.Stream(self._screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._ended = self._closed = False
        self.given_back = False
        """Whether in the end there is a cursor, and what is typed appears."""
        self.raw = ""
        self._terminal, other = os.openpty()
        termios.tcsetwinsize(other, (lines, columns))
        stdin = other if typed else os.open(os.devnull, os.O_RDONLY)
        try:
            super().__init__((stdin, other, other), (headway if loaded else headway_from_nothing)(*words, env=env))
        finally:
            for descriptor in {stdin, other}:
                os.close(descriptor)

    def resize(self, columns: int, lines: int) -> None:
        termios.tcsetwinsize(self._terminal, (lines, columns))
        self._screen.resize(lines, columns)

    def send(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    @property
    def shown(self) -> str:
        # Not `display`, which fails where a wide character has been overwritten by half, as in the middle of a redraw.
        return "\n".join(self._to_text(self._screen.buffer[y]).rstrip() for y in range(self._screen.lines))

    def _to_text(self, row: Mapping[int, Any]) -> str:
        """Return a row as text; a wide character is followed by a cell with nothing in it."""
        return "".join(row[x].data for x in range(self._screen.columns))

    @property
    def all(self) -> str:
        """The screen, and what went out of it at the top."""
        above = [self._to_text(row) for row in self._screen.history.top]
        return "\n".join([*(line.rstrip() for line in above), self.shown])

    def until(self, holds: Callable[[str], object]) -> str:
        """The screen, as soon as something holds of it."""
        deadline = time.monotonic() + WAIT
        while not holds(self.shown):
            assert time.monotonic() < deadline and not self._ended, self.shown
            self._read()
        return self.shown

    def asked(self, about: str) -> str:
        """The screen, when it waits for the answer to a question that has these words."""
        return self.until(lambda shown: about in shown and shown.rstrip().endswith(">"))

    def end(self) -> int:
        deadline = time.monotonic() + WAIT
        while not self._ended:
            assert time.monotonic() < deadline, self.shown
            self._read()
        self.given_back = self.echoes and self.raw.rfind("\x1b[?25h") >= self.raw.rfind("\x1b[?25l")
        self.close()
        return self.wait()

    @property
    def echoes(self) -> bool:
        """Whether what is typed appears."""
        return bool(termios.tcgetattr(self._terminal)[3] & termios.ECHO)

    def close(self) -> None:
        """The terminal goes away, as when a connection breaks."""
        if not self._closed:
            self._closed = True
            os.close(self._terminal)

    def discard(self) -> None:
        super().discard()
        self.close()

    def _read(self) -> None:
        if not select.select([self._terminal], [], [], 0.2)[0]:
            return
        try:
            # Little at a time, so that no screen is missed because this process was slow.
            text = self._decoder.decode(os.read(self._terminal, 256))
        except OSError:  # the last process that had it open is gone
            self._ended = True
            return
        self.raw += text
        self._stream.feed(text)


# what is on a screen


def boxes(shown: str) -> list[list[str]]:
    """The boxes on the screen, each as its rows; what is left of another is one of its own."""
    found: list[list[str]] = []
    for line in shown.splitlines():
        if line.startswith("┌") or (line.startswith(("│", "└")) and (not found or found[-1][-1].startswith("└"))):
            found.append([])
        if line.startswith(("┌", "│", "└")):
            found[-1].append(line)
    return found


def one_box(shown: str, *items: str, rows: int | None = None) -> bool:
    """Whether there is one box, which is whole: with these items, or with that many rows."""
    box = whole_box(shown)
    if box is None:
        return False
    return len(box) == rows if rows is not None else [row.strip("│ ") for row in box[1:-1]] == [*items]


def whole_box(shown: str) -> list[str] | None:
    """The rows of the one box on the screen; None while it is being redrawn, or if there is another."""
    found = boxes(shown)
    if len(found) != 1:
        return None
    first, inner, last = found[0][0], found[0][1:-1], found[0][-1]
    is_whole = first.startswith("┌─ Tasks ") and first.endswith("┐") and last.startswith("└") and last.endswith("┘")
    return found[0] if is_whole and all(row.endswith("│") for row in inner) else None
