"""`headway mcp`: the list for other agents, over the Model Context Protocol."""

from __future__ import annotations

import os

import click

from headway.app.server_places import AlreadyServed, ServerPlace
from headway.cli.options import CommandContext, HelpfulGroup, print_json, with_session_flags
from headway.core.errors import HeadwayError


@click.group(cls=HelpfulGroup, invoke_without_command=True)
@click.option("--http", is_flag=True, help="Serve over HTTP on this machine, to several clients that have the token.")
@click.option("--port", type=click.IntRange(1, 65_535), help="Port for --http (default: the previous one if free).")
@click.pass_context
@with_session_flags
def mcp(chosen: CommandContext, ctx: click.Context, http: bool, port: int | None) -> None:
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
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise HeadwayError("The MCP server needs an extra; install it with: pip install 'headway[mcp]'") from None
    if not http:
        serve_stdio(SessionFinder(os.environ, chosen.project, chosen.session, chosen.agent))
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
        over_http.serve_http(SessionFinder(os.environ, folder, chosen.session, chosen.agent), folder, port, ready)
    except AlreadyServed as served:
        if port is not None and port != served.place.port:
            raise
        ready(served.place, "Headway's MCP server is already running at")
