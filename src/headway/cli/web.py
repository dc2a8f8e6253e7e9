"""`headway web`: the sessions of the project in the browser."""

from __future__ import annotations

import webbrowser
from threading import Thread

import click

from headway.cli.options import CommandContext, print_json, with_project_flags


@click.command()
@click.option("--port", type=click.IntRange(1, 65_535), help="Port (default: the previous port if free, else any).")
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@with_project_flags
def web(chosen: CommandContext, port: int | None, opens: bool) -> None:
    """Watch, understand and steer the sessions of this project in the browser.

    The page is available only on this machine, and only to those who have the link. In a shell, Ctrl+C stops it; in
    the terminal session it stops when you leave. The next time it has the same address, and open pages continue.
    """
    from headway.web import server

    def ready(place: server.ServerPlace, words: str = "Headway is running at") -> None:
        if chosen.json:
            print_json({"link": place.link, "port": place.port}, indent=None)
        else:
            click.echo(f"{words} {place.address}. Open this link, and keep it private:\n\n  {place.link}\n")
        if opens and not _has_browser():
            click.echo("No browser could be opened here.", err=True)
        elif opens:
            Thread(target=lambda: webbrowser.open(server.make_ticket_link(place)), daemon=True).start()

    try:
        if chosen.live is not None:
            ready(chosen.live.serve(port))
        else:
            server.serve(chosen.folder(), port, ready=ready)
    except server.AlreadyServed as served:
        if port is not None and port != served.place.port:
            raise
        ready(served.place, "Headway is already running at")


def _has_browser() -> bool:
    """One with windows: those that take over the terminal are in the way here."""
    try:
        return type(webbrowser.get()) is not webbrowser.GenericBrowser
    except webbrowser.Error:
        return False
