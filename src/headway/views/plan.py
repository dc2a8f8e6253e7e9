"""`plan show`: the plan in full for a person who asked, as plain lines, and its critical path.

What a step is expected to take is free text; where every step's can be read as a time, the path is the longest by time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headway.core import graph
from headway.core.text import sanitize_for_display
from headway.views.terminal import to_visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headway.core.model import Todo
    from headway.core.plans import Plan, PlanStep

MAX_TEXT = 1_000
MAX_NAME = 60
MAX_LISTED = 20
"""How many ids or texts one line names."""
MAX_LINES = 40
"""How many lines of a long text are shown."""
_MINUTES = {
    1 / 60: "s sec secs second seconds 秒 秒钟",
    1: "m min mins minute minutes 分 分钟",
    60: "h hr hrs hour hours 时 小时 个小时 钟头 个钟头",
    480: "d day days 天 日 工作日 个工作日",
    2_400: "w wk wks week weeks 周 星期 个星期 礼拜 个礼拜",
}
"""Minutes of work → words for them. A day of work has eight hours, a week five days."""
_UNITS = {word: minutes for minutes, words in _MINUTES.items() for word in words.split()}
_NUMBER = r"\d{1,6}(?:[.,]\d{1,6})?"
_WORDS = "|".join(sorted(_UNITS, key=len, reverse=True))
_PART = rf"(?:{_NUMBER}\s*(?:[-–—~]|to|至|到)\s*)?({_NUMBER})\s*({_WORDS})(?![a-z])"
_ONE = re.compile(_PART, re.IGNORECASE)
_WHOLE = re.compile(
    rf"(?:(?:about|approx\.?|ca\.?|~|≈|约|大约)\s*)?{_PART}(?:\s*(?:(?:,|and)\s*)?{_PART})*+", re.IGNORECASE
)
_LONGEST_TIME = 100
"""Characters of an estimate that is looked at."""


def plan_lines(plan: Plan) -> list[str]:
    """Title, overview, the steps with all there is to know about them, then what holds for the whole."""
    lines = [
        f"📋 Plan: {_format_text(plan.title)}",
        "",
        *_wrap_paragraph(plan.overview),
        "",
        f"Steps ({len(plan.steps)})",
    ]
    for number, step in enumerate(plan.steps, 1):
        lines += _step_lines(number, step)
    if plan.risks:
        lines += ["", "Risks", *(f"  - {_format_text(risk)}" for risk in plan.risks)]
    if plan.testing_strategy:
        lines += ["", "Testing strategy", *_wrap_paragraph(plan.testing_strategy, "  ")]
    lines.append("")
    if plan.estimated_duration:
        lines.append(f"Duration: {_format_text(plan.estimated_duration)}")
    path = find_critical_steps(plan.steps)
    if path:
        lines.append(f"Critical path: {_format_chain(path)} ({_format_path_length(path, plan.steps)})")
    return lines if lines[-1] else lines[:-1]


def _step_lines(number: int, step: PlanStep) -> Iterator[str]:
    yield f"  {number}. {_format_text(step.id, MAX_NAME)}: {_format_text(step.description)}"
    facts: list[str] = []
    if step.module:
        facts.append(f"module: {_format_text(step.module, MAX_NAME)}")
    if step.dependencies:
        more = f", … {len(step.dependencies) - MAX_LISTED} more" if len(step.dependencies) > MAX_LISTED else ""
        facts.append(
            f"depends on: {', '.join(_format_text(i, MAX_NAME) for i in step.dependencies[:MAX_LISTED])}{more}"
        )
    if step.estimated_time:
        facts.append(f"time: {_format_text(step.estimated_time, MAX_NAME)}")
    if facts:
        yield f"     {' · '.join(facts)}"
    if step.verify:
        yield f"     check: {_format_text(step.verify)}"
    for risk in step.risks:
        yield f"     risk: {_format_text(risk)}"


def _wrap_paragraph(text: str, indent: str = "") -> list[str]:
    lines = [f"{indent}{_format_text(line)}".rstrip() for line in text.split("\n")]
    return lines if len(lines) <= MAX_LINES else [*lines[:MAX_LINES], f"{indent}… {len(lines) - MAX_LINES} more lines"]


def _format_text(text: str, limit: int = MAX_TEXT) -> str:
    return to_visible(sanitize_for_display(text, limit))


def _format_chain(path: Sequence[PlanStep]) -> str:
    names = [_format_text(step.id, MAX_NAME) for step in (path if len(path) <= MAX_LISTED else [*path[:5], path[-1]])]
    if len(path) > MAX_LISTED:
        names.insert(5, f"… {len(path) - 6} more …")
    return " → ".join(names)


def _format_path_length(path: Sequence[PlanStep], steps: Sequence[PlanStep]) -> str:
    size = f"{len(path)} of {len(steps)} step{'' if len(steps) == 1 else 's'}"
    times = _list_times(steps)
    return size if times is None else f"{size}, {_format_minutes(sum(times[step.id] for step in path))}"


def _format_minutes(minutes: float) -> str:
    hours, rest = divmod(round(minutes), 60)
    return " ".join(part for part in (f"{hours}h" if hours else "", f"{rest}min" if rest or not hours else "") if part)


def parse_minutes(estimate: str | None) -> float | None:
    """What `45min`, `1.5 h`, `1h 30min`, `2-3 days` or `2小时` comes to, at most; None for what is no such time."""
    text = (estimate or "").strip().lower()
    if not text or len(text) > _LONGEST_TIME or not _WHOLE.fullmatch(text):
        return None
    return sum(float(number.replace(",", ".")) * _UNITS[unit] for number, unit in _ONE.findall(text))


def _list_times(steps: Sequence[PlanStep]) -> dict[str, float] | None:
    """id → minutes, if every step says how long it takes."""
    times: dict[str, float] = {}
    for step in steps:
        minutes = parse_minutes(step.estimated_time)
        if minutes is None:
            return None
        times[step.id] = minutes
    return times


def find_critical_steps(steps: Sequence[PlanStep]) -> list[PlanStep]:
    """The chain of steps that takes longest, by time where every step has one, else by their number."""
    by_id = {step.id: step for step in steps}
    weights = _list_times(steps) or dict.fromkeys(by_id, 1.0)
    path = graph.find_critical_path({step.id: step.dependencies for step in steps}, weights)
    return [by_id[step_id] for step_id in path]


def list_todos_of_plan(plan: Plan, todos: Sequence[Todo]) -> list[Todo]:
    """The items that were made of the plan's steps; none if not all of these are in the list."""
    ids = {step.id for step in plan.steps}
    found = [todo for todo in todos if todo.id in ids and todo.created_from == "plan"]
    return found if len(found) == len(ids) else []
