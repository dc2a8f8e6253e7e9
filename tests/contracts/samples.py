"""Calls as models write them, and what the contracts made of them."""

from __future__ import annotations

import json
from pathlib import Path

from headway import Session, Todo
from headway.contracts.shell import ShellResult, run_words

SETTINGS = (
    "TODO_MAX_ITEMS",
    "TODO_MAX_CONTENT_LENGTH",
    "TODO_LOG_LANG",
    "HEADWAY_PROJECT",
    "HEADWAY_SESSION",
    "HEADWAY_AGENT",
    "HEADWAY_IN_MEMORY",
)
Updates = list[list[Todo]]
Item = dict[str, object]

VALIDATION = "Error: Validation failed"
HOSTILE = [
    "two\nlines",
    "# heading",
    "- item",
    "1. first",
    "> quote",
    "``` fence",
    "~~~ fence",
    "~~struck~~",
    "a ~~ b",
    "\\~~ c",
    "<!-- hidden",
    "\\<!-- hidden -->",
    "</li><h1>big",
    "`code",
    "ends in \\",
    "ends in \\\\",
    "[x] ticked",
    "[ref]: away",
    "| a | b |",
    "===",
    "---",
    "\u2028# after a separator",
    "\x1b[31mred\x1b[0m",
    "nul\0nul",
    "\u202eright to left",
]


def item(content: str, status: str = "pending", active: str | None = None) -> Item:
    """An item of the shell and agent contracts."""
    return {"content": content, "activeForm": active or f"Doing: {content}", "status": status}


def call(*items: object) -> dict[str, object]:
    return {"todos": list(items)}


def numbered(count: int) -> dict[str, object]:
    return call(*(item(f"Task {number}") for number in range(count)))


def shell(session: Session, sent: object) -> ShellResult:
    """The command run on one word: text as it is, anything else as JSON."""
    return run_words(session, [sent if isinstance(sent, str) else json.dumps(sent)])


def refused(session: Session, sent: object) -> list[str]:
    """The violations of a call that must fail validation."""
    result = shell(session, sent)
    assert (result.stdout, result.exit_code) == ("", 1)
    first, *lines = result.stderr.split("\n")
    assert first == VALIDATION
    assert lines
    return lines


def contents(session: Session) -> list[str]:
    return [todo.content for todo in session.todos]


def ids(session: Session) -> list[str]:
    return [todo.id for todo in session.todos]


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
