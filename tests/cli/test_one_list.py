"""One list: commands, runs and `TodoWrite` work in the project's current session; each run is a conversation."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from tests.support.processes import Done, Running, run, run_to_end, todo_write, until
from tests.support.scripts import bash, creating, script, talking, turn

import headway as api
from headway.core.codec import read_event
from headway.core.run_events import RunStarted

KNOWING = {
    "first_task": "It knows the first.",
    "second_task": "It knows the second.",
    "Fix_the_parser": "The list alone.",
}
"""What is in a request, and the answer that says so."""
LEFT = "Note: {} still open in the session 'default'; switch back with: headway session default"


def added(*texts: str, words: tuple[str, ...] = ()) -> None:
    for text in texts:
        assert run(*words, "todos", "add", text).code == 0


def listed(*words: str) -> list[str]:
    """What is on the list that commands use."""
    return [todo["content"] for todo in json.loads(run(*words, "todos", "list", "--json").out)["todos"]]


def current() -> str:
    return json.loads(run("todos", "list", "--json").out)["session"]


def by_prompt(**turns: str) -> str:
    """A model whose answer tells what stands in one of the prompts that it is sent; the first that does counts."""
    texts = {text.replace("_", " "): answer for text, answer in turns.items()}
    form = {"conversations": [{"match": text, "turns": [answer]} for text, answer in texts.items()]}
    Path("prompts.json").write_text(json.dumps(form), encoding="utf-8")
    return "scripted:prompts.json"


# a new conversation finds the list


def test_a_run_works_through_the_list_that_is_there(project: Path) -> None:
    added("Fix the parser", "Write the docs")
    done = run("run", "Work through my todo list", "--model", by_prompt(Fix_the_parser="I see the list."))
    assert (done.code, done.err) == (0, "") and "I see the list." in done.out
    assert listed() == ["Fix the parser", "Write the docs"] and current() == "default"
    assert [info.name for info in api.open(project).store.sessions()] == ["default"]


def test_each_run_is_a_new_conversation_unless_the_last_one_is_continued(project: Path) -> None:
    added("Fix the parser")
    model = by_prompt(
        first_task="It knows the first.", second_task="It knows the second.", Fix_the_parser="The list alone."
    )
    for words, answer in (
        (["The first task"], "It knows the first."),
        (["Another one"], "The list alone."),
        (["--continue", "More of it"], "The list alone."),
        (["The second task"], "It knows the second."),
        (["--continue"], "It knows the second."),
        (["--continue", "--session", "default", "And that"], "It knows the second."),
    ):
        done = run("run", *words, "--model", model)
        assert (done.code, done.err) == (0, "") and answer in done.out, words
    started = [event.data for event in api.open(project).events() if isinstance(event.data, RunStarted)]
    assert [data.new_conversation for data in started] == [True, True, False, True, False, False]
    report = run("report").out
    assert "The first task" in report and "Another one" in report  # all of it is still told


def test_a_log_from_before_conversations_were_told_apart_is_one_conversation() -> None:
    fields = {"run_id": "r", "task": "T", "model": "m", "max_rounds": 5, "holder": "h"}
    event = read_event(1, "2026-01-01T00:00:00.000Z", "main", "agent", "RunStarted", json.dumps(fields))
    assert isinstance(event.data, RunStarted) and not event.data.new_conversation


def test_after_a_kill_the_next_run_has_the_list_and_a_conversation_of_its_own(project: Path) -> None:
    model = script(turn("", creating("Fix the parser", "Write the docs"), bash("sleep 50")), talking())
    running = Running("run", "The first task", "--model", model, "--mode", "yolo", "--json")
    while running.event("ToolStarted")["tool"] != "bash":
        pass
    running.kill()
    again = by_prompt(first_task="It knows the first.", Fix_the_parser="The list alone.")
    done = run("run", "Another one", "--model", again)
    assert (done.code, done.err) == (0, "") and "The list alone." in done.out
    assert listed() == ["Fix the parser", "Write the docs"]
    statuses = {todo.status for todo in api.open(project).todos}
    assert statuses == {"pending"}
    done = run("run", "--continue", "More", "--model", again)
    assert "The list alone." in done.out


def test_piped_messages_are_one_conversation_which_is_new_unless_it_is_continued(project: Path) -> None:
    added("Fix the parser")
    model = by_prompt(
        first_task="It knows the first.", second_task="It knows the second.", Fix_the_parser="The list alone."
    )
    done = run("--model", model, given=b"The first task\nMore\n")
    assert done.out.count("It knows the first.") == 2
    assert "The list alone." in run("--model", model, given=b"More\n").out
    run("--model", model, given=b"The second task\n")
    assert "It knows the second." in run("--continue", "--model", model, given=b"More\n").out
    assert current() == "default"


# one run at a time


def test_a_second_run_is_refused_with_the_name_of_the_session_and_the_way_to_another(project: Path) -> None:
    added("Fix the parser")
    running = Running("run", "x", "--model", script(turn("", bash("sleep 50"))), "--mode", "yolo", "--json")
    running.event("ToolStarted")
    other = script("Hello.", name="other.json")
    for words, given in ((["run", "y"], b""), ([], b"y\n")):
        done = run(*words, "--model", other, given=given)
        said = done.err + done.out
        assert done.code == 1 and "Another run has been using the session 'default' since " in said
        assert f"(process {running.id} on " in said and ("with --new." if words else "with /session new.") in said
    done = run("run", "--new=other", "y", "--model", other)
    assert done.code == 0 and current() == "other"
    assert done.err == (
        "Note: 1 todo is still open in the session 'default'; switch back with: headway session default\n"
    )
    running.signal(signal.SIGINT)
    assert running.end().code == 130


def test_a_refused_run_shows_nothing_of_the_run_that_goes_on(project: Path) -> None:
    calls = [turn("", bash(f"sleep 0.05 # {number}")) for number in range(400)]
    running = Running("run", "x", "--model", script(*calls), "--mode", "yolo", "--max-rounds", "500", "--json")
    running.event("ToolFinished")
    other = script("Hello.", name="other.json")
    for _ in range(3):
        done = run("run", "y", "--model", other)
        assert (done.code, done.out) == (1, "") and done.err.startswith("Error: Another run has been using the session")
    running.signal(signal.SIGINT)
    assert running.end().code == 130


# new sessions


def test_a_new_session_is_the_one_that_every_other_command_uses(project: Path) -> None:
    added("Fix the parser", "Write the docs")
    done = run("run", "--new", "Something else", "--model", by_prompt(Something="Hello."))
    assert done.code == 0
    assert (
        done.err == "Note: 2 todos are still open in the session 'default'; switch back with: headway session default\n"
    )
    name = current()
    assert name.startswith("session-") and listed() == []
    todos = json.dumps({"todos": [{"content": "Its own", "activeForm": "Doing it", "status": "pending"}]})
    assert run_to_end(todo_write(todos)).code == 0
    assert listed() == ["Its own"] == [todo.content for todo in api.open(project, name).todos]
    assert f"* {name}" in run("sessions").out
    assert "Going" not in run("run", "Go", "--model", by_prompt(Its_own="Its own list.")).err
    assert run("session", "default").code == 0 and listed() == ["Fix the parser", "Write the docs"]


@pytest.mark.parametrize("words", [["run", "x"], []])
def test_a_new_session_has_the_name_that_it_is_given(words: list[str]) -> None:
    model = script("Hello.")
    done = run(*words, "--new=docs 文", "--model", model, given=b"Hi\n")
    assert (done.code, current()) == (0, "docs 文")
    assert done.err == ("" if words else f"Project: {os.getcwd()}\n")
    done = run(*words, "--new=docs 文", "--model", model, given=b"Hi\n")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "Error: A session named 'docs 文' already exists; switch to it with: headway session 'docs 文'\n"
    )
    assert "1 to 200 printable" in run(*words, "--new=", "--model", model, given=b"Hi\n").err


def test_a_word_after_new_is_the_task_and_not_its_name(project: Path) -> None:
    assert run("run", "--new", "docs", "--model", script("Hello.")).code == 0
    assert run("run", "--model", script("Hello."), "--", "--new").code == 0
    session = api.open(project, current())
    assert session.name.startswith("session-")
    assert [event.data.task for event in session.events() if isinstance(event.data, RunStarted)] == ["docs", "--new"]
    done = run("--new", "todos", "list")
    assert done.code == 2 and "--new has no effect before a command" in done.err


@pytest.mark.parametrize("flags", [["--continue"], ["--session", "x"], ["--memory"]])
@pytest.mark.parametrize("words", [["run", "x"], []])
def test_flags_that_contradict_each_other_begin_nothing(project: Path, words: list[str], flags: list[str]) -> None:
    done = run(*words, "--new", *flags, "--model", script("Hello."), given=b"Hi\n")
    assert (done.code, done.out) == (2, "")
    assert f"--new and {flags[0]} cannot be combined; omit one of the two." in done.err
    assert not (project / ".headway").exists()


def test_a_new_session_that_cannot_begin_leaves_the_current_one() -> None:
    added("Fix the parser")
    assert run("run", "--new", "x", "--model", "scripted:nope.json").code == 1
    assert run("--new").code == 2
    assert (current(), listed()) == ("default", ["Fix the parser"])


# one session for one command


def test_a_session_that_is_named_for_one_command_changes_nothing_for_others(project: Path) -> None:
    added("Mine")
    model = script(turn("", bash("true")), turn("", error={"status": 401, "message": "no"}))
    done = run("run", "The first task", "--session", "theirs", "--model", model)
    assert done.out.endswith("Resume with: headway run --continue --session theirs\n")
    assert (current(), listed()) == ("default", ["Mine"])
    done = run("run", "--continue", "--session", "theirs", "--model", by_prompt(first_task="It knows the first."))
    assert "It knows the first." in done.out
    added("Theirs", words=("--session", "theirs"))
    model = by_prompt(Execute_todo="Done.")
    assert run("--session", "theirs", "todos", "execute-all", "--model", model, "--mode", "yolo").code in (0, 1)
    assert run("--session", "theirs", "--model", script("Hello."), given=b"Hi\n").code == 0
    assert (current(), listed()) == ("default", ["Mine"])
    env = {"HEADWAY_SESSION": "theirs"}
    assert run("run", "x", "--model", script("Hello."), env=env).code == 0
    assert (current(), listed("--session", "theirs")) == ("default", ["Theirs"])


# where else


def test_an_empty_list_says_where_todos_are_open(project: Path) -> None:
    assert "session" not in run("todos", "list").out
    added("Fix the parser", words=("--session", "my own"))
    there = "1 todo is open in the session 'my own'; switch to it with: headway session 'my own'\n"
    for words in (["list"], ["next"], ["execute-all"]):
        assert run("todos", *words).out.endswith(there)
    added(*(f"Number {number}" for number in range(3)), words=("--session", "docs"))
    assert run("todos", "list").out.endswith(
        "Other sessions have open todos: 'docs' (3), 'my own' (1); switch to one with: headway session NAME\n"
    )
    said = run(given=b"/todos list\n").out
    assert "switch to one with: /session NAME" in said
    assert "other sessions" not in run("todos", "list", "--agent", "helper").out
    added("Here")
    assert "other sessions" not in run("todos", "list").out


def test_the_session_that_was_begun_last_is_listed_before_anything_is_in_it() -> None:
    added("Fix the parser")
    said = run("session", "new", "empty").out.splitlines()
    assert said[1:] == [
        "Note: 1 todo is still open in the session 'default'; switch back with: headway session default"
    ]
    assert [line[:9].rstrip() for line in run("sessions").out.splitlines()] == ["* empty", "  default"]
    assert json.loads(run("sessions", "--json").out)[0]["current"] is False


# nothing kept, nothing to do


def test_a_session_in_memory_keeps_nothing_and_sees_no_other(project: Path) -> None:
    model = script(turn("", creating("Its own")), "a", "b", "c")
    assert run("run", "x", "--memory", "--model", model).code == 0
    assert "The list is empty." in run("--memory", "--model", model, given=b"/todos list\n").out
    assert not (project / ".headway").exists()
    added("Mine")
    assert "Mine" not in run("--memory", "--model", model, given=b"/todos list\n").out
    assert listed() == ["Mine"]


@pytest.mark.parametrize("flags", [[], ["--new"], ["--plan"], ["--session", "x"]])
@pytest.mark.parametrize("given", [b"", b" \n\n", Path(os.devnull)])
def test_without_a_terminal_and_without_input_it_says_what_it_is(
    project: Path, flags: list[str], given: bytes | Path
) -> None:
    done: Done = run(*flags, given=given)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Headway is a coding agent") and "headway run" in done.err and "--help" in done.err
    assert done.err.count("\n") == 1
    assert not (project / ".headway").exists()


def test_watch_goes_over_to_the_session_that_becomes_the_current_one(project: Path) -> None:
    added("Fix the parser")
    watching = Running("watch")
    until(lambda: "Fix the parser" in watching.out.line())
    api.open(project, "other").add("Its own")
    run("session", "other")
    until(lambda: "Its own" in watching.out.line())
    watching.signal(signal.SIGINT)
    assert watching.end().code == 0
