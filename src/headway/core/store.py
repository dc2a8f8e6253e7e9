"""What the core asks of a place that keeps logs. Implementations are in `headway.store`.

A store keeps, for each session, events numbered 1, 2, 3, … and at most one snapshot. It assumes neither one process
nor one machine.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from headway.core.events import Event

__all__ = ["SessionInfo", "Snapshot", "Store"]


@dataclass(frozen=True, slots=True)
class SessionInfo:
    name: str
    version: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    version: int
    text: str


class Store(Protocol):
    def append(self, session: str, expected: int, events: list[Event], snapshot: str | None) -> None:
        """Adds the events after version `expected`, all or none, durable on return; a snapshot of the state after them
        may come along. Raises `StoreConflict` if the log has another version."""
        ...

    def events(self, session: str, after: int) -> list[Event]:
        """The events with a version above `after`, in order."""
        ...

    def event(self, session: str, version: int) -> Event: ...

    def version(self, session: str) -> int:
        """Version of the last event, 0 if there is none. Cheap when nothing changed since the last call."""
        ...

    def identity(self, session: str) -> object:
        """Tells the log whose version was last asked for from another one of that name, begun after it was deleted.
        None where it is not known."""
        ...

    def snapshot(self, session: str) -> Snapshot | None: ...

    def turn(self) -> AbstractContextManager[object]:
        """While it is held, nobody else appends; reads and one append in it see one state of the log."""
        ...

    def sessions(self) -> list[SessionInfo]:
        """All sessions, the most recently changed first."""
        ...

    def delete(self, session: str) -> bool: ...

    def current(self) -> str | None:
        """The project's current session."""
        ...

    def set_current(self, session: str) -> None: ...

    def close(self) -> None: ...
