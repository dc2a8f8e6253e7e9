"""List changes as deltas: made from two lists, applied to a list, turned around. Pure."""

from __future__ import annotations

from dataclasses import replace

from headway.core.events import ListDelta, Splice
from headway.core.fields import FIELDS
from headway.core.model import Status, Todo, field_values, replace_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_NAMES = tuple(field.name for field in FIELDS)


def field_changes(old: Todo, new: Todo) -> dict[str, tuple[object, object]]:
    """field → (before, after) for the fields that differ."""
    return {
        name: (before, after)
        for name, before, after in zip(_NAMES, field_values(old), field_values(new), strict=True)
        if before is not after and before != after
    }


def find_splice(old: Sequence[str], new: Sequence[str]) -> Splice | None:
    """Return the smallest replaced stretch that turns one order into the other; None if they are equal."""
    if old == new:
        return None
    start, limit = 0, min(len(old), len(new))
    while start < limit and old[start] == new[start]:
        start += 1
    tail, limit = 0, limit - start
    while tail < limit and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return Splice(start, tuple(old[start : len(old) - tail]), tuple(new[start : len(new) - tail]))


def to_delta(old: Mapping[str, Todo], new: Sequence[Todo], cause: str) -> ListDelta:
    """Return the delta from a list to its successor; untouched items are recognised by being the same object."""
    ids = [todo.id for todo in new]
    added: list[Todo] = []
    changed: dict[str, dict[str, tuple[object, object]]] = {}
    for todo in new:
        before = old.get(todo.id)
        if before is None:
            added.append(todo)
        elif before is not todo and (fields := field_changes(before, todo)):
            changed[todo.id] = fields
    removed: tuple[Todo, ...] = ()
    if len(added) + len(old) != len(new):
        kept = set(ids)
        removed = tuple(todo for todo in old.values() if todo.id not in kept)
    return ListDelta(
        cause=cause, added=tuple(added), removed=removed, changed=changed, order=find_splice(list(old), ids)
    )


def apply_delta(items: Mapping[str, Todo], delta: ListDelta) -> dict[str, Todo]:
    """Return the list after the delta."""
    result = dict(items)
    for todo_id, fields in delta.changed.items():
        if todo := result.get(todo_id):
            result[todo_id] = replace_fields(todo, {name: after for name, (_, after) in fields.items()})
    order = delta.order
    if order is None:
        return result
    for todo in delta.added:
        result[todo.id] = todo
    if not order.removed and order.start == len(items):
        return result
    ids = list(items)
    ids[order.start : order.start + len(order.removed)] = order.inserted
    return {todo_id: result[todo_id] for todo_id in ids if todo_id in result}


def invert_delta(delta: ListDelta, items: Mapping[str, Todo], cause: str) -> ListDelta:
    """Return what takes the delta back, for a list to which it was applied; its "before" is what the list holds now."""
    order = delta.order
    changed: dict[str, dict[str, tuple[object, object]]] = {}
    for todo_id, fields in delta.changed.items():
        now = items.get(todo_id)
        changed[todo_id] = {
            name: (getattr(now, name) if now else after, before) for name, (before, after) in fields.items()
        }
    return ListDelta(
        cause=cause,
        added=delta.removed,
        removed=tuple(items.get(todo.id, todo) for todo in delta.added),
        changed=changed,
        order=order and Splice(order.start, order.inserted, order.removed),
        about={name: (after, before) for name, (before, after) in delta.about.items()},
    )


def link_delta(delta: ListDelta, previous: int, other: int = 0, *, partial: bool = False, of: int = 0) -> ListDelta:
    """Return the delta with its place in the chains of undo and redo."""
    added, removed, changed = delta.added, delta.removed, delta.changed
    return ListDelta(
        cause=delta.cause,
        added=added,
        removed=removed,
        changed=changed,
        order=delta.order,
        about=delta.about,
        previous=previous,
        other=other,
        partial=partial,
        of=of,
    )


def with_list_fields(delta: ListDelta, about: dict[str, tuple[object, object]]) -> ListDelta:
    return ListDelta(
        cause=delta.cause,
        added=delta.added,
        removed=delta.removed,
        changed=delta.changed,
        order=delta.order,
        about=about,
    )


def weigh_delta(delta: ListDelta) -> int:
    """About how many items' worth of text the delta is."""
    ids = len(delta.order.removed) + len(delta.order.inserted) if delta.order else 0
    return 1 + len(delta.added) + len(delta.removed) + len(delta.changed) // 2 + ids // 12


def is_empty(delta: ListDelta) -> bool:
    return not (delta.added or delta.removed or delta.changed or delta.order or delta.about)


UNSEEN = frozenset(
    {"lease_until", "created_at", "started_at", "completed_at", "started_at_round", "completed_at_round"}
    | {"interrupted", "tool_calls", "failed_calls", "kept_by_loop"}
)
"""Times, counts and marks that go with something else; nobody would call a change of them alone a change."""


def is_visible(delta: ListDelta) -> bool:
    """Return whether a person would see that the list changed."""
    if delta.added or delta.removed or delta.order:
        return True
    return any(not UNSEEN.issuperset(fields) for fields in (delta.about, *delta.changed.values()))


def find_started(delta: ListDelta) -> set[str]:
    """Return the todos that are in progress because of the delta."""
    changed = {
        todo_id
        for todo_id, sides in delta.changed.items()
        if "status" in sides and sides["status"][1] is Status.IN_PROGRESS
    }
    return changed | {todo.id for todo in delta.added if todo.status is Status.IN_PROGRESS}


def with_interrupted(delta: ListDelta, todo_ids: Collection[str]) -> ListDelta:
    """Return the delta with these todos pending and interrupted instead of in progress."""
    if not todo_ids:
        return delta
    patch = {"status": Status.PENDING, "interrupted": True}
    changed = {
        todo_id: {name: (before, patch.get(name, after)) for name, (before, after) in sides.items()}
        | ({} if "interrupted" in sides else {"interrupted": (False, True)})
        if todo_id in todo_ids
        else sides
        for todo_id, sides in delta.changed.items()
    }
    added = tuple(replace_fields(todo, patch) if todo.id in todo_ids else todo for todo in delta.added)
    return replace(delta, added=added, changed=changed)
