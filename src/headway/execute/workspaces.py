"""Where attempts work: each in a worktree of its own, merged into the project afterwards, or in the project's files.

Below are checkpoints (`shadow_repository`), above attempts. Where files cannot be saved (no git, a session in memory),
attempts work in the project's own files.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TYPE_CHECKING, NamedTuple

from headway.core.errors import FilesChanged, HeadwayError
from headway.core.text import join_first_few
from headway.execute.git import parse_paths, to_stdin
from headway.execute.included_files import IncludedFiles
from headway.execute.recover_files import settle_change
from headway.execute.shadow_repository import NoCheckpoints, ShadowRepository

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Generator, Mapping, Sequence

    from headway.execute.checkpoint_rules import CheckpointRules

# What an attempt's file tools wrote in the project's own files, told apart from what others changed in them.

_USUAL_MODE = "100644"


class _Write(NamedTuple):
    before: bytes | None
    """What was there; None: nothing."""
    after: bytes


@dataclass(slots=True)
class WrittenFiles:
    """By path; writes that follow on one another are one."""

    _writes: dict[str, list[_Write]] = field(default_factory=dict[str, "list[_Write]"])

    def note_write(self, path: str, before: bytes | None, after: bytes) -> None:
        writes = self._writes.setdefault(path, [])
        if writes and writes[-1].after == before:
            writes[-1] = writes[-1]._replace(after=after)
        else:
            writes.append(_Write(before, after))

    def commit(self, shadow: ShadowRepository, checkpoint: str, paths: Sequence[str]) -> str:
        """Return a commit that has, on top of a checkpoint, what was written to these files and nothing else.

        Where it cannot be told apart from what others changed, the file is as in the checkpoint.
        """
        known = _list_files(shadow, checkpoint, paths)
        alone: dict[str, bytes | None] = {}
        others: list[str] = []
        for path in paths:
            writes = self._writes.get(path, [])
            if len(writes) == 1 and _write_blob_name(writes[0].before) == known.get(path, ("", None))[1]:
                alone[path] = writes[0].after
            else:
                others.append(path)
        result = _commit_files(shadow, checkpoint, alone, known)
        for path in others:
            result = self._merge(shadow, result, path, known)
        return result

    def _merge(self, shadow: ShadowRepository, commit: str, path: str, known: Mapping[str, tuple[str, str]]) -> str:
        merged: str | None = commit
        for write in self._writes.get(path, []):
            base = _commit_files(shadow, merged, {path: write.before}, known)
            merged, _ = shadow.merge(base, merged, _commit_files(shadow, merged, {path: write.after}, known))
            if merged is None:
                return commit
        return merged


def _list_files(shadow: ShadowRepository, commit: str, paths: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return path → its mode and blob in a commit, of those that are there."""
    if not paths:
        return {}
    said = shadow.repository.run("--literal-pathspecs", "ls-tree", "-r", "-z", commit, "--", *paths)
    listed = (line.partition("\t") for line in parse_paths(said))
    return {path: (facts.split(" ")[0], facts.split(" ")[2]) for facts, _, path in listed}


def _write_blob_name(content: bytes | None) -> str | None:
    if content is None:
        return None
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


def _commit_files(
    shadow: ShadowRepository, commit: str, contents: Mapping[str, bytes | None], known: Mapping[str, tuple[str, str]]
) -> str:
    """Return a commit with these files, on top of another; None: not there."""
    if not contents:
        return commit
    git = shadow.repository
    lines: list[str] = []
    for path, content in contents.items():
        if content is None:
            lines.append(f"0 {'0' * 40}\t{path}")
        else:
            blob = git.run("hash-object", "-w", "--stdin", stdin=content).decode().strip()
            lines.append(f"{known.get(path, (_USUAL_MODE,))[0]} {blob}\t{path}")
    with git.lock_index(git.folder, "paths/index") as tree:
        git.run("read-tree", commit, tree=tree)
        git.run("update-index", "-z", "--replace", "--index-info", tree=tree, stdin=to_stdin(lines))
        written = git.run("write-tree", tree=tree).decode().strip()
    return git.keep_commit(git.commit(written, (commit,)))


_MOMENT = 0.05
"""Seconds for which saved files count as they are; what is changed meanwhile is merged like any other edit."""
_TRIES = 5
"""How often a merge is made anew because someone else changed the files meanwhile."""


