"""Pages that watch a session which another process changes all the time: each hears everything, in order and once."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.processes import run_python
from tests.web.serving import Form, Server, Stream, applied, environment, item

import headway

PAGES = 50
A_SECOND = 50
LONGEST = 60
MOST_GROWTH = 20_000
"""In KiB, as the system counts."""
_NAME = "mine"
_CHANGES = """
import sys, time, headway
session = headway.open(sys.argv[1], sys.argv[2])
begin = time.monotonic()
for number in range(int(sys.argv[3])):
    time.sleep(max(begin + number / float(sys.argv[4]) - time.monotonic(), 0))
    at = time.monotonic()
    match number % 4:
        case 0: added = session.add(f"Item {number}").id
        case 1: session.update("a", notes=f"Note {number}")
        case 2: session.move("a", 1 + number % 10)
        case _: session.drop(added)
    print(session.version, at, flush=True)
"""


class Watched(NamedTuple):
    delays: list[float]
    """Seconds from before a change is made to when a page hears of it; of all changes and pages, sorted."""
    sizes: list[int]
    """KiB that the server takes, second by second."""


def size_of(pid: int) -> int:
    """KiB of memory that a process takes."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def heard(page: Stream, state: Form, last: int) -> tuple[Form, list[tuple[int, float]]]:
    """What a page knows at the end, and when it heard of each version."""
    times: list[tuple[int, float]] = []
    while state["version"] < last:
        told = page.next()
        at = time.monotonic()
        assert (told.kind, told.id) == ("change", str(told.data["version"]))
        assert "whole" not in told.data, "a page that keeps up is told the changes themselves"
        state = applied(state, told.data)
        times += [(event["version"], at) for event in told.data["events"]]
    return state, times


def watch(project: Path, pages: int, changes: int) -> Watched:
    """All pages hear of all changes of another process."""
    project.mkdir()
    session = headway.open(project, _NAME)
    session.write([item(letter) for letter in "abcdefghijklmnopqrst"])
    first = session.version
    session.close()
    server, sizes = Server(project), list[int]()
    try:
        with ThreadPoolExecutor(pages + 1) as pool, ExitStack() as opened:
            state = server.state(_NAME)
            streams = [opened.enter_context(server.stream(_NAME, after=first)) for _ in range(pages)]
            hearing = [pool.submit(heard, stream, state, first + changes) for stream in streams]
            words = (_CHANGES, project, _NAME, changes, A_SECOND)
            writing = pool.submit(run_python, *words, env=environment(project))
            while wait([writing], timeout=1).not_done:
                sizes.append(size_of(server.pid))
            made = {int(version): float(at) for version, at in map(str.split, writing.result().out.splitlines())}
            ends = [page.result() for page in hearing]
        sizes.append(size_of(server.pid))
        end = server.state(_NAME)
    finally:
        assert "Traceback" not in server.stop()
    for known, times in ends:
        assert [version for version, _ in times] == [*made]
        assert known == end
    return Watched(sorted(at - made[version] for _, times in ends for version, at in times), sizes)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads how much memory a process takes")
def test_fifty_pages_hear_of_fifty_changes_a_second_for_a_minute_and_the_server_does_not_grow(tmp_path: Path) -> None:
    delays, sizes = watch(tmp_path / "project", PAGES, A_SECOND * LONGEST)
    grown = sizes[-1] - sizes[len(sizes) // 2]
    print(
        f"\n{len(delays)} changes heard after {statistics.median(delays) * 1000:.0f} ms "
        f"(longest {delays[-1] * 1000:.0f} ms), the server took {sizes[-1]:,} KiB ({grown:+,} in the second half)"
    )
    assert len(delays) == PAGES * A_SECOND * LONGEST
    assert grown < MOST_GROWTH
