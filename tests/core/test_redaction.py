"""Keys in lists and plans: hidden wherever they come in, and whatever else was written stays as it is."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway import Session
from headway.core.commands import Add, SetPlan
from headway.core.errors import InvalidTodos
from headway.core.json_text import parse_json
from headway.core.model import EMPTY_LIST
from headway.core.redaction import hide_secrets

KEY = "sk-aB3dE5gH1jK2mN4pQ6sT8vW0xY7z"
ENVIRONMENT = "correct horse battery"
PLAN = {
    "title": f"Keys {KEY}",
    "overview": f"Use {KEY}.",
    "steps": [{"id": "s1", "description": f"Send {KEY}", "risks": [f"{KEY} leaks"]}],
}

WAYS: dict[str, Callable[[Session], object]] = {
    "write": lambda session: session.write([{"content": f"Use {KEY}", "notes": f"not {KEY}", "risks": [KEY]}]),
    "add": lambda session: session.add(f"Use {KEY}"),
    "update": lambda session: session.update(session.add("A").id, notes=f"password=hunter2hunter2 {KEY}"),
    "advance": lambda session: session.advance(block={session.add("A").id: f"{KEY} is refused"}, add=[f"Try {KEY}"]),
    "title": lambda session: session.write([{"content": "A"}], title=f"With {KEY}", summary=KEY),
    "environment": lambda session: session.add(f"Say {ENVIRONMENT}."),
    "items of another list": lambda session: session.agent("b").write(session.agent("a").todos),
    "plan": lambda session: session.set_plan(PLAN),
    "steps of a plan": lambda session: (session.set_plan(PLAN), session.plan_to_todos()),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_key_is_hidden_whichever_way_it_comes_in(session: Session, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    session.agent("a").write([{"content": "Before there was a name for it"}])
    monkeypatch.setenv("VAULT_PASSPHRASE", ENVIRONMENT)
    WAYS[way](session)
    kept = repr(session.events()) + repr(session.state)
    assert KEY not in kept
    assert ENVIRONMENT not in kept
    assert "hunter2" not in kept
    if way not in ("items of another list",):
        assert "[redacted]" in kept


def test_an_item_with_a_key_that_is_written_again_is_the_same_item(session: Session) -> None:
    sent = [{"content": f"Use {KEY}", "status": "in_progress"}, {"content": "B"}]
    first = session.write(sent)
    again = session.write(sent)
    assert (again.changed, [todo.id for todo in again.todos]) == (False, [todo.id for todo in first.todos])


def test_ids_and_checks_stay_what_they_are(session: Session) -> None:
    check = "pytest --token=a1b2c3d4e5f6"
    written = session.write([{"id": KEY, "content": KEY, "verify": check}, {"content": "B", "depends_on": [KEY]}])
    assert written.todos[0].id == KEY
    assert (written.todos[0].verify, written.todos[1].depends_on) == (check, (KEY,))
    assert written.todos[0].content == "[redacted]"


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text() | st.sampled_from(["content", "notes", "id"]), inside),
    max_leaves=8,
)


@given(json)
def test_whatever_is_sent_comes_through(value: object) -> None:
    for change in (Add("main", "model", "t", {"content": value}, None), SetPlan("main", "model", "t", value)):
        before = copy.deepcopy(vars(change))
        after = vars(hide_secrets(change, EMPTY_LIST))
        assert after == before or "[redacted]" in repr(after)
        assert vars(change) == before


def test_a_command_stays_as_it_was_sent() -> None:
    sent = Add("main", "model", "t", {"content": f"Use {KEY}"}, None)
    assert KEY not in repr(vars(hide_secrets(sent, EMPTY_LIST)))
    assert vars(sent)["fields"] == {"content": f"Use {KEY}"}


def test_a_field_that_comes_twice_is_still_refused(session: Session) -> None:
    sent = parse_json(f'[{{"content": "{KEY}", "content": "B"}}]')
    with pytest.raises(InvalidTodos, match="Duplicate"):
        session.write(sent)


def test_a_list_that_contains_itself_is_refused(session: Session) -> None:
    sent: list[object] = [{"content": KEY}]
    sent.append(sent)
    with pytest.raises(InvalidTodos):
        session.write(sent)
