"""Putting a file in place: whole or not at all, like the old one, and only if that is still as it was seen.

A temporary file beside the old one takes its place once it is complete. Where the system can, the two change places, so
that what was there is looked at once more before it goes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace

from headway.core.text import sanitize_for_display
from headway.store.folder import lock_folder
from headway.tools.base import ToolFault
from headway.tools.files.content import decline_special, read_bytes
from headway.tools.files.workspace import OpenPath

_EXCHANGE = 2  # RENAME_EXCHANGE
WRITES: ContextVar[Callable[[str, bytes | None, bytes], None] | None] = ContextVar("WRITES", default=None)
"""Is told the path of each file that is written, relative to its workspace, and what was and is in it; in a thread."""


def write_bytes(place: OpenPath, data: bytes, expected: bytes | None) -> None:
    """Puts the content in place, if what is there is still what is expected (None: nothing)."""
    status = place.status()
    if status is not None:
        _refuse_protected(place, status)
    temporary = f".headway-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o666 if status is None else 0o600, dir_fd=place.folder)
    try:
        try:
            _write(descriptor, data)
            if status is not None:
                _copy_permissions(descriptor, status)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _put_in_place(place, temporary, expected)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=place.folder)
        raise
    if take := WRITES.get():
        take(place.path, expected, data)


def _refuse_protected(place: OpenPath, status: os.stat_result) -> None:
    """Taking a file's place needs no permission of the file itself; so that is asked for here."""
    decline_special(place.path, status)
    if not status.st_mode & 0o222:
        raise ToolFault(
            f"'{sanitize_for_display(place.path, 200)}' is write-protected; leave it, or ask the user to allow it."
        )
    os.close(place.open(os.O_WRONLY | os.O_NONBLOCK))


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _copy_permissions(descriptor: int, status: os.stat_result) -> None:
    with suppress(PermissionError):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, status.st_mode & 0o1777)  # new content does not run as someone else, as the old one did


def _put_in_place(place: OpenPath, temporary: str, expected: bytes | None) -> None:
    if expected is None:
        _put_new(place, temporary)
        return
    with _lock_folder(place):
        _check_expected(place, expected)
        if not exchange_files(place.folder, temporary, place.name):
            os.rename(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
            return
        try:
            _check_expected(replace(place, name=temporary), expected)
        except BaseException:
            exchange_files(place.folder, temporary, place.name)  # a save that came in between goes back to where it was
            raise
        os.unlink(temporary, dir_fd=place.folder)


def _check_expected(place: OpenPath, expected: bytes) -> None:
    try:
        current = read_bytes(place, max(len(expected), 1))
    except (ToolFault, FileNotFoundError):
        current = None
    if current != expected:
        raise changed_meanwhile_fault(place.path)


def exchange_files(folder: int, one: str, other: str) -> bool:
    """Makes two files change names in one step; False where that cannot be done."""
    if sys.platform != "linux":
        return False
    try:
        library = ctypes.CDLL(None, use_errno=True)
        return library.renameat2(folder, os.fsencode(one), folder, os.fsencode(other), _EXCHANGE) == 0
    except (OSError, AttributeError):
        return False


@contextmanager
def _lock_folder(place: OpenPath) -> Generator[None]:
    """Keeps other runs from taking a file's place between the last look at it and the change."""
    with ExitStack() as stack:
        try:
            stack.enter_context(lock_folder(".", dir_fd=place.folder))
        except BlockingIOError:
            raise ToolFault(
                f"'{sanitize_for_display(place.path, 200)}' is in a folder that another "
                "program has locked; nothing was written. "
                "Try again in a moment."
            ) from None
        yield


def _put_new(place: OpenPath, temporary: str) -> None:
    try:
        os.link(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except FileExistsError:
        raise changed_meanwhile_fault(place.path) from None
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        _take_name(place, temporary)  # a file system without hard links
    else:
        os.unlink(temporary, dir_fd=place.folder)


def _take_name(place: OpenPath, temporary: str) -> None:
    try:
        os.close(place.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        raise changed_meanwhile_fault(place.path) from None
    os.rename(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)


def changed_meanwhile_fault(path: str) -> ToolFault:
    return ToolFault(
        f"'{sanitize_for_display(path, 200)}' was changed by someone else in the "
        "meantime; nothing was written. Read it again."
    )
