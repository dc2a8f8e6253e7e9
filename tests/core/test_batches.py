"""The execution of items in the core: what can begin, what becomes of it, and that a person's word counts."""

from __future__ import annotations

from itertools import count

import pytest

from headway import Session, Status
from headway.core.errors import HeadwayError, NotRunnable, RunRefused, TodoNotFound
from headway.core.evolve import fold
from headway.core.executions import LastAttempt, read_attempts_record
from headway.core.model import EXECUTOR, State, Todo
from headway.core.run_commands import EndRun
from headway.core.run_events import RunFinished
from headway.core.runs import CUT_OFF
from headway.store.memory import MemoryStore

from .executing import SHOWN, Executing
from .running import Running, statuses, until
from .samples import Ticking, in_memory


@pytest.fixture
def listed() -> Session:
    """A session with three items, of which one needs another."""
    session = in_memory(Ticking())
    session.write(
        [
            {"id": "a", "content": "Do a"},
            {"id": "b", "content": "Do b", "depends_on": ["a"]},
            {"id": "c", "content": "Do c"},
        ],
        replace=True,
    )
    return session


@pytest.fixture
def batch(listed: Session) -> Executing:
    return Executing(listed).begin()


def item(session: Session, todo_id: str) -> Todo:
    return session.todo_list.items[todo_id]


def of(session: Session, todo_id: str) -> LastAttempt:
    assert session.run is not None
    return session.run.executed[todo_id]


# beginning


def test_an_item_that_begins_is_in_progress_and_the_run_knows_who_works_on_it(
    listed: Session, batch: Executing
) -> None:
    listed.update("a", interrupted=True)
    agent = batch.start("a", index=1, total=3)
    assert (item(listed, "a").status, item(listed, "a").interrupted) == (Status.IN_PROGRESS, False)
    assert batch.run.execution is not None
    assert (batch.run.execution.executing, batch.run.execution.index, batch.run.execution.total) == ({"a": agent}, 1, 3)
    assert batch.run.begun == 1


@pytest.mark.parametrize("status", ["in_progress", "completed", "cancelled"])
def test_an_item_in_the_wrong_state_does_not_begin(listed: Session, batch: Executing, status: str) -> None:
    listed.update("a", status=status)
    before = listed.version
    with pytest.raises(NotRunnable):
        batch.start("a")
    assert listed.version == before


@pytest.mark.parametrize("status", ["pending", "in_progress", "blocked", "cancelled"])
def test_an_item_does_not_begin_before_what_it_needs_is_completed(
    listed: Session, batch: Executing, status: str
) -> None:
    listed.update("a", status=status)
    with pytest.raises(NotRunnable, match=r"Cannot execute b\. Dependencies not completed:\n  - a"):
        batch.start("b")
    listed.update("a", status="completed")
    batch.start("b")


def test_an_item_does_not_begin_twice_at_once(listed: Session, batch: Executing) -> None:
    batch.start("a")
    with pytest.raises(NotRunnable, match="'a' is already being executed"):
        batch.start("a")
    listed.update("a", status="pending")  # by a person, while it is still worked on
    with pytest.raises(NotRunnable, match="'a' is already being executed"):
        batch.start("a")


def test_an_unknown_item_does_not_begin(batch: Executing) -> None:
    with pytest.raises(TodoNotFound):
        batch.start("x")


def test_nothing_begins_in_a_run_that_executes_none_or_is_over(listed: Session) -> None:
    run = Executing(listed)
    Running.begin(run, rounds=0)
    run.numbers = count(1)
    with pytest.raises(NotRunnable):
        run.start("a")
    run.end()
    with pytest.raises(RunRefused):
        run.start("a")


# ending


def test_a_completed_item_has_its_time_its_evidence_and_its_calls(listed: Session, batch: Executing) -> None:
    batch.start("a")
    batch.finish_item("a", evidence=SHOWN, tool_calls=3, failed_calls=1)
    done = item(listed, "a")
    assert (done.status, done.evidence, done.tool_calls, done.failed_calls) == (Status.COMPLETED, SHOWN, 3, 1)
    assert done.completed_at is not None
    assert (of(listed, "a").failed, of(listed, "a").began) == (False, 0)
    assert batch.run.execution is not None
    assert batch.run.execution.executing == {}


