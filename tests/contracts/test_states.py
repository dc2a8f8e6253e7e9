"""States that a contract has no word for: what a person set stays when a model sends the whole list again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headway import Session
from headway.contracts import agent
from headway.tools.todo_write import TodoWriteTool

from .envelopes import answer, params, todo
from .samples import call, contents, ids, item, shell


def by_shell(session: Session, *items: dict[str, object]) -> str:
    return shell(session, call(*items)).stdout


def by_agent(session: Session, *items: dict[str, object]) -> str:
    return agent.run(session, call(*items)).text


WRITERS = [by_shell, by_agent]
Write = Callable[..., str]


@pytest.fixture
def written(session: Session) -> Session:
    """Four items, of which a person has blocked one and cancelled another."""
    by_agent(session, *(item(name) for name in "ABCD"))
    session.update("t2", status="blocked", notes="no access")
    session.update("t3", status="cancelled")
    return session


def statuses(session: Session) -> list[str]:
    return [str(todo.status) for todo in session.todos]


@pytest.mark.parametrize("write", WRITERS)
def test_what_comes_back_as_pending_stays_as_a_person_set_it_and_is_named(written: Session, write: Write):
    answered = write(written, item("A", "completed"), item("B"), item("C"), item("D", "in_progress"))
    assert answered == (
        "Todo list updated: 1 completed, 1 in_progress, 2 pending\nNote: t2 stays blocked\nNote: t3 stays cancelled"
    )
    assert statuses(written) == ["completed", "blocked", "cancelled", "in_progress"]
    assert written.todos[1].notes == "no access"


@pytest.mark.parametrize("write", WRITERS)
def test_a_cancelled_item_that_is_left_out_stays_where_it_was_and_a_blocked_one_is_dropped(
    written: Session, write: Write
):
    answered = write(written, item("D"), item("A"), item("E"))
    assert answered == "Todo list updated: 3 pending\nNote: 1 unfinished todo was dropped: B"
    assert (contents(written), statuses(written)) == (
        ["D", "A", "C", "E"],
        ["pending", "pending", "cancelled", "pending"],
    )
    assert ids(written)[:3] == ["t4", "t1", "t3"]


@pytest.mark.parametrize("write", WRITERS)
def test_a_state_that_the_contract_can_say_is_taken(written: Session, write: Write):
    write(written, item("A"), item("B", "in_progress"), item("C", "completed"), item("D"))
    assert statuses(written) == ["pending", "in_progress", "completed", "pending"]


@pytest.mark.parametrize("write", WRITERS)
def test_the_same_list_again_is_answered_alike_and_changes_nothing(written: Session, write: Write):
    items = [item(name) for name in "ABCD"]
    first, version = write(written, *items), written.version
    assert "Note: t2 stays blocked" in first
    assert (write(written, *items), written.version) == (first, version)


@pytest.mark.parametrize("write", WRITERS)
def test_an_empty_list_still_clears_all(written: Session, write: Write):
    assert write(written).startswith("Todo list cleared")
    assert written.todos == []


def test_a_new_item_with_the_text_of_a_cancelled_one_finds_the_open_one_first(written: Session):
    added = written.add("C")
    assert by_agent(written, item("A"), item("B"), item("C", "in_progress"), item("D")).endswith("blocked")
    assert (written.todo_list.items["t3"].status, written.todo_list.items[added.id].status) == (
        "cancelled",
        "in_progress",
    )


def test_several_items_are_named_together(session: Session):
    by_agent(session, *(item(name) for name in "ABC"))
    for todo_id in ("t1", "t3"):
        session.update(todo_id, status="blocked")
    assert by_agent(session, *(item(name) for name in "ABC")).endswith("\nNote: t1, t3 stay blocked")


def test_dependencies_on_a_cancelled_item_that_is_left_out_stay(session: Session):
    session.write([{"content": "A", "status": "cancelled"}, {"content": "B", "depends_on": ["t1"]}])
    assert by_agent(session, item("B")) == "Todo list updated: 1 pending"
    assert session.todo_list.items["t2"].depends_on == ("t1",)


def test_the_envelope_keeps_what_is_blocked_and_can_cancel_and_drop_what_is_cancelled(written: Session, tmp_path: Path):
    tool = TodoWriteTool(tmp_path, written)
    found = answer(tool, params(todo("D"), todo("B"), todo("A", "cancelled")))
    assert found["text"].splitlines()[-1] == "Note: t2 stays blocked"
    assert [entry["status"] for entry in found["data"]["todos"]] == ["pending", "blocked", "cancelled"]
    assert contents(written) == ["D", "B", "A"]
