"""What a command knows of the environment: enough to work, no keys."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import headway
from headway.tools.shell.environment import build_environment

from .calls import bash, context

SECRETS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "MY_SECRET_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "GITHUB_TOKEN",
    "DATABASE_URL",
    "LC_API_KEY",
    "XDG_TOKEN",
    "NVM_PASSWORD",
    "SOMETHING_ELSE",
)


def made(project: Path, environ: dict[str, str], *allowed: str) -> dict[str, str]:
    return build_environment(context(project), allowed, "mark", environ)


async def test_keys_of_providers_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in SECRETS:
        monkeypatch.setenv(name, "hidden-value-1234")
    result = await bash(tmp_path, "env; cat /proc/$$/environ /proc/$PPID/environ")
    assert "PATH=" in result.text
    assert "hidden-value" not in result.text
    assert not [name for name in SECRETS if name in result.text]


async def test_what_a_person_allows_is_there_whatever_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_SECRET_TOKEN", "t0ken")
    monkeypatch.setenv("DATABASE_URL", "db://user:pw@host")
    monkeypatch.setenv("OTHER_TOKEN", "0ther")
    allowed = ("MY_SECRET_TOKEN", "DATABASE_URL", "NOT_SET")
    result = await bash(
        tmp_path, 'echo "$MY_SECRET_TOKEN $DATABASE_URL [$OTHER_TOKEN] [${NOT_SET-unset}]"', env=allowed
    )
    assert result.text == "t0ken db://user:pw@host [] [unset]"


def test_what_commands_need_is_passed(tmp_path: Path):
    needed = {
        "HOME": "/home/me",
        "LANG": "zh_CN.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "Asia/Shanghai",
        "VIRTUAL_ENV": "/venv",
        "GOPATH": "/go",
        "XDG_CACHE_HOME": "/cache",
        "SSL_CERT_FILE": "/certs.pem",
        "TODO_MAX_ITEMS": "5",
        "https_proxy": "http://proxy:3128",
        "NO_PROXY": "localhost",
    }
    assert needed.items() <= made(tmp_path, needed).items()


@pytest.mark.parametrize("address", ["http://me:pw@proxy:3128", "me:pw@proxy:3128", "http://me@proxy"])
def test_a_proxy_with_a_password_is_not_passed(tmp_path: Path, address: str):
    assert "HTTPS_PROXY" not in made(tmp_path, {"HTTPS_PROXY": address})


@pytest.mark.parametrize("name", ["BASH_ENV", "ENV", "PROMPT_COMMAND", "LD_PRELOAD", "PYTHONPATH", "PYTHONSTARTUP"])
def test_what_would_run_something_else_is_not_passed(tmp_path: Path, name: str):
    assert name not in made(tmp_path, {name: "/tmp/other"})


async def test_functions_and_start_files_of_the_person_do_not_interfere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "start").write_text("echo from the start file\n")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "start"))
    monkeypatch.setenv("BASH_FUNC_ls%%", "() { echo not ls; }")
    assert (await bash(tmp_path, "ls")).text == "start"


def test_nothing_waits_for_a_person(tmp_path: Path):
    environ = made(tmp_path, {"TERM": "xterm-256color", "PAGER": "less", "GIT_EDITOR": "vim"})
    assert (environ["TERM"], environ["PAGER"], environ["GIT_PAGER"]) == ("dumb", "cat", "cat")
    assert environ["GIT_TERMINAL_PROMPT"] == "0"
    assert environ["GIT_EDITOR"] == "true"


def test_the_folder_of_the_scripts_comes_last_and_once(tmp_path: Path):
    scripts = os.path.dirname(sys.executable)
    assert made(tmp_path, {"PATH": "/usr/bin"})["PATH"] == f"/usr/bin:{scripts}"
    assert made(tmp_path, {"PATH": f"{scripts}:/usr/bin"})["PATH"] == f"{scripts}:/usr/bin"
    assert made(tmp_path, {})["PATH"].endswith(f":{scripts}")


def test_a_command_is_told_which_list_is_meant_and_nobody_can_say_otherwise(tmp_path: Path):
    session = headway.open(tmp_path, "work").agent("sub-1")
    given = {"HEADWAY_PROJECT": "/elsewhere", "HEADWAY_CALL": "other"}
    environ = build_environment(context(tmp_path, session), list(given), "mark", given)
    told = {name: value for name, value in environ.items() if name.startswith("HEADWAY_")}
    assert told == {
        "HEADWAY_PROJECT": str(tmp_path),
        "HEADWAY_SESSION": "work",
        "HEADWAY_AGENT": "sub-1",
        "HEADWAY_CALL": "mark",
    }


def test_only_the_places_of_nvm_are_passed_and_no_flags_of_a_make_around_it(tmp_path: Path):
    places = {"NVM_DIR": "/nvm", "NVM_BIN": "/nvm/bin", "NVM_INC": "/nvm/include"}
    others = {
        "NVM_MIRROR": "http://mirror",
        "NVM_AUTH_HEADER": "x",
        "MAKEFLAGS": "-j --jobserver-auth=3,4",
        "MFLAGS": "-j",
    }
    environ = made(tmp_path, {**places, **others})
    assert places.items() <= environ.items()
    assert not environ.keys() & others.keys()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NODE_OPTIONS", "--require x --token=abcd1234efgh"),
        ("CFLAGS", "-DKEY=sk-aB3dE5gH1jK2mN4pQ6sT8v"),
        ("PIP_FIND_LINKS", "https://me:hunter2x@host/simple"),
        ("LC_ALL", "ghp_aB3dE5gH1jK2mN4pQ6sT8vW0"),
    ],
)
def test_a_value_that_looks_secret_is_not_passed_whatever_its_name(tmp_path: Path, name: str, value: str):
    assert name not in made(tmp_path, {name: value})
    assert made(tmp_path, {name: value}, name)[name] == value


def test_a_list_in_memory_is_told_as_such(tmp_path: Path):
    environ = build_environment(context(tmp_path, headway.open(memory=True)), (), "mark", {})
    assert environ["HEADWAY_IN_MEMORY"] == "1"
    assert "HEADWAY_PROJECT" not in environ
    for session in (None, headway.open(tmp_path)):
        environ = build_environment(context(tmp_path, session), (), "mark", {"HEADWAY_IN_MEMORY": "1"})
        assert environ["HEADWAY_PROJECT"] == str(tmp_path)
        assert "HEADWAY_IN_MEMORY" not in environ


def test_the_project_is_the_sessions_own_also_if_the_tools_work_elsewhere(tmp_path: Path):
    (tmp_path / "home").mkdir()
    session = headway.open(tmp_path / "home")
    environ = build_environment(context(tmp_path / "work", session), (), "mark", {})
    assert environ["HEADWAY_PROJECT"] == str(tmp_path / "home")


def test_a_folder_that_is_called_like_a_key_is_still_a_folder(tmp_path: Path):
    folder = "/home/me/sk-learn-experiments-2024/.venv"
    environ = made(tmp_path, {"PATH": f"{folder}/bin:/usr/bin", "HOME": "/home/token=abc123def", "VIRTUAL_ENV": folder})
    assert environ["PATH"].startswith(f"{folder}/bin:/usr/bin")
    assert (environ["HOME"], environ["VIRTUAL_ENV"]) == ("/home/token=abc123def", folder)
