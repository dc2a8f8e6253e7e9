"""`headway` alone on a real terminal: what a person sees, moment by moment, and what is typed at it."""

from __future__ import annotations

import os
import re
import select
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.processes import NOTHING, WAIT
from tests.support.terminal import Terminal

import headway as api
from headway.core.events import Event
from headway.core.run_events import RunFinished, RunStarted, ToolFinished

CTRL_C, CTRL_D, CTRL_O, CTRL_P, CTRL_T, CTRL_U = "\x03", "\x04", "\x0f", "\x10", "\x14", "\x15"
TAB, ENTER = "\t", "\r"
WITHOUT_UNICODE = {"PYTHONIOENCODING": "ascii"}
NAME = "default"
"""The session of most tests: the one in which everyone begins."""
SO_LONG = "echo begun > begun; exec sleep 60"
"""A command that says when it has begun, and is never waited for."""
_SHOWN = "\x1b[?25h"
"""What gives the cursor back: the end of everything that is drawn in one go."""


class Repl(Terminal):
    """A terminal session in front of a person, who only ever sees what is drawn to its end."""

    def __init__(
        self, *words: str, columns: int = 100, lines: int = 30, loaded: bool = True, env: Mapping[str, str] = NOTHING
    ) -> None:
        self._coming = ""
        self.raw: str = ""
        self.looks: list[str] | None = None
        """Every screen there was since this was made a list."""
        self.seen = ""
        """The screen as it was drawn last."""
        env = {"XDG_STATE_HOME": os.path.abspath("home/state"), **env}
        super().__init__(*words, columns=columns, lines=lines, loaded=loaded, env=env)
        above = self._screen.history
        self._screen.history = above._replace(top=deque(maxlen=20_000), size=20_000, position=20_000)

    def _read(self) -> None:
        """One drawing at a time, so that no screen is missed because this process was slow."""
        if _SHOWN not in self._coming and not self._ended:
            if select.select([self._terminal], [], [], 0.2)[0]:
                try:
                    self._coming += self._decoder.decode(os.read(self._terminal, 65_536))
                except OSError:  # the last process that had it open is gone
                    self._ended = True
            elif self._coming:
                self._feed(self._coming)
        if _SHOWN in self._coming:
            self._feed(self._coming[: self._coming.index(_SHOWN) + len(_SHOWN)])
            self.seen = self._looked()
            if self.looks is not None:
                self.looks.append(self.seen)
        elif self._ended:
            self._feed(self._coming)

    def _feed(self, text: str) -> None:
        self._coming = self._coming[len(text) :]
        self.raw += text
        self._stream.feed(text)

    def _looked(self) -> str:
        rows, columns = self._screen.buffer, range(self._screen.columns)
        return "\n".join("".join([rows[y][x].data for x in columns]).rstrip() for y in range(self._screen.lines))

    def until(self, holds: Callable[[str], object]) -> str:
        """The screen, as soon as something holds of what was drawn."""
        deadline = time.monotonic() + WAIT
        while not holds(self.seen):
            assert time.monotonic() < deadline and not self._ended, self.shown
            self._read()
        return self.seen

    def until_there(self, *texts: str) -> str:
        return self.until(lambda seen: all(text in seen for text in texts))

    def idle(self, *texts: str) -> str:
        """The screen, when nothing goes on and these texts are there."""
        return self.until(lambda seen: is_idle(seen) and all(text in seen for text in texts))

    def busy(self, *texts: str) -> str:
        """The screen, while a run goes on and these texts are there."""
        return self.until(lambda seen: bottom(seen).endswith("Ctrl+C stop") and all(text in seen for text in texts))

    def type(self, text: str) -> str:
        """The screen with the text at the prompt, where it was empty."""
        self.send(text)
        return self.until(lambda seen: typed(seen) == text)

    def say(self, text: str) -> None:
        self.send(f"{text}{ENTER}")

    def leave(self) -> int:
        self.send(CTRL_D)
        return self.end()


def talk(*words: str, model: str, name: str = NAME, columns: int = 100, lines: int = 30) -> Repl:
    """A terminal session that waits for its first message, in which nobody is asked."""
    named = [] if name == NAME else ["--session", name]
    terminal = Repl(*named, "--model", model, "--mode", "yolo", *words, columns=columns, lines=lines)
    terminal.idle()
    return terminal


# what is on a screen


def bottom(seen: str) -> str:
    """The line about the session."""
    return seen.rstrip().rpartition("\n")[2]


def is_idle(seen: str) -> bool:
    return " · " in bottom(seen).replace(" - ", " · ") and not bottom(seen).endswith("Ctrl+C stop")


def prompt(seen: str) -> str:
    """The last line that is typed on, with its prompt."""
    lines = [line for line in seen.splitlines()[:-1] if re.match(r"(\[PLAN\] )?>( |$)", line)]
    return lines[-1] if lines else ""


def typed(seen: str) -> str:
    return re.sub(r"^(\[PLAN\] )?> ?", "", prompt(seen))


def words(text: str) -> str:
    """What there is to read in it, wherever its lines were broken."""
    return re.sub(r"\s+", "", text)


# what is kept


def kept(project: Path, name: str | None = None) -> api.Session:
    """The session, else the one that commands use."""
    return api.open(project, name or api.open(project).store.current() or NAME)


def events(project: Path, name: str | None = None) -> list[Event]:
    return [*kept(project, name).events()]


def answers(project: Path) -> list[str]:
    """What the model was told of its calls."""
    return [event.data.text for event in events(project) if isinstance(event.data, ToolFinished)]


def reasons(project: Path, name: str | None = None) -> list[str]:
    """Why the runs of the session ended."""
    return [event.data.reason for event in events(project, name) if isinstance(event.data, RunFinished)]


def said(project: Path, name: str | None = None) -> list[str]:
    """What the person said to the model."""
    return [event.data.task for event in events(project, name) if isinstance(event.data, RunStarted)]


def statuses(project: Path, name: str | None = None) -> list[str]:
    return [str(todo.status) for todo in kept(project, name).todos]
