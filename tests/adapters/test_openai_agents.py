"""Headway in agents of the OpenAI Agents SDK."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

pytest.importorskip("agents", reason="The OpenAI Agents SDK is not installed: make test-adapters")

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from tests.adapters.examples import check_example
from tests.adapters.obligations import TASK, TOOLS, Obligations, Outcome, Tools, Turn, tidy, to_json

from headway import Session
from headway.adapters.openai_agents import HeadwayRunner


def to_texts(items: Sequence[Any]) -> list[str]:
    return [tidy(to_json(item)) for item in items]


def to_step(turn: Turn) -> Any:
    def respond(call: Any) -> Any:
        turn.before()
        if turn.error:
            raise RuntimeError(turn.error)
        calls = [
            function_call(name, json.dumps(args), call_id=call_id)
            for (name, args), call_id in zip(turn.calls, turn.ids, strict=True)
        ]
        return [*([assistant_message(turn.text)] if turn.text else []), *calls]

    return respond


class TestOpenAIAgents(Obligations):
    raises_tool_errors = False

    async def drive(
        self,
        turns: list[Turn],
        session: Session | None,
        *,
        tools: Tools = TOOLS,
        task: Any = TASK,
        run_options: Mapping[str, Any] = MappingProxyType({}),
        **options: Any,
    ) -> Outcome:
        model = ScriptedModel([{"responder": to_step(turn)} for turn in turns])
        made: list[Any] = [function_tool(tool) for tool in tools.values()]
        agent = Agent("agent", instructions="Be brief.", tools=made, model=model)
        run: Any = Runner.run if session is None else HeadwayRunner(session, **options).run
        error = None
        history: list[str] = []
        try:
            result = await run(agent, task, max_turns=100, run_config=RunConfig(tracing_disabled=True), **run_options)
            history = to_texts(result.to_input_list())
        except Exception as failure:
            error = failure
        return Outcome([to_texts(call.input) for call in model.calls], history, error)

    def test_the_example_of_the_page_runs(self, tmp_path: Path) -> None:
        check_example("OpenAI Agents SDK", tmp_path)
