"""`headway model`, `/model`: which model works."""

from __future__ import annotations

import click

from headway.app.advice import explain_missing_model
from headway.cli.options import CommandContext, print_json, with_project_flags
from headway.core.text import neutralize, sanitize_for_display


def complete_models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The providers, for completion; which models they have only they know."""
    from headway.agent.providers import PROVIDERS

    return [f"{name}:" for name in PROVIDERS if f"{name}:".startswith(incomplete)]


@click.command()
@click.argument("name", metavar="[PROVIDER:NAME]", required=False, shell_complete=complete_models)
@click.option("--user", is_flag=True, help="Save it in your own settings, for all projects.")
@click.pass_context
@with_project_flags
def model(chosen: CommandContext, ctx: click.Context, name: str | None, user: bool) -> None:
    """Show the model, or set it for this project, as provider:name.

    In the terminal session it applies from the next run.

    \b
    headway model openai:gpt-5
    headway model ollama:qwen3
    """
    if name is None:
        _print_model(chosen)
    elif chosen.live is None:
        from headway.cli.config import set_value

        ctx.obj = chosen
        ctx.invoke(set_value, key="model", value=(name,), user=user, yes=False)
    else:
        from headway.cli.config import keep_in_terminal_session, scope
        from headway.settings.keys import check_value

        name = str(check_value("model", name))
        missing = _explain_missing(chosen, name)
        where, notes = keep_in_terminal_session(chosen, "model", name, user=user, yes=False)
        chosen.live.model = name
        if chosen.json:
            print_json({"model": name, "source": where or "session", "missing": missing, "notices": notes})
            return
        click.echo(f"✅ The model is {sanitize_for_display(name, 200)} {scope(where)}, from the next run.")
        for note in [*notes, *([missing] if missing else [])]:
            click.echo(f"Note: {note}")


def _print_model(chosen: CommandContext) -> None:
    if chosen.live is not None:
        current, source = chosen.live.model, "session"
    else:
        loaded = chosen.settings()
        current, source = loaded.settings.model, loaded.sources["model"]
    missing = _explain_missing(chosen, current) if current else None
    if chosen.json:
        print_json({"model": current, "source": source, "missing": missing})
        return
    how = chosen.name_command("model PROVIDER:NAME")
    if current is None:
        click.echo(f"No model is set; set one with: {how}")
        return
    by = "" if source == "session" else f" (set by: {neutralize(source)})"
    click.echo(f"The model is {sanitize_for_display(current, 200)}{by}.")
    click.echo(f"Note: {missing}" if missing else f"Change it with: {how}")


def _explain_missing(chosen: CommandContext, model: str) -> str | None:
    """What keeps the model from being used."""
    return explain_missing_model(model, chosen.settings().settings, chosen.program)
