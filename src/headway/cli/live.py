"""The task box on a terminal, redrawn in place; a line per change where that cannot be done."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from types import TracebackType
from typing import Self, TextIO

from headway.core.model import Todo
from headway.views.box import box_lines, draw_rows, list_changed_rows, to_row_texts
from headway.views.terminal import ERASE, apply_style, fit_to_width, has_unicode

_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_ENTER_SCREEN, _LEAVE_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
_HOME, _ERASE_BELOW = "\x1b[H", "\x1b[J"


def is_plain(stream: TextIO) -> bool:
    """Whether nothing can be redrawn there."""
    return not stream.isatty() or os.environ.get("TERM", "dumb") == "dumb"


class _Rows:
    """The last rows of what was printed, redrawn in place.

    The terminal does not wrap lines while they are drawn, so that however wide it draws a row, it stays one.
    """

    def __init__(self, stream: TextIO, *, screen: bool) -> None:
        self._stream = stream
        self._screen = screen
        self._drawn: list[str] = []

    def begin(self) -> None:
        self._write((_ENTER_SCREEN if self._screen else "") + _HIDE_CURSOR)

    def draw(self, rows: list[str]) -> None:
        self._write(self._move_to_start() + self._redraw(rows))

    def print_above(self, text: str) -> None:
        """Print text for good, each line as many rows as it takes."""
        self._write(f"{self._move_to_start()}{_ERASE_BELOW}{text}" + self._redraw(self._drawn))

    def end(self, *, leave: bool) -> None:
        """Give the terminal back, below the rows or without them."""
        after = "\r\n" if leave and self._drawn else "" if leave else self._move_to_start() + _ERASE_BELOW
        if self._screen:
            after = _LEAVE_SCREEN
        self._drawn = []
        self._write(after + _SHOW_CURSOR)

    def _move_to_start(self) -> str:
        """What brings the cursor to where the rows begin."""
        if self._screen:
            return _HOME
        return f"\r\x1b[{len(self._drawn) - 1}A" if len(self._drawn) > 1 else "\r"

    def _redraw(self, rows: list[str]) -> str:
        erase = _ERASE_BELOW if len(rows) < len(self._drawn) else ""
        self._drawn = rows
        return erase + _NO_WRAP + "\n".join(rows) + _WRAP

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


class LiveBox:
    """Use as a context: `with LiveBox() as box: box.show(session.todos)`.

    With `screen` it has the terminal for itself, so that it can be drawn anew when the size changes; the last box stays
    behind when it is left. With `silent` what is typed meanwhile does not appear.
    """

    def __init__(self, stream: TextIO | None = None, *, screen: bool = False, silent: bool = False) -> None:
        self._stream = stream or sys.stdout
        self._screen = screen
        self._silent = silent
        self._drawn: tuple[list[Todo], os.terminal_size] | None = None
        self._ascii = not has_unicode(self._stream)
        self._colour = not os.environ.get("NO_COLOR")
        self._rows: _Rows | None = None
        self._printed: dict[str, str] = {}
        """Of a list that cannot be redrawn: id → how the item was printed last."""
        self._boxed: list[str] = []
        """Of such a list, the last box that was printed."""
        self._notes: list[str] = []
        self._head = ""
        self._todos: list[Todo] = []

    def __enter__(self) -> Self:
        if not is_plain(self._stream):
            self._rows = _Rows(self._stream, screen=self._screen)
            self._set_echo(False)
            self._rows.begin()
        return self

    @property
    def width(self) -> int | None:
        """Cells of a line that stays in its place; None where lines may be of any length."""
        return self._terminal_size().columns - 1 if self._stream.isatty() else None

    @property
    def ascii(self) -> bool:
        return self._ascii

    def _set_echo(self, on: bool) -> None:
        """Keys pressed while something is redrawn would stay in the middle of it."""
        if not self._silent or not sys.stdin.isatty():
            return
        with suppress(ImportError):
            import termios

            with suppress(termios.error):
                modes = termios.tcgetattr(sys.stdin.fileno())
                modes[3] = modes[3] | termios.ECHO if on else modes[3] & ~termios.ECHO
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, modes)

    def show_quietly(self, todos: list[Todo]) -> None:
        """Show the list, but where nothing can be redrawn print no line for what changed."""
        if self._rows is None and not self._screen:
            self._todos = todos
            self._printed = to_row_texts(todos, ascii=self._ascii)
        else:
            self.show(todos)

    def show(self, todos: list[Todo]) -> None:
        size = self._terminal_size()
        self._todos = todos
        if self._rows is not None:
            if (todos, size) != self._drawn:
                self._drawn = (todos, size)
                self._draw(size)
            return
        rows = to_row_texts(todos, ascii=self._ascii)
        if self._screen and not self._boxed:
            self._print_box()
        else:
            for row in list_changed_rows(self._printed, rows):
                self.print_line(row)
        self._printed = rows

    def _print_box(self) -> None:
        lines = box_lines(self._todos, width=self._terminal_size().columns, ascii=self._ascii)
        if lines != self._boxed:
            self._boxed = lines
            self.print_line("\n".join(lines))

    def show_head(self, line: str) -> None:
        """Show a line above the box as long as it holds; printed anew where nothing can be drawn in place."""
        if self._rows is not None:
            self.show_note(line)
        elif line != self._head and line:
            self.print_line(line)
        self._head = line

    def show_note(self, line: str) -> None:
        """Shows a line above the box until the next one, where it can be taken back."""
        self.show_notes([line] if line else [])

    def show_notes(self, lines: list[str]) -> None:
        """The same for several lines."""
        if self._rows is not None and lines != self._notes:
            self._notes = lines
            self._draw(self._terminal_size())

    def _draw(self, size: os.terminal_size) -> None:
        assert self._rows is not None
        most = max(size.lines // 3, 1)
        dim = "2" if self._colour else ""
        notes = [
            apply_style(fit_to_width(line, size.columns - 1, ascii=self._ascii), dim) for line in self._notes[:most]
        ]
        box = self._box_rows(self._todos, size) if self._todos or self._screen or self._drawn else []
        self._rows.draw([*(f"{note}{ERASE}" for note in notes), *box][: size.lines])

    def _box_rows(self, todos: list[Todo], size: os.terminal_size) -> list[str]:
        height = max(size.lines - 1 - max(len(self._notes), 1), 3)
        return draw_rows(todos, width=size.columns, ascii=self._ascii, height=height, colour=self._colour)

    def _terminal_size(self) -> os.terminal_size:
        """The size of the terminal as it is now, whatever the environment says."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return shutil.get_terminal_size()
        return size if size.columns and size.lines else os.terminal_size((80, 24))

    def hide(self) -> None:
        """Takes the box away, so that the terminal is free."""
        if self._rows is not None:
            self._rows.end(leave=False)
            self._set_echo(True)

    def unhide(self) -> None:
        if self._rows is not None:
            self._set_echo(False)
            self._rows.begin()
            self._draw(self._terminal_size())

    def print_line(self, line: str) -> None:
        """Prints a line above the box."""
        if self._rows is not None:
            self._rows.print_above(_wrap(line, self._terminal_size().columns))
        else:
            self._stream.write(line + "\n")
            self._stream.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._rows is not None:
            self._rows.end(leave=True)
            self._set_echo(True)
            if self._screen and self._drawn is not None:
                rows = self._box_rows(*self._drawn)
                self._stream.write(_NO_WRAP + "\n".join(rows) + _WRAP + "\n")
        elif self._todos:
            self._print_box()


def _wrap(text: str, columns: int) -> str:
    """The text broken into lines between words, which the terminal breaks further where it draws them wider."""
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    Console(file=out, width=columns, color_system=None).print(text, markup=False, highlight=False, emoji=False)
    return out.getvalue()
