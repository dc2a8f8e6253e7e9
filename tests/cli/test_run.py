"""`headway run` without a terminal, as real processes with a scripted model."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.processes import PROGRAM, WAIT, Form, Running, environment, run, until
from tests.support.scripts import LONG, bash, call, creating, script, talking, turn, write, writing

import headway as api
from headway.agent import LoopConfig, run_loop
from headway.cli.foreground import ForegroundRun
from headway.cli.run_view import RunView
from headway.core.events import Event
from headway.core.run_events import MessageAdded, RunStarted, ToolFinished
from headway.testing import Call, ScriptedModel, Turn
from headway.tools import builtin_tools

from .commands import Headway

GO_ON = "Resume with: headway run --continue"
PLAN_MODE_IS_ON = "Note: Plan mode is on, so nothing will be changed; 'headway plan off' turns it off.\n"


def current(project: Path) -> api.Session:
    """The session that the project's commands use."""
    return api.open(project, api.open(project).store.current() or "default")


def logged(project: Path) -> list[Event]:
    return list(current(project).events())


def results(project: Path) -> list[ToolFinished]:
    return [event.data for event in logged(project) if isinstance(event.data, ToolFinished)]


def slow(*first: Form) -> str:
    """A model that makes these calls, and then talks for longer than anyone waits."""
    return script(turn("", *first), talking()) if first else script(talking())


# how it ends


def test_a_run_prints_words_calls_and_a_summary_and_ends_with_0(project: Path) -> None:
    steps = [turn("Let me look.\nAt the file.", write("a.txt"), bash("exit 3"), call("read_file", path="nope"))]
    model = script(*steps, "It is done.")
    done = subprocess.run(
        [PROGRAM, "run", "Write", "a file", "--model", model, "--mode", "yolo"],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=WAIT,
        encoding="utf-8",
    )
    assert (done.returncode, done.stderr) == (0, "")
    *lines, heading, files, tokens = done.stdout.splitlines()
    assert lines == [
        f"Project: {project}",
        "Let me look.",
        "At the file.",
        "✓ write_file a.txt",
        "✗ bash exit 3: exit code 3",
        "✗ read_file nope: There is no 'nope'; use ls or glob to see what exists.",
        "It is done.",
        "",
    ]
    assert re.fullmatch(r"✅ Finished after 2 rounds, \d+\.\d s", heading)
    assert files == "Files changed: a.txt"
    assert re.fullmatch(r"Tokens: [\d,]+ in, [\d,]+ out · cost: \$0", tokens)
    started = next(event.data for event in logged(project) if isinstance(event.data, RunStarted))
    assert started.task == "Write a file"


def test_a_run_names_the_project_which_may_be_further_up(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = f"scripted:{project / 'script.json'}"
    script("Hello.", "Hello.")
    (project / "home/code/.git").mkdir(parents=True)
    (project / "home/code/deep/down").mkdir(parents=True)
    for folder, named in ((project / "home/code/deep/down", "~/code"), (project, str(project))):
        monkeypatch.chdir(folder)
        env = {**environment(), "HOME": str(project / "home"), "XDG_CONFIG_HOME": str(project / "home/config")}
        words = [PROGRAM, "run", "Hi", "--new", "--model", model]
        for more, lines in ((["--json"], 0), ([], 1)):
            done = subprocess.run([*words, *more], env=env, capture_output=True, timeout=WAIT, encoding="utf-8")
            assert done.stdout.splitlines().count(f"Project: {named}") == lines, done.stderr
            assert "Project: " not in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["x"], "No model is set: choose one with --model"),
        (["x", "--model", "scripted:nope.json"], "There is no script 'nope.json'"),
        (["x", "--model", "nobody:x"], "There is no provider named 'nobody'"),
        (["x", "--model", "openai:gpt-4o"], "No API key for OpenAI; set OPENAI_API_KEY"),
        (
            ["--continue", "--model", "scripted:hi.json"],
            "The session 'default' has no conversation to continue; omit --continue to start one.\n",
        ),
        (
            ["x", "--session", "a\nb", "--model", "scripted:hi.json"],
            "The name of a session must have 1 to 200 printable",
        ),
        (["x", "--project", "nope", "--model", "scripted:hi.json"], "There is no folder '"),
    ],
)
def test_a_run_that_cannot_begin_is_one_sentence_and_ends_with_1(words: list[str], sentence: str) -> None:
    script("Hello.", name="hi.json")
    done = run("run", *words)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"Error: {sentence}")
    assert done.err.count("\n") == 1


