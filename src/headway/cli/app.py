"""The console script `headway`: the commands, each loaded only when it is called.

The same commands are typed with a slash in the terminal session, which `headway` alone starts.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import Literal, NamedTuple

import click

from headway import __version__
from headway.cli.new_session import check_flags, insert_unnamed_new, new_option
from headway.cli.options import (
    MODES,
    CommandContext,
    HelpfulGroup,
    ModeType,
    complete_sessions,
    is_in_terminal_session,
    merge_flags,
    print_error,
)
from headway.core.errors import HeadwayError


class CommandEntry(NamedTuple):
    module: str
    attribute: str
    line: str
    """What it does, for the help."""
    where: Literal["both", "shell", "repl"] = "both"
    instead: str = ""
    """What to do in the terminal session, if it works only in a shell."""


COMMANDS = {
    "clean": CommandEntry("headway.cli.clean", "clean", "Show what .headway contains, and free disk space."),
    "completion": CommandEntry(
        "headway.cli.completion",
        "completion",
        "Set up shell completion of commands, ids and statuses.",
        "shell",
        "Tab completion works here without it",
    ),
    "config": CommandEntry("headway.cli.config", "config", "Show or change the settings, and where each comes from."),
    "cost": CommandEntry("headway.cli.cost", "cost", "Show the tokens used by the session and their cost."),
    "demo": CommandEntry(
        "headway.cli.demo",
        "demo",
        "Watch an agent write, work through and complete a list (offline).",
        "shell",
        "leave with /quit, then type headway demo",
    ),
    "diff": CommandEntry("headway.cli.diff", "diff", "Show the file changes of the last run."),
    "exit": CommandEntry("headway.cli.quit", "leave", "As /quit.", "repl"),
    "help": CommandEntry("headway.cli.help", "help_command", "List all commands, or explain one."),
    "mcp": CommandEntry(
        "headway.cli.mcp",
        "mcp",
        "Serve the todo list to other agents (MCP).",
        "shell",
        "it is other agents' programs that start it",
    ),
    "mode": CommandEntry("headway.cli.mode", "mode", "Show or set the approval mode."),
    "model": CommandEntry("headway.cli.model", "model", "Show or set the model."),
    "plan": CommandEntry("headway.cli.plan", "plan", "Show or edit the plan, turn it into todos, switch plan mode."),
    "quit": CommandEntry("headway.cli.quit", "leave", "Leave the terminal session.", "repl"),
    "report": CommandEntry("headway.cli.report", "report", "Write a report of the session."),
    "run": CommandEntry(
        "headway.cli.run",
        "run",
        "Have the agent work on a task and show its list.",
        "shell",
        "here, type the task itself, without a slash",
    ),
    "session": CommandEntry("headway.cli.session", "session", "List the sessions, switch to one, or start one."),
    "sessions": CommandEntry(
        "headway.cli.sessions", "sessions", "List, resume and delete the sessions of this project."
    ),
    "todos": CommandEntry("headway.cli.todos", "todos", "Show or change the todo list."),
    "watch": CommandEntry(
        "headway.cli.watch",
        "watch",
        "Show the list live while an agent works on it.",
        "shell",
        "use Ctrl+T here, or headway watch in another terminal",
    ),
    "web": CommandEntry("headway.cli.web", "web", "Watch and steer the sessions of this project in the browser."),
}
"""Every command there is, by name. Help, completion and the terminal session's slash commands all come from it."""


