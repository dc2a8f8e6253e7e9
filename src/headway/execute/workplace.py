"""Where items work: on the project's own files one after the other, or each in a folder of its own, merged afterwards.

Files are saved before each item, so that it can be rolled back, and be begun anew from where it began. Where that
cannot be done (no git, a session in memory), items work without.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headway.core.errors import HeadwayError
from headway.execute.shadow import FilesChanged, NoCheckpoints, Shadow

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    last_alive: float | None = None
    """When an execution last gave a sign of life, before this one began."""
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _free: list[str] = field(default_factory=list[str])
    _made: int = 0

    @property
    def in_place(self) -> bool:
        return not self.worktrees

    async def place(self) -> Place:
        """Where the next item is to work, with its files saved."""
        if self.shadow is None:
            return Place(self.project)
        async with self._one_at_a_time:
            checkpoint = await asyncio.to_thread(self.shadow.snapshot)
        if self.in_place:
            return Place(self.project, checkpoint)
        if not self._free:
            self._made += 1
            self._free.append(f"w{self._made}")
        return Place("", checkpoint, self._free.pop())

    async def prepared(self, place: Place) -> str:
        """The folder, with the files as they were when they were saved."""
        if place.name and self.shadow is not None and place.checkpoint is not None:
            place.folder = await asyncio.to_thread(self.shadow.worktree, place.name, place.checkpoint)
        return place.folder

    async def restore(self, place: Place, checkpoint: str, *, after: str | None) -> None:
        """Brings the project's files back to a checkpoint, if nothing but the attempt that began there changed them.

        `after`: the files as that attempt left them; where nobody could say so, files that were changed after its last
        sign of life are someone else's.
        """
        assert self.shadow is not None and place.checkpoint is not None
        if checkpoint == place.checkpoint:
            return
        async with self._one_at_a_time:
            changed = await asyncio.to_thread(self.shadow.changed, checkpoint, place.checkpoint)
            if not changed:
                return
            place.dirty = True
            if after is not None:
                others = await asyncio.to_thread(self.shadow.changed, after, place.checkpoint)
            elif self.last_alive is None:
                return
            else:
                others = await asyncio.to_thread(self.shadow.changed_since, changed, self.last_alive)
            if others:
                return
            try:
                place.restored = tuple(await asyncio.to_thread(self.shadow.apply, place.checkpoint, checkpoint))
            except FilesChanged:
                return
            place.checkpoint, place.dirty = checkpoint, False

    async def collect(self, place: Place, *, wanted: bool) -> Changes:
        """What the item changed, in the project's files from now on if it is wanted."""
        if self.shadow is None or place.checkpoint is None:
            return Changes()
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._collected, self.shadow, place, place.checkpoint, wanted)

    def _collected(self, shadow: Shadow, place: Place, checkpoint: str, wanted: bool) -> Changes:
        if not place.name:
            after = shadow.snapshot()
            return Changes(checkpoint, after, tuple(shadow.changed(checkpoint, after)))
        theirs = shadow.snapshot_of(place.name, checkpoint)
        if theirs == checkpoint:
            return Changes()
        if not wanted:
            return Changes(kept=theirs)
        conflicts: Sequence[str] = ()
        for _ in range(_TRIES):
            now = shadow.snapshot()
            merged, conflicts = shadow.merged(now, theirs)
            if merged is None:
                break
            try:
                return Changes(now, merged, tuple(shadow.apply(now, merged)))
            except FilesChanged as error:
                conflicts = error.paths
        return Changes(conflicts=tuple(conflicts), kept=theirs)

    def give_back(self, place: Place) -> None:
        if place.name:
            self._free.append(place.name)

    def alive(self) -> None:
        if self.shadow is not None:
            self.shadow.touch()

    def close(self) -> None:
        if self.shadow is None:
            return
        self.shadow.touch()
        if self.worktrees:
            self.shadow.remove_worktrees()
        self.shadow.tidy()


def open_workplace(project: str, *, parallel: int, in_memory: bool, linked: Sequence[str] | None = None) -> Workplace:
    """The best there is for so many items at once."""
    if in_memory:
        return Workplace(project, None, False, "The session is kept in memory, so no files are saved: no rollback.")
    try:
        shadow = Shadow(project) if linked is None else Shadow(project, linked=linked)
        alive = shadow.last_touched()
        shadow.remove_worktrees()  # of a process that was killed
        shadow.snapshot()
    except NoCheckpoints as error:
        return Workplace(project, None, False, _without(str(error), parallel))
    except (HeadwayError, OSError) as error:
        return Workplace(project, None, False, _without(f"The files cannot be saved: {error}", parallel))
    if parallel == 1:
        return Workplace(project, shadow, False, last_alive=alive)
    if shadow.can_merge:
        return Workplace(project, shadow, True, last_alive=alive)
    why = "This git cannot merge apart from the working tree (2.38 can)"
    return Workplace(project, None, False, _without(why, parallel))


def _without(why: str, parallel: int) -> str:
    how = " Items of one module do not run at the same time." if parallel > 1 else ""
    return f"{why.rstrip('.')}. Items are executed without it, and cannot be rolled back.{how}"
