"""Environments for what Headway is compared with: made in `.bench` on first use, and used again until they change.

Nothing that is only measured gets into Headway's own environment.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from .measure import NotAvailable

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".bench"
QUIET = {
    **os.environ,
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_ROOT_USER_ACTION": "ignore",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
}
INSTALLING, RUNNING = 900, 300
"""Seconds."""

_made: dict[str, Path | str] = {}
"""The interpreters by the name of their environment, or why there is none: what failed is not tried for each row."""


def python_of(name: str) -> Path:
    """The interpreter of the environment that has what `others/requirements-NAME.txt` lists."""
    if name not in _made:
        try:
            _made[name] = _make(name)
        except NotAvailable as reason:
            _made[name] = str(reason)
    made = _made[name]
    if isinstance(made, str):
        raise NotAvailable(made)
    return made


def answer_of(python: str | Path, module: str, *arguments: str | Path, given: object = None) -> Any:
    """What a module of `bench.others` prints as JSON in a process of its own; `given` is its standard input."""
    command = [python, "-m", f"bench.others.{module}", *arguments]
    return json.loads(_run(f"{module} fails", RUNNING, *command, given=json.dumps(given)))


def _make(name: str) -> Path:
    requirements = Path(__file__).with_name("others") / f"requirements-{name}.txt"
    folder = FOLDER / name
    python, mark = folder / "bin" / "python", folder / "made-from.txt"
    wanted = f"{sys.version}\n{requirements.read_text()}"
    if python.exists() and mark.exists() and mark.read_text() == wanted:
        return python
    print(f"Installing what is needed to measure {name}…", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    problem = f"the packages for {name} cannot be installed"
    _run(problem, INSTALLING, sys.executable, "-m", "venv", folder)
    _run(problem, INSTALLING, python, "-m", "pip", "install", "-qq", "--retries", "1", "-r", requirements)
    mark.write_text(wanted)
    return python


def _run(problem: str, seconds: float, *command: str | Path, given: str = "") -> str:
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=QUIET, input=given, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise NotAvailable(f"{problem}: not done after {seconds:g} s") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["without a message"]
        raise NotAvailable(f"{problem}: {lines[-1]}")
    return done.stdout
