"""Several steps through a list as one change: items are finished, started, blocked, added and dropped together.

Pure. `decide` loads it when it is asked for, and says who may change what.
"""

from __future__ import annotations

from headway.core.errors import InvalidTodos
from headway.core.graph import list_ready
from headway.core.model import Status, Todo, TodoList
from headway.core.replace import create_todo, generate_free_ids, patch_todo, remove_todos
from headway.core.rules import Fault, check_text, is_array, is_object
from headway.core.text import json_type_name, sanitize_for_display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headway.core.commands import Advance
    from headway.core.rules import Patch

    Texts = list[tuple[str, str]]
    """Each with the path under which it came."""

_ORDER = ("done", "start", "block", "add", "drop", "todos")
_MOST_IDS = 20
"""How many of the ids that there are an error names."""


def apply_steps(todo_list: TodoList, command: Advance, restrict: Callable[[Todo, Patch], Patch]) -> list[Todo]:
    """Return the items after the change. Raises `InvalidTodos` with every violation.

    `restrict` returns the patch of an item as the actor may apply it, or refuses it.
    """
    patches, added, dropped = _check_steps(todo_list, command)
    items = {todo.id: todo for todo in remove_todos(todo_list.items, dropped)}
    finished = False
    for todo_id, patch in patches.items():
        todo = items[todo_id]
        if todo.status is Status.COMPLETED and patch["status"] is Status.COMPLETED:
            items[todo_id] = patch_todo(todo, patch, command.at)  # confirmed, if it was only inferred
            continue
        finished = finished or patch["status"] is Status.COMPLETED
        items[todo_id] = patch_todo(todo, restrict(todo, patch), command.at)
    for todo_id, content in zip(generate_free_ids(todo_list, set()), added, strict=False):
        items[todo_id] = create_todo(todo_id, {"content": content}, command.at)
    # A worker claims its next item.
    if finished and command.start is None and command.actor not in todo_list.workers:
        todo = find_next_to_start(items, command.actor)
        if todo is not None:
            patch = restrict(todo, {"status": Status.IN_PROGRESS})
            items[todo.id] = patch_todo(todo, patch, command.at)
    return list(items.values())


def find_next_to_start(items: dict[str, Todo], actor: str) -> Todo | None:
    """Return the item to start after one was finished; None while the actor, or nobody in particular, is at another."""
    mine = (None, actor)
    if any(todo.status is Status.IN_PROGRESS and todo.owner in mine for todo in items.values()):
        return None
    return next((todo for todo in list_ready(items) if todo.owner is None), None)


def _check_steps(todo_list: TodoList, command: Advance) -> tuple[dict[str, Patch], list[str], set[str]]:
    """Return what each item becomes, the contents of new ones, and the ids of those to drop."""
    if command.start is None and not (command.done or command.block or command.add or command.drop):
        raise InvalidTodos(["(root): Expected at least one of done, start, block, add, drop"])
    faults: list[str] = []
    done, drop = _check_texts(command.done, "done", faults), _check_texts(command.drop, "drop", faults)
    start = "" if command.start is None else _check_text(command.start, "start", faults)
    block = _check_reasons(command.block, faults)
    added = [text for _, text in _check_texts(command.add, "add", faults)]
    at_once = [("start", start)] if start else []
    named = [*done, *at_once, *(("block", todo_id) for todo_id in block), *drop]
    faults.extend(_list_id_faults(todo_list, named))
    if faults:
        raise InvalidTodos(sorted(faults, key=lambda line: _ORDER.index(_field_of_path(line))))
    patches: dict[str, Patch] = {todo_id: {"status": Status.COMPLETED} for _, todo_id in done}
    patches.update({todo_id: {"status": Status.BLOCKED, "notes": why} for todo_id, why in block.items()})
    if start:
        patches[start] = {"status": Status.IN_PROGRESS}
    return patches, added, {todo_id for _, todo_id in drop}


def _field_of_path(path: str) -> str:
    """Return the field that a path, or the violation that it begins, is about."""
    return path.partition(":")[0].partition("[")[0]


def _list_id_faults(todo_list: TodoList, named: Texts) -> Iterator[str]:
    """Return the faults of ids that are not in the list, or that are to become two things at once."""
    places: dict[str, str] = {}
    unknown = False
    for path, todo_id in named:
        place = _field_of_path(path)
        first = places.setdefault(todo_id, place)
        if todo_id not in todo_list.items:
            unknown = True
            yield f"{path}: Unknown id '{sanitize_for_display(todo_id, 40)}'"
        elif first != place:
            yield f"{path}: '{sanitize_for_display(todo_id, 40)}' is also in {first}; name it in only one of them"
    if unknown:
        ids = [sanitize_for_display(todo_id, 40) for todo_id in list(todo_list.items)[:_MOST_IDS]]
        more = len(todo_list.items) - len(ids)
        there = ", ".join(ids) + (f" and {more} more" if more else "")
        yield f"todos: The known ids are: {there}" if ids else "todos: The list is empty"


def _check_texts(raw: object, path: str, faults: list[str]) -> Texts:
    if raw is None:
        return []
    if not is_array(raw):
        faults.append(f"{path}: Expected array, received {json_type_name(raw)}")
        return []
    paths = [f"{path}[{index}]" for index in range(len(raw))]
    texts = [_check_text(entry, at, faults) for at, entry in zip(paths, raw, strict=True)]
    return [(at, text) for at, text in zip(paths, texts, strict=True) if text]


def _check_text(raw: object, path: str, faults: list[str], missing: str = "Required") -> str:
    """Return the text; nothing where there is none, which is a fault."""
    try:
        text = check_text(raw)
    except Fault as fault:
        faults.append(f"{path}: {fault}")
        return ""
    if text is None:
        faults.append(f"{path}: {missing}")
    return text or ""


def _check_reasons(raw: object, faults: list[str]) -> dict[str, str]:
    """id → why it is blocked."""
    if raw is None:
        return {}
    if not is_object(raw):
        faults.append(f"block: Expected object, received {json_type_name(raw)}")
        return {}
    found: dict[str, str] = {}
    for key, why in raw.items():
        if todo_id := _check_text(key, "block", faults):
            found[todo_id] = _check_text(why, "block", faults, f"'{sanitize_for_display(todo_id, 40)}' needs a reason")
    return found
