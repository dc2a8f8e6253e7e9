"""`headway demo`: an offline tour. Real files, a real log and the real tool; only the model's calls are scripted."""

from __future__ import annotations

import json
import os
import tempfile
import time

import click

from headway.cli.live import LiveBox
from headway.core.errors import HeadwayError
from headway.core.session import Session
from headway.project import open_session
from headway.tools.todo_write import TodoWriteTool
from headway.views.history import history_lines

SUMMARY = "Make dates in other languages parse, and prove it"
STEPS = (
    ("Reproduce the crash with a test", "Reproducing the crash"),
    ("Find where 2026年11月15日 is refused", "Looking for where 2026年11月15日 is refused"),
    ("Fix the date parser", "Fixing the date parser"),
    ("Tune the speed of the parser", "Tuning the speed"),
    ("Run the whole suite", "Running the whole suite"),
)
CANCELLED = 3
PERSON_ADDS = "Mention it in the changelog"


def calls() -> list[list[dict[str, str]]]:
    """The lists that the scripted model sends, one after the other."""
    lists: list[list[dict[str, str]]] = []
    worked = [place for place in range(len(STEPS)) if place != CANCELLED]
    for active in [None, *worked, len(STEPS)]:
        statuses = ["pending"] * len(STEPS)
        for place in range(len(STEPS)):
            if active is not None and place < active:
                statuses[place] = "cancelled" if place == CANCELLED else "completed"
        if active is not None and active < len(STEPS):
            statuses[active] = "in_progress"
        lists.append([{"content": text, "status": status} for (text, _), status in zip(STEPS, statuses, strict=True)])
    return lists


@click.command()
@click.option("--fast", is_flag=True, help="Do not pause between the steps.")
def demo(fast: bool) -> None:
    """See a list written, worked through and completed: offline, without a key, in a new temporary folder."""
    pause = 0.0 if fast or not os.isatty(1) else 1.1
    folder = tempfile.mkdtemp(prefix="headway-demo-")
    click.echo("A short tour of Headway. The model is scripted; the list, the log and the files are real.")
    click.echo(f"Project: {folder}\n")
    session = open_session(folder)
    try:
        saved = _work(session, folder, pause)
        _show_end(session, folder, saved)
    except KeyboardInterrupt:
        click.echo("\nStopped; the list is kept as it is.")
    finally:
        session.close()
    click.echo("\nTry it:")
    click.echo(f"  headway todos list --project {folder}")
    click.echo(f"  headway todos undo 3 --project {folder}")


def _work(session: Session, folder: str, pause: float) -> str:
    """Plays the calls through the tool; returns where the completion log was written."""
    tool = TodoWriteTool(folder, session)
    saved = ""
    with LiveBox() as box:
        unsubscribe = session.on("todos:update", box.show)
        for number, todos in enumerate(calls()):
            extra = [
                {"content": todo.content, "status": "completed" if number == len(calls()) - 1 else "pending"}
                for todo in session.todos
                if todo.content == PERSON_ADDS
            ]
            answer = json.loads(tool.run({"summary": SUMMARY, "todos": todos + extra}))
            if answer["status"] != "success":
                raise HeadwayError(answer["text"])
            saved = answer["data"].get("persisted_to", saved)
            box.say(f"model   TodoWrite → {answer['data']['recap']}")
            time.sleep(pause)
            if number == 2:
                session.add(PERSON_ADDS)
                box.say(f"you     headway todos add “{PERSON_ADDS}”")
                time.sleep(pause)
        unsubscribe()
    return saved


def _show_end(session: Session, folder: str, saved: str) -> None:
    click.echo(f"\nThe completion log, {saved}:\n")
    with open(os.path.join(folder, *saved.split("/")), encoding="utf-8") as file:
        click.echo("\n".join(f"    {line}".rstrip() for line in file.read().strip().splitlines()))
    click.echo("\nThe history, from which any of it can be undone:\n")
    click.echo("\n".join(f"    {line}" for line in history_lines(session.history())))
