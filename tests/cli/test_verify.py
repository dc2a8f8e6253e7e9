"""`headway todos verify`, and whose checks run unasked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.processes import headway, run, run_to_end

import headway as api
from headway.core.errors import HeadwayError


def test_a_check_that_failed_before_verifies_the_item_once_it_passes(project: Path) -> None:
    run("todos", "add", "Make it", "--verify", "test -f made")
    failed = run("todos", "verify", "t1")
    assert (failed.code, failed.out) == (1, "❌ t1: exit code 1: test -f made\n")
    (project / "made").touch()
    run("todos", "update", "t1", "completed")
    passed = run("todos", "verify", "--json")
    assert passed.code == 0
    (todo,) = json.loads(passed.out)
    assert (todo["passed"], todo["evidence"]["level"]) == (True, "verified")
    (project / "made").unlink()
    assert run("todos", "verify").code == 1
    assert api.open(project).todo_list.items["t1"].status == "completed"


def test_a_check_whose_files_changed_since_it_failed_verifies_nothing(project: Path) -> None:
    (project / "check.sh").write_text("test -f made\n")
    run("todos", "add", "Make it", "--verify", "sh check.sh")
    assert run("todos", "verify").code == 1
    evidence = api.open(project).todo_list.items["t1"].evidence
    assert evidence is not None and (evidence.note, evidence.level) == ("the check failed", "reported")
    (project / "check.sh").write_text("exit 0\n")
    run("todos", "update", "t1", "completed")
    passed = run("todos", "verify", "t1")
    assert "command ok (check changed: its own files, after it failed): sh check.sh" in passed.out


def test_only_what_a_person_typed_here_runs_unasked(project: Path) -> None:
    session = api.open(project)
    session.add("From elsewhere", verify="touch ran")
    refused = run("todos", "verify")
    assert refused.code == 1 and "These checks have not been approved" in refused.err and "touch ran" in refused.err
    assert not (project / "ran").exists()
    run("todos", "edit", "t1", "--verify", "touch ran")
    assert run("todos", "verify").code == 0 and (project / "ran").exists()


def test_a_check_that_an_agent_sets_from_a_command_is_not_a_persons(project: Path) -> None:
    run_to_end(headway("todos", "add", "Make it", "--verify", "touch ran", env={"HEADWAY_CALL": "1"}))
    assert "These checks have not been approved" in run("todos", "verify").err


def test_an_agent_cannot_change_the_check_of_what_it_works_on(project: Path) -> None:
    run("todos", "add", "Make it", "--verify", "test -f made")
    run("todos", "update", "t1", "in_progress")
    run_to_end(headway("todos", "edit", "t1", "--verify", "true", env={"HEADWAY_CALL": "1"}))
    assert api.open(project).todo_list.items["t1"].verify == "test -f made"
    run("todos", "edit", "t1", "--verify", "test -d made")
    assert api.open(project).todo_list.items["t1"].verify == "test -d made"


def test_what_a_failed_check_printed_is_shown_line_by_line(project: Path) -> None:
    run("todos", "add", "Make it", "--verify", "printf 'one\\ntwo\\n'; false")
    assert run("todos", "verify").out.endswith("\n    one\n    two\n")


def test_in_python_the_check_of_a_todo_is_run_too(project: Path) -> None:
    session = api.open(project)
    session.add("Make it", verify="test -f made")
    version = session.version
    assert session.verify("t1").evidence.exit_code == 1  # type: ignore[union-attr]
    (project / "made").touch()
    session.update("t1", status="completed")
    assert str(session.verify("t1").evidence.level) == "verified"  # type: ignore[union-attr]
    session.undo()
    assert session.todo_list.items["t1"].status == "pending", "having a check run is no step of its own"
    assert session.version > version
    session.add("Without")
    with pytest.raises(HeadwayError, match="'t2' has no check; add one"):
        session.verify("t2")


def test_a_required_level_is_named_only_with_an_equals_sign(project: Path) -> None:
    done = run("todos", "execute", "--require-evidence", "t9")
    assert "There is no item 't9'" in done.err or "t9" in done.err
    assert run("todos", "execute-all", "--require-evidence=certain").code == 2


def test_what_is_noted_of_a_failed_check_goes_with_the_check(project: Path) -> None:
    for check in ("", "test -d made"):
        run("todos", "clear")
        run("todos", "add", "Make it", "--verify", "test -f made")
        (todo_id,) = api.open(project).todo_list.items
        assert run("todos", "verify", todo_id).code == 1
        assert run("todos", "edit", todo_id, "--verify", check).code == 0
        run("todos", "update", todo_id, "completed")
        assert "the check failed" not in run("todos", "list").out
