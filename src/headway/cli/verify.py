"""`headway todos verify`: have the checks of todos run, and see what they show."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from headway.cli.options import CommandContext, complete_ids, print_json, with_session_flags
from headway.cli.output import to_todo_json
from headway.core.errors import HeadwayError
from headway.core.model import MODEL
from headway.core.text import neutralize_lines, sanitize_for_display
from headway.views.evidence_words import evidence_word
from headway.views.terminal import to_visible

if TYPE_CHECKING:
    from headway.core.model import Todo

IN_A_CALL = "HEADWAY_CALL"
"""Set where a command is run by an agent: what is typed there was typed by no person."""


def remember_typed_check(chosen: CommandContext, check: str | None) -> None:
    """Let a check that a person typed run unasked in this project."""
    if not check or os.environ.get(IN_A_CALL):
        return
    from headway.settings.approved_checks import approve_checks

    approve_checks(chosen.folder(), [check])


def find_check_actor(check: str | None) -> str | None:
    """Return who sets a check: the model where its command does, which may not while the item is worked on."""
    return MODEL if check is not None and os.environ.get(IN_A_CALL) else None


@click.command()
@click.argument("todo_id", metavar="[ID]", required=False, shell_complete=complete_ids)
@with_session_flags
def verify(chosen: CommandContext, todo_id: str | None) -> None:
    """Run the check of an item, or of all items that have one, in the project. The exit code is 1 if one fails.

    \b
    headway todos verify t1
    headway todos verify --json
    """
    from headway.agent.verify_todos import verify_todo

    session = chosen.open()
    items = session.todo_list.items
    todos = [todo for todo in items.values() if todo.verify] if todo_id is None else [items.get(todo_id)]
    if not todos:
        raise HeadwayError(
            f'No todo has a check; add one with: {chosen.name_command("todos edit")} ID --verify "pytest -q …"'
        )
    _ask_about_unknown(chosen, [todo for todo in todos if todo is not None])
    done = [verify_todo(session, todo.id if todo else str(todo_id), project=chosen.folder()) for todo in todos]
    if chosen.json:
        print_json([{**to_todo_json(todo), "passed": _has_passed(todo)} for todo in done])
    else:
        for todo in done:
            click.echo("\n".join(_result_lines(todo)))
    if not all(map(_has_passed, done)):
        sys.exit(1)


def _ask_about_unknown(chosen: CommandContext, todos: list[Todo]) -> None:
    """Have a person look at checks that nobody has typed or approved here."""
    from headway.agent.check_approvals import CheckApprovals
    from headway.settings.approved_checks import approve_checks

    approvals = CheckApprovals(chosen.folder(), chosen.settings().settings.make_approvals())
    unknown = [todo.verify for todo in todos if todo.verify and not approvals.may_run(todo.verify)]
    if not unknown:
        return
    lines = "\n".join(f"  {to_visible(neutralize_lines(check))}" for check in unknown)
    if not chosen.can_ask:
        raise HeadwayError(
            "These checks have not been approved in this project; review them, then set them yourself with "
            f"{chosen.name_command('todos edit')} ID --verify COMMAND:\n{lines}"
        )
    click.echo(f"These checks have not been approved in this project:\n{lines}")
    if not click.confirm("Run them now and in future?"):
        raise HeadwayError("Nothing was run.")
    approve_checks(chosen.folder(), unknown)


def _has_passed(todo: Todo) -> bool:
    return todo.evidence is not None and todo.evidence.exit_code == 0


def _result_lines(todo: Todo) -> list[str]:
    evidence = todo.evidence
    assert evidence is not None
    name, check = (
        to_visible(sanitize_for_display(todo.id, 40)),
        to_visible(sanitize_for_display(evidence.command or "", 200)),
    )
    if evidence.exit_code == 0:
        word = f" · {evidence_word(evidence.level)}" if todo.status == "completed" else ""
        why = f" ({to_visible(sanitize_for_display(evidence.note, 200))})" if evidence.note else ""
        return [f"✅ {name}: passed in {evidence.seconds:.1f} s{word}{why}: {check}"]
    lines = [f"    {to_visible(line)}" for line in neutralize_lines(evidence.output or "").splitlines()]
    return [f"❌ {name}: exit code {evidence.exit_code}: {check}", *lines]
