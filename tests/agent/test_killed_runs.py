"""Runs killed in every step of a round: what was told of is kept, nothing stays stuck, and the session goes on."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from pydantic_ai.messages import ToolReturnPart
from tests.support.processes import until

import headway
from headway.agent.conversation import Conversation
from headway.agent.repair import UNFINISHED
from headway.core.clock import now
from headway.core.events import Event, PlanModeChanged
from headway.core.model import MAIN_AGENT, PERSON
from headway.core.run_events import RunFinished
from headway.core.runs import CUT_OFF
from headway.project import DEFAULT_SESSION, FILE, FOLDER
from headway.store.sqlite import SqliteStore

from .killed_runs import assert_accepted, assert_killed, checked, gone_on, kill_at, start_victim, unfinished
from .victim import NOTES, PID


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
async def test_a_run_that_is_killed_there_is_taken_up_again(project: Path, place: Place) -> None:
    kill_at(project, place.name)
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


async def test_a_session_that_is_killed_again_and_again_goes_on_every_time(project: Path) -> None:
    kill_at(project, "second tool")
    for number, place in enumerate(["tool", "TextDelta#4", "summary", "side by side"], 2):
        before = checked(project).version
        kill_at(project, place, task=None, number=number)
        assert checked(project).version > before
    result, request = await gone_on(project, checked(project), task="Bring it to an end.")
    assert result.ok
    assert_accepted(request.messages)
    assert any("Bring it to an end." in str(part) for part in request.messages[-1].parts)
    assert [event.type for event in checked(project).events()].count("RunStarted") == 6


async def test_what_the_next_model_reads_is_what_was_said_before_the_kill(project: Path) -> None:
    kill_at(project, "second tool")
    _, request = await gone_on(project, checked(project))
    parts = [part for message in request.messages for part in message.parts]
    results = [part for part in parts if isinstance(part, ToolReturnPart) and part.tool_name == "note"]
    assert [str(part.content) for part in results] == ["Noted 1-3-first.", UNFINISHED]
    assert "stop" not in UNFINISHED
    assert "cancel" not in UNFINISHED
    assert (project / NOTES).read_text() == "1-3-first\n"
    assert sum("Look around." in str(part) for part in parts) == 1
    assert sum("First a list." in str(part) for part in parts) == 1


def test_a_command_that_was_running_ends_with_its_killed_run(project: Path) -> None:
    victim = start_victim(project, "bash")
    until(lambda: (project / PID).exists() and (project / PID).read_text().strip() != "")
    command = int((project / PID).read_text())
    victim.kill()
    until(lambda: not is_there(command))
    session = checked(project)
    assert len(unfinished(Conversation.load(session).messages)) == 1


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# Programs that had the session open all the time.


async def test_a_program_that_watched_a_run_takes_it_up_right_after_its_kill(project: Path) -> None:
    session = headway.open(project)
    victim = start_victim(project, "bash")
    until(lambda: session.run is not None and session.run.round >= 4)
    assert session.run is not None
    assert session.run.is_active
    victim.kill()
    result, _ = await gone_on(project, session)
    assert result.ok


async def test_a_program_that_had_a_run_of_its_own_takes_up_one_that_was_killed_since(project: Path) -> None:
    session = headway.open(project)
    first, _ = await gone_on(project, session, task="Begin.")
    assert first.ok
    kill_at(project, "tool", number=2)
    second, _ = await gone_on(project, session)
    assert second.ok


def test_a_program_that_had_the_session_open_finds_nothing_in_progress(project: Path) -> None:
    session = headway.open(project)
    assert session.todos == []
    kill_at(project, "tool")
    assert {todo.status for todo in session.todos} == {headway.Status.PENDING}


class Crowded(SqliteStore):
    """A file in which somebody else is faster by a moment, once."""

    faster = True

    @contextmanager
    def exclusive(self, session: str) -> Generator[None]:
        self.faster = False  # whoever has the turn is not overtaken
        with super().exclusive(session):
            yield

    def append(
        self, session: str, expected: int, events: list[Event], snapshot: str | None, *, identity: object = None
    ) -> object:
        if self.faster:
            self.faster = False
            change = Event(expected + 1, now(), MAIN_AGENT, PERSON, PlanModeChanged(on=False))
            with closing(SqliteStore(self.path)) as store:
                store.append(session, expected, [change], None)
        return super().append(session, expected, events, snapshot, identity=identity)


def test_nothing_stays_in_progress_if_somebody_changes_the_list_in_the_same_moment(project: Path) -> None:
    kill_at(project, "tool")
    session = Crowded(str(project / FOLDER / FILE)).session(DEFAULT_SESSION)
    assert {todo.status for todo in session.todos} == {headway.Status.PENDING}
    assert session.run is not None
    assert not session.run.is_active


async def test_a_living_run_is_left_alone_and_a_second_one_refused(project: Path) -> None:
    victim = start_victim(project, "bash")
    try:
        until(lambda: (project / PID).exists())
        session = headway.open(project)
        assert session.todo_list.items["a"].status is headway.Status.IN_PROGRESS
        with pytest.raises(headway.RunRefused, match=str(victim.id)):
            await gone_on(project, session)
        assert headway.open(project).todo_list.items["a"].status is headway.Status.IN_PROGRESS
    finally:
        victim.kill()
    result, _ = await gone_on(project, headway.open(project))
    assert result.ok


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no table of processes to look at")
def test_a_killed_run_whose_parent_does_not_look_after_it_is_over(project: Path) -> None:
    """A process that is dead but still in the table of processes, as under a container's first process."""
    victim = start_victim(project, "bash")
    parent = int(in_table(victim.id)[1])
    try:
        until(lambda: (project / PID).exists())
        os.kill(parent, signal.SIGSTOP)
        until(lambda: in_table(parent)[0] == "T")
        victim.signal(signal.SIGKILL)
        until(lambda: in_table(victim.id)[0] == "Z")
        checked(project)
        assert in_table(victim.id)[0] == "Z"
    finally:
        os.kill(parent, signal.SIGCONT)
    assert_killed(victim)


def in_table(process: int) -> list[str]:
    """What the table of processes has after the name: the state, the parent and more."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
