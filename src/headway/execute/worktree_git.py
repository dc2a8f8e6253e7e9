"""The git repository of a worktree: in it, `git log`, `blame` and `show` see the user's history.

It is a repository of its own that borrows the user's objects and has a copy of the names of their branches and tags.
Whatever is done with git in a worktree therefore changes nothing of the user's.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from headway.execute import on_disk
from headway.execute.git import Git, GitFailed, IndexedTree, parse_changes, parse_paths, quote_path, to_stdin
from headway.execute.on_disk import PathChange
from headway.execute.user_git import UserGit

# Links that lead elsewhere from a worktree than from the project: they are turned there, and back when it is saved.


def list_links(git: Git, commit: str) -> dict[str, str]:
    """Return path → target of all the links of a commit."""
    entries = (entry.partition("\t") for entry in parse_paths(git.run("ls-tree", "-r", "-z", commit)))
    blobs = {path: facts.split()[2] for facts, _, path in entries if facts.startswith(on_disk.LINK)}
    contents = git.read_blobs(set(blobs.values()))
    return {path: os.fsdecode(contents[blob]) for path, blob in blobs.items()}


def has_links(changes: Iterable[on_disk.PathChange]) -> bool:
    return any(on_disk.LINK in (change.old_mode, change.new_mode) for change in changes)


def translate_link(project: str, root: str, path: str, target: str) -> str:
    """Return where a link of the project leads in the worktree at `root`."""
    full = os.path.normpath(os.path.join(project, os.path.dirname(path), target))
    if not os.path.isabs(target) and _is_inside(project, full):
        return target
    return root + full[len(project) :] if _is_inside(project, full) else full if not os.path.isabs(target) else target


def translate_links(project: str, root: str, links: dict[str, str]) -> dict[str, str]:
    """Turn the links of a worktree; return path → target of those that are different now."""
    turned: dict[str, str] = {}
    for path, target in links.items():
        full, new = os.path.join(root, path), translate_link(project, root, path, target)
        if new != target and os.path.islink(full):
            os.unlink(full)
            os.symlink(new, full)
            turned[path] = new
    return turned


def restore_links(git: Git, tree: IndexedTree, project: str, paths: list[str]) -> None:
    """Have those of the saved links that lead into the worktree lead into the project."""
    lines: list[bytes] = []
    for path in paths:
        full = os.path.join(tree.root, path)
        if os.path.islink(full) and _is_inside(tree.root, target := os.readlink(full)):
            content = os.fsencode(project + target[len(tree.root) :])
            blob = git.run("hash-object", "-w", "--stdin", stdin=content).decode().strip()
            lines.append(f"{on_disk.LINK} {blob}\t".encode() + os.fsencode(path) + b"\0")
    if lines:
        git.run("update-index", "-z", "--index-info", tree=tree, stdin=b"".join(lines))


def _is_inside(folder: str, path: str) -> bool:
    return path == folder or path.startswith(f"{folder}{os.sep}")


# For which todo the files of a worktree are kept, until the next attempt at it.

_ATTEMPT = "attempt"
"""A file that says for which todo the files of a worktree are kept."""


class KeptWorktrees:
    def __init__(self, git: Git) -> None:
        self._git = git

    def keep_for(self, name: str, session: str | None, todo_id: str | None) -> None:
        """Say for which todo the files of a worktree are kept; None: for none."""
        path = os.path.join(self._git.folder, "indexes", name, _ATTEMPT)
        if session is None:
            on_disk.remove(path)
        else:
            self._git.write_file(path, json.dumps([session, todo_id]))

    def is_kept(self, name: str) -> bool:
        return os.path.lexists(os.path.join(self._git.folder, "indexes", name, _ATTEMPT))

    def is_kept_for(self, name: str, session: str, todo_id: str) -> bool:
        return self._kept_for(name) == [session, todo_id]

    def session_of(self, name: str) -> str | None:
        """Return the session for which the files of a worktree are kept."""
        kept_for = self._kept_for(name)
        return kept_for[0] if kept_for else None

    def _kept_for(self, name: str) -> list[str]:
        with suppress(OSError, ValueError), open(os.path.join(self._git.folder, "indexes", name, _ATTEMPT)) as file:
            return json.load(file)
        return []


_SETTINGS = frozenset(
    {f"core.{name}" for name in ("autocrlf", "eol", "filemode", "ignorecase", "symlinks", "quotepath")}
    | {"user.name", "user.email"}
)
"""What of the settings of the user's repository holds in a worktree."""
_SHA1 = "sha1"
_REPOSITORY = "160000"
"""The mode of a submodule."""
_NOTHING = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The empty tree."""
_MESSAGE = "Uncommitted changes"
_BRANCHES = ("--branches", "--glob=refs/stas[h]")
"""For `rev-list`; a pattern without a wildcard would mean what is below it."""
_PLACES = ("refs/heads", "refs/stash")
_LAID = "laid"
"""A file with the commits that the repository of a worktree had at first."""


@dataclass(frozen=True, slots=True)
class UserHistory:
    """What a worktree takes over from the user's repository."""

    prefix: str
    """Where the project is in the repository; nothing at its top."""
    folder: str
    """The repository's common folder: objects, refs."""
    head: str
    refs: str
    """As in `packed-refs`."""
    object_format: str
    settings: tuple[tuple[str, str], ...]


