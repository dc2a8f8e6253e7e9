"""Connections to the SQLite file: checked for whose it is, brought up to date, and read-only where it must be."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress

from headway.store import sqlite_errors
from headway.store.foreign_files import explain_foreign
from headway.store.migrations import APPLICATION_ID, NEWEST, find_foreign_object, migrate
from headway.store.ordinary_files import explain_unusual

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SIDE_FILES = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside the file, and reads as a part of it."""
QUESTIONS = "-questions"
"""The folder beside the file with the exact texts of open questions."""


def refuse_unusual(path: str) -> None:
    """Raise `StoreForeign` where SQLite would write through a link or another name, or wait for a pipe."""
    for file in (path, *(path + suffix for suffix in SIDE_FILES)):
        if (why := explain_unusual(file)) is not None:
            raise sqlite_errors.unusual(file, why)


def refuse_foreign(path: str, is_adopted: Callable[[str], bool]) -> None:
    """Raise `StoreForeign` for a file that someone else may have written, unless the user adopted it."""
    refuse_unusual(path)
    for file in (path, *(path + suffix for suffix in SIDE_FILES)):
        why = explain_foreign(file) if os.path.exists(file) else None
        if why is not None and not is_adopted(path):
            raise sqlite_errors.foreign_error(path, why)


def connect(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    return _prepare_or_close(db, path)


def connect_read_only(path: str, error: sqlite3.Error) -> sqlite3.Connection:
    """For a folder that may not be written or has no room, where SQLite cannot keep its side files."""
    wal = path + "-wal"
    if os.path.exists(wal) and os.path.getsize(wal):
        if sqlite_errors.is_full(error):
            raise error
        raise sqlite_errors.read_only_error(path, "changes in its -wal file have not been applied yet") from error
    from urllib.parse import quote

    db = sqlite3.connect(
        f"file:{quote(path)}?immutable=1", uri=True, timeout=0, isolation_level=None, check_same_thread=False
    )
    return _prepare_or_close(db, path, read_only=True)


def _prepare_or_close(db: sqlite3.Connection, path: str, *, read_only: bool = False) -> sqlite3.Connection:
    try:
        _prepare(db, path, read_only=read_only)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: str, *, read_only: bool) -> None:
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cell_size_check = ON")
    db.execute("PRAGMA mmap_size = 0")
    db.execute("BEGIN")  # one view of the file, which another process may be creating right now
    (schema,) = db.execute("PRAGMA user_version").fetchone()
    (application,) = db.execute("PRAGMA application_id").fetchone()
    foreign = application or schema or db.execute("SELECT 1 FROM sqlite_master").fetchone()
    if application != APPLICATION_ID and foreign:
        raise sqlite_errors.damaged_error(path, "it belongs to another program")
    if schema > NEWEST:
        raise sqlite_errors.too_new_error(path, f"schema {schema}, this one knows {NEWEST}")
    if (name := find_foreign_object(db, schema)) is not None:
        raise sqlite_errors.altered_error(path, name)
    db.execute("COMMIT")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA foreign_keys = ON")
    if schema < NEWEST and not (read_only and schema):
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        try:
            migrate(db)
            db.execute("COMMIT")
        except BaseException:
            roll_back(db)
            raise


def roll_back(db: sqlite3.Connection) -> None:
    if db.in_transaction:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
