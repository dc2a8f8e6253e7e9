"""Pictures: timelines and dependency graphs as SVG, whatever there is to draw and whatever the texts are."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.tables import check_rows

from headway.views.pictures.drawing import (
    DARK,
    KINDS,
    LIGHT,
    Element,
    escape_text,
    fit_text,
    text_width,
    to_svg,
)
from headway.views.pictures.graph import (
    MOST_EDGES,
    MOST_NODES,
    NODE_HEIGHT,
    NODE_WIDTH,
    Node,
    arrange_layers,
    draw_graph,
    place_in_layer,
)
from headway.views.pictures.timeline import (
    MOST_BARS,
    MOST_LANES,
    WIDTH,
    Axis,
    Bar,
    Lane,
    Moment,
    assign_lanes,
    draw_timeline,
    format_offset,
    legend,
    place_bars,
    select_longest,
)

from .samples import HOSTILE, hostile_text

OUTCOMES = ["completed", "blocked", "conflict", "interrupted", "cancelled", "pending", None]


def bar(start: float = 0.0, end: float = 1.0, outcome: str | None = "completed", name: str = "t1") -> Bar:
    return Bar(name, start, end, "✓", outcome, name)


def timeline(*lanes: list[Bar], critical: Sequence[str] = (), title: str = "T") -> Element:
    drawn = [Lane(str(number), bars) for number, bars in enumerate(lanes, 1)]
    whole = max((bar.end for bars in lanes for bar in bars), default=0.0)
    return draw_timeline(
        drawn, Axis([(0, whole)]), format_offset, name="x", title=title, description="", critical=critical
    )


def parse(picture: Element | None) -> ET.Element:
    """The picture, parsed. It has a title, a description, and nothing that leads out of it."""
    assert picture is not None
    svg = to_svg(picture)
    root = ET.fromstring(svg)
    assert root.tag == "svg" and root[0].tag == "title" and root[1].tag == "desc"
    assert "http" not in svg and "<script" not in svg
    for each in root.iter():
        assert each.tag in {"svg", "g", "title", "desc", "rect", "text", "line", "path", "defs", "pattern"}
        assert not {"href", "onload", "src"} & set(each.attrib)
    return root


def classes(picture: Element | None) -> list[str]:
    return [each.attrib.get("class", "") for each in parse(picture).iter()]


def texts(picture: Element | None) -> list[str]:
    return [each.text or "" for each in parse(picture).iter("text")]


# text and colours


def test_hostile_text_is_safe_in_a_picture() -> None:
    def check(text: str) -> None:
        root = ET.fromstring(f'<a b="{escape_text(text)}">{escape_text(text)}</a>')
        assert not {"\x1b", "\x00", "\u202e", "\ufeff", "\ud800", "\n"} & set(root.text or "")
        assert not list(root)

    check_rows(HOSTILE, check)


@given(hostile_text, st.integers(0, 300))
def test_a_text_that_was_fitted_has_room(text: str, room: int) -> None:
    assert text_width(fit_text(text, room)) <= room + 1e-6


def test_wide_characters_count_as_wide() -> None:
    assert text_width("修复") == 24 > text_width("ab")
    assert fit_text("修复重叠检测", 40).endswith("…")
    assert fit_text("修复", 24) == "修复"
    assert fit_text("a" * 100_000, 100).endswith("…")


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
    assert texts(timeline([])) == ["0", "1"]


def test_bars_say_what_they_are_without_colour() -> None:
    lanes = [
        [Bar("done", 0, 10, "✓", "completed", "All of it"), Bar("again", 10, 20, "✗", "blocked", attempt=2)],
        [Bar("clash", 0, 10, "⇄", "conflict"), Bar("now", 10, 20, "●", None, content="What it is about")],
    ]
    picture = timeline(*lanes, critical=["done"])
    assert {"✓", "⇄", "✗", "●", "done", "clash", "again #2", "now", "What it is about"} <= set(texts(picture))
    svg = to_svg(picture)
    assert svg.count('class="under"') == 1 and svg.count("url(#x-") == 2 and "dashed" in svg
    assert "All of it" in svg
    words = [word for _, _, word in legend([Lane("1", bars) for bars in lanes])]
    assert words == ["completed", "blocked", "conflict", "in progress"]


def test_a_bar_that_is_too_short_for_a_name_has_its_mark() -> None:
    picture = timeline([bar(0, 4, name="a-long-name")], [bar(4, 100, name="long")])
    assert texts(picture).count("✓") == 2
    assert "long" in texts(picture) and not any(text.startswith("a-") for text in texts(picture))


@pytest.mark.parametrize(("number", "missing"), [(MOST_BARS, 0), (MOST_BARS + 1, 1), (10_000, 10_000 - MOST_BARS)])
def test_only_so_many_bars_are_drawn_the_longest(number: int, missing: int) -> None:
    bars = [bar(float(n), n + (0.5 if n == 7 else 0.9), name=f"t{n}") for n in range(number)]
    (lane,) = select_longest([Lane("1", bars)])
    assert len(bars) - len(lane.bars) == missing
    assert ("t7" in {each.todo_id for each in lane.bars}) is (missing == 0)
    assert len(to_svg(timeline([*lane.bars]))) < 300_000


@pytest.mark.parametrize("number", [MOST_LANES, MOST_LANES + 1])
def test_only_so_many_lanes_are_drawn(number: int) -> None:
    assert len(select_longest([Lane(str(lane), [bar()]) for lane in range(number)])) == MOST_LANES


work = st.lists(
    st.tuples(st.floats(0, 1e6), st.floats(0, 1e4), st.sampled_from(OUTCOMES), hostile_text), min_size=1, max_size=60
)


@given(work, st.booleans())
def test_bars_of_a_lane_never_overlap_and_stay_in_the_picture(
    work: list[tuple[float, float, str | None, str]], is_shortened: bool
) -> None:
    times = [(start, start + long) for start, long, _, _ in work]
    lanes: dict[int, list[Bar]] = {}
    for (start, end), lane, (_, _, outcome, name) in zip(times, assign_lanes(times), work, strict=True):
        lanes.setdefault(lane, []).append(bar(start, end, outcome, name))
    axis = Axis(times, 0.02) if is_shortened else Axis([(0, max(end for _, end in times))])
    for bars in lanes.values():
        placed = place_bars(bars, axis, 0, WIDTH)
        assert all(one.x + one.width <= other.x + 1e-6 for one, other in pairwise(placed))
        assert all(each.x >= 0 and each.width >= 0 and each.x + each.width <= WIDTH + 1e-6 for each in placed)
    parse(timeline(*lanes.values()))


@given(work)
def test_an_axis_with_shortened_gaps_never_goes_back(work: list[tuple[float, float, str | None, str]]) -> None:
    spans = [(start, start + long) for start, long, _, _ in work]
    axis = Axis(spans, 0.02)
    places = [axis.at(time) for time in sorted(time for span in spans for time in span)]
    assert places == sorted(places) and 0 <= places[0] <= places[-1] <= 1
    assert len(axis.ticks()) < 70


def test_idle_hours_take_little_room_and_short_work_can_be_seen() -> None:
    axis = Axis([(0, 600), (90_000, 90_001), (90_001, 90_600)], 0.03)
    assert axis.idle == [(600, 90_000)]
    assert axis.at(90_000) - axis.at(600) < 0.15
    assert axis.at(90_001) - axis.at(90_000) >= 0.025
    assert not [time for time in axis.ticks() if 600 < time < 90_000]


def test_moments_that_are_too_near_are_drawn_as_one_and_lanes_can_be_used() -> None:
    moments = [Moment(at, str(at)) for at in (0, 1, 2, 90)]
    lanes = [Lane("You", [bar(0, 50)], moments, "You: changes")]
    picture = draw_timeline(
        lanes, Axis([(0, 100)]), format_offset, name="x", title="T", description="", selected="t1", is_usable=True
    )
    root = parse(picture)
    assert [each.attrib["data-moments"] for each in root.iter() if "data-moments" in each.attrib] == ["0 1 2", "90"]
    (button,) = [each for each in root.iter() if each.attrib.get("role") == "button"]
    assert (button.attrib["data-id"], "is-chosen" in button.attrib["class"]) == ("t1", True)
    assert [each.attrib["aria-label"] for each in root.iter() if each.attrib.get("role") == "listitem"] == [
        "You: changes"
    ]


@given(st.floats(0, 1e9))
def test_an_axis_has_few_round_marks(seconds: float) -> None:
    marks = Axis([(0, seconds)]).ticks()
    assert marks[0] == 0 and 1 <= len(marks) <= 9
    assert marks[-1] <= seconds
    assert len({round(other - one, 6) for one, other in pairwise(marks)}) <= 1


def test_an_axis_is_marked_in_times_that_people_use() -> None:
    def ticks(seconds: float) -> list[float]:
        return Axis([(0, seconds)]).ticks()

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
    layout = arrange_layers(nodes, needs)
    assert layout.places.keys() == set(nodes)
    for one, other in combinations(layout.places.values(), 2):
        (x, y), (other_x, other_y) = place_in_layer(*one), place_in_layer(*other)
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
    layout = arrange_layers([str(n) for n in range(size)], needs)
    assert {(start, end) for start, end, _ in layout.edges} == wanted


def chain(number: int) -> list[Node]:
    return [Node(f"n{n}", "✓", "done", "x", (f"n{n - 1}",) if n else ()) for n in range(number)]


def test_where_nothing_depends_on_anything_there_is_no_picture() -> None:
    graph = draw_graph([Node("a", "○", "quiet", "x", ("gone", "a"))], name="g", title="G")
    assert graph == (None, 0, 0, 0, 0, 1)
    assert draw_graph([], name="g", title="G").picture is None


def test_items_without_dependencies_are_counted_and_not_drawn() -> None:
    graph = draw_graph([*chain(3), Node("z", "○", "quiet", "alone")], name="g", title="G")
    assert (graph.drawn, graph.alone, graph.left_out) == (3, 1, 0)
    assert "alone" not in texts(graph.picture)


def test_the_critical_path_is_emphasised() -> None:
    nodes = [*chain(3), Node("side", "✗", "blocked", "x", ("n0",))]
    drawn = classes(draw_graph(nodes, name="g", title="G", critical=["n0", "n1", "n2"]).picture)
    assert drawn.count("node k-done critical") == 3
    assert drawn.count("edge critical") == 2 and drawn.count("edge") == 1


@pytest.mark.parametrize(("number", "missing"), [(MOST_NODES, 0), (MOST_NODES + 1, 1), (10_000, 10_000 - MOST_NODES)])
def test_only_so_many_nodes_are_drawn_the_critical_path_first(number: int, missing: int) -> None:
    nodes = chain(number)
    graph = draw_graph(nodes, name="g", title="G", critical=[f"n{number - 2}", f"n{number - 1}"])
    assert graph.picture is not None
    assert (graph.drawn, graph.left_out) == (MOST_NODES, missing)
    assert f"n{number - 1}" in texts(graph.picture)
    assert len(to_svg(graph.picture)) < 400_000


def test_of_a_large_graph_the_part_around_what_matters_is_drawn() -> None:
    graph = draw_graph(chain(300), name="g", title="G", centre=["n150"], critical=["n10", "n11"], most=20)
    drawn = {int(text[1:]) for text in texts(graph.picture) if text.startswith("n")}
    assert (len(drawn), graph.left_out) == (20, 280)
    assert {149, 150, 151, 9, 10, 11, 12} <= drawn
    assert all(min(abs(one - 150), abs(one - 10)) <= 12 for one in drawn)


@pytest.mark.parametrize("more", [0, 1])
def test_only_so_many_edges_are_drawn(more: int) -> None:
    rows = MOST_EDGES // 10 + 1
    nodes = [Node(f"a{n}", "✓", "done", "x") for n in range(10)]
    nodes += [Node(f"b{n}", "✓", "done", "x", tuple(f"a{m}" for m in range(10))) for n in range(rows - 1)]
    nodes += [Node("c", "✓", "done", "x", tuple(f"a{m}" for m in range(more)))]
    graph = draw_graph(nodes, name="g", title="G")
    assert graph.edges_left_out == more
    assert classes(graph.picture).count("edge") == MOST_EDGES


@settings(max_examples=some(50, 2))
@given(st.lists(hostile_text.filter(bool), min_size=2, max_size=5, unique=True))
def test_any_text_can_be_in_a_graph(names: list[str]) -> None:
    nodes = [Node(name, "✓?", "reported", name * 50, tuple(names[:at]), name) for at, name in enumerate(names)]
    parse(draw_graph(nodes, name="g", title=names[0], critical=names).picture)
