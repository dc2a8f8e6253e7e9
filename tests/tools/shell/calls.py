"""Runs `bash` as the executor would, in a bounded time, and looks for what a command has left running."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from headway.session import Session
from headway.tools.base import Context, ToolResult
from headway.tools.files.known_files import KnownFiles
from headway.tools.files.workspace import Workspace
from headway.tools.limits import Limits
from headway.tools.outputs import OutputFiles
from headway.tools.shell.bash import Bash, BashInput

LONGEST = 120.0
"""Seconds after which a call that has not returned is taken to hang."""


def context(
    project: Path,
    session: Session | None = None,
    *,
    limits: Limits | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> Context:
    limits = limits or Limits()
    outputs = OutputFiles(str(project), kept_bytes=limits.kept_bytes)
    return Context(
        project=str(project), session=session, limits=limits, seen=KnownFiles(), outputs=outputs, report=report
    )


async def bash(
    project: Path,
    command: str,
    timeout: float | None = None,
    *,
    session: Session | None = None,
    env: Sequence[str] = (),
    limits: Limits | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> ToolResult:
    tool = Bash(Workspace(project), env)
    given = context(project, session, limits=limits, report=report)
    return await asyncio.wait_for(tool.run(BashInput(command=command, timeout=timeout), given), LONGEST)


def python(code: str) -> str:
    """A command that runs Python code."""
    return f"{shlex.quote(sys.executable)} -I -S -c {shlex.quote(code)}"


def running(project: Path) -> list[str]:
    """Command lines of all processes that know of this project, by their environment or as an argument."""
    found: list[str] = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            line, environ = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
        except OSError:
            continue
        if os.fsencode(project) in line + environ:
            found.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return found


async def until(condition: Callable[[], bool]) -> None:
    """Waits until it is so."""
    async with asyncio.timeout(LONGEST):
        while not condition():
            await asyncio.sleep(0.02)
