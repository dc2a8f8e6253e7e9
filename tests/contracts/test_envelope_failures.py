"""The envelope contract when things go wrong: stores that fail, logs that cannot be written, input of any kind."""

from __future__ import annotations

import json
import logging
import math
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headway
from headway import Session
from headway.tools.todo_write import TodoWriteTool

from .envelopes import accepted, answer, params, todo, violations
from .samples import contents, files_in

DONE = params(todo("A", "completed"))


def database(folder: Path) -> Path:
    return folder / ".headway" / "headway.db"


def failed_inside(found: dict[str, Any]) -> str:
    assert found["status"] == "error"
    assert found["error"]["code"] == "INTERNAL_ERROR"
    assert found["text"].startswith("TodoWrite ")
    assert "changed nothing" in found["text"]
    for text in (found["text"], found["error"]["message"]):
        assert "Traceback" not in text
        assert ".py" not in text
    return found["error"]["message"]


# The store fails.


def test_a_damaged_store_is_an_internal_error_whose_traceback_is_only_in_the_log(
    folder: Path, caplog: pytest.LogCaptureFixture
):
    database(folder).parent.mkdir()
    database(folder).write_bytes(b"this is no database " * 100)
    tool = TodoWriteTool(folder, headway.open(folder))
    with caplog.at_level(logging.ERROR, "headway"):
        found = answer(tool, params(todo("A")))
    assert "is damaged or is not a Headway file" in failed_inside(found)
    assert found["stats"]["total"] == 0
    assert found["context"]["params_input"] == params(todo("A"))
    assert "Traceback" in caplog.text
    assert database(folder).read_bytes() == b"this is no database " * 100


def test_a_store_damaged_while_in_use_is_an_internal_error(folder: Path, caplog: pytest.LogCaptureFixture):
    with headway.open(folder) as session:  # where it is still open, nothing is read again
        accepted(TodoWriteTool(folder, session), todo("A"))
    with sqlite3.connect(database(folder)) as db:
        db.execute("UPDATE events SET data = '{broken'")
    db.close()
    with caplog.at_level(logging.ERROR, "headway"):
        found = answer(TodoWriteTool(folder, headway.open(folder)), params(todo("B")))
    assert "damaged" in failed_inside(found)
    assert "Traceback" in caplog.text


