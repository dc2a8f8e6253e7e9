"""What importing a module loads, each in an interpreter that had loaded nothing before."""

from __future__ import annotations

import subprocess
import sys

_FORK = """
import importlib, os, sys, headway
for name in sys.argv[1:]:
    if os.fork():
        os.wait()
    else:
        importlib.import_module(name)
        print(name, *sys.modules, flush=True)
        os._exit(0)
"""


def loaded_by(*modules: str) -> dict[str, set[str]]:
    """Module → the packages that are there once it is imported."""
    done = subprocess.run([sys.executable, "-c", _FORK, *modules], capture_output=True, text=True, timeout=60)
    assert (done.stderr, done.returncode) == ("", 0)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {name: {one.partition(".")[0] for one in loaded} for name, *loaded in lines}
