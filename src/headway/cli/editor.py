"""A text in a person's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from contextlib import suppress

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display


def find_editor_command() -> list[str]:
    """The editor that is set, with its arguments."""
    from headway.tools.programs import find_program

    wanted = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if wanted:
        try:
            words = shlex.split(wanted)
        except ValueError as error:
            raise HeadwayError(
                f"EDITOR is not valid: '{sanitize_for_display(wanted)}' has an unclosed quote."
            ) from error
        if words:
            return words
    found = find_program("vi", ".") or find_program("nano", ".")
    if found is None:
        raise HeadwayError("No editor is installed; install one, or set EDITOR.")
    return [found]


def edit_text(text: str, suffix: str) -> str | None:
    """The text as it is left in the editor; None if the editor says that it was given up."""
    words = find_editor_command()
    handle, path = tempfile.mkstemp(suffix=suffix, prefix="headway-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            done = subprocess.run([*words, path], check=False)
        except OSError as error:
            raise HeadwayError(
                f"The editor '{sanitize_for_display(words[0])}' could not be started "
                f"({error.strerror}); set EDITOR to another one."
            ) from error
        if done.returncode:
            return None
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:  # it was deleted in there
        return None
    finally:
        with suppress(OSError):
            os.unlink(path)
