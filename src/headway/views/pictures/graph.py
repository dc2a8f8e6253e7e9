"""What depends on what, as a picture: todos in layers from left to right, the critical path emphasised. Pure."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from headway.views.pictures.drawing import Element, element, fit_text, format_number, text_width
from headway.views.pictures.layout import Layout, arrange_layers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
