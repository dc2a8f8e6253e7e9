"""What a program does with a session, beside the list itself: people with names, workers, the past, the project."""

from __future__ import annotations

import pytest

import headway
from headway import Session
from headway.planner.edits import format_edits


@pytest.fixture
def session() -> Session:
    session = headway.open(memory=True)
    session.write([{"content": "A", "verify": "make test"}, {"content": "B"}, {"content": "C"}], actor="model")
    return session


@pytest.mark.parametrize("person", ["user", "user:alice"])
def test_a_person_has_a_name_or_none_and_the_model_is_told_of_their_edits(session: Session, person: str) -> None:
    session.claim("worker-1")
    before = session.version
    session.update("t1", verify="make check", owner=None, actor=person)
    session.add("D", actor=person)
    assert session.todos[0].verify == "make check"
    assert 'added t4 "D"' in format_edits(session.events(after=before), session.agent_id)


def test_a_name_without_user_before_it_is_a_workers(session: Session) -> None:
    session.claim("worker-1")
    with pytest.raises(headway.ClaimRefused):
        session.update("t1", status="completed", actor="alice")
    before = session.version
    session.add("D", actor="alice")
    assert format_edits(session.events(after=before), session.agent_id) == ""


def test_who_listens_to_a_sub_agents_list_is_told_which_event_to_use(session: Session) -> None:
    sub = session.agent("sub")
    with pytest.raises(headway.HeadwayError, match=r"session\.on\('TodoListUpdated'"):
        sub.on("todos:update", print)
    heard: list[headway.Event] = []
    sub.on("TodoListUpdated", heard.append)
    sub.write([{"content": "Its own"}])
    assert [event.agent_id for event in heard] == ["sub"]


def test_the_recap_counts_what_several_workers_do(session: Session) -> None:
    session.claim("worker-1")
    session.claim("worker-2")
    assert session.recap() == "[0/3] In progress: A (and 1 more). Pending: C."
