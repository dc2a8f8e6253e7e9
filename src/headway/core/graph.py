"""Dependencies between items or plan steps: faults, what can run now, and why the rest cannot.

Pure, linear in items and edges. Works on ids and statuses only, so that plans and lists share it.
"""

from __future__ import annotations

from headway.core.model import FINISHED, Priority, Status, Todo
from headway.core.text import sanitize_for_display
from headway.core.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_PENDING, _COMPLETED = Status.PENDING, Status.COMPLETED
PRIORITY_ORDER: dict[Priority | None, int] = {Priority.HIGH: 0, Priority.MEDIUM: 1, None: 1, Priority.LOW: 2}
"""An item without a priority ranks as medium."""


MOST_CYCLES = 10
"""How many cycles are named at once."""


def list_edge_faults(edges: Mapping[str, Sequence[str]], path_of: Mapping[str, str], whole: str) -> list[str]:
    """Every fault of a dependency graph as `path: text`; a cycle is shown as a path and reported on `whole`."""
    faults: list[str] = []
    for node, needed in edges.items():
        for other in needed:
            if other == node:
                faults.append(f"{path_of[node]}: '{sanitize_for_display(node)}' depends on itself")
            elif other not in edges:
                faults.append(f"{path_of[node]}: Unknown id '{sanitize_for_display(other)}'")
    rest = {node: [other for other in needed if other != node] for node, needed in edges.items()}
    for _ in range(MOST_CYCLES):
        cycle = find_cycle(rest)
        if not cycle:
            break
        faults.append(f"{whole}: Dependency cycle {' → '.join(sanitize_for_display(node) for node in cycle)}")
        for node in cycle:
            rest.pop(node, None)
    return faults


def find_cycle(edges: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a cycle as a path from a node back to it, each depending on the next; [] if there is none."""
    from graphlib import CycleError, TopologicalSorter

    sorter = TopologicalSorter({node: needed for node, needed in edges.items() if needed})
    try:
        sorter.prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def sort_by_dependencies(edges: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the nodes, each after those that it depends on; without those that depend on each other."""
    waits = {node: sum(other in edges for other in needed) for node, needed in edges.items()}
    needed_by: dict[str, list[str]] = {}
    for node, needed in edges.items():
        for other in needed:
            needed_by.setdefault(other, []).append(node)
    order = [node for node in edges if not waits[node]]
    for node in order:
        for other in needed_by.get(node, ()):
            waits[other] -= 1
            if not waits[other]:
                order.append(other)
    return order


def find_critical_path(edges: Mapping[str, Sequence[str]], weights: Mapping[str, float]) -> list[str]:
    """Return the chain of nodes with the greatest weight in all; of equals the one whose last node comes first."""
    before: dict[str, str | None] = {}
    total: dict[str, float] = {}
    for node in sort_by_dependencies(edges):
        longest = max((other for other in edges[node] if other in total), key=total.__getitem__, default=None)
        before[node] = longest
        total[node] = weights[node] + (0.0 if longest is None else total[longest])
    last = max((node for node in edges if node in total), key=total.__getitem__, default=None)
    path: list[str] = []
    while last is not None:
        path.append(last)
        last = before[last]
    return path[::-1]


def weigh_remaining_chains(edges: Mapping[str, Sequence[str]], weights: Mapping[str, float]) -> dict[str, float]:
    """Node → the weight of the longest chain that begins with it; its own where nodes depend on each other."""
    ways = {node: weights[node] for node in edges}
    for node in reversed(sort_by_dependencies(edges)):
        for other in edges[node]:
            if other in ways:
                ways[other] = max(ways[other], weights[other] + ways[node])
    return ways


class WaitingTodo(Value):
    """An unfinished item that cannot start now, and why."""

    __slots__ = ("reason", "todo")

    def __init__(self, todo: Todo, reason: str) -> None:
        self.todo: Todo = todo
        self.reason: str = reason


class DependencyCheck(Value):
    """Whether an item's dependencies are all completed; which are not, and a line for each of those that says why."""

    __slots__ = ("lines", "missing")

    def __init__(self, missing: list[str], lines: list[str]) -> None:
        self.missing: list[str] = missing
        self.lines: list[str] = lines

    @property
    def are_completed(self) -> bool:
        return not self.missing


def check_dependencies(todo: Todo, items: Mapping[str, Todo]) -> DependencyCheck:
    missing = [node for node in todo.depends_on if (other := items.get(node)) is None or other.status is not _COMPLETED]
    return DependencyCheck(missing, _list_unmet(missing, items))


def is_ready(todo: Todo, items: Mapping[str, Todo], now: str = "") -> bool:
    """Pending, or claimed with a lease that ran out before `now`; with every dependency completed."""
    if todo.status is not _PENDING:
        lapsed = todo.status is Status.IN_PROGRESS and todo.lease_until and todo.lease_until <= now
        if not lapsed:
            return False
    for needed in todo.depends_on:
        other = items.get(needed)
        if other is None or other.status is not _COMPLETED:
            return False
    return True


def list_ready(items: Mapping[str, Todo], now: str = "") -> list[Todo]:
    """Return the items that can start now: highest priority first, in list order among equals."""
    found = [todo for todo in items.values() if is_ready(todo, items, now)]
    return sorted(found, key=lambda todo: PRIORITY_ORDER[todo.priority])


def list_waiting(items: Mapping[str, Todo], now: str = "") -> list[WaitingTodo]:
    """Unfinished items that cannot start now, in list order, each with its reason."""
    return [
        WaitingTodo(todo, _explain_waiting(todo, items))
        for todo in items.values()
        if todo.status not in FINISHED and not is_ready(todo, items, now)
    ]


def _explain_waiting(todo: Todo, items: Mapping[str, Todo]) -> str:
    if todo.status is Status.IN_PROGRESS:
        return f"in progress by {sanitize_for_display(todo.owner)}" if todo.owner else "in progress"
    if todo.status is Status.BLOCKED:
        return f"blocked: {sanitize_for_display(todo.notes, 200)}" if todo.notes else "blocked"
    return "waits for " + ", ".join(_list_unmet(todo.depends_on, items))


def _list_unmet(needed: Iterable[str], items: Mapping[str, Todo]) -> list[str]:
    lines: list[str] = []
    for node in needed:
        other = items.get(node)
        if other is None:
            lines.append(f"{sanitize_for_display(node)} (not in the list)")
        elif other.status is Status.CANCELLED:
            lines.append(f"{sanitize_for_display(node)} (cancelled: reopen it, or remove the dependency)")
        elif other.status is not Status.COMPLETED:
            lines.append(f"{sanitize_for_display(node)} ({other.status})")
    return lines
