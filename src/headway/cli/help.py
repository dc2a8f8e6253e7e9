"""`headway help`, `/help`: all commands in a line each, or all about one. Walks the tree of commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from headway.cli.app import COMMANDS
from headway.cli.options import HelpfulGroup, is_in_terminal_session


class Entry(NamedTuple):
    path: str
    """As in `todos add`."""
    line: str
    """What it does."""
    command: click.Command | None
    """None if it needs a library that is not installed."""


def list_entries(group: HelpfulGroup, ctx: click.Context, above: str = "") -> Iterator[Entry]:
    """The commands of a group, each followed by its own, as far as they can be used where this is asked."""
    for name in group.list_commands(ctx):
        try:
            command = group.get_command(ctx, name)
        except ModuleNotFoundError:
            command = None
        path = f"{above}{name}"
        yield Entry(path, group.line(ctx, name), command)
        if isinstance(command, HelpfulGroup):
            yield from list_entries(command, click.Context(command, ctx, name), f"{path} ")


def find_groups_with(group: HelpfulGroup, ctx: click.Context, name: str) -> list[str]:
    """The groups that have a command of that name."""
    return [entry.path.rpartition(" ")[0] for entry in list_entries(group, ctx) if entry.path.endswith(f" {name}")]


def complete_commands(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What comes next in the path of a command, for completion."""
    group, at = _find_root(ctx)
    for name in ctx.params.get(str(param.name)) or ():
        found = group.get_command(at, name)
        if not isinstance(found, HelpfulGroup):
            return []
        group, at = found, click.Context(found, at, name)
    return [item for item in group.shell_complete(at, incomplete) if not item.value.startswith("-")]


def _find_root(ctx: click.Context) -> tuple[HelpfulGroup, click.Context]:
    root = ctx.find_root()
    assert isinstance(root.command, HelpfulGroup)
    return root.command, root


@click.command("help")
@click.argument("command", nargs=-1, shell_complete=complete_commands)
@click.pass_context
def help_command(ctx: click.Context, command: tuple[str, ...]) -> None:
    """List all commands, or explain one.

    \b
    headway help
    headway help todos add
    """
    group, at = _find_root(ctx)
    if not command:
        click.echo("\n".join(_all_lines(group, at)))
        return
    found: click.Command = group
    for name in (word.removeprefix("/") for word in command):
        if not isinstance(found, click.Group):
            ctx.fail(f"'{at.info_name}' has no subcommands; omit '{name}'.")
        found = found.resolve_command(at, [name])[1] or found
        at = click.Context(found, at, name, obj=ctx.obj)
    click.echo(found.get_help(at))


def _all_lines(group: HelpfulGroup, at: click.Context) -> list[str]:
    before, elsewhere = ("/", "shell") if is_in_terminal_session(at) else ("headway ", "repl")
    found = [(f"{before}{entry.path}", entry.line) for entry in list_entries(group, at)]
    width = max(len(path) for path, _ in found)
    others = [name for name, command in COMMANDS.items() if command.where == elsewhere]
    if elsewhere == "shell":
        more = f"Only in a shell: {', '.join(f'headway {name}' for name in others)}."
    else:
        more = (
            "In the terminal session, each starts with a slash; only there: "
            f"{', '.join(f'/{name}' for name in others)}."
        )
    return [
        *(f"{path:{width}}  {line}" for path, line in found),
        "",
        f"Details of a command: {before}help COMMAND",
        more,
    ]
