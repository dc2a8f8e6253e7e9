"""Tools with which a model keeps its list. Which of them it is given is a choice, since each costs tokens.

A run has those of one kind, never of two: a model with several ways to write one list mixes them up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headway.contracts.todo_tools import KINDS
from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.planner.config import TodoTools, TodoToolsName
from headway.tools.base import Tool
from headway.tools.todos.list_tool import CreateTodoList, ListTool, TodoTool, TodoWrite, UpdateTodoItem, WriteTodos

if TYPE_CHECKING:
    from headway.contracts.todo_tools import TodoTool as Contract
    from headway.tools.functions import Function

__all__ = [
    "KINDS",
    "CreateTodoList",
    "TodoTool",
    "TodoWrite",
    "UpdateTodoItem",
    "WriteTodos",
    "make_todo_tools",
    "resolve_tools",
]

_TOOLS: dict[str, type[ListTool]] = {
    tool.name: tool for tool in (TodoWrite, CreateTodoList, UpdateTodoItem, TodoTool, WriteTodos)
}


def resolve_tools(
    tools: Iterable[Tool[Any] | Function] | None,
    kind: TodoTools | TodoToolsName,
    folder: str,
    dialect: Iterable[Contract] = (),
) -> list[Tool[Any]]:
    """A run's tools, the built-in ones unless some are given, with the todo tools of its kind and no others.

    Those of a `dialect` take their place.
    """
    if in_dialect := [ListTool(contract) for contract in dialect]:
        return [*resolve_tools(tools, TodoTools.OFF, folder), *in_dialect]
    if tools is None:
        from headway.tools.builtin import builtin_tools

        return builtin_tools(folder, todo_tools=kind)
    from headway.tools.functions import as_tools
    from headway.tools.shell.bash import Bash

    others = [tool for tool in as_tools(tools) if not isinstance(tool, ListTool)]
    others = [tool.offering_todo_write(kind == TodoTools.FULL) if isinstance(tool, Bash) else tool for tool in others]
    return [*others, *make_todo_tools(kind)]


def make_todo_tools(kind: TodoTools | TodoToolsName = TodoTools.LIGHT) -> list[Tool[Any]]:
    """The tools of `full`, `light`, `plan` or `off`, always in the same order."""
    if kind not in KINDS:
        raise HeadwayError(
            f"There is no set of todo tools named '{sanitize_for_display(kind)}'; choose from: {', '.join(KINDS)}."
        )
    return [_TOOLS[name]() for name in KINDS[kind]]
