"""A program of its own that starts one command, adopts whatever it leaves behind, and ends all of it.

Orphans come to it rather than to init, so daemons cannot slip away; and since its standard input ends with the process
that started it, neither does anything outlive a killed agent. Run by path and with the standard library only.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress

GRACE = 2.0
"""Seconds between asking and forcing to end."""
_GRACE_WHEN_STOPPED = 0.5
"""The same when a person waits for it."""
_DRAIN = 0.3
"""Seconds in which what the command left behind, such as `> >(tee log)`, may end by itself."""
_FORCED = 3.0
"""Seconds in which what was killed has to be gone; what is not, cannot be ended."""
_POLL = 0.05
_LOOK = 1.0
_MOST_AT_ONCE = 1_000
"""Ended processes that are seen to before the time is looked at: there may be ever more of them."""
_ADOPT = 36  # PR_SET_CHILD_SUBREAPER
TIMED_OUT = "timeout"
STOPPED = "stopped"


class Keeper:
    """The command's processes. Standard input is the agent's word to stop, standard error where the end is told."""

    def __init__(self, command: list[str]) -> None:
        self._adopts = _become_subreaper()
        self._childless = False
        self._code: int | None = None
        self._wake, waker = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, frame: None)
        self._shell = _start(command)
        os.close(1)

    def wait(self, seconds: float) -> str:
        """Waits for the command: its exit code, or why it is to end."""
        until = time.monotonic() + seconds
        while True:
            self._reap()
            if self._code is not None:
                return str(self._code)
            left = until - time.monotonic()
            if left <= 0:
                return TIMED_OUT
            if 0 in self._sleep(min(left, _LOOK), listening=True):
                return STOPPED

    def end_all(self, outcome: str) -> tuple[int, int]:
        """How many processes were still there, and how many of them still are."""
        if outcome not in (TIMED_OUT, STOPPED) and self._wait_until_gone(_DRAIN):
            return 0, 0
        found = max(len(self._list_living()), 1)
        self._signal(signal.SIGTERM)
        if not self._wait_until_gone(_GRACE_WHEN_STOPPED if outcome == STOPPED else GRACE):
            until = time.monotonic() + _FORCED
            self._signal(signal.SIGKILL)
            while not self._wait_until_gone(_POLL) and time.monotonic() < until:
                self._signal(signal.SIGKILL)
        return found, 0 if self._are_gone() else max(len(self._list_living()), 1)

    def _are_gone(self) -> bool:
        self._reap()
        # Without children there are no descendants, since orphans come here. A look at the processes would not do:
        # one that forks and ends meanwhile is gone, and its child was not there yet.
        return self._childless if self._adopts else not self._list_living()

    def _wait_until_gone(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while True:
            if self._are_gone():
                return True
            left = until - time.monotonic()
            if left <= 0:
                return False
            self._sleep(min(left, _POLL), listening=False)

    def _sleep(self, seconds: float, *, listening: bool) -> list[int]:
        ready, _, _ = select.select([self._wake, 0] if listening else [self._wake], [], [], seconds)
        if self._wake in ready:
            os.read(self._wake, 4096)
        return ready

    def _reap(self) -> None:
        try:
            for _ in range(_MOST_AT_ONCE):
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == self._shell:
                    self._code = os.waitstatus_to_exitcode(status)
                if not pid:
                    return
        except ChildProcessError:
            self._childless = True

    def _signal(self, number: signal.Signals) -> None:
        """To whole groups, since that cannot be outrun by forking."""
        for group in set(self._list_living().values()):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, number)

    def _list_living(self) -> dict[int, int]:
        """The processes of the command and their groups; none of them shares a group with anyone else."""
        try:
            table = _list_processes()
        except OSError:  # no /proc: only the command's own group can be told
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._shell, 0)
                return {self._shell: self._shell}
            return {}
        found: dict[int, int] = {}
        ours = {os.getpid()}
        while ours:
            new = {
                pid: group
                for pid, (parent, group, session) in table.items()
                if pid not in found and (parent in ours or session == self._shell)
            }
            found |= new
            ours = set(new)
        return found


def _become_subreaper() -> bool:
    """Makes this process the parent of its descendants' orphans, where the system can."""
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        return ctypes.CDLL(None).prctl(_ADOPT, 1, 0, 0, 0) == 0
    except (ImportError, OSError, AttributeError):
        return False


def _start(command: list[str]) -> int:
    """Starts the command in a session of its own, without input, and with one pipe for all output."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(1, 2)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
            signal.signal(number, signal.SIG_DFL)
        os.execv(command[0], command)
    except OSError as error:
        os.write(1, f"{command[0]}: {error.strerror}\n".encode(errors="replace"))
    finally:
        os._exit(126)


def _list_processes() -> dict[int, tuple[int, int, int]]:
    """Parent, group and session of every process that is not a zombie."""
    table: dict[int, tuple[int, int, int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
            # A process whose first thread has ended looks like a zombie, but is none.
            if fields[0] not in (b"Z", b"X") or int(fields[17]) > 1:
                table[int(name)] = (int(fields[1]), int(fields[2]), int(fields[3]))
    return table


def main() -> None:
    keeper = Keeper(sys.argv[2:])
    outcome = keeper.wait(float(sys.argv[1]))
    ended, left = keeper.end_all(outcome)
    with suppress(OSError):  # nobody may be there to be told
        os.write(2, f"{outcome} {ended} {left}\n".encode())
    os._exit(0)


if __name__ == "__main__":
    main()