def test_a_store_that_lost_its_tables_is_an_internal_error(folder: Path, caplog: pytest.LogCaptureFixture):
    accepted(TodoWriteTool(folder, headway.open(folder)), todo("A"))
    with sqlite3.connect(database(folder)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("DROP TABLE events")
    db.close()
    with caplog.at_level(logging.ERROR, "headway"):
        failed_inside(answer(TodoWriteTool(folder, headway.open(folder)), params(todo("B"))))
    assert "Traceback" in caplog.text


def test_a_store_in_a_place_that_cannot_be_written_is_an_internal_error(folder: Path, caplog: pytest.LogCaptureFixture):
    (folder / ".headway").write_text("a file where the folder should be", encoding="utf-8")
    with caplog.at_level(logging.ERROR, "headway"):
        found = answer(TodoWriteTool(folder, headway.open(folder)), params(todo("A")))
    assert "is not a folder; move it out of the way" in failed_inside(found)
    assert "Traceback" in caplog.text


def test_a_closed_session_opens_its_file_again(folder: Path):
    session = headway.open(folder)
    tool = TodoWriteTool(folder, session)
    accepted(tool, todo("A"))
    session.close()
    accepted(tool, todo("B"))
    assert contents(session) == ["B"]


class Unreadable:
    """A value that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("secret detail")

    __str__ = __repr__


class Broken(dict[str, object]):
    """An object that cannot be taken apart."""

    def items(self):
        raise RuntimeError("secret detail")


def test_an_unexpected_error_says_nothing_of_its_inside(session: Session, caplog: pytest.LogCaptureFixture):
    tool = TodoWriteTool(".", session)
    with caplog.at_level(logging.ERROR, "headway"):
        found = answer(tool, Broken(params(todo("A"))))
    assert failed_inside(found) == "Unexpected internal error."
    assert "secret" not in json.dumps(found)
    assert "RuntimeError: secret detail" in caplog.text
    assert session.todos == []


# The completion log cannot be written: the list stands, and the answer says why.


def partial(tool: TodoWriteTool, sent: object) -> str:
    found = answer(tool, sent)
    assert found["status"] == "partial"
    assert "persisted_to" not in found["data"]
    assert [entry["content"] for entry in found["data"]["todos"]] == contents(tool.session) == ["A"]
    last = found["text"].split("\n")[-1]
    assert last.startswith("(The list is updated, but the completion log could not be written: ")
    assert last.endswith(")")
    assert tool.session.state.completion_log is None
    return last


@pytest.mark.parametrize("name", ["memory", "memory/todos"])
def test_a_file_where_the_log_folder_should_be_leaves_the_list_updated(folder: Path, session: Session, name: str):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("mine", encoding="utf-8")
    tool = TodoWriteTool(folder, session)
    assert "ile exists" in partial(tool, DONE) or "ot a directory" in partial(tool, DONE)
    assert (folder / name).read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["memory", "memory/todos"])
def test_a_link_out_of_the_project_is_not_followed(folder: Path, session: Session, name: str):
    outside = folder.parent / "outside"
    (outside / "todos").mkdir(parents=True)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(outside)
    assert "leads out of the project" in partial(TodoWriteTool(folder, session), DONE)
    assert files_in(outside) == ["todos"]


def test_a_link_within_the_project_is_followed(folder: Path, session: Session):
    (folder / "notes" / "todos").mkdir(parents=True)
    (folder / "memory").symlink_to(folder / "notes")
    found = accepted(TodoWriteTool(folder, session), todo("A", "completed"))
    assert (folder / "notes" / "todos" / Path(found["data"]["persisted_to"]).name).is_file()


def test_a_log_file_that_became_a_link_is_not_written_through(folder: Path, session: Session):
    tool = TodoWriteTool(folder, session)
    path = folder / accepted(tool, todo("A", "completed"))["data"]["persisted_to"]
    target = folder.parent / "target.md"
    target.write_text("mine", encoding="utf-8")
    path.unlink()
    path.symlink_to(target)
    assert answer(tool, params(todo("B", "completed")))["status"] == "partial"
    assert target.read_text(encoding="utf-8") == "mine"
    assert contents(session) == ["B"]


def test_a_log_that_could_not_be_written_is_written_when_the_list_is_sent_again(folder: Path, session: Session):
    (folder / "memory").write_text("", encoding="utf-8")
    tool = TodoWriteTool(folder, session)
    partial(tool, DONE)
    (folder / "memory").unlink()
    found = accepted(tool, todo("A", "completed"))
    assert "# task1-" in (folder / found["data"]["persisted_to"]).read_text(encoding="utf-8")


def test_a_project_root_that_no_system_call_accepts_leaves_the_list_updated(session: Session):
    found = answer(TodoWriteTool("\0", session), DONE)
    assert found["status"] == "partial"
    assert contents(session) == ["A"]


def test_a_block_that_cannot_be_recorded_is_taken_back(folder: Path):
    session = headway.open(folder)
    tool = TodoWriteTool(folder, session)
    accepted(tool, todo("A"))
    with sqlite3.connect(database(folder)) as db:
        db.execute(
            "CREATE TRIGGER full BEFORE INSERT ON events WHEN NEW.type NOT LIKE 'todo%'"
            " BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
    db.close()
    found = answer(tool, DONE)
    assert found["status"] == "partial"
    assert "no room" in found["text"]
    assert list((folder / "memory" / "todos").iterdir()) == []
    assert [entry.status.value for entry in session.todos] == ["completed"]


# Input of any kind.


def circular() -> list[object]:
    ring: list[object] = []
    ring.extend([ring, ring, {"again": ring}])
    return ring


def odd_value(name: str) -> object:
    """Made when it is needed: hypothesis shows what it was given, and these cannot all be shown."""
    odd = {"object": object(), "unreadable": Unreadable(), "set": {1}, "circular": circular(), "huge": 10**5_000}
    return odd[name]


def deep(depth: int) -> object:
    value: object = "bottom"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff",
        {1, 2},
        object(),
        Unreadable(),
        datetime(2025, 1, 2),
        math.nan,
        math.inf,
        10**5_000,
        circular(),
        deep(100_000),
        {"summary": Unreadable(), "todos": [Unreadable()]},
        {"summary": "x", "todos": circular()},
        {"summary": "x", "todos": [{"content": math.nan, "status": b"pending"}]},
        {"summary": "x", "todos": [{"content": deep(5_000), "status": 10**5_000}]},
        {(1, 2): 3, None: 4, 5.5: 6, b"x": 7},
        {"summary": "\ud800", "todos": [{"content": "\udfff", "status": "\ud800"}]},
        {"summary": "x", "todos": {1, 2}},
        {"summary": "x", "todos": (item for item in ())},
    ],
    ids=lambda sent: type(sent).__name__,
)
def test_input_that_is_no_json_is_refused_with_a_whole_envelope(sent: object):
    tool = TodoWriteTool(".")
    assert answer(tool, sent)["status"] == "error"
    assert tool.session.todos == []


def test_what_json_cannot_carry_is_echoed_as_nearly_as_it_can_be():
    sent = {"a": math.nan, "b": [b"x", {"c": -math.inf}], 7: (1, None, True), "d": circular(), "e": 10**5_000}
    echoed = answer(TodoWriteTool("."), sent)["context"]["params_input"]
    assert echoed["a"] == "nan"
    assert echoed["b"] == ["b'x'", {"c": "-inf"}]
    assert echoed["7"] == [1, None, True]
    assert echoed["d"] == ["…", "…", {"again": "…"}]
    assert echoed["e"].startswith("0x")


@pytest.mark.parametrize("sent", [{"x": "\ud800"}, {"x": deep(60), "y": "\udfff"}, deep(300), {"x": 2**70, "y": 1e300}])
def test_json_is_echoed_exactly_however_odd(sent: object):
    assert answer(TodoWriteTool("."), sent)["context"]["params_input"] == sent


def test_a_lone_surrogate_becomes_storable_and_is_echoed_as_it_came(folder: Path):
    tool = TodoWriteTool(folder, headway.open(folder))
    sent = params(todo("a\ud800b", "completed"), summary="\udfff!")
    found = answer(tool, sent)
    assert found["status"] == "success"
    assert found["data"]["todos"][0]["content"] == "a\ufffdb"
    assert found["data"]["summary"] == "\ufffd!"
    assert found["context"]["params_input"] == sent


def test_hostile_names_and_values_do_no_harm_in_the_text(session: Session):
    tool = TodoWriteTool(".", session)
    lines = violations(tool, {**params({**todo("A", "\x1b[31m\n"), "\x1b]0;x\x07": 1}), "\nz": 1})
    assert len(lines) == 3
    assert all(line.isprintable() for line in lines)


def test_a_megabyte_of_garbage_is_measured_not_repeated_in_the_text():
    found = answer(TodoWriteTool("."), params({**todo("x" * 1_000_000, "y" * 1_000_000), "z" * 1_000_000: 1}))
    assert len(found["text"]) < 1_000


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.text(st.characters(categories=["Cs"])),
    st.binary(max_size=4),
    st.sampled_from(["object", "unreadable", "set", "circular", "huge"]).map(odd_value),
)
KEYS = st.one_of(st.sampled_from(["summary", "todos", "content", "status", "id"]), st.text(max_size=3), st.integers())
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner),
        st.dictionaries(KEYS, inner, max_size=4),
        st.fixed_dictionaries({"summary": inner, "todos": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"content": inner, "status": st.sampled_from(["pending", "completed"]) | inner}),
    ),
    max_leaves=10,
)


@given(ANYTHING)
def test_run_never_raises_and_always_answers_a_whole_envelope(sent: object):
    tool = TodoWriteTool(project_root="\0nowhere")
    found = answer(tool, sent)
    if found["status"] == "error":
        assert tool.session.todos == []


PURE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(PURE)
def test_any_json_value_is_echoed_exactly(sent: object):
    assert answer(TodoWriteTool("."), sent)["context"]["params_input"] == sent
