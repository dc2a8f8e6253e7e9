"""`write_todos`: the whole list with everything that a plan's steps have; the todo tool of `todo_tools="plan"`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from headway.contracts.shared_rules import list_notes
from headway.core.errors import InvalidTodos
from headway.core.graph import list_edge_faults
from headway.core.model import MODEL, Status
from headway.core.rules import DuplicateKeys, Shape, check_texts, check_todos, fields_by_name, is_object
from headway.core.text import json_type_name, sanitize_for_display
from headway.tools.as_sent import AsSent, parse_as_sent
from headway.tools.base import ToolInput, ToolResult, build_schema, read_description
from headway.tools.todos.list_tool import ListTool
from headway.views.listing import counts_line

if TYPE_CHECKING:
    from headway.session import Session

NAME = "write_todos"
EXTENDED = Shape(
    names=fields_by_name(
        *("id", "description", "status", "priority", "module", "dependencies", "risks", "estimatedTime"),
        *("verify", "createdFrom", "createdAt", "completedAt"),
    ),
    required=("id", "description", "status"),
    statuses=(Status.PENDING, Status.IN_PROGRESS, Status.COMPLETED, Status.CANCELLED),
)
_TIMES = frozenset({"createdAt", "completedAt"})


class Item(ToolInput):
    id: str
    description: str = Field(description="What to do, in the imperative.")
    status: Literal["pending", "in_progress", "completed", "cancelled"]
    priority: Literal["high", "medium", "low"] | None = None
    module: str | None = None
    dependencies: list[str] | None = Field(None, description="Ids of items that must be completed first.")
    risks: list[str] | None = None
    estimatedTime: str | None = None
    verify: str | None = Field(None, description="A command that fails until the item is done, such as its tests.")
    createdFrom: Literal["plan", "manual"] | None = None
    createdAt: str | None = Field(None, description="ISO 8601.")
    completedAt: str | None = None


class TodosInput(ToolInput):
    """What a model is told of the input."""

    todos: list[Item]


class WriteTodos(ListTool[AsSent]):
    name = NAME
    description = read_description(__file__)
    input = AsSent

    def parameters(self) -> dict[str, Any]:
        return build_schema(TodosInput)

    def parse_input(self, arguments: object) -> AsSent:
        return parse_as_sent(NAME, arguments)

    def change(self, session: Session, call: AsSent) -> ToolResult:
        if faults := _list_faults(call.sent):
            raise InvalidTodos(faults)
        items = [_drop_null_times(item) for item in call.sent["todos"]]
        written = session.write(items, replace=True, actor=MODEL, shape=EXTENDED)
        what = f"Todo list updated: {counts_line(written.todos)}" if written.todos else "Todo list cleared"
        return ToolResult("\n".join([what, *list_notes(written)]))


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
