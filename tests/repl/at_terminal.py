"""A person at the terminal session, as slash commands know them (`Live`)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import headway as api
from headway.agent import PROVIDERS
from headway.cli.options import Chosen, Execution
from headway.core.log import Log
from headway.core.session import Session
from headway.repl import slash


def empty_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project that is the working folder, of a person who has set nothing."""
    models = {name for row in PROVIDERS.values() for name in (*row.keys, row.url_variable) if name}
    for name in list(os.environ):
        if name in models or name.startswith("HEADWAY_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    return folder


class AtTerminal:
    """Types slash commands; what they set is kept here."""

    def __init__(self, folder: Path, name: str = "mine", *, memory: bool = False) -> None:
        self.session: Session = api.open(folder, name, memory=memory)
        self.model: str | None = None
        self.mode = "default"
        self.has_left = False
        self.wanted: list[Execution] = []
        self.chosen = Chosen(project=str(folder), live=self)

    def __call__(self, line: str) -> str:
        return slash.run(line, self.chosen)

    def use_session(self, name: str) -> None:
        name = "begun" if name == "new" else name
        self.session = Session(Log(self.session.store, name))

    def edit(self, text: str, suffix: str) -> str | None:
        return None

    def execute(self, wanted: Execution) -> None:
        self.wanted.append(wanted)

    def serve(self, port: int | None) -> object:
        raise NotImplementedError

    def leave(self) -> None:
        self.has_left = True
