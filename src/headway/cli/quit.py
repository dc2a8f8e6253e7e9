"""`/quit`, also `/exit`: leaves the terminal session."""

from __future__ import annotations

import click

from headway.cli.options import CommandContext


@click.command("quit")
@click.pass_obj
def leave(chosen: CommandContext) -> None:
    """Leave the terminal session."""
    assert chosen.live is not None  # the only place where the command can be typed
    chosen.live.leave()
