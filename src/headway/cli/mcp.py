"""`headway mcp`: the list for other agents, over the Model Context Protocol."""

from __future__ import annotations

import os

import click

from headway.app.server_places import AlreadyServed, ServerPlace
from headway.cli.options import CommandContext, HelpfulGroup, print_json, with_project_flags, with_session_flags
from headway.contracts.dialects import find_dialect
from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.mcp.clients import CLIENTS, find_file, format_entry, install_entry, uninstall_entry

_dialect_option = click.option(
    "--dialect", metavar="NAME", help="Serve the list as another todo tool: claude, claude-tasks, gemini, codex, …"
)


@click.group(cls=HelpfulGroup, invoke_without_command=True)
@click.option("--http", is_flag=True, help="Serve over HTTP on this machine, to several clients that have the token.")
@click.option("--port", type=click.IntRange(1, 65_535), help="Port for --http (default: the previous one if free).")
@_dialect_option
@click.pass_context
@with_session_flags
def mcp(chosen: CommandContext, ctx: click.Context, http: bool, port: int | None, dialect: str | None) -> None:
    """Serve the todo list to other agents over the Model Context Protocol.

    On standard input and output, for the agent's program that starts it; with --http until Ctrl+C. Which project is
    meant: --project, HEADWAY_PROJECT, the folders that the client says it works in, else the working folder; its
    current session unless --session names one.
    """
    ctx.obj = chosen
    if ctx.invoked_subcommand is not None:
        return
    if port is not None and not http:
        ctx.fail("--port has no effect without --http; omit it, or add --http.")
    try:
        from headway.mcp import http as over_http
        from headway.mcp.agents import SessionFinder
        from headway.mcp.server import serve_stdio
        from headway.mcp.tools import TOOLS, list_dialect_tools
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise HeadwayError("The MCP server needs an extra; install it with: pip install 'headway[mcp]'") from None
    tools = TOOLS if dialect is None else list_dialect_tools(find_dialect(dialect))
    if not http:
        serve_stdio(SessionFinder(os.environ, chosen.project, chosen.session, chosen.agent), tools)
        return
    folder = chosen.folder()

    def ready(place: ServerPlace, words: str = "Headway's MCP server is running at") -> None:
        url = f"{place.address}{over_http.PATH}"
        if chosen.json:
            print_json({"url": url, "port": place.port, "token": place.token}, indent=None)
        else:
            click.echo(f"{words} {url}. Clients need this header; keep it private:\n")
            click.echo(f"  Authorization: Bearer {place.token}\n")

    try:
        over_http.serve_http(
            SessionFinder(os.environ, folder, chosen.session, chosen.agent), folder, port, ready, tools
        )
    except AlreadyServed as served:
        if port is not None and port != served.place.port:
            raise
        ready(served.place, "Headway's MCP server is already running at")


_client_argument = click.argument("client", type=click.Choice([*CLIENTS]))
_user_option = click.option("--user", is_flag=True, help="In your own settings of the client, for all projects.")


@mcp.command()
@_client_argument
@_user_option
@_dialect_option
@click.option("--print", "only_print", is_flag=True, help="Only show the entry and where it belongs.")
@with_session_flags
def install(chosen: CommandContext, client: str, user: bool, dialect: str | None, only_print: bool) -> None:
    """Add the server to the settings of an agent's program, in this project.

    Everything else in the file stays as it is; what it was before is kept beside it.
    """
    agent_client = CLIENTS[client]
    folder = chosen.folder()
    file = find_file(agent_client, folder, os.environ, user=user)
    if dialect is not None:
        find_dialect(dialect)
    named = (("--session", chosen.session), ("--agent", chosen.agent), ("--dialect", dialect))
    entry = agent_client.build_entry(["mcp", *(word for flag, value in named if value for word in (flag, value))])
    if only_print:
        click.echo(f"{_describe_file(file, folder)}:\n", err=True)
        click.echo(format_entry(agent_client, entry), nl=False)
    elif install_entry(agent_client, file, entry):
        click.echo(f"✅ Added Headway to {agent_client.title}, in {_describe_file(file, folder)}")
        if agent_client.hint:
            click.echo(agent_client.hint)
    else:
        click.echo(f"{agent_client.title} has it already, in {_describe_file(file, folder)}")


@mcp.command()
@_client_argument
@_user_option
@with_project_flags
def uninstall(chosen: CommandContext, client: str, user: bool) -> None:
    """Remove the server from the settings of an agent's program."""
    agent_client = CLIENTS[client]
    folder = chosen.folder()
    file = find_file(agent_client, folder, os.environ, user=user)
    if uninstall_entry(agent_client, file):
        click.echo(f"✅ Removed Headway from {agent_client.title}, in {_describe_file(file, folder)}")
    else:
        other = "" if user or agent_client.project_file is None else "; for all projects use --user"
        click.echo(f"{agent_client.title} does not have it in {_describe_file(file, folder)}{other}")


def _describe_file(file: str, folder: str) -> str:
    inside = os.path.relpath(file, folder)
    return sanitize_for_display(file if inside.startswith("..") else inside, 300)
