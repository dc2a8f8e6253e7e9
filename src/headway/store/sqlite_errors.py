"""SQLite's errors as Headway's: which are worth waiting for, and one sentence for each of the others."""

from __future__ import annotations

import errno
import sqlite3

from headway.core.errors import StoreBusy, StoreCorrupt, StoreError, StoreForeign, StoreFull, StoreReadOnly, StoreTooNew
from headway.core.text import neutralize, truncate

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_READ_ONLY = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH})
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})
"""The last is what a missing table or column gives."""
_FROM_SYSTEM = {
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR), sqlite3.SQLITE_PERM),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), sqlite3.SQLITE_FULL),
}


def _code(error: sqlite3.Error) -> int:
    # Python raises an OperationalError of its own, without a code, for text that is not UTF-8.
    own = sqlite3.SQLITE_CORRUPT if isinstance(error, sqlite3.OperationalError) else 0
    code = getattr(error, "sqlite_errorcode", own)
    # There was no room for the file that connections share.
    return sqlite3.SQLITE_FULL if code == sqlite3.SQLITE_IOERR_SHMSIZE else code & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    return _code(error) in _BUSY


def is_full(error: sqlite3.Error) -> bool:
    return _code(error) == sqlite3.SQLITE_FULL


def is_unwritable(error: sqlite3.Error) -> bool:
    """The file, or the files that SQLite keeps beside it, cannot be written; it can perhaps be read."""
    return _code(error) in _READ_ONLY or is_full(error)


def busy_error(path: str, seconds: float) -> StoreBusy:
    return StoreBusy(
        f"Another process has had '{neutralize(path)}' locked for over {seconds:g} seconds; nothing was changed. Try "
        "again, or stop the process that holds it."
    )


def damaged_error(path: str, detail: object) -> StoreCorrupt:
    return StoreCorrupt(
        f"'{neutralize(path)}' is damaged or is not a Headway file ({detail}); it was left as it is. Restore it from "
        "a backup, or move it out of the way to start afresh."
    )


def foreign_error(path: str, why: str) -> StoreForeign:
    return StoreForeign(
        f"'{neutralize(path)}' is not used, since {why}: someone else may have written its sessions and the answers in"
        " them. Move it away to start anew, or adopt it."
    ).with_advice("adopt_file")


def unusual(path: str, why: str) -> StoreForeign:
    return StoreForeign(f"'{neutralize(path)}' {why}.")


def altered_error(path: str, name: str) -> StoreCorrupt:
    return StoreCorrupt(
        f"'{neutralize(path)}' is not used, since its schema has "
        f"'{truncate(neutralize(name), 60)}', which Headway did not make"
        " like that; it was left as it is. Restore it from a copy, or move it away to start anew."
    )


def tampered_error(path: str) -> StoreCorrupt:
    return StoreCorrupt(
        f"'{neutralize(path)}' changed by itself when it was written: something "
        "in it is not Headway's. Restore it from a"
        " copy, or move it away to start anew."
    )


def read_only_error(path: str, detail: object) -> StoreReadOnly:
    return StoreReadOnly(
        f"'{neutralize(path)}' is not writable ({detail}); nothing was changed. Make the file and its folder writable."
    )


def too_new_error(path: str, detail: object) -> StoreTooNew:
    return StoreTooNew(
        f"'{neutralize(path)}' was written by a newer Headway ({detail}); it "
        "was left as it is. Upgrade Headway to use it."
    )


def translate_error(error: sqlite3.Error | OSError, path: str) -> StoreError:
    """The error as one that says what to do."""
    code = _FROM_SYSTEM.get(error.errno or 0, 0) if isinstance(error, OSError) else _code(error)
    if code in _READ_ONLY:
        return read_only_error(path, error)
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(
            f"There is no space left on the disk to write '{neutralize(path)}'; nothing was changed. Free some space "
            "and try again."
        )
    if code in _DAMAGED:
        return damaged_error(path, error)
    return StoreError(
        f"'{neutralize(path)}' could not be read or written ({error}); nothing "
        "was changed. Check the disk and try again."
    )


class translate_errors:
    """Says in words of the store what goes wrong with its file."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error | OSError) and not isinstance(error, StoreError):
            raise translate_error(error, self._path) from error
