"""Answers that are too long: cut in the middle for the model, kept whole in `.headway/outputs/`, where it can read on.

Text may come in pieces of any size; memory stays bounded. What is kept is rid of keys and tokens.
"""

from __future__ import annotations

import os
import secrets as random
import time
from contextlib import suppress
from types import TracebackType

from headway.core.errors import HeadwayError, StoreError
from headway.core.secrets import redact
from headway.project import headway_folder
from headway.store.folder import make_closed_folder, make_private_folder

FOLDER = "outputs"
MOST_FILES = 200
"""Older ones give way."""
_WINDOW = 128_000
"""Characters that are looked at for secrets at once."""
_MARGIN = 24_000
"""A secret is shorter than this: one that begins before the margin of a window ends in it."""
_STEPS = (0, 500, 5_000, 21_000, 42_000)
"""How far before the margin a place is looked for at which a window can be parted."""
_CUT = b"\n[cut here: too long to be kept]\n"


class OutputFiles:
    """Where one run keeps its long answers."""

    def __init__(self, project: str, *, kept_bytes: int, total_bytes: int = 1_000_000_000) -> None:
        """`kept_bytes`: of one answer; `total_bytes`: of all that are kept in the project."""
        self._project = project
        self.kept_bytes: int = min(kept_bytes, total_bytes)
        self._total_bytes = total_bytes

    def make_spool(self, tool: str, output_chars: int) -> OutputSpool:
        return OutputSpool(self, tool, output_chars)

    def shorten(self, tool: str, text: str, output_chars: int) -> tuple[str, str | None]:
        """The text, cut to size if it must be, and the path of the whole."""
        if len(text) <= output_chars:
            return text, None
        with self.make_spool(tool, output_chars) as spool:
            spool.add(text)
        return spool.text(), spool.kept

    def open_file(self, tool: str) -> tuple[int, str]:
        """A new private file: its descriptor, and its path relative to the project."""
        home = headway_folder(self._project)
        folder = os.path.join(home, FOLDER)
        make_private_folder(home)
        if os.path.islink(folder):
            raise StoreError(f"'.headway/{FOLDER}' is a link, which is not followed; remove it.")
        make_closed_folder(folder)
        _prune(folder, self._total_bytes - self.kept_bytes)
        seconds, fraction = divmod(time.time_ns(), 1_000_000_000)
        moment = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(seconds))}-{fraction:09}"
        name = f"{moment}-{tool}-{random.token_hex(4)}.txt"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return os.open(os.path.join(folder, name), flags, 0o600), f".headway/{FOLDER}/{name}"


class OutputSpool:
    """Takes text in pieces; has its beginning and end, and a file with all of it once it is too long."""

    def __init__(self, outputs: OutputFiles, tool: str, output_chars: int) -> None:
        self._outputs = outputs
        self._tool = tool
        self._most = max(output_chars, 2)
        self._half = self._most // 2
        self._whole: list[str] | None = []
        """All pieces, as long as they fit."""
        self._head = self._tail = ""
        self._pending: list[str] = []
        self._pending_length = 0
        self._descriptor: int | None = None
        self._room = 0
        self._cut_short = False
        self._unkept: str | None = None
        self.length: int = 0
        self.kept: str | None = None

    def __enter__(self) -> OutputSpool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def add(self, text: str) -> None:
        self.length += len(text)
        if self._whole is not None:
            self._whole.append(text)
            if self.length <= self._most:
                return
            text = "".join(self._whole)
            self._whole = None
            self._head = text[: self._most - self._half]
            self._begin()
        self._tail = (self._tail + text[-self._half :])[-self._half :]
        self._keep(text)

    def close(self) -> None:
        if self._descriptor is not None:
            self._write("".join(self._pending))
            self._pending.clear()
            try:
                os.close(self._descriptor)
            except OSError:  # some file systems say only now that there is no room
                self._cut_short = True
            self._descriptor = None

    def text(self) -> str:
        """All of it, or its beginning and end with a line between that says what is missing and where it is."""
        if self._whole is not None:
            return "".join(self._whole)
        missing = self.length - len(self._head) - len(self._tail)
        if self.kept is None:
            where = f"it could not be saved: {self._unkept}"
        elif self._cut_short:
            where = f"the beginning is saved in {self.kept}"
        else:
            where = f"the whole text is in {self.kept}; read parts of it with read_file"
        return f"{self._head}\n\n[… {missing:,} characters left out; {where} …]\n\n{self._tail}"

    def _begin(self) -> None:
        if not self._outputs.kept_bytes:
            self._unkept = "the setting `limits.kept_bytes` or `limits.outputs_bytes` is 0"
            return
        try:
            self._descriptor, self.kept = self._outputs.open_file(self._tool)
        except (OSError, HeadwayError) as error:
            self._unkept = getattr(error, "strerror", None) or str(error) or "the file could not be created"
        self._room = max(self._outputs.kept_bytes - len(_CUT), 0)

    def _keep(self, text: str) -> None:
        """Writes what is complete. Where it is parted depends on the text alone, not on the pieces it came in."""
        if self._descriptor is None or self._cut_short:
            return
        self._pending.append(text)
        self._pending_length += len(text)
        if self._pending_length < _WINDOW:
            return
        text = "".join(self._pending)
        done = 0
        while len(text) - done >= _WINDOW and not self._cut_short:
            window = text[done : done + _WINDOW]
            at, head = _find_safe_split(window)
            self._write_redacted(head)
            done += at
        self._pending = [text[done:]] if not self._cut_short else []
        self._pending_length = len(text) - done

    def _write(self, text: str) -> None:
        if text and not self._cut_short:
            self._write_redacted(redact(text))

    def _write_redacted(self, text: str) -> None:
        assert self._descriptor is not None
        data = text.encode(errors="replace")
        if len(data) > self._room:
            data = data[: self._room].decode(errors="ignore").encode() + _CUT
            self._cut_short = True
        self._room -= len(data)
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            self._cut_short = True


def _find_safe_split(window: str) -> tuple[int, str]:
    """Where a window can be parted without parting a secret, if possible after a line; and what is before, redacted."""
    whole = redact(window)
    head_end = len(window) - _MARGIN
    if whole == window and (end := window.rfind("\n", 0, head_end) + 1):
        return end, window[:end]
    for back in _STEPS:
        line = window.rfind("\n", 0, head_end - back) + 1
        block = window.rfind("-----BEGIN ", 0, head_end - back)
        for at in (line, block, head_end - back):
            if at < head_end // 2:
                continue
            head = redact(window[:at])
            if head + redact(window[at:]) == whole:
                return at, head
    return head_end, redact(window[:head_end])


def _prune(folder: str, room: int) -> None:
    """Remove the oldest files until one more may be added, and the others take at most `room` bytes."""
    with os.scandir(folder) as entries:
        files = [
            (entry.name, entry.stat(follow_symlinks=False).st_size) for entry in entries if entry.name.endswith(".txt")
        ]
    files.sort()
    total = sum(size for _, size in files)
    for number, (name, size) in enumerate(files):
        if len(files) - number < MOST_FILES and total <= room:
            return
        total -= size
        with suppress(OSError):
            os.unlink(os.path.join(folder, name))
