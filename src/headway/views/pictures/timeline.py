"""Who worked on what when, as a picture: a lane for each worker, a bar for each stretch of work. Pure."""

from __future__ import annotations

from typing import NamedTuple

from headway.views.pictures.drawing import KINDS, fitted, hatching, px, safe, width_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

MOST_BARS = 300
MOST_LANES = 64
WIDTH = 960
_LEFT, _RIGHT, _TOP = 34, 14, 24
_LANE, _BAR = 34, 26
_BOLD = 13
"""How large bold letters are taken to be: these are wider."""
_TICKS = (1, 2, 5, 10, 15, 30, *(60 * m for m in (1, 2, 5, 10, 15, 30)), *(3_600 * h for h in (1, 2, 3, 6, 12)))
_DAY = 86_400
_KINDS = {
    "completed": "done",
    "blocked": "blocked",
    "conflict": "conflict",
    "interrupted": "quiet",
    "cancelled": "quiet",
    "pending": "quiet",
    "dropped": "quiet",
}
_WORDS = {None: "in progress", "pending": "set to pending"}
_HATCHED = ("conflict", "blocked")


class Bar(NamedTuple):
    """A stretch of work. Bars of a lane do not overlap."""

    item_id: str
    lane: int
    """Counted from 1."""
    start: float
    """Seconds from the beginning."""
    end: float
    mark: str
    outcome: str | None
    """None while it goes on."""
    text: str = ""
    """All there is to say of it."""
    attempt: int = 1


class Placed(NamedTuple):
    """Where a bar is drawn."""

    bar: Bar
    x: float
    width: float


def timeline(bars: Sequence[Bar], *, name: str, title: str, critical: Collection[str] = ()) -> str:
    """The picture as SVG. `name` is for its ids alone; bars of items in `critical` are underlined."""
    placed = place(bars)
    lanes = max((each.bar.lane for each in placed), default=1)
    height = _TOP + lanes * _LANE + 6
    whole = max((bar.end for bar in bars), default=0.0)
    parts = [
        f'<svg class="picture" role="img" viewBox="0 0 {WIDTH} {height}" aria-labelledby="{name}-t {name}-d">',
        f'<title id="{name}-t">{safe(title)}</title>',
        f'<desc id="{name}-d">{safe(_described(placed, lanes, whole, len(bars) - len(placed)))}</desc>',
        f"<defs>{hatching(name)}</defs>",
    ]
    for lane in range(1, lanes + 1):
        y = _TOP + (lane - 1) * _LANE
        parts.append(
            f'<rect class="lane" x="{_LEFT}" y="{y + 2}" width="{WIDTH - _LEFT - _RIGHT}" height="{_LANE - 4}" rx="3"/>'
            f'<text class="axis" x="{_LEFT - 10}" y="{y + _LANE / 2 + 4:g}" text-anchor="end">{lane}</text>'
        )
    parts += _axis(whole, height)
    parts += (_drawn(each, name, each.bar.item_id in critical) for each in placed)
    return "".join([*parts, "</svg>"])


def place(bars: Sequence[Bar]) -> list[Placed]:
    """Where bars go, at most so many: the longest. A short one is widened as far as the next of its lane allows."""
    kept = [bar for bar in bars if bar.lane <= MOST_LANES]
    if len(kept) > MOST_BARS:
        longest = sorted(range(len(kept)), key=lambda i: kept[i].start - kept[i].end)[:MOST_BARS]
        kept = [kept[index] for index in sorted(longest)]
    scale = _scale(max((bar.end for bar in bars), default=0.0))
    beyond: dict[int, float] = {}
    placed: list[Placed] = []
    for bar in sorted(kept, key=lambda bar: (bar.start, bar.end), reverse=True):
        x = min(_LEFT + bar.start * scale, WIDTH - _RIGHT - 3.0)
        room = max(beyond.get(bar.lane, WIDTH - _RIGHT) - x, 0.0)
        placed.append(Placed(bar, x, min(max((bar.end - bar.start) * scale, 3.0), room)))
        beyond[bar.lane] = x
    return placed[::-1]


