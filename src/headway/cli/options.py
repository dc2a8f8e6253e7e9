"""What commands share: common flags, opening the session they mean, printing, and errors as one sentence."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol

import click
from click.shell_completion import CompletionItem

from headway.core.errors import HeadwayError, InvalidPlan, InvalidTodos, SessionNotFound, SettingsError, TodoNotFound
from headway.core.json_text import to_json_text
from headway.core.model import Status
from headway.core.text import sanitize_for_display
from headway.project import check_session_name, choose_session_name, find_project, find_project_of_list, open_store
from headway.session import Session, SessionStore

if TYPE_CHECKING:
    from headway.execute.options import ExecutionOptions
    from headway.settings import LoadedSettings
    from headway.web.server import ServerPlace

P = ParamSpec("P")
_PROJECT = "The project's folder (default: the nearest project at or above the current folder)."
_MODEL = "The model to use (default: the model setting)."
_SESSION = "The session (default: the project's current one)."
OFFERED = 50
"""How much the terminal session offers at once while someone types; a shell wants all, to see what it has in common."""
MODES = {
    "default": "asks before every write, command and new host",
    "auto_edit": "asks only before commands and new hosts, not before edits inside the project",
    "sandboxed": "asks as auto_edit does, but not before commands: they run in the sandbox, without the network",
    "yolo": "never asks",
}
"""How much a person wants to be asked, in words. Here, since most commands need no settings."""


class TerminalSession(Protocol):
    """The terminal session in which a command was typed with a slash. What it sets holds there, and at once."""

    session: Session
    model: str | None
    """The model that the next run uses, as `provider:name`."""
    mode: str
    """How much is asked: default, auto_edit, sandboxed, yolo."""

    @property
    def is_in_memory(self) -> bool:
        """Whether nothing is kept when the terminal session ends."""
        ...

    def use_session(self, name: str) -> None:
        """Goes on in another session, or begins it."""
        ...

    def edit(self, text: str, suffix: str) -> str | None:
        """The text as a person leaves it in their editor; None if they gave up."""
        ...

    def execute(self, options: ExecutionOptions) -> None:
        """Has items executed, as a run of the terminal session. Raises if one goes on."""
        ...

    def serve(self, port: int | None) -> ServerPlace:
        """Where the page is that is served as long as the terminal session lasts."""
        ...

    def leave(self) -> None:
        """Ends the terminal session after the command."""
        ...


@dataclass
class CommandContext:
    """What the common flags say."""

    project: str | None = None
    session: str | None = None
    agent: str | None = None
    json: bool = False
    debug: bool = False
    model: str | None = None
    live: TerminalSession | None = None
    """Where the command was typed with a slash."""
    program: str = "headway "
    """What a command begins with where this one was typed: `headway ` in a shell, `/` in the terminal session."""

    def name_command(self, command: str) -> str:
        """Return a command as it is typed here: `headway todos add`, or `/todos add`."""
        return f"{self.program}{command}"

    @property
    def can_ask(self) -> bool:
        """Whether a command may ask a person something, and wait for the answer."""
        return not self.json and self.live is None and sys.stdin.isatty() and sys.stdout.isatty()

    def folder(self) -> str:
        return self.project or find_project(os.environ)

    def store(self) -> SessionStore:
        return open_store(self.folder()) if self.live is None else self.live.session.store

    def settings(self, **flags: object) -> LoadedSettings:
        """What is set, with the flags above the rest. Imported late: most commands need no settings."""
        from headway.settings import load_settings

        return load_settings(self.folder(), {"model": self.model, **flags}, program=self.program)

    def open(self, *, must_exist: bool = True) -> Session:
        """The session meant; one that was named must be there unless the command may begin it."""
        if self.live is not None and self.session is None:
            session = self.live.session
            return session if self.agent is None else session.agent(self.agent)
        store = self.store() if self.live else open_store(self.project or find_project_of_list(os.environ))
        name = check_session_name(choose_session_name(store, os.environ, self.session))
        if must_exist and self.session is not None:
            require_session(store, name)
        session = store.session(name)
        return session if self.agent is None else session.agent(self.agent)


def require_session(store: SessionStore, name: str) -> str:
    """The name, if the project has a session of it."""
    if not store.version(name):
        there = ", ".join(sanitize_for_display(info.name) for info in store.sessions()) or "none yet"
        raise SessionNotFound(
            f"There is no session '{sanitize_for_display(name)}' in this project; the sessions are: {there}."
        )
    return name


def with_project_flags(command: Callable[Concatenate[CommandContext, P], None]) -> Callable[P, None]:
    """Adds the flags that every command on a project has, and turns errors into a sentence and exit code 1."""

    @click.option("--project", metavar="DIR", type=click.Path(), help=_PROJECT)
    @click.option("--model", metavar="PROVIDER:NAME", help=_MODEL)
    @click.option("--json", "as_json", is_flag=True, help="Print data as JSON.")
    @click.option("--debug", is_flag=True, help="Show the traceback of an error.")
    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        chosen = merge_flags(
            click.get_current_context().find_object(CommandContext) or CommandContext(),
            {name: kwargs.pop(name, None) for name in ("project", "session", "agent", "as_json", "debug", "model")},
        )
        try:
            command(chosen, *args, **kwargs)
        except HeadwayError as error:
            if chosen.debug:
                raise
            print_error(error, chosen)
            sys.exit(1)

    return run


def merge_flags(outer: CommandContext, flags: Mapping[str, object]) -> CommandContext:
    """What flags say, over what was said before them. Another project is not the one of the terminal session."""
    project, session, agent = (_to_text(flags.get(name)) for name in ("project", "session", "agent"))
    elsewhere = bool(project) and os.path.realpath(project or "") != os.path.realpath(outer.folder())
    return replace(
        outer,
        project=project or outer.project,
        session=outer.session if session is None else session,
        agent=outer.agent if agent is None else agent,
        json=bool(flags.get("as_json")) or outer.json,
        debug=bool(flags.get("debug")) or outer.debug,
        model=_to_text(flags.get("model")) or outer.model,
        live=None if elsewhere else outer.live,
    )


def with_session_flags(command: Callable[Concatenate[CommandContext, P], None]) -> Callable[P, None]:
    """As `with_project_flags`, with the flags that say which list of the project is meant."""
    session = click.option("--session", metavar="NAME", shell_complete=complete_sessions, help=_SESSION)
    agent = click.option("--agent", metavar="NAME", help="Use the list of this sub-agent (default: the main agent's).")
    return session(agent(with_project_flags(command)))


def _to_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def print_sandbox(loaded: LoadedSettings) -> None:
    """Say in what the commands of a run are about to run."""
    if line := loaded.settings.explain_sandbox():
        click.echo(line, err=True)


def print_json(value: object, indent: int | None = 2) -> None:
    click.echo(to_json_text(value, indent))


def print_error(error: HeadwayError, chosen: CommandContext) -> None:
    from headway.app.advice import explain_error

    message = explain_error(error, chosen.program)
    if chosen.json:
        record: dict[str, object] = {"message": message}
        if isinstance(error, InvalidTodos | InvalidPlan | SettingsError):
            record["violations"] = list(error.violations)
        if isinstance(error, TodoNotFound):
            record["ids"] = error.known
        click.echo(to_json_text({"error": record}, None), err=True)
    else:
        click.echo(f"Error: {message}", err=True)


def parse_flags_so_far(ctx: click.Context) -> CommandContext:
    """What the flags of a line say that is still being typed."""
    chosen = ctx.find_object(CommandContext) or CommandContext()
    flags: dict[str, object] = {}
    node: click.Context | None = ctx
    while node is not None:
        flags = {**{name: value for name, value in node.params.items() if value is not None}, **flags}
        node = node.parent
    return merge_flags(chosen, flags)


def complete_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of the list with their texts, for completion."""
    try:
        todos = parse_flags_so_far(ctx).open(must_exist=False).todos
    except HeadwayError:
        return []
    found = (todo for todo in todos if todo.id.startswith(incomplete))
    offered = islice(found, OFFERED if is_in_terminal_session(ctx) else None)
    return [CompletionItem(todo.id, help=sanitize_for_display(todo.content)) for todo in offered]