class WorktreeGit:
    """Makes the repositories of worktrees."""

    def __init__(self, git: Git, users: UserGit) -> None:
        self._git = git
        self._users = users
        self._known: tuple[object, UserHistory | None] | None = None
        self._made: dict[str, list[bytes | None]] = {}
        """Where branches and stashes of the worktrees' repositories were when these were made, by git folder."""

    def find_history(self) -> UserHistory | None:
        """Return what there is of the user's repository; None if there is none with a commit."""
        stamp = self._users.state_stamp()
        if self._known is None or self._known[0] != stamp:
            self._known = (stamp, self._read_history())
        return self._known[1]

    def _read_history(self) -> UserHistory | None:
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
        return UserHistory(
            "" if prefix == "." else prefix,
            common,
            head,
            refs,
            (self._users.ask("rev-parse", "--show-object-format") or "sha1").strip(),
            tuple((name, value) for name, value in pairs if name.lower() in _SETTINGS),
        )

    def make_repository(
        self,
        folder: str,
        root: str,
        history: UserHistory | None,
        *,
        files: str,
        index: str,
        left_out: Collection[str] = (),
    ) -> None:
        """Make the worktree at `root` a repository whose git folder is `folder`.

        Its last commit has the files of the commit `files`, whose index `index` is, so that whatever git puts back are
        the files as they were: on top of the user's history, where there is one. Those `left_out` stay as in there.
        """
        on_disk.remove(folder)
        for part in ("objects/info", "objects/pack", "refs/heads", "info"):
            os.makedirs(os.path.join(folder, part))
        lines = ["[core]", "\tbare = false", "\thooksPath = /dev/null", "\tfsmonitor = false"]
        lines += ["[gc]", "\tauto = 0", "[maintenance]", "\tauto = false"]
        objects = [os.path.join(self._git.folder, "objects")]
        if history is not None:
            objects.insert(0, os.path.join(history.folder, "objects"))
            with suppress(FileNotFoundError):
                shutil.copyfile(os.path.join(history.folder, "shallow"), os.path.join(folder, "shallow"))
            lines += [_setting(name, value) for name, value in history.settings]
        if history is not None and history.object_format != _SHA1:
            del objects[1]
            lines += ["[core]", "\trepositoryFormatVersion = 1", "[extensions]"]
            lines.append(f"\tobjectFormat = {history.object_format}")
        else:
            lines += ["[core]", "\trepositoryFormatVersion = 0"]
        if history is not None and history.prefix:
            # The rest of the repository is not there, and is not to be reported as deleted.
            lines += ["[core]", "\tsparseCheckout = true", "\tsparseCheckoutCone = false"]
            _write(folder, "info/sparse-checkout", f"/{history.prefix}/\n")
        _write(folder, "config", "\n".join([*lines, ""]))
        _write(folder, "objects/info/alternates", "".join(f"{quote_path(path)}\n" for path in objects))
        mark = os.path.join(root, ".git")
        on_disk.remove(mark)
        with open(mark, "wb") as file:
            file.write(os.fsencode(f"gitdir: {folder}\n"))
        if history is not None:
            self._write_history(folder, root, history, files, index, left_out)
        else:
            shutil.copyfile(index, os.path.join(folder, "index"))
            for part in ("HEAD", _LAID):
                _write(folder, part, f"{files}\n")
        self._made[folder] = _read_refs(folder)

    def _write_history(
        self, folder: str, root: str, history: UserHistory, files: str, index: str, left_out: Collection[str]
    ) -> None:
        _write(folder, "HEAD", history.head)
        _write(folder, "packed-refs", history.refs)
        if history.prefix or history.object_format != _SHA1:
            _run(self._git, folder, root, "read-tree", "HEAD")
        if history.prefix:
            paths = parse_paths(_run(self._git, folder, root, "ls-files", "-z"))
            others = to_stdin(path for path in paths if not path.startswith(f"{history.prefix}/"))
            _run(self._git, folder, root, "update-index", "-z", "--skip-worktree", "--stdin", stdin=others)
        commit = self._commit_on_top(folder, root, history, files, index, left_out)
        branch = history.head.removeprefix("ref: ").strip()
        refs = [line for line in history.refs.splitlines() if line.partition(" ")[2] != branch]
        if branch == history.head.strip():
            _write(folder, "HEAD", f"{commit}\n")
        else:
            refs = sorted([*refs, f"{commit} {branch}"], key=lambda line: line.partition(" ")[2])
        _write(folder, "packed-refs", "".join(f"{line}\n" for line in refs))
        known = [commit, *(line.partition(" ")[0] for line in history.refs.splitlines())]
        _write(folder, _LAID, "".join(f"{name}\n" for name in known))

    def _commit_on_top(
        self, folder: str, root: str, history: UserHistory, files: str, index: str, left_out: Collection[str]
    ) -> str:
        """Write the index of a worktree and return its commit: the user's last, or one on top of it with the files."""
        if history.object_format != _SHA1:  # the files' own commit is of another format
            _run(self._git, folder, root, "add", "--all", "--force", "--sparse", "--", history.prefix or ".")
            return self._commit_index(folder, root)
        inside = f"{history.prefix}/" if history.prefix else ""
        before = self._find_folder_tree(folder, root, "HEAD", inside)
        said = _run(self._git, folder, root, "diff-tree", "-r", "-z", "--raw", "--no-renames", before, files)
        changes = parse_changes(said)
        same = {change.path for change in changes if change.leaves and change.path in left_out}
        same |= {change.path for change in changes if _REPOSITORY in (change.old_mode, change.new_mode)}
        edited = [change for change in changes if change.old_mode == change.new_mode != on_disk.LINK]
        same |= self._list_converted(folder, root, inside, [change for change in edited if change.path not in same])
        if not inside and not same:
            shutil.copyfile(index, os.path.join(folder, "index"))  # it knows already what the files look like
            tree = f"{files}^{{tree}}"
            return self._commit_tree(folder, root, tree) if changes else self._read_head(folder, root)
        if inside:
            entries = [(change.new_mode, change.new, change.path) for change in changes if change.path not in same]
        else:
            shutil.copyfile(index, os.path.join(folder, "index"))
            entries = [(change.old_mode, change.old, change.path) for change in changes if change.path in same]
        if entries:
            lines = [f"{mode.lstrip('0') or '0'} {blob}\t{inside}{path}" for mode, blob, path in entries]
            _run(self._git, folder, root, "update-index", "-z", "--replace", "--index-info", stdin=to_stdin(lines))
        if len(same) == len(changes):
            return self._read_head(folder, root)
        return self._commit_index(folder, root)

    def _list_converted(self, folder: str, root: str, inside: str, edited: Sequence[PathChange]) -> set[str]:
        """Return the files that differ only in how git converts them: their line ends, say."""
        files = [change for change in edited if "\n" not in change.path]
        if not files:
            return set()
        paths = "".join(f"{inside}{change.path}\n" for change in files)
        try:
            said = _run(self._git, folder, root, "hash-object", "--stdin-paths", stdin=os.fsencode(paths)).decode()
        except GitFailed:
            return set()
        return {change.path for change, blob in zip(files, said.split(), strict=True) if blob == change.old}

    def _commit_index(self, folder: str, root: str) -> str:
        head, before = _run(self._git, folder, root, "rev-parse", "HEAD", "HEAD^{tree}").decode().split()
        written = _run(self._git, folder, root, "write-tree").decode().strip()
        if written == before:
            return head
        return self._commit_tree(folder, root, written)

    def _commit_tree(self, folder: str, root: str, tree: str) -> str:
        """Commit a tree on top of the user's last commit."""
        return _run(self._git, folder, root, "commit-tree", tree, "-p", "HEAD", "-m", _MESSAGE).decode().strip()

    def _read_head(self, folder: str, root: str) -> str:
        return _run(self._git, folder, root, "rev-parse", "HEAD").decode().strip()

    def ignore_changes_to(self, folder: str, root: str, history: UserHistory | None, paths: Iterable[str]) -> None:
        """Have git in the worktree leave these files as they are."""
        inside = f"{history.prefix}/" if history is not None and history.prefix else ""
        if lines := to_stdin(inside + path for path in paths):
            _run(self._git, folder, root, "update-index", "-z", "--skip-worktree", "--stdin", stdin=lines)

    def has_commits(self, folder: str, root: str) -> bool:
        """Return whether something was committed in the worktree."""
        return bool(self._list_new(folder, root, "HEAD", *_BRANCHES))

    def list_stray(self, folder: str, root: str, prefix: str, theirs: str) -> list[str]:
        """Return the branches and stashes of a worktree with work that is not in its files, the commit `theirs`."""
        inside = f"{prefix}/" if prefix else ""
        if not self._list_new(folder, root, *_BRANCHES, "--not", "HEAD"):
            return []
        refs = _run(self._git, folder, root, "for-each-ref", "--format=%(objectname) %(refname)", *_PLACES).decode()
        stray: list[str] = []
        for name, _, ref in (line.partition(" ") for line in refs.splitlines()):
            commits = self._list_new(folder, root, name, "--not", "HEAD")
            if commits and not self._has_work_of(folder, root, name, inside, theirs):
                stray.append("git stash" if ref == _PLACES[1] else ref.removeprefix(f"{_PLACES[0]}/"))
        return stray

    def _has_work_of(self, folder: str, root: str, tip: str, inside: str, theirs: str) -> bool:
        """Whether the files `theirs` have all that is different in `tip` from where it branched off."""
        base = _run(self._git, folder, root, "merge-base", "HEAD", tip, fine=(0, 1)).decode().strip()
        parts = [(base or _NOTHING, tip)]
        if len(_run(self._git, folder, root, "rev-parse", f"{tip}^@").split()) == 3:
            parts.append((_NOTHING, f"{tip}^3"))  # the untracked files of a stash
        compare = ("diff-tree", "-r", "-z", "--name-only", "--no-renames")
        for before, after in parts:
            made = set(parse_paths(_run(self._git, folder, root, *compare, before, after)))
            there = self._find_folder_tree(folder, root, after, inside)
            differs = {inside + path for path in parse_paths(_run(self._git, folder, root, *compare, there, theirs))}
            if made & differs or any(not path.startswith(inside) for path in made):
                return False
        return True

    def _find_folder_tree(self, folder: str, root: str, commit: str, inside: str) -> str:
        """Return the tree of the project's folder in a commit; the empty one if it is not there."""
        asked = f"{commit}:{inside.rstrip('/')}"
        return (
            _run(self._git, folder, root, "rev-parse", "-q", "--verify", asked, fine=(0, 1)).decode().strip()
            or _NOTHING
        )

    def _list_new(self, folder: str, root: str, *what: str) -> list[str]:
        """Return the commits that were made in a worktree, the latest first."""
        if self._made.get(folder) == _read_refs(folder):
            return []
        known = on_disk.read_file(os.path.join(folder, _LAID)) or b""
        lines = b"".join(b"^" + line + b"\n" for line in known.split())
        return (
            _run(self._git, folder, root, "rev-list", "--ignore-missing", *what, "--stdin", stdin=lines)
            .decode()
            .split()
        )


