"""Bytes from the web as text: decoded by what they say of themselves, and rid of what cannot be seen.

Unlike `headway.core.text.neutral` it keeps lines and tabs, since whole pages pass through it.
"""

from __future__ import annotations

import codecs
import re

from headway.core.text import UNSAFE

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CHARSETS = {
    **dict.fromkeys(("utf-8", "utf8", "unicode-1-1-utf-8"), "utf-8"),
    **dict.fromkeys(("gb2312", "gbk", "gb18030", "x-gbk", "gb_2312-80", "chinese", "cp936"), "gb18030"),
    **dict.fromkeys(("big5", "big5-hkscs", "x-x-big5", "cn-big5"), "big5hkscs"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j"), "cp932"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "korean", "windows-949"), "cp949"),
    **dict.fromkeys(("us-ascii", "ascii", "iso-8859-1", "latin1", "windows-1252"), "cp1252"),
    **dict.fromkeys(("utf-16", "utf-16le"), "utf-16-le"),
    **{f"iso-8859-{part}": f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"windows-{page}": f"cp{page}" for page in (874, 1250, 1251, 1253, 1254, 1255, 1256, 1257, 1258)},
    **{name: name for name in ("euc-jp", "iso-2022-jp", "koi8-r", "koi8-u", "utf-16-be", "utf-16-le")},
    "utf-16be": "utf-16-be",
    "iso-8859-9": "cp1254",
}
"""Names that pages use. Python knows more, some of them no charsets at all, or slow enough to be an attack."""
_DECLARED = re.compile(
    rb"<meta\b[^>]{0,1000}?\bcharset\s*=\s*[\"']?\s*([\w:.-]{1,40})|<\?xml\b[^>]{0,200}?\bencoding\s*=\s*[\"']([\w.-]{1,40})",
    re.IGNORECASE,
)
_DECLARED_WITHIN = 4_096
_LINE_END = re.compile("\r\n?|[\x85\u2028\u2029]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u115f\u1160\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\uffa0\ufff9-\ufffb"
    f"\U000e0000-\U000e01ef{UNSAFE}]"
)
"""Controls, what changes the direction of text, and characters in which text can be hidden; joiners stay."""


def decode_page(data: bytes, charset: str | None = None, *, cut: bool = False) -> str:
    """The text of a page that names its charset, or does not. `cut`: its end may be missing."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    if name := _CHARSETS.get((charset or "").strip().lower()) or _find_declared_charset(data):
        return data.decode(name, "replace")
    for name in ("utf-8", "gb18030"):
        try:
            return codecs.getincrementaldecoder(name)("strict").decode(data, final=not cut)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


def to_visible_text(text: str) -> str:
    """The text with nothing in it but what a reader sees, and its lines."""
    return _UNSEEN.sub("", _LINE_END.sub("\n", text))


def _find_declared_charset(data: bytes) -> str | None:
    found = _DECLARED.search(data[:_DECLARED_WITHIN])
    if found is None:
        return None
    name = _CHARSETS.get((found[1] or found[2]).decode("ascii", "replace").lower())
    # A page whose ASCII could be read so far is not in UTF-16, whatever it says.
    return "utf-8" if name and name.startswith("utf-16") else name
