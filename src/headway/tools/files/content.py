"""Bytes of files: read whole or not at all, told apart from binaries, decoded so that they can be written back.

Writing is atomic: a temporary file beside the old one takes its place, with its permissions, once it is complete.
"""

from __future__ import annotations

import codecs
import os
import re
import secrets
from contextlib import suppress

from headway.core.text import shown
from headway.tools.files.workspace import Place, kind_of
from headway.tools.tool import ToolFault

_READS = 3
"""How often a file that changes while it is read is read again."""
_CHUNK = 1 << 20
_SNIFFED = 8_192
_HIGH = re.compile(rb"[\x80-\xff]+")
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
    b"GIF8": "a GIF picture",
    b"BM": "a bitmap picture",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a ZIP archive or Office document",
    b"\x1f\x8b": "a gzip archive",
    b"\x7fELF": "a program",
    b"SQLite format 3": "an SQLite database",
}


def opened(place: Place) -> tuple[int, os.stat_result]:
    """An ordinary file opened for reading. Pipes, devices and folders are declined, and never waited for."""
    descriptor = place.open(os.O_RDONLY | os.O_NONBLOCK)
    status = os.fstat(descriptor)
    if kind := kind_of(status):
        os.close(descriptor)
        hint = "look into it with ls" if kind == "a folder" else "only ordinary files can be read"
        raise ToolFault(f"'{shown(place.path, 200)}' is {kind}; {hint}.")
    return descriptor, status


def read_bytes(place: Place, limit: int) -> bytes:
    """The whole file, as it was at one moment."""
    for _ in range(_READS):
        descriptor, before = opened(place)
        try:
            if before.st_size > limit:
                raise too_large(place.path, before.st_size, limit)
            data = _all(descriptor, limit)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if len(data) > limit:
            raise too_large(place.path, len(data), limit)
        if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size):
            return data
    raise ToolFault(f"'{shown(place.path, 200)}' is being written just now; try again in a moment.")


def _all(descriptor: int, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while size <= limit and (piece := os.read(descriptor, _CHUNK)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def too_large(path: str, size: int, limit: int) -> ToolFault:
    return ToolFault(
        f"'{shown(path, 200)}' has {size:,} bytes, more than the {limit:,} that can be taken whole;"
        " read parts of it with offset and limit, or use bash."
    )


def decline_binary(path: str, start: bytes, size: int) -> None:
    """Raises `ToolFault` for what cannot be shown as text."""
    if any(start.startswith(mark) for mark, _ in _MARKS.values()):
        return
    known = next((name for mark, name in _PICTURES.items() if start.startswith(mark)), None)
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        known = "a WebP picture"
    if b"\0" in start[:_SNIFFED] or (known and known != "a bitmap picture"):
        raise ToolFault(
            f"'{shown(path, 200)}' is {known or 'a binary file'} ({size:,} bytes), which cannot be shown as text;"
            " use bash if a program can tell what is needed of it."
        )


def decoded(data: bytes, path: str = "the file") -> tuple[str, str]:
    """The text and its encoding, such that `encoded` gives the same bytes again."""
    decline_binary(path, data[: _SNIFFED * 2], len(data))
    likely = ["utf-8", "gb18030"] if _looks_chinese(data) else ["utf-8"]
    for encoding in (*(name for name, (mark, _) in _MARKS.items() if data.startswith(mark)), *likely):
        if (text := _reversible(data, encoding)) is not None:
            return text, encoding
    return data.decode("latin-1"), "latin-1"


def encoded(text: str, encoding: str) -> bytes:
    """The text in a file's encoding; in UTF-8 if that cannot hold it."""
    mark, codec = _MARKS.get(encoding, (b"", encoding))
    try:
        return mark + text.encode(codec)
    except UnicodeEncodeError:
        return text.encode()


def encoding_of(start: bytes) -> str:
    """The codec of a file too long to be decoded whole, from its beginning."""
    for mark, codec in _MARKS.values():
        if start.startswith(mark):
            return codec
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return "gb18030" if _looks_chinese(start) else "latin-1"
    return "utf-8"


def _reversible(data: bytes, encoding: str) -> str | None:
    mark, codec = _MARKS.get(encoding, (b"", encoding))
    try:
        text = data[len(mark) :].decode(codec)
        return text if encoded(text, encoding) == data else None
    except UnicodeError:
        return None


def _looks_chinese(data: bytes) -> bool:
    """In GB encodings high bytes come in pairs from 0xA1; in Western ones mostly alone."""
    runs = _HIGH.findall(data)
    return bool(runs) and all(len(run) % 2 == 0 and min(run) >= 0xA1 for run in runs)


def write_bytes(place: Place, data: bytes, expected: bytes | None) -> None:
    """Puts the content in place, if what is there is still what is expected (None: nothing)."""
    status = place.status()
    if status is not None and not status.st_mode & 0o222:
        raise ToolFault(f"'{shown(place.path, 200)}' is write-protected; leave it, or ask the user to allow it.")
    temporary = f".headway-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o666 if status is None else 0o600, dir_fd=place.folder)
    try:
        try:
            _write(descriptor, data)
            if status is not None:
                _like(descriptor, status)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _put(place, temporary, expected)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=place.folder)
        raise


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _like(descriptor: int, status: os.stat_result) -> None:
    with suppress(PermissionError):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, status.st_mode & 0o7777)


def _put(place: Place, temporary: str, expected: bytes | None) -> None:
    if expected is None:
        try:
            os.link(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
        except FileExistsError:
            raise changed_meanwhile(place.path) from None
        os.unlink(temporary, dir_fd=place.folder)
        return
    try:
        current = read_bytes(place, max(len(expected), 1))
    except (ToolFault, FileNotFoundError):
        current = None
    if current != expected:
        raise changed_meanwhile(place.path)
    os.rename(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)


def changed_meanwhile(path: str) -> ToolFault:
    return ToolFault(f"'{shown(path, 200)}' was changed by someone else meanwhile; nothing was written. Read it again.")
