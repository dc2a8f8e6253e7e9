"""Run git on the repository of checkpoints, deaf to all settings of the user.

The repository of checkpoints is made file by file, as git documents it, so that what is missing after a `kill -9` is
made again, and what someone changed in its settings is put right before git reads them.
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import os
import re
import secrets
import subprocess
import time
import zlib
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import NamedTuple

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.execute import on_disk
from headway.execute.on_disk import PathChange
from headway.project import refuse_link

PATIENCE = 120.0
"""Seconds to wait for another process that uses the same index; the first snapshot of a large project takes long."""
UNBORN = "ref: refs/heads/none\n"
"""What HEAD says before the first snapshot; from then on it is that commit itself."""
_COMMIT = re.compile(r"[0-9a-f]{40}\n?")
_CONFIG = """\
[core]
\trepositoryFormatVersion = 0
\tbare = true
\tfileMode = true
\tsymlinks = true
\tignoreCase = false
\tprecomposeUnicode = false
\tprotectHFS = false
\tprotectNTFS = false
\tautocrlf = false
\tsafecrlf = false
\tquotePath = false
\tfsmonitor = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\tlogAllRefUpdates = false
[gc]
\tauto = 0
\tautoDetach = false
\tworktreePruneExpire = never
[maintenance]
\tauto = false
[commit]
\tgpgSign = false
[submodule]
\trecurse = false
"""
_ATTRIBUTES = "* -text !eol !crlf !filter !ident !working-tree-encoding !merge !diff\n"
"""Outranks every `.gitattributes`, so that what is saved are the bytes, and what comes back are these bytes."""
_DAMAGE = (
    r"corrupt|bad (object|signature|index|tree)|unable to read|(invalid|loose) object|not a (git|valid)|missing"
    r"|index file|unknown (index|revision)|reference|packfile|unable to parse"
)
_NO_DAMAGE = r"No space|quota|denied|unable to (write|create)|failed to insert|Read-only|Cannot allocate|Too many open"
_NAME, _ADDRESS = "Headway", "headway@localhost"
_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", _NAME), ("EMAIL", _ADDRESS))
}


_KEPT = "refs/kept"
_WRITTEN_INTO = (
    "objects",
    "objects/info",
    "refs",
    "refs/heads",
    "info",
    "indexes",
    "worktrees",
    "staging",
    "paths",
    "logs",
)
_BORROWED_FROM = "objects/info/alternates"
_NOT_BORROWING = "not-borrowing"
_MARK = "HEADWAY"
_MARK_TEXT = "Headway's checkpoints are in this folder. It is no repository to work with.\n"
_COPIED = "copied"
"""A file that names the commits all of whose objects are in the repository itself."""


class NoCheckpoints(HeadwayError):
    """Nothing can be saved, or what was saved cannot be used."""

    code = "no_checkpoints"


class GitFailed(Exception):
    """Git said no; for those who know what to do about it."""

    def __init__(self, arguments: tuple[str, ...], code: int, said: bytes, printed: bytes) -> None:
        self.code = code
        self.said = said.decode(errors="replace").strip()
        self.printed = printed
        super().__init__(f"git {' '.join(arguments)}: {code}: {self.said}")

    @property
    def is_damage(self) -> bool:
        """Whether it says that something in the repository is broken, and not that a disk is full or a file gone."""
        return re.search(_DAMAGE, self.said) is not None and re.search(_NO_DAMAGE, self.said) is None

    @property
    def broken_object(self) -> bool:
        return re.search(r"(loose|packed|read|bad) object|object file|packfile|unable to read", self.said) is not None

    @property
    def is_unreadable_file(self) -> bool:
        """Whether a file that was to be saved could not be read: it is protected, or gone by now."""
        return re.search(r"error: (open|lstat|stat|readlink)\(", self.said) is not None


@dataclass(frozen=True)
class IndexedTree:
    """A folder of files with the index that is its own while the lock is held."""

    root: str
    index: str
    lock: int


class Git:
    """Runs git on one repository of Headway's own."""

    def __init__(self, program: str, folder: str) -> None:
        self.program = program
        self.folder = folder
        self.head = os.path.join(folder, "HEAD")

    def run(
        self, *arguments: str, tree: IndexedTree | None = None, stdin: bytes = b"", fine: tuple[int, ...] = (0,)
    ) -> bytes:
        """What git printed. Raises `GitFailed` if it ends in a way that is not fine."""
        self.make()
        done = subprocess.run(
            [self.program, *arguments],
            cwd=tree.root if tree else self.folder,
            env=self.environment(tree),
            input=stdin,
            capture_output=True,
            check=False,
            pass_fds=(tree.lock,) if tree else (),  # a git that outlives its killed parent keeps the lock until it ends
        )
        if done.returncode not in fine:
            if tree:
                with suppress(FileNotFoundError):
                    os.unlink(f"{tree.index}.lock")  # git itself was killed
            raise GitFailed(arguments, done.returncode, done.stderr, done.stdout)
        return done.stdout

    def environment(self, tree: IndexedTree | None) -> dict[str, str]:
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            **_IDENTITY,
            **({"GIT_WORK_TREE": tree.root} if tree else {}),
            "GIT_INDEX_FILE": tree.index if tree else os.path.join(self.folder, "no-index"),  # else it would look there
            "GIT_DIR": self.folder,
            "GIT_COMMON_DIR": self.folder,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "1" if tree else "0",  # under the lock, an index that was looked at is kept fresh
            "LC_ALL": "C",
        }

    def make(self) -> None:
        """Makes what is missing of the repository, and puts its settings right."""
        self.refuse_links()
        self._mark_as_headways()
        for part in ("objects/info", "objects/pack", "refs/heads", _KEPT, "info", "indexes", "worktrees"):
            os.makedirs(os.path.join(self.folder, part), exist_ok=True)
        self.write_file("config", _CONFIG)
        self.write_file("info/attributes", _ATTRIBUTES)
        if not os.path.lexists(self.head):
            new = self._write_temporary(UNBORN.encode())
            with suppress(FileExistsError):
                os.link(new, self.head)  # never over one that came in between
            os.unlink(new)

    def _mark_as_headways(self) -> None:
        """Mark the folder as Headway's own; a repository that someone else made there is not written into."""
        if os.path.lexists(os.path.join(self.folder, _MARK)):
            return
        if any(os.path.lexists(os.path.join(self.folder, part)) for part in ("HEAD", "objects", "refs")):
            raise NoCheckpoints(
                f"'{sanitize_for_display(self.folder, 300)}' is a git repository that "
                "Headway did not make; move it out of the way."
            )
        os.makedirs(self.folder, exist_ok=True)
        self.write_file(_MARK, _MARK_TEXT)

    def refuse_links(self) -> None:
        """Refuse links within the repository, which git would write through; it makes none itself."""
        project = os.path.dirname(os.path.dirname(self.folder))
        for folder in (self.folder, *(os.path.join(self.folder, part) for part in _WRITTEN_INTO)):
            refuse_link(project, folder, "folder")
            with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_symlink():
                        refuse_link(project, entry.path, "folder or file")
                    if not (entry.is_file() or entry.is_dir()):
                        raise NoCheckpoints(
                            f"'{sanitize_for_display(entry.path, 300)}' is neither a file "
                            "nor a folder; move it out of the way."
                        )

    def write_file(self, part: str, text: str | bytes) -> None:
        """Gives a file of the repository this content, whole or not at all."""
        path, content = os.path.join(self.folder, part), os.fsencode(text)
        if os.path.islink(path) or on_disk.read_file(path) != content:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.replace(self._write_temporary(content), path)

    def _write_temporary(self, content: bytes) -> str:
        """A file that takes its place when it is complete; not in a folder where git would take it for something."""
        path = os.path.join(self.folder, f"new-{secrets.token_hex(8)}")
        with open(path, "xb") as file:
            file.write(content)
        return path

    def head_commit(self) -> str | None:
        """The commit of HEAD; None if there is none yet."""
        text = os.fsdecode(on_disk.read_file(self.head) or b"")
        return text.strip() if _COMMIT.fullmatch(text) else None

    def commit(self, tree: str, parents: Iterable[str]) -> str:
        """A commit, written as git would write it: a process less for each."""
        who = f"{_NAME} <{_ADDRESS}> {int(time.time())} +0000"
        above = "".join(f"parent {parent}\n" for parent in parents)
        content = f"tree {tree}\n{above}author {who}\ncommitter {who}\n\ncheckpoint\n".encode()
        whole = b"commit %d\0%b" % (len(content), content)
        name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        self.write_file(f"objects/{name[:2]}/{name[2:]}", zlib.compress(whole, 1))
        return name

    def borrow_objects(self, objects: str | None) -> None:
        """Use the objects of another repository, which need not be written again; None: of none.

        They are copied by `copy_borrowed` before anyone else can have cleared them away.
        """
        lines = "" if objects is None or self.refuses_to_borrow else f"{quote_path(objects)}\n"
        if lines or os.path.lexists(os.path.join(self.folder, _BORROWED_FROM)):
            self.write_file(_BORROWED_FROM, os.fsencode(lines))

    @property
    def refuses_to_borrow(self) -> bool:
        return os.path.lexists(os.path.join(self.folder, _NOT_BORROWING))

    def stop_borrowing(self) -> None:
        """For good: something that was borrowed is broken or gone."""
        self.write_file(_NOT_BORROWING, "")
        on_disk.remove(os.path.join(self.folder, _BORROWED_FROM))

    def copy_borrowed(self) -> None:
        """Copy what the commits need of another repository's objects, as far as that was not done yet."""
        done = set((self.read(_COPIED) or b"").decode().split())
        kept = (ref.rpartition("/")[2] for ref in self.list_kept_refs())
        commits = {name for name in (*kept, self.head_commit() or "") if name}
        if not commits - done or not self.read(_BORROWED_FROM):
            return
        lines = [*sorted(commits - done), *(f"^{name}" for name in sorted(commits & done))]
        packs = os.path.join(self.folder, "objects", "pack", "pack")
        options = ("--revs", "--quiet", "--window=0", "--compression=1", packs)
        self.run("pack-objects", *options, stdin="".join(f"{line}\n" for line in lines).encode())
        self.write_file(_COPIED, "".join(f"{name}\n" for name in sorted(commits)))

    def list_kept_refs(self) -> list[str]:
        """Return the names of what keeps commits that no snapshot follows: each ends with its commit."""
        return self.run("for-each-ref", "--format=%(refname)", _KEPT).decode().split()

    def find_missing(self, commits: Iterable[str]) -> set[str]:
        """Return those of the commits that are not there."""
        asked = set(commits)
        printed = self.run("cat-file", "--batch-check", stdin="".join(f"{name}\n" for name in asked).encode())
        return {line.split()[0] for line in printed.decode().splitlines() if line.endswith(" missing")}

    def read(self, part: str) -> bytes | None:
        return on_disk.read_file(os.path.join(self.folder, part))

    def read_blobs(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """Return blob → its content."""
        names = sorted(blobs)
        if not names:
            return {}
        printed = self.run("cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode())
        found: dict[str, bytes] = {}
        at = 0
        for name in names:
            end = printed.index(b"\n", at)
            facts = printed[at:end].split()
            if len(facts) != 3:
                raise GitFailed(("cat-file",), 128, b"missing object file " + name.encode(), b"")
            size = int(facts[2])
            found[name] = printed[end + 1 : end + 1 + size]
            at = end + 2 + size
        return found

    def keep_commit(self, commit: str) -> str:
        """Makes sure that a commit which no snapshot follows is not cleared away."""
        self.write_file(f"{_KEPT}/{commit}", f"{commit}\n")
        return commit

    def drop_damaged_objects(self) -> None:
        """Takes out objects that are not what their name says: git would not write them again while they are there."""
        objects = os.path.join(glob.escape(self.folder), "objects")
        for path in glob.iglob(os.path.join(objects, "[0-9a-f][0-9a-f]", "*")):
            try:
                content = zlib.decompress(on_disk.read_file(path) or b"")
            except zlib.error:
                content = b""
            if hashlib.sha1(content, usedforsecurity=False).hexdigest() != "".join(path.split(os.sep)[-2:]):
                os.unlink(path)
        for pack in glob.glob(os.path.join(objects, "pack", "*.pack")):
            try:
                self.run("verify-pack", pack)
            except GitFailed:
                aside = os.path.join(self.folder, f"broken-{os.path.basename(pack)}")
                os.replace(pack, aside)  # without it, its list of what is in it counts for nothing
                with suppress(GitFailed):
                    self.run(
                        "unpack-objects", "-r", "-q", stdin=on_disk.read_file(aside) or b""
                    )  # as much as can be had

    @contextmanager
    def lock_index(self, root: str, index: str) -> Generator[IndexedTree]:
        """The index for one user at a time; what one left who was killed is cleared away."""
        index = os.path.join(self.folder, index)
        self.make()
        os.makedirs(os.path.dirname(index), exist_ok=True)
        refuse_link(os.path.dirname(os.path.dirname(self.folder)), index, "file")  # git would write what it leads to
        handle = os.open(f"{index}.flock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            _wait_for(handle, self.folder)
            with suppress(FileNotFoundError):
                os.unlink(f"{index}.lock")
            yield IndexedTree(root, index, handle)
        finally:
            os.close(handle)


def _wait_for(handle: int, folder: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise NoCheckpoints(
                    f"Another process has locked '{sanitize_for_display(folder, 300)}'; stop it, or try again later."
                ) from None
            time.sleep(0.002)


def parse_paths(said: bytes) -> list[str]:
    """What git printed with `-z`; bytes that are no text are kept as `os.fsdecode` does."""
    return [os.fsdecode(part) for part in said.split(b"\0")[:-1]]


def parse_changes(said: bytes) -> list[PathChange]:
    """Return what `diff-tree --raw -z` printed."""
    parts = parse_paths(said)
    return [
        PathChange._make((*facts[1:].split(" ")[:4], path)) for facts, path in zip(parts[::2], parts[1::2], strict=True)
    ]


class StagedPaths(NamedTuple):
    anything: bool
    complete: bool
    """Whether the index now has all files as they are."""
    too_large: tuple[str, ...]


class Status(NamedTuple):
    changed: list[tuple[str, str]]
    """Two letters, as git prints them, and a path."""
    repositories: tuple[str, ...]
    ignored: list[str]


def parse_status(said: bytes) -> Status:
    """Return what `status --porcelain -z` printed."""
    changed, repositories, ignored = list[tuple[str, str]](), list[str](), list[str]()
    for entry in parse_paths(said):
        letters, path = entry[:2], entry[3:]
        if letters == "!!":
            ignored.append(path)
        elif path.endswith("/"):
            repositories.append(path)
        else:
            changed.append((letters, path))
    return Status(changed, tuple(repositories), ignored)


def to_stdin(paths: Iterable[str]) -> bytes:
    """The same for what git reads with `-z`."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def quote_path(path: str) -> str:
    """Write a path as git reads it in a list of lines."""
    if "\n" not in path and not path.startswith('"'):
        return path
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
