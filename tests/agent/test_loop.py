"""A run from its first round to its last: what the model is asked, what it is told of its calls, why the run ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.test import TestModel

import headway
from headway import HeadwayError, ModelNotReady, Session
from headway.agent import LoopConfig, run_loop
from headway.agent.config import Reason
from headway.core.run_events import (
    RoundStarted,
    RunError,
    RunFinished,
    RunStarted,
    TodoListCompleted,
    ToolFinished,
    ToolStarted,
    Usage,
)
from headway.planner.config import TodoToolsName
from headway.testing import Call, Failure, ScriptedModel, Turn
from headway.tools import Approvals, ToolResult, builtin_tools, tool

from .looping import (
    BOUND,
    added,
    calling,
    creating,
    facts,
    fail,
    is_valid,
    look,
    looking,
    results,
    run,
    setting,
    states,
    texts,
    then,
    types,
    until,
    writing,
)

# the rounds


async def test_the_rounds_of_a_run_are_in_the_log_in_the_order_in_which_they_happened(session: Session) -> None:
    await run(session, [calling("look", at="a"), "Done."])
    assert types(session) == [
        *("RunStarted", "MessageAdded"),
        *("RoundStarted", "MessageAdded", "Usage", "ToolStarted", "ToolFinished"),
        *("RoundStarted", "MessageAdded", "Usage"),
        "RunFinished",
    ]
    assert [fact.round for fact in facts(session, RoundStarted)] == [1, 2]
    [started] = facts(session, ToolStarted)
    [finished] = facts(session, ToolFinished)
    assert (started.tool, started.round, started.summary) == ("look", 1, 'look {"at": "a"}')
    assert (finished.call_id, finished.ok, finished.text, finished.effect) == (started.call_id, True, "saw a", "read")


async def test_each_request_begins_with_the_whole_conversation_of_the_one_before(session: Session) -> None:
    model = ScriptedModel([calling("look"), calling("look", "fail"), "Done."])
    await run(session, model)
    first, second, third = (request.messages for request in model.requests)
    assert texts(first) == ["user: Do it"]
    assert texts(second) == ["user: Do it", "call: look {}", "result: saw it"]
    assert texts(third)[:3] == texts(second)
    assert all(is_valid(request.messages) for request in model.requests)
    assert {request.instructions for request in model.requests} == {"Work."}


async def test_a_result_says_what_the_run_came_to(session: Session, tmp_path: Path) -> None:
    usage = {"input_tokens": 100, "output_tokens": 10, "cache_read_tokens": 40}
    turns: list[dict[str, Any]] = [
        {
            "text": "I write.",
            "calls": [{"name": "write_file", "args": {"path": "a.txt", "content": "x"}}],
            "usage": usage,
        },
        {"calls": [{"name": "write_file", "args": {"path": "a.txt", "content": "y"}}], "usage": usage},
        {"calls": [{"name": "TodoWrite", "args": {"todos": []}}], "usage": usage},
        {"text": "Written.", "usage": usage},
    ]
    result = await run(session, turns, tools=builtin_tools(tmp_path))
    assert result.reason == "finished"
    assert result.ok
    assert (result.rounds, result.text, result.error) == (4, "Written.", None)
    assert (result.tool_calls, result.files) == (2, ("a.txt",))
    assert (result.input_tokens, result.output_tokens, result.cache_read_tokens) == (400, 40, 160)
    assert result.cost == 0
    [started], [finished] = facts(session, RunStarted), facts(session, RunFinished)
    assert result.run_id == started.run_id == finished.run_id
    assert (finished.reason, finished.rounds, finished.tool_calls) == ("finished", 4, 2)
    assert [fact.total_tokens for fact in facts(session, Usage)] == [110, 220, 330, 440]


async def test_a_run_that_is_all_done_says_so(session: Session) -> None:
    result = await run(session, [writing(("A", "completed")), "All is done."])
    assert (result.reason, result.text, result.rounds, result.ok) == (Reason.ALL_DONE, "All is done.", 2, True)


async def test_a_run_that_has_no_rounds_left_says_so(session: Session) -> None:
    result = await run(session, [calling("look", text="One."), calling("look")], max_rounds=2)
    assert (result.reason, result.text, result.rounds, result.ok) == (Reason.MAX_ROUNDS, "One.", 2, False)
    assert [finished.reason for finished in facts(session, RunFinished)] == ["max_rounds"]


async def test_a_stopped_run_says_so(session: Session) -> None:
    @tool(effect="read")
    def halt() -> str:
        """Stops."""
        session.stop_run()
        return "stopping"

    result = await run(session, [calling("halt"), Turn("never", delay=600)], tools=[halt])
    assert (result.reason, result.error, result.ok) == (Reason.CANCELLED, None, False)
    assert facts(session, RunFinished)[0].reason == "cancelled"


async def test_a_failed_run_says_why_in_the_result_and_in_the_log(session: Session) -> None:
    result = await run(session, [calling("look"), Turn(error=Failure(401))])
    assert (result.reason, result.rounds, result.ok) == (Reason.ERROR, 2, False)
    assert result.error is not None
    assert "refused the key" in result.error
    assert [(error.message, error.retry_in) for error in facts(session, RunError)] == [(result.error, None)]
    assert [(end.reason, end.error) for end in facts(session, RunFinished)] == [("error", result.error)]


# calls


async def test_calls_that_only_read_run_side_by_side(session: Session) -> None:
    here, there = asyncio.Event(), asyncio.Event()

    @tool(effect="read")
    async def one() -> str:
        """Waits for the other."""
        here.set()
        await asyncio.wait_for(there.wait(), BOUND / 2)
        return "one"

    @tool(effect="network")
    async def other() -> str:
        """Waits for the one."""
        there.set()
        await asyncio.wait_for(here.wait(), BOUND / 2)
        return "other"

    model = ScriptedModel([calling("one", "other"), "Done."])
    await run(session, model, tools=[one, other])
    assert results(model.requests[1]) == ["one", "other"]


async def test_other_calls_run_one_after_the_other_and_not_beside_those_that_read(session: Session) -> None:
    under_way: list[str] = []
    seen: list[list[str]] = []

    async def work(name: str) -> str:
        under_way.append(name)
        seen.append(sorted(under_way))
        await asyncio.sleep(0.02)
        under_way.remove(name)
        return name

    @tool(effect="read")
    async def peek(name: str) -> str:
        """Reads."""
        return await work(name)

    @tool(effect="write")
    async def put(name: str) -> str:
        """Writes."""
        return await work(name)

    order = [("peek", "a"), ("peek", "b"), ("put", "c"), ("put", "d"), ("peek", "e"), ("peek", "f")]
    model = ScriptedModel([Turn(calls=[Call(tool, {"name": name}) for tool, name in order]), "Done."])
    await run(session, model, tools=[peek, put])
    assert seen == [["a"], ["a", "b"], ["c"], ["d"], ["e"], ["e", "f"]]
    assert results(model.requests[1]) == ["a", "b", "c", "d", "e", "f"]


async def test_results_are_in_the_order_of_the_calls_also_after_loading_them_again(session: Session) -> None:
    @tool(effect="read")
    async def wait(rank: int) -> str:
        """Ends the sooner the higher the rank."""
        await until(lambda: len(facts(session, ToolFinished)) == 3 - rank)
        return f"rank {rank}"

    calls = [Call("wait", {"rank": rank}) for rank in (1, 2, 3)]
    model = ScriptedModel([Turn(calls=calls), "Done.", "Still there."])
    await run(session, model, tools=[wait])
    assert [fact.text for fact in facts(session, ToolFinished)] == ["rank 3", "rank 2", "rank 1"]
    assert results(model.requests[1]) == ["rank 1", "rank 2", "rank 3"]
    await run(session, model, "And now?", tools=[wait])
    before = texts(model.requests[1].messages)
    assert texts(model.requests[2].messages)[: len(before)] == before


async def test_whatever_is_wrong_with_a_call_the_model_is_told_and_the_run_goes_on(session: Session) -> None:
    def exits() -> str:
        """Ends the program."""
        raise SystemExit(3)

    @tool(effect="read")
    def refuses() -> ToolResult:
        """Says no."""
        return ToolResult("it cannot", ok=False)

    calls = [
        Call("fail", {"why": "the disk is on fire"}),
        Call("exits"),
        Call("refuses"),
        Call("lock"),
        Call("look", '{"at": '),
        Call("look", "[1]"),
        Call("look", {"where": "here"}),
        Call(""),
        Call("look", {"at": "last"}),
    ]
    model = ScriptedModel([Turn(calls=calls), "Done."])
    result = await run(session, model, tools=[look, fail, exits, refuses])
    told = results(model.requests[1])
    assert "the disk is on fire" in told[0]
    assert "SystemExit" in told[1]
    assert told[2] == "it cannot"
    assert "There is no tool named 'lock'; did you mean look?" in told[3]
    assert "not a valid JSON object" in told[4]
    assert "not a valid JSON object" in told[5]
    assert "where: Unknown field" in told[6]
    assert "does not name a tool" in told[7]
    assert told[8] == "saw last"
    assert [fact.ok for fact in facts(session, ToolFinished)] == [False] * 8 + [True]
    assert is_valid(model.requests[1].messages)
    assert (result.reason, result.text) == ("finished", "Done.")


async def test_a_tool_that_says_nothing_gives_a_result_that_providers_take(session: Session) -> None:
    @tool(effect="read")
    def nothing() -> str:
        """Says nothing."""
        return " "

    model = ScriptedModel([calling("nothing"), "Done.", "Again."])
    await run(session, model, tools=[nothing])
    await run(session, model, "More", tools=[nothing])
    assert results(model.requests[1])[0].strip()
    assert texts(model.requests[2].messages)[:3] == texts(model.requests[1].messages)


async def test_whatever_a_model_sent_it_is_the_same_conversation_when_it_is_loaded_again(
    kept_session: Session, tmp_path: Path
) -> None:
    calls = [Call("look", args) for args in ("", "{", "null", '{"at": "1", "at": "2"}', '{"at": "\ud800 \x00"}')]
    model = ScriptedModel([Turn("a\ud800b", "hm", [*calls, Call("nö x")]), Turn(calls=[Call("look", id="")]), "Done."])
    await run(kept_session, model)
    again = ScriptedModel(["Here."])
    await run(headway.open(tmp_path), again, "More")
    before = texts(model.requests[2].messages)
    assert texts(again.requests[0].messages) == [*before, "model: Done.", "user: More"]


async def test_calls_without_an_id_or_with_one_that_was_used_each_get_their_own(session: Session) -> None:
    same = [Call("look", {"at": "1"}, id="x"), Call("look", {"at": "2"}, id="x"), Call("look", {"at": "3"}, id="")]
    model = ScriptedModel([Turn(calls=same), Turn(calls=[Call("look", {"at": "4"}, id="x")]), "Done."])
    await run(session, model)
    history = model.requests[2].messages
    ids = [part.tool_call_id for message in history for part in message.parts if isinstance(part, ToolCallPart)]
    assert len(set(ids)) == 4
    assert all(ids)
    assert is_valid(history)
    assert [text for text in texts(history) if text.startswith("result")] == [f"result: saw {at}" for at in "1234"]
    counts = Counter(fact.call_id for fact in facts(session, ToolFinished))
    assert sorted(counts) == sorted(ids)


async def test_a_call_without_approval_is_a_result_too(session: Session) -> None:
    model = ScriptedModel([calling("act"), "Then not."])
    result = await run(session, model, approvals=Approvals())
    assert "needs approval" in results(model.requests[1])[0]
    assert facts(session, ToolFinished)[0].denied
    assert result.reason == "finished"


# answers


async def test_pydantic_ais_test_model_calls_its_tools_and_ends(session: Session) -> None:
    result = await run(session, TestModel(call_tools=["look", "act"], custom_output_text="Tested."))
    assert (result.reason, result.text) == ("finished", "Tested.")
    assert {fact.tool for fact in facts(session, ToolFinished)} == {"look", "act"}


# what a run begins with


async def test_without_a_task_the_conversation_goes_on(session: Session) -> None:
    model = ScriptedModel([calling("look"), "Half done.", "Done."])
    await run(session, model, "Fix it")
    result = await run(session, model, None)
    history = texts(model.requests[2].messages)
    assert history[:4] == ["user: Fix it", "call: look {}", "result: saw it", "model: Half done."]
    assert len(history) == 5  # models want a word of the user's to answer to
    assert history[4].startswith("user: (")
    assert result.text == "Done."


async def test_without_a_task_a_conversation_that_waits_for_the_model_gets_no_word_more(session: Session) -> None:
    await run(session, [Turn(error=Failure(401))], "Fix it")
    model = ScriptedModel(["Fixed."])
    await run(session, model, None)
    assert texts(model.requests[0].messages) == ["user: Fix it"]


async def test_a_second_task_follows_what_was_said_before(kept_session: Session, tmp_path: Path) -> None:
    await run(kept_session, [calling("look"), "One."], "First")
    model = ScriptedModel(["Two."])
    await run(headway.open(tmp_path), model, "Second")
    assert texts(model.requests[0].messages) == [
        *("user: First", "call: look {}", "result: saw it", "model: One."),
        "user: Second",
    ]


async def test_a_task_that_is_no_whole_text_is_taken_as_far_as_it_is(session: Session) -> None:
    model = ScriptedModel(["Done."])
    await run(session, model, "Read caf\udce9.txt")  # as a terminal with another encoding gives it
    assert texts(model.requests[0].messages) == ["user: Read caf\ufffd.txt"]


@pytest.mark.parametrize("task", ["", "  \n\t"])
async def test_a_blank_task_is_refused_and_nothing_is_written(kept_session: Session, tmp_path: Path, task: str) -> None:
    with pytest.raises(HeadwayError, match="The task is empty"):
        await run(kept_session, ["Never."], task)
    assert list(tmp_path.iterdir()) == []


async def test_there_is_nothing_to_continue_in_a_new_session(kept_session: Session, tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="no conversation to continue"):
        await run(kept_session, ["Never."], None)
    assert list(tmp_path.iterdir()) == []


async def test_a_model_that_is_not_known_is_refused_before_anything_is_written(
    kept_session: Session, tmp_path: Path
) -> None:
    for name in ("nobody:gpt", "gpt", "openai:gpt-4o", "scripted:missing.json"):
        with pytest.raises(ModelNotReady):
            await run(kept_session, name)
    assert list(tmp_path.iterdir()) == []
    assert kept_session.version == 0
    assert kept_session.run is None


async def test_tools_of_the_same_name_are_refused_before_anything_is_written(
    kept_session: Session, tmp_path: Path
) -> None:
    def todo_write() -> str:
        """Pretends."""
        return ""

    with pytest.raises(HeadwayError, match="Two tools are named"):
        await run(kept_session, ["Never."], tools=[tool(name="TodoWrite")(todo_write)])
    assert list(tmp_path.iterdir()) == []


async def test_a_key_in_the_task_reaches_the_model_and_not_the_log(session: Session) -> None:
    key = "sk-abcdefgh0123456789abcdefgh"

    @tool(effect="read")
    def keys() -> str:
        """Shows a key."""
        return f"the key is {key}"

    model = ScriptedModel([Turn(text=f"I use {key}", calls=[Call("keys")]), "Done."])
    await run(session, model, f"Use {key}", tools=[keys])
    assert [text for text in texts(model.requests[1].messages) if key in text] == [
        f"user: Use {key}",
        f"model: I use {key}",
        f"result: the key is {key}",
    ]
    assert key not in "".join(str(event.data) for event in session.events())


# several agents, and sessions that no file keeps


async def test_stopping_a_sub_agent_does_not_stop_the_main_one(session: Session) -> None:
    sub = session.agent("sub-1")
    under_way = asyncio.create_task(run(sub, [Turn("never", delay=600)]))

    @tool(effect="read")
    async def stop_it() -> str:
        """Stops the sub-agent."""
        await until(lambda: sub.run is not None and sub.run.round == 1)
        sub.stop_run()
        return (await under_way).reason

    model = ScriptedModel([calling("stop_it"), "Done."])
    assert (await run(session, model, tools=[stop_it])).reason == "finished"
    assert results(model.requests[1]) == ["cancelled"]


async def test_a_session_in_memory_runs_and_goes_on_without_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = headway.open(memory=True)
    model = ScriptedModel([writing(("A", "in_progress")), calling("look"), "One.", "Two."])
    assert (await run(session, model, max_nudges=0)).text == "One."
    assert (await run(session, model, None, max_nudges=0)).text == "Two."
    assert texts(model.requests[3].messages)[0] == "user: Do it"
    assert [todo.status for todo in session.todos] == ["pending"]
    assert list(tmp_path.iterdir()) == []


async def test_without_tools_named_the_built_in_ones_work_in_the_sessions_project(
    kept_session: Session, tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("the note\n")
    (tmp_path / "AGENTS.md").write_text("Be kind to the parser.\n")
    model = ScriptedModel([calling("read_file", path="note.txt"), "Done."])
    result = await run_loop(kept_session, "Read it", model=model, config=LoopConfig())
    assert result.text == "Done."
    assert "the note" in results(model.requests[1])[0]
    assert "Be kind to the parser." in model.requests[0].instructions
    assert model.requests[0].tools[-3:] == ["web_fetch", "create_todo_list", "todo"]


# the todo tools

KINDS: dict[TodoToolsName, list[str]] = {
    "full": ["TodoWrite", "create_todo_list", "update_todo_item"],
    "light": ["create_todo_list", "todo"],
    "plan": ["write_todos"],
    "off": [],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", ["own", "built in", "none"])
async def test_exactly_the_todo_tools_asked_for_are_offered(
    session: Session, tmp_path: Path, kind: TodoToolsName, given: str
) -> None:
    tools = {"own": [look], "built in": builtin_tools(tmp_path), "none": None}[given]
    model = ScriptedModel([calling("TodoWrite", todos=[]), "Done."])
    await run(session, model, tools=tools, todo_tools=kind)
    others = ["look"] if given == "own" else [t.name for t in builtin_tools(tmp_path, todo_tools="off")]
    others = [name for name in others if name != "create_plan"]  # which is for plan mode
    assert model.requests[0].tools == [*others, *KINDS[kind]]
    assert ("There is no tool named 'TodoWrite'" in results(model.requests[1])[0]) == (kind != "full")
    bash = [tool.description for tool in model.requests[0].parameters.function_tools if tool.name == "bash"]
    assert all(("TodoWrite" in (text or "")) == (kind == "full") for text in bash)


async def test_a_dialect_takes_the_place_of_the_todo_tools(session: Session, tmp_path: Path) -> None:
    session.write([{"content": "Kept", "status": "blocked"}])
    todos = [{"description": "Kept", "status": "blocked"}, {"description": "Look", "status": "completed"}]
    model = ScriptedModel([calling("write_todos", todos=todos), calling("todo", done=["t1"]), "Done."])
    await run(session, model, tools=builtin_tools(tmp_path), todo_tools="light", dialect="gemini", max_nudges=0)
    assert [name for name in model.requests[0].tools if "todo" in name.lower()] == ["write_todos"]
    assert "Todo list updated: 1 completed" in results(model.requests[1])[0]
    assert "There is no tool named 'todo'" in results(model.requests[2])[-1]
    assert (
        "write_todos" in (await_instructions := model.requests[0].instructions) or "TodoWrite" not in await_instructions
    )


# when the list is done


async def test_a_finished_list_is_told_of_once_and_ends_the_run_after_an_answer(session: Session) -> None:
    model = ScriptedModel([writing(("A", "in_progress")), calling("look"), setting("t1", "completed"), "All done."])
    result = await run(session, model)
    assert (result.reason, result.rounds) == ("all_done", 4)
    [told] = facts(session, TodoListCompleted)
    assert (told.total_rounds, told.total_tool_calls) == (3, 1)
    assert told.completed_at >= (session.todos[0].completed_at or "")
    assert added(model.requests[3]).endswith(
        "\n(Every item is done. Answer the user now; call a tool only if something is still missing.)"
    )


async def test_a_note_on_a_finished_list_does_not_finish_it_again(session: Session) -> None:
    noted = then(lambda: session.update("t1", notes="Nice."), calling("look"))
    await run(session, [writing(("A", "completed")), noted, calling("look"), "Done."])
    assert len(facts(session, TodoListCompleted)) == 1


async def test_a_new_list_that_is_done_in_one_round_is_told_of_after_one_that_was_done(
    session: Session,
) -> None:
    assert (await run(session, [writing(("A", "completed")), "Done."])).reason == "all_done"
    model = ScriptedModel([writing(("B", "completed")), "Done."])
    assert (await run(session, model, "And B")).reason == "all_done"
    assert len(facts(session, TodoListCompleted)) == 2
    assert "[x] t2: B" in added(model.requests[1])


async def test_without_stop_when_done_a_finished_list_is_told_of_and_does_not_end_the_run(session: Session) -> None:
    model = ScriptedModel([writing(("A", "completed")), calling("look"), "Done."])
    result = await run(session, model, stop_when_done=False)
    assert (result.reason, result.rounds, len(facts(session, TodoListCompleted))) == ("finished", 3, 1)
    assert "Every item is done" not in added(model.requests[1])


async def test_a_list_that_is_finished_with_the_light_tools_ends_the_run_too(session: Session) -> None:
    done = Turn(calls=[Call("todo", {"done": ["t1", "t2"]})])
    model = ScriptedModel([creating("A", "B"), done, "Done."])
    assert (await run(session, model, todo_tools="light")).reason == "all_done"
    assert results(model.requests[2]) == ["ok 2/2; all done"]


async def test_a_person_who_finishes_the_list_ends_the_run_too(kept_session: Session, tmp_path: Path) -> None:
    kept_session.write([{"content": "A"}, {"content": "B", "status": "cancelled"}])
    other = headway.open(tmp_path)
    result = await run(kept_session, [then(lambda: other.update("t1", status="completed"), calling("look")), "Done."])
    assert (result.reason, result.rounds) == ("all_done", 2)


async def test_a_model_that_calls_tools_in_its_last_round_goes_on(session: Session) -> None:
    model = ScriptedModel([writing(("A", "completed")), calling("look"), calling("look"), "Done."])
    assert (await run(session, model)).reason == "all_done"
    new = writing(("A", "completed"), ("B", "in_progress"))
    model = ScriptedModel([writing(("A", "completed"), ("C", "completed")), new, "I stop."])
    assert (await run(session, model, "More", max_nudges=0)).reason == "finished"


async def test_what_the_tracker_completed_does_not_end_a_run(session: Session) -> None:
    model = ScriptedModel([creating("Look at it"), *looking(5), "Done."])
    result = await run(session, model)
    assert states(session) == {"t1": "completed"}
    assert (result.reason, result.rounds) == ("finished", 7)
    assert [told.total_rounds for told in facts(session, TodoListCompleted)] == [4]


@pytest.mark.parametrize("end", ["finished", "max_rounds", "error"])
async def test_what_a_run_leaves_in_progress_is_pending_and_marked(session: Session, end: str) -> None:
    last = {"finished": ["Done."], "max_rounds": [], "error": [Turn(error=Failure(401))]}[end]
    turns = [writing(("A", "in_progress"), ("B", "pending")), *last]
    result = await run(session, turns, max_rounds=1 if end == "max_rounds" else 9, max_nudges=0)
    assert result.reason == end
    assert [(todo.status, todo.interrupted) for todo in session.todos] == [("pending", True), ("pending", False)]
    await run(session, [setting("t1", "in_progress"), setting("t1", "completed"), "Done."], "Go on", max_nudges=0)
    assert [(todo.status, todo.interrupted) for todo in session.todos] == [("completed", False), ("pending", False)]
