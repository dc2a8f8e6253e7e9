"""Links that lead elsewhere from a worktree than from the project: they are turned there, and back when it is saved.

An absolute link into the project would have an item change the project's own files, and a relative one out of the
project would lead to another place.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from headway.execute import on_disk
from headway.execute.git import Git, IndexedTree, parse_paths


def list_links(git: Git, commit: str) -> dict[str, str]:
    """Return path → target of all the links of a commit."""
    entries = (entry.partition("\t") for entry in parse_paths(git.run("ls-tree", "-r", "-z", commit)))
    blobs = {path: facts.split()[2] for facts, _, path in entries if facts.startswith(on_disk.LINK)}
    contents = git.read_blobs(set(blobs.values()))
    return {path: os.fsdecode(contents[blob]) for path, blob in blobs.items()}


def has_links(changes: Iterable[on_disk.PathChange]) -> bool:
    return any(on_disk.LINK in (change.old_mode, change.new_mode) for change in changes)


def translate_link(project: str, root: str, path: str, target: str) -> str:
    """Return where a link of the project leads in the worktree at `root`."""
    full = os.path.normpath(os.path.join(project, os.path.dirname(path), target))
    if not os.path.isabs(target) and _is_inside(project, full):
        return target
    return root + full[len(project) :] if _is_inside(project, full) else full if not os.path.isabs(target) else target


def translate_links(project: str, root: str, links: dict[str, str]) -> dict[str, str]:
    """Turn the links of a worktree; return path → target of those that are different now."""
    turned: dict[str, str] = {}
    for path, target in links.items():
        full, new = os.path.join(root, path), translate_link(project, root, path, target)
        if new != target and os.path.islink(full):
            os.unlink(full)
            os.symlink(new, full)
            turned[path] = new
    return turned


def restore_links(git: Git, tree: IndexedTree, project: str, paths: list[str]) -> None:
    """Have those of the saved links that lead into the worktree lead into the project."""
    lines: list[bytes] = []
    for path in paths:
        full = os.path.join(tree.root, path)
        if os.path.islink(full) and _is_inside(tree.root, target := os.readlink(full)):
            content = os.fsencode(project + target[len(tree.root) :])
            blob = git.run("hash-object", "-w", "--stdin", stdin=content).decode().strip()
            lines.append(f"{on_disk.LINK} {blob}\t".encode() + os.fsencode(path) + b"\0")
    if lines:
        git.run("update-index", "-z", "--index-info", tree=tree, stdin=b"".join(lines))


def _is_inside(folder: str, path: str) -> bool:
    return path == folder or path.startswith(f"{folder}{os.sep}")
