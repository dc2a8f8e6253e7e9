"""Which item runs next: those whose dependencies are completed, the most urgent and the longest way to go first. Pure.

Kept up to date from list to list: only what differs is looked at, so that a list which someone else changed is never
overlooked, and finding what differs is all that takes longer in a longer list.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from heapq import heappop, heappush
from itertools import compress
from operator import is_not

from headway.core.graph import PRIORITY_ORDER, weigh_remaining_chains
from headway.core.model import Status, Todo
from headway.views.plan import parse_minutes

_SHAPE = ("id", "depends_on", "priority", "estimated_time")
"""What the order depends on, besides the statuses."""


class Schedule:
    def __init__(self, takes: Callable[[Todo], bool], *, in_order: bool) -> None:
        """`takes` says whether an item is to be run at all, as it is now; `in_order`: as they stand in the list."""
        self._takes = takes
        self._in_order = in_order
        self._items: Mapping[str, Todo] = {}
        self._needed_by: dict[str, list[str]] = {}
        self._unmet: dict[str, int] = {}
        """Item → how many of its dependencies are not completed."""
        self._rank: dict[str, tuple[float, ...]] = {}
        self._ready: list[tuple[tuple[float, ...], str]] = []
        self._parked: dict[str, list[tuple[tuple[float, ...], str]]] = {}
        """Module that is busy → what could run else."""
        self._left: set[str] = set()
        """Items that are still to be run."""
        self._begun: set[str] = set()
        self._repeats: set[str] = set()
        """Those of `_left` that have begun before."""

    @property
    def count_left(self) -> int:
        """How many items are still to be run, whether or not they can be."""
        return len(self._left)

    @property
    def count_not_started(self) -> int:
        """How many of them have not begun yet; the others are run again."""
        return len(self._left) - len(self._repeats)

    def mark_started(self, todo_id: str) -> None:
        self._begun.add(todo_id)

    def update(self, items: Mapping[str, Todo]) -> None:
        """Takes over the list as it is now."""
        before, self._items = self._items, items
        if before is items:
            return
        if len(before) != len(items):
            self._build()
            return
        changed = [
            *compress(zip(before.values(), items.values(), strict=True), map(is_not, before.values(), items.values()))
        ]
        if any(getattr(old, name) != getattr(new, name) for old, new in changed for name in _SHAPE):
            self._build()
            return
        for old, new in changed:
            self._apply_change(old, new)

    def _build(self) -> None:
        self._needed_by, self._unmet, self._ready, self._parked = {}, {}, [], {}
        for todo in self._items.values():
            for node in todo.depends_on:
                self._needed_by.setdefault(node, []).append(todo.id)
            self._unmet[todo.id] = sum(not self._is_completed(node) for node in todo.depends_on)
        self._rank = _sort_keys(self._items) if self._in_order else _urgency_keys(self._items)
        self._left = {todo.id for todo in self._items.values() if self._takes(todo)}
        self._repeats = self._left & self._begun
        for todo_id in self._left:
            self._queue_if_ready(todo_id)

    def _is_completed(self, todo_id: str) -> bool:
        todo = self._items.get(todo_id)
        return todo is not None and todo.status is Status.COMPLETED

    def _apply_change(self, old: Todo, new: Todo) -> None:
        if self._takes(new):
            self._left.add(new.id)
            if new.id in self._begun:
                self._repeats.add(new.id)
            self._queue_if_ready(new.id)
        else:
            self._discard(new.id)
        step = (old.status is Status.COMPLETED) - (new.status is Status.COMPLETED)
        if step:
            for todo_id in self._needed_by.get(new.id, ()):
                self._unmet[todo_id] += step
                if todo_id in self._left:
                    self._queue_if_ready(todo_id)

    def _discard(self, todo_id: str) -> None:
        self._left.discard(todo_id)
        self._repeats.discard(todo_id)

    def _queue_if_ready(self, todo_id: str) -> None:
        if not self._unmet[todo_id]:
            heappush(self._ready, (self._rank[todo_id], todo_id))

    def take_next(self, busy: Collection[str] = ()) -> Todo | None:
        """The item to run now, which is then no longer to be run; None if there is none.

        One of a module that is busy waits until `freed`.
        """
        while self._ready:
            entry = heappop(self._ready)
            todo = self.take(entry[1], busy)
            if todo is not None:
                return todo
            parked = self._items.get(entry[1])
            if parked is not None and parked.module in busy:
                self._parked.setdefault(parked.module or "", []).append(entry)
        return None

    def take(self, todo_id: str, busy: Collection[str] = ()) -> Todo | None:
        """This item, if it can run now."""
        todo = self._items.get(todo_id)
        # Something may have changed since it was offered.
        if todo is None or todo_id not in self._left or self._unmet[todo_id] or todo.module in busy:
            return None
        self._discard(todo_id)
        return todo

    def release_module(self, module: str) -> None:
        """Items of this module can run again."""
        for entry in self._parked.pop(module, ()):
            heappush(self._ready, entry)


def _sort_keys(items: Mapping[str, Todo]) -> dict[str, tuple[float, ...]]:
    return {todo_id: (place,) for place, todo_id in enumerate(items)}


def _urgency_keys(items: Mapping[str, Todo]) -> dict[str, tuple[float, ...]]:
    ways = weigh_remaining_chains({todo.id: todo.depends_on for todo in items.values()}, _estimate_weights(items))
    return {
        todo.id: (PRIORITY_ORDER[todo.priority], -ways[todo.id], place) for place, todo in enumerate(items.values())
    }


def _estimate_weights(items: Mapping[str, Todo]) -> dict[str, float]:
    """By time where every item says one, else all the same."""
    weights: dict[str, float] = {}
    for todo in items.values():
        minutes = parse_minutes(todo.estimated_time)
        if minutes is None:
            return dict.fromkeys(items, 1.0)
        weights[todo.id] = minutes
    return weights
