"""Runs one command under its keeper: output as it comes, an end in bounded time, nothing left running.

The keeper does the ending. Only if it was itself killed are the processes of the call looked for here, by their mark.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.core.logs import logger
from headway.core.secrets import redact
from headway.tools.shell import process_keeper as keeper
from headway.tools.shell.environment import MARK

_SLACK = keeper.GRACE + 10
"""Seconds beyond a command's time in which the keeper has to be done."""
_DRAIN = 2.0
"""Seconds in which the rest of the output has to arrive."""
_PASSES = 50
_QUIET = 3
"""Passes in which nothing was found; in one alone, a process that was just forking may have been missed."""
_PAUSE = 0.01
_log = logger()


@dataclass(frozen=True, slots=True)
class CommandEnding:
    """How a command came to its end."""

    code: int | None
    """What it returned, negative for a signal; None if it was ended before."""
    timed_out: bool = False
    ended: int = 0
    """Processes that it had left running, and that were ended."""
    left: int = 0
    """Processes that could not be ended."""


async def run_command(
    command: str,
    folder: str,
    environ: Mapping[str, str],
    seconds: float,
    take: Callable[[bytes], None],
    *,
    within: Sequence[str] = (),
) -> CommandEnding:
    """Runs the command and hands over its output in pieces. Raises `OSError` where it cannot be started.

    `within` are the words that start a sandbox. The keeper runs in it, since nobody outside could wait for what a
    command leaves behind: with the sandbox's first process, all of it is gone.
    """
    watch = _KeeperProtocol(take)
    interrupted = ended_well = False
    try:
        starting = asyncio.ensure_future(
            asyncio.get_running_loop().subprocess_exec(
                lambda: watch,
                *within,
                *(sys.executable, "-I", "-S", "-X", "utf8", keeper.__file__, str(seconds)),
                *(*_find_shell(environ), command.encode()),
                cwd=folder,
                env=environ,
                start_new_session=True,
            )
        )
        # Cancelled in the middle, it would kill the keeper alone, and wait for the command to end by itself.
        interrupted = await _wait_despite_cancel(starting, _SLACK)
        transport, _ = await starting
        try:
            if not interrupted:
                await asyncio.wait([watch.exited], timeout=seconds + _SLACK)
        finally:
            if (control := transport.get_pipe_transport(0)) is not None:
                control.close()
            interrupted |= await _wait_despite_cancel(watch.exited, _SLACK)
            interrupted |= await _wait_despite_cancel(watch.closed, _DRAIN)
            transport.close()
            interrupted |= await _wait_despite_cancel(watch.closed, _DRAIN)
            ended_well = transport.get_returncode() == 0
    finally:
        # A command can write what it likes to its keeper's outlets; only a keeper that ended well is believed.
        ending = watch.to_ending() if ended_well else None
        if ending is None:
            kill_marked(environ[MARK])
            if within and not interrupted and (failure := watch.failure_of(within[0])):
                raise OSError(errno.EPERM, failure)
    if interrupted:
        raise asyncio.CancelledError
    return ending or CommandEnding(None)


def kill_marked(mark: str) -> None:
    """Kills whatever has the mark of this call in its environment, until nothing has."""
    if sys.platform != "linux":
        return
    quiet = 0
    for _ in range(_PASSES):
        found = list_marked(mark)
        quiet = 0 if found else quiet + 1
        if quiet == _QUIET:
            return
        for pid in found:
            with suppress(OSError):
                _kill(pid, mark)
        time.sleep(_PAUSE)
    _log.warning("Some processes of a command could not be stopped: %s", list_marked(mark))


def list_marked(mark: str) -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _is_marked(int(name), mark)]


def _kill(pid: int, mark: str) -> None:
    """The handle stays with the process, so that no other one is hit that has got its number meanwhile."""
    try:
        handle = os.pidfd_open(pid)
    except OSError as error:
        if error.errno == errno.ENOSYS and _is_marked(pid, mark):
            os.kill(pid, signal.SIGKILL)
        return
    try:
        if _is_marked(pid, mark):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    finally:
        os.close(handle)


def _is_marked(pid: int, mark: str) -> bool:
    try:
        return f"{MARK}={mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _find_shell(environ: Mapping[str, str]) -> list[str]:
    bash = shutil.which("bash", path=os.pathsep.join(("/bin", "/usr/bin", environ["PATH"])))
    return ["/bin/sh", "-c"] if bash is None else [bash, "--noprofile", "--norc", "-c"]


async def _wait_despite_cancel(future: asyncio.Future[Any], seconds: float) -> bool:
    """Waits, even when cancelled, since what is under way has to be ended first. Whether it was cancelled."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    cancelled = False
    while not future.done() and (left := until - loop.time()) > 0:
        try:
            await asyncio.wait([future], timeout=left)
        except asyncio.CancelledError:
            cancelled = True
    return cancelled


class _KeeperProtocol(asyncio.SubprocessProtocol):
    """What comes from the keeper: the command's output on 1, the keeper's own last word on 2."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self._take = take
        self._said = b""

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._take(data)
        else:
            self._said = (self._said + data)[-4096:]

    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    def failure_of(self, program: str) -> str:
        """Return why a sandbox could not be started; nothing if it could."""
        said = self._said.decode(errors="replace").strip()
        name = os.path.basename(program)
        return said.splitlines()[-1] if said.startswith(f"{name}: ") else ""

    def to_ending(self) -> CommandEnding | None:
        """None if the keeper did not get to say it."""
        try:
            outcome, ended, left = self._said.decode().split()
            if outcome in (keeper.TIMED_OUT, keeper.STOPPED):
                return CommandEnding(None, outcome == keeper.TIMED_OUT, int(ended), int(left))
            return CommandEnding(int(outcome), False, int(ended), int(left))
        except ValueError:
            if self._said:
                _log.error("The supervisor of a command failed: %s", redact(self._said.decode(errors="replace")))
            return None
