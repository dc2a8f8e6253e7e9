"""`headway mode`, `/mode`: how much a person is asked."""

from __future__ import annotations

import click

from headway.cli.config import keep_in_terminal_session, scope, set_value, yes_option
from headway.cli.options import MODES, CommandContext, ModeType, print_json, with_project_flags
from headway.core.text import neutralize
from headway.settings.load import explain_kept_yolo


@click.command()
@click.argument("mode", required=False, type=ModeType())
@click.option("--user", is_flag=True, help="Save it in your own settings, for all projects.")
@yes_option
@click.pass_context
@with_project_flags
def mode(chosen: CommandContext, ctx: click.Context, mode: str | None, user: bool, yes: bool) -> None:
    """Show the approval mode, or set it for this project.

    In the terminal session it applies at once. Yolo is saved only with --user, once you confirm it; else it lasts for
    one run ('headway run --mode yolo') or until you leave the terminal session (/mode yolo).
    """
    if mode is None:
        _print_mode(chosen)
    elif chosen.live is None:
        ctx.obj = chosen
        ctx.invoke(set_value, key="mode", value=(mode,), user=user, yes=yes)
    else:
        is_kept = user or mode != "yolo"
        where, notes = keep_in_terminal_session(chosen, "mode", mode, user=user, yes=yes) if is_kept else (None, [])
        chosen.live.mode = mode
        if chosen.json:
            print_json({"mode": mode, "source": where or "session", "notices": notes})
        else:
            lines = [f"✅ The mode is {mode} {scope(where)}: it {MODES[mode]}.", *(f"Note: {note}" for note in notes)]
            click.echo("\n".join(lines))
    if mode == "sandboxed" and not chosen.json:
        from headway.tools.sandbox.sandbox import describe_sandbox

        click.echo(describe_sandbox(chosen.settings().settings.sandbox, mode))


def _print_mode(chosen: CommandContext) -> None:
    loaded = chosen.settings()
    if chosen.live is not None:
        current, source = chosen.live.mode, "session"
    else:
        current, source = str(loaded.settings.mode), loaded.sources["mode"]
    if chosen.json:
        print_json({"mode": current, "source": source, "modes": MODES})
        return
    width = max(map(len, MODES))
    click.echo(
        f"The mode is {current}{'' if source in ('session', 'default') else f' (set by: {neutralize(source)})'}."
    )
    for name, meaning in MODES.items():
        click.echo(f"{'*' if name == current else ' '} {name:{width}}  {meaning}")
    if kept := explain_kept_yolo(loaded.settings, loaded.sources, chosen.program):
        click.echo(f"Note: {kept}")
    click.echo(f"Change it with: {chosen.name_command('mode NAME')}")
