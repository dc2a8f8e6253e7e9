"""Headway in agents of pydantic-ai."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: make test-adapters")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.adapters.examples import check_example
from tests.adapters.obligations import TASK, TOOLS, Obligations, Outcome, Tools, Turn, tidy, to_json

from headway import Session
from headway.adapters.pydantic_ai import HeadwayCapability


def to_texts(messages: list[ModelMessage]) -> list[str]:
    """Return each message as JSON. Instructions are no part of the history, though it carries them along."""
    found: list[str] = []
    for message in json.loads(ModelMessagesTypeAdapter.dump_json(messages)):
        message.pop("instructions", None)
        message.pop("usage", None)
        for part in message["parts"]:
            part.pop("outcome", None)
        found.append(tidy(to_json(message)))
    return found


def to_response(turn: Turn) -> ModelResponse:
    turn.before()
    if turn.error:
        raise RuntimeError(turn.error)
    calls = [ToolCallPart(name, args, call_id) for (name, args), call_id in zip(turn.calls, turn.ids, strict=True)]
    return ModelResponse([*([TextPart(turn.text)] if turn.text else []), *calls])


class TestPydanticAI(Obligations):
    async def drive(
        self,
        turns: list[Turn],
        session: Session | None,
        *,
        tools: Tools = TOOLS,
        task: str = TASK,
        history: list[ModelMessage] | None = None,
        capabilities: Any = (),
        **options: Any,
    ) -> Outcome:
        requests: list[list[str]] = []

        def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            requests.append(to_texts(messages))
            return to_response(turns[len(requests) - 1])

        if session is not None:
            capabilities = [*capabilities, HeadwayCapability(session, **options)]
        agent = Agent(
            FunctionModel(answer), tools=[*tools.values()], capabilities=capabilities, instructions="Be brief."
        )
        try:
            result = await agent.run(task, message_history=history)
        except Exception as error:
            return Outcome(requests, [], error)
        return Outcome(requests, to_texts(result.all_messages()))

    def test_the_example_of_the_page_runs(self, tmp_path: Path) -> None:
        check_example("pydantic-ai", tmp_path)
