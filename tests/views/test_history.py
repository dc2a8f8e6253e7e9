"""The history says in words who changed what, when."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

import headway
from headway.core.clock import format_local_time
from headway.core.events import Event, ListDelta, Splice
from headway.core.evidence import Evidence, EvidenceLevel
from headway.views.history import history_lines

from .samples import HOSTILE, hostile_text, todo


def told(session: headway.Session, version: int) -> list[str]:
    """What is said about one change, without version and time."""
    lines = history_lines(event for event in session.history() if event.version == version)
    return [re.sub(r"^\d+  \S+ \S+  ", "", lines[0]), *(line.removeprefix("    ") for line in lines[1:])]


def three() -> headway.Session:
    session = headway.open(memory=True)
    session.write([{"content": "a"}, {"content": "b"}, {"content": "c"}])
    return session


def delta_event(delta: ListDelta) -> Event:
    return Event(7, "2025-01-02T17:42:33.000Z", "main", "user", delta)


def test_without_changes_there_is_nothing_to_tell():
    assert history_lines([]) == []


def test_a_change_begins_with_version_local_time_actor_and_what_was_asked_for():
    session = three()
    event = session.history()[0]
    assert history_lines([event])[0] == f"1  {format_local_time(event.at)}  user  write"


def test_added_and_dropped_items_are_named():
    session = three()
    assert told(session, 1) == ["user  write", 'added t1 "a"', 'added t2 "b"', 'added t3 "c"']
    session.write([{"content": "b"}, {"content": "d"}], actor="model")
    assert told(session, 2) == ["model  write", 'added t4 "d"', 'dropped t1 "a"', 'dropped t3 "c"']


def test_a_new_status_is_told_without_what_it_brings_with_it():
    session = three()
    session.update("t1", status="completed")
    assert told(session, 2) == ["user  update", "t1 pending → completed"]
    session.claim("w1")
    assert told(session, 3) == ["w1  claim", "t2 pending → in_progress, owner none → w1"]


def test_other_fields_are_told_with_both_sides():
    session = three()
    session.update("t1", content="A", priority="high", depends_on=["t2", "t3"], interrupted=True)
    assert told(session, 2)[1] == 't1 "a" → "A", priority none → high, depends_on none → t2; t3, interrupted no → yes'
    session.update("t1", status="completed", evidence={"level": "command_ok"})
    assert told(session, 3)[1] == "t1 pending → completed, evidence none → command ok"
    session.write([{"id": "t1", "status": "pending"}], title="New")
    assert told(session, 4)[1:] == ['title "Agent Tasks" → "New"', "t1 completed → pending, evidence command ok → none"]


def test_a_moved_item_is_told_with_its_new_position():
    session = three()
    session.move("t1", 3)
    assert told(session, 2) == ["user  move", "moved t1 to position 3"]
    session.move("t1", 1)
    assert told(session, 3) == ["user  move", "moved t1 to position 1"]
    session.write([{"content": "c"}, {"content": "b"}, {"content": "a"}])
    assert told(session, 4) == ["user  write", "moved 3 items"]


def test_adding_in_the_middle_moves_nothing():
    session = three()
    session.add("x", after="t1")
    assert told(session, 2) == ["user  add", 'added t4 "x"']


def test_undo_and_redo_are_told_with_what_they_brought_back():
    session = three()
    session.drop("t2")
    session.undo()
    session.redo()
    assert told(session, 3) == ["user  undo", 'added t2 "b"']
    assert told(session, 4) == ["user  redo", 'dropped t2 "b"']


def test_a_change_of_many_items_is_cut_and_counted():
    session = headway.open(memory=True)
    session.write([{"content": f"Task {n}"} for n in range(20)])
    assert len(told(session, 1)) == 21
    session.write([{"content": f"Other {n}"} for n in range(9_981)])
    assert len(told(session, 2)) == 22
    assert told(session, 2)[-1] == "… 9981 more"


def test_the_rest_of_a_log_can_be_told_too():
    session = three()
    session.set_plan({"title": "P", "overview": "o", "steps": [{"id": "s", "description": "d"}]})
    session.set_plan_mode(True)
    session.clear_plan()
    session.claim("w")
    session.renew("t1", "w", 900)
    asked = [line.split("  ", 3)[3] for line in history_lines(session.events()) if not line.startswith(" ")]
    assert asked == ["write", 'plan "P"', "plan mode on", "plan cleared", "claim", "renewed t1"]


def test_evidence_is_told_by_its_level():
    sides = (Evidence(EvidenceLevel.REPORTED), Evidence(EvidenceLevel.VERIFIED))
    assert history_lines([delta_event(ListDelta(cause="update", changed={"t1": {"evidence": sides}}))])[1] == (
        "    t1 evidence reported → verified"
    )


@given(st.lists(hostile_text, min_size=1, max_size=4))
def test_any_change_is_told_in_short_harmless_lines(texts: list[str]):
    items = tuple(todo(n, text) for n, text in enumerate(texts))
    changed: dict[str, dict[str, tuple[object, object]]] = {
        text: {"notes": (None, text), "risks": ((), (text,))} for text in texts
    }
    order = Splice(0, tuple(texts), tuple(reversed(texts)))
    delta = ListDelta(
        cause="import", added=items, removed=items, changed=changed, order=order, about={"title": (texts[0], texts[-1])}
    )
    for line in history_lines([delta_event(delta)]):
        assert len(line.splitlines()) == 1
        assert len(line) < 400
        assert "\x1b" not in line
        line.encode()


def test_a_megabyte_of_notes_is_one_short_line():
    session = three()
    session.update("t1", notes="x" * 1_000_000, risks=HOSTILE * 1000)
    assert len(told(session, 2)[1]) < 400
