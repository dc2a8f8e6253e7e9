"""Evidence: its four levels in order, and what becomes of records from before there were four."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.tables import check_rows

from headway import Evidence, EvidenceLevel, InvalidTodos, Session
from headway.core.codec import read_event, read_state, to_event_json, write_state
from headway.core.command_kinds import classify_command
from headway.core.evidence import evidence_level, is_verified, parse_evidence_record, to_evidence_record
from headway.core.model import JUDGE, MODEL
from headway.core.rules import check_evidence
from headway.core.run_events import ToolFinished

from .running import Running, create
from .samples import in_memory

CHECKED = Evidence(EvidenceLevel.VERIFIED, "make test", 0, ("a.py",), 1.5, "2 passed", None)


def test_the_levels_are_in_order_from_inferred_to_verified() -> None:
    levels = [EvidenceLevel(name) for name in ("inferred", "reported", "command_ok", "verified")]
    assert sorted(levels) == levels
    for place, level in enumerate(levels):
        assert [level >= other for other in levels] == [place >= other for other in range(4)]
        assert [level > other for other in levels] == [place > other for other in range(4)]
        assert [level <= other for other in levels] == [place <= other for other in range(4)]
    assert sorted([levels[2], levels[0], levels[3], levels[1]]) == levels
    assert max(EvidenceLevel.VERIFIED, EvidenceLevel.REPORTED) is EvidenceLevel.VERIFIED


def test_a_new_record_comes_back_equal_at_every_level() -> None:
    def check(evidence: Evidence) -> None:
        record = json.loads(json.dumps(to_evidence_record(evidence)))
        assert parse_evidence_record(record) == evidence
        assert check_evidence(record) == evidence

    check_rows(
        [CHECKED, *(Evidence(level) for level in EvidenceLevel), *(Evidence(level, "x", 1) for level in EvidenceLevel)],
        check,
    )


def without_the_new_fields(text: str) -> str:
    """The record as Headway wrote it when a succeeded command was called verified."""
    record: Any = json.loads(text)

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            new = ("seconds", "output", "note") if "exit_code" in value else ()
            return {key: strip(part) for key, part in value.items() if key not in new}  # pyright: ignore[reportUnknownVariableType]
        return [strip(part) for part in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]

    return json.dumps(strip(record))


def test_what_an_old_log_or_snapshot_calls_verified_is_a_command_that_succeeded() -> None:
    session = in_memory()
    session.write([{"content": "A", "status": "completed", "evidence": CHECKED}])
    session.update("t1", evidence=None)
    session.update("t1", evidence=CHECKED)
    expected = Evidence(EvidenceLevel.COMMAND_OK, "make test", 0, ("a.py",))
    first, _, last = session.events()
    added = read_event(1, first.at, "main", "user", "TodoListUpdated", without_the_new_fields(to_event_json(first)))
    changed = read_event(3, last.at, "main", "user", "TodoListUpdated", without_the_new_fields(to_event_json(last)))
    assert added.data.added[0].evidence == expected  # type: ignore[union-attr]
    assert changed.data.changed["t1"]["evidence"] == (None, expected)  # type: ignore[union-attr]
    state = read_state(without_the_new_fields(write_state(session.state)))
    assert state is not None
    assert state.list_of("main").items["t1"].evidence == expected
    again = read_state(write_state(session.state))
    assert again is not None
    assert again.list_of("main").items["t1"].evidence == CHECKED


def test_completing_without_evidence_is_a_report_and_an_open_item_has_no_level(session: Session) -> None:
    session.write([{"content": "A"}, {"content": "B", "evidence": CHECKED}, {"content": "C"}])
    session.update("t1", status="completed")
    session.update("t3", status="completed", evidence=CHECKED)
    assert [evidence_level(todo) for todo in session.todos] == ["reported", None, "verified"]
    assert [is_verified(todo) for todo in session.todos] == [False, False, True]


# the check of an item


def test_nobody_but_a_person_changes_the_check_of_an_item_once_work_on_it_has_begun(session: Session) -> None:
    session.write([{"content": "A", "verify": "make test"}, {"content": "B"}, {"content": "C", "verify": "x"}])
    session.update("t1", status="in_progress", actor=MODEL)
    session.update("t2", status="in_progress", actor=MODEL)
    session.update("t2", status="pending", actor=MODEL)

    def refused(todo_id: str, actor: str, verify: str | None) -> None:
        before = session.version
        with pytest.raises(InvalidTodos) as caught:
            session.update(todo_id, verify=verify, actor=actor)
        (violation,) = caught.value.violations
        assert violation == (
            f"{todo_id}.verify: Cannot be changed once work on the item has started; leave it unchanged, or ask "
            "the user"
        )
        with pytest.raises(InvalidTodos):
            items = [{"id": todo.id, "content": todo.content, "verify": todo.verify} for todo in session.todos]
            items[int(todo_id[1]) - 1]["verify"] = verify
            session.write(items, replace=True, actor=actor)
        assert session.version == before

    check_rows([("t1", MODEL, "true"), ("t1", JUDGE, None), ("t2", "worker-1", "true"), ("t2", MODEL, "make")], refused)
    assert session.update("t3", verify="make test", actor=MODEL).verify == "make test"
    assert session.update("t1", verify="make test", status="completed", actor=MODEL).verify == "make test"
    assert session.update("t1", verify="make check").verify == "make check"
    assert session.update("t1", verify="").verify is None


def test_a_check_stays_with_its_item_when_the_list_is_written_again(session: Session) -> None:
    session.write([{"content": "A", "verify": "make test"}])
    session.update("t1", status="in_progress")
    session.write([{"content": "B"}, {"content": "A", "status": "completed"}], replace=True, actor=MODEL)
    assert [todo.verify for todo in session.todos] == [None, "make test"]


# what the calls on an item show

WRITE, CHECK, READ, EDIT = "write", "pytest -q", "cat calc.py", "sed -i s/a/b/ calc.py"


@pytest.mark.parametrize(
    ("calls", "level"),
    [
        ([], "reported"),
        ([WRITE], "reported"),
        ([CHECK], "command_ok"),
        ([WRITE, CHECK], "command_ok"),
        ([CHECK, WRITE], "reported"),
        ([WRITE, READ], "reported"),
        ([WRITE, "true"], "reported"),
        ([WRITE, f"{CHECK} || true"], "reported"),
        ([WRITE, f"{CHECK}; true"], "reported"),
        ([EDIT], "reported"),
        ([f"{EDIT} && {CHECK}"], "reported"),
        ([CHECK, EDIT], "reported"),
        ([CHECK, f"! {EDIT}"], "reported"),
        ([WRITE, CHECK, READ], "command_ok"),
        ([WRITE, CHECK, f"! {READ}"], "command_ok"),
        ([WRITE, CHECK, "! mypy src"], "reported"),
        ([WRITE, f"! {CHECK}", CHECK], "command_ok"),
    ],
)
def test_only_a_command_that_could_have_failed_and_ran_after_the_last_edit_shows_something(
    running: Running, calls: list[str], level: str
) -> None:
    """A `!` in front marks a command that failed."""
    session = running.session
    session.write([{"content": "A", "status": "in_progress"}])
    for call in calls:
        if call == WRITE:
            running.finish(
                ToolFinished(
                    round=1, call_id="c", tool="write_file", ok=True, text="", effect="write", files=("calc.py",)
                )
            )
            continue
        command = call.removeprefix("! ")
        kind = classify_command(command)
        code = int(call != command)
        # What the log keeps of a command is one short line; what it comes to was seen in the whole.
        running.finish(
            ToolFinished(
                round=1,
                call_id="c",
                tool="bash",
                ok=True,
                text="",
                denied=False,
                effect="execute",
                exit_code=code,
                command=command[:5],
                command_kind=kind,
            )
        )
    session.update("t1", status="completed", actor=MODEL)
    evidence = session.todos[0].evidence
    assert evidence is not None
    assert evidence.level == level
    assert (evidence.command, evidence.exit_code) == ((CHECK[:5], 0) if level == "command_ok" else (None, None))


def test_who_says_that_an_item_is_done_makes_the_level(running: Running) -> None:
    session = running.session
    create(session, "Run the tests", "Think", "Rest")
    running.calls(True, True, True)
    running.sets("t2", "completed")
    session.update("t3", status="completed")
    assert [evidence_level(todo) for todo in session.todos] == ["inferred", "reported", "reported"]
    session.update("t1", status="completed")
    assert evidence_level(session.todos[0]) == "reported"
