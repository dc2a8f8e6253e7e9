"""What a model may call. `builtin_tools(".")` has the usual ones; `@tool` makes more from typed functions.

Names are loaded when they are first asked for, so that `headway.tools.todo_write` stays as light as it is.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.tools.approvals import Answer, Approvals, Ask, Denied, Question, Reply
    from headway.tools.base import Context, Preview, Tool, ToolFault, ToolInput, ToolLimits, ToolResult
    from headway.tools.builtin import builtin_tools
    from headway.tools.effects import Effect, Mode
    from headway.tools.executor import Executor
    from headway.tools.functions import as_tools, tool
    from headway.tools.limits import Limits
    from headway.tools.plan import CreatePlan
    from headway.tools.todos import WriteTodos

__all__ = [
    "Answer",
    "Approvals",
    "Ask",
    "Context",
    "CreatePlan",
    "Denied",
    "Effect",
    "Executor",
    "Limits",
    "Mode",
    "Preview",
    "Question",
    "Reply",
    "Tool",
    "ToolFault",
    "ToolInput",
    "ToolLimits",
    "ToolResult",
    "WriteTodos",
    "as_tools",
    "builtin_tools",
    "tool",
]

_MODULES = {
    **dict.fromkeys(("Answer", "Approvals", "Ask", "Denied", "Question", "Reply"), "approvals"),
    **dict.fromkeys(("Effect", "Mode"), "effects"),
    **dict.fromkeys(("as_tools", "tool"), "functions"),
    **dict.fromkeys(("Context", "Preview", "Tool", "ToolFault", "ToolInput", "ToolLimits", "ToolResult"), "base"),
    "CreatePlan": "plan",
    "Executor": "executor",
    "Limits": "limits",
    "WriteTodos": "todos",
    "builtin_tools": "builtin",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'headway.tools' has no attribute {name!r}")
    return getattr(import_module(f"headway.tools.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
