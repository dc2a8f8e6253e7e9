"""What commands print: the list or an item as text or JSON, and errors as one sentence."""

from __future__ import annotations

import click

from headway.cli.options import Chosen, print_json
from headway.core.codec import todo_dict
from headway.core.model import MAIN_AGENT, Todo, counts
from headway.core.session import Session, Written
from headway.core.text import shown, some
from headway.views.export import todo_record
from headway.views.listing import counts_line


def todo_json(todo: Todo) -> dict[str, object]:
    """The item for programs: under the export's names, and for now under those that `--json` had before as well."""
    return {**todo_record(todo), **todo_dict(todo)}


def list_record(session: Session) -> dict[str, object]:
    state = session.state
    todo_list = state.list_of(session.agent_id)
    items = list(todo_list.items.values())
    statistics = {"total": len(items), **{str(status): count for status, count in counts(items).items()}}
    return {
        "session": session.name,
        "version": state.version,
        "title": todo_list.title,
        "summary": todo_list.summary,
        "updated_at": todo_list.updated_at,
        "todos": [todo_json(todo) for todo in items],
        "statistics": statistics,
    }


def print_todo(chosen: Chosen, session: Session, todo: Todo, line: str) -> None:
    if chosen.json:
        print_json({"session": session.name, "version": session.version, "todo": todo_json(todo)})
    else:
        click.echo(f"{line}\n{counts_line(session.todos)}")


def print_written(chosen: Chosen, session: Session, written: Written, line: str) -> None:
    if chosen.json:
        dropped = [todo_json(todo) for todo in written.dropped]
        detached = [{"id": item, "depends_on": needed} for item, needed in written.detached]
        print_json({**list_record(session), "changed": written.changed, "dropped": dropped, "detached": detached})
        return
    click.echo(line)
    for item, needed in written.detached:
        click.echo(f"{shown(item)} no longer depends on {shown(needed)}.")
    if written.dropped:
        names = some([todo.content for todo in written.dropped])
        click.echo(f"Dropped unfinished: {names}. Undo with: {named(chosen, 'todos undo')}")


def print_open_elsewhere(session: Session) -> None:
    """For a list with nothing to do: where there is something."""
    from headway.cli.session_choice import open_elsewhere

    if session.agent_id == MAIN_AGENT and (where := open_elsewhere(session.store, session.name)):
        click.echo(where)


def named(chosen: Chosen, command: str) -> str:
    """A command as it is typed where this one was: with a slash, or in a shell."""
    return f"headway {command}" if chosen.live is None else f"/{command}"


def quoted(todo: Todo) -> str:
    return f"{shown(todo.id, 40)} “{shown(todo.content)}”"
