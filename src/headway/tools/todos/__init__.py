"""Tools with which a model keeps its list. How many of them it is given is a choice, since each costs tokens."""

from __future__ import annotations

from typing import Any

from headway.core.errors import HeadwayError
from headway.core.text import shown
from headway.tools.base import Tool
from headway.tools.todo_kinds import TodoTools, TodoToolsName
from headway.tools.todos.create_todo_list import CreateTodoList
from headway.tools.todos.todo import TodoTool
from headway.tools.todos.todo_write import TodoWrite
from headway.tools.todos.update_todo_item import UpdateTodoItem

__all__ = ["KINDS", "CreateTodoList", "TodoTool", "TodoWrite", "UpdateTodoItem", "todo_tools"]

KINDS: dict[str, tuple[type[Tool[Any]], ...]] = {
    TodoTools.FULL: (TodoWrite, CreateTodoList, UpdateTodoItem),
    TodoTools.LIGHT: (CreateTodoList, TodoTool),
    TodoTools.OFF: (),
}


def todo_tools(kind: TodoTools | TodoToolsName = TodoTools.FULL) -> list[Tool[Any]]:
    """The tools of `full`, `light` or `off`, always in the same order."""
    if kind not in KINDS:
        raise HeadwayError(f"There are no todo tools '{shown(kind)}'; choose from: {', '.join(KINDS)}.")
    return [make() for make in KINDS[kind]]
