"""The flag `--new`, whose value is optional."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headway.app.session_choice import check_unused_name, choose_session

if TYPE_CHECKING:
    from headway.cli.options import CommandContext
    from headway.session import SessionStore

_UNNAMED = "\0"
"""What `--new` has for a value without a name; no session can be called so."""

new_option = click.option(
    "--new",
    metavar="[=NAME]",
    help="Start a new session and make it the current one (give a name with =).",
)


class TakesNew(click.Command):
    """A command with `--new`: a word after it is no name, as it is for options whose value is not optional."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, insert_unnamed_new(args))


def insert_unnamed_new(args: list[str]) -> list[str]:
    """The words with a value for each `--new` that has none; what follows `--` is left as it is."""
    end = args.index("--") if "--" in args else len(args)
    return [f"--new={_UNNAMED}" if word == "--new" else word for word in args[:end]] + args[end:]


def check_flags(chosen: CommandContext, *, go_on: bool, new: str | None, memory: bool) -> None:
    """Raise a usage error for flags that contradict each other."""
    if memory and go_on:
        raise click.UsageError("--memory keeps nothing to continue; omit one of the two.")
    if new is None:
        return
    others = {"--continue": go_on, "--session": chosen.session is not None, "--memory": memory}
    if other := next((flag for flag, is_given in others.items() if is_given), None):
        raise click.UsageError(f"--new and {other} cannot be combined; omit one of the two.")


def choose_or_name(chosen: CommandContext, store: SessionStore, *, go_on: bool, new: str | None) -> str:
    """Return the name of the session in which a command that works with a model does so."""
    if new is not None:
        return check_unused_name(store, None if new == _UNNAMED else new)
    return choose_session(store, chosen.session, go_on=go_on)
