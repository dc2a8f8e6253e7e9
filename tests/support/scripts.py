"""Scripts for `--model scripted:FILE.json`: what a model says, in the words of the file."""

from __future__ import annotations

import json
from pathlib import Path

from .processes import Form

LONG = 60.0
"""Seconds that an answer takes which is never heard to its end."""


def call(tool: str, /, **args: object) -> Form:
    return {"name": tool, "args": args}


def turn(text: str = "", *calls: Form, **more: object) -> Form:
    return {"text": text, "calls": [*calls], **more}


def talking() -> Form:
    """An answer that begins at once and goes on for longer than anyone listens."""
    return turn(f"So {'on ' * 600}", delay=LONG)


def bash(command: str) -> Form:
    return call("bash", command=command)


def write(path: str, content: str = "new\n") -> Form:
    return call("write_file", path=path, content=content)


def creating(*texts: str) -> Form:
    """A list that the loop keeps."""
    return call("create_todo_list", items=[{"description": text} for text in texts])


def writing(*items: tuple[str, str]) -> Form:
    """A list with the model's own statuses."""
    return call("TodoWrite", todos=[{"content": text, "activeForm": text, "status": state} for text, state in items])


def script(*turns: str | Form, name: str = "script.json", match: str | None = None) -> str:
    """Writes the file into the working folder; the model's name. With `match`, only a conversation that has it fits.

    Where the model calls TodoWrite or update_todo_item, the project is set to offer them.
    """
    form: object = [*turns] if match is None else {"conversations": [{"match": match, "turns": [*turns]}]}
    Path(name).write_text(json.dumps(form), encoding="utf-8")
    if any(f'"name": "{name}"' in json.dumps(form) for name in ("TodoWrite", "update_todo_item")):
        folder = Path(".headway")
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "config.toml").write_text('todo_tools = "full"\n', encoding="utf-8")
    return f"scripted:{name}"
