"""`update_todo_item`: one item is set to a state, whatever it was in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from headway.core.model import MODEL
from headway.core.text import sanitize_for_display, trim_text
from headway.tools.base import ToolInput, ToolResult, read_description
from headway.tools.todos.list_tool import MAX_ID, ListTool, format_progress

if TYPE_CHECKING:
    from headway.session import Session


class UpdateTodoItemInput(ToolInput):
    item_id: str
    status: Literal["pending", "in_progress", "completed", "blocked", "cancelled"]
    notes: str | None = None


class UpdateTodoItem(ListTool[UpdateTodoItemInput]):
    name = "update_todo_item"
    description = read_description(__file__)
    input = UpdateTodoItemInput

    def change(self, session: Session, call: UpdateTodoItemInput) -> ToolResult:
        fields: dict[str, object] = {"status": call.status}
        if call.notes and call.notes.strip():
            fields["notes"] = call.notes
        todo = session.update(trim_text(call.item_id), actor=MODEL, **fields)
        return ToolResult(
            f"{sanitize_for_display(todo.id, MAX_ID)} → {todo.status} ({format_progress(session.todos)} done)"
        )
