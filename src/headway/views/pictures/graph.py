"""What depends on what, as a picture: items in layers from left to right, the critical path emphasised. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from headway.views.pictures.drawing import fitted, px, safe, width_of
from headway.views.pictures.layout import Layout, layered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_NODES = 200
MOST_EDGES = 600
NODE_WIDTH, NODE_HEIGHT = 184, 50
_COLUMN, _ROW = NODE_WIDTH + 40, NODE_HEIGHT + 16
_MARGIN = 3
_SIZE = 13
"""Of letters."""


class Node(NamedTuple):
    """An item as it is drawn."""

    item_id: str
    mark: str
    kind: str
    """Its colours: one of `drawing.KINDS`."""
    text: str
    needs: tuple[str, ...] = ()
    aside: str = ""
    """What stands beside its id: how long it took."""


class Graph(NamedTuple):
    svg: str
    """Nothing where no item depends on another."""
    width: int
    drawn: int
    left_out: int
    """Items with dependencies that are not drawn."""
    edges_left_out: int
    alone: int
    """Items that depend on nothing and that nothing depends on."""


def dependency_graph(nodes: Sequence[Node], *, name: str, title: str, critical: Sequence[str] = ()) -> Graph:
    """The picture as SVG, and how much of the whole it shows. `name` is for its ids alone."""
    known = {node.item_id for node in nodes}
    linked = {other for node in nodes for other in node.needs if other in known and other != node.item_id}
    linked |= {node.item_id for node in nodes if any(other in known and other != node.item_id for other in node.needs)}
    joined = [node for node in nodes if node.item_id in linked]
    chosen = _chosen(joined, critical)
    alone = len(nodes) - len(joined)
    if not chosen:
        return Graph("", 0, 0, 0, 0, alone)
    steps = set(pairwise(critical))
    needs, edges_left_out = _fewer({node.item_id: node.needs for node in chosen}, steps)
    layout = layered([node.item_id for node in chosen], needs)
    width = layout.layers * _COLUMN - (_COLUMN - NODE_WIDTH) + 2 * _MARGIN
    height = round(layout.rows * _ROW) - (_ROW - NODE_HEIGHT) + 2 * _MARGIN
    described = f"{len(chosen)} items in {layout.layers} layers, {len(layout.edges)} dependencies."
    if len(critical) > 1:
        described += f" The critical path has {len(critical)} items."
    parts = [
        f'<svg class="picture graph" role="img" viewBox="0 0 {width} {height}" aria-labelledby="{name}-t {name}-d">',
        f'<title id="{name}-t">{safe(title)}</title><desc id="{name}-d">{safe(described)}</desc>',
        *_edges(layout, steps),
        *(_node(node, layout, node.item_id in critical) for node in chosen),
        "</svg>",
    ]
    return Graph("".join(parts), width, len(chosen), len(joined) - len(chosen), edges_left_out, alone)


def _chosen(nodes: Sequence[Node], critical: Sequence[str]) -> list[Node]:
    """At most so many: those on the critical path first, then as the list has them."""
    if len(nodes) <= MOST_NODES:
        return list(nodes)
    first = set(critical[:MOST_NODES])
    room = MOST_NODES - sum(node.item_id in first for node in nodes)
    chosen: list[Node] = []
    for node in nodes:
        if node.item_id not in first:
            room -= 1
        if node.item_id in first or room >= 0:
            chosen.append(node)
    return chosen


def _fewer(needs: dict[str, tuple[str, ...]], steps: set[tuple[str, str]]) -> tuple[dict[str, tuple[str, ...]], int]:
    """At most so many edges, those of the critical path among them; and how many are left out."""
    edges = [(other, node) for node, others in needs.items() for other in dict.fromkeys(others) if other in needs]
    if len(edges) <= MOST_EDGES:
        return needs, 0
    kept = set(
        [*(edge for edge in edges if edge in steps), *(edge for edge in edges if edge not in steps)][:MOST_EDGES]
    )
    fewer = {node: tuple(other for other in others if (other, node) in kept) for node, others in needs.items()}
    return fewer, len(edges) - len(kept)


def place(layer: int, middle: float) -> tuple[float, float]:
    """The left end of a row of a layer, at its middle."""
    return _MARGIN + layer * _COLUMN, _MARGIN + middle * _ROW - (_ROW - NODE_HEIGHT) / 2


def _edges(layout: Layout, steps: set[tuple[str, str]]) -> Iterable[str]:
    """Those of the critical path last, so that they are above the others."""
    for start, end, bends in sorted(layout.edges, key=lambda edge: edge[:2] in steps):
        critical = "critical " if (start, end) in steps else ""
        x, y = place(*layout.places[start])
        x += NODE_WIDTH
        way = [f"M{px(x)} {px(y)}"]
        for bend in bends:
            left, level = place(*bend)
            way += [_curve(x, y, left, level), f"H{px(left + NODE_WIDTH)}"]
            x, y = left + NODE_WIDTH, level
        left, level = place(*layout.places[end])
        way.append(_curve(x, y, left - 5, level))
        yield f'<path class="{critical}line" d="{"".join(way)}"/>'
        yield f'<path class="{critical}tip" d="M{px(left)} {px(level)}l-7 -4v8z"/>'


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    half = (to_x - x) / 2
    return f"C{px(x + half)} {px(y)} {px(to_x - half)} {px(to_y)} {px(to_x)} {px(to_y)}"


def _node(node: Node, layout: Layout, critical: bool) -> str:
    x, middle = place(*layout.places[node.item_id])
    y = middle - NODE_HEIGHT / 2
    mark, aside = width_of(node.mark, _SIZE), width_of(node.aside, 11)
    left = x + 12
    room = NODE_WIDTH - 22
    name = fitted(node.item_id, room - mark - 5 - (aside + 8 if node.aside else 0), _SIZE + 1)
    dashed = " dashed" if node.kind == "quiet" and not critical else ""
    box = f'x="{px(x)}" y="{px(y)}" width="{NODE_WIDTH}" height="{NODE_HEIGHT}" rx="4"'
    beside = (
        f'<text class="axis" x="{px(x + NODE_WIDTH - 9)}" y="{px(y + 20)}" text-anchor="end">{safe(node.aside)}</text>'
    )
    return (
        f'<g class="k-{node.kind}"><title>{safe(f"{node.mark} {node.item_id}: {node.text}"[:400])}</title>'
        f'<rect class="{"critical " if critical else ""}box{dashed}" {box}/>'
        f'<rect class="edge-of" x="{px(x)}" y="{px(y)}" width="4" height="{NODE_HEIGHT}" rx="2"/>'
        f'<text class="mark" x="{px(left)}" y="{px(y + 20)}">{safe(node.mark)}</text>'
        f'<text class="id" x="{px(left + mark + 5)}" y="{px(y + 20)}">{safe(name)}</text>'
        f"{beside if node.aside else ''}"
        f'<text x="{px(left)}" y="{px(y + 39)}">{safe(fitted(node.text, room, _SIZE))}</text></g>'
    )
