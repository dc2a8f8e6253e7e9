"""Rows for prompt_toolkit that stay whole however wide a terminal draws their characters.

prompt_toolkit keeps a grid of cells and writes those that changed at the columns where it takes them to be: wrong from
the first character that the terminal draws wider or narrower. To it such a row is blank, but for its last cell, before
which the whole row is written as one escape sequence. The style of that cell says which row it is, so that a new row is
written and one that did not change is not.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from headway.views.terminal import ERASE, styled, to_column

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

CODES = {"": "", "bold": "1", "reverse": "7", "fg:ansiyellow": "33", "fg:ansibrightblack": "90"}
"""Styles of prompt_toolkit → codes of terminals."""
_WITHOUT_COLOUR = frozenset({"", "bold", "reverse"})
_MOST = 1_000
"""Rows that are told apart at a time: many more than there are on a screen."""


class PlacedRows:
    def __init__(self, *, colour: bool) -> None:
        self._colour = colour
        self._numbers: OrderedDict[str, int] = OrderedDict()

    def row(self, style: str, text: str, columns: int) -> StyleAndTextTuples:
        """One row of text with its line break."""
        if text.isascii():
            return [(style, text + "\n")]
        codes = CODES[style] if self._colour or style in _WITHOUT_COLOUR else ""
        return self.drawn_row(styled(text, codes) + ERASE, columns)

    def drawn_row(self, row: str, columns: int) -> StyleAndTextTuples:
        """One row as it is sent to the terminal, with its line break."""
        last = max(columns - 1, 0)
        # A colour, though of nothing: prompt_toolkit leaves out blanks that have none at the end of a row.
        style = f"fg:ansidefault class:row{self._number(row)}"
        return [
            ("class:placed", " " * last),
            ("[ZeroWidthEscape]", f"\r{row}{to_column(last + 1)}"),
            (style, " "),
            ("", "\n"),
        ]

    def _number(self, row: str) -> int:
        """A number that no other row has of those that were drawn lately."""
        if row in self._numbers:
            self._numbers.move_to_end(row)
        else:
            number = len(self._numbers)
            if number >= _MOST:
                _, number = self._numbers.popitem(last=False)
            self._numbers[row] = number
        return self._numbers[row]
