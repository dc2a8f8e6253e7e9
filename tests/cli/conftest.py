"""Runs `headway` as its users do: as commands in a folder of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from headway.cli.app import app

Headway = Callable[..., Result]


@pytest.fixture(autouse=True)
def in_project(project: Path) -> None:
    """All tests are in a project of their own."""


@pytest.fixture
def headway() -> Headway:
    """Runs a command line; checks the exit code."""

    def run(*words: str, code: int = 0, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(app, list(words), input=stdin)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    return run


def data(result: Result) -> Any:
    return json.loads(result.stdout)
