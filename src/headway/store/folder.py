"""Folders: `.headway`, private to its owner and ignored by git as a whole; and one writer at a time in any of them."""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import contextmanager, suppress

from headway.core.errors import StoreError
from headway.core.text import neutralize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

FOLDER = ".headway"
PRIVATE = 0o700
PATIENCE = 5.0
"""Seconds to wait for another writer."""


def make_private_folder(folder: str) -> None:
    """Makes the folder, or closes one that is open to others."""
    make_closed_folder(folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with suppress(FileExistsError):
        descriptor = os.open(os.path.join(folder, ".gitignore"), flags, 0o600)
        with open(descriptor, "w", encoding="utf-8") as ignore:
            ignore.write("*\n")


def make_closed_folder(folder: str) -> None:
    """The same without the word to git: for folders inside."""
    try:
        os.makedirs(folder, mode=PRIVATE, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise StoreError(f"'{neutralize(folder)}' is not a folder; move it out of the way and try again.") from error
    close_to_others(folder)


def close_to_others(folder: str) -> None:
    """Close a folder that is open to others, as one in a clone or a copy is, and what is right in it."""
    with suppress(OSError):  # someone else's folder: it is theirs to close
        if not os.stat(folder).st_mode & 0o077:
            return
        os.chmod(folder, PRIVATE)
        for entry in os.scandir(folder):
            status = entry.stat(follow_symlinks=False)
            is_ours = entry.is_dir(follow_symlinks=False) or (stat.S_ISREG(status.st_mode) and status.st_nlink == 1)
            if is_ours and status.st_mode & 0o077:
                os.chmod(entry.path, stat.S_IMODE(status.st_mode) & ~0o077)


@contextmanager
def lock_folder(folder: str, *, dir_fd: int | None = None) -> Generator[None]:
    """Holds a lock on the folder, where the system has one. Raises `BlockingIOError` if another process keeps it."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise BlockingIOError(errno.EWOULDBLOCK, "another process has locked the folder") from None
                time.sleep(0.002)
        yield
    finally:
        os.close(handle)
