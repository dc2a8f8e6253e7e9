"""Starts workers as processes of their own, and reads back what they reported and what the log holds."""

from __future__ import annotations

import signal
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.processes import Started, function, start

import headway
from headway.core.events import ListDelta
from headway.project import FILE, FOLDER


def start_worker(role: str, project: Path, name: str, number: float = 0) -> Started:
    """A worker that has opened the session and waits for `go`."""
    worker = start(function("tests.soak.worker:work", role, project, name, number), given=None)
    assert worker.out.line() == "ready"
    return worker


def go(worker: Started) -> None:
    worker.write("go\n")


def finish(worker: Started) -> list[str]:
    """The lines it printed; the worker must end by itself and without an error."""
    done = worker.end()
    assert done.code == 0, done.err
    return done.out.splitlines()


def kill(worker: Started) -> list[str]:
    """SIGKILL, then the whole lines it printed."""
    worker.signal(signal.SIGKILL)
    done = worker.end()
    assert done.code == -signal.SIGKILL, done.err
    return [line.strip() for line in done.out.splitlines(keepends=True) if line.endswith("\n")]


def run_together(role: str, project: Path, names: list[str], number: float = 0) -> dict[str, list[str]]:
    """Runs one worker per name, all at once: name → lines it printed."""
    workers = [start_worker(role, project, name, number) for name in names]
    for worker in workers:
        go(worker)
    with ThreadPoolExecutor(len(workers)) as readers:
        return dict(zip(names, readers.map(finish, workers), strict=True))


def noted(session: headway.Session) -> list[str]:
    """What was noted on items, in the order of the log; a change that notes the same on many items counts once."""
    notes: list[str] = []
    for event in session.events():
        assert isinstance(event.data, ListDelta)
        texts = {str(fields["notes"][1]) for fields in event.data.changed.values() if "notes" in fields}
        texts |= {todo.notes for todo in event.data.added if todo.notes}
        assert len(texts) <= 1, f"event {event.version} mixes changes: {texts}"
        notes += texts
    return notes


def repeated(texts: list[str]) -> list[str]:
    return [text for text, count in Counter(texts).items() if count > 1]


def assert_intact(project: Path, session: headway.Session, *, after: int = 0) -> None:
    """The file passes SQLite's check, and the log has every version once, or every one after a given version."""
    db = sqlite3.connect(project / FOLDER / FILE)
    try:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        db.close()
    versions = [event.version for event in session.events(after=after)]
    assert versions == list(range(after + 1, after + len(versions) + 1))
    assert session.version == after + len(versions)
