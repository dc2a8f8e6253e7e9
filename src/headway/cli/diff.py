"""`headway diff`, `/diff`: what the agent's tools changed in files, as it is in the log."""

from __future__ import annotations

import os

import click

from headway.cli.options import CommandContext, print_json, with_session_flags
from headway.core.run_events import ToolFinished
from headway.core.text import join_first_few, neutralize_lines, sanitize_for_display
from headway.views.changes import RunChanges, list_changes_by_run
from headway.views.terminal import to_visible

_COLORS = (("@@", "cyan"), ("+", "green"), ("-", "red"))


@click.command()
@click.option("--all", "every", is_flag=True, help="Show every run of the session, not only the last.")
@with_session_flags
def diff(chosen: CommandContext, every: bool) -> None:
    """Show the file changes of the last run, call by call."""
    session = chosen.open()
    runs = list_changes_by_run(session.events(), chosen.agent)[0 if every else -1 :]
    if chosen.json:
        print_json({"session": session.name, "runs": [_to_record(run) for run in runs]})
        return
    if not runs:
        click.echo("This session has no runs yet, so nothing was changed.")
        return
    for run in runs:
        if every:
            click.echo(f"── {to_visible(sanitize_for_display(run.task or 'continued', 100))}")
        for call in run.changes:
            _print_change(call)
        for line in _list_remarks(run):
            click.echo(line)


def _to_record(run: RunChanges) -> dict[str, object]:
    changes = [
        {"tool": call.tool, "files": list(call.files), "item_id": call.item_id, "diff": call.diff}
        for call in run.changes
    ]
    return {
        "run_id": run.run_id,
        "task": run.task,
        "changes": changes,
        "commands": run.commands,
        "other_files": run.other_files,
        "left_out": run.left_out,
    }


def _print_change(call: ToolFinished) -> None:
    text = neutralize_lines(call.diff or "(nothing changed)")
    if not text.startswith(("--- ", "@@")):
        click.echo(f"{', '.join(to_visible(sanitize_for_display(file, 200)) for file in call.files)}: {text}")
        return
    print_diff(text)


def print_diff(diff: str) -> None:
    """Print a unified diff: in colour on a terminal, and with nothing in it that a terminal would obey."""
    plain = bool(os.environ.get("NO_COLOR"))
    for line in neutralize_lines(diff).removesuffix("\n").split("\n"):
        color = None if plain else next((color for start, color in _COLORS if line.startswith(start)), None)
        click.echo(click.style(line, fg=color, bold=line.startswith(("+++ ", "--- ")) or None) if color else line)


def _list_remarks(run: RunChanges) -> list[str]:
    lines: list[str] = []
    if not run.changes and not run.left_out:
        lines.append("No file tool changed anything in this run.")
    if run.commands:
        lines.append("Changes made by shell commands are not included.")
    if run.left_out:
        lines.append(
            "No longer in the project's files, or never merged into them, so not shown: the changes of "
            f"{join_first_few(run.left_out)}."
        )
    if run.other_files:
        lines.append(
            f"Also changed: {', '.join(to_visible(sanitize_for_display(file, 200)) for file in run.other_files)}"
        )
    return lines
