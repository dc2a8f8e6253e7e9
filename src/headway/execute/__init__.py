"""Executing items: one, all, several at once, with the files saved before each, and rolled back where that is wanted.

Loads no provider library before something is executed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.core.graph import check_dependencies
    from headway.execute.api import execute, execute_all, next_todos
    from headway.execute.options import ExecutionEnding, ExecutionResult
    from headway.execute.rollback import diff_todo, roll_back
    from headway.execute.undo_files import redo, undo

_WHERE = {
    "ExecutionEnding": "headway.execute.options",
    "ExecutionResult": "headway.execute.options",
    "check_dependencies": "headway.core.graph",
    "diff_todo": "headway.execute.rollback",
    "execute": "headway.execute.api",
    "execute_all": "headway.execute.api",
    "next_todos": "headway.execute.api",
    "redo": "headway.execute.undo_files",
    "roll_back": "headway.execute.rollback",
    "undo": "headway.execute.undo_files",
}

__all__ = [
    "ExecutionEnding",
    "ExecutionResult",
    "check_dependencies",
    "diff_todo",
    "execute",
    "execute_all",
    "next_todos",
    "redo",
    "roll_back",
    "undo",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'headway.execute' has no attribute '{name}'")
    return getattr(importlib.import_module(_WHERE[name]), name)
