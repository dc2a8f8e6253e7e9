"""Commands as processes of their own: what they print, to whom, and what they load."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from tests.support.processes import WAIT, Running, until

import headway as api


@pytest.mark.parametrize("words", [["todos", "list"], ["todos", "list", "--json"], ["--help"]])
def test_an_answer_that_cannot_be_printed_is_said_in_one_sentence(two_items: api.Session, words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = Running(*words, stdout=full.fileno()).end()
    assert done.code == 1
    assert done.err.startswith("Error: the answer could not be printed (No space left on device)")
    assert done.err.count("\n") == 1


def test_watch_as_json_prints_one_event_per_line(two_items: api.Session) -> None:
    watcher = Running("watch", "--json")
    until(lambda: two_items.add("More") and watcher.out.has_line())
    event = json.loads(watcher.out.line())
    assert event["type"] == "TodoListUpdated"
    assert event["added"][0]["content"] == "More"
    watcher.signal(signal.SIGINT)
    assert watcher.end().code == 0


def test_watch_ends_quietly_when_its_reader_goes_away(two_items: api.Session) -> None:
    watcher = Running("watch")
    assert watcher.out.line().startswith("┌─ Tasks")
    watcher.out.close()
    until(lambda: watcher.has_ended or not two_items.add("More"))
    assert (watcher.wait(), watcher.err.rest()) == (0, "")


def test_the_command_loads_neither_rich_nor_views_it_does_not_use() -> None:
    code = "import sys, headway.cli.app, headway.cli.todo_write; print(sorted(m for m in sys.modules if 'rich' in m))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT, check=True)
    assert done.stdout.strip() == "[]"
