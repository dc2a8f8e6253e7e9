"""`headway web`: the sessions of the project in the browser."""

from __future__ import annotations

import importlib
import webbrowser
from typing import Any

import click

from headway.cli.options import Chosen, of_project, print_json


@click.command()
@click.option("--port", type=click.IntRange(1, 65_535), help="The port (default: the one it had before, else any).")
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@of_project
def web(chosen: Chosen, port: int | None, opens: bool) -> None:
    """Watch, understand and steer the sessions of this project in the browser.

    The page answers on this machine alone, and only to whoever has the link. Ctrl+C ends it; the next time it has the
    same address, and pages that are open go on.
    """

    def ready(place: Any) -> None:
        if chosen.json:
            print_json({"link": place.link, "port": place.port}, indent=None)
        else:
            click.echo(f"Headway is on {place.address}. Open this link, and keep it to yourself:\n\n  {place.link}\n")
        if opens:
            webbrowser.open(place.link)

    # By its name: the page is above the commands, and most of them never need it.
    importlib.import_module("headway.web.server").serve(chosen.folder(), port, ready=ready)
