"""What an attempt's file tools wrote in the project's own files, told apart from what others changed in them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from headway.execute.git import parse_paths, to_stdin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headway.execute.shadow_repository import ShadowRepository

_USUAL_MODE = "100644"


class _Write(NamedTuple):
    before: bytes | None
    """What was there; None: nothing."""
    after: bytes


@dataclass(slots=True)
class WrittenFiles:
    """By path; writes that follow on one another are one."""

    _writes: dict[str, list[_Write]] = field(default_factory=dict[str, "list[_Write]"])

    def note_write(self, path: str, before: bytes | None, after: bytes) -> None:
        writes = self._writes.setdefault(path, [])
        if writes and writes[-1].after == before:
            writes[-1] = writes[-1]._replace(after=after)
        else:
            writes.append(_Write(before, after))

    def commit(self, shadow: ShadowRepository, checkpoint: str, paths: Sequence[str]) -> str:
        """Return a commit that has, on top of a checkpoint, what was written to these files and nothing else.

        Where it cannot be told apart from what others changed, the file is as in the checkpoint.
        """
        known = _list_files(shadow, checkpoint, paths)
        alone: dict[str, bytes | None] = {}
        others: list[str] = []
        for path in paths:
            writes = self._writes.get(path, [])
            if len(writes) == 1 and _write_blob_name(writes[0].before) == known.get(path, ("", None))[1]:
                alone[path] = writes[0].after
            else:
                others.append(path)
        result = _commit_files(shadow, checkpoint, alone, known)
        for path in others:
            result = self._merge(shadow, result, path, known)
        return result

    def _merge(self, shadow: ShadowRepository, commit: str, path: str, known: Mapping[str, tuple[str, str]]) -> str:
        merged: str | None = commit
        for write in self._writes.get(path, []):
            base = _commit_files(shadow, merged, {path: write.before}, known)
            merged, _ = shadow.merge(base, merged, _commit_files(shadow, merged, {path: write.after}, known))
            if merged is None:
                return commit
        return merged


def _list_files(shadow: ShadowRepository, commit: str, paths: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return path → its mode and blob in a commit, of those that are there."""
    if not paths:
        return {}
    said = shadow.repository.run("--literal-pathspecs", "ls-tree", "-r", "-z", commit, "--", *paths)
    listed = (line.partition("\t") for line in parse_paths(said))
    return {path: (facts.split(" ")[0], facts.split(" ")[2]) for facts, _, path in listed}


def _write_blob_name(content: bytes | None) -> str | None:
    if content is None:
        return None
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


def _commit_files(
    shadow: ShadowRepository, commit: str, contents: Mapping[str, bytes | None], known: Mapping[str, tuple[str, str]]
) -> str:
    """Return a commit with these files, on top of another; None: not there."""
    if not contents:
        return commit
    git = shadow.repository
    lines: list[str] = []
    for path, content in contents.items():
        if content is None:
            lines.append(f"0 {'0' * 40}\t{path}")
        else:
            blob = git.run("hash-object", "-w", "--stdin", stdin=content).decode().strip()
            lines.append(f"{known.get(path, (_USUAL_MODE,))[0]} {blob}\t{path}")
    with git.lock_index(git.folder, "paths/index") as tree:
        git.run("read-tree", commit, tree=tree)
        git.run("update-index", "-z", "--replace", "--index-info", tree=tree, stdin=to_stdin(lines))
        written = git.run("write-tree", tree=tree).decode().strip()
    return git.keep_commit(git.commit(written, (commit,)))
