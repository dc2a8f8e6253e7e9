"""`headway`, `TodoWrite` and pieces of Python as processes of their own: started, read, stopped, waited for in bounds.

They are forked from a process that has everything loaded (`tests.support.warm`). What is about loading itself (what is
imported, flags of the interpreter) starts an interpreter with `subprocess` instead.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from . import warm

PROGRAM = str(Path(sys.executable).with_name("headway"))
WAIT = 30.0
"""Seconds after which something that was waited for does not come any more. Nothing here takes a tenth of it."""
Form = dict[str, Any]
NOTHING: Mapping[str, str] = {}


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def events(self) -> list[Form]:
        """What --json printed."""
        return [json.loads(line) for line in self.out.split("\n")[:-1]]


def environment(**more: str) -> dict[str, str]:
    """The environment of a person who has set nothing, with a home in the working folder."""
    ours = ("HEADWAY_", "GIT_", "OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_", "LC_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours) and name != "NO_COLOR"}
    # Whether there is a sandbox depends on the machine and on who runs the tests, and every run says it.
    home = {
        "HEADWAY_SANDBOX": "off",
        "HOME": os.path.abspath("home"),
        "XDG_CONFIG_HOME": os.path.abspath("home/config"),
    }
    return {**kept, **home, "LANG": "C.UTF-8", "TERM": "xterm-256color", **more}


class Process:
    """A process that was started: its exit code comes when it has one."""

    started: ClassVar[list[Process]] = []

    def __init__(self, streams: tuple[int, int, int], order: warm.Order) -> None:
        reported, report = os.pipe()
        self._reported = os.fdopen(reported, encoding="utf-8")
        self.started.append(self)
        self.id = 0
        try:
            warm.order(order, *streams, report)
        finally:
            os.close(report)
        self.id = int(self._line())

    def _line(self) -> str:
        assert select.select([self._reported], [], [], WAIT)[0], "It does not end."
        return self._reported.readline()

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.id, number)

    def kill(self) -> None:
        """Kill it, as `kill -9` does: it is gone afterwards."""
        self.signal(signal.SIGKILL)
        assert self.wait() == -signal.SIGKILL

    @property
    def has_ended(self) -> bool:
        return bool(select.select([self._reported], [], [], 0)[0])

    def wait(self) -> int:
        code = int(self._line())
        self._reported.close()
        return code

    def keep(self) -> None:
        """It outlives the test: whoever started it ends it."""
        self.started.remove(self)

    def discard(self) -> None:
        """Nothing is left of it, wherever a test stopped."""
        if not self._reported.closed:
            if self.id and not (self.has_ended and self._reported.readline()):
                with suppress(ProcessLookupError):
                    self.signal(signal.SIGKILL)
            self._reported.close()


def discard_all() -> None:
    """For the end of every test: a test that fails leaves processes behind."""
    while Process.started:
        Process.started.pop().discard()


# what is started


def headway(*words: str, env: Mapping[str, str] = NOTHING) -> warm.Order:
    """The program, in the working folder, for a person who has set nothing else."""
    return warm.Order(kind=warm.PROGRAM, name="headway", words=[*words], folder=os.getcwd(), env=environment(**env))


def headway_from_nothing(*words: str, env: Mapping[str, str] = NOTHING) -> warm.Order:
    """The program as a shell executes it: it loads what it needs."""
    return warm.Order(kind=warm.EXEC, name=PROGRAM, words=[*words], folder=os.getcwd(), env=environment(**env))


def todo_write(*words: str, folder: Path | str = ".", env: Mapping[str, str] | None = None) -> warm.Order:
    return _order(warm.PROGRAM, "TodoWrite", words, folder, env)


def python(code: str, *words: object, folder: Path | str = ".", env: Mapping[str, str] | None = None) -> warm.Order:
    """As `python -c` does it, in this environment if in no other, but with everything loaded."""
    return _order(warm.CODE, code, words, folder, env)


def function(name: str, *words: object, folder: Path | str = ".", env: Mapping[str, str] | None = None) -> warm.Order:
    """A function `module:name` that takes words."""
    return _order(warm.FUNCTION, name, words, folder, env)


def _order(
    kind: str, name: str, words: tuple[object, ...], folder: Path | str, env: Mapping[str, str] | None
) -> warm.Order:
    given = dict(os.environ if env is None else env)
    return warm.Order(kind=kind, name=name, words=[*map(str, words)], folder=os.path.abspath(folder), env=given)


# without a terminal


class Pipe:
    """What a process prints, read as it comes and never for ever."""

    def __init__(self) -> None:
        self._descriptor, self.other = os.pipe()
        self._read = b""
        self._over = False

    def line(self) -> str:
        """The next line."""
        while b"\n" not in self._read:
            assert not self._over, "It ended."
            self._more()
        line, _, self._read = self._read.partition(b"\n")
        return line.decode()

    def has_line(self) -> bool:
        """Whether there is a line to be read now."""
        if not self._over and select.select([self._descriptor], [], [], 0)[0]:
            self._more()
        return b"\n" in self._read

    def rest(self) -> str:
        """All that comes until it is closed."""
        while not self._over:
            self._more()
        text, self._read = self._read.decode(), b""
        return text

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._over = -1, True

    def _more(self) -> None:
        assert select.select([self._descriptor], [], [], WAIT)[0], "Nothing comes."
        read = os.read(self._descriptor, 65_536)
        self._read += read
        if not read:
            self.close()


class Started(Process):
    """A process without a terminal. Its standard input is what it is given, or what is written to `stdin` later."""

    def __init__(self, order: warm.Order, *, given: bytes | Path | None = b"", stdout: int | None = None) -> None:
        self.out, self.err = Pipe(), Pipe()
        self.stdin = -1
        if isinstance(given, bytes) and len(given) < 60_000:  # fits into a pipe that nobody reads yet
            theirs, self.stdin = os.pipe()
            os.write(self.stdin, given)
            self.close_stdin()
        elif given is None:
            theirs, self.stdin = os.pipe()
        else:
            theirs = os.open(given if isinstance(given, Path) else _file_with(given), os.O_RDONLY)
        try:
            super().__init__((theirs, self.out.other if stdout is None else stdout, self.err.other), order)
        finally:
            for descriptor in (theirs, self.out.other, self.err.other):
                os.close(descriptor)

    def write(self, text: str) -> None:
        os.write(self.stdin, text.encode())

    def close_stdin(self) -> None:
        if self.stdin >= 0:
            os.close(self.stdin)
        self.stdin = -1

    def end(self) -> Done:
        """All that it printed since, when it has ended."""
        out, err = self.out.rest(), self.err.rest()
        return Done(self.wait(), out, err)

    def discard(self) -> None:
        super().discard()
        self.close_stdin()
        self.out.close()
        self.err.close()


def _file_with(text: bytes) -> Path:
    path = Path("standard-input")
    path.write_bytes(text)
    return path


def start(order: warm.Order, *, given: bytes | Path | None = b"", stdout: int | None = None) -> Started:
    return Started(order, given=given, stdout=stdout)


def run_to_end(order: warm.Order, *, given: bytes | Path = b"") -> Done:
    return Started(order, given=given).end()


def run_python(
    code: str, *words: object, folder: Path | str = ".", env: Mapping[str, str] | None = None, given: bytes = b""
) -> Done:
    """Runs Python code to its end."""
    return run_to_end(python(code, *words, folder=folder, env=env), given=given)


class Running(Started):
    """A `headway` without a terminal."""

    def __init__(self, *words: str, stdout: int | None = None, env: Mapping[str, str] = NOTHING) -> None:
        super().__init__(headway(*words, env=env), given=Path(os.devnull), stdout=stdout)

    def event(self, kind: str) -> Form:
        """The next event of this type, with --json."""
        while True:
            event: Form = json.loads(self.out.line())
            if event["type"] == kind:
                return event


def run(*words: str, env: Mapping[str, str] = NOTHING, given: bytes | Path = Path(os.devnull)) -> Done:
    """Runs `headway` to its end, with that as its standard input."""
    return run_to_end(headway(*words, env=env), given=given)


def until(holds: Callable[[], object]) -> None:
    """Waits until something holds."""
    deadline = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < deadline, "It did not happen in time."
        time.sleep(0.02)
