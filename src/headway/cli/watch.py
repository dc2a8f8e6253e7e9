"""`headway watch`: the list of a session, live, while any other process works on it."""

from __future__ import annotations

import os
import sys

import click

from headway.cli.options import CommandContext, print_json, with_session_flags
from headway.core.codec import to_event_dict
from headway.core.follow import Follower
from headway.session import Session

RESIZE_CHECK = 0.25
"""Seconds after which the size of the terminal is looked at even if nothing changed."""


@click.command()
@with_session_flags
def watch(chosen: CommandContext) -> None:
    """Show the list and redraw it on every change, until Ctrl+C. With --json: one event per line, from now on."""
    session = chosen.open(must_exist=False)
    try:
        if chosen.json:
            _print_events(session)
        else:
            _watch_box(chosen, session)
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _watch_box(chosen: CommandContext, session: Session) -> None:
    from headway.cli.live import LiveBox
    from headway.views.execution_lines import format_execution

    changes = Follower(session.log, restarts=True)
    with LiveBox(screen=True) as box:
        while True:
            if chosen.session is None:  # another session may become the current one
                now = chosen.open(must_exist=False)
                if now.name != session.name:
                    session, changes = now, Follower(now.log, restarts=True)
            changes.take_all()
            state = session.state
            box.show_head(format_execution(state, session.agent_id))
            box.show([*state.list_of(session.agent_id).items.values()])
            changes.wait(RESIZE_CHECK)


def _print_events(session: Session) -> None:
    for event in Follower(session.log, restarts=True):
        print_json(to_event_dict(event, session.name), indent=None)
        sys.stdout.flush()
