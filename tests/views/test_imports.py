"""Views start light: what draws is imported when something is drawn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import headway.views

MODULES = sorted(path.stem for path in Path(headway.views.__file__).parent.glob("[!_]*.py"))


@pytest.mark.parametrize("module", MODULES)
def test_importing_a_view_loads_nothing_but_the_standard_library_and_the_core(module: str):
    code = f"import sys, headway.views.{module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "headway" in loaded
    assert not loaded & {"rich", "click", "pydantic", "csv"}
