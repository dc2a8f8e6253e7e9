"""`TodoWrite` as a native tool. What it takes, refuses and answers is the `agent` contract's to say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headway.contracts import agent
from headway.contracts.schema import build_agent_parameters
from headway.contracts.shared_rules import NAME
from headway.tools.as_sent import AsSent, parse_as_sent
from headway.tools.base import ToolResult
from headway.tools.todos.list_tool import ListTool

if TYPE_CHECKING:
    from headway.session import Session


class TodoWrite(ListTool[AsSent]):
    name = NAME
    description = agent.DESCRIPTION
    input = AsSent

    def parameters(self) -> dict[str, Any]:
        return build_agent_parameters()

    def parse_input(self, arguments: object) -> AsSent:
        return parse_as_sent(NAME, arguments)

    def change(self, session: Session, call: AsSent) -> ToolResult:
        answer = agent.run(session, call.sent)
        return ToolResult(answer.text, answer.ok)
