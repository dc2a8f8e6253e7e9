"""The chain of dependencies that takes longest. Pure; linear in items and dependencies."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def longest_chain(weights: Mapping[str, float], needs: Mapping[str, Iterable[str]]) -> list[str]:
    """The ids of a chain, each needed by the next, whose weights sum to the most. Of equals, the one that ends first.

    What is needed but has no weight is left out, and so is what depends on itself.
    """
    before: dict[str, str | None] = {}
    total: dict[str, float] = {}
    for node in in_order(weights, needs):
        longest = max((other for other in needs.get(node, ()) if other in total), key=total.__getitem__, default=None)
        before[node] = longest
        total[node] = weights[node] + (0.0 if longest is None else total[longest])
    node = max((node for node in weights if node in total), key=total.__getitem__, default=None)
    chain: list[str] = []
    while node is not None:
        chain.append(node)
        node = before[node]
    return chain[::-1]


def in_order(nodes: Iterable[str], needs: Mapping[str, Iterable[str]]) -> list[str]:
    """The nodes, each after those it needs; without those that need each other, and what needs these."""
    waits: dict[str, int] = dict.fromkeys(nodes, 0)
    needed_by: dict[str, list[str]] = {}
    for node in waits:
        for other in set(needs.get(node, ())):
            if other in waits:
                waits[node] += 1
                needed_by.setdefault(other, []).append(node)
    order = [node for node, number in waits.items() if not number]
    for node in order:
        for other in needed_by.get(node, ()):
            waits[other] -= 1
            if not waits[other]:
                order.append(other)
    return order
