"""What can be typed next in the terminal session: commands and what they take, and files after an `@`.

Commands, options, ids and the like come from click's own completion, as in a shell; here they only get their place in
the line, and quotes where they need some.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem, ShellComplete

from headway.cli.app import app
from headway.cli.options import OFFERED, CommandContext
from headway.core.errors import HeadwayError
from headway.core.text import neutralize, sanitize_for_display
from headway.repl.slash import SLASHES, Word, quote_word, split_words

_MOST_ENTRIES = 20_000
"""Entries of a folder that are looked at, so that no folder keeps a person waiting."""
_LEFT_OUT = frozenset({".git", ".headway", ".venv", "venv", "node_modules", "__pycache__"})
_MENTION = re.compile(r"""(?<![A-Za-z0-9._+-])@(?:"([^"]*)|([^\s"@]*))$""")
"""An `@` with what was typed of a path; not one inside an address of mail."""


class Candidate(NamedTuple):
    text: str
    """What is put in place of what was typed."""
    start: int
    """Where that begins, counted from the cursor: 0 or less."""
    display: str
    meta: str = ""
    """What it is, in one line."""


def complete(text: str, chosen: CommandContext) -> list[Candidate]:
    """What can stand where the cursor is; `text` is what was typed before it."""
    try:
        if text.lstrip().startswith(SLASHES):
            return _complete_command(text, chosen)
        return _complete_mention(text, chosen)
    except (click.ClickException, click.exceptions.Exit, HeadwayError, ImportError, OSError, ValueError):
        return []  # a line that is wrong so far has no continuation


# commands


def _complete_command(text: str, chosen: CommandContext) -> list[Candidate]:
    line = text.lstrip()[1:]
    words = split_words(line, unfinished=True)
    last = words.pop() if words and words[-1].end == len(line) else Word("", len(line), len(line))
    if not words and last.text.startswith("-"):  # options of `headway` itself are said when it is started
        return []
    if last.text.startswith("-") and "=" in last.text:  # click offers what comes after the sign
        last = last._replace(start=last.start + line[last.start :].index("=") + 1)
    before = [word.text for word in words]
    items = ShellComplete(app, {"obj": chosen}, "headway", "").get_completions(before, last.text)
    start = last.start - len(line)
    return [found for item in islice(items, OFFERED) for found in _to_candidates(item, start)][:OFFERED]


def _to_candidates(item: CompletionItem, start: int) -> Iterator[Candidate]:
    value = str(item.value)
    if item.type == "plain":
        if neutralize(value) == value:  # what cannot be shown cannot be typed either
            yield Candidate(quote_word(value), start, value, sanitize_for_display(item.help or "", 100))
        return
    for path in _list_paths(os.curdir, value, folders_only=item.type == "dir"):
        text = quote_word(path)
        yield Candidate(text[:-1] if text.endswith('/"') else text, start, _last_name(path))  # more may follow a folder


# paths


def _complete_mention(text: str, chosen: CommandContext) -> list[Candidate]:
    found = _MENTION.search(text)
    if found is None:
        return []
    typed = found[1] or found[2] or ""
    folder = os.path.realpath(chosen.folder())
    if typed.startswith("/") or not _is_inside(folder, os.path.join(folder, os.path.dirname(typed))):
        return []
    start = found.start() - len(text)
    inside = (path for path in _list_paths(folder, typed) if _is_inside(folder, os.path.join(folder, path)))
    return [Candidate(f"@{_format_mention(path)}", start, _last_name(path)) for path in inside]


def _format_mention(path: str) -> str:
    """As it is written in a message; what has a space in it is put in quotes, which a folder leaves open."""
    if not re.search(r"\s", path):
        return path
    return f'"{path}' if path.endswith("/") else f'"{path}"'


def _is_inside(folder: str, path: str) -> bool:
    return os.path.commonpath([folder, os.path.realpath(path)]) == folder


def _list_paths(folder: str, typed: str, *, folders_only: bool = False) -> list[str]:
    """What the one folder that is being typed holds, with its path as typed; folders end in a slash."""
    above, beginning = os.path.split(typed)
    prefix = typed[: len(typed) - len(beginning)]
    try:
        with os.scandir(os.path.join(folder, above)) as entries:
            fitting = (entry for entry in islice(entries, _MOST_ENTRIES) if _starts_with(entry.name, beginning))
            wanted = (entry for entry in fitting if not folders_only or entry.is_dir())
            nearest = nsmallest(OFFERED, wanted, key=lambda entry: (entry.name.casefold(), entry.name))
            return [f"{prefix}{entry.name}{'/' if entry.is_dir() else ''}" for entry in nearest]
    except OSError:
        return []


def _starts_with(name: str, beginning: str) -> bool:
    if name in _LEFT_OUT or not name.casefold().startswith(beginning.casefold()) or neutralize(name) != name:
        return False
    return '"' not in name and (beginning.startswith(".") or not name.startswith("."))


def _last_name(path: str) -> str:
    folder = path.endswith("/")
    return os.path.basename(path.rstrip("/")) + "/" * folder
