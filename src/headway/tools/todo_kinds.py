"""How much of the todo list a model is given to keep itself; each tool costs tokens in every request."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias


class TodoTools(StrEnum):
    FULL = "full"
    """TodoWrite, create_todo_list and update_todo_item."""
    LIGHT = "light"
    """create_todo_list and todo: a call for each step, not for each list."""
    PLAN = "plan"
    """write_todos: the whole list with dependencies, risks and times."""
    OFF = "off"
    """None: the list is kept for the model, by tracking alone."""


TodoToolsName: TypeAlias = Literal["full", "light", "plan", "off"]
