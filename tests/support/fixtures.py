"""The fixtures of all tests. A folder overrides one only where its tests are about something else."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import headway

from . import projects
from .counts import ON_DISK
from .processes import discard_all


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """In memory where the system offers that; on a real disk for tests that are marked `disk`."""
    if request.node.get_closest_marker("disk") is None:
        yield tmp_path
        return
    disk = "/var/tmp" if os.access("/var/tmp", os.W_OK) else None  # /tmp is in memory on many systems
    with tempfile.TemporaryDirectory(prefix="headway-", dir=disk, ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    """Nothing that a test starts outlives it."""
    yield
    discard_all()


@pytest.fixture
def session(tmp_path_factory: pytest.TempPathFactory) -> headway.Session:
    """A session in memory; `make soak` runs the same tests with one on disk."""
    return headway.open(tmp_path_factory.mktemp("session")) if ON_DISK else headway.open(memory=True)


@pytest.fixture
def kept_session(tmp_path: Path) -> Iterator[headway.Session]:
    """A session that is kept on disk, of the project `tmp_path`."""
    session = headway.open(tmp_path)
    yield session
    session.close()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty project that is the working folder, of a person who has set nothing. Nothing is left running in it."""
    yield projects.empty_project(tmp_path, monkeypatch)
    discard_all()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """As `project`, with a real repository."""
    projects.forget_settings(monkeypatch, tmp_path)
    monkeypatch.chdir(projects.repository(tmp_path))
    yield tmp_path
    discard_all()
