"""Executions whose items append lines to files, by a model that does what the item says; some are killed at a place.

A place is `#N`, after the Nth event that the execution heard of; `wrote`, when an item has appended a line, or `wrote
in place`, when it has in the project's own files; `merging`, `applying` and `applied`, when its changes are about to
come into the project, when one file has, and when all have.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage, ToolReturnPart
from tests.support.processes import function, run_to_end

import headway
from headway import Event, Session
from headway.agent import LoopConfig
from headway.execute import ExecutionResult, execute_all, undo
from headway.execute.shadow_repository import ShadowRepository
from headway.testing import Call, Request, ScriptedModel, Turn
from headway.tools import Tool, tool

from .dags import FAILS_ONCE

LONGEST = 60.0
_STEP = re.compile(r"[a-z]+\.txt=[\w.-]+")


def player() -> ScriptedModel:
    """Does what the item says, step by step, whatever is there already."""

    def turn(messages: list[ModelMessage], request: Request) -> str | Turn:
        first = str(messages[0].parts[0].content)  # type: ignore[union-attr]
        described = first.partition("Description: ")[2].partition("\n")[0]
        steps = _STEP.findall(described)
        made = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
        if made == len(steps) and FAILS_ONCE in described and "An earlier attempt failed" not in first:
            return "Not yet."
        if made >= len(steps):
            done = Turn(calls=[Call("report_item", {"status": "completed"})])
            return done if made == len(steps) else "Done."
        file, _, line = steps[made].partition("=")
        return Turn(calls=[Call("append", {"path": file, "line": line})])

    return ScriptedModel(conversations={"Execute todo": [turn] * 2_000}, keep_requests=1)


def tools_for(folder: str, place: str = "") -> list[Tool[Any]]:
    @tool(effect="write")
    def append(path: str, line: str) -> str:
        """Appends a line to a file."""
        with open(Path(folder, path), "ab", buffering=0) as file:
            file.write(f"{line}\n".encode())
        if place.startswith("wrote"):
            kill_myself()
        return "appended"

    return [append]


async def play(session: Session, *, parallel: int = 1, **how: Any) -> ExecutionResult:
    config = LoopConfig(instructions="Work.", max_nudges=0)
    given: dict[str, Any] = {"tools": tools_for, "mode": "yolo", "config": config, **how}
    async with asyncio.timeout(LONGEST):
        return await execute_all(session, model=player(), parallel=parallel, **given)


# those who are killed


def kill(folder: Path, place: str, *, parallel: int = 1) -> bool:
    """Whether an execution in a process of its own was killed at that place; else it ended before."""
    done = run_to_end(function("tests.execute.playing:play_until_killed", folder, parallel, place))
    assert done.code in (0, -signal.SIGKILL), done.err
    return done.code != 0


def play_until_killed(folder: str, parallel: str, place: str) -> None:
    heard = 0

    def listen(event: Event) -> None:
        nonlocal heard
        heard += 1
        if place == f"#{heard}":
            kill_myself()

    if place == "applied":
        apply = ShadowRepository.apply_change

        def apply_and_die(self: ShadowRepository, now: str, target: str, **more: Any) -> Sequence[str]:
            apply(self, now, target, **more)
            kill_myself()
            return ()

        ShadowRepository.apply_change = apply_and_die  # type: ignore[method-assign,assignment]
    elif place == "merging":
        ShadowRepository.apply_change = lambda *args, **more: kill_myself()  # type: ignore[method-assign,assignment]
    elif place == "applying":
        link = os.link

        def link_and_die(*args: Any, **more: Any) -> None:
            link(*args, **more)
            if os.path.dirname(args[1]) == folder:
                kill_myself()

        os.link = link_and_die
    session = headway.open(folder)
    how: dict[str, Any] = {"tools": partial(tools_for, place=place), "in_place": place == "wrote in place"}
    made = play(session, parallel=int(parallel), on_event=listen, **how)
    asyncio.run(made)


def kill_undo(folder: Path, place: str) -> None:
    """Kill an undo while it changes the project's files, or before it changes the list."""
    done = run_to_end(function("tests.execute.playing:undo_until_killed", folder, place))
    assert done.code == -signal.SIGKILL, done


def undo_until_killed(folder: str, place: str) -> None:
    left = 2

    def rename_and_die(*args: Any, **more: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            kill_myself()
        rename(*args, **more)

    def apply_and_die(self: ShadowRepository, now: str, target: str, **more: Any) -> Sequence[str]:
        apply(self, now, target, **more)
        kill_myself()
        return ()

    rename, apply = os.rename, ShadowRepository.apply_change
    if place == "applying":
        os.rename = rename_and_die
    else:
        ShadowRepository.apply_change = apply_and_die  # type: ignore[method-assign,assignment]
    undo(headway.open(folder))


def kill_myself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)  # the signal comes while this waits
