"""The two files in which settings are kept: where they are, read with suspicion, written as a whole or not at all."""

from __future__ import annotations

import os
import re
import stat
import tempfile
import tomllib
from contextlib import suppress

from headway.core.errors import SettingsError
from headway.core.rules import is_object
from headway.core.text import sanitize_for_display
from headway.project import FOLDER, headway_folder, refuse_link
from headway.settings.keys import GROUP
from headway.user_records import record_file

NAME = "config.toml"
IN_PROJECT = f"{FOLDER}/{NAME}"
MAX_BYTES = 1_000_000
_DEEP = re.compile(r"""(?<![\w\\-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")
"""A key of so many parts that reading it would take minutes."""


def project_file(project: str | os.PathLike[str]) -> str:
    """The project's file, whether or not it is there; never a link."""
    folder = headway_folder(project)
    file = os.path.join(folder, NAME)
    refuse_link(os.path.dirname(folder), file, "file")
    return file


def user_config_file() -> str | None:
    """The user's own file, whether or not it is there; None where the user has no home."""
    return record_file(NAME)


def headway_folders() -> list[str]:
    """Return the folders outside projects in which Headway keeps something."""
    from platformdirs import user_cache_dir, user_config_dir, user_data_dir, user_state_dir

    places = (user_cache_dir, user_config_dir, user_data_dir, user_state_dir)
    try:
        return [place("headway", appauthor=False) for place in places]
    except RuntimeError:
        return []


def require_user_file() -> str:
    """As `user_config_file`, for those who cannot do without."""
    file = user_config_file()
    if file is None:
        raise SettingsError("There is no home folder for your settings; set HOME or XDG_CONFIG_HOME to a full path.")
    return file


def describe_place(file: str) -> str:
    return f"'{sanitize_for_display(file, 300)}'"


def read_file(file: str) -> str | None:
    """The text of the file, or None if it is not there. Waits for nothing, and reads no more than `MAX_BYTES`."""
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SettingsError(f"{describe_place(file)} could not be read: {error.strerror}; make it readable.") from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise SettingsError(f"{describe_place(file)} is not a file; move it out of the way.")
        with os.fdopen(handle, "rb", closefd=False) as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"{describe_place(file)} could not be read: {error.strerror}; make it readable.") from error
    finally:
        os.close(handle)
    if len(data) > MAX_BYTES:
        raise SettingsError(f"{describe_place(file)} is larger than 1 MB; keep only settings in it.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{describe_place(file)} is not UTF-8 text; save it as UTF-8 and try again.") from error


def parse_toml(text: str, file: str) -> dict[str, object]:
    """The values of the file by dotted key. Unknown ones are among them, for the check to name."""
    too_deep = SettingsError(f"{describe_place(file)} is nested too deeply; keep only settings in it.")
    if _DEEP.search(text):
        raise too_deep
    try:
        found: dict[str, object] = tomllib.loads(text)
    except RecursionError:
        raise too_deep from None
    except ValueError as error:  # also for a number of more digits than Python reads
        raise SettingsError(
            f"{describe_place(file)} is not valid TOML: {sanitize_for_display(str(error), 200)}; correct the file."
        ) from None
    group = found.pop(GROUP, {})
    if not is_object(group):
        raise SettingsError(
            f"{describe_place(file)} has errors; correct them:", [f"{GROUP}: Expected a table [{GROUP}]"]
        )
    return {**found, **{f"{GROUP}.{name}": value for name, value in group.items()}}


def write_file(file: str, text: str) -> None:
    """Puts a new file, for its owner only, in the place of the old one; where that is a link, of what it leads to."""
    target = os.path.realpath(file)
    handle, draft = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".config-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
