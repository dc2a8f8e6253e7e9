from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .dags import Killer
from .executing import Doors, project


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project in a repository of the user's own."""
    return project(tmp_path / "project")


@pytest.fixture
def doors() -> Doors:
    return Doors()


@pytest.fixture(scope="session")
def kill() -> Iterator[Killer]:
    made = Killer()
    yield made
    made.close()
