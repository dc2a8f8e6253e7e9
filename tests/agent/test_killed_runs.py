"""Runs killed in every step of a round: what was told of is kept, nothing stays stuck, and the session goes on."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart

import headway
from headway.agent import LoopConfig, RunResult, repair_messages, run_loop
from headway.agent.conversation import Conversation
from headway.agent.repair import UNFINISHED
from headway.core.clock import now
from headway.core.codec import data_record
from headway.core.events import PLAN_MODE_CHANGED, Event, ListDelta, PlanModeChange
from headway.core.evolve import fold
from headway.core.log import Log
from headway.core.model import MAIN_AGENT, PERSON, State
from headway.core.run_events import MessageAdded, RunFinished, ToolFinished
from headway.core.runs import CUT_OFF
from headway.project import DEFAULT_SESSION, FILE, FOLDER
from headway.store.sqlite import SqliteStore
from headway.testing import Call, Request, ScriptedModel, Turn
from headway.tools import Approvals

from .victim import NOTES, PID, Heard, Order, tools_of

ROOT = Path(__file__).parents[2]
LONGEST = 60.0
"""Seconds after which a victim that nobody killed is."""
KILLED = -signal.SIGKILL


class Nursery:
    """A process that has loaded everything, and forks a victim for every order."""

    def __init__(self, longest: float = LONGEST) -> None:
        program = [sys.executable, "-m", "tests.agent.victim"]
        self._process = subprocess.Popen(program, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._longest = longest
        self._overdue: threading.Timer | None = None
        self.process_id = self._process.pid

    def start(self, project: Path, place: str, *, task: str | None = "Look around.", number: int = 1) -> int:
        """The process id of a run that began."""
        assert self._process.stdin is not None
        heard = heard_in(project, by=place if place == "edit" else "run")
        order = Order(project=str(project), heard=str(heard), place=place, task=task, number=number)
        self._process.stdin.write(f"{json.dumps(order)}\n")
        self._process.stdin.flush()
        pid = self._said()
        self._overdue = threading.Timer(self._longest, os.kill, (pid, signal.SIGKILL))
        self._overdue.start()
        return pid

    def ended(self) -> int:
        """Waits for its end: the exit code."""
        code = self._said()
        assert self._overdue is not None
        self._overdue.cancel()
        return code

    def _said(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def kill(self, project: Path, place: str, *, task: str | None = "Look around.", number: int = 1) -> None:
        """A run that killed itself at that place."""
        self.start(project, place, task=task, number=number)
        assert self.ended() == KILLED

    def close(self) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()
            assert self._process.wait(LONGEST) == 0


pytestmark = pytest.mark.xdist_group("killed runs")
"""They share a process that has everything loaded."""


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


def heard_in(project: Path, by: str = "run") -> Path:
    return project.with_name(f"{project.name}.{by}.heard")


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
        assert json.loads(json.dumps(data_record(event.data))) == record["data"]


def assert_ended(session: headway.Session, log: list[Event]) -> None:
    run = session.run
    assert run is not None
    assert not run.goes_on
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


class Place(NamedTuple):
    name: str
    cut: range
    """How many calls may be without a result."""
    working: bool = True
    """Whether an item is in progress then."""


PLACES = [
    Place("RunStarted#1", range(3), working=False),
    Place("entering", range(1), working=False),
    Place("RoundStarted#3", range(3)),
    Place("TodoListContextInjected#2", range(3)),
    Place("TextDelta#5", range(1)),
    Place("ToolStarted#3", range(4)),
    Place("side by side", range(1, 4)),
    Place("asking", range(2, 3)),
    Place("tool", range(2, 3)),
    Place("second tool", range(1, 2)),
    Place("ToolFinished#6", range(2)),
    Place("judging", range(1)),
    Place("summary", range(1)),
    Place("ConversationCompacted#1", range(2)),
    Place("leaving", range(1)),
    Place("RunFinished#1", range(1)),
]


@pytest.mark.parametrize("place", PLACES, ids=[place.name for place in PLACES])
async def test_a_run_that_is_killed_there_is_taken_up_again(nursery: Nursery, tmp_path: Path, place: Place) -> None:
    project = tmp_path / "project"
    project.mkdir()
    nursery.kill(project, place.name)
    session = checked(project)
    assert session.run is not None
    finished = place.name in ("leaving", "RunFinished#1")
    assert session.run.reason == ("finished" if finished else "error")
    if place.working:
        assert session.todo_list.items["a"].status is headway.Status.PENDING
        assert session.todo_list.items["a"].interrupted
    before = session.version

    result, request = await gone_on(project, session)

    assert (result.ok, result.rounds, result.text) == (True, 2, "I went on.")
    assert_accepted(request.messages)
    cut = unfinished(request.messages)
    assert len(cut) in place.cut
    assert all(part.outcome == "interrupted" for part in cut)
    assert session.version > before
    ends = [event.data.error for event in checked(project).events() if isinstance(event.data, RunFinished)]
    assert ends == [None if finished else CUT_OFF, None]


async def test_a_session_that_is_killed_again_and_again_goes_on_every_time(nursery: Nursery, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    nursery.kill(project, "second tool")
    for number, place in enumerate(["tool", "TextDelta#4", "summary", "side by side"], 2):
        before = checked(project).version
        nursery.kill(project, place, task=None, number=number)
        assert checked(project).version > before
    result, request = await gone_on(project, checked(project), task="Bring it to an end.")
    assert result.ok
    assert_accepted(request.messages)
    assert any("Bring it to an end." in str(part) for part in request.messages[-1].parts)
    assert [event.type for event in checked(project).events()].count("RunStarted") == 6


async def test_what_the_next_model_reads_is_what_was_said_before_the_kill(nursery: Nursery, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    nursery.kill(project, "second tool")
    _, request = await gone_on(project, checked(project))
    parts = [part for message in request.messages for part in message.parts]
    results = [part for part in parts if isinstance(part, ToolReturnPart) and part.tool_name == "note"]
    assert [str(part.content) for part in results] == ["Noted 1-3-first.", UNFINISHED]
    assert "stop" not in UNFINISHED
    assert "cancel" not in UNFINISHED
    assert (project / NOTES).read_text() == "1-3-first\n"
    assert sum("Look around." in str(part) for part in parts) == 1
    assert sum("First a list." in str(part) for part in parts) == 1


def test_a_command_that_was_running_ends_with_its_killed_run(nursery: Nursery, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    pid = nursery.start(project, "bash")
    wait_until(lambda: (project / PID).exists() and (project / PID).read_text().strip() != "")
    command = int((project / PID).read_text())
    os.kill(pid, signal.SIGKILL)
    assert nursery.ended() == KILLED
    wait_until(lambda: not is_there(command))
    session = checked(project)
    assert len(unfinished(Conversation.load(session).messages)) == 1


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.01)


# Programs that had the session open all the time.


async def test_a_program_that_watched_a_run_takes_it_up_right_after_its_kill(nursery: Nursery, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    session = headway.open(project)
    pid = nursery.start(project, "bash")
    wait_until(lambda: session.run is not None and session.run.round >= 4)
    assert session.run is not None
    assert session.run.goes_on
    os.kill(pid, signal.SIGKILL)
    assert nursery.ended() == KILLED
    result, _ = await gone_on(project, session)
    assert result.ok


async def test_a_program_that_had_a_run_of_its_own_takes_up_one_that_was_killed_since(
    nursery: Nursery, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    session = headway.open(project)
    first, _ = await gone_on(project, session, task="Begin.")
    assert first.ok
    nursery.kill(project, "tool", number=2)
    second, _ = await gone_on(project, session)
    assert second.ok


def test_a_program_that_had_the_session_open_finds_nothing_in_progress(nursery: Nursery, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    session = headway.open(project)
    assert session.todos == []
    nursery.kill(project, "tool")
    assert {todo.status for todo in session.todos} == {headway.Status.PENDING}


class Crowded(SqliteStore):
    """A file in which somebody else is faster by a moment, once."""

    faster = True

    @contextmanager
    def turn(self, session: str) -> Generator[None]:
        self.faster = False  # whoever has the turn is not overtaken
        with super().turn(session):
            yield

    def append(
        self, session: str, expected: int, events: list[Event], snapshot: str | None, *, identity: object = None
    ) -> object:
        if self.faster:
            self.faster = False
            change = Event(expected + 1, now(), MAIN_AGENT, PERSON, PLAN_MODE_CHANGED, PlanModeChange(False))
            with closing(SqliteStore(self.path)) as store:
                store.append(session, expected, [change], None)
        return super().append(session, expected, events, snapshot, identity=identity)


def test_nothing_stays_in_progress_if_somebody_changes_the_list_in_the_same_moment(
    nursery: Nursery, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    nursery.kill(project, "tool")
    session = headway.Session(Log(Crowded(str(project / FOLDER / FILE)), DEFAULT_SESSION))
    assert {todo.status for todo in session.todos} == {headway.Status.PENDING}
    assert session.run is not None
    assert not session.run.goes_on


async def test_a_living_run_is_left_alone_and_a_second_one_refused(nursery: Nursery, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    pid = nursery.start(project, "bash")
    try:
        wait_until(lambda: (project / PID).exists())
        session = headway.open(project)
        assert session.todo_list.items["a"].status is headway.Status.IN_PROGRESS
        with pytest.raises(headway.RunRefused, match=str(pid)):
            await gone_on(project, session)
        assert headway.open(project).todo_list.items["a"].status is headway.Status.IN_PROGRESS
    finally:
        os.kill(pid, signal.SIGKILL)
        assert nursery.ended() == KILLED
    result, _ = await gone_on(project, headway.open(project))
    assert result.ok


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no table of processes to look at")
def test_a_killed_run_whose_parent_does_not_look_after_it_is_over(tmp_path: Path) -> None:
    """A process that is dead but still in the table of processes, as under a container's first process."""
    project = tmp_path / "project"
    project.mkdir()
    parent = Nursery()
    pid = parent.start(project, "bash")
    try:
        wait_until(lambda: (project / PID).exists())
        os.kill(parent.process_id, signal.SIGSTOP)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
        checked(project)
    finally:
        os.kill(parent.process_id, signal.SIGCONT)
        assert parent.ended() == KILLED
        parent.close()
