"""`headway watch`: the list of a session, live, while any other process works on it."""

from __future__ import annotations

import json
import os
import sys

import click

from headway.cli.options import Chosen, common
from headway.core.codec import event_dict
from headway.core.events import Event
from headway.core.session import Session

RESIZE_CHECK = 0.25
"""Seconds after which the size of the terminal is looked at even if nothing changed."""


@click.command()
@common
def watch(chosen: Chosen) -> None:
    """Show the list and redraw it on every change, until Ctrl+C. With --json: one event per line, from now on."""
    session = chosen.open(must_exist=False)
    try:
        if chosen.json:
            for events in session.watch():
                _print_events(events)
        else:
            _show(session)
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show(session: Session) -> None:
    from headway.cli.live import LiveBox

    with LiveBox(screen=True) as box:
        while True:
            box.show(session.todos)
            next(session.watch(timeout=RESIZE_CHECK), None)


def _print_events(events: list[Event]) -> None:
    for event in events:
        click.echo(json.dumps(event_dict(event), ensure_ascii=False))
    sys.stdout.flush()
