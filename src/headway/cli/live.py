"""The task box on a terminal: redrawn in place; plain text, printed anew on each change, where that cannot be done."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from headway.core.model import Todo
from headway.views.box import box_lines, draw
from headway.views.terminal import fitted

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text


def has_unicode(stream: TextIO) -> bool:
    """Whether the box's characters can be written to the stream."""
    try:
        "┌─┐│└┘✓●○⊘✗…".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def is_plain(stream: TextIO) -> bool:
    return not stream.isatty() or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "dumb") == "dumb"


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
        self._live: Live | None = None
        self._shown: list[str] | None = None
        self._notes: list[str] = []
        self._head = ""
        self._todos: list[Todo] = []

    def __enter__(self) -> Self:
        if not is_plain(self._stream):
            self._begin()
        return self

    def _begin(self) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console(file=self._stream)
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop", screen=self._screen)
        self._set_echo(False)
        self._live.__enter__()

    @property
    def width(self) -> int | None:
        """Cells of a line that stays in its place; None where lines may be of any length."""
        return self._size().columns - 1 if self._stream.isatty() else None

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

    def show(self, todos: list[Todo]) -> None:
        size = self._size()
        self._todos = todos
        if self._live is not None:
            if (todos, size) != self._drawn:
                self._drawn = (todos, size)
                self._draw(size)
            return
        lines = box_lines(todos, width=size.columns, ascii=self._ascii)
        if lines != self._shown:
            self._shown = lines
            self._stream.write("\n".join(lines) + "\n")
            self._stream.flush()

    def show_head(self, line: str) -> None:
        """Show a line above the box as long as it holds; printed anew where nothing can be drawn in place."""
        if self._live is not None:
            self.note(line)
        elif line != self._head and line:
            self.say(line)
        self._head = line

    def note(self, line: str) -> None:
        """Shows a line above the box until the next one, where it can be taken back."""
        self.notes([line] if line else [])

    def notes(self, lines: list[str]) -> None:
        """The same for several lines."""
        if self._live is not None and lines != self._notes:
            self._notes = lines
            self._draw(self._size())

    def _draw(self, size: os.terminal_size) -> None:
        from rich.console import Group
        from rich.text import Text

        assert self._live is not None
        self._live.console.size = (size.columns, size.lines)
        most = max(size.lines // 3, 1)
        note = [Text(fitted(line, size.columns - 1, ascii=self._ascii), "dim") for line in self._notes[:most]]
        box = [self._box(self._todos, size)] if self._todos or self._screen or self._drawn else []
        self._live.update(Group(*note, *box), refresh=True)

    def _box(self, todos: list[Todo], size: os.terminal_size) -> Text:
        return draw(
            todos, width=size.columns, ascii=self._ascii, height=max(size.lines - 1 - max(len(self._notes), 1), 3)
        )

    def _size(self) -> os.terminal_size:
        """The size of the terminal as it is now, whatever the environment says."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return shutil.get_terminal_size()
        return size if size.columns and size.lines else os.terminal_size((80, 24))

    def hide(self) -> None:
        """Takes the box away, so that the terminal is free."""
        if self._live is not None:
            self._live.transient = True  # nothing of it stays behind
            self._live.stop()
            self._set_echo(True)

    def unhide(self) -> None:
        if self._live is not None:
            self._begin()  # a new one: the old one would move up over what was printed meanwhile
            self._draw(self._size())

    def say(self, line: str) -> None:
        """Prints a line above the box."""
        if self._live is not None:
            self._live.console.print(line, markup=False, highlight=False, emoji=False)
        else:
            self._stream.write(line + "\n")
            self._stream.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)
            self._set_echo(True)
            if self._screen and self._drawn is not None:
                self._live.console.print(self._box(*self._drawn))
