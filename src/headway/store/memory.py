"""A store that keeps nothing beyond the process: for tests, `--memory` and tools without a project."""

from __future__ import annotations

import time
from _thread import RLock

from headway.core.errors import StoreConflict
from headway.core.forks import renew_in_children
from headway.session import SessionStore
from headway.store import leases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from headway.core.events import Event
    from headway.core.store import SessionInfo, Snapshot


class MemoryStore(SessionStore):
    keeps_snapshots = False

    def __init__(self) -> None:
        self._logs: dict[str, list[Event]] = {}
        self._identities: dict[str, object] = {}
        self._current: str | None = None
        self._leases: dict[tuple[str, str], tuple[str, float]] = {}
        self._questions: dict[tuple[str, str], tuple[str, str | None, str]] = {}
        """(session, question) → (lease, who had it, text)."""
        self._lock = RLock()
        renew_in_children(self)

    def renew(self) -> None:
        self._lock = RLock()

    def append(
        self, session: str, expected: int, events: list[Event], snapshot: str | None, *, identity: object = None
    ) -> object:
        with self._lock:
            found, version = self.position(session)
            if version != expected or identity not in (None, found):
                raise StoreConflict(f"Expected version {expected}, but the log is at {version}.")
            self._logs.setdefault(session, []).extend(events)
            return self._identities.setdefault(session, object())

    def events(self, session: str, after: int, limit: int | None = None) -> list[Event]:
        return self._logs.get(session, [])[after : None if limit is None else after + limit]

    def event(self, session: str, version: int) -> Event:
        with self._lock:
            if version > self.version(session):
                raise StoreConflict(f"Event {version} no longer exists.")
            return self._logs[session][version - 1]

    def version(self, session: str) -> int:
        return len(self._logs.get(session, ()))

    def position(self, session: str) -> tuple[object, int]:
        with self._lock:
            return self._identities.get(session), self.version(session)

    def snapshot(self, session: str) -> Snapshot | None:
        return None

    def exclusive(self, session: str) -> AbstractContextManager[object]:
        return self._lock

    def hold_lease(self, session: str, key: str, holder: str, seconds: float) -> str | None:
        with self._lock:
            other = self.lease_holder(session, key)
            if other not in (None, holder):
                return other
            self._leases[session, key] = (holder, time.time() + seconds)
            return None

    def release_lease(self, session: str, key: str, holder: str) -> None:
        with self._lock:
            if self.lease_holder(session, key) == holder:
                del self._leases[session, key]

    def lease_holder(self, session: str, key: str) -> str | None:
        held = self._leases.get((session, key))
        return held[0] if held and leases.is_live(*held) else None

    def keep_question(self, session: str, question_id: str, lease: str, text: str) -> None:
        self._questions[session, question_id] = (lease, self.lease_holder(session, lease), text)

    def question(self, session: str, question_id: str) -> str | None:
        lease, holder, text = self._questions.get((session, question_id), ("", None, ""))
        return text if holder is not None and self.lease_holder(session, lease) == holder else None

    def drop_question(self, session: str, question_id: str) -> None:
        self._questions.pop((session, question_id), None)

    def drop_ended_questions(self) -> None:
        for session, question_id in [*self._questions]:
            if self.question(session, question_id) is None:
                self.drop_question(session, question_id)

    def sessions(self) -> list[SessionInfo]:
        from headway.core.store import SessionInfo

        found = [SessionInfo(name, len(log), log[0].at, log[-1].at) for name, log in sorted(self._logs.items())]
        return sorted(found, key=lambda info: info.updated_at, reverse=True)

    def delete(self, session: str) -> bool:
        with self._lock:
            if self._current == session:
                self._current = None
            self._identities.pop(session, None)
            return self._logs.pop(session, None) is not None

    def current(self) -> str | None:
        return self._current

    def set_current(self, session: str) -> None:
        self._current = session

    def close(self) -> None:
        pass