@dataclass(frozen=True, slots=True)
class AttemptChanges:
    """What an attempt changed."""

    before: str | None = None
    """The project's files before its changes came into them, and after."""
    after: str | None = None
    files: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Those of them that are no longer there."""
    conflicts: tuple[str, ...] = ()
    """Files that others changed in the same places, for which nothing came into the project."""
    kept: str | None = None
    """A commit with changes that did not come into the project."""
    not_merged: tuple[str, ...] = ()
    """Files that it changed or made and that are not merged: copies, ignored files, what it shares with the project."""
    committed: bool = False
    """Whether it made commits, which came back as files."""
    by_others: tuple[str, ...] = ()
    """In the project's own files: what changed meanwhile, and not by its file tools."""

    @property
    def holds_only_copy(self) -> bool:
        """Whether its worktree has work that is nowhere else."""
        return any(not os.path.isabs(path) for path in self.not_merged)


@dataclass(slots=True)
class Workspace:
    """The folder in which one attempt works."""

    todo_id: str
    folder: str
    checkpoint: str | None = None
    name: str = ""
    """Of the worktree; nothing where it works in the project's own files."""
    ready: bool = False
    """Whether its files were there to be worked on."""
    included: IncludedFiles | None = None
    written: WrittenFiles = field(default_factory=WrittenFiles)
    """What file tools wrote, where it works in the project's own files."""
    saving_seconds: float = 0.0
    """What it took so far to save files, to make the worktree and to merge."""


