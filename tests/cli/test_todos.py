from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.processes import run

import headway as api
from headway.core.model import Status

from .commands import Headway, data


@pytest.fixture
def three(headway: Headway) -> None:
    """A list of three items, the second waiting for the first."""
    headway("todos", "add", "First")
    headway("todos", "add", "Second 第二", "--depends-on", "t1", "--priority", "high")
    headway("todos", "add", "Third")


def contents(headway: Headway) -> list[str]:
    return [todo["content"] for todo in data(headway("todos", "list", "--json"))["todos"]]


def test_an_empty_list_says_how_to_begin(headway: Headway, project: Path) -> None:
    assert "headway todos add" in headway("todos", "list").stdout
    assert not (project / ".headway").exists()


def test_add_prints_the_item_and_the_counts(headway: Headway) -> None:
    assert headway("todos", "add", "写测试").stdout == "✅ Added t1 “写测试”\n1 pending\n"


def test_add_after_an_item_puts_it_there(headway: Headway, three: None) -> None:
    headway("todos", "add", "Between", "--after", "t1")
    assert contents(headway) == ["First", "Between", "Second 第二", "Third"]


def test_add_with_an_unknown_dependency_names_it_and_adds_nothing(headway: Headway) -> None:
    result = headway("todos", "add", "Alone", "--depends-on", "t1", code=1)
    assert result.stderr == "Error: No todo has the id 't1'; the list is empty.\n"
    assert contents(headway) == []


def test_blank_text_is_refused(headway: Headway) -> None:
    assert headway("todos", "add", "   ", code=1).stderr == "Error: Give the todo some text.\n"


def test_list_shows_counts_priorities_and_dependencies(headway: Headway, three: None) -> None:
    text = headway("todos", "list").stdout
    assert text.startswith("📋 Todo List (3 total)\n3 pending\n")
    assert "depends on: t1" in text


def test_next_says_what_can_run_and_why_the_rest_cannot(headway: Headway, three: None) -> None:
    record = data(headway("todos", "next", "--json"))
    assert [todo["id"] for todo in record["ready"]] == ["t1", "t3"]
    assert [(entry["todo"]["id"], entry["reason"]) for entry in record["waiting"]] == [("t2", "waits for t1 (pending)")]
    assert "waits for t1" in headway("todos", "next").stdout


def test_edit_changes_the_text(headway: Headway, three: None) -> None:
    headway("todos", "edit", "t3", "Third, better")
    assert contents(headway)[2] == "Third, better"


def test_an_item_has_the_check_that_was_typed_until_an_empty_one_removes_it(headway: Headway) -> None:
    def check() -> str | None:
        return data(headway("todos", "list", "--json"))["todos"][0]["verify"]

    headway("todos", "add", "Fix the parser", "--verify", "pytest -q tests/test_parser.py")
    assert check() == "pytest -q tests/test_parser.py"
    assert "      check: pytest -q tests/test_parser.py\n" in headway("todos", "list").stdout
    headway("todos", "edit", "t1", "--verify", "make test")
    assert check() == "make test"
    headway("todos", "edit", "t1", "--verify", "")
    assert check() is None


def test_edit_changes_what_is_named_and_an_empty_value_removes_it(headway: Headway, three: None) -> None:
    def item() -> list[object]:
        todo = data(headway("todos", "list", "--json"))["todos"][2]
        return [todo[name] for name in ("content", "priority", "depends_on", "module", "estimated_time")]

    more = ["--depends-on", "t1", "--depends-on", "t2", "--module", "core", "--time", "45min"]
    assert headway("todos", "edit", "t3", "--priority", "HIGH", *more).stdout.startswith("✅ Changed t3 “Third”\n")
    assert item() == ["Third", "high", ["t1", "t2"], "core", "45min"]
    headway("todos", "edit", "t3", "Better", "--priority", "", "--depends-on", "", "--module", "", "--time", "")
    assert item() == ["Better", None, [], None, None]


def test_an_edit_of_nothing_says_what_can_be_changed(headway: Headway, three: None) -> None:
    assert "Specify what to change: a new text, --verify" in headway("todos", "edit", "t3", code=2).stderr
    assert headway("todos", "edit", "t3", "", code=1).stderr == "Error: Give the todo some text.\n"


def test_move_changes_the_order(headway: Headway, three: None) -> None:
    headway("todos", "move", "t3", "1")
    assert contents(headway) == ["Third", "First", "Second 第二"]


@pytest.mark.parametrize("position", ["0", "4", "-1"])
def test_move_out_of_range_says_what_the_range_is(headway: Headway, three: None, position: str) -> None:
    refused = headway("todos", "move", "t3", "--", position, code=1).stderr
    assert refused == f"Error: The position must be from 1 to 3, received {position}.\n"


