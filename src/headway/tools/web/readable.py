"""HTML as text to read: headings, paragraphs, lists, tables, links and code, without what only a browser needs.

One pass over the tokens with no tree, so that depth costs nothing. Breaks are owed, and paid when text follows.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias
from urllib.parse import urljoin

from headway.tools.web.page_text import to_visible_text

# HTML as a stream of text, opening and closing tags: one pass, linear in time, and no input that it chokes on.

_MARKUP = re.compile(r"<(?=[a-zA-Z/!?])")
_OPEN = re.compile(r"<([a-zA-Z][^\s/>]*)")
_CLOSE = re.compile(r"</([a-zA-Z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"'][^\s>]*)|(?=>)))?")
_UNCLOSED_VALUE = re.compile(r"\s*=\s*[\"']")
_TAG_END = re.compile(r"[\s/]*>")
_RAW = frozenset({"iframe", "noembed", "noframes", "noscript", "script", "style", "textarea", "title", "xmp"})
"""Elements in which tags mean nothing until their own end."""
_LONGEST_NAME = 64
"""Characters of a name that are looked at."""
_REFERENCE = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{7,});?")
"""A character by a number that no character has, at any length."""


class StartTag(NamedTuple):
    name: str
    attributes: dict[str, str]


class EndTag(NamedTuple):
    name: str


Token: TypeAlias = "str | StartTag | EndTag"


def tokenize(page: str) -> Iterator[Token]:
    at = 0
    while at < len(page):
        found = _MARKUP.search(page, at)
        tag = found.start() if found else len(page)
        if tag > at:
            yield unescape_references(page[at:tag])
        if opened := _OPEN.match(page, tag):
            at, start = _read_start_tag(page, opened)
            if start is None:
                return
            yield start
            if start.name in _RAW:
                end = _find_end_of_raw(page, start.name, at)
                yield unescape_references(page[at:end]) if start.name in ("textarea", "title") else page[at:end]
                at = end
        elif closed := _CLOSE.match(page, tag):
            at = _find_after(page, ">", closed.end())
            yield EndTag(_read_name(closed[1]))
        else:
            at = _find_end_of_markup(page, tag)


def unescape_references(text: str) -> str:
    """The text with its character references decoded."""
    return html.unescape(_REFERENCE.sub("\ufffd", text)) if "&" in text else text


def _read_start_tag(page: str, opened: re.Match[str]) -> tuple[int, StartTag | None]:
    """Where the tag ends, and the tag; None where the page ends first."""
    at = opened.end()
    attributes: dict[str, str] = {}
    while not (end := _TAG_END.match(page, at)):
        found = _ATTRIBUTE.match(page, at)
        if found is None or (found.end() == found.end(1) and _UNCLOSED_VALUE.match(page, found.end())):
            return len(page), None
        at = found.end()
        value = next((group for group in found.groups()[1:] if group is not None), "")
        attributes.setdefault(_read_name(found[1]), unescape_references(value))
    return end.end(), StartTag(_read_name(opened[1]), attributes)


def _find_end_of_raw(page: str, name: str, at: int) -> int:
    found = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(page, at)
    return found.start() if found else len(page)


def _find_end_of_markup(page: str, tag: int) -> int:
    """Behind a comment, a declaration or an instruction."""
    if page.startswith("<!--", tag):
        # `<!-->` is a whole comment, so the end may overlap the beginning.
        return _find_after(page, "-->", tag + 2)
    if page.startswith("<![CDATA[", tag):
        return _find_after(page, "]]>", tag)
    return _find_after(page, ">", tag)


def _find_after(page: str, mark: str, at: int) -> int:
    found = page.find(mark, at)
    return found + len(mark) if found >= 0 else len(page)


def _read_name(text: str) -> str:
    return text[:_LONGEST_NAME].lower()


# The elements of HTML by what they mean for the text of a page. `readable` does what these names say.

LEFT_OUT = frozenset(
    [
        "applet",
        "audio",
        "canvas",
        "datalist",
        "embed",
        "frameset",
        "head",
        "iframe",
        "noembed",
        "noframes",
        "noscript",
        "object",
        "script",
        "select",
        "style",
        "svg",
        "template",
        "title",
        "video",
    ]
)
"""Nothing in them is for readers."""
VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
"""They have no content and no end."""
IN_HEAD = frozenset(["base", "link", "meta", "noscript", "script", "style", "template", "title"])
"""What a page's head holds; anything else shows that its end was forgotten."""
END_OPTIONAL = frozenset({"dd", "dt", "li", "option", "p", "td", "th", "tr"})
"""The next of their kind ends them."""
BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "body",
        "caption",
        "details",
        "dialog",
        "dl",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "hgroup",
        "html",
        "legend",
        "main",
        "nav",
        "p",
        "section",
        "summary",
        "table",
    ]
)
"""Set off by a blank line."""
LINES = frozenset(["div", "dt", "option", "tbody", "tfoot", "thead"])
"""On lines of their own."""


