"""Lists whose items a `headway` executes: models by script, doors at which items wait, and what comes of it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from tests.support.scripts import bash, call, turn

import headway as api
from headway.core.execution_events import AttemptStarted, ExecutionStarted

from .processes import Done, Form, until

NAME = "mine"
Turns = Sequence[str | Form]
ALL = ("todos", "execute-all")
MODEL = " --model=scripted:script.json"
"""What resuming has to say, too."""
COMPLETE, FAILED = "✅ Batch Execution Complete!", "❌ Batch Execution Failed"
INTERRUPTED = "⏸ Batch Execution Interrupted"
FIVE = ("s1", "s2", "s3", "s4", "s5")
NO_MODEL = (
    "Error: No model is set: choose one with --model provider:name, or permanently with 'headway config set model "
    "provider:name --user'. To try Headway without a model, run 'headway demo'.\n"
)


# lists, models and doors


def listed(*items: str | dict[str, object], name: str = NAME) -> api.Session:
    """The current session, with a list; an item as a text has that for its id."""
    session = api.open(".", name)
    session.write([{"id": one, "content": f"Do {one}"} if isinstance(one, str) else one for one in items])
    session.store.set_current(name)
    return session


def item(todo_id: str, content: str = "", *needs: str, **fields: object) -> dict[str, object]:
    return {"id": todo_id, "content": content or f"Do {todo_id}", "depends_on": list(needs), **fields}


def scripted(file: str = "script.json", /, **turns: Turns) -> str:
    """Item (`_` for `-`) → what its model says, attempt after attempt; `said`: to a message with that word.

    A text alone is the answer of a model that has reported the item as completed.
    """
    texts = {name: "said" if name == "said" else f"Execute todo: {name.replace('_', '-')}\n" for name in turns}
    given = {name: forms if name == "said" else _reporting(forms) for name, forms in turns.items()}
    form = {"conversations": [{"match": texts[name], "turns": forms} for name, forms in given.items()]}
    Path(file).write_text(json.dumps(form), encoding="utf-8")
    return f"scripted:{file}"


def _reporting(forms: Turns) -> list[str | Form]:
    """The turns with a report before a text, unless the turn before it is one."""
    completed = turn("", call("report_item", status="completed"))
    made: list[str | Form] = []
    for form in forms:
        has_reported = bool(made) and "report_item" in json.dumps(made[-1])
        made += [completed, form] if isinstance(form, str) and not has_reported else [form]
    return made


def done(*names: str, **more: Turns) -> str:
    """A model that does each item at once."""
    return scripted(**{name: ["Done."] for name in names}, **more)


def stopping_at_two(then: str = "true", **more: Turns) -> str:
    """A model that does the first of five items, and waits at a door in the second."""
    return done("s1", "s3", "s4", "s5", s2=[door("two", then), "Done."], **more)


FAILS: list[str | Form] = [turn("", bash("exit 3")), "It does not work."]
"""An attempt that fails."""


def door(name: str, then: str = "true") -> Form:
    """A command that says that it has begun, and waits until it is let through, wherever it runs."""
    there, through = (shlex.quote(str(Path("doors", f"{name}.{what}").absolute())) for what in ("there", "open"))
    return turn("", bash(f"touch {there}; until [ -e {through} ]; do sleep 0.02; done; {then}"))


def at(*names: str) -> None:
    """Waits until these doors are waited at."""
    until(lambda: all(Path("doors", f"{name}.there").exists() for name in names))


def let(*names: str) -> None:
    for name in names:
        Path("doors", f"{name}.open").touch()


def in_worktree(name: str) -> bool:
    """Whether a file is in the folder of an attempt."""
    return any(Path(".headway/worktrees").glob(f"*/{name}"))


def states(name: str = NAME) -> dict[str, str]:
    return {todo.id: str(todo.status) for todo in api.open(".", name).todos}


def starts(name: str = NAME) -> list[AttemptStarted]:
    return [event.data for event in api.open(".", name).events() if isinstance(event.data, AttemptStarted)]


def batches(name: str = NAME) -> list[ExecutionStarted]:
    return [event.data for event in api.open(".", name).events() if isinstance(event.data, ExecutionStarted)]


def said(done: Done) -> list[str]:
    """What was printed, without the boxes."""
    return [line for line in done.out.splitlines() if not line.startswith(("┌", "│", "└"))]


def ending(done: Done) -> list[str]:
    """What was printed at the end."""
    return done.out.rstrip("\n").rpartition("\n\n")[2].split("\n")
