from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import headway
from headway.agent import PROVIDERS

from .loopback import Loopback, serving


@pytest.fixture(scope="package", autouse=True)
def certificates_are_loaded_once() -> Iterator[None]:
    """Every model loads all certificates of the system, which takes longer than asking it on loopback."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that the person who runs the tests has set changes what they find, and nothing goes through a proxy."""
    ours = {name for row in PROVIDERS.values() for name in (*row.keys, row.url_variable) if name}
    for name in list(os.environ):
        if name in ours or name.upper().endswith("_PROXY") or name.startswith(("OPENAI_", "ANTHROPIC_", "GOOGLE_")):
            monkeypatch.delenv(name)


@pytest.fixture
def session(session: headway.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> headway.Session:
    """A session in memory, of an agent that works in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return session


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    with serving() as server:
        yield server
