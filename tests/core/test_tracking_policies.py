"""Whose word counts on a list: the policy's, the model's, a person's, another worker's, and which item is active."""

from __future__ import annotations

import pytest

from headway import Session, Status
from headway.core.evidence import EvidenceLevel
from headway.core.model import MODEL, TRACKER
from headway.core.tracking import AUTO, JUDGED, MANUAL, Policy, find_active_todo, is_proposed

from .running import Running, create, list_changes, recorded_on, status, statuses
from .samples import PLAN, in_memory

TEST, READ, WRITE = "Run the tests", "Read the parser", "Fix the parser"
POLICIES = [Policy(MANUAL), Policy(AUTO), Policy(JUDGED)]


# policies


def test_manual_completes_and_blocks_nothing(session: Session) -> None:
    running = Running(session, Policy(MANUAL)).begin()
    create(session, TEST, READ)
    assert recorded_on(running.call("read_file")) is None
    running.sets("t1", "in_progress")
    running.next_round()
    running.calls(True, True, True, True, False, False, False)
    todo = session.todos[0]
    assert (todo.status, todo.tool_calls, todo.failed_calls) == (Status.IN_PROGRESS, 7, 3)
    running.sets("t2", "in_progress")
    assert statuses(session) == ["in_progress", "in_progress"]


@pytest.mark.parametrize("tool", ["bash", "write_file"])
def test_under_manual_work_begins_the_next_runnable_item_and_is_recorded_on_it(session: Session, tool: str) -> None:
    running = Running(session, Policy(MANUAL)).begin()
    later: dict[str, object] = {"content": "Then think", "depends_on": ["a"]}
    create(session, later, {"id": "a", "content": "Think"}, {"content": "Think first", "priority": "high"})
    running.next_round()
    for refused in ({"ok": False}, {"ok": False, "denied": True}, {"exit_code": 1}):
        assert recorded_on(running.call(tool, **refused)) is None  # type: ignore[arg-type]
    assert recorded_on(running.call("read_file")) is None
    high = session.todos[2].id
    assert recorded_on(running.call(tool)) == high
    assert statuses(session) == ["pending", "pending", "in_progress"]
    assert recorded_on(running.call("read_file")) == high
    assert session.todo_list.items[high].tool_calls == 2


@pytest.mark.parametrize("by", [None, "earlier run", "TodoWrite", "plan mode"])
def test_under_manual_work_begins_nothing_on_a_list_that_this_runs_model_did_not_touch(
    session: Session, by: str | None
) -> None:
    if by == "earlier run":
        create(session, TEST)
        Running(session).begin().end()
    elif by is None:
        session.set_plan({**PLAN, "steps": [{"id": "step-1", "description": TEST}]})
        session.plan_to_todos()
    running = Running(session, Policy(MANUAL)).begin()
    if by == "TodoWrite":
        session.write([{"content": TEST}], replace=True, actor=MODEL)
    elif by == "plan mode":
        create(session, TEST)
        session.set_plan_mode(True)
    session.add("One more", actor="user")
    running.next_round()
    assert recorded_on(running.call()) is None
    assert set(statuses(session)) == {"pending"}
    if by in (None, "earlier run"):
        session.add("Another", actor=MODEL)
        assert recorded_on(running.call()) == session.todos[0].id


def test_under_manual_what_a_person_set_to_pending_is_not_begun_in_this_run(session: Session) -> None:
    running = Running(session, Policy(MANUAL)).begin()
    create(session, TEST, READ)
    running.sets("t1", "in_progress")
    session.update("t1", status="pending")
    running.next_round()
    assert recorded_on(running.call()) == "t2"
    assert statuses(session) == ["pending", "in_progress"]


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
    assert find_active_todo(session.todo_list.items, None) is None
    session.update("t2", status="in_progress")
    session.update("t1", status="in_progress")
    active = find_active_todo(session.todo_list.items, None)
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


def test_beginning_another_item_completes_the_one_that_the_model_began_and_worked_on(running: Running) -> None:
    create(running.session, TEST, READ)
    running.sets("t1", "in_progress")
    running.next_round()
    running.call("bash")
    running.call("read_file", ok=False)  # of another kind
    running.next_round()
    events = running.sets("t2", "in_progress")
    assert statuses(running.session) == ["completed", "in_progress"]
    assert [event.actor for event in list_changes(events)] == [TRACKER]
    evidence = running.session.todos[0].evidence
    assert evidence is not None
    assert evidence.level is EvidenceLevel.INFERRED


WELL: dict[str, bool] = {}
FAILED: dict[str, bool] = {"ok": False}
DENIED: dict[str, bool] = {"ok": False, "denied": True}


