"""Undo counts what a person would count, names it, and leaves alone what others changed meanwhile."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway import Event, HeadwayError, NothingToUndo, Session, Status
from headway.core.events import ListDelta
from headway.core.evolve import fold
from headway.core.execution_events import TodosRolledBack
from headway.core.model import MODEL, State
from headway.core.run_events import RunFinished

from .executing import Executing
from .running import Running, create, statuses
from .samples import Ticking, in_memory, seen

IDS = ("a", "b", "c", "d")


@pytest.fixture
def session() -> Session:
    session = in_memory(Ticking())
    session.write([{"id": todo_id, "content": f"Do {todo_id}"} for todo_id in IDS], replace=True)
    return session


def execute(session: Session, *todo_ids: str) -> Executing:
    batch = Executing(session).begin()
    for todo_id in todo_ids:
        batch.start(todo_id)
        batch.finish_item(todo_id, "blocked", again=True, reason="No.", tool_calls=1)
        batch.start(todo_id)
        batch.finish_item(todo_id, tool_calls=2)
    return batch


def test_an_execution_of_four_todos_with_retries_is_one_step(session: Session) -> None:
    execute(session, *IDS).end()
    undone = session.undo()
    assert statuses(session) == ["pending"] * 4
    assert [step.origin.type for step in undone.steps] == ["RunFinished"]
    assert undone.steps[0].delta.changed["a"]["status"] == (Status.COMPLETED, Status.PENDING)
    session.redo()
    assert statuses(session) == ["completed"] * 4
    session.undo(2)
    assert session.todos == []
    with pytest.raises(NothingToUndo):
        session.undo()


def test_two_executions_are_two_steps(session: Session) -> None:
    execute(session, "a", "b").end()
    execute(session, "c").end()
    session.undo()
    assert statuses(session) == ["completed", "completed", "pending", "pending"]
    session.undo()
    assert statuses(session) == ["pending"] * 4


def test_an_execution_that_is_interrupted_leaves_nothing_in_progress_when_undone(session: Session) -> None:
    batch = execute(session, "a")
    batch.start("b")
    batch.end("cancelled")
    session.undo()
    assert statuses(session) == ["pending"] * 4
    session.redo()
    assert statuses(session) == ["completed", "pending", "pending", "pending"]


def test_what_others_changed_during_an_execution_is_undone_edit_by_edit_before_it(session: Session) -> None:
    batch = execute(session, "a")
    session.update("c", content="Do something else")
    batch.start("b")
    session.update("b", status="cancelled")
    batch.finish_item("b", "interrupted")
    batch.end()
    session.undo()
    assert statuses(session) == ["completed", "pending", "pending", "pending"]
    assert session.todos[1].interrupted, "nobody works on it any more"
    session.undo()
    assert session.todos[2].content == "Do c"
    undone = session.undo()
    assert undone.steps[0].origin.type == "RunFinished"
    assert statuses(session) == ["pending"] * 4
    session.redo(3)
    assert statuses(session) == ["completed", "cancelled", "pending", "pending"]
    assert session.todos[2].content == "Do something else"


def test_an_edit_of_what_an_execution_had_done_is_a_step_of_its_own(session: Session) -> None:
    batch = execute(session, "a")
    session.update("a", status="pending", notes="not good")
    batch.start("b")
    batch.finish_item("b")
    batch.end()
    session.undo()
    assert statuses(session) == ["completed", "completed", "pending", "pending"]
    session.undo()
    assert statuses(session) == ["pending"] * 4
    session.undo()
    assert session.todos == []


@pytest.mark.parametrize("edit", ["drop", "clear", "completed", "cancelled", "pending"])
@pytest.mark.parametrize("when", ["at once", "after the end"])
def test_an_item_that_was_taken_away_is_never_in_progress_again(session: Session, edit: str, when: str) -> None:
    batch = execute(session, "a")
    batch.start("b")
    if edit in ("drop", "clear"):
        session.drop("b") if edit == "drop" else session.clear()
    else:
        session.update("b", status=edit, notes="I did it.")
    if when == "at once":
        session.undo()
    batch.finish_item("b", "interrupted")
    batch.end("cancelled")
    if when != "at once":
        session.undo()
    assert statuses(session) == ["completed", "pending", "pending", "pending"]
    assert session.todos[1].notes is None
    session.undo()
    assert statuses(session) == ["pending"] * 4


def test_what_a_model_had_in_progress_is_pending_once_its_run_is_over(session: Session) -> None:
    running = Running(session).begin()
    session.update("a", actor=MODEL, status="in_progress")
    session.drop("a")
    session.undo()
    assert statuses(session)[0] == "in_progress", "it is still at work on it"
    session.redo()
    running.end()
    session.undo()
    assert statuses(session)[0] == "pending"


def test_what_a_person_has_in_progress_comes_back_as_it_was(session: Session) -> None:
    session.update("a", status="in_progress")
    session.drop("a")
    session.undo()
    assert statuses(session)[0] == "in_progress"
    session.undo()
    session.redo()
    assert statuses(session)[0] == "in_progress"


def test_during_an_execution_undo_takes_the_last_edit_and_leaves_the_execution_alone(session: Session) -> None:
    batch = execute(session, "a")
    session.drop("d")
    batch.start("b")
    with pytest.raises(NothingToUndo, match="Only 1 change can be undone while the execution is in progress"):
        session.undo(2)
    session.undo()
    assert statuses(session) == ["completed", "in_progress", "pending", "pending"]
    with pytest.raises(NothingToUndo, match="An execution is in progress; stop it"):
        session.undo()
    batch.finish_item("b")
    batch.end()
    session.undo()
    assert statuses(session) == ["pending"] * 4


def test_a_rollback_is_one_step(session: Session) -> None:
    batch = execute(session, "a", "b")
    batch.end()
    batch.roll_back("a", changed_files=False)
    undone = session.undo()
    assert statuses(session)[:2] == ["completed", "completed"]
    assert isinstance(undone.steps[0].origin.data, TodosRolledBack)
    redone = session.redo()
    assert statuses(session)[:2] == ["pending", "completed"]
    assert redone.steps[0].origin == undone.steps[0].origin
    session.undo(2)
    assert statuses(session) == ["pending"] * 4


def test_without_its_files_a_todo_that_was_rolled_back_does_not_become_completed(session: Session) -> None:
    batch = execute(session, "a", "b")
    batch.end()
    batch.roll_back("a")
    undone = session.undo()
    assert undone.keeps_files
    assert statuses(session)[:2] == ["pending", "completed"]
    session.undo()
    assert statuses(session)[:2] == ["pending", "pending"]
    session.redo(2)
    assert statuses(session)[:2] == ["pending", "completed"]


def test_what_tracking_concludes_in_a_run_is_one_step_until_someone_else_changes_the_list() -> None:
    session = in_memory(Ticking())
    running = Running(session).begin()
    create(session, "Run the tests", "Read the log")
    running.calls(True, True, True)
    running.call("read_file")
    session.add("One more")
    running.call("read_file")
    running.end()
    undone = session.undo(2)
    assert [step.origin.actor for step in undone.steps] == ["user", "tracker"]
    assert statuses(session) == ["pending", "pending"]
    with pytest.raises(NothingToUndo, match="Only 1 change can be undone"):
        session.undo(2)


def test_tracking_of_two_runs_is_two_steps() -> None:
    session = in_memory(Ticking())
    create(session, "Run the tests", "Search the web")
    for tool in ("bash", "web_search"):
        running = Running(session).begin()
        for _ in range(4):
            running.call(tool)
        running.end()
    before = statuses(session)
    session.undo()
    assert statuses(session) != before
    assert statuses(session) != ["pending", "pending"]
    session.undo()
    assert statuses(session) == ["pending", "pending"]


def test_a_change_that_nobody_sees_is_not_counted(session: Session) -> None:
    session.update("a", tool_calls=3)
    session.write([{"id": "a", "interrupted": True}])
    running = Running(session).begin()
    session.update("b", actor=MODEL, status="in_progress")
    running.end()
    assert statuses(session) == ["pending"] * 4
    session.undo()
    assert session.todos == []
    session.redo()
    assert len(session.todos) == 4


def test_an_old_log_groups_what_one_execution_did(session: Session) -> None:
    """In old logs each change of an execution was a change of its own, and its end said nothing of them."""
    execute(session, "a", "b").end()
    execute(session, "c").end()
    session.add("One more")
    old: list[Event] = []
    undo = 0
    for event in session.events():
        data = event.data
        if isinstance(data, ListDelta):
            old.append(replace(event, data=replace(data, partial=False, previous=undo)))
            undo = event.version
        elif isinstance(data, RunFinished):
            old.append(replace(event, data=replace(data, step=0, previous=None)))
        else:
            old.append(event)
    again = in_memory(Ticking())
    again.store.append(again.name, 0, old, None)
    again.undo(2)
    assert statuses(again) == ["completed", "completed", "pending", "pending"]
    again.undo()
    assert statuses(again) == ["pending"] * 4
    again.redo(3)
    assert again.todos == session.todos


STEPS = st.one_of(
    st.tuples(st.sampled_from(["start", "finish", "fail", "retry", "roll back", "drop"]), st.sampled_from(IDS)),
    st.tuples(st.sampled_from(["pending", "cancelled", "completed", "in_progress"]), st.sampled_from(IDS)),
    st.tuples(st.sampled_from(["end", "begin", "undo", "redo", "call"]), st.just("")),
)


class Story:
    def __init__(self) -> None:
        self.session = in_memory(Ticking())
        self.session.write([{"id": todo_id, "content": f"Do {todo_id}"} for todo_id in IDS], replace=True)
        self.batch = Executing(self.session).begin()

    def tell(self, step: tuple[str, str]) -> None:
        name, todo_id = step
        session, batch = self.session, self.batch
        if name == "begin":
            if not batch.run.is_active:
                self.batch = Executing(session).begin()
        elif name in [status.value for status in Status]:
            session.update(todo_id, status=name)
        else:
            {
                "start": lambda: batch.start(todo_id),
                "finish": lambda: batch.finish_item(todo_id, tool_calls=1),
                "fail": lambda: batch.finish_item(todo_id, "blocked", reason="No."),
                "retry": lambda: batch.finish_item(todo_id, "blocked", again=True),
                "roll back": lambda: batch.roll_back(todo_id, changed_files=False),
                "drop": lambda: session.drop(todo_id),
                "end": lambda: batch.end("cancelled"),
                "undo": session.undo,
                "redo": session.redo,
                "call": lambda: batch.call(),
            }[name]()


@given(st.lists(STEPS, max_size=25))
def test_every_undo_and_redo_is_seen_and_they_lead_to_the_start_and_back(story: list[tuple[str, str]]) -> None:
    told = Story()
    for step in story:
        with suppress(HeadwayError):
            told.tell(step)
    with suppress(HeadwayError):
        told.batch.end()
    session = told.session
    states = [session.todo_list]
    with suppress(NothingToUndo):
        while True:
            session.undo()
            assert seen(session.todo_list) != seen(states[-1])
            states.append(session.todo_list)
    assert session.todos == []
    while len(states) > 1:
        states.pop()
        session.redo()
        assert seen(session.todo_list) == seen(states[-1])
    assert fold(State(), session.events()) == session.state
