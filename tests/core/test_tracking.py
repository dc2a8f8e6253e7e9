"""What tool calls make of the list: which item they count for, and when it begins, ends, is blocked or left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway import Event, Session, Status
from headway.core.evidence import EvidenceLevel
from headway.core.model import LOOP, MODEL, TRACKER
from headway.core.run_commands import RecordEvents
from headway.core.run_events import ToolStarted
from headway.core.tracking import AUTO, JUDGED, MANUAL, Policy

from .running import Running, create, finished, progress, recorded_on, status, statuses

TEST, READ, WRITE = "Run the tests", "Read the parser", "Fix the parser"
POLICIES = [Policy(MANUAL), Policy(AUTO), Policy(JUDGED)]


# activating


def test_the_first_matching_call_activates_the_item_and_is_recorded_on_it(running: Running) -> None:
    create(running.session, READ, TEST)
    events = running.call("bash")
    assert [event.type for event in events] == ["TodoListUpdated", "ToolFinished", "TodoListItemProgress"]
    assert [event.actor for event in events] == [TRACKER, LOOP, LOOP]
    assert recorded_on(events) == "t2"
    told = progress(events)[0]
    assert (told.item_id, told.status, told.tool_calls_count, told.round) == ("t2", Status.IN_PROGRESS, 1, 1)
    assert (told.tool, told.ok) == ("bash", True)
    assert statuses(running.session) == ["pending", "in_progress"]
    assert running.session.todo_list.items["t2"].tool_calls == 1


def test_a_first_call_that_fails_is_recorded_too(running: Running) -> None:
    create(running.session, TEST)
    running.call(ok=False)
    todo = running.session.todos[0]
    assert (todo.status, todo.tool_calls, todo.failed_calls) == (Status.IN_PROGRESS, 1, 1)


def test_a_call_that_matches_nothing_activates_nothing(running: Running) -> None:
    create(running.session, "Think about it")
    events = running.call("bash")
    assert [event.type for event in events] == ["ToolFinished"]
    assert (recorded_on(events), status(running.session)) == (None, Status.PENDING)
    assert running.run.tool_calls == 1


def test_the_first_item_of_the_list_that_matches_is_activated(running: Running) -> None:
    create(running.session, "Think", TEST, {"content": "Run them again", "priority": "high"})
    running.call("bash")
    assert statuses(running.session) == ["pending", "in_progress", "pending"]


def test_once_an_item_is_active_calls_of_any_kind_are_recorded_on_it(running: Running) -> None:
    create(running.session, TEST, READ)
    running.call("bash")
    assert recorded_on(running.call("read_file")) == "t1"
    assert statuses(running.session) == ["in_progress", "pending"]


@pytest.mark.parametrize("done", ["pending", "in_progress", "blocked", "cancelled"])
def test_an_item_whose_dependency_is_not_done_is_not_activated(running: Running, done: str) -> None:
    create(running.session, {"id": "a", "content": "Think"}, {"id": "b", "content": TEST, "depends_on": ["a"]})
    running.session.update("a", status=done)
    running.next_round()
    running.call("bash")
    assert status(running.session, "b") is Status.PENDING
    running.session.update("a", status="completed")
    running.next_round()
    assert recorded_on(running.call("bash")) == "b"
    assert status(running.session, "b") is Status.IN_PROGRESS


@pytest.mark.parametrize("state", ["completed", "cancelled", "blocked"])
def test_an_item_that_someone_finished_or_blocked_is_not_activated(running: Running, state: str) -> None:
    create(running.session, TEST)
    running.session.update("t1", status=state)
    running.next_round()
    assert recorded_on(running.call("bash")) is None
    assert status(running.session) == state


def test_an_interrupted_item_is_taken_up_again(running: Running) -> None:
    create(running.session, TEST)
    running.call("bash")
    running.end("cancelled")
    again = Running(running.session).begin()
    again.call("bash")
    todo = again.session.todos[0]
    assert (todo.status, todo.interrupted, todo.tool_calls) == (Status.IN_PROGRESS, False, 2)


def test_a_list_made_in_the_middle_of_a_run_is_tracked_at_once(running: Running) -> None:
    assert recorded_on(running.call("bash")) is None
    create(running.session, TEST)
    running.todo_call()
    assert recorded_on(running.call("bash")) == "t1"
    running.calls(True, True)
    assert status(running.session) is Status.COMPLETED


def test_a_list_made_anew_with_items_of_the_old_one_is_tracked_at_once(running: Running) -> None:
    create(running.session, TEST)
    running.calls(True, True, True)
    running.next_round()
    create(running.session, TEST, READ)
    running.todo_call()
    assert recorded_on(running.call("bash")) == "t1"


# completing


@pytest.mark.parametrize("needed", [1, 2, 3, 5])
def test_so_many_successes_complete_an_item_and_one_fewer_does_not(session: Session, needed: int) -> None:
    running = Running(session, Policy(complete_after=needed)).begin()
    create(session, TEST)
    for _ in range(needed - 1):
        running.call()
        assert status(session) is Status.IN_PROGRESS
    events = running.call()
    todo = session.todos[0]
    assert (todo.status, todo.tool_calls) == (Status.COMPLETED, needed)
    assert todo.evidence is not None
    assert todo.evidence.level is EvidenceLevel.INFERRED
    assert [(told.status, told.tool_calls_count) for told in progress(events)] == [(Status.COMPLETED, needed)]
    assert events[-1].type == "TodoListItemProgress"


@pytest.mark.parametrize(
    ("item", "tool", "completes"),
    [
        ("Delete the temp file", "read_file", False),
        ("Write the tests", "ls", False),
        ("Write the tests", "bash", False),
        (TEST, "read_file", False),
        ("Fix what bash prints", "bash", False),
        ("Delete the temp file", "write_file", True),
        ("Read what the tests print", "ls", True),
    ],
)
def test_only_calls_of_a_matching_kind_complete_an_item(
    running: Running, item: str, tool: str, completes: bool
) -> None:
    create(running.session, item)
    running.sets("t1", "in_progress")
    running.next_round()
    for _ in range(9):
        running.call(tool)
    assert status(running.session) is (Status.COMPLETED if completes else Status.IN_PROGRESS)
    assert running.session.todos[0].tool_calls >= 3


def test_calls_of_other_kinds_do_not_count(running: Running) -> None:
    create(running.session, TEST)
    running.call()
    for _ in range(5):
        running.call("read_file")
    running.call()
    assert status(running.session) is Status.IN_PROGRESS
    running.call()
    assert status(running.session) is Status.COMPLETED


def test_commands_that_only_read_do_not_complete_what_is_to_be_run(running: Running) -> None:
    create(running.session, TEST, "Look at the log")
    running.sets("t1", "in_progress")
    running.next_round()
    for _ in range(4):
        running.finish(replace(finished(2, "bash", True, exit_code=0), command="ls", command_kind="reads"))
    assert status(running.session) is Status.IN_PROGRESS
    running.sets("t1", "cancelled")
    running.sets("t2", "in_progress")
    running.next_round()
    for _ in range(3):
        running.finish(replace(finished(3, "bash", True, exit_code=0), command="cat a", command_kind="reads"))
    assert status(running.session, "t2") is Status.COMPLETED


def test_an_item_whose_last_matching_call_failed_is_not_completed_by_one_of_another_kind(running: Running) -> None:
    create(running.session, TEST)
    running.sets("t1", "in_progress")
    running.calls(True, True, True, False)  # in this round the state is the model's
    running.next_round()
    running.call("read_file")
    assert status(running.session) is Status.IN_PROGRESS
    running.call()
    assert status(running.session) is Status.COMPLETED


def test_failures_in_between_do_not_count_against_completing(running: Running) -> None:
    create(running.session, TEST)
    running.calls(True, False, True, False, True)
    todo = running.session.todos[0]
    assert (todo.status, todo.tool_calls, todo.failed_calls) == (Status.COMPLETED, 5, 2)


def test_after_an_item_is_completed_the_next_call_goes_to_the_next_one(running: Running) -> None:
    create(running.session, TEST, "Run the linter")
    running.calls(True, True, True)
    assert recorded_on(running.call()) == "t2"
    assert statuses(running.session) == ["completed", "in_progress"]
    assert [todo.tool_calls for todo in running.session.todos] == [3, 1]


def test_an_item_that_is_opened_again_is_counted_anew(running: Running) -> None:
    create(running.session, TEST)
    running.calls(True, True)
    running.sets("t1", "pending")
    running.next_round()
    running.calls(True, True)
    assert status(running.session) is Status.IN_PROGRESS
    running.call()
    assert status(running.session) is Status.COMPLETED


def test_counts_go_on_in_the_next_run(running: Running) -> None:
    create(running.session, TEST)
    running.calls(True, True)
    running.end("max_rounds")
    again = Running(running.session).begin()
    again.call()
    assert status(running.session) is Status.COMPLETED


def test_a_list_made_anew_begins_its_counts_anew(running: Running) -> None:
    create(running.session, TEST)
    running.calls(True, True)
    running.end("max_rounds")
    again = Running(running.session).begin()
    create(running.session, TEST, "Run the linter")
    again.call()
    assert status(running.session) is Status.IN_PROGRESS


@pytest.mark.parametrize(
    ("known", "level"), [("verified", "verified"), ("command_ok", "inferred"), ("reported", "inferred")]
)
def test_evidence_of_a_check_is_kept_and_what_is_less_is_only_inferred(
    running: Running, known: str, level: str
) -> None:
    create(running.session, TEST)
    running.call()
    running.session.update("t1", evidence={"level": known, "command": "make test", "seconds": 1})
    running.calls(True, True)
    todo = running.session.todos[0]
    assert todo.status is Status.COMPLETED
    assert todo.evidence is not None
    assert todo.evidence.level == level


@pytest.mark.parametrize("how", ["update", "advance", "rewrite"])
def test_the_model_can_confirm_what_was_only_inferred_or_take_it_back(running: Running, how: str) -> None:
    session = running.session
    create(session, TEST, READ)
    running.calls(True, True, True)
    running.next_round()
    match how:
        case "update":
            session.update("t1", actor=MODEL, status="completed")
        case "advance":
            session.advance(done=["t1"], actor=MODEL)
        case _:
            session.write([{"content": TEST, "status": "completed"}, {"content": READ}], replace=True, actor=MODEL)
    evidence = session.todos[0].evidence
    assert evidence is not None and evidence.level is EvidenceLevel.REPORTED
    session.undo()
    running.sets("t1", "pending")
    assert (session.todos[0].status, session.todos[0].evidence) == (Status.PENDING, None)


# blocking


@pytest.mark.parametrize("needed", [1, 2, 4])
def test_so_many_failures_in_a_row_block_an_item_and_one_fewer_does_not(session: Session, needed: int) -> None:
    running = Running(session, Policy(block_after=needed)).begin()
    create(session, TEST)
    for _ in range(needed - 1):
        running.call(ok=False)
        assert status(session) is Status.IN_PROGRESS
    events = running.call(ok=False)
    todo = session.todos[0]
    assert (todo.status, todo.failed_calls) == (Status.BLOCKED, needed)
    assert todo.notes is not None
    assert "bash" in todo.notes
    assert progress(events)[0].status == Status.BLOCKED


def test_a_success_in_between_begins_the_row_anew(running: Running) -> None:
    create(running.session, TEST)
    running.calls(False, True, False)
    assert status(running.session) is Status.IN_PROGRESS
    running.call(ok=False)
    assert status(running.session) is Status.BLOCKED


def test_a_note_that_is_there_is_kept_when_the_item_is_blocked(running: Running) -> None:
    create(running.session, {"content": TEST, "notes": "with coverage"})
    running.calls(False, False)
    assert running.session.todos[0].notes == "with coverage"


def test_a_success_puts_a_blocked_item_back_in_progress_and_failures_block_it_again(running: Running) -> None:
    create(running.session, TEST)
    running.calls(False, False)
    assert recorded_on(running.call()) == "t1"
    assert status(running.session) is Status.IN_PROGRESS
    running.call(ok=False)
    assert status(running.session) is Status.IN_PROGRESS
    running.call(ok=False)
    assert status(running.session) is Status.BLOCKED


def test_a_blocked_item_stays_active_however_often_calls_fail(running: Running) -> None:
    create(running.session, TEST, "Run the linter")
    running.calls(False, False, False, False)
    assert statuses(running.session) == ["blocked", "pending"]
    todo = running.session.todos[0]
    assert (todo.tool_calls, todo.failed_calls) == (4, 4)


def test_a_success_clears_the_note_with_which_the_tracker_blocked_an_item(running: Running) -> None:
    create(running.session, TEST)
    running.calls(False, False)
    assert running.session.todos[0].notes
    running.call("read_file")
    assert (status(running.session), running.session.todos[0].notes) == (Status.IN_PROGRESS, None)
    running.calls(False, False)
    assert running.session.todos[0].notes


def test_a_success_leaves_a_note_that_someone_wrote_over_the_trackers(running: Running) -> None:
    create(running.session, TEST)
    running.calls(False, False)
    running.session.update("t1", notes="Wait for the network")
    running.call()
    assert (status(running.session), running.session.todos[0].notes) == (Status.IN_PROGRESS, "Wait for the network")


@pytest.mark.parametrize("in_run", [True, False])
@pytest.mark.parametrize("actor", [MODEL, None])
def test_the_trackers_note_goes_with_its_state_whoever_sets_another_one(
    running: Running, actor: str | None, in_run: bool
) -> None:
    create(running.session, TEST)
    running.calls(False, False)
    if not in_run:
        running.end()
    running.session.update("t1", actor=actor, status="completed")
    assert running.session.todos[0].notes is None
    running.session.undo()
    assert running.session.todos[0].notes


def test_an_item_that_the_model_blocked_is_not_unblocked_by_a_success(running: Running) -> None:
    create(running.session, TEST)
    running.sets("t1", "blocked")
    running.next_round()
    assert recorded_on(running.call()) is None
    assert status(running.session) is Status.BLOCKED


def test_an_item_that_the_tracker_blocked_and_a_person_blocked_again_is_the_persons(running: Running) -> None:
    create(running.session, TEST)
    running.calls(False, False)
    running.session.update("t1", status="pending")
    running.session.update("t1", status="blocked")
    running.next_round()
    running.call()
    assert status(running.session) is Status.BLOCKED


def test_of_two_items_that_the_tracker_blocked_the_last_one_stays_active(running: Running) -> None:
    create(running.session, TEST, "Run the linter")
    running.calls(False, False)
    running.next_round()
    running.sets("t2", "in_progress")
    running.next_round()
    running.calls(False, False)
    assert statuses(running.session) == ["blocked", "blocked"]
    assert recorded_on(running.call()) == "t2"
    assert statuses(running.session) == ["blocked", "in_progress"]


def test_a_blocked_item_stays_active_beside_one_that_a_person_has_in_progress(running: Running) -> None:
    create(running.session, TEST, READ)
    running.session.update("t2", status="in_progress")
    running.next_round()
    running.sets("t1", "in_progress")
    running.next_round()
    running.calls(False, False)
    assert statuses(running.session) == ["blocked", "in_progress"]
    assert recorded_on(running.call()) == "t1"
    assert statuses(running.session) == ["in_progress", "in_progress"]


def test_a_blocked_item_that_is_given_to_a_worker_is_left_alone(running: Running) -> None:
    create(running.session, TEST)
    running.calls(False, False)
    running.session.update("t1", owner="ada")
    running.call()
    assert status(running.session) is Status.BLOCKED


# success and failure


@pytest.mark.parametrize("code", [1, 2, 127, -9])
def test_a_command_with_another_exit_code_than_0_failed(running: Running, code: int) -> None:
    create(running.session, TEST)
    running.call(exit_code=code)
    events = running.call(exit_code=code)
    assert status(running.session) is Status.BLOCKED
    assert [told.ok for told in progress(events)] == [False]
    assert running.session.todos[0].failed_calls == 2


@pytest.mark.parametrize(("ok", "code", "good"), [(True, 0, True), (True, None, True), (False, 0, False)])
def test_a_call_succeeds_when_the_tool_says_so(running: Running, ok: bool, code: int | None, good: bool) -> None:
    create(running.session, TEST)
    for _ in range(3):
        running.call(ok=ok, exit_code=code)
    assert status(running.session) is (Status.COMPLETED if good else Status.BLOCKED)


def test_denied_calls_are_recorded_but_neither_succeed_nor_fail(running: Running) -> None:
    create(running.session, TEST)
    for _ in range(3):
        assert progress(running.call(ok=False, denied=True))[0].denied
    running.call(ok=False)
    for _ in range(3):
        running.call(ok=False, denied=True)
    todo = running.session.todos[0]
    assert (todo.status, todo.tool_calls, todo.failed_calls) == (Status.IN_PROGRESS, 7, 1)
    running.call(ok=False)  # still the second in a row
    assert status(running.session) is Status.BLOCKED
    running.call(ok=False, denied=True)
    assert status(running.session) is Status.BLOCKED


def test_calls_of_todo_tools_are_recorded_on_no_item(running: Running) -> None:
    create(running.session, TEST)
    running.sets("t1", "in_progress")
    events = running.todo_call()
    assert [event.type for event in events] == ["ToolFinished"]
    assert recorded_on(events) is None
    assert (running.session.todos[0].tool_calls, running.run.tool_calls) == (0, 0)


# calls that begin


def begins(running: Running, effect: str | None, *, tool: str = "bash", policy: Policy | None = None) -> list[Event]:
    begun = ToolStarted(round=running.run.round, call_id="call-0", tool=tool, summary=tool, effect=effect)
    return running.session.log.execute(
        lambda state: RecordEvents(running.agent, LOOP, running.clock(), running.id, [begun], policy)
    )[0]


def test_a_call_that_begins_activates_its_item_and_counts_when_it_is_over(running: Running) -> None:
    create(running.session, READ, TEST, "Run the linter")
    events = begins(running, "execute", policy=Policy())
    assert [(event.type, event.actor) for event in events] == [("ToolStarted", LOOP), ("TodoListUpdated", TRACKER)]
    assert statuses(running.session) == ["pending", "in_progress", "pending"]
    assert running.session.todo_list.items["t2"].tool_calls == 0
    begins(running, "execute", policy=Policy())
    assert recorded_on(running.call()) == "t2"
    assert statuses(running.session) == ["pending", "in_progress", "pending"]
    assert running.session.todo_list.items["t2"].tool_calls == 1


@pytest.mark.parametrize(
    ("tool", "effect", "policy"),
    [
        ("bash", "execute", None),
        ("bash", "execute", Policy(MANUAL)),
        ("bash", None, Policy()),
        ("update_todo_item", "todo", Policy()),
        ("web_search", "network", Policy()),
    ],
)
def test_a_call_that_is_no_work_on_an_item_activates_none_when_it_begins(
    running: Running, tool: str, effect: str | None, policy: Policy | None
) -> None:
    create(running.session, TEST, "Update the docs")
    assert [event.type for event in begins(running, effect, tool=tool, policy=policy)] == ["ToolStarted"]
    assert statuses(running.session) == ["pending", "pending"]


def test_a_call_that_begins_in_plan_mode_or_on_a_list_of_the_models_own_activates_nothing(running: Running) -> None:
    create(running.session, TEST)
    running.session.set_plan_mode(True)
    begins(running, "execute", policy=Policy())
    running.session.set_plan_mode(False)
    running.session.write([{"content": TEST}, {"content": READ}], replace=True, actor=MODEL)
    begins(running, "execute", policy=Policy())
    assert statuses(running.session) == ["pending", "pending"]
