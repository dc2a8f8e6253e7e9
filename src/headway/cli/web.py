"""`headway web`: the sessions of the project in the browser."""

from __future__ import annotations

import importlib
import webbrowser
from threading import Thread
from typing import Any

import click

from headway.cli.options import Chosen, of_project, print_json


@click.command()
@click.option("--port", type=click.IntRange(1, 65_535), help="The port (default: the one it had before, else any).")
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@of_project
def web(chosen: Chosen, port: int | None, opens: bool) -> None:
    """Watch, understand and steer the sessions of this project in the browser.

    The page answers on this machine alone, and only to whoever has the link. In a shell, Ctrl+C ends it; in
    the terminal session it ends with that. The next time it has the same address, and pages that are open go on.
    """
    # By its name: the page is above the commands, and most of them never need it.
    server = importlib.import_module("headway.web.server")

    def ready(place: Any, words: str = "Headway is on") -> None:
        if chosen.json:
            print_json({"link": place.link, "port": place.port}, indent=None)
        else:
            click.echo(f"{words} {place.address}. Open this link, and keep it to yourself:\n\n  {place.link}\n")
        if opens and not _has_browser():
            click.echo("There is no browser here that could be opened.", err=True)
        elif opens:
            Thread(target=lambda: webbrowser.open(server.link_to_open(place)), daemon=True).start()

    try:
        if chosen.live is not None:
            ready(chosen.live.serve(port))
        else:
            server.serve(chosen.folder(), port, ready=ready)
    except server.Served as served:
        if port is not None and port != served.place.port:
            raise
        ready(served.place, "Headway is already on")


def _has_browser() -> bool:
    """One with windows: those that take over the terminal are in the way here."""
    try:
        return type(webbrowser.get()) is not webbrowser.GenericBrowser
    except webbrowser.Error:
        return False
