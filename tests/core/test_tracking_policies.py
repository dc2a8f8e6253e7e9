"""Whose word counts on a list: the policy's, the model's, a person's, another worker's, and which item is active."""

from __future__ import annotations

import pytest

from headway import Session, Status
from headway.core.evidence import EvidenceLevel
from headway.core.model import MODEL, TRACKER
from headway.core.tracking import AUTO, JUDGED, MANUAL, Policy, active_item, is_proposed

from .running import Running, create, list_changes, recorded_on, status, statuses
from .samples import PLAN, in_memory

TEST, READ, WRITE = "Run the tests", "Read the parser", "Fix the parser"
POLICIES = [Policy(MANUAL), Policy(AUTO), Policy(JUDGED)]


# policies


def test_manual_records_and_changes_no_state(session: Session) -> None:
    running = Running(session, Policy(MANUAL)).begin()
    create(session, TEST, READ)
    assert recorded_on(running.call()) is None
    running.sets("t1", "in_progress")
    running.next_round()
    running.calls(True, True, True, True, False, False, False)
    todo = session.todos[0]
    assert (todo.status, todo.tool_calls, todo.failed_calls) == (Status.IN_PROGRESS, 7, 3)
    running.sets("t2", "in_progress")
    assert statuses(session) == ["in_progress", "in_progress"]


def test_a_judge_is_left_to_complete_what_tracking_only_proposes(session: Session) -> None:
    policy = Policy(JUDGED)
    running = Running(session, policy).begin()
    create(session, TEST)
    running.calls(True, True)
    assert not is_proposed(session.todos[0], running.run, policy)
    running.calls(True, True)
    assert status(session) is Status.IN_PROGRESS
    assert is_proposed(session.todos[0], running.run, policy)


def test_under_a_judge_items_are_blocked_and_unblocked_as_ever(session: Session) -> None:
    running = Running(session, Policy(JUDGED)).begin()
    create(session, TEST)
    running.calls(False, False)
    assert status(session) is Status.BLOCKED
    running.call()
    assert status(session) is Status.IN_PROGRESS


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.tracking)
@pytest.mark.parametrize("cause", ["write", "import"])
def test_on_a_list_that_someone_else_keeps_calls_are_only_recorded(
    session: Session, policy: Policy, cause: str
) -> None:
    running = Running(session, policy).begin()
    create(session, "of the loop")
    session.write([{"content": TEST}, {"content": READ}], replace=True, actor=MODEL, cause=cause)
    running.next_round()
    assert recorded_on(running.call()) is None
    first, second = (todo.id for todo in session.todos)
    running.sets(first, "in_progress")
    running.next_round()
    running.calls(True, True, True, False, False, False)
    todo = session.todos[0]
    assert (todo.status, todo.tool_calls, todo.failed_calls) == (Status.IN_PROGRESS, 6, 3)
    running.sets(second, "in_progress")
    assert statuses(session) == ["in_progress", "in_progress"]


def test_a_list_from_a_plan_is_the_loops_to_keep(running: Running) -> None:
    running.session.set_plan({**PLAN, "steps": [{"id": "step-1", "description": TEST}]})
    running.session.plan_to_todos()
    running.calls(True, True, True)
    assert statuses(running.session) == ["completed"]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.tracking)
def test_in_plan_mode_calls_are_recorded_and_no_state_changes(session: Session, policy: Policy) -> None:
    running = Running(session, policy).begin()
    create(session, TEST, READ)
    session.set_plan_mode(True)
    assert recorded_on(running.call()) is None
    session.update("t1", actor=MODEL, status="in_progress")
    running.next_round()
    running.calls(True, True, True, True, False, False, False)
    running.sets("t2", "in_progress")
    assert statuses(session) == ["in_progress", "in_progress"]
    assert session.todos[0].tool_calls == 7


# which item is active


def test_of_several_in_progress_the_one_that_this_run_began_last_is_active(session: Session) -> None:
    running = Running(session, Policy(MANUAL)).begin()
    create(session, "A", "B", "C")
    for todo_id in ("t3", "t1"):
        running.sets(todo_id, "in_progress")
    session.update("t2", status="in_progress")  # by a person, and last of all
    assert recorded_on(running.call()) == "t1"
    running.sets("t1", "completed")
    assert recorded_on(running.call()) == "t3"
    running.sets("t3", "completed")
    assert recorded_on(running.call()) == "t2"


def test_without_a_run_the_item_begun_last_is_active() -> None:
    session = in_memory()
    session.write([{"content": "A"}, {"content": "B"}])
    assert active_item(session.todo_list.items, None) is None
    session.update("t2", status="in_progress")
    session.update("t1", status="in_progress")
    active = active_item(session.todo_list.items, None)
    assert active is not None
    assert active.id == "t1"


