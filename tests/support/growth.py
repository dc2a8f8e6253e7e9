"""How work grows with its size, counted in calls: the same on every machine, however busy it is."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial


def count_calls(work: Callable[[], object]) -> int:
    """Return how many calls of functions, Python's own included, the work makes in this thread."""
    count = 0

    def profile(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Four times the size may take at most six times the calls."""
    few, many = (count_calls(partial(work, number)) for number in (size, 4 * size))
    assert few >= size, f"only {few} calls for {size}: is the work done in another thread?"
    assert many <= 6 * few, f"{few} calls for {size}, {many} for {4 * size}"


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
