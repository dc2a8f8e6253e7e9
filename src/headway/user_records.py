"""What Headway remembers for a person, as JSON in their own config folder: never in a project, which may be foreign."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from headway.store.folder import make_closed_folder


def user_config_folder() -> str | None:
    """Return the folder of the user's own settings, whether or not it is there; None where the user has no home."""
    from platformdirs import user_config_dir

    try:
        return user_config_dir("headway", appauthor=False)
    except RuntimeError:  # an account without a home, as in some containers
        return None


def record_file(name: str) -> str | None:
    """Return the file of a record; None where the user has no home."""
    folder = user_config_folder()
    return None if folder is None else os.path.join(folder, name)


def project_record_file(kind: str, project: str | os.PathLike[str]) -> str | None:
    """Return the file of a record about one project."""
    from hashlib import sha256  # 5 ms with tempfile, which every TodoWrite would pay

    digest = sha256(os.fsencode(os.path.realpath(project))).hexdigest()[:32]
    return record_file(os.path.join(kind, f"{digest}.json"))


def read_record(file: str | None) -> object:
    """Return what was recorded; None if nothing was, or it cannot be read."""
    with suppress(OSError, ValueError, RecursionError):
        if file is not None:
            with open(file, encoding="utf-8") as opened:
                found: object = json.load(opened)
            return found
    return None


def write_record(file: str | None, record: object) -> None:
    """Replace a record, in a file for its owner only. Raises OSError where it cannot be kept."""
    import tempfile

    if file is None:
        raise OSError("you have no home folder to keep that in; set HOME or XDG_CONFIG_HOME to a full path")
    folder = os.path.dirname(file)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    make_closed_folder(folder)
    handle, draft = tempfile.mkstemp(dir=folder, prefix=".record-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            json.dump(record, opened, ensure_ascii=False, indent=1)
        os.replace(draft, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
