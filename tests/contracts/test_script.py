"""The console script `TodoWrite` as a real process: where it writes, what it prints, and that it never traces back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import PIPE

import pytest
from tests.support.processes import WAIT, Done, run_to_end, start, todo_write
from tests.support.tables import check_rows

import headway
from headway.contracts.shell import INVALID, MISSING, help_text

from .samples import call, contents, files_in, item

SCRIPT = Path(sys.executable).with_name("TodoWrite")
JSON = json.dumps(call(item("A"), item("B", "in_progress")))
CHINESE = json.dumps(call(item("修复重叠检测")), ensure_ascii=False)
UPDATED = "Todo list updated: 1 in_progress, 1 pending\n"
ASCII_ONLY = {
    "LC_ALL": "C",
    "LANG": "C",
    "PYTHONIOENCODING": "ascii",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
}


def run(*words: str | bytes, cwd: Path, env: Mapping[str, str] | None = None, stdin: bytes = b"") -> Done:
    """What the script does, with all that it needs loaded already."""
    order = todo_write(*map(os.fsdecode, words), folder=cwd, env={**os.environ, **(env or {})})
    return checked(run_to_end(order, given=stdin))


def execute(
    *words: str | bytes | Path, cwd: Path, env: Mapping[str, str] | None = None, stdin: bytes = b"", stdout: int = PIPE
) -> Done:
    """A program as a shell executes it: in an interpreter that begins from nothing."""
    done = subprocess.run(
        words, cwd=cwd, env={**os.environ, **(env or {})}, input=stdin, stdout=stdout, stderr=PIPE, timeout=WAIT
    )
    return checked(Done(done.returncode, (done.stdout or b"").decode("utf-8"), done.stderr.decode("utf-8")))


def checked(done: Done) -> Done:
    assert "Traceback" not in done.err, done.err
    return done


def failed(done: Done) -> str:
    """The error of a call that must fail: on stderr only, exit code 1."""
    assert (done.out, done.code) == ("", 1)
    return done.err.removesuffix("\n")


def one_sentence(done: Done) -> str:
    text = failed(done)
    assert text.startswith("Error: ")
    assert "\n" not in text
    return text


def written(folder: Path, session: str = "default", agent: str = "main") -> list[str]:
    return contents(headway.open(folder, session).agent(agent))


# A list that no other process can see.


@pytest.mark.parametrize("words", [[JSON], ["-"], ["{}"], []])
def test_a_list_that_is_kept_in_memory_is_answered_with_one_sentence_and_nothing_is_made(
    folder: Path, words: list[str]
):
    (folder / ".git").mkdir()
    before = files_in(folder)
    env = {"HEADWAY_IN_MEMORY": "1", "HEADWAY_SESSION": "mine", "HEADWAY_AGENT": "main"}
    for more in ({}, {"HEADWAY_PROJECT": str(folder)}):
        assert one_sentence(run(*words, cwd=folder, env={**env, **more}, stdin=JSON.encode())) == (
            "Error: The agent keeps this list in memory; call TodoWrite on a line of its own, not as part of "
            "another command."
        )
    assert files_in(folder) == before
    assert run("--help", cwd=folder, env=env).code == 0


def test_an_empty_variable_does_not_say_that_the_list_is_in_memory(folder: Path):
    assert run(JSON, cwd=folder, env={"HEADWAY_IN_MEMORY": ""}).out == UPDATED


# Answers.


def test_a_call_writes_the_list_and_prints_the_counts(folder: Path):
    assert execute(SCRIPT, JSON, cwd=folder) == Done(0, UPDATED, "")
    assert written(folder) == ["A", "B"]


def test_a_second_call_replaces_the_list_and_names_what_it_dropped(folder: Path):
    run(JSON, cwd=folder)
    done = run(json.dumps(call(item("B", "completed"))), cwd=folder)
    assert done.out == "Todo list updated: 1 completed\nNote: 1 unfinished todo was dropped: A\n"
    (todo,) = headway.open(folder).todos
    assert todo.id == "t2"


def test_json_comes_on_standard_input_with_a_dash(folder: Path):
    assert run("-", cwd=folder, stdin=b"\xef\xbb\xbf" + CHINESE.encode() + b"\n").code == 0
    assert written(folder) == ["修复重叠检测"]


NO_NAME = "At line 1, column 2: expecting property name enclosed in double quotes"
TWO_WORDS = (
    "At argument 2 (x): the JSON must be one word;"
    " put single quotes around the JSON, and write an apostrophe in it as \\u0027"
)
ERRORS: list[tuple[list[str], bytes, str]] = [
    ([], b"", MISSING),
    ([], b'{"todos":[]}', MISSING),
    ([""], b"", MISSING),
    (["-"], b"", MISSING),
    (["-"], b" \n", MISSING),
    (["{"], b"", f"{INVALID}\n{NO_NAME}"),
    (["-"], b"{", f"{INVALID}\n{NO_NAME}"),
    (["-", "x"], b"{}", f"{INVALID}\n{TWO_WORDS}"),
    (['{"todos":[]}', "x"], b"", f"{INVALID}\n{TWO_WORDS}"),
    (["{}"], b"", "Error: Validation failed\n- todos: Required"),
    (["[1]"], b"", "Error: Validation failed\n- (root): Expected object, received array"),
]


def test_errors_are_on_stderr_with_exit_code_1_and_nothing_is_written(folder: Path):
    def check(words: list[str], stdin: bytes, error: str) -> None:
        assert failed(run(*words, cwd=folder, stdin=stdin)) == error
        assert files_in(folder) == []

    check_rows(ERRORS, check)


def test_in_plan_mode_it_is_refused_but_still_helps(folder: Path):
    session = headway.open(folder)
    session.set_plan_mode(True)
    refusal = "Error: TodoWrite is not available in plan mode and nothing was changed;"
    assert failed(run(JSON, cwd=folder)).startswith(refusal)
    assert run("--help", cwd=folder).code == 0
    assert session.todos == []
    session.set_plan_mode(False)
    assert run(JSON, cwd=folder).out == UPDATED


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_is_printed_and_nothing_is_written(folder: Path, word: str):
    assert run(word, cwd=folder) == Done(0, help_text() + "\n", "")
    assert files_in(folder) == []


def test_help_needs_neither_a_project_nor_a_store(folder: Path):
    assert run("-h", cwd=folder, env={"HEADWAY_PROJECT": str(folder / "missing")}).code == 0


def test_limits_from_the_environment_apply_and_wrong_ones_are_reported(folder: Path):
    env = {"TODO_MAX_ITEMS": "1", "TODO_MAX_CONTENT_LENGTH": "no"}
    done = run(JSON, cwd=folder, env=env)
    assert failed(done).split("\n") == [
        "Warning: TODO_MAX_CONTENT_LENGTH must be a positive whole number, not 'no'; using 200.",
        "Error: Validation failed",
        "- todos: Must have at most 1 items, received 2",
    ]


# Which project, session and agent.


@pytest.fixture
def nested(tmp_path: Path) -> Callable[..., Path]:
    """A folder deep in a tree, in which the given folders are made first."""

    def make(*markers: str) -> Path:
        inner = tmp_path / "a" / "b" / "c"
        inner.mkdir(parents=True)
        for marker in markers:
            (tmp_path / marker).mkdir(parents=True)
        return inner

    return make


@pytest.mark.parametrize(
    ("markers", "place"),
    [
        ((), "a/b/c"),
        (("a/.git",), "a"),
        (("a/.git", "a/b/.git"), "a/b"),
        (("a/.headway",), "a"),
        (("a/.headway", "a/b/.headway"), "a/b"),
        (("a/.headway", "a/b/.git"), "a/b"),
        (("a/.headway", "a/b/c/.git"), "a/b/c"),
        (("a/b/c/.headway", "a/.git"), "a/b/c"),
    ],
)
def test_the_project_is_the_nearest_folder_with_either_marker_then_here(
    tmp_path: Path, nested: Callable[..., Path], markers: tuple[str, ...], place: str
):
    assert run(JSON, cwd=nested(*markers)).code == 0
    assert [path.parent.parent for path in tmp_path.rglob("headway.db")] == [tmp_path / place]


def test_a_git_file_as_in_worktrees_marks_a_project_too(tmp_path: Path, nested: Callable[..., Path]):
    inner = nested()
    (tmp_path / "a" / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    run(JSON, cwd=inner)
    assert (tmp_path / "a" / ".headway" / "headway.db").is_file()


def test_the_environment_names_the_project_before_anything_else(tmp_path: Path, nested: Callable[..., Path]):
    inner = nested("a/.headway", "other")
    run(JSON, cwd=inner, env={"HEADWAY_PROJECT": str(tmp_path / "other")})
    assert written(tmp_path / "other") == ["A", "B"]
    run(JSON, cwd=tmp_path / "a", env={"HEADWAY_PROJECT": "../other", "HEADWAY_SESSION": "relative"})
    assert written(tmp_path / "other", "relative") == ["A", "B"]
    assert files_in(tmp_path / "a" / ".headway") == []


def test_a_project_that_does_not_exist_is_an_error(folder: Path):
    assert "There is no folder" in one_sentence(run(JSON, cwd=folder, env={"HEADWAY_PROJECT": str(folder / "missing")}))
    assert files_in(folder) == []


def test_the_session_is_the_named_one_else_the_current_one_else_the_default(folder: Path):
    run(JSON, cwd=folder)
    headway.open(folder).store.set_current("release")
    run(json.dumps(call(item("Of the current one"))), cwd=folder)
    run(CHINESE, cwd=folder, env={"HEADWAY_SESSION": "修复"})
    run(json.dumps(call(item("Empty means not named"))), cwd=folder, env={"HEADWAY_SESSION": ""})
    assert written(folder) == ["A", "B"]
    assert written(folder, "release") == ["Empty means not named"]
    assert written(folder, "修复") == ["修复重叠检测"]


def test_a_sub_agent_writes_its_own_list(folder: Path):
    run(JSON, cwd=folder)
    run(CHINESE, cwd=folder, env={"HEADWAY_AGENT": "sub-1"})
    assert written(folder) == ["A", "B"]
    assert written(folder, agent="sub-1") == ["修复重叠检测"]


@pytest.mark.parametrize("env", [{"HEADWAY_SESSION": "x" * 201}, {"HEADWAY_SESSION": " "}, {"HEADWAY_AGENT": " "}])
def test_a_name_that_is_none_is_an_error(folder: Path, env: dict[str, str]):
    assert "must have 1 to 200" in one_sentence(run(JSON, cwd=folder, env=env))


# Encodings.


def test_text_is_utf8_whatever_the_locale_says(folder: Path):
    assert execute(SCRIPT, CHINESE, cwd=folder, env=ASCII_ONLY).code == 0
    assert written(folder) == ["修复重叠检测"]
    given = {**ASCII_ONLY, "HEADWAY_SESSION": "in"}
    assert execute(SCRIPT, "-", cwd=folder, env=given, stdin=CHINESE.encode()).code == 0
    assert written(folder, "in") == ["修复重叠检测"]
    done = execute(SCRIPT, '{"todos":[]}', cwd=folder, env=ASCII_ONLY)
    assert done.out == "Todo list cleared\nNote: 1 unfinished todo was dropped: 修复重叠检测\n"
    refused = execute(SCRIPT, json.dumps(call(item("A", "完成"))), cwd=folder, env=ASCII_ONLY)
    assert "received '完成'" in failed(refused)


@pytest.mark.parametrize(
    ("data", "byte"),
    [(b'{"todos":[{"content":"\xff"}]}', 23), (b"\xff\xfe{\0}\0", 1), (b"\xc3", 1), (b"\xed\xa0\x80", 1)],
)
def test_bytes_that_are_no_utf8_are_an_error(folder: Path, data: bytes, byte: int):
    error = f"{INVALID}\nAt byte {byte}: it is not UTF-8"
    assert failed(run("-", cwd=folder, stdin=data)) == error
    if b"\0" not in data:
        assert failed(run(data, cwd=folder)) == error
        assert failed(execute(SCRIPT, data, cwd=folder, env=ASCII_ONLY)) == error
    assert files_in(folder) == []


def test_a_lone_surrogate_in_an_escape_is_made_storable(folder: Path):
    assert run('{"todos":[{"content":"a\\ud800","activeForm":"b","status":"pending"}]}', cwd=folder).code == 0
    assert written(folder) == ["a\ufffd"]


def test_escape_sequences_do_not_reach_the_terminal(folder: Path):
    sent = json.dumps({"todos": [item("A", "\x1b[2J")], "\x1b]0;x\x07": 1}, ensure_ascii=True)
    done = run(sent, cwd=folder)
    assert done.code == 1
    assert "\x1b" not in done.err
    assert "\x07" not in done.err


# Streams that are not there.


def test_a_reader_that_has_gone_away_is_no_error(folder: Path):
    reader, writer = os.pipe()
    os.close(reader)
    done = execute(SCRIPT, JSON, cwd=folder, stdout=writer)
    os.close(writer)
    assert (done.err, done.code) == ("", 0)
    assert written(folder) == ["A", "B"]


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_closed_streams_do_not_stop_the_change(folder: Path, closed: str):
    assert execute("/bin/sh", "-c", f'"$0" "$1" {closed}', SCRIPT, JSON, cwd=folder).code == 0
    assert written(folder) == ["A", "B"]


def test_a_dash_without_standard_input_is_a_missing_parameter(folder: Path):
    assert failed(execute("/bin/sh", "-c", '"$0" - <&-', SCRIPT, cwd=folder)) == MISSING


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_an_output_without_room_does_not_trace_back(folder: Path):
    with open("/dev/full", "wb") as full:
        execute(SCRIPT, JSON, cwd=folder, stdout=full.fileno())
    assert written(folder) == ["A", "B"]


# Stores that cannot be used.


def test_a_damaged_store_is_one_sentence_and_left_as_it_is(folder: Path):
    database = folder / ".headway" / "headway.db"
    database.parent.mkdir()
    database.write_bytes(b"no database" * 100)
    assert "is damaged or is not a Headway file" in one_sentence(run(JSON, cwd=folder))
    assert database.read_bytes() == b"no database" * 100
    assert run("--help", cwd=folder).code == 0


def test_a_store_that_cannot_be_made_is_one_sentence(folder: Path):
    (folder / ".headway").write_text("a file where the folder should be", encoding="utf-8")
    assert "is not a folder; move it out of the way" in one_sentence(run(JSON, cwd=folder))


def test_a_working_folder_that_is_gone_is_one_sentence(folder: Path):
    gone = folder / "gone"
    gone.mkdir()
    assert one_sentence(execute("/bin/sh", "-c", 'rmdir "$PWD" && exec "$0" "$1"', SCRIPT, JSON, cwd=gone))


def test_processes_that_write_at_once_all_succeed(folder: Path):
    started = [start(todo_write(json.dumps(call(item(f"Task {n}"))), folder=folder)) for n in range(6)]
    for process in started:
        done = process.end()
        assert done.code == 0
        assert done.out.startswith("Todo list updated: 1 pending\n")
    assert len(list(headway.open(folder).history())) == 6
