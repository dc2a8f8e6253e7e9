"""Files of sessions that the user adopted though someone else may have written them; the record is the user's own."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from headway.store.folder import make_closed_folder

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
        return _identify(path) in _read(_record_file())
    except OSError:
        return False


def adopt_file(path: str) -> None:
    """Remember a file as adopted. Raises OSError where that cannot be kept."""
    record = _record_file()
    if record is None:
        raise OSError("you have no home folder to keep that in; set HOME or XDG_CONFIG_HOME to a full path")
    identity = _identify(path)
    adopted = [entry for entry in _read(record) if entry[0] != identity[0]]
    os.makedirs(os.path.dirname(os.path.dirname(record)), exist_ok=True)
    make_closed_folder(os.path.dirname(record))
    draft = f"{record}.{os.getpid()}"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as opened:
        json.dump([*adopted, identity][-_MOST:], opened, indent=1)
    os.replace(draft, record)


def _identify(path: str) -> list[object]:
    found = os.lstat(path)
    return [os.path.realpath(path), found.st_dev, found.st_ino]


def _record_file() -> str | None:
    from platformdirs import user_config_dir

    try:
        return os.path.join(user_config_dir("headway", appauthor=False), _FILE)
    except RuntimeError:  # an account without a home, as in some containers
        return None


def _read(file: str | None) -> _Adopted:
    with suppress(OSError, ValueError):
        if file is not None:
            with open(file, encoding="utf-8") as opened:
                found: object = json.load(opened)
            if isinstance(found, list):
                return [list(entry) for entry in found if isinstance(entry, list)]  # pyright: ignore
    return []
