"""What depends on what, as a picture: todos in layers from left to right, the critical path emphasised. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from headway.views.pictures.drawing import Element, element, fit_text, format_number, text_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Point = tuple[int, float]
    Key = str | tuple[int, int]

# Where the nodes of a dependency graph go: layers from left to right, what is needed before what needs it. Pure.

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
    for drawn in chains:
        for one, other in pairwise(drawn):
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


MOST_NODES = 200
MOST_EDGES = 600
NODE_WIDTH, NODE_HEIGHT = 184, 50
_COLUMN, _ROW = NODE_WIDTH + 40, NODE_HEIGHT + 16
_MARGIN = 3
_SIZE = 13
"""Of letters."""


class Node(NamedTuple):
    """A todo as it is drawn."""

    todo_id: str
    mark: str
    kind: str
    """Its colours: one of `drawing.KINDS`."""
    text: str
    needs: tuple[str, ...] = ()
    aside: str = ""
    """What stands beside its id: how long it took."""
    label: str | None = None
    """What a button for it is called, in a picture that can be used."""


class Graph(NamedTuple):
    picture: Element | None
    """None if no todo depends on another."""
    width: int
    drawn: int
    left_out: int
    """Todos with dependencies that are not drawn."""
    edges_left_out: int
    alone: int
    """Todos that depend on nothing and that nothing depends on."""


def draw_graph(
    nodes: Sequence[Node],
    *,
    name: str,
    title: str,
    critical: Sequence[str] = (),
    centre: Sequence[str] = (),
    most: int = MOST_NODES,
    selected: str | None = None,
) -> Graph:
    """Return the picture, and how much of the whole it shows. `name` is for its ids alone.

    If there are too many nodes, those of `centre` and of the critical path are drawn with what is around them.
    """
    known = {node.todo_id for node in nodes}
    needs = {
        node.todo_id: [other for other in dict.fromkeys(node.needs) if other in known and other != node.todo_id]
        for node in nodes
    }
    linked = {*chain.from_iterable(needs.values()), *(node for node, others in needs.items() if others)}
    joined = {node.todo_id: node for node in nodes if node.todo_id in linked}
    alone = len(nodes) - len(joined)
    if not joined:
        return Graph(None, 0, 0, 0, 0, alone)
    chosen = _select_nodes(joined, needs, critical, centre, most)
    steps = set(pairwise(critical))
    edges, edges_left_out = _select_edges({node: needs[node] for node in chosen}, steps)
    layout = arrange_layers([*chosen], edges)
    width = layout.layers * _COLUMN - (_COLUMN - NODE_WIDTH) + 2 * _MARGIN
    height = round(layout.rows * _ROW) - (_ROW - NODE_HEIGHT) + 2 * _MARGIN
    described = f"{len(chosen)} items in {layout.layers} layers, {len(layout.edges)} dependencies."
    if len(critical) > 1:
        described += f" The critical path has {len(critical)} items."
    emphasised = set(critical if len(critical) > 1 else ())
    picture = element(
        "svg",
        element("title", title, id=f"{name}-t"),
        element("desc", described, id=f"{name}-d"),
        *_draw_edges(layout, steps),
        *(
            _draw_node(node, layout, is_critical=todo_id in emphasised, is_selected=todo_id == selected)
            for todo_id, node in chosen.items()
        ),
        class_="picture graph",
        role="img" if all(node.label is None for node in nodes) else "group",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        aria_labelledby=f"{name}-t {name}-d",
    )
    return Graph(picture, width, len(chosen), len(joined) - len(chosen), edges_left_out, alone)


def _select_nodes(
    nodes: Mapping[str, Node],
    needs: Mapping[str, Sequence[str]],
    critical: Sequence[str],
    centre: Sequence[str],
    most: int,
) -> dict[str, Node]:
    if len(nodes) <= most:
        return dict(nodes)
    around = {node: [*needs[node]] for node in nodes}
    for node in nodes:
        for other in needs[node]:
            around[other].append(node)
    centre = [*centre[: most // 4 + 1], *critical[: most // 2]]
    queue = [*dict.fromkeys(node for node in centre if node in nodes)]
    picked = set(queue)
    for node in queue:  # grows while it is gone through
        unfinished_first = sorted(around[node], key=lambda other: nodes[other].kind in ("done", "reported"))
        new = [other for other in dict.fromkeys(unfinished_first) if other not in picked][: most - len(picked)]
        queue += new
        picked.update(new)
    picked.update([node for node in nodes if node not in picked][: most - len(picked)])
    return {todo_id: node for todo_id, node in nodes.items() if todo_id in picked}


def _select_edges(needs: Mapping[str, Sequence[str]], steps: set[tuple[str, str]]) -> tuple[dict[str, list[str]], int]:
    """Return what each node needs, with the edges of the critical path first, and how many edges are left out."""
    edges = [(other, node) for node, others in needs.items() for other in others if other in needs]
    edges.sort(key=lambda edge: edge not in steps)
    selected: dict[str, list[str]] = {node: [] for node in needs}
    for other, node in edges[:MOST_EDGES]:
        selected[node].append(other)
    return selected, max(len(edges) - MOST_EDGES, 0)


def place_in_layer(layer: int, middle: float) -> tuple[float, float]:
    """Return the left end of a row of a layer, at its middle."""
    return _MARGIN + layer * _COLUMN, _MARGIN + middle * _ROW - (_ROW - NODE_HEIGHT) / 2


def _draw_edges(layout: Layout, steps: set[tuple[str, str]]) -> Iterator[Element]:
    """Draw those of the critical path last, so that they are above the others."""
    for start, end, bends in sorted(layout.edges, key=lambda edge: edge[:2] in steps):
        x, y = place_in_layer(*layout.places[start])
        x += NODE_WIDTH
        path = [f"M{format_number(x)} {format_number(y)}"]
        for bend in bends:
            left, level = place_in_layer(*bend)
            path += [_curve(x, y, left, level), f"H{format_number(left + NODE_WIDTH)}"]
            x, y = left + NODE_WIDTH, level
        left, level = place_in_layer(*layout.places[end])
        path.append(_curve(x, y, left - 5, level))
        critical = " critical" if (start, end) in steps else ""
        yield element("path", class_=f"edge{critical}", d="".join(path))
        tip = f"M{format_number(left)} {format_number(level)}l-7 -4v8z"
        yield element("path", class_=f"tip{critical}", d=tip)


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    half = (to_x - x) / 2
    points = ((x + half, y), (to_x - half, to_y), (to_x, to_y))
    return "C" + " ".join(f"{format_number(x)} {format_number(y)}" for x, y in points)


def _draw_node(node: Node, layout: Layout, *, is_critical: bool, is_selected: bool) -> Element:
    x, middle = place_in_layer(*layout.places[node.todo_id])
    y = middle - NODE_HEIGHT / 2
    left, room = x + 12, NODE_WIDTH - 22
    mark = text_width(node.mark, _SIZE) + 5
    aside = text_width(node.aside, 11) + 8 if node.aside else 0
    classes = [
        "node",
        f"k-{node.kind}",
        *(["critical"] if is_critical else []),
        *(["is-chosen"] if is_selected else []),
    ]
    if node.kind == "quiet" and not is_critical:
        classes.append("dashed")
    parts: Iterable[Element | None] = (
        element("title", node.label or f"{node.mark} {node.todo_id}: {node.text}"[:400]),
        element("rect", class_="box", x=x, y=y, width=NODE_WIDTH, height=NODE_HEIGHT, rx=4),
        element("rect", class_="edge-of", x=x, y=y, width=4, height=NODE_HEIGHT, rx=2),
        element("text", node.mark, class_="mark", x=left, y=y + 20),
        element(
            "text", fit_text(node.todo_id, room - mark - aside, _SIZE, bold=True), class_="id", x=left + mark, y=y + 20
        ),
        element("text", node.aside, class_="axis", x=x + NODE_WIDTH - 9, y=y + 20, text_anchor="end")
        if aside
        else None,
        element("text", fit_text(node.text, room, _SIZE), x=left, y=y + 39),
    )
    drawn = [part for part in parts if part is not None]
    if node.label is None:
        return element("g", *drawn, class_=" ".join(classes))
    return element(
        "g",
        *drawn,
        class_=" ".join(classes),
        role="button",
        tabindex=-1,
        data_id=node.todo_id,
        data_key=node.todo_id,
    )
