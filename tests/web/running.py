"""Runs of a scripted model in the server, and what comes of them."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support import scripts
from tests.support.processes import Form, until

from headway import Session
from headway.agent import LoopConfig, run_loop
from headway.testing import ScriptedModel
from headway.tools import Answer, Approvals, Question

from .serving import Server, at

Scripted = Callable[..., str]


def turn(*commands: str) -> Form:
    """The model runs these commands."""
    return scripts.turn("", *map(scripts.bash, commands))


class Door:
    """A command that says that it has begun, and waits until it is let through."""

    def __init__(self, folder: Path) -> None:
        self._there, self._open = folder / "there", folder / "open"

    @property
    def command(self) -> str:
        there, through = shlex.quote(str(self._there)), shlex.quote(str(self._open))
        return f"touch {there}; until [ -e {through} ]; do sleep 0.02; done"

    def reached(self) -> None:
        until(self._there.exists)

    def let(self) -> None:
        self._open.touch()


def states(server: Server, name: str) -> dict[str, str]:
    return {todo["id"]: todo["status"] for todo in server.state(name)["todos"]}


def ended(server: Server, name: str) -> Form:
    """The run, once it is over."""
    until(lambda: (run := server.state(name)["run"]) is not None and not run["goes_on"])
    return server.state(name)["run"]


def asked(server: Server, name: str) -> Form:
    """The question that is open."""
    until(lambda: server.state(name)["questions"])
    (question,) = server.state(name)["questions"]
    return question


def started(server: Server, name: str, action: str = "execute", **fields: object) -> None:
    answer = server.run(name, action, **fields)
    assert (answer.status, answer.data) == (200, {"started": True}), answer.body


def answer(server: Server, name: str, question: Form, reply: str, **more: object) -> Form:
    given = {"question_id": question["question_id"], "agent": question["agent"], "reply": reply, **more}
    answer = server.post(f"{at(name)}/answers", given)
    assert answer.status == 200, answer.body
    return answer.data


async def _nobody(question: Question) -> Answer:
    return await asyncio.get_running_loop().create_future()


@asynccontextmanager
async def asking(session: Session, folder: Path, *agents: str) -> AsyncGenerator[None]:
    """Runs outside of the server, each of which asks whether it may say its name."""
    runs = [
        asyncio.create_task(
            run_loop(
                session.agent(agent),
                "Say your name",
                model=ScriptedModel([turn(f"echo {agent}"), "Done."]),
                approvals=Approvals(_nobody),
                config=LoopConfig(tracking="manual"),
                project=folder,
            )
        )
        for agent in agents
    ]
    try:
        yield
    finally:
        for run in runs:
            run.cancel()
        await asyncio.wait(runs)
