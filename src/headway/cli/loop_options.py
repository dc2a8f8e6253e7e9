"""The flags of `headway run` that say how the loop asks the model: what fits, how it answers, when it is reminded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    click.option("--context-window", type=click.IntRange(min=1_000), help="Tokens that fit into a request."),
    click.option("--reply-tokens", type=click.IntRange(min=16), help="Tokens that an answer may have."),
    click.option("--temperature", type=click.FloatRange(0, 2), help="How freely the model chooses its words: 0 to 2."),
    click.option(
        "--thinking",
        type=click.Choice(["off", "on", "minimal", "low", "medium", "high", "xhigh", "max"]),
        help="How much the model thinks: its reasoning effort.",
    ),
    click.option(
        "--inject", type=click.Choice(["tail", "tool", "system"]), help="Where the model sees the list (default: tail)."
    ),
    click.option(
        "--remind-after", type=click.IntRange(min=1), help="Rounds of work after which it is reminded (default: 8)."
    ),
    click.option(
        "--max-nudges", type=click.IntRange(min=0), help="How often it is asked to go on with open items (default: 2)."
    ),
    click.option(
        "--retries", type=click.IntRange(min=0), help="How often a request that failed is made again (default: 4)."
    ),
)


def loop_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags, each with the name of its setting."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
