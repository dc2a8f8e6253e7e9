"""A watcher in another process: it sees every change, in order and once."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import headway

from .processes import finish, go, start_worker

PAUSE = 0.003


def watch_from_outside(project: Path, changes: int) -> None:
    session = headway.open(project)
    session.write([{"id": "i0", "content": "Item"}])
    made: list[str] = []

    def change() -> None:
        made.append(f"{len(made)}@{time.monotonic()}")
        session.update("i0", notes=made[-1])

    watcher = start_worker("watch", project, "watcher")
    go(watcher)
    # A watcher sees what comes after it began to look, so it counts from the first change that it reports.
    deadline = time.monotonic() + 30
    while not watcher.out.has_line():
        assert time.monotonic() < deadline, "the watcher sees nothing"
        change()
        time.sleep(0.02)
    with ThreadPoolExecutor(1) as reader:
        printed = reader.submit(finish, watcher)
        for number in range(changes):
            change()
            if number % 2:
                time.sleep(PAUSE)
        session.update("i0", notes="end")
        seen = [line.split(" ") for line in printed.result()]
    first = int(seen[0][0])
    assert [int(version) for version, _, _ in seen] == list(range(first, session.version))
    assert [notes for _, notes, _ in seen] == made[first - 2 :]
    assert len(seen) > changes
    session.close()
    delays = sorted(float(delay) * 1000 for _, _, delay in seen)
    print(f"\n{len(seen)} changes seen after {statistics.median(delays):.0f} ms (longest {delays[-1]:.0f} ms)")


def test_a_watcher_sees_every_change_once_and_in_order(tmp_path: Path) -> None:
    watch_from_outside(tmp_path, 300)


@pytest.mark.slow
def test_a_watcher_sees_all_of_ten_thousand_changes_once_and_in_order(tmp_path: Path) -> None:
    watch_from_outside(tmp_path, 10_000)
