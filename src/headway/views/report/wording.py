"""What a report says, in words, for each of its formats. Pure.

Texts from outside are cut and made visible here; each format still has to escape them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from headway.core.model import FINISHED, Status
from headway.core.text import sanitize_for_display
from headway.views.box import ICONS
from headway.views.evidence_words import NOT_VERIFIED, count_levels, evidence_mark, evidence_word, explain_note
from headway.views.listing import explain_half_changed
from headway.views.run_summary import format_duration as format_short_duration
from headway.views.run_summary import format_money
from headway.views.terminal import to_visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headway.views.report.model import (
        Attempt,
        CriticalPath,
        DroppedTodo,
        Execution,
        ModelUsage,
        Report,
        Run,
        TodoReport,
        WorkPeriod,
    )

MAX_TEXT = 200
MAX_REASON = 500
MAX_ID = 60
MAX_FILES = 20
MAX_OUTPUT = 10
"""Lines of a check's output."""
OUTCOME_MARKS = {
    "completed": "✓",
    "blocked": "✗",
    "cancelled": "⊘",
    "conflict": "⇄",
    "interrupted": "■",
    "pending": "○",
    "dropped": "⊘",
    None: "●",
}
"""How an attempt ended → its mark. Colour is never the only sign."""
IN_PROGRESS = "in progress"
EMPTY = "Nothing has happened in this session yet."


class Fact(NamedTuple):
    """One figure of the summary."""

    name: str
    value: str
    detail: str = ""


class Note(NamedTuple):
    """Something that a person should know about."""

    kind: str
    """failed, interrupted, conflict, retried, undone or dropped."""
    mark: str
    subject: str
    text: str


class AgentRun(NamedTuple):
    """A run of the report's agent; what an execution's sub-agents used is included."""

    number: int
    run: Run
    execution: int | None
    """The number of the execution that it is."""


# parts of a line


def format_text(text: str, limit: int = MAX_TEXT) -> str:
    return to_visible(sanitize_for_display(text, limit))


def format_id(item_id: str) -> str:
    return format_text(item_id, MAX_ID)


def format_reason(text: str) -> str:
    return format_text(text, MAX_REASON)


def format_sentence(text: str, limit: int = MAX_TEXT) -> str:
    """Return a text as it may stand inside a sentence."""
    return format_text(text, limit).rstrip(".")


