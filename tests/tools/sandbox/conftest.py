"""A project of an ordinary user, and that user, whom root becomes for a while: root gets no sandbox."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("program.py")
ROOT = PROGRAM.parents[3]
UID = 4242
"""Of nobody on the machine, so that a search for what that user left finds only this."""
PATHS = os.pathsep.join([str(ROOT / "src"), *(path for path in sys.path if path.endswith("site-packages"))])


def _ordinary() -> dict[str, Any]:
    return {"user": UID, "group": UID, "extra_groups": []} if os.geteuid() == 0 else {}


@dataclass(frozen=True)
class User:
    """Someone with a home, a project in it, and an interpreter that can be used."""

    python: str
    home: Path

    @property
    def project(self) -> Path:
        return self.home / "project"

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        environ = {
            "HOME": str(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": PATHS,
            "LANG": "C.UTF-8",
        }
        environ |= {"TMPDIR": str(self.home.parent / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"}
        pipe = subprocess.PIPE
        return subprocess.Popen(
            words,
            env=environ,
            cwd=self.project,
            text=True,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            **_ordinary(),
            **options,
        )

    def run(self, *words: str) -> str:
        process = self.start(*words)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        return out

    def begin(self, **wanted: Any) -> subprocess.Popen[str]:
        process = self.start(self.python, str(PROGRAM))
        assert process.stdin is not None
        process.stdin.write(json.dumps({"folder": str(self.project), **wanted}))
        process.stdin.close()
        process.stdin = None
        return process

    def ask_for(self, **wanted: Any) -> dict[str, Any]:
        process = self.begin(**wanted)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return json.loads(out)

    def bash(self, *commands: str, **wanted: Any) -> list[tuple[str, int | None]]:
        """Return text and exit code of each command, which run unasked unless it is said otherwise."""
        calls = [("bash", {"command": command}) for command in commands]
        return [tuple(result) for result in self.ask_for(**{"mode": "yolo", "calls": calls, **wanted})["results"]]


@cache
def _interpreter() -> str | None:
    for python in dict.fromkeys((sys.executable, "/usr/local/bin/python3", "/usr/bin/python3")):
        words = [python, "-c", "import headway.tools.executor, pydantic_core"]
        try:
            if subprocess.call(words, env={"PYTHONPATH": PATHS}, stderr=subprocess.DEVNULL, **_ordinary()) == 0:
                return python
        except OSError:
            continue
    return None


@pytest.fixture
def user() -> Iterator[User]:
    if shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin") is None:
        pytest.skip("bubblewrap is not installed: apt-get install bubblewrap")
    python = _interpreter()
    if python is None:
        pytest.skip("no Python that an ordinary user can run has what Headway needs")
    # Not pytest's folder, which is closed to others.
    folder = Path(tempfile.mkdtemp(prefix="headway-user-"))
    try:
        home = folder / "home"
        for part in ("tmp", "home/project", "home/.ssh"):
            (folder / part).mkdir(parents=True)
        (home / ".ssh/id_ed25519").write_text("the key\n")
        (home / "notes.txt").write_text("private\n")
        if os.geteuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, UID, UID)
        user = User(python, home)
        said = user.run(python, "-c", "from headway.tools.sandbox.sandbox import find_sandbox as f; print(f().problem)")
        if said.strip():
            pytest.skip(f"there is no sandbox here: {said.strip()}")
        yield user
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def repository(user: User) -> User:
    """The same, with a project that is a git repository with a commit."""
    git: Callable[..., str] = lambda *words: user.run("git", *words)  # noqa: E731
    git("init", "-q")
    git("config", "user.name", "A")
    git("config", "user.email", "a@localhost")
    user.run("sh", "-c", "echo one > a.txt")
    git("add", ".")
    git("commit", "-qm", "First")
    return user
