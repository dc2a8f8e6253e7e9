"""Where the nodes of a dependency graph go: layers from left to right, what is needed before what needs it. Pure.

Longest-path layers, a few barycentre passes for the order in them, then each node as near to its neighbours as there
is room. Linear in nodes and edges, apart from sorting the layers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Point = tuple[int, float]
    Key = str | tuple[int, int]

MOST_BENDS = 1_500
"""Places at which edges pass through layers; beyond that they go straight."""
_PASSES = 4
_BEND = 0.2
"""How much room an edge takes that passes a layer, in nodes."""


@dataclass(slots=True)
class Layout:
    places: dict[str, Point] = field(default_factory=dict[str, "Point"])
    """Node → (layer, middle of it from above, in heights of a row)."""
    edges: list[tuple[str, str, tuple[Point, ...]]] = field(default_factory=list["tuple[str, str, tuple[Point, ...]]"])
    """(needed, needing, where it passes layers in between)."""
    layers: int = 0
    rows: float = 0.0
    """The height of the whole."""


def arrange_layers(nodes: Sequence[str], needs: Mapping[str, Sequence[str]]) -> Layout:
    """Return where nodes and edges go: every node once, without edges that would lead back in a circle."""
    if not nodes:
        return Layout()
    layer = _assign_layers(nodes, needs)
    edges = [
        (other, node)
        for node in nodes
        for other in dict.fromkeys(needs.get(node, ()))
        if other in layer and layer[other] < layer[node]
    ]
    columns: list[list[Key]] = [[] for _ in range(max(layer.values()) + 1)]
    for node in nodes:
        columns[layer[node]].append(node)
    chains = _chain_edges(edges, layer, columns)
    before, after = _find_neighbours(chains)
    _sort_layers(columns, before, after)
    middle = _compute_heights(columns, before, after)
    return Layout(
        {node: (layer[node], middle[node]) for node in nodes},
        [
            (*edge, tuple((layer[edge[0]] + step, middle[bend]) for step, bend in enumerate(chain[1:-1], 1)))
            for edge, chain in zip(edges, chains, strict=True)
        ],
        len(columns),
        max(middle[column[-1]] + _size(column[-1]) / 2 for column in columns if column),
    )


def _assign_layers(nodes: Sequence[str], needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    known = dict.fromkeys(nodes)
    wanted = {
        node: [other for other in dict.fromkeys(needs.get(node, ())) if other in known and other != node]
        for node in known
    }
    needed_by: dict[str, list[str]] = {node: [] for node in known}
    for node, others in wanted.items():
        for other in others:
            needed_by[other].append(node)
    waits = {node: len(others) for node, others in wanted.items()}
    ready = [node for node in known if not waits[node]]
    layer: dict[str, int] = {}
    left = iter(known)
    while len(layer) < len(known):
        for node in ready:  # grows while it is gone through
            if node in layer:
                continue
            layer[node] = max((layer[other] + 1 for other in wanted[node] if other in layer), default=0)
            for other in needed_by[node]:
                waits[other] -= 1
                if not waits[other]:
                    ready.append(other)
        # What is left is in a circle, or needs what is: it begins with the first of the list.
        ready = [node for node in (next((node for node in left if node not in layer), None),) if node is not None]
    for node, others in wanted.items():  # what needs nothing goes to where it is needed
        if not any(layer[other] < layer[node] for other in others):
            later = [layer[other] for other in needed_by[node] if layer[other] > layer[node]]
            layer[node] = min(later) - 1 if later else layer[node]
    return layer


def _chain_edges(
    edges: Sequence[tuple[str, str]], layer: Mapping[str, int], columns: list[list[Key]]
) -> list[list[Key]]:
    """Each edge as the places it goes through; those in layers that it passes are added to these."""
    room = MOST_BENDS
    chains: list[list[Key]] = []
    for index, (start, end) in enumerate(edges):
        passed = range(layer[start] + 1, layer[end])
        bends: list[Key] = [(index, at) for at in passed] if len(passed) <= room else []
        room -= len(bends)
        for at, bend in zip(passed, bends, strict=False):
            columns[at].append(bend)
        chains.append([start, *bends, end])
    return chains


def _find_neighbours(chains: Sequence[Sequence[Key]]) -> tuple[dict[Key, list[Key]], dict[Key, list[Key]]]:
    before: dict[Key, list[Key]] = {}
    after: dict[Key, list[Key]] = {}
    for chain in chains:
        for one, other in pairwise(chain):
            after.setdefault(one, []).append(other)
            before.setdefault(other, []).append(one)
    return before, after


def _sort_layers(
    columns: list[list[Key]], before: Mapping[Key, Sequence[Key]], after: Mapping[Key, Sequence[Key]]
) -> None:
    """Sorts every layer by where its neighbours are, there and back a few times."""
    at = {key: index / max(len(column), 1) for column in columns for index, key in enumerate(column)}
    for turn in range(_PASSES):
        neighbours = after if turn % 2 else before
        for column in reversed(columns) if turn % 2 else columns:
            column.sort(key=lambda key: _mean(at, neighbours.get(key, ()), at[key]))
            at.update((key, index / len(column)) for index, key in enumerate(column))


def _mean(at: Mapping[Key, float], keys: Sequence[Key], otherwise: float) -> float:
    return sum(at[key] for key in keys) / len(keys) if keys else otherwise


def _size(key: Key) -> float:
    return 1.0 if isinstance(key, str) else _BEND


def _compute_heights(
    columns: Sequence[Sequence[Key]], before: Mapping[Key, Sequence[Key]], after: Mapping[Key, Sequence[Key]]
) -> dict[Key, float]:
    """The middle of each: in order, without overlap, and else as near to its neighbours as can be."""
    middle: dict[Key, float] = {}
    for column in columns:
        middle.update(_spread_column(column, dict.fromkeys(column, 0.0)))
    for turn in range(_PASSES):
        neighbours = after if turn % 2 else before
        for column in reversed(columns) if turn % 2 else columns:
            middle.update(
                _spread_column(column, {key: _mean(middle, neighbours.get(key, ()), middle[key]) for key in column})
            )
    top = min((middle[column[0]] - _size(column[0]) / 2 for column in columns if column), default=0.0)
    return {key: at - top for key, at in middle.items()}


def _spread_column(column: Sequence[Key], wanted: Mapping[Key, float]) -> dict[Key, float]:
    """The places nearest to those wanted in which none overlaps the next: blocks that touch share their deviation."""
    offsets: list[float] = []
    at = 0.0
    for key in column:
        offsets.append(at + _size(key) / 2)
        at += _size(key)
    blocks: list[tuple[float, int]] = []
    for key, offset in zip(column, offsets, strict=True):
        total, number = wanted[key] - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / number:
            more, others = blocks.pop()
            total, number = total + more, number + others
        blocks.append((total, number))
    shifts = [total / number for total, number in blocks for _ in range(number)]
    return {key: shift + offset for key, shift, offset in zip(column, shifts, offsets, strict=True)}
