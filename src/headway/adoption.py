"""Files of sessions that the user adopted though someone else may have written them; the record is the user's own."""

from __future__ import annotations

import os

from headway.user_records import read_record, record_file, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    _Adopted: TypeAlias = list[list[object]]
    """Path, device and inode of each."""

_FILE = "adopted.json"
_MOST = 1_000


def is_adopted(path: str) -> bool:
    """Return whether this very file was adopted; another one in its place was not."""
    try:
        return _identify(path) in _read()
    except OSError:
        return False


def adopt_file(path: str) -> None:
    """Remember a file as adopted. Raises OSError where that cannot be kept."""
    identity = _identify(path)
    adopted = [entry for entry in _read() if entry[0] != identity[0]]
    write_record(record_file(_FILE), [*adopted, identity][-_MOST:])


def _identify(path: str) -> list[object]:
    found = os.lstat(path)
    return [os.path.realpath(path), found.st_dev, found.st_ino]


def _read() -> _Adopted:
    found = read_record(record_file(_FILE))
    return [list(entry) for entry in found if isinstance(entry, list) and entry] if isinstance(found, list) else []  # pyright: ignore
