"""Executions that are cut off at any moment: the next one brings everything to where an undisturbed one would be."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.counts import some

import headway
from headway.core.execution_events import AttemptFinished
from headway.execute import ExecutionEnding, ExecutionResult, roll_back
from headway.execute.shadow_repository import ShadowRepository
from headway.execute.workspaces import Workspace, Workspaces
from headway.tools.files.write_file import WriteFile

from .dags import Dag, dags
from .executing import (
    Doors,
    always,
    bash,
    begun,
    cancelled,
    facts,
    go,
    item,
    model,
    one,
    opened,
    prompts,
    put,
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
from .playing import kill, play
from .resuming import cut_and_resumed, killed_and_resumed

FEW = settings(max_examples=some(12), suppress_health_check=[HealthCheck.too_slow])
CHAIN = Dag(((), (0,)), (("one.txt", "two.txt"), ("one.txt",)))


@FEW
@given(dags(), st.lists(st.integers(1, 60), min_size=1, max_size=3))
def test_cut_off_anywhere_and_resumed_it_ends_as_if_undisturbed(dag: Dag, cuts: list[int]) -> None:
    asyncio.run(cut_and_resumed(dag, cuts, 1))


@FEW
@given(dags(), st.lists(st.integers(1, 60), min_size=1, max_size=2))
def test_cut_off_anywhere_while_several_run_it_ends_as_if_undisturbed(dag: Dag, cuts: list[int]) -> None:
    asyncio.run(cut_and_resumed(dag, cuts, 3))


@settings(FEW, max_examples=some(12, 6))
@given(dags(), st.lists(st.integers(1, 60), min_size=1, max_size=2), st.sampled_from([1, 3]))
def test_killed_anywhere_and_resumed_it_ends_as_if_undisturbed(dag: Dag, cuts: list[int], parallel: int) -> None:
    killed_and_resumed(dag, cuts, parallel)


# step by step


async def stopped_in_a(folder: Path, doors: Doors, **how: object) -> headway.Session:
    """An execution whose first item was stopped after it had changed files."""
    session = opened(folder, [item("a"), item("b", "a")])
    half = bash("echo half >> a.txt; echo more >> readme.txt; mkdir d; echo x > d/x.txt")
    task = begun(session, model(a=[half, waits("a")]), tools=doors.tools, **how)
    await doors.until("a")
    await cancelled(task)
    assert todo(session, "a").interrupted
    return session


WHOLE = {"a": runs("echo whole >> a.txt"), "b": runs("echo b > b.txt")}


async def test_of_an_item_that_was_stopped_nothing_came_into_the_project_and_its_files_are_kept(
    folder: Path, doors: Doors
) -> None:
    session = await stopped_in_a(folder, doors)
    assert texts(folder) == {"readme.txt": "read me\n"}
    [finished] = facts(session, AttemptFinished)
    assert finished.worktree is not None
    assert texts(folder / finished.worktree)["a.txt"] == "half\n"
    asked = scripted(WHOLE)
    await go(session, asked)
    assert texts(folder) == {"a.txt": "whole\n", "b.txt": "b\n", "readme.txt": "read me\n"}
    assert "An earlier attempt failed" not in prompts(asked, "a")[0]
    assert not (folder / ".headway" / "worktrees").exists()
    sound(session)


@pytest.mark.parametrize(
    "path",
    ["readme.txt", "mine.txt", *(pytest.param(path, marks=pytest.mark.more) for path in ("a.txt", "d/x.txt"))],
)
async def test_what_a_person_changed_after_the_interruption_is_not_lost(folder: Path, doors: Doors, path: str) -> None:
    session = await stopped_in_a(folder, doors)
    put(folder, {path: "by a person\n"})
    await go(session, scripted({"a": runs("true"), "b": runs("true")}))
    assert texts(folder)[path] == "by a person\n"


async def test_what_a_person_removed_after_the_interruption_stays_removed(folder: Path, doors: Doors) -> None:
    session = await stopped_in_a(folder, doors)
    (folder / "readme.txt").unlink()
    await go(session, scripted({"a": runs("true"), "b": runs("true")}))
    assert "readme.txt" not in texts(folder)


async def test_an_item_stopped_again_and_again_begins_where_it_first_began(folder: Path, doors: Doors) -> None:
    session = await stopped_in_a(folder, doors)
    for number in range(2):
        again = Doors()
        task = begun(session, model(a=[bash(f"echo {number} >> a.txt"), waits("a")]), tools=again.tools)
        await again.until("a")
        await cancelled(task)
    await go(session, scripted(WHOLE))
    assert texts(folder)["a.txt"] == "whole\n"


async def test_what_another_item_did_since_is_not_lost(folder: Path, doors: Doors) -> None:
    session = await stopped_in_a(folder, doors)
    session.add("Do c", id="c")
    await one(session, "c", model(c=runs("echo c > c.txt")))
    await go(session, scripted(WHOLE))
    assert texts(folder) == {"a.txt": "whole\n", "b.txt": "b\n", "c.txt": "c\n", "readme.txt": "read me\n"}


async def test_an_item_stopped_alone_and_resumed_beside_others_begins_anew(folder: Path, doors: Doors) -> None:
    session = await stopped_in_a(folder, doors)
    await go(session, scripted(WHOLE), parallel=2)
    assert texts(folder) == {"a.txt": "whole\n", "b.txt": "b\n", "readme.txt": "read me\n"}


async def test_an_item_stopped_after_another_failed_begins_anew(folder: Path, doors: Doors) -> None:
    session = opened(folder, ["f", "a"])
    turns = {"f": always(bash("false")), "a": [bash("echo half >> a.txt"), waits("a")]}
    task = begun(session, scripted(turns), keep_going=True, retries=0, tools=doors.tools)
    await doors.until("a")
    await cancelled(task)
    await go(session, scripted({"f": runs("echo f > f.txt"), "a": runs("echo whole >> a.txt")}))
    assert texts(folder) == {"a.txt": "whole\n", "f.txt": "f\n", "readme.txt": "read me\n"}


async def test_cut_off_between_an_attempt_that_failed_and_the_next_it_begins_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(folder, ["a"])
    reserve = Workspaces.reserve

    async def cut(self: Workspaces, todo_id: str) -> Workspace:
        if starts(session):
            task.cancel()
        return await reserve(self, todo_id)

    monkeypatch.setattr(Workspaces, "reserve", cut)
    task: asyncio.Task[ExecutionResult] = begun(session, model(a=runs("echo half >> a.txt; false")))
    with pytest.raises(asyncio.CancelledError):
        await task
    monkeypatch.undo()
    await go(session, model(a=runs("echo whole >> a.txt")))
    assert texts(folder)["a.txt"] == "whole\n"


async def test_cut_off_while_changes_are_merged_the_log_has_them_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(folder, ["a"])
    apply = ShadowRepository.apply_change
    loop = asyncio.get_running_loop()

    def cut(self: ShadowRepository, now: str, target: str) -> list[str]:
        done = apply(self, now, target)
        loop.call_soon_threadsafe(task.cancel)
        return done

    monkeypatch.setattr(ShadowRepository, "apply_change", cut)
    task: asyncio.Task[ExecutionResult] = begun(session, model(a=runs("echo a > a.txt")), parallel=2)
    with pytest.raises(asyncio.CancelledError):
        await task
    monkeypatch.undo()
    assert (states(session), texts(folder)["a.txt"]) == ({"a": "completed"}, "a\n")
    assert facts(session, AttemptFinished)[-1].files == ("a.txt",)
    assert roll_back(session, "a").files == ("a.txt",)
    assert "a.txt" not in texts(folder)


async def test_in_place_what_a_file_tool_still_writes_when_it_is_stopped_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = opened(folder, ["a"])
    writing = threading.Event()
    writes = getattr(WriteFile, "_write")  # noqa: B009

    def slowly(self: WriteFile, *arguments: object) -> object:
        writing.set()
        deadline = time.monotonic() + 0.5
        while not facts(session, AttemptFinished) and time.monotonic() < deadline:
            time.sleep(0.01)
        return writes(self, *arguments)

    monkeypatch.setattr(WriteFile, "_write", slowly)
    task = begun(session, model(a=[write("a.txt", "a\n")]), in_place=True)
    await until(writing.is_set)
    await cancelled(task)
    await until((folder / "a.txt").exists)
    assert facts(session, AttemptFinished)[0].by_others == ("a.txt",)


# killed


def test_a_killed_execution_leaves_nothing_in_progress_and_is_marked(tmp_path: Path) -> None:
    CHAIN.open(tmp_path).close()
    assert kill(tmp_path, "wrote")
    session = headway.open(tmp_path)
    assert (states(session), todo(session, "i0").interrupted) == ({"i0": "pending", "i1": "pending"}, True)
    assert session.run is not None
    assert (session.run.is_active, session.run.reason) == (False, "error")
    assert list(session.state.runs["main"].executed) == ["i0"]


def test_a_killed_parallel_execution_leaves_no_folders_once_another_has_run(tmp_path: Path) -> None:
    CHAIN.open(tmp_path).close()
    assert kill(tmp_path, "wrote", parallel=2)
    assert (tmp_path / ".headway" / "worktrees").exists()
    session = headway.open(tmp_path)
    asyncio.run(play(session, parallel=2))
    assert texts(tmp_path) == CHAIN.in_order()
    assert not (tmp_path / ".headway" / "worktrees").exists()


def test_a_half_done_item_of_a_killed_execution_begins_anew(tmp_path: Path) -> None:
    CHAIN.open(tmp_path).close()
    assert kill(tmp_path, "wrote")
    asyncio.run(play(headway.open(tmp_path)))
    assert texts(tmp_path) == CHAIN.in_order()


@pytest.mark.disk
def test_killed_after_the_merge_an_items_changes_are_not_made_twice(tmp_path: Path) -> None:
    CHAIN.open(tmp_path).close()
    assert kill(tmp_path, "applied", parallel=2)
    asyncio.run(play(headway.open(tmp_path), parallel=2))
    assert texts(tmp_path) == CHAIN.in_order()


def test_what_a_person_changed_after_a_kill_is_not_lost(tmp_path: Path) -> None:
    CHAIN.open(tmp_path).close()
    assert kill(tmp_path, "wrote")
    put(tmp_path, {"one.txt": "by a person\n", "mine.txt": "mine\n"})
    asyncio.run(play(headway.open(tmp_path)))
    found = texts(tmp_path)
    assert found["one.txt"].startswith("by a person\n")
    assert found["mine.txt"] == "mine\n"


@pytest.mark.parametrize("between", ["nothing can run", "another session"])
def test_what_a_person_changed_after_a_kill_is_not_lost_after_another_execution(tmp_path: Path, between: str) -> None:
    dag = Dag(((), (0,)), (("one.txt",), ("two.txt",)))
    session = dag.open(tmp_path)
    session.update("i0", status="completed")
    assert kill(tmp_path, "wrote")
    put(tmp_path, {"mine.txt": "mine\n"})
    if between == "nothing can run":
        session.update("i0", status="blocked")
        assert asyncio.run(play(session)).outcome is ExecutionEnding.WAITING
        session.update("i0", status="completed")
    else:
        other = headway.open(tmp_path, "other")
        other.write([{"id": "x", "content": "theirs.txt=x"}], replace=True)
        assert asyncio.run(play(other)).outcome is ExecutionEnding.COMPLETE
    asyncio.run(play(session))
    assert texts(tmp_path).get("mine.txt") == "mine\n"
    assert between == "nothing can run" or texts(tmp_path).get("theirs.txt") == "x\n"
