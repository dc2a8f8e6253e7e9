"""Checkpoints: the project's files as they were, saved in a git repository of Headway's own.

It is in `.headway/checkpoints`; the user's own repository is asked what it ignores and never touched. A snapshot has
the files that `git add -A` would add, bytes, executable bit and links as they are. What the project ignores stays out,
unless the user's repository tracks it; what was saved once stays in. Repositories inside the project (submodules,
clones) are left out with all their files; a folder that became a repository after it was saved stays in.
"""

from __future__ import annotations

import json
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
from headway.execute.included_files import IncludedFiles, include_files
from headway.execute.on_disk import Change
from headway.execute.replace_files import Disturbed, FileReplacement, recover_staged
from headway.execute.worktree_git import WorktreeGit
from headway.project import FOLDER, headway_folder, refuse_link_out
from headway.store.folder import make_closed_folder, make_private_folder

__all__ = ["FilesChanged", "NoCheckpoints", "Shadow"]


_ATTEMPT = "attempt"
"""A file that says for which todo the files of a worktree are kept."""
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
        self._staging = os.path.join(folder, "checkpoints", "staging")
        self._linked = tuple(linked)
        self._git = Git(program, os.path.join(folder, "checkpoints"))
        self._users = UsersGit(program, self._project)
        self._worktree_git = WorktreeGit(self._git, self._users)
        self._trees: dict[str, str] = {}
        self._ignored: list[str] | None = None
        self._compared: tuple[tuple[str, str], list[Change]] | None = None
        """Two commits and what differs between them, asked for last."""
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
        self._git.put("info/exclude", f"{self._users.excludes()}\n/{FOLDER}\n.headway-*.tmp\n")
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
        said = self._git.run(
            *self._excludes_file(),
            *("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"),
            tree=tree,
        )
        return [(entry[:2], entry[3:]) for entry in paths_in(said) if not entry.endswith("/")]

    def _excludes_file(self) -> tuple[str, ...]:
        file = self._users.excludes_file()
        return () if file is None else ("-c", f"core.excludesFile={file}")

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
        """Change the project's files from one commit to another, all or (`FilesChanged`) none; return their paths.

        Only what differs between the two is looked at and changed: it must be as in `now`, with nothing in its place.
        """
        with self._told("change the project's files"), self._project_tree() as tree:
            changes = self._changes(now, target)
            if not changes:
                return []
            if wrong := on_disk.not_as_before(tree.root, changes):
                raise FilesChanged(wrong)
            if folder := on_disk.write_protected(tree.root, (change.path for change in changes)):
                raise NoCheckpoints(f"'{shown(folder, 300)}' may not be written; allow it and try again.")
            contents = self._git.contents({change.new for change in changes if not change.leaves})
            try:
                FileReplacement(tree.root, self._staging, changes, contents.__getitem__).run()
            except Disturbed as disturbed:
                raise FilesChanged([disturbed.path]) from None
            return [change.path for change in changes]

    def recover_staged(self, before: str, after: str) -> list[str]:
        """Put back what an `apply` that was killed had set aside; return the paths of saves that could not be."""
        with self._told("recover the project's files"), self._project_tree() as tree:
            known = {change.path: frozenset({change.old, change.new}) for change in self._changes(before, after)}
            return recover_staged(tree.root, self._staging, known)

    def reverse_merge(self, before: str, after: str) -> tuple[list[str], bool]:
        """Reverse a change of the project's files that was cut off in the middle.

        Return the paths that changed back, and whether nothing is left of it.
        """
        clean = not self.recover_staged(before, after)
        now = self.snapshot()
        target, conflicts = self.merge(after, now, before)
        if target is None:
            untouched = set(self.changed(before, after)) - set(self.changed(after, now))
            target = self.with_paths(now, before, sorted(untouched))
        try:
            return self.apply(now, target), clean and not conflicts
        except FilesChanged:
            return [], False

    # Commits

    def changed(self, before: str, after: str) -> list[str]:
        if before == after:
            return []
        with self._told("compare two checkpoints"):
            return sorted(change.path for change in self._changes(before, after))

    def removed(self, before: str, after: str) -> list[str]:
        """Return the files of one commit that are not in another."""
        if before == after:
            return []
        with self._told("compare two checkpoints"):
            return sorted(change.path for change in self._changes(before, after) if change.leaves)

    def _changes(self, before: str, after: str) -> list[Change]:
        if self._compared is not None and self._compared[0] == (before, after):
            return self._compared[1]
        said = paths_in(self._git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", before, after))
        pairs = zip(said[::2], said[1::2], strict=True)
        found = [Change._make((*facts[1:].split(" ")[:4], path)) for facts, path in pairs]
        self._compared = ((before, after), found)
        return found

    def merge(self, base: str, ours: str, theirs: str) -> tuple[str | None, list[str]]:
        """Merge three-way: what `theirs` changed since `base`, on top of `ours`.

        Return the commit, a child of `ours`; or None and the paths that both changed in the same places.
        """
        if not self.can_merge:
            raise NoCheckpoints("This git cannot merge without a work tree; install git 2.38 or newer.")
        if base in (ours, theirs):
            return (theirs if base == ours else ours), []
        options = ("--write-tree", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories")
        with self._told("merge two checkpoints"):
            # Git before 2.40 cannot be told the base; so it gets two commits that have it as their parent.
            root = self._git.commit(self._tree_of(base), ())
            sides = [self._git.commit(self._tree_of(side), (root,)) for side in (ours, theirs)]
            try:
                said = paths_in(self._git.run("merge-tree", *options, *sides))
            except GitFailed as failed:
                if failed.code != 1:
                    raise
                # What a file is called that cannot be beside a folder of its name ends in "~" and the commit.
                names = {
                    path.removesuffix(f"~{sides[0]}").removesuffix(f"~{sides[1]}")
                    for path in paths_in(failed.printed)[1:]
                }
                return None, sorted(names) or self.changed(ours, theirs)
            if said[0] == self._tree_of(ours):
                return ours, []
            return self._git.keep(self._commit_tree(said[0], (ours,))), []

    def diff(self, before: str, after: str) -> str:
        """Return what differs between two commits, as a unified diff."""
        with self._told("compare two checkpoints"):
            said = self._git.run(
                "diff-tree", "-p", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", before, after
            )
            return said.decode(errors="replace")

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
        """Make a folder with the files of the commit and nothing else, besides links to the folders that it shares.

        Git commands within it find a repository that has the user's history and is not the user's.
        """
        with self._told("make a folder for the item"), self._worktree_tree(name) as tree:
            try:
                self._fill(tree, commit)
            except (GitFailed, OSError):
                # Something that git cannot replace: a folder without permissions, a broken index.
                on_disk.remove(os.path.join(self._worktrees, name))
                on_disk.remove(tree.index)
                self._fill(tree, commit)
            top, history = os.path.join(self._worktrees, name), self._worktree_git.history()
            folder = os.path.join(self._git.folder, "worktrees", name)
            self._worktree_git.lay(folder, top, history, files=commit, index=tree.index)
            self._filled[name] = commit
            for shared in self._linked:
                home, link = os.path.join(self._project, shared), os.path.join(tree.root, shared)
                if os.path.isdir(home) and not os.path.lexists(link) and os.path.isdir(os.path.dirname(link)):
                    os.symlink(home, link)
            return tree.root

    def has_commits(self, name: str, commit: str) -> bool:
        """Return whether something was committed in a worktree that was made from `commit`."""
        folder = os.path.join(self._git.folder, "worktrees", name)
        return self._worktree_git.has_commits(folder, self._worktree_git.history(), commit)

    def include_files(self, name: str) -> IncludedFiles:
        """Copy ignored files into a worktree that work there needs, and note what it shares with the project."""
        with self._told("copy files for the item"), self._worktree_tree(name) as tree:
            if self._ignored is None:
                self._ignored = self._list_ignored()
            return include_files(self._project, tree.root, self._ignored, self._linked)

    def _list_ignored(self) -> list[str]:
        """Return the project's paths that are ignored, a folder as a whole; asked for once."""
        with self._project_tree() as tree:
            options = ("-z", "--others", "--ignored", "--exclude-standard", "--directory")
            return paths_in(self._git.run(*self._excludes_file(), "ls-files", *options, tree=tree))

    def keep_for(self, name: str, session: str | None, todo_id: str | None) -> None:
        """Say for which todo the files of a worktree are kept; None: for none."""
        path = os.path.join(self._git.folder, "indexes", name, _ATTEMPT)
        if session is None:
            on_disk.remove(path)
        else:
            self._git.put(path, json.dumps([session, todo_id]))

    def is_kept(self, name: str) -> bool:
        return os.path.lexists(os.path.join(self._git.folder, "indexes", name, _ATTEMPT))

    def is_kept_for(self, name: str, session: str, todo_id: str) -> bool:
        with suppress(OSError, ValueError), open(os.path.join(self._git.folder, "indexes", name, _ATTEMPT)) as file:
            return json.load(file) == [session, todo_id]
        return False

    def _fill(self, tree: Tree, commit: str) -> None:
        top = self._top_of(tree.root)
        for path in (top, tree.root):
            if os.path.islink(path) or os.path.isfile(path):
                os.unlink(path)
        os.makedirs(tree.root, exist_ok=True)
        for shared in self._linked:
            if self._is_link_home(tree.root, shared):
                os.unlink(os.path.join(tree.root, shared))
        self._git.run("read-tree", "--reset", "-u", commit, tree=tree)
        self._git.run("clean", "-ffdxq", tree=tree)

    def _top_of(self, root: str) -> str:
        """Return the top folder of the worktree, above the project's folder in it."""
        return os.path.join(self._worktrees, os.path.relpath(root, self._worktrees).split(os.sep)[0])

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

    def remove_worktrees(self, wanted: Callable[[str], bool] = lambda name: True, *, in_use: bool = False) -> None:
        """Remove those whose name is wanted, all by default; `in_use`: others are made at the same time."""
        self._refuse_links()
        for folder in (self._worktrees, *(os.path.join(self._git.folder, part) for part in ("worktrees", "indexes"))):
            on_disk.remove_within(folder, wanted, in_use=in_use)

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
        history = self._worktree_git.history()
        folder = os.path.join(self._worktrees, name, history.prefix if history is not None else "").rstrip("/")
        with self._git.locked(folder, os.path.join("indexes", name, "index")) as tree:
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
