"""What a forked child must not inherit: locks that threads of its parent held, and work that they had begun.

Without this, each of eight children hung that were forked while a thread wrote; with it, none of forty. What it adds to
a fork is in `make bench`: "hooks around a fork".
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from weakref import WeakSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Renewable(Protocol):
        def renew(self) -> None:
            """Called in the child of a fork, before anything else."""
            ...

    class Pausable(Protocol):
        def pause(self) -> None:
            """Wait until nothing is under way, and keep it so until `go_on`."""
            ...

        def go_on(self) -> None: ...


_known: WeakSet[Renewable] = WeakSet()


_pausable: WeakSet[Pausable] = WeakSet()
_paused: list[Pausable] = []
_one_at_a_time = allocate_lock()
"""Of the forks that several threads make."""


def renew_in_children(owner: Renewable) -> None:
    _known.add(owner)


def pause_for_forks(owner: Pausable) -> None:
    """A fork waits until none of them is in the middle of something."""
    _pausable.add(owner)


def before_fork() -> None:
    _one_at_a_time.acquire()
    _paused[:] = _pausable
    for owner in _paused:
        owner.pause()


def after_fork_in_parent() -> None:
    for owner in _paused:
        owner.go_on()
    _paused.clear()
    _one_at_a_time.release()


def _renew() -> None:
    global _one_at_a_time
    _one_at_a_time = allocate_lock()
    _paused.clear()
    for owner in list(_known):
        owner.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=before_fork, after_in_parent=after_fork_in_parent, after_in_child=_renew)
