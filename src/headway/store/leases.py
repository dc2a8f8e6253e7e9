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
    return f"process {os.getpid()} on {_machine_id()}/{_read_start_time(str(os.getpid())) or ''} {name}"


def hold_lease(db: Connection, session: str, key: str, holder: str, seconds: float) -> str | None:
    """Takes or renews it within the caller's transaction; who else has it, if someone does."""
    other = find_live_holder(db.execute(FIND, (session, key)).fetchall())
    if other not in (None, holder):
        return other
    until = time.time() + seconds
    db.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)", (session, key, holder, until))
    return None


def release_lease(db: Connection, session: str, key: str, holder: str) -> None:
    db.execute("DELETE FROM leases WHERE session = ? AND key = ? AND holder = ?", (session, key, holder))


def find_live_holder(rows: list[tuple[str, float]]) -> str | None:
    return rows[0][0] if rows and is_live(*rows[0]) else None


def is_live(holder: str, until: float) -> bool:
    """A process of this place as long as it is there, also if it was stopped for a while; others until it runs out."""
    words = holder.split(" ", 4)
    if len(words) == 5 and words[0] == "process" and f"{words[3]}/".startswith(f"{_machine_id()}/"):
        started = words[3][len(_machine_id()) + 1 :]
        now = _read_start_time(words[1])
        if now is not None:
            return bool(now) and started in ("", now)
    return until > time.time()


def _read_start_time(pid: str) -> str | None:
    """When a process was started, as the system counts it: tells it from a later one of the same number.

    Nothing for one that is gone; None where that cannot be told.
    """
    if not os.path.isdir("/proc/self"):
        return None
    try:
        with open(f"/proc/{int(pid)}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except (OSError, ValueError):
        return ""
    # A killed process whose parent has not yet asked for its end is still there, but does nothing more.
    return "" if fields[0] in ("Z", "X") else fields[19]


def _machine_id() -> str:
    """Where process ids mean the same: the machine, and the container in it."""
    from platform import node

    try:
        inside = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        inside = "0"
    return f"{node().replace(' ', '_')}/{inside}"
