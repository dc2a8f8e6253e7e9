"""Ask the user's own git about the project's files. Nothing of it is ever changed."""

from __future__ import annotations

import os
import re
import subprocess

from headway.execute import on_disk
from headway.execute.git import NoCheckpoints
from headway.project import FOLDER


class UserGit:
    """What the user's own git says of the project's files. It is only ever asked, and nothing of it is changed.

    The project may be the top folder of the user's repository, a folder in it, or in none.
    """

    def __init__(self, program: str, project: str) -> None:
        self._program = program
        self.project = project
        self._asked: tuple[object, list[str]] | None = None
        self._file: list[str] | None = None
        self._left_out: dict[str, bool] = {}
        self._refuse_headways_own()

    def _refuse_headways_own(self) -> None:
        """Refuse a `.git` that names a folder in `.headway`, such as the one of checkpoints."""
        ours = os.path.realpath(os.path.join(self.project, FOLDER))
        for folder in (
            (found[1], _find_common_folder(found[1])) if (found := self._find_repository()) is not None else ()
        ):
            if os.path.commonpath([ours, os.path.realpath(folder)]) == ours:
                raise NoCheckpoints(f"The project's git repository is in '{FOLDER}'; move it to another folder.")

    def excludes(self) -> str:
        """Patterns of the repository's `info/exclude`, and of the `.gitignore` files above the project."""
        found = self._find_repository()
        if found is None:
            return ""
        top, folder = found
        if self._is_project_ignored(top):
            return ""  # as in a home folder whose repository ignores all: that is not meant for the project
        lines: list[str] = []
        for base, file in [
            (top, os.path.join(_find_common_folder(folder), "info", "exclude")),
            *self._ignore_files_above(top),
        ]:
            below = os.path.relpath(self.project, base)
            for line in os.fsdecode(on_disk.read_file(file) or b"").split("\n"):
                lines.append(line if below == "." else _move_pattern_down(line, below))
        return "\n".join([*lines, ""])

    def _is_project_ignored(self, top: str) -> bool:
        """Whether the repository above the project ignores the project as a whole; asked for once."""
        if top == self.project:
            return False
        if top not in self._left_out:
            self._left_out[top] = self.ask("check-ignore", "-q", "--", self.project) is not None
        return self._left_out[top]

    def _ignore_files_above(self, top: str) -> list[tuple[str, str]]:
        folder, found = self.project, list[tuple[str, str]]()
        while folder != top:
            folder = os.path.dirname(folder)
            found.insert(0, (folder, os.path.join(folder, ".gitignore")))
        return found

    def excludes_file(self) -> str | None:
        """`core.excludesFile`, asked for once; None: git's default place."""
        if self._file is None:
            said = self.ask("config", "--type=path", "-z", "--get", "core.excludesFile")
            said = (said or "").rstrip("\0")
            self._file = [os.path.join(self.project, said)] if said else []
        return self._file[0] if self._file else None

    def excludes_option(self) -> tuple[str, ...]:
        """Return what has another git follow that file."""
        file = self.excludes_file()
        return () if file is None else ("-c", f"core.excludesFile={file}")

    def list_tracked_though_ignored(self, patterns: str) -> list[str]:
        """Paths that the user's repository tracks although they match an ignore pattern, or one in the given file."""
        found = self._find_repository()
        if found is None:
            return []
        try:
            status = os.stat(os.path.join(found[1], "index"))
        except OSError:
            return []
        stamp = (found, status.st_ino, status.st_mtime_ns, status.st_size, _file_stamp(patterns))
        if self._asked is None or self._asked[0] != stamp:
            options = ("--cached", "--ignored", "--exclude-standard", f"--exclude-from={patterns}")
            said = self.ask("ls-files", "-z", *options)
            self._asked = (stamp, [path for path in (said or "").split("\0") if path])
        return self._asked[1]

    def repository(self) -> tuple[str, str, str] | None:
        """Return the top folder, the git folder and the common folder of the user's repository.

        None where there is none, or one that ignores the project as a whole.
        """
        found = self._find_repository()
        if found is None or self._is_project_ignored(found[0]):
            return None
        return *found, _find_common_folder(found[1])

    def list_tracked(self) -> frozenset[str]:
        """Return the project's files that are in the index of the user's repository."""
        return frozenset((self.ask("ls-files", "-z", "--cached") or "").split("\0"))

    def find_objects(self) -> str | None:
        """Return where the objects of the user's repository are, if they can be used for others."""
        found = self._find_repository()
        if found is None:
            return None
        folder = os.path.join(_find_common_folder(found[1]), "objects")
        if not os.path.isdir(folder) or os.lstat(folder).st_uid != os.geteuid():
            return None
        config = on_disk.read_file(os.path.join(_find_common_folder(found[1]), "config")) or b""
        return None if b"extensions" in config.lower() else folder  # of another format, or not all there

    def last_tree(self, max_bytes: int) -> str | None:
        """Return the project's folder in the last commit.

        None if there is none, or if the project has other files: without the larger ones, repositories, left-out parts.
        """
        found = self.repository()
        if found is None or os.path.lexists(os.path.join(found[1], "info", "sparse-checkout")):
            return None
        prefix = "" if found[0] == self.project else os.path.relpath(self.project, found[0])
        tree = (self.ask("rev-parse", "--verify", "-q", f"HEAD:{prefix}") or "").strip()
        listed = self.ask("ls-tree", "-r", "-l", "--full-tree", tree) if tree else None
        sizes = re.findall(r"^\S+ \S+ \S+ +(\d+|-)\t", listed or "", re.MULTILINE)
        return tree if sizes and "-" not in sizes and max(map(int, sizes)) <= max_bytes else None

    def state_stamp(self) -> object:
        """Return what differs once something was committed, checked out or staged."""
        found = self._find_repository()
        if found is None:
            return None
        names = ("HEAD", "logs/HEAD", "index")
        common = _find_common_folder(found[1])
        files = [*(os.path.join(found[1], name) for name in names), os.path.join(common, "packed-refs")]
        return (found, *map(_file_stamp, (*files, os.path.join(common, "config"))))

    def _find_repository(self) -> tuple[str, str] | None:
        """The top folder of the repository that the project is in, and its git directory."""
        top = self.project
        while not os.path.lexists(git := os.path.join(top, ".git")):
            if (parent := os.path.dirname(top)) == top:
                return None
            top = parent
        if os.path.isfile(git):
            named = os.fsdecode(on_disk.read_file(git) or b"").removeprefix("gitdir:").strip()
            git = os.path.join(top, named)
        return top, git

    def ask(self, *arguments: str) -> str | None:
        """What git says; None if it says no or cannot say."""
        # Git finds the repository itself: one that it does not trust, since it is someone else's, is none for us.
        quiet = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "protocol.allow=never")
        quiet += ("-c", "safe.bareRepository=explicit")  # the project's own files are no repository
        done = subprocess.run(
            [self._program, *quiet, *arguments],
            cwd=self.project,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        return os.fsdecode(done.stdout) if done.returncode == 0 else None

    def _environment(self) -> dict[str, str]:
        return {
            **{k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k.startswith("GIT_CONFIG_")},
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "",
            "LC_ALL": "C",
        }


def _find_common_folder(folder: str) -> str:
    """The folder that a git folder shares with others: itself, unless it is that of a worktree."""
    named = os.fsdecode(on_disk.read_file(os.path.join(folder, "commondir")) or b".").strip()
    return os.path.normpath(os.path.join(folder, named))


def _file_stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _move_pattern_down(line: str, below: str) -> str:
    """An ignore pattern of a folder as it applies in one of its subfolders; empty if it does not."""
    mark, pattern = ("!", line[1:]) if line.startswith("!") else ("", line)
    if "/" not in pattern.rstrip("/ ") or pattern.startswith("**/"):
        return line
    rest = pattern.lstrip("/").removeprefix(f"{below}/")
    return f"{mark}/{rest}" if rest != pattern.lstrip("/") and rest.strip("/ ") else ""
