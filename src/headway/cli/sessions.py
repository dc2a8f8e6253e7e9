"""`headway sessions`: the sessions of a project, and which of them is the current one."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import click

from headway.adoption import adopt_file, is_adopted
from headway.app.session_choice import check_unused_name, explain_left_behind
from headway.cli.options import (
    CommandContext,
    HelpfulGroup,
    complete_sessions,
    print_json,
    require_session,
    with_project_flags,
)
from headway.core.clock import format_local_time
from headway.core.errors import HeadwayError
from headway.core.model import FINISHED
from headway.core.text import neutralize, sanitize_for_display, truncate
from headway.project import DEFAULT_SESSION, FILE, headway_folder
from headway.session import SessionStore
from headway.store.foreign_files import explain_foreign
from headway.store.opening import refuse_unusual
from headway.store.sqlite import SqliteStore
from headway.views.listing import explain_half_changed, is_half_changed

NEW = "new"
"""What stands for a session that is not there yet."""


@click.group(cls=HelpfulGroup, invoke_without_command=True)
@click.pass_context
@with_project_flags
def sessions(chosen: CommandContext, ctx: click.Context) -> None:
    """List, resume and delete the sessions of this project."""
    ctx.obj = chosen
    if ctx.invoked_subcommand is None:
        print_sessions(chosen)


@sessions.command("list")
@with_project_flags
def list_sessions(chosen: CommandContext) -> None:
    """Show all sessions, the most recent first; * marks the current one."""
    print_sessions(chosen)


def print_sessions(chosen: CommandContext) -> None:
    store = chosen.store()
    current = _current_name(chosen, store)
    found: list[dict[str, object]] = []
    for info in store.sessions():
        todos = store.session(info.name).todos
        done = sum(todo.status in FINISHED for todo in todos)
        found.append(
            {
                "name": info.name,
                "current": info.name == current,
                "done": done,
                "total": len(todos),
                "version": info.version,
                "created_at": info.created_at,
                "updated_at": info.updated_at,
            }
        )
    if chosen.json:
        print_json(found)
        return
    is_known = chosen.live is not None or store.current() is not None
    if is_known and not any(record["current"] for record in found):
        click.echo(f"* {truncate(neutralize(current), 40):40}  empty")
    elif not found:
        click.echo(f'No sessions yet; the first change creates one: {chosen.name_command("todos add")} "…"')
    for record in found:
        mark = "*" if record["current"] else " "
        when = format_local_time(str(record["updated_at"]))
        click.echo(
            f"{mark} {truncate(neutralize(str(record['name'])), 40):40}  "
            f"{record['done']}/{record['total']} done  {when}"
        )


def _current_name(chosen: CommandContext, store: SessionStore) -> str:
    return chosen.live.session.name if chosen.live is not None else store.current() or DEFAULT_SESSION


@sessions.command()
@click.argument("name", shell_complete=complete_sessions)
@with_project_flags
def resume(chosen: CommandContext, name: str) -> None:
    """Make a session the current one, which all other commands use."""
    switch_to(chosen, name)


def switch_to(chosen: CommandContext, name: str) -> None:
    """Makes a session that is there the current one; in the terminal session, goes on in it."""
    store = chosen.store()
    if chosen.live is None:
        store.set_current(require_session(store, name))
    elif name != chosen.live.session.name:
        chosen.live.use_session(require_session(store, name))
    if chosen.json:
        print_json({"current": name})
    else:
        click.echo(f"✅ The current session is now {sanitize_for_display(name)}")


def create_session(chosen: CommandContext, name: str | None) -> None:
    """Create a session and make it the current one; without a name it is named after the time."""
    store = chosen.store()
    name = check_unused_name(store, name, chosen.program)
    left = explain_left_behind(store, _current_name(chosen, store), chosen.program)
    if chosen.live is not None:
        chosen.live.use_session(name)
    else:
        store.set_current(name)
    if chosen.json:
        print_json({"current": name})
        return
    click.echo(f"✅ The current session is now {sanitize_for_display(name)}; the first change creates it")
    if left:
        click.echo(f"Note: {left}")


def _forget_files(chosen: CommandContext, store: SessionStore, name: str) -> None:
    """Remove the worktrees and checkpoints that only this session used."""
    if not os.path.isdir(os.path.join(headway_folder(chosen.folder()), "checkpoints")):
        return
    from headway.execute.git import GitFailed, NoCheckpoints
    from headway.execute.shadow_repository import ShadowRepository
    from headway.execute.thinning import forget_session

    with suppress(NoCheckpoints, GitFailed, OSError):  # they go later, with age
        forget_session(store, ShadowRepository(chosen.folder()), name)


@sessions.command()
@click.argument("name", shell_complete=complete_sessions)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@with_project_flags
def delete(chosen: CommandContext, name: str, yes: bool) -> None:
    """Delete a session and its whole history. This cannot be undone."""
    store = chosen.store()
    require_session(store, name)
    if chosen.live is not None and chosen.live.session.name == name:
        raise HeadwayError(
            f"You are in '{sanitize_for_display(name)}'; switch to another session before you delete it."
        )
    session = store.session(name)
    if session.run is not None and session.run.is_active:
        raise HeadwayError(
            f"A run is in progress in '{sanitize_for_display(name)}'; stop it before you delete the session."
        )
    if is_half_changed(session.state, session.agent_id):
        raise HeadwayError(f"{explain_half_changed(chosen.program)} --session={sanitize_for_display(name)}")
    if not yes:
        if not sys.stdin.isatty():
            raise HeadwayError(f"Deleting '{sanitize_for_display(name)}' cannot be undone; confirm with --yes.")
        if not click.confirm(f"Delete '{sanitize_for_display(name)}' and its whole history?"):
            click.echo("Nothing was deleted.")
            return
    _forget_files(chosen, store, name)
    store.delete(name)
    if chosen.json:
        print_json({"deleted": name})
    else:
        click.echo(f"✅ Deleted {sanitize_for_display(name)}")


@sessions.command()
@with_project_flags
def adopt(chosen: CommandContext) -> None:
    """Use this project's sessions though someone else may have written them.

    The sessions of a project that you cloned, copied or got from another user are not used by themselves: they may hold
    answers and settings that you never gave. Look at what came with the project before you adopt it.
    """
    file = os.path.join(headway_folder(chosen.folder()), FILE)
    store = SqliteStore(file, is_adopted=lambda path: True)
    refuse_unusual(file)
    names = [info.name for info in store.sessions()]  # refused here if Headway did not make it like that
    store.close()
    if not os.path.exists(file):
        raise HeadwayError(f"There are no sessions to adopt: '{sanitize_for_display(file, 300)}' does not exist.")
    why = explain_foreign(file)
    if why is not None and not is_adopted(file):
        try:
            adopt_file(file)
        except OSError as error:
            raise HeadwayError(f"That could not be remembered: {sanitize_for_display(str(error), 300)}.") from error
    if chosen.json:
        print_json({"adopted": names, "file": file})
    elif why is None:
        click.echo("These sessions are yours already; nothing to adopt.")
    else:
        what = "1 session" if len(names) == 1 else f"{len(names)} sessions"
        click.echo(f"✅ Adopted {what} in '{sanitize_for_display(file, 300)}'")
