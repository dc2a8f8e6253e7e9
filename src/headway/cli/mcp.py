"""`headway mcp`: the list for other agents, over the Model Context Protocol."""

from __future__ import annotations

import os

import click

from headway.cli.options import CommandContext, HelpfulGroup, with_session_flags
from headway.core.errors import HeadwayError


@click.group(cls=HelpfulGroup, invoke_without_command=True)
@click.pass_context
@with_session_flags
def mcp(chosen: CommandContext, ctx: click.Context) -> None:
    """Serve the todo list to another agent over the Model Context Protocol, on standard input and output.

    The agent's program starts it. Which project is meant: --project, HEADWAY_PROJECT, the folders that the client says
    it works in, else the working folder; its current session unless --session names one.
    """
    ctx.obj = chosen
    if ctx.invoked_subcommand is None:
        try:
            from headway.mcp.agents import SessionFinder
            from headway.mcp.server import serve_stdio
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in ("mcp", "mcp_types"):
                raise
            raise HeadwayError("The MCP server needs an extra; install it with: pip install 'headway[mcp]'") from None
        serve_stdio(SessionFinder(os.environ, chosen.project, chosen.session, chosen.agent))
