"""Whether a project's settings file is the user's word: the digest of its text is kept in their own config folder.

A file that came from somewhere else, by whatever way, or was edited by hand has another text and grants no rights.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from typing import cast

from headway.core.errors import SettingsError
from headway.core.text import sanitize_for_display
from headway.settings.files import read_file
from headway.settings.model import HARMLESS
from headway.user_records import project_record_file, read_record, write_record

_FOLDER = "trusted"


def rights_in(values: Mapping[str, object]) -> list[str]:
    """Return the settings that only the user may set; a script as a model would be the project's own words."""
    return [name for name, value in values.items() if name not in HARMLESS or str(value).startswith("scripted:")]


def is_trusted(file: str, text: str) -> bool:
    """Return whether 'headway config set' wrote this text into this project's file, or the user trusted it."""
    record = read_record(_record_file(file))
    digests = cast("dict[str, object]", record).get("digests") if isinstance(record, dict) else None
    return isinstance(digests, list) and _digest(text) in cast("list[object]", digests)


def read_with_trust(file: str) -> tuple[str, bool]:
    """Return the text of the file, empty if it is not there, and whether it is trusted."""
    text, before = read_file(file) or "", None
    while not (is_ours := is_trusted(file, text)) and text != before:  # another process may be changing it
        text, before = read_file(file) or "", text
    return text, is_ours


def trust_texts(file: str, *texts: str) -> None:
    """Remember these texts of the file, and no others, as the user's word."""
    record = {"project": _project(file), "digests": [_digest(text) for text in texts]}
    try:
        write_record(_record_file(file), record)
    except OSError as error:
        why = sanitize_for_display(error.strerror or str(error), 300)
        raise SettingsError(f"What you trust could not be remembered: {why}; use --user instead.") from error


def _project(file: str) -> str:
    return os.path.realpath(os.path.dirname(os.path.dirname(file)))


def _record_file(file: str) -> str | None:
    return project_record_file(_FOLDER, _project(file))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
