"""`write_todos`: the whole list with everything that a plan's steps have; the todo tool of `todo_tools="plan"`."""

from __future__ import annotations

from headway.contracts.shared_rules import list_notes
from headway.core.errors import InvalidTodos
from headway.core.graph import list_edge_faults
from headway.core.model import Status
from headway.core.rules import DuplicateKeys, Shape, check_texts, check_todos, fields_by_name, is_object
from headway.core.text import json_type_name, sanitize_for_display
from headway.views.listing import counts_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from headway.session import Session

EXTENDED = Shape(
    names=fields_by_name(
        *("id", "description", "status", "priority", "module", "dependencies", "risks", "estimatedTime"),
        *("verify", "createdFrom", "createdAt", "completedAt"),
    ),
    required=("id", "description", "status"),
    statuses=(Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED, Status.CANCELLED),
)
_TIMES = frozenset({"createdAt", "completedAt"})


PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "todos": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "description": {"type": "string", "description": "What to do, in the imperative."},
                    "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "cancelled"]},
                    "priority": {"type": "string", "enum": ["high", "medium", "low"]},
                    "module": {"type": "string"},
                    "dependencies": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Ids of items that must be completed first.",
                    },
                    "risks": {"type": "array", "items": {"type": "string"}},
                    "estimatedTime": {"type": "string"},
                    "verify": {
                        "type": "string",
                        "description": "A command that fails until the item is done, such as its tests.",
                    },
                    "createdFrom": {"type": "string", "enum": ["plan", "manual"]},
                    "createdAt": {"type": "string", "description": "ISO 8601."},
                    "completedAt": {"type": "string"},
                },
                "required": ["id", "description", "status"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["todos"],
    "additionalProperties": False,
}


def write_todos(session: Session, sent: Any, actor: str) -> str:
    """Replace the list. Raises `InvalidTodos` with every violation."""
    if faults := _list_faults(sent):
        raise InvalidTodos(faults)
    items = [_drop_null_times(item) for item in sent["todos"]]
    written = session.write(items, replace=True, actor=actor, shape=EXTENDED)
    what = f"Todo list updated: {counts_line(written.todos)}" if written.todos else "Todo list cleared"
    return "\n".join([what, *list_notes(written)])


def _drop_null_times(item: dict[str, object]) -> dict[str, object]:
    """The item, without times that are null: those the list itself keeps."""
    return {name: value for name, value in item.items() if value is not None or name not in _TIMES}


def _list_faults(call: object) -> list[str]:
    """Every fault of a call, also of ids and dependencies, which the core looks at only once the fields are sound."""
    if not is_object(call):
        return [f"(root): Expected object, received {json_type_name(call)}"]
    faults: list[str] = []
    whole: list[str] = [] if "todos" in call else ["todos: Required"]
    if "todos" in call:
        patches = check_todos(call["todos"], EXTENDED, faults, whole, new=True)
        edges: dict[str, tuple[str, ...]] = {}
        paths: dict[str, str] = {}
        for index, patch in enumerate(patches):
            todo_id = patch.get("id")
            if todo_id in edges:
                faults.append(f"todos[{index}].id: Duplicate id '{sanitize_for_display(todo_id)}'")
            # No id begins with a space: such a node stands for an item whose own id cannot be used.
            node = todo_id if isinstance(todo_id, str) and todo_id not in edges else f" {index}"
            paths[node] = f"todos[{index}].dependencies"
            edges[node] = check_texts(patch.get("depends_on", ()))
        faults += list_edge_faults(edges, paths, "todos")
    faults += [f"{sanitize_for_display(key)}: Unknown field" for key in call if key != "todos"]
    faults += [
        f"{sanitize_for_display(key)}: Duplicate field"
        for key in (call.repeated if isinstance(call, DuplicateKeys) else ())
    ]
    return faults + whole