class LazyGroup(HelpfulGroup):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = next((at for at, word in enumerate(args) if word in COMMANDS), len(args))
        return super().parse_args(ctx, insert_unnamed_new(args[:at]) + args[at:])

    def list_commands(self, ctx: click.Context) -> list[str]:
        elsewhere = "shell" if is_in_terminal_session(ctx) else "repl"
        return [name for name, command in COMMANDS.items() if command.where != elsewhere]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        return getattr(importlib.import_module(COMMANDS[cmd_name].module), COMMANDS[cmd_name].attribute)

    def unknown(self, ctx: click.Context, name: str) -> str:
        slash = "/" if is_in_terminal_session(ctx) else ""
        if name in COMMANDS and slash:
            return f"'/{name}' works only in a shell; {COMMANDS[name].instead}."
        if name in COMMANDS:
            return f"'/{name}' works only in the terminal session, which 'headway' alone starts."
        from headway.cli.help import find_groups_with

        if groups := find_groups_with(self, ctx, name):
            return f"No command '{slash}{name}'; did you mean '{slash or 'headway '}{groups[0]} {name}'?"
        return super().unknown(ctx, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].line) for name in self.list_commands(ctx)])

    def line(self, ctx: click.Context, name: str) -> str:
        return COMMANDS[name].line


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="headway")
@click.option("--continue", "go_on", is_flag=True, help="Resume the session's last conversation.")
@new_option
@click.option(
    "--session",
    metavar="NAME",
    shell_complete=complete_sessions,
    help="Use this session (new or existing) for this command only.",
)
@click.option("--plan", is_flag=True, help="Start in plan mode: explore and plan, change nothing.")
@click.option("--mode", metavar=f"[{'|'.join(MODES)}]", type=ModeType(), help="Approval mode; see headway mode.")
@click.option("--model", metavar="PROVIDER:NAME", help="The model to use (default: the model setting).")
@click.option(
    "--project",
    metavar="DIR",
    type=click.Path(),
    help="The project's folder (default: the nearest project at or above the current folder).",
)
@click.option("--memory", is_flag=True, help="Keep nothing: the session is discarded when you leave.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def app(
    ctx: click.Context, go_on: bool, new: str | None, plan: bool, mode: str | None, memory: bool, **flags: object
) -> None:
    """Headway: the planning layer of a coding agent.

    One todo list per session, kept in one log that you can watch, replay and undo. Agents write it with TodoWrite (see
    TodoWrite --help); you see and change it here. All commands use the project's current session: a new conversation
    starts with the existing list and leaves it for the next one.

    \b
    headway                              work with the agent in this folder
    headway --continue                   resume the last conversation
    headway run "Fix the failing test"   have the agent do one task
    headway demo                         take a short tour
    headway todos add "Fix the parser"   start a list in this folder
    headway todos list                   show it
    headway watch                        watch it live
    """
    chosen = ctx.obj = merge_flags(ctx.find_object(CommandContext) or CommandContext(), flags)
    own = {"--continue": go_on, "--new": new is not None, "--plan": plan, "--mode": mode, "--memory": memory}
    if ctx.invoked_subcommand is None:
        ctx.exit(_start_session(ctx, chosen, go_on=go_on, new=new, plan=plan, mode=mode, memory=memory))
    elif given := next((flag for flag, value in own.items() if value), None):
        ctx.fail(f"{given} has no effect before a command; omit it, or put it after a command that accepts it.")


def _start_session(
    ctx: click.Context,
    chosen: CommandContext,
    *,
    go_on: bool,
    new: str | None,
    plan: bool,
    mode: str | None,
    memory: bool,
) -> int:
    if chosen.live is not None:
        ctx.fail("You are already in the terminal session; enter a command, or type / to see all of them.")
    check_flags(chosen, go_on=go_on, new=new, memory=memory)
    try:
        from headway.repl.main import start  # above the commands, most of which never need it

        return start(chosen, go_on=go_on, new=new, plan=plan, mode=mode, memory=memory)
    except HeadwayError as error:
        if chosen.debug:
            raise
        print_error(error, chosen)
        return 1


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app(standalone_mode=True)
    except OSError as error:
        if isinstance(error, HeadwayError) or error.filename is not None:
            raise
        sys.stderr.write(f"Error: the answer could not be printed ({error.strerror}).\n")
        os._exit(1)
