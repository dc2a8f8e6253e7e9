"""Who changed what, when: a list's log in words, oldest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.core.clock import format_local_time
from headway.core.events import CompletionLogged, LeaseRenewed, ListDelta, PlanModeChanged, PlanUpdated
from headway.core.evidence import Evidence
from headway.core.text import sanitize_for_display
from headway.views.evidence_words import evidence_word
from headway.views.terminal import to_visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headway.core.events import Event, EventData, Splice

MAX_DETAILS = 20
"""Lines about one change; the rest is counted."""
MAX_TEXT = 60
_FOLLOWS_STATUS = frozenset(
    {"started_at", "completed_at", "started_at_round", "completed_at_round", "lease_until", "interrupted"}
)
"""Fields that change because the status did; the status tells it."""
_LONG = frozenset({"content", "active_form", "notes", "risks", "title", "summary"})


def history_lines(events: Iterable[Event]) -> list[str]:
    """For each change a line with version, time, actor and what was asked for, then indented ones with what changed."""
    lines: list[str] = []
    for event in events:
        lines.append(
            f"{event.version}  {format_local_time(event.at)}  {_format_text(event.actor)} "
            f" {_describe_cause(event.data)}"
        )
        details = list(_list_details(event.data))
        lines.extend(f"    {detail}" for detail in details[:MAX_DETAILS])
        if len(details) > MAX_DETAILS:
            lines.append(f"    … {len(details) - MAX_DETAILS} more")
    return lines


def _describe_cause(data: EventData) -> str:
    match data:
        case ListDelta():
            return _format_text(data.cause)
        case LeaseRenewed():
            return f"renewed {_format_text(data.todo_id)}"
        case PlanUpdated():
            return f"plan {_quote(data.plan.title)}" if data.plan else "plan cleared"
        case PlanModeChanged():
            return f"plan mode {'on' if data.on else 'off'}"
        case CompletionLogged():
            return f"completion logged in {_format_text(data.path)}"
        case _:
            return data.wire_name


def _list_details(data: EventData) -> Iterator[str]:
    if not isinstance(data, ListDelta):
        return
    for name, (before, after) in data.about.items():
        if name == "kept_by_loop":
            yield f"now kept by the {'agent loop' if after else 'model'}"
            continue
        yield f"{name.replace('_', ' ')} {_format_value(name, before)} → {_format_value(name, after)}"
    for todo in data.added:
        yield f"added {_format_text(todo.id)} {_quote(todo.content)}"
    for todo in data.removed:
        yield f"dropped {_format_text(todo.id)} {_quote(todo.content)}"
    for todo_id, fields in data.changed.items():
        yield f"{_format_text(todo_id)} {format_changes(fields)}"
    if data.order and (moved := format_move(data.order)):
        yield moved


def format_changes(fields: dict[str, tuple[object, object]]) -> str:
    """Return the fields of a todo that changed, each with both sides; those that follow the status only without it."""
    told = {name: sides for name, sides in fields.items() if "status" not in fields or name not in _FOLLOWS_STATUS}
    parts: list[str] = []
    for name, (before, after) in told.items():
        label = "" if name in ("status", "content") else f"{name} "
        parts.append(f"{label}{_format_value(name, before)} → {_format_value(name, after)}")
    return ", ".join(parts)


def format_move(order: Splice) -> str:
    """Return what a change of the order says beyond what was added and dropped."""
    moved = list_moved_ids(order)
    if len(moved) == 1:
        return f"moved {_format_text(moved[0])} to position {order.start + order.inserted.index(moved[0]) + 1}"
    return f"moved {len(moved)} items" if moved else ""


def list_moved_ids(order: Splice) -> list[str]:
    """Return what has another place than before: one todo, if moving that gives the new order."""
    inserted, removed = set(order.inserted), set(order.removed)
    before = [node for node in order.removed if node in inserted]
    after = [node for node in order.inserted if node in removed]
    if before == after:
        return []
    if [*before[1:], before[0]] == after:
        return [before[0]]
    return [before[-1]] if [before[-1], *before[:-1]] == after else after


def _format_value(name: str, value: object) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, Evidence):
        return evidence_word(value.level)
    if isinstance(value, tuple):
        return _format_text("; ".join(str(part)[:MAX_TEXT] for part in value[:MAX_TEXT]))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _quote(str(value)) if name in _LONG else _format_text(str(value))


def format_name(text: str, *, quoted: bool = False) -> str:
    """Return an id or a text as it stands within a line."""
    return _quote(text) if quoted else _format_text(text)


def _quote(text: str) -> str:
    return f'"{_format_text(text)}"'


def _format_text(text: str) -> str:
    return to_visible(sanitize_for_display(text, MAX_TEXT))
