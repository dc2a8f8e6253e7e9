"""Programs and modules in a project's folder are not taken for those that Headway needs itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headway.repl import tour
from headway.tools.programs import find_program

_MODULES = ("rich", "click", "platformdirs", "prompt_toolkit", "pydantic", "headway_evil")


def program(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n", encoding="utf-8")
    file.chmod(0o755)
    return file


def test_a_program_is_found_outside_of_the_project_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, installed = tmp_path / "project", program(tmp_path / "bin/tool")
    program(project / "tool")
    program(project / "node_modules/.bin/tool")
    (tmp_path / "links").mkdir()
    (tmp_path / "links/tool").symlink_to(project / "tool")
    monkeypatch.chdir(project)
    theirs = [".", "", "node_modules/.bin", str(project), str(project / "node_modules/.bin"), str(tmp_path / "links")]
    monkeypatch.setenv("PATH", os.pathsep.join(theirs))
    assert find_program("tool", ".") is None
    monkeypatch.setenv("PATH", os.pathsep.join([*theirs, str(installed.parent)]))
    assert find_program("tool", ".") == str(installed)


@pytest.fixture
def with_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose modules leave a file when they are imported."""
    for name in _MODULES:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n", encoding="utf-8")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def test_modules_of_the_project_are_not_imported_where_headway_is_started_as_a_module(with_modules: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "headway", "config", "show"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not (with_modules / "ran").exists()


def test_modules_of_the_project_are_not_imported_by_the_tour(
    with_modules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (with_modules / "headway.py").write_text(f"open({str(with_modules / 'ran')!r}, 'w')\n", encoding="utf-8")
    monkeypatch.setattr(tour, "_NAMED", "import headway.cli.app")
    tour.run_tour()
    assert not (with_modules / "ran").exists()
