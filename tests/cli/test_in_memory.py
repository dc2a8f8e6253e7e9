"""An agent whose session is kept in memory: its commands find no list, say so, and make none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import headway as api
from headway.core.errors import HeadwayError
from headway.project import IN_MEMORY, find_project, find_project_of_list, project_folder_of

from .commands import Headway, data

SENTENCE = "The agent keeps this list in memory; call TodoWrite on a line of its own, not as part of another command."


def test_the_project_of_a_session_is_the_folder_it_was_opened_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "my project"
    project.mkdir()
    session = api.open(project)
    assert project_folder_of(session) == str(project)
    session.add("A")
    assert project_folder_of(session) == project_folder_of(session.agent("helper")) == str(project)
    monkeypatch.chdir(project)
    here = api.open()
    monkeypatch.chdir(tmp_path)
    assert project_folder_of(here) == str(project)


def test_a_session_in_memory_has_no_project(tmp_path: Path) -> None:
    session = api.open(tmp_path, memory=True)
    assert project_folder_of(session) is None
    session.add("A")
    assert project_folder_of(session.agent("helper")) is None


def test_no_project_is_found_for_a_list_in_memory(tmp_path: Path) -> None:
    for environ in ({IN_MEMORY: "1"}, {IN_MEMORY: "1", "HEADWAY_PROJECT": str(tmp_path)}):
        with pytest.raises(HeadwayError) as caught:
            find_project_of_list(environ)
        assert str(caught.value) == SENTENCE
    assert find_project_of_list({IN_MEMORY: "", "HEADWAY_PROJECT": str(tmp_path)}) == str(tmp_path)
    assert find_project({IN_MEMORY: "1"}, str(tmp_path)) == str(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ["todos", "list"],
        ["todos", "add", "A"],
        ["todos", "update", "t1", "completed"],
        ["todos", "next"],
        ["watch"],
    ],
)
@pytest.mark.parametrize("kind", [[], ["--json"]])
def test_commands_answer_with_one_sentence_and_make_nothing(
    headway: Headway, project: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], kind: list[str]
) -> None:
    monkeypatch.setenv(IN_MEMORY, "1")
    monkeypatch.setenv("HEADWAY_SESSION", "mine")
    said = headway(*words, *kind, code=1)
    assert said.stdout == ""
    assert said.stderr == (f'{{"error": {{"message": "{SENTENCE}"}}}}\n' if kind else f"Error: {SENTENCE}\n")
    assert os.listdir(project) == [".git"]


def test_what_is_not_about_the_list_works_all_the_same(headway: Headway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IN_MEMORY, "1")
    assert "No sessions yet" in headway("sessions").stdout
    headway("config", "set", "mode", "auto_edit")
    assert data(headway("config", "show", "--json"))["settings"]["mode"]["value"] == "auto_edit"


def test_a_list_that_is_there_already_is_left_alone(
    headway: Headway, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headway("todos", "add", "A")
    monkeypatch.setenv(IN_MEMORY, "1")
    headway("todos", "add", "B", code=1)
    monkeypatch.delenv(IN_MEMORY)
    assert [todo["content"] for todo in data(headway("todos", "list", "--json"))["todos"]] == ["A"]
