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


class Start(NamedTuple):
    name: str
    attributes: dict[str, str]


class End(NamedTuple):
    name: str


Token: TypeAlias = "str | Start | End"


def tokens(page: str) -> Iterator[Token]:
    at = 0
    while at < len(page):
        found = _MARKUP.search(page, at)
        tag = found.start() if found else len(page)
        if tag > at:
            yield unescaped(page[at:tag])
        if opened := _OPEN.match(page, tag):
            at, start = _start(page, opened)
            if start is None:
                return
            yield start
            if start.name in _RAW:
                end = _end_of_raw(page, start.name, at)
                yield unescaped(page[at:end]) if start.name in ("textarea", "title") else page[at:end]
                at = end
        elif closed := _CLOSE.match(page, tag):
            at = _after(page, ">", closed.end())
            yield End(_name(closed[1]))
        else:
            at = _after_markup(page, tag)


def unescaped(text: str) -> str:
    """The text with its character references decoded."""
    return html.unescape(_REFERENCE.sub("\ufffd", text)) if "&" in text else text


def _start(page: str, opened: re.Match[str]) -> tuple[int, Start | None]:
    """Where the tag ends, and the tag; None where the page ends first."""
    at = opened.end()
    attributes: dict[str, str] = {}
    while not (end := _TAG_END.match(page, at)):
        found = _ATTRIBUTE.match(page, at)
        if found is None or (found.end() == found.end(1) and _UNCLOSED_VALUE.match(page, found.end())):
            return len(page), None
        at = found.end()
        value = next((group for group in found.groups()[1:] if group is not None), "")
        attributes.setdefault(_name(found[1]), unescaped(value))
    return end.end(), Start(_name(opened[1]), attributes)


def _end_of_raw(page: str, name: str, at: int) -> int:
    found = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(page, at)
    return found.start() if found else len(page)


def _after_markup(page: str, tag: int) -> int:
    """Behind a comment, a declaration or an instruction."""
    if page.startswith("<!--", tag):
        # `<!-->` is a whole comment, so the end may overlap the beginning.
        return _after(page, "-->", tag + 2)
    if page.startswith("<![CDATA[", tag):
        return _after(page, "]]>", tag)
    return _after(page, ">", tag)


def _after(page: str, mark: str, at: int) -> int:
    found = page.find(mark, at)
    return found + len(mark) if found >= 0 else len(page)


def _name(text: str) -> str:
    return text[:_LONGEST_NAME].lower()