def test_a_dependency_that_is_not_in_the_list_is_named_in_a_sentence(headway: Headway, three: None) -> None:
    refused = [
        headway("todos", "edit", "t3", "--depends-on", "t9", code=1),
        headway("todos", "edit", "t3", "--depends-on", "t9", "--depends-on", "t8", code=1),
        headway("todos", "add", "New", "--depends-on", "t9", code=1),
    ]
    assert {one.stderr for one in refused} == {"Error: No todo has the id 't9'; the ids are: t1, t2, t3.\n"}
    refused = headway("todos", "edit", "t3", "--depends-on", "t1,t2", code=1)
    assert refused.stderr == "Error: Repeat the option for each id: --depends-on t1 --depends-on t2\n"
    refused = headway("todos", "edit", "t3", "--depends-on", "t3", code=1)
    assert refused.stderr == "Error: 't3' depends on itself.\n"


def test_drop_names_the_dependencies_it_removed(headway: Headway, three: None) -> None:
    text = headway("todos", "drop", "t1").stdout
    assert "t2 no longer depends on t1." in text
    assert "Dropped unfinished: First." in text
    assert contents(headway) == ["Second 第二", "Third"]


@pytest.mark.parametrize("status", list(Status))
def test_update_sets_any_status(headway: Headway, three: None, status: Status) -> None:
    assert headway("todos", "update", "t1", status).stdout.startswith(f"✅ Updated t1 → {status}\n")
    assert data(headway("todos", "list", "--json"))["todos"][0]["status"] == status


def test_a_status_may_be_written_with_a_hyphen(headway: Headway, three: None) -> None:
    headway("todos", "update", "t1", "in-progress", "--notes", "begun")
    assert data(headway("todos", "list", "--json"))["todos"][0]["notes"] == "begun"


def test_an_unknown_status_names_the_nearest(headway: Headway, three: None) -> None:
    assert "did you mean 'completed'?" in headway("todos", "update", "t1", "complete", code=2).stderr


def test_an_unknown_id_lists_the_ids_there_are(headway: Headway, three: None) -> None:
    result = headway("todos", "update", "t9", "completed", code=1)
    assert result.stderr == "Error: No todo has the id 't9'; the ids are: t1, t2, t3.\n"


def test_an_unknown_command_names_the_nearest(headway: Headway) -> None:
    assert "did you mean 'update'?" in headway("todos", "updat", code=2).stderr
    assert "did you mean 'todos'?" in headway("todo", code=2).stderr


def test_undo_and_redo_go_back_and_forth(headway: Headway, three: None) -> None:
    assert headway("todos", "undo", "2").stdout.startswith("✅ Undid 2 changes (redo with: headway todos redo)")
    assert contents(headway) == ["First"]
    headway("todos", "redo")
    assert contents(headway) == ["First", "Second 第二"]


def test_undo_names_what_changed(headway: Headway, three: None) -> None:
    headway("todos", "update", "t1", "completed")
    headway("todos", "move", "t3", "1")
    assert headway("todos", "undo", "2").stdout == (
        "✅ Undid 2 changes (redo with: headway todos redo)\n"
        "   move of t3: moved t3 to position 3\n"
        "   edit of t1: t1 completed → pending\n"
        "3 pending\n"
    )
    assert headway("todos", "redo").stdout == (
        "✅ Redid 1 change (undo with: headway todos undo)\n"
        "   edit of t1: t1 pending → completed\n"
        "1 completed, 2 pending\n"
    )
    assert data(headway("todos", "undo", "--json"))["steps"] == ["edit of t1"]


def test_undo_beyond_the_beginning_says_how_far_it_goes(headway: Headway, three: None) -> None:
    assert "Only 3 changes can be undone." in headway("todos", "undo", "4", code=1).stderr
    assert "There is nothing to redo" in headway("todos", "redo", code=1).stderr
    assert len(contents(headway)) == 3


def test_clear_can_be_undone(headway: Headway, three: None) -> None:
    assert "headway todos undo" in headway("todos", "clear").stdout
    headway("todos", "undo")
    assert len(contents(headway)) == 3


def test_history_says_who_changed_what(headway: Headway, three: None, project: Path) -> None:
    session = api.open(project)
    session.update("t1", status="completed", actor="worker-1")
    session.close()
    text = headway("todos", "history").stdout
    assert "worker-1" in text and "t1 pending → completed" in text
    record = data(headway("todos", "history", "--json"))
    assert [entry["version"] for entry in record] == [1, 2, 3, 4]
    assert record[3]["changed"]["t1"]["status"] == ["pending", "completed"]
    assert record[3]["type"] == "TodoListUpdated"


def test_history_of_nothing_says_so(headway: Headway) -> None:
    assert "Nothing has happened" in headway("todos", "history").stdout


def test_an_error_as_json_has_its_violations(headway: Headway) -> None:
    error = json.loads(headway("todos", "add", " ", "--json", code=1).stderr)["error"]
    assert error["violations"] == ["todo.content: Required"]


def test_every_change_answers_in_json_too(headway: Headway, three: None) -> None:
    assert data(headway("todos", "add", "Fourth", "--json"))["todo"]["id"] == "t4"
    assert data(headway("todos", "edit", "t4", "4th", "--json"))["todo"]["content"] == "4th"
    assert data(headway("todos", "move", "t4", "1", "--json"))["version"] == 6
    assert data(headway("todos", "update", "t4", "blocked", "--json"))["todo"]["status"] == "blocked"
    assert [todo["id"] for todo in data(headway("todos", "drop", "t4", "--json"))["dropped"]] == ["t4"]
    assert data(headway("todos", "undo", "--json"))["statistics"]["total"] == 4
    assert data(headway("todos", "redo", "--json"))["statistics"]["total"] == 3
    assert data(headway("todos", "clear", "--json"))["changed"] is True


