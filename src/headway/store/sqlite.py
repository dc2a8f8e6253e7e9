"""The log in one SQLite file, shared by any number of processes on one machine.

WAL mode with full synchronisation: an append is on the disk when it returns. Writers take turns by short, random waits
rather than SQLite's growing ones, under which one of many can starve. The file is created by the first write.
"""

from __future__ import annotations

import os
import sqlite3
import time
from _thread import RLock
from contextlib import contextmanager

from headway.core.codec import NewerRecord, read_event, to_event_json
from headway.core.errors import StoreConflict, StoreError
from headway.core.forks import pause_for_forks, renew_in_children
from headway.session import SessionStore
from headway.store import leases, opening, sqlite_errors
from headway.store.folder import FOLDER, close_to_others, make_private_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any, TypeAlias, TypeVar

    from headway.core.events import Event
    from headway.core.store import SessionInfo, Snapshot

    T = TypeVar("T")
    _Row: TypeAlias = tuple[int, str, str, str, str, str]

_COLUMNS = "version, at, agent, actor, type, data"
_INSERT = f"INSERT INTO events (session_id, {_COLUMNS})"
_SHORTEST_WAIT = 0.0005
_inherited: list[sqlite3.Connection] = []
"""Connections of a parent process: neither used nor closed after a fork, since either would harm the parent's."""


def _read_only() -> tuple[int, int, int]:
    """Stands for a connection that sees no changes. It is never taken for the file itself, and so serves once."""
    return (os.getpid(), 0, 0)


