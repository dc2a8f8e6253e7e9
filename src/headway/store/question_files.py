"""Exact texts of open questions: a file for each in a folder beside the database, which only its owner can read.

In the database, a deleted text would stay readable for a while, and a copy of it would have those that are open.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256

from headway.core.errors import StoreError
from headway.core.text import neutralize
from headway.store.folder import lock_folder, make_closed_folder
from headway.store.opening import QUESTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def keep(database: str, session: str, question_id: str, lease: str, holder: str, text: str) -> None:
    folder = database + QUESTIONS
    record = {"session": session, "lease": lease, "holder": holder, "text": text}
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        if os.path.islink(folder):
            raise StoreError(f"'{neutralize(folder)}' is a link; remove it, so that questions can be shown elsewhere.")
        make_closed_folder(folder)
        with lock_folder(folder), open(os.open(_file(folder, session, question_id), flags, 0o600), "w") as file:
            json.dump(record, file)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"A question cannot be kept in '{neutralize(folder)}' ({error.strerror}).") from error


def read(database: str, session: str, question_id: str) -> dict[str, Any] | None:
    try:
        return _read(_file(database + QUESTIONS, session, question_id))
    except (OSError, ValueError):
        return None


def drop(database: str, session: str, question_id: str) -> None:
    with suppress(OSError):
        os.unlink(_file(database + QUESTIONS, session, question_id))


def drop_ended(database: str, holder_of: Callable[[str, str], str | None]) -> None:
    """Drop what belongs to no run that goes on: `holder_of(session, lease)` is who has the lease of one.

    Where the store cannot say who has it, nothing more is dropped.
    """
    folder = database + QUESTIONS
    with suppress(OSError):
        if os.path.islink(folder) or not os.listdir(folder):
            return
        with lock_folder(folder):
            for name in os.listdir(folder):
                if not _is_open(file := os.path.join(folder, name), holder_of):
                    with suppress(OSError):
                        os.unlink(file)


def _is_open(file: str, holder_of: Callable[[str, str], str | None]) -> bool:
    try:
        record = _read(file)
        session, lease, holder = record["session"], record["lease"], record["holder"]
    except (OSError, ValueError, LookupError, TypeError):
        return False
    is_record = all(isinstance(value, str) for value in (session, lease, holder))
    return is_record and holder_of(session, lease) == holder


def _read(file: str) -> dict[str, Any]:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(file, flags)) as opened:
        return json.load(opened)


def _file(folder: str, session: str, question_id: str) -> str:
    """By a name that no session or question can choose."""
    return os.path.join(folder, sha256(json.dumps([session, question_id]).encode()).hexdigest()[:32] + ".json")
