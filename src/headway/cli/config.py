"""`headway config`: the settings that hold here, where each comes from, and setting one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import click

from headway.app.advice import explain_missing_model
from headway.cli.options import CommandContext, HelpfulGroup, print_json, with_project_flags
from headway.core.errors import HeadwayError, SettingsError
from headway.core.rules import is_array
from headway.core.text import neutralize
from headway.settings import LoadedSettings
from headway.settings.files import IN_PROJECT, describe_place, project_file, read_file, require_user_file
from headway.settings.keys import KEYS, Kind, check_value, get_value
from headway.settings.load import text_values
from headway.settings.trust import is_trusted, rights_in, trust_texts
from headway.tools.effects import Mode
from headway.tools.sandbox.sandbox import describe_sandbox
from headway.views.terminal import count_cells, to_visible

_NOT_SET = "–"
_WIDEST = 40
"""Cells of the column of values; longer values push what follows them aside."""

yes_option = click.option("--yes", is_flag=True, help="Confirm without being asked.")


@click.group(cls=HelpfulGroup, invoke_without_command=True)
@click.pass_context
@with_project_flags
def config(chosen: CommandContext, ctx: click.Context) -> None:
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
@with_project_flags
def show(chosen: CommandContext) -> None:
    """Show every setting, its value and its source."""
    _print_settings(chosen)


def _print_settings(chosen: CommandContext) -> None:
    loaded = chosen.settings()
    if chosen.json:
        sandbox = describe_sandbox(loaded.settings.sandbox, loaded.settings.mode)
        record = {name: {"value": get_value(loaded.settings, name), "source": loaded.sources[name]} for name in KEYS}
        print_json(
            {
                "settings": record,
                "model_missing": _explain_missing(chosen, loaded),
                "sandbox": sandbox,
                "notices": _notices(loaded),
            }
        )
        return
    click.echo("\n".join(_setting_lines(chosen, loaded)))
    for notice in _notices(loaded):
        click.echo(f"\nNote: {notice}")


def _notices(loaded: LoadedSettings) -> list[str]:
    return [*loaded.notices, *_broad_entries(loaded.settings.allow)]


def _broad_entries(allow: Iterable[str]) -> list[str]:
    """Say which entries of `allow` allow more than they seem to."""
    from headway.tools.shell.broad_patterns import explain_broad

    return [words for entry in allow if (words := explain_broad(entry))]


def _setting_lines(chosen: CommandContext, loaded: LoadedSettings) -> list[str]:
    shown_values = {name: _to_lines(get_value(loaded.settings, name)) for name in KEYS}
    left = max(map(len, KEYS))
    middle = min(_WIDEST, max(count_cells(text) for texts in shown_values.values() for text in texts))
    lines: list[str] = []
    for name, (first, *more) in shown_values.items():
        room = " " * (middle - count_cells(first))
        lines.append(f"{name:{left}}  {first}{room}  {to_visible(loaded.sources[name])}")
        lines += [f"{'':{left}}  {text}" for text in more]
        if name == "model" and (missing := _explain_missing(chosen, loaded)):
            lines.append(f"{'':{left}}  {missing}")
        if name == "sandbox":
            lines.append(f"{'':{left}}  {describe_sandbox(loaded.settings.sandbox, loaded.settings.mode)}")
    return lines


def _explain_missing(chosen: CommandContext, loaded: LoadedSettings) -> str | None:
    """What keeps the chosen model from being used."""
    model = loaded.settings.model
    if not model:
        return f"no model yet: {chosen.name_command('config set model PROVIDER:NAME')}"
    return explain_missing_model(model, loaded.settings, chosen.program)


def _to_lines(value: object) -> list[str]:
    """A value as lines: of a list one for each entry."""
    if is_array(value):
        return [to_visible(str(entry)) for entry in value] or [_NOT_SET]
    if isinstance(value, float):
        return [str(value).removesuffix(".0")]
    return [_NOT_SET if value is None else to_visible(str(value))]


def complete_keys(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in KEYS if name.startswith(incomplete)]


def complete_values(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    key = KEYS.get(str(ctx.params.get("key")))
    return [choice for choice in key.choices if choice.startswith(incomplete)] if key else []


@config.command("set", context_settings={"ignore_unknown_options": True})
@click.argument("key", shell_complete=complete_keys)
@click.argument("value", nargs=-1, shell_complete=complete_values)
@click.option("--user", is_flag=True, help="Use your own settings file, which applies to all projects.")
@yes_option
@with_project_flags
def set_value(chosen: CommandContext, key: str, value: tuple[str, ...], user: bool, yes: bool) -> None:
    """Set KEY to VALUE in the project's file; for a list, give one VALUE per entry.

    Without a VALUE, KEY is removed from the file, so that a value set elsewhere applies again; a list becomes empty.
    See all keys with: headway config show
    """
    from headway.settings.change import find_settable_key

    if mistyped := next((text for text in value if text.startswith("--")), None):
        raise click.NoSuchOption(mistyped)
    if find_settable_key(key, value, chosen.program).kind is not Kind.TEXTS and len(value) > 1:
        raise click.UsageError(f"'{key}' takes one VALUE, not {len(value)}; quote a value that contains spaces.")
    file, kept = keep_value(chosen, key, value, user=user, yes=yes)
    notes = _list_notes(chosen, key, file if user else IN_PROJECT, removed=kept is None)
    if key == "allow":
        notes = [*_broad_entries(_to_lines(kept) if kept else ()), *notes]
    if chosen.json:
        print_json({"key": key, "value": kept, "file": file, "notices": notes})
        return
    if kept is None:
        click.echo(f"✅ Removed {key} from {neutralize(file)}")
    else:
        click.echo(f"✅ Set {key} to {', '.join(_to_lines(kept)) if kept else 'nothing'} in {neutralize(file)}")
    for note in notes:
        click.echo(f"Note: {note}")


def keep_value(chosen: CommandContext, key: str, texts: Sequence[str], *, user: bool, yes: bool) -> tuple[str, object]:
    """Save a value in the project's file or the user's own; return the file and the value. Yolo is confirmed first."""
    from headway.settings.change import set_for_user, set_in_project

    if not user:
        return set_in_project(chosen.folder(), key, texts, program=chosen.program)
    if key == "mode" and texts and check_value(key, texts[0]) == Mode.YOLO:
        _confirm(
            chosen,
            "With yolo nothing is asked in any project: every command and edit of a model is carried out at once.",
            "Keep it for all projects?",
            yes=yes,
        )
    return set_for_user(key, texts)


def keep_in_terminal_session(
    chosen: CommandContext, key: str, text: str, *, user: bool, yes: bool
) -> tuple[str | None, list[str]]:
    """Save what was set with a slash; return where (None: nowhere), and what kept it from being saved."""
    if chosen.live is not None and chosen.live.is_in_memory and not user:
        return None, []
    try:
        file, _ = keep_value(chosen, key, (text,), user=user, yes=yes)
    except SettingsError as error:
        if user:
            raise
        return None, [f"It was not saved. {error}"]
    return (file if user else IN_PROJECT), []


def scope(where: str | None) -> str:
    """Say for which projects, or how long, something holds that was set in the terminal session."""
    if where is None:
        return "until you leave"
    return "in this project" if where == IN_PROJECT else "in all projects"


def _confirm(chosen: CommandContext, what: str, question: str, *, yes: bool) -> None:
    """Have a person confirm what is dangerous; raise if they do not, or cannot be asked."""
    if yes:
        return
    if not chosen.can_ask:
        raise HeadwayError(f"{what} To confirm that, add --yes.")
    if not click.confirm(f"{what} {question}"):
        raise HeadwayError("Nothing was changed.")


def _list_notes(chosen: CommandContext, key: str, source: str, *, removed: bool) -> list[str]:
    """What keeps the value that was just set from being used here."""
    try:
        loaded = chosen.settings()
    except HeadwayError as error:
        return [f"Other settings are still invalid. {error}"]
    actual = loaded.sources[key]
    if key == "model" and actual == source and (missing := _explain_missing(chosen, loaded)):
        return [missing]
    if actual in (source, "default") or removed:
        return []
    return [f"It has no effect here, because it is overridden by: {neutralize(actual)}."]


@config.command()
@yes_option
@with_project_flags
def trust(chosen: CommandContext, yes: bool) -> None:
    """Trust the project's settings file as it is now.

    A settings file grants rights only as 'headway config set' wrote it on this machine. One that came with the project,
    or that you edited by hand, is shown to you here before you trust it.
    """
    file = project_file(chosen.folder())
    text = read_file(file)
    if text is None:
        raise HeadwayError(f"There is nothing to trust: {describe_place(file)} does not exist.")
    values = text_values(text, file)
    grants = {name: values[name] for name in rights_in(values)}
    is_new = bool(grants) and not is_trusted(file, text)
    if is_new:
        warnings = _broad_entries(_to_lines(grants["allow"]) if grants.get("allow") else ())
        if not chosen.json:
            click.echo(f"{to_visible(file)} would set:")
            for name, value in grants.items():
                click.echo("\n".join(f"  {name}  {line}" for line in _to_lines(value)))
            for warning in warnings:
                click.echo(f"Note: {warning}")
        _confirm(chosen, "Whoever wrote this decides what runs unasked.", "Trust the file as it is now?", yes=yes)
        trust_texts(file, text)
    if chosen.json:
        print_json({"file": file, "grants": grants, "trusted": True})
    elif is_new:
        click.echo(f"✅ Trusted {neutralize(file)} as it is now")
    else:
        click.echo("The file is trusted already." if grants else "The file grants nothing, so it needs no trust.")


@config.command()
@click.option("--user", is_flag=True, help="Print only the path of your own file.")
@with_project_flags
def path(chosen: CommandContext, user: bool) -> None:
    """Print the paths of the settings files: the project's and your own."""
    found = {} if user else {"project": project_file(chosen.folder())}
    found["user"] = require_user_file()
    if chosen.json:
        print_json({whose: {"path": file, "exists": os.path.isfile(file)} for whose, file in found.items()})
    elif user:
        click.echo(neutralize(found["user"]))
    else:
        for whose, file in found.items():
            click.echo(f"{whose:7}  {neutralize(file)}  ({'exists' if os.path.isfile(file) else 'not there yet'})")
