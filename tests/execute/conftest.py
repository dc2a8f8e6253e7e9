from __future__ import annotations

from pathlib import Path

import pytest

from .executing import Doors, commit_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project in a repository of the user's own."""
    return commit_files(tmp_path / "project", {"readme.txt": "read me\n"})


@pytest.fixture
def doors() -> Doors:
    return Doors()
