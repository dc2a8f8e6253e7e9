"""What commands print: the list or an item as text or JSON, and errors as one sentence."""

from __future__ import annotations

import click

from headway.cli.options import CommandContext, print_json
from headway.core.codec import to_todo_dict
from headway.core.model import MAIN_AGENT, Todo, count_by_status
from headway.core.text import join_first_few, sanitize_for_display
from headway.session import Session, Written
from headway.views.export import to_export_record
from headway.views.listing import counts_line


def to_todo_json(todo: Todo) -> dict[str, object]:
    """The item for programs: under the export's names, and for now under those that `--json` had before as well."""
    return {**to_export_record(todo), **to_todo_dict(todo)}


def to_list_record(session: Session) -> dict[str, object]:
    state = session.state
    todo_list = state.list_of(session.agent_id)
    items = list(todo_list.items.values())
    statistics = {"total": len(items), **{str(status): count for status, count in count_by_status(items).items()}}
    return {
        "session": session.name,
        "version": state.version,
        "title": todo_list.title,
        "summary": todo_list.summary,
        "updated_at": todo_list.updated_at,
        "todos": [to_todo_json(todo) for todo in items],
        "statistics": statistics,
    }


def print_todo(chosen: CommandContext, session: Session, todo: Todo, line: str) -> None:
    if chosen.json:
        print_json({"session": session.name, "version": session.version, "todo": to_todo_json(todo)})
    else:
        click.echo(f"{line}\n{counts_line(session.todos)}")


def print_written(chosen: CommandContext, session: Session, written: Written, line: str) -> None:
    if chosen.json:
        dropped = [to_todo_json(todo) for todo in written.dropped]
        detached = [{"id": item, "depends_on": needed} for item, needed in written.detached]
        print_json({**to_list_record(session), "changed": written.changed, "dropped": dropped, "detached": detached})
        return
    click.echo(line)
    for item, needed in written.detached:
        click.echo(f"{sanitize_for_display(item)} no longer depends on {sanitize_for_display(needed)}.")
    if written.dropped:
        names = join_first_few([todo.content for todo in written.dropped])
        click.echo(f"Dropped unfinished: {names}. Undo with: {chosen.name_command('todos undo')}")


def print_open_elsewhere(chosen: CommandContext, session: Session) -> None:
    """For a list with nothing to do: where there is something."""
    from headway.app.session_choice import explain_open_elsewhere

    if session.agent_id != MAIN_AGENT:
        return
    if where := explain_open_elsewhere(session.store, session.name, chosen.program):
        click.echo(where)


def quote_content(todo: Todo) -> str:
    return f"{sanitize_for_display(todo.id, 40)} “{sanitize_for_display(todo.content)}”"
