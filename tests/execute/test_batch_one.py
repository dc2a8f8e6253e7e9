"""One item is executed: what refuses it, what becomes of it, and who has the last word."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from pathlib import Path

import pytest

import headway
from headway.agent import LoopConfig
from headway.core.errors import HeadwayError, NotRunnable, TodoNotFound
from headway.core.evidence import EvidenceLevel
from headway.core.execution_events import AttemptFinished, AttemptStarted
from headway.execute import ExecutionEnding, check_dependencies
from headway.execute.workspaces import Workspace, Workspaces
from headway.testing import Call, Failure, Turn

from .executing import (
    Doors,
    bash,
    begun,
    does,
    facts,
    in_memory,
    item,
    listed,
    model,
    one,
    opened,
    outcomes,
    report,
    runs,
    sound,
    starts,
    states,
    todo,
    until,
    waits,
    write,
)

# what refuses it


def test_dependencies_are_satisfied_when_all_of_them_are_completed(project: Path) -> None:
    session = in_memory([item("a"), item("b"), item("c", "a", "b"), item("d")])
    items = session.todo_list.items
    assert check_dependencies(items["d"], items).are_completed
    check = check_dependencies(items["c"], items)
    assert (check.are_completed, check.missing) == (False, ["a", "b"])
    session.update("a", status="completed")
    items = session.todo_list.items
    assert check_dependencies(items["c"], items).missing == ["b"]
    session.update("b", status="completed")
    items = session.todo_list.items
    check = check_dependencies(items["c"], items)
    assert (check.are_completed, check.missing, check.lines) == (True, [], [])


def test_a_dependency_that_is_not_in_the_list_is_missing(project: Path) -> None:
    session = in_memory([item("a"), item("b", "a")])
    items = session.todo_list.items
    check = check_dependencies(items["b"], {"b": items["b"]})
    assert (check.missing, check.lines) == (["a"], ["a (not in the list)"])


async def test_an_item_with_open_dependencies_is_refused_with_their_list(project: Path) -> None:
    session = in_memory([item("step-1"), item("step-2"), item("step-3", "step-1", "step-2")])
    session.update("step-1", status="in_progress")
    before = session.version
    with pytest.raises(NotRunnable) as refused:
        await one(session, "step-3", model(step_3=["Done."]))
    assert str(refused.value) == (
        "Cannot execute step-3. Dependencies not completed:\n  - step-1 (in_progress)\n  - step-2 (pending)"
    )
    assert session.version == before, "nothing is recorded of what was refused"


async def test_a_cancelled_dependency_is_named_as_such_with_how_to_go_on(project: Path) -> None:
    session = in_memory([item("a"), item("b", "a")])
    session.update("a", status="cancelled")
    with pytest.raises(NotRunnable, match=r"- a \(cancelled: reopen it, or remove the dependency\)"):
        await one(session, "b", model(b=["Done."]))


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("completed", "it is completed. To repeat it, first set it to pending"),
        ("cancelled", "it is cancelled. To repeat it, first set it to pending"),
        ("in_progress", "it is already in progress. Wait, or set it to pending"),
    ],
)
async def test_an_item_that_is_not_to_be_done_is_refused(project: Path, status: str, told: str) -> None:
    session = in_memory(["a"])
    session.update("a", status=status)
    before = session.version
    with pytest.raises(NotRunnable, match=f"Cannot execute a: {told}"):
        await one(session, "a", model(a=["Done."]))
    assert session.version == before


async def test_an_item_that_someone_claimed_is_refused_with_who_has_it(project: Path) -> None:
    session = in_memory(["a"])
    session.claim("ada")
    with pytest.raises(NotRunnable, match="already in progress by ada"):
        await one(session, "a", model(a=["Done."]))


async def test_an_unknown_id_is_refused_with_those_there_are(project: Path) -> None:
    session = in_memory(["a", "b"])
    with pytest.raises(TodoNotFound, match="No todo has the id 'x'; the ids are: a, b"):
        await one(session, "x", model(a=["Done."]))


async def test_a_blocked_item_may_be_executed_when_it_is_named(project: Path) -> None:
    session = in_memory(["a"])
    session.update("a", status="blocked", notes="Ask Ada first.")
    result = await one(session, "a", model(a=runs("true")))
    assert (result.outcome, result.completed) == (ExecutionEnding.COMPLETE, ("a",))
    assert todo(session, "a").notes == "Ask Ada first.", "what a person noted stays"


async def test_a_model_that_does_not_exist_is_told_of_before_anything_begins(project: Path) -> None:
    session = in_memory(["a"])
    before = session.version
    with pytest.raises(HeadwayError):
        await one(session, "a", "nobody:nothing")  # type: ignore[arg-type]
    assert session.version == before


@pytest.mark.parametrize("wrong", [{"retries": -1}, {"retries": 1.5}, {"retries": True}, {"retries": 101}])
async def test_a_number_of_retries_that_cannot_be_meant_is_refused(project: Path, wrong: dict[str, object]) -> None:
    session = in_memory(["a"])
    with pytest.raises(HeadwayError, match="`retries` must be a whole number from 0 to 100"):
        await one(session, "a", model(a=["Done."]), **wrong)
    assert starts(session) == []


# what becomes of it


@pytest.mark.disk
async def test_an_item_that_is_done_is_completed_with_its_time_its_calls_and_what_shows_it(folder: Path) -> None:
    session = opened(folder, ["a", "b"])
    turns = [write("a.txt", "a\n"), bash("false"), bash("diff a.txt a.txt"), "I wrote a.txt."]
    result = await one(session, "a", model(a=turns))
    done = todo(session, "a")
    assert (result.outcome, result.completed, result.total) == (ExecutionEnding.COMPLETE, ("a",), 1)
    assert (str(done.status), done.tool_calls, done.failed_calls) == ("completed", 3, 1)
    assert done.completed_at is not None
    assert done.started_at is not None
    assert done.evidence is not None
    assert done.evidence.level is EvidenceLevel.COMMAND_OK
    assert (done.evidence.command, done.evidence.exit_code, done.evidence.files) == ("diff a.txt a.txt", 0, ("a.txt",))
    assert states(session)["b"] == "pending", "only the one that was named is executed"
    [ended] = facts(session, AttemptFinished)
    assert (ended.text, ended.files, ended.rounds) == ("I wrote a.txt.", ("a.txt",), 5)
    sound(session)


async def test_an_item_whose_model_cannot_be_asked_is_blocked_with_the_reason(project: Path) -> None:
    session = in_memory(["a"])
    failing = Turn(error=Failure(status=401, message="bad key"))
    result = await one(session, "a", model(a=[failing]))
    assert (result.outcome, result.failed) == (ExecutionEnding.FAILED, ("a",))
    assert states(session) == {"a": "blocked"}
    assert "bad key" in (todo(session, "a").notes or "") or "401" in (todo(session, "a").notes or "")
    assert result.error is not None
    assert result.error.startswith("a failed: ")
    sound(session)


async def test_an_item_that_is_not_done_after_all_rounds_is_blocked(project: Path) -> None:
    session = in_memory(["a"])
    config = LoopConfig(instructions="Work.", max_rounds=2)
    await one(session, "a", model(a=[bash("true")] * 5), config=config)
    assert states(session) == {"a": "blocked"}
    assert todo(session, "a").notes == (
        "It was not done after 2 rounds; allow more with max_rounds, or split the item."
    )


async def test_an_item_whose_last_command_failed_is_blocked_whatever_the_model_says(project: Path) -> None:
    session = in_memory(["a"])
    await one(session, "a", model(a=[bash("exit 3"), report("completed"), "All is well."]))
    assert states(session) == {"a": "blocked"}
    assert todo(session, "a").notes == "Its last command failed (exit code 3: exit 3)."


async def test_a_command_that_failed_does_not_count_once_a_later_one_succeeded(project: Path) -> None:
    session = in_memory(["a"])
    await one(session, "a", model(a=runs("false", "true")))
    assert states(session) == {"a": "completed"}


async def test_an_item_whose_agent_left_its_own_list_open_is_blocked_with_what_is_left(project: Path) -> None:
    session = in_memory(["a"])
    own = [
        {"content": "First part", "activeForm": "x", "status": "completed"},
        {"content": "Second part", "activeForm": "x", "status": "pending"},
    ]
    await one(session, "a", model(a=[Turn(calls=[Call("TodoWrite", {"todos": own})]), "Enough."]))
    assert todo(session, "a").notes == "The agent stopped with 1 of its own items still open: Second part."
    assert states(session) == {"a": "blocked"}


@pytest.mark.parametrize("status", ["blocked", "cancelled"])
async def test_what_the_model_reports_of_the_item_is_its_state_with_the_reason(project: Path, status: str) -> None:
    session = in_memory(["a"])
    result = await one(session, "a", model(a=[bash("true"), report(status, "There is no parser."), "So it is."]))
    assert states(session) == {"a": status}
    assert todo(session, "a").notes == "There is no parser."
    assert todo(session, "a").evidence is None
    assert result.outcome is (ExecutionEnding.FAILED if status == "blocked" else ExecutionEnding.COMPLETE)
    assert result.completed == ()


async def test_a_report_without_a_reason_is_refused_and_changes_nothing(project: Path) -> None:
    session = in_memory(["a"])
    asked = model(a=[report("blocked"), report("completed"), "Never mind, it is done."])
    await one(session, "a", asked)
    assert states(session) == {"a": "completed"}
    assert "say in `reason` why the item is blocked" in str(asked.requests[1].messages[-1])


async def test_the_last_report_counts(project: Path) -> None:
    session = in_memory(["a"])
    await one(session, "a", model(a=[report("blocked", "No network."), report("completed"), "It came back."]))
    assert states(session) == {"a": "completed"}


async def test_an_exception_in_a_tool_factory_blocks_the_item_and_ends_the_run(project: Path) -> None:
    session = in_memory(["a"])

    def tools(folder: str) -> list[object]:
        raise RuntimeError("no tools today")

    result = await one(session, "a", model(a=["Done."]), tools=tools)
    assert result.outcome is ExecutionEnding.FAILED
    assert todo(session, "a").notes == "RuntimeError: no tools today"
    sound(session)


async def test_an_item_that_is_stopped_is_pending_with_a_mark_that_goes_with_the_next_start(
    project: Path, doors: Doors
) -> None:
    session = in_memory(["a"])
    task = begun(session, model(a=[waits("in a")]), tools=doors.tools)
    await doors.until("in a")
    session.stop_run()
    result = await task
    assert (result.outcome, result.error) == (ExecutionEnding.INTERRUPTED, None)
    assert (states(session), todo(session, "a").interrupted) == ({"a": "pending"}, True)
    sound(session)

    seen: list[bool] = []
    again = model(a=[does(lambda: seen.append(todo(session, "a").interrupted), "Done.")])
    await one(session, "a", again)
    assert seen == [False]
    assert (states(session), todo(session, "a").interrupted) == ({"a": "completed"}, False)


async def test_stopping_only_the_items_own_run_leaves_it_pending(project: Path, doors: Doors) -> None:
    session = in_memory(["a"])
    task = begun(session, model(a=[waits("in a")]), tools=doors.tools)
    await doors.until("in a")
    session.agent(facts(session, AttemptStarted)[0].agent).stop_run()
    result = await task
    assert result.outcome is ExecutionEnding.INTERRUPTED
    assert (states(session), todo(session, "a").interrupted) == ({"a": "pending"}, True)
    sound(session)


async def test_the_calls_of_an_attempt_that_was_stopped_are_counted(project: Path, doors: Doors) -> None:
    session = in_memory(["a"])
    task = begun(session, model(a=[bash("true"), bash("false"), waits("in a")]), tools=doors.tools)
    await doors.until("in a")
    session.stop_run()
    await task
    assert todo(session, "a").tool_calls >= 2
    assert todo(session, "a").failed_calls >= 1
    assert facts(session, AttemptFinished)[0].input_tokens > 0


# who has the last word


@pytest.mark.parametrize(
    "status",
    ["cancelled", "pending", *(pytest.param(status, marks=pytest.mark.more) for status in ("completed", "blocked"))],
)
async def test_what_a_person_sets_while_the_item_runs_counts(folder: Path, doors: Doors, status: str) -> None:
    session = opened(folder, ["a"])
    task = begun(session, model(a=[bash("echo half > a.txt"), waits("in a"), "Done."]), tools=doors.tools)
    await doors.until("in a")
    headway.open(folder).update("a", status=status)
    result = await task
    assert states(session) == {"a": status}
    assert result.completed == ()
    assert todo(session, "a").evidence is None
    assert outcomes(session) == [("a", "interrupted")]
    assert starts(session) == ["a"], "it is not begun again in this execution"
    sound(session)


async def test_an_item_that_a_person_drops_while_it_runs_is_gone_and_its_run_over(project: Path, doors: Doors) -> None:
    session = in_memory(["a", "b"])
    task = begun(session, model(a=[waits("in a")], b=["Done."]), tools=doors.tools)
    await doors.until("in a")
    session.drop("a")
    result = await task
    assert (states(session), result.completed) == ({"b": "completed"}, ("b",))
    sound(session)


async def test_what_a_person_writes_into_the_item_while_it_runs_stays(project: Path, doors: Doors) -> None:
    session = in_memory(["a"])
    task = begun(session, model(a=[waits("in a"), "Done."]), tools=doors.tools)
    await doors.until("in a")
    session.update("a", content="Do a well", notes="by hand", priority="high")
    doors.open("in a")
    await task
    done = todo(session, "a")
    assert (done.content, done.notes, str(done.priority), str(done.status)) == (
        "Do a well",
        "by hand",
        "high",
        "completed",
    )


async def test_an_item_that_a_person_cancels_at_its_very_end_is_not_among_the_completed(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # nobody looks at the list between the person's word and the end of the item
    monkeypatch.setattr("headway.execute.execution_run.LOOK_EVERY", 30.0)
    session = in_memory(["a"])
    last = does(lambda: session.update("a", status="cancelled"), "Done.")
    result = await one(session, "a", model(a=[last]))
    assert states(session) == {"a": "cancelled"}
    assert result.completed == ()


async def test_cancelling_ends_the_item_and_goes_through(folder: Path, doors: Doors) -> None:
    session = opened(folder, ["a"])
    task = begun(session, model(a=[waits("in a")]), tools=doors.tools)
    await doors.until("in a")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (states(session), todo(session, "a").interrupted) == ({"a": "pending"}, True)
    assert outcomes(session) == [("a", "interrupted")]
    sound(session)


async def test_being_cancelled_twice_still_ends_the_run(folder: Path, doors: Doors) -> None:
    session = opened(folder, ["a"])
    task = begun(session, model(a=[waits("in a")]), tools=doors.tools)
    await doors.until("in a")
    task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    result = await one(session, "a", model(a=["Done."]))
    assert result.outcome is ExecutionEnding.COMPLETE
    sound(session)


async def test_cancelled_once_all_items_have_ended_it_still_ends_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(folder, ["a"])
    release = Workspaces.release

    def cut(self: Workspaces, workspace: Workspace, *, keep: bool) -> None:
        release(self, workspace, keep=keep)
        task.cancel()

    monkeypatch.setattr(Workspaces, "release", cut)
    task = begun(session, model(a=["Done."]))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert states(session) == {"a": "completed"}
    sound(session)


async def test_when_a_cancelled_execution_is_over_nothing_of_it_is_at_work_any_more(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(folder, ["a"])
    over = threading.Event()
    closed: list[bool] = []
    loop, close = asyncio.get_running_loop(), Workspaces.close

    def slowly(self: Workspaces) -> None:
        loop.call_soon_threadsafe(task.cancel)
        over.wait(0.5)
        close(self)
        closed.append(True)

    monkeypatch.setattr(Workspaces, "close", slowly)
    task = begun(session, model(a=["Done."]), parallel=2)
    with suppress(asyncio.CancelledError):
        await task
    try:
        assert closed == [True]
    finally:
        over.set()
        await until(lambda: closed)


async def test_an_item_of_a_session_in_memory_is_executed_without_checkpoints(tmp_path: Path) -> None:
    session = headway.open(memory=True)
    listed(session, ["a"])
    result = await one(session, "a", model(a=runs("echo a > a.txt")), project=tmp_path)
    assert result.outcome is ExecutionEnding.COMPLETE
    assert (tmp_path / "a.txt").read_text() == "a\n"
    assert not (tmp_path / ".headway").exists()


async def test_a_project_without_a_repository_is_executed_all_the_same(tmp_path: Path) -> None:
    session = opened(tmp_path, ["a"])
    await one(session, "a", model(a=runs("echo a > a.txt")))
    assert states(session) == {"a": "completed"}
    assert not (tmp_path / ".git").exists()
    assert facts(session, AttemptFinished)[0].files == ("a.txt",)