def format_duration(seconds: float) -> str:
    """`4.2 s`, `2m 31s`, `3h 05m`, `2d 4h`."""
    if seconds < 3_600:
        return format_short_duration(seconds)
    minutes = int(seconds // 60)
    if minutes < 2 * 24 * 60:
        return f"{minutes // 60}h {minutes % 60:02}m"
    return f"{minutes // 1_440}d {minutes % 1_440 // 60}h"


def format_time(at: str) -> str:
    """`2026-01-02 03:04:05 UTC`: the report may be read anywhere."""
    return f"{at[:19].replace('T', ' ')} UTC"


def format_count(count: int, noun: str) -> str:
    """`1 file`, `2,000 files`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_files(files: Sequence[str]) -> str:
    more = f" and {len(files) - MAX_FILES:,} more" if len(files) > MAX_FILES else ""
    return ", ".join(format_text(path) for path in files[:MAX_FILES]) + more


def format_tokens(usage: ModelUsage) -> str:
    """`3,000 in (600 cached), 50 out`."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    return f"{usage.input_tokens:,} in{cached}, {usage.output_tokens:,} out"


def format_unattributed(usage: ModelUsage) -> str:
    """Return what no todo took, as the end of a sentence; nothing if there is none."""
    if not usage.tokens:
        return ""
    return f"no todo of the list took {usage.tokens:,} tokens · cost: {format_money(usage.cost)}"


def format_path(path: CriticalPath | None, most: int = 20) -> str:
    """`t1 → t3 → t4 (2m 31s)`; nothing for fewer than two todos."""
    if path is None or len(path.item_ids) < 2:
        return ""
    ids = path.item_ids
    names = [format_id(item_id) for item_id in (ids if len(ids) <= most else [*ids[:5], ids[-1]])]
    if len(ids) > most:
        names.insert(5, f"… {len(ids) - 6:,} more …")
    return f"{' → '.join(names)} ({format_duration(path.seconds)})"


# a todo and its attempts


def status_mark(status: str, level: str | None) -> str:
    """Return ✓ for what is verified, ✓? for what is completed and not verified."""
    return evidence_mark(level) if status == Status.COMPLETED else ICONS[Status(status)]


def status_kind(status: str, level: str | None) -> str:
    """Return what the colours are named after: one of `pictures.drawing.KINDS`."""
    if status == Status.COMPLETED:
        return "reported" if evidence_mark(level) == NOT_VERIFIED else "done"
    return {Status.BLOCKED: "blocked", Status.IN_PROGRESS: "running"}.get(Status(status), "quiet")


def status_text(status: str, level: str | None, *, is_interrupted: bool) -> str:
    """`completed, verified`."""
    words = status.replace("_", " ") + (f", {evidence_word(level)}" if level else "")
    return f"{words}, interrupted" if is_interrupted else words


def todo_mark(todo: TodoReport) -> str:
    return status_mark(todo.status, todo.evidence_level)


def todo_kind(todo: TodoReport) -> str:
    return status_kind(todo.status, todo.evidence_level)


def todo_state(todo: TodoReport) -> str:
    return status_text(todo.status, todo.evidence_level, is_interrupted=todo.interrupted)


def todo_duration(todo: TodoReport) -> str:
    """Return how long was worked on it; nothing for a todo that was not executed and is open."""
    is_over = todo.attempts or todo.status in FINISHED
    return format_duration(todo.worked_seconds) if todo.worked_seconds is not None and is_over else ""


def todo_notes(todo: TodoReport) -> str:
    return format_reason(todo.notes) if todo.notes and todo.notes != todo.error else ""


def evidence_text(todo: TodoReport) -> str:
    """Return what shows that it is completed; nothing if someone only said so."""
    evidence = todo.evidence
    if evidence is None:
        return ""
    parts: list[str] = []
    if evidence.command:
        ended = "" if evidence.exit_code is None else f" → exit code {evidence.exit_code}"
        took = "" if evidence.seconds is None else f" in {format_duration(evidence.seconds)}"
        parts.append(f"{format_text(evidence.command)}{ended}{took}")
    if evidence.note:
        parts.append(format_text(explain_note(evidence.note)))
    if evidence.files:
        parts.append(format_files(evidence.files))
    return "; ".join(parts)


def check_text(todo: TodoReport) -> str:
    """Return the declared check, if the evidence does not name it."""
    ran = todo.evidence.command if todo.evidence else None
    return format_text(todo.verify) if todo.verify and todo.verify != ran else ""


def check_output(todo: TodoReport) -> list[str]:
    """Return the last lines of the check."""
    output = (todo.evidence.output or "") if todo.evidence else ""
    return [format_text(line) for line in output.splitlines()[-MAX_OUTPUT:]]


def unmerged_files(todo: TodoReport) -> str:
    """Return the files of its last attempt that did not come into the project, though the attempt ended well."""
    return format_files(todo.attempts[-1].not_merged) if todo.attempts and todo.status == Status.COMPLETED else ""


def last_worktree(todo: TodoReport) -> str:
    """Return where the files of its last attempt are; nothing if they no longer exist."""
    return format_text(todo.attempts[-1].worktree or "") if todo.attempts else ""


def outcome_text(attempt: Attempt | WorkPeriod) -> str:
    outcome = attempt.outcome or IN_PROGRESS
    return f"{outcome}, retried" if attempt.again and outcome != "conflict" else outcome


def outcome_mark(attempt: Attempt | WorkPeriod) -> str:
    return OUTCOME_MARKS.get(attempt.outcome, "●")


# the whole


def summarize(report: Report) -> list[Fact]:
    """Return the figures that come first."""
    number = report.statistics
    facts: list[Fact] = []
    if number["total"]:
        levels = count_levels(report.evidence) if number["completed"] else ""
        facts.append(Fact("Done", f"{number['completed']:,} of {number['total']:,}", levels))
    left = {
        "open": number["pending"] + number["in_progress"],
        **{name: number[name] for name in ("blocked", "cancelled")},
    }
    if any(left.values()):
        details = ", ".join(f"{count:,} {name}" for name, count in left.items() if count)
        facts.append(Fact("Not done", f"{sum(left.values()):,}", details))
    runs = agent_runs(report)
    if runs:
        current = sum(each.run.reason is None for each in runs)
        progress = f", {current} in progress" if current else ""
        facts.append(Fact("Time", format_duration(report.seconds), f"{format_count(len(runs), 'run')}{progress}"))
    if report.speed_up is not None:
        serial = f"{format_duration(report.serial_seconds)} one at a time"
        facts.append(Fact("Speed-up", f"{report.speed_up:.1f}×", serial))
    if report.tokens:
        facts.append(Fact("Tokens", f"{report.tokens:,}", format_tokens(report.usage)))
    if runs:
        facts.append(Fact("Cost", format_money(report.usage.cost)))
    return facts


def agent_runs(report: Report) -> list[AgentRun]:
    executions = {each.run_id: (number, each) for number, each in enumerate(report.executions, 1)}
    runs: list[AgentRun] = []
    for run in report.runs:
        if run.agent == report.agent:
            number, execution = executions.get(run.id, (None, None))
            if execution is not None:
                run = replace(
                    run,
                    rounds=run.rounds + execution.rounds,
                    tool_calls=run.tool_calls + execution.tool_calls,
                    usage=run.usage + execution.usage,
                )
            runs.append(AgentRun(len(runs) + 1, run, number))
    return runs


def execution_facts(execution: Execution) -> list[str]:
    failed = f", {execution.failed:,} failed" if execution.failed else ""
    took = f"{format_duration(execution.seconds)}{'' if execution.outcome else ' so far'}"
    if execution.saving_seconds >= 1:
        took += f" ({format_duration(execution.saving_seconds)} for saving and merging files)"
    facts = [
        f"{execution.completed:,} of {format_count(execution.total, 'item')} completed{failed}",
        took,
        format_count(execution.parallel, "worker"),
    ]
    if execution.mode:
        facts.append(f"mode {format_id(execution.mode)}")
    if execution.speed_up is not None:
        serial = format_duration(execution.serial_seconds)
        facts.append(f"{execution.speed_up:.1f}× as fast as one at a time ({serial})")
    if execution.retried:
        facts.append(f"{execution.retried:,} retried")
    if execution.conflicts:
        facts.append(format_count(execution.conflicts, "conflict"))
    if execution.usage.tokens:
        facts += [f"tokens: {format_tokens(execution.usage)}", f"cost: {format_money(execution.usage.cost)}"]
    return facts


def execution_error(execution: Execution) -> str:
    """Return why it ended, if its outcome does not say it."""
    return format_reason(execution.error) if execution.error and execution.outcome != "failed" else ""


# what needs attention


def attention_notes(report: Report) -> list[Note]:
    """Return what went wrong, was retried, undone or dropped; the worst first."""
    notes = [Note("failed", "⚠", "Files", explain_half_changed())] if report.half_changed else []
    notes += [note for todo in report.items for note in _todo_notes(todo)]
    for number, execution in enumerate(report.executions, 1):
        if execution.outcome == "interrupted":
            why = execution.error or f"{execution.completed} of {execution.total} items completed"
            notes.append(Note("interrupted", "■", f"Execution {number}", f"interrupted: {format_reason(why)}"))
    for number, run, execution in agent_runs(report):
        if run.error and execution is None:
            notes.append(Note("failed", "✗", f"Run {number}", f"failed: {format_reason(run.error)}"))
    notes += [_drop_note(todo) for todo in report.dropped]
    order = ("failed", "interrupted", "conflict", "retried", "undone", "dropped")
    return sorted(notes, key=lambda note: order.index(note.kind))


def _todo_notes(todo: TodoReport) -> Iterator[Note]:
    subject = _subject(todo)
    attempts = todo.attempts
    after = f" after {format_count(len(attempts), 'attempt')}" if attempts else ""
    if todo.status == Status.BLOCKED:
        why = f": {format_reason(todo.error)}" if todo.error else ""
        yield Note("failed", "✗", subject, f"blocked{after}{why}")
    if todo.interrupted:
        yield Note("interrupted", "■", subject, f"interrupted{after}; now {todo.status.replace('_', ' ')}")
    for index, attempt in enumerate(attempts):
        if attempt.outcome == "conflict":
            why = f": {format_sentence(attempt.reason, MAX_REASON)}" if attempt.reason else ""
            text = f"attempt {attempt.place} ended in a conflict{why}{_repetition(attempts[index + 1 :])}"
            yield Note("conflict", "⇄", subject, text)
    others = [attempt for attempt in attempts[:-1] if attempt.outcome != "conflict"]
    if others and todo.status != Status.BLOCKED:
        why = "; ".join(_failure(attempt) for attempt in others[:5])
        more = f"; and {len(others) - 5} more" if len(others) > 5 else ""
        last = attempts[-1].outcome or IN_PROGRESS
        yield Note("retried", "↻", subject, f"tried {len(attempts)} times, finally {last}: {why}{more}")
    for undone in todo.rolled_back:
        files = f": {format_files(undone.files)}" if undone.files else ""
        yield Note("undone", "↶", subject, f"rolled back at {format_time(undone.at)}{files}")
    if todo.status == Status.CANCELLED:
        by = f" by {format_id(todo.set_by)}" if todo.set_by else ""
        why = f": {format_reason(todo.notes)}" if todo.notes else ""
        yield Note("dropped", "⊘", subject, f"cancelled{by}{why}")


def _subject(todo: TodoReport | DroppedTodo) -> str:
    return f"{format_id(todo.id)}: {format_text(todo.content)}"


def _repetition(later: Sequence[Attempt]) -> str:
    """Return what became of a todo after a conflict."""
    if not later:
        return ""
    return f"; run again{' alone' if later[0].alone else ''}: {later[0].outcome or IN_PROGRESS}"


def _failure(attempt: Attempt) -> str:
    why = f" ({format_sentence(attempt.reason)})" if attempt.reason else ""
    return f"attempt {attempt.place} {attempt.outcome or IN_PROGRESS}{why}"


def _drop_note(todo: DroppedTodo) -> Note:
    status = todo.status.replace("_", " ")
    text = f"dropped by {format_id(todo.by)} at {format_time(todo.at)} while it was {status}"
    return Note("dropped", "⊘", _subject(todo), text)
