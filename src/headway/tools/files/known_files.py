"""Files as a run last read or wrote them, so that nobody's edit in between is overwritten unseen."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock

from headway.core.text import sanitize_for_display
from headway.tools.base import ToolFault


@dataclass(frozen=True, slots=True)
class _KnownFile:
    digest: bytes
    unseen: tuple[range, ...]
    """Lines of this content that the run was not shown."""


class KnownFiles:
    """One run's memory of contents, by path. Only a digest is kept, and which lines were left out."""

    def __init__(self) -> None:
        self._files: dict[str, _KnownFile] = {}
        self._lock = Lock()

    def note(self, path: str, content: bytes, lines: range | None = None, total: int = 0) -> None:
        """The run knows this content; or only these lines of it, besides what it has seen of the same content."""
        known = compute_digest(content)
        with self._lock:
            before = self._files.get(path)
            unseen = before.unseen if before and before.digest == known else (range(1, total + 1),)
            self._files[path] = _KnownFile(known, () if lines is None else _subtract_ranges(unseen, lines))

    def note_edit(self, path: str, content: bytes, total: int) -> None:
        """The run changed a part: it knows the whole only if it did before."""
        with self._lock:
            before = self._files.get(path)
            whole = before is not None and not before.unseen
            self._files[path] = _KnownFile(compute_digest(content), () if whole else (range(1, total + 1),))

    def forget(self, path: str) -> None:
        self._files.pop(path, None)

    def check(self, path: str, content: bytes, *, whole: bool = False) -> None:
        """Raises `ToolFault` unless this is what the run has seen; all of it, if asked for the whole."""
        known = self._files.get(path)
        name = sanitize_for_display(path, 200)
        if known is None:
            raise ToolFault(f"'{name}' has not been read yet; read it with read_file first, then change it.")
        if known.digest != compute_digest(content):
            self.forget(path)
            raise ToolFault(
                f"'{name}' was changed by someone else or by a command since you read it; nothing was written. "
                "Read it again, and keep those changes."
            )
        if whole and known.unseen:
            raise ToolFault(
                f"'{name}' was only partly read, so nothing was written; read the rest from line "
                f"{known.unseen[0].start:,} on, or change the part with edit."
            )

    def check_new(self, path: str) -> None:
        """Raises `ToolFault`, once, if the run has seen a file where now there is none."""
        if self._files.pop(path, None) is not None:
            raise ToolFault(
                f"'{sanitize_for_display(path, 200)}' was deleted by someone else "
                "since you read it; nothing was written. To "
                "create it again, call write_file once more."
            )


def _subtract_ranges(lines: tuple[range, ...], shown: range) -> tuple[range, ...]:
    parts: list[range] = []
    for gap in lines:
        parts += [range(gap.start, min(gap.stop, shown.start)), range(max(gap.start, shown.stop), gap.stop)]
    return tuple(part for part in parts if part)


def compute_digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()