@pytest.mark.parametrize("outcome", ["blocked", "cancelled"])
def test_an_item_that_was_not_done_says_why(listed: Session, batch: Executing, outcome: str) -> None:
    batch.start("a")
    batch.finish_item("a", outcome, reason="No network.", evidence=SHOWN)
    done = item(listed, "a")
    assert (str(done.status), done.notes, done.evidence) == (outcome, "No network.", None)
    assert of(listed, "a").failed == (outcome == "blocked")


@pytest.mark.parametrize(
    ("outcome", "again", "marked"), [("interrupted", False, True), ("conflict", True, False), ("blocked", True, False)]
)
def test_an_item_that_is_to_run_again_is_pending(
    listed: Session, batch: Executing, outcome: str, again: bool, marked: bool
) -> None:
    batch.start("a")
    batch.finish_item("a", outcome, again=again, reason="For now.")
    assert (item(listed, "a").status, item(listed, "a").interrupted) == (Status.PENDING, marked)
    assert item(listed, "a").notes is None
    assert not of(listed, "a").failed


@pytest.mark.parametrize("status", ["pending", "completed", "cancelled", "blocked"])
@pytest.mark.parametrize("outcome", ["completed", "blocked", "cancelled", "interrupted", "conflict"])
def test_the_end_never_overrides_what_a_person_set(
    listed: Session, batch: Executing, status: str, outcome: str
) -> None:
    batch.start("a")
    listed.update("a", status=status, notes="by hand")
    batch.finish_item("a", outcome, reason="No.", evidence=SHOWN, tool_calls=2)
    after = item(listed, "a")
    assert (str(after.status), after.notes, after.evidence, after.interrupted) == (status, "by hand", None, False)
    assert after.tool_calls == 2, "its calls count all the same"
    assert batch.run.execution is not None
    assert batch.run.execution.executing == {}


def test_the_end_of_an_item_that_was_dropped_is_recorded(listed: Session, batch: Executing) -> None:
    batch.start("a")
    listed.drop("a")
    made = batch.finish_item("a")
    assert [event.type for event in made] == ["ItemFinished"]
    assert "a" not in listed.todo_list.items


def test_only_who_works_on_an_item_can_end_it(listed: Session, batch: Executing) -> None:
    batch.start("a")
    for todo_id, agent in (("a", "someone"), ("c", "c #1")):
        with pytest.raises(NotRunnable, match="is not being executed by"):
            batch.finish_item(todo_id, by=agent)
    batch.finish_item("a")
    with pytest.raises(NotRunnable):
        batch.finish_item("a", by="a #1")
    assert statuses(listed) == ["completed", "pending", "pending"]


def test_the_note_of_a_failure_goes_with_the_next_start_and_a_persons_stays(listed: Session, batch: Executing) -> None:
    batch.start("a")
    batch.finish_item("a", "blocked", reason="No network.")
    batch.start("a")
    assert item(listed, "a").notes is None
    batch.finish_item("a", "blocked", reason="No network.")
    listed.update("a", status="pending")
    listed.update("a", status="blocked", notes="Ask Ada.")
    assert not of(listed, "a").failed
    batch.start("a")
    assert item(listed, "a").notes == "Ask Ada."


def test_a_note_that_a_person_adds_does_not_make_the_block_theirs(listed: Session, batch: Executing) -> None:
    batch.start("a")
    batch.finish_item("a", "blocked", reason="No network.")
    listed.update("a", priority="high")
    assert of(listed, "a").failed


def test_the_run_of_a_sub_agent_is_forgotten_with_its_item(listed: Session, batch: Executing) -> None:
    agent = batch.start("a")
    Running(listed.agent(agent)).begin().end()
    assert agent in listed.state.runs
    batch.finish_item("a")
    assert set(listed.state.runs) == {"main"}


# the end of the run