def test_with_json_and_with_debug_the_same_error_is_an_object_and_a_traceback() -> None:
    done = run("run", "x", "--model", "scripted:nope.json", "--json")
    assert (done.code, done.out) == (1, "")
    assert json.loads(done.err)["error"]["message"].startswith("There is no script 'nope.json'")
    done = run("run", "x", "--model", "scripted:nope.json", "--debug")
    assert done.code == 1
    assert done.err.startswith("Traceback")
    assert "There is no script 'nope.json'" in done.err.splitlines()[-1]


def test_a_run_that_cannot_begin_leaves_the_current_session_alone(project: Path, headway: Headway) -> None:
    headway("todos", "add", "Mine")
    headway("sessions", "resume", "default")
    assert run("run", "x", "--model", "scripted:nope.json").code == 1
    assert "Mine" in headway("todos", "list").stdout


@pytest.mark.parametrize(
    "words",
    [
        [],
        [" "],
        ["--plan"],
        ["x", "--mode", "plan"],
        ["x", "--max-rounds", "0"],
        ["x", "--max-tokens", "many"],
        ["x", "--max-cost", "0"],
        ["x", "--memory", "--continue"],
        ["x", "--fast"],
    ],
)
def test_a_command_written_wrongly_ends_with_2_and_begins_nothing(
    headway: Headway, project: Path, words: list[str]
) -> None:
    result = headway("run", *words, "--model", script("Hello."), code=2)
    assert "Usage:" in result.stderr and "\nError: " in result.stderr
    assert not (project / ".headway").exists()


FAILURES: list[tuple[list[str | Form], list[str], str, str]] = [
    ([turn(error={"status": 401})], [], "❌ Failed after 1 round", "The scripted model refused the key (401)"),
    ([turn("", call("ls"))], [], "❌ Failed after 2 rounds", "The script has no turns left"),
    ([turn("", call("ls"))] * 3, ["--max-rounds", "2"], "⏸  Stopped at the limit after 2 rounds", "Tokens:"),
    (
        ["x"],
        ["--max-tokens", "99"],
        "⏸  Stopped at the token limit after 1 round",
        "The run has used 0 of its 99 tokens",
    ),
]


@pytest.mark.parametrize(("turns", "flags", "heading", "sentence"), FAILURES)
def test_a_run_that_fails_or_reaches_a_limit_says_so_and_ends_with_1(
    turns: list[str | Form], flags: list[str], heading: str, sentence: str
) -> None:
    done = run("run", "x", "--model", script(*turns), *flags)
    assert (done.code, done.err) == (1, "")
    lines = done.out[done.out.index(heading) :].splitlines()
    assert lines[1].startswith(sentence)
    assert lines[-1] == GO_ON
    assert "Traceback" not in done.out


def test_a_limit_of_cost_is_kept_before_the_first_request() -> None:
    env = {"OPENAI_API_KEY": "none", "HTTPS_PROXY": "http://127.0.0.1:9"}
    done = run("run", "x", "--model", "openai:gpt-4o", "--max-cost", "0.0001", env=env)
    assert (done.code, done.err) == (1, "")
    assert "The run has cost $0.0000 of its limit of $0.0001" in done.out
    env = {"HEADWAY_BASE_URL": "http://127.0.0.1:9"}
    done = run("run", "x", "--model", "compatible:mine", "--max-cost", "5", env=env)
    assert (done.code, done.err) == (1, "")
    assert "The price of 'mine' is not known, so a limit of $5 cannot be enforced; set max_tokens" in done.out


def test_a_request_that_may_work_later_is_told_of_and_made_again() -> None:
    failure = {"status": 503, "message": "overloaded", "retry_after": 0.01}
    done = run("run", "x", "--model", script(turn(error=failure), "Hello."))
    assert (done.code, done.err) == (0, "")
    _, told, said, *_ = done.out.splitlines()
    assert told.startswith("! The scripted model reported a server error (503: overloaded)")
    assert said == "Hello."


