"""Projects for tests: folders that are empty, or repositories, of a person who has set nothing."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

IGNORED = "*.json\nhome/\nconfig/\ndoors/\n"
"""What belongs to the tests and not to the project."""
_SET_BY_PEOPLE = (
    "HEADWAY_",
    "GIT_",
    "OPENAI_",
    "ANTHROPIC_",
    "GOOGLE_",
    "GEMINI_",
    "OLLAMA_",
    "LLAMACPP_",
    "VLLM_",
    "NO_COLOR",
    "EDITOR",
    "VISUAL",
)
_KEPT = ("HEADWAY_TESTS",)
_ROOM = 1 << 30
"""Bytes that the temporary folders of all workers may need."""


def memory_folder() -> str | None:
    """Return a folder in memory that has enough room and from which programs can be started, if there is one."""
    folder = "/dev/shm"
    try:
        room = os.statvfs(folder)
    except OSError:
        return None
    usable = os.access(folder, os.W_OK | os.X_OK) and not room.f_flag & os.ST_NOEXEC
    return folder if usable and room.f_bavail * room.f_frsize >= _ROOM else None


def forget_settings(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Nothing that the person who runs the tests has set changes what they find."""
    for name in list(os.environ):
        is_set = name.startswith(_SET_BY_PEOPLE) or name.upper().endswith("_PROXY")
        if is_set and not name.startswith(_KEPT):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))


def empty_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project that is the working folder, of a person who has set nothing."""
    forget_settings(monkeypatch, folder)
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    return folder


def repository(folder: Path) -> Path:
    """A repository of the user's own, in which what belongs to the tests is ignored."""
    subprocess.run(["git", "init", "-q", "--template=", folder], check=True)
    (folder / ".gitignore").write_text(IGNORED, encoding="utf-8")
    (folder / "doors").mkdir()
    return folder


@contextmanager
def temporary_folder() -> Generator[Path]:
    """A folder for one example of many in a test; in memory, as `tmp_path` is."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT"), prefix="headway-") as name:
        yield Path(name).resolve()
