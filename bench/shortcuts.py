"""What each way around the ordinary one buys, beside the ordinary one: whoever finds no gain here can take it out."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

import headway
from headway.core import forks
from headway.core.model import Todo, new_todo

from .measure import Measured, Row, side_by_side

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestParameters

    from headway.agent.streaming_client import StreamingClient

ROUNDS = 300
PAIRS = 9


def todos(folder: Path) -> Measured:
    def make(number: int) -> list[Todo]:
        return [new_todo(f"t{at}", content="Fix the parser", notes="Seen") for at in range(1_000)]

    def construct(number: int) -> list[Todo]:
        return [Todo(f"t{at}", content="Fix the parser", notes="Seen") for at in range(1_000)]

    return side_by_side(make, construct, 60)


def fork_hooks(folder: Path) -> Measured:
    project = folder / "forked"
    project.mkdir()
    session = headway.open(project)
    session.add("Item")

    def hooks(number: int) -> None:
        forks.before_fork()
        forks.after_fork_in_parent()

    def fork(number: int) -> None:
        if not (child := os.fork()):
            os._exit(0)
        os.waitpid(child, 0)

    measured = side_by_side(hooks, fork, 60)
    session.close()
    return measured


def model_thread(folder: Path) -> Measured:
    """How long a request holds up the loop that asks."""
    with asyncio.Runner() as runner:
        return runner.run(_stalls())


async def _stalls() -> Measured:
    import httpx2
    from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    from headway.agent.streaming_client import StreamingClient

    candidate = {"content": {"parts": [{"text": "Done."}], "role": "model"}, "finishReason": "STOP"}
    answer = {"candidates": [candidate], "modelVersion": "m", "responseId": "r"}

    def model() -> GoogleModel:
        transport = httpx2.MockTransport(lambda sent: httpx2.Response(200, json=answer))
        client = httpx2.AsyncClient(transport=transport, timeout=600)
        return GoogleModel("gemini-2.5-pro", provider=GoogleProvider(api_key="none", http_client=client))

    history: list[ModelMessage] = []
    for number in range(ROUNDS):
        key = f"call-{number}"
        history.append(ModelResponse([ToolCallPart("look", {"path": f"src/module_{number}.py"}, key)]))
        history.append(ModelRequest([ToolReturnPart("look", f"Nothing new in src/module_{number}.py.", key)]))
    parameters = ModelRequestParameters()
    stalls: tuple[list[float], list[float]] = ([], [])
    async with StreamingClient(model(), apart=True) as apart, StreamingClient(model(), apart=False) as here:
        for _ in range(PAIRS + 1):
            for asker, found in zip((apart, here), stalls, strict=True):
                found.append(await _stall(asker, history, parameters))
    return Measured(statistics.median(stalls[0][1:]), statistics.median(stalls[1][1:]))


async def _stall(asker: StreamingClient, history: list[ModelMessage], parameters: ModelRequestParameters) -> float:
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - begin - 0.001)

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    await asker.ask(history, {}, parameters, streamed=False)
    await asyncio.sleep(0.002)
    ticking.cancel()
    return longest


ROWS = [
    Row("make 1,000 todos", "Todo(…)", 0.5, todos),
    Row("hooks around a fork", "os.fork and waitpid", 0.2, fork_hooks),
    Row("request at round 300, stall, Google", "without the model's own thread", 0.4, model_thread),
]
