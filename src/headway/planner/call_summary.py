"""A call in one line, and what the command that it runs comes to: what the log holds of a call's arguments."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast

from headway.core.command_kinds import CommandKind, classify_command
from headway.core.json_text import BadJson, parse_json
from headway.core.text import sanitize_for_display

_TOLD = ("command", "path", "paths", "pattern", "url", "query", "item_id", "status")
"""Arguments that say best what a call is about."""
_LOOKED_AT = 4_000


def parse_or_keep(arguments: object) -> object:
    """Return the values of arguments that are JSON, and others as they are."""
    if not isinstance(arguments, str):
        return {} if arguments is None else arguments
    try:
        return parse_json(arguments) if arguments.strip() else {}
    except BadJson:
        return arguments


def summarize_call(tool: str, values: object, redacted: Callable[[str], str]) -> str:
    """Return a call in one line. Keys are looked for before it is cut."""
    if isinstance(values, dict):
        fields = cast("dict[str, object]", values)
        told = next((fields[name] for name in _TOLD if fields.get(name)), None)
        entries = fields.get("items") or fields.get("todos")
        if told is None and isinstance(entries, list):
            told = f"({_count_things(cast('list[object]', entries), 'item')})"
        if told is None and isinstance(steps := fields.get("steps"), list):
            told = f"{fields.get('title') or ''} ({_count_things(cast('list[object]', steps), 'step')})".lstrip()
        if told is None:
            told = json.dumps(fields, ensure_ascii=False, default=str) if fields else ""
        values = told
    if isinstance(values, list):
        values = " ".join(map(str, cast("list[object]", values)))
    text = values if isinstance(values, str) else str(values)
    return f"{sanitize_for_display(tool, 64)} {sanitize_for_display(redacted(text[:_LOOKED_AT]), 200)}".rstrip()


def format_command(tool: str, values: object, redacted: Callable[[str], str]) -> str:
    """Return the command that a call runs; the call in one line if it names none."""
    line = summarize_call(tool, values, redacted)
    fields = cast("dict[str, object]", values) if isinstance(values, dict) else None
    return line if fields is not None and "command" not in fields else line.removeprefix(f"{tool} ")


def _count_things(things: list[object], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def find_command_kind(values: object) -> CommandKind:
    """What the whole command comes to; a tool that runs no command line, and reports an exit code, is a check."""
    if isinstance(values, str):  # what is no JSON can be anything
        return CommandKind.EDITS
    command = cast("dict[str, object]", values).get("command") if isinstance(values, dict) else None
    return classify_command(command) if isinstance(command, str) else CommandKind.CHECK
