"""Slash commands: `/todos add "…"` is `headway todos add "…"`, run in this process, with what it prints as text.

There is no list of commands here: which there are, what they take and what their help says is in the command tree.
"""

from __future__ import annotations

import io
import re
import sys
import threading
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, TextIO

import click

from headway.app.advice import explain_error
from headway.cli.app import COMMANDS, app
from headway.cli.options import CommandContext, format_as_typed
from headway.core.errors import HeadwayError
from headway.core.text import neutralize_lines

SLASHES = ("/", "／")
"""What a command begins with: as typed, and as an input method for Chinese may write it."""
_SPACES = " \t\r\n"
_QUOTES = "\"'"
_ESCAPED = re.compile(r'\\(["\\])')
_SPECIAL = re.compile(r"[ \t\r\n\\]|^$|^[\"']|^-.*=[\"']")


def run_slash_command(line: str, chosen: CommandContext) -> str:
    """Runs a line that begins with a slash. Returns all that it printed; whatever was wrong with it is in there too."""
    return run_with_exit_code(line, chosen)[0]


def run_with_exit_code(line: str, chosen: CommandContext) -> tuple[str, int]:
    """The same, with the exit code."""
    command = drop_slash(line)
    found = split_words(command)
    if any(_is_unclosed(command, word) for word in found):
        return 'Error: A " is not closed; put one at the end of the text as well.', 1
    words = [word.text for word in found] or ["help"]
    chosen = replace(chosen, session=None, agent=None, json=False)  # the session is the one that is open now
    with _capture_output() as printed:
        code = _invoke(words, chosen)
    text = neutralize_lines("".join(printed).rstrip("\n"))
    if words[0] == "help" or not {"--help", "-h"}.isdisjoint(words):
        return _ANYWHERE.sub("/", text), code
    return text, code


def drop_slash(line: str) -> str:
    text = line.lstrip()
    return text[1:] if text.startswith(SLASHES) else text


def _invoke(words: list[str], chosen: CommandContext) -> int:
    """Runs the command and prints what kept it from running."""
    debug = chosen.debug or "--debug" in words
    try:
        code = app.main(words, prog_name="headway", standalone_mode=False, obj=chosen)
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(_ANYWHERE.sub("/", error.format_message()))
        return 0
    except click.ClickException as error:
        click.echo(f"Error: {_format_usage_error(error)}")
    except click.Abort:
        click.echo("Stopped.")
    except SystemExit as error:  # said by the command itself
        return error.code if isinstance(error.code, int) else 1
    except HeadwayError as error:
        click.echo(traceback.format_exc() if debug else f"Error: {explain_error(error, '/')}")
    except Exception as error:  # a mistake of ours must not end the terminal session
        why = f"/{words[0]} failed ({type(error).__name__}: {error}); try it with --debug to see where"
        click.echo(traceback.format_exc() if debug else f"Error: {why}.")
    return 1


def _format_usage_error(error: click.ClickException) -> str:
    """A mistake in how a command was written, in one sentence that says what to do."""
    message = error.format_message().strip()
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    if ctx is None or ctx.parent is None:
        return message
    more = f"see /help {format_as_typed(ctx)[1:]}"
    if isinstance(error, click.MissingParameter):
        return f"{message.rstrip('.')}; {more}."
    if message.startswith("Got unexpected extra argument"):
        return f"{message.rstrip('.')}; quote a text that contains spaces, or {more}."
    return message


# words


class Word(NamedTuple):
    text: str
    """What is meant, without quotes."""
    start: int
    """Where it begins in the line, its quote included."""
    end: int


def split_words(line: str, *, unfinished: bool = False) -> list[Word]:
    """The words of a line, as a shell has them, but a quote inside a word or one that is never closed is just itself.
    (`ran` refuses a command with a double quote that is never closed.)

    So `don't` is a word, and `'tis` too. A backslash is one unless a space, a quote or a backslash follows. In a line
    that is `unfinished`, a quote that is not closed yet reaches to the end.
    """
    found: list[Word] = []
    at = 0
    while at < len(line):
        if line[at] in _SPACES:
            at += 1
            continue
        text, end = _read_word(line, at, unfinished)
        found.append(Word(text, at, end))
        at = end
    return found


def _read_word(line: str, start: int, unfinished: bool) -> tuple[str, int]:
    text, at = "", start
    while at < len(line) and line[at] not in _SPACES:
        char = line[at]
        opens = at == start or (line[start] == "-" and line[at - 1] == "=")
        if char in _QUOTES and opens and (end := _find_closing_quote(line, at) or unfinished * len(line)):
            inner = line[at + 1 : end]
            text += _ESCAPED.sub(r"\1", inner) if char == '"' else inner
            at = end + 1
            continue
        if char == "\\" and line[at + 1 : at + 2] and line[at + 1] in f"{_SPACES}{_QUOTES}\\":
            at += 1
        text += line[at]
        at += 1
    return text, min(at, len(line))


def _is_unclosed(line: str, word: Word) -> bool:
    """Whether a word begins with a double quote that nothing after it could close."""
    return line[word.start] == '"' and _find_closing_quote(line, word.start) == 0 and '"' not in line[word.start + 1 :]


def _find_closing_quote(line: str, at: int) -> int:
    """Where the quote that opens here is closed, which only the end of a word does; 0 if it is not."""
    quote, end = line[at], at + 1
    while end < len(line):
        if line[end] == "\\" and quote == '"':
            end += 1
        elif line[end] == quote and (end + 1 == len(line) or line[end + 1] in _SPACES):
            return end
        end += 1
    return 0


def quote_word(text: str) -> str:
    """The word as it is written in a line, so that `split` gives it back."""
    if not _SPECIAL.search(text):
        return text
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


# what is printed


class _ThreadStream(io.StringIO):
    """Takes what one thread prints. For all others it is the stream that was there before."""

    def __init__(self, printed: list[str], before: TextIO) -> None:
        super().__init__()
        self._printed = printed
        self._before = before
        self._thread = threading.get_ident()

    @property
    def _is_other(self) -> bool:
        return threading.get_ident() != self._thread

    def write(self, text: str, /) -> int:
        if self._is_other:
            return self._before.write(text)
        written = super().write(text)  # which refuses what is no text, as click finds out
        self._printed.append(text)
        return written

    def flush(self) -> None:
        if self._is_other:
            self._before.flush()

    def isatty(self) -> bool:
        return self._is_other and self._before.isatty()

    def fileno(self) -> int:
        return self._before.fileno() if self._is_other else super().fileno()


_one_at_a_time = threading.Lock()


@contextmanager
def _capture_output() -> Generator[list[str]]:
    """Nothing is printed, and nobody can be asked."""
    with _one_at_a_time:
        before = sys.stdin, sys.stdout, sys.stderr
        printed: list[str] = []
        sys.stdin = io.TextIOWrapper(io.BytesIO(), "utf-8")
        sys.stdout, sys.stderr = _ThreadStream(printed, sys.stdout), _ThreadStream(printed, sys.stderr)
        try:
            yield printed
        finally:
            sys.stdin, sys.stdout, sys.stderr = before


_HERE = "|".join(name for name, command in COMMANDS.items() if command.where != "shell")
_ANYWHERE = re.compile(rf"\bheadway (?=(?:{_HERE})\b)")
"""In help, all of which is Headway's own."""
