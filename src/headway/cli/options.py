"""What commands share: common flags, opening the session they mean, printing, and errors as one sentence."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol

import click
from click.shell_completion import CompletionItem

from headway.core.errors import HeadwayError, InvalidPlan, InvalidTodos, SessionNotFound, SettingsError, TodoNotFound
from headway.core.log import Log
from headway.core.model import Status
from headway.core.session import Session
from headway.core.store import Store
from headway.core.text import UNSAFE, shown
from headway.project import chosen_session, find_project, open_store, project_of_list, session_name

if TYPE_CHECKING:
    from headway.settings import Loaded

P = ParamSpec("P")
_PROJECT = "The project's folder (default: found from here upward)."
_MODEL = "The model to use (default: as set; see headway config)."
_SESSION = "The session (default: the project's current one)."


class Live(Protocol):
    """The terminal session in which a command was typed with a slash. What it sets holds there, and at once."""

    session: Session
    model: str | None
    """The model that the next run uses, as `provider:name`."""
    mode: str
    """How much is asked: default, auto_edit, yolo."""

    def use_session(self, name: str) -> None:
        """Goes on in another session, or begins it."""
        ...

    def edit(self, text: str, suffix: str) -> str | None:
        """The text as a person leaves it in their editor; None if they gave up."""
        ...

    def leave(self) -> None:
        """Ends the terminal session after the command."""
        ...


@dataclass
class Chosen:
    """What the common flags say."""

    project: str | None = None
    session: str | None = None
    agent: str | None = None
    json: bool = False
    debug: bool = False
    model: str | None = None
    live: Live | None = None
    """Where the command was typed with a slash."""

    def folder(self) -> str:
        return self.project or find_project(os.environ)

    def store(self) -> Store:
        return open_store(self.folder())

    def settings(self, **flags: object) -> Loaded:
        """What is set, with the flags above the rest. Imported late: most commands need no settings."""
        from headway.settings import load_settings

        return load_settings(self.folder(), {"model": self.model, **flags})

    def open(self, *, must_exist: bool = True) -> Session:
        """The session meant; one that was named must be there unless the command may begin it."""
        if self.live is not None and self.session is None:
            session = self.live.session
            return session if self.agent is None else session.agent(self.agent)
        store = open_store(self.project or project_of_list(os.environ))
        name = session_name(chosen_session(store, os.environ, self.session))
        if must_exist and self.session is not None:
            known_session(store, name)
        session = Session(Log(store, name))
        return session if self.agent is None else session.agent(self.agent)


def known_session(store: Store, name: str) -> str:
    """The name, if the project has a session of it."""
    if not store.version(name):
        there = ", ".join(shown(info.name) for info in store.sessions()) or "none yet"
        raise SessionNotFound(f"There is no session '{shown(name)}' in this project; the sessions are: {there}.")
    return name


def of_project(command: Callable[Concatenate[Chosen, P], None]) -> Callable[P, None]:
    """Adds the flags that every command on a project has, and turns errors into a sentence and exit code 1."""

    @click.option("--project", metavar="DIR", type=click.Path(), help=_PROJECT)
    @click.option("--model", metavar="PROVIDER:NAME", help=_MODEL)
    @click.option("--json", "as_json", is_flag=True, help="Print data as JSON.")
    @click.option("--debug", is_flag=True, help="Show the traceback of an error.")
    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        outer = click.get_current_context().find_object(Chosen) or Chosen()
        chosen = replace(
            outer,
            project=_text(kwargs.pop("project", None)) or outer.project,
            session=_text(kwargs.pop("session", None)),
            agent=_text(kwargs.pop("agent", None)),
            json=bool(kwargs.pop("as_json", False)) or outer.json,
            debug=bool(kwargs.pop("debug", False)) or outer.debug,
            model=_text(kwargs.pop("model", None)) or outer.model,
        )
        try:
            command(chosen, *args, **kwargs)
        except HeadwayError as error:
            if chosen.debug:
                raise
            print_error(error, as_json=chosen.json)
            sys.exit(1)

    return run


def common(command: Callable[Concatenate[Chosen, P], None]) -> Callable[P, None]:
    """As `of_project`, with the flags that say which list of the project is meant."""
    session = click.option("--session", metavar="NAME", shell_complete=complete_sessions, help=_SESSION)
    agent = click.option("--agent", metavar="NAME", help="The list of a sub-agent (default: the main agent's).")
    return session(agent(of_project(command)))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


_UNSEEN = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, *map(ord, UNSAFE))}


def json_text(value: object, indent: int | None = 2) -> str:
    """JSON in which nothing stands that a terminal would obey: such characters are written as escapes."""
    return json.dumps(value, ensure_ascii=False, indent=indent).translate(_UNSEEN)


def print_json(value: object, indent: int | None = 2) -> None:
    click.echo(json_text(value, indent))


def print_error(error: HeadwayError, *, as_json: bool) -> None:
    if as_json:
        record: dict[str, object] = {"message": str(error)}
        if isinstance(error, InvalidTodos | InvalidPlan | SettingsError):
            record["violations"] = list(error.violations)
        if isinstance(error, TodoNotFound):
            record["ids"] = error.known
        click.echo(json_text({"error": record}, None), err=True)
    else:
        click.echo(f"Error: {error}", err=True)


def complete_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Ids of the list, for the shell's completion."""
    named = [_text(ctx.params.get(flag)) for flag in ("project", "session", "agent")]
    try:
        session = Chosen(named[0], named[1], named[2]).open(must_exist=False)
        return [todo.id for todo in session.todos if todo.id.startswith(incomplete)]
    except HeadwayError:
        return []


def complete_sessions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of sessions, for the shell's completion."""
    try:
        names = [info.name for info in Chosen(_text(ctx.params.get("project"))).store().sessions()]
    except HeadwayError:
        return []
    return [name for name in names if name.startswith(incomplete)]


class StatusType(click.ParamType[Status]):
    """A status; an error names the nearest one."""

    name = "status"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Status:
        text = str(value).strip().lower().replace("-", "_")
        if text not in set(Status):
            near = nearest(text, list(Status))
            self.fail(f"'{shown(value)}' is no status{near} Choose from: {', '.join(Status)}.")
        return Status(text)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(status) for status in Status if status.startswith(incomplete)]


def nearest(text: str, known: list[str]) -> str:
    """`; did you mean 'x'?` if something known is near, else a full stop."""
    from difflib import get_close_matches

    found = get_close_matches(text, known, n=1, cutoff=0.5)
    return f"; did you mean '{found[0]}'?" if found else "."


class HelpfulGroup(click.Group):
    """A group whose unknown commands name the nearest one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            ctx.fail(f"No command '{shown(name)}'{nearest(name, known)} Commands: {', '.join(known)}.")
        return super().resolve_command(ctx, args)