@pytest.mark.parametrize("mark", ["?", "？"])
def test_a_run_that_ends_with_a_question_says_how_to_answer(project: Path, mark: str) -> None:
    ask = script(turn("", creating("One", "Two")), f"Which file is meant{mark}\n")
    done = run("run", "Do it", "--session", "my own", "--model", ask)
    assert done.code == 0
    assert done.out.endswith("Answer with: headway run --continue --session 'my own' \"…\"\n")
    nothing_open = run("run", "Say it", "--new", "--model", script(f"Is that all{mark}"))
    assert "Answer with" not in nothing_open.out


def test_without_a_terminal_no_line_is_cut() -> None:
    failure = {"status": 503, "message": "overloaded", "retry_after": 0.01}
    model = script(turn(error=failure), turn("", bash(f"exit 3 # {'long ' * 20}")), "Done.")
    done = run("run", "x", "--model", model, "--mode", "yolo")
    assert "Retrying in 0 s" in done.out
    assert "exit code 3" in done.out


# being stopped


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_run_which_keeps_everything_and_ends_with_130(project: Path, number: signal.Signals) -> None:
    running = Running("run", "x", "--model", slow(writing(("One", "completed"), ("Two", "in_progress"))), "--json")
    running.event("TodoListContextInjected")
    running.signal(number)
    done = running.end()
    assert (done.code, done.err) == (130, "")
    assert (done.events[-1]["type"], done.events[-1]["reason"]) == ("RunFinished", "cancelled")
    assert [(todo.status, todo.interrupted) for todo in current(project).todos] == [
        ("completed", False),
        ("pending", True),
    ]


def test_a_stopped_run_says_what_is_open_and_how_to_go_on(project: Path) -> None:
    running = Running("run", "x", "--model", slow(writing(("One", "completed"), ("Two", "in_progress"))))
    while running.out.line() != "✓ TodoWrite (2 items)":
        pass
    running.signal(signal.SIGINT)
    done = running.end()
    assert (done.code, done.err) == (130, "")
    summary = done.out[done.out.index("⏹  Stopped after ") :].splitlines()
    assert summary[1:5] == [
        "Done: 1 of 2 (0 verified, 1 reported)",
        "  ✓? t1: One (reported)",
        "Open: 1",
        "  ○ t2: Two (interrupted)",
    ]
    assert summary[-1] == GO_ON


def test_a_second_signal_does_not_wait_for_a_command_that_will_not_end(project: Path) -> None:
    command = bash("trap '' INT TERM; echo $$ > pid; sleep 60; sleep 60")
    running = Running("run", "x", "--model", script(turn("", command)), "--mode", "yolo")
    until(lambda: Path("pid").exists() and Path("pid").read_text().endswith("\n"))
    running.signal(signal.SIGINT)
    running.signal(signal.SIGINT)
    done = running.end()
    assert (done.code, done.err) == (130, "")
    ran = current(project).run
    assert ran is not None and ran.reason == "cancelled"
    until(lambda: not Path(f"/proc/{Path('pid').read_text().strip()}").exists())


