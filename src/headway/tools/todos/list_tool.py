"""The todo tools as tools of the loop. What they take, do and answer, `headway.contracts.todo_tools` says."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from headway.contracts.arguments import ToolFault
from headway.contracts.todo_tools import todo_tool
from headway.tools.base import Context, Tool, ToolResult
from headway.tools.effects import Effect

if TYPE_CHECKING:
    from headway.contracts.todo_tools import TodoTool as Contract
    from headway.session import Session


class AsSent(BaseModel):
    """Arguments that the contract has checked."""

    sent: Any


class ListTool(Tool[AsSent]):
    """A tool that changes the list of the run's session."""

    effect = Effect.TODO
    input = AsSent

    def __init__(self, contract: Contract | None = None) -> None:
        """`contract`: what it takes, does and answers, where that is a dialect's."""
        self.contract = contract or todo_tool(self.name)
        self.name = self.contract.name
        self.description = self.contract.description

    def parameters(self) -> dict[str, Any]:
        return deepcopy(self.contract.parameters)

    def parse_input(self, arguments: object) -> AsSent:
        return AsSent(sent=self.contract.parse(arguments))

    async def run(self, call: AsSent, context: Context) -> ToolResult:
        if context.session is None:
            raise ToolFault(
                f"{self.name} was not run: this run has no session and therefore no list; continue without it."
            )
        return await asyncio.to_thread(self._change, context.session, call.sent)

    def _change(self, session: Session, values: object) -> ToolResult:
        answer = self.contract.change(session, values)
        return ToolResult(answer.text, answer.ok)


class TodoWrite(ListTool):
    name = "TodoWrite"


class CreateTodoList(ListTool):
    name = "create_todo_list"


class UpdateTodoItem(ListTool):
    name = "update_todo_item"


class TodoTool(ListTool):
    name = "todo"


class WriteTodos(ListTool):
    name = "write_todos"