def test_the_end_of_an_execution_sets_back_only_what_it_executes(listed: Session, batch: Executing) -> None:
    batch.start("a")
    listed.update("c", status="in_progress")  # by a person, for themselves
    batch.end("cancelled")
    assert statuses(listed) == ["pending", "pending", "in_progress"]
    assert [todo.interrupted for todo in listed.todos] == [True, False, False]


def test_what_a_person_set_meanwhile_stays_at_the_end_of_the_run(listed: Session, batch: Executing) -> None:
    batch.start("a")
    listed.update("a", status="completed")
    batch.end("cancelled")
    assert (item(listed, "a").status, item(listed, "a").interrupted) == (Status.COMPLETED, False)


def test_an_execution_whose_process_is_gone_leaves_nothing_in_progress() -> None:
    store = MemoryStore()
    session = in_memory(Ticking(), store)
    session.write([{"id": "a", "content": "Do a"}, {"id": "c", "content": "Do c"}], replace=True)
    batch = Executing(session).begin()
    agent = batch.start("a")
    Running(session.agent(agent)).begin()
    batch.let_go()
    other = store.session("test", clock=Ticking())
    until(lambda: item(other, "a").status is Status.PENDING, "the cut-off")
    assert item(other, "a").interrupted
    assert other.run is not None
    assert not other.run.is_active
    assert next(event.data.error for event in other.events() if isinstance(event.data, RunFinished)) == CUT_OFF
    assert of(other, "a").began > 0


def test_what_came_of_executions_goes_on_into_the_next_run(listed: Session, batch: Executing) -> None:
    batch.start("a")
    batch.finish_item("a", "blocked", reason="No.")
    batch.end()
    other = Executing(listed).begin()
    assert of(listed, "a").failed
    assert (other.run.begun, other.run.execution is not None) == (1, True)
    Running(listed).session.log.execute(lambda state: EndRun("main", "loop", other.clock(), other.id, "finished"))
    assert of(listed, "a").failed


# rolling back


def test_a_rolled_back_item_is_pending_without_what_showed_it(listed: Session, batch: Executing) -> None:
    batch.start("a")
    batch.finish_item("a", evidence=SHOWN)
    batch.end()
    batch.roll_back("a")
    after = item(listed, "a")
    assert (after.status, after.evidence, after.completed_at) == (Status.PENDING, None, None)
    assert of(listed, "a") == LastAttempt(0)


def test_nothing_is_rolled_back_while_a_run_goes_on_or_that_is_not_there(listed: Session, batch: Executing) -> None:
    batch.start("a")
    batch.finish_item("a")
    with pytest.raises(NotRunnable, match="A run is in progress"):
        batch.roll_back("a")
    batch.end()
    with pytest.raises(TodoNotFound):
        batch.roll_back("x")


# undo


def test_what_an_execution_did_to_the_list_can_be_undone_and_done_again(listed: Session, batch: Executing) -> None:
    batch.start("a")
    batch.finish_item("a", evidence=SHOWN, tool_calls=2)
    batch.end()
    done = listed.todos
    listed.undo()
    assert (item(listed, "a").status, item(listed, "a").tool_calls) == (Status.PENDING, 0)
    listed.redo()
    assert listed.todos == done
    assert fold(State(), listed.events()) == listed.state


def test_an_undone_failure_is_a_persons_word(listed: Session, batch: Executing) -> None:
    batch.start("a")
    batch.finish_item("a", "blocked", reason="No.")
    batch.end()
    listed.undo()
    listed.redo()
    assert item(listed, "a").status is Status.BLOCKED
    assert not of(listed, "a").failed


def test_what_is_kept_of_executions_is_read_back() -> None:
    assert read_attempts_record({"a": [3, 1, 0], "b": [0, 0, 7]}) == {
        "a": LastAttempt(3, True),
        "b": LastAttempt(0, False, 7),
    }


def test_an_unknown_change_is_refused(batch: Executing) -> None:
    from headway.core.execution_commands import ExecutionCommand

    with pytest.raises(HeadwayError, match="Unknown command ExecutionCommand"):
        batch.session.log.execute(lambda state: ExecutionCommand("main", EXECUTOR, batch.clock(), batch.id))
