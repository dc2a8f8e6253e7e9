"""One executor runs every call, and always has a result, whatever the model sent and whatever a tool does."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.support.processes import run_python

import headway
from headway import HeadwayError
from headway.core.errors import StoreError
from headway.tools import Approvals, Context, Effect, Executor, Limits, ToolFault, ToolResult, tool

from .samples import NO, Call, Marking, Person, reading, yolo


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Panic(BaseException):
    """What some extension modules raise."""


ERRORS: list[Any] = [
    ValueError("bad\x1b[2J\nthing"),
    ToolFault("Cannot be done."),
    StoreError("No room."),
    OSError(28, "No space left on device"),
    TimeoutError(),
    RecursionError("deep"),
    MemoryError(),
    StopIteration("stop"),
    StopAsyncIteration(),
    SystemExit(3),
    GeneratorExit(),
    Panic("rust"),
    Wordless(),
    ExceptionGroup("several", [ValueError("a")]),
    asyncio.CancelledError("of its own"),
    asyncio.InvalidStateError(),
]


def raising(error: BaseException) -> list[Any]:
    def plain() -> None:
        raise error

    async def later() -> None:
        raise error

    return [reading(plain), reading(later)]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("name", ["plain", "later"])
async def test_whatever_a_tool_raises_becomes_a_result(tmp_path: Path, error: BaseException, name: str):
    result = await asyncio.wait_for(yolo(tmp_path, *raising(error)).call(name, {}), 20)
    assert not result.ok and result.effect is Effect.READ
    assert result.text and result.text.isprintable()
    if isinstance(error, ToolFault | StoreError):
        assert result.text == str(error)
    else:
        assert result.text.startswith(f"{name} failed: ")


async def test_what_fails_before_the_tool_runs_becomes_a_result_without_effect(tmp_path: Path):
    class Broken(Marking):
        def __init__(self, part: str) -> None:
            super().__init__(Effect.EXECUTE)
            setattr(self, part, self.fail)

        def fail(self, *args: Any) -> Any:
            raise SystemExit("broken")

    for part in ("effect_of", "preview", "host", "matches", "read"):
        runner = Executor([Broken(part)], project=tmp_path)
        result = await runner.call("marking", {})
        assert (result.ok, result.effect) == (False, None), part


@pytest.mark.parametrize("answer", [None, "text", 3, ToolResult(None), ToolResult(b"x"), ToolResult])  # pyright: ignore
async def test_an_answer_that_is_no_result_is_said_to_be_none(tmp_path: Path, answer: Any):
    class Odd(Marking):
        async def run(self, call: Call, context: Context) -> Any:
            return answer

    result = await yolo(tmp_path, Odd(Effect.READ)).call("marking", {})
    assert not result.ok
    assert "instead of a ToolResult with text" in result.text


async def test_the_effect_in_a_result_is_the_executors_word(tmp_path: Path):
    @tool(effect="write")
    def lie() -> ToolResult:
        return ToolResult("", effect=Effect.READ)

    assert (await yolo(tmp_path, lie).call("lie", {})).effect is Effect.WRITE
    assert (await yolo(tmp_path, lie).call("lie", {"x": 1})).effect is None
    assert (await yolo(tmp_path, lie).call("lie", "{")).effect is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("markng", "There is no tool named 'markng'; did you mean marking?"),
        ("zzz", "There is no tool named 'zzz'; available tools: marking, also."),
        ("", "There is no tool named ''; available tools: marking, also."),
        ("x\x1b[2J\n", "There is no tool named 'x␛[2J '; available tools"),
        ("m" * 5_000_000, "There is no tool named 'mmm"),
        (None, "There is no tool named 'None'"),
        (["marking"], "did you mean marking?"),
    ],
)
async def test_an_unknown_name_is_answered_with_the_nearest(tmp_path: Path, name: Any, words: str):
    result = await yolo(tmp_path, Marking(Effect.READ, aliases=("also",))).call(name, {})
    assert words in result.text and len(result.text) < 200
    assert (result.ok, result.effect) == (False, None)


async def test_an_executor_without_tools_says_so(tmp_path: Path):
    assert (await yolo(tmp_path).call("x", {})).text == "There is no tool named 'x'; available tools: none."


async def test_a_tool_that_takes_too_long_is_stopped(tmp_path: Path):
    stopped = asyncio.Event()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    result = await yolo(tmp_path, reading(wait, seconds=0.05)).call("wait", {})
    assert result.text == "wait took longer than 0.05 s and was stopped."
    assert (result.ok, result.effect, stopped.is_set()) == (False, Effect.READ, True)


async def test_a_tools_own_time_out_is_told_as_its_failure(tmp_path: Path):
    async def wait() -> None:
        await asyncio.wait_for(asyncio.Event().wait(), 0.01)

    result = await yolo(tmp_path, reading(wait, seconds=30)).call("wait", {})
    assert result.text.startswith("wait failed: TimeoutError")


async def test_a_tool_that_ignores_being_stopped_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("headway.tools.executor._GRACE", 0.2)
    release = asyncio.Event()

    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    result = await yolo(tmp_path, reading(stubborn, seconds=0.05)).call("stubborn", {})
    assert "could not be stopped; it may still be running" in result.text
    release.set()


async def test_a_function_that_blocks_past_its_time_is_given_up(tmp_path: Path):
    release = threading.Event()

    def block() -> None:
        release.wait(60)

    runner = yolo(tmp_path, reading(block, seconds=0.05))
    results = await asyncio.gather(*(runner.call("block", {}) for _ in range(40)))
    release.set()
    assert {result.text for result in results} == {
        "block took longer than 0.05 s and could not be stopped; it may still be running."
    }


def test_a_function_that_hangs_does_not_keep_the_program_from_ending(tmp_path: Path):
    code = """
