"""`headway mode`, `/mode`: how much a person is asked."""

from __future__ import annotations

import click

from headway.cli.options import MODES, Chosen, ModeType, of_project, print_json
from headway.core.text import neutral


@click.command()
@click.argument("mode", required=False, type=ModeType())
@click.pass_context
@of_project
def mode(chosen: Chosen, ctx: click.Context, mode: str | None) -> None:
    """Show the approval mode, or set it: default, auto_edit, sandboxed or yolo.

    In the terminal session it applies until you leave; from a shell it is saved in your own settings, for all projects.
    """
    if mode is None:
        _print_mode(chosen)
    elif chosen.live is None:
        from headway.cli.config import set_value

        ctx.obj = chosen
        ctx.invoke(set_value, key="mode", value=(mode,), user=True)
    else:
        chosen.live.mode = mode
        if chosen.json:
            print_json({"mode": mode, "source": "session"})
        else:
            click.echo(f"✅ The mode is {mode} until you leave: it {MODES[mode]}.")
    if mode == "sandboxed" and not chosen.json:
        from headway.tools.sandbox.sandbox import describe_sandbox

        click.echo(describe_sandbox(chosen.settings().settings.sandbox, mode))


def _print_mode(chosen: Chosen) -> None:
    if chosen.live is not None:
        current, source = chosen.live.mode, "session"
    else:
        loaded = chosen.settings()
        current, source = str(loaded.settings.mode), loaded.sources["mode"]
    if chosen.json:
        print_json({"mode": current, "source": source, "modes": MODES})
        return
    width = max(map(len, MODES))
    click.echo(f"The mode is {current}{'' if source in ('session', 'default') else f' (set by: {neutral(source)})'}.")
    for name, meaning in MODES.items():
        click.echo(f"{'*' if name == current else ' '} {name:{width}}  {meaning}")
    click.echo("Change it with: headway mode NAME")
