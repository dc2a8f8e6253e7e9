"""What came of a session: each item with its state and what shows it, each run with what it took. Pure."""

from __future__ import annotations

from datetime import datetime

from headway.core.events import ListDelta
from headway.core.evidence import evidence_record
from headway.core.model import FINISHED, Status, counts
from headway.core.run_events import RunFinished, RunStarted, ToolFinished, Usage
from headway.views.listing import counts_line, todo_line
from headway.views.markup import escape
from headway.views.run_summary import duration, money

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from headway.core.events import Event
    from headway.core.model import Todo


def report_record(
    events: Iterable[Event], todos: Sequence[Todo], *, session: str, agent: str, generated_at: str
) -> dict[str, Any]:
    """The report as data. Reads the log once."""
    set_by: dict[str, str] = {}
    files: dict[str, dict[str, None]] = {}
    runs: list[dict[str, Any]] = []
    for event in events:
        if event.agent != agent:
            continue
        data = event.data
        if isinstance(data, ListDelta):
            changed = [todo_id for todo_id, fields in data.changed.items() if "status" in fields]
            set_by |= dict.fromkeys([*changed, *(todo.id for todo in data.added)], event.actor)
        elif isinstance(data, ToolFinished) and data.item_id is not None:
            files.setdefault(data.item_id, {}).update(dict.fromkeys(data.files))
        elif isinstance(data, RunStarted):
            runs.append(_begun(data, event.at))
        elif isinstance(data, Usage) and runs:
            _count(runs[-1], data)
        elif isinstance(data, RunFinished) and runs:
            runs[-1] |= {"ended_at": event.at, "seconds": _seconds(runs[-1]["started_at"], event.at)}
            runs[-1] |= {
                "reason": data.reason,
                "rounds": data.rounds,
                "tool_calls": data.tool_calls,
                "error": data.error,
            }
    number = counts(list(todos))
    costs = [run["cost"] for run in runs]
    return {
        "session": session,
        "generated_at": generated_at,
        "statistics": {"total": len(todos), **{str(status): count for status, count in number.items()}},
        "items": [_item(todo, set_by.get(todo.id), [*files.get(todo.id, ())]) for todo in todos],
        "runs": runs,
        "tokens": sum(run["input_tokens"] + run["output_tokens"] for run in runs),
        "cost": None if None in costs else sum(costs),
    }


def _begun(data: RunStarted, at: str) -> dict[str, Any]:
    return {
        "id": data.run_id,
        "task": data.task,
        "model": data.model,
        "started_at": at,
        "ended_at": None,
        "seconds": None,
        "reason": None,
        "rounds": 0,
        "tool_calls": 0,
        "error": None,
        "input_tokens": 0,
        "cached_tokens": 0,
        "output_tokens": 0,
        "cost": 0.0,
    }


def _count(run: dict[str, Any], usage: Usage) -> None:
    run["input_tokens"] += usage.input_tokens
    run["cached_tokens"] += usage.cache_read_tokens
    run["output_tokens"] += usage.output_tokens
    run["cost"] = usage.total_cost


def _item(todo: Todo, set_by: str | None, files: list[str]) -> dict[str, Any]:
    return {
        "id": todo.id,
        "content": todo.content,
        "status": str(todo.status),
        "set_by": set_by,
        "started_at": todo.started_at,
        "completed_at": todo.completed_at,
        "seconds": _seconds(todo.started_at, todo.completed_at),
        "started_at_round": todo.started_at_round,
        "completed_at_round": todo.completed_at_round,
        "tool_calls": todo.tool_calls,
        "failed_calls": todo.failed_calls,
        "files": files,
        "evidence": evidence_record(todo.evidence) if todo.evidence else None,
        "interrupted": todo.interrupted,
        "notes": todo.notes,
    }


def _seconds(start: str | None, end: str | None) -> float | None:
    if start is None or end is None:
        return None
    return max(round((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 3), 0.0)


def report_markdown(record: dict[str, Any], todos: Sequence[Todo]) -> str:
    """The report for a person."""
    lines = [f"# Report of session {escape(record['session'])}", "", f"{record['generated_at']} · {counts_line(todos)}"]
    if todos:
        lines += ["", "## Items", ""]
        for todo, item in zip(todos, record["items"], strict=True):
            lines += _item_lines(todo, item)
    if record["runs"]:
        lines += ["", "## Runs", ""]
        for number, run in enumerate(record["runs"], 1):
            lines += _run_lines(number, run)
        lines += ["", f"In all: {record['tokens']:,} tokens · cost: {money(record['cost'])}"]
    if not todos and not record["runs"]:
        lines += ["", "Nothing has happened in this session yet."]
    return "\n".join(lines) + "\n"


def _item_lines(todo: Todo, item: dict[str, Any]) -> list[str]:
    facts: list[str] = []
    if item["set_by"]:
        facts.append(f"set by {escape(item['set_by'])}")
    if item["seconds"] is not None and todo.status in FINISHED:
        facts.append(duration(item["seconds"]))
    if item["tool_calls"]:
        failed = f", {item['failed_calls']} failed" if item["failed_calls"] else ""
        facts.append(f"{item['tool_calls']} tool call{'' if item['tool_calls'] == 1 else 's'}{failed}")
    if todo.status is Status.COMPLETED:
        facts.append(item["evidence"]["level"] if item["evidence"] else "reported")
    lines = [f"- {escape(todo_line(todo))}", *([f"  {' · '.join(facts)}"] if facts else [])]
    if item["files"]:
        lines.append(f"  files: {', '.join(escape(path) for path in item['files'])}")
    if item["notes"]:
        lines.append(f"  notes: {escape(item['notes'])}")
    return lines


def _run_lines(number: int, run: dict[str, Any]) -> list[str]:
    took = duration(run["seconds"]) if run["seconds"] is not None else "still going on"
    lines = [
        f"{number}. {escape(run['task'])}",
        f"   {escape(run['model'])} · {run['reason'] or 'going on'} after {run['rounds']} rounds, {took}"
        f" · {run['tool_calls']} tool calls · {run['input_tokens']:,} tokens in, {run['output_tokens']:,} out"
        f" · cost: {money(run['cost'])}",
    ]
    return [*lines, *([f"   error: {escape(run['error'])}"] if run["error"] else [])]
