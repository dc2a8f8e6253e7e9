"""The agent contract: `TodoWrite` as a native tool, with text for the model and the list for the user interface."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

import headway
from headway import Session, Status
from headway.contracts import agent
from headway.store.sqlite import SqliteStore

from .samples import Updates, call, contents, ids, item, numbered

REFUSED = "TodoWrite changed nothing. Correct this and send the complete list again:"


def violations(session: Session, sent: object) -> list[str]:
    """What is wrong with a call that must be refused; the answer shows the list as it still is."""
    before, version = session.todos, session.version
    answer = agent.run(session, sent)
    assert not answer.ok
    assert (answer.todos, session.todos, session.version) == (before, before, version)
    first, *lines = answer.text.split("\n")
    assert first == REFUSED
    return lines


def test_the_definition_given_to_a_model_is_pinned():
    assert agent.definition() == snapshot(
        {
            "name": "TodoWrite",
            "description": (
                "Keep the list of what you are working on; the user sees it. Send the complete list "
                "each time: it replaces the previous one. Use it for work of three steps or more, or "
                "when asked to. Set an item to in_progress before you start it (one at a time) and to "
                "completed as soon as it is fully done."
            ),
            "parameters": {
                "type": "object",
                "properties": {
                    "todos": {
                        "type": "array",
                        "description": "The whole list, which replaces the previous one; an empty array clears it.",
                        "maxItems": 50,
                        "items": {
                            "type": "object",
                            "properties": {
                                "content": {
                                    "type": "string",
                                    "description": "What to do, in the imperative.",
                                    "minLength": 1,
                                    "maxLength": 200,
                                },
                                "activeForm": {
                                    "type": "string",
                                    "description": "What is being done, in the present continuous.",
                                    "minLength": 1,
                                    "maxLength": 200,
                                },
                                "status": {
                                    "type": "string",
                                    "description": "State of the item.",
                                    "enum": ["pending", "in_progress", "completed"],
                                },
                            },
                            "required": ["content", "activeForm", "status"],
                            "additionalProperties": False,
                        },
                    }
                },
                "required": ["todos"],
                "additionalProperties": False,
            },
        }
    )


def test_a_call_answers_text_for_the_model_and_todos_for_the_interface(session: Session, updates: Updates):
    answer = agent.run(session, call(item("A", "completed"), item("B", "in_progress"), item("C")))
    assert answer.ok
    assert answer.text == "Todo list updated: 1 completed, 1 in_progress, 1 pending"
    assert [(todo.id, todo.content, todo.active_form, todo.status) for todo in answer.todos] == [
        ("t1", "A", "Doing: A", Status.COMPLETED),
        ("t2", "B", "Doing: B", Status.IN_PROGRESS),
        ("t3", "C", "Doing: C", Status.PENDING),
    ]
    assert updates == [answer.todos]


def test_a_call_always_replaces_and_ids_stay_with_their_content(session: Session):
    agent.run(session, call(item("A"), item("B")))
    answer = agent.run(session, call(item("B", "completed"), item("C")))
    assert [(todo.id, todo.content) for todo in answer.todos] == [("t2", "B"), ("t3", "C")]
    assert answer.text == "Todo list updated: 1 completed, 1 pending\nNote: 1 unfinished todo was dropped: A"
    assert [todo.content for todo in session.undo()] == ["A", "B"]


def test_an_empty_list_clears(session: Session):
    agent.run(session, call(item("A", "completed")))
    answer = agent.run(session, call())
    assert (answer.text, answer.todos, answer.ok) == ("Todo list cleared", [], True)


def test_an_identical_list_is_answered_as_usual_and_fires_nothing(session: Session, updates: Updates):
    first = agent.run(session, call(item("A")))
    assert agent.run(session, call(item("A"))) == first
    assert (session.version, len(updates)) == (1, 1)


@pytest.mark.parametrize("name", ["content", "activeForm", "status"])
def test_every_field_is_required(session: Session, name: str):
    sent = item("A")
    del sent[name]
    assert violations(session, call(sent)) == [f"- todos[0].{name}: Required"]


@pytest.mark.parametrize("name", ["content", "activeForm"])
def test_text_is_trimmed_measured_and_not_blank(session: Session, name: str):
    assert agent.run(session, call({**item("A"), name: "  " + "修" * 200 + "\n"})).ok
    assert violations(session, call({**item("A"), name: "修" * 201})) == [
        f"- todos[0].{name}: Must be at most 200 characters, received 201"
    ]
    assert violations(session, call({**item("A"), name: " \t"})) == [f"- todos[0].{name}: Required"]


@pytest.mark.parametrize("status", ["cancelled", "blocked", "done"])
def test_other_statuses_are_refused(session: Session, status: str):
    assert violations(session, call(item("A", status))) == [
        f"- todos[0].status: Expected 'pending' | 'in_progress' | 'completed', received '{status}'"
    ]


def test_fifty_items_are_accepted_and_fifty_one_are_not(session: Session):
    assert agent.run(session, numbered(50)).ok
    assert violations(session, numbered(51)) == ["- todos: Must have at most 50 items, received 51"]


def test_limits_from_the_environment_apply_and_are_in_the_schema(session: Session, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TODO_MAX_ITEMS", "1")
    monkeypatch.setenv("TODO_MAX_CONTENT_LENGTH", "3")
    assert agent.run(session, call(item("abc", active="abc"))).ok
    assert violations(session, call(item("abcd", active="abc"), item("b", active="b"))) == [
        "- todos[0].content: Must be at most 3 characters, received 4",
        "- todos: Must have at most 1 items, received 2",
    ]
    parameters = str(agent.definition()["parameters"])
    assert "'maxItems': 1," in parameters
    assert parameters.count("'maxLength': 3") == 2


@pytest.mark.parametrize(
    ("sent", "lines"),
    [
        (None, ["- (root): Expected object, received null"]),
        ([], ["- (root): Expected object, received array"]),
        ({}, ["- todos: Required"]),
        ({"todos": [], "summary": "x"}, ["- summary: Unknown field"]),
        (call({**item("A"), "id": "t1"}), ["- todos[0].id: Unknown field"]),
        (
            call(item("A", "in_progress"), item("B", "in_progress"), {**item("", "x"), "y": 1}),
            [
                "- todos[2].content: Required",
                "- todos[2].status: Expected 'pending' | 'in_progress' | 'completed', received 'x'",
                "- todos[2].y: Unknown field",
                "- todos: At most one item may be in_progress, received 2",
            ],
        ),
    ],
)
def test_a_rejected_call_lists_every_violation_and_changes_nothing(session: Session, sent: object, lines: list[str]):
    agent.run(session, call(item("Before")))
    heard: Updates = []
    session.on("todos:update", heard.append)
    assert violations(session, sent) == lines
    assert heard == []


def test_in_plan_mode_a_call_is_refused_and_changes_nothing(session: Session):
    agent.run(session, call(item("A")))
    session.set_plan_mode(True)
    version = session.version
    heard: Updates = []
    session.on("todos:update", heard.append)
    answer = agent.run(session, call(item("B")))
    assert not answer.ok
    assert "not available in plan mode" in answer.text
    assert [todo.content for todo in answer.todos] == contents(session) == ["A"]
    assert (session.version, heard) == (version, [])
    session.set_plan_mode(False)
    assert agent.run(session, call(item("B"))).ok


def test_a_sub_agent_writes_its_own_list_and_fires_nothing(session: Session, updates: Updates):
    answer = agent.run(session.agent("sub-1"), call(item("Sub")))
    assert answer.text == "Todo list updated: 1 pending"
    assert (session.todos, updates) == ([], [])


def test_a_damaged_store_is_answered_with_one_sentence(folder: Path):
    (folder / ".headway").mkdir()
    (folder / ".headway" / "headway.db").write_bytes(b"no database" * 100)
    answer = agent.run(headway.open(folder), call(item("A")))
    assert (answer.ok, answer.todos) == (False, [])
    assert answer.text.startswith("TodoWrite changed nothing: ")
    assert "is damaged or is not a Headway file" in answer.text


def test_items_keep_ids_history_and_fields_across_a_reopened_session(folder: Path):
    session = headway.open(folder)
    session.write([{"content": "A", "priority": "high"}, {"content": "B"}])
    created = session.todos[0].created_at
    session.close()
    again = headway.open(folder)
    agent.run(again, call(item("B"), item("A", "in_progress")))
    assert ids(again) == ["t2", "t1"]
    assert (again.todos[1].priority, again.todos[1].created_at) == ("high", created)
    assert [event.actor for event in again.history()] == ["user", "model"]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["todos", "content", "activeForm", "status"]) | st.text(), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(ANY)
def test_any_input_is_answered_with_text_and_the_list_as_it_is(sent: object):
    session = headway.open(memory=True)
    agent.run(session, call(item("Before")))
    answer = agent.run(session, sent)
    assert answer.todos == session.todos
    assert answer.ok or contents(session) == ["Before"]
    answer.text.encode()


def test_the_list_is_still_shown_when_it_cannot_be_written(folder: Path):
    session = headway.open(folder)
    session.write([{"content": "A"}])
    blocker = sqlite3.connect(folder / ".headway" / "headway.db", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    assert isinstance(session.store, SqliteStore)
    session.store.timeout = 0.05
    answer = agent.run(session, {"todos": []})
    blocker.close()
    assert (answer.ok, [todo.content for todo in answer.todos]) == (False, ["A"])
    session.close()
