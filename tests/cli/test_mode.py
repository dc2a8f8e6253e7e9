"""`headway mode` and `headway model`: what they set, they set as `headway config set` does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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


def test_a_mode_is_set_in_the_persons_own_settings_and_said_where(headway: Headway, project: Path) -> None:
    assert headway("mode", "auto-edit").stdout == f"✅ Set mode to auto_edit in {project / OWN}\n"
    assert (project / OWN).read_text(encoding="utf-8") == 'mode = "auto_edit"\n'
    assert not (project / ".headway").exists()
    record = data(headway("mode", "yolo", "--json"))
    assert record == {"key": "mode", "value": "yolo", "file": str(project / OWN), "notices": []}
    assert data(headway("mode", "--json"))["mode"] == "yolo"


def test_a_mode_that_has_no_effect_here_is_said_to(headway: Headway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_MODE", "yolo")
    said = headway("mode", "default").stdout
    assert said.endswith("Note: It has no effect here, because it is overridden by: environment HEADWAY_MODE.\n")


def test_a_mode_that_is_none_names_the_nearest(headway: Headway, project: Path) -> None:
    said = headway("mode", "yoloo", code=2).stderr
    assert "'yoloo' is not a valid mode; did you mean 'yolo'? Choose from: default, auto_edit, sandboxed, yolo." in said
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
