"""Answers that are too long: cut in the middle for the model, kept whole in `.headway/outputs/`, where it can read on.

Text may come in pieces of any size; memory stays bounded. What is kept is rid of keys and tokens.
"""

from __future__ import annotations

import os
import secrets as random
import time
from contextlib import suppress
from types import TracebackType

from headway.store.folder import make_private_folder
from headway.tools.secrets import redacted

FOLDER = "outputs"
MOST_FILES = 200
"""Older ones give way."""
_LINE = 64_000
"""A line longer than this is looked at for secrets in parts."""


class Outputs:
    """Where one run keeps its long answers."""

    def __init__(self, project: str, *, kept_bytes: int) -> None:
        self._home = os.path.join(project, ".headway")
        self.kept_bytes = kept_bytes

    def spool(self, tool: str, output_chars: int) -> Spool:
        return Spool(self, tool, output_chars)

    def fitted(self, tool: str, text: str, output_chars: int) -> tuple[str, str | None]:
        """The text, cut to size if it must be, and the path of the whole."""
        if len(text) <= output_chars:
            return text, None
        with self.spool(tool, output_chars) as spool:
            spool.add(text)
        return spool.text(), spool.kept

    def open_file(self, tool: str) -> tuple[int, str]:
        """A new private file: its descriptor, and its path relative to the project."""
        folder = os.path.join(self._home, FOLDER)
        make_private_folder(self._home)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _prune(folder)
        name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{tool}-{random.token_hex(4)}.txt"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return os.open(os.path.join(folder, name), flags, 0o600), f".headway/{FOLDER}/{name}"


class Spool:
    """Takes text in pieces; has its beginning and end, and a file with all of it once it is too long."""

    def __init__(self, outputs: Outputs, tool: str, output_chars: int) -> None:
        self._outputs = outputs
        self._tool = tool
        self._half = max(output_chars // 2, 1)
        self._whole: list[str] | None = []
        """All pieces, as long as they fit."""
        self._head = self._tail = self._pending = ""
        self._descriptor: int | None = None
        self._room = 0
        self._cut_short = False
        self._unkept: str | None = None
        self.length = 0
        self.kept: str | None = None

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def add(self, text: str) -> None:
        self.length += len(text)
        if self._whole is not None:
            self._whole.append(text)
            if self.length <= 2 * self._half:
                return
            text = "".join(self._whole)
            self._whole = None
            self._head = text[: self._half]
            self._begin()
        self._tail = (self._tail + text[-self._half :])[-self._half :]
        self._keep(text)

    def close(self) -> None:
        if self._descriptor is not None:
            self._write(self._pending)
            self._pending = ""
            os.close(self._descriptor)
            self._descriptor = None

    def text(self) -> str:
        """All of it, or its beginning and end with a line between that says what is missing and where it is."""
        if self._whole is not None:
            return "".join(self._whole)
        missing = self.length - len(self._head) - len(self._tail)
        if self.kept is None:
            where = f"it could not be kept: {self._unkept}"
        elif self._cut_short:
            where = f"its beginning is in {self.kept}"
        else:
            where = f"the whole text is in {self.kept}; read_file shows parts of it"
        return f"{self._head}\n\n[… {missing:,} characters left out; {where} …]\n\n{self._tail}"

    def _begin(self) -> None:
        try:
            self._descriptor, self.kept = self._outputs.open_file(self._tool)
        except OSError as error:
            self._unkept = error.strerror or "the file could not be made"
        self._room = self._outputs.kept_bytes

    def _keep(self, text: str) -> None:
        """Writes whole lines, so that a key is not hidden from sight by being in two pieces."""
        if self._descriptor is None or self._cut_short:
            return
        text = self._pending + text
        at = text.rfind("\n") + 1
        if len(text) - at > _LINE:
            at = len(text) - _LINE // 2
        begun = text.rfind("-----BEGIN ", 0, at)
        if begun >= 0 and len(text) - begun < _LINE and "-----END " not in text[begun:at]:
            at = begun
        self._pending = text[at:]
        self._write(text[:at])

    def _write(self, text: str) -> None:
        if self._descriptor is None or not text or self._cut_short:
            return
        data = redacted(text).encode(errors="replace")
        if len(data) > self._room:
            data = data[: self._room] + b"\n[cut here: too long to be kept]\n"
            self._cut_short = True
        self._room -= len(data)
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            self._cut_short = True


def _prune(folder: str) -> None:
    names = sorted(os.listdir(folder))
    for name in names[: max(len(names) - MOST_FILES + 1, 0)]:
        with suppress(OSError):
            os.unlink(os.path.join(folder, name))
