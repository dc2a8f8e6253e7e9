"""Runs that end by SIGKILL, each in a process of its own: `tests.agent.killed_runs` starts them.

A run writes every event to its standard output, one JSON line each, as soon as a listener is told of it: that is what
was acknowledged.

A place is a name from below, at which the run kills itself; `TYPE#N`, when the Nth event of that type has been
written down; `wander`, a run that goes on until somebody kills it; or `edit`, a person who changes the list meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from pydantic_ai.messages import ModelMessage

import headway
from headway.agent import LoopConfig, run_loop
from headway.core.codec import to_data_record
from headway.core.errors import HeadwayError
from headway.core.events import Event
from headway.testing import Call, Request, ScriptedModel, Turn
from headway.tools import Answer, Approvals, Question, Tool, ToolFault, builtin_tools, tool

NOTES = "notes.txt"
"""The file of the project that `note` writes to."""
PID = "pid.txt"
"""The file to which the command of the place `bash` writes who it is."""
ITEMS = [
    {"id": "a", "description": "Look at what is there"},
    {"id": "b", "description": "Note it down", "depends_on": ["a"]},
    {"id": "c", "description": "Run the tests"},
    {"id": "d", "description": "Report"},
]
LONG = 2_500
"""Characters of what a look finds: a few of them fill the window."""
WINDOW = 6_000


class Order(TypedDict):
    project: str
    place: str
    task: str | None
    number: int


class Heard(TypedDict):
    """An event as a listener was told of it."""

    version: int
    type: str
    at: str
    data: dict[str, object]


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)  # the signal comes while this waits


@dataclass
class Listener:
    """Writes down what it hears, and knows when that is enough."""

    place: str
    heard: Counter[str] = field(default_factory=Counter[str])

    def __call__(self, event: Event) -> None:
        record = Heard(version=event.version, type=event.type, at=event.at, data=to_data_record(event.data))
        os.write(1, f"{json.dumps(record)}\n".encode())
        self.heard[event.type] += 1
        if self.place == f"{event.type}#{self.heard[event.type]}":
            killed()


class Model(ScriptedModel):
    """Plays the story, or any turns; dies where it is entered, left, or asked beside the conversation."""

    def __init__(self, order: Order) -> None:
        self._place = order["place"]
        self._number = order["number"]
        self._chance = random.Random(order["number"])
        self._begins = order["task"] is not None
        self._asked = 0
        super().__init__([self._turn] * 100_000, context_window=WINDOW, keep_requests=1)

    async def __aenter__(self) -> Model:
        if self._place == "entering":
            killed()
        return self

    async def __aexit__(self, *args: object) -> None:
        if self._place == "leaving":
            killed()

    def _turn(self, messages: list[ModelMessage], request: Request) -> Turn:
        if not request.streamed:
            if self._place in ("summary", "judging"):
                killed()
            return Turn(text="It was looked at, and noted down.", delay=0.02 if self._place == "wander" else 0)
        self._asked += 1
        return self._any_turn() if self._place == "wander" else self._story()

    def _story(self) -> Turn:
        """Ten rounds: a list, three looks side by side, two notes one after the other, more looks, and the end."""
        match self._asked:
            case 1 if self._begins:
                start = Call("update_todo_item", {"item_id": "a", "status": "in_progress"})
                return Turn(text="First a list.", calls=[Call("create_todo_list", {"items": ITEMS}), start])
            case 1:
                return Turn(calls=[Call("update_todo_item", {"item_id": "a", "status": "in_progress"})])
            case 2:
                looks = [Call("look", {"at": place}) for place in range(3)]
                return Turn(text="Now I look around in the whole of the project.", calls=looks, delay=0.1)
            case 3:
                return Turn(calls=[self._note("first"), self._note("second")])
            case 4 if self._place == "bash":
                return Turn(calls=[Call("bash", {"command": f"echo $$ > {PID}; sleep 300"})])
            case number if number < 10:
                return Turn(text="Once more.", calls=[Call("look", {"at": number})])
            case _:
                return Turn(text="That is all.")

    def _note(self, word: str) -> Call:
        return Call("note", {"line": f"{self._number}-{self._asked}-{word}"})

    def _any_turn(self) -> Turn:
        chance = self._chance
        calls: list[Call] = []
        if self._asked == 1 and (self._begins or chance.random() < 0.2):
            calls.append(Call("create_todo_list", {"items": ITEMS}))
        for at in range(chance.randrange(4)):
            calls.append(
                chance.choice(
                    [
                        Call("look", {"at": at}),
                        Call("look", {"at": at}),
                        self._note(f"n{at}"),
                        Call("fail"),
                        Call("nothing_of_the_kind"),
                        Call("update_todo_item", {"item_id": chance.choice("abcd"), "status": "in_progress"}),
                        Call("update_todo_item", {"item_id": chance.choice("abcd"), "status": "completed"}),
                    ]
                )
            )
        calls = calls or [Call("look", {"at": 9})]
        return Turn(text=f"Round {self._asked} of {self._number}.", calls=calls, delay=chance.choice([0, 0.01, 0.03]))


def tools_of(project: Path, place: str) -> list[Tool[Any]]:
    @tool(effect="read")
    async def look(at: int) -> str:
        """Looks at a place."""
        await asyncio.sleep(0.01)
        if place == "side by side" and at == 1:
            killed()
        return f"{at}: {'there is nothing new. ' * (LONG // 22)}"

    @tool(effect="write")
    def note(line: str) -> str:
        """Writes a line into the notes."""
        if place == "second tool" and line.endswith("second"):
            killed()
        with open(project / NOTES, "ab", buffering=0) as notes:
            notes.write(f"{line}\n".encode())
            if place == "tool" and line.endswith("first"):
                killed()
        return f"Noted {line}."

    @tool(effect="execute")
    def fail() -> str:
        """Fails."""
        raise ToolFault("It does not work.")

    commands = [one for one in builtin_tools(project) if one.name == "bash"]
    return [look, note, fail, *commands]


async def work(order: Order) -> None:
    project, place = Path(order["project"]), order["place"]

    async def ask(question: Question) -> Answer:
        killed()
        return Answer("no")

    approvals = Approvals(ask) if place == "asking" else Approvals(mode="yolo")
    result = await run_loop(
        headway.open(project),
        order["task"],
        model=Model(order),
        tools=tools_of(project, place),
        approvals=approvals,
        on_event=Listener(place),
        config=LoopConfig(
            max_rounds=100_000,
            instructions="Work.",
            max_nudges=0,
            todo_tools="full",
            tracking="judge" if place == "judging" else "auto",
            complete_after=3 if place == "judging" else 100,
            stop_when_done=False,
        ),
    )
    assert result.ok, result


def edit(order: Order) -> None:
    """Adds and drops items until it is killed; writes down each text that it was told is in the list."""
    session = headway.open(order["project"])
    ids: list[str] = []
    for count in range(1_000_000):
        text = f"edit-{order['number']}-{count}"
        ids.append(session.add(text).id)
        os.write(1, f"{json.dumps(text)}\n".encode())
        with suppress(HeadwayError):  # the model may have made another list
            session.update(ids[-1], notes=text)
            if len(ids) > 5:
                session.drop(ids.pop(0))
        time.sleep(0.02)


def be_victim(order: str) -> None:
    """Does what an order, as JSON, says."""
    given: Order = json.loads(order)
    if given["place"] == "edit":
        edit(given)
    else:
        asyncio.run(work(given))
