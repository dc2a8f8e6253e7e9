"""What a program does with a session, beside the list itself: people with names, workers, the past, the project."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import get_args

import pytest

import headway
from headway import Session
from headway.core.codec import load_event_classes
from headway.core.event_names import EventName
from headway.core.fields import FIELDS
from headway.core.todo_fields import TodoFields
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


def test_a_todo_is_found_by_its_id_or_the_others_are_named(session: Session) -> None:
    assert session.get("t2").content == "B"
    with pytest.raises(headway.TodoNotFound, match="the ids are: t1, t2, t3"):
        session.get("t9")


def test_the_progress_of_a_list_counts_what_is_finished(session: Session) -> None:
    session.update("t1", status="completed")
    session.update("t2", status="cancelled")
    progress = session.progress
    assert (progress.completed, progress.finished, progress.open, progress.total) == (1, 2, 1, 3)
    assert progress.fraction == pytest.approx(2 / 3)
    session.clear()
    assert session.progress.fraction == 1.0


def test_the_agents_of_a_session_are_those_with_a_list(session: Session) -> None:
    session.agent("a-sub").write([{"content": "Its own"}])
    assert session.agents == ["main", "a-sub"]


def test_a_session_can_be_read_as_it_was_and_not_changed_there(any_session: Session) -> None:
    any_session.write([{"content": "A"}])
    any_session.agent("sub").write([{"content": "Its own"}])
    before = any_session.version
    any_session.update("t1", status="completed")
    past = any_session.at(before)
    assert (past.version, past.get("t1").status, past.recap()) == (
        before,
        "pending",
        "[0/1] In progress: None. Pending: A.",
    )
    assert [event.version for event in past.events()] == [*range(1, before + 1)]
    assert past.agent("sub").get("t1").content == "Its own"
    assert past.report().statistics["completed"] == 0
    for change in (past.clear, lambda: past.update("t1", notes="n"), lambda: past.claim("worker")):
        with pytest.raises(headway.HeadwayError, match=f"as it was at version {before}, which cannot be changed"):
            change()
    past.close()
    assert any_session.get("t1").status == "completed"
    assert any_session.at(0).todos == []
    with pytest.raises(headway.HeadwayError, match=f"from 0 to {any_session.version}, not 99"):
        any_session.at(99)


def test_a_report_is_data_that_can_be_put_into_words(session: Session) -> None:
    session.update("t1", status="completed")
    report = session.report()
    assert report.statistics["completed"] == 1 and report.to_dict()["items"][0]["status"] == "completed"
    assert report.markdown().startswith("# ") and report.html().startswith("<!doctype html>")


def test_a_change_for_another_version_of_the_list_is_refused(session: Session) -> None:
    seen = session.version
    session.agent("sub").write([{"content": "Another list"}])
    session.update("t1", notes="first", expected_version=seen)
    for change in (
        lambda: session.update("t1", notes="second", expected_version=seen),
        lambda: session.add("D", expected_version=seen),
        lambda: session.write([{"content": "D"}], expected_version=seen),
        lambda: session.advance(start="t1", expected_version=seen),
        lambda: session.move("t1", 2, expected_version=seen),
        lambda: session.drop("t1", expected_version=seen),
        lambda: session.clear(expected_version=seen),
    ):
        with pytest.raises(headway.ListChanged, match=f"since version {seen}.*read it again"):
            change()
    assert [todo.notes for todo in session.todos] == ["first", None, None]
    session.clear(expected_version=session.version)


def test_work_that_ends_is_completed_and_work_that_fails_is_given_back(any_session: Session) -> None:
    any_session.write([{"content": "A"}, {"content": "B"}])
    with pytest.raises(ZeroDivisionError), any_session.work("worker-1") as todo:
        assert todo is not None and any_session.get("t1").owner == "worker-1"
        raise ZeroDivisionError
    assert any_session.get("t1").status == "pending"
    with any_session.work("worker-1") as todo:
        assert todo is not None and todo.id == "t1"
    with any_session.work("worker-1") as todo:
        assert todo is not None
        any_session.update(todo.id, status="blocked", notes="waits", actor="worker-1")
    assert [todo.status for todo in any_session.todos] == ["completed", "blocked"]
    with any_session.work("worker-1") as todo:
        assert todo is None


def test_a_claim_is_kept_as_long_as_the_work_takes(any_session: Session) -> None:
    any_session.write([{"content": "A"}])
    renewed = threading.Event()

    def note(event: headway.Event) -> None:
        renewed.set()

    any_session.on("LeaseRenewed", note)
    with any_session.work("worker-1", lease=0.3):
        assert renewed.wait(30)
    assert any_session.get("t1").status == "completed"


def test_who_waits_for_work_gets_what_becomes_ready_until_nothing_is_open(any_session: Session) -> None:
    any_session.write([{"content": "A"}, {"content": "B", "depends_on": ["t1"]}])
    done: list[str] = []

    def work_through() -> None:
        while True:
            with any_session.work("worker-2", wait=True, interval=0.01) as todo:
                if todo is None:
                    return
                done.append(todo.id)

    with any_session.work("worker-1"):
        other = threading.Thread(target=work_through)
        other.start()
    other.join(30)
    assert done == ["t2"] and any_session.progress.open == 0


def test_the_sessions_of_a_project_are_listed(tmp_path: Path) -> None:
    assert headway.sessions(tmp_path) == []
    for name in ("first", "second"):
        with headway.open(tmp_path, name) as session:
            session.add("A")
    assert {info.name for info in headway.sessions(tmp_path)} == {"first", "second"}


def test_the_typed_names_of_events_are_those_that_are_heard() -> None:
    assert {*get_args(EventName)} == {*load_event_classes()}


def test_the_typed_fields_of_a_todo_are_those_that_are_accepted() -> None:
    accepted = {name for field in FIELDS for name in (field.name, *field.aliases)}
    typed = TodoFields.__optional_keys__
    assert typed <= accepted
    assert {field.name for field in FIELDS} <= typed
