"""The console script `TodoWrite`: the shell contract over the project's store, for any agent that has a shell.

Imports as little as it can: its start-up is paid on every call.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from headway.contracts.shell import INVALID, ShellResult, help_text, run_words, wants_help
from headway.core.errors import HeadwayError
from headway.project import choose_session_name, find_project_of_list, open_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


def main() -> None:
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(code)  # the file is closed and the answer is written: Python's own tidying up would only take time


def run(words: list[str]) -> int:
    try:
        result = _run_words(words)
    except UnicodeDecodeError as error:
        result = ShellResult("", f"{INVALID}\nAt byte {error.start + 1}: it is not UTF-8", 1)
    except HeadwayError as error:
        from headway.app.advice import explain_error

        result = ShellResult("", f"Error: {explain_error(error)}", 1)
    except OSError as error:
        result = ShellResult("", f"Error: {error}", 1)
    _print(sys.stdout, result.stdout)
    _print(sys.stderr, result.stderr)
    return result.exit_code


def _run_words(words: list[str]) -> ShellResult:
    if wants_help(words):
        return ShellResult(help_text(), "", 0)
    words = [os.fsencode(word).decode() for word in words]  # UTF-8 whatever the locale says
    stdin = _read_stdin() if words == ["-"] else None
    store = open_store(find_project_of_list(os.environ))
    try:
        session = store.session(choose_session_name(store, os.environ))
        if agent := os.environ.get("HEADWAY_AGENT"):
            session = session.agent(agent)
        return run_words(session, words, stdin)
    finally:
        store.close()


def _read_stdin() -> str:
    stdin: TextIO | None = sys.stdin
    return "" if stdin is None else stdin.buffer.read().decode()


def _print(stream: TextIO | None, text: str) -> None:
    """Writes UTF-8 whatever the locale says; a reader that has gone away is no error."""
    if stream is None or not text:
        return
    data = (text + "\n").encode("utf-8", "replace")
    try:
        while data:
            data = data[os.write(stream.fileno(), data) :]
    except OSError:
        return
