"""Programs in a real tmux, which counts many characters wider or narrower than Python's libraries do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from .processes import NOTHING, WAIT, environment

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed; scripts/setup does it")

_MEASURE = """
import json, os, sys, termios, tty
rows, answer = json.load(open(sys.argv[1])), []
tty.setraw(0)
for row in rows:
    os.write(1, ("\\r\\x1b[2K" + row + "\\x1b[6n").encode())
    said = b""
    while not said.endswith(b"R"):
        said += os.read(0, 1)
    answer.append(int(said.rpartition(b";")[2][:-1]) - 1)
json.dump(answer, open(sys.argv[1] + ".new", "w"))
os.rename(sys.argv[1] + ".new", sys.argv[1] + ".widths")
os.read(0, 1)
"""


class Tmux:
    """A tmux server of its own, with one program on a terminal of a given size."""

    def __init__(
        self, folder: Path, *command: str, columns: int, lines: int = 50, env: Mapping[str, str] = NOTHING
    ) -> None:
        self._folder = folder
        self._socket = tempfile.mkdtemp(prefix="tmux-")  # a socket's path may only have about 100 characters
        self._env = {**environment(**env), "LC_ALL": "C.UTF-8"}
        self._env.pop("TMUX", None)
        self._begin("program", columns, lines, command)

    def _begin(self, name: str, columns: int, lines: int, command: tuple[str, ...]) -> None:
        # A shell keeps what the program left on the screen when it ends.
        shell = ["sh", "-c", 'trap : INT; "$@"; echo "exit code $?"; exec cat', "sh", *command]
        self._tmux("new-session", "-d", "-s", name, "-x", str(columns), "-y", str(lines), *shell)

    def _tmux(self, *words: str) -> str:
        order = ["tmux", "-u", "-f", os.devnull, "-S", f"{self._socket}/s", *words]
        done = subprocess.run(
            order, cwd=self._folder, env=self._env, capture_output=True, text=True, check=True, timeout=WAIT
        )
        return done.stdout

    def send(self, *keys: str) -> None:
        """Press keys, as tmux names them; what is no name is typed."""
        self._tmux("send-keys", "-t", "program", *keys)

    @property
    def shown(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "program")

    def until(self, holds: Callable[[str], object]) -> str:
        """The screen, as soon as something holds of it and nothing is being drawn."""
        deadline = time.monotonic() + WAIT
        before, shown = "", self.shown
        while shown != before or not holds(shown):
            assert time.monotonic() < deadline, shown
            time.sleep(0.02)
            before, shown = shown, self.shown
        return shown

    def widths(self, rows: list[str]) -> list[int]:
        """How many columns tmux takes for each of the rows; none may have a character of more than 21 bytes."""
        file = self._folder / "rows.json"
        widths = Path(f"{file}.widths")
        widths.unlink(missing_ok=True)
        file.write_text(json.dumps(rows), encoding="utf-8")
        self._begin("measure", 400, 5, (sys.executable, "-c", _MEASURE, str(file)))
        deadline = time.monotonic() + WAIT
        while not widths.exists():
            assert time.monotonic() < deadline, self._tmux("capture-pane", "-p", "-t", "measure")
            time.sleep(0.02)
        self._tmux("kill-session", "-t", "measure")
        return json.loads(widths.read_text(encoding="utf-8"))

    def close(self) -> None:
        self._tmux("kill-server")
        shutil.rmtree(self._socket, ignore_errors=True)
