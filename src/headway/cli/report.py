"""`headway report`, `/report`: what came of a session, to read, as data, or as a page with pictures."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from secrets import token_hex

import click

from headway.app.reports import render_report
from headway.cli.options import CommandContext, print_json, with_session_flags
from headway.core.clock import format_local_stamp, now
from headway.core.errors import HeadwayError
from headway.core.text import neutralize
from headway.project import headway_folder, project_folder_of, refuse_link
from headway.session import Session
from headway.store.folder import make_closed_folder, make_private_folder

FOLDER = "reports"
"""Inside `.headway`: where pages go that nobody named a file for."""
_HELP = "Output file (`-`: standard output). Default: md and json are printed, html is written to .headway/reports."


@click.command()
@click.option(
    "--format", "kind", type=click.Choice(["md", "json", "html"]), help="Markdown (default), JSON or an HTML page."
)
@click.option("--output", metavar="PATH", type=click.Path(allow_dash=True), help=_HELP)
@with_session_flags
def report(chosen: CommandContext, kind: str | None, output: str | None) -> None:
    """Write a report of the session: its items with their evidence, its runs with their time, tokens and cost.

    As HTML it is a single file that needs no network, with the timeline and the dependency graph as pictures.
    """
    session = chosen.open()
    kind = "json" if chosen.json and kind != "html" else kind or "md"
    at = now()
    text = render_report(session, kind, at)
    if output == "-" or (output is None and kind != "html"):
        click.echo(text, nl=False)
        return
    path = _create_report_file(chosen.folder(), session, at) if output is None else output
    _write_atomically(path, text, named=output is not None)
    if chosen.json:
        print_json({"path": path})
    else:
        click.echo(f"✅ Wrote the report to {neutralize(_shorten_path(path))}")


def write_html(session: Session, folder: str) -> str:
    """Writes the page to its own place in the project; where that is."""
    at = now()
    path = _create_report_file(folder, session, at)
    _write_atomically(path, render_report(session, "html", at), named=False)
    return path


def _create_report_file(project: str, session: Session, at: str) -> str:
    """A new file in the project's folder, by the session's name and the time."""
    folder = headway_folder(project_folder_of(session) or project)
    place = os.path.join(folder, FOLDER)
    try:
        make_private_folder(folder)
        refuse_link(os.path.dirname(folder), place, "folder")
        make_closed_folder(place)
    except OSError as error:
        if isinstance(error, HeadwayError):
            raise
        raise HeadwayError(
            f"'{neutralize(place)}' could not be created: {error.strerror}; name a file with --output."
        ) from error
    named = re.sub(r"[^\w.-]+", "-", session.name)[:60].strip(".-") or "session"
    name = f"{named}-{format_local_stamp(at)}"
    path, number = os.path.join(place, f"{name}.html"), 1
    while os.path.lexists(path):
        number += 1
        path = os.path.join(place, f"{name}-{number}.html")
    return path


def _shorten_path(path: str) -> str:
    """The path from here, if that is shorter to read."""
    with suppress(OSError, ValueError):
        near = os.path.relpath(path)
        return path if near.startswith("..") else near
    return path


def _write_atomically(path: str, text: str, *, named: bool) -> None:
    """Writes the file as a whole or not at all; in the place of a file that is there, which keeps its mode."""
    try:
        target = os.path.realpath(path)
        there = os.stat(target) if os.path.lexists(target) else None
        if there is not None and not stat.S_ISREG(there.st_mode):
            raise HeadwayError(f"'{neutralize(path)}' is not a file; choose another name.")
        draft = os.path.join(os.path.dirname(target), f".report-{token_hex(8)}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if named else 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            if named and there is not None:
                os.chmod(draft, stat.S_IMODE(there.st_mode))
            os.replace(draft, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise
    except OSError as error:
        raise HeadwayError(
            f"'{neutralize(path)}' could not be written: {error.strerror}; name another file."
        ) from error
    except ValueError as error:  # a NUL in the name
        raise HeadwayError(f"'{neutralize(path)}' is not a valid file name; choose another name.") from error
