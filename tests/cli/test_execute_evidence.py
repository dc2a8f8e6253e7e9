"""What is called done and nothing shows: `--require-evidence`, in a run and where items are executed. And the demo."""

from __future__ import annotations

import re

import pytest
from tests.support.executions import ALL, FAILS, NAME, item, listed, said, scripted, starts, states
from tests.support.processes import Form, run
from tests.support.scripts import bash, script, turn, write, writing

import headway as api
from headway.core.run_events import EvidenceAsked, ToolFinished

from .commands import Headway

NOTHING_SHOWS = "Nothing shows yet that this is done: t1. After the last edit, run a command that checks it"
OPEN, DONE = writing(("Write it", "in_progress")), writing(("Write it", "completed"))

pytestmark = pytest.mark.usefixtures("repository")


def kept() -> api.Session:
    return api.open(".", NAME)


def asked() -> int:
    """How often a model was told that nothing shows what it calls done."""
    return len([event for event in kept().events() if isinstance(event.data, EvidenceAsked)])


def told() -> list[str]:
    return [event.data.text for event in kept().events() if isinstance(event.data, ToolFinished)]


def evidence() -> list[tuple[str, str]]:
    return [(str(todo.status), str(todo.evidence.level) if todo.evidence else "") for todo in kept().todos]


def ran(*turns: Form | str, flag: bool = True) -> str:
    """What a run with these answers printed."""
    flags = ("--require-evidence",) if flag else ()
    ended = run("run", "x", "--session", NAME, "--mode=yolo", "--model", script(*turns), *flags)
    assert (ended.code, ended.err) == (0, ""), ended.out
    return ended.out


# a run


def test_what_nothing_shows_is_refused_once_and_completed_when_a_command_shows_it() -> None:
    steps = [
        turn("", OPEN),
        turn("", write("a.txt")),
        turn("", DONE),
        turn("", bash("diff a.txt a.txt")),
        turn("", DONE),
        "End.",
    ]
    out = ran(*steps)
    assert asked() == 1 and [text for text in told() if NOTHING_SHOWS in text]
    assert evidence() == [("completed", "command_ok")]
    assert re.search("^✗ TodoWrite.*: ", out, re.MULTILINE), "the person sees the refusal"
    assert "Done: 1 of 1 (0 verified, 1 command ok)" in out


def test_a_model_that_insists_is_believed_and_the_item_is_only_reported(headway: Headway) -> None:
    out = ran(turn("", OPEN), turn("", write("a.txt")), turn("", DONE), turn("", DONE), "End.")
    assert asked() == 1
    assert evidence() == [("completed", "reported")]
    assert "Done: 1 of 1 (0 verified, 1 reported)" in out and "✓? t1: Write it" in out
    assert "✓? t1: Write it" in headway("todos", "list", "--session", NAME).output


def test_what_a_command_has_shown_is_not_asked_about() -> None:
    ran(turn("", OPEN), turn("", write("a.txt")), turn("", bash("diff a.txt a.txt")), turn("", DONE), "End.")
    assert asked() == 0 and evidence() == [("completed", "command_ok")]


def test_without_the_flag_nobody_is_asked() -> None:
    ran(turn("", OPEN), turn("", write("a.txt")), turn("", DONE), "End.", flag=False)
    assert asked() == 0 and evidence() == [("completed", "reported")]


def test_what_a_person_calls_done_needs_no_evidence(headway: Headway) -> None:
    ran(turn("", OPEN), turn("", DONE), turn("", DONE), "End.")
    headway("todos", "add", "Mine", "--session", NAME)
    headway("todos", "update", "t2", "completed", "--session", NAME)
    assert [str(todo.status) for todo in kept().todos] == ["completed", "completed"] and asked() == 1


# items


@pytest.mark.parametrize("words", [ALL, ("todos", "execute", "s1")])
def test_an_item_that_nothing_shows_is_asked_about_once_and_shown_by_what_then_runs(words: tuple[str, ...]) -> None:
    listed("s1")
    turns = [turn("", write("a.txt")), "Written.", turn("", bash("diff a.txt a.txt")), "Checked."]
    ended = run(*words, "--mode=yolo", "--require-evidence", "--model", scripted(s1=turns))
    assert ended.code == 0, ended.out
    answers = [event.data.text for event in kept().events() if isinstance(event.data, ToolFinished)]
    assert sum(text.startswith("Nothing shows yet that the item is done") for text in answers) == 1
    assert evidence() == [("completed", "command_ok")]
    assert [line for line in said(ended) if line in ("Written.", "Checked.")] == ["Written.", "Checked."]
    assert len(starts()) == 1, "that is one attempt"


def test_an_item_that_nothing_can_show_is_completed_as_reported(headway: Headway) -> None:
    listed("s1", "s2")
    turns = {name: [turn("", write(f"{name}.txt")), "Written.", "Nothing can check it."] for name in ("s1", "s2")}
    ended = run(*ALL, "--mode=yolo", "--parallel=2", "--require-evidence", "--model", scripted(**turns))
    assert ended.code == 0, ended.out
    assert evidence() == [("completed", "reported")] * 2
    assert headway("todos", "list").output.count("✓? s") == 2


def test_the_marks_and_words_tell_how_sure_each_item_is_after_an_execution(headway: Headway) -> None:
    listed(item("s1", "Checked"), item("s2", "Said"), item("s3", "Broken"))
    model = scripted(
        s1=[turn("", write("a")), turn("", bash("diff a a")), "Done."], s2=[turn("", write("b")), "Done."], s3=FAILS
    )
    assert run(*ALL, "--mode=yolo", "--retries=0", "--model", model).code == 1
    lines = [line.strip() for line in headway("todos", "list").output.splitlines()]
    assert "✓? s1: Checked (command ok)" in lines and "✓? s2: Said (reported)" in lines and "✗ s3: Broken" in lines
    assert states() == {"s1": "completed", "s2": "completed", "s3": "blocked"}
