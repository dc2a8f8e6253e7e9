from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headway.session import SessionStore
from headway.store.memory import MemoryStore
from headway.store.sqlite import SqliteStore

from .samples import file_of

Opener = Callable[..., SqliteStore]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the project's file will be."""
    return file_of(tmp_path)


@pytest.fixture
def opened(path: Path) -> Iterator[Opener]:
    """Opens stores over the project's file, and closes them after the test."""
    stores: list[SqliteStore] = []

    def open_store(timeout: float = 5.0) -> SqliteStore:
        stores.append(SqliteStore(str(path), timeout=timeout))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, opened: Opener) -> SessionStore:
    return MemoryStore() if request.param == "memory" else opened()
