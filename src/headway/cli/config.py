"""`headway config`: the settings that hold here, where each comes from, and setting one."""

from __future__ import annotations

import os

import click

from headway.cli.options import Chosen, HelpfulGroup, of_project, print_json
from headway.core.errors import HeadwayError
from headway.core.rules import is_array
from headway.core.text import neutral
from headway.settings import Loaded
from headway.settings.files import IN_PROJECT, own_file, project_file
from headway.settings.keys import KEYS, Kind, value_of
from headway.tools.sandbox.sandbox import describe_sandbox
from headway.views.terminal import cells, visible

_NOT_SET = "–"
_WIDEST = 40
"""Cells of the column of values; longer values push what follows them aside."""


@click.group(cls=HelpfulGroup, invoke_without_command=True)
@click.pass_context
@of_project
def config(chosen: Chosen, ctx: click.Context) -> None:
    """Show or change the settings.

    A flag overrides the environment, which overrides the project's file, which overrides your own file.

    \b
    headway config set model openai:gpt-5 --user
    headway config set allow "bash: pytest *" "bash: make test"
    headway config show
    """
    ctx.obj = chosen
    if ctx.invoked_subcommand is None:
        _print_settings(chosen)


@config.command()
@of_project
def show(chosen: Chosen) -> None:
    """Show every setting, its value and its source."""
    _print_settings(chosen)


def _print_settings(chosen: Chosen) -> None:
    loaded = chosen.settings()
    if chosen.json:
        sandbox = describe_sandbox(loaded.settings.sandbox, loaded.settings.mode)
        record = {name: {"value": value_of(loaded.settings, name), "source": loaded.sources[name]} for name in KEYS}
        print_json(
            {"settings": record, "model_missing": _missing(loaded), "sandbox": sandbox, "notices": loaded.notices}
        )
        return
    click.echo("\n".join(_lines(loaded)))
    for notice in loaded.notices:
        click.echo(f"\nNote: {notice}")


def _lines(loaded: Loaded) -> list[str]:
    shown_values = {name: _texts(value_of(loaded.settings, name)) for name in KEYS}
    left = max(map(len, KEYS))
    middle = min(_WIDEST, max(cells(text) for texts in shown_values.values() for text in texts))
    lines: list[str] = []
    for name, (first, *more) in shown_values.items():
        room = " " * (middle - cells(first))
        lines.append(f"{name:{left}}  {first}{room}  {visible(loaded.sources[name])}")
        lines += [f"{'':{left}}  {text}" for text in more]
        if name == "model" and (missing := _missing(loaded)):
            lines.append(f"{'':{left}}  {missing}")
        if name == "sandbox":
            lines.append(f"{'':{left}}  {describe_sandbox(loaded.settings.sandbox, loaded.settings.mode)}")
    return lines


def _missing(loaded: Loaded) -> str | None:
    """What keeps the chosen model from being used."""
    from headway.agent.providers import readiness

    model = loaded.settings.model
    return (
        readiness(model, loaded.settings.base_url) if model else "no model yet: headway config set model PROVIDER:NAME"
    )


def _texts(value: object) -> list[str]:
    """A value as lines: of a list one for each entry."""
    if is_array(value):
        return [visible(str(entry)) for entry in value] or [_NOT_SET]
    if isinstance(value, float):
        return [str(value).removesuffix(".0")]
    return [_NOT_SET if value is None else visible(str(value))]


def complete_keys(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in KEYS if name.startswith(incomplete)]


def complete_values(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    key = KEYS.get(str(ctx.params.get("key")))
    return [choice for choice in key.choices if choice.startswith(incomplete)] if key else []


@config.command("set", context_settings={"ignore_unknown_options": True})
@click.argument("key", shell_complete=complete_keys)
@click.argument("value", nargs=-1, shell_complete=complete_values)
@click.option("--user", is_flag=True, help="Use your own settings file, which applies to all projects.")
@of_project
def set_value(chosen: Chosen, key: str, value: tuple[str, ...], user: bool) -> None:
    """Set KEY to VALUE in the project's file; for a list, give one VALUE per entry.

    Without a VALUE, KEY is removed from the file, so that a value set elsewhere applies again; a list becomes empty.
    See all keys with: headway config show
    """
    from headway.settings.change import key_for, set_for_user, set_in_project

    if mistyped := next((text for text in value if text.startswith("--")), None):
        raise click.NoSuchOption(mistyped)
    if key_for(key, value).kind is not Kind.TEXTS and len(value) > 1:
        raise click.UsageError(f"'{key}' takes one VALUE, not {len(value)}; quote a value that contains spaces.")
    file, kept = set_for_user(key, value) if user else set_in_project(chosen.folder(), key, value)
    notes = _notes(chosen, key, file if user else IN_PROJECT, removed=kept is None)
    if key == "allow":
        from headway.tools.shell.broad_patterns import explain_broad

        notes = [*filter(None, map(explain_broad, _texts(kept) if kept else ())), *notes]
    if chosen.json:
        print_json({"key": key, "value": kept, "file": file, "notices": notes})
        return
    if kept is None:
        click.echo(f"✅ Removed {key} from {neutral(file)}")
    else:
        click.echo(f"✅ Set {key} to {', '.join(_texts(kept)) if kept else 'nothing'} in {neutral(file)}")
    for note in notes:
        click.echo(f"Note: {note}")


def _notes(chosen: Chosen, key: str, source: str, *, removed: bool) -> list[str]:
    """What keeps the value that was just set from being used here."""
    try:
        loaded = chosen.settings()
    except HeadwayError as error:
        return [f"Other settings are still invalid. {error}"]
    actual = loaded.sources[key]
    if key == "model" and actual == source and (missing := _missing(loaded)):
        return [missing]
    if actual in (source, "default") or removed:
        return []
    return [f"It has no effect here, because it is overridden by: {neutral(actual)}."]


@config.command()
@click.option("--user", is_flag=True, help="Print only the path of your own file.")
@of_project
def path(chosen: Chosen, user: bool) -> None:
    """Print the paths of the settings files: the project's and your own."""
    found = {} if user else {"project": project_file(chosen.folder())}
    found["user"] = own_file()
    if chosen.json:
        print_json({whose: {"path": file, "exists": os.path.isfile(file)} for whose, file in found.items()})
    elif user:
        click.echo(neutral(found["user"]))
    else:
        for whose, file in found.items():
            click.echo(f"{whose:7}  {neutral(file)}  ({'exists' if os.path.isfile(file) else 'not there yet'})")
