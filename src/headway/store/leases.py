"""Leases: who has what, until when, beside the log. Renewed in place; one whose process is gone counts no longer.

A holder is any text. One made by `this_process` tells where its process runs, so that its end is noticed at once by
others in the same place, and elsewhere when the lease runs out.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection

FIND = "SELECT holder, until FROM leases WHERE session = ? AND key = ?"


def this_process(name: str) -> str:
    """A holder for something in this process."""
    return f"process {os.getpid()} on {_place()} {name}"


def hold(db: Connection, session: str, key: str, holder: str, seconds: float) -> str | None:
    """Takes or renews it within the caller's transaction; who else has it, if someone does."""
    other = live(db.execute(FIND, (session, key)).fetchall())
    if other not in (None, holder):
        return other
    until = time.time() + seconds
    db.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)", (session, key, holder, until))
    return None


def let_go(db: Connection, session: str, key: str, holder: str) -> None:
    db.execute("DELETE FROM leases WHERE session = ? AND key = ? AND holder = ?", (session, key, holder))


def live(rows: list[tuple[str, float]]) -> str | None:
    return rows[0][0] if rows and is_live(*rows[0]) else None


def is_live(holder: str, until: float) -> bool:
    return until > time.time() and not _is_gone(holder)


def _is_gone(holder: str) -> bool:
    """Whether it was a process of this place that is no more."""
    words = holder.split(" ", 4)
    if (
        os.name != "posix"
        or len(words) != 5
        or words[0] != "process"
        or words[3] != _place()
        or not words[1].isdecimal()
    ):
        return False
    try:
        os.kill(int(words[1]), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False
    return _is_dead(words[1])


def _is_dead(pid: str) -> bool:
    """A killed process whose parent has not yet asked for its end is still there, but does nothing more."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in ("Z", "X")
    except (OSError, IndexError):
        return False


def _place() -> str:
    """Where process ids mean the same: the machine, and the container in it."""
    try:
        inside = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        inside = "0"
    from platform import node

    return f"{node().replace(' ', '_')}/{inside}"
