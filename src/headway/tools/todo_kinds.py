"""How much of the todo list a model is given to keep itself; each tool costs tokens in every request."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias


class TodoTools(StrEnum):
    FULL = "full"
    """TodoWrite, create_todo_list and update_todo_item."""
    LIGHT = "light"
    """create_todo_list and todo: a call for each step, not for each list."""
    OFF = "off"
    """None: the list is kept for the model."""


TodoToolsName: TypeAlias = Literal["full", "light", "off"]