def test_a_signal_while_the_command_is_still_loading_ends_with_130_too() -> None:
    program = subprocess.Popen(
        [PROGRAM, "run", "x", "--model", script("Hello.")],
        env=environment(PYTHONPROFILEIMPORTTIME="1"),  # tells on stderr what is loaded
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    with program:
        assert program.stderr is not None
        fcntl.fcntl(program.stderr, fcntl.F_SETPIPE_SZ, 4096)  # it cannot go on for long while nobody reads
        read = b""
        while b" pydantic_core\n" not in read:  # the settings, before anything begins
            read += (more := program.stderr.read(100))
            assert more
        program.send_signal(signal.SIGINT)
        while program.stderr.read(4096):
            pass
        assert program.wait(WAIT) == 130


def test_a_killed_run_leaves_nothing_in_progress_and_can_be_continued(project: Path, headway: Headway) -> None:
    running = Running(
        "run",
        "Fix it",
        "--model",
        slow(creating("Run it"), call("todo", start="t1"), bash("sleep 50")),
        "--mode",
        "yolo",
        "--json",
    )
    while running.event("ToolStarted")["tool"] != "bash":
        pass
    running.signal(signal.SIGKILL)
    assert running.end().code == -signal.SIGKILL
    listed = headway("todos", "list").stdout
    assert "○ t1: Run it (interrupted)" in listed and "in_progress" not in listed
    done = run("run", "--continue", "--model", script("Going on.", "Yes.", "Yes.", match="Fix it"))
    assert done.code == 0
    assert done.err == "Note: The run is resumed in its own mode, yolo; choose another one with --mode.\n"
    assert done.out.splitlines()[1] == "Going on." and "│ ○ Run it " in done.out


def test_a_run_is_resumed_in_its_own_mode_and_a_new_task_runs_in_the_one_that_is_set(project: Path) -> None:
    assert run("run", "x", "--model", script("One."), "--mode", "yolo").code == 0
    for words in (["--continue"], ["--continue", "--mode", "auto_edit"], ["--continue"], ["--continue", "y"]):
        assert run("run", *words, "--model", script("Two.")).code == 0
    modes = [event.data.mode for event in logged(project) if isinstance(event.data, RunStarted)]
    assert modes == ["yolo", "yolo", "auto_edit", "auto_edit", "default"]


def test_two_runs_on_one_session_are_refused_with_the_name_of_the_other(project: Path) -> None:
    running = Running("run", "x", "--session", "ours", "--model", slow(), "--json")
    running.event("RoundStarted")
    done = run("run", "y", "--session", "ours", "--model", script("Hello.", name="other.json"))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error: Another run has been using the session 'ours'") and done.err.count("\n") == 1
    assert re.search(rf"process {running.id}\b", done.err)
    assert run("run", "y", "--session", "mine", "--model", script("Hello.", name="other.json")).code == 0
    running.signal(signal.SIGINT)
    assert running.end().code == 130


# for programs


def test_with_json_every_line_is_an_event_of_the_log(project: Path) -> None:
    model = script(turn("Let me see.", writing(("Run it", "completed")), bash("echo 42")), "Done.")
    done = run("run", "x", "--model", model, "--mode", "yolo", "--json")
    assert (done.code, done.err) == (0, "")
    events = done.events
    assert (events[0]["type"], events[-1]["type"]) == ("RunStarted", "RunFinished")
    for event in events:
        assert {"type", "session_id", "agent_id", "timestamp"} <= event.keys()
        assert ("version" in event) == (event["type"] != "TextDelta")
    versions = [event["version"] for event in events if "version" in event]
    assert versions == [*range(1, len(versions) + 1)]
    assert "".join(event["text"] for event in events if event.get("kind") == "text") == "Let me see.Done."
    kept = [(event.version, event.type) for event in logged(project)]
    assert kept == [(event["version"], event["type"]) for event in events if "version" in event]
    assert {event["session_id"] for event in events} == {current(project).name}


def test_hostile_text_is_escaped_in_json_and_harmless_without() -> None:
    hostile = "\x1b[31mred\x1b]0;title\x07 \u202eback \x9b2J \x85next 中文"
    model = script(turn(hostile, call("read_file", path=hostile)), hostile)
    done = run("run", hostile, "--model", model, "--json")
    assert (done.code, done.err) == (0, "")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", done.out)
    assert done.events[0]["task"] == hostile
    assert "".join(event["text"] for event in done.events if event["type"] == "TextDelta") == hostile * 2
    done = run("run", hostile, "--model", model)
    assert done.code == 0
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", done.out + done.err)
    assert done.out.count("next 中文") >= 3


def test_separators_of_lines_are_escaped_in_json() -> None:
    done = run("run", "a\u2028b\u2029c", "--model", script("Hello."), "--json")
    assert len(done.out.splitlines()) == len(done.events)


@pytest.mark.parametrize("flags", [["--json"], []])
def test_a_reader_that_goes_away_ends_the_run(project: Path, flags: list[str]) -> None:
    talk = turn("\n".join(map(str, range(2000))), delay=LONG)
    running = Running("run", "x", "--model", script(turn("", call("ls")), talk), *flags)
    running.out.line()
    running.out.close()
    done = running.end()
    assert (done.code, done.err) == (130, "")
    ran = current(project).run
    assert ran is not None and ran.reason == "cancelled"


def test_a_reader_that_takes_its_time_gets_everything(project: Path) -> None:
    running = Running("run", "x", "--model", script("word " * 3000), "--json")
    running.event("RunStarted")
    session = current(project)
    until(lambda: session.run is not None and session.run.reason == "finished")
    busy_until = time.monotonic() + 5  # the reader has something else to do
    until(lambda: running.has_ended or time.monotonic() > busy_until)
    done = running.end()
    assert (done.code, done.err) == (0, "")
    assert done.events[-1]["type"] == "RunFinished"


@pytest.mark.parametrize("flags", [["--json"], []])
def test_an_output_that_cannot_be_written_is_said_in_one_sentence(flags: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = Running("run", "x", "--model", slow(call("ls")), *flags, stdout=full.fileno()).end()
    assert done.code == 1
    assert done.err == "Error: the answer could not be printed (No space left on device).\n"


def test_another_process_sees_the_events_of_the_run_with_watch(project: Path) -> None:
    api.open(project, "ours").add("First")
    watcher = Running("watch", "--session", "ours", "--json")
    session = api.open(project, "ours")
    until(lambda: session.add("Is it there?") and watcher.out.has_line())
    done = run("run", "x", "--session", "ours", "--model", script("One.", "Two.", "Three."))
    assert done.code == 0
    session.add("The end")
    seen: list[str] = []
    while not seen or "The end" not in seen[-1]:
        seen.append(watcher.out.line())
    watcher.signal(signal.SIGINT)
    assert watcher.end().code == 0
    kinds = [json.loads(line)["type"] for line in seen]
    assert "RunStarted" in kinds and "RunFinished" in kinds


# sessions


def test_continue_goes_on_with_the_conversation_of_the_current_session(project: Path) -> None:
    assert run("run", "The first task", "--model", script("First answer.")).code == 0
    name = current(project).name
    done = run("run", "--continue", "And more", "--model", script("More.", match="The first task"))
    assert (done.code, current(project).name) == (0, name)
    done = run("run", "--continue", "--model", script("Yet more.", match="And more"), "--json")
    assert done.code == 0
    assert done.events[0]["version"] > 1
    said = [event.data.message for event in logged(project) if isinstance(event.data, MessageAdded)]
    assert [message["kind"] for message in said] == ["request", "response"] * 3


def test_of_runs_begun_at_the_same_time_one_has_the_session(project: Path) -> None:
    api.open(project).add("First")
    store = project / ".headway/headway.db"
    model = script(turn("Hello.", delay=1))
    with closing(sqlite3.connect(store, isolation_level=None)) as busy:
        busy.execute("BEGIN IMMEDIATE")  # nobody can write, so that none is faster than the others
        together = [Running("run", f"Task {number}", "--model", model) for number in range(4)]
        until(lambda: all(has_open(running, store) for running in together))
        busy.execute("ROLLBACK")
    ended = [running.end() for running in together]
    assert sorted(done.code for done in ended) == [0, 1, 1, 1]
    assert all(
        done.err.startswith("Error: Another run has been using the session 'default'") for done in ended if done.code
    )
    assert [info.name for info in api.open(project).store.sessions()] == ["default"]


def has_open(running: Running, file: Path) -> bool:
    return any(os.path.realpath(link) == str(file) for link in Path(f"/proc/{running.id}/fd").iterdir())


def test_the_list_of_a_run_is_found_where_the_environment_names_a_session(project: Path) -> None:
    env = {"HEADWAY_SESSION": "ours"}
    assert run("run", "x", "--model", script(turn("", creating("Its list")), "a", "b", "c"), env=env).code == 0
    assert "Its list" in run("todos", "list", env=env).out


def test_what_is_set_counts_unless_a_flag_says_otherwise(project: Path) -> None:
    env = {"HEADWAY_MODEL": script(*[turn("", bash("ls"))] * 4), "HEADWAY_MODE": "yolo", "HEADWAY_MAX_ROUNDS": "2"}
    done = run("run", "x", env=env)
    assert (done.code, done.out.count("✓ bash ls")) == (1, 2)
    done = run("run", "x", "--max-rounds", "3", "--mode", "default", env=env)
    assert (done.code, done.out.count("⊘ bash ls")) == (1, 3)


def test_a_task_with_bytes_that_are_no_text_is_taken_as_far_as_it_goes(project: Path) -> None:
    done = run("run", "caf\udce9 x", "--model", script("Hello.", match=" x"), "--json")
    assert (done.code, done.err) == (0, "")
    started = logged(project)[0].data
    assert isinstance(started, RunStarted) and started.task in ("caf\ufffd x", "caf? x")


def test_a_model_may_say_what_is_no_text(project: Path) -> None:
    done = run(
        "run", "x", "--model", script(turn("a \ud800 b", bash("echo \udc80"), writing(("\ud800", "completed"))), ".")
    )
    assert (done.code, done.err) == (0, "")
    assert "a � b" in done.out


# what it may do


def test_in_memory_nothing_is_kept(project: Path) -> None:
    done = run("run", "x", "--memory", "--mode", "yolo", "--model", script(turn("", creating("A"), bash("ls")), *"abc"))
    assert (done.code, done.err) == (0, "")
    assert "○ t1: A" in done.out
    assert not (project / ".headway").exists()


def test_in_memory_long_answers_are_not_kept_either(project: Path) -> None:
    done = run("run", "x", "--memory", "--mode", "yolo", "--model", script(turn("", bash("seq 100000")), "Done."))
    assert done.code == 0
    assert not (project / ".headway").exists()


def test_in_memory_nothing_is_said_of_continuing() -> None:
    done = run("run", "x", "--memory", "--model", script(turn("", call("ls"))), "--max-rounds", "1")
    assert done.code == 1
    assert "--continue" not in done.out


def test_plan_mode_changes_nothing_and_stays_on_until_a_person_ends_it(project: Path, headway: Headway) -> None:
    steps = turn("", write("a.txt"), bash("touch b.txt"), call("ls"))
    for words in (["x", "--plan"], ["--continue", "Plan more", "--plan"], ["--continue", "Do it"]):
        done = run("run", *words, "--mode", "yolo", "--model", script(steps, "A plan."))
        assert (done.code, done.err) == (0, "" if "--plan" in words else PLAN_MODE_IS_ON)
        assert "⊘ write_file a.txt: denied" in done.out and "✓ ls" in done.out
        assert "Denied: 2 calls (plan mode is on)" in done.out
        assert current(project).plan_mode
        assert "plan mode" in results(project)[-3].text.lower()
        assert not {"a.txt", "b.txt"} & {path.name for path in project.iterdir()}
    headway("plan", "off")
    done = run("run", "--continue", "Do it", "--mode", "yolo", "--model", script(steps, "Done."))
    assert (done.code, done.err) == (0, "")
    assert {"a.txt", "b.txt"} <= {path.name for path in project.iterdir()}


def test_a_run_on_a_session_in_plan_mode_says_so_also_to_programs_and_a_new_one_is_in_none(project: Path) -> None:
    api.open(project, "ours").set_plan_mode(True)
    done = run("run", "x", "--session", "ours", "--model", script("Hello."), "--json")
    assert (done.code, done.err) == (0, PLAN_MODE_IS_ON)
    assert done.events[0]["type"] == "RunStarted"
    done = run("run", "x", "--model", script("Hello."))
    assert (done.code, done.err, current(project).plan_mode) == (0, "", False)


def test_the_plan_that_a_run_made_is_shown_at_its_end_with_how_to_go_on(project: Path, headway: Headway) -> None:
    steps = [{"id": "step-1", "description": "Read \x1b[2Jit"}, {"id": "step-2", "description": "拆分解析器"}]
    planned = turn("", call("create_plan", title="Split it", overview="In two.", steps=steps))
    done = run("run", "x", "--plan", "--model", script(planned, "Shall I?"))
    assert (done.code, done.err) == (0, "")
    summary = done.out[done.out.index("✅ Finished after 2 rounds") :].splitlines()
    assert summary[2:7] == ["", "📋 Plan: Split it", "", "In two.", ""]
    assert "  2. step-2: 拆分解析器" in summary and "\x1b" not in done.out
    ends = ["Turn it into todos with: headway plan to-todos", "Leave plan mode with: headway plan off"]
    assert summary[-3:] == ["", *ends]
    headway("plan", "to-todos")
    headway("plan", "off")
    assert [todo.id for todo in current(project).todos] == ["step-1", "step-2"]
    done = run("run", "--continue", "Go on", "--model", script("a", "b", "c"))
    assert done.code == 0 and "Plan:" not in done.out, "it is shown by the run that made it"


def test_a_plan_of_a_run_that_failed_or_keeps_nothing_is_shown_too(project: Path) -> None:
    planned = turn("", call("create_plan", title="T", overview="O", steps=[{"id": "a", "description": "Do it"}]))
    done = run("run", "x", "--plan", "--model", script(planned))
    assert (done.code, done.out.splitlines()[-1]) == (1, GO_ON) and "📋 Plan: T" in done.out
    done = run("run", "x", "--plan", "--memory", "--model", script(planned, "Done."))
    assert done.code == 0 and "📋 Plan: T" in done.out and "headway plan" not in done.out
    done = run("run", "x", "--new", "--plan", "--model", script(planned, "Done."), "--json")
    assert done.code == 0 and len(done.out.splitlines()) == len(done.events)
    assert [event["plan"]["title"] for event in done.events if event["type"] == "PlanUpdated"] == ["T"]


def test_a_run_that_is_refused_does_not_end_the_plan_mode_of_the_other(project: Path) -> None:
    running = Running("run", "x", "--plan", "--session", "ours", "--model", slow(), "--json")
    running.event("RoundStarted")
    assert run("run", "y", "--session", "ours", "--model", script("Hello.", name="other.json")).code == 1
    assert api.open(project, "ours").plan_mode


@pytest.mark.parametrize(
    ("flags", "wrote", "ran"),
    [
        ([], False, False),
        (["--mode", "default"], False, False),
        (["--mode", "auto_edit"], True, False),
        (["--mode", "yolo"], True, True),
    ],
)
def test_without_a_terminal_what_must_be_asked_about_is_refused(
    project: Path, flags: list[str], wrote: bool, ran: bool
) -> None:
    done = run("run", "x", "--model", script(turn("", write("a.txt"), bash("touch b.txt")), "Done."), *flags)
    assert (done.code, done.err) == (0, "")
    assert ((project / "a.txt").exists(), (project / "b.txt").exists()) == (wrote, ran)
    assert ("✓ write_file a.txt" if wrote else "⊘ write_file a.txt: denied") in done.out
    assert ("✓ bash touch b.txt" if ran else "⊘ bash touch b.txt: denied") in done.out
    refused = [result for result in results(project) if result.denied]
    assert all("nobody is there to give it" in result.text for result in refused)
    assert len(refused) == 2 - wrote - ran
    assert "Files changed: a.txt" in done.out or not wrote


def test_help_loads_neither_pydantic_nor_the_agent_nor_rich() -> None:
    code = "import sys, atexit; atexit.register(lambda: print(*sys.modules)); from headway.cli.app import main; main()"
    for words in (["--help"], ["run", "--help"]):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=WAIT)
        assert done.returncode == 0 and "run" in done.stdout
        loaded = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
        assert "click" in loaded
        assert not loaded & {"pydantic", "pydantic_core", "pydantic_ai", "rich", "httpx2", "openai"}


def test_help_names_every_flag_and_the_exit_codes(headway: Headway) -> None:
    text = headway("run", "--help").stdout
    for flag in ("--continue", "--session", "--plan", "--mode", "--max-rounds", "--max-tokens", "--max-cost"):
        assert flag in text
    for more in ("--memory", "--json", "--model", "--project", "--debug", "130"):
        assert more in text


def test_the_list_is_shown_as_it_was_when_the_run_began_though_that_is_heard_of_late(
    capsys: pytest.CaptureFixture[str],
) -> None:
    session = api.open(".")

    def late(event: Event) -> None:
        if event.type == "RunStarted":
            until(lambda: session.todos)

    async def work(ask: object) -> object:
        write = Call("TodoWrite", {"todos": [{"content": "Run it", "activeForm": "Running", "status": "in_progress"}]})
        model = ScriptedModel([Turn("Let me see.", calls=[write]), "End."])
        config = LoopConfig(max_nudges=0, todo_tools="full")
        return await run_loop(session, "x", model=model, tools=builtin_tools("."), config=config)

    ForegroundRun[object](session, heard=late).run(work, RunView)
    printed = capsys.readouterr().out
    assert printed.index("Let me see.") < printed.index(" Run")  # of changes that wait together, the last is told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_does_not_break_off_the_loading_of_a_module(
    monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    loaded: list[str] = []

    def load(name: str) -> None:
        signal.raise_signal(number)
        loaded.append(name)

    async def work(ask: object) -> None:
        raise AssertionError("it was stopped before")

    monkeypatch.setattr("importlib.import_module", load)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        assert ForegroundRun[None](api.open(".")).run(work, RunView) == (None, 130)
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert loaded == ["headway.agent.run"]
