"""What the todo tools share: a session to work on, inputs that are short to describe, and answers of one line."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from headway.core.errors import InvalidTodos
from headway.core.model import Todo
from headway.core.text import sanitize_for_display
from headway.tools.base import Context, Tool, ToolFault, ToolResult
from headway.tools.effects import Effect
from headway.views.prompt_block import count_completed

if TYPE_CHECKING:
    from headway.session import Session

MOST_IDS = 20
"""How many ids an answer names one by one."""
MAX_ID = 40
MAX_TEXT = 60


Input = TypeVar("Input", bound=BaseModel)


class ListTool(Tool[Input]):
    """A tool that changes the list of the run's session."""

    effect = Effect.TODO

    @abstractmethod
    def change(self, session: Session, call: Input) -> ToolResult: ...

    async def run(self, call: Input, context: Context) -> ToolResult:
        if context.session is None:
            raise ToolFault(
                f"{self.name} was not run: this run has no session and therefore no list; continue without it."
            )
        try:
            return await asyncio.to_thread(self.change, context.session, call)
        except InvalidTodos as error:
            lines = "\n".join(f"- {self.fault(line)}" for line in error.violations)
            raise ToolFault(f"{self.name} changed nothing. Correct this and call it again:\n{lines}") from None

    def fault(self, line: str) -> str:
        """A violation found by the core, with its path as the model knows it."""
        return line


def format_progress(todos: Sequence[Todo]) -> str:
    """`3/20`, counted as in the list that a model is shown."""
    return f"{count_completed(todos)}/{len(todos)}"


def format_ids(todos: Sequence[Todo]) -> str:
    """`t1, t2, t3`, or `t1 … t200`."""
    ids = [sanitize_for_display(todo.id, MAX_ID) for todo in todos]
    return ", ".join(ids) if len(ids) <= MOST_IDS else f"{ids[0]} … {ids[-1]}"
