"""Scripts for `--model scripted:FILE.json`, and `headway` started as processes of their own, also on a terminal.

`python -m tests.cli.scripts FD` is a process that has loaded everything and forks a `headway` for every order from the
socket FD: loading the agent takes longer than most runs here. What is forked is a process like any other, with its own
session, terminal, environment and end. Imported, this module has what tests need to order one.
"""

from __future__ import annotations

import asyncio
import atexit
import codecs
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypedDict

PROGRAM = str(Path(sys.executable).with_name("headway"))
ROOT = Path(__file__).parents[2]
WAIT = 30.0
"""Seconds after which something that was waited for does not come any more. Nothing here takes a tenth of it."""
LONG = 60.0
"""Seconds that an answer takes which is never heard to its end."""
Form = dict[str, Any]
NOTHING: Mapping[str, str] = {}


# what the model says


def call(tool: str, /, **args: object) -> Form:
    return {"name": tool, "args": args}


def turn(text: str = "", *calls: Form, **more: object) -> Form:
    return {"text": text, "calls": [*calls], **more}


def talking() -> Form:
    """An answer that begins at once and goes on for longer than anyone listens."""
    return turn(f"So {'on ' * 600}", delay=LONG)


def bash(command: str) -> Form:
    return call("bash", command=command)


def write(path: str, content: str = "new\n") -> Form:
    return call("write_file", path=path, content=content)


def creating(*texts: str) -> Form:
    """A list that the loop keeps."""
    return call("create_todo_list", items=[{"description": text} for text in texts])


def writing(*items: tuple[str, str]) -> Form:
    """A list with the model's own statuses."""
    return call("TodoWrite", todos=[{"content": text, "activeForm": text, "status": state} for text, state in items])


def script(*turns: str | Form, name: str = "script.json", match: str | None = None) -> str:
    """Writes the file into the working folder; the model's name. With `match`, only a conversation that has it fits."""
    form: object = [*turns] if match is None else {"conversations": [{"match": match, "turns": [*turns]}]}
    Path(name).write_text(json.dumps(form), encoding="utf-8")
    return f"scripted:{name}"


# processes


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
    home = {"HOME": os.path.abspath("home"), "XDG_CONFIG_HOME": os.path.abspath("home/config")}
    return {**kept, **home, "LANG": "C.UTF-8", "TERM": "xterm-256color", **more}


class Process:
    """A `headway` that was started: its exit code comes when it has one."""

    started: ClassVar[list[Process]] = []

    def __init__(self, streams: tuple[int, int, int], words: tuple[str, ...], env: Mapping[str, str]) -> None:
        told, tell = os.pipe()
        self._told = os.fdopen(told, encoding="utf-8")
        self.started.append(self)
        self.id = 0
        order = _Order(words=list(words), folder=os.getcwd(), env=environment(**env))
        try:
            socket.send_fds(_nursery(), [json.dumps(order).encode()], [*streams, tell])
        finally:
            os.close(tell)
        self.id = int(self._line())

    def _line(self) -> str:
        assert select.select([self._told], [], [], WAIT)[0], "It does not end."
        return self._told.readline()

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.id, number)

    @property
    def has_ended(self) -> bool:
        return bool(select.select([self._told], [], [], 0)[0])

    def wait(self) -> int:
        code = int(self._line())
        self._told.close()
        return code

    def discard(self) -> None:
        """Nothing is left of it, wherever a test stopped."""
        if not self._told.closed:
            if self.id and not self.has_ended:
                self.signal(signal.SIGKILL)
            self._told.close()


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


class Running(Process):
    """A `headway` without a terminal."""

    def __init__(self, *words: str, stdout: int | None = None, env: Mapping[str, str] = NOTHING) -> None:
        self.out, self.err = Pipe(), Pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        ours = [nothing, self.out.other, self.err.other]
        try:
            super().__init__((nothing, self.out.other if stdout is None else stdout, self.err.other), words, env)
        finally:
            for descriptor in ours:
                os.close(descriptor)

    def event(self, kind: str) -> Form:
        """The next event of this type, with --json."""
        while True:
            event: Form = json.loads(self.out.line())
            if event["type"] == kind:
                return event

    def end(self) -> Done:
        """All that it printed since, when it has ended."""
        out, err = self.out.rest(), self.err.rest()
        return Done(self.wait(), out, err)

    def discard(self) -> None:
        super().discard()
        self.out.close()
        self.err.close()


def discard_all() -> None:
    """For the end of every test: a test that fails leaves processes behind."""
    while Process.started:
        Process.started.pop().discard()


def run(*words: str, env: Mapping[str, str] = NOTHING) -> Done:
    """Runs `headway` to its end."""
    return Running(*words, env=env).end()


def until(holds: Callable[[], object]) -> None:
    """Waits until something holds."""
    deadline = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# terminals


