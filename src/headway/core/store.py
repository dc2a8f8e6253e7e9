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
    keeps_snapshots: bool
    """Whether it is worth making one."""

    def append(
        self, session: str, expected: int, events: list[Event], snapshot: str | None, *, identity: object = None
    ) -> object:
        """Add the events after version `expected`, all or none, durable on return (what is mere progress of a run:
        safe from the end of the process); a snapshot of the state after them may come along. Returns the identity of
        the log. Raises `StoreConflict` if it has another version, or another identity than the one that is given."""
        ...

    def events(self, session: str, after: int, limit: int | None = None) -> list[Event]:
        """Return the events with a version above `after`, in order; at most `limit` of them."""
        ...

    def event(self, session: str, version: int) -> Event: ...

    def version(self, session: str) -> int:
        """Version of the last event, 0 if there is none. Cheap when nothing changed since the last call."""
        ...

    def position(self, session: str) -> tuple[object, int]:
        """(identity, version). The identity, None where there is no log, tells a log from another one of the same name
        that was begun after it was deleted."""
        ...

    def snapshot(self, session: str) -> Snapshot | None: ...

    def exclusive(self, session: str) -> AbstractContextManager[object]:
        """While it is held, nobody else appends to this log; reads and one append in it see one state of it."""
        ...

    def hold_lease(self, session: str, key: str, holder: str, seconds: float) -> str | None:
        """Take or renew a lease; return None if the holder now has it, else who else does."""
        ...

    def release_lease(self, session: str, key: str, holder: str) -> None:
        """Give up a lease, if the holder has it."""
        ...

    def lease_holder(self, session: str, key: str) -> str | None:
        """Who has a lease that has not run out."""
        ...

    def keep_question(self, session: str, question_id: str, lease: str, text: str) -> None:
        """Keep the exact text of a question while it is open: readable by its owner alone, and in no log or copy.

        It is there as long as whoever now has the lease has it, or until it is dropped.
        """
        ...

    def question(self, session: str, question_id: str) -> str | None: ...

    def drop_question(self, session: str, question_id: str) -> None: ...

    def drop_ended_questions(self) -> None:
        """Drop the questions of runs that no longer have their lease."""
        ...

    def sessions(self) -> list[SessionInfo]:
        """All sessions, the most recently changed first."""
        ...

    def delete(self, session: str) -> bool: ...

    def current(self) -> str | None:
        """Return the project's current session."""
        ...

    def set_current(self, session: str) -> None: ...

    def close(self) -> None: ...
