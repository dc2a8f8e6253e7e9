"""Edits of texts in every encoding and with any line ends, and a naive model of what comes of them."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st
from tests.support.projects import temporary_folder
from tests.tools.files.desk import Desk

from headway.tools.base import ToolFault
from headway.tools.files.content import decode, encode

ENCODINGS = {"utf-8": "", "utf-8-sig": "", "utf-16-le": "\ufeff", "utf-16-be": "\ufeff", "gb18030": "", "latin-1": ""}
"""Encodings, each with the mark that it does not write by itself."""
PIECES = ["a", "b", "ab", " ", "\t", "é", "中", "文字", "😀", "\r\n", "\n", "\r", "\x0c", "\u2028", ".*", "\\1", "ü"]
MODES = [0o644, 0o755, 0o600]


@dataclass(frozen=True)
class Case:
    data: bytes
    old: str
    new: str
    every: bool
    mode: int


def texts(most: int) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(PIECES), max_size=most).map("".join)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    encoding = draw(st.sampled_from(list(ENCODINGS)))
    start = "中文内容" if encoding == "gb18030" else ""
    data = (ENCODINGS[encoding] + start + draw(texts(30))).encode(encoding, "ignore")
    try:
        text = decode(data)[0]
    except ToolFault:  # bytes that look like no text are not edited
        data, text = b"a\r\nb", "a\r\nb"
    first = draw(st.integers(0, len(text)))
    stretch = text[first : first + draw(st.integers(1, 8))]
    old = draw(st.sampled_from([stretch, stretch.replace("\r\n", "\n"), stretch.replace("\n", "\r\n")]) | texts(3))
    return Case(data, old or "a", draw(texts(4)), draw(st.booleans()), draw(st.sampled_from(MODES)))


def units(text: str) -> list[str]:
    """Characters, with a line end of two as one."""
    return re.findall("\r\n|.", text, re.DOTALL)


def plain(parts: list[str]) -> list[str]:
    return ["\n" if part == "\r\n" else part for part in parts]


def model(text: str, old: str, new: str, every: bool) -> str | None:
    """The text after the edit; None if it must be refused."""
    have, want, ends = units(text), plain(units(old)), [part for part in units(text) if part.endswith("\n")]
    if want == plain(units(new)):
        return None
    put = "".join(plain(units(new)))
    if "\r\n" in ends and 2 * ends.count("\r\n") >= len(ends):
        put = put.replace("\n", "\r\n")
    hits = [at for at in range(len(have)) if plain(have[at : at + len(want)]) == want]
    if not hits or (len(hits) > 1 and not every):
        return None
    result, at = "", 0
    while at < len(have):
        hit = at in hits
        result += put if hit else have[at]
        at += len(want) if hit else 1
    return result


def check(case: Case) -> None:
    text, encoding = decode(case.data)
    expected = model(text, case.old, case.new, case.every)
    try:
        after = case.data if expected is None else encode(expected, encoding)
    except UnicodeEncodeError:  # the file's encoding has no such character
        expected, after = None, case.data
    with temporary_folder() as folder:
        path = folder / "a.txt"
        path.write_bytes(case.data)
        path.chmod(case.mode)
        changed = asyncio.run(_edited(folder, case))
        assert changed == (expected is not None)
        assert path.read_bytes() == after
        assert path.stat().st_mode & 0o7777 == case.mode
        assert [file.name for file in folder.iterdir()] == ["a.txt"]


async def _edited(project: Path, case: Case) -> bool:
    desk = Desk(project)
    await desk.read("a.txt")
    try:
        await desk.edit("a.txt", case.old, case.new, every=case.every)
    except ToolFault:
        return False
    return True
