"""`headway session`, `/session`: the sessions in one word. What it does is in `headway.cli.sessions`."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from headway.cli.options import CommandContext, complete_sessions, with_project_flags
from headway.cli.sessions import NEW, create_session, print_sessions, switch_to


def complete_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    names = [CompletionItem(name) for name in complete_sessions(ctx, param, incomplete)]
    return [*names, CompletionItem(NEW, help="Start a new session.")] if NEW.startswith(incomplete) else names


@click.command()
@click.argument("name", required=False, shell_complete=complete_names)
@click.argument("new_name", required=False)
@with_project_flags
def session(chosen: CommandContext, name: str | None, new_name: str | None) -> None:
    """List the sessions, or switch to the one named NAME.

    \b
    headway session              list the sessions; * marks the current one
    headway session NAME         switch to it, like headway sessions resume NAME
    headway session new [NAME]   start a new one
    """
    if name is None:
        print_sessions(chosen)
    elif name == NEW:
        create_session(chosen, new_name)
    elif new_name is not None:
        raise click.UsageError("A session has one NAME; quote a name that contains spaces.")
    else:
        switch_to(chosen, name)
