"""`headway todos export` and `headway todos import`: the list as a file, and back."""

from __future__ import annotations

import os
import stat
import sys
import tempfile

import click

from headway.cli.options import CommandContext, print_json, with_session_flags
from headway.cli.output import print_written
from headway.core.clock import now
from headway.core.errors import HeadwayError
from headway.core.json_text import to_json_text
from headway.core.text import neutralize
from headway.session import Session

FORMATS = ("json", "md", "csv")


@click.command("export")
@click.argument("path", required=False, type=click.Path(allow_dash=True))
@click.option(
    "--format", "kind", type=click.Choice(FORMATS), help="Format (default: by the file's extension, else json)."
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@with_session_flags
def export_todos(chosen: CommandContext, path: str | None, kind: str | None, force: bool) -> None:
    """Write the list as JSON, Markdown or CSV, to PATH or to standard output."""
    session = chosen.open()
    ending = os.path.splitext(path or "")[1].lower().lstrip(".")
    text = _render_export(session, kind or {"markdown": "md"}.get(ending, ending if ending in FORMATS else "json"))
    if path is None or path == "-":
        click.echo(text, nl=not text.endswith("\n"))
        return
    _write_atomically(path, text, force)
    total = len(session.todos)
    if chosen.json:
        print_json({"path": path, "total": total})
    else:
        click.echo(f"✅ Exported {total} {'todo' if total == 1 else 'todos'} to {neutralize(path)}")


def _render_export(session: Session, kind: str) -> str:
    todo_list = session.todo_list
    items = list(todo_list.items.values())
    if kind == "md":
        from headway.views.checklist import to_markdown

        return to_markdown(todo_list.title, items)
    from headway.views.export import to_csv, to_json_export

    if kind == "csv":
        return to_csv(items)
    return to_json_text(to_json_export(items, session.plan, now())) + "\n"


def _write_atomically(path: str, text: str, force: bool) -> None:
    """Writes the file as a whole or not at all; a link is followed, and the mode of a file that exists is kept."""
    try:
        target = os.path.realpath(path)
    except OSError as error:
        raise HeadwayError(
            f"'{neutralize(path)}' cannot be found from the current folder: {error.strerror}."
        ) from error
    exists = os.path.lexists(target)
    if exists and not os.path.isfile(target):
        raise HeadwayError(f"'{neutralize(path)}' is not a file; choose another name.")
    if exists and not force:
        raise HeadwayError(f"'{neutralize(path)}' exists; choose another name, or replace it with --force.")
    try:
        handle, draft = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".export-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            os.chmod(draft, stat.S_IMODE(os.stat(target).st_mode) if exists else 0o666 & ~_read_umask())
            os.replace(draft, target)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as error:
        raise HeadwayError(
            f"'{neutralize(path)}' could not be written: {error.strerror}; name another file."
        ) from error


def _read_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@click.command("import")
@click.argument("path", type=click.Path(allow_dash=True))
@with_session_flags
def import_todos(chosen: CommandContext, path: str) -> None:
    """Replace the list with the one in PATH: exported JSON or a Markdown checklist (`-`: standard input)."""
    from headway.views.export import import_items

    items = import_items(read_import(path, "JSON or Markdown"), "Standard input" if path == "-" else path)
    session = chosen.open(must_exist=False)
    written = session.write(items, replace=True, cause="import")
    total = len(written.todos)
    print_written(chosen, session, written, f"✅ Imported {total} {'todo' if total == 1 else 'todos'}")


def read_import(path: str, kinds: str) -> str:
    """Return the text of a file to import, or of standard input."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            if not os.path.isfile(path):
                what = "is not a file" if os.path.exists(path) else "does not exist"
                raise HeadwayError(f"'{neutralize(path)}' {what}; name a {kinds} file.")
            with open(path, "rb") as file:
                data = file.read()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise HeadwayError(f"'{neutralize(path)}' could not be read: {error.strerror}; name another file.") from error
    except UnicodeDecodeError as error:
        raise HeadwayError(f"'{neutralize(path)}' is not UTF-8 text; save it as UTF-8 and try again.") from error
