"""Who worked on what when, as a picture: lanes with a bar for each stretch of work, on an axis of time. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from heapq import heappop, heappush, nlargest
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from headway.views.pictures.drawing import KINDS, Element, element, fit_text, format_number, hatching, text_width

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

MOST_BARS = 300
MOST_LANES = 64
WIDTH = 960
_RIGHT, _TOP = 14, 24
_LANE, _BAR = 34, 26
_LEAST, _LEAST_IN_PROGRESS = 6.0, 22.0
"""How wide a bar is at least, where there is room."""
_HEAP = 38.0
"""Moments that are nearer to each other are drawn as one."""
_DAY = 86_400
_STEPS = (1, 2, 5, 10, 15, 30, *(60 * m for m in (1, 2, 5, 10, 15, 30)), *(3_600 * h for h in (1, 2, 3, 6, 12)))
_KINDS = {"completed": "done", "blocked": "blocked", "conflict": "conflict", None: "running"}
_WORDS = {None: "in progress", "pending": "set to pending"}


class Bar(NamedTuple):
    """A stretch of work."""

    todo_id: str
    start: float
    end: float
    mark: str
    outcome: str | None
    """None while it goes on."""
    text: str = ""
    """All there is to say about it."""
    attempt: int = 1
    content: str = ""

    @property
    def kind(self) -> str:
        """Its colours: one of `drawing.KINDS`."""
        return "reported" if self.mark == "✓?" else _KINDS.get(self.outcome, "quiet")


class Moment(NamedTuple):
    """Something that took no time."""

    at: float
    key: str


class Lane(NamedTuple):
    name: str
    bars: Sequence[Bar] = ()
    """They do not overlap."""
    moments: Sequence[Moment] = ()
    label: str = ""
    """What a list of lanes calls it, in a picture that can be used."""


def assign_lanes(stretches: Sequence[tuple[float, float]]) -> list[int]:
    """Return a lane, counted from 0, for each (start, end): the lowest one that is free then."""
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


class _Piece:
    """A part of an axis, on which time goes evenly."""

    __slots__ = ("end", "is_idle", "place", "size", "start")

    def __init__(self, start: float, end: float, size: float, *, is_idle: bool = False) -> None:
        self.start, self.end, self.size, self.is_idle = start, end, size, is_idle
        self.place = 0.0


class Axis:
    """From times to parts of the width: 0 to 1.

    Gaps between the spans, in which nothing happened, take little of it; no span takes less than `least`, unless all of
    the short ones together would take more than half.
    """

    def __init__(self, spans: Iterable[tuple[float, float]], least: float = 0.0) -> None:
        spans = sorted(spans)
        busy: list[list[float]] = []
        for start, end in spans:
            if busy and start <= busy[-1][1]:
                busy[-1][1] = max(busy[-1][1], end)
            else:
                busy.append([start, end])
        worked = max(sum(end - start for start, end in busy), 1.0)
        longest_gap = max(worked * min(0.12, 0.6 / max(len(busy), 1)), 0.3)
        times = sorted({time for span in spans for time in span})
        self._pieces: list[_Piece] = []
        for start, end in busy:
            if self._pieces:
                before = self._pieces[-1].end
                gap = start - before
                self._pieces.append(_Piece(before, start, min(gap, longest_gap), is_idle=gap > longest_gap))
            inner = [start, *times[bisect_right(times, start) : bisect_left(times, end)], end]
            self._pieces += (_Piece(one, other, other - one) for one, other in pairwise(inner))
        self._widen([(start, end) for start, end in spans if 0 < end - start < worked * least], least)
        place = 0.0
        for piece in self._pieces:
            piece.place = place
            place += piece.size
        self._size = max(place, 0.001)
        self._ends = [piece.end for piece in self._pieces]

    def _widen(self, short: Sequence[tuple[float, float]], least: float) -> None:
        if not short:
            return
        share = min(least, 0.5 / len(short))
        wanted = max(sum(piece.size for piece in self._pieces), 1.0) * share / (1 - share * len(short))
        first = 0
        for start, end in short:
            while self._pieces[first].end <= start:
                first += 1
            last = first
            while last < len(self._pieces) and self._pieces[last].end <= end:
                last += 1
            size = sum(piece.size for piece in self._pieces[first:last])
            if 0 < size < wanted:
                for piece in self._pieces[first:last]:
                    piece.size *= wanted / size

    def at(self, time: float) -> float:
        if not self._pieces:
            return 0.0
        piece = self._pieces[min(bisect_left(self._ends, time), len(self._pieces) - 1)]
        part = (time - piece.start) / (piece.end - piece.start) if piece.end > piece.start else 0.0
        return (piece.place + min(max(part, 0.0), 1.0) * piece.size) / self._size

    @property
    def idle(self) -> list[tuple[float, float]]:
        """Return the gaps that were shortened, as times."""
        return [(piece.start, piece.end) for piece in self._pieces if piece.is_idle]

    def ticks(self, most: float = 8) -> list[float]:
        """Return the times at which the axis is marked: round ones."""
        step = next((step for step in _STEPS if self._size / step <= most), _DAY)
        while self._size / step > most:
            step *= 2
        found: list[float] = []
        for piece in self._pieces:
            if piece.is_idle:
                continue
            for index in range(ceil(piece.start / step), int(piece.end // step) + 1):
                time = float(index * step)
                if not found or self.at(time) - self.at(found[-1]) > 0.6 / most:
                    found.append(time)
        return found


class Placed(NamedTuple):
    """Where a bar is drawn."""

    bar: Bar
    x: float
    width: float


def place_bars(bars: Sequence[Bar], axis: Axis, left: float, width: float) -> list[Placed]:
    """Place the bars of a lane. A short one is widened, and moves those that follow as far as it has to."""
    ordered = sorted(bars, key=lambda bar: (bar.start, bar.end))
    least = [_LEAST if bar.outcome else _LEAST_IN_PROGRESS for bar in ordered]
    scale = min(width / max(sum(least), 1.0), 1.0)
    sides: list[tuple[float, float]] = []
    free = left
    for bar, room in zip(ordered, least, strict=True):
        x = max(left + axis.at(bar.start) * width, free)
        free = max(left + axis.at(bar.end) * width, x + room * scale)
        sides.append((x, free))
    placed: list[Placed] = []
    limit = left + width
    for bar, room, (x, end) in reversed([*zip(ordered, least, sides, strict=True)]):
        end = min(end, limit)
        limit = min(x, end - room * scale)
        placed.append(Placed(bar, limit, end - limit))
    return placed[::-1]


def select_longest(lanes: Sequence[Lane]) -> list[Lane]:
    """Return at most so many lanes, with at most so many bars: the longest."""
    bars = [bar for lane in lanes[:MOST_LANES] for bar in lane.bars]
    chosen = {id(bar) for bar in nlargest(MOST_BARS, bars, key=lambda bar: bar.end - bar.start)}
    return [lane._replace(bars=[bar for bar in lane.bars if id(bar) in chosen]) for lane in lanes[:MOST_LANES]]


def draw_timeline(
    lanes: Sequence[Lane],
    axis: Axis,
    format_time: Callable[[float], str],
    *,
    name: str,
    title: str,
    description: str,
    width: float = WIDTH,
    left: float = 34,
    critical: Collection[str] = (),
    selected: str | None = None,
    is_usable: bool = False,
) -> Element:
    """Return the picture. `name` is for its ids alone; bars of todos in `critical` are underlined.

    `is_usable`: lanes are a list, bars are buttons.
    """
    canvas = _Canvas(axis, name, left, width - left - _RIGHT, critical, selected, is_usable)
    rows = [canvas.draw_lane(lane, _TOP + index * _LANE) for index, lane in enumerate(lanes)]
    height = _TOP + len(rows) * _LANE + 6
    list_of_lanes = {"role": "list", "aria_label": title, "class_": "lanes"} if is_usable else {"class_": "lanes"}
    return element(
        "svg",
        element("title", title, id=f"{name}-t"),
        element("desc", description, id=f"{name}-d"),
        hatching(name),
        element("g", *canvas.draw_axis(height, format_time), **({"aria_hidden": "true"} if is_usable else {})),
        element("g", *rows, **list_of_lanes),
        class_="picture timeline",
        role="group" if is_usable else "img",
        viewBox=f"0 0 {format_number(width)} {height}",
        width=width,
        height=height,
        aria_labelledby=f"{name}-t {name}-d",
    )


class _Canvas(NamedTuple):
    axis: Axis
    name: str
    left: float
    width: float
    critical: Collection[str]
    selected: str | None
    is_usable: bool

    def x(self, time: float) -> float:
        return self.left + self.axis.at(time) * self.width

    def draw_axis(self, height: float, format_time: Callable[[float], str]) -> Iterator[Element]:
        for time in self.axis.ticks(self.width / 115):
            x = self.x(time)
            label = format_time(time)
            anchor = "end" if x + text_width(label, 11) / 2 > self.left + self.width + _RIGHT else "middle"
            yield element("line", class_="grid", x1=x, y1=_TOP - 5, x2=x, y2=height - 6)
            yield element("text", label, class_="axis", x=x, y=_TOP - 10, text_anchor=anchor)
        for start, end in self.axis.idle:
            yield element("line", class_="idle", x1=self.x(start), y1=_TOP - 4, x2=self.x(end), y2=_TOP - 4)

    def draw_lane(self, lane: Lane, y: float) -> Element:
        middle = y + _LANE / 2 + 4
        background = element("rect", class_="track", x=self.left, y=y + 2, width=self.width, height=_LANE - 4, rx=3)
        bars = (
            self.draw_bar(placed, y + (_LANE - _BAR) / 2)
            for placed in place_bars(lane.bars, self.axis, self.left, self.width)
        )
        parts = [background, *bars, *self.draw_moments(lane.moments, y)]
        if not self.is_usable:
            label = element("text", lane.name, class_="axis", x=self.left - 10, y=middle, text_anchor="end")
            return element("g", *parts, label)
        label = element(
            "g",
            element("title", lane.label),
            element("rect", x=-4, y=y + 1, width=self.left, height=_LANE - 2),
            element("text", fit_text(lane.name, self.left - 12, 13, bold=True), x=0, y=middle),
            class_="lane-name",
        )
        return element("g", *parts, label, class_="lane", role="listitem", aria_label=lane.label, data_key=lane.label)

    def draw_bar(self, placed: Placed, y: float) -> Element:
        bar, x, width = placed
        area = {"x": x, "y": y, "width": width, "height": _BAR, "rx": 3}
        parts = [element("title", bar.text), element("rect", class_="box", **area)]
        if bar.outcome in ("conflict", "blocked"):
            parts.append(element("rect", fill=f"url(#{self.name}-{bar.outcome})", **area))
        parts.append(element("rect", class_="edge-of", x=x, y=y, width=min(3, width), height=_BAR, rx=1))
        parts += _label_bar(bar, x, y + _BAR / 2 + 4, width)
        if bar.todo_id in self.critical:
            parts.append(element("line", class_="under", x1=x, y1=y + _BAR, x2=x + width, y2=y + _BAR))
        classes = f"stretch k-{bar.kind}{' dashed' if bar.kind in ('running', 'quiet') else ''}"
        if not self.is_usable:
            return element("g", *parts, class_=classes)
        return element(
            "g",
            *parts,
            class_=f"{classes}{' is-chosen' if bar.todo_id == self.selected else ''}",
            role="button",
            tabindex=0,
            data_id=bar.todo_id,
            data_key=f"{bar.start} {bar.todo_id}",
        )

    def draw_moments(self, moments: Sequence[Moment], y: float) -> Iterator[Element]:
        heaps: list[tuple[float, list[str]]] = []
        for moment in sorted(moments):
            x = self.x(moment.at)
            if heaps and x - heaps[-1][0] < _HEAP:
                heaps[-1][1].append(moment.key)
            else:
                heaps.append((x, [moment.key]))
        for x, keys in heaps:
            middle = y + _LANE / 2
            diamond = f"M{x:.1f} {middle - 6:g}l6 6l-6 6l-6 -6z"
            number = [element("text", str(len(keys)), class_="axis", x=x + 10, y=middle + 4)] if len(keys) > 1 else []
            yield element(
                "g",
                element("title", f"{len(keys)} changes"),
                element("path", d=diamond),
                *number,
                class_="dot",
                role="img",
                data_moments=" ".join(keys),
                data_key=keys[0],
            )


def _label_bar(bar: Bar, x: float, y: float, width: float) -> Iterator[Element]:
    mark = text_width(bar.mark)
    if width < mark + 5:
        return
    attempt = f" #{bar.attempt}" if bar.attempt > 1 else ""
    room = width - 16 - mark
    name = fit_text(bar.todo_id, room - text_width(attempt, bold=True), bold=True)
    if len(name) < 2 and name != bar.todo_id:
        yield element("text", bar.mark, class_="mark", x=x + width / 2 + 1, y=y, text_anchor="middle")
        return
    yield element("text", bar.mark, class_="mark", x=x + 8, y=y)
    yield element("text", f"{name}{attempt}", class_="id", x=x + 12 + mark, y=y)
    used = text_width(f"{name}{attempt}", bold=True) + 8
    content = fit_text(bar.content, room - used)
    if len(content) > 3 or content == bar.content != "":
        yield element("text", content, x=x + 12 + mark + used, y=y)


def describe_bars(lanes: Sequence[Lane], seconds: float, left_out: int) -> str:
    counted: dict[str, int] = {}
    for lane in lanes:
        for bar in lane.bars:
            outcome = bar.outcome or "in progress"
            counted[outcome] = counted.get(outcome, 0) + 1
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in counted.items())
    more = f" {left_out} more are not shown." if left_out else ""
    return f"{sum(counted.values())} work periods in {len(lanes)} lanes over {seconds:.0f} seconds: {outcomes}.{more}"


def legend(lanes: Sequence[Lane]) -> list[tuple[str, str, str]]:
    """Return (colours, mark, word) for each kind of bar that is there."""
    found = {(bar.kind, bar.mark, _outcome_word(bar)) for lane in lanes for bar in lane.bars}
    return sorted(found, key=lambda entry: (KINDS.index(entry[0]), entry))


def _outcome_word(bar: Bar) -> str:
    return "completed, not verified" if bar.mark == "✓?" else _WORDS.get(bar.outcome, bar.outcome or "")


def format_offset(seconds: float) -> str:
    """`0`, `30 s`, `1:30`, `2 h`, `3 d`: a time on an axis that begins with 0."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s" if whole else "0"
    if whole < 3_600:
        return f"{whole // 60}:{whole % 60:02}"
    if whole < 2 * _DAY:
        return f"{whole // 3_600} h" if not whole % 3_600 else f"{whole // 3_600}:{whole % 3_600 // 60:02} h"
    return f"{whole / _DAY:g} d"
