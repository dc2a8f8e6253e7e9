"""The git repository of a worktree: in it, `git log`, `blame` and `show` see the user's history.

It is a repository of its own that borrows the user's objects and has a copy of the names of their branches and tags.
Whatever is done with git in a worktree therefore changes nothing of the user's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass

from headway.execute import on_disk
from headway.execute.git import Git, UsersGit, quote_path

_SETTINGS = frozenset(
    {f"core.{name}" for name in ("autocrlf", "eol", "filemode", "ignorecase", "symlinks", "quotepath")}
    | {"user.name", "user.email"}
)
"""What of the settings of the user's repository holds in a worktree."""


@dataclass(frozen=True, slots=True)
class History:
    """What a worktree takes over from the user's repository."""

    prefix: str
    """Where the project is in the repository; nothing at its top."""
    folder: str
    """The repository's common folder: objects, refs."""
    index: str
    head: str
    refs: str
    """As in `packed-refs`."""
    object_format: str
    settings: tuple[tuple[str, str], ...]


class WorktreeGit:
    """Makes the repositories of worktrees."""

    def __init__(self, git: Git, users: UsersGit) -> None:
        self._git = git
        self._users = users
        self._known: tuple[object, History | None] | None = None

    def history(self) -> History | None:
        """Return what there is of the user's repository; None if there is none with a commit."""
        stamp = self._users.stamp()
        if self._known is None or self._known[0] != stamp:
            self._known = (stamp, self._look())
        return self._known[1]

    def _look(self) -> History | None:
        found = self._users.repository()
        if found is None or self._users.ask("rev-parse", "--verify", "-q", "HEAD^{commit}") is None:
            return None
        top, folder, common = found
        refs = self._users.ask("for-each-ref", "--format=%(objectname) %(refname)") or ""
        listed = (self._users.ask("config", "--local", "-z", "--list") or "").split("\0")
        pairs = [tuple(line.partition("\n")[::2]) for line in listed if line]
        prefix = os.path.relpath(self._users.project, top)
        with open(os.path.join(folder, "HEAD"), encoding="utf-8", errors="surrogateescape") as file:
            head = file.read()
        return History(
            "" if prefix == "." else prefix,
            common,
            os.path.join(folder, "index"),
            head,
            refs,
            (self._users.ask("rev-parse", "--show-object-format") or "sha1").strip(),
            tuple((name, value) for name, value in pairs if name.lower() in _SETTINGS),
        )

    def lay(self, folder: str, root: str, history: History | None, *, files: str, index: str) -> None:
        """Make the worktree at `root` a repository whose git folder is `folder`.

        Without a history, its first commit has the files of the commit `files`, and `index` is its index.
        """
        on_disk.remove(folder)
        for part in ("objects/info", "objects/pack", "refs/heads", "info"):
            os.makedirs(os.path.join(folder, part))
        lines = ["[core]", "\tbare = false", "\thooksPath = /dev/null", "\tfsmonitor = false"]
        lines += ["[gc]", "\tauto = 0", "[maintenance]", "\tauto = false"]
        objects = os.path.join(self._git.folder, "objects")
        head = f"{files}\n"
        if history is not None:
            objects, head = os.path.join(history.folder, "objects"), history.head
            _write(folder, "packed-refs", history.refs)
            with suppress(FileNotFoundError):
                shutil.copyfile(os.path.join(history.folder, "shallow"), os.path.join(folder, "shallow"))
            lines += [_setting(name, value) for name, value in history.settings]
        if history is not None and history.object_format != "sha1":
            lines += ["[core]", "\trepositoryFormatVersion = 1", "[extensions]"]
            lines.append(f"\tobjectFormat = {history.object_format}")
        else:
            lines += ["[core]", "\trepositoryFormatVersion = 0"]
        if history is not None and history.prefix:
            # The rest of the repository is not there, and is not to be reported as deleted.
            lines += ["[core]", "\tsparseCheckout = true", "\tsparseCheckoutCone = false"]
            _write(folder, "info/sparse-checkout", f"/{history.prefix}/\n")
        _write(folder, "config", "\n".join([*lines, ""]))
        _write(folder, "objects/info/alternates", f"{quote_path(objects)}\n")
        _write(folder, "HEAD", head)
        mark = os.path.join(root, ".git")
        on_disk.remove(mark)
        with open(mark, "wb") as file:
            file.write(os.fsencode(f"gitdir: {folder}\n"))
        self._lay_index(folder, root, history, index)

    def _lay_index(self, folder: str, root: str, history: History | None, index: str) -> None:
        target = os.path.join(folder, "index")
        if history is None:
            shutil.copyfile(index, target)
            return
        with suppress(OSError):
            if not history.prefix and not _is_split(history.index):
                shutil.copyfile(history.index, target)
                return
        subprocess.run(
            [self._git.program, "read-tree", "HEAD"],
            cwd=root,
            env={**self._git.environment(None), "GIT_DIR": folder, "GIT_COMMON_DIR": folder, "GIT_INDEX_FILE": target}
            | {"GIT_WORK_TREE": root},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )

    @staticmethod
    def has_commits(folder: str, history: History | None, files: str) -> bool:
        """Return whether something was committed in the worktree."""
        head = f"{files}\n" if history is None else history.head
        with suppress(OSError), open(os.path.join(folder, "HEAD"), encoding="utf-8", errors="surrogateescape") as file:
            if file.read() != head:
                return True
        return any(names for _, _, names in os.walk(os.path.join(folder, "refs", "heads")))


def _write(folder: str, part: str, text: str) -> None:
    with open(os.path.join(folder, part), "wb") as file:
        file.write(os.fsencode(text))


def _is_split(index: str) -> bool:
    """Return whether an index needs another file, which stands beside it."""
    folder = os.path.dirname(index)
    return any(name.startswith("sharedindex.") for name in os.listdir(folder))


def _setting(name: str, value: str) -> str:
    section, _, key = name.partition(".")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'[{section}]\n\t{key} = "{escaped}"'