def test_debug_shows_where_an_error_came_from(headway: Headway) -> None:
    with pytest.raises(AssertionError, match="exit"):
        headway("todos", "update", "t1", "completed", "--debug")


def test_a_session_that_is_named_must_exist_to_be_read(headway: Headway, three: None) -> None:
    result = headway("todos", "list", "--session", "other", code=1)
    assert result.stderr == "Error: There is no session 'other' in this project; the sessions are: default.\n"
    headway("todos", "add", "Begins it", "--session", "other")
    assert data(headway("todos", "list", "--session", "other", "--json"))["statistics"]["total"] == 1
    assert len(contents(headway)) == 3


def test_a_project_that_is_no_folder_is_named(headway: Headway) -> None:
    assert "There is no folder" in headway("todos", "list", "--project", "nowhere", code=1).stderr


def test_commands_in_a_folder_below_use_the_same_project(
    headway: Headway, three: None, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(project / "a" / "b")
    assert len(contents(headway)) == 3


def test_hostile_text_reaches_no_terminal(headway: Headway) -> None:
    evil = "\x1b[2J\x1b]0;owned\x07 \u202egnp.exe\r\nnext"
    shown = headway("todos", "add", evil).stdout + headway("todos", "list").stdout + headway("todos", "history").stdout
    shown += headway("todos", "drop", "t1").stdout + headway("todos", "update", evil, "pending", code=1).stderr
    assert not set("\x1b\x07\r\u202e") & set(shown)


def test_ten_thousand_items_can_be_listed(headway: Headway, project: Path) -> None:
    session = api.open(project)
    session.write([{"content": f"Item {number}"} for number in range(10_000)])
    session.close()
    assert headway("todos", "list").stdout.count("\n") > 10_000
    assert headway("todos", "add", "One more").stdout.startswith("✅ Added t10001")


def test_a_sub_agents_list_can_be_seen_and_changed(headway: Headway, three: None) -> None:
    headway("todos", "add", "Its own", "--agent", "sub-1")
    assert [todo["content"] for todo in data(headway("todos", "list", "--agent", "sub-1", "--json"))["todos"]] == [
        "Its own"
    ]
    assert len(contents(headway)) == 3


def test_notes_are_listed(headway: Headway, three: None) -> None:
    headway("todos", "update", "t1", "in_progress", "--notes", "看 parser.py")
    assert "notes: 看 parser.py" in headway("todos", "list").stdout


def test_a_folder_that_is_gone_is_said_in_one_sentence(
    headway: Headway, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = project / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert headway("todos", "list", code=1).stderr == (
        "Error: The current folder no longer exists; change to one that does.\n"
    )


@pytest.mark.parametrize("words", [["todos", "list"], ["todos", "export"], ["todos", "history"]])
def test_json_has_nothing_that_a_terminal_obeys(headway: Headway, words: list[str]) -> None:
    evil = "a\x9b2J\x7f\u202eb"
    headway("todos", "add", evil)
    flag = [] if words[1] == "export" else ["--json"]
    printed = headway(*words, *flag).stdout
    assert not set("\x9b\x7f\u202e") & set(printed)
    assert evil in json.dumps(json.loads(printed), ensure_ascii=False)


def test_a_hostile_path_in_an_error_is_made_harmless(headway: Headway) -> None:
    assert "\x1b" not in headway("todos", "list", "--project", "no\x1b[31mwhere", code=1).stderr


def test_a_link_that_leads_out_of_the_project_is_not_followed(headway: Headway, project: Path) -> None:
    outside = project.parent / f"{project.name}-outside"
    outside.mkdir()
    (project / ".headway").symlink_to(outside)
    assert "leads out of the project" in headway("todos", "add", "A", code=1).stderr
    assert list(outside.iterdir()) == []


def test_debug_shows_the_traceback_of_a_damaged_store(project: Path) -> None:
    (project / ".headway").mkdir()
    (project / ".headway" / "headway.db").write_text("no database", encoding="utf-8")
    done = run("todos", "list", "--debug")
    assert "Traceback" in done.err and "StoreCorrupt" in done.err


def test_ids_in_a_json_error_have_nothing_that_a_terminal_obeys(headway: Headway, project: Path) -> None:
    session = api.open(project)
    session.write([{"id": "a\x9b31m\u202eb", "content": "A"}])
    session.close()
    printed = headway("todos", "update", "nope", "completed", "--json", code=1).stderr
    assert not set("\x9b\u202e") & set(printed)
    assert json.loads(printed)["error"]["ids"] == ["a\x9b31m\u202eb"]


def test_an_empty_session_name_is_refused(headway: Headway) -> None:
    assert "name of a" in headway("todos", "add", "A", "--session", "", code=1).stderr
