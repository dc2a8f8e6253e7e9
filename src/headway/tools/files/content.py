"""Bytes of files: read whole or not at all, told apart from binaries, decoded so that they can be written back."""

from __future__ import annotations

import codecs
import os
import re
import stat
from contextlib import suppress
from itertools import islice

from headway.core.text import sanitize_for_display, to_storable
from headway.tools.base import ToolFault
from headway.tools.files.workspace import OpenPath, file_kind

_READS = 3
"""How often a file that changes while it is read is read again."""
_CHUNK = 1 << 20
_SNIFFED = 8_192
_GB = re.compile(rb"([\xa1-\xf7][\xa1-\xfe])|[\x81-\xfe][\x40-\x7e\x80-\xfe]|[\x81-\xfe][0-9][\x81-\xfe][0-9]")
"""A character of the Chinese encodings; the group is one in everyday use."""
_CONTROLS = re.compile(rb"[\x01-\x07\x0e-\x19\x1c-\x1f]")
"""Bytes that no text in an older encoding has."""
_MARKS = {
    "utf-8 with mark": (codecs.BOM_UTF8, "utf-8"),
    "utf-32-le with mark": (codecs.BOM_UTF32_LE, "utf-32-le"),
    "utf-32-be with mark": (codecs.BOM_UTF32_BE, "utf-32-be"),
    "utf-16-le with mark": (codecs.BOM_UTF16_LE, "utf-16-le"),
    "utf-16-be with mark": (codecs.BOM_UTF16_BE, "utf-16-be"),
}
"""Encodings that a byte order mark tells: the mark, and the codec of what follows."""
_PICTURES = {
    b"\x89PNG\r\n": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF87a": "a GIF picture",
    b"GIF89a": "a GIF picture",
    b"BM": "a bitmap picture",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a ZIP archive or Office document",
    b"\x1f\x8b": "a gzip archive",
    b"\x7fELF": "a program",
    b"SQLite format 3\0": "an SQLite database",
}


def open_file(place: OpenPath) -> tuple[int, os.stat_result]:
    """An ordinary file opened for reading. Pipes, devices and folders are declined, and never waited for."""
    status = place.status()
    if status is not None and not stat.S_ISLNK(status.st_mode):  # opening a device may already do something
        decline_special(place.path, status)
    descriptor = place.open(os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        status = os.fstat(descriptor)
        decline_special(place.path, status)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, status


def decline_special(path: str, status: os.stat_result) -> None:
    if kind := file_kind(status):
        hint = "name a file in it, or list it with ls" if kind == "a folder" else "use a regular file"
        raise ToolFault(f"'{sanitize_for_display(path, 200)}' is {kind}; {hint}.")


def read_bytes(place: OpenPath, limit: int) -> bytes:
    """The whole file, as it was at one moment."""
    for _ in range(_READS):
        descriptor, before = open_file(place)
        try:
            if before.st_size > limit:
                raise too_large_fault(place.path, before.st_size, limit)
            data = _read_all(descriptor, limit)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if len(data) > limit:
            raise too_large_fault(place.path, len(data), limit)
        if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size):
            return data
    raise ToolFault(f"'{sanitize_for_display(place.path, 200)}' is being written right now; try again in a moment.")


def _read_all(descriptor: int, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while size <= limit and (piece := os.read(descriptor, _CHUNK)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def too_large_fault(path: str, size: int, limit: int) -> ToolFault:
    return ToolFault(
        f"'{sanitize_for_display(path, 200)}' has {size:,} bytes, more than the "
        f"{limit:,} that can be read at once; read parts of "
        "it with offset and limit, or use bash."
    )


def decline_binary(path: str, start: bytes, size: int) -> None:
    """Raises `ToolFault` for what cannot be shown as text."""
    start = start[:_SNIFFED]
    if _is_marked_text(start):
        return
    known = next((name for mark, name in _PICTURES.items() if start.startswith(mark)), None)
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        known = "a WebP picture"
    if b"\0" in start or (known and known != "a bitmap picture"):
        raise _binary_fault(path, known or "a binary file", size)
    if detect_encoding(start) == "latin-1" and _CONTROLS.search(start):
        raise _binary_fault(path, "a binary file", size)


def _binary_fault(path: str, kind: str, size: int) -> ToolFault:
    return ToolFault(
        f"'{sanitize_for_display(path, 200)}' is {kind} ({size:,} byte{'' if size == 1 else 's'}), "
        "which cannot be shown as text; "
        "if you need its contents, use bash with a program that reads this format."
    )


def _is_marked_text(start: bytes) -> bool:
    for mark, codec in _MARKS.values():
        if start.startswith(mark):
            with suppress(UnicodeDecodeError):
                if "\0" not in codecs.getincrementaldecoder(codec)().decode(start[len(mark) :]):
                    return True
    return False


def decode(data: bytes, path: str = "the file") -> tuple[str, str]:
    """The text and its encoding, such that `encode` gives the same bytes again."""
    decline_binary(path, data[:_SNIFFED], len(data))
    marked = [name for name, (mark, _) in _MARKS.items() if data.startswith(mark)]
    for encoding in (*marked, "utf-8", "gb18030"):
        if encoding == "gb18030" and not _looks_chinese(data):
            continue
        if (text := _decode_if_reversible(data, encoding)) is not None:
            return text, encoding
    if b"\0" in data[:_SNIFFED]:
        raise _binary_fault(path, "a damaged text file", len(data))
    return data.decode("latin-1"), "latin-1"


def encode(text: str, encoding: str) -> bytes:
    """The text in a file's encoding. Raises `UnicodeEncodeError` if that cannot hold it."""
    mark, codec = _MARKS.get(encoding, (b"", encoding))
    return mark + text.encode(codec)


def has_byte_order_mark(encoding: str) -> bool:
    return encoding in _MARKS


def detect_encoding(start: bytes) -> str:
    """The codec of a file too long to be decoded whole, from its beginning."""
    for mark, codec in _MARKS.values():
        if start.startswith(mark):
            return codec
    if _begins_as(start, "utf-8"):
        return "utf-8"
    return "gb18030" if _looks_chinese(start) and _begins_as(start, "gb18030") else "latin-1"


def _begins_as(start: bytes, codec: str) -> bool:
    try:
        codecs.getincrementaldecoder(codec)().decode(start)
    except UnicodeDecodeError:
        return False
    return True


def split_lines(text: str) -> list[str]:
    """Lines as editors count them: ended by a line feed, or by carriage return and line feed."""
    *lines, last = text.split("\n")
    lines = [line.removesuffix("\r") for line in lines]
    return [*lines, last] if last else lines


def check_text_to_write(text: str, field: str) -> str:
    """Text of a model as it can be written. Raises `ToolFault` if the file would be no text."""
    if "\0" in text:
        raise ToolFault(
            f"{field} contains a NUL character, which is not allowed in a text file; remove it, or use bash."
        )
    return to_storable(text)


def _decode_if_reversible(data: bytes, encoding: str) -> str | None:
    mark, codec = _MARKS.get(encoding, (b"", encoding))
    try:
        text = data[len(mark) :].decode(codec)
        return text if encode(text, encoding) == data else None
    except UnicodeError:
        return None


def _looks_chinese(data: bytes) -> bool:
    """Chinese has mostly everyday characters; Western text read as Chinese has mostly rare ones."""
    found = [match.lastindex for match in islice(_GB.finditer(data), 10_000)]
    return 2 * found.count(1) > len(found)
