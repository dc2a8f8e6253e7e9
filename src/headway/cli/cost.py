"""`headway cost`, `/cost`: what the runs of a session have used, from its log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import click

from headway.cli.options import Chosen, common, print_json
from headway.core.clock import local_time
from headway.core.events import Event
from headway.core.run_events import RunFinished, RunStarted, Usage
from headway.core.text import shown
from headway.views.terminal import visible


@dataclass
class Spent:
    """What one run has used so far."""

    run_id: str
    agent: str
    task: str
    model: str
    started_at: str
    reason: str | None = None
    """Why it ended; None while it goes on."""
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    """US dollars; None where the price is not known."""


def spent_by_run(events: Iterable[Event]) -> list[Spent]:
    """What each run has used, in the order in which they began."""
    found: list[Spent] = []
    last: dict[str, Spent] = {}
    for event in events:
        match event.data:
            case RunStarted(run_id=run_id, task=task, model=model):
                last[event.agent] = Spent(run_id, event.agent, task, model, event.at)
                found.append(last[event.agent])
            case Usage() as used if event.agent in last:
                run = last[event.agent]
                run.input_tokens += used.input_tokens
                run.cached_tokens += used.cache_read_tokens
                run.output_tokens += used.output_tokens
                run.cost = used.total_cost
            case RunFinished(reason=reason) if event.agent in last:
                last[event.agent].reason = reason
            case _:
                pass
    return found


@click.command()
@common
def cost(chosen: Chosen) -> None:
    """Show the tokens and the money that the session has used, by run and in all."""
    session = chosen.open()
    events = (event for event in session.events() if chosen.agent in (None, event.agent))
    runs = spent_by_run(events)
    known = [run.cost for run in runs if run.cost is not None]
    total = {
        "input_tokens": sum(run.input_tokens for run in runs),
        "cached_tokens": sum(run.cached_tokens for run in runs),
        "output_tokens": sum(run.output_tokens for run in runs),
        "cost": sum(known) if len(known) == len(runs) else None,
    }
    if chosen.json:
        print_json({"session": session.name, "runs": [asdict(run) for run in runs], "total": total})
        return
    if not runs:
        click.echo("No run in this session yet, so nothing was used.")
        return
    for number, run in enumerate(runs, 1):
        click.echo(f"{number:3}  {visible(shown(run.task or 'went on', 60))}")
        state = "" if run.reason is not None else " · goes on"
        click.echo(f"     {local_time(run.started_at)} · {visible(shown(run.model))} · {_used(run)}{state}")
    click.echo(f"Total of {len(runs)} run{'' if len(runs) == 1 else 's'}: {_total(runs, known)}")


def _used(run: Spent) -> str:
    return f"{_tokens(run.input_tokens, run.cached_tokens, run.output_tokens)} · {_money(run.cost)}"


def _total(runs: list[Spent], known: list[float]) -> str:
    tokens = _tokens(
        sum(run.input_tokens for run in runs),
        sum(run.cached_tokens for run in runs),
        sum(run.output_tokens for run in runs),
    )
    money = _money(sum(known) if known else None)
    if 0 < len(known) < len(runs):
        money = f"{money}, and what the runs cost whose price is not known"
    return f"{tokens} · {money}"


def _tokens(read: int, cached: int, written: int) -> str:
    return f"{read:,} in{f' ({cached:,} cached)' if cached else ''}, {written:,} out"


def _money(cost: float | None) -> str:
    if not cost:
        return "price not known" if cost is None else "$0"
    return f"${cost:.4f}" if cost >= 0.0001 else "less than $0.0001"
