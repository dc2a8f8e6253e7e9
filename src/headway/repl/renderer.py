"""What stands in the terminal, drawn by rich into text. Everything from outside is neutralised here."""

from __future__ import annotations

import os
from io import StringIO
from typing import TYPE_CHECKING

from headway.core.text import neutralize_lines
from headway.views.execution_lines import BEGINS, DETAIL, shorten_start_line
from headway.views.terminal import count_cells, fit_to_width, to_ascii, to_visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, RenderableType

    from headway.core.model import Todo

_STYLES = {"✓": "green", "✓?": "green", "✗": "red", "⊘": "yellow", "!": "yellow", "❌": "red", "?": "bold yellow"}


class Renderer:
    """Draws for a terminal that may be without colour, or without Unicode."""

    def __init__(self, *, ascii: bool) -> None:
        self.ascii = ascii
        self.colour = not os.environ.get("NO_COLOR")

    def _make_console(self, width: int) -> Console:
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

    def draw(self, what: RenderableType, width: int) -> str:
        console = self._make_console(width)
        console.print(what, end="", crop=False)
        file = console.file
        assert isinstance(file, StringIO)
        return self.to_plain(file.getvalue())

    def to_plain(self, text: str) -> str:
        """The text in characters that the terminal has."""
        return to_ascii(text) if self.ascii else text

    def draw_markdown(self, text: str, width: int) -> str:
        from headway.repl.headings import AnswerMarkdown

        safe = neutralize_lines(text)
        try:
            drawn = self.draw(AnswerMarkdown(safe), width)
        except RecursionError:  # nested deeper than anyone writes
            drawn = safe
        return "\n".join(line.rstrip() for line in drawn.split("\n")).strip("\n")

    def draw_line(self, mark: str, what: str, why: str, width: int) -> str:
        """One line; if it is too long, it is what happened that is cut, not why."""
        from rich.text import Text

        if mark == DETAIL:
            return self.draw_styled(f"  {to_visible(what)}{f': {to_visible(why)}' if why else ''}", "dim", width)
        if mark == BEGINS:
            what = shorten_start_line(what, width - 4)
        what, why = (self.to_plain(to_visible(text)) for text in (what, why))
        why = fit_to_width(why, max(width // 2, width - count_cells(what) - 4), ascii=self.ascii)
        what = fit_to_width(what, max(width - count_cells(why) - 4, 10), ascii=self.ascii)
        text = Text(no_wrap=True, overflow="ignore")
        text.append(f"{mark} ", _STYLES.get(mark, "")).append(what)
        if why:
            text.append(f": {why}", "dim")
        return self.draw(text, width)

    def draw_styled(self, text: str, style: str, width: int) -> str:
        """Lines as they are, wrapped by the terminal, in one style."""
        from rich.text import Text

        return self.draw(Text(neutralize_lines(text), style), width)

    def draw_diff(self, text: str, width: int) -> str:
        from rich.text import Text

        lines = Text()
        for line in neutralize_lines(text).splitlines():
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            lines.append(f"    {line}\n", style)
        return self.draw(lines, width).rstrip("\n")

    def draw_box(self, todos: Sequence[Todo], width: int, height: int) -> list[str]:
        """Its rows, for a terminal that does not wrap lines meanwhile."""
        from headway.views.box import draw_rows

        return draw_rows(todos, width=width, ascii=self.ascii, height=height, colour=self.colour)
