"""An agent of a framework on the work of `work.py`: with Headway's list, with the framework's own, or with none.

`adapted_agent FRAMEWORK loop KIND FOLDER` prints the time per round; `… list KIND FOLDER` the texts that a model reads
and writes to go through the list once: arguments and results of calls, and what stands behind the requests.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import headway

from .work import ITEMS, ROUNDS, figures, position

Call = tuple[str, dict[str, Any]]
Answers = Iterator[Call | None]
Log = list[Any]
"""The messages of each request, and the last of all the history."""


def rewrite(place: int, *, form: str = "") -> Call:
    """Write the whole list, with the model at that item."""
    statuses = ["completed"] * place + ["in_progress"] + ["pending"] * len(ITEMS)
    more = {"active_form": "Working"} if form else {}
    todos = [{"content": text, "status": status, **more} for text, status in zip(ITEMS, statuses, strict=False)]
    return "write_todos", {"todos": todos}


def list_steps(kind: str, framework: str) -> list[Call]:
    """Return the calls that make a list and go through it."""
    if kind == "headway":
        made: Call = ("create_todo_list", {"items": [{"description": text} for text in ITEMS]})
        return [made, *(("todo", {"done": [f"t{number}"]}) for number in range(1, len(ITEMS) + 1))]
    form = "active_form" if framework == "pydantic_ai" else ""
    return [rewrite(place, form=form) for place in range(len(ITEMS) + 1)]


def list_rounds(kind: str, framework: str) -> Iterator[Call]:
    steps: Iterator[Call] = iter(())
    for number in range(ROUNDS):
        if position(number) is None or kind == "none":
            yield "look", {"path": f"src/module_{number}.py"}
        else:
            call = next(steps, None)
            if call is None:
                steps = iter(list_steps(kind, framework)[:-1])  # never all of it: the run would end
                call = next(steps)
            yield call


def look(path: str) -> str:
    """Look at a file."""
    return f"Nothing new in {path}."


async def run_langchain(kind: str, folder: str, answer: Callable[[], Call | None]) -> list[str]:
    from langchain.agents import create_agent
    from langchain.agents.middleware import TodoListMiddleware
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    from headway.adapters.langchain import HeadwayMiddleware

    texts: list[str] = []

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: object, **options: object) -> Any:
            return self

        def _generate(self, messages: list[Any], *args: Any, **more: Any) -> Any:
            if isinstance(messages[-1], HumanMessage) and len(messages) > 2:
                texts.append(str(messages[-1].content))
            return super()._generate(messages, *args, **more)

    def make_messages() -> Iterator[AIMessage]:
        for number in count():
            call = answer()
            calls = [] if call is None else [{"name": call[0], "args": call[1], "id": f"call-{number}"}]
            yield AIMessage("" if calls else "Done.", tool_calls=calls)

    middleware: list[Any] = [TodoListMiddleware()] if kind == "own" else []
    if kind == "headway":
        middleware = [HeadwayMiddleware(headway.open(folder), max_rounds=ROUNDS + 1)]
    agent = create_agent(Scripted(messages=make_messages()), [look], middleware=middleware)
    state = await agent.ainvoke({"messages": [("user", "go")]}, {"recursion_limit": 100_000})
    return texts + [str(message.content) for message in state["messages"] if isinstance(message, ToolMessage)]


async def run_pydantic_ai(kind: str, folder: str, answer: Callable[[], Call | None]) -> list[str]:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import UsageLimits
    from pydantic_ai_todo import TodoCapability

    from headway.adapters.pydantic_ai import HeadwayCapability

    texts: list[str] = []

    def respond(messages: list[Any], info: object) -> ModelResponse:
        last = messages[-1].parts[-1]
        if isinstance(last, UserPromptPart) and len(messages) > 1:
            texts.append(str(last.content))
        call = answer()
        return ModelResponse([TextPart("Done.") if call is None else ToolCallPart(*call)])

    capabilities: list[Any] = []
    if kind == "headway":
        capabilities = [HeadwayCapability(headway.open(folder), max_rounds=ROUNDS + 1)]
    if kind == "own":
        capabilities = [TodoCapability()]
    agent = Agent(FunctionModel(respond), tools=[look], capabilities=capabilities)
    result = await agent.run("go", usage_limits=UsageLimits(request_limit=None))
    parts = [part for message in result.all_messages() for part in message.parts]
    return texts + [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]


async def run_openai_agents(kind: str, folder: str, answer: Callable[[], Call | None]) -> list[str]:
    from agents import Agent, RunConfig, Runner, function_tool
    from agents.items import ModelResponse
    from agents.models.interface import Model
    from agents.testing import assistant_message, function_call
    from agents.usage import Usage

    from headway.adapters.openai_agents import HeadwayRunner

    texts: list[str] = []

    class Scripted(Model):
        number = 0

        async def get_response(self, system_instructions: Any, input: Any, *args: Any, **more: Any) -> ModelResponse:
            if len(input) > 1 and input[-1].get("role") == "user":
                texts.append(input[-1]["content"])
            call, self.number = answer(), self.number + 1
            if call is None:
                return ModelResponse([assistant_message("Done.")], Usage(), None)
            item = function_call(call[0], json.dumps(call[1]), call_id=f"call-{self.number}")
            return ModelResponse([item], Usage(), None)

        def stream_response(self, *args: Any, **more: Any) -> Any:
            raise NotImplementedError

    agent = Agent("agent", tools=[function_tool(look)], model=Scripted())
    options: Any = {"max_turns": ROUNDS + 10, "run_config": RunConfig(tracing_disabled=True)}
    if kind == "headway":
        result = await HeadwayRunner(headway.open(folder), max_rounds=ROUNDS + 1).run(agent, "go", **options)
    else:
        result = await Runner.run(agent, "go", **options)
    items: list[Any] = result.to_input_list()
    return texts + [str(item["output"]) for item in items if item.get("type") == "function_call_output"]


RUNS = {"langchain": run_langchain, "pydantic_ai": run_pydantic_ai, "openai_agents": run_openai_agents}


def loop(framework: str, kind: str, folder: str) -> dict[str, float]:
    asked_at: list[float] = []
    calls = list_rounds(kind, framework)

    def answer() -> Call | None:
        asked_at.append(time.perf_counter())
        return next(calls, None)

    asyncio.run(RUNS[framework](kind, folder, answer))
    return figures(asked_at[: ROUNDS + 1])


def go_through(framework: str, kind: str, folder: str) -> list[str]:
    calls = list_steps(kind, framework)
    left = iter(calls)
    read = asyncio.run(RUNS[framework](kind, folder, lambda: next(left, None)))
    return [*(json.dumps(arguments, separators=(",", ":")) for _, arguments in calls), *read]


if __name__ == "__main__":
    print(json.dumps({"loop": loop, "list": go_through}[sys.argv[2]](sys.argv[1], *sys.argv[3:])))
