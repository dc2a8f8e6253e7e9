"""Where items work: on the project's own files one after the other, or each in a folder of its own, merged afterwards.

Files are saved before each item, so that it can be rolled back, and be begun anew from where it began. Where that
cannot be done (no git, a session in memory), items work without.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TYPE_CHECKING

from headway.core.errors import HeadwayError
from headway.execute import on_disk
from headway.execute.heartbeat import Heartbeat
from headway.execute.own import Own
from headway.execute.shadow import FilesChanged, NoCheckpoints, Shadow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MOMENT = 0.05
"""Seconds for which files that were saved count as they are."""
_TRIES = 5
"""How often a merge is made anew because someone else changed the files meanwhile."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What an item changed."""

    before: str | None = None
    """The project's files before that came into them, and after."""
    after: str | None = None
    files: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    """Files that others changed in the same places, for which nothing came into the project."""
    kept: str | None = None
    """Changes that did not come into the project."""


@dataclass(slots=True)
class Place:
    """Where one attempt works."""

    folder: str
    checkpoint: str | None = None
    name: str = ""
    """Of the folder of its own; nothing where it works on the project's files."""
    ready: bool = False
    """Whether its files were there to be worked on."""
    restored: tuple[str, ...] = ()
    dirty: bool = False
    """Whether changes of an earlier attempt may still be in the files."""


@dataclass(slots=True)
class Workplace:
    project: str
    shadow: Shadow | None
    worktrees: bool
    note: str = ""
    """Why something is not as it could be."""
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _free: list[str] = field(default_factory=list[str])
    _made: int = 0
    _filling: set[threading.Event] = field(default_factory=set[threading.Event])
    _closed: bool = False
    _key: str = field(default_factory=lambda: f"{os.getpid()}-{_where()}-{token_hex(3)}")
    """Of the folders' names: another session of the project may be at work, also in this process."""
    _heartbeat: Heartbeat | None = None
    _last: tuple[str, float] | None = None
    """The project's files as they were saved last, and when."""

    @property
    def in_place(self) -> bool:
        return not self.worktrees

    async def place(self) -> Place:
        """Where the next item is to work, with its files saved."""
        if self.shadow is None:
            return Place(self.project)
        async with self._one_at_a_time:
            checkpoint = await self._saved(self.shadow)
        if self.in_place:
            return Place(self.project, checkpoint)
        if not self._free:
            self._made += 1
            self._free.append(f"{self._key}-{self._made}")
        return Place("", checkpoint, self._free.pop())

    async def _saved(self, shadow: Shadow) -> str:
        """The files as they are; for a folder of its own, as they were a moment ago, since they are merged later."""
        if self.in_place or self._last is None or time.monotonic() - self._last[1] > _MOMENT:
            self._last = (await asyncio.to_thread(shadow.snapshot), time.monotonic())
        return self._last[0]

    async def prepared(self, place: Place) -> str:
        """The folder, with the files as they were when they were saved."""
        if place.name and self.shadow is not None and place.checkpoint is not None:
            place.folder = await asyncio.to_thread(self._fill, self.shadow, place.name, place.checkpoint)
        place.ready = True
        return place.folder

    def _fill(self, shadow: Shadow, name: str, checkpoint: str) -> str:
        """In a thread, which goes on when whoever waits for it is cancelled: `close` waits for it before it removes."""
        filled = threading.Event()
        self._filling.add(filled)
        try:
            if self._closed:
                raise HeadwayError("The execution is over.")
            return shadow.worktree(name, checkpoint)
        finally:
            self._filling.discard(filled)
            filled.set()

    async def restored(
        self, now: str, checkpoint: str, *, after: str | None, own: Own, until: float | None = None
    ) -> tuple[tuple[str, ...], bool]:
        """Brings the project's files back to a checkpoint, if nothing else changed since the attempt that began there.

        `now`: the files as they are; `after`: as that attempt left them. Where nobody could say so, what was changed
        after `until` is someone else's. Of the rest, only what is the attempt's `own` comes back: others may have
        worked beside it. Returns what came back, and whether something that was changed is left.
        """
        assert self.shadow is not None
        shadow = self.shadow

        def restore() -> tuple[tuple[str, ...], bool]:
            changed = shadow.changed(checkpoint, now)
            if after is not None:
                others = shadow.changed(after, now)
            else:
                others = changed if until is None else shadow.changed_since(changed, until)
            if others or not changed:
                return (), bool(others)
            mine = self.own(changed, own)
            try:
                back = shadow.apply(now, shadow.with_paths(now, checkpoint, mine))
            except FilesChanged:
                return (), True
            return tuple(back), len(mine) < len(changed)

        async with self._one_at_a_time:
            self._last = None
            return await asyncio.to_thread(restore)

    def own(self, paths: Sequence[str], own: Own) -> tuple[str, ...]:
        """Those of the project's files that an attempt changed itself, as they are now."""
        root = os.path.realpath(self.project)
        return tuple(path for path in paths if own.has(path, on_disk.change_time(root, path)))

    async def take_back(self, before: str, after: str) -> None:
        """Takes back what of a merge is in the project's files, and nobody has changed since."""
        assert self.shadow is not None
        shadow = self.shadow

        def take() -> None:
            now = shadow.snapshot()
            paths = set(shadow.changed(before, after)) - set(shadow.changed(after, now))
            with suppress(FilesChanged):
                shadow.apply(now, shadow.with_paths(now, before, sorted(paths)))

        async with self._one_at_a_time:
            self._last = None
            await asyncio.to_thread(take)

    async def collect(self, place: Place, *, wanted: bool, merging: Callable[[str, str], None]) -> Changes:
        """What the item changed, in the project's files from now on if it is wanted.

        `merging` is told what they are to become from what, before they do; in a thread.
        """
        if self.shadow is None or place.checkpoint is None:
            return Changes()
        if not place.ready:
            return Changes(place.checkpoint, place.checkpoint)
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._collected, self.shadow, place, place.checkpoint, wanted, merging)

    def _collected(
        self, shadow: Shadow, place: Place, checkpoint: str, wanted: bool, merging: Callable[[str, str], None]
    ) -> Changes:
        if not place.name:
            after = shadow.snapshot()
            return Changes(checkpoint, after, tuple(shadow.changed(checkpoint, after)))
        theirs = shadow.snapshot_of(place.name, checkpoint)
        if theirs == checkpoint:
            return Changes(checkpoint, checkpoint)
        if not wanted:
            return Changes(checkpoint, checkpoint, kept=theirs)
        conflicts: Sequence[str] = ()
        for _ in range(_TRIES):
            now = shadow.snapshot()
            merged, conflicts = shadow.merged(now, theirs)
            if merged is None:
                break
            self._last = None
            merging(now, merged)
            try:
                return Changes(now, merged, tuple(shadow.apply(now, merged)))
            except FilesChanged as error:
                conflicts = error.paths
        return Changes(checkpoint, checkpoint, conflicts=tuple(conflicts), kept=theirs)

    def give_back(self, place: Place) -> None:
        if place.name:
            self._free.append(place.name)

    def begin(self, run_id: str) -> None:
        """Says from now on that the run is alive."""
        if self.shadow is not None:
            self._heartbeat = Heartbeat(self.shadow, run_id)

    def close(self) -> None:
        if self.shadow is None:
            return
        if self._heartbeat is not None:
            self._heartbeat.end()
        self._closed = True
        for filled in tuple(self._filling):
            filled.wait()
        if self.worktrees:
            self.shadow.remove_worktrees(lambda name: name.startswith(f"{self._key}-"))
        self.shadow.tidy()


