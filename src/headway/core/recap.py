"""The list in one short line, for the end of a prompt: `[1/3] In progress: A. Pending: B; C.`"""

from __future__ import annotations

from headway.core.model import FINISHED, Status, Todo
from headway.core.text import neutralize, truncate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SECTIONS = ((Status.IN_PROGRESS, "In progress", 1), (Status.PENDING, "Pending", 3), (Status.CANCELLED, "Cancelled", 2))
_BLOCKED = (Status.BLOCKED, "Blocked", 2)


def format_recap(todos: Sequence[Todo], limit: int = 299, *, blocked: bool = True) -> str:
    """At most `limit` characters: long items are shortened, the counts never."""
    done = sum(todo.status in FINISHED for todo in todos)
    sections = (*_SECTIONS, _BLOCKED) if blocked else _SECTIONS
    chosen: list[tuple[str, list[str]]] = []
    active = sum(todo.status is Status.IN_PROGRESS for todo in todos)
    counts = (f"[{done}/{len(todos)}]", f" (and {active - 1} more)" if active > 1 else "")
    for status, label, most in sections:
        texts = [neutralize(todo.content) for todo in todos if todo.status is status][:most]
        if texts or status is Status.IN_PROGRESS:
            chosen.append((label, texts))
    longest = max((len(text) for _, texts in chosen for text in texts), default=0)
    line = _format_recap_line(counts, chosen, longest)
    if len(line) <= limit:
        return line
    low, high = 1, longest
    while low < high:
        middle = (low + high + 1) // 2
        if len(_format_recap_line(counts, chosen, middle)) <= limit:
            low = middle
        else:
            high = middle - 1
    return _format_recap_line(counts, chosen, low)


def _format_recap_line(counts: tuple[str, str], chosen: Sequence[tuple[str, Sequence[str]]], most: int) -> str:
    before, more = counts
    parts = [
        f"{label}: {'; '.join(truncate(text, most) for text in texts) or 'None'}"
        f"{more if label == _SECTIONS[0][1] else ''}."
        for label, texts in chosen
    ]
    return " ".join([before, *parts])
