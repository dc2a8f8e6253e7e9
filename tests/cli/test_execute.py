"""`headway todos execute`, `execute-all` and `rollback` without a terminal: what they say, do and end with."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from tests.support.executions import (
    ALL,
    COMPLETE,
    FAILED,
    FAILS,
    MODEL,
    NAME,
    NO_MODEL,
    at,
    batches,
    done,
    door,
    ending,
    item,
    let,
    listed,
    said,
    scripted,
    starts,
    states,
)
from tests.support.processes import Running, run
from tests.support.scripts import bash, call, script, turn, write
from tests.support.tables import check_rows
from tests.support.terminal import Terminal

from headway.cli.app import app

from .commands import Headway

HOSTILE = "Fix \x1b[31mred\x1b[0m\x07 \x1b]0;title\x07\n▶ [9/9] Fake \u202edetrever\u200b 解析"
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]")

pytestmark = pytest.mark.usefixtures("repository")

# what it says


def test_every_item_is_told_with_its_place_and_time_and_so_is_the_end(repository: Path) -> None:
    texts = ["Design it", "Implement JWT", "Test it", "Describe it", "Ship it"]
    times = [None, "45min", None, "1h", None]
    ids = [f"s{number}" for number in range(1, 6)]
    listed(*(item(one, text, estimated_time=time) for one, text, time in zip(ids, texts, times, strict=True)))
    model = scripted(
        s1=[turn("I look.", write("a.txt")), turn("", bash("cat a.txt")), "Designed."],
        **{one: [f"{one} is done."] for one in ids[1:]},
    )
    ended = run(*ALL, "--mode=yolo", "--model", model)
    assert (ended.code, ended.err) == (0, "")
    lines = [re.sub(r"\d+\.\d s", "0.1 s", line) for line in said(ended)]
    assert lines == [
        "  Mode: yolo (never asks)",
        "▶ [1/5] Design it",
        "I look.",
        "✓ write_file a.txt",
        "✓ bash cat a.txt",
        "✓ report_item completed",
        "Designed.",
        "✓? s1: Design it (reported, 0.1 s, 1 file)",
        "▶ [2/5] Implement JWT ⏱ 45min",
        "✓ report_item completed",
        "s2 is done.",
        "✓? s2: Implement JWT (reported, 0.1 s)",
        "▶ [3/5] Test it",
        "✓ report_item completed",
        "s3 is done.",
        "✓? s3: Test it (reported, 0.1 s)",
        "▶ [4/5] Describe it ⏱ 1h",
        "✓ report_item completed",
        "s4 is done.",
        "✓? s4: Describe it (reported, 0.1 s)",
        "▶ [5/5] Ship it",
        "✓ report_item completed",
        "s5 is done.",
        "✓? s5: Ship it (reported, 0.1 s)",
        "",
        COMPLETE,
        "Executed 5/5 todos in 0.1 s",
    ]
    assert {*states().values()} == {"completed"}
    assert "\x1b" not in ended.out


def test_a_failure_is_told_with_its_item_and_how_to_go_on_and_going_on_takes_it_up(repository: Path) -> None:
    listed("s1", "s2", item("s3", "Deploy"), item("s4", "", "s3"), "s5")
    ended = run(*ALL, "--mode=yolo", "--model", done("s1", "s2", "s4", "s5", s3=FAILS * 2))
    assert ended.code == 1
    assert ending(ended) == [
        FAILED,
        "s3 failed: Its last command failed (exit code 3: exit 3).",
        "Progress: 2 completed, 1 failed",
        f"Resume with: headway todos execute-all --mode=yolo{MODEL}   (also retries failed items)",
    ]
    assert "✗ s3: Deploy: Its last command failed (exit code 3: exit 3). Retrying." in said(ended)
    assert "▶ [3/5] Deploy (attempt 2)" in said(ended)
    assert states() == {"s1": "completed", "s2": "completed", "s3": "blocked", "s4": "pending", "s5": "pending"}
    ended = run(*ALL, "--mode=yolo", "--model", done("s3", "s4", "s5"))
    assert ended.code == 0
    assert ending(ended)[:1] == [COMPLETE] and ending(ended)[1].startswith("Executed 3/3 todos in ")
    assert "▶ [1/3] Deploy" in said(ended)


def test_with_keep_going_all_that_does_not_depend_on_a_failure_is_done_and_how_to_resume_says_so() -> None:
    listed("s1", item("s2", "", "s1"), "s3")
    ended = run(*ALL, "--mode=yolo", "--keep-going", "--retries=0", "--model", done("s2", "s3", s1=FAILS))
    assert ended.code == 1
    assert "Progress: 1 completed, 1 failed" in ending(ended)
    resume = f"Resume with: headway todos execute-all --mode=yolo --retries=0 --keep-going{MODEL} "
    assert ending(ended)[-1].startswith(resume)
    assert states() == {"s1": "blocked", "s2": "pending", "s3": "completed"}
    assert [(one.item_id, one.attempt) for one in starts()] == [("s1", 1), ("s3", 1)]


@pytest.mark.parametrize("status", ["cancelled", None])
def test_where_nothing_is_pending_it_says_so_and_that_is_no_failure(status: str | None) -> None:
    session = listed(*([item("s1", status=status)] if status else []))
    before = session.version
    ended = run(*ALL, "--model", done("s1"))
    assert (ended.code, ended.out.strip(), ended.err) == (0, "No pending todos", "")
    assert session.version == before
    (event,) = run(*ALL, "--json", "--model", done("s1")).events
    assert event["type"] == "NothingToExecute"


def test_where_only_items_are_left_that_cannot_run_it_says_what_tells_why(headway: Headway) -> None:
    listed(item("s1", status="cancelled"), item("s2", "", "s1"), item("s3", "", "s2"))
    ended = run(*ALL, "--model", done("s2", "s3"))
    assert ended.code == 1
    assert ending(ended) == [
        "⏸ Some items cannot run: s2 waits for s1 (cancelled: reopen it, or remove the dependency); s3 waits for "
        "s2 (pending).",
        "Progress: 0 completed, 0 failed",
        "For details: headway todos next",
    ]
    assert "s1 (cancelled: reopen it, or remove the dependency)" in headway("todos", "next").output
    assert starts() == []


def test_an_item_whose_dependencies_are_not_completed_is_refused_with_the_list_of_them(headway: Headway) -> None:
    session = listed(
        item("step-1", status="completed"),
        item("step-2", status="cancelled"),
        item("step-3", "", "step-1", "step-2", "step-4", "step-5"),
        item("step-4", status="blocked"),
        "step-5",
    )
    before = session.version
    told = headway("todos", "execute", "step-3", "--model", done("step-3"), code=1)
    assert told.stderr.splitlines() == [
        "❌ Cannot execute step-3. Dependencies not completed:",
        "  - step-2 (cancelled: reopen it, or remove the dependency)",
        "  - step-4 (blocked)",
        "  - step-5 (pending)",
    ]
    assert told.stdout == "" and session.version == before


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ("completed", "it is completed. To repeat it, first set it to pending with headway todos update."),
        ("cancelled", "it is cancelled. To repeat it, first set it to pending with headway todos update."),
        ("in_progress", "it is already in progress. Wait, or set it to pending."),
    ],
)
def test_an_item_that_is_not_to_be_done_is_refused_with_what_to_do(headway: Headway, status: str, why: str) -> None:
    listed(item("s1", status=status))
    assert headway("todos", "execute", "s1", code=1).stderr == f"❌ Cannot execute s1: {why}\n"


@pytest.mark.parametrize("command", ["execute", "rollback", "diff"])
def test_an_id_that_there_is_not_is_answered_with_those_that_there_are(headway: Headway, command: str) -> None:
    listed("s1", "s2")
    told = headway("todos", command, "s3", code=1)
    assert told.stderr == "Error: No todo has the id 's3'; the ids are: s1, s2.\n"
    told = headway("todos", command, "s3", "--json", code=1)
    assert json.loads(told.stderr)["error"]["ids"] == ["s1", "s2"]


MISTAKES: list[tuple[list[str], str]] = [
    (["execute-al"], "did you mean 'execute-all'?"),
    (["rolback", "s1"], "did you mean 'rollback'?"),
    (["execute"], "Missing argument 'ID'."),
    (["rollback"], "Missing argument 'ID'."),
    (["execute", "s1", "s2"], "Got unexpected extra argument (s2)"),
    (["execute-all", "s1"], "Got unexpected extra argument (s1)"),
    (["execute-all", "--paralel=2"], "Did you mean '--parallel'?"),
    (["execute", "s1", "--retry=2"], "Did you mean one of: '--project', '--retries'?"),
    (["execute", "s1", "--parallel=2"], "No such option '--parallel'"),
    (["rollback", "s1", "--forc"], "'--forc'"),
    (["execute-all", "--mode=jolo"], "'jolo' is not a valid mode; did you mean 'yolo'?"),
    (["execute", "s1", "--mode", "plan"], "Choose from: default, auto_edit, sandboxed, yolo."),
    (["execute-all", "--parallel=2", "--in-place"], "With --in-place, items run one at a time; omit --parallel."),
    (["execute-all", "--parallel=0"], "0 is not in the range 1<=x<=64."),
    (["execute-all", "--parallel=65"], "65 is not in the range 1<=x<=64."),
    (["execute-all", "--parallel=two"], "'two' is not a valid integer"),
    (["execute-all", "--retries=-1"], "-1 is not in the range 0<=x<=100."),
    (["execute", "s1", "--retries=101"], "101 is not in the range 0<=x<=100."),
]


def test_a_command_that_is_written_wrongly_is_answered_with_what_is_right(headway: Headway) -> None:
    session = listed("s1", "s2")
    before = session.version

    def check(words: list[str], hint: str) -> None:
        told = headway("todos", *words, code=2)
        assert told.stderr.startswith("Usage: ") and hint in told.stderr
        assert session.version == before

    check_rows(MISTAKES, check)


@pytest.mark.parametrize("words", [("execute", "s1"), ("execute-all",)])
def test_in_plan_mode_nothing_is_executed_and_it_says_what_to_do(words: tuple[str, ...]) -> None:
    session = listed("s1")
    session.set_plan_mode(True)
    before = session.version
    ended = run("todos", *words, "--mode=yolo", "--model", done("s1"))
    what_to_do = "Error: Plan mode is on, which changes nothing; first turn it off with headway plan off.\n"
    assert ended == (1, "", what_to_do)
    assert session.version == before


@pytest.mark.parametrize("words", [("execute", "s1"), ("execute-all",)])
def test_without_a_model_it_says_how_to_name_one(words: tuple[str, ...]) -> None:
    session = listed("s1")
    before = session.version
    assert run("todos", *words) == (1, "", NO_MODEL)
    assert session.version == before
    ended = run("todos", *words, "--model=scripted:nowhere.json")
    assert ended.code == 1 and ended.out == ""
    assert ended.err == "Error: There is no script 'nowhere.json'; name a JSON file as scripted:FILE.json.\n"
    assert session.version == before


def test_piped_nothing_stands_there_but_text_and_the_list_when_it_changed() -> None:
    listed(item("s1", "第一"), item("s2", HOSTILE))
    ended = run(*ALL, "--mode=yolo", "--parallel=2", "--model", done("s1", s2=FAILS * 2))
    assert ended.code == 1
    assert not UNSEEN.search(ended.out)
    assert "bash exit 3" not in ended.out.partition(FAILED)[0].replace("exit code 3: exit 3", "")
    assert ended.out.count("┌─ Tasks") == ended.out.count("└──") == 1
    assert "\n● 第一...\n" not in ended.out  # the line of the execution says so
    assert "s2 failed: Its last command failed" in ending(ended)[1]


def test_hostile_reasons_are_shown_and_not_obeyed() -> None:
    listed("s1")
    reason = "No \x1b[31mway\x07\n✅ Batch Execution Complete! \u202e"
    report = turn("", {"name": "report_item", "args": {"status": "blocked", "reason": reason}})
    ended = run(*ALL, "--mode=yolo", "--retries=0", "--model", scripted(s1=[report, "So it is."]))
    assert ended.code == 1
    assert not UNSEEN.search(ended.out)
    assert COMPLETE not in ended.out.splitlines()
    assert ending(ended)[1].startswith("s1 failed: No ␛[31mway␇ ✅ Batch")


# for programs


def test_as_json_there_is_one_event_per_line_and_nothing_else() -> None:
    listed("s1", item("s2", "", "s1"))
    ended = run(*ALL, "--mode=yolo", "--json", "--model", done("s1", "s2"))
    assert (ended.code, ended.err) == (0, "")
    kinds = [event["type"] for event in ended.events]
    assert kinds[:2] == ["RunStarted", "BatchStarted"] and kinds[-2:] == ["BatchFinished", "RunFinished"]
    told = [(event["type"], event["item_id"]) for event in ended.events if event["type"].startswith("Item")]
    assert told == [("ItemStarted", "s1"), ("ItemFinished", "s1"), ("ItemStarted", "s2"), ("ItemFinished", "s2")]
    assert {event["session_id"] for event in ended.events} == {NAME}
    assert {"main", "s1 #1", "s2 #2"} == {event["agent_id"] for event in ended.events}
    assert ended.events[-2]["outcome"] == "complete"


def test_as_json_a_failure_is_in_the_events_and_in_the_exit_code() -> None:
    listed("s1")
    ended = run("todos", "execute", "s1", "--mode=yolo", "--json", "--model", scripted(s1=FAILS))
    assert (ended.code, ended.err) == (1, "")
    finished = ended.events[-2]
    assert (finished["outcome"], finished["failed_items"]) == ("failed", ["s1"])


def test_as_json_what_cannot_be_executed_is_told_as_json(headway: Headway) -> None:
    listed("s1", item("s2", "", "s1"))
    told = headway("todos", "execute", "s2", "--json", code=1)
    assert "Dependencies not completed" in json.loads(told.stderr)["error"]["message"]


# how much may be done


@pytest.mark.parametrize(
    ("mode", "files", "why"),
    [
        ("default", [], "write_file was denied; allow it, or choose another mode."),
        ("auto_edit", ["a.txt"], "bash was denied; allow it, or choose another mode."),
        ("yolo", ["a.txt", "b.txt"], ""),
    ],
)
def test_without_a_person_only_what_the_mode_allows_is_done_and_the_item_says_so(
    repository: Path, mode: str, files: list[str], why: str
) -> None:
    session = listed("s1")
    calls = (
        [turn("", write("a.txt"))] if mode == "default" else [turn("", write("a.txt")), turn("", bash("touch b.txt"))]
    )
    ended = run("todos", "execute", "s1", f"--mode={mode}", "--model", scripted(s1=[*calls, "Done."]))
    kept = repository if not why else repository / ".headway" / "worktrees"
    assert sorted(path.name for path in kept.glob("*.txt" if not why else "*/*.txt")) == files
    assert ended.code == (1 if why else 0)
    assert states() == {"s1": "blocked" if why else "completed"}
    assert (session.todos[0].notes or "") == why
    if why:
        assert "denied" in ended.out
        assert ending(ended)[0] == f"❌ s1 failed: {why}"
        assert ending(ended)[-1].startswith(f"Resume with: headway todos execute s1 --mode={mode} ")


def test_the_mode_and_the_number_at_once_are_those_that_are_set_unless_flags_say_others(headway: Headway) -> None:
    listed("s1", "s2")
    run("config", "set", "mode", "auto_edit")
    run("config", "set", "parallel", "3")
    run("todos", "execute", "s1", "--model", done("s1"))
    run(*ALL, "--model", done("s2"))
    headway("todos", "add", "Another")
    run(*ALL, "--mode=yolo", "--parallel=2", "--model", done("t1"))
    assert [(one.mode, one.parallel) for one in batches()] == [("auto_edit", 1), ("auto_edit", 3), ("yolo", 2)]


def test_an_item_is_executed_alone_and_tried_again_only_as_often_as_is_said() -> None:
    listed("s1", "s2")
    assert run("todos", "execute", "s1", "--mode=yolo", "--model", scripted(s1=FAILS)).code == 1
    ended = run("todos", "execute", "s1", "--mode=yolo", "--retries=2", "--model", scripted(s1=[*FAILS * 2, "Done."]))
    assert ended.code == 0
    assert [(one.item_id, one.attempt, one.total) for one in starts()] == [
        ("s1", 1, 1),
        ("s1", 1, 1),
        ("s1", 2, 1),
        ("s1", 3, 1),
    ]
    assert states() == {"s1": "completed", "s2": "pending"}
    assert re.fullmatch(r"✅ s1 completed \(\w+\) in \d+\.\d s", ending(ended)[0])


def test_the_list_of_a_sub_agent_is_executed_as_visibly_as_any_other() -> None:
    session = listed("s1")
    helper = session.agent("helper")
    helper.write([{"id": "h1", "content": "Help"}])
    ended = run(*ALL, "--agent=helper", "--mode=yolo", "--model", scripted(h1=["I helped."]))
    assert (ended.code, states()) == (0, {"s1": "pending"})
    assert [str(todo.status) for todo in helper.todos] == ["completed"]
    assert "▶ [1/1] Help" in said(ended) and "I helped." in said(ended) and "│ ✓ Help " in ended.out


def test_without_git_items_are_executed_and_it_says_what_there_is_not(repository: Path) -> None:
    (repository / "nothing").mkdir()
    env = {"PATH": str(repository / "nothing")}
    listed("s1")
    model = scripted(s1=[turn("", write("a.txt")), "Done."])
    ended = run(*ALL, "--mode=yolo", "--model", model, env=env)
    assert ended.code == 0
    (note,) = [line for line in said(ended) if line.startswith("! ")]
    assert "git" in note
    ended = run("todos", "rollback", "s1", env=env)
    assert ended.code == 1 and ended.err.startswith("Error: 's1' cannot be rolled back: no files were saved")
    assert (repository / "a.txt").exists()


# rollback


def test_rollback_brings_the_files_back_and_names_what_was_built_on_them(repository: Path) -> None:
    (repository / "a.txt").write_text("old\n", encoding="utf-8")
    listed("s1", item("s2", "", "s1"))
    commands = "echo new > a.txt; echo new > b.txt"
    run(*ALL, "--mode=yolo", "--model", done("s2", s1=[turn("", bash(commands)), "Done."]))
    ended = run("todos", "rollback", "s1")
    assert ended == (
        0,
        "✅ Rolled back s1 → pending\n   Restored 1 file: a.txt\n   Removed 1 file: b.txt\nItems completed on top "
        "of it stay completed: s2\n",
        "",
    )
    assert (repository / "a.txt").read_text() == "old\n" and not (repository / "b.txt").exists()
    assert states() == {"s1": "pending", "s2": "completed"}
    again = run("todos", "rollback", "s1")
    assert again.code == 1 and again.err.startswith("Error: 's1' has nothing ")


def test_a_rollback_that_a_person_is_in_the_way_of_changes_nothing_and_says_what_to_do(repository: Path) -> None:
    listed("s1")
    run(*ALL, "--mode=yolo", "--model", scripted(s1=[turn("", bash("echo new > a.txt")), "Done."]))
    (repository / "a.txt").write_text("mine\n", encoding="utf-8")
    refused = run("todos", "rollback", "s1")
    assert refused == (
        1,
        "",
        "Error: 's1' was not rolled back: conflicting changes were made to a.txt later, by someone else. Undo those "
        "changes first, or edit the files yourself.\n",
    )
    assert (repository / "a.txt").read_text() == "mine\n" and states() == {"s1": "completed"}


def test_items_in_the_way_of_a_rollback_are_named_and_rolled_back_with_it_where_that_is_wanted(
    repository: Path,
) -> None:
    (repository / "a.txt").write_text("old\n", encoding="utf-8")
    listed("s1", item("s2", "", "s1"), "s3")
    model = scripted(
        s1=[turn("", bash("echo one > a.txt; touch new.txt")), "Done."],
        s2=[turn("", bash("echo two > a.txt")), "Done."],
        s3=[turn("", bash("echo three > c.txt")), "Done."],
    )
    run(*ALL, "--mode=yolo", "--model", model)
    refused = run("todos", "rollback", "s1")
    assert refused.code == 1 and refused.err.endswith(
        "later, by s2. To roll these back as well, run headway todos rollback s1 --with-later\n"
    )
    ended = run("todos", "rollback", "s1", "--with-later", "--json")
    told = json.loads(ended.out)
    assert (sorted(told["files"]), told["removed"], told["with_later"]) == (["a.txt", "new.txt"], ["new.txt"], ["s2"])
    assert (repository / "a.txt").read_text() == "old\n" and (repository / "c.txt").exists()
    assert states() == {"s1": "pending", "s2": "pending", "s3": "completed"}


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (0, ["✅ Rolled back s1 → pending (your files have none of its changes)"]),
        (1, ["✅ Rolled back s1 → pending", "   Removed 1 file: a.txt"]),
    ],
)
def test_rollback_counts_files_as_people_do(number: int, told: list[str]) -> None:
    listed("s1")
    run(*ALL, "--mode=yolo", "--model", scripted(s1=[*[turn("", write("a.txt"))][:number], "Done."]))
    assert run("todos", "rollback", "s1").out.splitlines() == told


def test_rollback_names_every_file_that_it_removes_and_shows_hostile_names_harmlessly(repository: Path) -> None:
    for number in range(10, 35):
        (repository / f"{number}.txt").touch()
    listed("s1")
    command = "for n in $(seq 10 34); do echo new > $n.txt; touch $n.md; done; touch \"$(printf 'a\\033[31m.md')\""
    run(*ALL, "--mode=yolo", "--model", scripted(s1=[turn("", bash(command)), "Done."]))
    lines = run("todos", "rollback", "s1").out.splitlines()
    assert lines[1].startswith("   Restored 25 files: 10.txt, ") and lines[1].endswith(" and 20 more")
    assert lines[2].startswith("   Removed 26 files: ") and len(lines) == 3
    assert all(f"{number}.md" in lines[2] for number in range(10, 35)) and "a␛[31m.md" in lines[2]
    assert not [*repository.glob("*.md")]


# what an item changed


def test_the_diff_of_an_item_is_shown_plain_where_it_is_piped_and_in_colour_on_a_terminal(repository: Path) -> None:
    (repository / "a.txt").write_text("old\n", encoding="utf-8")
    listed("s1", "s2")
    hostile = bash("printf 'new\\033[31m\\n' > a.txt")
    run(*ALL, "--mode=yolo", "--model", done("s2", s1=[turn("", hostile), "Done."]))
    (repository / "a.txt").write_text("a person's\n", encoding="utf-8")
    plain = run("todos", "diff", "s1")
    assert (plain.code, plain.err) == (0, "")
    assert plain.out.startswith("diff --git a/a.txt b/a.txt\n") and plain.out.endswith("-old\n+new␛[31m\n")
    assert json.loads(run("todos", "diff", "s1", "--json").out)["diff"].endswith("-old\n+new\x1b[31m\n")
    assert run("todos", "diff", "s2").out == "s2 changed no files.\n"
    terminal = Terminal("todos", "diff", "s1")
    assert terminal.end() == 0
    assert "\x1b[32m+new␛[31m" in terminal.raw and "\x1b[31m-old" in terminal.raw


def test_the_diff_of_an_item_that_failed_is_what_its_attempt_left_and_is_named(repository: Path) -> None:
    listed("s1")
    ended = run(
        *ALL, "--mode=yolo", "--retries=0", "--model", scripted(s1=[turn("", bash("echo a > a.txt; exit 3")), "No."])
    )
    assert not (repository / "a.txt").exists()
    assert re.search(r"^  Its files stay until the next attempt: \.headway/worktrees/\S+$", ended.out, re.MULTILINE)
    assert run("todos", "diff", "s1").out.endswith("+a\n")


# in place


def test_in_place_items_work_in_the_projects_own_files_one_at_a_time(repository: Path) -> None:
    listed("s1", "s2")
    run("config", "set", "parallel", "3")
    model = scripted(s1=[turn("", write("a.txt")), turn("", bash("pwd; touch other.txt")), "Done."], s2=FAILS * 2)
    ended = run(*ALL, "--in-place", "--mode=yolo", "--model", model)
    assert "  changed during the attempt, but not by its file tools: other.txt" in said(ended)
    assert f"Resume with: headway todos execute-all --mode=yolo --in-place{MODEL}   (also" in ended.out
    assert [(one.parallel, one.in_place, one.worktrees) for one in batches()] == [(1, True, False)]
    assert run("todos", "rollback", "s1").out.endswith(
        "   Removed 1 file: a.txt\nChanged during the attempt, but not by its file tools, and left unchanged: "
        "other.txt\n"
    )
    assert (repository / "other.txt").exists() and not (repository / "a.txt").exists()


# plan mode


def test_plan_mode_from_another_shell_pauses_the_execution_and_says_so() -> None:
    listed("s1")
    running = Running(*ALL, "--mode=yolo", "--model", scripted(s1=[door("one"), turn("", write("a.txt")), "Done."]))
    at("one")
    assert "The execution in this session is paused until plan mode is off.\n" in run("plan", "on").out
    let("one")
    assert "The execution in this session continues.\n" in run("plan", "off").out
    ended = running.end()
    assert ended.code == 0 and "⏸ The execution is paused until plan mode is off" in said(ended)
    assert "execution" not in run("plan", "on").out


# scripts


def test_a_script_begins_anew_with_each_item_and_goes_on_over_its_attempts() -> None:
    listed("s1", "s2")
    turns = [
        turn("", bash("exit 3")),
        "It does not work.",
        "No.",
        turn("", call("report_item", status="completed")),
        "Done.",
    ]
    ended = run(*ALL, "--mode=yolo", "--retries=1", "--model", script(*turns))
    assert ended.code == 0, ended.out
    assert [(one.item_id, one.attempt) for one in starts()] == [("s1", 1), ("s1", 2), ("s2", 1), ("s2", 2)]


# help and completion


def test_help_teaches_the_commands_with_examples_and_all_their_flags(headway: Headway) -> None:
    overview = headway("help", "todos").output
    for name in ("execute ", "execute-all ", "diff ", "rollback "):
        assert re.search(rf"^  {name} +\w", overview, re.MULTILINE)
    for words, flags in {
        ("execute",): ["--mode", "--retries", "--require-evidence", "--json", "headway todos execute step-1"],
        ("execute-all",): [
            "--mode",
            "--parallel",
            "--retries",
            "--keep-going",
            "--require-evidence",
            "Ctrl+C",
            "--json",
        ],
        ("rollback",): ["--with-later", "ID", "pending"],
        ("diff",): ["ID", "changed"],
    }.items():
        told = headway("todos", *words, "--help").output
        assert told == headway("help", "todos", *words).output
        assert [flag for flag in flags if flag not in told] == []


def completed(*words: str) -> list[str]:
    shell = ShellComplete(app, {}, "headway", "_HEADWAY_COMPLETE")
    return [str(found.value) for found in shell.get_completions([*words[:-1]], words[-1])]


OFFERED: list[tuple[tuple[str, ...], list[str]]] = [
    (("todos", "exec"), ["execute", "execute-all"]),
    (("todos", "rol"), ["rollback"]),
    (("todos", "execute", ""), ["step-1", "step-2"]),
    (("todos", "rollback", "step-2"), ["step-2"]),
    (("todos", "execute", "step-1", "--mode", ""), ["default", "auto_edit", "sandboxed", "yolo"]),
    (("todos", "execute-all", "--mode", "a"), ["auto_edit"]),
    (("todos", "execute-all", "--ke"), ["--keep-going"]),
    (("todos", "rollback", "step-1", "--w"), ["--with-later"]),
    (("todos", "diff", "step-2"), ["step-2"]),
    (("todos", "execute-all", "--in"), ["--in-place"]),
]


def test_the_shell_completes_ids_modes_and_flags() -> None:
    listed("step-1", "step-2")

    def check(words: tuple[str, ...], offered: list[str]) -> None:
        assert completed(*words) == offered

    check_rows(OFFERED, check)


def test_every_flag_of_a_command_is_in_its_help_with_words() -> None:
    todos = app.get_command(click.Context(app), "todos")
    assert isinstance(todos, click.Group)
    for name in ("execute", "execute-all", "diff", "rollback"):
        command = todos.get_command(click.Context(todos), name)
        assert command is not None
        options = [one for one in command.params if isinstance(one, click.Option)]
        assert [one.name for one in options if not one.help] == []
