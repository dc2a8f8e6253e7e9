"""HTML as a stream of text, opening and closing tags: one pass, linear in time, and no input that it chokes on.

Python's own `html.parser` fails on `<![x[` and on long numeric references, and takes hours for a page of unclosed
tags. What the HTML standard drops at the end of a page, such as half a tag, is dropped here too.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

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
