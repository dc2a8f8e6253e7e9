"""A store as it was: what `session.at(version)` reads from. It can be read in every way, and not be written to."""

from __future__ import annotations

from contextlib import nullcontext

from headway.core.errors import StoreReadOnly
from headway.core.text import sanitize_for_display
from headway.session import SessionStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from headway.core.events import Event
    from headway.core.store import SessionInfo, Snapshot


class PastStore(SessionStore):
    """One session's log up to a version."""

    keeps_snapshots = False

    def __init__(self, store: SessionStore, session: str, last: int) -> None:
        self._store = store
        self._session = session
        self._last = last

    def events(self, session: str, after: int, limit: int | None = None) -> list[Event]:
        left = max(self.version(session) - after, 0)
        return self._store.events(session, after, left if limit is None else min(limit, left)) if left else []

    def event(self, session: str, version: int) -> Event:
        return self._store.event(session, version)

    def version(self, session: str) -> int:
        version = self._store.version(session)
        return min(version, self._last) if session == self._session else version

    def position(self, session: str) -> tuple[object, int]:
        return self._store.position(session)[0], self.version(session)

    def snapshot(self, session: str) -> Snapshot | None:
        found = self._store.snapshot(session)
        return found if found is not None and found.version <= self.version(session) else None

    def sessions(self) -> list[SessionInfo]:
        return self._store.sessions()

    def current(self) -> str | None:
        return self._store.current()

    def question(self, session: str, question_id: str) -> str | None:
        return None

    def lease_holder(self, session: str, key: str) -> str | None:
        return "the past"  # in which no run is ended because its process is gone by now

    def exclusive(self, session: str) -> AbstractContextManager[object]:
        return nullcontext()

    def close(self) -> None:
        """Leave open what others use."""

    def append(
        self, session: str, expected: int, events: list[Event], snapshot: str | None, *, identity: object = None
    ) -> object:
        raise self._refusal()

    def hold_lease(self, session: str, key: str, holder: str, seconds: float) -> str | None:
        raise self._refusal()

    def release_lease(self, session: str, key: str, holder: str) -> None:
        raise self._refusal()

    def keep_question(self, session: str, question_id: str, lease: str, text: str) -> None:
        raise self._refusal()

    def drop_question(self, session: str, question_id: str) -> None:
        raise self._refusal()

    def drop_ended_questions(self) -> None:
        raise self._refusal()

    def delete(self, session: str) -> bool:
        raise self._refusal()

    def set_current(self, session: str) -> None:
        raise self._refusal()

    def _refusal(self) -> StoreReadOnly:
        return StoreReadOnly(
            f"This is the session '{sanitize_for_display(self._session)}' as it was at version {self._last}, which "
            "cannot be changed; change the session itself."
        )