@dataclass(slots=True)
class Workspaces:
    project: str
    session: str
    shadow: ShadowRepository | None
    isolated: bool
    """Whether each attempt has a worktree."""
    note: str = ""
    """Why something is not as it could be."""
    saving_seconds: float = 0.0
    """What all saving, worktrees and merging took so far."""
    most_at_once: int | None = None
    """How many attempts may work at once; None: any number."""
    _merging: asyncio.Lock = field(default_factory=asyncio.Lock)
    _free: list[str] = field(default_factory=list[str])
    _kept: dict[str, str] = field(default_factory=dict[str, str])
    """Todo → the worktree of its last attempt, if that did not end well."""
    _made: int = 0
    _filling: set[threading.Event] = field(default_factory=set[threading.Event])
    _closed: bool = False
    _key: str = field(default_factory=lambda: _new_key())
    """Of the worktrees' names: another session of the project may be at work, also in this process."""
    _last: tuple[str, float] | None = None
    """The project's files as they were saved last, and when."""

    async def reserve(self, todo_id: str) -> Workspace:
        """Save the project's files and return where the next attempt at a todo is to work."""
        if self.shadow is None:
            return Workspace(todo_id, self.project)
        workspace = Workspace(todo_id, self.project)
        async with self._merging:
            with self._count_time(workspace):
                workspace.checkpoint = await self._save(self.shadow)
        if self.isolated:
            workspace.folder, workspace.name = "", self._kept.pop(todo_id, "") or self._find_free_name()
        return workspace

    @contextmanager
    def _count_time(self, workspace: Workspace) -> Generator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            took = time.monotonic() - began
            workspace.saving_seconds += took
            self.saving_seconds += took

    def _find_free_name(self) -> str:
        if not self._free:
            self._made += 1
            self._free.append(f"{self._key}-{self._made}")
        return self._free.pop()

    async def _save(self, shadow: ShadowRepository) -> str:
        if not self.isolated or self._last is None or time.monotonic() - self._last[1] > _MOMENT:
            self._last = (await asyncio.to_thread(shadow.snapshot), time.monotonic())
        return self._last[0]

    async def prepare(self, workspace: Workspace) -> str:
        """Fill the folder with the files as they were when they were saved; return it."""
        if workspace.name and self.shadow is not None and workspace.checkpoint is not None:
            with self._count_time(workspace):
                workspace.folder = await asyncio.to_thread(self._fill, self.shadow, workspace, workspace.checkpoint)
        workspace.ready = True
        return workspace.folder

    def _fill(self, shadow: ShadowRepository, workspace: Workspace, checkpoint: str) -> str:
        """In a thread, which goes on when whoever waits for it is cancelled: `close` waits for it before it removes."""
        filled = threading.Event()
        self._filling.add(filled)
        try:
            if self._closed:
                raise HeadwayError("The execution has ended.")

            def is_older(name: str) -> bool:
                return name != workspace.name and shadow.kept.is_kept_for(name, self.session, workspace.todo_id)

            shadow.remove_worktrees(is_older, in_use=True)
            folder = shadow.make_worktree(workspace.name, checkpoint)
            shadow.kept.keep_for(workspace.name, self.session, workspace.todo_id)
            workspace.included = shadow.include_files(workspace.name)
            return folder
        finally:
            self._filling.discard(filled)
            filled.set()

    @asynccontextmanager
    async def copy_checkpoint(self, checkpoint: str) -> AsyncGenerator[Workspace]:
        """Fill a folder with the files of a checkpoint, for as long as it is needed."""
        name = self._find_free_name()
        copy = Workspace(f"(copy {name})", "", checkpoint, name)
        try:
            await self.prepare(copy)
            yield copy
        finally:
            self.release(copy, keep=False)

    async def reverse_merge(self, before: str, after: str) -> bool:
        """Reverse a merge; return whether nothing of it is left."""
        assert self.shadow is not None
        async with self._merging:
            self._last = None
            return not (await asyncio.to_thread(settle_change, self.shadow, before, after)).left

    def forget_merge(self, changes: AttemptChanges) -> None:
        """Say that what came into the project's files is in the log."""
        if self.shadow is not None and changes.before is not None and changes.after is not None:
            self.shadow.forget_change(changes.before, changes.after)

    async def list_changed_files(self, workspace: Workspace) -> Sequence[str]:
        """Return what an attempt has changed so far."""
        shadow, checkpoint = self.shadow, workspace.checkpoint
        if shadow is None or checkpoint is None or not workspace.ready:
            return ()

        def look() -> list[str]:
            now = shadow.snapshot_worktree(workspace.name, checkpoint) if workspace.name else shadow.snapshot()
            return shadow.list_changed(checkpoint, now)

        return await asyncio.to_thread(look)

    async def collect(
        self, workspace: Workspace, *, wanted: bool, written: Collection[str], merging: Callable[[str, str], None]
    ) -> AttemptChanges:
        """Return what the attempt changed, which is in the project's files from now on if it is wanted.

        `written`: the files that its own file tools wrote. `merging` is told what the project's files are to become
        from what, before they do; in a thread.
        """
        shadow, checkpoint = self.shadow, workspace.checkpoint
        if shadow is None or checkpoint is None:
            return AttemptChanges()
        if not workspace.ready:
            return AttemptChanges(checkpoint, checkpoint)
        collect = self._merge if workspace.name else self._compare
        async with self._merging:
            with self._count_time(workspace):
                return await asyncio.to_thread(collect, shadow, workspace, checkpoint, wanted, written, merging)

    def _compare(
        self,
        shadow: ShadowRepository,
        workspace: Workspace,
        checkpoint: str,
        wanted: bool,
        written: Collection[str],
        merging: Callable[[str, str], None],
    ) -> AttemptChanges:
        """In the project's own files, only what its file tools wrote is known to be the attempt's."""
        now = shadow.snapshot()
        changed = [path for path in shadow.list_changed(checkpoint, now) if path in written]
        after = workspace.written.commit(shadow, checkpoint, changed)
        files, others = shadow.list_changed(checkpoint, after), tuple(shadow.list_changed(after, now))
        removed = shadow.list_removed(checkpoint, after)
        return AttemptChanges(checkpoint, after, tuple(files), tuple(removed), by_others=others)

    def _merge(
        self,
        shadow: ShadowRepository,
        workspace: Workspace,
        checkpoint: str,
        wanted: bool,
        written: Collection[str],
        merging: Callable[[str, str], None],
    ) -> AttemptChanges:
        with ThreadPoolExecutor(1) as pool:  # both look at all files: a third less time together
            began, saving = time.monotonic(), pool.submit(shadow.snapshot) if wanted else None
            theirs = shadow.snapshot_worktree(workspace.name, checkpoint)
        not_merged = _list_not_merged(shadow, workspace)
        committed = shadow.has_commits(workspace.name)
        if wanted and committed and (stray := shadow.list_stray(workspace.name, theirs)):
            raise HeadwayError(
                f"work is in {join_first_few(stray)} and not in the files; check "
                f"it out or merge it in '{workspace.folder}'"
            )
        unchanged = AttemptChanges(checkpoint, checkpoint, not_merged=not_merged, committed=committed)
        if theirs == checkpoint:
            if saving is not None:
                self._last = (saving.result(), began)
            return unchanged
        conflicts: Sequence[str] = ()
        in_the_way: Sequence[str] = ()
        for _ in range(_TRIES if wanted else 0):
            now = saving.result() if saving is not None else shadow.snapshot()
            saving = None
            merged, conflicts = shadow.merge(checkpoint, now, theirs)
            if merged is None:
                break
            if merged == now:  # others made the same changes
                return unchanged
            self._last = None
            merging(now, merged)
            try:
                files = shadow.apply_change(now, merged)
            except FilesChanged as error:
                if in_the_way and (unsaved := shadow.list_unsaved(now, error.files)):
                    raise HeadwayError(
                        "files that are in no checkpoint are in the way: "
                        f"{join_first_few(unsaved)}; move them out of the way"
                    ) from None
                conflicts = in_the_way = error.files
                continue
            self._last = (merged, time.monotonic())
            removed = shadow.list_removed(now, merged)
            return AttemptChanges(now, merged, tuple(files), tuple(removed), not_merged=not_merged, committed=committed)
        return AttemptChanges(
            checkpoint,
            checkpoint,
            conflicts=tuple(conflicts),
            kept=theirs,
            not_merged=not_merged,
            committed=committed,
        )

    def release(self, workspace: Workspace, *, keep: bool) -> None:
        """Give up a workspace; with `keep` its files stay until the next attempt, to be looked at."""
        if not workspace.name or self.shadow is None:
            return
        if keep and workspace.ready:
            self._kept[workspace.todo_id] = workspace.name
            return
        self.shadow.kept.keep_for(workspace.name, None, None)
        self._free.append(workspace.name)

    def close(self) -> None:
        if self.shadow is None:
            return
        self._closed = True
        for filled in tuple(self._filling):
            filled.wait()
        if self.isolated:
            kept = set(self._kept.values())
            self.shadow.remove_worktrees(lambda name: name.startswith(f"{self._key}-") and name not in kept)
        self.shadow.pack_objects()