class SqliteStore(SessionStore):
    keeps_snapshots = True

    def __init__(
        self, path: str, *, timeout: float = 5.0, is_adopted: Callable[[str], bool] = lambda path: False
    ) -> None:
        self.path = path
        self.timeout = timeout
        self._is_adopted = is_adopted
        """Whether the user adopted a file that someone else may have written."""
        self._translating = sqlite_errors.translate_errors(path)
        self._lock = RLock()
        renew_in_children(self)
        self._db: sqlite3.Connection | None = None
        self._opened: tuple[int, int, int] = (0, 0, 0)
        self._unwritable: StoreError | None = None
        """Why the file can only be read, when that is so."""
        # SQLite in the child would take a lock for its own.
        pause_for_forks(self)
        self._seen: dict[str, tuple[int, int, int | None]] = {}
        """session → (data_version, version, id of its row) when its version was last read."""
        self._full = True
        """Whether a commit waits for the disk."""

    def renew(self) -> None:
        self._lock = RLock()

    # the protocol

    def append(
        self, session: str, expected: int, events: list[Event], snapshot: str | None, *, identity: object = None
    ) -> object:
        rows = [(e.version, e.at, e.agent, e.actor, e.type, to_event_json(e)) for e in events]
        with self._lock, self._translating:
            db = self._get_writer()
            held = db.in_transaction
            if not held:
                self._synchronise(db, full=not all(event.is_progress for event in events))
            return self._identity(self._append(db, session, expected, rows, snapshot, identity, held=held))

    def _append(
        self,
        db: sqlite3.Connection,
        session: str,
        expected: int,
        rows: list[_Row],
        snapshot: str | None,
        identity: object,
        *,
        held: bool,
    ) -> int | None:
        try:
            if not held:
                self._retry_while_busy(lambda: db.execute("BEGIN IMMEDIATE"))
            session_id, version = self._position(db, session)
            self._compare(expected, identity, session_id, version)
            if session_id is None:
                session_id = db.execute("INSERT INTO sessions (name) VALUES (?)", (session,)).lastrowid
            last = expected + len(rows)
            before = db.total_changes
            db.executemany(f"{_INSERT} VALUES ({session_id}, ?, ?, ?, ?, ?, ?)", rows)
            if db.total_changes - before != len(rows):
                raise sqlite_errors.tampered_error(self.path)
            if snapshot is not None:
                db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (session_id, last, snapshot))
            token = self._seen.pop(session)[0]  # an interrupt may come when the commit is done
            db.execute("COMMIT")
        except BaseException:
            if not held:
                opening.roll_back(db)
            raise
        self._seen[session] = (token, last, session_id)
        return session_id

    def _compare(self, expected: int, identity: object, session_id: int | None, version: int) -> None:
        if version != expected or identity not in (None, self._identity(session_id)):
            raise StoreConflict(f"Expected version {expected}, but the log is at {version}.")

    def events(self, session: str, after: int, limit: int | None = None) -> list[Event]:
        rows = self._fetch_rows(
            f"SELECT {_COLUMNS} FROM events WHERE session_id = (SELECT id FROM sessions WHERE name = ?)"
            " AND version > ? ORDER BY version LIMIT ?",
            (session, after, -1 if limit is None else limit),
        )
        if rows and rows[-1][0] != after + len(rows):
            raise sqlite_errors.damaged_error(self.path, f"events are missing after version {after}")
        return [self._event(row) for row in rows]

    def event(self, session: str, version: int) -> Event:
        rows = self._fetch_rows(
            f"SELECT {_COLUMNS} FROM events WHERE session_id = (SELECT id FROM sessions WHERE name = ?)"
            " AND version = ?",
            (session, version),
        )
        if not rows:
            if version > self.version(session):
                raise StoreConflict(f"Event {version} no longer exists.")
            raise sqlite_errors.damaged_error(self.path, f"event {version} is missing")
        return self._event(rows[0])

    def version(self, session: str) -> int:
        return self.position(session)[1]

    def position(self, session: str) -> tuple[object, int]:
        with self._lock, self._translating:
            db = self._get_reader()
            if db is None:
                return None, 0
            row, version = self._retry_while_busy(lambda: self._position(db, session))
            return self._identity(row), version

    def snapshot(self, session: str) -> Snapshot | None:
        rows = self._fetch_rows(
            "SELECT version, state FROM snapshots WHERE session_id = (SELECT id FROM sessions WHERE name = ?)",
            (session,),
        )
        if not rows:
            return None
        from headway.core.store import Snapshot

        return Snapshot(*rows[0])

    @contextmanager
    def exclusive(self, session: str) -> Generator[None]:
        with self._begin_write():
            yield

    def hold_lease(self, session: str, key: str, holder: str, seconds: float) -> str | None:
        with self._writing(full=False) as db:
            return leases.hold_lease(db, session, key, holder, seconds)

    def release_lease(self, session: str, key: str, holder: str) -> None:
        with self._writing(full=False) as db:
            leases.release_lease(db, session, key, holder)

    def lease_holder(self, session: str, key: str) -> str | None:
        return leases.find_live_holder(self._fetch_rows(leases.FIND, (session, key)))

    def keep_question(self, session: str, question_id: str, lease: str, text: str) -> None:
        from headway.store import question_files

        holder = self.lease_holder(session, lease)
        if holder is not None:
            question_files.keep(self.path, session, question_id, lease, holder, text)

    def question(self, session: str, question_id: str) -> str | None:
        from headway.store import question_files

        kept = question_files.read(self.path, session, question_id)
        is_open = kept is not None and self.lease_holder(session, kept["lease"]) == kept["holder"]
        return kept["text"] if kept is not None and is_open else None

    def drop_question(self, session: str, question_id: str) -> None:
        from headway.store import question_files

        question_files.drop(self.path, session, question_id)

    def drop_ended_questions(self) -> None:
        if os.path.isdir(self.path + opening.QUESTIONS):
            from headway.store import question_files

            question_files.drop_ended(self.path, self.lease_holder)

    def sessions(self) -> list[SessionInfo]:
        from headway.core.store import SessionInfo

        rows = self._fetch_rows(
            """SELECT name, last.version, first.at, last.at FROM sessions
               JOIN events AS first ON first.session_id = id AND first.version = 1
               JOIN events AS last ON last.session_id = id
                AND last.version = (SELECT max(version) FROM events WHERE session_id = id)
               ORDER BY last.at DESC, name""",
            (),
        )
        return [SessionInfo(*row) for row in rows]

    def delete(self, session: str) -> bool:
        with self._lock, self._translating:
            if self._get_reader() is None:
                return False
        with self._writing() as db:
            self._seen.pop(session, None)
            db.execute("DELETE FROM settings WHERE key = 'current' AND value = ?", (session,))
            return db.execute("DELETE FROM sessions WHERE name = ?", (session,)).rowcount > 0

    def current(self) -> str | None:
        rows = self._fetch_rows("SELECT value FROM settings WHERE key = 'current'", ())
        return rows[0][0] if rows else None

    def set_current(self, session: str) -> None:
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO settings VALUES ('current', ?)", (session,))

    def close(self) -> None:
        with self._lock:
            self._forget()

    # connections

    def _get_reader(self) -> sqlite3.Connection | None:
        """A connection to the file, or None while there is nothing in it."""
        if self._db is not None and self._is_same_file():
            return self._db
        self._forget()
        try:
            if not os.path.getsize(self.path):
                return None
        except (FileNotFoundError, NotADirectoryError):
            return None
        self._db = self._retry_while_busy(self._connect)
        if self._unwritable is None:
            self.drop_ended_questions()
        return self._db

    def _get_writer(self) -> sqlite3.Connection:
        db = self._get_reader()
        if db is None:
            self._create()
            db = self._get_reader()
            assert db is not None
        if self._unwritable is not None and self._opened == _read_only():
            raise self._unwritable
        return db

    def _is_same_file(self) -> bool:
        """Same process, and the file was neither deleted nor replaced."""
        try:
            now = os.stat(self.path)
        except OSError:
            return False
        return self._opened == (os.getpid(), now.st_dev, now.st_ino)

    def _forget(self) -> None:
        if self._db is None:
            return
        if self._opened[0] == os.getpid():
            self._db.close()
        else:
            _inherited.append(self._db)
        self._db = None
        self._seen.clear()

    def _connect(self) -> sqlite3.Connection:
        self._full = True
        opening.refuse_foreign(self.path, self._is_adopted)
        if os.path.basename(folder := os.path.dirname(self.path)) == FOLDER:
            close_to_others(folder)
        try:
            db = opening.connect(self.path)
        except sqlite3.Error as error:
            if not sqlite_errors.is_unwritable(error) or not os.path.exists(self.path):
                raise
            self._opened = _read_only()
            self._unwritable = sqlite_errors.translate_error(error, self.path)
            return opening.connect_read_only(self.path, error)
        found = os.stat(self.path)
        self._opened = (os.getpid(), found.st_dev, found.st_ino)
        return db

    def _create(self) -> None:
        """Makes the folder, which git ignores as a whole, and the file in it."""
        make_private_folder(os.path.dirname(self.path))
        self._db = self._retry_while_busy(self._connect)

    # statements

    def _fetch_rows(self, sql: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._lock, self._translating:
            db = self._get_reader()
            return [] if db is None else self._retry_while_busy(lambda: db.execute(sql, values).fetchall())

    @contextmanager
    def _begin_write(self, *, full: bool = True) -> Generator[sqlite3.Connection]:
        """A write transaction; what is not committed in it is taken back."""
        with self._lock, self._translating:
            db = self._get_writer()
            self._synchronise(db, full=full)
            try:
                self._retry_while_busy(lambda: db.execute("BEGIN IMMEDIATE"))
                yield db
            finally:
                if db.in_transaction:
                    opening.roll_back(db)

    @contextmanager
    def _writing(self, *, full: bool = True) -> Generator[sqlite3.Connection]:
        with self._begin_write(full=full) as db:
            yield db
            db.execute("COMMIT")

    def _position(self, db: sqlite3.Connection, session: str) -> tuple[int | None, int]:
        """(id of the session's row, version), read again only if someone else wrote to the file since."""
        (token,) = db.execute("PRAGMA data_version").fetchone()
        seen = self._seen.get(session)
        if seen is None or seen[0] != token:
            row = db.execute(
                "SELECT id, (SELECT max(version) FROM events WHERE session_id = id) FROM sessions WHERE name = ?",
                (session,),
            ).fetchone()
            seen = self._seen[session] = (token, row[1] or 0, row[0]) if row else (token, 0, None)
        return seen[2], seen[1]

    def _identity(self, row: int | None) -> object:
        return (*self._opened[1:], row) if row else None

    def _event(self, row: tuple[Any, ...]) -> Event:
        try:
            return read_event(*row)
        except NewerRecord as error:
            raise sqlite_errors.too_new_error(self.path, error) from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise sqlite_errors.damaged_error(self.path, f"event {row[0]} cannot be read") from error

    def _synchronise(self, db: sqlite3.Connection, *, full: bool) -> None:
        """Waits for the disk only where it is worth it: a run makes several small steps a second."""
        if full != self._full:
            db.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._full = full

    def _retry_while_busy(self, attempt: Callable[[], T]) -> T:
        """Tries until the file is free, at most for `timeout` seconds."""
        deadline: float | None = None
        while True:
            try:
                return attempt()
            except sqlite3.Error as error:
                if not sqlite_errors.is_busy(error):
                    raise
                deadline = deadline or time.monotonic() + self.timeout
                if time.monotonic() > deadline:
                    raise sqlite_errors.busy_error(self.path, self.timeout) from error
            time.sleep(_SHORTEST_WAIT + time.perf_counter_ns() % 3_500_000 / 1e9)

    def pause(self) -> None:
        """Waits until nothing is under way, and keeps it so until `go_on`."""
        self._lock.acquire()

    def go_on(self) -> None:
        self._lock.release()
