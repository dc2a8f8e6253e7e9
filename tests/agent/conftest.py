from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from headway.agent import PROVIDERS

from .loopback import Loopback, serving


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that the person who runs the tests has set changes what they find, and nothing goes through a proxy."""
    ours = {name for row in PROVIDERS.values() for name in (*row.keys, row.url_variable) if name}
    for name in list(os.environ):
        if name in ours or name.upper().endswith("_PROXY") or name.startswith(("OPENAI_", "ANTHROPIC_", "GOOGLE_")):
            monkeypatch.delenv(name)


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with serving() as server:
        yield server