import asyncio, sys, threading
from headway.tools import Executor, tool

@tool(effect="read", seconds=0.05)
def hang() -> None:
    threading.Event().wait()

print(asyncio.run(Executor([hang], project=sys.argv[1]).call("hang", {})).ok)
"""
    assert run_python(code, tmp_path) == (0, "False\n", "")


async def test_being_cancelled_goes_through_and_stops_the_tool(tmp_path: Path):
    begun, tidied = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            tidied.set()

    task = asyncio.create_task(yolo(tmp_path, reading(wait)).call("wait", {}))
    await asyncio.wait_for(begun.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert tidied.is_set()


async def test_being_cancelled_goes_through_while_a_function_blocks(tmp_path: Path):
    begun, release = threading.Event(), threading.Event()

    def block() -> None:
        begun.set()
        release.wait(60)

    task = asyncio.create_task(yolo(tmp_path, reading(block)).call("block", {}))
    while not begun.is_set():
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)
    release.set()


async def test_a_hundred_calls_run_side_by_side(tmp_path: Path):
    barrier = threading.Barrier(100)

    def meet(number: int) -> int:
        barrier.wait(30)
        return number

    runner = yolo(tmp_path, reading(meet))
    results = await asyncio.gather(*(runner.call("meet", {"number": at}) for at in range(100)))
    assert [result.text for result in results] == [str(at) for at in range(100)]


async def test_a_long_answer_is_cut_in_the_middle_and_kept(tmp_path: Path):
    def long(size: int) -> str:
        return "a" * (size - 1) + "z"

    runner = yolo(
        tmp_path, reading(long), reading(long, name="short", output_chars=10), limits=Limits(output_chars=1_000)
    )
    assert (await runner.call("long", {"size": 1_000})).kept is None
    result = await runner.call("long", {"size": 1_001})
    assert result.ok and result.kept and result.kept in result.text
    assert (tmp_path / result.kept).read_text() == "a" * 1_000 + "z"
    assert "[… 1 characters left out" in result.text
    assert (await runner.call("short", {"size": 11})).text.startswith("aaaaa\n\n[… 1 characters")


async def test_a_long_error_is_cut_too(tmp_path: Path):
    def fail() -> None:
        raise ToolFault("x" * 100_000)

    result = await yolo(tmp_path, reading(fail)).call("fail", {})
    assert not result.ok and len(result.text) < 31_000 and result.kept


async def test_who_watches_output_cannot_make_the_tool_fail(tmp_path: Path):
    heard: list[tuple[str | None, str]] = []

    def listen(call_id: str | None, text: str) -> None:
        heard.append((call_id, text))
        raise OSError("the terminal is gone")

    @tool(effect="read")
    def speak(context: Context) -> str:
        context.report("half")
        return "whole"

    runner = Executor([speak], project=tmp_path, on_output=listen)
    assert (await runner.call("speak", {}, "call-1")).text == "whole"
    assert heard == [("call-1", "half")]


async def test_the_log_of_a_failure_holds_no_keys(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    def fail() -> None:
        raise ValueError("GET https://me:hunter2@host/?api_key=abcd1234efgh")

    with caplog.at_level(logging.ERROR, "headway"):
        await yolo(tmp_path, reading(fail)).call("fail", {})
    assert "The tool fail failed" in caplog.text and "ValueError" in caplog.text
    assert "hunter2" not in caplog.text and "abcd1234efgh" not in caplog.text


async def test_tools_that_only_look_may_run_side_by_side(tmp_path: Path):
    tools = [Marking(effect, f"tool_{effect}") for effect in Effect]
    runner = yolo(tmp_path, *tools)
    assert [one.name for one in tools if runner.is_read_only(one.name)] == ["tool_read", "tool_network"]
    assert not runner.is_read_only("nothing")


async def test_what_was_refused_is_told_from_what_failed(tmp_path: Path):
    def fail() -> None:
        raise ValueError("no")

    session = headway.open(memory=True)
    marking = Marking(Effect.EXECUTE)
    asked = Executor([marking], session, project=tmp_path, approvals=Approvals(Person(NO)))
    alone = Executor([marking, reading(fail)], project=tmp_path)
    assert (await asked.call("marking", {})).denied
    assert (await alone.call("marking", {})).denied
    for name, arguments in (("marking", {"x": 1}), ("marking", "{"), ("nothing", {}), ("fail", {})):
        result = await alone.call(name, arguments)
        assert (result.ok, result.denied) == (False, False), name
    session.set_plan_mode(True)
    assert (await asked.call("marking", {})).denied
    assert not (await yolo(tmp_path, marking).call("marking", {})).denied


async def test_a_preview_that_finds_a_fault_is_a_failure_and_no_refusal(tmp_path: Path):
    class Unable(Marking):
        async def preview(self, call: Call, context: Context) -> Any:
            raise ToolFault("Cannot be done.")

    for approvals in (Approvals(), Approvals(Person(NO))):
        result = await Executor([Unable(Effect.EXECUTE)], project=tmp_path, approvals=approvals).call("marking", {})
        assert (result.text, result.denied) == ("Cannot be done.", False)


def test_a_function_in_place_of_approvals_is_refused_with_what_to_write(tmp_path: Path):
    with pytest.raises(HeadwayError, match=r"^`approvals` must be an Approvals object; .*: Approvals\(ask\)\.$"):
        Executor([], project=tmp_path, approvals=Person(NO))  # pyright: ignore


async def test_answers_are_kept_in_the_first_folder_that_a_tool_names_unless_one_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def long() -> str:
        return "x" * 100_000

    for name in ("named", "worked", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    works = Marking(Effect.READ)
    works.folder = str(tmp_path / "worked")
    runs = {
        "named": Executor([works, reading(long)], project=tmp_path / "named"),
        "worked": Executor([reading(long), works]),
        "here": Executor([reading(long)]),
    }
    for name, runner in runs.items():
        kept = (await runner.call("long", {})).kept
        assert kept is not None and (tmp_path / name / kept).read_text() == long()


async def test_a_tool_that_is_cancelled_before_it_begins_has_stopped_itself(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
):
    @tool(effect="read")
    async def look() -> str:
        """Look."""
        return "never"

    call = asyncio.create_task(Executor([look], project=tmp_path).call("look", {}))
    while not (begun := [task for task in asyncio.all_tasks() if task.get_name() == "tool look"]):
        await asyncio.sleep(0)
    begun[0].cancel()
    result = await asyncio.wait_for(call, 5)
    assert (result.ok, result.text) == (False, "look failed: it cancelled itself.")
    gc.collect()
    assert [str(warning.message) for warning in recwarn] == []
