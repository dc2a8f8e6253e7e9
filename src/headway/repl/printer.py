"""What is printed for good, above the part of the screen that prompt_toolkit redraws.

A line above and the redrawn part below reach the terminal in one go, so that nothing flickers. When the size changes,
lines have moved, and what was said last is written anew.
"""

from __future__ import annotations

import fcntl
import sys
import termios
from array import array
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.utils import get_cwidth

from headway.repl.placed_rows import CODES
from headway.views.terminal import ERASE, apply_style, move_to_column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_toolkit.application import Application
    from prompt_toolkit.layout.screen import Char

    from headway.repl.renderer import Renderer
    from headway.repl.transcript import Piece

_TAIL = 500
"""Lines that can be written anew."""


class _Output(Vt100_Output):
    """Nothing reaches the terminal while it is held, and the cursor is moved to columns, not by columns.

    A terminal may have drawn what stands before the cursor wider or narrower than prompt_toolkit takes it to be.
    """

    held = False
    _column = 0
    """Where prompt_toolkit takes the cursor to be, counted from 0."""

    def write(self, data: str) -> None:
        super().write(data)
        start = max(data.rfind("\r"), data.rfind("\n")) + 1
        self._column = (0 if start else self._column) + get_cwidth(data[start:])

    def cursor_forward(self, amount: int) -> None:
        self._move(amount)

    def cursor_backward(self, amount: int) -> None:
        self._move(-amount)

    def _move(self, amount: int) -> None:
        if amount:
            self._column = max(self._column + amount, 0)
            self.write_raw(move_to_column(self._column + 1))

    def show_cursor(self) -> None:
        if not self.held:  # it is shown when everything is drawn
            super().show_cursor()

    @property
    def responds_to_cpr(self) -> bool:
        return False  # the lower part is as high as what is in it, wherever it stands

    def flush(self) -> None:
        if self.held:
            return
        try:
            super().flush()
        except OSError:  # the terminal is gone; a signal says so too, and the session ends
            return


def has_typed_ahead() -> bool:
    """Whether something was typed that nobody has read."""
    waiting = array("i", [0])
    with suppress(OSError):
        fcntl.ioctl(sys.stdin.fileno(), termios.FIONREAD, waiting)
    return waiting[0] > 0


class Printer:
    def __init__(self, pen: Renderer) -> None:
        output = _Output.from_pty(sys.stdout)
        assert isinstance(output, _Output)
        self.output = output
        self.pen = pen
        self.suspended = False
        """Whether the terminal is somebody else's for the moment."""
        self._size = output.get_size()
        self._tail: deque[str] = deque(maxlen=_TAIL)
        self._unwritten: list[str] = []
        self._spoke = False
        """Whether the model spoke last: what it says next is another paragraph."""
        self._app: Application[None] | None = None

    @property
    def columns(self) -> int:
        return self._size.columns

    @property
    def rows(self) -> int:
        return self._size.rows

    def begin(self, app: Application[None]) -> None:
        self._app = app
        self.write()

    def end(self) -> None:
        """What was not written yet is written now, with nothing below it."""
        self._app = None
        self.output.held = False
        for text in self._unwritten:
            self.output.write_raw(text)
        self._unwritten = []
        self.output.flush()

    def release(self) -> None:
        """The terminal as it is now, before somebody else has it."""
        self.output.held = False
        self.output.flush()

    def print_text(self, text: str, style: str = "") -> None:
        """Plain text, on as many lines as it takes."""
        self._spoke = False
        self.print_drawn(self.pen.draw_styled(text, style, self.columns))

    def print_line(self, mark: str, what: str, why: str = "") -> None:
        self._spoke = False
        self.print_drawn(self.pen.draw_line(mark, what, why, self.columns - 1))

    def print_pieces(self, pieces: list[Piece]) -> None:
        drawn: list[str] = []
        for piece in pieces:
            if piece.kind == "markdown":
                between = "\n" if self._spoke else ""
                drawn.append(between + self.pen.draw_markdown(piece.text, self.columns))
            elif piece.kind == "text":
                drawn.append(self.pen.draw_styled(piece.text, "", self.columns))
            else:
                drawn.append(self.pen.draw_line(piece.mark, piece.text, piece.why, self.columns - 1))
            self._spoke = piece.kind == "markdown"
        if drawn:
            self.print_drawn("\n".join(drawn))

    def print_drawn(self, drawn: str) -> None:
        """Writes what a pen drew."""
        self._tail.extend(drawn.split("\n"))
        self._unwritten.append(drawn.replace("\n", "\r\n") + "\r\n")
        self.write()

    def write(self) -> None:
        app = self._app
        if app is None or self.suspended or not self._unwritten:
            return
        self.output.held = True
        app.renderer.erase()
        for text in self._unwritten:
            self.output.write_raw(text)
        self._unwritten = []
        app.invalidate()

    def before_render(self, app: Application[None]) -> None:
        self.output.held = True
        size = self.output.get_size()
        if size == self._size:
            return
        self._size = size
        self.output.erase_screen()
        self.output.cursor_goto(0, 0)
        for line in [*self._tail][-max(size.rows - 2, 1) :]:
            self.output.write_raw(f"{line}\r\n")
        self._unwritten = []
        app.renderer.reset()

    def after_render(self, app: Application[None]) -> None:
        self._place_input(app)
        self.output.held = False
        self.output.show_cursor()
        self.output.flush()

    def _place_input(self, app: Application[None]) -> None:
        """Write rows of the input anew as a whole, and the cursor behind what stands before it.

        prompt_toolkit wrote only what changed in them, which is right for characters that are as wide as it thinks.
        """
        screen, window = app.renderer.last_rendered_screen, app.layout.current_window
        if screen is None or window not in screen.visible_windows_to_write_positions:
            return
        cursor = screen.get_cursor_position(window)
        area = screen.visible_windows_to_write_positions[window]
        rows = {y: screen.data_buffer[y] for y in range(area.ypos, area.ypos + area.height)}
        drawn = ""
        for y, row in rows.items():
            text = _format_row(row, self.columns).rstrip()
            if text.isascii():
                continue
            there, back = _move_vertically(y - cursor.y), _move_vertically(cursor.y - y)
            drawn += f"{there}\r{text}{ERASE}{back}"
        if drawn:
            before = _format_row(rows[cursor.y], cursor.x)
            place = move_to_column(cursor.x + 1) if before.isascii() else f"\r{before}"
            self.output.write_raw(f"\x1b[?7l{drawn}{place}\x1b[?7h")


def _format_row(row: Mapping[int, Char], end: int) -> str:
    """The cells of a row up to a column as they are sent to the terminal."""
    parts: list[str] = []
    x = 0
    while x < end:
        style = "bold" if "bold" in row[x].style else ""
        parts.append(apply_style(row[x].char, CODES[style]))
        x += max(row[x].width, 1)
    return "".join(parts)


def _move_vertically(rows: int) -> str:
    """What moves the cursor that many rows down, or up."""
    return f"\x1b[{abs(rows)}{'B' if rows > 0 else 'A'}" if rows else ""
