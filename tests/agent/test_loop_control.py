"""Who watches a run, and who steers it: stop, pause, answers, from here and from other processes; one run at a time."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import headway
from headway import NoRun, RunRefused, Session
from headway.core.execution_events import ModeChanged
from headway.core.run_events import (
    ApprovalAnswered,
    ApprovalAsked,
    RoundStarted,
    RunControlRequested,
    RunFinished,
    RunPaused,
    RunStarted,
    ToolFinished,
    ToolStarted,
)
from headway.testing import Call, Failure, ScriptedModel, Turn
from headway.tools import Answer, Approvals, Question, builtin_tools, tool
from headway.tools.effects import Mode

from .looping import (
    BOUND,
    AnyTool,
    act,
    calling,
    elsewhere,
    facts,
    is_valid,
    look,
    results,
    run,
    running_elsewhere,
    texts,
    types,
    until,
)

SOON = 10.0
"""Seconds within which a run is over that somebody ended: generous, and far from what it would have waited for."""


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """Set in the end, so that no thread is left behind."""
    event = threading.Event()
    yield event
    event.set()


# ending a run


@dataclass
class Waiting:
    """A run that waits for something that does not come."""

    turns: list[Any]
    tools: list[AnyTool] = field(default_factory=list[AnyTool])
    approvals: Approvals | None = None
    is_there: Callable[[Session], bool] = lambda session: bool(facts(session, RoundStarted))


def waiting_for_the_model(session: Session, project: Path, released: threading.Event) -> Waiting:
    return Waiting([Turn("never", delay=600)])


def waiting_for_the_rest_of_the_answer(session: Session, project: Path, released: threading.Event) -> Waiting:
    return Waiting([Turn("word " * 60, delay=600)])


def waiting_to_ask_again(session: Session, project: Path, released: threading.Event) -> Waiting:
    return Waiting([Turn(error=Failure(429, retry_after=100))], is_there=lambda session: "RunError" in types(session))


def waiting_for_an_async_tool(session: Session, project: Path, released: threading.Event) -> Waiting:
    @tool(effect="write")
    async def sleep() -> str:
        """Sleeps."""
        await asyncio.sleep(600)
        return ""

    return Waiting([calling("sleep")], [sleep], is_there=_tool_started)


def waiting_for_tools_side_by_side(session: Session, project: Path, released: threading.Event) -> Waiting:
    @tool(effect="read")
    async def sleep() -> str:
        """Sleeps."""
        await asyncio.sleep(600)
        return ""

    return Waiting([calling("sleep", "sleep", "look")], [sleep, look], is_there=_tool_started)


def waiting_for_a_function(session: Session, project: Path, released: threading.Event) -> Waiting:
    @tool(effect="write")
    def block() -> str:
        """Blocks."""
        released.wait(600)
        return ""

    return Waiting([calling("block")], [block], is_there=_tool_started)


def waiting_for_a_tool_that_will_not_be_stopped(session: Session, project: Path, released: threading.Event) -> Waiting:
    @tool(effect="write")
    async def stubborn() -> str:
        """Goes on whatever happens."""
        while not released.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.02)
        return ""

    return Waiting([calling("stubborn")], [stubborn], is_there=_tool_started)


def waiting_for_a_command(session: Session, project: Path, released: threading.Event) -> Waiting:
    command = calling("bash", command="echo $$ > pid; exec sleep 600")
    pid = project / "pid"
    return Waiting(
        [command], [*builtin_tools(project)], is_there=lambda session: pid.exists() and pid.read_text() != ""
    )


def waiting_for_an_answer(session: Session, project: Path, released: threading.Event) -> Waiting:
    async def ask(question: Question) -> Answer:
        await asyncio.sleep(600)
        return Answer("once")

    there = "ApprovalAsked"
    return Waiting([calling("act")], [act], Approvals(ask), is_there=lambda session: there in types(session))


def waiting_to_go_on(session: Session, project: Path, released: threading.Event) -> Waiting:
    @tool(effect="read")
    def pause() -> str:
        """Pauses the run."""
        session.pause_run()
        return ""

    return Waiting([calling("pause"), "Never."], [pause], is_there=lambda session: "ToolFinished" in types(session))


def _tool_started(session: Session) -> bool:
    return "ToolStarted" in types(session)


@pytest.mark.parametrize("way", ["stopped", "cancelled"])
@pytest.mark.parametrize(
    "situation",
    [
        waiting_for_the_model,
        waiting_for_the_rest_of_the_answer,
        waiting_to_ask_again,
        waiting_for_an_async_tool,
        waiting_for_tools_side_by_side,
        waiting_for_a_function,
        waiting_for_a_tool_that_will_not_be_stopped,
        waiting_for_a_command,
        waiting_for_an_answer,
        waiting_to_go_on,
    ],
)
async def test_a_run_is_over_soon_after_it_is(
    session: Session,
    tmp_path: Path,
    released: threading.Event,
    way: str,
    situation: Callable[[Session, Path, threading.Event], Waiting],
) -> None:
    session.add("Under way", status="in_progress")
    waits = situation(session, tmp_path, released)
    work = asyncio.create_task(run(session, waits.turns, tools=waits.tools, approvals=waits.approvals))
    await until(lambda: waits.is_there(session) or work.done())
    assert not work.done(), work.result()
    if way == "stopped":
        session.stop_run()
    else:
        work.cancel()
    done, _ = await asyncio.wait({work}, timeout=SOON)  # what it waits for takes longer
    assert done, "it goes on"
    assert work.cancelled() if way == "cancelled" else work.result().reason == "cancelled"
    assert [end.reason for end in facts(session, RunFinished)] == ["cancelled"]
    assert types(session)[-1] == "RunFinished"
    started, finished = facts(session, ToolStarted), facts(session, ToolFinished)
    assert sorted(call.call_id for call in started) == sorted(call.call_id for call in finished)
    assert session.run is not None and session.run.tool_calls == sum(not call.cancelled for call in finished)
    assert all(call.cancelled or call.ok for call in finished)
    assert [(todo.status, todo.interrupted) for todo in session.todos] == [("pending", True)]
    # The session is free at once, and what the model is told of the past is whole.
    model = ScriptedModel(["Here."])
    assert (await run(session, model, "And now?")).text == "Here."
    assert is_valid(model.requests[0].messages)
    released.set()


async def test_a_command_of_a_stopped_run_is_ended(session: Session, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    turns = [calling("bash", command="echo $$ > pid; exec sleep 600")]
    work = asyncio.create_task(run(session, turns, tools=builtin_tools(tmp_path)))
    await until(lambda: pid.exists() and pid.read_text().strip())
    session.stop_run()
    await work
    await until(lambda: _is_gone(int(pid.read_text())))


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_what_a_tool_does_after_its_run_was_stopped_changes_nothing_of_the_log(
    session: Session, released: threading.Event
) -> None:
    ended = threading.Event()

    @tool(effect="write")
    def block() -> str:
        """Blocks."""
        released.wait(BOUND)
        ended.set()
        return "late"

    work = asyncio.create_task(run(session, [calling("block"), "Never."], tools=[block]))
    await until(lambda: _tool_started(session))
    session.stop_run()
    await work
    version = session.version
    released.set()
    await until(ended.is_set)
    for _ in range(20):
        await asyncio.sleep(0.005)  # what was left behind gets its turns
    assert session.version == version
    model = ScriptedModel(["Here."])
    await run(session, model, "And now?", tools=[block])
    assert "did not finish" in "".join(texts(model.requests[0].messages))
    assert "late" not in "".join(texts(model.requests[0].messages))


async def test_a_run_can_be_given_a_time(session: Session) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(run(session, [Turn("never", delay=600)]), 0.3)
    assert [end.reason for end in facts(session, RunFinished)] == ["cancelled"]


async def test_another_process_stops_a_run(kept_session: Session, tmp_path: Path) -> None:
    work = asyncio.create_task(run(kept_session, [Turn("never", delay=600)]))
    await elsewhere(tmp_path, "until(lambda: session.run and session.run.round); session.stop_run()")
    assert (await work).reason == "cancelled"
    [asked] = facts(kept_session, RunControlRequested)
    assert asked.request == "stop"


async def test_without_a_run_there_is_nothing_to_stop(session: Session) -> None:
    for ask in (session.stop_run, session.pause_run, session.resume_run):
        with pytest.raises(NoRun):
            ask()
    await run(session, ["Done."])
    with pytest.raises(NoRun):
        session.stop_run()
    assert facts(session, RunControlRequested) == []


async def test_a_run_whose_session_is_deleted_ends_with_an_error_and_does_not_bring_it_back(
    kept_session: Session,
) -> None:
    @tool(effect="read")
    def delete() -> str:
        """Deletes the session."""
        kept_session.store.delete(kept_session.name)
        return "deleted"

    result = await run(kept_session, [calling("delete"), "Never."], tools=[delete])
    assert result.reason == "error"
    assert result.error
    assert kept_session.version == 0


# pause


async def test_another_process_pauses_between_rounds_and_lets_go_on(kept_session: Session, tmp_path: Path) -> None:
    go = asyncio.Event()

    @tool(effect="read")
    async def wait() -> str:
        """Waits until it is paused."""
        await asyncio.wait_for(go.wait(), BOUND)
        return "waited"

    model = ScriptedModel([calling("wait"), "Done."])
    work = asyncio.create_task(run(kept_session, model, tools=[wait]))
    await elsewhere(tmp_path, "until(lambda: session.run and session.run.round); session.pause_run()")
    assert kept_session.run is not None
    assert kept_session.run.paused
    assert kept_session.state.is_pausing("main")
    go.set()  # the round that was under way is finished
    await until(lambda: facts(kept_session, RunPaused))
    assert kept_session.state.is_paused("main") and not kept_session.state.is_pausing("main")
    await elsewhere(tmp_path, "time.sleep(0.2); session.resume_run()")
    assert (await work).text == "Done."
    kinds = ("RunRequested", "RunPaused", "ToolFinished", "RoundStarted")
    assert [event.type for event in kept_session.events() if event.type in kinds] == [
        *("RoundStarted", "RunRequested", "ToolFinished", "RunPaused"),
        *("RunRequested", "RoundStarted"),
    ]


async def test_the_log_has_the_mode_of_a_run_and_its_changes(session: Session) -> None:
    approvals = Approvals()

    @tool(effect="read")
    def dare() -> str:
        """Lets everything pass, as a person does in the middle of a run."""
        assert session.run is not None
        assert session.run.mode == "default"
        approvals.mode = Mode.YOLO
        return "dared"

    await run(session, [calling("dare"), "Done."], tools=[dare], approvals=approvals)
    assert [fact.mode for fact in facts(session, RunStarted)] == ["default"]
    assert [fact.mode for fact in facts(session, ModeChanged)] == ["yolo"]
    assert session.run is not None
    assert session.run.mode == "yolo"


async def test_to_pause_or_resume_again_changes_nothing(session: Session) -> None:
    @tool(effect="read")
    def pause() -> str:
        """Pauses and goes on, twice each."""
        for ask in (session.resume_run, session.pause_run, session.pause_run, session.resume_run, session.resume_run):
            ask()
        return ""

    assert (await run(session, [calling("pause"), "Done."], tools=[pause])).text == "Done."
    assert [asked.request for asked in facts(session, RunControlRequested)] == ["pause", "resume"]


# approvals


def answering(*answers: Answer) -> tuple[Approvals, list[Question]]:
    """Approvals that get these answers, and what was asked."""
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        return answers[len(asked) - 1]

    return Approvals(ask), asked


async def nobody_answers(question: Question) -> Answer:
    await asyncio.sleep(600)
    raise AssertionError("it should have been cancelled")


async def test_a_question_and_its_answer_are_in_the_log(session: Session) -> None:
    approvals, asked = answering(Answer("once"), Answer("always"))
    ask = approvals.ask
    model = ScriptedModel([calling("act", what="A"), calling("act", what="B"), calling("act", what="C"), "Done."])
    await run(session, model, approvals=approvals)
    assert results(model.requests[3]) == ["did C"]
    assert [question.preview.line for question in asked] == ['act(what="A")', 'act(what="B")']
    logged = facts(session, ApprovalAsked)
    assert [(fact.tool, fact.effect, fact.line) for fact in logged] == [
        ("act", "execute", 'act(what="A")'),
        ("act", "execute", 'act(what="B")'),
    ]
    assert [fact.call_id for fact in logged] == [fact.call_id for fact in facts(session, ToolFinished)][:2]
    assert [(fact.question_id, fact.reply) for fact in facts(session, ApprovalAnswered)] == [
        (logged[0].question_id, "once"),
        (logged[1].question_id, "always"),
    ]
    assert approvals.ask is ask


async def test_another_process_answers_and_the_question_here_is_withdrawn(
    kept_session: Session, tmp_path: Path
) -> None:
    withdrawn: list[str] = []

    async def ask(question: Question) -> Answer:
        try:
            return await nobody_answers(question)
        except asyncio.CancelledError:
            withdrawn.append(question.id)
            raise

    model = ScriptedModel([calling("act", what="A"), "Done."])
    work = asyncio.create_task(run(kept_session, model, approvals=Approvals(ask)))
    printed = await elsewhere(
        tmp_path,
        """
