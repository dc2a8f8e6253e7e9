"""A project and a home of its own for every test, so that nothing outside the temporary folder is read or written."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.processes import discard_all
from tests.support.projects import forget_settings

from headway.settings.files import user_config_file
from headway.settings.trust import trust_texts

Write = Callable[[str], Path]


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    forget_settings(monkeypatch, tmp_path)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    yield folder
    discard_all()


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """An account without a home, as in some containers: neither a variable nor the system's list of users has one."""

    def no_entry(_: int) -> object:
        raise KeyError

    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", no_entry)
    assert user_config_file() is None, "what is written next would go into a real home"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project beside the home, that has its folder for settings already."""
    made = tmp_path / "project"
    (made / ".headway").mkdir(parents=True)
    return made


@pytest.fixture
def in_project(folder: Path) -> Write:
    """Writes the project's file, as the user's word."""

    def write(text: str) -> Path:
        file = folder / ".headway/config.toml"
        file.write_text(text, encoding="utf-8")
        if user_config_file() is not None:
            trust_texts(str(file), text)
        return file

    return write


@pytest.fixture
def for_user(home: Path) -> Write:
    """Writes the user's own file."""

    def write(text: str) -> Path:
        file = home / "config/headway/config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    return write
