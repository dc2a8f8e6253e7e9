"""Headway's loop on the work of `work.py`, in the project that is named, with everything in its file.

Its tool is a coroutine, as the loop is; LangChain's is a function, as its agent is called without a loop.

Prints the time per round, and the size of the file in the middle and at the end.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

from pydantic_ai.messages import ModelMessage

import headway
from headway.agent import LoopConfig, run_loop
from headway.project import FILE, FOLDER
from headway.testing import Call, Request, ScriptedModel, Turn
from headway.tools import tool

from .work import CHANGE_EVERY, ITEMS, ROUNDS, figures, position

WINDOW = 10_000_000
"""Tokens: nothing is summarised, as nothing is in what it is compared with."""


@tool(effect="read")
async def look(path: str) -> str:
    """Look at a file."""
    return f"Nothing new in {path}."


def answer(number: int) -> Turn:
    place = position(number)
    match place:
        case None:
            call = Call("look", {"path": f"src/module_{number}.py"})
        case 0:
            items = [{"id": f"i{at}", "description": text} for at, text in enumerate(ITEMS)]
            call = Call("create_todo_list", {"items": items})
        case _:
            call = Call("todo", {"start": f"i{place}"})
    # Given, since the scripted model would walk the history to estimate it, which is no work of the loop.
    return Turn(calls=[call], usage={"input_tokens": 1_000 + 40 * number, "output_tokens": 20})


def size(project: Path) -> int:
    """Bytes of the file with what still waits in its log."""
    with closing(sqlite3.connect(f"file:{project / FOLDER / FILE}?mode=ro", uri=True)) as db:
        (pages,), (each,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    return pages * each


async def run(project: Path) -> dict[str, float]:
    session = headway.open(project)
    asked_at: list[float] = []
    half = list[int]()

    def asked(messages: list[ModelMessage], request: Request) -> Turn:
        number = len(asked_at)
        asked_at.append(time.perf_counter())
        if number == ROUNDS // 2:
            half.append(size(project))
        return answer(number) if number < ROUNDS else Turn(text="Done.")

    config = LoopConfig(max_rounds=ROUNDS + 10, max_nudges=0, tracking="auto", todo_tools="light")
    model = ScriptedModel([asked] * (ROUNDS + 1), keep_requests=1, context_window=WINDOW)
    await run_loop(session, "go", model=model, tools=[look], config=config)
    assert len(session.todos) == len(ITEMS) and session.version >= ROUNDS // CHANGE_EVERY
    whole = size(project)
    session.close()
    return {**figures(asked_at), "half": half[0], "whole": whole}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(Path(sys.argv[1])))))
