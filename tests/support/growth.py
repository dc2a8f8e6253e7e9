"""How work grows with its size, counted in calls: the same on every machine, however busy it is."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Calls:
    count: int = 0


@contextmanager
def count_calls() -> Generator[Calls]:
    """Counts the calls of functions, Python's own included, that this thread makes."""
    calls = Calls()

    def profile(frame: object, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            calls.count += 1

    sys.setprofile(profile)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Four times the size may take at most six times the calls."""
    counts: list[int] = []
    for number in (size, 4 * size):
        with count_calls() as calls:
            work(number)
        counts.append(calls.count)
    assert counts[1] <= 6 * counts[0], f"{counts[0]} calls for {size}, {counts[1]} for {4 * size}"


@contextmanager
def bounded(seconds: float = 60.0) -> Generator[None]:
    """Fails what would go on for ever, as a regular expression may; nothing here takes a tenth of it."""

    def give_up(number: int, frame: object) -> None:
        raise AssertionError(f"It did not end within {seconds:g} seconds.")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
