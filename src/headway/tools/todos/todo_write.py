"""`TodoWrite` as a native tool. What it takes, refuses and answers is the `agent` contract's to say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from headway.contracts import agent
from headway.contracts.calls import NAME
from headway.contracts.schema import agent_parameters
from headway.core.json_text import BadJson, read_json
from headway.tools.base import ToolFault, ToolResult
from headway.tools.todos.list_tool import ListTool

if TYPE_CHECKING:
    from headway.core.session import Session


class Call(BaseModel):
    sent: Any
    """Anything: the contract finds every violation itself, and names it in its own words."""


class TodoWrite(ListTool[Call]):
    name = NAME
    description = agent.DESCRIPTION
    input = Call

    def parameters(self) -> dict[str, Any]:
        return agent_parameters()

    def read(self, arguments: object) -> Call:
        if isinstance(arguments, str) and arguments.strip():
            try:
                return Call(sent=read_json(arguments))
            except BadJson as error:
                raise ToolFault(
                    f"{NAME} was not run: its arguments are no valid JSON ({error}); send one JSON object."
                ) from None
        return Call(sent={} if arguments is None or isinstance(arguments, str) else arguments)

    def change(self, session: Session, call: Call) -> ToolResult:
        answer = agent.run(session, call.sent)
        return ToolResult(answer.text, answer.ok)
