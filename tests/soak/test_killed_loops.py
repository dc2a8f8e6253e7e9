"""Runs of one session that are killed at any moment while a person edits its list: all that was told of is kept."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.agent.killed_runs import assert_accepted, assert_killed, checked, gone_on, heard_in, start_victim

import headway
from headway.core.events import ListDelta

pytestmark = pytest.mark.disk
"""Where writing takes a while, more of the kills come in the middle of it."""
STEPS = ("entering", "side by side", "asking", "tool", "second tool", "leaving")
"""Places that every run comes to."""
LONGEST_LIFE = 1.5


async def kill_again_and_again(project: Path, times: int) -> None:
    chance = random.Random(times)
    project.mkdir()
    editor = start_victim(project, "edit")
    began = 0
    try:
        for number in range(times):
            place = chance.choice(["wander", *STEPS] if number % 2 else ["wander"])
            task = f"Task {number}" if began == 0 or chance.random() < 0.3 else None
            run = start_victim(project, place, task=task, number=number)
            if place == "wander":
                time.sleep(chance.uniform(0, LONGEST_LIFE))
                run.signal(signal.SIGKILL)
            assert_killed(run)
            began = Counter(event.type for event in checked_if_begun(project).events())["RunStarted"]
    finally:
        editor.kill()
    session = checked(project)
    result, request = await gone_on(project, session, task="Bring it to an end.")
    assert result.ok
    assert_accepted(request.messages)
    assert Counter(event.type for event in checked(project).events())["RunStarted"] == began + 1
    written = [json.loads(line) for line in heard_in(project, by="edit").read_text().splitlines()]
    deltas = (event.data for event in session.events() if isinstance(event.data, ListDelta))
    added = Counter(todo.content for delta in deltas for todo in delta.added)
    assert [text for text in written if added[text] != 1] == []
    print(f"\n{times} kills, {began} runs began, {session.version} events, {len(written)} edits meanwhile")


def checked_if_begun(project: Path) -> headway.Session:
    """One that was killed before it began leaves nothing to look at."""
    session = headway.open(project)
    return session if session.run is None else checked(project)


@pytest.mark.more
async def test_a_session_outlives_runs_that_are_killed_at_any_moment(tmp_path: Path) -> None:
    await kill_again_and_again(tmp_path / "project", 6)


@pytest.mark.slow
async def test_a_session_outlives_fifty_runs_that_are_killed_at_any_moment(tmp_path: Path) -> None:
    await kill_again_and_again(tmp_path / "project", 50)
