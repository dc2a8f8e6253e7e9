"""Pictures: timelines and dependency graphs as SVG, whatever there is to draw and whatever the texts are."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.tables import check_rows

from headway.views.lanes import lanes_of
from headway.views.pictures.drawing import DARK, KINDS, LIGHT, fitted, safe, width_of
from headway.views.pictures.graph import (
    MOST_EDGES,
    MOST_NODES,
    NODE_HEIGHT,
    NODE_WIDTH,
    Node,
    dependency_graph,
)
from headway.views.pictures.graph import place as place_of
from headway.views.pictures.layout import layered
from headway.views.pictures.timeline import MOST_BARS, MOST_LANES, WIDTH, Bar, left_out, legend, place, ticks, timeline

from .samples import HOSTILE, hostile_text

OUTCOMES = ["completed", "blocked", "conflict", "interrupted", "cancelled", "pending", None]


def bar(
    start: float = 0.0, end: float = 1.0, lane: int = 1, outcome: str | None = "completed", name: str = "t1"
) -> Bar:
    return Bar(name, lane, start, end, "✓", outcome, name)


def drawn(svg: str) -> ET.Element:
    """The picture, parsed. It has a title, a description, and nothing that leads out of it."""
    root = ET.fromstring(svg)
    assert root.tag == "svg" and root[0].tag == "title" and root[1].tag == "desc"
    assert "http" not in svg and "<script" not in svg
    for element in root.iter():
        assert element.tag in {"svg", "g", "title", "desc", "rect", "text", "line", "path", "defs", "pattern"}
        assert not {"href", "onload", "src"} & set(element.attrib)
    return root


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in drawn(svg).iter("text")]


# text and colours


def test_hostile_text_is_safe_in_a_picture() -> None:
    def check(text: str) -> None:
        root = ET.fromstring(f'<a b="{safe(text)}">{safe(text)}</a>')
        assert not {"\x1b", "\x00", "\u202e", "\ufeff", "\ud800", "\n"} & set(root.text or "")
        assert not list(root)

    check_rows(HOSTILE, check)


@given(hostile_text, st.integers(0, 300))
def test_a_text_that_was_fitted_has_room(text: str, room: int) -> None:
    assert width_of(fitted(text, room)) <= room


def test_wide_characters_count_as_wide() -> None:
    assert width_of("修复") == 24 > width_of("ab")
    assert fitted("修复重叠检测", 40).endswith("…")
    assert fitted("修复", 24) == "修复"
    assert fitted("a" * 100_000, 100).endswith("…")


def _contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_everything_that_is_read_stands_out(colours: dict[str, str]) -> None:
    assert LIGHT.keys() == DARK.keys()
    for name in ("ink", "muted", *KINDS):
        for ground in ("paper", "faint"):
            assert _contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    for kind in KINDS:
        for name in ("ink", "muted", kind):
            assert _contrast(colours[name], colours[f"{kind}-tint"]) >= 4.5, (name, kind)


# timelines


def test_a_timeline_without_work_is_a_picture_too() -> None:
    assert texts(timeline([], name="x", title="Nothing")) == ["1", "0"]


def test_bars_say_what_they_are_without_colour() -> None:
    bars = [
        Bar("done", 1, 0, 10, "✓", "completed", "All of it"),
        Bar("clash", 2, 0, 10, "⇄", "conflict"),
        Bar("again", 1, 10, 20, "✗", "blocked", attempt=2),
        Bar("now", 2, 10, 20, "●", None),
    ]
    svg = timeline(bars, name="x", title="What happened", critical={"done"})
    assert {"✓", "⇄", "✗", "●", "done", "clash", "again #2", "now"} <= set(texts(svg))
    assert svg.count('class="under"') == 1 and svg.count("url(#x-") == 2 and "dashed" in svg
    assert "All of it" in svg
    assert [word for _, _, word in legend(bars)] == ["completed", "blocked", "conflict", "in progress"]


def test_a_bar_that_is_too_short_for_a_name_has_its_mark() -> None:
    svg = timeline([bar(0, 4, name="a-long-name"), bar(4, 100, lane=2, name="long")], name="x", title="What happened")
    assert texts(svg).count("✓") == 2
    assert "long" in texts(svg) and not any(text.startswith("a-") for text in texts(svg))


@pytest.mark.parametrize(("number", "missing"), [(MOST_BARS, 0), (MOST_BARS + 1, 1), (10_000, 10_000 - MOST_BARS)])
def test_only_so_many_bars_are_drawn_the_longest(number: int, missing: int) -> None:
    bars = [bar(float(n), n + (0.5 if n == 7 else 0.9), name=f"t{n}") for n in range(number)]
    assert left_out(bars) == missing
    names = {each.bar.item_id for each in place(bars)}
    assert ("t7" in names) is (missing == 0)
    svg = timeline(bars, name="x", title="Many")
    assert len(svg) < 300_000
    assert (f"{missing} more are not shown." in svg) is (missing > 0)


@pytest.mark.parametrize(("lanes", "missing"), [(MOST_LANES, 0), (MOST_LANES + 1, 1)])
def test_only_so_many_lanes_are_drawn(lanes: int, missing: int) -> None:
    assert left_out([bar(lane=lane) for lane in range(1, lanes + 1)]) == missing


@given(
    st.lists(
        st.tuples(st.floats(0, 1e6), st.floats(0, 1e4), st.sampled_from(OUTCOMES), hostile_text),
        min_size=1,
        max_size=60,
    )
)
def test_bars_of_a_lane_never_overlap_and_stay_in_the_picture(
    work: list[tuple[float, float, str | None, str]],
) -> None:
    times = [(start, start + long) for start, long, _, _ in work]
    bars = [
        bar(*time, lane + 1, outcome, name)
        for time, lane, (_, _, outcome, name) in zip(times, lanes_of(times), work, strict=True)
    ]
    placed = place(bars)
    for lane in {each.bar.lane for each in placed}:
        own = sorted((each for each in placed if each.bar.lane == lane), key=lambda each: (each.x, each.width))
        assert all(one.x + one.width <= other.x + 1e-6 for one, other in pairwise(own))
    assert all(each.x >= 0 and each.width >= 0 and each.x + each.width <= WIDTH for each in placed)
    drawn(timeline(bars, name="x", title="Any"))


@given(st.floats(0, 1e9))
def test_an_axis_has_few_round_marks(seconds: float) -> None:
    marks = ticks(seconds)
    assert marks[0] == 0 and 1 <= len(marks) <= 9
    assert marks[-1] <= seconds
    assert len({round(other - one, 6) for one, other in pairwise(marks)}) <= 1


def test_an_axis_is_marked_in_times_that_people_use() -> None:
    assert ticks(8) == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert ticks(9)[1] == 2 and ticks(331)[1] == 60 and ticks(3_600 * 30)[1] == 3_600 * 6
    assert ticks(86_400 * 30)[1] == 86_400 * 4


# graphs

edges = st.integers(1, 25).flatmap(
    lambda size: st.tuples(
        st.just(size), st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=50)
    )
)


@given(edges)
def test_nodes_never_overlap_and_edges_lead_to_later_layers(graph: tuple[int, list[tuple[int, int]]]) -> None:
    """Any graph, with circles too."""
    size, pairs = graph
    nodes = [str(n) for n in range(size)]
    needs = {node: [str(low) for low, high in pairs if str(high) == node] for node in nodes}
    layout = layered(nodes, needs)
    assert layout.places.keys() == set(nodes)
    for one, other in combinations(layout.places.values(), 2):
        (x, y), (other_x, other_y) = place_of(*one), place_of(*other)
        assert abs(x - other_x) >= NODE_WIDTH or abs(y - other_y) >= NODE_HEIGHT
    for start, end, bends in layout.edges:
        layers = [layout.places[start][0], *(layer for layer, _ in bends), layout.places[end][0]]
        assert layers == sorted(set(layers)) and start in needs[end]
        assert not bends or len(layers) == layers[-1] - layers[0] + 1
    assert all(0 <= layer < layout.layers for layer, _ in layout.places.values())
    assert all(0.5 - 1e-6 <= row <= layout.rows - 0.5 + 1e-6 for _, row in layout.places.values())


@given(edges)
def test_without_circles_every_dependency_is_drawn(graph: tuple[int, list[tuple[int, int]]]) -> None:
    size, pairs = graph
    wanted = {(str(low), str(high)) for low, high in pairs if low < high}
    needs = {str(n): [low for low, high in wanted if high == str(n)] for n in range(size)}
    layout = layered([str(n) for n in range(size)], needs)
    assert {(start, end) for start, end, _ in layout.edges} == wanted


def chain(number: int) -> list[Node]:
    return [Node(f"n{n}", "✓", "done", "x", (f"n{n - 1}",) if n else ()) for n in range(number)]


def test_where_nothing_depends_on_anything_there_is_no_picture() -> None:
    graph = dependency_graph([Node("a", "○", "quiet", "x", ("gone", "a"))], name="g", title="G")
    assert graph == ("", 0, 0, 0, 0, 1)
    assert dependency_graph([], name="g", title="G").svg == ""


def test_items_without_dependencies_are_counted_and_not_drawn() -> None:
    graph = dependency_graph([*chain(3), Node("z", "○", "quiet", "alone")], name="g", title="G")
    assert (graph.drawn, graph.alone, graph.left_out) == (3, 1, 0)
    assert "alone" not in texts(graph.svg)


def test_the_critical_path_is_emphasised() -> None:
    nodes = [*chain(3), Node("side", "✗", "blocked", "x", ("n0",))]
    svg = dependency_graph(nodes, name="g", title="G", critical=["n0", "n1", "n2"]).svg
    assert svg.count('class="critical box"') == 3
    assert svg.count('class="critical line"') == 2 and svg.count('class="line"') == 1


@pytest.mark.parametrize(("number", "missing"), [(MOST_NODES, 0), (MOST_NODES + 1, 1), (10_000, 10_000 - MOST_NODES)])
def test_only_so_many_nodes_are_drawn_the_critical_path_first(number: int, missing: int) -> None:
    nodes = chain(number)
    graph = dependency_graph(nodes, name="g", title="G", critical=[f"n{number - 2}", f"n{number - 1}"])
    assert (graph.drawn, graph.left_out) == (MOST_NODES, missing)
    assert f"n{number - 1}" in texts(graph.svg)
    assert len(graph.svg) < 400_000


@pytest.mark.parametrize("more", [0, 1])
def test_only_so_many_edges_are_drawn(more: int) -> None:
    rows = MOST_EDGES // 10 + 1
    nodes = [Node(f"a{n}", "✓", "done", "x") for n in range(10)]
    nodes += [Node(f"b{n}", "✓", "done", "x", tuple(f"a{m}" for m in range(10))) for n in range(rows - 1)]
    nodes += [Node("c", "✓", "done", "x", tuple(f"a{m}" for m in range(more)))]
    graph = dependency_graph(nodes, name="g", title="G")
    assert graph.edges_left_out == more
    assert graph.svg.count('class="line"') == MOST_EDGES


@settings(max_examples=some(50, 2))
@given(st.lists(hostile_text.filter(bool), min_size=2, max_size=5, unique=True))
def test_any_text_can_be_in_a_graph(names: list[str]) -> None:
    nodes = [Node(name, "✓?", "reported", name * 50, tuple(names[:at]), name) for at, name in enumerate(names)]
    drawn(dependency_graph(nodes, name="g", title=names[0], critical=names).svg)
