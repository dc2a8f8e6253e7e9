from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Headway, data

OWN = "home/config/headway/config.toml"


@pytest.fixture(autouse=True)
def home(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("HEADWAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(project / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project / "home/config"))
    return project / "home"


def test_show_has_every_setting_with_its_value_and_source(
    headway: Headway, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headway("config", "set", "allow", "bash: pytest *", "bash: 测试 *")
    headway("config", "set", "max_cost", "2.50", "--user")
    monkeypatch.setenv("HEADWAY_LIMITS_RESULTS", "7")
    shown = headway("config", "show", "--model", "ollama:llama2.0").stdout.splitlines()
    assert [line for line in shown if not line.endswith("  default")] == [
        "model                    ollama:llama2.0  flag --model",
        "allow                    bash: pytest *   .headway/config.toml",
        "                         bash: 测试 *",
        f"max_cost                 2.5              {project / OWN}",
        "limits.results           7                environment HEADWAY_LIMITS_RESULTS",
    ]
    assert "mode                     default          default" in shown
    assert "limits.bash_seconds      120              default" in shown
    assert headway("config", "--model", "ollama:llama2.0").stdout.splitlines() == shown
    record = data(headway("config", "show", "--json"))
    assert record["settings"]["allow"] == {
        "value": ["bash: pytest *", "bash: 测试 *"],
        "source": ".headway/config.toml",
    }
    assert record["settings"]["mode"] == {"value": "default", "source": "default"}
    assert record["notices"] == []


def test_set_says_what_it_did(headway: Headway, project: Path) -> None:
    file = project / ".headway/config.toml"
    assert headway("config", "set", "mode", "yolo").stdout == f"✅ Set mode to yolo in {file}\n"
    assert headway("config", "set", "hosts").stdout == f"✅ Set hosts to nothing in {file}\n"
    record = data(headway("config", "set", "parallel", "3", "--json"))
    assert record == {"key": "parallel", "value": 3, "file": str(file), "notices": []}
    assert headway("config", "set", "parallel", "4", "--user").stdout.splitlines() == [
        f"✅ Set parallel to 4 in {project / OWN}",
        "Note: It has no effect here, since it is also set by: .headway/config.toml.",
    ]


def test_set_says_what_hides_the_value(headway: Headway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_MODE", "default")
    said = headway("config", "set", "mode", "yolo").stdout
    assert said.endswith("Note: It has no effect here, since it is also set by: environment HEADWAY_MODE.\n")
    monkeypatch.setenv("HEADWAY_MODE", "bad")
    assert "Note: Other settings cannot be used yet. The environment" in headway("config", "set", "mode", "yolo").stdout


def test_a_tracked_file_grants_no_rights_and_both_commands_say_so(headway: Headway, project: Path) -> None:
    (project / ".git").rmdir()
    headway("config", "set", "parallel", "2")
    subprocess.run("git init && git add -f .headway/config.toml", shell=True, check=True, capture_output=True)
    note = "Note: Ignored in .headway/config.toml: mode, since git tracks the file"
    assert note in headway("config", "set", "mode", "yolo").stdout
    shown = headway("config", "show").stdout
    assert note in shown
    assert "mode                     default   default" in shown
    assert len(data(headway("config", "show", "--json"))["notices"]) == 1


def test_path_names_both_files(headway: Headway, project: Path) -> None:
    headway("config", "set", "mode", "yolo")
    assert headway("config", "path").stdout.splitlines() == [
        f"project  {project / '.headway/config.toml'}  (exists)",
        f"user     {project / OWN}  (not there yet)",
    ]
    assert headway("config", "path", "--user").stdout == f"{project / OWN}\n"
    assert data(headway("config", "path", "--json")) == {
        "project": {"path": str(project / ".headway/config.toml"), "exists": True},
        "user": {"path": str(project / OWN), "exists": False},
    }
    assert list(data(headway("config", "path", "--user", "--json"))) == ["user"]


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        (["mode", "yes"], 1, "Error: This cannot be set; correct it:\n- mode: Expected 'default' |"),
        (["modes", "yolo"], 1, "Error: There is no setting 'modes'; did you mean 'mode'?"),
        (["model", "sk-abc123"], 1, "Error: Looks like a secret key; keys belong in the environment"),
        (["mode"], 2, "Error: 'mode' takes exactly one VALUE, not 0."),
        (["mode", "yolo", "default"], 2, "Error: 'mode' takes exactly one VALUE, not 2."),
        ([], 2, "Missing argument 'KEY'"),
    ],
)
def test_a_mistake_is_one_sentence_and_changes_nothing(
    headway: Headway, words: list[str], code: int, what: str
) -> None:
    said = headway("config", "set", *words, code=code).stderr
    assert what in said
    assert "abc123" not in said
    assert os.listdir(".") == [".git"]


def test_a_bad_file_is_named_and_data_has_every_fault(headway: Headway) -> None:
    Path(".headway").mkdir()
    Path(".headway/config.toml").write_text('mode = "\\u001b[2J"\nparallel = 0\n', encoding="utf-8")
    said = headway("config", "show", code=1).stderr
    assert said.startswith("Error: '")
    assert "\x1b" not in said
    assert '"violations": ["mode: ' in headway("config", "show", "--json", code=1).stderr
    assert headway("todos", "list").exit_code == 0


def test_hostile_text_is_harmless_on_the_terminal(headway: Headway) -> None:
    Path(".headway").mkdir()
    Path(".headway/config.toml").write_text('allow = ["bash: \\u001b[2J\\u202e"]\n', encoding="utf-8")
    for words in ([], ["--json"]):
        said = headway("config", "show", *words).stdout
        assert "\x1b" not in said
        assert "\u202e" not in said


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("headway config set mo", ["plain,model", "plain,mode"]),
        ("headway config set limits.bash", ["plain,limits.bash_seconds", "plain,limits.bash_seconds_max"]),
        ("headway config set mode ", ["plain,default", "plain,auto_edit", "plain,yolo"]),
        ("headway config set todo_tools l", ["plain,light"]),
        ("headway config set model ", []),
        ("headway config set nothing ", []),
    ],
)
def test_the_shell_completes_keys_and_closed_sets(line: str, offered: list[str]) -> None:
    words = line.split()
    env = {"_HEADWAY_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - (line[-1] != " "))}
    program = str(Path(sys.executable).with_name("headway"))
    done = subprocess.run([program], env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == offered


LOADED = """
import sys
from headway.cli.app import app
app(sys.argv[1:], standalone_mode=False)
print(sorted({"pydantic", "tomlkit", "platformdirs", "headway.settings"} & set(sys.modules)))
"""


def test_other_commands_take_the_model_without_loading_the_settings() -> None:
    words = ["todos", "add", "A", "--model", "a:b"]
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
