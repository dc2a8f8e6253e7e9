"""All items are executed: in which order, with which retries, what a failure stops, and what the log says of it."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path

import pytest

import headway
from headway.agent import LoopConfig
from headway.core.errors import HeadwayError
from headway.core.execution_events import AttemptFinished, AttemptStarted, ExecutionFinished, ExecutionStarted
from headway.core.run_events import RunStarted
from headway.execute import ExecutionEnding
from headway.testing import ScriptedModel, Turn

from .executing import (
    Answer,
    Doors,
    always,
    bash,
    begun,
    does,
    facts,
    go,
    in_memory,
    item,
    listed,
    model,
    one,
    opened,
    outcomes,
    prompts,
    report,
    runs,
    scripted,
    sound,
    starts,
    states,
    texts,
    todo,
    waits,
    write,
)

# order


async def test_one_after_the_other_they_run_in_the_order_of_the_list(project: Path) -> None:
    items = [item("c", "a"), item("b", priority="low"), item("a"), item("d", priority="high")]
    session = in_memory(items)
    result = await go(session, scripted({name: ["Done."] for name in "abcd"}))
    assert starts(session) == ["b", "a", "c", "d"]
    assert (result.outcome, result.completed, result.total) == (ExecutionEnding.COMPLETE, ("b", "a", "c", "d"), 4)
    sound(session)


async def test_several_at_once_begin_with_the_most_urgent_and_then_the_longest_way(project: Path, doors: Doors) -> None:
    items = [
        item("short"),
        item("long"),
        item("after long", "long"),
        item("end", "after long"),
        item("urgent", priority="high"),
        item("idle", priority="low"),
    ]
    session = in_memory(items)
    names = [str(one["id"]) for one in items]
    task = begun(session, scripted({name: [waits(name), "Done."] for name in names}), parallel=2, tools=doors.tools)
    await doors.until("urgent", "long")
    assert sorted(starts(session)) == ["long", "urgent"]
    doors.open(*names)
    await task
    assert starts(session)[2] in ("after long", "short")
    assert doors.most <= 2
    assert states(session) == dict.fromkeys(names, "completed")
    sound(session)


async def test_with_a_time_on_every_item_the_longest_time_goes_first(folder: Path) -> None:
    timed = {"estimated_time": "10min"}
    session = opened(folder, [item("x", **timed), item("y", "x", **timed), item("long", estimated_time="2h")])
    await go(session, scripted({name: ["Done."] for name in ("x", "y", "long")}), parallel=2)
    assert starts(session)[:2] == ["long", "x"]


async def test_where_one_has_no_time_the_longest_chain_goes_first(project: Path) -> None:
    session = in_memory([item("long", estimated_time="2h"), item("x"), item("y", "x")])
    await go(session, scripted({name: ["Done."] for name in ("x", "y", "long")}), parallel=2)
    assert starts(session)[:2] == ["x", "long"]


async def test_without_an_item_to_execute_nothing_is_recorded(project: Path) -> None:
    session = in_memory(["a"])
    session.update("a", status="completed")
    before = session.version
    result = await go(session, model(a=["Done."]))
    assert (result.outcome, result.ok, result.completed) == (ExecutionEnding.NOTHING, True, ())
    assert session.version == before
    listed(session, [])
    assert (await go(session, model(a=["Done."]))).outcome is ExecutionEnding.NOTHING


@pytest.mark.parametrize("parallel", [1, 2])
async def test_items_that_cannot_run_end_it_as_waiting(project: Path, parallel: int) -> None:
    session = in_memory([item("a"), item("b", "a"), item("c", "b")])
    session.update("a", status="cancelled")
    result = await go(session, model(a=["Done."]), parallel=parallel)
    assert (result.outcome, result.ok, result.total) == (ExecutionEnding.WAITING, False, 2)
    waits_for = "b waits for a (cancelled: reopen it, or remove the dependency); c waits for b (pending)"
    assert result.error == f"Some items cannot run: {waits_for}."
    assert starts(session) == []
    sound(session)


async def test_items_that_a_cancelled_one_would_be_needed_for_are_never_begun(project: Path) -> None:
    session = in_memory([item("a"), item("b", "a"), item("c")])
    result = await go(session, model(a=[report("cancelled", "Not needed."), "So."], b=["Done."], c=["Done."]))
    assert (result.outcome, starts(session)) == (ExecutionEnding.WAITING, ["a", "c"])
    assert states(session) == {"a": "cancelled", "b": "pending", "c": "completed"}


@pytest.mark.parametrize("wrong", [{"parallel": 0}, {"parallel": 65}, {"parallel": "2"}, {"retries": -1}])
async def test_numbers_that_cannot_be_meant_are_refused(project: Path, wrong: dict[str, object]) -> None:
    session = in_memory(["a"])
    with pytest.raises(HeadwayError, match="must be a whole number from"):
        await go(session, model(a=["Done."]), **wrong)
    assert starts(session) == []


# retries


@pytest.mark.parametrize("retries", [0, 1, 2])
async def test_an_item_that_fails_is_tried_again_as_often_as_is_wanted(project: Path, retries: int) -> None:
    session = in_memory(["a"])
    result = await go(session, model(a=always(bash("false"))), retries=retries)
    assert [fact.attempt for fact in facts(session, AttemptStarted)] == list(range(1, retries + 2))
    assert [fact.again for fact in facts(session, AttemptFinished)] == [True] * retries + [False]
    assert (result.outcome, result.failed) == (ExecutionEnding.FAILED, ("a",))
    assert {fact.index for fact in facts(session, AttemptStarted)} == {1}
    assert states(session) == {"a": "blocked"}
    assert todo(session, "a").tool_calls == retries + 1, "all attempts count"
    sound(session)


async def test_one_item_is_not_tried_again_unless_that_is_wanted(project: Path) -> None:
    session = in_memory(["a"])
    await one(session, "a", model(a=always(bash("false"))))
    assert starts(session) == ["a"]
    result = await one(session, "a", model(a=[bash("false"), "Hm.", bash("true"), "Done."]), retries=1)
    assert result.outcome is ExecutionEnding.COMPLETE
    assert todo(session, "a").notes is None, "what its failed execution noted is gone"


@pytest.mark.parametrize("parallel", [1, 2])
async def test_a_retry_begins_a_new_conversation_with_the_files_from_before(folder: Path, parallel: int) -> None:
    session = opened(folder, ["a"])
    first: list[Answer] = [bash("echo 1 >> a.txt; rm readme.txt; mkdir d; echo x > d/x"), bash("exit 7"), "I failed."]
    second: list[Answer] = [bash("echo 2 >> a.txt"), "Done."]
    asked = model(a=[*first, *second])
    await go(session, asked, parallel=parallel)
    assert texts(folder) == {"a.txt": "2\n", "readme.txt": "read me\n"}
    begins = prompts(asked, "a")
    assert len(begins) == 2
    assert "An earlier attempt failed" not in begins[0]
    assert "An earlier attempt failed: Its last command failed (exit code 7: exit 7)." in begins[1]
    assert "may still be in the files" not in begins[1]
    sub_agents = [fact.agent for fact in facts(session, AttemptStarted)]
    assert len(set(sub_agents)) == 2


async def test_in_place_nothing_is_restored_after_a_failed_attempt_and_the_model_is_told(folder: Path) -> None:
    session = opened(folder, ["a"])
    asked = model(a=[bash("echo 1 >> a.txt; exit 1"), "No.", "Done."])
    await go(session, asked, in_place=True)
    assert texts(folder) == {"a.txt": "1\n", "readme.txt": "read me\n"}
    assert "Its changes may still be in the files." in prompts(asked, "a")[1]


async def test_an_item_that_fails_for_good_leaves_its_reason_and_can_be_taken_up_again(project: Path) -> None:
    session = in_memory([item("a"), item("b", "a")])
    await go(session, model(a=always(bash("false")), b=["Done."]), retries=0)
    assert states(session) == {"a": "blocked", "b": "pending"}
    result = await go(session, model(a=["Done."], b=["Done."]))
    assert (result.outcome, result.completed) == (ExecutionEnding.COMPLETE, ("a", "b"))
    assert todo(session, "a").notes is None


async def test_an_item_that_a_person_blocked_is_left_alone(project: Path) -> None:
    session = in_memory(["a", "b", "c"])
    await go(session, model(a=always(bash("false")), b=["Done."], c=["Done."]), retries=0, keep_going=True)
    session.update("b", status="blocked", notes="Wait for Ada.")
    session.update("a", status="pending")
    session.update("a", status="blocked")  # a person's word from now on
    before = len(starts(session))
    result = await go(session, model(a=["Done."], b=["Done."], c=["Done."]))
    assert (result.outcome, starts(session)[before:]) == (ExecutionEnding.NOTHING, [])
    assert states(session) == {"a": "blocked", "b": "blocked", "c": "completed"}


async def test_a_new_process_knows_which_items_an_execution_left_blocked(folder: Path) -> None:
    session = opened(folder, ["a"])
    await go(session, model(a=always(bash("false"))), retries=0)
    session.close()
    result = await go(headway.open(folder), model(a=["Done."]))
    assert result.completed == ("a",)


# failures


async def test_a_failure_stops_what_has_not_begun(project: Path) -> None:
    session = in_memory(["a", "b"])
    result = await go(session, model(a=always(bash("false")), b=["Done."]), retries=0)
    assert (result.outcome, starts(session)) == (ExecutionEnding.FAILED, ["a"])
    assert result.error == "a failed: Its last command failed (exit code 1: false)."
    assert states(session) == {"a": "blocked", "b": "pending"}


async def test_what_runs_beside_a_failure_is_finished(folder: Path, doors: Doors) -> None:
    session = opened(folder, ["a", "b", "c"])
    turns: dict[str, list[Answer]] = {
        "a": always(bash("false")),
        "b": [waits("b"), bash("echo b > b.txt"), "Done."],
        "c": ["Done."],
    }

    def heard(event: headway.Event) -> None:
        if isinstance(event.data, AttemptFinished):
            doors.open("b")

    result = await go(session, scripted(turns), parallel=2, retries=0, tools=doors.tools, on_event=heard)
    assert states(session) == {"a": "blocked", "b": "completed", "c": "pending"}
    assert (result.outcome, result.completed, result.failed) == (ExecutionEnding.FAILED, ("b",), ("a",))
    assert texts(folder)["b.txt"] == "b\n"
    sound(session)


@pytest.mark.parametrize("parallel", [1, 3])
async def test_with_keep_going_everything_runs_that_does_not_build_on_a_failure(folder: Path, parallel: int) -> None:
    items = [item("a"), item("b", "a"), item("c", "b"), item("d"), item("e", "d"), item("f", "e", "a")]
    session = opened(folder, items)
    turns = {name: always(bash("false")) if name == "a" else ["Done."] for name in "abcdef"}
    result = await go(session, scripted(turns), keep_going=True, retries=1, parallel=parallel)
    assert states(session) == {
        "a": "blocked",
        "b": "pending",
        "c": "pending",
        "d": "completed",
        "e": "completed",
        "f": "pending",
    }
    assert (result.outcome, set(result.completed), result.failed) == (ExecutionEnding.FAILED, {"d", "e"}, ("a",))
    sound(session)


async def test_a_failed_item_in_a_folder_of_its_own_leaves_nothing_in_the_project(folder: Path) -> None:
    session = opened(folder, ["a", "b"])
    before = texts(folder)
    turns = {"a": always(bash("echo junk > junk.txt"), bash("false")), "b": always(bash("true"))}
    await go(session, scripted(turns), parallel=2, retries=1, keep_going=True)
    assert texts(folder) == before
    kept = [fact for fact in facts(session, AttemptFinished) if fact.item_id == "a"]
    assert all(fact.kept and not fact.files for fact in kept)


# what an execution may use


def used(tokens: int) -> Turn:
    return Turn(text="Done.", usage={"input_tokens": tokens - 100, "output_tokens": 100})


async def test_tokens_are_shared_by_all_items(project: Path) -> None:
    session = in_memory(["a", "b", "c"])
    config = LoopConfig(instructions="Work.", max_tokens=100_000, reply_tokens=16)
    result = await go(session, scripted({name: [used(50_000)] for name in "abc"}), config=config)
    assert result.completed == ("a", "b")
    assert (result.outcome, states(session)["c"], starts(session)) == (ExecutionEnding.FAILED, "pending", ["a", "b"])
    assert result.error == "This execution has reached its limit; raise max_tokens or max_cost, and run it again."
    sound(session)


async def test_each_item_may_use_what_is_left(project: Path) -> None:
    session = in_memory(["a", "b"])
    config = LoopConfig(instructions="Work.", max_tokens=100_000, reply_tokens=16)
    reported = replace(report("completed"), usage={"input_tokens": 50, "output_tokens": 50})
    result = await go(session, model(a=[reported, used(99_850)], b=["Done."]), config=config, retries=0)
    assert result.completed == ("a",)
    assert states(session)["b"] == "blocked"
    assert "of its 50 tokens" in (todo(session, "b").notes or "")


class Priced(ScriptedModel):
    """Answers by script, at the price of another."""

    @property
    def model_name(self) -> str:
        return "claude-3-5-sonnet-latest"

    @property
    def system(self) -> str:
        return "anthropic"


async def test_dollars_are_shared_by_all_items(project: Path) -> None:
    session = in_memory(["a", "b", "c"])
    turns = {f"Execute todo: {name}\n": [report("completed"), used(1_000_000)] for name in "abc"}
    asked = Priced(conversations=turns)
    config = LoopConfig(instructions="Work.", max_cost=4.0, context_window=128_000)
    result = await go(session, asked, config=config, retries=0)
    assert result.completed == ("a", "b")
    assert (result.outcome, states(session)["c"], starts(session)) == (ExecutionEnding.FAILED, "pending", ["a", "b"])
    costs = [fact.cost for fact in facts(session, AttemptFinished)]
    assert all(cost is not None and cost > 2 for cost in costs)


# the log


async def test_the_log_says_what_is_executed_now_and_how_far_it_is(folder: Path) -> None:
    session = opened(folder, ["a", "b"])
    seen: list[tuple[str, int, int, int, list[str]]] = []

    def look() -> None:
        run = headway.open(folder).run
        assert run is not None
        assert run.execution is not None
        batch = run.execution
        seen.append((batch.mode, batch.parallel, batch.index, batch.total, [*batch.executing]))

    await go(session, model(a=[does(look, "Done.")], b=[does(look, "Done.")]), mode="auto_edit")
    assert seen == [("auto_edit", 1, 1, 2, ["a"]), ("auto_edit", 1, 2, 2, ["b"])]
    [started] = facts(session, ExecutionStarted)
    assert (started.mode, started.total, started.checkpoints, started.worktrees, started.note) == (
        "auto_edit",
        2,
        True,
        True,
        "",
    )
    [ended] = facts(session, ExecutionFinished)
    assert (ended.outcome, ended.completed, ended.failed, ended.total) == ("complete", 2, 0, 2)
    assert session.run is not None
    assert session.run.execution is not None
    assert session.run.execution.executing == {}
    assert session.run.reason == "finished"


async def test_an_execution_is_a_run_of_its_session_and_each_item_one_of_a_sub_agent(project: Path) -> None:
    session = in_memory(["a", "b"])
    await go(session, model(a=["Done."], b=["Done."]))
    began = [(event.agent, event.data.task) for event in session.events() if isinstance(event.data, RunStarted)]
    assert began[0] == ("main", "Execute all: 2 todos")
    assert [agent for agent, _ in began[1:]] == ["a #1", "b #2"]
    assert set(session.state.runs) == {"main"}, "nobody goes on with the runs of the items"


async def test_the_next_item_is_told_what_those_it_builds_on_came_to(project: Path) -> None:
    session = in_memory([item("a"), item("b", "a"), item("c", "a")])
    session.update("c", notes="Mind the gap.")
    asked = model(a=[write("a.py", "x = 1\n"), "I wrote a.py with <x>."], b=["Done."], c=["Done."])
    await go(session, asked)
    [begin] = prompts(asked, "b")
    assert "- a: Do a\n  Result: I wrote a.py with" in begin
    assert "Files changed: a.py" in begin
    assert "Notes: Mind the gap." in prompts(asked, "c")[0]
    assert "Earlier work that it builds on" not in prompts(asked, "a")[0]


async def test_listeners_hear_of_the_whole_execution_in_order(folder: Path) -> None:
    session = opened(folder, ["a", "b"])
    heard: list[headway.Event] = []
    await go(session, model(a=runs("true"), b=["Done."]), parallel=2, on_event=heard.append)
    kept = [event for event in heard if event.version]
    assert kept == [event for event in session.events() if event.version >= kept[0].version]
    kinds = [event.type for event in kept]
    assert kinds[0] == "RunStarted"
    assert kinds[-1] == "RunFinished"


async def test_a_listener_may_be_a_coroutine_as_in_a_run(project: Path) -> None:
    session = in_memory(["a"])
    heard: list[str] = []
    made: list[Coroutine[object, object, None]] = []

    async def hear(event: headway.Event) -> None:
        heard.append(event.type)

    def listen(event: headway.Event) -> Coroutine[object, object, None]:
        made.append(hear(event))
        return made[-1]

    try:
        await go(session, model(a=["Done."]), on_event=listen)
        assert "ItemFinished" in heard
    finally:
        for one_more in made:
            one_more.close()


async def test_what_is_completed_is_what_the_log_says(folder: Path) -> None:
    items = [item("a"), item("b", "a"), item("c"), item("d", "c")]
    session = opened(folder, items)
    turns = {"a": ["Done."], "b": always(bash("false")), "c": ["Done."], "d": ["Done."]}
    result = await go(session, scripted(turns), keep_going=True, parallel=2)
    sound(session)
    completed = {todo_id for todo_id, outcome in outcomes(session) if outcome == "completed"}
    assert completed == {name for name, status in states(session).items() if status == "completed"}
    assert set(result.completed) == completed
