"""An agent's runs in the log: one at a time, asked and answered from outside, ended however they end."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headway import HeadwayError, NoRun, RunRefused, Session, Status
from headway.core import commands
from headway.core.codec import read_state, write_state
from headway.core.decide import decide
from headway.core.events import RunData
from headway.core.evolve import fold
from headway.core.log import run_lease_key
from headway.core.model import LOOP, MODEL, PERSON, State
from headway.core.run_commands import ControlRun, EndRun, FinishTool, RecordEvents, StartRun
from headway.core.run_events import (
    ApprovalAsked,
    ConversationCompacted,
    MessageAdded,
    RoundStarted,
    RunControlRequested,
    RunFinished,
    RunStarted,
    TodoListContextInjected,
    TodoListItemProgress,
    ToolFinished,
)
from headway.core.tracking import Policy, is_done
from headway.store.sqlite import SqliteStore

from .running import Running, create, finished, list_changes, recorded_on, status, statuses
from .samples import Clock, Ticking, in_memory

AT = "2025-01-02T03:04:05.000Z"
TEST, READ = "Run the tests", "Read the parser"
QUESTION = ApprovalAsked(
    question_id="q1", tool="bash", effect="execute", line="make test", command="make test", call_id="call-1"
)


def over_file(folder: Path, name: str = "default") -> Session:
    return SqliteStore(str(folder / ".headway" / "headway.db")).session(name, clock=Ticking())


def unchanged(session: Session, attempt: Callable[[], object], error: type[HeadwayError]) -> str:
    """What a refusal says; it must leave no trace."""
    before = session.version
    with pytest.raises(error) as caught:
        attempt()
    assert session.version == before
    return str(caught.value)


# beginning


def test_a_run_begins_with_its_first_facts_in_their_order(session: Session) -> None:
    start = RunStarted(run_id="r1", task="Do it", model="scripted", max_rounds=7, holder="someone")
    session.store.hold_lease("test", run_lease_key("main"), "someone", 600)
    events, _ = session.log.execute(
        lambda state: StartRun(
            "main", LOOP, AT, start, [MessageAdded(message={"n": 1}), MessageAdded(message={"n": 2})]
        )
    )
    assert [(event.version, event.type) for event in events] == [
        (1, "RunStarted"),
        (2, "MessageAdded"),
        (3, "MessageAdded"),
    ]
    assert [event.data for event in session.events()] == [
        start,
        MessageAdded(message={"n": 1}),
        MessageAdded(message={"n": 2}),
    ]
    run = session.run
    assert run is not None
    assert (run.id, run.model, run.holder, run.started_at) == ("r1", "scripted", "someone", AT)
    assert (run.round, run.max_rounds, run.is_active, run.reason) == (0, 7, True, None)


def test_a_second_run_is_refused_while_one_goes_on_and_told_who_has_it(running: Running) -> None:
    start = RunStarted(run_id="other", task="Do it", model="scripted", max_rounds=5, holder="someone else")
    said = unchanged(
        running.session,
        lambda: running.session.log.execute(lambda state: StartRun("main", LOOP, AT, start)),
        RunRefused,
    )
    assert running.id in said
    assert running.run.id == running.id
    running.end()
    assert Running(running.session).begin().run.is_active


def test_runs_of_different_agents_are_apart(running: Running) -> None:
    sub = running.session.agent("sub-1")
    assert sub.run is None
    theirs = Running(sub).begin(rounds=3)
    sub.pause_run()
    assert (theirs.run.round, theirs.run.paused) == (3, True)
    assert (running.run.round, running.run.paused) == (1, False)
    running.end()
    assert (running.run.is_active, theirs.run.is_active) == (False, True)
    with pytest.raises(NoRun):
        running.session.stop_run()
    sub.stop_run()
    assert theirs.run.stopping


def test_a_new_run_has_nothing_of_what_was_asked_of_the_one_before(running: Running) -> None:
    running.session.pause_run()
    running.session.stop_run()
    running.record(QUESTION)
    running.end("cancelled")
    run = Running(running.session).begin(rounds=0).run
    assert (run.round, run.tool_calls, run.paused, run.stopping, run.reason) == (0, 0, False, False, None)
    assert (run.questions, run.started, run.forced) == ({}, (), frozenset())


# whose run it is


def _of_run(session: Session, run_id: str) -> list[Callable[[], object]]:
    def sent(change: commands.Command) -> Callable[[], object]:
        return lambda: session.log.execute(lambda state: change)

    call = finished(1, "bash", True)
    return [
        sent(RecordEvents("main", LOOP, AT, run_id, [RoundStarted(run_id=run_id, round=2, max_rounds=50)])),
        sent(FinishTool("main", LOOP, AT, run_id, call, Policy())),
        sent(EndRun("main", LOOP, AT, run_id, "finished")),
    ]


def test_nothing_is_recorded_for_a_run_that_is_not_the_one_that_goes_on(running: Running) -> None:
    create(running.session, TEST)
    for attempt in _of_run(running.session, "another"):
        assert "over" in unchanged(running.session, attempt, RunRefused)
    assert running.run.is_active
    running.end()
    for attempt in _of_run(running.session, running.id):
        unchanged(running.session, attempt, RunRefused)
    Running(running.session).begin()
    for attempt in _of_run(running.session, running.id):
        unchanged(running.session, attempt, RunRefused)


def test_nothing_is_recorded_where_there_was_no_run(session: Session) -> None:
    for attempt in _of_run(session, "r1"):
        unchanged(session, attempt, RunRefused)
    assert session.run is None


# ending


def test_what_a_run_left_in_progress_is_pending_and_marked(running: Running) -> None:
    create(running.session, TEST, READ, "A", "B", "C")
    for todo_id, state in (("t2", "in_progress"), ("t3", "completed"), ("t4", "blocked"), ("t5", "cancelled")):
        running.session.update(todo_id, status=state)
    running.session.update("t1", actor=MODEL, status="in_progress")
    events = running.end("cancelled", "why")
    assert [(event.type, event.actor) for event in events] == [("TodoListUpdated", LOOP), ("RunFinished", LOOP)]
    assert events[-1].data == RunFinished(run_id=running.id, reason="cancelled", rounds=1, tool_calls=0, error="why")
    assert statuses(running.session) == ["pending", "pending", "completed", "blocked", "cancelled"]
    assert [todo.interrupted for todo in running.session.todos] == [True, True, False, False, False]
    assert running.session.updated_at == events[0].at
    assert (running.run.reason, running.run.started) == ("cancelled", ())


def test_a_run_that_left_nothing_in_progress_changes_no_list(running: Running) -> None:
    create(running.session, TEST)
    running.calls(True, True, True)
    running.next_round()
    events = running.end()
    assert [event.data for event in events] == [
        RunFinished(run_id=running.id, reason="finished", rounds=2, tool_calls=3)
    ]
    assert [todo.interrupted for todo in running.session.todos] == [False]


def test_what_a_worker_has_claimed_stays_the_workers_when_a_run_ends(running: Running) -> None:
    create(running.session, "A", "B")
    running.session.claim("ada")
    running.session.claim(MODEL)
    running.end()
    first, second = running.session.todos
    assert (first.status, first.owner, first.interrupted) == (Status.IN_PROGRESS, "ada", False)
    assert (second.status, second.owner, second.interrupted) == (Status.PENDING, None, True)


def test_the_end_of_a_run_touches_only_the_list_of_its_agent(running: Running) -> None:
    sub = running.session.agent("sub-1")
    create(sub, "of the sub-agent")
    sub.update("t1", actor=MODEL, status="in_progress")
    running.end()
    assert status(sub) is Status.IN_PROGRESS


def test_undo_after_a_run_leaves_nothing_in_progress(running: Running) -> None:
    create(running.session, TEST)
    running.call()
    running.end()
    while running.session.todos:
        assert all(todo.status is not Status.IN_PROGRESS for todo in running.session.undo())


# what people ask of it


def test_without_a_run_there_is_nothing_to_ask(session: Session) -> None:
    for asked in (session.stop_run, session.pause_run, session.resume_run, lambda: session.answer("q1", "once")):
        assert "start one" in unchanged(session, asked, NoRun)
    running = Running(session).begin()
    running.end()
    for asked in (session.stop_run, session.pause_run, session.resume_run, lambda: session.answer("q1", "once")):
        unchanged(session, asked, NoRun)


def test_a_request_that_is_already_met_is_no_event(running: Running) -> None:
    session = running.session
    made: list[int] = []
    for asked in (session.resume_run, session.pause_run, session.pause_run, session.resume_run, session.resume_run):
        before = session.version
        asked()
        made.append(session.version - before)
    assert made == [0, 1, 0, 1, 0]
    session.stop_run()
    session.stop_run()
    requests = [event for event in session.events() if isinstance(event.data, RunControlRequested)]
    assert [event.data for event in requests] == [
        RunControlRequested(request=name) for name in ("pause", "resume", "stop")
    ]
    assert {event.actor for event in requests} == {PERSON}


def test_a_request_outlives_the_round_in_which_it_was_made(running: Running) -> None:
    running.session.pause_run()
    running.session.stop_run(actor="ada")
    running.next_round()
    assert (running.run.paused, running.run.stopping) == (True, True)


def test_what_cannot_be_asked_of_a_run_is_refused(running: Running) -> None:
    said = unchanged(
        running.session,
        lambda: running.session.log.execute(lambda state: ControlRun("main", PERSON, AT, "explode")),
        HeadwayError,
    )
    assert "explode" in said
    assert "stop, pause, resume" in said


def test_the_first_answer_counts_and_whoever_comes_later_gets_it(running: Running) -> None:
    running.record(QUESTION)
    assert running.run.questions == {"q1": (QUESTION, None)}
    first = running.session.answer("q1", "no", "not now", actor="ada")
    version = running.session.version
    assert running.session.answer("q1", "always") == first
    assert running.session.version == version
    assert (first.reply, first.reason) == ("no", "not now")
    assert running.run.questions["q1"] == (QUESTION, first)
    assert [event.actor for event in running.session.events() if event.type == "ApprovalAnswered"] == ["ada"]


def test_an_answer_needs_a_question_that_is_open_and_a_reply_that_is_one(running: Running) -> None:
    session = running.session
    running.record(QUESTION)
    assert "q7" in unchanged(session, lambda: session.answer("q7", "once"), HeadwayError)
    said = unchanged(session, lambda: session.answer("q1", "yes please"), HeadwayError)
    assert "once, always, offline, no" in said
    running.next_round()  # its call is over, and with it the question
    unchanged(session, lambda: session.answer("q1", "once"), HeadwayError)


def test_answers_of_one_question_leave_the_others_open(running: Running) -> None:
    other = replace(QUESTION, question_id="q2")
    running.record(QUESTION, other)
    answer = running.session.answer("q2", "once")
    assert running.run.questions == {"q1": (QUESTION, None), "q2": (other, answer)}


@pytest.mark.parametrize(
    "reason",
    [
        "because\n\tof this",
        "因为",
        "\x00",
        "half \ud83d of a face",
    ],
)
def test_any_reason_can_be_given_with_an_answer(tmp_path: Path, reason: str) -> None:
    session = over_file(tmp_path)
    running = Running(session).begin()
    running.record(QUESTION)
    try:
        answer = session.answer("q1", "no", reason)
        assert answer.reason.startswith(reason[:5])
        again = over_file(tmp_path)
        assert again.run == session.run
        again.close()
    finally:
        session.close()


# what is kept of it


def _eventful(session: Session) -> Running:
    """A run with something in each of its fields."""
    create(session, TEST, READ, "Run the linter", "Think")
    running = Running(session).begin()
    running.call()
    running.call("read_file", ok=False)
    running.call("read_file", ok=False)
    running.sets("t2", "in_progress")
    running.next_round()
    running.call("read_file")
    running.sets("t4", "in_progress")
    session.update("t3", status="blocked")
    running.record(
        QUESTION,
        replace(QUESTION, question_id="q2", diff="+ a\n- b", host="example.org"),
        TodoListContextInjected(total_items=4, active_item="t4", round=2, finished=True),
        ConversationCompacted(message={"kind": "request"}, kept_from=3),
    )
    session.update("t2", status="cancelled", actor="worker-1")
    session.answer("q2", "always", "why not")
    session.pause_run()
    session.stop_run()
    return running


def test_a_run_survives_being_written_down(session: Session) -> None:
    running = _eventful(session)
    run = running.run
    assert all((run.tracks, run.questions, run.forced, run.started, run.finished_shown, run.tool_calls))
    assert all((run.started_by_model, run.set_by_user, run.list_changed, run.shown_statuses))
    assert any(track.blocked and track.note for track in run.tracks.values())
    assert any(track.matching_ok for track in run.tracks.values())
    assert session.state.conversations == {"main": (session.state.conversations["main"][0], 3)}
    read = read_state(write_state(session.state))
    assert read == session.state
    assert read is not None
    assert list(read.runs["main"].tracks) == list(run.tracks)
    assert list(read.runs["main"].questions) == ["q1", "q2"]
    running.end("error", "why")
    assert read_state(write_state(session.state)) == session.state


def test_a_snapshot_from_before_kinds_and_people_counted_still_loads(session: Session) -> None:
    run = _eventful(session).run
    record = json.loads(write_state(session.state))
    old = record["runs"]["main"]
    for name in ("started_by_model", "set_by_user", "list_changed", "shown_statuses"):
        del old[name]
    old["changed_by"] = "model"
    old["tracks"] = {todo_id: track[:5] for todo_id, track in old["tracks"].items()}
    old["work"][0] = old["work"][0][:5]
    read = read_state(json.dumps(record))
    assert read is not None
    again = read.runs["main"]
    assert (again.started, again.forced, again.tool_calls) == (run.started, run.forced, run.tool_calls)
    assert (again.set_by_user, again.list_changed) == ({}, False)
    assert [track.successes for track in again.tracks.values()] == [track.successes for track in run.tracks.values()]
    assert not any(track.matching_ok or track.note for track in again.tracks.values())


def test_in_an_old_log_every_success_counts_as_it_did(session: Session) -> None:
    running = Running(session).begin()
    create(session, TEST)
    running.sets("t1", "in_progress")
    for ok in (True, True, False):
        running.record(
            TodoListItemProgress(
                item_id="t1", status=Status.IN_PROGRESS, tool_calls_count=1, round=1, tool="read_file", ok=ok
            )
        )
    track = running.run.tracks["t1"]
    assert (track.successes, track.failures, track.matching_ok) == (2, 1, False)


def test_a_run_goes_on_from_a_snapshot_as_if_nothing_had_been(tmp_path: Path) -> None:
    session = over_file(tmp_path)
    running = _eventful(session)
    while session.version < 110:
        running.record(MessageAdded(message={"n": session.version}))
    snapshot = session.store.snapshot("default")
    assert snapshot is not None
    kept = read_state(snapshot.text)
    assert kept is not None
    assert (kept.version, list(kept.runs["main"].questions)) == (100, ["q1", "q2"])
    again = over_file(tmp_path)
    assert again.state == session.state == fold(State(), session.events())
    again.store.close()
    session.close()


def test_tracking_goes_on_where_it_was_when_the_session_is_opened_again(tmp_path: Path) -> None:
    session = over_file(tmp_path)
    running = Running(session).begin()
    create(session, TEST)
    running.calls(True, True)
    session.close()
    running.session = over_file(tmp_path)
    events = running.call()
    assert status(running.session) is Status.COMPLETED
    assert len(list_changes(events)) == 1
    running.session.close()


OLD_SNAPSHOT = {
    "format": 1,
    "version": 2,
    "lists": {
        "main": {
            "items": [
                {
                    "id": "t1",
                    "content": "A",
                    "active_form": None,
                    "status": "in_progress",
                    "created_at": AT,
                    "notes": "n",
                }
            ],
            "title": "Agent Tasks",
            "summary": None,
            "created_at": AT,
            "updated_at": AT,
            "next_number": 2,
            "undo": 2,
            "redo": 0,
            "workers": ["ada"],
            "kept_by_loop": True,
        }
    },
    "plan": None,
    "plan_mode": True,
    "completion_log": None,
    "weight": 5,
}


def test_a_snapshot_from_before_there_were_runs_is_read() -> None:
    state = read_state(json.dumps(OLD_SNAPSHOT))
    assert state is not None
    assert (state.version, state.plan_mode, state.weight) == (2, True, 5)
    assert (state.runs, state.conversations) == ({}, {})
    todos = state.list_of("main")
    assert (todos.items["t1"].notes, todos.kept_by_loop, todos.workers) == ("n", True, frozenset({"ada"}))
    start = StartRun(
        "main", LOOP, AT, RunStarted(run_id="r1", task="Do it", model="scripted", max_rounds=5, holder="someone")
    )
    assert [event.version for event in decide(state, start)] == [3]


def test_versions_go_on_when_a_session_is_opened_again(tmp_path: Path) -> None:
    versions: list[int] = []
    for number in range(3):
        session = over_file(tmp_path)
        heard: list[int] = []
        session.subscribe(lambda event, heard=heard: heard.append(event.version))
        running = Running(session).begin()
        create(session, TEST, f"item {number}")
        running.calls(True, True)
        running.end()
        assert heard
        versions += heard
        session.close()
    assert versions == list(range(1, len(versions) + 1))


def test_a_fact_that_nobody_asked_for_changes_nothing_else(running: Running) -> None:
    facts: list[RunData] = [
        MessageAdded(message={"n": 1}),
        TodoListContextInjected(total_items=0, active_item=None, round=1),
    ]
    before = running.run
    running.record(*facts)
    assert running.run == before


# what is kept of its calls


def test_updated_at_moves_with_a_state_and_not_with_a_mere_record() -> None:
    clock = Clock()
    session = in_memory(clock)
    running = Running(session, clock=clock).begin()
    create(session, TEST)
    moved: list[bool] = []
    for ok in (True, True, False, False, True):
        before, at = session.updated_at, clock.forward(1)
        running.call(ok=ok)
        moved.append(session.updated_at != before)
        assert session.updated_at in (before, at)
    assert moved == [True, False, False, True, True]
    todo = session.todos[0]
    assert (todo.status, todo.completed_at) == (Status.COMPLETED, clock.at)
    assert todo.started_at is not None
    assert todo.started_at < clock.at


def test_rounds_of_beginning_and_end_are_counted_from_1(running: Running) -> None:
    create(running.session, TEST, READ)
    running.calls(True, True)
    running.next_round()
    running.next_round()
    running.call()
    running.sets("t2", "in_progress")
    running.session.add("done already", status="completed", actor=MODEL)
    rounds = [(todo.started_at_round, todo.completed_at_round) for todo in running.session.todos]
    assert rounds == [(1, 3), (3, None), (None, 3)]


def test_the_first_beginning_of_an_item_is_the_one_that_is_kept(running: Running) -> None:
    create(running.session, TEST)
    running.call()
    first = running.session.todos[0]
    for state in ("pending", "in_progress", "completed", "in_progress", "completed"):
        running.next_round()
        running.sets("t1", state)
    todo = running.session.todos[0]
    assert (todo.started_at, todo.started_at_round) == (first.started_at, 1)
    assert todo.completed_at_round == running.run.round == 6


def test_before_its_first_round_a_run_gives_no_item_a_round_0(session: Session) -> None:
    create(session, TEST)
    Running(session).begin(rounds=0)
    todo = session.update("t1", status="in_progress")
    assert todo.started_at_round in (None, 1)


def test_without_a_run_items_have_no_rounds(running: Running) -> None:
    create(running.session, TEST)
    running.end()
    running.session.update("t1", status="in_progress")
    running.session.update("t1", status="completed")
    todo = running.session.todos[0]
    assert (todo.started_at_round, todo.completed_at_round) == (None, None)


def test_what_the_tracker_did_can_be_undone_and_stays_undone_in_that_round(running: Running) -> None:
    create(running.session, TEST)
    before = running.session.todos[0]
    running.calls(True, True, True)
    undone = running.session.undo()[0]
    assert (undone.status, undone.evidence, undone.completed_at) == (before.status, None, None)
    assert (undone.started_at, undone.started_at_round, undone.completed_at_round) == (None, None, None)
    running.calls(True, True, True)
    assert status(running.session) is Status.PENDING
    assert [todo.status for todo in running.session.redo()] == [Status.COMPLETED]


def test_a_list_without_items_is_not_done_and_takes_calls(running: Running) -> None:
    assert not is_done(running.session.todo_list)
    assert [event.type for event in running.call()] == ["ToolFinished"]
    running.todo_call()
    create(running.session, TEST)
    running.session.clear()
    assert not is_done(running.session.todo_list)
    assert recorded_on(running.call()) is None
    assert [event.type for event in running.end()] == ["RunFinished"]


@pytest.mark.parametrize(
    ("states", "done"),
    [
        (("completed", "cancelled"), True),
        (("cancelled",), True),
        (("completed", "pending"), False),
        (("completed", "blocked"), False),
        (("in_progress",), False),
    ],
)
def test_a_list_is_done_when_every_item_is_completed_or_cancelled(
    session: Session, states: tuple[str, ...], done: bool
) -> None:
    session.write([{"content": f"item {n}", "status": state} for n, state in enumerate(states)])
    assert is_done(session.todo_list) is done


def test_a_sub_agents_calls_count_on_its_own_list(running: Running) -> None:
    sub = running.session.agent("sub-1")
    create(running.session, TEST)
    create(sub, "Run it")
    theirs = Running(sub).begin()
    theirs.calls(True, True, True)
    assert (statuses(sub), statuses(running.session)) == (["completed"], ["pending"])
    assert (theirs.run.tool_calls, running.run.tool_calls) == (3, 0)


def test_an_item_that_is_dropped_while_active_takes_no_more_calls(running: Running) -> None:
    create(running.session, TEST, READ)
    running.call()
    running.session.drop("t1")
    assert recorded_on(running.call("bash")) is None
    assert "t1" not in running.run.tracks
    running.session.undo()
    assert status(running.session) is Status.IN_PROGRESS


def test_a_call_is_kept_as_it_was(running: Running) -> None:
    create(running.session, TEST)
    call = finished(1, "bash", True, exit_code=0)
    events = running.finish(call)
    kept = next(event.data for event in running.session.events() if event.version == events[1].version)
    assert isinstance(kept, ToolFinished)
    assert (kept.call_id, kept.exit_code, kept.seconds, kept.item_id) == (call.call_id, 0, 0.5, "t1")
