"""What pictures share: a tree of elements, texts that fit, colours, and the style that goes with them.

A picture is a tree of `Element`: `to_svg` writes it into the report, the web page builds it from the same tree as JSON.
Both need `STYLE`.
"""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple
from unicodedata import category, east_asian_width

from headway.views.terminal import to_visible

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML has no place for."""
_WIDE, _NARROW = frozenset("mwMW@%—…●✓✗⊘⇄↻■○→"), frozenset("iljtfrI.,:;'|!()[]-` ")
_BOLD = 1.08
"""How much wider than others bold letters are."""

LIGHT = {
    "paper": "#fcfbf8",
    "ink": "#1c1e22",
    "muted": "#5b5f67",
    "rule": "#e2dfd8",
    "faint": "#f4f2ed",
    "done": "#27694a",
    "done-tint": "#e1efe6",
    "reported": "#52661f",
    "reported-tint": "#eef1dd",
    "blocked": "#a92c26",
    "blocked-tint": "#fae4e1",
    "conflict": "#855203",
    "conflict-tint": "#faecd0",
    "running": "#23569c",
    "running-tint": "#e1ebf8",
    "quiet": "#5f636b",
    "quiet-tint": "#ecebe7",
}
DARK = {
    "paper": "#15171a",
    "ink": "#e9e7e2",
    "muted": "#a6a9b0",
    "rule": "#30343a",
    "faint": "#1c1f23",
    "done": "#7cc99d",
    "done-tint": "#1b3327",
    "reported": "#b5c777",
    "reported-tint": "#2c321d",
    "blocked": "#f2948b",
    "blocked-tint": "#42201e",
    "conflict": "#e6b65c",
    "conflict-tint": "#3b2e15",
    "running": "#8fbaf2",
    "running-tint": "#1b2e46",
    "quiet": "#a6a9b0",
    "quiet-tint": "#292c31",
}
KINDS = ("done", "reported", "blocked", "conflict", "running", "quiet")
"""What colours tell apart; a mark says the same."""


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


STYLE = (
    f":root{{color-scheme:light dark;{_variables(LIGHT)}}}\n"
    f"@media (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}\n"
    f"@media print{{:root{{{_variables(LIGHT)}}}}}\n"
    + "".join(f".k-{kind}{{--c:var(--{kind});--t:var(--{kind}-tint)}}" for kind in KINDS)
    + """
.picture{display:block;font-size:12px;fill:var(--ink)}
.picture.graph{font-size:13px}
.picture text{fill:var(--ink)}
.picture .axis{fill:var(--muted);font-size:11px;font-variant-numeric:tabular-nums}
.picture .grid{stroke:var(--rule);stroke-width:1}
.picture .idle{stroke:var(--muted);stroke-width:5;stroke-dasharray:2 4}
.picture .track{fill:var(--faint)}
.picture .box{fill:var(--t);stroke:var(--c);stroke-width:1}
.picture .edge-of{fill:var(--c)}
.picture .dashed .box{stroke-dasharray:4 3}
.picture .hatch{stroke:var(--c);stroke-width:2;stroke-opacity:.28}
.picture .mark{fill:var(--c);font-weight:700}
.picture .id,.picture .lane-name{font-weight:650}
.picture .edge{fill:none;stroke:var(--muted);stroke-opacity:.55;stroke-width:1.2}
.picture .tip{fill:var(--muted)}
.picture .edge.critical,.picture .under{fill:none;stroke:var(--ink);stroke-opacity:1;stroke-width:2.4}
.picture .tip.critical{fill:var(--ink)}
.picture .critical .box{stroke:var(--ink);stroke-width:2.2}
"""
)


class Element(NamedTuple):
    """An element of SVG. As JSON, `[tag, attributes, children]`."""

    tag: str
    attributes: dict[str, str]
    children: tuple[Element | str, ...]


def element(tag: str, *children: Element | str, **attributes: str | float | None) -> Element:
    """Return an element; `class_` and `text_anchor` are the attributes `class` and `text-anchor`, None is left out.

    Texts may come from outside: only those of `data_…` attributes stay as they are.
    """
    written: dict[str, str] = {}
    for name, value in attributes.items():
        if value is not None:
            text = value if isinstance(value, str) else format_number(value)
            written[name.rstrip("_").replace("_", "-")] = text if name.startswith("data_") else clean(text)
    return Element(tag, written, tuple(clean(child) if isinstance(child, str) else child for child in children))


def to_svg(picture: Element) -> str:
    attributes = "".join(f' {name}="{escape(value)}"' for name, value in picture.attributes.items())
    children = "".join(escape(child) if isinstance(child, str) else to_svg(child) for child in picture.children)
    return f"<{picture.tag}{attributes}>{children}</{picture.tag}>"


def clean(text: str) -> str:
    """Return a text from outside on one line, with nothing in it that is unseen or that XML has no place for."""
    return _ILLEGAL.sub("\ufffd", to_visible(text))


def escape_text(text: str) -> str:
    """Return a text from outside as it may stand in HTML and its attributes."""
    return escape(clean(text))


def text_width(text: str, size: float = 12, *, bold: bool = False) -> float:
    """Return about how wide a text is, in pixels, rather too much than too little."""
    return size * (_BOLD if bold else 1) * sum(map(_em, text))


def _em(char: str) -> float:
    if east_asian_width(char) in "WF":
        return 1.0
    if category(char) in ("Mn", "Me", "Cf"):
        return 0.0
    if char in _NARROW:
        return 0.36
    return 0.95 if char in _WIDE else 0.7 if char.isupper() else 0.6


def fit_text(text: str, room: float, size: float = 12, *, bold: bool = False) -> str:
    """Return as much of the text as has room, with an ellipsis for the rest; nothing if not even that fits."""
    line = to_visible(text[: max(int(room), 0) * 4])
    if len(line) < 400 and text_width(line, size, bold=bold) <= room and len(text) <= max(int(room), 0) * 4:
        return line
    left = room - text_width("…", size, bold=bold)
    if left < 0:
        return ""
    for index, char in enumerate(line):
        left -= text_width(char, size, bold=bold)
        if left < 0:
            return line[:index].rstrip() + "…"
    return line + "…"


def format_number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def hatching(name: str) -> Element:
    """Return stripes, for what colour alone must not tell. `name` is for their ids."""
    line = element("line", class_="hatch", x1=0, y1=0, x2=0, y2=7)
    patterns = (
        element(
            "pattern",
            line,
            id=f"{name}-{kind}",
            class_=f"k-{kind}",
            width=7,
            height=7,
            patternUnits="userSpaceOnUse",
            patternTransform=f"rotate({turn})",
        )
        for kind, turn in (("conflict", 45), ("blocked", -45))
    )
    return element("defs", *patterns)
