"""The report for a person, as Markdown: the figures, what needs attention, then everything in turn."""

from __future__ import annotations

from itertools import islice

from headway.core.model import FINISHED
from headway.views.markup import escape
from headway.views.report_words import (
    GOES_ON,
    MAX_REASON,
    OUTCOME_MARKS,
    attention,
    calls_of,
    check_of,
    evidence_of,
    execution_line,
    files_of,
    has_tokens,
    lasted,
    mark_of,
    moment,
    name_of,
    not_merged_of,
    number_of,
    outcome_of,
    output_of,
    own_runs,
    path_of,
    state_of,
    summary,
    text_of,
    tokens_of,
    worktree_of,
)
from headway.views.run_summary import money

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

MOST_NOTES = 200
MOST_ROWS = 300
"""Of one timeline."""
NOTHING = "Nothing has happened in this session yet."
_CELLS = 24
"""How wide a timeline is drawn."""


def report_markdown(record: Mapping[str, Any]) -> str:
    lines = [f"# Report of session {escape(text_of(record['session']))}", "", moment(record["generated_at"])]
    if record["plan"]:
        lines += ["", f"Plan: {escape(text_of(record['plan']['title']))}"]
    if not record["items"] and not record["runs"] and not record["dropped"]:
        return "\n".join([*lines, "", NOTHING]) + "\n"
    lines += ["", "## Summary", ""]
    lines += [f"- {fact.name}: {fact.value}{f' ({fact.detail})' if fact.detail else ''}" for fact in summary(record)]
    if path := path_of(record["critical_path"]):
        lines.append(f"- Critical path: {escape(path)}")
    lines += _attention_lines(record)
    if record["items"]:
        lines += ["", "## Items", ""]
        for item in record["items"]:
            lines += _item_lines(item)
    lines += _execution_lines(record["executions"])
    lines += _run_lines(record)
    return "\n".join(lines) + "\n"


def _attention_lines(record: Mapping[str, Any]) -> list[str]:
    notes = attention(record)
    if not notes:
        return []
    lines = [f"- {note.mark} {escape(note.subject)}  \n  {escape(note.text)}" for note in notes[:MOST_NOTES]]
    more = [f"- … {len(notes) - MOST_NOTES:,} more"] if len(notes) > MOST_NOTES else []
    return ["", "## Needs attention", "", *lines, *more]


def _item_lines(item: Mapping[str, Any]) -> Iterator[str]:
    yield f"- {mark_of(item)} {escape(name_of(item['id']))}: {escape(text_of(item['content']))}"
    facts = [state_of(item)]
    if item["set_by"]:
        facts.append(f"set by {escape(name_of(item['set_by']))}")
    if item["worked_seconds"] is not None and (item["attempts"] or item["status"] in FINISHED):
        facts.append(lasted(item["worked_seconds"]))
    if item["rounds"]:
        facts.append(number_of(item["rounds"], "round"))
    if item["tool_calls"]:
        facts.append(calls_of(item))
    if has_tokens(item):
        facts += [f"tokens: {tokens_of(item)}", f"cost: {money(item['cost'])}"]
    yield f"  {' · '.join(facts)}"
    if item["depends_on"]:
        yield f"  depends on: {escape(files_of(item['depends_on']))}"
    yield from _file_lines(item)
    yield from _evidence_lines(item)
    if item["error"]:
        yield f"  error: {escape(text_of(item['error'], MAX_REASON))}"
    if item["notes"] and item["notes"] != item["error"]:
        yield f"  notes: {escape(text_of(item['notes'], MAX_REASON))}"
    if len(item["attempts"]) > 1:
        tried = "; ".join(f"{each['place']} {outcome_of(each)}" for each in item["attempts"][:MOST_ROWS])
        yield f"  attempts: {tried}"


