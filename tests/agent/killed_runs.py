"""How tests kill runs in every step of a round, and what must hold whenever one was killed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any, cast

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from tests.support.processes import Started, function, start

import headway
from headway.agent import LoopConfig, RunResult, repair_messages, run_loop
from headway.agent.conversation import Conversation
from headway.agent.repair import UNFINISHED
from headway.core.codec import to_data_record
from headway.core.events import Event, ListDelta
from headway.core.evolve import fold
from headway.core.model import State
from headway.core.run_events import MessageAdded, ToolFinished
from headway.project import FILE, FOLDER
from headway.testing import Call, Request, ScriptedModel, Turn
from headway.tools import Approvals

from .victim import NOTES, Heard, Order, tools_of

KILLED = -signal.SIGKILL
TASK = "Look around."


def start_victim(project: Path, place: str, *, task: str | None = TASK, number: int = 1) -> Started:
    """A run that goes on until it is killed, by itself at that place or by somebody."""
    order = json.dumps(Order(project=str(project), place=place, task=task, number=number))
    heard = heard_in(project, by=place if place == "edit" else "run")
    told = os.open(heard, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        return start(function("tests.agent.victim:be_victim", order), stdout=told)
    finally:
        os.close(told)


def kill_at(project: Path, place: str, *, task: str | None = TASK, number: int = 1) -> None:
    """A run that killed itself at that place."""
    assert_killed(start_victim(project, place, task=task, number=number))


def assert_killed(victim: Started) -> None:
    """Waits for its end."""
    code = victim.wait()
    assert code == KILLED, victim.err.rest()


def heard_in(project: Path, by: str = "run") -> Path:
    """The file of the project with what a run, or an editor of its list, was told."""
    return project / f"heard.{by}.jsonl"


def acknowledged(project: Path) -> list[Heard]:
    """What victims wrote down, each in one piece before it was killed."""
    heard = heard_in(project)
    lines = heard.read_text(encoding="utf-8").splitlines() if heard.exists() else []
    return [cast("Heard", json.loads(line)) for line in lines]


# What must hold whenever a run was killed.


def checked(project: Path) -> headway.Session:
    """The session as a new process finds it, after everything that can be said about any of them."""
    session = headway.open(project)
    assert [todo.id for todo in session.todos if todo.status is headway.Status.IN_PROGRESS] == []
    state = session.state
    log = [event for event in session.events() if event.version <= state.version]  # others may be at work
    assert [event.version for event in log] == list(range(1, len(log) + 1))
    assert_kept(acknowledged(project), log)
    assert_ended(session, log)
    todos = state.list_of(session.agent_id).items.values()
    assert {todo.id for todo in todos if todo.interrupted} == left_in_progress(log)
    assert_accepted(Conversation.load(session).messages)
    assert_noted(project, log)
    assert fold(State(), log) == state
    db = sqlite3.connect(project / FOLDER / FILE)
    try:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        db.close()
    return session


def assert_kept(heard: list[Heard], log: list[Event]) -> None:
    """Every event that a listener was told of is in the log as it was told, and was told once."""
    kept = [record for record in heard if record["type"] != "TextDelta"]
    versions = [record["version"] for record in kept]
    assert versions == sorted(set(versions))
    for record in kept:
        event = log[record["version"] - 1]
        assert (event.type, event.at) == (record["type"], record["at"])
        assert json.loads(json.dumps(to_data_record(event.data))) == record["data"]


def assert_ended(session: headway.Session, log: list[Event]) -> None:
    run = session.run
    assert run is not None
    assert not run.is_active
    types = [event.type for event in log]
    assert types.count("RunStarted") == types.count("RunFinished")


def left_in_progress(log: list[Event]) -> set[str]:
    """Items that were in progress when a run ended, and that nobody touched since."""
    left: set[str] = set()
    for event in log:
        if isinstance(event.data, ListDelta):
            changed = event.data.changed
            touched = {id for id, fields in changed.items() if not fields.keys().isdisjoint(("status", "interrupted"))}
            left -= {todo.id for todo in event.data.removed} | touched
            if event.data.cause == "interrupt":
                left |= set(changed)
    return left


def assert_accepted(messages: list[ModelMessage]) -> None:
    """No provider has a reason to refuse it: every call is answered at once, and by its own result."""
    assert isinstance(messages[0], ModelRequest)
    asked: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if isinstance(message, ModelResponse):
            assert asked == [], "an answer follows calls that have no results"
            asked = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
            assert len(set(asked)) == len(asked)
            assert seen.isdisjoint(asked), "two calls have the same id"
            seen.update(asked)
            assert any(not isinstance(part, TextPart) or part.content.strip() for part in message.parts)
        else:
            results = [part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)]
            assert sorted(results) == sorted(asked)
            asked = []
    assert asked == []
    assert repair_messages(messages) == messages


def assert_noted(project: Path, log: list[Event]) -> None:
    """What a tool is told to have written is there, once; and nothing that was never asked for."""
    notes = project / NOTES
    lines = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
    assert len(set(lines)) == len(lines), "a call was run twice"
    told = [event.data.text for event in log if isinstance(event.data, ToolFinished) and event.data.tool == "note"]
    assert {text.removeprefix("Noted ").removesuffix(".") for text in told} <= set(lines)
    asked = json.dumps([event.data.message for event in log if isinstance(event.data, MessageAdded)])
    assert all(line in asked for line in lines)


def unfinished(messages: list[ModelMessage]) -> list[ToolReturnPart[Any]]:
    parts = (part for message in messages for part in message.parts)
    return [part for part in parts if isinstance(part, ToolReturnPart) and part.content == UNFINISHED]


async def gone_on(project: Path, session: headway.Session, *, task: str | None = None) -> tuple[RunResult, Request]:
    """The run that goes on, and the first request that its model got."""
    model = ScriptedModel([Turn(text="Where was I?", calls=[Call("look", {"at": 0})]), "I went on."])
    result = await run_loop(
        session,
        task,
        model=model,
        tools=tools_of(project, ""),
        approvals=Approvals(mode="yolo"),
        config=LoopConfig(instructions="Work.", max_nudges=0),
    )
    return result, model.requests[0]
