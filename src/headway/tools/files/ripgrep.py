"""ripgrep, if it is installed, as a quick first look: which files have a text in them at all.

What matches, and how it is shown, is never its business, so that answers do not depend on it.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress

from headway.tools.files.walk import File, Stop
from headway.tools.files.workspace import Workspace

_MOST_FILES = 4_000
_MOST_BYTES = 500_000
"""Of all paths in one command; systems take at least twice as much."""
_LOOK = 0.05
"""Seconds after which it is seen that nobody waits any more."""
_OPTIONS = (
    "--no-config",
    "--no-messages",
    "--no-mmap",
    "--no-ignore",
    "--hidden",
    "--text",
    "--fixed-strings",
    "--files-with-matches",
    "--null",
    "--color=never",
)


def installed(workspace: Workspace) -> str | None:
    """The program, if there is one that does not come from the project itself."""
    found = shutil.which("rg")
    if found is None or not os.path.isabs(found):
        return None
    real = os.path.realpath(found)
    return None if any(f"{path}/".startswith(f"{workspace.root}/") for path in (found, real)) else found


def with_literal(
    program: str, root: str, files: Iterator[File], literal: str, ignore_case: bool, stop: Stop
) -> Iterator[tuple[File, bool]]:
    """Each file, and whether it may have the text in it. If ripgrep fails, any may."""
    for batch in _batches(files):
        found = _found(program, root, batch, literal, ignore_case, stop)
        for file in batch:
            yield file, found is None or os.fsencode(f"./{file.path}") in found


def _batches(files: Iterator[File]) -> Iterator[list[File]]:
    batch: list[File] = []
    size = 0
    for file in files:
        batch.append(file)
        size += 4 * len(file.path) + 16
        if len(batch) >= _MOST_FILES or size >= _MOST_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _found(
    program: str, root: str, files: Sequence[File], literal: str, ignore_case: bool, stop: Stop
) -> frozenset[bytes] | None:
    case = "--ignore-case" if ignore_case else "--case-sensitive"
    paths = [os.fsencode(f"./{file.path}") for file in files]
    try:
        process = subprocess.Popen(
            [program, *_OPTIONS, case, "-e", literal, "--", *paths],
            cwd=root,
            env={"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None
    try:
        while not stop:
            with suppress(subprocess.TimeoutExpired):
                output, _ = process.communicate(timeout=_LOOK)
                return frozenset(output.split(b"\0")) if process.returncode in (0, 1) else None
        return None
    finally:
        if process.returncode is None:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.communicate()
