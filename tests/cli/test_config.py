from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.tables import check_rows
from tests.support.terminal import Terminal

from headway.agent import PROVIDERS

from .commands import Headway, data

OWN = "home/config/headway/config.toml"


@pytest.fixture(autouse=True)
def home(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(project / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project / "home/config"))
    return project / "home"


def test_show_has_every_setting_with_its_value_and_source(
    headway: Headway, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headway("config", "set", "allow", "bash: pytest *", "bash: 测试 *")
    headway("config", "set", "max_cost", "2.50", "--user")
    monkeypatch.setenv("HEADWAY_LIMITS_RESULTS", "7")
    printed = headway("config", "show", "--model", "ollama:llama2.0").stdout
    shown, notes = printed.splitlines()[:-2], printed.splitlines()[-2:]
    assert notes == ["", "Note: 'bash: pytest *' allows every command, as in: pytest -p MODULE"]
    assert [line for line in shown if not line.endswith("  default") and "Commands run" not in line] == [
        "model                    ollama:llama2.0  flag --model",
        "allow                    bash: pytest *   .headway/config.toml",
        "                         bash: 测试 *",
        "                         venv",
        "                         node_modules",
        f"max_cost                 2.5              {project / OWN}",
        "limits.results           7                environment HEADWAY_LIMITS_RESULTS",
    ]
    assert "mode                     default          default" in shown
    assert "limits.bash_seconds      120              default" in shown
    assert headway("config", "--model", "ollama:llama2.0").stdout == printed
    record = data(headway("config", "show", "--json"))
    assert record["settings"]["allow"] == {
        "value": ["bash: pytest *", "bash: 测试 *"],
        "source": ".headway/config.toml",
    }
    assert record["settings"]["mode"] == {"value": "default", "source": "default"}
    assert record["notices"] == ["'bash: pytest *' allows every command, as in: pytest -p MODULE"]


def test_set_says_what_it_did(headway: Headway, project: Path) -> None:
    file = project / ".headway/config.toml"
    assert headway("config", "set", "mode", "auto_edit").stdout == f"✅ Set mode to auto_edit in {file}\n"
    assert headway("config", "set", "hosts").stdout == f"✅ Set hosts to nothing in {file}\n"
    record = data(headway("config", "set", "parallel", "3", "--json"))
    assert record == {"key": "parallel", "value": 3, "file": str(file), "notices": []}
    assert headway("config", "set", "parallel", "4", "--user").stdout.splitlines() == [
        f"✅ Set parallel to 4 in {project / OWN}",
        "Note: It has no effect here, because it is overridden by: .headway/config.toml.",
    ]


def test_set_says_what_hides_the_value(headway: Headway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_MODE", "default")
    said = headway("config", "set", "mode", "auto_edit").stdout
    assert said.endswith("Note: It has no effect here, because it is overridden by: environment HEADWAY_MODE.\n")
    monkeypatch.setenv("HEADWAY_MODE", "bad")
    assert (
        "Note: Other settings are still invalid. The environment"
        in headway("config", "set", "mode", "auto_edit").stdout
    )


UNTRUSTED = "the file is not as 'headway config set' wrote it here"


def test_a_file_that_nobody_trusted_grants_no_rights_and_both_commands_say_so(headway: Headway, project: Path) -> None:
    headway("config", "set", "parallel", "2")
    file = project / ".headway/config.toml"
    file.write_text('# ours\nallow = ["bash"]\n', encoding="utf-8")
    shown = headway("config", "show").stdout
    ignored = (
        f"Ignored in .headway/config.toml: allow, because {UNTRUSTED} and a project must not grant itself rights; see "
        "what it would grant and trust it with 'headway config trust'."
    )
    assert shown.endswith(f"Note: {ignored}\n")
    assert re.search(r"^allow +– +default$", shown, re.MULTILINE)
    assert data(headway("config", "show", "--json"))["notices"] == [ignored]
    refusal = (
        f"'parallel' cannot be set in '{file}', because {UNTRUSTED}: see what it would grant and trust it with "
        "'headway config trust', or use --user."
    )
    assert headway("config", "set", "parallel", "3", code=1).stderr == f"Error: {refusal}\n"
    record = json.loads(headway("config", "set", "parallel", "3", "--json", code=1).stderr)
    assert record["error"]["message"] == refusal
    assert file.read_text(encoding="utf-8") == '# ours\nallow = ["bash"]\n'
    assert headway("config", "set", "parallel", "3", "--user").stdout == f"✅ Set parallel to 3 in {project / OWN}\n"
    for key, value in (("model", "ollama:m"), ("tracking", "manual"), ("todo_tools", "light")):
        assert headway("config", "set", key, value).stdout == f"✅ Set {key} to {value} in {file}\n"
    assert "cannot be set" in headway("config", "set", "model", "scripted:a.json", code=1).stderr


FOREIGN = 'model = "ollama:m"\nallow = ["bash: git *", "edit"]\nhosts = ["evil.org"]\nparallel = 3\n'


def test_trust_shows_what_a_file_grants_and_needs_a_confirmation(headway: Headway, project: Path) -> None:
    (project / ".headway").mkdir()
    file = project / ".headway/config.toml"
    file.write_text(FOREIGN, encoding="utf-8")
    shown = [
        f"{file} would set:",
        "  allow  bash: git *",
        "  allow  edit",
        "  hosts  evil.org",
        "  parallel  3",
        "Note: 'bash: git *' allows every command, as in: git -c alias.x='!COMMAND' x",
    ]
    refused = headway("config", "trust", code=1)
    assert refused.stdout.splitlines() == shown
    assert refused.stderr == "Error: Whoever wrote this decides what runs unasked. To confirm that, add --yes.\n"
    assert "add --yes" in headway("config", "trust", "--json", code=1).stderr
    assert data(headway("config", "show", "--json"))["settings"]["allow"]["value"] == []
    trusted = headway("config", "trust", "--yes").stdout
    assert trusted.splitlines() == [*shown, f"✅ Trusted {file} as it is now"]
    assert data(headway("config", "show", "--json"))["settings"]["allow"]["value"] == ["bash: git *", "edit"]
    assert headway("config", "trust").stdout == "The file is trusted already.\n"
    file.write_text(f"{FOREIGN}max_rounds = 3\n", encoding="utf-8")
    grants = {"allow": ["bash: git *", "edit"], "hosts": ["evil.org"], "parallel": 3, "max_rounds": 3}
    assert data(headway("config", "trust", "--yes", "--json")) == {"file": str(file), "grants": grants, "trusted": True}


def test_trust_at_a_terminal_asks_and_a_no_changes_nothing(project: Path) -> None:
    (project / ".headway").mkdir()
    (project / ".headway/config.toml").write_text("parallel = 3\n", encoding="utf-8")
    for answer, code, outcome in (("n", 1, "Nothing was changed."), ("y", 0, "✅ Trusted "), (None, 0, "already")):
        terminal = Terminal("config", "trust")
        if answer is not None:
            terminal.until(lambda shown: "  parallel  3" in shown and "[y/N]" in shown)
            terminal.send(f"{answer}\n")
        assert terminal.end() == code
        assert outcome in terminal.shown


def test_trust_of_what_is_not_there_or_grants_nothing_or_has_errors_is_said(headway: Headway, project: Path) -> None:
    file = project / ".headway/config.toml"
    missing = f"Error: There is nothing to trust: '{file}' does not exist.\n"
    assert headway("config", "trust", "--yes", code=1).stderr == missing
    file.parent.mkdir()
    file.write_text('model = "ollama:m"\n', encoding="utf-8")
    assert headway("config", "trust").stdout == "The file grants nothing, so it needs no trust.\n"
    file.write_text("parallel = 0\n", encoding="utf-8")
    assert "has invalid settings; correct the file" in headway("config", "trust", "--yes", code=1).stderr
    assert not (project / "home").exists()


def test_removing_what_is_not_there_makes_nothing(headway: Headway, project: Path) -> None:
    headway("config", "set", "mode")
    assert os.listdir(project) == [".git"]


def test_set_without_a_value_removes_the_key_and_leaves_the_rest(headway: Headway, project: Path) -> None:
    (project / ".headway").mkdir()
    file = project / ".headway/config.toml"
    file.write_text('# mine\nmode = "auto_edit"  # careful\nparallel = 2  # two\n', encoding="utf-8")
    assert headway("config", "set", "mode").stdout == f"✅ Removed mode from {file}\n"
    assert file.read_text(encoding="utf-8") == "# mine\nparallel = 2  # two\n"
    headway("config", "set", "parallel", "5", "--user")
    record = data(headway("config", "set", "parallel", "--json"))
    assert record == {"key": "parallel", "value": None, "file": str(file), "notices": []}
    assert file.read_text(encoding="utf-8") == "# mine\n"
    settings = data(headway("config", "show", "--json"))["settings"]
    assert settings["parallel"] == {"value": 5, "source": str(project / OWN)}
    assert headway("config", "set", "parallel", "--user").stdout == f"✅ Removed parallel from {project / OWN}\n"
    assert data(headway("config", "show", "--json"))["settings"]["parallel"]["source"] == "default"


def test_a_model_that_cannot_be_used_yet_is_set_with_a_note(headway: Headway, project: Path) -> None:
    missing = f"There is no provider named 'opnai'; did you mean 'openai'? The providers are {', '.join(PROVIDERS)}."
    for where, file in (([], project / ".headway/config.toml"), (["--user"], project / OWN)):
        said = headway("config", "set", "model", "opnai:x", *where).stdout
        assert said == f"✅ Set model to opnai:x in {file}\nNote: {missing}\n"
        assert data(headway("config", "set", "model", "opnai:x", *where, "--json"))["notices"] == [missing]
        shown = headway("config", "show").stdout.splitlines()
        assert shown[0].split() == ["model", "opnai:x", str(file) if where else ".headway/config.toml"]
        assert shown[1].strip() == missing
        record = data(headway("config", "show", "--json"))
        assert (record["settings"]["model"]["value"], record["model_missing"]) == ("opnai:x", missing)
        headway("config", "set", "model", *where)


def test_a_model_that_can_be_used_has_no_note(headway: Headway, project: Path) -> None:
    assert headway("config", "set", "model", "ollama:m").stdout.count("\n") == 1
    assert data(headway("config", "show", "--json"))["model_missing"] is None
    (project / "my script.json").write_text("[]", encoding="utf-8")
    assert headway("config", "set", "model", "scripted:my script.json").stdout.count("\n") == 1
    headway("config", "set", "model")
    assert "headway config set model PROVIDER:NAME" in data(headway("config", "show", "--json"))["model_missing"]


def test_a_model_hidden_by_another_is_said_to_be_hidden(headway: Headway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_MODEL", "ollama:m")
    said = headway("config", "set", "model", "opnai:x").stdout
    assert said.endswith("Note: It has no effect here, because it is overridden by: environment HEADWAY_MODEL.\n")


def test_a_key_in_a_file_is_told_where_it_belongs_and_never_shown(headway: Headway) -> None:
    Path(".headway").mkdir()
    Path(".headway/config.toml").write_text('OPENAI_API_KEY = "sk-abc123def"\n', encoding="utf-8")
    for words in (["show"], ["show", "--json"], ["set", "mode", "auto_edit"], ["set", "mode"]):
        said = headway("config", *words, code=1)
        assert "OPENAI_API_KEY: Looks like a secret key; keys belong in the environment" in said.stderr
        assert "Unknown setting" not in said.stderr
        assert "abc123" not in said.output


def test_path_names_both_files(headway: Headway, project: Path) -> None:
    headway("config", "set", "mode", "auto_edit")
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


MISTAKES: list[tuple[list[str], int, str]] = [
    (["mode", "yes"], 1, "Error: The setting is not valid; correct this:\n- mode: Expected 'default' |"),
    (["modes", "yolo"], 1, "Error: There is no setting 'modes'; did you mean 'mode'?"),
    (["model", "sk-abc123"], 1, "Error: Looks like a secret key; keys belong in the environment"),
    (
        ["mode", "yolo", "default"],
        2,
        "Error: 'mode' takes one VALUE, not 2; quote a value that contains spaces.",
    ),
    (["model", "scripted:my", "file.json"], 2, "Error: 'model' takes one VALUE, not 2; quote a value"),
    (["max_cost", "-1"], 1, "- max_cost: Must be more than 0, received -1"),
    (["max_cost", "-0.5", "--user"], 1, "- max_cost: Must be more than 0, received -0.5"),
    (["parallel", "-3", "--json"], 1, "parallel: Must be at least 1, received -3"),
    (["limits.results", "--", "-1"], 1, "- limits.results: Must be at least 1, received -1"),
    (["allow", "bash", "--usr"], 2, "No such option"),
    ([], 2, "Missing argument 'KEY'"),
]


def test_a_mistake_is_one_sentence_and_changes_nothing(headway: Headway) -> None:
    def check(words: list[str], code: int, what: str) -> None:
        said = headway("config", "set", *words, code=code).stderr
        assert what in said
        assert "abc123" not in said
        assert os.listdir(".") == [".git"]

    check_rows(MISTAKES, check)


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


LOADED = """
import sys
from headway.cli.app import app
app(sys.argv[1:], standalone_mode=False)
print(sorted({"pydantic", "tomlkit", "platformdirs", "headway.settings"} & set(sys.modules)))
"""


def test_other_commands_take_the_model_without_loading_the_settings() -> None:
    words = ["todos", "add", "A", "--model", "a:b"]
    command = [sys.executable, "-X", "utf8", "-c", LOADED, *words]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_allow_pattern_that_allows_more_than_it_seems_to_is_set_with_a_note(headway: Headway) -> None:
    shown = headway("config", "set", "--user", "allow", "bash: git *", "bash: make test").stdout
    assert shown.startswith("✅ Set allow to bash: git *, bash: make test in ")
    assert shown.count("Note: ") == 1
    assert "Note: 'bash: git *' allows every command, as in: git -c alias.x='!COMMAND' x\n" in shown
