"""The flags of `headway run` that say how the loop asks the model: what fits, how it answers, when it is reminded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    click.option(
        "--context-window", type=click.IntRange(min=1_000), help="Size of the model's context window in tokens."
    ),
    click.option("--reply-tokens", type=click.IntRange(min=16), help="Maximum number of tokens in an answer."),
    click.option("--temperature", type=click.FloatRange(0, 2), help="Sampling temperature of the model, 0 to 2."),
    click.option(
        "--thinking",
        type=click.Choice(["off", "on", "minimal", "low", "medium", "high", "xhigh", "max"]),
        help="Reasoning effort of the model.",
    ),
    click.option(
        "--inject", type=click.Choice(["tail", "tool", "system"]), help="Where the model sees the list (default: tail)."
    ),
    click.option(
        "--remind-after",
        type=click.IntRange(min=1),
        help="Rounds of work after which the model is reminded of the list (default: 8).",
    ),
    click.option(
        "--max-nudges",
        type=click.IntRange(min=0),
        help="How often the model is asked to continue with open items (default: 2).",
    ),
    click.option(
        "--dialect",
        metavar="NAME",
        help="Give the model the todo tool of another agent: claude, claude-tasks, gemini, codex, …",
    ),
    click.option("--retries", type=click.IntRange(min=0), help="Number of retries for a failed request (default: 4)."),
)


def loop_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags, each with the name of its setting."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