question_id = until(lambda: session.run and next(iter(session.run.questions), None))
print(session.answer(question_id, "once").reply)
""",
    )
    assert printed == "once"
    await work
    assert results(model.requests[1]) == ["did A"]
    assert withdrawn == [facts(kept_session, ApprovalAsked)[0].question_id]


async def test_a_no_and_its_reason_reach_the_model_from_here_and_from_elsewhere(
    kept_session: Session, tmp_path: Path
) -> None:
    approvals, _ = answering(Answer("no", "not on a Friday"))
    model = ScriptedModel([calling("act"), "Done."])
    await run(kept_session, model, approvals=approvals)
    assert "The user declined act: not on a Friday" in results(model.requests[1])[0]

    model = ScriptedModel([calling("act"), "Done."])
    work = asyncio.create_task(run(kept_session, model, approvals=Approvals(nobody_answers)))
    await elsewhere(
        tmp_path,
        """
question_id = until(lambda: session.run and next(iter(session.run.questions), None))
session.answer(question_id, "no", "not on a Monday")
""",
    )
    await work
    assert "The user declined act: not on a Monday" in results(model.requests[1])[0]
    assert [fact.reason for fact in facts(kept_session, ApprovalAnswered)] == ["not on a Friday", "not on a Monday"]
    assert all(fact.denied for fact in facts(kept_session, ToolFinished))


async def test_the_first_answer_counts_if_it_comes_from_elsewhere(kept_session: Session, tmp_path: Path) -> None:
    async def ask(question: Question) -> Answer:
        await elsewhere(tmp_path, f"session.answer({question.id!r}, 'no', 'I was first')")
        return Answer("once")

    model = ScriptedModel([calling("act"), "Done."])
    await run(kept_session, model, approvals=Approvals(ask))
    assert "I was first" in results(model.requests[1])[0]
    assert [fact.reply for fact in facts(kept_session, ApprovalAnswered)] == ["no"]


async def test_the_first_answer_counts_if_it_comes_from_here(kept_session: Session, tmp_path: Path) -> None:
    @tool(effect="execute")
    async def late() -> str:
        """Has another process answer once more."""
        question_id = facts(kept_session, ApprovalAsked)[0].question_id
        return await elsewhere(tmp_path, f"print(session.answer({question_id!r}, 'no').reply)")

    model = ScriptedModel([calling("late"), "Done."])
    approvals, _ = answering(Answer("once"))
    await run(kept_session, model, tools=[late], approvals=approvals)
    assert results(model.requests[1]) == ["once"]
    assert [fact.reply for fact in facts(kept_session, ApprovalAnswered)] == ["once"]


async def test_only_open_questions_can_be_answered_and_only_with_what_is_an_answer(session: Session) -> None:
    @tool(effect="read")
    def answer(question_id: str, reply: str) -> str:
        """Answers."""
        return session.answer(question_id, reply).reply

    calls = [Call("answer", {"question_id": "q", "reply": "once"}), Call("answer", {"question_id": "q", "reply": "ok"})]
    model = ScriptedModel([Turn(calls=calls), "Done."])
    await run(session, model, tools=[answer])
    first, second = results(model.requests[1])
    assert "There is no open question 'q'" in first
    assert "'ok' is not a valid answer" in second
    with pytest.raises(NoRun):
        session.answer("q", "once")


async def test_a_question_that_cannot_be_asked_is_a_no_and_the_run_goes_on(session: Session) -> None:
    async def ask(question: Question) -> Answer:
        raise OSError("no terminal")

    model = ScriptedModel([calling("act"), "Done."])
    assert (await run(session, model, approvals=Approvals(ask))).text == "Done."
    assert "the question could not be asked" in results(model.requests[1])[0]
    assert [(fact.reply, fact.reason) for fact in facts(session, ApprovalAnswered)] == [
        ("no", "the question could not be asked")
    ]


async def test_a_logged_question_has_no_keys_in_it(session: Session, tmp_path: Path) -> None:
    key = "ghp_abcdefghijklmnopqrstuvwxyz012345"
    approvals, asked = answering(Answer("once"), Answer("no", f"do not use {key}"))
    calls = [
        Call("bash", {"command": f"true {key}"}),
        Call("write_file", {"path": "a.txt", "content": f"token = '{key}'\n"}),
    ]
    await run(session, [Turn(calls=calls), "Done."], tools=builtin_tools(tmp_path), approvals=approvals)
    assert key in (asked[0].preview.command or "")
    assert key in (asked[1].preview.diff or "")
    assert len(facts(session, ApprovalAsked)) == 2
    assert "[redacted]" in (facts(session, ApprovalAsked)[1].diff or "")
    assert key not in "".join(str(event.data) for event in session.events())


async def test_agents_that_share_approvals_each_ask_in_their_own_run(session: Session) -> None:
    sub = session.agent("sub-1")
    approvals, asked = answering(*[Answer("once")] * 5)
    ask = approvals.ask
    main_is_over = asyncio.Event()

    @tool(effect="read")
    async def wait() -> str:
        """Waits for the end of the main run."""
        await asyncio.wait_for(main_is_over.wait(), BOUND)
        return ""

    async def main() -> None:
        await run(session, [calling("act", what="A"), "Done."], approvals=approvals)
        main_is_over.set()

    later = run(
        sub,
        [calling("act", what="B"), calling("wait"), calling("act", what="C"), "Done."],
        approvals=approvals,
        tools=[act, wait],
    )
    await asyncio.gather(main(), later)
    assert [fact.line for fact in facts(session, ApprovalAsked)] == ['act(what="A")']
    assert [fact.line for fact in facts(sub, ApprovalAsked)] == ['act(what="B")', 'act(what="C")']
    assert approvals.ask is ask
    model = ScriptedModel([calling("act", what="D"), "Done."])
    await run(session, model, approvals=approvals)
    assert results(model.requests[1]) == ["did D"]
    assert len(asked) == 4


# one run at a time


async def test_a_second_run_on_a_session_is_refused_and_the_first_goes_on(
    kept_session: Session, tmp_path: Path
) -> None:
    @tool(effect="read")
    async def second(again: bool) -> str:
        """Tries to run the same session."""
        with pytest.raises(RunRefused) as refused:
            await run(headway.open(tmp_path) if again else kept_session, ["Never."])
        return str(refused.value)

    calls = [Call("second", {"again": False}), Call("second", {"again": True})]
    model = ScriptedModel([Turn(calls=calls), "Done."])
    assert (await run(kept_session, model, tools=[second])).text == "Done."
    for told in results(model.requests[1]):
        assert told.startswith("Another run has been using the session 'default'")
        assert f"process {os.getpid()} " in told
        assert "stop it" in told
    assert types(kept_session).count("RunStarted") == types(kept_session).count("RunFinished") == 1
    assert (await run(headway.open(tmp_path, "other"), ["Free."])).text == "Free."


async def test_a_run_elsewhere_keeps_this_process_out_until_it_is_killed(kept_session: Session, tmp_path: Path) -> None:
    kept_session.add("Under way", status="in_progress")
    async with running_elsewhere(tmp_path, "[Turn('never', delay=600)]") as other:
        version = kept_session.version
        with pytest.raises(RunRefused, match=f"process {other.id} "):
            await run(headway.open(tmp_path), ["Never."])
        assert kept_session.version == version
        other.kill()
    model = ScriptedModel(["Here."])
    result = await run(headway.open(tmp_path), model, "And now?", max_nudges=0)
    assert result.text == "Here."
    assert texts(model.requests[0].messages)[:2] == ["user: Elsewhere", "user: And now?"]
    first, second = facts(kept_session, RunFinished)
    assert (first.reason, second.reason) == ("error", "finished")
    assert "cut off" in (first.error or "")
    assert [(todo.status, todo.interrupted) for todo in kept_session.todos] == [("pending", True)]


async def test_a_session_that_was_just_looked_at_is_free_at_once_when_its_run_was_killed(
    kept_session: Session, tmp_path: Path
) -> None:
    async with running_elsewhere(tmp_path, "[Turn('never', delay=600)]") as other:
        assert kept_session.run is not None
        assert kept_session.run.is_active
        other.kill()
    assert (await run(kept_session, ["Here."])).text == "Here."


async def test_what_a_killed_run_left_in_progress_is_pending_for_whoever_looks_next(
    kept_session: Session, tmp_path: Path
) -> None:
    turns = """[Turn(calls=[Call("create_todo_list", {"items": [{"description": "A"}]}),
        Call("todo", {"start": "t1"})]), Turn("never", delay=600)]"""
    async with running_elsewhere(tmp_path, turns) as other:
        await until(lambda: [todo.status for todo in kept_session.todos] == ["in_progress"])
        other.kill()
    [todo] = headway.open(tmp_path).todos
    assert (todo.status, todo.interrupted) == ("pending", True)
    assert [end.reason for end in facts(kept_session, RunFinished)] == ["error"]
