"""What a whole process costs: the `TodoWrite` command, the import of the library, the first prompt of a session."""

from __future__ import annotations

import compileall
import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import headway

from .measure import Measured, NotAvailable, Row, side_by_side

PAIRS = 25
QUIET = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}


def _run(*command: str | Path, environ: dict[str, str] = QUIET) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def _python(code: str) -> Callable[[int], object]:
    return lambda number: _run(sys.executable, "-c", code).check_returncode()


def _compile() -> None:
    """As the installation does; else a changed source would be compiled anew by each process that is timed."""
    compileall.compile_dir(Path(headway.__file__).parent, quiet=2)


def _lists() -> list[str]:
    """Two lists as the command gets them, so that each call has something to change."""
    contents = ("Read the failing test", "Fix the parser", "Run all tests")
    return [
        json.dumps({"todos": [{"content": c, "activeForm": f"Doing: {c}", "status": status} for c in contents]})
        for status in ("pending", "completed")
    ]


def todo_write(folder: Path) -> Measured:
    script = Path(sys.executable).with_name("TodoWrite")
    if not script.exists():
        raise NotAvailable("the script TodoWrite is not installed")
    project = folder / "todo_write"
    project.mkdir()
    environ = {**QUIET, "HEADWAY_PROJECT": str(project)}
    lists = _lists()
    _compile()
    for text in lists:
        tried = _run(script, text, environ=environ)
        if tried.returncode:
            lines = tried.stderr.strip().splitlines() or ["without a message"]
            raise NotAvailable(f"TodoWrite fails: {lines[-1]}")
    return side_by_side(
        lambda number: _run(script, lists[number % 2], environ=environ).check_returncode(),
        _python("import argparse, json, sqlite3"),
        PAIRS,
    )


def library(folder: Path) -> Measured:
    _compile()
    return side_by_side(
        _python("import headway; headway.open(memory=True)"), _python("import dataclasses, enum, json, sqlite3"), PAIRS
    )


def first_prompt(folder: Path) -> Measured:
    """Until something can be typed: nothing but what draws the prompt is loaded by then."""
    script = str(Path(sys.executable).with_name("headway"))
    project = folder / "first_prompt"
    project.mkdir()
    environ = {**QUIET, "HEADWAY_PROJECT": str(project), "HOME": str(project), "TERM": "xterm-256color"}
    _compile()
    return side_by_side(lambda number: _until_prompt(script, environ), _python("import prompt_toolkit, rich"), PAIRS)


def _until_prompt(script: str, environ: dict[str, str]) -> None:
    process, terminal = pty.fork()
    if not process:
        os.execve(script, [script, "--memory"], environ)
    shown = b""
    try:
        while b">" not in shown:
            if not select.select([terminal], [], [], 30)[0]:
                raise NotAvailable("the terminal session shows no prompt")
            shown += os.read(terminal, 65_536)
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


ROWS = [
    Row("TodoWrite, cold start", "python -c 'import argparse, json, sqlite3'", 2, todo_write),
    Row("first prompt of a session", "python -c 'import prompt_toolkit, rich'", 2, first_prompt),
    Row("import and open in memory", "python -c 'import dataclasses, enum, json, sqlite3'", 1.5, library),
]
