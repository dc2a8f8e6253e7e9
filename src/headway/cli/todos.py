"""`headway todos …`: what a person does with the list from a shell, also while an agent works on it."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from headway.cli.execute import execute_all, execute_one
from headway.cli.options import CommandContext, HelpfulGroup, StatusType, complete_ids, print_json, with_session_flags
from headway.cli.output import (
    print_open_elsewhere,
    print_todo,
    print_written,
    quote_content,
    to_list_record,
    to_todo_json,
)
from headway.cli.rollback import diff_item, rollback
from headway.cli.transfer import export_todos, import_todos
from headway.cli.verify import find_check_actor, remember_typed_check
from headway.cli.verify import verify as verify_todos
from headway.core.codec import to_event_dict
from headway.core.errors import HeadwayError, InvalidTodos, TodoNotFound
from headway.core.model import Priority, Status
from headway.core.text import sanitize_for_display
from headway.session import Session
from headway.views.listing import counts_line, explain_half_changed, is_half_changed, list_lines, next_lines

if TYPE_CHECKING:
    from collections.abc import Generator

    from headway.execute.undo_files import UndoResult


@click.group(cls=HelpfulGroup)
def todos() -> None:
    """Show or change the todo list.

    \b
    headway todos add "Write the parser"
    headway todos update t1 in_progress
    headway todos list
    """


todos.add_command(export_todos)
todos.add_command(import_todos)
todos.add_command(execute_one)
todos.add_command(execute_all)
todos.add_command(diff_item)
todos.add_command(rollback)
todos.add_command(verify_todos, "verify")

PRIORITIES = [str(level) for level in Priority]
_VERIFY = "Check: a command that fails until the todo is done."
_UNKNOWN = re.compile(r"Unknown id '(.+)'", re.DOTALL)
_id_argument = click.argument("todo_id", metavar="ID", shell_complete=complete_ids)


@todos.command("list")
@with_session_flags
def list_todos(chosen: CommandContext) -> None:
    """Show the list by priority, with the dependencies of each item."""
    session = chosen.open()
    if chosen.json:
        print_json(to_list_record(session))
        return
    todos = session.todos
    click.echo("\n".join(list_lines(todos, chosen.program)))
    if is_half_changed(session.state, session.agent_id):
        click.echo(f"\n⚠️  {explain_half_changed(chosen.program)}")
    if not todos:
        print_open_elsewhere(chosen, session)


@todos.command("next")
@with_session_flags
def next_todos(chosen: CommandContext) -> None:
    """Show which items can start now, and why the others cannot."""
    session = chosen.open()
    ready, waiting = session.next_todos()
    if chosen.json:
        reasons = [{"todo": to_todo_json(entry.todo), "reason": entry.reason} for entry in waiting]
        print_json({"ready": [to_todo_json(todo) for todo in ready], "waiting": reasons})
        return
    click.echo("\n".join(next_lines(ready, waiting)))
    if not ready and not waiting:
        print_open_elsewhere(chosen, session)


@todos.command()
@click.argument("text")
@click.option(
    "--after", metavar="ID", shell_complete=complete_ids, help="Insert it after this todo instead of at the end."
)
@click.option("--priority", type=click.Choice(PRIORITIES, case_sensitive=False), help="Priority of the todo.")
@click.option(
    "--depends-on",
    metavar="ID",
    multiple=True,
    shell_complete=complete_ids,
    help="Id of a todo that must be completed first (repeatable).",
)
@click.option("--verify", metavar="COMMAND", help=_VERIFY)
@with_session_flags
def add(
    chosen: CommandContext,
    text: str,
    after: str | None,
    priority: str | None,
    depends_on: tuple[str, ...],
    verify: str | None,
) -> None:
    """Add an item."""
    session = chosen.open(must_exist=False)
    remember_typed_check(chosen, verify)
    with _shorten_todo_errors(chosen, session):
        todo = session.add(text, after=after, priority=priority, depends_on=list(depends_on), verify=verify)
    print_todo(chosen, session, todo, f"✅ Added {quote_content(todo)}")


@contextmanager
def _shorten_todo_errors(chosen: CommandContext, session: Session) -> Generator[None]:
    """Say what is wrong with one todo in a sentence; with --json, all violations are listed as usual."""
    try:
        yield
    except InvalidTodos as error:
        path, _, what = error.violations[0].partition(": ")
        unknown = _UNKNOWN.fullmatch(what)
        if chosen.json or (len(error.violations) > 1 and unknown is None):
            raise
        if unknown is not None:
            several = " ".join(f"--depends-on {one.strip()}" for one in unknown[1].split(",") if one.strip())
            if "," in unknown[1]:
                raise HeadwayError(f"Repeat the option for each id: {several}") from None
            raise TodoNotFound(unknown[1], session.todo_list.items) from None
        if path == "position":
            raise HeadwayError(f"The position {what[0].lower()}{what[1:]}.") from None
        if path.endswith(".content") and what == "Required":
            raise HeadwayError("Give the todo some text.") from None
        raise HeadwayError(f"{what[0].upper()}{what[1:]}.") from None


@todos.command()
@_id_argument
@click.argument("text", required=False)
@click.option("--verify", metavar="COMMAND", help=_VERIFY)
@click.option(
    "--depends-on",
    metavar="ID",
    multiple=True,
    shell_complete=complete_ids,
    help="Ids of all todos that must be completed first.",
)
@click.option(
    "--priority",
    type=click.Choice([*PRIORITIES, ""], case_sensitive=False),
    metavar="|".join(PRIORITIES),
    help="Priority of the todo.",
)
@click.option("--module", help="Part of the project that it belongs to.")
@click.option("--time", metavar="TIME", help="Estimated time, such as 45min.")
@with_session_flags
def edit(
    chosen: CommandContext,
    todo_id: str,
    text: str | None,
    verify: str | None,
    depends_on: tuple[str, ...],
    priority: str | None,
    module: str | None,
    time: str | None,
) -> None:
    """Change the text or other fields of an item; an empty value removes a field.

    \b
    headway todos edit t1 "Write the parser"
    headway todos edit t1 --verify "pytest -q tests/test_parser.py"
    headway todos edit t1 --priority high --depends-on t2 --depends-on t3
    """
    given: dict[str, Any] = {"verify": verify, "priority": priority, "module": module, "estimated_time": time}
    fields: dict[str, Any] = {name: value or None for name, value in given.items() if value is not None}
    if text is not None:
        fields["content"] = text
    if depends_on:
        fields["depends_on"] = [needed for needed in depends_on if needed]
    if not fields:
        raise click.UsageError(
            "Specify what to change: a new text, --verify, --depends-on, --priority, --module or --time."
        )
    session = chosen.open()
    remember_typed_check(chosen, verify)
    with _shorten_todo_errors(chosen, session):
        todo = session.update(todo_id, actor=find_check_actor(verify), **fields)
    print_todo(chosen, session, todo, f"✅ Changed {quote_content(todo)}")


@todos.command()
@_id_argument
@click.argument("position", type=int)
@with_session_flags
def move(chosen: CommandContext, todo_id: str, position: int) -> None:
    """Put an item at a position, counted from 1."""
    session = chosen.open()
    with _shorten_todo_errors(chosen, session):
        todo = session.move(todo_id, position)
    print_todo(chosen, session, todo, f"✅ Moved {quote_content(todo)} to position {position}")


@todos.command()
@_id_argument
@with_session_flags
def drop(chosen: CommandContext, todo_id: str) -> None:
    """Remove an item."""
    session = chosen.open()
    print_written(chosen, session, session.drop(todo_id), f"✅ Removed {sanitize_for_display(todo_id, 40)}")


@todos.command()
@_id_argument
@click.argument("status", type=StatusType())
@click.option("--notes", help="Notes to keep with the todo.")
@with_session_flags
def update(chosen: CommandContext, todo_id: str, status: Status, notes: str | None) -> None:
    """Set the status of an item: pending, in_progress, completed, cancelled or blocked."""
    session = chosen.open()
    todo = (
        session.update(todo_id, status=status) if notes is None else session.update(todo_id, status=status, notes=notes)
    )
    print_todo(chosen, session, todo, f"✅ Updated {sanitize_for_display(todo.id, 40)} → {todo.status}")


@todos.command()
@click.argument("n", type=click.IntRange(min=1), default=1)
@with_session_flags
def undo(chosen: CommandContext, n: int) -> None:
    """Undo the last N changes, whoever made them; an execution, a rewrite or an edit counts as one change.

    File changes of an execution or a rollback are undone too. Later changes by others stay; if they conflict, nothing
    is undone.
    """
    from headway.execute import undo as undo_with_files

    session = chosen.open()
    undone = undo_with_files(session, n, project=chosen.folder())
    _print_undone(chosen, session, undone, "Undid", "redo")


@todos.command()
@click.argument("n", type=click.IntRange(min=1), default=1)
@with_session_flags
def redo(chosen: CommandContext, n: int) -> None:
    """Redo the last N undone changes, in the list and in the project's files."""
    from headway.execute import redo as redo_with_files

    session = chosen.open()
    redone = redo_with_files(session, n, project=chosen.folder())
    _print_undone(chosen, session, redone, "Redid", "undo")


