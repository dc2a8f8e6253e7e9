"""What a round of the agent's loop costs besides the model, early and late in a run of 1,000 rounds.

Each round calls one tool, every fifth changes the list. What a provider's library needs to send a history is no work of
the loop, and has a row of its own.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .environments import answer_of, python_of
from .measure import Measured, NotAvailable, Row, side_by_side
from .others.work import ROUNDS

PAIRS = 5
Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Runs:
    ours: list[Figures]
    langchain: list[Figures]
    missing: str = ""
    """Why there are none of LangChain."""


@cache
def _runs(folder: Path) -> Runs:
    """Headway, LangChain, Headway, LangChain, …; Headway alone where LangChain cannot be had."""
    missing = ""
    try:
        python_of("langchain")
    except NotAvailable as reason:
        missing = str(reason)
    runs = Runs([], [], missing)
    for number in range(PAIRS):
        project = folder / f"loop-{number}"
        project.mkdir()
        runs.ours.append(answer_of(sys.executable, "headway_loop", project))
        if not missing:
            runs.langchain.append(answer_of(python_of("langchain"), "langchain_agent", "loop"))
    return runs


def _median(runs: list[Figures], figure: str) -> float:
    return statistics.median(run[figure] for run in runs)


def late_and_early(folder: Path) -> Measured:
    ours = _runs(folder).ours
    return Measured(_median(ours, "late"), _median(ours, "early"))


def beside_langchain(folder: Path) -> Measured:
    runs = _runs(folder)
    if runs.missing:
        raise NotAvailable(runs.missing)
    return Measured(_median(runs.ours, "late"), _median(runs.langchain, "late"))


def on_disk(folder: Path) -> Measured:
    ours = _runs(folder).ours
    return Measured(_median(ours, "whole") / 1000, _median(ours, "half") / 1000)


def request(folder: Path) -> Measured:
    """A request as it is mapped and serialised by pydantic-ai and the SDK; the transport answers without a network."""
    with asyncio.Runner() as runner:
        return side_by_side(_asking(runner, as_they_are=True), _asking(runner, as_they_are=False), 9)


def _asking(runner: asyncio.Runner, *, as_they_are: bool) -> Callable[[int], object]:
    """Sends the history of all rounds, as Headway has the SDK do it or as that does it by itself."""
    import httpx2
    from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.tools import ToolDefinition

    from headway.agent.openai_bodies import skip_message_walk

    message = {"role": "assistant", "content": "Done."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    completion = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(lambda sent: httpx2.Response(200, json=completion)))
    provider = OpenAIProvider(api_key="none", http_client=client)
    if as_they_are:
        skip_message_walk(provider.client)
    model = OpenAIChatModel("m", provider=provider)
    look = ToolDefinition(name="look", parameters_json_schema={"type": "object", "properties": {}})
    history: list[ModelMessage] = []
    for number in range(ROUNDS):
        key = f"call-{number}"
        history.append(ModelResponse([ToolCallPart("look", {"path": f"src/module_{number}.py"}, key)]))
        history.append(ModelRequest([ToolReturnPart("look", f"Nothing new in src/module_{number}.py.", key)]))
    parameters = ModelRequestParameters(function_tools=[look])
    return lambda number: runner.run(model.request(history, None, parameters))


ROWS = [
    Row("loop, round 1,000", "round 100 of the same run", 1.5, late_and_early),
    Row("loop at round 1,000", "LangChain's agent with write_todos, in memory", 0.1, beside_langchain),
    Row("loop, size on disk at round 1,000", "at round 500", 2.2, on_disk, "kB"),
    Row("request at round 1,000, OpenAI's library", "the library by itself", 0.2, request),
]
