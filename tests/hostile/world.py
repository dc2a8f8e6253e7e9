"""A person's home, a project in it that came from someone else, and a canary for whatever it should not have run."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

HOOKS = (
    "pre-commit",
    "post-index-change",
    "post-checkout",
    "post-commit",
    "reference-transaction",
    "fsmonitor-watchman",
)
_HEADWAYS = ("home/config/headway", "project", "canary")
"""What may change: what Headway remembers for the user, and the project, of which more is said below."""


class World:
    """`home` has the user's secrets and another project; `project` is a repository with work in progress."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home, self.project, self.sibling = root / "home", root / "project", root / "home" / "sibling"
        self.canary = root / "canary"
        self.path = os.environ["PATH"]
        for folder in (self.home / ".ssh", self.home / "config", self.sibling / ".headway", self.canary, self.project):
            folder.mkdir(parents=True)
        write(self.home / ".ssh/id_rsa", "secret of the user\n")
        write(self.home / ".bashrc", "# of the user\n")
        write(self.sibling / ".headway/config.toml", 'mode = "yolo"\n')
        write(self.sibling / "notes.txt", "of another project\n")
        write(self.project / "README.md", "# A project\n\nTODO: more\n")
        write(self.project / "src/app.py", "print('TODO')\n")
        self.git("init", "-q", "-b", "main", "--template=")
        self.commit()
        write(self.project / "src/app.py", "print('stashed')\n")
        self.git("stash")
        write(self.project / "src/app.py", "print('staged')\n")
        self.git("add", "src/app.py")
        write(self.project / "src/app.py", "print('in progress')\n")

    @property
    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / "config"), "PATH": self.path}

    def git(self, *words: str) -> None:
        """Run the git of the person who prepares the repository."""
        who = ("-c", "user.name=u", "-c", "user.email=u@example.org", "-c", "protocol.file.allow=always")
        environ = {**os.environ, "HOME": str(self.home), "GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(["git", *who, *words], cwd=self.project, env=environ, check=True, capture_output=True)

    def commit(self) -> None:
        """Commit all there is, also what is ignored: as it comes with a clone."""
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "-m", "A")

    def add(self, path: str, text: str | bytes = "") -> Path:
        """Write a file of the project."""
        return write(self.project / path, text)

    def link(self, path: str, target: str | Path) -> None:
        place = self.project / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)

    def program(self, path: str, name: str = "") -> Path:
        """Write a program of the project that leaves a canary."""
        file = self.add(path, f"#!/bin/sh\n{self.leaves(name or path)}\ncat\n")
        file.chmod(0o755)
        return file

    def leaves(self, name: str) -> str:
        """Return a command that leaves a canary."""
        return f"touch {shlex.quote(str(self.canary / name.replace('/', '-')))}"

    def module(self, path: str) -> None:
        """Write a Python module that leaves a canary when it is imported."""
        self.add(path, f"open({str(self.canary / path.replace('/', '-'))!r}, 'w').close()\n")

    def ran(self) -> list[str]:
        return sorted(os.listdir(self.canary))

    def outside(self) -> dict[str, object]:
        """Return all that is outside of the project, byte for byte."""
        return {
            path: what
            for path, what in look_at(self.root)
            if not any(path == part or path.startswith(f"{part}/") for part in _HEADWAYS)
        }

    def users_git(self) -> dict[str, object]:
        """Return what git keeps for the user in the project, byte for byte."""
        return {path: what for path, what in self._look() if ".git" in path.split("/")}

    def files(self) -> dict[str, object]:
        """Return the project's own files, byte for byte."""
        return {path: what for path, what in self._look() if ".git" not in path.split("/")}

    def _look(self) -> Iterator[tuple[str, object]]:
        return (found for found in look_at(self.project) if found[0].split("/")[0] != ".headway")


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def look_at(folder: Path) -> Iterator[tuple[str, object]]:
    """Yield whatever is below, with its kind, mode and content; links are not followed, pipes not opened."""
    for at, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(at, name)
            mode = os.lstat(path).st_mode
            content: object = None
            if stat.S_ISLNK(mode):
                content = os.readlink(path)
            elif stat.S_ISREG(mode):
                content = Path(path).read_bytes()
            yield os.path.relpath(path, folder), (mode, content)
