"""The demo: the whole story, without a model and a key."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.processes import run, until
from tests.support.terminal import Terminal

import headway as api

from .commands import Headway

pytestmark = pytest.mark.more


def states(folder: Path) -> list[str]:
    return [str(todo.status) for todo in api.open(folder, "demo").todos]


@pytest.mark.smoke
def test_the_demo_plans_executes_tries_again_and_reports(project: Path) -> None:
    terminal = Terminal("demo", "--fast", "--keep", lines=120, columns=110, env={"TMPDIR": str(project)})
    assert terminal.end() == 0
    shown = terminal.shown
    assert "The model is scripted" in shown
    assert shown.count("┌─ Tasks") == 1
    before, after = shown.split("3. They are executed")
    assert "FAILED (errors=4)" in before and "Critical path: step-1 → step-3 → step-5" in before
    assert "     check: python3 -m unittest -q test_dates.Chinese" in before
    assert "Not reported as completed; the model's last words: “" in after and "⏱ 20min (attempt 2)" in after
    assert "Executed 5/5 todos in" in after
    for line in ("step-3: Read Chinese dates: 2026年11月15日", "✓? step-5: Run the whole suite", "    OK"):
        assert line in after
    (folder,) = project.glob("headway-demo-*")
    tested = subprocess.run([sys.executable, "-m", "unittest", "-q"], cwd=folder, capture_output=True, text=True)
    assert tested.returncode == 0, tested.stderr
    changed = subprocess.run(["git", "status", "--short"], cwd=folder, capture_output=True, text=True, check=True)
    assert changed.stdout.splitlines() == [" M README.md", " M dates.py", "?? readers/"]
    (report,) = folder.glob(".headway/reports/*.html")
    assert str(report) in "".join(shown.split()) and "<svg" in report.read_text(encoding="utf-8")


def test_the_demo_leaves_nothing_but_its_report(project: Path) -> None:
    done = run("demo", "--fast", env={"TMPDIR": str(project)})
    (report,) = project.glob("headway-demo-*")
    assert f"open {report}" in done.out and "headway demo --keep" in done.out
    assert "<svg" in report.read_text(encoding="utf-8")


def test_the_demo_runs_without_a_terminal(project: Path) -> None:
    done = run("demo", env={"TMPDIR": str(project)})
    assert (done.code, done.err) == (0, "")
    assert "\x1b" not in done.out


def test_the_demo_can_be_stopped_and_gone_on_with(project: Path, headway: Headway) -> None:
    terminal = Terminal("demo", "--keep", columns=110, lines=50, env={"TMPDIR": str(project)})
    terminal.until(lambda shown: "3. They are executed" in terminal.all and "▶ [1/5]" in terminal.all)
    terminal.send("\x03")
    assert terminal.end() == 0
    assert terminal.given_back
    assert "Stopped; everything is kept." in terminal.all and "Continue with it, for example:" in terminal.all
    (folder,) = project.glob("headway-demo-*")
    until(lambda: "in_progress" not in states(folder))
    assert len(states(folder)) == 5
    assert "Todo List (5 total)" in headway("todos", "list", "--project", str(folder)).output
