"""Which of several workers was at what: stretches of time in as few lanes as they need. Pure."""

from __future__ import annotations

from heapq import heappop, heappush

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def lanes_of(stretches: Sequence[tuple[float, float]]) -> list[int]:
    """A lane, counted from 0, for each (start, end): the lowest one that is free then. No two in a lane overlap."""
    lanes = [0] * len(stretches)
    busy: list[tuple[float, int]] = []
    free: list[int] = []
    used = 0
    for index in sorted(range(len(stretches)), key=lambda i: stretches[i][0]):
        start, end = stretches[index]
        while busy and busy[0][0] <= start:
            heappush(free, heappop(busy)[1])
        if free:
            lanes[index] = heappop(free)
        else:
            lanes[index] = used
            used += 1
        heappush(busy, (max(end, start), lanes[index]))
    return lanes
