"""`headway todos diff` and `rollback`: what an item changed when it was executed, and how that is reversed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headway.cli.options import CommandContext, complete_ids, print_json, with_session_flags
from headway.core.errors import FilesChanged
from headway.core.text import sanitize_for_display
from headway.views.terminal import to_visible

if TYPE_CHECKING:
    from collections.abc import Sequence

_id_argument = click.argument("todo_id", metavar="ID", shell_complete=complete_ids)


@click.command()
@_id_argument
@click.option("--with-later", is_flag=True, help="Also roll back later items that are in the way, latest first.")
@with_session_flags
def rollback(chosen: CommandContext, todo_id: str, with_later: bool) -> None:
    """Undo what the execution of an item changed, and set the item to pending.

    Later work in the same files stays. If it touches the same lines, nothing changes, and the answer names the items in
    the way.
    """
    from headway.execute import roll_back
    from headway.views.undo_lines import file_lines

    session = chosen.open()
    try:
        done = roll_back(session, todo_id, with_later=with_later, project=chosen.folder())
    except FilesChanged as error:
        raise FilesChanged(
            f"{error} {_format_advice(chosen, todo_id, error.items)}", error.files, error.items
        ) from None
    if chosen.json:
        record = {"files": done.files, "removed": done.removed, "with_later": done.with_later, "left": done.left}
        more = {"saved": done.saved, "dependents": done.dependents, "recovery": done.recovery}
        print_json({"id": todo_id, **record, **more})
        return
    click.echo(
        f"✅ Rolled back {sanitize_for_display(todo_id, 40)} → "
        f"pending{'' if done.files else ' (your files have none of its changes)'}"
    )
    for line in file_lines(done.files, done.removed):
        click.echo(f"   {line}")
    if done.recovery:
        click.echo(to_visible(done.recovery))
    if done.with_later:
        click.echo(f"Also rolled back and pending again: {_format_ids(done.with_later)}")
    if done.left:
        click.echo(
            f"Changed during the attempt, but not by its file tools, and left unchanged: {_format_paths(done.left)}"
        )
    if done.dependents:
        click.echo(f"Items completed on top of it stay completed: {_format_ids(done.dependents)}")


def _format_advice(chosen: CommandContext, todo_id: str, items: Sequence[str]) -> str:
    if not items:
        return "Undo those changes first, or edit the files yourself."
    return (
        "To roll these back as well, run "
        f"{chosen.name_command(f'todos rollback {sanitize_for_display(todo_id, 40)} --with-later')}"
    )


def _format_ids(ids: Sequence[str]) -> str:
    return ", ".join(sanitize_for_display(todo_id, 40) for todo_id in ids)


def _format_path(path: str) -> str:
    return to_visible(sanitize_for_display(path, 300))


def _format_paths(paths: Sequence[str]) -> str:
    return ", ".join(map(_format_path, paths))


@click.command("diff")
@_id_argument
@with_session_flags
def diff_item(chosen: CommandContext, todo_id: str) -> None:
    """Show what an item changed in the project's files when it was executed.

    For an item that failed or was interrupted, show what its last attempt left in its own folder.
    """
    from headway.cli.diff import print_diff
    from headway.execute import diff_todo

    session = chosen.open()
    text = diff_todo(session, todo_id, project=chosen.folder())
    if chosen.json:
        print_json({"id": todo_id, "diff": text})
    elif text:
        print_diff(text)
    else:
        click.echo(f"{sanitize_for_display(todo_id, 40)} changed no files.")
