"""`headway demo`: an offline tour. Real files, a real log and the real tools; only the model's calls are scripted."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time

import click

from headway.cli.live import LiveBox
from headway.contracts import agent
from headway.core.errors import HeadwayError
from headway.core.session import Session
from headway.project import open_session
from headway.tools.todo_write import TodoWriteTool
from headway.views.history import history_lines
from headway.views.terminal import fitted

SUMMARY = "Make dates in other languages parse, and prove it"
STEPS = (
    ("Reproduce the crash with a test", "Reproducing the crash with a test"),
    ("Find where 2026年11月15日 is refused", "Finding where 2026年11月15日 is refused"),
    ("Fix the date parser", "Fixing the date parser"),
    ("Make the parser faster", "Making the parser faster"),
    ("Run the whole suite", "Running the whole suite"),
)
CANCELLED = 3
PERSON_ADDS = "Mention it in the changelog"
PERSON_COMES_AFTER = 2
PAUSE = 1.1


def statuses(active: int) -> list[str]:
    """The state of each step while the one at `active` is worked on."""
    done = ["cancelled" if place == CANCELLED else "completed" for place in range(min(active, len(STEPS)))]
    now = ["in_progress"] if active < len(STEPS) else []
    return [*done, *now, *["pending"] * (len(STEPS) - len(done) - len(now))]


@click.command()
@click.option("--fast", is_flag=True, help="Do not pause between the steps.")
def demo(fast: bool) -> None:
    """See a list written, worked through and completed: offline, without a key, in a new temporary folder."""
    if not os.environ.get("LANG", "").startswith("zh"):
        os.environ.setdefault("TODO_LOG_LANG", "en")
    folder = tempfile.mkdtemp(prefix="headway-demo-")
    click.echo("A short tour. The model is scripted; the list, the log and the files are real.\n")
    session = open_session(folder)
    try:
        saved = _work(session, folder, 0.0 if fast or not os.isatty(1) else PAUSE)
        _show_end(session, folder, saved)
    except KeyboardInterrupt:
        click.echo("\nStopped; the list is kept as it is.")
    finally:
        session.close()
    named = sys.argv[0] == "headway" or shutil.which("headway")
    program = "headway" if named else os.path.relpath(sys.argv[0])
    click.echo("\nGo on with it, for example:\n")
    for words in ("list", "undo 3", "history"):
        click.echo(f"    {program} todos {words} --project {folder}")


def _work(session: Session, folder: str, pause: float) -> str:
    """Plays the calls; returns where the completion log was written."""
    tool = TodoWriteTool(folder, session)
    saved = ""
    with LiveBox() as box:
        session.on("todos:update", box.show)
        first = [{"content": text, "activeForm": active, "status": "pending"} for text, active in STEPS]
        _say(box, "model", agent.run(session, {"todos": first}).text, pause)
        for active in [place for place in range(len(STEPS) + 1) if place != CANCELLED]:
            data = _sent(tool, session, active)
            saved = str(data.get("persisted_to", saved))
            _say(box, "model", str(data["recap"]), pause)
            if active == PERSON_COMES_AFTER:
                session.add(PERSON_ADDS)
                _say(box, "you", f'headway todos add "{PERSON_ADDS}"', pause)
    return saved


def _sent(tool: TodoWriteTool, session: Session, active: int) -> dict[str, object]:
    """Sends the whole list as the model would, with what a person added to it meanwhile."""
    todos = [{"content": text, "status": status} for (text, _), status in zip(STEPS, statuses(active), strict=True)]
    added = "completed" if active == len(STEPS) else "pending"
    todos += [{"content": PERSON_ADDS, "status": added} for todo in session.todos if todo.content == PERSON_ADDS]
    answer = json.loads(tool.run({"summary": SUMMARY, "todos": todos}))
    if answer["status"] != "success":
        raise HeadwayError(answer["text"])
    return answer["data"]


def _say(box: LiveBox, who: str, what: str, pause: float) -> None:
    box.say(fitted(f"{who:6} {what}", shutil.get_terminal_size().columns - 1))
    time.sleep(pause)


def _show_end(session: Session, folder: str, saved: str) -> None:
    click.echo(f"\nThe completion log, {saved}:\n")
    with open(os.path.join(folder, *saved.split("/")), encoding="utf-8") as file:
        click.echo("\n".join(f"    {line}".rstrip() for line in file.read().strip().splitlines()))
    click.echo("\nThe history, from which any of it can be undone:\n")
    click.echo("\n".join(f"    {line}" for line in history_lines(session.history())))
