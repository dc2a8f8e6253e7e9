"""`headway report`: what came of a session."""

from __future__ import annotations

from pathlib import Path

import pytest

import headway as api

from .conftest import Headway, data
from .scripts import call, creating, discard_all, run, script, turn, write


@pytest.fixture(autouse=True)
def nothing_left_running() -> object:
    yield
    discard_all()


def test_an_empty_session_says_so(headway: Headway) -> None:
    assert "Nothing has happened in this session yet." in headway("report").output


def test_items_and_runs_are_told_with_what_they_took(project: Path, headway: Headway) -> None:
    model = script(
        turn("", creating("Write the notes", "Sing")),
        turn("", write("notes.txt", "hello\n")),
        turn("", call("update_todo_item", item_id="t1", status="completed")),
        turn("", call("update_todo_item", item_id="t2", status="cancelled")),
        turn("Done.", usage={"input_tokens": 1000, "output_tokens": 10}),
    )
    assert run("run", "Write and sing", "--model", model, "--mode", "auto_edit").code == 0
    text = headway("report").output
    assert "## Items" in text and "## Runs" in text
    assert "Write the notes" in text and "files: notes.txt" in text
    assert "1. Write and sing" in text and "all_done after 5 rounds" in text

    record = data(headway("report", "--json"))
    assert data(headway("report", "--format", "json"))["items"] == record["items"]
    first, second = record["items"]
    assert (first["status"], first["set_by"], first["files"]) == ("completed", "model", ["notes.txt"])
    assert first["evidence"] is None or first["evidence"]["level"] == "reported"
    assert second["status"] == "cancelled"
    (only,) = record["runs"]
    assert only["reason"] == "all_done" and only["rounds"] == 5 and only["seconds"] >= 0
    assert record["tokens"] == only["input_tokens"] + only["output_tokens"] > 1000


def test_hostile_text_stays_on_its_line_and_is_no_markup(project: Path, headway: Headway) -> None:
    session = api.open(project)
    session.add("# Heading\n- item \x1b[31m <script>", notes="a\nb")
    lines = headway("report").output.splitlines()
    assert "\x1b" not in "".join(lines)
    assert not [line for line in lines if line.startswith("# Heading")]
    assert any("\\<script>" in line for line in lines)


def test_other_agents_are_left_out_unless_named(project: Path, headway: Headway) -> None:
    session = api.open(project)
    session.add("Ours")
    session.agent("sub-1").add("Theirs")
    assert "Theirs" not in headway("report").output
    assert "Theirs" in headway("report", "--agent", "sub-1").output