def _run(git: Git, folder: str, root: str, *arguments: str, stdin: bytes = b"", fine: tuple[int, ...] = (0,)) -> bytes:
    """Run git on the repository of a worktree, which whoever works there may have changed."""
    places = {"GIT_DIR": folder, "GIT_COMMON_DIR": folder, "GIT_INDEX_FILE": os.path.join(folder, "index")}
    done = subprocess.run(
        [git.program, "-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", *arguments],
        cwd=root,
        env={
            **git.environment(None),
            **places,
            "GIT_WORK_TREE": root,
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "",
        },
        input=stdin,
        capture_output=True,
        check=False,
    )
    if done.returncode not in fine:
        raise GitFailed(arguments, done.returncode, done.stderr, done.stdout)
    return done.stdout


def _read_refs(folder: str) -> list[bytes | None]:
    """Return what says where branches and stashes are; reading it spares an item a git process of 2 ms."""
    loose = (os.path.join(at, name) for at, _, names in os.walk(os.path.join(folder, "refs")) for name in names)
    return [on_disk.read_file(os.path.join(folder, part)) for part in ("HEAD", "packed-refs", *sorted(loose))]


def _write(folder: str, part: str, text: str) -> None:
    with open(os.path.join(folder, part), "wb") as file:
        file.write(os.fsencode(text))


def _setting(name: str, value: str) -> str:
    section, _, key = name.partition(".")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'[{section}]\n\t{key} = "{escaped}"'
