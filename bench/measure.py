"""Measuring two things side by side: A B A B …, the median of each, and the ratio of the medians.

A machine's speed drifts and jumps; interleaved, both sides drift and jump together.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Measured:
    ours: float
    """Median seconds, or what the row's unit says."""
    base: float | None = None
    """The same of what it is compared with; None where the goal is a value."""


class NotAvailable(Exception):
    """What the row measures cannot be run here; the message says why."""


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    against: str
    goal: float
    """Largest ratio; milliseconds, or a value in the row's unit, where there is nothing to compare with."""
    measure: Callable[[Path], Measured]
    """Gets a folder that all rows of a run share."""
    unit: str = ""
    """What is counted, where it is not time."""
    in_unit: bool = False
    """Whether the goal is a value in that unit although there is something to compare with."""


def nothing(number: int) -> None:
    """For a measurement that needs no preparation."""


def side_by_side(
    ours: Callable[[int], object],
    base: Callable[[int], object],
    pairs: int,
    *,
    before: Callable[[int], object] = nothing,
    between: Callable[[int], object] = nothing,
) -> Measured:
    """Each call gets the number of its pair. `before` and `between` are not timed; the first pair warms up."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(pairs + 1):
        before(number)
        times[0].append(_seconds(ours, number))
        between(number)
        times[1].append(_seconds(base, number))
    return Measured(statistics.median(times[0][1:]), statistics.median(times[1][1:]))


def _seconds(call: Callable[[int], object], number: int) -> float:
    begin = time.perf_counter()
    call(number)
    return time.perf_counter() - begin
