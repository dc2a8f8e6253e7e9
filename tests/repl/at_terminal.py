"""A person at the terminal session, as slash commands know them (`Live`)."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import headway as api
from headway.cli.options import CommandContext
from headway.execute.options import ExecutionOptions
from headway.repl import slash
from headway.session import Session


class AtTerminal:
    """Types slash commands; what they set is kept here."""

    def __init__(self, folder: Path, name: str = "mine", *, memory: bool = False) -> None:
        self.session: Session = api.open(folder, name, memory=memory)
        self.model: str | None = None
        self.mode = "default"
        self.is_in_memory = memory
        self.has_left = False
        self.wanted: list[ExecutionOptions] = []
        self.chosen = CommandContext(project=str(folder), live=self, program="/")

    def __call__(self, line: str) -> str:
        return slash.run_slash_command(line, self.chosen)

    def use_session(self, name: str) -> None:
        self.session = self.session.store.session(name)

    def edit(self, text: str, suffix: str) -> str | None:
        return None

    def execute(self, options: ExecutionOptions) -> None:
        self.wanted.append(options)

    def serve(self, port: int | None) -> NoReturn:
        raise NotImplementedError

    def leave(self) -> None:
        self.has_left = True