@pytest.mark.parametrize("lease", [0.5, 300])
def test_what_another_worker_claimed_is_never_touched(session: Session, lease: float) -> None:
    running = Running(session).begin()
    create(session, TEST, "Run the linter")
    session.claim("ada", lease)
    running.next_round()
    claimed = session.todos[0]
    assert recorded_on(running.call()) == "t2"
    running.calls(True, True, False, False, False)
    assert recorded_on(running.call()) is None
    running.end()
    assert session.todos[0] == claimed
    assert status(session, "t2") is Status.COMPLETED


# who has the last word


@pytest.mark.parametrize("actor", [MODEL, None])
@pytest.mark.parametrize(
    ("state", "then"),
    [
        ("completed", (False, False)),
        ("cancelled", (True, True, True)),
        ("blocked", (True, True, True)),
        ("pending", (True, True, True)),
        ("in_progress", (True, True, True, True)),
        ("in_progress", (False, False, False)),
    ],
)
def test_a_state_that_was_set_is_not_undone_in_that_round(
    running: Running, actor: str | None, state: str, then: tuple[bool, ...]
) -> None:
    create(running.session, {"content": TEST, "status": "completed" if state == "pending" else "pending"})
    running.next_round()
    running.session.update("t1", actor=actor, status=state)
    running.calls(*then)
    assert status(running.session) == state


def test_in_the_next_round_the_tracker_goes_on(running: Running) -> None:
    create(running.session, TEST)
    running.sets("t1", "in_progress")
    running.calls(True, True, True)
    assert status(running.session) is Status.IN_PROGRESS
    running.next_round()
    running.call()
    assert status(running.session) is Status.COMPLETED
    assert running.session.todos[0].tool_calls == 4


def test_what_a_person_changes_between_two_calls_stays(running: Running) -> None:
    create(running.session, TEST, READ)
    running.call()
    running.session.update("t1", content="Run all of them", notes="by a person")
    running.session.drop("t2")
    running.session.add("one more")
    running.calls(True, True)
    assert [(todo.content, todo.notes, todo.status) for todo in running.session.todos] == [
        ("Run all of them", "by a person", Status.COMPLETED),
        ("one more", None, Status.PENDING),
    ]


@pytest.mark.parametrize("by", ["tracker", "model"])
def test_beginning_another_item_completes_the_one_that_this_run_began(running: Running, by: str) -> None:
    create(running.session, TEST, READ)
    if by == "tracker":
        running.call("bash")
    else:
        running.sets("t1", "in_progress")
    running.next_round()
    events = running.sets("t2", "in_progress")
    assert statuses(running.session) == ["completed", "in_progress"]
    assert [event.actor for event in list_changes(events)] == [TRACKER]
    evidence = running.session.todos[0].evidence
    assert evidence is not None
    assert evidence.level is EvidenceLevel.INFERRED


def test_beginning_another_item_leaves_what_a_person_began(running: Running) -> None:
    create(running.session, TEST, READ)
    running.session.update("t1", status="in_progress")
    running.next_round()
    running.sets("t2", "in_progress")
    assert statuses(running.session) == ["in_progress", "in_progress"]


def test_beginning_another_item_leaves_what_an_earlier_run_began(running: Running) -> None:
    create(running.session, TEST, READ)
    running.call("bash")
    running.end("cancelled")
    running.session.update("t1", status="in_progress")
    again = Running(running.session).begin()
    again.sets("t2", "in_progress")
    assert statuses(running.session) == ["in_progress", "in_progress"]


@pytest.mark.parametrize("tracking", [MANUAL, JUDGED])
def test_only_under_auto_does_beginning_another_item_complete_one(session: Session, tracking: str) -> None:
    running = Running(session, Policy(tracking)).begin()
    create(session, TEST, READ)
    running.sets("t1", "in_progress")
    running.next_round()
    running.sets("t2", "in_progress")
    assert statuses(session) == ["in_progress", "in_progress"]


def test_two_items_begun_in_one_round_are_both_in_progress(running: Running) -> None:
    create(running.session, TEST, READ)
    running.sets("t1", "in_progress")
    running.sets("t2", "in_progress")
    assert statuses(running.session) == ["in_progress", "in_progress"]


def test_a_todo_call_that_begins_nothing_completes_nothing(running: Running) -> None:
    create(running.session, TEST, READ, "Think")
    running.sets("t1", "in_progress")
    running.sets("t2", "in_progress")
    running.next_round()
    running.sets("t3", "cancelled")
    assert statuses(running.session) == ["in_progress", "in_progress", "cancelled"]


def test_a_todo_call_that_failed_completes_nothing(running: Running) -> None:
    create(running.session, TEST, READ)
    running.call("bash")
    running.next_round()
    running.session.update("t2", actor=MODEL, status="in_progress")
    running.todo_call(ok=False)
    assert statuses(running.session) == ["in_progress", "in_progress"]
