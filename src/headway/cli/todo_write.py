"""The console script `TodoWrite`: the shell contract over the project's store, for any agent that has a shell.

Imports as little as it can: its start-up is paid on every call.
"""

from __future__ import annotations

import os
import sys

from headway.contracts.shell import run_words
from headway.core.errors import HeadwayError
from headway.core.log import Log
from headway.core.session import Session
from headway.project import chosen_session, find_project, open_store, session_name


def main() -> None:
    sys.exit(run(sys.argv[1:]))


def run(words: list[str]) -> int:
    stdin = None
    if words == ["-"]:
        stdin = sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        store = open_store(find_project(os.environ))
        name = session_name(chosen_session(store, os.environ))
        session = Session(Log(store, name))
        if agent := os.environ.get("HEADWAY_AGENT"):
            session = session.agent(agent)
        result = run_words(session, words, stdin)
        store.close()
    except HeadwayError as error:
        _print(sys.stderr.fileno(), f"Error: {error}")
        return 1
    if result.stdout:
        _print(sys.stdout.fileno(), result.stdout)
    if result.stderr:
        _print(sys.stderr.fileno(), result.stderr)
    return result.exit_code


def _print(handle: int, text: str) -> None:
    """Writes UTF-8 whatever the locale says; a reader that has gone away is no error."""
    data = (text + "\n").encode("utf-8", "replace")
    try:
        while data:
            data = data[os.write(handle, data) :]
    except BrokenPipeError:
        pass