def open_workplace(project: str, *, parallel: int, in_memory: bool, linked: Sequence[str] | None = None) -> Workplace:
    """The best there is for so many items at once."""
    if in_memory:
        return Workplace(project, None, False, "The session is kept in memory, so no files are saved: no rollback.")
    try:
        shadow = Shadow(project) if linked is None else Shadow(project, linked=linked)
        shadow.remove_worktrees(_is_left_behind)
        shadow.snapshot()
    except NoCheckpoints as error:
        return Workplace(project, None, False, _without(str(error), parallel))
    except (HeadwayError, OSError) as error:
        return Workplace(project, None, False, _without(f"The files cannot be saved: {error}", parallel))
    if parallel == 1:
        return Workplace(project, shadow, False)
    if shadow.can_merge:
        return Workplace(project, shadow, True)
    why = "This git cannot merge apart from the working tree (2.38 can)"
    return Workplace(project, None, False, _without(why, parallel))


def _where() -> str:
    """Where the numbers of processes mean the same, as far as that is known."""
    with suppress(OSError):
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")
    return "0"


def _is_left_behind(name: str) -> bool:
    """Whether the process that made the folder is gone; another session of the project may be at work."""
    process, _, rest = name.partition("-")
    if not process.isdecimal() or rest.partition("-")[0] != _where():
        return False  # of another container or machine: whether it is gone cannot be told from here
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # someone else's
        return False
    return False


def _without(why: str, parallel: int) -> str:
    how = " Items of one module do not run at the same time." if parallel > 1 else ""
    return f"{why.rstrip('.')}. Items are executed without it, and cannot be rolled back.{how}"
