"""Headway in agents of pydantic-ai."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: make test-adapters")

from anthropic import AsyncAnthropic
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from tests.adapters.examples import check_example
from tests.adapters.obligations import (
    ITEMS,
    TASK,
    TOOLS,
    Obligations,
    Outcome,
    Tools,
    Turn,
    create,
    done,
    list_blocks,
    own,
    read,
    tidy,
    to_json,
)
from tests.adapters.provider_server import Provider, serve_provider

import headway
from headway import Session
from headway.adapters.pydantic_ai import HeadwayCapability
from headway.planner import LimitReached


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

    async def test_the_mark_for_the_cache_stands_just_before_the_list(self) -> None:
        turns = [create(*ITEMS), own("read", path="a.py"), done("t1", "t2", "t3"), Turn("Done.")]
        with serve_provider(Provider(turns)) as provider:
            async with AsyncAnthropic(base_url=provider.url, api_key="no-key") as client:
                model = AnthropicModel("claude-sonnet-5", provider=AnthropicProvider(anthropic_client=client))
                agent = Agent(model, tools=[read], capabilities=[HeadwayCapability(headway.open(memory=True))])
                await agent.run(TASK, model_settings={"cache": True})
        for body in provider.bodies[1:]:
            blocks = list_blocks(body)
            assert "todo-list" in blocks[-1]["text"] and "cache_control" not in blocks[-1]
            assert blocks[-2]["type"] == "tool_result" and "cache_control" in blocks[-2]
            assert "cache_control" not in body

    async def test_a_run_that_has_used_its_tokens_ends_before_the_next_request(self) -> None:
        session = headway.open(memory=True)
        outcome = await self.drive([create(*ITEMS), Turn("Done.")], session, max_tokens=1)
        assert isinstance(outcome.error, LimitReached) and len(outcome.requests) == 1
        assert [run.reason for run in session.state.runs.values()] == ["max_tokens"]

    @pytest.mark.parametrize("leaves_early", [False, True])
    async def test_a_run_that_is_iterated_ends_with_its_block(self, leaves_early: bool) -> None:
        session = headway.open(memory=True)
        turns = iter([create(*ITEMS), Turn(calls=[("todo", {"start": "t1"})]), done("t1", "t2", "t3"), Turn("Done.")])
        model = FunctionModel(lambda messages, info: to_response(next(turns)))
        agent = Agent(model, tools=[read], capabilities=[HeadwayCapability(session)])
        async with agent.iter(TASK) as run:
            async for _ in run:
                if leaves_early and session.todos and session.todos[0].status == "in_progress":
                    break
        assert {todo.status for todo in session.todos} == {"pending" if leaves_early else "completed"}
        assert not any(run.is_active for run in session.state.runs.values())

    async def test_a_shortened_history_brings_the_whole_list_back(self) -> None:
        session = headway.open(memory=True)
        items = [f"Read {number}.py" for number in range(12)]

        async def shorten(messages: list[ModelMessage]) -> list[ModelMessage]:
            return [messages[0], *messages[-2:]] if len(messages) > 6 else messages

        turns = [create(*items), *(own("read", path="a.py") for _ in range(4)), done(*(f"t{n}" for n in range(1, 13)))]
        outcome = await self.drive([*turns, Turn("Done.")], session, capabilities=[ProcessHistory(shorten)])
        assert outcome.error is None
        sent = [request[-1] for request in outcome.requests]
        assert not all(item in sent[2] for item in items) and all(item in sent[3] for item in items)

    async def test_a_history_that_goes_on_in_another_run_shows_the_list_again(self) -> None:
        session = headway.open(memory=True)
        agent = Agent(FunctionModel(lambda messages, info: to_response(next(script))), tools=[read])
        script = iter([create(*ITEMS), Turn("I wait."), Turn("I wait.")])
        first = await agent.run(TASK, capabilities=[HeadwayCapability(session)])
        outcome = await self.drive([done("t1", "t2", "t3"), Turn("Done.")], session, history=first.all_messages())
        assert ITEMS[2] in outcome.tails[0]

    def test_the_example_of_the_page_runs(self, tmp_path: Path) -> None:
        check_example("pydantic-ai", tmp_path)
