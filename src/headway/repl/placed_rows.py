"""Rows for prompt_toolkit that stay whole however wide a terminal draws their characters.

prompt_toolkit keeps a grid of cells and writes those that changed at the columns where it takes them to be: wrong from
the first character that the terminal draws wider or narrower. Before the last cell of such a row, the whole row is
therefore written once more as one escape sequence. The style of that cell says which row it is, so that this happens
when the row is another one.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from prompt_toolkit.utils import get_cwidth

from headway.views.terminal import ERASE, apply_style, move_to_column

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

CODES = {"": "", "bold": "1", "reverse": "7", "fg:ansiyellow": "33", "fg:ansibrightblack": "90"}
"""Styles of prompt_toolkit → codes of terminals."""
_WITHOUT_COLOUR = frozenset({"", "bold", "reverse"})
_NARROW = str.maketrans("", "", "·…●")
"""Headway's own marks, one cell wide on every terminal that is not set to draw them wide."""
_MOST = 1_000
"""Rows that are told apart at a time: many more than there are on a screen."""


class PlacedRows:
    def __init__(self, *, colour: bool) -> None:
        self._colour = colour
        self._numbers: OrderedDict[str, int] = OrderedDict()

    def place_row(self, style: str, text: str, columns: int) -> StyleAndTextTuples:
        """One row of text with its line break."""
        if text.translate(_NARROW).isascii():
            return [(style, text + "\n")]
        codes = CODES[style] if self._colour or style in _WITHOUT_COLOUR else ""
        return self.place_drawn_row(apply_style(text, codes) + ERASE, columns, (style, text))

    def place_drawn_row(self, row: str, columns: int, before: tuple[str, str] = ("", "")) -> StyleAndTextTuples:
        """One row as it is sent to the terminal, with its line break; `before`: what prompt_toolkit takes it for."""
        last = max(columns - 1, 0)
        style, text = before
        while get_cwidth(text) > last:
            text = text[:-1]
        cells = text + " " * (last - get_cwidth(text))
        # A colour, though of nothing: prompt_toolkit leaves out blanks that have none at the end of a row.
        mark = f"fg:ansidefault class:row{self._next_number(row)}"
        return [
            (f"{style} class:placed", cells),
            ("[ZeroWidthEscape]", f"\r{row}{move_to_column(last + 1)}"),
            (mark, " "),
            ("", "\n"),
        ]

    def _next_number(self, row: str) -> int:
        """A number that no other row has of those that were drawn lately."""
        if row in self._numbers:
            self._numbers.move_to_end(row)
        else:
            number = len(self._numbers)
            if number >= _MOST:
                _, number = self._numbers.popitem(last=False)
            self._numbers[row] = number
        return self._numbers[row]
