"""Which sandbox this system offers: found out once, by running something in it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

from headway.core.text import sanitize_for_display
from headway.tools.sandbox.bubblewrap import BASE, NO_NESTING

BUBBLEWRAP = "bubblewrap"
SEATBELT = "sandbox-exec"
_FOLDERS = ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")
"""Where the program is looked for: on the PATH, a project may have put something in front of it."""
_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Available:
    """What can be used, or why nothing can."""

    name: str = ""
    program: str = ""
    options: tuple[str, ...] = ()
    problem: str = ""
    """Why there is none, as the end of a sentence; nothing if there is one."""


@cache
def find_sandbox() -> Available:
    if os.geteuid() == 0:
        return Available(problem="root could leave it; use an ordinary account")
    if sys.platform == "darwin":
        return _find_seatbelt()
    program = _find_program("bwrap")
    if program is None:
        return Available(problem="bubblewrap is not installed (for example 'apt-get install bubblewrap')")
    said = ""
    for options in ((NO_NESTING,), ()):
        start = [program, *BASE, *options, "--unshare-net", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        said = _try([*start, "--tmpfs", "/tmp", "--", "/bin/true"])
        if not said:
            return Available(BUBBLEWRAP, program, options)
    return Available(problem=f"bubblewrap does not work here ({said})")


def _find_seatbelt() -> Available:
    program = _find_program("sandbox-exec")
    if program is None:
        return Available(problem="sandbox-exec is not there")
    said = _try([program, "-p", "(version 1)(allow default)(deny network*)", "/usr/bin/true"])
    return Available(SEATBELT, program) if not said else Available(problem=f"sandbox-exec does not work here ({said})")


def _find_program(name: str) -> str | None:
    paths = (os.path.join(folder, name) for folder in _FOLDERS)
    return next((path for path in paths if os.access(path, os.X_OK)), None)


def _try(command: list[str]) -> str:
    """Run a command that does nothing; return what is wrong, or nothing."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        return sanitize_for_display(str(error), 200)
    said = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
    return "" if done.returncode == 0 else sanitize_for_display(said.splitlines()[-1], 200)
