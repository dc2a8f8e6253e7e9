"""Text that keeps its place on a terminal: measured in cells, cut in cells, nothing invisible in it.

Widths are rich's, imported when something is measured. Knows nothing of todos.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from unicodedata import category

from headway.core.text import neutralize

if TYPE_CHECKING:
    from typing import TextIO

ERASE = "\x1b[K"
"""Erases to the end of the line."""
_JOINER = "\u200d"
_JOINERS = "\u200c\u200d"
_MOST_PER_CELL = 8
"""Characters read per cell: an emoji sequence has up to 7, a stack of combining marks has no end."""


def to_visible(text: str) -> str:
    """The text on one line without characters that have no width on one terminal and some on another.

    Of the invisible ones only joiners inside emoji and non-joiners inside words stay: elsewhere terminals do not agree
    on what is joined.
    """
    line = neutralize(text)
    if line.isprintable():
        return line
    return "".join(
        char
        for index, char in enumerate(line)
        if category(char) != "Cf" or (char in _JOINERS and _is_joining(line, index))
    )


def project_line(folder: str) -> str:
    """Name the project, since its folder may be further up than the current one."""
    path, home = os.path.abspath(folder), os.path.expanduser("~")
    if home not in ("~", os.sep) and (path == home or path.startswith(home + os.sep)):
        path = f"~{path[len(home) :]}"
    return f"Project: {to_visible(path)}"


def _is_joining(line: str, index: int) -> bool:
    """Whether the joiner at `index` joins two pictures, or the non-joiner keeps two letters apart."""
    if line[index] != _JOINER:
        return line[index - 1 : index].isalpha() and line[index + 1 : index + 2].isalpha()
    before = line[max(index - 3, 0) : index].rstrip("\ufe0f")
    after = line[index + 1 : index + 2]
    return category(before[-1:] or "a") in ("So", "Sk") and category(after or "a") in ("So", "Sm")


def move_to_column(column: int) -> str:
    """What places the cursor at a column of its line, counted from 1."""
    return f"\x1b[{column}G"


def apply_style(text: str, codes: str) -> str:
    """The text with these style codes of terminals, if there are any."""
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


def to_ascii_only(text: str) -> str:
    """The text with `?` for every character that a terminal without Unicode cannot show."""
    return text.encode("ascii", "replace").decode("ascii")


ASCII = str.maketrans("✓✗⊘●•│─━▌…→·✅❌▶⏸—“”‘’", "+x-**|--|.>-+x>=-\"\"''")


def to_ascii(text: str) -> str:
    """The text for a terminal without Unicode: Headway's own marks in the next best character, the rest as `?`."""
    return to_ascii_only(text.translate(ASCII))


def count_cells(text: str) -> int:
    """How many cells the text takes."""
    from rich.cells import cell_len

    return cell_len(text)


def fit_to_width(text: str, width: int, *, ascii: bool = False) -> str:
    """The text, made visible, in at most `width` cells; what is longer ends in an ellipsis."""
    most = _MOST_PER_CELL * max(width, 1)
    line = to_visible(text[:most])
    if ascii:
        line = to_ascii_only(line)
    if len(text) <= most and count_cells(line) <= width:
        return line
    mark = "..." if ascii else "…"
    mark = mark[: max(width, 0)]
    return _take_cells(line, width - len(mark)).rstrip() + mark


def _take_cells(line: str, width: int) -> str:
    from rich.cells import split_graphemes

    taken = 0
    for start, _, size in split_graphemes(line)[0]:
        taken += size
        if taken > width:
            return line[:start]
    return line


def has_unicode(stream: TextIO) -> bool:
    """Whether the box's characters can be written to the stream."""
    try:
        "┌─┐│└┘✓●○⊘✗…".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
