"""People and an execution: what may be done without asking, who is asked, and what they do to it meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.processes import run_python

import headway
from headway.core.errors import HeadwayError, RunRefused
from headway.core.execution_events import AttemptFinished, ExecutionFinished
from headway.core.run_events import ToolFinished, ToolStarted
from headway.execute import ExecutionEnding
from headway.tools import Answer, Approvals, Question
from headway.views.execution_lines import detail_lines, format_attempt_end

from .executing import (
    Doors,
    bash,
    begun,
    cancelled,
    does,
    facts,
    go,
    in_memory,
    item,
    model,
    one,
    opened,
    report,
    runs,
    scripted,
    sound,
    starts,
    states,
    texts,
    todo,
    until,
    waits,
    write,
)

# modes and questions


@pytest.mark.parametrize("ends", ["success", "failure", "exception", "cancellation", "refusal"])
async def test_the_mode_is_as_it_was_before_however_it_ends(
    project: Path, doors: Doors, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    session = in_memory(["a"])
    approvals = Approvals(mode="auto_edit")
    seen: list[str] = []
    look = does(lambda: seen.append(str(approvals.mode)), waits("a") if ends == "cancellation" else bash("true"))
    turns = [look, bash("false"), "No."] if ends == "failure" else [look, "Done."]
    if ends == "exception":

        def broken(self: object, todo_id: str) -> None:
            seen.append(str(approvals.mode))
            raise RuntimeError("no place")

        monkeypatch.setattr("headway.execute.workspaces.Workspaces.reserve", broken)
    named = "x" if ends == "refusal" else "a"
    task = asyncio.create_task(one(session, named, model(a=turns), approvals=approvals, tools=doors.tools))
    if ends == "cancellation":
        await doors.until("a")
        await cancelled(task)
    elif ends in ("refusal", "exception"):
        with pytest.raises((HeadwayError, RuntimeError)):
            await task
    else:
        await task
    assert str(approvals.mode) == "auto_edit"
    assert seen[:1] == ([] if ends == "refusal" else ["yolo"])
    sound(session)


async def test_a_mode_that_is_none_is_refused_and_leaves_no_run(project: Path) -> None:
    session = in_memory(["a"])
    approvals = Approvals()
    with pytest.raises(HeadwayError, match="is not a valid mode"):
        await one(session, "a", model(a=["Done."]), approvals=approvals, mode="reckless")
    assert (starts(session), str(approvals.mode)) == ([], "default")
    sound(session)


async def test_with_nobody_to_ask_what_needs_approval_blocks_the_item_and_says_so(project: Path) -> None:
    session = in_memory(["a", "b"])
    turns = {"a": [bash("echo a > a.txt"), "It is done, trust me."] * 2, "b": ["Done."]}
    result = await go(session, scripted(turns), mode="default")
    assert states(session) == {"a": "blocked", "b": "pending"}
    assert todo(session, "a").notes == "bash was denied; allow it, or choose another mode."
    assert result.outcome is ExecutionEnding.FAILED
    assert "a.txt" not in texts(project)
    assert todo(session, "a").failed_calls == 0, "what was not allowed did not fail"


async def test_in_auto_edit_files_are_written_and_commands_are_not_run(project: Path) -> None:
    session = in_memory(["a", "b"])
    turns = {"a": [write("a.txt", "a\n"), "Done."], "b": [write("b.txt", "b\n"), bash("touch c"), "Done."]}
    await go(session, scripted(turns), mode="auto_edit", retries=0)
    assert states(session) == {"a": "completed", "b": "blocked"}
    assert "c" not in texts(project)


async def test_an_answer_of_always_lasts_for_all_items_of_the_execution(project: Path) -> None:
    session = in_memory(["a", "b"])
    asked: list[str] = []

    async def ask(question: Question) -> Answer:
        asked.append(question.tool)
        return Answer("always")

    turns = {name: runs(f"echo {name} > {name}.txt") for name in "ab"}
    await go(session, scripted(turns), approvals=Approvals(ask), mode="default")
    assert states(session) == {"a": "completed", "b": "completed"}
    assert asked == ["bash"]


async def test_items_that_run_at_once_ask_one_question_at_a_time(folder: Path) -> None:
    session = opened(folder, ["a", "b", "c"])
    asking: list[str] = []
    most: list[int] = []

    async def ask(question: Question) -> Answer:
        asking.append(question.id)
        most.append(len(asking))
        await asyncio.sleep(0)
        asking.remove(question.id)
        return Answer("once") if len(most) < 3 else Answer("no", "Not that one.")

    turns = {name: runs(f"echo {name} > {name}.txt") for name in "abc"}
    result = await go(
        session, scripted(turns), approvals=Approvals(ask), mode="default", parallel=3, retries=0, keep_going=True
    )
    assert most == [1, 1, 1]
    assert (len(result.completed), len(result.failed)) == (2, 1)


async def test_a_question_of_an_item_can_be_answered_from_elsewhere(folder: Path) -> None:
    session = opened(folder, ["a"])

    async def ask(question: Question) -> Answer:
        await asyncio.Event().wait()
        return Answer("no")

    task = asyncio.create_task(
        go(session, model(a=runs("echo a > a.txt")), approvals=Approvals(ask), mode="default", retries=0)
    )
    await until(lambda: starts(session))
    sub = headway.open(folder).agent("a #1")
    await until(lambda: sub.run is not None and sub.run.questions)
    assert sub.run is not None
    sub.answer(next(iter(sub.run.questions)), "once")
    await task
    assert (states(session), texts(folder)["a.txt"]) == ({"a": "completed"}, "a\n")


async def test_in_plan_mode_nothing_is_executed(project: Path) -> None:
    session = in_memory(["a"])
    session.set_plan_mode(True)
    before = session.version
    for attempt in (go(session, model(a=["Done."])), one(session, "a", model(a=["Done."]))):
        with pytest.raises(HeadwayError, match="Plan mode is on"):
            await attempt
    assert session.version == before


@pytest.mark.parametrize("parallel", [1, 2])
async def test_plan_mode_pauses_an_execution_with_a_write_pending_and_refuses_nothing(
    folder: Path, parallel: int
) -> None:
    session = opened(folder, ["a", "b"])
    planning = does(lambda: session.set_plan_mode(True), write("a.txt", "a\n"))
    answers = scripted({"a": [bash("true"), planning, "Done."], "b": ["Done."]})
    task = begun(session, answers, retries=0, parallel=parallel)
    await until(lambda: any(call.tool == "write_file" for call in facts(session, ToolStarted)))
    await asyncio.sleep(0.3)
    assert states(session)["a"] == "in_progress" and "a.txt" not in texts(folder)
    assert session.state.is_paused("main") and not session.is_planning
    with pytest.raises(HeadwayError, match="turn plan mode off to resume it"):
        session.resume_run()
    await asyncio.to_thread(elsewhere, folder, "session.set_plan_mode(False)")
    assert (await task).completed in (("a", "b"), ("b", "a"))
    assert texts(folder)["a.txt"] == "a\n"
    assert all(call.ok for call in facts(session, ToolFinished))
    sound(session)


async def test_an_item_that_ends_in_plan_mode_changes_the_project_when_plan_mode_is_off(folder: Path) -> None:
    session = opened(folder, ["a", "b"])
    answers = model(a=[write("a.txt", "a\n"), does(lambda: session.set_plan_mode(True), "Done.")], b=["Done."])
    task = begun(session, answers, parallel=2)
    await until(lambda: session.plan_mode)
    await asyncio.sleep(0.3)
    assert "a.txt" not in texts(folder) and states(session)["a"] == "in_progress"
    session.set_plan_mode(False)
    assert (await task).ok and texts(folder)["a.txt"] == "a\n"


@pytest.mark.parametrize("how", ["cancelled", "stopped"])
async def test_ended_in_plan_mode_what_was_done_is_kept_and_does_not_come_into_the_project(
    folder: Path, how: str
) -> None:
    session = opened(folder, ["a"])
    planning = does(lambda: session.set_plan_mode(True), "Done.")
    task = begun(session, model(a=[write("a.txt", "a\n"), report("completed"), planning]))
    await until(lambda: session.plan_mode)
    await asyncio.sleep(0.3)
    if how == "stopped":
        session.stop_run()
        await task
    else:
        await cancelled(task)
    assert (states(session), texts(folder).get("a.txt")) == ({"a": "pending"}, None)
    [finished] = facts(session, AttemptFinished)
    assert finished.outcome == "interrupted"
    assert finished.worktree is not None and texts(folder / finished.worktree)["a.txt"] == "a\n"
    sound(session)


async def test_an_execution_that_a_person_paused_stays_paused_when_plan_mode_ends(project: Path, doors: Doors) -> None:
    session = in_memory(["a", "b"])
    task = begun(session, scripted({"a": [waits("a"), "Done."], "b": ["Done."]}), tools=doors.tools)
    await doors.until("a")
    session.pause_run()
    session.set_plan_mode(True)
    doors.open("a")
    session.set_plan_mode(False)
    await asyncio.sleep(0.3)
    assert session.state.is_paused("main") and states(session)["b"] == "pending"
    session.resume_run()
    assert (await task).completed == ("a", "b")


async def test_an_execution_that_plan_mode_paused_can_be_stopped(project: Path) -> None:
    session = in_memory(["a", "b"])
    answers = model(a=[does(lambda: session.set_plan_mode(True), write("a.txt", "a"))], b=["Done."])
    task = begun(session, answers)
    await until(lambda: session.plan_mode)
    session.stop_run()
    assert (await task).outcome is ExecutionEnding.INTERRUPTED
    assert states(session) == {"a": "pending", "b": "pending"}
    sound(session)


# what people do to the list meanwhile


async def test_items_that_are_added_meanwhile_are_executed_too(folder: Path) -> None:
    session = opened(folder, ["a"])
    adding = does(lambda: headway.open(folder).add("Do b", id="b"), "Done.")
    result = await go(session, model(a=[adding], b=["Done."]))
    assert (result.outcome, result.completed, result.total) == (ExecutionEnding.COMPLETE, ("a", "b"), 2)


async def test_items_that_are_moved_meanwhile_run_in_the_new_order(project: Path) -> None:
    session = in_memory(["a", "b", "c"])
    moving = does(lambda: session.move("c", 1), "Done.")
    await go(session, model(a=[moving], b=["Done."], c=["Done."]))
    assert starts(session) == ["a", "c", "b"]


async def test_items_that_are_edited_meanwhile_are_executed_as_they_then_are(project: Path) -> None:
    session = in_memory([item("a"), item("b"), item("c")])

    def edit() -> None:
        session.update("b", content="Do b well", depends_on=["c"])

    asked = model(a=[does(edit, "Done.")], b=["Done."], c=["Done."])
    await go(session, asked)
    assert starts(session) == ["a", "c", "b"]
    assert "Description: Do b well" in str(asked.requests[-1].messages[0])
    sound(session)


@pytest.mark.parametrize("status", ["cancelled", "completed", "blocked"])
async def test_items_that_are_set_meanwhile_are_not_begun(project: Path, status: str) -> None:
    session = in_memory([item("a"), item("b"), item("c", "b")])
    result = await go(
        session, model(a=[does(lambda: session.update("b", status=status), "Done.")], b=["No."], c=["Done."])
    )
    assert "b" not in starts(session)
    assert ("c" in starts(session)) == (status == "completed")
    assert result.outcome is (ExecutionEnding.COMPLETE if status == "completed" else ExecutionEnding.WAITING)
    assert states(session)["b"] == status


async def test_items_that_are_dropped_meanwhile_are_not_begun(project: Path) -> None:
    session = in_memory([item("a"), item("b"), item("c", "b")])
    await go(session, model(a=[does(lambda: session.drop("b"), "Done.")], b=["No."], c=["Done."]))
    assert (starts(session), states(session)) == (["a", "c"], {"a": "completed", "c": "completed"})


async def test_an_item_that_is_done_again_meanwhile_holds_up_what_needs_it(project: Path) -> None:
    session = in_memory([item("a"), item("b"), item("c", "a")])
    reopen = does(lambda: session.update("a", status="blocked", notes="Wrong."), "Done.")
    result = await go(session, model(a=["Done."], b=[reopen], c=["No."]))
    assert (result.outcome, starts(session)) == (ExecutionEnding.WAITING, ["a", "b"])


# stopping, pausing, going on: from another process


def elsewhere(folder: Path, code: str) -> None:
    done = run_python(f"import headway, sys; session = headway.open(sys.argv[1]); {code}", folder)
    assert done.code == 0, done.err


@pytest.mark.parametrize("parallel", [1, 2])
async def test_a_stop_from_another_process_ends_it_and_what_ran_is_pending_again(
    folder: Path, doors: Doors, parallel: int
) -> None:
    session = opened(folder, ["a", "b", "c"])
    turns = {"a": ["Done."], "b": [waits("b")], "c": [waits("c")]}
    task = begun(session, scripted(turns), parallel=parallel, tools=doors.tools)
    await doors.until(*("b", "c")[:parallel])
    await asyncio.to_thread(elsewhere, folder, "session.stop_run()")
    result = await task
    assert (result.outcome, result.completed) == (ExecutionEnding.INTERRUPTED, ("a",))
    assert states(session) == {"a": "completed", "b": "pending", "c": "pending"}
    assert session.run is not None
    assert session.run.reason == "cancelled"
    assert facts(session, ExecutionFinished)[0].outcome == "interrupted"
    sound(session)


async def test_a_paused_execution_begins_nothing_until_it_is_resumed(folder: Path, doors: Doors) -> None:
    session = opened(folder, ["a", "b"])
    task = begun(session, scripted({"a": [waits("a"), "Done."], "b": ["Done."]}), tools=doors.tools)
    await doors.until("a")
    await asyncio.to_thread(elsewhere, folder, "session.pause_run()")
    sub = session.agent("a #1")
    await until(lambda: sub.run is not None and sub.run.paused)
    doors.open("a")
    await asyncio.to_thread(elsewhere, folder, "assert session.run.paused and session.run.is_active")
    assert states(session) == {"a": "in_progress", "b": "pending"}
    await asyncio.to_thread(elsewhere, folder, "session.resume_run()")
    result = await task
    assert result.completed == ("a", "b")


async def test_a_paused_execution_can_be_stopped(project: Path, doors: Doors) -> None:
    session = in_memory(["a", "b"])
    task = begun(session, scripted({"a": [waits("a")], "b": ["Done."]}), tools=doors.tools)
    await doors.until("a")
    session.pause_run()
    session.stop_run()
    assert (await task).outcome is ExecutionEnding.INTERRUPTED
    sound(session)


async def test_a_second_execution_of_the_session_is_refused_and_disturbs_nothing(folder: Path, doors: Doors) -> None:
    session = opened(folder, ["a", "b"])
    task = begun(
        session, scripted({"a": [bash("echo a > a.txt"), waits("a"), "Done."], "b": ["Done."]}), tools=doors.tools
    )
    await doors.until("a")
    with pytest.raises(RunRefused, match="Another run has been using the session"):
        await go(headway.open(folder), scripted({"b": ["Done."]}))
    doors.open("a")
    assert (await task).completed == ("a", "b")
    assert texts(folder)["a.txt"] == "a\n"


@pytest.mark.parametrize(
    ("other", "parallel"),
    [("default", 1), ("another", 1), ("another", 2)],
)
async def test_a_second_execution_leaves_the_folders_of_the_first_alone(
    folder: Path, doors: Doors, other: str, parallel: int
) -> None:
    session = opened(folder, ["a", "b", "c"])
    turns = {
        "a": [write("a.txt", "a\n"), waits("a"), bash("cat a.txt"), "Done."],
        "b": [waits("b"), "Done."],
        "c": ["Done."],
    }
    task = begun(session, scripted(turns), parallel=2, tools=doors.tools, retries=0)
    await doors.until("a", "b")
    second = headway.open(folder, other)
    if other == "default":
        with pytest.raises(RunRefused):
            await go(second, scripted({"c": ["Done."]}), parallel=parallel)
    else:
        second.add("Do x", id="x")
        await go(second, scripted({"x": ["Done."]}), parallel=parallel)
    doors.open("a", "b")
    result = await task
    assert (result.outcome, len(result.completed)) == (ExecutionEnding.COMPLETE, 3)
    assert texts(folder)["a.txt"] == "a\n"


async def test_an_ordinary_run_and_an_execution_do_not_go_on_at_once(folder: Path, doors: Doors) -> None:
    from headway.agent import run_loop

    session = opened(folder, ["a"])
    task = begun(session, scripted({"a": [waits("a"), "Done."]}), tools=doors.tools)
    await doors.until("a")
    with pytest.raises(RunRefused):
        await run_loop(headway.open(folder), "Do it", model=scripted({"a": ["Done."]}), tools=[])
    doors.open("a")
    assert (await task).outcome is ExecutionEnding.COMPLETE


async def test_tools_that_belong_to_a_folder_are_refused_where_items_have_their_own(folder: Path, doors: Doors) -> None:
    session = opened(folder, ["a"])
    for parallel in (1, 2):
        with pytest.raises(HeadwayError, match="pass `tools` as a function"):
            await go(session, model(a=["Done."]), parallel=parallel, tools=doors.tools(str(folder)))
    assert starts(session) == []
    with pytest.raises(HeadwayError, match="one at a time; omit `parallel`"):
        await go(session, model(a=["Done."]), parallel=2, in_place=True)
    result = await go(session, model(a=["Done."]), tools=doors.tools(str(folder)), in_place=True)
    assert result.outcome is ExecutionEnding.COMPLETE


@pytest.mark.parametrize("edit", ["dropped", "completed", "cancelled"])
@pytest.mark.parametrize("in_place", [False, True])
async def test_of_an_item_that_is_taken_away_the_end_says_where_its_work_is(
    folder: Path, doors: Doors, edit: str, in_place: bool
) -> None:
    session = opened(folder, ["a"])
    task = begun(
        session, scripted({"a": [write("a.txt", "a\n"), waits("a"), "Done."]}), tools=doors.tools, in_place=in_place
    )
    await doors.until("a")
    session.drop("a") if edit == "dropped" else session.update("a", status=edit)
    await task
    end = facts(session, AttemptFinished)[-1]
    assert format_attempt_end(end, "Do a")[2] == f"stopped, since it was {edit} meanwhile"
    said = detail_lines(end)[-1][1]
    if in_place:
        assert said == "Its changes stay in the project: a.txt"
    else:
        assert end.worktree is not None
        assert said == f"Its changes were not merged and are in {end.worktree}"
        assert (folder / end.worktree / "a.txt").exists()
    assert ("a.txt" in texts(folder)) == in_place
    sound(session)


async def test_items_that_are_left_in_progress_are_named(project: Path) -> None:
    session = in_memory(["a", "b"])
    session.update("a", status="in_progress")
    session.update("b", status="cancelled")
    result = await go(session, model())
    assert result.outcome is ExecutionEnding.NOTHING
    assert result.error == "In progress: a. To execute an item, first set it to pending."
