"""Starts workers as processes of their own, and reads back what they reported and what the log holds."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import headway
from headway.core.events import ListDelta
from headway.project import FILE, FOLDER

WORKER = Path(__file__).with_name("worker.py")
LONGEST_RUN = 120.0


def start(role: str, project: Path, name: str, number: float = 0) -> subprocess.Popen[str]:
    """A worker that has opened the session and waits for `go`."""
    worker = subprocess.Popen(
        [sys.executable, WORKER, role, project, name, str(number)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    return worker


def go(worker: subprocess.Popen[str]) -> None:
    assert worker.stdin is not None
    worker.stdin.write("go\n")
    worker.stdin.flush()


def finish(worker: subprocess.Popen[str]) -> list[str]:
    """The lines it printed; the worker must end by itself and without an error."""
    with worker:
        try:
            printed, _ = worker.communicate(timeout=LONGEST_RUN)
        finally:
            worker.kill()
    assert worker.returncode == 0
    return printed.splitlines()


def kill(worker: subprocess.Popen[str]) -> list[str]:
    """SIGKILL, then the whole lines it printed."""
    worker.kill()
    with worker:
        printed, _ = worker.communicate(timeout=LONGEST_RUN)
    return [line.strip() for line in printed.splitlines(keepends=True) if line.endswith("\n")]


def run_together(role: str, project: Path, names: list[str], number: float = 0) -> dict[str, list[str]]:
    """Runs one worker per name, all at once: name → lines it printed."""
    workers = [start(role, project, name, number) for name in names]
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


def assert_intact(project: Path, session: headway.Session) -> None:
    """The file passes SQLite's check, and the log has every version once."""
    db = sqlite3.connect(project / FOLDER / FILE)
    try:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        db.close()
    versions = [event.version for event in session.events()]
    assert versions == list(range(1, len(versions) + 1))
    assert session.version == len(versions)
