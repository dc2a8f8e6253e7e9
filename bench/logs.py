"""What a long log costs, and how soon another process sees a change."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

import headway
from headway.core import commands
from headway.core.clock import now
from headway.core.codec import write_state
from headway.core.decide import decide
from headway.core.events import Event
from headway.core.evolve import fold
from headway.core.log import Log
from headway.core.model import MAIN_AGENT
from headway.project import DEFAULT_SESSION, open_store

from .measure import Measured, Row, side_by_side

ITEMS = 20
BATCH = 100
"""Events per append while building. A snapshot follows each, where single appends to so short a list leave one too."""


def session_of(folder: Path, events: int) -> Path:
    """A project whose session has that many events, made on first use."""
    project = folder / f"events-{events}"
    if project.exists():
        return project
    project.mkdir()
    headway.open(project).write([{"id": f"i{item}", "content": f"Item {item}"} for item in range(ITEMS)])
    store = open_store(project)
    state = Log(store, DEFAULT_SESSION).state()
    while state.version < events:
        start, made = state.version, list[Event]()
        until = min(events, (start // BATCH + 1) * BATCH)
        while state.version < until:
            fields = {"notes": f"Seen at {state.version}"}
            change = commands.Update(MAIN_AGENT, "user", now(), f"i{state.version % ITEMS}", fields, False)
            new = decide(state, change)
            state = fold(state, new)
            made += new
        store.append(DEFAULT_SESSION, start, made, write_state(state) if until % BATCH == 0 else None)
    store.close()
    return project


def opening(folder: Path) -> Measured:
    long, short = session_of(folder, 100_000), session_of(folder, 100)
    opened: list[headway.Session] = []

    def open_and_read(project: Path) -> None:
        opened.append(headway.open(project))
        assert len(opened[-1].todos) == ITEMS

    def close(number: int) -> None:
        while opened:
            opened.pop().close()

    measured = side_by_side(
        lambda number: open_and_read(long), lambda number: open_and_read(short), 200, before=close, between=close
    )
    close(0)
    return measured


def appending(folder: Path) -> Measured:
    long, short = headway.open(session_of(folder, 100_000)), headway.open(session_of(folder, 10))
    measured = side_by_side(
        lambda number: long.update("i0", notes=f"Note {number}"),
        lambda number: short.update("i0", notes=f"Note {number}"),
        400,
    )
    long.close()
    short.close()
    return measured


def watching(folder: Path) -> Measured:
    """From before the change is made to the moment at which the other process has it."""
    project = folder / "watched"
    project.mkdir()
    session = headway.open(project)
    session.add("Item", id="i0")
    pauses = random.Random(1)
    watcher = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("watcher.py"), project], stdout=subprocess.PIPE, text=True
    )
    with watcher:
        assert watcher.stdout is not None
        watcher.stdout.readline()
        for _ in range(50):
            time.sleep(pauses.uniform(0.02, 0.12))
            session.update("i0", notes=str(time.monotonic()))
        session.update("i0", notes="end")
        delays = [float(line) for line in watcher.stdout]
    session.close()
    return Measured(statistics.median(delays))


ROWS = [
    Row("open a session with 100,000 events", "one with 100", 2, opening),
    Row("append at event 100,000", "at event 10", 1.5, appending),
    Row("another process sees a change", "", 200, watching),
]
