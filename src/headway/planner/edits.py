"""What a person changed in the list while the agent worked, in one line for the model. Pure: events in, a line out.

Told is what it comes to, not every step on the way: an item that was added and dropped again is not mentioned. Texts
are escaped as in the block that the line goes along with.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import cast

from headway.core.events import Event, ListDelta, Splice
from headway.core.model import Status, Todo, is_person, replace_fields
from headway.views.prompt_block import escape_for_prompt

MAX_LINE = 600
MAX_NAMED = 10
_HEAD = "(The user changed the list: "
_REST = 24
"""Characters that are left for how many more changes there are."""
_MAX_ENTRY = 300
"""Characters after which nothing more is said of one item."""
_WHOLE = {
    "clear": "cleared it",
    "import": "replaced it with an imported list",
    "plan": "recreated it from the plan",
}
"""Changes that leave nothing as it was; the block shows what there is now."""
_BACK = {"undo": "undid", "redo": "redid"}
_BREAKS = re.compile(r"[\s:;]")
Sides = dict[str, tuple[object, object]]


def format_edits(events: Iterable[Event], agent: str) -> str:
    """The line for what a person changed in this agent's list; nothing if that is nothing."""
    edits = _EditSummary()
    for event in events:
        if is_person(event.actor) and event.agent == agent and isinstance(event.data, ListDelta):
            if event.data.cause in _WHOLE:
                edits = _EditSummary()
            edits.take(event.data)
    entries = edits.entries()
    if not entries:
        return ""
    named: list[str] = []
    left = MAX_LINE - len(_HEAD) - _REST
    for entry in entries[:MAX_NAMED]:
        left -= len(entry) + 2
        if left < 0:
            break
        named.append(entry)
    more = [f"and {len(entries) - len(named)} more"] if len(entries) > len(named) else []
    return f"{_HEAD}{'; '.join([*named, *more])}.)"


class _EditSummary:
    """What several changes come to."""

    def __init__(self) -> None:
        self._said: dict[str, int] = {}
        """What is told in words of its own, and how often it was done."""
        self._title: str | None = None
        self._added: dict[str, Todo] = {}
        self._changed: dict[str, Sides] = {}
        self._dropped: dict[str, Todo] = {}
        self._moved: dict[str, None] = {}

    def take(self, delta: ListDelta) -> None:
        if delta.cause in _WHOLE or delta.cause in _BACK:
            self._said[delta.cause] = self._said.get(delta.cause, 0) + 1
        if delta.cause in _WHOLE:
            return
        if "title" in delta.about:
            self._title = str(delta.about["title"][1])
        for todo in delta.removed:
            self._drop(todo)
        for todo in delta.added:
            self._add(todo)
        gone = {todo.id for todo in delta.removed}
        for todo_id, sides in delta.changed.items():
            self._change(todo_id, sides, gone)
        if delta.order is not None:
            self._moved |= dict.fromkeys(_list_moved(delta.order))

    def _add(self, todo: Todo) -> None:
        dropped = self._dropped.get(todo.id)
        if dropped is not None and dropped.content == todo.content:
            del self._dropped[todo.id]
        else:
            self._added[todo.id] = todo

    def _drop(self, todo: Todo) -> None:
        self._changed.pop(todo.id, None)
        self._moved.pop(todo.id, None)
        if self._added.pop(todo.id, None) is None:
            self._dropped[todo.id] = todo

    def _change(self, todo_id: str, sides: Sides, gone: set[str]) -> None:
        if added := self._added.get(todo_id):
            self._added[todo_id] = replace_fields(added, {name: after for name, (_, after) in sides.items()})
            return
        known = self._changed.setdefault(todo_id, {})
        for name, (before, after) in sides.items():
            if name == "depends_on" and set(_to_ids(before)) - gone == set(_to_ids(after)):
                continue  # what it depended on was dropped, which is told
            known[name] = (known[name][0] if name in known else before, after)

    def entries(self) -> list[str]:
        said = [_WHOLE.get(cause) or f"{_BACK[cause]} {_count_changes(number)}" for cause, number in self._said.items()]
        if self._title is not None:
            said.append(f"renamed it {_to_json_string(self._title)}")
        said += (_format_new(todo) for todo in self._added.values())
        said += (entry for todo_id, sides in self._changed.items() if (entry := _format_differences(todo_id, sides)))
        said += (f"dropped {_format_id(todo.id)} {_to_json_string(todo.content)}" for todo in self._dropped.values())
        moved = [todo_id for todo_id in self._moved if todo_id not in self._added]
        return [*said, *(f"moved {_format_id(todo_id)}" for todo_id in moved)]


def _format_new(todo: Todo) -> str:
    state = "" if todo.status is Status.PENDING else f" ({todo.status})"
    return f"added {_format_id(todo.id)} {_to_json_string(todo.content)}{state}"


def _format_differences(todo_id: str, sides: Sides) -> str:
    """What is different about an item; nothing if it is as before, or only what follows from something else is."""
    now = {name: after for name, (before, after) in sides.items() if before != after}
    told = [
        (f"{word} " if word else "") + _format_value(name, now[name]) for name, word in _WORDS.items() if name in now
    ]
    entry = _format_id(todo_id)
    for number, part in enumerate(told):
        longer = f"{entry}{', ' if number else ' '}{part}"
        if number and len(longer) > _MAX_ENTRY:
            break
        entry = longer
    return entry if told else ""


_WORDS = {
    "status": "→",
    "content": "is now",
    "notes": "with the note",
    "priority": "priority",
    "depends_on": "depends on",
    "module": "module",
    "estimated_time": "time",
    "verify": "check",
    "risks": "risks",
}
"""The fields that are told of, the most important first, and the words before what they are now."""


def _format_value(name: str, value: object) -> str:
    if value is None or value == ():
        return "none"
    if name in ("status", "priority"):
        return str(value)
    if name == "depends_on":
        return escape_for_prompt(", ".join(map(_format_id, _to_ids(value)[:MAX_NAMED])), 60)
    if isinstance(value, tuple):
        return _to_json_string("; ".join(map(str, _to_ids(cast("object", value))[:MAX_NAMED])), 60)
    return _to_json_string(str(value), 100 if name == "content" else 60)


def _list_moved(order: Splice) -> list[str]:
    """Return what stands elsewhere, of items that were there before and after."""
    inserted, removed = set(order.inserted), set(order.removed)
    before = [todo_id for todo_id in order.removed if todo_id in inserted]
    after = [todo_id for todo_id in order.inserted if todo_id in removed]
    if before == after:
        return []
    if [*before[1:], before[0]] == after:
        return before[:1]
    if [before[-1], *before[:-1]] == after:
        return before[-1:]
    return [todo_id for todo_id, other in zip(before, after, strict=True) if todo_id != other]


def _count_changes(number: int) -> str:
    return "a change" if number == 1 else f"{number:,} changes"


def _to_ids(value: object) -> tuple[str, ...]:
    return cast("tuple[str, ...]", value) if isinstance(value, tuple) else ()


def _format_id(todo_id: str) -> str:
    return _BREAKS.sub("_", escape_for_prompt(todo_id, 40))


def _to_json_string(text: str, limit: int = 100) -> str:
    """As a JSON string: nothing in it can end it."""
    return json.dumps(escape_for_prompt(text, limit), ensure_ascii=False)
