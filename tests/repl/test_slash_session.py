"""What is set with a slash applies at once, and is saved for the project unless it is dangerous."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from headway.cli.options import MODES

from .at_terminal import AtTerminal

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def say(project: Path) -> AtTerminal:
    return AtTerminal(project)


OWN = "config/headway/config.toml"


def test_a_mode_is_saved_for_the_project_or_for_all_and_applies_at_once(say: AtTerminal, project: Path) -> None:
    does = MODES["auto_edit"]
    assert say("/mode auto-edit") == f"✅ The mode is auto_edit in this project: it {does}."
    assert say.mode == "auto_edit"
    assert (project / ".headway/config.toml").read_text(encoding="utf-8") == 'mode = "auto_edit"\n'
    assert say("/mode auto_edit --user") == f"✅ The mode is auto_edit in all projects: it {does}."
    assert (project / OWN).read_text(encoding="utf-8") == 'mode = "auto_edit"\n'
    assert "✅ The mode is sandboxed in this project: it asks as auto_edit does, but " in say("/mode sandboxed")
    done = json.loads(say("/mode default --json"))
    assert done == {"mode": "default", "source": ".headway/config.toml", "notices": []}


def test_yolo_holds_until_one_leaves_unless_it_is_confirmed_for_all_projects(say: AtTerminal, project: Path) -> None:
    assert say("/mode yolo") == "✅ The mode is yolo until you leave: it never asks."
    assert say.mode == "yolo"
    assert os.listdir(project) == [".git"]
    say("/mode default")
    assert "To confirm that, add --yes." in say("/mode yolo --user") and say.mode == "default"
    assert say("/mode yolo --user --yes") == "✅ The mode is yolo in all projects: it never asks."
    assert (project / OWN).read_text(encoding="utf-8") == 'mode = "yolo"\n' and say.mode == "yolo"


def test_what_cannot_be_saved_holds_until_one_leaves_and_the_reason_is_said(say: AtTerminal, project: Path) -> None:
    (project / ".headway").mkdir()
    (project / ".headway/config.toml").write_text("parallel = 9\n", encoding="utf-8")
    done, note = say("/mode auto_edit").splitlines()
    assert done.startswith("✅ The mode is auto_edit until you leave: ") and say.mode == "auto_edit"
    assert note.startswith("Note: It was not saved. 'mode' cannot be set in ") and "'/config trust'" in note
    assert (project / ".headway/config.toml").read_text(encoding="utf-8") == "parallel = 9\n"


def test_in_memory_nothing_is_saved(project: Path) -> None:
    say = AtTerminal(project, memory=True)
    assert say("/mode auto_edit").startswith("✅ The mode is auto_edit until you leave: ")
    assert say("/model ollama:m").startswith("✅ The model is ollama:m until you leave, ")
    assert os.listdir(project) == [".git"]


def test_the_mode_in_force_is_shown_with_what_each_means(say: AtTerminal) -> None:
    say.mode = "auto_edit"
    first, *rows, last = say("/mode").splitlines()
    assert (first, last) == ("The mode is auto_edit.", "Change it with: /mode NAME")
    assert [row[2:].split()[0] for row in rows] == list(MODES)
    assert [row[0] for row in rows] == [" ", "*", " ", " "]
    assert json.loads(say("/mode --json")) == {"mode": "auto_edit", "source": "session", "modes": MODES}


def test_a_mode_that_is_none_changes_nothing(say: AtTerminal) -> None:
    assert say("/mode yoloo") == (
        "Error: Invalid value for '[MODE]': 'yoloo' is not a valid mode; did you mean 'yolo'? Choose from: "
        "default, auto_edit, sandboxed, yolo."
    )
    assert say.mode == "default"


def test_a_model_holds_from_the_next_run_on_and_says_what_it_needs(say: AtTerminal, project: Path) -> None:
    assert say("/model") == "No model is set; set one with: /model PROVIDER:NAME"
    key = "No API key for OpenAI; set OPENAI_API_KEY, or choose another model with /model."
    done = "✅ The model is openai:gpt-5 in this project, from the next run."
    assert say("/model openai:gpt-5") == f"{done}\nNote: {key}"
    assert say("/model") == f"The model is openai:gpt-5.\nNote: {key}"
    assert say("/model ollama:qwen3").count("\n") == 0
    assert say("/model") == "The model is ollama:qwen3.\nChange it with: /model PROVIDER:NAME"
    assert json.loads(say("/model --json")) == {"model": "ollama:qwen3", "source": "session", "missing": None}
    file = project / ".headway/config.toml"
    saved: dict[str, object] = {"model": "openai:x", "source": ".headway/config.toml", "missing": key, "notices": []}
    assert json.loads(say("/model openai:x --json")) == saved
    assert file.read_text(encoding="utf-8") == 'model = "openai:x"\n'
    assert say("/model openai:y --user").startswith("✅ The model is openai:y in all projects, from the next run.")
    assert (project / OWN).read_text(encoding="utf-8") == 'model = "openai:y"\n'


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("gpt-5", "model: Expected 'provider:name', such as 'openai:NAME' or 'ollama:NAME', received 'gpt-5'"),
        ("sk-abc123def", "model: Looks like a secret key; keys belong in the environment"),
        ("\x1b[2J:x", "model: Expected 'provider:name'"),
    ],
)
def test_a_model_that_cannot_be_set_changes_nothing(say: AtTerminal, name: str, what: str) -> None:
    said = say(f"/model {name}")
    assert said.startswith("Error: The setting is not valid; correct this:\n")
    assert what in said
    assert "abc123" not in said
    assert "\x1b" not in said
    assert say.model is None


def test_a_provider_that_there_is_not_is_noted(say: AtTerminal) -> None:
    assert "Note: There is no provider named 'opnai'; did you mean 'openai'?" in say("/model opnai:x")


def test_session_shows_where_one_is_and_what_else_there_is(say: AtTerminal) -> None:
    assert say("/session") == f"* {'mine':40}  empty"
    say("/todos add A --session 其他")
    assert [row.split()[:2] for row in say("/session").splitlines()] == [["*", "mine"], ["其他", "0/1"]]
    say("/todos add B")
    rows = say("/session").splitlines()
    assert sorted(row[:6] for row in rows) == ["  其他  ", "* mine"]
    assert say("/sessions") == say("/session") == say("/sessions list")


@pytest.mark.parametrize("line", ["/session 其他", "/sessions resume 其他"])
def test_session_goes_to_another_one(say: AtTerminal, line: str) -> None:
    say("/todos add A --session 其他")
    assert say(line) == "✅ The current session is now 其他"
    assert say.session.name == "其他"
    assert json.loads(say("/todos list --json"))["session"] == "其他"
    assert json.loads(say("/session 其他 --json")) == {"current": "其他"}


def test_session_new_begins_one(say: AtTerminal) -> None:
    begins = "; the first change creates it"
    assert say("/session new") == f"✅ The current session is now {say.session.name}{begins}"
    assert say.session.name.startswith("session-")
    say("/todos add A")
    left = f"1 todo is still open in the session '{say.session.name}'; switch back with: /session {say.session.name}"
    assert say('/session new "my own"') == f"✅ The current session is now my own{begins}\nNote: {left}"
    assert say.session.name == "my own"
    say("/todos add A")
    assert [row[:8] for row in say("/session").splitlines()] == ["* my own", "  sessio"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("/session nope", "There is no session 'nope' in this project; the sessions are: mine."),
        ("/session new mine", "A session named 'mine' already exists; switch to it with: /session mine"),
        ("/session a b", "A session has one NAME; quote a name that contains spaces."),
        ('/session new ""', "The name of a session must have 1 to 200 printable characters."),
    ],
)
def test_a_session_that_cannot_be_taken_leaves_one_where_one_is(say: AtTerminal, line: str, sentence: str) -> None:
    say("/todos add A")
    assert say(line) == f"Error: {sentence}"
    assert say.session.name == "mine"


def test_cost_and_diff_of_a_session_without_runs(say: AtTerminal) -> None:
    assert say("/cost") == "This session has no runs yet, so nothing was used."
    assert say("/diff") == "This session has no runs yet, so nothing was changed."
