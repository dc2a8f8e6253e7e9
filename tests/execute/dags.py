"""Lists of items that depend on each other and append lines to files: what they come to, and who is killed over them.

`python -m tests.execute.dags` waits for orders on stdin, one JSON object a line: `{"project", "parallel", "place"}`.
For each it forks an execution, and prints its exit code when it is gone. The execution kills itself at a place: `#N`
after the Nth event that it heard of; `wrote` and `applied`, when an item has appended a line, or its changes have come
into the project.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ToolReturnPart

import headway
from headway import Event, Session
from headway.agent import LoopConfig
from headway.execute import BatchResult, execute_all
from headway.execute.shadow import Shadow
from headway.testing import Call, Request, ScriptedModel, Turn
from headway.tools import Tool, tool

ROOT = Path(__file__).parents[2]
LONGEST = 60.0
FILES = ("one.txt", "two.txt")
_STEP = re.compile(r"[a-z]+\.txt=[\w.-]+")


@dataclass(frozen=True)
class Dag:
    """Items in the order of the list: what each depends on, and to which files it appends a line of its own."""

    needs: tuple[tuple[int, ...], ...]
    writes: tuple[tuple[str, ...], ...]

    def open(self, folder: Path) -> Session:
        session = headway.open(folder)
        session.write(
            [
                {"id": f"i{at}", "content": " ".join(self.steps(at)), "depends_on": [f"i{node}" for node in needed]}
                for at, needed in enumerate(self.needs)
            ],
            replace=True,
        )
        return session

    def steps(self, at: int) -> list[str]:
        return [f"{file}=i{at}.{number}" for number, file in enumerate(self.writes[at])]

    def in_order(self) -> dict[str, str]:
        """The files after the items have run one after the other, as they stand in the list."""
        files: dict[str, str] = {}
        done: list[int] = []
        while len(done) < len(self.needs):
            at = next(at for at, needs in enumerate(self.needs) if at not in done and {*needs} <= {*done})
            for step in self.steps(at):
                file, _, line = step.partition("=")
                files[file] = files.get(file, "") + f"{line}\n"
            done.append(at)
        return files


@st.composite
def dags(draw: st.DrawFn, most: int = 4) -> Dag:
    size = draw(st.integers(2, most))
    needs = [tuple(sorted(draw(st.sets(st.sampled_from(range(at)), max_size=2)))) if at else () for at in range(size)]
    writes = [tuple(draw(st.lists(st.sampled_from(FILES), min_size=1, max_size=3))) for _ in range(size)]
    return Dag(tuple(needs), tuple(writes))


def player() -> ScriptedModel:
    """Does what the item says, step by step, whatever is there already."""

    def turn(messages: list[ModelMessage], request: Request) -> str | Turn:
        first = str(messages[0].parts[0].content)  # type: ignore[union-attr]
        steps = _STEP.findall(first.partition("Description: ")[2].partition("\n")[0])
        made = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
        if made == len(steps):
            return "Done."
        file, _, line = steps[made].partition("=")
        return Turn(calls=[Call("append", {"path": file, "line": line})])

    return ScriptedModel(conversations={"Execute todo": [turn] * 2_000}, keep_requests=1)


def tools_for(folder: str, place: str = "") -> list[Tool[Any]]:
    @tool(effect="write")
    def append(path: str, line: str) -> str:
        """Appends a line to a file."""
        with open(Path(folder, path), "ab", buffering=0) as file:
            file.write(f"{line}\n".encode())
        if place == "wrote":
            killed()
        return "appended"

    return [append]


async def play(session: Session, *, parallel: int = 1, **how: Any) -> BatchResult:
    config = LoopConfig(instructions="Work.", max_nudges=0)
    given: dict[str, Any] = {"tools": tools_for, "mode": "yolo", "config": config, **how}
    async with asyncio.timeout(LONGEST):
        return await execute_all(session, model=player(), parallel=parallel, **given)


def lines_of(files: dict[str, str]) -> dict[str, list[str]]:
    """The lines of each file, whatever their order."""
    return {file: sorted(text.splitlines()) for file, text in files.items()}


# those who are killed


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)  # the signal comes while this waits


def follow(folder: Path, parallel: int, place: str) -> None:
    heard = 0

    def listen(event: Event) -> None:
        nonlocal heard
        heard += 1
        if place == f"#{heard}":
            killed()

    if place == "applied":
        apply = Shadow.apply

        def applied(self: Shadow, now: str, target: str) -> Sequence[str]:
            apply(self, now, target)
            killed()
            return ()

        Shadow.apply = applied  # type: ignore[method-assign,assignment]
    session = headway.open(folder)
    made = play(session, parallel=parallel, on_event=listen, tools=partial(tools_for, place=place))
    asyncio.run(made)


class Killer:
    """A process that has loaded everything, and forks an execution for every order."""

    def __init__(self) -> None:
        program = [sys.executable, "-m", "tests.execute.dags"]
        self._process = subprocess.Popen(program, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, folder: Path, place: str, *, parallel: int = 1) -> bool:
        """Whether the execution was killed there; else it ended before."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps({'project': str(folder), 'parallel': parallel, 'place': place})}\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        assert code in (0, -signal.SIGKILL)
        return code != 0

    def close(self) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()
            assert self._process.wait(LONGEST) == 0


def main() -> None:
    for line in iter(sys.stdin.readline, ""):
        order = json.loads(line)
        pid = os.fork()
        if not pid:
            code = 1
            try:
                os.dup2(os.open(os.devnull, os.O_RDWR), 1)
                follow(Path(order["project"]), order["parallel"], order["place"])
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        overdue = threading.Timer(LONGEST, os.kill, (pid, signal.SIGKILL))
        overdue.start()
        ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        overdue.cancel()
        print(ended, flush=True)


if __name__ == "__main__":
    main()
