"""Which list a client means, and who the agent at the other end is: the name it works under, what it started.

Knows nothing of the protocol. `tools.py` works with it, `server.py` makes it.
"""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from headway.contracts.arguments import ToolFault
from headway.core.clock import now
from headway.core.commands import Update
from headway.core.errors import ClaimRefused, HeadwayError
from headway.core.events import ListDelta
from headway.core.model import EXECUTOR, JUDGE, LOOP, MODEL, TRACKER, Status, is_person
from headway.core.text import sanitize_for_display
from headway.project import choose_session_name, find_project, find_project_of_list, open_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headway.core.model import State
    from headway.session import Session, SessionStore

_LONGEST_NAME = 40
_RESERVED = frozenset({MODEL, TRACKER, JUDGE, LOOP, EXECUTOR})
"""Names that say more than who it was: what the user does is trusted."""


class SessionFinder:
    """Finds the session that a client means: what the command line or the environment say, else the client's roots."""

    def __init__(
        self,
        environ: Mapping[str, str],
        project: str | None = None,
        session: str | None = None,
        agent: str | None = None,
    ) -> None:
        self._environ = environ
        self._project = project
        self._name = session
        self._agent = agent
        self._store: SessionStore | None = None
        self._session: Session | None = None

    @property
    def needs_roots(self) -> bool:
        """Whether the client's roots, if it has any, decide which project is meant."""
        return self._project is None and not self._environ.get("HEADWAY_PROJECT")

    def use_roots(self, uris: Iterable[str]) -> None:
        """Settle on the project of the first root that is a folder here, else on that of the working folder."""
        folder = next(filter(None, map(_to_folder, uris)), None)
        self._project = find_project_of_list(self._environ) if folder is None else find_project(self._environ, folder)

    def open(self) -> Session:
        """Return the list that is meant now: unless a session was named, the project's current one."""
        if self._project is None:
            self._project = find_project_of_list(self._environ)
        store = self._store = self._store or open_store(self._project)
        name = choose_session_name(store, self._environ, self._name)
        if self._session is None or self._session.name != name:
            self._session = store.session(name)
        return self._session if self._agent is None else self._session.agent(self._agent)


def _to_folder(uri: str) -> str | None:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    folder = url2pathname(parts.path)
    return folder if os.path.isabs(folder) and os.path.isdir(folder) else None


class CallingAgent:
    """An agent at the other end of a connection; `client` is what its program calls itself.

    Without a connection, where each request stands alone, it has no name of its own to claim todos with.
    """

    def __init__(self, finder: SessionFinder, client: str, *, connected: bool = True) -> None:
        name = sanitize_for_display(client, _LONGEST_NAME).strip() or "mcp"
        self.actor = f"{'mcp-' * is_person(name)}{name}-{secrets.token_hex(2) if connected else 'http'}"
        self._connected = connected
        self._finder = finder
        self._met: dict[str, tuple[Session, int]] = {}
        """Session → itself, and its version when this agent first looked at it."""

    def open(self) -> Session:
        session = self._finder.open()
        if self._connected and session.name not in self._met:
            self._met[session.name] = session, session.version
        return session

    def get_actor(self, worker: str | None) -> str:
        """Return the name under which the agent changes a todo: its own, or that of the worker it says it is."""
        if worker is None:
            return self.actor
        name = " ".join(worker.split())
        if not name or name.lower() in _RESERVED or is_person(name.lower()):
            raise ToolFault(f"'{sanitize_for_display(worker)}' cannot be the name of a worker; choose another one.")
        return name

    def get_claimer(self, worker: str | None) -> str:
        """Return the name under which the agent claims todos."""
        if worker is None and not self._connected:
            raise ToolFault("Pass `worker`, a name of your own for this task, and the same one in every call.")
        return self.get_actor(worker)

    def release_started(self) -> None:
        """Set what the agent started without a claim, and left in progress, to pending, marked as interrupted."""
        for session, version in self._met.values():
            try:
                for todo_id in self._list_started(session, version):
                    self._interrupt(session, todo_id)
            except HeadwayError:  # whoever looks next sees it in progress; there is nobody left to tell
                continue
        self._met.clear()

    def _list_started(self, session: Session, version: int) -> list[str]:
        started = {todo.id for todo in session.todos if todo.status is Status.IN_PROGRESS and todo.owner is None}
        if not started:
            return []
        actors: dict[str, str] = {}
        for event in session.events(after=version):
            if event.agent == session.agent_id and isinstance(event.data, ListDelta):
                delta = event.data
                begun = [todo.id for todo in delta.added if todo.status is Status.IN_PROGRESS]
                begun += [
                    todo_id
                    for todo_id, fields in delta.changed.items()
                    if fields.get("status", (None, None))[1] == Status.IN_PROGRESS
                ]
                actors.update(dict.fromkeys(begun, event.actor))
        return [todo_id for todo_id in started if actors.get(todo_id) == self.actor]

    def _interrupt(self, session: Session, todo_id: str) -> None:
        def make(state: State) -> Update:
            todo = state.list_of(session.agent_id).items.get(todo_id)
            if todo is None or todo.status is not Status.IN_PROGRESS or todo.owner is not None:
                raise ClaimRefused(f"'{todo_id}' is no longer in progress.")
            fields = {"status": Status.PENDING, "interrupted": True}
            return Update(session.agent_id, self.actor, now(), todo_id, fields, True)

        try:
            session.log.execute(make)
        except ClaimRefused:  # someone was faster
            return