@pytest.mark.parametrize(
    "calls",
    [
        list[tuple[str, dict[str, bool]]](),
        [("bash", FAILED)],
        [("bash", DENIED)],
        [("bash", WELL), ("bash", FAILED)],
        [("bash", WELL), ("bash", DENIED)],
        [("read_file", WELL), ("ls", WELL), ("write_file", WELL)],
    ],
)
def test_beginning_another_item_completes_nothing_without_a_last_success_of_a_matching_kind(
    running: Running, calls: list[tuple[str, dict[str, bool]]]
) -> None:
    create(running.session, TEST, READ)
    running.sets("t1", "in_progress")
    running.next_round()
    for tool, how in calls:
        running.call(tool, **how)  # type: ignore[arg-type]
    running.next_round()
    running.sets("t2", "in_progress")
    assert statuses(running.session) == ["in_progress", "in_progress"]


def test_beginning_another_item_leaves_what_the_tracker_began(running: Running) -> None:
    create(running.session, TEST, READ)
    running.call("bash")
    running.next_round()
    running.sets("t2", "in_progress")
    assert statuses(running.session) == ["in_progress", "in_progress"]


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


@pytest.mark.parametrize("tracking", [AUTO, JUDGED])
@pytest.mark.parametrize(
    ("state", "then"),
    [("pending", "ttt"), ("in_progress", "ttttff"), ("blocked", "ttt"), ("completed", "ff"), ("cancelled", "ttt")],
)
def test_what_a_person_set_stays_for_the_rest_of_the_run_and_no_longer(
    session: Session, tracking: str, state: str, then: str
) -> None:
    running = Running(session, Policy(tracking)).begin()
    create(session, {"content": TEST, "status": "completed" if state == "pending" else "pending"})
    session.update("t1", status=state)
    for outcome in then:
        running.next_round()
        running.call(ok=outcome == "t")
    assert status(session) == state
    running.end()
    if state == "pending":
        Running(session).begin().call()
        assert status(session) is Status.IN_PROGRESS


def test_the_model_may_change_explicitly_what_a_person_set_and_then_the_tracker_goes_on(running: Running) -> None:
    create(running.session, TEST)
    running.session.update("t1", status="cancelled")
    running.next_round()
    running.session.advance(start="t1", actor=MODEL)
    running.todo_call()
    running.next_round()
    running.calls(True, True, True)
    assert status(running.session) is Status.COMPLETED


REWRITES: dict[str, dict[str, object]] = {"TodoWrite": {}, "create_todo_list": {"cause": "create"}}


@pytest.mark.parametrize("rewrite", REWRITES)
@pytest.mark.parametrize(
    ("before", "set_to", "rewritten", "comes_to"),
    [
        ("pending", "completed", "pending", "completed"),
        ("pending", "cancelled", "pending", "cancelled"),
        ("in_progress", "blocked", "in_progress", "blocked"),
        ("in_progress", "cancelled", "pending", "cancelled"),
        ("completed", "pending", "completed", "pending"),
        ("completed", "in_progress", "completed", "in_progress"),
        ("pending", "in_progress", "completed", "completed"),
        ("in_progress", "cancelled", "completed", "completed"),
    ],
)
def test_a_rewrite_that_repeats_an_older_state_leaves_what_a_person_set(
    running: Running, rewrite: str, before: str, set_to: str, rewritten: str, comes_to: str
) -> None:
    session = running.session
    session.write([{"content": "A"}, {"content": "B"}], replace=True, actor=MODEL)
    running.sets("t2", before)
    session.update("t2", status=set_to)
    for _ in range(2):
        running.next_round()
        todos = [{"content": "A", "status": "in_progress"}, {"content": "B", "status": rewritten}, {"content": "C"}]
        written = session.write(todos, replace=True, actor=MODEL, **REWRITES[rewrite])  # type: ignore[arg-type]
        assert written.refused_statuses == ({} if comes_to == rewritten else {"t2": rewritten})
        running.todo_call()
        assert statuses(session) == ["in_progress", comes_to, "pending"]
    written = session.write([{"id": "t2", "status": rewritten}], actor=MODEL)
    assert written.refused_statuses == ({} if comes_to == rewritten else {"t2": rewritten})
    assert status(session, "t2") == comes_to
    running.sets("t2", rewritten)
    assert status(session, "t2") == rewritten


def test_a_rewrite_under_another_id_leaves_what_a_person_set_too(running: Running) -> None:
    session = running.session
    session.write([{"content": "A"}], replace=True, actor=MODEL)
    session.update("t1", status="cancelled")
    for todo_id in ("a", "b"):
        session.write([{"id": todo_id, "content": "A", "status": "pending"}], replace=True, actor=MODEL)
        assert status(session, todo_id) is Status.CANCELLED


def test_a_rewrite_by_a_person_or_in_the_next_run_counts(running: Running) -> None:
    session = running.session
    session.write([{"content": "A"}], replace=True, actor=MODEL)
    session.update("t1", status="cancelled")
    session.write([{"content": "A", "status": "pending"}], replace=True)
    assert status(session) is Status.PENDING
    session.update("t1", status="cancelled")
    running.end()
    Running(session).begin()
    session.write([{"content": "A", "status": "pending"}], replace=True, actor=MODEL)
    assert status(session) is Status.PENDING
