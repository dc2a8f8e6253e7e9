from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from .commands import Headway, data


def test_no_sessions_yet_says_how_to_begin(headway: Headway) -> None:
    assert "headway todos add" in headway("sessions").stdout


def test_sessions_are_listed_with_progress_and_the_current_one_marked(headway: Headway) -> None:
    headway("todos", "add", "A")
    headway("todos", "add", "B", "--session", "其他")
    headway("todos", "update", "t1", "completed", "--session", "其他")
    record = {entry["name"]: entry for entry in data(headway("sessions", "list", "--json"))}
    assert (record["其他"]["done"], record["其他"]["total"], record["其他"]["current"]) == (1, 1, False)
    assert record["default"]["current"] is True
    assert "* default" in headway("sessions").stdout


def test_sessions_alone_takes_the_flags_of_sessions_list(headway: Headway) -> None:
    headway("todos", "add", "A")
    assert [entry["name"] for entry in data(headway("sessions", "--json"))] == ["default"]
    assert data(headway("sessions", "--json", "list")) == data(headway("sessions", "list", "--json"))
    assert headway("sessions", "--project", "nowhere", "list", code=1).stderr.startswith("Error: There is no folder")


def test_resume_makes_a_session_the_one_that_commands_use(headway: Headway) -> None:
    headway("todos", "add", "A")
    headway("todos", "add", "B", "--session", "other")
    headway("sessions", "resume", "other")
    assert data(headway("todos", "list", "--json"))["session"] == "other"


def test_resume_of_an_unknown_session_lists_those_there_are(headway: Headway) -> None:
    headway("todos", "add", "A")
    assert "the sessions are: default" in headway("sessions", "resume", "nope", code=1).stderr


def test_delete_asks_for_yes_where_nobody_can_be_asked(headway: Headway) -> None:
    headway("todos", "add", "A")
    assert "--yes" in headway("sessions", "delete", "default", code=1).stderr
    assert len(data(headway("sessions", "list", "--json"))) == 1
    headway("sessions", "delete", "default", "--yes")
    assert data(headway("sessions", "list", "--json")) == []


def test_a_deleted_current_session_gives_way_to_default(headway: Headway) -> None:
    headway("todos", "add", "B", "--session", "other")
    headway("sessions", "resume", "other")
    headway("sessions", "delete", "other", "--yes")
    assert data(headway("todos", "list", "--json"))["session"] == "default"


def test_sessions_that_came_with_a_clone_are_adopted_by_a_command(headway: Headway, project: Path) -> None:
    headway("todos", "add", "A")
    assert headway("sessions", "adopt").stdout == "These sessions are yours already; nothing to adopt.\n"
    for words in (["init", "-q"], ["add", "-f", ".headway/headway.db"]):
        subprocess.run(["git", *words], cwd=project, check=True)
    refusal = headway("todos", "list", code=1).stderr
    assert "git tracks the file" in refusal and "'headway sessions adopt'" in refusal
    assert headway("sessions", "adopt").stdout.startswith("✅ Adopted 1 session in '")
    assert "A" in headway("todos", "list").stdout


def test_there_must_be_something_to_adopt_and_headway_must_have_made_it(headway: Headway, project: Path) -> None:
    assert "There are no sessions to adopt" in headway("sessions", "adopt", code=1).stderr
    headway("todos", "add", "A")
    with closing(sqlite3.connect(project / ".headway/headway.db")) as db:
        db.execute("CREATE VIEW extra AS SELECT 1")
    assert "which Headway did not make like that" in headway("sessions", "adopt", code=1).stderr
