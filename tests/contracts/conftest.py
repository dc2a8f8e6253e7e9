from __future__ import annotations

from pathlib import Path

import pytest

import headway
from headway import Session

from .samples import SETTINGS, Updates


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that the person who runs the tests has set changes what they find."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def session() -> Session:
    return headway.open(memory=True)


@pytest.fixture
def updates(session: Session) -> Updates:
    """The lists that `todos:update` carried, from now on."""
    heard: Updates = []
    session.on("todos:update", heard.append)
    return heard


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder
