"""Events to append, sessions over a file, and a look at the file from outside."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from headway import Session
from headway.core.events import Event, ListDelta, Splice
from headway.core.model import Todo
from headway.project import FILE, FOLDER
from headway.store.sqlite import SqliteStore


def event(version: int, at: str = "2025-01-02T03:04:05.000Z") -> Event:
    """An event that adds one item."""
    todo = Todo(f"t{version}", f"item {version}", created_at=at)
    delta = ListDelta(cause="add", added=(todo,), order=Splice(version - 1, (), (todo.id,)), previous=version - 1)
    return Event(version, at, "main", "user", delta)


def file_of(project: Path) -> Path:
    return project / FOLDER / FILE


def over(store: SqliteStore, name: str = "default") -> Session:
    return store.session(name)


def contents(session: Session) -> list[str]:
    return [todo.content for todo in session.todos]


def connection(store: SqliteStore) -> sqlite3.Connection:
    """The store's own connection, whose settings no other connection can see."""
    db: object = vars(store)["_db"]
    assert isinstance(db, sqlite3.Connection)
    return db


def look(path: Path, sql: str, *values: object) -> list[tuple[object, ...]]:
    """Runs one statement on the file as another program would."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        return db.execute(sql, values).fetchall()
    finally:
        db.close()


def side_files(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.parent.iterdir())
