"""A long log: opening and changing a session does not depend on how much has happened in it.

What the times are is printed here and judged in `bench`; these checks are about what is read back.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

import headway

from .processes import assert_intact

ITEMS = 10


def build(project: Path, events: int) -> list[float]:
    """A session with that many events, each appended as in real life: the seconds that each change took."""
    session = headway.open(project)
    session.write([{"id": f"i{item}", "content": f"Item {item}"} for item in range(ITEMS)])
    took: list[float] = []
    for version in range(2, events + 1):
        begin = time.perf_counter()
        session.update(f"i{version % ITEMS}", notes=f"at {version}")
        took.append(time.perf_counter() - begin)
    session.close()
    return took


def opened(project: Path, events: int) -> float:
    """The seconds it took to open the session and read its list, which must be as the last events left it."""
    begin = time.perf_counter()
    session = headway.open(project)
    todos = session.todos
    took = time.perf_counter() - begin
    assert session.version == events
    expected = {version % ITEMS: f"at {version}" for version in range(max(2, events - ITEMS + 1), events + 1)}
    assert [todo.notes for todo in todos] == [expected.get(item) for item in range(ITEMS)]
    session.close()
    return took


def compare(folder: Path, few: int, many: int) -> None:
    short, long = folder / "short", folder / "long"
    short.mkdir()
    long.mkdir()
    build(short, few)
    took = build(long, many)
    pairs = [(opened(short, few), opened(long, many)) for _ in range(20)]
    opening = statistics.median(pair[1] for pair in pairs) / statistics.median(pair[0] for pair in pairs)
    window = min(500, len(took) // 3)
    appending = statistics.median(took[-window:]) / statistics.median(took[8 : 8 + window])
    print(f"\n{many} events against {few}: opening {opening:.2f}×, appending {appending:.2f}×")
    session = headway.open(long)
    assert_intact(long, session)
    assert session.undo()[many % ITEMS].notes == f"at {many - ITEMS}"
    session.close()


def test_a_session_with_a_thousand_events_opens_as_the_last_one_left_it(tmp_path: Path) -> None:
    compare(tmp_path, 100, 1_050)


@pytest.mark.slow
def test_a_session_with_a_hundred_thousand_events_opens_as_the_last_one_left_it(tmp_path: Path) -> None:
    compare(tmp_path, 100, 100_000)
