"""`headway completion`: the script that lets a shell complete commands, ids, statuses and sessions."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash:  headway completion bash >> ~/.bashrc
    zsh:   headway completion zsh >> ~/.zshrc
    fish:  headway completion fish > ~/.config/fish/completions/headway.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(ctx.find_root().command, {}, "headway", "_HEADWAY_COMPLETE").source())
