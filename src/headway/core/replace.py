"""New items from checked fields: which is which old one, what is kept, what a new status brings with it. Pure."""

from __future__ import annotations

from headway.core.delta import with_fields
from headway.core.errors import InvalidTodos
from headway.core.evolve import id_number
from headway.core.graph import edge_faults
from headway.core.model import Status, Todo, TodoList

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from headway.core.rules import Patch


def replaced(old: TodoList, patches: list[Patch], at: str) -> list[Todo]:
    """The items of a replacement. An id that is passed names its item; else equal content is the same item."""
    given = _given_ids(patches)
    matches = {index: old.items[todo_id] for index, todo_id in given.items() if todo_id in old.items}
    same_content = _by_content(old, {todo.id for todo in matches.values()})
    number = max([old.next_number, *(id_number(todo_id) + 1 for todo_id in given.values())])
    used = {*old.items, *given.values()}
    renamed: dict[str, str] = {}
    result: list[Todo] = []
    for index, patch in enumerate(patches):
        match = matches.get(index)
        if match is None and (same := same_content.get(patch["content"])):
            match = same.pop()
        todo_id = given.get(index)
        if match is None:
            if todo_id is None:
                while f"t{number}" in used:
                    number += 1
                todo_id = f"t{number}"
                number += 1
            result.append(created(todo_id, patch, at))
        elif todo_id is None or todo_id == match.id:
            result.append(patched(match, patch, at))
        else:
            renamed[match.id] = todo_id
            result.append(with_fields(patched(match, patch, at), {"id": todo_id}))
    return _attached(result, renamed)


def _given_ids(patches: list[Patch]) -> dict[int, str]:
    """index → id for the ids that were passed; a repeated id counts where it comes first."""
    given: dict[int, str] = {}
    seen: set[str] = set()
    for index, patch in enumerate(patches):
        todo_id = patch.pop("id", None)
        if isinstance(todo_id, str) and todo_id not in seen:
            seen.add(todo_id)
            given[index] = todo_id
    return given


def _by_content(old: TodoList, taken: set[str]) -> dict[object, list[Todo]]:
    """content → old items that have it, the first one last, so that `pop` gives them in order."""
    found: dict[object, list[Todo]] = {}
    for todo in reversed(old.items.values()):
        if todo.id not in taken:
            found.setdefault(todo.content, []).append(todo)
    return found


def _attached(items: list[Todo], renamed: Mapping[str, str]) -> list[Todo]:
    """The items with dependencies that follow renamed ids."""
    if not renamed:
        return items
    return [
        with_fields(todo, {"depends_on": tuple(renamed.get(node, node) for node in todo.depends_on)})
        if any(node in renamed for node in todo.depends_on)
        else todo
        for todo in items
    ]


def detached(items: list[Todo], passed: set[str]) -> list[Todo]:
    """The items without dependencies on what is gone from the list; those of the ids in `passed` stay as they are."""
    if not any(todo.depends_on for todo in items):
        return items
    there = {todo.id for todo in items}
    return [
        with_fields(todo, {"depends_on": tuple(node for node in todo.depends_on if node in there)})
        if todo.id not in passed and not there.issuperset(todo.depends_on)
        else todo
        for todo in items
    ]


def check_dependencies(items: list[Todo], name: str = "depends_on") -> None:
    """Raises every fault of the dependencies of a list."""
    edges = {todo.id: todo.depends_on for todo in items}
    paths = {todo.id: f"todos[{index}].{name}" for index, todo in enumerate(items)}
    if faults := edge_faults(edges, paths, "todos"):
        raise InvalidTodos(faults)


def created(todo_id: str, patch: Patch, at: str) -> Todo:
    status = patch.get("status")
    if status is Status.IN_PROGRESS:
        patch.setdefault("started_at", at)
    elif status is Status.COMPLETED:
        patch.setdefault("completed_at", at)
    if patch.get("created_at") is None:
        patch["created_at"] = at
    return Todo(todo_id, **patch)  # type: ignore[arg-type]


def patched(todo: Todo, patch: Patch, at: str) -> Todo:
    """The item with the passed fields; the same object if nothing differs."""
    changes = {name: value for name, value in patch.items() if getattr(todo, name) != value}
    if not changes:
        return todo
    if "status" in changes:
        for name, value in _brought_by(todo, changes["status"], at).items():
            if name not in patch:
                changes[name] = value
    return with_fields(todo, changes)


def _brought_by(todo: Todo, status: object, at: str) -> Patch:
    """What a new status changes besides itself."""
    brought: Patch = {"lease_until": None}
    if todo.status is Status.COMPLETED:
        brought.update(completed_at=None, completed_at_round=None, evidence=None)
    if status is Status.IN_PROGRESS:
        brought.update(started_at=todo.started_at or at, interrupted=False, owner=None)
    elif status is Status.COMPLETED:
        brought.update(completed_at=at, interrupted=False)
    elif status is Status.PENDING:
        brought["owner"] = None
    return brought
