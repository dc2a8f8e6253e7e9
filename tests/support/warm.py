"""A process that has everything loaded and forks others: loading the agent takes longer than most of what is tested.

`python -m tests.support.warm FD FOLDER` listens on the socket FD, which is in FOLDER, until its standard input ends.
One serves all workers of a test run: whoever starts it passes the address on in the environment. What it forks is a
process like any other, with its own session, terminal, environment and end. `tests.support.processes` has what tests
need to order one.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

ROOT = Path(__file__).parents[2]
ADDRESS = "HEADWAY_TESTS_WARM"
"""The variable that says where the process of this test run listens."""
PROGRAM, CODE, FUNCTION, EXEC = "program", "code", "function", "exec"
_FROM_A_SHELL = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
"""What a program hears when it is started from a shell, whatever started the tests (`nohup`, a background job)."""


class Order(TypedDict):
    kind: str
    """`program`: a console script by name. `code`: Python text. `function`: `module:name`, called with the words.
    `exec`: a program that is executed, and so loads what it needs."""
    name: str
    words: list[str]
    folder: str
    env: dict[str, str]


def order(wanted: Order, stdin: int, stdout: int, stderr: int, report: int) -> None:
    """Starts a process. Its id, and its exit code when it has one, are written to `report`, a line each."""
    socket.send_fds(_connection(), [json.dumps(wanted).encode()], [stdin, stdout, stderr, report])


def start() -> None:
    """Starts the process for all workers of this test run; it ends with this one."""
    folder = tempfile.mkdtemp(prefix="headway-warm-")
    address = os.path.join(folder, "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen(64)
        program = [sys.executable, "-m", "tests.support.warm", str(listener.fileno()), folder]
        # In a session of its own, where a Ctrl+C for the tests does not reach it: it ends when they do.
        pipe, descriptors = subprocess.PIPE, [listener.fileno()]
        process = subprocess.Popen(program, cwd=ROOT, pass_fds=descriptors, stdin=pipe, start_new_session=True)
    os.environ[ADDRESS] = address

    def end() -> None:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)

    atexit.register(end)


@cache
def _connection() -> socket.socket:
    if ADDRESS not in os.environ:
        start()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(os.environ[ADDRESS])
    return connection


# the process that forks


def _serve(listener: socket.socket, folder: str) -> None:
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    connections = [listener]
    while True:
        readable = select.select([sys.stdin, *connections], [], [])[0]
        if sys.stdin in readable:  # whoever started it is gone, in whatever way
            shutil.rmtree(folder)
            return
        for connection in [one for one in connections if one in readable]:
            if connection is listener:
                connections.append(listener.accept()[0])
                continue
            message, descriptors, _, _ = socket.recv_fds(connection, 1_000_000, 4)
            if not message:
                connections.remove(connection)
                connection.close()
                continue
            if not os.fork():
                for inherited in connections:
                    inherited.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _keep(json.loads(message), *descriptors)
                return
            for descriptor in descriptors:
                os.close(descriptor)


def _load() -> None:
    import headway
    import headway.agent
    import headway.testing

    for module in pkgutil.walk_packages(headway.__path__, "headway."):
        if not module.name.startswith("headway.adapters."):  # their frameworks are in environments of their own
            importlib.import_module(module.name)
    for name in ("rich.live", "rich.console", "rich.cells", "rich.text", "pydantic_ai.models", "platformdirs.unix"):
        importlib.import_module(name)
    session = headway.open(memory=True)  # what is built when it is first used
    asyncio.run(headway.agent.run_loop(session, "Hello", model=headway.testing.ScriptedModel(["Hello."])))
    deadline = time.monotonic() + 30
    while threading.active_count() > 1:  # only then a fork is a whole process
        assert time.monotonic() < deadline, threading.enumerate()
        time.sleep(0.02)
    gc.freeze()


def _keep(wanted: Order, stdin: int, stdout: int, stderr: int, report: int) -> None:
    """Starts the process; reports its id, and its exit code when it has one."""
    child = os.fork()
    if not child:
        os.close(report)
        _become(wanted, (stdin, stdout, stderr))
        return
    for descriptor in (stdin, stdout, stderr):
        os.close(descriptor)
    with suppress(BrokenPipeError):  # nobody waits for it any more
        os.write(report, f"{child}\n".encode())
        _wait_or_kill(child, report)
        _, status = os.waitpid(child, 0)
        os.write(report, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _wait_or_kill(child: int, report: int) -> None:
    """Wait until the process ends, and kill it with all its own if whoever ordered it is gone: killed itself, say."""
    if sys.platform != "linux":
        return
    poll = select.poll()
    poll.register(os.pidfd_open(child), select.POLLIN)
    poll.register(report, 0)  # reports POLLERR when nobody can read it any more
    if report in [descriptor for descriptor, _ in poll.poll()]:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)


def _become(wanted: Order, streams: tuple[int, int, int]) -> None:
    import fcntl

    os.setsid()
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    for descriptor in {*streams}:
        os.close(descriptor)
    if os.isatty(1):
        fcntl.ioctl(1, termios.TIOCSCTTY, 0)
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    for number in _FROM_A_SHELL:
        signal.signal(number, signal.SIG_DFL)
    if wanted["kind"] == EXEC:
        os.execv(wanted["name"], [wanted["name"], *wanted["words"]])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    time.tzset()
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    sys.stdin = os.fdopen(0, encoding=encoding, closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding=encoding, closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding=encoding, errors="backslashreplace", buffering=1, closefd=False)
    code = 0
    try:
        _run(wanted)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    _leave(code)
    sys.exit(code)


def _leave(code: int) -> None:
    """End as the interpreter does, except that what was loaded before the fork is not taken apart, only to be freed."""
    vars(threading)["_shutdown"]()
    vars(atexit)["_run_exitfuncs"]()
    gc.collect()  # tasks, files and processes that were forgotten complain now, as they do in an interpreter
    with suppress(OSError, ValueError):  # what cannot be printed is for the interpreter to tell
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code & 0xFF)


def _run(wanted: Order) -> None:
    name, words = wanted["name"], wanted["words"]
    main = sys.modules["__main__"]
    main.__package__ = None  # so that usage lines name the program and not this module
    match wanted["kind"]:
        case "program":
            sys.argv = [name, *words]
            if name == "TodoWrite":
                from headway.cli.todo_write import main as run
            else:
                from headway.cli.app import main as run
            run()
        case "code":
            sys.argv = ["-c", *words]
            sys.path[0] = ""
            fresh: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
            exec(compile(name, "<string>", "exec"), fresh)  # noqa: S102
        case _:
            module, _, function = name.partition(":")
            getattr(importlib.import_module(module), function)(*words)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
