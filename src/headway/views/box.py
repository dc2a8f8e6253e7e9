"""The live box: the list as a person sees it in the terminal, as plain lines or drawn for a terminal.

Rows are cut, never wrapped. On a terminal the right border is placed by column: terminals do not agree on how wide
scripts and emoji are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.core.model import Status, Todo
from headway.views.terminal import ERASE, apply_style, count_cells, fit_to_width, move_to_column, to_visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    Status.COMPLETED: "90",
    Status.IN_PROGRESS: "33",
    Status.PENDING: "2",
    Status.CANCELLED: "2;9",
    Status.BLOCKED: "31",
}
"""As terminals know them: grey, yellow, dim, dim and struck through, red."""
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
    size = _box_width(rows, width)
    side = "|" if ascii else "│"
    middle = [f"{side} {text}{' ' * (size - 4 - count_cells(text))} {side}" for _, text in rows]
    return [_top_border(size, ascii=ascii), *middle, _bottom_border(size, ascii=ascii)]


def draw_rows(
    todos: Sequence[Todo], *, width: int = 80, ascii: bool = False, height: int | None = None, colour: bool = True
) -> list[str]:
    """The same rows for a terminal, styled by status, which stay whole however wide it draws their texts.

    Each begins at the left edge, where the terminal must not wrap lines while it is written.
    """
    rows = _rows(todos, max(width, LEAST_WIDTH) - _FRAME, height, ascii=ascii)
    size = _box_width(rows, width)
    side = "|" if ascii else "│"
    drawn = [_top_border(size, ascii=ascii)]
    for status, text in rows:
        if not colour:
            inner = text
        elif status is Status.CANCELLED:
            inner = apply_style(text[:2], "2") + apply_style(text[2:], STYLES[status])
        else:
            inner = apply_style(text, STYLES[status] if status else "2")
        drawn.append(f"{side} {inner}{ERASE}{move_to_column(size)}{ERASE}{side}")
    drawn.append(_bottom_border(size, ascii=ascii))
    for edge in (0, -1):
        drawn[edge] = f"{drawn[edge][:-1]}{move_to_column(size)}{ERASE}{drawn[edge][-1]}"
    return drawn


def to_row_texts(todos: Sequence[Todo], *, ascii: bool = False) -> dict[str, str]:
    """id → its row in full, without borders."""
    return {todo.id: f"{(ASCII_ICONS if ascii else ICONS)[todo.status]} {to_visible(_label(todo))}" for todo in todos}


def list_changed_rows(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the rows of `to_row_texts` that are new or other than before."""
    return [text for todo_id, text in now.items() if before.get(todo_id) != text]


def _box_width(rows: Sequence[tuple[Status | None, str]], width: int) -> int:
    widest = max(count_cells(text) for _, text in rows) + 4
    return max(min(max(widest, MIN_WIDTH), width), LEAST_WIDTH)


def _top_border(size: int, *, ascii: bool) -> str:
    corner, line, end = "+-+" if ascii else "┌─┐"
    title = f"{line} {TITLE} "
    return corner + (title if len(title) + 2 < size else "").ljust(size - 2, line) + end


def _bottom_border(size: int, *, ascii: bool) -> str:
    corner, line, end = "+-+" if ascii else "└─┘"
    return corner + line * (size - 2) + end


def _rows(todos: Sequence[Todo], room: int, height: int | None, *, ascii: bool) -> list[tuple[Status | None, str]]:
    """What stands between the borders: (status, text), None for a row that is no item. `room` is for an item's text."""
    if not todos:
        return [(None, fit_to_width(EMPTY, room + 2, ascii=ascii))]
    before, first, last, after = _find_window(todos, None if height is None else max(height - 2, 1))
    rows: list[tuple[Status | None, str]] = []
    dots = "..." if ascii else "…"
    if before:
        rows.append((None, fit_to_width(f"{dots} {before} more", room + 2, ascii=ascii)))
    rows.extend((todo.status, _row(todo, room, ascii=ascii)) for todo in todos[first:last])
    if after:
        rows.append((None, fit_to_width(f"{dots} {after} more", room + 2, ascii=ascii)))
    return rows


def _row(todo: Todo, room: int, *, ascii: bool) -> str:
    icon = (ASCII_ICONS if ascii else ICONS)[todo.status]
    return f"{icon} {fit_to_width(_label(todo), room, ascii=ascii)}"


def _label(todo: Todo) -> str:
    if todo.status is not Status.IN_PROGRESS:
        return todo.content
    return todo.label if todo.label.endswith(("...", "…")) else todo.label + "..."


def _find_window(todos: Sequence[Todo], rows: int | None) -> tuple[int, int, int, int]:
    """(hidden above, first shown, end of shown, hidden below) for that many rows, the active item among the shown."""
    total = len(todos)
    if rows is None or total <= rows:
        return 0, 0, total, 0
    active = _find_active_row(todos)
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


def _find_active_row(todos: Sequence[Todo]) -> int:
    """Where the eye should be: what is in progress, else what comes next, else the end."""
    for status in _ACTIVE_ORDER:
        for index, todo in enumerate(todos):
            if todo.status is status:
                return index
    return len(todos) - 1
