"""Headway in agents of the OpenAI Agents SDK."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

pytest.importorskip("agents", reason="The OpenAI Agents SDK is not installed: make test-adapters")

from agents import Agent, RunConfig, RunHooks, Runner, SQLiteSession, function_tool
from agents.exceptions import UserError
from agents.run_config import ModelInputData
from agents.testing import ScriptedModel, assistant_message, function_call
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
    own,
    read,
    tidy,
    to_json,
)

import headway
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

    async def test_a_session_of_the_sdk_holds_no_list_and_a_run_that_goes_on_shows_it(self) -> None:
        session = headway.open(memory=True)
        kept = SQLiteSession("1")
        await self.drive([create(*ITEMS), Turn("I wait."), Turn("I wait.")], session, run_options={"session": kept})
        outcome = await self.drive([done("t1", "t2", "t3"), Turn("Done.")], session, run_options={"session": kept})
        assert "<todo-list>" in outcome.requests[0][-1] and ITEMS[2] in outcome.requests[0][-1]
        items = to_json(await kept.get_items())
        assert "<todo-list>" not in items and "still open" in items

    async def test_the_users_own_hooks_and_filters_are_called_too(self) -> None:
        heard: list[str] = []

        class Hooks(RunHooks):
            async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
                heard.append(tool.name)

        def shorten(data: Any) -> ModelInputData:
            return ModelInputData(input=data.model_data.input[:1], instructions="Mine.")

        turns = [create(*ITEMS), own("read", path="a.py"), done("t1", "t2", "t3"), Turn("Done.")]
        model = ScriptedModel([{"responder": to_step(turn)} for turn in turns])
        agent = Agent("agent", tools=[function_tool(read)], model=model)
        config = RunConfig(tracing_disabled=True, call_model_input_filter=shorten)
        runner = HeadwayRunner(headway.open(memory=True))
        await runner.run(agent, TASK, hooks=Hooks(), run_config=config)
        assert heard == ["create_todo_list", "read", "todo"]
        assert [len(call.input) for call in model.calls] == [1, 2, 2, 2]
        assert all(str(call.system_instructions).startswith("Mine.") for call in model.calls)

    async def test_todo_tools_outside_a_run_of_headway_say_so(self) -> None:
        model = ScriptedModel([{"responder": to_step(create(*ITEMS))}])
        agent = Agent("agent", tools=HeadwayRunner(headway.open(memory=True)).tools, model=model)
        with pytest.raises(UserError, match="run the agent with HeadwayRunner"):
            await Runner.run(agent, TASK, run_config=RunConfig(tracing_disabled=True))

    async def test_a_streamed_run_shows_and_records_the_list_and_ends(self) -> None:
        session = headway.open(memory=True)
        turns = [create(*ITEMS), own("read", path="a.py"), done("t1"), Turn("Done.")]
        model = ScriptedModel([{"responder": to_step(turn)} for turn in turns])
        agent = Agent("agent", tools=[function_tool(read)], model=model)
        result = HeadwayRunner(session).run_streamed(agent, TASK, run_config=RunConfig(tracing_disabled=True))
        async for _ in result.stream_events():
            pass
        await asyncio.sleep(0)
        assert "<todo-list>" in to_json(model.calls[-1].input)
        assert [todo.status for todo in session.todos] == ["completed", "pending", "pending"]
        assert not any(run.is_active for run in session.state.runs.values())

    def test_the_example_of_the_page_runs(self, tmp_path: Path) -> None:
        check_example("OpenAI Agents SDK", tmp_path)
