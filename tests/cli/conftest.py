"""Runs `headway` as its users do: as commands in a folder of their own."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from headway import Session
from headway.cli.app import app

from .commands import Headway


@pytest.fixture(autouse=True)
def in_project(request: pytest.FixtureRequest) -> None:
    """All tests are in a project of their own: in an empty one, or in a repository where they want that."""
    request.getfixturevalue("repository" if "repository" in request.fixturenames else "project")


@pytest.fixture
def headway() -> Headway:
    """Runs a command line; checks the exit code."""

    def run(*words: str, code: int = 0, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(app, list(words), input=stdin)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    return run


@pytest.fixture
def two_items(kept_session: Session) -> Session:
    """The session that commands use, with two items."""
    kept_session.write([{"content": "First 第一", "status": "in_progress"}, {"content": "Second"}])
    return kept_session
