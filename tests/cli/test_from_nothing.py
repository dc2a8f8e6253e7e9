"""Whole commands in interpreters that load everything themselves and end as interpreters do: nothing is complained of.

Everywhere else, processes are forked from one that has all of it loaded.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.executions import ALL, COMPLETE, ending, listed, scripted, states
from tests.support.processes import WAIT, Done, environment, headway_from_nothing, run_to_end, start
from tests.support.scripts import bash, script, turn, write

import headway as api

pytestmark = pytest.mark.usefixtures("repository")


def run(*words: str, given: bytes = b"", **env: str) -> Done:
    done = run_to_end(headway_from_nothing(*words, env=env), given=given)
    named = "" if words[:1] != ("--model",) else f"Project: {os.getcwd()}\n"  # a session on standard input
    assert (done.code, done.err) == (0, named), done
    return done


def test_python_runs_the_package_as_the_command() -> None:
    words = [sys.executable, "-m", "headway", "todos", "add", "Read the log"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=WAIT, check=False, env=environment())
    assert (done.returncode, done.stderr) == (0, "")
    assert [todo.content for todo in api.open(".").todos] == ["Read the log"]


def test_a_list_is_executed_side_by_side() -> None:
    listed("s1", "s2")
    model = scripted(s1=[turn("", write("one.txt"), bash("test -e one.txt")), "Done."], s2=["Done."])
    done = run(*ALL, "--mode=yolo", "--parallel=2", "--model", model)
    assert ending(done)[0] == COMPLETE
    assert set(states().values()) == {"completed"} and Path("one.txt").read_text() == "new\n"


def test_a_session_reads_messages_and_commands_from_a_pipe() -> None:
    model = script(turn("Looking.", bash("echo found")), "Here it is.")
    done = run("--model", model, given=b"Look\n/todos add Later\n", HEADWAY_MODE="yolo")
    assert "Here it is." in done.out and "Added t1 “Later”" in done.out


def test_the_demo_tells_its_story() -> None:
    assert COMPLETE in run("demo", "--fast", TMPDIR=os.getcwd()).out


def test_a_watcher_is_stopped() -> None:
    listed("s1")
    watcher = start(headway_from_nothing("watch"))
    assert watcher.out.line().startswith("┌─ Tasks")
    watcher.signal(signal.SIGINT)
    done = watcher.end()
    assert (done.code, done.err) == (0, "")
