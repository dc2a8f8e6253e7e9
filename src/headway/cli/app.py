"""The console script `headway`: the commands, each loaded only when it is called."""

from __future__ import annotations

import importlib
import io
import os
import sys

import click

from headway import __version__
from headway.cli.options import HelpfulGroup
from headway.core.errors import HeadwayError

COMMANDS = {
    "completion": ("headway.cli.completion", "completion", "Let the shell complete commands, ids and statuses."),
    "config": ("headway.cli.config", "config", "See and change the settings, and where each comes from."),
    "demo": ("headway.cli.demo", "demo", "See a list written, worked through and completed (offline)."),
    "run": ("headway.cli.run", "run", "Have the agent work on a task, with its list in view."),
    "sessions": ("headway.cli.sessions", "sessions", "List, resume and delete the sessions of this project."),
    "todos": ("headway.cli.todos", "todos", "See and change the todo list."),
    "watch": ("headway.cli.watch", "watch", "Show the list live while others work on it."),
}
"""name → (module, attribute, one line for the help)."""


class LazyGroup(HelpfulGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        return getattr(importlib.import_module(module), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="headway")
def app() -> None:
    """Headway: the planning layer of a coding agent.

    One todo list per session, kept in one log that you can watch, replay and undo. Agents write it with TodoWrite (see
    TodoWrite --help); you see and change it here.

    \b
    headway demo                         a short tour
    headway run "Fix the failing test"   have the agent do it
    headway todos add "Fix the parser"   begin a list in this folder
    headway todos list                   see it
    headway watch                        see it live
    """


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app(standalone_mode=True)
    except OSError as error:
        if isinstance(error, HeadwayError) or error.filename is not None:
            raise
        sys.stderr.write(f"Error: the answer could not be printed ({error.strerror}).\n")
        os._exit(1)
