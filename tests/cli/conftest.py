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
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project that is the working folder."""
    for name in ("HEADWAY_PROJECT", "HEADWAY_SESSION", "HEADWAY_AGENT", "HEADWAY_IN_MEMORY", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
