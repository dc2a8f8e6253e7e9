"""`headway mode` and `headway model`: what they set, they set as `headway config set` does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.scripts import script
from tests.support.terminal import Terminal

from headway.cli.options import MODES
from headway.tools.effects import Mode

from .commands import Headway, data

OWN = "config/headway/config.toml"


def test_every_mode_is_explained() -> None:
    assert list(MODES) == list(Mode)


def test_mode_alone_shows_the_one_in_force_and_what_each_means(
    headway: Headway, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = headway("mode").stdout.splitlines()
    assert shown[0] == "The mode is default."
    assert shown[1] == "* default    asks before every write, command and new host"
    assert shown[-1] == "Change it with: headway mode NAME"
    monkeypatch.setenv("HEADWAY_MODE", "yolo")
    assert headway("mode").stdout.startswith("The mode is yolo (set by: environment HEADWAY_MODE).\n")
    assert data(headway("mode", "--json")) == {
        "mode": "yolo",
        "source": "environment HEADWAY_MODE",
        "modes": MODES,
    }


@pytest.mark.parametrize(("flags", "file"), [([], ".headway/config.toml"), (["--user"], OWN)])
def test_a_mode_is_set_for_this_project_or_for_all(
    headway: Headway, project: Path, flags: list[str], file: str
) -> None:
    assert headway("mode", "auto-edit", *flags).stdout == f"✅ Set mode to auto_edit in {project / file}\n"
    assert (project / file).read_text(encoding="utf-8") == 'mode = "auto_edit"\n'
    record = data(headway("mode", "default", *flags, "--json"))
    assert record == {"key": "mode", "value": "default", "file": str(project / file), "notices": []}
    assert data(headway("mode", "--json"))["mode"] == "default"
    headway("mode", "auto_edit", *flags)
    (project / "other/.git").mkdir(parents=True)
    there = data(headway("mode", "--json", "--project", "other"))["mode"]
    assert there == ("auto_edit" if flags else "default")


@pytest.mark.parametrize("words", [["mode", "yolo"], ["config", "set", "mode", "yolo"]])
def test_yolo_is_kept_only_for_all_projects_and_with_a_confirmation(
    headway: Headway, project: Path, words: list[str]
) -> None:
    before = os.listdir(project)
    refused = "Error: A project's settings cannot have yolo; use it for one run with '--mode yolo', or keep it for all "
    assert headway(*words, "--yes", code=1).stderr.startswith(refused)
    for flags in (["--user"], ["--user", "--json"]):
        assert "To confirm that, add --yes." in headway(*words, *flags, code=1).stderr
    assert os.listdir(project) == before
    assert headway(*words, "--user", "--yes").stdout == f"✅ Set mode to yolo in {project / OWN}\n"
    kept = (
        f"The mode is yolo, so nothing is asked: it is set by {project / OWN}; 'headway mode default --user' ends that."
    )
    for shown in (headway("mode"), headway("config", "show")):
        assert f"Note: {kept}\n" in shown.stdout
    assert data(headway("config", "show", "--json"))["notices"] == [kept]
    done = headway("run", "Hi", "--model", script("Hello."))
    assert f"Note: {kept}\n" in done.stderr and "Hello." in done.stdout
    done = headway("run", "Hi", "--new", "--mode", "default", "--model", script("Hello."))
    assert "nothing is asked" not in done.output
    headway("mode", "default", "--user")
    assert "yolo, so" not in headway("mode").stdout


def test_at_a_terminal_yolo_is_asked_about(project: Path) -> None:
    for answer, code, outcome in (("n", 1, "Nothing was changed."), ("y", 0, "✅ Set mode to yolo in ")):
        terminal = Terminal("mode", "yolo", "--user")
        terminal.until(
            lambda shown: "every command and edit of a model is carried out at once" in " ".join(shown.split())
        )
        terminal.send(f"{answer}\n")
        assert terminal.end() == code
        assert outcome in terminal.shown


def test_a_mode_that_has_no_effect_here_is_said_to(headway: Headway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_MODE", "yolo")
    said = headway("mode", "default").stdout
    assert said.endswith("Note: It has no effect here, because it is overridden by: environment HEADWAY_MODE.\n")


def test_a_mode_that_is_none_names_the_nearest(headway: Headway, project: Path) -> None:
    said = headway("mode", "yoloo", code=2).stderr
    assert "'yoloo' is not a valid mode; did you mean 'yolo'? Choose from: default, auto_edit, sandboxed, yolo." in said
    assert "'foo' is not a valid mode. Choose from: " in headway("mode", "foo", code=2).stderr
    assert "'␛[2J' is not a valid mode." in headway("mode", "\x1b[2J", code=2).stderr
    assert os.listdir(project) == [".git"]


def test_model_alone_shows_it_and_what_it_needs(headway: Headway, monkeypatch: pytest.MonkeyPatch) -> None:
    assert headway("model").stdout == "No model is set; set one with: headway model PROVIDER:NAME\n"
    assert data(headway("model", "--json")) == {"model": None, "source": "default", "missing": None}
    monkeypatch.setenv("HEADWAY_MODEL", "openai:gpt-5")
    assert headway("model").stdout == (
        "The model is openai:gpt-5 (set by: environment HEADWAY_MODEL).\nNote: No API key for OpenAI; set "
        "OPENAI_API_KEY, or choose another model with --model.\n"
    )
    assert headway("model", "--model", "ollama:m").stdout.startswith("The model is ollama:m (set by: flag --model).\n")


@pytest.mark.parametrize(("flags", "file"), [([], ".headway/config.toml"), (["--user"], OWN)])
def test_a_model_is_set_as_config_does_it(headway: Headway, project: Path, flags: list[str], file: str) -> None:
    assert headway("model", "ollama:m", *flags).stdout == f"✅ Set model to ollama:m in {project / file}\n"
    assert (project / file).read_text(encoding="utf-8") == 'model = "ollama:m"\n'
    record = data(headway("model", "openai:x", *flags, "--json"))
    assert record["notices"] == ["No API key for OpenAI; set OPENAI_API_KEY, or choose another model with --model."]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("gpt", "- model: Expected 'provider:name', such as 'openai:NAME' or 'ollama:NAME', received 'gpt'"),
        ("sk-abc123def", "Looks like a secret key; keys belong in the environment"),
    ],
)
def test_a_model_that_cannot_be_set_changes_nothing(headway: Headway, project: Path, name: str, what: str) -> None:
    said = headway("model", name, code=1).stderr
    assert what in said
    assert "abc123" not in said
    assert os.listdir(project) == [".git"]
