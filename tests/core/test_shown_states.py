"""An item that a model cannot call blocked or cancelled: what it was last shown decides what its `pending` means."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headway import Session
from headway.contracts.shared_rules import shell_shape
from headway.core.codec import read_state, write_state
from headway.core.model import EXECUTOR, MODEL
from headway.core.run_events import TodoListContextInjected

from .running import Running, create, statuses

READ = "Read the parser"
WORKER = "worker-1"


def rewrite(session: Session, *texts: str) -> list[str]:
    """Return the statuses after the model has written these items, all pending, in words that know no blocked ones."""
    todos = [{"content": text, "activeForm": text, "status": "pending"} for text in texts]
    session.write(todos, replace=True, actor=MODEL, shape=shell_shape())
    return statuses(session)


def show(running: Running) -> None:
    """The model is shown the list with a request."""
    running.record(
        TodoListContextInjected(total_items=len(running.session.todos), active_item=None, round=running.run.round)
    )


@pytest.fixture
def running(session: Session) -> Running:
    """A run whose model was shown two pending items."""
    running = Running(session).begin()
    create(session, READ, "B")
    running.next_round()
    show(running)
    return running


Steps = list[Callable[[Running], object]]


def sets(status: str, actor: str | None = WORKER) -> Callable[[Running], object]:
    return lambda running: running.session.update("t1", status=status, actor=actor)


def fail(running: Running) -> None:
    running.call("read_file", ok=False)


def drop_and_add(running: Running) -> None:
    """Another worker's item of the same text, which the model has never been shown."""
    running.session.drop("t1", actor=WORKER)
    running.session.add(READ, id="t1", status="pending", actor=WORKER)


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ([sets("blocked")], None),
        ([sets("cancelled", EXECUTOR)], None),
        ([fail, fail], None),  # the tracker begins the item and blocks it
        ([sets("in_progress"), sets("blocked")], None),
        ([sets("in_progress", MODEL), sets("blocked")], "blocked"),  # a todo tool told it of another state
        ([sets("in_progress", MODEL), sets("pending", MODEL), sets("blocked")], None),
        ([sets("in_progress"), show, sets("blocked")], "blocked"),
        ([sets("blocked"), show], "blocked"),
        ([sets("blocked"), Running.next_round], None),  # the list has not been shown again
        ([sets("blocked", None)], "blocked"),
        ([sets("blocked"), sets("cancelled", None)], "cancelled"),
        ([sets("blocked", MODEL)], "blocked"),
        ([drop_and_add, sets("blocked")], "blocked"),
        ([sets("blocked"), Running.end], "blocked"),
    ],
)
def test_pending_counts_only_if_the_model_was_last_shown_that_and_no_person_set_the_state(
    running: Running, steps: Steps, kept: str | None
) -> None:
    for step in steps:
        step(running)
    session = running.session
    assert read_state(write_state(session.state)) == session.state
    assert rewrite(session, READ, "B") == [kept or "pending", "pending"]
    assert rewrite(session, READ, "B") == [kept or "pending", "pending"]


def test_an_item_that_the_model_was_never_shown_keeps_its_state(running: Running) -> None:
    running.session.add("C", actor=WORKER)
    running.session.update("t3", status="blocked", actor=WORKER)
    assert rewrite(running.session, READ, "B", "C") == ["pending", "pending", "blocked"]


def test_a_cancelled_item_that_is_left_out_stays_whatever_the_model_was_shown(running: Running) -> None:
    running.session.update("t1", status="cancelled", actor=WORKER)
    assert rewrite(running.session, "B") == ["cancelled", "pending"]


def test_what_another_agent_is_doing_says_nothing_of_this_list(running: Running) -> None:
    other = running.session.agent("sub-1")
    create(other, READ)
    other.update("t1", status="blocked", actor=WORKER)
    assert rewrite(other, READ) == ["blocked"]
