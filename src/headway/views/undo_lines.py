"""What an undo or redo did, in words: each step by what it was, and which todos went from what to what. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.core.delta import UNSEEN
from headway.core.events import ListDelta
from headway.core.execution_events import TodosRolledBack
from headway.core.model import MODEL, PERSON, PERSON_PREFIX
from headway.core.run_events import RunFinished
from headway.views.history import format_changes, format_move, format_name, list_moved_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headway.core.undo import Step

MOST = 5
"""Lines of a listing; the rest is counted."""
_REWRITES = {
    "write": "rewrite",
    "create": "new list",
    "plan": "replacement with the plan's steps",
    "import": "import",
    "clear": "removal of all todos",
    "undo": "earlier undo",
    "redo": "earlier redo",
}
_OF = {
    "update": "edit",
    "advance": "edit",
    "add": "addition",
    "drop": "removal",
    "move": "move",
    "claim": "claim",
    "release": "release",
}


_WITH_STATUS = frozenset({"evidence", "owner"})
"""Fields that are not named beside a new status, which they go with."""


def undone_lines(steps: Sequence[Step]) -> list[str]:
    """Return for each step a line that names it, with what changed: in it, or in indented lines below."""
    lines: list[str] = []
    for step in steps[:MOST]:
        details = list(_list_details(step))
        if len(details) == 1:
            lines.append(f"{describe_step(step)}: {details[0]}")
            continue
        lines += [f"{describe_step(step)}{':' if details else ''}", *(f"  {detail}" for detail in details[:MOST])]
        if len(details) > MOST:
            lines.append(f"  and {len(details) - MOST} more")
    if len(steps) > MOST:
        lines.append(f"and {len(steps) - MOST} more changes" if len(steps) > MOST + 1 else "and 1 more change")
    return lines


def describe_step(step: Step) -> str:
    """Return what a step was: "execution of 4 todos", "rewrite by the model", "edit of t2"."""
    data = step.origin.data
    match data:
        case RunFinished():
            return f"execution of {_count_todos(step)}"
        case TodosRolledBack():
            others = len(data.with_later)
            return f"rollback of {1 + others} todos" if others else f"rollback of {format_name(data.item_id)}"
        case ListDelta(cause="execute"):
            return f"execution of {_count_todos(step)}"
        case ListDelta(cause="track" | "interrupt"):
            return f"progress on {_count_todos(step)}"
        case ListDelta() if data.cause in _REWRITES:
            return f"{_REWRITES[data.cause]}{_format_actor(step.origin.actor)}"
        case ListDelta():
            return f"{_OF.get(data.cause, data.cause)} of {_count_todos(step)}{_format_actor(step.origin.actor)}"
        case _:
            return "change"


def file_lines(files: Sequence[str], removed: Sequence[str]) -> list[str]:
    """Return which files of the project changed, and all that are gone; nothing where there are none."""
    restored = [file for file in files if file not in set(removed)]
    return [
        f"{what} {'1 file' if len(names) == 1 else f'{len(names)} files'}: {_list_names(names, most)}"
        for what, names, most in (("Restored", restored, MOST), ("Removed", removed, len(removed)))
        if names
    ]


def left_file_lines(left: Sequence[str], *, is_unsaved: bool) -> list[str]:
    """Return which files stay as they are, and why; nothing where there are none."""
    names = f": {_list_names(left, len(left))}" if left else ""
    if is_unsaved:
        return [f"Left the files unchanged, because none were saved during the execution{names}"]
    return [f"Changed during the attempt, but not by its file tools, and left unchanged{names}"] if left else []


def _list_names(names: Sequence[str], most: int = MOST) -> str:
    first = ", ".join(format_name(name) for name in names[:most])
    return first if len(names) <= most else f"{first} and {len(names) - most} more"


def _count_todos(step: Step) -> str:
    names: dict[str, None] = {}
    for change in step.changes:
        if isinstance(change.data, ListDelta):
            gone = [todo.id for todo in (*change.data.added, *change.data.removed)]
            names |= dict.fromkeys(gone or change.data.changed)
    if not names and step.delta.order:
        names = dict.fromkeys(list_moved_ids(step.delta.order))
    if not names:
        return "the list"
    return format_name(next(iter(names))) if len(names) == 1 else f"{len(names)} todos"


def _format_actor(actor: str) -> str:
    if actor == PERSON:
        return ""
    return " by the model" if actor == MODEL else f" by {format_name(actor.removeprefix(PERSON_PREFIX))}"


def _list_details(step: Step) -> Iterator[str]:
    delta = step.delta
    for name, sides in delta.about.items():
        if name not in UNSEEN:
            yield f"{name} {format_changes({name: sides}).removeprefix(f'{name} ')}"
    for todo_id, fields in delta.changed.items():
        hidden = UNSEEN | _WITH_STATUS if "status" in fields else UNSEEN
        first = sorted(fields.items(), key=lambda entry: entry[0] != "status")
        visible = {name: sides for name, sides in first if name not in hidden}
        if visible:
            yield f"{format_name(todo_id)} {format_changes(visible)}"
    for todo in delta.added:
        yield f"restored {format_name(todo.id)} {format_name(todo.content, quoted=True)}"
    for todo in delta.removed:
        yield f"removed {format_name(todo.id)} {format_name(todo.content, quoted=True)}"
    if delta.order and (moved := format_move(delta.order)):
        yield moved
