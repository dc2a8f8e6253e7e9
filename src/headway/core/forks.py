"""What a forked child must not inherit: locks that threads of its parent held, and work that they had begun."""

from __future__ import annotations

import os
from weakref import WeakSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Renewable(Protocol):
        def renew(self) -> None:
            """Called in the child of a fork, before anything else."""
            ...


_known: WeakSet[Renewable] = WeakSet()


def renew_in_children(owner: Renewable) -> None:
    _known.add(owner)


def _renew() -> None:
    for owner in list(_known):
        owner.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
