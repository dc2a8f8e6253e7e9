"""`TodoWriteTool`: the envelope contract as a tool object, for agents that call `run` with a dict and read JSON."""

from __future__ import annotations

import os

from headway.contracts import envelope
from headway.contracts.shared_rules import NAME
from headway.project import open_session
from headway.session import Session


class TodoWriteTool:
    """Keeps a todo list for an agent. Without a session it keeps one of its own, in memory."""

    name = NAME
    description = envelope.DESCRIPTION

    def __init__(self, project_root: str | os.PathLike[str], session: Session | None = None) -> None:
        self.project_root: str = os.path.abspath(project_root)
        self.session: Session = open_session(memory=True) if session is None else session

    @property
    def definition(self) -> dict[str, object]:
        """Name, description and JSON schema, as a model is told of the tool."""
        return envelope.definition()

    def run(self, params: object) -> str:
        """Replaces the list; answers the Standard Envelope as a JSON string. Never raises."""
        return envelope.run(self.session, self.project_root, params)
