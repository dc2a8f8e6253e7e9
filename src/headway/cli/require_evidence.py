"""`--require-evidence[=verified]`: a value only with `=`, so that no other word is taken for it."""

from __future__ import annotations

import click

_FLAG = "--require-evidence"
LEVELS = ("command_ok", "verified")


class EvidenceCommand(click.Command):
    """A command with that option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        given = [f"{_FLAG}={LEVELS[0]}" if word == _FLAG else word for word in args[:end]]
        return super().parse_args(ctx, [*given, *args[end:]])


require_evidence_option = click.option(
    _FLAG,
    type=click.Choice(LEVELS),
    default=None,
    metavar="[=verified]",
    help='Ask once for evidence before accepting "done": a command that could have failed, or the todo\'s check.',
)


def required_level(value: str | None) -> bool | str:
    """Return what the option asks for: nothing, any command that could have failed (True), or a level."""
    return value == LEVELS[0] or value or False
