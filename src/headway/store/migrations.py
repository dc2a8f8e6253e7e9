"""The schema of the SQLite file, as numbered steps. Each is applied together with its record, in one transaction.

To change the schema, add a function at the end; never change one that was released.
"""

from __future__ import annotations

from contextlib import closing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection

APPLICATION_ID = 0x48445759
"""Marks the file as Headway's ("HDWY")."""


def m001_log(db: Connection) -> None:
    db.execute("CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE)")
    db.execute(
        """CREATE TABLE events (
             session_id INTEGER NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
             version INTEGER NOT NULL, at TEXT NOT NULL, agent TEXT NOT NULL, actor TEXT NOT NULL,
             type TEXT NOT NULL, data TEXT NOT NULL,
             PRIMARY KEY (session_id, version)) WITHOUT ROWID"""
    )
    db.execute(
        """CREATE TABLE snapshots (
             session_id INTEGER PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
             version INTEGER NOT NULL, state TEXT NOT NULL)"""
    )
    db.execute("CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")


def m002_leases(db: Connection) -> None:
    db.execute(
        """CREATE TABLE leases (
             session TEXT NOT NULL, key TEXT NOT NULL, holder TEXT NOT NULL, until REAL NOT NULL,
             PRIMARY KEY (session, key)) WITHOUT ROWID"""
    )


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (m001_log, m002_leases)
NEWEST = len(MIGRATIONS)
_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT IN ('sqlite_stat1', 'sqlite_stat4')"
"""Without the tables that ANALYZE makes, which hold figures."""


def migrate(db: Connection) -> None:
    """Brings the schema up to date. The caller holds a write transaction."""
    (done,) = db.execute("PRAGMA user_version").fetchone()
    for number, step in enumerate(MIGRATIONS[done:], start=done + 1):
        step(db)
        db.execute(f"PRAGMA user_version = {number}")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def find_foreign_object(db: Connection, version: int) -> str | None:
    """Return the name of something in the schema that Headway did not make at this version, or made otherwise.

    A trigger, view, index, generated column or virtual table would do something when a row is read or written.
    """
    import sqlite3

    with closing(sqlite3.connect(":memory:")) as fresh:
        for step in MIGRATIONS[:version]:
            step(fresh)
        expected = set(fresh.execute(_OBJECTS))
    found = set(db.execute(_OBJECTS))
    return min((str(name) for _, name, _, _ in found ^ expected), default=None)
