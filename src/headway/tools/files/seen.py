"""Files as a run last read or wrote them, so that nobody's edit in between is overwritten unseen."""

from __future__ import annotations

from hashlib import blake2b

from headway.core.text import shown
from headway.tools.tool import ToolFault


class Seen:
    """One run's memory of contents, by path. Only a digest is kept."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}

    def note(self, path: str, content: bytes) -> None:
        self._digests[path] = digest(content)

    def forget(self, path: str) -> None:
        self._digests.pop(path, None)

    def check(self, path: str, content: bytes) -> None:
        """Raises `ToolFault` unless this is what the run has seen."""
        known = self._digests.get(path)
        if known is None:
            raise ToolFault(
                f"'{shown(path, 200)}' has not been read yet; read it with read_file first, then change it."
            )
        if known != digest(content):
            self.forget(path)
            raise ToolFault(
                f"'{shown(path, 200)}' was changed by someone else since you read it; nothing was written."
                " Read it again, and keep their changes."
            )


def digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()
