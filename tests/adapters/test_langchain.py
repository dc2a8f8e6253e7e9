"""Headway in agents of LangChain and deepagents."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

pytest.importorskip("langchain.agents", reason="LangChain is not installed: make test-adapters")

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, messages_to_dict
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from pydantic import PrivateAttr
from tests.adapters.examples import check_example
from tests.adapters.obligations import TASK, TOOLS, Obligations, Outcome, Tools, Turn, tidy, to_json

from headway import Session
from headway.adapters.langchain import HeadwayMiddleware


def to_texts(messages: Sequence[BaseMessage]) -> list[str]:
    found: list[str] = []
    for message in messages_to_dict([message for message in messages if not isinstance(message, SystemMessage)]):
        if not str(message["data"].get("id") or "").startswith("kept"):
            message["data"]["id"] = None
        found.append(tidy(to_json(message)))
    return found


def to_answer(turn: Turn) -> AIMessage:
    turn.before()
    if turn.error:
        raise RuntimeError(turn.error)
    calls = [{"name": name, "args": args, "id": id} for (name, args), id in zip(turn.calls, turn.ids, strict=True)]
    return AIMessage(turn.text, tool_calls=calls)


class Scripted(BaseChatModel):
    """A chat model that answers one turn after the other."""

    turns: list[Any]
    _requests: list[list[str]] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def requests(self) -> list[list[str]]:
        return self._requests

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **more: Any) -> ChatResult:
        self._requests.append(to_texts(messages))
        return ChatResult(generations=[ChatGeneration(message=to_answer(self.turns[len(self._requests) - 1]))])


class TestLangChain(Obligations):
    async def drive(
        self,
        turns: list[Turn],
        session: Session | None,
        *,
        tools: Tools = TOOLS,
        task: str = TASK,
        middleware: Any = (),
        options: Mapping[str, Any] = MappingProxyType({}),
        config: Any = None,
        **more: Any,
    ) -> Outcome:
        model = Scripted(turns=turns)
        if session is not None:
            middleware = [*middleware, HeadwayMiddleware(session, **more)]
        made = [
            StructuredTool.from_function(coroutine=tool, name=name, description=name) for name, tool in tools.items()
        ]
        agent = create_agent(model, made, system_prompt="Be brief.", middleware=middleware, **options)
        try:
            state = await agent.ainvoke({"messages": [("user", task)]}, config)
        except Exception as error:
            return Outcome(model.requests, [], error)
        return Outcome(model.requests, to_texts(state["messages"]))

    def test_the_example_of_the_page_runs(self, tmp_path: Path) -> None:
        check_example("LangChain and deepagents", tmp_path)
