"""What replacing a list of 50 items costs: on disk, and in memory beside a validation of the same input."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

import headway
from headway.project import FILE, FOLDER
from headway.store.migrations import migrate

from .measure import Measured, Row, side_by_side

SIZE = 50
STATUSES = ("pending", "in_progress", "completed")
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Item = dict[str, object]


class CheckedItem(BaseModel):
    model_config = ConfigDict(extra="forbid")
    content: Text
    activeForm: Text
    status: Literal["pending", "in_progress", "completed"]


class CheckedList(BaseModel):
    model_config = ConfigDict(extra="forbid")
    todos: list[CheckedItem]


def _items(label: object) -> list[Item]:
    return [
        {
            "content": f"Fix item {number} of the parser ({label})",
            "activeForm": f"Fixing item {number} of the parser ({label})",
            "status": "pending",
        }
        for number in range(SIZE)
    ]


class BareLog:
    """The tables of the store without the store: takes over the rows of an append as they are."""

    def __init__(self, folder: Path) -> None:
        self._source = sqlite3.connect(folder / FILE, isolation_level=None)
        self._db = sqlite3.connect(folder / "bare.db", isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        self._db.execute("BEGIN IMMEDIATE")
        migrate(self._db)
        self._db.execute("INSERT INTO sessions (name) VALUES ('default')")
        self._db.execute("COMMIT")
        self._event: tuple[object, ...] = ()
        self._snapshot: tuple[object, ...] | None = None

    def read(self, number: int) -> None:
        """The rows of the last append."""
        self._event = self._source.execute("SELECT * FROM events ORDER BY version DESC LIMIT 1").fetchone()
        self._snapshot = self._source.execute("SELECT * FROM snapshots WHERE version = ?", self._event[1:2]).fetchone()

    def write(self, number: int) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", self._event)
        if self._snapshot:
            self._db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", self._snapshot)
        self._db.execute("COMMIT")

    def close(self) -> None:
        self._source.close()
        self._db.close()


def _on_disk(project: Path, lists: list[list[Item]]) -> Measured:
    project.mkdir()
    session = headway.open(project)
    session.write(lists[-1])
    bare = BareLog(project / FOLDER)
    measured = side_by_side(
        lambda number: session.write(lists[number % len(lists)]), bare.write, 400, between=bare.read
    )
    bare.close()
    session.close()
    return measured


def durable_all_new(folder: Path) -> Measured:
    return _on_disk(folder / "all-new", [_items("first"), _items("second")])


def durable_two_changed(folder: Path) -> Measured:
    return _on_disk(folder / "two-changed", _two_changed_in_each(100))


def _two_changed_in_each(steps: int) -> list[list[Item]]:
    """Lists in each of which two of the fifty items have another status than in the one before."""
    items = _items("stays")
    lists: list[list[Item]] = []
    for step in range(steps):
        for place in (2 * step % SIZE, (2 * step + 1) % SIZE):
            items[place] = {**items[place], "status": STATUSES[(1 + 2 * step // SIZE) % 3]}
        lists.append([dict(item) for item in items])
    return lists


def _against_validation(session: headway.Session, lists: list[list[Item]]) -> Measured:
    return side_by_side(
        lambda number: session.write(lists[number]),
        lambda number: CheckedList.model_validate({"todos": lists[number]}),
        len(lists) - 1,
    )


def mostly_unchanged(folder: Path) -> Measured:
    session = headway.open(memory=True)
    session.write(_items("stays"))
    return _against_validation(session, _two_changed_in_each(1000))


def all_new(folder: Path) -> Measured:
    session = headway.open(memory=True)
    return _against_validation(session, [_items(step) for step in range(500)])


def secret_words(folder: Path) -> Measured:
    """Texts that may have a key in them are searched for one."""
    session = headway.open(memory=True)
    return _against_validation(session, [_items(f"step {step} of the token") for step in range(300)])


BARE = "the same rows in a bare SQLite transaction"
VALIDATION = "pydantic validates the same input"
ROWS = [
    Row("replace 50 items, durable, 2 changed", BARE, 2, durable_two_changed),
    Row("replace 50 items, durable, all new", BARE, 2, durable_all_new),
    Row("replace 50 items in memory, 2 changed", VALIDATION, 3, mostly_unchanged),
    Row("replace 50 items in memory, all new", VALIDATION, 6, all_new),
    Row("replace 50 items in memory, with secret words", VALIDATION, 15, secret_words),
]
