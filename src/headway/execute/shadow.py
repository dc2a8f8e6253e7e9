"""Checkpoints: the project's files as they were, saved in a git repository of Headway's own.

It is in `.headway/checkpoints`; the user's own repository is asked what it ignores and never touched. A snapshot has
the files that `git add -A` would add, bytes, executable bit and links as they are. What the project ignores stays out,
unless the user's repository tracks it; what was saved once stays in. Repositories inside the project (submodules,
clones) are left out with all their files; a folder that became a repository after it was saved stays in.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress

from headway.core.errors import HeadwayError
from headway.core.text import shown, some
from headway.execute import on_disk
from headway.execute.git import UNBORN, Git, GitFailed, NoCheckpoints, Tree, UsersGit, as_lines, paths_in
from headway.execute.on_disk import Change
from headway.project import FOLDER, headway_folder, refuse_link_out
from headway.store.folder import make_closed_folder, make_private_folder

__all__ = ["FilesChanged", "NoCheckpoints", "Shadow"]


_DAMAGED = "damaged"
"""A file that says that an object was found broken by someone who cannot mend it; the next snapshot does."""


class FilesChanged(HeadwayError):
    """Files of the project are not as they were; nothing was changed."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = sorted(set(paths))
        super().__init__(
            f"Someone changed these files meanwhile: {some(self.paths)}; nothing was written."
            " Look at them, and move away what is in the way."
        )