def ticks(seconds: float, most: int = 8) -> list[float]:
    """Times at which the axis is marked: round ones, from 0."""
    step = next((tick for tick in _TICKS if seconds / tick <= most), 0)
    if not step:
        days = seconds / most / _DAY
        step = _DAY
        while step < days * _DAY:
            step *= 2
    return [float(step * index) for index in range(int(seconds // step) + 1)]


def _scale(whole: float) -> float:
    return (WIDTH - _LEFT - _RIGHT) / whole if whole >= 0.001 else 0.0


def _axis(whole: float, height: float) -> Iterable[str]:
    for at in ticks(whole):
        x = _LEFT + at * _scale(whole)
        anchor = "end" if x > WIDTH - _RIGHT - 24 else "middle"
        yield f'<line class="grid" x1="{px(x)}" y1="{_TOP - 5}" x2="{px(x)}" y2="{height - 6}"/>'
        yield f'<text class="axis" x="{px(x)}" y="{_TOP - 10}" text-anchor="{anchor}">{_time(at)}</text>'


def _time(seconds: float) -> str:
    """`0`, `30 s`, `1:30`, `2 h`, `3 d`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s" if whole else "0"
    if whole < 3_600:
        return f"{whole // 60}:{whole % 60:02}"
    if whole < 2 * _DAY:
        return f"{whole // 3_600} h" if not whole % 3_600 else f"{whole // 3_600}:{whole % 3_600 // 60:02} h"
    return f"{whole / _DAY:g} d"


def kind_of(outcome: str | None, mark: str = "") -> str:
    """The colours for what came of work."""
    if outcome is None:
        return "running"
    return "reported" if mark == "✓?" else _KINDS.get(outcome, "quiet")


def _drawn(placed: Placed, name: str, critical: bool) -> str:
    bar, x, width = placed
    y = _TOP + (bar.lane - 1) * _LANE + (_LANE - _BAR) / 2
    kind = kind_of(bar.outcome, bar.mark)
    shape = f'x="{px(x)}" y="{px(y)}" width="{px(width)}" height="{_BAR}" rx="3"'
    dashed = " dashed" if kind in ("running", "quiet") else ""
    parts = [f'<g class="k-{kind}"><title>{safe(bar.text)}</title><rect class="box{dashed}" {shape}/>']
    if bar.outcome in _HATCHED:
        parts.append(f'<rect fill="url(#{name}-{bar.outcome})" {shape}/>')
    parts.append(f'<rect class="edge-of" x="{px(x)}" y="{px(y)}" width="{px(min(3, width))}" height="{_BAR}" rx="1"/>')
    parts += _label(bar, x + 8, y + _BAR / 2 + 4, width - 12)
    if critical:
        parts.append(f'<line class="under" x1="{px(x)}" y1="{px(y + _BAR)}" x2="{px(x + width)}" y2="{px(y + _BAR)}"/>')
    return "".join([*parts, "</g>"])


def _label(bar: Bar, x: float, y: float, room: float) -> Iterable[str]:
    mark = width_of(bar.mark)
    if room < mark:
        return
    yield f'<text class="mark" x="{px(x)}" y="{px(y)}">{safe(bar.mark)}</text>'
    tries = f" #{bar.attempt}" if bar.attempt > 1 else ""
    label = fitted(bar.item_id, room - mark - 4 - width_of(tries, _BOLD), _BOLD)
    if len(label) > 1 or label == bar.item_id:
        yield f'<text class="id" x="{px(x + mark + 4)}" y="{px(y)}">{safe(label)}{tries}</text>'


def _described(placed: Sequence[Placed], lanes: int, whole: float, left_out: int) -> str:
    counted: dict[str, int] = {}
    for each in placed:
        outcome = each.bar.outcome or "in progress"
        counted[outcome] = counted.get(outcome, 0) + 1
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in counted.items())
    more = f" {left_out} more are not shown." if left_out else ""
    return f"{len(placed)} work periods in {lanes} lanes over {whole:.0f} seconds: {outcomes}.{more}"


def left_out(bars: Sequence[Bar]) -> int:
    """How many bars are not drawn."""
    return len(bars) - len(place(bars))


def legend(bars: Sequence[Bar]) -> list[tuple[str, str, str]]:
    """(colours, mark, word) for each kind of bar that is there."""
    found = {(kind_of(bar.outcome, bar.mark), bar.mark, _word(bar)) for bar in bars}
    return sorted(found, key=lambda entry: (KINDS.index(entry[0]), entry))


def _word(bar: Bar) -> str:
    return "completed, not verified" if bar.mark == "✓?" else _WORDS.get(bar.outcome, bar.outcome or "")
