"""The end of a run for a person: what was done and how sure that is, what is open, files, tokens, money."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headway.core.evidence import evidence_level
from headway.core.model import FINISHED, Status, Todo
from headway.core.text import sanitize_for_display
from headway.views.evidence_words import count_levels
from headway.views.listing import todo_line
from headway.views.terminal import to_visible

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_FILES = 20
_MOST_ITEMS = 20
_HEADINGS = {
    "finished": "✅ Finished",
    "all_done": "✅ All done",
    "max_rounds": "⏸  Stopped at the limit",
    "max_tokens": "⏸  Stopped at the token limit",
    "max_cost": "⏸  Stopped at the cost limit",
    "cancelled": "⏹  Stopped",
    "error": "❌ Failed",
}


def summary_lines(
    reason: str,
    rounds: int,
    seconds: float,
    todos: Sequence[Todo],
    *,
    error: str | None,
    files: Sequence[str],
    input_tokens: int,
    cached_tokens: int,
    output_tokens: int,
    cost: float | None,
) -> list[str]:
    """One line for each thing there is to say; nothing for what there is not."""
    lines = [f"{_HEADINGS[reason]} after {rounds} round{'' if rounds == 1 else 's'}, {format_duration(seconds)}"]
    if error:
        lines.append(to_visible(sanitize_for_display(error, 1_000)))
    if todos:
        lines += _list_lines(todos)
    if files:
        more = f" and {len(files) - _MOST_FILES} more" if len(files) > _MOST_FILES else ""
        lines.append(
            "Files changed: "
            f"{', '.join(to_visible(sanitize_for_display(path, 200)) for path in files[:_MOST_FILES])}{more}"
        )
    cached = f" ({cached_tokens:,} cached)" if cached_tokens else ""
    lines.append(f"Tokens: {input_tokens:,} in{cached}, {output_tokens:,} out · cost: {format_money(cost)}")
    return lines


def format_end(reason: str, rounds: int, seconds: float, tokens: int, cost: float | None) -> str:
    """The end of a run in one line."""
    said = _HEADINGS[reason].split(maxsplit=1)[1]
    paid = "" if cost is None else f" · {format_money(cost)}"
    return (
        f"{said} after {rounds} round{'' if rounds == 1 else 's'}, {format_duration(seconds)} · {tokens:,} tokens{paid}"
    )


def _list_lines(todos: Sequence[Todo]) -> list[str]:
    completed = [todo for todo in todos if todo.status is Status.COMPLETED]
    sure = f" ({count_levels(Counter(str(evidence_level(todo)) for todo in completed))})" if completed else ""
    cancelled = sum(todo.status is Status.CANCELLED for todo in todos)
    dropped = f", {cancelled} cancelled" if cancelled else ""
    lines = [f"Done: {len(completed)} of {len(todos)}{sure}{dropped}", *_todo_lines(completed)]
    left = [todo for todo in todos if todo.status not in FINISHED]
    return [*lines, f"Open: {len(left)}", *_todo_lines(left)] if left else lines


def _todo_lines(todos: Sequence[Todo]) -> list[str]:
    more = [f"  … {len(todos) - _MOST_ITEMS} more"] if len(todos) > _MOST_ITEMS else []
    return [*(f"  {todo_line(todo)}" for todo in todos[:_MOST_ITEMS]), *more]


def format_money(cost: float | None) -> str:
    if not cost:
        return "unknown" if cost is None else "$0"
    return f"${cost:.4f}" if cost >= 0.0001 else "less than $0.0001"


def format_duration(seconds: float) -> str:
    """`4.2 s`, `2m 31s`."""
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    whole = int(round(seconds, 1))
    return f"{whole // 60}m {whole % 60:02}s"