class Shadow:
    """The saved states of a project, each a commit by its id. May be used by several threads and processes at once."""

    can_merge: bool
    """Whether this git can merge without a work tree; without, items cannot run beside each other."""

    def __init__(
        self, project: str | os.PathLike[str], *, linked: Sequence[str] = (".venv", "venv", "node_modules")
    ) -> None:
        folder = headway_folder(project)
        program = shutil.which("git")
        if program is None:
            raise NoCheckpoints("There is no git on this machine to save the project's files with; install git.")
        self._project = os.path.realpath(project)
        self._worktrees = os.path.join(folder, "worktrees")
        self._linked = tuple(linked)
        self._git = Git(program, os.path.join(folder, "checkpoints"))
        self._users = UsersGit(program, self._project)
        self._trees: dict[str, str] = {}
        self._filled: dict[str, str] = {}  # worktree → the commit whose files its index has
        version = subprocess.run([program, "version"], capture_output=True, check=False).stdout
        self.can_merge = [int(part) for part in re.findall(rb"\d+", version)[:2]] >= [2, 38]

    # The project

    def snapshot(self) -> str:
        """The commit of the project's files as they are: the one before if nothing changed since, else its child."""
        with self._told("save the project's files"), self._project_tree() as tree:
            return self._mending(tree)

    def _mending(self, tree: Tree) -> str:
        if os.path.lexists(mark := os.path.join(self._git.folder, _DAMAGED)):
            self._mend(tree, 0)
            on_disk.remove(mark)
        for attempt in range(3):
            try:
                return self._save(tree)
            except GitFailed as failed:
                if failed.damage:
                    self._mend(tree, attempt)
        return self._save(tree)

    def _mend(self, tree: Tree, attempt: int) -> None:
        """Gives up as little as will do: the index and what is broken of the objects; then the chain of snapshots."""
        self._trees.clear()
        on_disk.remove(tree.index)
        if attempt == 0:
            self._git.weed()
        else:
            self._git.put("HEAD", UNBORN)

    def _save(self, tree: Tree) -> str:
        self._git.put("info/exclude", f"{self._users.excludes()}\n/{FOLDER}\n")
        last = self._git.last()
        if last is None:
            self._git.put("HEAD", UNBORN)
        said = self._status(tree)
        kept = [path for path in self._users.kept_though_ignored() if on_disk.is_file(tree.root, path)]
        if last is not None and not said and not kept:
            return last
        self._stage(tree, said, kept)
        saved = self._commit(tree, last, () if last is None else (last,))
        if saved != last:
            self._git.put("HEAD", f"{saved}\n")
        return saved

    def _status(self, tree: Tree) -> list[tuple[str, str]]:
        """Two letters and a path for whatever differs between HEAD, index and files; repositories inside left out."""
        file = self._users.excludes_file()
        said = self._git.run(
            *(() if file is None else ("-c", f"core.excludesFile={file}")),
            *("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"),
            tree=tree,
        )
        return [(entry[:2], entry[3:]) for entry in paths_in(said) if not entry.endswith("/")]

    def _stage(self, tree: Tree, said: list[tuple[str, str]], also: Sequence[str] = ()) -> bool:
        """Takes into the index what differs from it; whether anything does."""
        links = {name for name in self._linked if tree.root != self._project and self._is_link_home(tree.root, name)}
        take, drop = list(also), list[str]()
        for letters, path in said:
            if letters[1] == " " or path in links or path.partition("/")[0] == FOLDER:
                continue  # not of the files; a link to a shared folder; Headway's own
            what = on_disk.kind(tree.root, path)
            if what == "special" or (letters[1] == "D" and on_disk.beyond_link(tree.root, path)):
                drop.append(path)
            elif what != "unreadable":
                take.append(path)
        if drop:
            self._git.run("update-index", "-z", "--force-remove", "--stdin", tree=tree, stdin=as_lines(drop))
        if take:
            self._take(tree, take)
        return bool(take or drop)

    def _take(self, tree: Tree, paths: Sequence[str]) -> None:
        try:
            self._git.run(
                "update-index", "-z", "--add", "--remove", "--replace", "--stdin", tree=tree, stdin=as_lines(paths)
            )
        except GitFailed as failed:
            if not failed.unreadable:
                raise
            middle = len(paths) // 2
            for half in (paths[:middle], paths[middle:]) if middle else ():  # alone: a file that went away meanwhile
                self._take(tree, half)

    def _commit(self, tree: Tree, same: str | None, parents: Sequence[str]) -> str:
        """A commit of the index; the one given if that has the same files."""
        written = self._git.run("write-tree", tree=tree).decode().strip()
        if same is not None and written == self._tree_of(same):
            return same
        return self._commit_tree(written, parents)

    def _commit_tree(self, written: str, parents: Sequence[str]) -> str:
        commit = self._git.commit(written, parents)
        self._trees[commit] = written
        return commit

    def _tree_of(self, commit: str) -> str:
        if commit not in self._trees:
            self._trees[commit] = self._git.run("rev-parse", "--verify", f"{commit}^{{tree}}").decode().strip()
        return self._trees[commit]

    def apply(self, now: str, target: str) -> list[str]:
        """Changes the project's files from one commit to another; the paths. All or, with `FilesChanged`, nothing.

        Only what differs between the two is looked at and changed: it must be as in `now`, with nothing in its place.
        """
        with self._told("change the project's files"), self._project_tree() as tree:
            changes = self._changes(now, target)
            if not changes:
                return []
            self._refuse_changed(changes)
            if folder := on_disk.write_protected(self._project, (change.path for change in changes)):
                raise NoCheckpoints(f"'{shown(folder, 300)}' may not be written; allow it and try again.")
            try:
                self._switch(tree, now, target, changes)
            except GitFailed as failed:
                if not failed.refusal:  # it gave up in the middle: a full disk, a broken object
                    self._undo(tree, now, changes)
                raise
            if left := [change.path for change in changes if change.leaves and on_disk.is_file(tree.root, change.path)]:
                self._undo(tree, now, changes)
                raise NoCheckpoints(f"These files could not be removed: {some(left)}; look at who may write there.")
            return [change.path for change in changes]

    def _switch(self, tree: Tree, now: str, target: str, changes: Sequence[Change]) -> None:
        try:
            self._git.run("read-tree", "-m", "-u", now, target, tree=tree)
        except GitFailed as failed:
            if not failed.refusal and not failed.broken_index:
                raise
            # The index is behind: of another commit, of files that were touched and are as they were; or broken.
            if failed.broken_index:
                on_disk.remove(tree.index)
            self._git.run("read-tree", "--reset", now, tree=tree)
            self._git.run("update-index", "-q", "--refresh", tree=tree, fine=(0, 1))
            self._refuse_changed(changes)
            self._git.run("read-tree", "-m", "-u", now, target, tree=tree)

    def _undo(self, tree: Tree, now: str, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.comes and on_disk.is_file(tree.root, change.path):
                on_disk.remove_with_folders(tree.root, change.path)
        self._git.run("read-tree", "--reset", now, tree=tree)
        lost = [change.path for change in changes if not change.comes and not on_disk.is_as(tree.root, change)]
        self._git.run("checkout-index", "-f", "-z", "--stdin", tree=tree, stdin=as_lines(lost))

    def _refuse_changed(self, changes: Sequence[Change]) -> None:
        if wrong := on_disk.not_as_before(self._project, changes):
            raise FilesChanged(wrong)

    # Commits

    def changed(self, before: str, after: str) -> list[str]:
        if before == after:
            return []
        with self._told("compare two checkpoints"):
            return sorted(change.path for change in self._changes(before, after))

    def _changes(self, before: str, after: str) -> list[Change]:
        said = paths_in(self._git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", before, after))
        pairs = zip(said[::2], said[1::2], strict=True)
        return [Change._make((*facts[1:].split(" ")[:4], path)) for facts, path in pairs]

    def merged(self, ours: str, theirs: str) -> tuple[str | None, list[str]]:
        """A commit with the changes of both since they parted, or None and the paths on which they do not agree."""
        if not self.can_merge:
            raise NoCheckpoints("This git cannot merge without a work tree; install git 2.38 or newer.")
        options = ("--write-tree", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories")
        with self._told("merge two checkpoints"):
            try:
                said = paths_in(self._git.run("merge-tree", *options, ours, theirs))
            except GitFailed as failed:
                if failed.code != 1:
                    raise
                sides = (f"~{ours}", f"~{theirs}")  # what a file is called that cannot be beside a folder of its name
                paths = {path.removesuffix(sides[0]).removesuffix(sides[1]) for path in paths_in(failed.printed)[1:]}
                return None, sorted(paths) or self.changed(ours, theirs)
            return self._git.keep(self._commit_tree(said[0], (ours, theirs))), []

    def with_paths(self, now: str, source: str, paths: Iterable[str]) -> str:
        """A commit of `now` with these paths as they are in `source`, which may be: not there."""
        asked = set(paths)
        with self._told("put a checkpoint together"), self._git.locked(self._git.folder, "paths/index") as tree:
            changes = [change for change in self._changes(now, source) if change.path in asked]
            if not changes:
                return now
            self._git.run("read-tree", now, tree=tree)
            lines = [f"{change.new_mode.lstrip('0') or '0'} {change.new}\t{change.path}" for change in changes]
            self._git.run("update-index", "-z", "--replace", "--index-info", tree=tree, stdin=as_lines(lines))
            return self._git.keep(self._commit(tree, now, (now,)))

    # Worktrees

    def worktree(self, name: str, commit: str) -> str:
        """A folder with the files of the commit and nothing else, besides links to the folders that it shares.

        Git commands within it find a repository of its own there, not the user's.
        """
        with self._told("make a folder for the item"), self._worktree_tree(name) as tree:
            try:
                self._fill(tree, commit)
            except (GitFailed, OSError):
                # Something that git cannot replace: a folder without permissions, a broken index.
                on_disk.remove(tree.root)
                on_disk.remove(tree.index)
                self._fill(tree, commit)
            self._own(tree, name, commit)
            self._filled[name] = commit
            for shared in self._linked:
                home, link = os.path.join(self._project, shared), os.path.join(tree.root, shared)
                if os.path.isdir(home) and not os.path.lexists(link) and os.path.isdir(os.path.dirname(link)):
                    os.symlink(home, link)
            return tree.root

    def _fill(self, tree: Tree, commit: str) -> None:
        if os.path.islink(tree.root) or os.path.isfile(tree.root):
            os.unlink(tree.root)
        os.makedirs(tree.root, exist_ok=True)
        for shared in self._linked:
            if self._is_link_home(tree.root, shared):
                os.unlink(os.path.join(tree.root, shared))
        self._git.run("read-tree", "--reset", "-u", commit, tree=tree)
        self._git.run("clean", "-ffdxq", tree=tree)

    def _own(self, tree: Tree, name: str, commit: str) -> None:
        """What makes git take the folder for a work tree, with an index of its own that it may spoil."""
        part = os.path.join("worktrees", name)
        folder, mark = os.path.join(self._git.folder, part), os.path.join(tree.root, ".git")
        os.makedirs(folder, exist_ok=True)
        for file, text in (("HEAD", commit), ("commondir", "../.."), ("gitdir", mark)):
            self._git.put(os.path.join(part, file), f"{text}\n")
        on_disk.remove(os.path.join(folder, "index"))
        shutil.copyfile(tree.index, os.path.join(folder, "index"))
        on_disk.remove(mark)
        with open(mark, "wb") as file:
            file.write(os.fsencode(f"gitdir: {folder}\n"))

    def _is_link_home(self, root: str, name: str) -> bool:
        link = os.path.join(root, name)
        return os.path.islink(link) and os.readlink(link) == os.path.join(self._project, name)

    def snapshot_of(self, name: str, base: str) -> str:
        """The commit of a worktree's files, a child of `base`; `base` itself if nothing changed."""
        with self._told("save the item's files"), self._worktree_tree(name) as tree:
            filled = self._filled.pop(name, None)  # the index is not known to have it once something was staged
            if not self._stage(tree, self._status(tree)) and filled == base:
                self._filled[name] = base
                return base
            commit = self._commit(tree, base, (base,))
            return commit if commit == base else self._git.keep(commit)

    def remove_worktrees(self, wanted: Callable[[str], bool] = lambda name: True) -> None:
        """Those whose name is wanted, all unless said otherwise."""
        self._refuse_links()
        for folder in (self._worktrees, *(os.path.join(self._git.folder, part) for part in ("worktrees", "indexes"))):
            on_disk.remove_within(folder, wanted)

    # Signs of life

    def touch(self, name: str = "alive") -> None:
        """Says that whoever has this name is at work here."""
        self._ready()
        path = os.path.join(self._git.folder, name)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        os.utime(path)

    def last_touched(self, name: str = "alive") -> float | None:
        with suppress(OSError):
            return os.stat(os.path.join(self._git.folder, name)).st_mtime

    def forget(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(os.path.join(self._git.folder, name))

    def changed_since(self, paths: Iterable[str], moment: float) -> list[str]:
        """Those of these files that were changed or removed after a moment."""
        return [path for path in paths if on_disk.change_time(self._project, path) > moment]

    def tidy(self) -> None:
        """Packs what has piled up, now and then."""
        with suppress(GitFailed, OSError, HeadwayError):
            if self._git.last() is not None:
                self._git.run("-c", "gc.auto=3000", "gc", "--auto", "--quiet")

    # Around all of it

    def _ready(self) -> None:
        self._refuse_links()
        make_private_folder(os.path.dirname(self._git.folder))
        make_closed_folder(self._git.folder)

    def _refuse_links(self) -> None:
        for folder in (self._git.folder, self._worktrees):
            refuse_link_out(self._project, folder, "folder")

    @contextmanager
    def _project_tree(self) -> Generator[Tree]:
        self._ready()
        with self._git.locked(self._project, "index") as tree:
            yield tree

    @contextmanager
    def _worktree_tree(self, name: str) -> Generator[Tree]:
        if not re.fullmatch(r"[\w-][\w.-]{0,99}", name):
            raise ValueError(f"not a name for a worktree: {shown(name)}")
        self._ready()
        with self._git.locked(os.path.join(self._worktrees, name), os.path.join("indexes", name, "index")) as tree:
            yield tree

    @contextmanager
    def _told(self, what: str) -> Generator[None]:
        try:
            yield
        except GitFailed as failed:
            if failed.broken_object:
                self._git.put(_DAMAGED, "")
            why = shown(failed.said.replace("\n", "; "), 400) or "it was ended"
        except HeadwayError:
            raise
        except OSError as error:
            why = shown(str(error), 400)
        else:
            return
        raise NoCheckpoints(f"git could not {what} ({why}); look at '{shown(self._git.folder, 300)}'.")