def complete_sessions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of sessions, for completion."""
    try:
        names = [info.name for info in parse_flags_so_far(ctx).store().sessions()]
    except HeadwayError:
        return []
    return [name for name in names if name.startswith(incomplete)]


class StatusType(click.ParamType[Status]):
    """A status; an error names the nearest one."""

    name = "status"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Status:
        text = str(value).strip().lower().replace("-", "_")
        if text not in set(Status):
            near = suggest_nearest(text, list(Status))
            self.fail(f"'{sanitize_for_display(value)}' is not a valid status{near} Choose from: {', '.join(Status)}.")
        return Status(text)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(status) for status in Status if status.startswith(incomplete)]


class ModeType(click.ParamType[str]):
    """How much is asked; an error names the nearest mode."""

    name = "mode"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value).strip().lower().replace("-", "_")
        if text not in MODES:
            near = suggest_nearest(text, list(MODES))
            self.fail(f"'{sanitize_for_display(value)}' is not a valid mode{near} Choose from: {', '.join(MODES)}.")
        return text

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name, help=line) for name, line in MODES.items() if name.startswith(incomplete)]


def suggest_nearest(text: str, known: list[str], before: str = "") -> str:
    """`; did you mean 'x'?` if something known is near, else a full stop. `before` is written before what is near."""
    from difflib import get_close_matches

    found = get_close_matches(text, known, n=1, cutoff=0.6)
    return f"; did you mean '{before}{found[0]}'?" if found else "."


def is_in_terminal_session(ctx: click.Context) -> bool:
    """Whether the command was typed with a slash."""
    chosen = ctx.find_object(CommandContext)
    return chosen is not None and chosen.live is not None


def format_as_typed(ctx: click.Context) -> str:
    """How the command is written where it was typed: `/todos add` or `headway todos add`."""
    program, *path = ctx.command_path.split(" ")
    return f"/{' '.join(path)}" if is_in_terminal_session(ctx) else " ".join([program, *path])


_UNKNOWN = "headway.unknown_command"


class HelpfulGroup(click.Group):
    """A group whose unknown commands name the nearest one."""

    def line(self, ctx: click.Context, name: str) -> str:
        """What a command does, in one line."""
        command = self.get_command(ctx, name)
        return "" if command is None else command.get_short_help_str(120)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        if ctx.meta.get(_UNKNOWN):
            return []
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=self.line(ctx, name)) for name in names), *options]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            if not ctx.resilient_parsing:
                ctx.fail(self.unknown(ctx, name))
            ctx.meta[_UNKNOWN] = True
        return super().resolve_command(ctx, args)

    def unknown(self, ctx: click.Context, name: str) -> str:
        """What is said about a command that there is not."""
        known = self.list_commands(ctx)
        if not is_in_terminal_session(ctx):
            return (
                f"No command '{sanitize_for_display(name)}'{suggest_nearest(name, known)} Commands: {', '.join(known)}."
            )
        before = format_as_typed(ctx) if ctx.parent is None else f"{format_as_typed(ctx)} "
        near = suggest_nearest(name, known, before)
        if near == ".":
            near = f"; see {f'/help {before[1:]}'.strip()}."
        return f"No command '{before}{sanitize_for_display(name)}'{near}"
