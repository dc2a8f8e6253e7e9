"""`headway session`, `/session`: the sessions in one word. What it does is in `headway.cli.sessions`."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from headway.cli.options import Chosen, complete_sessions, of_project
from headway.cli.sessions import NEW, begin, go_to, print_sessions


def complete_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    names = [CompletionItem(name) for name in complete_sessions(ctx, param, incomplete)]
    return [*names, CompletionItem(NEW, help="Start a new session.")] if NEW.startswith(incomplete) else names


@click.command()
@click.argument("name", required=False, shell_complete=complete_names)
@click.argument("new_name", required=False)
@of_project
def session(chosen: Chosen, name: str | None, new_name: str | None) -> None:
    """List the sessions, or switch to the one named NAME.

    \b
    headway session              list the sessions; * marks the current one
    headway session NAME         switch to it, like headway sessions resume NAME
    headway session new [NAME]   start a new one
    """
    if name is None:
        print_sessions(chosen)
    elif name == NEW:
        begin(chosen, new_name)
    elif new_name is not None:
        raise click.UsageError("A session has one NAME; quote a name that contains spaces.")
    else:
        go_to(chosen, name)
