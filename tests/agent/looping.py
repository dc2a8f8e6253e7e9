"""How the tests run the loop, what they read of it in requests and in the log, and how other processes take part."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from tests.support.processes import Started, python, run_python, start

import headway
from headway import Event, Session
from headway.agent import LoopConfig, RunResult, run_loop
from headway.testing import Call, Request, ScriptedModel, Turn
from headway.tools import Approvals, Tool, tool

from .bodies import tail_of

BOUND = 60.0
"""Seconds after which a run hangs. Nothing here takes a tenth of it."""
T = TypeVar("T")
AnyTool = Tool[Any] | Callable[..., object]


@tool(effect="read")
def look(at: str = "it") -> str:
    """Looks at something."""
    return f"saw {at}"


@tool(effect="read")
def fail(why: str = "no reason") -> str:
    """Fails."""
    raise ValueError(why)


@tool(effect="execute")
def act(what: str = "it") -> str:
    """Does something that needs approval."""
    return f"did {what}"


def calling(*names: str, text: str = "", **arguments: Any) -> Turn:
    """An answer that calls these tools, all with the same arguments."""
    return Turn(text=text, calls=[Call(name, arguments) for name in names])


def looking(times: int) -> list[Turn]:
    """So many answers, each of which looks at something else."""
    return [calling("look", at=f"place {number}") for number in range(times)]


def in_turn(*turns: Turn) -> Turn:
    """One answer with the calls of several."""
    return Turn(calls=[call for turn in turns for call in turn.calls])


def writing(*items: tuple[str, str]) -> Turn:
    """An answer that calls TodoWrite with (text, status) items."""
    todos = [{"content": text, "activeForm": text, "status": status} for text, status in items]
    return Turn(calls=[Call("TodoWrite", {"todos": todos})])


def creating(*texts: str) -> Turn:
    """An answer that calls create_todo_list."""
    return Turn(calls=[Call("create_todo_list", {"items": [{"description": text} for text in texts]})])


def setting(item_id: str, status: str, **more: str) -> Turn:
    """An answer that calls update_todo_item."""
    return Turn(calls=[Call("update_todo_item", {"item_id": item_id, "status": status, **more})])


def then(do: Callable[[], object], turn: Turn | str) -> Callable[..., Turn | str]:
    """A turn before which something happens, after the request was made."""

    def answer(messages: object, request: object) -> Turn | str:
        do()
        return turn

    return answer


async def run(
    session: Session,
    model: Model | str | Iterable[Any],
    task: str | None = "Do it",
    *,
    tools: Sequence[AnyTool] | None = (look, fail, act),
    approvals: Approvals | None = None,
    on_event: Callable[[Event], object] | None = None,
    base_url: str | None = None,
    **config: Any,
) -> RunResult:
    """Runs the loop, bounded in time. Turns stand for a model that answers with them.

    Unless a test says otherwise, the model has all todo tools, and the tracker keeps its list too.
    """
    if not isinstance(model, Model | str):
        model = ScriptedModel(model)
    settings: dict[str, Any] = {"instructions": "Work.", "todo_tools": "full", "tracking": "auto", **config}
    async with asyncio.timeout(BOUND):
        return await run_loop(
            session,
            task,
            model=model,
            tools=tools,
            approvals=approvals or Approvals(mode="yolo"),
            on_event=on_event,
            config=LoopConfig(**settings),
            base_url=base_url,
        )


# what the log has


def facts(session: Session, kind: type[T]) -> list[T]:
    """What the log has of one kind, of this agent, oldest first."""
    return [
        event.data for event in session.events() if isinstance(event.data, kind) and event.agent == session.agent_id
    ]


def types(session: Session) -> list[str]:
    return [event.type for event in session.events() if event.agent == session.agent_id]


def states(session: Session) -> dict[str, str]:
    return {todo.id: str(todo.status) for todo in session.todos}


# what a request has


_DATE = re.compile(r"\n\n\(Today is [0-9-]+\.\)")


def texts(messages: Iterable[ModelMessage]) -> list[str]:
    """Each part of a conversation in one line, without the date of its first message."""
    return [_told(part) for message in messages for part in message.parts]


def _told(part: object) -> str:
    match part:
        case UserPromptPart():
            content = part.content if isinstance(part.content, str) else "".join(map(str, _words(part)))
            return f"user: {_DATE.sub('', content)}"
        case TextPart():
            return f"model: {part.content}"
        case ToolCallPart():
            return f"call: {part.tool_name} {part.args_as_json_str()}"
        case ToolReturnPart():
            return f"result: {part.content}"
        case _:
            return type(part).__name__


def _words(part: UserPromptPart) -> list[str]:
    return [item for item in part.content if isinstance(item, str)]


def results(request: Request) -> list[str]:
    """The texts of the tool results in the last message."""
    return [str(part.content) for part in request.messages[-1].parts if isinstance(part, ToolReturnPart)]


def added(request: Request) -> str:
    """What this request alone has at its tail: not part of the conversation."""
    return tail_of(request.messages)


def most_tokens(request: Request) -> int | None:
    """How long the answer to it may be."""
    settings: dict[str, Any] = {**(request.settings or {})}
    return settings.get("max_tokens")


def is_valid(messages: Sequence[ModelMessage]) -> bool:
    """Whether every call has its result right after it, and every result its call."""
    calls: list[str] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            if calls or not message.parts:
                return False
            calls = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
        else:
            returned = [part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)]
            if returned != calls:
                return False
            calls = []
    return not calls


# waiting, bounded


async def until(condition: Callable[[], object], seconds: float = BOUND) -> None:
    """Waits until something is so; fails if it does not become so."""
    end = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < end, "it did not happen in time"
        await asyncio.sleep(0.01)


# other processes

_PREPARED = """
import os, sys, time
import headway
session = headway.open(sys.argv[1])
def until(condition):
    end = time.monotonic() + 40
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return found
"""


async def elsewhere(project: Path, code: str) -> str:
    """Runs code in another process, which has `session` and `until`; what it printed."""
    done = await asyncio.to_thread(run_python, _PREPARED + code, project)
    assert done.code == 0, done.err
    return done.out.strip()


@asynccontextmanager
async def running_elsewhere(project: Path, turns: str) -> AsyncGenerator[Started]:
    """A run in another process, in its first round, by a model that answers with these turns. Killed in the end."""
    code = f"""
import asyncio
from headway.agent import run_loop
from headway.testing import Call, ScriptedModel, Turn
asyncio.run(run_loop(session, "Elsewhere", model=ScriptedModel({turns}), tools=()))
"""
    session = headway.open(project)
    process = start(python(_PREPARED + code, project))
    try:
        await until(lambda: process.has_ended or (session.run is not None and session.run.round > 0))
        assert not process.has_ended, "it ended too early"
        yield process
    finally:
        process.discard()
