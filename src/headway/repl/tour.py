"""The demo, shown inside a terminal session."""

from __future__ import annotations

import subprocess
import sys

_NAMED = "import sys; sys.argv[0] = 'headway'; from headway.cli.app import main; main()"
"""Under its own name, which the demo gives to what can be typed next."""


def run_tour() -> None:
    """In a process of its own, which has the terminal as long as it takes, and imports nothing from this folder."""
    subprocess.run([sys.executable, "-P", "-c", _NAMED, "demo"], check=False)
