"""The live box: the list as a person sees it in the terminal, as plain lines or with rich's styles.

Rows are cut, never wrapped, so that the right border stays straight and the box can be redrawn in place.
"""

from __future__ import annotations

from headway.core.model import Status, Todo
from headway.views.terminal import cells, fitted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

ICONS = {
    Status.COMPLETED: "✓",
    Status.IN_PROGRESS: "●",
    Status.PENDING: "○",
    Status.CANCELLED: "⊘",
    Status.BLOCKED: "✗",
}
ASCII_ICONS = {
    Status.COMPLETED: "x",
    Status.IN_PROGRESS: "*",
    Status.PENDING: "o",
    Status.CANCELLED: "-",
    Status.BLOCKED: "!",
}
STYLES = {
    Status.COMPLETED: "bright_black",
    Status.IN_PROGRESS: "yellow",
    Status.PENDING: "dim",
    Status.CANCELLED: "dim strike",
    Status.BLOCKED: "red",
}
EMPTY = "No tasks yet"
TITLE = "Tasks"
MIN_WIDTH = 55
"""The box is this wide where the terminal is, and grows with its content."""
LEAST_WIDTH = 7
"""Two borders, three spaces, an icon and one character."""
_FRAME = 6
"""Cells of a row that are not text: borders, spaces and icon."""
_ACTIVE_ORDER = (Status.IN_PROGRESS, Status.PENDING, Status.BLOCKED)


def box_lines(todos: Sequence[Todo], *, width: int = 80, ascii: bool = False, height: int | None = None) -> list[str]:
    """The box in at most `width` cells and, where `height` is given, at most that many lines (but at least 3)."""
    rows = _rows(todos, max(width, LEAST_WIDTH) - _FRAME, height, ascii=ascii)
    size = _size(rows, width)
    side = "|" if ascii else "│"
    middle = [f"{side} {text}{' ' * (size - 4 - cells(text))} {side}" for _, text in rows]
    return [_top(size, ascii=ascii), *middle, _bottom(size, ascii=ascii)]


def draw(todos: Sequence[Todo], *, width: int = 80, ascii: bool = False, height: int | None = None) -> Text:
    """The box for rich: the same characters, styled by status."""
    from rich.text import Text

    rows = _rows(todos, max(width, LEAST_WIDTH) - _FRAME, height, ascii=ascii)
    size = _size(rows, width)
    side = "|" if ascii else "│"
    box = Text(_top(size, ascii=ascii) + "\n", no_wrap=True, overflow="ignore")
    for status, text in rows:
        box.append(f"{side} ")
        if status is Status.CANCELLED:
            box.append(text[:2], "dim").append(text[2:], STYLES[status])
        else:
            box.append(text, STYLES[status] if status else "dim")
        box.append(f"{' ' * (size - 4 - cells(text))} {side}\n")
    return box.append(_bottom(size, ascii=ascii))


def _size(rows: Sequence[tuple[Status | None, str]], width: int) -> int:
    widest = max(cells(text) for _, text in rows) + 4
    return max(min(max(widest, MIN_WIDTH), width), LEAST_WIDTH)


def _top(size: int, *, ascii: bool) -> str:
    corner, line, end = "+-+" if ascii else "┌─┐"
    title = f"{line} {TITLE} "
    return corner + (title if len(title) + 2 < size else "").ljust(size - 2, line) + end


def _bottom(size: int, *, ascii: bool) -> str:
    corner, line, end = "+-+" if ascii else "└─┘"
    return corner + line * (size - 2) + end


def _rows(todos: Sequence[Todo], room: int, height: int | None, *, ascii: bool) -> list[tuple[Status | None, str]]:
    """What stands between the borders: (status, text), None for a row that is no item. `room` is for an item's text."""
    if not todos:
        return [(None, fitted(EMPTY, room + 2, ascii=ascii))]
    before, first, last, after = _window(todos, None if height is None else max(height - 2, 1))
    rows: list[tuple[Status | None, str]] = []
    dots = "..." if ascii else "…"
    if before:
        rows.append((None, fitted(f"{dots} {before} more", room + 2, ascii=ascii)))
    rows.extend((todo.status, _row(todo, room, ascii=ascii)) for todo in todos[first:last])
    if after:
        rows.append((None, fitted(f"{dots} {after} more", room + 2, ascii=ascii)))
    return rows


def _row(todo: Todo, room: int, *, ascii: bool) -> str:
    icon = (ASCII_ICONS if ascii else ICONS)[todo.status]
    text = todo.content
    if todo.status is Status.IN_PROGRESS:
        text = todo.label if todo.label.endswith(("...", "…")) else todo.label + "..."
    return f"{icon} {fitted(text, room, ascii=ascii)}"


def _window(todos: Sequence[Todo], rows: int | None) -> tuple[int, int, int, int]:
    """(hidden above, first shown, end of shown, hidden below) for that many rows, the active item among the shown."""
    total = len(todos)
    if rows is None or total <= rows:
        return 0, 0, total, 0
    active = _active(todos)
    if rows == 1:
        return 0, active, active + 1, 0
    if active <= rows - 2:
        return 0, 0, rows - 1, total - rows + 1
    if active >= total - rows + 1:
        return total - rows + 1, total - rows + 1, total, 0
    if rows == 2:
        return 0, active, active + 1, total - 1
    shown = rows - 2
    first = active - shown // 3
    return first, first, first + shown, total - first - shown


def _active(todos: Sequence[Todo]) -> int:
    """Where the eye should be: what is in progress, else what comes next, else the end."""
    for status in _ACTIVE_ORDER:
        for index, todo in enumerate(todos):
            if todo.status is status:
                return index
    return len(todos) - 1
