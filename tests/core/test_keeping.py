"""Whose list it is: a loop keeps what was created or made from a plan, until someone writes a list of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headway import Session
from headway.core.codec import read_event, read_state, to_event_json, write_state
from headway.core.evolve import fold
from headway.core.model import State
from headway.store.sqlite import SqliteStore

from .samples import PLAN, items

Step = Callable[[Session], object]


def create(session: Session, *contents: str) -> None:
    session.write(items(*contents), replace=True, cause="create")


def created(session: Session) -> None:
    create(session, "A", "B")


def from_plan(session: Session) -> None:
    session.set_plan(PLAN)
    session.plan_to_todos()


def kept(session: Session) -> bool:
    return session.todo_list.kept_by_loop


REPLACEMENTS: list[Step] = [
    lambda s: s.write(items("B")),
    lambda s: s.write(items("B"), replace=True, cause="import"),
    lambda s: s.clear(),
]
OTHER_CHANGES: list[Step] = [
    lambda s: s.update("t1", status="completed"),
    lambda s: s.write([{"id": "t1", "status": "completed"}]),
    lambda s: s.advance(done=["t1"], add=["C"]),
    lambda s: s.add("C"),
    lambda s: s.drop("t1"),
    lambda s: s.move("t1", 2),
    lambda s: s.claim("ada"),
]


def test_a_new_list_is_not_the_loops(session: Session) -> None:
    assert not kept(session)
    session.add("A")
    assert not kept(session)


@pytest.mark.parametrize("make", [created, from_plan])
def test_a_list_that_was_created_or_made_from_a_plan_is_the_loops(session: Session, make: Step) -> None:
    session.write(items("mine"))
    make(session)
    assert kept(session)


@pytest.mark.parametrize("replace", REPLACEMENTS)
def test_a_written_an_imported_and_a_cleared_list_is_not_and_undo_gives_it_back(
    session: Session, replace: Step
) -> None:
    create(session, "A")
    replace(session)
    assert not kept(session)
    session.undo()
    assert kept(session)
    session.redo()
    assert not kept(session)
    session.undo(2)
    assert not kept(session)
    assert session.todos == []


@pytest.mark.parametrize("change", OTHER_CHANGES)
@pytest.mark.parametrize("of_loop", [True, False])
def test_a_change_that_replaces_nothing_leaves_it_whose_it_was(session: Session, change: Step, of_loop: bool) -> None:
    session.write(items("A", "B"), replace=True, cause="create" if of_loop else "write")
    change(session)
    assert kept(session) is of_loop


def test_the_same_list_sent_again_changes_nothing_but_created_again_it_is_the_loops(session: Session) -> None:
    create(session, "A")
    assert not session.write(items("A"), replace=True).changed
    assert kept(session)
    session.write(items("B"), replace=True)
    create(session, "B")
    assert kept(session)
    version = session.version
    create(session, "B")
    assert session.version == version


def test_a_sub_agents_list_has_its_own_keeper(session: Session) -> None:
    create(session.agent("sub-1"), "A")
    session.write(items("B"))
    assert kept(session.agent("sub-1"))
    assert not kept(session)


def test_the_log_and_its_snapshots_know_it(session: Session) -> None:
    create(session, "A")
    (event,) = session.events()
    again = read_event(event.version, event.at, event.agent, event.actor, event.type, to_event_json(event))
    assert fold(State(), [again]) == session.state
    assert read_state(write_state(session.state)) == session.state


def test_a_snapshot_from_before_lists_had_a_keeper_still_loads(session: Session) -> None:
    session.write(items("A"))
    record = json.loads(write_state(session.state))
    del record["lists"]["main"]["kept_by_loop"]
    assert read_state(json.dumps(record)) == session.state


def test_a_session_opened_again_knows_whose_list_it_is(tmp_path: Path) -> None:
    path = str(tmp_path / "headway.db")
    first = SqliteStore(path).session("work")
    create(first, *(f"item {n}" for n in range(1000)))  # enough for a snapshot
    first.close()
    again = SqliteStore(path).session("work")
    assert again.store.snapshot("work") is not None
    assert kept(again)
    again.undo()
    assert not kept(again)
    again.close()


def test_steps_are_loaded_only_when_they_are_used(tmp_path: Path) -> None:
    script = (
        "import sys, headway; session = headway.open(memory=True); session.write([{'content': 'A'}]);"
        "print('headway.core.advance' in sys.modules);"
        "session.advance(done=['t1']); print('headway.core.advance' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["False", "True"], "")