def _file_lines(item: Mapping[str, Any]) -> Iterator[str]:
    if item["files"]:
        yield f"  files: {escape(files_of(item['files']))}"
    if files := not_merged_of(item):
        yield f"  not merged (ignored, copied or linked): {escape(files)}"
    if worktree := worktree_of(item):
        yield f"  its last attempt's folder: {escape(worktree)}"


def _evidence_lines(item: Mapping[str, Any]) -> Iterator[str]:
    if evidence := evidence_of(item):
        yield f"  evidence: {escape(evidence)}"
    if output := output_of(item):
        yield f"  output: {'; '.join(escape(line) for line in output)}"
    if check := check_of(item):
        yield f"  check: {escape(check)}"


def _execution_lines(executions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not executions:
        return
    yield from ("", "## Executions")
    for number, execution in enumerate(executions, 1):
        yield from ("", f"### Execution {number}: {execution['outcome'] or GOES_ON}", "")
        yield f"{moment(execution['started_at'])} · {' · '.join(escape(part) for part in execution_line(execution))}"
        if execution["note"]:
            yield from ("", escape(text_of(execution["note"], MAX_REASON)))
        if execution["error"] and execution["outcome"] != "failed":
            yield from ("", f"Error: {escape(text_of(execution['error'], MAX_REASON))}")
        if path := path_of(execution["critical_path"]):
            yield from ("", f"Critical path: {escape(path)}")
        for undone in execution["rolled_back"]:
            yield from ("", f"Rolled back: {escape(name_of(undone['item_id']))} at {moment(undone['at'])}")
        yield from _timeline(execution["timeline"])


def _timeline(bars: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not bars:
        return
    whole = max(bar["end"] for bar in bars)
    yield from ("", "| worker | item | from | took | outcome | |", "|---|---|---|---|---|---|")
    for bar in islice(bars, MOST_ROWS):
        tries = f" #{bar['place']}" if bar["place"] > 1 else ""
        alone = " (alone)" if bar["alone"] else ""
        item = escape(name_of(bar["item_id"])).replace("|", "\\|")
        outcome = f"{OUTCOME_MARKS.get(bar['outcome'], '●')} {outcome_of(bar)}"
        times = f"{lasted(bar['start'])} | {lasted(bar['end'] - bar['start'])}"
        yield f"| {bar['lane']} | {item}{tries}{alone} | {times} | {outcome} | `{_drawn(bar, whole)}` |"
    if len(bars) > MOST_ROWS:
        yield from ("", f"… {len(bars) - MOST_ROWS:,} more")


def _drawn(bar: Mapping[str, Any], whole: float) -> str:
    """`··████····`: where in the whole it was."""
    scale = _CELLS / whole if whole else 0.0
    start = min(int(bar["start"] * scale), _CELLS - 1)
    end = min(max(round(bar["end"] * scale), start + 1), _CELLS)
    return "·" * start + "█" * (end - start) + "·" * (_CELLS - end)


def _run_lines(record: Mapping[str, Any]) -> Iterator[str]:
    own = own_runs(record)
    if own:
        yield from ("", "## Runs", "")
    for number, run in enumerate(own, 1):
        took = lasted(run["seconds"]) if run["seconds"] is not None else "still in progress"
        which = f" (execution {run['execution']})" if run["execution"] else ""
        facts = [
            escape(text_of(run["model"])),
            f"{run['reason'] or GOES_ON} after {number_of(run['rounds'], 'round')}, {took}",
            number_of(run["tool_calls"], "tool call"),
            f"tokens: {tokens_of(run)}",
            f"cost: {money(run['cost'])}",
        ]
        yield f"{number}. {escape(text_of(run['task'] or 'continued'))}{which}"
        yield f"   {' · '.join(facts)}"
        if run["error"]:
            yield f"   error: {escape(text_of(run['error'], MAX_REASON))}"
    if own:
        helped = len(record["runs"]) - len(own)
        others = f", including {number_of(helped, 'run')} by sub-agents" if helped else ""
        yield from ("", f"Total{others}: {record['tokens']:,} tokens · cost: {money(record['cost'])}")
