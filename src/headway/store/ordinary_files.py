"""Files that Headway keeps for itself: never reached by a link or another name, never a pipe or a device."""

from __future__ import annotations

import os
import stat

from headway.core.errors import StoreError
from headway.core.text import neutralize

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def explain_unusual(path: str) -> str | None:
    """Say what a path is instead of a file of its own, and what to do; None if it is one, or cannot be reached."""
    try:
        return _explain(os.lstat(path))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None


def _explain(found: os.stat_result) -> str | None:
    if stat.S_ISLNK(found.st_mode):
        return "is a link; replace it with a file"
    if not stat.S_ISREG(found.st_mode):
        return "is not a file; move it out of the way"
    if found.st_nlink > 1:
        return "is another name of some other file; replace it with a copy"
    return None


def open_ordinary(path: str, flags: int, mode: int = 0o600) -> int:
    """Open a file, waiting for nothing, and return its descriptor. Raises `StoreError` for what is no ordinary file."""
    why = explain_unusual(path)
    if why is None:
        descriptor = os.open(path, flags | _FLAGS, mode)
        why = _explain(os.fstat(descriptor))
        if why is None:
            return descriptor
        os.close(descriptor)
    raise StoreError(f"'{neutralize(path)}' {why}.")


def read_ordinary(path: str) -> bytes:
    """Return the content of a file. Raises `OSError` for one that cannot be read, or is no ordinary file."""
    with open(open_ordinary(path, os.O_RDONLY), "rb") as file:
        return file.read()
