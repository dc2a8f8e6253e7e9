"""What shows that an item is done: a command that succeeded after the last edit, and who is asked for one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headway
from headway import Session
from headway.agent import LoopConfig, RunResult, run_loop
from headway.core.evidence import Evidence
from headway.core.execution_events import AttemptFinished
from headway.core.run_events import EvidenceAsked
from headway.execute import ExecutionEnding
from headway.testing import Call, ScriptedModel, Turn
from headway.tools import Approvals

from .executing import (
    Answer,
    bash,
    facts,
    go,
    in_memory,
    listed,
    model,
    one,
    opened,
    report,
    runs,
    scripted,
    silent,
    sound,
    states,
    texts,
    todo,
    write,
)

OK = "cmp /bin/sh /bin/sh"
"""A command that could have failed."""
REFUSAL = "Nothing shows yet that this is done"


def level(session: Session, todo_id: str) -> str | None:
    evidence = todo(session, todo_id).evidence
    return None if evidence is None else str(evidence.level)


# items that are executed


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([bash(OK)], "command_ok"),
        ([write("a.txt", "a"), bash(OK)], "command_ok"),
        ([bash(OK), write("a.txt", "a")], "reported"),
        ([write("a.txt", "a"), bash(OK), write("b.txt", "b")], "reported"),
        ([write("a.txt", "a"), bash(OK), write("b.txt", "b"), bash(OK)], "command_ok"),
        ([bash("false"), bash(OK)], "command_ok"),
        ([write("a.txt", "a")], "reported"),
        ([], "reported"),
        ([write("a.txt", "a"), bash("true")], "reported"),
        ([write("a.txt", "a"), bash("cat a.txt")], "reported"),
        ([write("a.txt", "a"), bash("false || true")], "reported"),
        ([bash("echo a > a.txt")], "reported"),
        ([bash("TodoWrite '{\"todos\":[]}'")], "reported"),
        ([write("a.txt", "a"), bash(OK), write("../out.txt", "x")], "command_ok"),
    ],
)
async def test_an_item_is_shown_by_a_command_that_could_have_failed_and_ran_after_the_last_edit(
    project: Path, turns: list[Turn], expected: str
) -> None:
    session = in_memory(["a"])
    await one(session, "a", model(a=[*turns, "Done."]))
    assert states(session) == {"a": "completed"}
    assert level(session, "a") == expected


async def test_the_evidence_names_the_last_command_and_all_files(folder: Path) -> None:
    session = opened(folder, ["a"])
    turns: list[Answer] = [
        write("b.txt", "b"),
        bash("echo c > c.txt"),
        write("a.txt", "a"),
        bash("diff a.txt a.txt"),
        "Done.",
    ]
    await one(session, "a", model(a=turns))
    evidence = todo(session, "a").evidence
    assert evidence is not None
    assert (evidence.command, evidence.exit_code, evidence.files) == (
        "diff a.txt a.txt",
        0,
        ("a.txt", "b.txt", "c.txt"),
    )


async def test_an_item_is_asked_once_for_a_command_and_then_shown_by_it(folder: Path) -> None:
    session = opened(folder, ["a"])
    asked = model(a=[write("a.txt", "a"), "Done.", bash("diff a.txt a.txt"), "Checked."])
    result = await one(session, "a", asked, require_evidence=True)
    assert (result.outcome, level(session, "a")) == (ExecutionEnding.COMPLETE, "command_ok")
    assert "Nothing shows yet that the item is done" in str(asked.requests[2].messages[-1])
    [ended] = facts(session, AttemptFinished)
    assert (ended.text, ended.files, ended.tool_calls) == ("Checked.", ("a.txt",), 2)
    sound(session)


async def test_an_item_that_nothing_can_check_is_completed_as_reported(project: Path) -> None:
    session = in_memory(["a"])
    asked = model(a=[write("a.txt", "a"), report("completed"), report("completed"), "Nothing can check it."])
    result = await one(session, "a", asked, require_evidence=True)
    assert (result.outcome, level(session, "a")) == (ExecutionEnding.COMPLETE, "reported")
    assert len(asked.requests) == 4, "it is asked once"


async def test_an_item_that_a_command_has_shown_is_not_asked(project: Path) -> None:
    session = in_memory(["a"])
    asked = model(a=[write("a.txt", "a"), bash(OK), "Done."])
    await one(session, "a", asked, require_evidence=True)
    assert (len(asked.requests), level(session, "a")) == (4, "command_ok")


async def test_a_report_of_completion_is_refused_once_and_the_item_not_asked_again(project: Path) -> None:
    session = in_memory(["a"])
    asked = model(a=[write("a.txt", "a"), report("completed"), report("completed"), "Done."])
    await one(session, "a", asked, require_evidence=True)
    assert "Nothing shows yet" in str(asked.requests[2].messages[-1])
    assert "Recorded: completed" in str(asked.requests[3].messages[-1])
    assert (len(asked.requests), states(session), level(session, "a")) == (4, {"a": "completed"}, "reported")


async def test_an_item_whose_completion_was_refused_says_so_if_nothing_came_after_it(project: Path) -> None:
    session = in_memory(["a"])
    await one(session, "a", model(a=[report("completed"), silent("ok"), silent("ok")]), require_evidence=True)
    refused = "Its completion was refused, because no command shows it (evidence required: command_ok)"
    assert todo(session, "a").notes == f"{refused}; the model's last words: “ok”."


async def test_a_check_that_then_fails_blocks_the_item(project: Path) -> None:
    session = in_memory(["a"])
    await one(session, "a", model(a=[write("a.txt", "a"), "Done.", bash("exit 2"), "Hm."]), require_evidence=True)
    assert (states(session), level(session, "a")) == ({"a": "blocked"}, None)
    assert "exit code 2" in (todo(session, "a").notes or "")


async def test_every_item_of_an_execution_is_asked(project: Path) -> None:
    session = in_memory(["a", "b"])
    turns: dict[str, list[Answer]] = {"a": ["Done.", *runs(OK)], "b": ["Done.", "Really."]}
    await go(session, scripted(turns), parallel=2, require_evidence=True)
    assert (level(session, "a"), level(session, "b")) == ("command_ok", "reported")


# ordinary runs


async def run(session: Session, turns: list[Any], **config: Any) -> tuple[RunResult, ScriptedModel]:
    asked = ScriptedModel(turns)
    settings: dict[str, Any] = {
        "instructions": "Work.",
        "max_nudges": 0,
        "stop_when_done": False,
        "todo_tools": "full",
        **config,
    }
    result = await run_loop(
        session, "Do it", model=asked, approvals=Approvals(mode="yolo"), config=LoopConfig(**settings)
    )
    return result, asked


def begin(session: Session, todo_id: str = "a") -> None:
    session.update(todo_id, status="in_progress")


def todo_write(*items: tuple[str, str]) -> dict[str, object]:
    return {"todos": [{"content": text, "activeForm": text, "status": status} for text, status in items]}


def completions(*names: str) -> dict[str, Turn]:
    """The same change, by every way in which a model can make it."""
    written = todo_write(*((f"Do {name}", "completed") for name in names))
    return {
        "TodoWrite": Turn(calls=[Call("TodoWrite", written)]),
        "update_todo_item": Turn(
            calls=[Call("update_todo_item", {"item_id": name, "status": "completed"}) for name in names]
        ),
        "bash TodoWrite": bash(f"TodoWrite '{json.dumps(written)}'"),
        "todo": Turn(calls=[Call("todo", {"done": [*names]})]),
    }


WAYS = ["TodoWrite", "update_todo_item", "bash TodoWrite", "todo"]


@pytest.fixture
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def config_for(way: str) -> dict[str, Any]:
    return {"todo_tools": "light"} if way == "todo" else {}


@pytest.mark.parametrize("way", WAYS, indirect=True)
async def test_in_any_run_a_command_that_could_have_failed_shows_what_the_model_completes(
    project: Path, way: str
) -> None:
    session = in_memory(["a"])
    begin(session)
    turns = [write("x.py", "x = 1\n"), bash("diff x.py x.py"), completions("a")[way], "Done."]
    await run(session, turns, **config_for(way))
    assert states(session) == {"a": "completed"}
    evidence = todo(session, "a").evidence
    assert evidence is not None
    assert (str(evidence.level), evidence.command, evidence.exit_code, evidence.files) == (
        "command_ok",
        "diff x.py x.py",
        0,
        ("x.py",),
    )


@pytest.mark.parametrize("way", WAYS, indirect=True)
async def test_in_any_run_an_edit_after_the_command_leaves_it_reported(project: Path, way: str) -> None:
    session = in_memory(["a"])
    begin(session)
    turns = [bash(OK), write("x.py", "x = 1\n"), completions("a")[way], "Done."]
    await run(session, turns, **config_for(way))
    evidence = todo(session, "a").evidence
    assert evidence is not None
    assert (str(evidence.level), evidence.command, evidence.files) == ("reported", None, ("x.py",))


async def test_a_command_that_failed_shows_nothing(project: Path) -> None:
    session = in_memory(["a"])
    begin(session)
    await run(session, [bash("false"), completions("a")["TodoWrite"], "Done."])
    assert level(session, "a") == "reported"


async def test_work_on_one_item_does_not_show_another(project: Path) -> None:
    session = in_memory(["a", "b"])
    begin(session)
    turns = [
        bash(OK),
        completions("a")["update_todo_item"],
        Turn(calls=[Call("update_todo_item", {"item_id": "b", "status": "in_progress"})]),
        write("b.txt", "b"),
        completions("b")["update_todo_item"],
        "Done.",
    ]
    await run(session, turns)
    assert (level(session, "a"), level(session, "b")) == ("command_ok", "reported")
    first, second = todo(session, "a").evidence, todo(session, "b").evidence
    assert first is not None
    assert second is not None
    assert (first.files, second.files) == ((), ("b.txt",))


async def test_an_item_that_is_begun_anew_needs_new_evidence(project: Path) -> None:
    session = in_memory(["a"])
    begin(session)
    await run(session, [bash(OK), completions("a")["update_todo_item"], "Done."])
    session.update("a", status="pending")
    session.update("a", status="in_progress")
    await run(session, [completions("a")["update_todo_item"], "Done."])
    assert level(session, "a") == "reported"


async def test_what_the_tracker_completes_is_only_inferred(project: Path) -> None:
    session = headway.open(memory=True)
    create = Call("create_todo_list", {"items": [{"description": "Run the tests"}]})
    start = Call("update_todo_item", {"item_id": "t1", "status": "in_progress"})
    turns = [Turn(calls=[create, start]), *[bash(f"{OK} # {n}") for n in range(3)], "Done."]
    await run(session, turns, complete_after=3, tracking="auto")
    assert (states(session), level(session, "t1")) == ({"t1": "completed"}, "inferred")


async def test_what_a_person_completes_gets_no_evidence(project: Path) -> None:
    session = in_memory(["a"])
    session.update("a", status="completed")
    assert todo(session, "a").evidence is None


async def test_evidence_that_came_with_a_write_is_not_replaced(project: Path) -> None:
    session = in_memory(["a"])
    shown = {"level": "verified", "command": "make", "exit_code": 0, "seconds": 1}
    session.update("a", status="completed", evidence=shown)
    evidence = todo(session, "a").evidence
    assert isinstance(evidence, Evidence)
    assert evidence.command == "make"


# runs that require it


@pytest.mark.parametrize("way", WAYS, indirect=True)
async def test_a_completion_that_nothing_shows_is_refused_once_and_then_goes_through(project: Path, way: str) -> None:
    session = in_memory(["a"])
    begin(session)
    done = completions("a")[way]
    _, asked = await run(session, [done, done, "Done."], require_evidence=True, **config_for(way))
    assert REFUSAL in str(asked.requests[1].messages[-1])
    assert REFUSAL not in str(asked.requests[2].messages[-1])
    assert (states(session), level(session, "a")) == ({"a": "completed"}, "reported")
    assert [fact.item_ids for fact in facts(session, EvidenceAsked)] == [("a",)]


@pytest.mark.parametrize("way", WAYS, indirect=True)
async def test_a_command_after_the_refusal_shows_it(project: Path, way: str) -> None:
    session = in_memory(["a"])
    begin(session)
    done = completions("a")[way]
    await run(session, [done, bash(OK), done, "Done."], require_evidence=True, **config_for(way))
    assert (states(session), level(session, "a")) == ({"a": "completed"}, "command_ok")


@pytest.mark.parametrize("way", WAYS, indirect=True)
async def test_several_items_in_one_write_are_refused_together_once(project: Path, way: str) -> None:
    session = in_memory(["a", "b"])
    begin(session)
    begin(session, "b")
    done = completions("a", "b")[way]
    _, asked = await run(session, [done, done, "Done."], require_evidence=True, **config_for(way))
    assert REFUSAL in str(asked.requests[1].messages[-1])
    assert states(session) == {"a": "completed", "b": "completed"}
    assert sorted(name for fact in facts(session, EvidenceAsked) for name in fact.item_ids) == ["a", "b"]


async def test_a_write_of_which_one_item_is_shown_is_refused_as_a_whole(project: Path) -> None:
    session = in_memory(["a", "b"])
    begin(session)
    done = completions("a", "b")["TodoWrite"]
    _, asked = await run(session, [bash(OK), done, "Enough."], require_evidence=True)
    assert f"{REFUSAL}: b." in str(asked.requests[2].messages[-1])
    assert states(session) == {"a": "in_progress", "b": "pending"} or states(session)["b"] == "pending"


async def test_each_item_is_asked_about_once_even_as_others_come_in(project: Path) -> None:
    session = in_memory(["a", "b"])
    first = Turn(calls=[Call("TodoWrite", todo_write(("Do a", "completed"), ("Do b", "pending")))])
    both = completions("a", "b")["TodoWrite"]
    await run(session, [first, both, both, "Done."], require_evidence=True)
    assert [fact.item_ids for fact in facts(session, EvidenceAsked)] == [("a",), ("b",)]
    assert states(session) == {"a": "completed", "b": "completed"}


async def test_what_is_verified_is_never_refused(project: Path) -> None:
    session = in_memory(["a"])
    begin(session)
    await run(session, [bash(OK), completions("a")["TodoWrite"], "Done."], require_evidence=True)
    assert (facts(session, EvidenceAsked), level(session, "a")) == ([], "command_ok")


async def test_people_are_never_asked(project: Path) -> None:
    session = in_memory(["a", "b"])
    begin(session)
    asked = ScriptedModel([lambda messages, request: (session.update("a", status="completed"), "Done.")[1]])
    config = LoopConfig(instructions="Work.", require_evidence=True, max_nudges=0)
    await run_loop(session, "Do it", model=asked, config=config, tools=[])
    assert (states(session)["a"], facts(session, EvidenceAsked)) == ("completed", [])


async def test_a_new_run_asks_again(project: Path) -> None:
    session = in_memory(["a"])
    done = completions("a")["TodoWrite"]
    await run(session, [done, "Enough."], require_evidence=True)
    await run(session, [done, "Enough."], require_evidence=True)
    assert (len(facts(session, EvidenceAsked)), states(session)["a"]) == (2, "pending")


async def test_without_the_setting_nothing_is_refused(project: Path) -> None:
    session = in_memory(["a"])
    await run(session, [completions("a")["TodoWrite"], "Done."])
    assert (states(session), facts(session, EvidenceAsked)) == ({"a": "completed"}, [])
    listed(session, [])
    assert "a.txt" not in texts(project)
