"""`headway cost`, `/cost`: what the runs of a session have used, from its log."""

from __future__ import annotations

import click

from headway.cli.options import CommandContext, print_json, with_session_flags
from headway.core.clock import format_local_time
from headway.core.execution_events import AttemptStarted
from headway.core.text import sanitize_for_display
from headway.views.terminal import to_visible
from headway.views.usage import RunUsage, UsageCounter, sum_costs

_FIELDS = (
    *("run_id", "agent", "task", "model", "started_at", "reason"),
    *("input_tokens", "cached_tokens", "output_tokens", "cost"),
)
"""What is said of a run in JSON."""


@click.command()
@with_session_flags
def cost(chosen: CommandContext) -> None:
    """Show the tokens used by the session and their cost, by run and in total."""
    session = chosen.open()
    spending = UsageCounter()
    items: dict[str, AttemptStarted] = {}
    for event in session.events():
        if isinstance(event.data, AttemptStarted):
            items[event.data.agent] = event.data
        if chosen.agent in (None, event.agent):
            spending.count(event)
    runs = spending.runs
    known = [run.cost for run in runs if run.cost is not None]
    total = {
        "input_tokens": sum(run.input_tokens for run in runs),
        "cached_tokens": sum(run.cached_tokens for run in runs),
        "output_tokens": sum(run.output_tokens for run in runs),
        "cost": sum_costs(run.cost for run in runs),
    }
    if chosen.json:
        records = [{name: getattr(run, name) for name in _FIELDS} for run in runs]
        print_json({"session": session.name, "runs": records, "total": total})
        return
    if not runs:
        click.echo("This session has no runs yet, so nothing was used.")
        return
    for number, run in enumerate(runs, 1):
        item = items.get(run.agent)
        # The task of such a run is the prompt that Headway made for it.
        title = f"{item.item_id}: {item.content}" if item else run.task or "continued"
        click.echo(f"{number:3}  {to_visible(sanitize_for_display(title, 60))}")
        state = "" if run.reason is not None else " · goes on"
        click.echo(
            f"     {format_local_time(run.started_at)} · {to_visible(sanitize_for_display(run.model))} "
            f"· {_format_usage(run)}{state}"
        )
    click.echo(f"Total of {len(runs)} run{'' if len(runs) == 1 else 's'}: {_format_total(runs, known)}")


def _format_usage(run: RunUsage) -> str:
    return f"{_format_tokens(run.input_tokens, run.cached_tokens, run.output_tokens)} · {_format_cost(run.cost)}"


def _format_total(runs: list[RunUsage], known: list[float]) -> str:
    tokens = _format_tokens(
        sum(run.input_tokens for run in runs),
        sum(run.cached_tokens for run in runs),
        sum(run.output_tokens for run in runs),
    )
    money = _format_cost(sum(known) if known else None)
    if 0 < len(known) < len(runs):
        money = f"{money}, plus the runs whose price is not known"
    return f"{tokens} · {money}"


def _format_tokens(read: int, cached: int, written: int) -> str:
    return f"{read:,} in{f' ({cached:,} cached)' if cached else ''}, {written:,} out"


def _format_cost(cost: float | None) -> str:
    if not cost:
        return "price not known" if cost is None else "$0"
    return f"${cost:.4f}" if cost >= 0.0001 else "less than $0.0001"
