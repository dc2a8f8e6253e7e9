"""Run one command line with the limits of `bash`: its environment, its time, its output as plain text."""

from __future__ import annotations

import codecs
import os
import re
import secrets
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from signal import Signals
from traceback import format_exc
from typing import TYPE_CHECKING

from headway.core.logs import logger
from headway.core.secrets import redact
from headway.core.text import UNSAFE, sanitize_for_display
from headway.tools.base import ToolFault
from headway.tools.shell.environment import build_environment
from headway.tools.shell.processes import CommandEnding, run_command

if TYPE_CHECKING:
    from headway.tools.base import Context
    from headway.tools.outputs import OutputSpool
    from headway.tools.sandbox.sandbox import Sandbox

# What a command prints, as plain text: escape sequences removed, progress bars folded into their last state.

_ODD = bytes([*range(9), *range(11, 32), 127])
"""Everything but a tab and a new line that is no text."""
_ESCAPES = re.compile(
    r"""
      \x1b\[ [0-?]* [ -/]* [@-~]                    # colours and movements
    | \x1b[\]PX^_] [^\x07\x1b]* (?:\x07|\x1b\\)     # titles, links and other strings
    | \x1b [ -/]* [0-OQ-WYZ\\`-~]
    """,
    re.VERBOSE,
)
_CONTROL = re.compile(rf"[\0-\x08\x0b-\x1f\x7f-\x9f{UNSAFE}]")
_LONGEST = 8_000
"""A line longer than this is not held back until it is whole."""


class PlainText:
    """One command's output on its way to the model (`add`) and to whoever watches (`report`)."""

    def __init__(self, add: Callable[[str], None], report: Callable[[str], None]) -> None:
        self._add = add
        self._report = report
        self._report_failed = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._odd = False
        """There is more than text in what is held back."""

    def add_bytes(self, data: bytes, *, final: bool = False) -> None:
        text = self._decoder.decode(data, final)
        if text:
            self._publish(_to_plain_text(text))
        # Most output has nothing odd in it and needs no closer look; there may be a lot of it.
        odd = self._odd or len(data.translate(None, _ODD)) != len(data) or _has_odd_letters(text)
        text = self._held + text
        if odd:
            text = _fold_rewritten_lines(_ESCAPES.sub("", text))
        at = len(text) if final else text.rfind("\n") + 1
        if len(text) - at > _LONGEST:
            at = len(text)
        self._held = text[at:]
        self._odd = odd and _CONTROL.search(self._held) is not None
        if at:
            self._add(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", text[:at].rstrip("\r")) if odd else text[:at])

    def close(self) -> None:
        self.add_bytes(b"", final=True)

    def _publish(self, text: str) -> None:
        try:
            self._report(text)
        except Exception:  # whoever watches may fail in any way; the command goes on
            if not self._report_failed:
                self._report_failed = True
                logger().error("Showing output failed:\n%s", redact(format_exc()))


def _has_odd_letters(text: str) -> bool:
    return not text.isascii() and _CONTROL.search(text) is not None


def _to_plain_text(text: str) -> str:
    """A piece of output with nothing in it that a terminal obeys; a line written anew becomes a new line."""
    if text.isprintable():
        return text
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def _fold_rewritten_lines(text: str) -> str:
    """Each line as it was last written; the end of one that goes on stays, since it may still be overwritten."""
    if "\r" not in text:
        return text
    *lines, last = text.split("\n")
    returned = "\r" if last.endswith("\r") else ""
    return "\n".join([*map(_last_version, lines), _last_version(last) + returned])


def _last_version(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2]


TIMED_OUT = 124
"""The exit code of a command that took too long, as `timeout` has it."""


async def run_in_shell(
    command: str,
    folder: str,
    seconds: float,
    context: Context,
    env: Sequence[str],
    spool: OutputSpool,
    sandbox: Sandbox | None = None,
) -> CommandEnding:
    """Run a command line in a folder; its output goes to the spool. Raises `ToolFault` if it cannot be started.

    In a sandbox it has the network only if a person approved the call.
    """
    environ = build_environment(context, env, secrets.token_hex(16))
    output = PlainText(spool.add, context.report)
    try:
        with nullcontext(()) if sandbox is None else sandbox.around(folder, environ, network=context.network) as within:
            ending = await run_command(command, folder, environ, seconds, output.add_bytes, within=within)
    except OSError as error:
        raise ToolFault(_explain(folder, error)) from None
    output.close()
    return ending


def to_exit_code(ending: CommandEnding) -> int:
    if ending.timed_out:
        return TIMED_OUT
    if ending.code is None:
        return 128 + Signals.SIGKILL
    return ending.code if ending.code >= 0 else 128 - ending.code


def _explain(folder: str, error: OSError) -> str:
    if not os.path.isdir(folder):
        return (
            f"The command was not run: the project's folder '{sanitize_for_display(folder, 300)}' "
            "no longer exists; ask the "
            "user about it."
        )
    reason = sanitize_for_display(error.strerror or str(error), 200)
    return f"The command was not run: a process could not be started ({reason}); try again, or ask the user."