def _list_not_merged(shadow: ShadowRepository, workspace: Workspace) -> tuple[str, ...]:
    """Return what an attempt changed or made that no checkpoint has, and that therefore stays in its worktree."""
    included, left = workspace.included, shadow.list_left_out(workspace.name)
    return left if included is None else (*included.list_changed(), *included.drop_included(left))


def open_workspaces(
    project: str,
    session: str,
    *,
    parallel: int,
    in_memory: bool,
    in_place: bool = False,
    linked: Sequence[str] | None = None,
    rules: CheckpointRules | None = None,
    on_saving: Callable[[int], None] | None = None,
) -> Workspaces:
    """Open the best there is for so many attempts at once.

    `on_saving` is told how many files are saved where that may take a while.
    """
    began, key = time.monotonic(), _new_key()
    if in_memory:
        why = "The session is kept in memory, so no files are saved and rollback is unavailable."
        return Workspaces(project, session, None, False, why)
    try:
        shadow = (
            ShadowRepository(project, rules=rules)
            if linked is None
            else ShadowRepository(project, linked=linked, rules=rules)
        )
        shadow.on_saving = on_saving
        shadow.remove_worktrees(lambda name: _is_left_behind(name) and not shadow.kept.is_kept(name))
        isolated = not in_place and shadow.has_worktrees
        with ThreadPoolExecutor(1) as pool:
            if isolated:
                pool.submit(shadow.fill_worktree_early, f"{key}-1")
            last = (shadow.snapshot(), time.monotonic())
    except NoCheckpoints as error:
        return Workspaces(project, session, None, False, _explain_in_place(str(error), parallel), most_at_once=1)
    except (HeadwayError, OSError) as error:
        why = _explain_in_place(f"The files cannot be saved: {error}", parallel)
        return Workspaces(project, session, None, False, why, most_at_once=1)
    note, took = _format_too_large(shadow), time.monotonic() - began
    if isolated:
        return Workspaces(project, session, shadow, True, note, took, _key=key, _last=last)
    if not in_place:
        why = "This version of git is too old for worktrees; install 2.38 or newer"
        note = f"{_explain_in_place(why, parallel, rollback=True)} {note}".strip()
    return Workspaces(project, session, shadow, False, note, took, most_at_once=1)


def _format_too_large(shadow: ShadowRepository) -> str:
    if not shadow.too_large:
        return ""
    return (
        f"Files over {shadow.rules.max_file_mb} MB are not saved, merged or "
        f"rolled back: {join_first_few(shadow.too_large)}."
    )


def _explain_in_place(why: str, parallel: int, *, rollback: bool = False) -> str:
    parts = ["Items work in the project's own files"]
    parts += ["one at a time"] if parallel > 1 else []
    parts += [] if rollback else ["and cannot be rolled back"]
    return f"{why.rstrip('.')}. {', '.join(parts)}."


def _new_key() -> str:
    return f"{os.getpid()}-{_process_namespace()}-{token_hex(3)}"


def _process_namespace() -> str:
    """Where the numbers of processes mean the same, as far as that is known."""
    with suppress(OSError):
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")
    return "0"


def _is_left_behind(name: str) -> bool:
    """Whether the process that made the worktree is gone; another session of the project may be at work."""
    process, _, rest = name.partition("-")
    if not process.isdecimal() or rest.partition("-")[0] != _process_namespace():
        return False  # of another container or machine: whether it is gone cannot be told from here
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # someone else's
        return False
    return False
