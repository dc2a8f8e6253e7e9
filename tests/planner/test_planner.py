"""A loop of one's own with a planner: what a request shows, what calls mean for the list, and how a run ends."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headway
from headway import HeadwayError, RunGoesOn, Session, StoreBusy
from headway.core.clock import now
from headway.core.log import run_lease_key
from headway.core.run_events import RunFinished, TodoListCompleted, ToolFinished, Usage
from headway.planner import LimitReached, PlannerRun, RunStopped, recorder
from headway.store.sqlite import SqliteStore
from headway.views.history import history_lines
from headway.views.report.build import build_report

LIST = {"items": [{"description": "Fix the parser"}, {"description": "Run the tests"}]}
LONG = {"items": [{"description": f"Step {number}"} for number in range(1, 21)]}


@pytest.fixture
def session() -> Session:
    return headway.open(memory=True)


def work(run: PlannerRun, call_id: str, **outcome: object) -> None:
    run.tool_started(call_id, "bash", {"command": "pytest -q"})
    run.tool_finished(call_id, **{"ok": True, "exit_code": 0, **outcome})  # pyright: ignore[reportArgumentType]


def facts(session: Session, kind: type) -> list[object]:
    return [event.data for event in session.events() if isinstance(event.data, kind)]


def test_a_planner_loads_nothing_but_the_standard_library() -> None:
    code = "import headway.planner, sys; headway.open(memory=True).planner(); print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"pydantic", "pydantic_ai", "asyncio", "rich", "click", "starlette"}


@pytest.mark.parametrize(
    ("kind", "names"),
    [("light", ["create_todo_list", "todo"]), ("full", ["TodoWrite", "create_todo_list", "update_todo_item"])],
)
def test_instructions_and_tools_are_the_same_for_every_run(session: Session, kind: str, names: list[str]) -> None:
    planner = session.planner(todo_tools=kind)
    before = (planner.instructions, repr(planner.tools))
    assert [tool.name for tool in planner.tools] == names
    with planner.run("Work") as run:
        run.call(names[-1], {})
    again = session.planner(todo_tools=kind)
    assert (again.instructions, repr(again.tools)) == before
    assert all(tool.parameters["type"] == "object" for tool in planner.tools)


def test_a_request_shows_the_list_and_a_persons_edit_once(session: Session) -> None:
    with session.planner().run("Work") as run:
        assert run.context() == ""
        assert run.call("create_todo_list", LIST).text == "Created 2 todos: t1, t2"
        assert run.call("todo", json.dumps({"start": "t1"})).text == "ok 0/2; now t1: Fix the parser"
        block = run.context()
        assert block.startswith("<todo-list>\n## Current Task List (Round 2/50)\n")
        assert "[/] t1: Fix the parser\n[ ] t2: Run the tests" in block
        session.update("t2", notes="only the fast ones")
        told = run.context()
        assert told.endswith('(The user changed the list: t2 with the note "only the fast ones".)')
        run.request_failed("503")
        assert run.context() == told
        assert "The user changed" not in run.context()
    assert session.run is not None and session.run.round == 4


def test_evidence_follows_from_calls_and_is_in_the_report(session: Session) -> None:
    with session.planner().run("Fix the tests", model="my-model") as run:
        run.context()
        run.call("create_todo_list", LIST)
        run.call("todo", {"start": "t1"})
        run.tool_started("e", "edit", {"path": "parser.py"}, effect="write")
        run.tool_finished("e", files=["parser.py"])
        work(run, "c")
        run.usage(input_tokens=900, output_tokens=80, cost=0.01)
        run.call("todo", {"done": ["t1"]})
    first, second = session.todos
    assert first.evidence is not None
    assert (first.evidence.level, first.evidence.command, first.evidence.files) == (
        "command_ok",
        "pytest -q",
        ("parser.py",),
    )
    assert (first.tool_calls, second.status, second.interrupted) == (2, "pending", True)
    report = build_report(session.events(), session.todos, session="default", agent="main", generated_at=now())
    assert (report.runs[-1].task, report.runs[-1].model) == ("Fix the tests", "my-model")
    assert [line.split("  ")[-1] for line in history_lines(session.history()) if line[0] != " "][:1] == ["create"]
    session.undo()
    assert [todo.status for todo in session.todos] == ["pending", "pending"]
    (usage,) = facts(session, Usage)
    assert isinstance(usage, Usage) and (usage.total_tokens, usage.total_cost) == (980, 0.01)


def test_evidence_of_a_tool_without_a_command_names_the_tool(session: Session) -> None:
    with session.planner().run("Work") as run:
        run.call("create_todo_list", LIST)
        run.tool_started("c1", "run_tests", {"path": "."})
        run.tool_finished("c1", ok=True, exit_code=0)
        run.call("todo", {"done": ["t1"]})
    evidence = session.todos[0].evidence
    assert evidence is not None and evidence.command == "run_tests ."


def test_an_exception_ends_the_run_and_releases_what_was_in_progress(session: Session) -> None:
    with pytest.raises(ZeroDivisionError), session.planner().run("Work") as run:
        run.call("create_todo_list", LIST)
        run.call("todo", {"start": "t1"})
        _ = 1 / 0
    assert [(todo.status, todo.interrupted) for todo in session.todos] == [("pending", True), ("pending", False)]
    (end,) = facts(session, RunFinished)
    assert isinstance(end, RunFinished)
    assert (end.reason, end.error) == ("error", "ZeroDivisionError: division by zero")
    with session.planner().run("Again"):
        pass


def test_being_cancelled_is_no_error(session: Session) -> None:
    with pytest.raises(KeyboardInterrupt), session.planner().run("Work"):
        raise KeyboardInterrupt
    assert session.run is not None and session.run.reason == "cancelled"


def test_a_model_that_stops_too_early_is_told_so_and_a_finished_list_ends_the_run(session: Session) -> None:
    with session.planner().run("Work") as run:
        run.call("create_todo_list", LIST)
        line = run.on_stop("I am done.")
        assert line is not None and 't1 "Fix the parser"; t2 "Run the tests"' in line
        run.context()
        assert run.on_stop("I am done.") is None  # nothing was done since
        run.call("todo", {"done": ["t1", "t2"]})
        assert "Answer the user now" in run.context()
        assert run.on_stop("All done.") is None
    assert session.run is not None and session.run.reason == "all_done"
    assert len(facts(session, TodoListCompleted)) == 1


def test_a_question_may_stop_the_model(session: Session) -> None:
    with session.planner().run("Work") as run:
        run.call("create_todo_list", LIST)
        assert run.on_stop("Which parser do you mean?") is None


def test_a_person_stops_the_run_at_the_next_request(session: Session) -> None:
    with pytest.raises(RunStopped), session.planner().run("Work") as run:
        run.call("create_todo_list", LIST)
        run.tool_started("c1", "bash")
        session.stop_run()
        run.tool_finished("c1")
        run.usage(10, 1)
        assert run.on_stop("I am done.") is None
        run.context()
    assert session.run is not None and session.run.reason == "cancelled"


def test_a_loop_that_waits_while_the_run_is_held_is_paused(session: Session) -> None:
    with session.planner().run("Work") as run:
        run.context()
        assert not run.is_held
        session.pause_run()
        assert run.is_held
        assert session.run is not None
        assert session.run.waiting
        session.resume_run()
        assert not run.is_held


def test_limits_end_a_run_before_its_next_request(session: Session) -> None:
    with pytest.raises(LimitReached, match="1,000 of its 500 tokens"), session.planner(max_tokens=500).run("W") as run:
        run.context()
        run.usage(input_tokens=1_000)
        run.context()
    assert session.run is not None and session.run.reason == "max_tokens"


def test_calls_that_repeat_are_told_of_and_then_end_the_run(session: Session) -> None:
    with pytest.raises(HeadwayError, match="same call 6 times"), session.planner().run("Work") as run:
        for number in range(9):
            assert ("You made the same call" in run.context()) is (number == 3)
            work(run, f"c{number}", text="1 failed", ok=False, exit_code=1)


def test_a_long_list_is_shown_whole_where_it_is_new_and_else_only_where_work_is(session: Session) -> None:
    with session.planner().run("Work") as run:
        run.context()
        run.call("create_todo_list", LONG)
        assert run.context().count("\n[") == 3  # the model has just written it
        run.call("todo", {"done": ["t1", "t2"]})
        run.call("todo", {"block": {"id": "t4", "why": "no key"}})
        focus = run.context()
        assert [line.split(":")[0] for line in focus.splitlines() if line.startswith(("[", "…"))] == [
            "[/] t3",
            "[!] t4",
            "[ ] t5",
            "[ ] t6",
            "[ ] t7",
            "… 15 more (2 completed, 13 pending)",
        ]
        assert focus.splitlines()[-2] == "Progress: 2/20 tasks completed"
        session.update("t20", content="Step 20, but another one")
        assert run.context().count("\n[") == 20
        assert run.context().count("\n[") == 5
        run.compacted()
        assert run.context().count("\n[") == 20
        run.request_failed()
        assert run.context().count("\n[") == 20
    with session.planner().run("More") as run:
        assert run.context().count("\n[") == 20


@pytest.mark.parametrize(("block", "items"), [("full", 20), ("recap", 0)])
def test_how_much_is_shown_is_a_choice(session: Session, block: str, items: int) -> None:
    with session.planner(block=block).run("Work") as run:
        run.call("create_todo_list", LONG)
        run.context()
        run.call("todo", {"done": ["t1"]})
        assert run.context().count("\n[") == items


def test_without_todo_tools_the_list_is_kept_from_the_calls_alone(session: Session) -> None:
    session.write([{"content": "Run the tests"}], actor="model", cause="create")
    planner = session.planner(todo_tools="off")
    assert planner.tools == ()
    with planner.run("Work") as run:
        run.context()
        for number in range(3):
            work(run, f"c{number}", text=str(number))
    assert (session.todos[0].status, session.todos[0].tool_calls) == ("completed", 3)


def test_a_denied_call_completes_nothing_and_secrets_are_not_kept(session: Session) -> None:
    with session.planner().run("Work") as run:
        run.call("create_todo_list", LIST)
        run.call("todo", {"start": "t1"})
        run.tool_started("d", "bash", {"command": "curl -H 'Authorization: Bearer sk-proj-abcdefghijklmnop1234567890'"})
        run.tool_finished("d", ok=False, denied=True, text="no: sk-proj-abcdefghijklmnop1234567890")
    *_, call = facts(session, ToolFinished)
    assert isinstance(call, ToolFinished)
    assert call.denied
    assert "sk-proj" not in f"{call.text}{call.command}"
    assert session.todos[0].evidence is None


def test_what_is_wrong_with_a_todo_call_is_its_answer(session: Session) -> None:
    with session.planner().run("Work") as run:
        wrong: tuple[object, ...] = ("{", {"done": ["t9"]}, {"finish": 1}, [], "[]")
        for arguments in wrong:
            answer = run.call("todo", arguments)
            assert not answer.ok
            assert "todo" in answer.text
        assert "available: create_todo_list, todo" in run.call("write_todos", {}).text
        session.set_plan_mode(True)
        assert "plan mode" in run.call("todo", {"add": ["A"]}).text
    assert session.todos == []


# wrong use


def test_wrong_use_is_answered_with_a_sentence(session: Session) -> None:
    planner = session.planner()
    run = planner.run("Work")
    with pytest.raises(HeadwayError, match="has not begun"):
        run.context()
    with run:
        with pytest.raises(HeadwayError, match="No call 'c1' is under way"):
            run.tool_finished("c1")
        run.tool_started("c1", "bash", {"command": "ls"})
        with pytest.raises(HeadwayError, match="'c1' has started already"):
            run.tool_started("c1", "bash")
        with pytest.raises(HeadwayError, match=r"run it.*with run.call|run.call"):
            run.tool_started("c2", "todo", {})
        with pytest.raises(HeadwayError, match="`effect` cannot be 'shell'"):
            run.tool_started("c2", "bash", effect="shell")
        with pytest.raises(RunGoesOn), session.planner().run("Another"):
            pass
        with pytest.raises(HeadwayError, match="has begun already"):
            run.__enter__()
    for use in (run.context, run.on_stop, run.compacted, run.request_failed, run.usage):
        with pytest.raises(HeadwayError, match="has ended"):
            use()
    with pytest.raises(HeadwayError, match="The task is empty"):
        planner.run(" ")
    with pytest.raises(HeadwayError, match="no option 'colour'; the options are: max_rounds"):
        session.planner(colour="red")
    with pytest.raises(HeadwayError, match="`block` cannot be 'some'; choose from: auto, full, recap"):
        session.planner(block="some")


def test_agents_of_one_session_have_a_list_and_a_run_each(session: Session) -> None:
    with session.planner().run("Main") as main, session.agent("sub").planner().run("Sub") as sub:
        main.call("create_todo_list", LIST)
        sub.call("create_todo_list", {"items": [{"description": "Other"}]})
        assert "Other" not in main.context()
        assert "Fix" not in sub.context()


def test_a_run_that_another_process_ended_says_so(tmp_path: Path) -> None:
    session = headway.open(tmp_path)
    with session.planner().run("Work") as run:
        run.call("create_todo_list", LIST)
        run.call("todo", {"start": "t1"})
        other = headway.open(tmp_path)
        active = other.state.runs["main"]
        other.log.end_dead_run("main", active)
        with pytest.raises(headway.RunRefused, match="Another process ended"):
            run.context()
        other.close()
    assert session.todos[0].status == "pending"
    session.close()


def test_a_run_that_ends_while_the_store_is_busy_holds_no_later_one_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "RENEW_EVERY", 0.05)
    (tmp_path / ".headway").mkdir()
    path = tmp_path / ".headway" / "headway.db"
    session = Session(SqliteStore(str(path), timeout=0.1))
    planner = session.planner()
    other = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(StoreBusy), planner.run("Work") as run:
        run.call("create_todo_list", LIST)
        run.call("todo", {"start": "t1"})
        other.execute("BEGIN IMMEDIATE")
    other.execute("ROLLBACK")
    other.close()
    deadline = time.monotonic() + 60
    while session.store.lease_holder(session.name, run_lease_key("main")) is not None:
        assert time.monotonic() < deadline, "the lease is kept"
        time.sleep(0.02)
    with planner.run("Again") as run:
        assert "[ ] t1" in run.context()
    session.close()


# from async code and several threads


async def test_calls_of_several_threads_are_all_recorded_while_the_loop_goes_on(session: Session) -> None:
    def call(run: PlannerRun, thread: int) -> None:
        for number in range(10):
            work(run, f"{thread}-{number}", text=f"{thread} {number}")
            run.usage(input_tokens=1)

    with session.planner().run("Work") as run:
        run.context()
        run.call("create_todo_list", LIST)
        run.call("todo", {"start": "t1"})
        calls = [asyncio.to_thread(call, run, thread) for thread in range(8)]
        await asyncio.gather(*calls)
        assert "t1: Fix the parser (80 tool calls)" in run.context()
    assert session.run is not None
    assert session.run.tool_calls == 80
    *_, last = facts(session, Usage)
    assert isinstance(last, Usage)
    assert last.total_tokens == 80


# ends that nobody sees


KILLED = """
import os, signal, sys
import headway
session = headway.open(sys.argv[1])
with session.planner().run("Work") as run:
    run.context()
    run.call("create_todo_list", {"items": [{"description": "Fix the parser"}]})
    run.call("todo", {"start": "t1"})
    run.tool_started("c1", "bash", {"command": "pytest"})
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_whose_process_was_killed_is_cut_off_and_leaves_nothing_in_progress(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", KILLED, tmp_path]).returncode == -signal.SIGKILL
    with headway.open(tmp_path) as session:
        assert [(todo.status, todo.interrupted) for todo in session.todos] == [("pending", True)]
        assert session.run is not None
        assert session.run.reason == "error"
        with session.planner().run("Go on") as run:
            assert "[ ] t1: Fix the parser" in run.context()
            assert run.call("todo", {"done": ["t1"]}).text == "ok 1/1; all done"


# a list that workers share


def test_workers_share_a_list_and_each_todo_is_claimed_by_one_of_them(session: Session) -> None:
    session.write([{"content": "Fix the parser"}, {"content": "Fix the lexer"}, {"content": "Run the tests"}])
    ada, bob = (session.planner(worker=name) for name in ("ada", "bob"))
    assert [tool.name for tool in ada.tools] == ["todo"]
    with ada.run("Work") as first, bob.run("Work") as second:
        assert first.context().endswith("(Your todo is t1; others in progress are someone else's.)")
        assert second.context().endswith("(Your todo is t2; others in progress are someone else's.)")
        work(first, "c1")
        assert first.call("todo", {"done": ["t1"]}).text == "ok 1/3; now t3: Run the tests"
        assert not first.call("todo", {"done": ["t2"]}).ok
        assert second.call("todo", {"block": {"id": "t2", "why": "no key"}}).text == "ok 1/3; nothing in progress"
        assert second.on_stop("Nothing to do.") is None
        line = first.on_stop("I am done.")
        assert line is not None and "t3" in line
        with pytest.raises(RunGoesOn), session.planner(worker="ada").run("Twice"):
            pass
    assert [(todo.status, todo.owner) for todo in session.todos] == [
        ("completed", "ada"),
        ("blocked", "bob"),
        ("pending", None),
    ]
    assert session.todos[0].evidence is not None
    assert (session.todos[0].evidence.level, session.todos[0].evidence.command) == ("command_ok", "pytest -q")
    assert session.state.runs["ada"].tool_calls == 1


def test_what_a_killed_worker_had_claimed_is_free_again(tmp_path: Path) -> None:
    code = (
        KILLED.replace("planner()", "planner(worker='ada')").partition("    run.call")[0]
        + "    os.kill(os.getpid(), 9)"
    )
    with headway.open(tmp_path) as session:
        session.write([{"content": "Fix the parser"}])
        assert subprocess.run([sys.executable, "-c", code, tmp_path]).returncode == -signal.SIGKILL
        with session.planner(worker="bob").run("Work") as run:
            assert "(Your todo is t1;" in run.context()
            assert run.call("todo", {"done": ["t1"]}).text == "ok 1/1; all done"


@pytest.mark.parametrize("name", ["main", "model", "user:ada", "user"])
def test_a_worker_has_a_name_of_its_own(session: Session, name: str) -> None:
    with pytest.raises(HeadwayError, match="give it a name of its own"):
        session.planner(worker=name)
    with pytest.raises(HeadwayError, match="light todo tools"):
        session.planner(worker="ada", todo_tools="full")


def test_a_dialect_takes_the_place_of_the_todo_tools(session: Session) -> None:
    session.write([{"content": "Fix the parser", "status": "blocked", "notes": "Kept"}, {"content": "Run the tests"}])
    planner = session.planner(dialect="claude")
    (tool,) = planner.tools
    assert tool.name == "TodoWrite" and "activeForm" in json.dumps(tool.parameters)
    first = {"content": "Fix the parser", "activeForm": "Fix the parser", "status": "pending"}
    with planner.run("Fix it") as run:
        run.context()
        answer = run.call("TodoWrite", {"todos": [first, {**first, "content": "Run the tests"}]})
        assert answer.ok and "stays blocked" in answer.text
        assert "todos: Required" in run.call("TodoWrite", {}).text
        assert "available: TodoWrite" in run.call("todo", {"done": ["t1"]}).text
    assert [todo.notes for todo in session.todos] == ["Kept", None]
    tasks = session.planner(dialect="claude-tasks", tracking="auto")
    assert "that you write with TaskCreate or TaskUpdate" in tasks.instructions
    with pytest.raises(HeadwayError, match="no dialect 'x'"):
        session.planner(dialect="x")
    with pytest.raises(HeadwayError, match="leave `todo_tools` out"):
        session.planner(dialect="kimi", todo_tools="full")
    with pytest.raises(HeadwayError, match="leave `todo_tools` and `dialect` out"):
        session.planner(dialect="kimi", worker="w1")
