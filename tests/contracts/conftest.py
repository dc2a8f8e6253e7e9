from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.processes import discard_all

from headway import Session

from .samples import SETTINGS, Updates


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that the person who runs the tests has set changes what they find."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def updates(session: Session) -> Updates:
    """The lists that `todos:update` carried, from now on."""
    heard: Updates = []
    session.on("todos:update", heard.append)
    return heard


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in a folder, with nothing in it that would make it a project. Nothing is left running in it."""
    made = tmp_path / "project"
    made.mkdir()
    yield made
    discard_all()
