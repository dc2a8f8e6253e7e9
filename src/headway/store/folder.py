"""The folder `.headway` of a project: private to its owner, and ignored by git as a whole."""

from __future__ import annotations

import os
from contextlib import suppress

from headway.core.errors import StoreError
from headway.core.text import neutral

PRIVATE = 0o700


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
        raise StoreError(f"'{neutral(folder)}' is not a folder; move it away and try again.") from error
    if os.stat(folder).st_mode & 0o077:
        with suppress(OSError):  # someone else's folder: it is theirs to close
            os.chmod(folder, PRIVATE)