def _print_undone(chosen: CommandContext, session: Session, undone: UndoResult, did: str, opposite: str) -> None:
    from headway.views.terminal import to_visible
    from headway.views.undo_lines import describe_step, file_lines, left_file_lines, undone_lines

    steps = undone.steps
    if chosen.json:
        files = {name: getattr(undone, name) for name in ("files", "removed", "left", "recovery")}
        print_json({**to_list_record(session), "steps": [describe_step(step) for step in steps], **files})
        return
    number = "1 change" if len(steps) == 1 else f"{len(steps)} changes"
    click.echo(f"✅ {did} {number} ({opposite} with: {chosen.name_command(f'todos {opposite}')})")
    left = left_file_lines(undone.left, is_unsaved=undone.is_unsaved)
    for line in (*undone_lines(steps), *file_lines(undone.files, undone.removed), *left):
        click.echo(f"   {line}")
    if undone.recovery:
        click.echo(to_visible(undone.recovery))
    click.echo(counts_line(session.todos))


@todos.command()
@with_session_flags
def history(chosen: CommandContext) -> None:
    """Show who changed what, and when."""
    session = chosen.open()
    events = session.history()
    if chosen.json:
        print_json([to_event_dict(event, session.name) for event in events])
        return
    from headway.views.history import history_lines

    click.echo("\n".join(history_lines(events)) or "Nothing has happened in this session yet.")


@todos.command()
@with_session_flags
def clear(chosen: CommandContext) -> None:
    """Remove all items; undo restores them."""
    session = chosen.open()
    print_written(chosen, session, session.clear(), "✅ Todo list cleared")
