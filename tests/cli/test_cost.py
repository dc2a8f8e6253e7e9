"""`headway cost` and `headway diff`: what runs used and changed, as it is in the log."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.executions import ALL, listed, scripted
from tests.support.processes import run
from tests.support.scripts import bash, call, script, turn, write

import headway as api
from headway.cli.app import app
from headway.core.events import Event, RunData
from headway.core.model import MAIN_AGENT
from headway.core.run_events import RunFinished, RunStarted, ToolFinished, Usage
from headway.execute import roll_back

from .commands import Headway, data

AT = "2026-01-02T03:04:05.000Z"


def started(run_id: str, task: str = "Do it", model: str = "openai:gpt-5") -> RunStarted:
    return RunStarted(run_id=run_id, task=task, model=model, max_rounds=50, holder="here")


def used(read: int, written: int, cost: float | None, cached: int = 0) -> Usage:
    return Usage(
        round=1,
        input_tokens=read,
        output_tokens=written,
        cache_read_tokens=cached,
        cache_write_tokens=0,
        total_tokens=read + written,
        total_cost=cost,
    )


def finished(run_id: str, reason: str = "finished") -> RunFinished:
    return RunFinished(run_id=run_id, reason=reason, rounds=1, tool_calls=1)


def changed(path: str, diff: str | None, **more: Any) -> ToolFinished:
    return ToolFinished(
        round=1, call_id="c", tool="edit", ok=True, text="Changed.", effect="write", files=(path,), diff=diff, **more
    )


def ran(*files: str) -> ToolFinished:
    return ToolFinished(round=1, call_id="c", tool="bash", ok=True, text="", effect="execute", exit_code=0, files=files)


def log(project: Path, *facts: RunData, agent: str = MAIN_AGENT, session: str = "default") -> None:
    """Adds to the log what a run would."""
    store = api.open(project, session).store
    before = store.version(session)
    events = [Event(version, AT, agent, "loop", fact) for version, fact in enumerate(facts, before + 1)]
    store.append(session, before, events, None)


# cost


def test_a_session_without_runs_has_used_nothing(headway: Headway) -> None:
    assert headway("cost").stdout == "This session has no runs yet, so nothing was used.\n"
    record = data(headway("cost", "--json"))
    assert record["runs"] == []
    assert record["total"] == {"input_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "cost": 0}


def test_what_each_run_used_and_all_together(headway: Headway, project: Path) -> None:
    log(project, started("r1", "First 第一"), used(1_000, 20, 0.01, 600), used(2_000, 30, 0.025), finished("r1"))
    log(project, started("r2", ""), used(10, 5, 0.00001), finished("r2", "cancelled"))
    lines = headway("cost").stdout.splitlines()
    assert lines[0] == "  1  First 第一"
    assert lines[1].endswith(" · openai:gpt-5 · 3,000 in (600 cached), 50 out · $0.0250")
    assert lines[2] == "  2  continued"
    assert lines[3].endswith(" · 10 in, 5 out · less than $0.0001")
    assert lines[4:] == ["Total of 2 runs: 3,010 in (600 cached), 55 out · $0.0250"]
    record = data(headway("cost", "--json"))
    assert record["runs"][0] == {
        "run_id": "r1",
        "agent": "main",
        "task": "First 第一",
        "model": "openai:gpt-5",
        "started_at": AT,
        "reason": "finished",
        "input_tokens": 3_000,
        "cached_tokens": 600,
        "output_tokens": 50,
        "cost": 0.025,
    }
    assert record["total"]["cost"] == pytest.approx(0.02501)


def test_a_price_that_is_not_known_is_not_taken_for_nothing(headway: Headway, project: Path) -> None:
    log(project, started("r1", model="ollama:m"), used(10, 5, None), finished("r1"))
    assert headway("cost").stdout.endswith("Total of 1 run: 10 in, 5 out · price not known\n")
    log(project, started("r2"), used(10, 5, 0.5), finished("r2"))
    assert headway("cost").stdout.endswith(
        "Total of 2 runs: 20 in, 10 out · $0.5000, plus the runs whose price is not known\n"
    )
    assert data(headway("cost", "--json"))["total"]["cost"] is None


def test_runs_of_sub_agents_are_told_apart(headway: Headway, project: Path) -> None:
    log(project, started("r1", "Main"), used(100, 10, 1.0))
    log(project, started("r2", "Helper"), used(7, 3, 0.1), finished("r2"), agent="helper")
    log(project, used(100, 10, 2.0), finished("r1"))
    runs = {
        run["task"]: (run["agent"], run["input_tokens"], run["cost"]) for run in data(headway("cost", "--json"))["runs"]
    }
    assert runs == {"Main": ("main", 200, 2.0), "Helper": ("helper", 7, 0.1)}
    assert [run["task"] for run in data(headway("cost", "--json", "--agent", "helper"))["runs"]] == ["Helper"]


def test_hostile_text_is_harmless_on_the_terminal(headway: Headway, project: Path) -> None:
    log(
        project,
        started("r1", "\x1b[2J\nx", "a:\u202eb"),
        changed("a\x1b[2J", "--- a\n+++ b\n@@ -1 +1 @@\n+\x1b[2J\u202e"),
    )
    log(project, changed("b\x1b[2J", None), ran(), finished("r1"))
    for words in (["cost"], ["cost", "--json"], ["diff"], ["diff", "--all"], ["diff", "--json"]):
        said = headway(*words).stdout
        assert not {"\x1b", "\u202e"} & set(said)
        assert said.count("\n") < 40


# diff


DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old\n+新的"


def test_a_session_without_runs_has_changed_nothing(headway: Headway) -> None:
    assert headway("diff").stdout == "This session has no runs yet, so nothing was changed.\n"
    assert data(headway("diff", "--json"))["runs"] == []


def test_the_last_run_is_shown_and_with_all_every_one(headway: Headway, project: Path) -> None:
    log(project, started("r1", "First"), changed("y.py", "--- a/y.py\n+++ b/y.py\n@@ -1 +1 @@\n-1\n+2"), finished("r1"))
    log(project, started("r2", "Second"), changed("x.py", DIFF, item_id="t1"), finished("r2"))
    assert headway("diff").stdout == f"{DIFF}\n"
    every = headway("diff", "--all").stdout
    assert every.startswith("── First\n--- a/y.py\n")
    assert every.endswith(f"── Second\n{DIFF}\n")
    assert data(headway("diff", "--json"))["runs"] == [
        {
            "run_id": "r2",
            "task": "Second",
            "changes": [{"tool": "edit", "files": ["x.py"], "item_id": "t1", "diff": DIFF}],
            "commands": 0,
            "other_files": [],
            "left_out": [],
        }
    ]
    assert [run["run_id"] for run in data(headway("diff", "--all", "--json"))["runs"]] == ["r1", "r2"]


def test_colours_are_for_terminals_whose_owner_wants_them(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log(project, started("r1"), changed("x.py", DIFF), finished("r1"))
    coloured = CliRunner().invoke(app, ["diff"], color=True).stdout
    assert "\x1b[31m-old\x1b[0m\n\x1b[32m+新的\x1b[0m\n" in coloured
    assert "\x1b" not in CliRunner().invoke(app, ["diff"], color=False).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert CliRunner().invoke(app, ["diff"], color=True).stdout == f"{DIFF}\n"


def test_what_commands_changed_is_said_to_be_missing(headway: Headway, project: Path) -> None:
    log(project, started("r1"), changed("x.py", DIFF), ran(), changed("big.bin", None), ran(), finished("r1"))
    assert headway("diff").stdout == (
        f"{DIFF}\nChanges made by shell commands are not included.\nAlso changed: big.bin\n"
    )


def test_a_run_that_changed_nothing_says_so(headway: Headway, project: Path) -> None:
    log(project, started("r1"), finished("r1"))
    assert headway("diff").stdout == "No file tool changed anything in this run.\n"
    log(project, started("r2"), ran(), finished("r2"))
    assert headway("diff").stdout == (
        "No file tool changed anything in this run.\nChanges made by shell commands are not included.\n"
    )


def test_a_change_that_is_not_drawn_is_told_with_its_file(headway: Headway, project: Path) -> None:
    log(project, started("r1"), changed("x.py", "(only line ends change)"), finished("r1"))
    assert headway("diff").stdout == "x.py: (only line ends change)\n"


def test_what_sub_agents_changed_is_part_of_the_run(headway: Headway, project: Path) -> None:
    log(project, started("r1"))
    log(project, started("r2"), changed("x.py", DIFF), finished("r2"), agent="helper")
    log(project, finished("r1"))
    assert headway("diff").stdout == f"{DIFF}\n"
    assert headway("diff", "--agent", "helper").stdout == f"{DIFF}\n"


def test_runs_of_a_sub_agent_are_told_apart_too(headway: Headway, project: Path) -> None:
    log(project, started("r1"))
    for number, text in (("r2", "First"), ("r3", "Second")):
        log(project, started(number, text), changed(f"{number}.py", DIFF), finished(number), agent="helper")
    runs = data(headway("diff", "--all", "--json", "--agent", "helper"))["runs"]
    assert [(run["task"], len(run["changes"])) for run in runs] == [("First", 1), ("Second", 1)]
    assert len(data(headway("diff", "--all", "--json"))["runs"]) == 1


def test_a_real_run_can_be_looked_at_afterwards(headway: Headway, project: Path) -> None:
    Path("x.py").write_text("old\n", encoding="utf-8")
    edit = call("edit", path="x.py", old_string="old", new_string="新的")
    model = script(turn("", call("read_file", path="x.py")), turn("", edit, write("n.txt"), bash("true")), "Done.")
    assert run("run", "Change it", "--model", model, "--mode", "yolo").code == 0
    shown = headway("diff").stdout
    assert "-old\n+新的\n" in shown
    assert "+++ b/n.txt\n@@ -0,0 +1 @@\n+new\n" in shown
    assert shown.endswith("Changes made by shell commands are not included.\n")
    assert re.search(r"Total of 1 run: [\d,]+ in, [\d,]+ out · \$0\n", headway("cost").stdout)


def test_the_runs_of_an_item_are_named_after_it(repository: Path) -> None:
    session = listed("s1")
    run(*ALL, "--mode=yolo", "--retries=0", "--model", scripted(s1=["Not reported.", "Still not.", "No."]))
    titles = [line.split(maxsplit=1)[1] for line in run("cost").out.splitlines() if re.match(r" +\d+  ", line)]
    assert titles[0] == "Execute all: 1 todo"
    assert set(titles[1:]) == {f"s1: {session.todos[0].content}"}


def test_what_was_rolled_back_or_undone_is_not_shown_as_changed(repository: Path) -> None:
    session = listed("s1", "s2", "s3")
    model = scripted(
        s1=[turn("", write("one.txt")), "Done."],
        s2=[turn("", write("two.txt")), "Done."],
        s3=[turn("", write("three.txt"), call("report_item", status="blocked", reason="No.")), "No."],
    )
    run(*ALL, "--mode=yolo", "--retries=0", "--model", model)
    assert "+++ b/one.txt" in run("diff").out
    roll_back(session, "s1")
    shown = run("diff").out
    assert "one.txt" not in shown
    assert "three.txt" not in shown
    assert "+++ b/two.txt" in shown
    absent = "No longer in the project's files, or never merged into them, so not shown: the changes of s1; s3."
    assert shown.endswith(f"{absent}\n")
    run("todos", "undo")
    assert "+++ b/one.txt" in run("diff").out
    run("todos", "undo")
    assert json.loads(run("diff", "--json").out)["runs"][-1]["changes"] == []
    run("todos", "redo")
    assert "+++ b/one.txt" in run("diff").out
