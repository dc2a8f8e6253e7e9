from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import headway as api

from .commands import Headway, data


@pytest.fixture
def full(project: Path) -> list[api.Todo]:
    session = api.open(project)
    session.set_plan({"title": "P", "overview": "O", "steps": [{"id": "s1", "description": "Do"}]})
    session.write(
        [
            {"id": "s1", "content": "甲 | <b> `x`\n- [x] fake", "activeForm": "Doing", "status": "completed"},
            {"content": "B", "priority": "low", "module": "m", "depends_on": ["s1"], "risks": ["r1", "r2"]},
            {"content": "C", "status": "blocked", "notes": "why\nnot", "estimatedTime": "1h", "createdFrom": "plan"},
            {"content": "D", "status": "cancelled"},
        ]
    )
    todos = session.todos
    session.close()
    return todos


@pytest.mark.parametrize("name", ["list.json", "list.md"])
def test_what_was_exported_is_imported_as_the_same_list(
    headway: Headway, full: list[api.Todo], project: Path, name: str
) -> None:
    headway("todos", "export", name)
    headway("todos", "clear")
    assert headway("todos", "import", name).stdout.startswith("✅ Imported 4 todos")
    session = api.open(project)
    assert session.todos == full
    session.close()


def test_importing_the_same_list_changes_nothing(headway: Headway, full: list[api.Todo]) -> None:
    headway("todos", "export", "list.json")
    assert data(headway("todos", "import", "list.json", "--json"))["changed"] is False


def test_the_json_export_has_the_documented_form(headway: Headway, full: list[api.Todo]) -> None:
    record = data(headway("todos", "export"))
    assert list(record) == ["version", "generatedAt", "sourcePlan", "todos", "statistics"]
    assert record["version"] == "1.0"
    assert record["sourcePlan"]["steps"][0]["id"] == "s1"
    assert record["todos"][1]["dependencies"] == ["s1"]
    assert record["statistics"] == {
        "total": 4,
        "pending": 1,
        "in_progress": 0,
        "completed": 1,
        "cancelled": 1,
        "blocked": 1,
    }


def test_the_format_follows_the_ending_unless_it_is_named(headway: Headway, full: list[api.Todo]) -> None:
    headway("todos", "export", "a.csv")
    assert Path("a.csv").read_text(encoding="utf-8").startswith("id,description,")
    headway("todos", "export", "a.txt", "--format", "md")
    assert "- [x]" in Path("a.txt").read_text(encoding="utf-8")


def test_export_overwrites_only_when_told_to(headway: Headway, full: list[api.Todo]) -> None:
    Path("keep.md").write_text("mine", encoding="utf-8")
    assert "--force" in headway("todos", "export", "keep.md", code=1).stderr
    assert Path("keep.md").read_text(encoding="utf-8") == "mine"
    headway("todos", "export", "keep.md", "--force")
    assert "- [x]" in Path("keep.md").read_text(encoding="utf-8")


def test_export_into_a_missing_folder_says_so_and_leaves_nothing(headway: Headway, full: list[api.Todo]) -> None:
    assert "could not be written" in headway("todos", "export", "no/where.json", code=1).stderr
    assert sorted(os.listdir(".")) == [".git", ".headway"]


def test_a_persons_checklist_can_be_imported_from_standard_input(headway: Headway) -> None:
    headway("todos", "import", "-", stdin="# Plan\n\n* [X] done\n1. [ ] 待办\n")
    record = data(headway("todos", "list", "--json"))["todos"]
    assert [(todo["content"], todo["status"]) for todo in record] == [("done", "completed"), ("待办", "pending")]


@pytest.mark.parametrize(
    "content",
    [b"just prose", b"\xff\xfe\x00", b"{", b"[" * 100_000, b'{"todos": [{"content": NaN}]}', b"", b'{"todos": 5}'],
)
def test_a_file_that_is_no_list_changes_nothing(headway: Headway, full: list[api.Todo], content: bytes) -> None:
    Path("bad").write_bytes(content)
    assert headway("todos", "import", "bad", code=1).stderr.startswith("Error: ")
    assert data(headway("todos", "list", "--json"))["statistics"]["total"] == 4


def test_a_missing_file_and_a_folder_are_named(headway: Headway) -> None:
    assert "does not exist" in headway("todos", "import", "nope.json", code=1).stderr
    assert "is not a file" in headway("todos", "import", ".", code=1).stderr


def test_import_names_what_it_drops(headway: Headway, full: list[api.Todo]) -> None:
    Path("one.json").write_text(json.dumps({"todos": [{"description": "D"}]}), encoding="utf-8")
    assert "Dropped unfinished: B; C." in headway("todos", "import", "one.json").stdout


def test_export_follows_a_link_and_keeps_the_mode(headway: Headway, full: list[api.Todo]) -> None:
    Path("real.md").write_text("old", encoding="utf-8")
    Path("real.md").chmod(0o600)
    Path("link.md").symlink_to("real.md")
    headway("todos", "export", "link.md", "--force")
    assert Path("link.md").is_symlink()
    assert "- [x]" in Path("real.md").read_text(encoding="utf-8")
    assert Path("real.md").stat().st_mode & 0o777 == 0o600


def test_export_never_replaces_what_is_not_a_file(headway: Headway, full: list[api.Todo]) -> None:
    os.mkfifo("pipe")
    assert "is not a file" in headway("todos", "export", "pipe", "--force", code=1).stderr
    assert "is not a file" in headway("todos", "export", ".", "--force", code=1).stderr
    assert Path("pipe").is_fifo()


def test_a_list_as_printed_can_be_imported(headway: Headway, full: list[api.Todo]) -> None:
    printed = headway("todos", "list", "--json").stdout
    assert data(headway("todos", "import", "-", "--json", stdin=printed))["changed"] is False


def test_a_list_as_json_has_the_names_of_the_export_and_those_it_had_and_can_be_imported(
    headway: Headway, full: list[api.Todo]
) -> None:
    listed = headway("todos", "list", "--json").stdout
    exported = data(headway("todos", "export", "--format", "json"))["todos"]
    for item, record in zip(json.loads(listed)["todos"], exported, strict=True):
        assert {name: item[name] for name in record} == record
        assert (item["content"], item["depends_on"]) == (record["description"], record["dependencies"])
    headway("todos", "clear")
    Path("list.json").write_text(listed, encoding="utf-8")
    headway("todos", "import", "list.json")
    again = data(headway("todos", "export", "--format", "json"))["todos"]
    assert again == exported


def test_what_standard_input_lacks_is_said_of_standard_input(headway: Headway) -> None:
    refused = headway("todos", "import", "-", stdin="Dear diary", code=1).stderr
    assert refused.startswith("Error: Standard input is neither a JSON export nor a checklist.")
