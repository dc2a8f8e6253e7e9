"""The report as Markdown: the figures, what needs attention, then everything in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.core.markup import escape_markdown
from headway.views.report import wording
from headway.views.report.wording import IN_PROGRESS, format_count, format_duration, format_id, format_text, format_time
from headway.views.run_summary import format_money

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headway.views.report.model import Execution, Report, TodoReport, WorkPeriod

MOST_NOTES = 200
MOST_ROWS = 300
"""Of one timeline."""
_BAR_CELLS = 24


def report_markdown(report: Report) -> str:
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield from (
        f"# Report of session {escape_markdown(format_text(report.session))}",
        "",
        format_time(report.generated_at),
    )
    if report.plan:
        yield from ("", f"Plan: {escape_markdown(format_text(report.plan.title))}")
    if not report.items and not report.runs and not report.dropped:
        yield from ("", wording.EMPTY)
        return
    yield from ("", "## Summary", "")
    for fact in wording.summarize(report):
        yield f"- {fact.name}: {fact.value}{f' ({fact.detail})' if fact.detail else ''}"
    if path := wording.format_path(report.critical_path):
        yield f"- Critical path: {escape_markdown(path)}"
    yield from _attention(report)
    if report.items:
        yield from ("", "## Items", "")
    for todo in report.items:
        yield from _todo(todo)
    if report.executions:
        yield from ("", "## Executions")
    for number, execution in enumerate(report.executions, 1):
        yield from _execution(number, execution)
    yield from _runs(report)


def _attention(report: Report) -> Iterator[str]:
    notes = wording.attention_notes(report)
    if notes:
        yield from ("", "## Needs attention", "")
    for note in notes[:MOST_NOTES]:
        yield f"- {note.mark} {escape_markdown(note.subject)}  \n  {escape_markdown(note.text)}"
    if len(notes) > MOST_NOTES:
        yield f"- … {len(notes) - MOST_NOTES:,} more"


def _todo(todo: TodoReport) -> Iterator[str]:
    yield (
        f"- {wording.todo_mark(todo)} {escape_markdown(format_id(todo.id))}: "
        f"{escape_markdown(format_text(todo.content))}"
    )
    calls = format_count(todo.tool_calls, "tool call")
    facts = (
        wording.todo_state(todo),
        todo.set_by and f"set by {escape_markdown(format_id(todo.set_by))}",
        wording.todo_duration(todo),
        todo.rounds and format_count(todo.rounds, "round"),
        todo.tool_calls and (f"{calls}, {todo.failed_calls:,} failed" if todo.failed_calls else calls),
        todo.usage.tokens and f"tokens: {wording.format_tokens(todo.usage)} · cost: {format_money(todo.usage.cost)}",
    )
    yield f"  {' · '.join(fact for fact in facts if fact)}"
    details = {
        "depends on": wording.format_files(todo.depends_on),
        "files": wording.format_files(todo.files),
        "not merged (ignored, copied or linked)": wording.unmerged_files(todo),
        "its last attempt's folder": wording.last_worktree(todo),
        "evidence": wording.evidence_text(todo),
        "output": "; ".join(wording.check_output(todo)),
        "check": wording.check_text(todo),
        "error": wording.format_reason(todo.error or ""),
        "notes": wording.todo_notes(todo),
    }
    yield from (f"  {name}: {escape_markdown(text)}" for name, text in details.items() if text)
    if len(todo.attempts) > 1:
        attempts = (f"{each.place} {wording.outcome_text(each)}" for each in todo.attempts[:MOST_ROWS])
        yield f"  attempts: {'; '.join(attempts)}"


def _execution(number: int, execution: Execution) -> Iterator[str]:
    yield from ("", f"### Execution {number}: {execution.outcome or IN_PROGRESS}", "")
    yield " · ".join([format_time(execution.started_at), *map(escape_markdown, wording.execution_facts(execution))])
    if execution.note:
        yield from ("", escape_markdown(wording.format_reason(execution.note)))
    if error := wording.execution_error(execution):
        yield from ("", f"Error: {escape_markdown(error)}")
    if path := wording.format_path(execution.critical_path):
        yield from ("", f"Critical path: {escape_markdown(path)}")
    for undone in execution.rolled_back:
        yield from ("", f"Rolled back: {escape_markdown(format_id(undone.item_id))} at {format_time(undone.at)}")
    yield from _timeline(execution.timeline)


def _timeline(periods: Sequence[WorkPeriod]) -> Iterator[str]:
    if not periods:
        return
    end = max(period.end for period in periods)
    yield from ("", "| worker | item | from | took | outcome | |", "|---|---|---|---|---|---|")
    for period in periods[:MOST_ROWS]:
        attempt = f" #{period.place}" if period.place > 1 else ""
        todo = escape_markdown(format_id(period.item_id)).replace("|", "\\|")
        outcome = f"{wording.outcome_mark(period)} {wording.outcome_text(period)}"
        times = f"{format_duration(period.start)} | {format_duration(period.end - period.start)}"
        alone = " (alone)" if period.alone else ""
        yield f"| {period.lane} | {todo}{attempt}{alone} | {times} | {outcome} | `{_bar(period, end)}` |"
    if len(periods) > MOST_ROWS:
        yield from ("", f"… {len(periods) - MOST_ROWS:,} more")


def _bar(period: WorkPeriod, timeline_end: float) -> str:
    """`··██····`: when it was."""
    scale = _BAR_CELLS / timeline_end if timeline_end else 0.0
    start = min(int(period.start * scale), _BAR_CELLS - 1)
    end = min(max(round(period.end * scale), start + 1), _BAR_CELLS)
    return "·" * start + "█" * (end - start) + "·" * (_BAR_CELLS - end)


def _runs(report: Report) -> Iterator[str]:
    runs = wording.agent_runs(report)
    if not runs:
        return
    yield from ("", "## Runs", "")
    for number, run, execution in runs:
        took = format_duration(run.seconds) if run.seconds is not None else "still in progress"
        facts = [
            escape_markdown(format_text(run.model)),
            f"{run.reason or IN_PROGRESS} after {format_count(run.rounds, 'round')}, {took}",
            format_count(run.tool_calls, "tool call"),
            f"tokens: {wording.format_tokens(run.usage)}",
            f"cost: {format_money(run.usage.cost)}",
        ]
        which = f" (execution {execution})" if execution else ""
        yield f"{number}. {escape_markdown(format_text(run.task or 'continued'))}{which}"
        yield f"   {' · '.join(facts)}"
        if run.error:
            yield f"   error: {escape_markdown(wording.format_reason(run.error))}"
    others = len(report.runs) - len(runs)
    including = f", including {format_count(others, 'run')} by sub-agents" if others else ""
    yield from ("", f"Total{including}: {report.tokens:,} tokens · cost: {format_money(report.usage.cost)}")
    if rest := wording.format_unattributed(report.unattributed):
        yield from ("", f"Of that, {rest}")
