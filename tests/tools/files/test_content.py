"""Bytes to text and back: which encoding is taken, and that every file comes back as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import check_rows
from tests.tools.files.desk import Desk

from headway.tools.base import ToolFault
from headway.tools.files.content import decode, detect_encoding, encode, split_lines

CHINESE = "配置文件说明:请不要修改这一行,谢谢。\n"


def test_the_encoding_is_found() -> None:
    def check(data: bytes, text: str, encoding: str) -> None:
        assert decode(data) == (text, encoding)
        assert encode(text, encoding) == data
        assert detect_encoding(data[:16_000]) == encoding.removesuffix(" with mark") or len(data) > 16_000

    check_rows(
        [
            (b"plain\n", "plain\n", "utf-8"),
            ("é 中 😀".encode(), "é 中 😀", "utf-8"),
            (b"\xef\xbb\xbfa", "a", "utf-8 with mark"),
            ("a中".encode("utf-16"), "a中", "utf-16-le with mark"),
            (b"\xfe\xff" + "a中".encode("utf-16-be"), "a中", "utf-16-be with mark"),
            ("a中".encode("utf-32"), "a中", "utf-32-le with mark"),
            (b"\0\0\xfe\xff" + "a中".encode("utf-32-be"), "a中", "utf-32-be with mark"),
            (CHINESE.encode("gb18030"), CHINESE, "gb18030"),
            (("x = 1\n" * 5_000 + CHINESE).encode("gb18030"), "x = 1\n" * 5_000 + CHINESE, "gb18030"),
            (("朱镕基,王喆 😀" + CHINESE).encode("gb18030"), "朱镕基,王喆 😀" + CHINESE, "gb18030"),
            ("Où est le garçon? À l'école.".encode("latin-1"), "Où est le garçon? À l'école.", "latin-1"),
            ("garçon".encode("latin-1"), "garçon", "latin-1"),
            ("Größe über Öl, äöü".encode("latin-1"), "Größe über Öl, äöü", "latin-1"),
            (b"", "", "utf-8"),
            (b"\xef\xbb\xbf", "", "utf-8 with mark"),
        ],
        check,
    )


@pytest.mark.parametrize("data", [b"\xff\xfea\0b", "ab".encode("utf-32")[:-1], b"\xef\xbb\xbfa\0b"])
async def test_a_broken_text_with_a_mark_is_declined(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    fault = await Desk(tmp_path).fault("read_file", path="a.txt")
    assert "'a.txt' is a damaged text file (" in fault or "'a.txt' is a binary file (" in fault


@given(
    st.binary(max_size=200)
    | st.text(max_size=50).map(str.encode)
    | st.text(max_size=20).map(lambda t: t.encode("utf-16", "replace"))
)
def test_any_bytes_are_declined_or_come_back_the_same(data: bytes) -> None:
    try:
        text, encoding = decode(data)
    except ToolFault:
        return
    assert encode(text, encoding) == data


@given(st.text("ab\r\n\x0c\u2028", max_size=20))
def test_lines_are_those_between_line_feeds(text: str) -> None:
    lines = split_lines(text)
    assert len(lines) == text.count("\n") + bool(text and not text.endswith("\n"))
    assert "\n".join(lines) == text.replace("\r\n", "\n").removesuffix("\n")