_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_HIDING = re.compile(r"\bdisplay\s*:\s*none", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\n\r\f\v\xa0]+")
_WIDE = "[\u3001-\u30ff\u3400-\u9fff\uff01-\uff60]"
_WRAPPED = re.compile(rf"(?<={_WIDE})[ \t]*\n\s*(?={_WIDE})")
"""A line's end in Chinese or Japanese, which is no space between words."""
_DEEPEST = 6
"""Levels of a list that are shown as such."""
_LONGEST_LINK = 500
_LINKS_AT_LEAST = 10_000
"""Characters for the addresses of links, however short the page is; a long one has as many as itself."""


def to_readable_text(page: str, url: str = "") -> str:
    """The text of an HTML page that is at `url`."""
    reader = _PageReader(url, max(len(page), _LINKS_AT_LEAST))
    for token in tokenize(page):
        if isinstance(token, str):
            reader.text(token)
        elif isinstance(token, StartTag):
            reader.start(token)
        else:
            reader.end(token)
    return reader.finish()


class _PageReader:
    def __init__(self, url: str, room_for_links: int) -> None:
        self._out: list[str] = []
        self._base = url
        self._room_for_links = room_for_links
        self._title: str | None = None
        self._in_title = False
        self._breaks = 0
        """Line ends owed before the next text."""
        self._space = False
        self._lead = ""
        """What the next text begins with: a list's mark, a heading's."""
        self._bars = 0
        """Cells begun since the last text."""
        self._cells = 0
        """Cells of the row so far."""
        self._row_began = 0
        """Where in the output the row begins."""
        self._fresh = False
        """A cell has begun, and nothing is in it yet."""
        self._lists: list[int | None] = []
        """For each open list the number of its last item; None if it has no numbers."""
        self._first_item = False
        self._pre = 0
        self._code: int | None = None
        """Where in the output the open piece of code begins."""
        self._link: tuple[str, int] | None = None
        """The open link's address, and where in the output its text begins."""
        self._skipped: list[str] = []
        """Open elements from one that is left out on."""
        self._skipped_names: dict[str, int] = {}

    def text(self, text: str) -> None:
        if self._in_title:
            self._title = text
        elif self._skipped:
            return
        elif self._pre:
            self._put_code(to_visible_text(text))
        else:
            self._flow(_one_line(text))

    def start(self, tag: StartTag) -> None:
        name = tag.name
        if name == "title" and self._title is None and not self._skipped_names.get("svg"):
            self._in_title = True
        elif name == "base":
            self._base = self._address(tag.attributes.get("href", "")) or self._base
        elif (self._skipped and not self._closes_skipped(name)) or name in LEFT_OUT or _is_hidden(tag.attributes):
            if name not in VOID:
                self._skip(name)
        else:
            self._show(name, tag.attributes)

    def end(self, tag: EndTag) -> None:
        name = tag.name
        if self._in_title:
            self._in_title = False
            return
        if self._skipped and self._still_skips(name):
            return
        if name == "table":
            self.new_row()
        if name in BLOCKS or name in _HEADINGS:
            self._break(2)
        elif name in LINES:
            self._break(1)
        elif name in _ENDS:
            _ENDS[name](self)
        if name in _HEADINGS:
            self._lead = ""

    def finish(self) -> str:
        self.end_link()
        while self._pre:
            self.end_pre()
        body = "".join(self._out)
        title = _one_line(self._title or "").strip()
        lines = [line.rstrip() for line in (f"{title}\n\n{body}" if title else body).split("\n")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")

    def _show(self, name: str, attributes: dict[str, str]) -> None:
        if name == "table":
            self.new_row()
        if name in _HEADINGS:
            self._break(2)
            self._lead = _HEADINGS[name]
        elif name in BLOCKS:
            self._break(2)
        elif name in LINES:
            self._break(1)
        elif name in _STARTS:
            _STARTS[name](self, attributes)

    # What is owed, and what is put out

    def _break(self, lines: int) -> None:
        # An item's own paragraph does not tear it from its mark, nor a cell's from its row.
        if not self._lead and not self._fresh:
            self._breaks = max(self._breaks, lines)
        self._space = False

    def _flow(self, text: str) -> None:
        if text.strip():
            if text[0] == " ":
                self._space = True
            self._put(text.strip(" "))
            self._space = text[-1] == " "
        elif text:
            self._space = True

    def _put_code(self, text: str) -> None:
        if self._out[-1].endswith("```\n"):
            text = text.removeprefix("\n")
        if text:
            self._put(text)

    def _put(self, text: str) -> None:
        """Pays what is owed, then the text."""
        if self._bars:
            fresh = self._breaks > 0 or not self._out
            self._write_pending_breaks()
            self._out.append("| " * self._bars if fresh else " |" * self._bars + " ")
            self._bars = 0
        elif self._breaks or not self._out:
            self._write_pending_breaks()
        elif self._space:
            self._out.append(" ")
        self._space = self._fresh = False
        self._out.append(self._lead + text)
        self._lead = ""

    def _write_pending_breaks(self) -> None:
        if self._out and self._breaks:
            self._out.append("\n" * self._breaks)
        depth = min(len(self._lists), _DEEPEST) - (1 if self._lead else 0)
        if depth > 0 and not self._pre:
            self._out.append("  " * depth)
        self._breaks = 0

    # Elements with ways of their own

    def start_link(self, attributes: dict[str, str]) -> None:
        self.end_link()
        self._link = (attributes.get("href", ""), len(self._out))

    def end_link(self) -> None:
        if self._link is None:
            return
        target, began = self._link
        self._link = None
        said = "".join(self._out[began:]).strip() if len(self._out) - began < 10 else "…"
        address = self._address(target)
        inside = self._pre or self._code is not None
        if said and address and not inside and not said.endswith(address) and len(address) <= self._room_for_links:
            self._room_for_links -= len(address)
            self._out.append(f" ({address})")

    def _address(self, target: str) -> str | None:
        target = to_visible_text(target).strip()
        if not target or target.startswith("#") or len(target) > _LONGEST_LINK:
            return None
        try:
            address = urljoin(self._base, target)
        except ValueError:
            return None
        usable = address.lower().startswith(("http://", "https://")) and len(address) <= _LONGEST_LINK
        return _SPACE.sub("%20", address) if usable else None

    def start_list(self, number: int | None) -> None:
        self._lead, self._first_item = "", True
        self._break(1 if self._lists else 2)
        if self._lists:
            self._breaks = min(self._breaks, 1)
        self._lists.append(number)

    def end_list(self) -> None:
        if self._lists:
            self._lists.pop()
        self._lead = ""
        self._break(1 if self._lists else 2)

    def start_item(self) -> None:
        self._lead = ""
        self._breaks = self._breaks if self._first_item else 1
        self._break(1)
        self._first_item = False
        if self._lists and (last := self._lists[-1]) is not None:
            self._lists[-1] = last + 1
            self._lead = f"{last + 1}. "
        else:
            self._lead = "- "

    def start_definition(self) -> None:
        self._break(1)
        self._lead = "  "

    def end_item(self) -> None:
        self._lead = ""
        self._break(1)

    def new_row(self) -> None:
        self._cells, self._bars, self._fresh = 0, 0, False
        self._break(1)
        self._row_began = len(self._out)

    def start_cell(self) -> None:
        if self._cells:
            self._bars += 1
            if len(self._out) > self._row_began:
                self._breaks = 0
        else:
            self._break(1)
        self._cells += 1
        self._fresh = True

    def start_pre(self) -> None:
        if not self._pre:
            self._break(2)
            self._put("```\n")
        self._pre += 1

    def end_pre(self) -> None:
        if self._pre == 1:
            if not self._out[-1].endswith("\n"):
                self._out.append("\n")
            self._breaks = 0
            self._out.append("```")
            self._break(2)
        self._pre = max(self._pre - 1, 0)

    def start_code(self) -> None:
        if not self._pre and self._code is None:
            self._put("`")
            self._code = len(self._out)

    def end_code(self) -> None:
        if self._code is not None:
            if len(self._out) == self._code:
                self._out.pop()
            else:
                self._out.append("`")
            self._code = None

    def line_end(self) -> None:
        if self._pre:
            self._out.append("\n")
        else:
            self._breaks = min(self._breaks + 1, 2)
            self._space = False

    def image(self, attributes: dict[str, str]) -> None:
        if says := _one_line(attributes.get("alt", "")).strip():
            self._put(f"[image: {says}]")

    def quote(self) -> None:
        self._break(2)
        self._lead = "> "

    def end_quote(self) -> None:
        self._lead = ""
        self._break(2)

    # What is left out

    def _skip(self, name: str) -> None:
        self._skipped.append(name)
        self._skipped_names[name] = self._skipped_names.get(name, 0) + 1

    def _still_skips(self, ended: str) -> bool:
        """Whether what is left out goes on behind this end; the end of something around it is the end of both."""
        if self._skipped_names.get(ended):
            while (name := self._skipped.pop()) != ended:
                self._skipped_names[name] -= 1
            self._skipped_names[ended] -= 1
            return True
        if ended in _ENDS or ended in BLOCKS or ended in LINES:
            self._stop_skipping()
        return bool(self._skipped)

    def _closes_skipped(self, name: str) -> bool:
        """Whether this tag cannot stand in what is left out, so that it was never closed."""
        outer, alone = self._skipped[0], len(self._skipped) == 1
        never_closed = (outer == "head" and name not in IN_HEAD) or (outer == name and name in END_OPTIONAL)
        if name == "body" or (alone and never_closed):
            self._stop_skipping()
            return True
        return False

    def _stop_skipping(self) -> None:
        self._skipped.clear()
        self._skipped_names.clear()


def _one_line(text: str) -> str:
    text = to_visible_text(text)
    return _SPACE.sub(" ", text if text.isascii() else _WRAPPED.sub("", text))


def _is_hidden(attributes: dict[str, str]) -> bool:
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden", "").strip().lower() == "true"
        or _HIDING.search(attributes.get("style", "")) is not None
    )


_STARTS: dict[str, Callable[[_PageReader, dict[str, str]], None]] = {
    "a": _PageReader.start_link,
    "blockquote": lambda reader, _: reader.quote(),
    "br": lambda reader, _: reader.line_end(),
    "code": lambda reader, _: reader.start_code(),
    "dd": lambda reader, _: reader.start_definition(),
    "hr": lambda reader, _: reader.end_quote(),
    "img": _PageReader.image,
    "li": lambda reader, _: reader.start_item(),
    "ol": lambda reader, _: reader.start_list(0),
    "pre": lambda reader, _: reader.start_pre(),
    "td": lambda reader, _: reader.start_cell(),
    "th": lambda reader, _: reader.start_cell(),
    "tr": lambda reader, _: reader.new_row(),
    "ul": lambda reader, _: reader.start_list(None),
}
_ENDS: dict[str, Callable[[_PageReader], None]] = {
    "a": _PageReader.end_link,
    "blockquote": _PageReader.end_quote,
    "code": _PageReader.end_code,
    "dd": _PageReader.end_item,
    "li": _PageReader.end_item,
    "ol": _PageReader.end_list,
    "pre": _PageReader.end_pre,
    "tr": _PageReader.new_row,
    "ul": _PageReader.end_list,
}
