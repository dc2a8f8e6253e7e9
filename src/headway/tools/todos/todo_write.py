"""`TodoWrite` as a native tool. What it takes, refuses and answers is the `agent` contract's to say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headway.contracts import agent
from headway.contracts.calls import NAME
from headway.contracts.schema import agent_parameters
from headway.tools.as_sent import AsSent, read_as_sent
from headway.tools.base import ToolResult
from headway.tools.todos.list_tool import ListTool

if TYPE_CHECKING:
    from headway.core.session import Session


class TodoWrite(ListTool[AsSent]):
    name = NAME
    description = agent.DESCRIPTION
    input = AsSent

    def parameters(self) -> dict[str, Any]:
        return agent_parameters()

    def read(self, arguments: object) -> AsSent:
        return read_as_sent(NAME, arguments)

    def change(self, session: Session, call: AsSent) -> ToolResult:
        answer = agent.run(session, call.sent)
        return ToolResult(answer.text, answer.ok)
