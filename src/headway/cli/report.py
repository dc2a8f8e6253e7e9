"""`headway report`: what came of a session."""

from __future__ import annotations

import click

from headway.cli.options import Chosen, common, print_json
from headway.core.clock import now
from headway.core.text import neutral_lines


@click.command()
@click.option("--format", "kind", type=click.Choice(["md", "json"]), default="md", help="Markdown or JSON.")
@common
def report(chosen: Chosen, kind: str) -> None:
    """Show what came of the session: its items with what shows that they are done, its runs with what they took."""
    from headway.views.report import report_markdown, report_record

    session = chosen.open()
    todos = session.todos
    record = report_record(session.events(), todos, session=session.name, agent=session.agent_id, generated_at=now())
    if chosen.json or kind == "json":
        print_json(record)
    else:
        click.echo(neutral_lines(report_markdown(record, todos)), nl=False)
