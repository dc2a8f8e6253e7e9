"""Checkpoints: the project's files as they were, saved in a git repository of Headway's own.

It is in `.headway/checkpoints`; the user's own repository is asked what it ignores and never touched. A snapshot has
the files that `git add -A` would add, bytes, executable bit and links as they are. What the project ignores stays out,
unless the user's repository tracks it; what was saved once stays in. Repositories inside the project (submodules,
clones) are left out with all their files; a folder that became a repository after it was saved stays in.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.execute import on_disk, worktree_git
from headway.execute.checkpoint_rules import CheckpointRules
from headway.execute.git import (
    UNBORN,
    Git,
    GitFailed,
    IndexedTree,
    NoCheckpoints,
    StagedPaths,
    Status,
    parse_changes,
    parse_paths,
    parse_status,
    to_stdin,
)
from headway.execute.included_files import IncludedFiles, include_files, list_ignored
from headway.execute.index_trust import doubt_changed, is_trusted, trust_index
from headway.execute.on_disk import PathChange
from headway.execute.replace_files import FileDisturbed, FileReplacer, changed_meanwhile_error, recover_staged
from headway.execute.three_way import merge_changes
from headway.execute.user_git import UserGit
from headway.project import FOLDER, headway_folder, refuse_link
from headway.store.folder import make_closed_folder, make_private_folder
from headway.tools.programs import find_program

__all__ = ["NoCheckpoints", "ShadowRepository"]

_PATTERNS = "info/left-out"
_RULES = "rules"
"""A file that says which rules the index follows; they hold until others are given."""
_MOMENT = 1.0
"""Seconds for which a worktree that was looked at counts as it was then."""
_MANY = 200
_MUCH = 20_000_000
_IN_ONE_PACK = ("-c", "core.bigFileThreshold=0", "-c", "pack.compression=1")
_DAMAGED = "damaged"
"""A file that says that an object was found broken by someone who cannot mend it; the next snapshot does."""


class ShadowRepository:
    """The saved states of a project, each a commit by its id. May be used by several threads and processes at once."""

    has_worktrees: bool
    """Whether this git is new enough for worktrees; without them, items work in the project's own files."""

    def __init__(
        self,
        project: str | os.PathLike[str],
        *,
        linked: Sequence[str] = (".venv", "venv", "node_modules"),
        rules: CheckpointRules | None = None,
    ) -> None:
        folder = headway_folder(project)
        program = find_program("git", project)
        if program is None:
            raise NoCheckpoints("Saving the project's files needs git, which is not installed; install git.")
        self._project = os.path.realpath(project)
        self._worktrees = os.path.join(folder, "worktrees")
        self._staging = os.path.join(folder, "checkpoints", "staging")
        self._linked = tuple(linked)
        self._git = Git(program, os.path.join(folder, "checkpoints"))
        self.rules = CheckpointRules.parse(self._git.read(_RULES)) if rules is None else rules
        self._users = UserGit(program, self._project)
        self.kept = worktree_git.KeptWorktrees(self._git)
        self._worktree_git = worktree_git.WorktreeGit(self._git, self._users)
        self._trees: dict[str, str] = {}
        self._ignored: tuple[list[str], list[str]] | None = None
        self._compared: tuple[tuple[str, str], list[PathChange]] | None = None
        """Two commits and what differs between them, asked for last."""
        self._filled: dict[str, str] = {}  # worktree → the commit whose files its index has
        self.on_saving: Callable[[int], None] | None = None
        """Is told how many files are saved, where that may take a while."""
        self.too_large: tuple[str, ...] = ()
        """Files of the project that its last checkpoint leaves out because of their size."""
        self._repositories: tuple[str, ...] = ()
        """Repositories within the project, which its last checkpoint leaves out."""
        self._looked_at: dict[str, float] = {}
        """Worktree → when its index had all its files as they were."""
        self._all_indexed: set[str] = set()
        """Worktrees that had no file besides those of their index when they were looked at."""
        self._links: tuple[str, dict[str, str]] | None = None
        """A commit, and path → target of its links."""
        self._turned: dict[str, dict[str, str]] = {}
        """Worktree → path → target of the links that lead elsewhere from there."""
        self._included: dict[str, IncludedFiles] = {}
        """Worktree → what it got besides the files of its checkpoint."""
        self._left_behind: dict[str, tuple[str, ...]] = {}
        """Worktree → what its last snapshot leaves out, though it is not a cache."""
        version = subprocess.run([program, "version"], capture_output=True, check=False).stdout
        self.has_worktrees = [int(part) for part in re.findall(rb"\d+", version)[:2]] >= [2, 38]

    @property
    def project(self) -> str:
        return self._project

    @property
    def repository(self) -> Git:
        return self._git

    # The project

    def snapshot(self) -> str:
        """The commit of the project's files as they are: the one before if nothing changed since, else its child."""
        with self._explain_failures("save the project's files"), self._lock_project_tree() as tree:
            return self._save_mending(tree)

    def _save_mending(self, tree: IndexedTree) -> str:
        if os.path.lexists(mark := os.path.join(self._git.folder, _DAMAGED)):
            self._mend(tree, 0)
            on_disk.remove(mark)
        for attempt in range(3):
            try:
                return self._save(tree)
            except GitFailed as failed:
                if failed.is_damage:
                    self._mend(tree, attempt)
        return self._save(tree)

    def _mend(self, tree: IndexedTree, attempt: int) -> None:
        """Gives up as little as will do: the index and what is broken of the objects; then the chain of snapshots."""
        self._trees.clear()
        on_disk.remove(tree.index)
        self._git.stop_borrowing()
        if attempt == 0:
            self._git.drop_damaged_objects()
        else:
            self._git.write_file("HEAD", UNBORN)

    def _save(self, tree: IndexedTree) -> str:
        self._git.write_file(_PATTERNS, self.rules.patterns)
        excludes = f"{self.rules.patterns}{self._users.excludes()}\n/{FOLDER}\n.headway-*.tmp\n"
        self._git.write_file("info/exclude", excludes)
        self._git.borrow_objects(self._users.find_objects())
        last = self._git.head_commit()
        if last is None:
            self._git.write_file("HEAD", UNBORN)
        tracked = self._users.list_tracked_though_ignored(os.path.join(self._git.folder, _PATTERNS))
        self._follow_new_rules(tree, tracked)
        found = self._status(tree)
        taken = self._stage(tree, found.changed, self._list_missing(tree, tracked))
        self.too_large, self._repositories = taken.too_large, found.repositories
        if last is not None and not taken.anything and all(letters == "??" for letters, _ in found.changed):
            return last
        saved = self._commit(tree, last, () if last is None else (last,))
        if saved != last:
            self._git.write_file("HEAD", f"{saved}\n")
        return saved

    def _list_missing(self, tree: IndexedTree, paths: Sequence[str]) -> list[str]:
        """Return those of the files that are there and not in the index."""
        if not paths:
            return []
        listed = set(parse_paths(self._git.run("ls-files", "-z", tree=tree)))
        return [path for path in paths if path not in listed and on_disk.is_file(tree.root, path)]

    def _follow_new_rules(self, tree: IndexedTree, tracked: Sequence[str]) -> None:
        """Take out of the index what was saved once, and is to be left out from now on."""
        text = self.rules.to_text()
        if self._git.read(_RULES) == os.fsencode(text):
            return
        options = ("--cached", "--ignored", f"--exclude-from={os.path.join(self._git.folder, _PATTERNS)}")
        drop = set(parse_paths(self._git.run("ls-files", "-z", *options, tree=tree))) - set(tracked)
        for path in parse_paths(self._git.run("ls-files", "-z", tree=tree)):
            if on_disk.file_kind_and_size(tree.root, path)[1] > self.rules.max_bytes:
                drop.add(path)
        if drop:
            self._drop_from_index(tree, sorted(drop))
        self._git.write_file(_RULES, text)

    def _status(self, tree: IndexedTree, *, with_ignored: bool = False) -> Status:
        """Return whatever differs between HEAD, index and files, apart from repositories inside."""
        said = self._git.run(
            *self._users.excludes_option(),
            *("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"),
            *(("--ignored=matching",) if with_ignored else ()),
            tree=tree,
        )
        return parse_status(said)

    def _stage(self, tree: IndexedTree, said: Sequence[tuple[str, str]], also: Sequence[str] = ()) -> StagedPaths:
        """Take into the index what differs from it."""
        in_project = tree.root == self._project
        take, drop, too_large, skipped, bytes_taken = list[str](), list[str](), list[str](), 0, 0
        for letters, path in [*said, *(("??", path) for path in also)]:
            if letters[1] == " " or path.partition("/")[0] == FOLDER:
                continue  # not of the files; Headway's own
            what, size = on_disk.file_kind_and_size(tree.root, path)
            if size > self.rules.max_bytes:
                skipped += 1
                too_large.append(path)
                if in_project and letters != "??":
                    drop.append(path)  # while in a worktree, that would be the attempt's deletion
            elif what == "special" or (letters[1] == "D" and on_disk.is_beyond_link(tree.root, path)):
                drop.append(path)
            elif what == "unreadable":
                skipped += 1
            else:
                take.append(path)
                bytes_taken += size
        if self.on_saving is not None and (len(take) >= _MANY or bytes_taken >= _MUCH):
            self.on_saving(len(take))
        if drop:
            self._drop_from_index(tree, drop)
        for some_paths, settings in self._group_by_settings(take):
            self._take_into_index(tree, some_paths, settings)
        return StagedPaths(bool(take or drop), skipped == 0, tuple(sorted(too_large)))

    def _group_by_settings(self, paths: list[str]) -> list[tuple[list[str], Sequence[str]]]:
        """Return which files are best written together, and with which settings.

        Many new ones are written several times as fast in one pack as each by itself; not those that can be borrowed.
        """
        if len(paths) < _MANY or not self.has_worktrees:
            return [(paths, ())] if paths else []
        tracked = frozenset[str]() if self._git.refuses_to_borrow else self._users.list_tracked()
        borrowed, new = [path for path in paths if path in tracked], [path for path in paths if path not in tracked]
        return [(part, how) for part, how in ((borrowed, ()), (new, _IN_ONE_PACK)) if part]

    def _drop_from_index(self, tree: IndexedTree, paths: Sequence[str]) -> None:
        self._git.run("update-index", "-z", "--force-remove", "--stdin", tree=tree, stdin=to_stdin(paths))

    def _take_into_index(self, tree: IndexedTree, paths: Sequence[str], settings: Sequence[str]) -> None:
        options = ("-z", "--add", "--remove", "--replace", "--stdin")
        try:
            self._git.run(*settings, "update-index", *options, tree=tree, stdin=to_stdin(paths))
        except GitFailed as failed:
            if not failed.is_unreadable_file:
                raise
            middle = len(paths) // 2
            for half in (paths[:middle], paths[middle:]) if middle else ():  # alone: a file that went away meanwhile
                self._take_into_index(tree, half, ())

    def _commit(self, tree: IndexedTree, same: str | None, parents: Sequence[str]) -> str:
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

    def apply_change(self, now: str, target: str, *, settles: tuple[str, str] | None = None) -> list[str]:
        """Change the project's files from one commit to another, all or (`FilesChanged`) none; return their paths.

        Only what differs between the two is looked at and changed: it must be as in `now`, with nothing in its place.
        The change counts as begun until `forget_change`; with `settles`, it is part of that other change.
        """
        with self._explain_failures("change the project's files"), self._lock_project_tree() as tree:
            changes = self._list_changes(now, target)
            if not changes:
                return []
            if wrong := on_disk.list_not_as_before(tree.root, changes):
                raise changed_meanwhile_error(wrong)
            if folder := on_disk.find_write_protected(tree.root, (change.path for change in changes)):
                raise NoCheckpoints(
                    f"'{sanitize_for_display(folder, 300)}' is not writable; make it writable and try again."
                )
            contents = self._git.read_blobs({change.new for change in changes if not change.leaves})
            staging = self._staging_folder(*(settles or (now, target)))
            os.makedirs(staging, exist_ok=True)
            try:
                FileReplacer(tree.root, staging, changes, contents.__getitem__).run()
            except BaseException as error:
                if settles is None:
                    self.forget_change(now, target)
                if isinstance(error, FileDisturbed):
                    raise changed_meanwhile_error([error.path]) from None
                raise
            return [change.path for change in changes]

    def recover_staged(self, before: str, after: str) -> list[str]:
        """Put back what an `apply` that was killed had set aside; return the paths of saves that could not be."""
        with self._explain_failures("recover the project's files"), self._lock_project_tree() as tree:
            known = {change.path: frozenset({change.old, change.new}) for change in self._list_changes(before, after)}
            return recover_staged(tree.root, self._staging_folder(before, after), known)

    def was_started(self, before: str, after: str) -> bool:
        """Whether an `apply` of this change has begun that did not fail; also one that was killed."""
        return os.path.isdir(self._staging_folder(before, after))

    def forget_change(self, before: str, after: str) -> None:
        """Say that a change need not be settled any more. What could not be put back of it stays."""
        with suppress(OSError):
            os.rmdir(self._staging_folder(before, after))

    def _staging_folder(self, before: str, after: str) -> str:
        return os.path.join(self._staging, f"{before}-{after}")

    # Commits

    def list_changed(self, before: str, after: str) -> list[str]:
        with self._explain_failures("compare two checkpoints"):
            return sorted(change.path for change in self._list_changes(before, after))

    def list_unsaved(self, commit: str, paths: Sequence[str]) -> list[str]:
        """Return those of the paths that a commit does not have."""
        with self._explain_failures("read a checkpoint"):
            listed = self._git.run("--literal-pathspecs", "ls-tree", "-z", "--name-only", commit, "--", *paths)
        there = set(parse_paths(listed))
        return [path for path in paths if path not in there]

    def list_removed(self, before: str, after: str) -> list[str]:
        """Return the files of one commit that are not in another."""
        with self._explain_failures("compare two checkpoints"):
            return sorted(change.path for change in self._list_changes(before, after) if change.leaves)

    def _list_changes(self, before: str, after: str) -> list[PathChange]:
        if before == after:
            return []
        if self._compared is not None and self._compared[0] == (before, after):
            return self._compared[1]
        found = parse_changes(self._git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", before, after))
        self._compared = ((before, after), found)
        return found

    def merge(self, base: str, ours: str, theirs: str) -> tuple[str | None, list[str]]:
        """Merge three-way: what `theirs` changed since `base`, on top of `ours`.

        Return the commit, a child of `ours`; or None and the paths that both changed in the same places.
        """
        if base in (ours, theirs):
            return (theirs if base == ours else ours), []
        with self._explain_failures("merge two checkpoints"):
            if self._tree_of(base) == self._tree_of(ours):
                return self._git.keep_commit(self._commit_tree(self._tree_of(theirs), (ours,))), []
            wanted, conflicts = merge_changes(
                self._git, self._list_changes(base, ours), self._list_changes(base, theirs)
            )
            return (None, conflicts) if conflicts else (self._commit_with_changes(ours, wanted), [])

    def diff(self, before: str, after: str) -> str:
        """Return what differs between two commits, as a unified diff."""
        with self._explain_failures("compare two checkpoints"):
            said = self._git.run(
                "diff-tree", "-p", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", before, after
            )
            return said.decode(errors="replace")

    def commit_with_paths(self, now: str, source: str, paths: Iterable[str]) -> str:
        """A commit of `now` with these paths as they are in `source`, which may be: not there."""
        asked = set(paths)
        with self._explain_failures("create a checkpoint"):
            return self._commit_with_changes(
                now, [change for change in self._list_changes(now, source) if change.path in asked]
            )

    def _commit_with_changes(self, now: str, changes: Sequence[PathChange]) -> str:
        if not changes:
            return now
        with self._git.lock_index(self._git.folder, "paths/index") as tree:
            self._git.run("read-tree", now, tree=tree)
            lines = [f"{change.new_mode.lstrip('0') or '0'} {change.new}\t{change.path}" for change in changes]
            self._git.run("update-index", "-z", "--replace", "--index-info", tree=tree, stdin=to_stdin(lines))
            return self._git.keep_commit(self._commit(tree, now, (now,)))

    # Worktrees

    def make_worktree(self, name: str, commit: str) -> str:
        """Make a folder with the files of the commit and nothing else, besides links to the folders that it shares.

        Git commands within it find a repository that has the user's history and is not the user's.
        """
        with self._explain_failures("create a folder for the item"), self._lock_worktree_tree(name) as tree:
            try:
                self._fill(tree, commit)
            except (GitFailed, OSError):
                # Something that git cannot replace: a folder without permissions, a broken index.
                on_disk.remove(os.path.join(self._worktrees, name))
                on_disk.remove(tree.index)
                self._fill(tree, commit)
            top, history = os.path.join(self._worktrees, name), self._worktree_git.find_history()
            folder = os.path.join(self._git.folder, "worktrees", name)
            self._worktree_git.make_repository(
                folder, top, history, files=commit, index=tree.index, left_out=self.too_large
            )
            if self._links is None or worktree_git.has_links(self._list_changes(self._links[0], commit)):
                self._links = (commit, worktree_git.list_links(self._git, commit))
            self._links = (commit, self._links[1])
            self._turned[name] = worktree_git.translate_links(self._project, tree.root, self._links[1])
            self._worktree_git.ignore_changes_to(folder, top, history, self._turned[name])
            self._filled[name] = commit
            self._included.pop(name, None)
            for shared in self._linked:
                home, link = os.path.join(self._project, shared), os.path.join(tree.root, shared)
                if os.path.isdir(home) and not os.path.lexists(link) and os.path.isdir(os.path.dirname(link)):
                    os.symlink(home, link)
            return tree.root

    def fill_worktree_early(self, name: str) -> None:
        """Fill a new worktree with the user's last commit, while others save the project's files for the first time."""
        if self._git.head_commit() is not None or (files := self._users.last_tree(self.rules.max_bytes)) is None:
            return
        with suppress(GitFailed, OSError, HeadwayError), self._lock_worktree_tree(name) as tree:
            self._git.borrow_objects(self._users.find_objects())
            on_disk.make_way(self._worktrees, tree.root)
            os.makedirs(tree.root)
            self._git.run("read-tree", "--reset", "-u", files, tree=tree)
            trust_index(tree)
            self._looked_at[name] = time.monotonic()
            self._all_indexed.add(name)

    def has_commits(self, name: str) -> bool:
        """Return whether something was committed in a worktree."""
        with suppress(GitFailed, OSError):
            return self._worktree_git.has_commits(*self._worktree_paths(name))
        return False

    def list_stray(self, name: str, theirs: str) -> list[str]:
        """Return the branches and stashes of a worktree with work that is not in its files, the commit `theirs`."""
        history = self._worktree_git.find_history()
        with suppress(GitFailed, OSError):
            return self._worktree_git.list_stray(*self._worktree_paths(name), history.prefix if history else "", theirs)
        return []

    def _worktree_paths(self, name: str) -> tuple[str, str]:
        return os.path.join(self._git.folder, "worktrees", name), os.path.join(self._worktrees, name)

    def include_files(self, name: str) -> IncludedFiles:
        """Copy ignored files into a worktree that work there needs, and note what it shares with the project."""
        with self._explain_failures("copy files for the item"), self._lock_worktree_tree(name) as tree:
            if self._ignored is None:
                with self._lock_project_tree() as project:
                    self._ignored = list_ignored(self._git, self._users, self.rules.rules_worth_naming(), project)
            ignored, excluded = self._ignored
            left_out = [*excluded, *self.too_large, *self._repositories]
            self._included[name] = include_files(self._project, tree.root, ignored, self._linked, left_out)
            return self._included[name]

    def list_left_out(self, name: str) -> tuple[str, ...]:
        """Return what the last snapshot of a worktree leaves out, apart from caches; folders end in a slash."""
        return self._left_behind.get(name, ())

    def _fill(self, tree: IndexedTree, commit: str) -> None:
        top = self._find_worktree_top(tree.root)
        on_disk.make_way(self._worktrees, tree.root)
        os.makedirs(top, exist_ok=True)
        is_new = not os.listdir(top)
        os.makedirs(tree.root, exist_ok=True)
        for shared in self._linked:
            if self._is_link_into_project(tree.root, shared):
                os.unlink(os.path.join(tree.root, shared))
        name = os.path.basename(top)
        looked_at = self._looked_at.pop(name, None)
        is_known = looked_at is not None and time.monotonic() - looked_at <= _MOMENT and self._is_switched(tree, commit)
        if not is_known:
            self._git.run("-c", "checkout.workers=0", "read-tree", "--reset", "-u", commit, tree=tree)
        if not is_known or is_trusted(tree):
            trust_index(tree)
        if not (is_new or (is_known and name in self._all_indexed)):
            self._git.run("clean", "-ffdxq", tree=tree)

    def _is_switched(self, tree: IndexedTree, commit: str) -> bool:
        """Change only the files that differ from the index, which takes a third of the time for 20,000 files."""
        try:
            self._git.run("read-tree", "-m", "-u", commit, tree=tree)
        except GitFailed:
            return False
        return True

    def _find_worktree_top(self, root: str) -> str:
        """Return the top folder of the worktree, above the project's folder in it."""
        return os.path.join(self._worktrees, os.path.relpath(root, self._worktrees).split(os.sep)[0])

    def _is_from_project(self, name: str, root: str, letters: str, path: str) -> bool:
        """Whether something that is not in the index of a worktree is there as it was given to it."""
        included, full = self._included.get(name), os.path.join(root, path)
        if letters == "??":
            return included is not None and included.has(path)
        turned = self._turned.get(name, {}).get(path)
        return turned is not None and os.path.islink(full) and os.readlink(full) == turned

    def _is_link_to_shared(self, root: str, path: str) -> bool:
        """Whether a path, whatever its name, is the link to a folder that the worktree shares with the project."""
        full = os.path.join(root, path)
        return os.path.islink(full) and os.readlink(full) in {
            os.path.join(self._project, name) for name in self._linked
        }

    def _is_link_into_project(self, root: str, name: str) -> bool:
        link = os.path.join(root, name)
        return os.path.islink(link) and os.readlink(link) == os.path.join(self._project, name)

    def snapshot_worktree(self, name: str, base: str) -> str:
        """The commit of a worktree's files, a child of `base`; `base` itself if nothing changed."""
        with self._explain_failures("save the item's files"), self._lock_worktree_tree(name) as tree:
            filled = self._filled.pop(name, None)  # the index is not known to have it once something was staged
            self._looked_at.pop(name, None)
            doubt_changed(self._git, tree)
            found = self._status(tree, with_ignored=True)
            looked_at = time.monotonic()
            own = [entry for entry in found.changed if not self._is_from_project(name, tree.root, *entry)]
            shared = [path for _, path in own if self._is_link_to_shared(tree.root, path)]
            renamed = [path for path in shared if not self._is_link_into_project(tree.root, path)]
            staged = self._stage(tree, [entry for entry in own if entry[1] not in shared])
            worktree_git.restore_links(self._git, tree, self._project, [path for _, path in own if path not in shared])
            if staged.complete:
                self._looked_at[name] = looked_at
            if found.ignored or found.repositories or len(own) < len(found.changed) or shared:
                self._all_indexed.discard(name)
            else:
                self._all_indexed.add(name)
            remade = self.rules.rules_for_remade()
            ignored = [
                path
                for path in found.ignored
                if not remade.is_ignored(path) and not self._is_link_into_project(tree.root, path)
            ]
            self._left_behind[name] = (*staged.too_large, *renamed, *found.repositories, *ignored)
            if not staged.anything and filled == base:
                self._filled[name] = base
                return base
            commit = self._commit(tree, base, (base,))
            return commit if commit == base else self._git.keep_commit(commit)

    def remove_worktrees(self, wanted: Callable[[str], bool] = lambda name: True, *, in_use: bool = False) -> None:
        """Remove those whose name is wanted, all by default; `in_use`: others are made at the same time."""
        self._refuse_links()
        for folder in (self._worktrees, *(os.path.join(self._git.folder, part) for part in ("worktrees", "indexes"))):
            on_disk.remove_within(folder, wanted, in_use=in_use)

    def pack_objects(self) -> None:
        """Packs what has piled up, now and then."""
        with suppress(GitFailed, OSError, HeadwayError):
            if self._git.head_commit() is not None:
                self._git.copy_borrowed()
                self._git.run("-c", "gc.auto=3000", "gc", "--auto", "--quiet")

    # Around all of it

    def _prepare_repository(self) -> None:
        self._refuse_links()
        make_private_folder(os.path.dirname(self._git.folder))
        make_closed_folder(self._git.folder)

    def _refuse_links(self) -> None:
        for path in (os.path.dirname(self._worktrees), self._worktrees):
            refuse_link(self._project, path, "folder")
        self._git.refuse_links()

    @contextmanager
    def _lock_project_tree(self) -> Generator[IndexedTree]:
        self._prepare_repository()
        with self._git.lock_index(self._project, "index") as tree:
            yield tree

    @contextmanager
    def _lock_worktree_tree(self, name: str) -> Generator[IndexedTree]:
        if not re.fullmatch(r"[\w-][\w.-]{0,99}", name):
            raise ValueError(f"not a name for a worktree: {sanitize_for_display(name)}")
        self._prepare_repository()
        history = self._worktree_git.find_history()
        folder = os.path.join(self._worktrees, name, history.prefix if history is not None else "").rstrip("/")
        with self._git.lock_index(folder, os.path.join("indexes", name, "index")) as tree:
            yield tree

    @contextmanager
    def _explain_failures(self, what: str) -> Generator[None]:
        try:
            yield
        except GitFailed as failed:
            if failed.broken_object:
                self._git.write_file(_DAMAGED, "")
            why = sanitize_for_display(failed.said.replace("\n", "; "), 400) or "it was stopped"
        except HeadwayError:
            raise
        except OSError as error:
            why = sanitize_for_display(str(error), 400)
        else:
            return
        raise NoCheckpoints(f"git could not {what} ({why}); check '{sanitize_for_display(self._git.folder, 300)}'.")