class Terminal(Process):
    """A `headway` on a terminal of a given size, with the screen as a person sees it."""

    def __init__(
        self,
        *words: str,
        columns: int = 80,
        lines: int = 24,
        typed: bool = True,
        loaded: bool = True,
        env: Mapping[str, str] = NOTHING,
    ) -> None:
        """With `typed=False` only its output goes to the terminal; with `loaded=False` it begins from nothing."""
        import pyte

        self._screen = pyte.HistoryScreen(columns, lines, history=500, ratio=1)
        self._stream = pyte.Stream(self._screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._ended = self._closed = False
        self.given_back = False
        """Whether in the end there is a cursor, and what is typed appears."""
        self.raw = ""
        self._terminal, other = os.openpty()
        termios.tcsetwinsize(other, (lines, columns))
        stdin = other if typed else os.open(os.devnull, os.O_RDONLY)
        try:
            super().__init__((stdin, other, other), words if loaded else (FROM_NOTHING, *words), env)
        finally:
            for descriptor in {stdin, other}:
                os.close(descriptor)

    def resize(self, columns: int, lines: int) -> None:
        termios.tcsetwinsize(self._terminal, (lines, columns))
        self._screen.resize(lines, columns)

    def send(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    @property
    def shown(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def all(self) -> str:
        """The screen, and what went out of it at the top."""
        above = ["".join(row[x].data for x in range(self._screen.columns)) for row in self._screen.history.top]
        return "\n".join([*(line.rstrip() for line in above), self.shown])

    def until(self, holds: Callable[[str], object]) -> str:
        """The screen, as soon as something holds of it."""
        deadline = time.monotonic() + WAIT
        while not holds(self.shown):
            assert time.monotonic() < deadline and not self._ended, self.shown
            self._read()
        return self.shown

    def asked(self, about: str) -> str:
        """The screen, when it waits for the answer to a question that has these words."""
        return self.until(lambda shown: about in shown and shown.rstrip().endswith(">"))

    def end(self) -> int:
        deadline = time.monotonic() + WAIT
        while not self._ended:
            assert time.monotonic() < deadline, self.shown
            self._read()
        self.given_back = self.echoes and self.raw.rfind("\x1b[?25h") >= self.raw.rfind("\x1b[?25l")
        self.close()
        return self.wait()

    @property
    def echoes(self) -> bool:
        """Whether what is typed appears."""
        return bool(termios.tcgetattr(self._terminal)[3] & termios.ECHO)

    def close(self) -> None:
        """The terminal goes away, as when a connection breaks."""
        if not self._closed:
            self._closed = True
            os.close(self._terminal)

    def discard(self) -> None:
        super().discard()
        self.close()

    def _read(self) -> None:
        if not select.select([self._terminal], [], [], 0.2)[0]:
            return
        try:
            # Little at a time, so that no screen is missed because this process was slow.
            text = self._decoder.decode(os.read(self._terminal, 256))
        except OSError:  # the last process that had it open is gone
            self._ended = True
            return
        self.raw += text
        self._stream.feed(text)


# the process that forks


FROM_NOTHING = "--from-nothing"
"""As the first word: the program itself is executed, and loads what it needs."""


class _Order(TypedDict):
    words: list[str]
    folder: str
    env: dict[str, str]


@cache
def _nursery() -> socket.socket:
    """One for all tests of this process; it ends with them."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    program = [sys.executable, "-m", "tests.cli.scripts", str(theirs.fileno())]
    process = subprocess.Popen(program, cwd=ROOT, pass_fds=[theirs.fileno()])
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait(WAIT)

    atexit.register(end)
    return ours


def _serve(orders: socket.socket) -> None:
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, descriptors, _, _ = socket.recv_fds(orders, 1_000_000, 4)
        if not message:
            return
        if not os.fork():
            orders.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _keep(json.loads(message), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _load() -> None:
    import importlib
    import pkgutil

    import headway
    import headway.agent
    import headway.testing

    for module in pkgutil.walk_packages(headway.__path__, "headway."):
        importlib.import_module(module.name)
    for name in ("rich.live", "rich.console", "rich.cells", "rich.text", "pydantic_ai.models"):
        importlib.import_module(name)
    session = headway.open(memory=True)  # what is built when it is first used
    asyncio.run(headway.agent.run_loop(session, "Hello", model=headway.testing.ScriptedModel(["Hello."])))
    until(lambda: threading.active_count() == 1)  # only then a fork is a whole process
    gc.freeze()


def _keep(order: _Order, stdin: int, stdout: int, stderr: int, tell: int) -> None:
    """Starts the command; says its process id, and its exit code when it has one."""
    child = os.fork()
    if not child:
        os.close(tell)
        _become(order, (stdin, stdout, stderr))
        return
    for descriptor in (stdin, stdout, stderr):
        os.close(descriptor)
    os.write(tell, f"{child}\n".encode())
    _, status = os.waitpid(child, 0)
    with suppress(BrokenPipeError):  # nobody waits for it any more
        os.write(tell, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(order: _Order, streams: tuple[int, int, int]) -> None:
    import fcntl

    os.setsid()
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    for descriptor in {*streams}:
        os.close(descriptor)
    if os.isatty(1):
        fcntl.ioctl(1, termios.TIOCSCTTY, 0)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["env"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    words = order["words"]
    if words[:1] == [FROM_NOTHING]:
        os.execv(PROGRAM, [PROGRAM, *words[1:]])
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdin = os.fdopen(0, encoding=encoding, closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding=encoding, closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding=encoding, errors="backslashreplace", buffering=1, closefd=False)
    sys.argv = ["headway", *words]
    sys.modules["__main__"].__package__ = None  # so that usage lines name the program and not this module
    from headway.cli.app import main

    main()
    sys.exit(0)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
