"""What stands in the terminal, drawn by rich into text. Everything from outside is neutralised here."""

from __future__ import annotations

import os
from io import StringIO
from typing import TYPE_CHECKING

from headway.core.text import neutral_lines
from headway.views.executing import BEGINS, DETAIL, with_its_end
from headway.views.terminal import cells, fitted, in_ascii, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, RenderableType

    from headway.core.model import Todo

_STYLES = {"✓": "green", "✓?": "green", "✗": "red", "⊘": "yellow", "!": "yellow", "❌": "red", "?": "bold yellow"}


class Pen:
    """Draws for a terminal that may be without colour, or without Unicode."""

    def __init__(self, *, ascii: bool) -> None:
        self.ascii = ascii
        self.colour = not os.environ.get("NO_COLOR")

    def _console(self, width: int) -> Console:
        from rich.console import Console

        return Console(
            file=StringIO(),
            force_terminal=True,
            color_system="standard" if self.colour else None,
            no_color=not self.colour,
            width=max(width, 10),
            highlight=False,
            emoji=False,
            markup=False,
            legacy_windows=False,
        )

    def drawn(self, what: RenderableType, width: int) -> str:
        console = self._console(width)
        console.print(what, end="", crop=False)
        file = console.file
        assert isinstance(file, StringIO)
        return self.plain(file.getvalue())

    def plain(self, text: str) -> str:
        """The text in characters that the terminal has."""
        return in_ascii(text) if self.ascii else text

    def markdown(self, text: str, width: int) -> str:
        from headway.repl.headings import Answer

        safe = neutral_lines(text)
        try:
            drawn = self.drawn(Answer(safe), width)
        except RecursionError:  # nested deeper than anyone writes
            drawn = safe
        return "\n".join(line.rstrip() for line in drawn.split("\n")).strip("\n")

    def line(self, mark: str, what: str, why: str, width: int) -> str:
        """One line; if it is too long, it is what happened that is cut, not why."""
        from rich.text import Text

        if mark == DETAIL:
            return self.styled(f"  {visible(what)}{f': {visible(why)}' if why else ''}", "dim", width)
        if mark == BEGINS:
            what = with_its_end(what, width - 4)
        what, why = (self.plain(visible(text)) for text in (what, why))
        why = fitted(why, max(width // 2, width - cells(what) - 4), ascii=self.ascii)
        what = fitted(what, max(width - cells(why) - 4, 10), ascii=self.ascii)
        text = Text(no_wrap=True, overflow="ignore")
        text.append(f"{mark} ", _STYLES.get(mark, "")).append(what)
        if why:
            text.append(f": {why}", "dim")
        return self.drawn(text, width)

    def styled(self, text: str, style: str, width: int) -> str:
        """Lines as they are, wrapped by the terminal, in one style."""
        from rich.text import Text

        return self.drawn(Text(neutral_lines(text), style), width)

    def diff(self, text: str, width: int) -> str:
        from rich.text import Text

        lines = Text()
        for line in neutral_lines(text).splitlines():
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            lines.append(f"    {line}\n", style)
        return self.drawn(lines, width).rstrip("\n")

    def box(self, todos: Sequence[Todo], width: int, height: int) -> list[str]:
        """Its rows, for a terminal that does not wrap lines meanwhile."""
        from headway.views.box import drawn_rows

        return drawn_rows(todos, width=width, ascii=self.ascii, height=height, colour=self.colour)
