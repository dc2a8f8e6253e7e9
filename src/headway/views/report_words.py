"""What a report says, in words, for every medium it is shown in. Pure.

Texts of items are cut and made visible here, and still have to be escaped for the medium.
"""

from __future__ import annotations

from typing import NamedTuple

from headway.core.model import Status
from headway.core.text import shown
from headway.views.box import ICONS
from headway.views.evidence_words import NOT_VERIFIED, count_levels, level_mark, level_word, note_words
from headway.views.listing import HALF_CHANGED
from headway.views.run_summary import duration, money
from headway.views.spending import total_cost
from headway.views.terminal import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

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
GOES_ON = "in progress"


class Fact(NamedTuple):
    """One figure of the summary."""

    name: str
    value: str
    detail: str = ""


class Note(NamedTuple):
    """Something that a person should know of."""

    kind: str
    """failed, interrupted, conflict, retried, undone or dropped."""
    mark: str
    subject: str
    text: str


def text_of(text: str, limit: int = MAX_TEXT) -> str:
    return visible(shown(text, limit))


def name_of(item_id: str) -> str:
    return text_of(item_id, MAX_ID)


def mark_of(item: Mapping[str, Any]) -> str:
    """✓ for what is verified, ✓? for what is completed and not verified."""
    if item["status"] == Status.COMPLETED:
        return level_mark(item.get("evidence_level"))
    return ICONS[Status(item["status"])]


def state_of(item: Mapping[str, Any]) -> str:
    """`completed, verified`."""
    level = f", {level_word(item['evidence_level'])}" if item.get("evidence_level") else ""
    cut = ", interrupted" if item.get("interrupted") else ""
    return f"{item['status'].replace('_', ' ')}{level}{cut}"


def lasted(seconds: float) -> str:
    """`4.2 s`, `2m 31s`, `3h 05m`, `2d 4h`."""
    if seconds < 3_600:
        return duration(seconds)
    minutes = int(seconds // 60)
    if minutes < 2 * 24 * 60:
        return f"{minutes // 60}h {minutes % 60:02}m"
    return f"{minutes // 1_440}d {minutes % 1_440 // 60}h"


def moment(at: str) -> str:
    """`2026-01-02 03:04:05 UTC`: the report may be read anywhere."""
    return f"{at[:19].replace('T', ' ')} UTC"


def number_of(count: int, what: str) -> str:
    """`1 file`, `2,000 files`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def files_of(files: Sequence[str]) -> str:
    more = f" and {len(files) - MAX_FILES:,} more" if len(files) > MAX_FILES else ""
    return ", ".join(text_of(path) for path in files[:MAX_FILES]) + more


def tokens_of(record: Mapping[str, Any]) -> str:
    """`3,000 in (600 cached), 50 out`."""
    cached = f" ({record['cached_tokens']:,} cached)" if record["cached_tokens"] else ""
    return f"{record['input_tokens']:,} in{cached}, {record['output_tokens']:,} out"


def has_tokens(record: Mapping[str, Any]) -> bool:
    return bool(record["input_tokens"] or record["output_tokens"])


def calls_of(record: Mapping[str, Any]) -> str:
    """`12 tool calls, 2 failed`."""
    failed = f", {record['failed_calls']:,} failed" if record["failed_calls"] else ""
    return f"{number_of(record['tool_calls'], 'tool call')}{failed}"


def evidence_of(item: Mapping[str, Any]) -> str:
    """What shows that it is done; nothing where it is only said."""
    evidence: Mapping[str, Any] = item["evidence"] or {}
    parts: list[str] = []
    if evidence.get("command"):
        code, seconds = evidence["exit_code"], evidence["seconds"]
        ended = "" if code is None else f" → exit code {code}"
        parts.append(f"{text_of(evidence['command'])}{ended}{'' if seconds is None else f' in {duration(seconds)}'}")
    if evidence.get("note"):
        parts.append(text_of(note_words(evidence["note"])))
    if evidence.get("files"):
        parts.append(files_of(evidence["files"]))
    return "; ".join(parts)


def not_merged_of(item: Mapping[str, Any]) -> str:
    """Return the files of its last attempt that did not come into the project, though the attempt ended well."""
    attempts = item["attempts"]
    return files_of(attempts[-1]["not_merged"]) if attempts and item["status"] == Status.COMPLETED else ""


def worktree_of(item: Mapping[str, Any]) -> str:
    """Return where the files of its last attempt are; nothing if they are not kept."""
    attempts = item["attempts"]
    return text_of(attempts[-1]["worktree"] or "") if attempts else ""


def check_of(item: Mapping[str, Any]) -> str:
    """The declared check, where its evidence does not name it."""
    evidence: Mapping[str, Any] = item["evidence"] or {}
    ran = evidence.get("command")
    return text_of(item["verify"]) if item.get("verify") and item["verify"] != ran else ""


def output_of(item: Mapping[str, Any]) -> list[str]:
    """The last lines of the check."""
    evidence: Mapping[str, Any] = item["evidence"] or {}
    output = str(evidence.get("output") or "")
    return [text_of(line) for line in output.splitlines()[-MAX_OUTPUT:]]


def outcome_of(attempt: Mapping[str, Any]) -> str:
    outcome = attempt["outcome"] or GOES_ON
    return f"{outcome}, retried" if attempt["again"] and outcome != "conflict" else outcome


# the whole


def summary(record: Mapping[str, Any]) -> list[Fact]:
    """The figures that come first."""
    number, evidence = record["statistics"], record["evidence"]
    facts: list[Fact] = []
    if number["total"]:
        sure = count_levels(evidence) if number["completed"] else ""
        facts.append(Fact("Done", f"{number['completed']:,} of {number['total']:,}", sure))
    left = {
        "open": number["pending"] + number["in_progress"],
        **{name: number[name] for name in ("blocked", "cancelled")},
    }
    if any(left.values()):
        details = ", ".join(f"{count:,} {name}" for name, count in left.items() if count)
        facts.append(Fact("Not done", f"{sum(left.values()):,}", details))
    own = own_runs(record)
    if own:
        going = sum(run["reason"] is None for run in own)
        facts.append(
            Fact(
                "Time",
                lasted(record["seconds"]),
                f"{number_of(len(own), 'run')}{f', {going} in progress' if going else ''}",
            )
        )
    if record["speed_up"] is not None:
        serial = f"{lasted(record['serial_seconds'])} one at a time"
        facts.append(Fact("Speed-up", f"{record['speed_up']:.1f}×", serial))
    if has_tokens(record):
        facts.append(Fact("Tokens", f"{record['tokens']:,}", tokens_of(record)))
    if own:
        facts.append(Fact("Cost", money(record["cost"])))
    return facts


def own_runs(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The runs of the agent itself; what sub-agents used for an execution is that of its run."""
    executions = {each["run_id"]: (number, each) for number, each in enumerate(record["executions"], 1)}
    runs: list[dict[str, Any]] = []
    for run in record["runs"]:
        if run["agent"] == record["agent"]:
            number, execution = executions.get(run["id"], (None, None))
            runs.append({**run, "execution": number, **({} if execution is None else _with_helpers(run, execution))})
    return runs


def _with_helpers(run: Mapping[str, Any], execution: Mapping[str, Any]) -> dict[str, Any]:
    names = ("rounds", "tool_calls", "input_tokens", "cached_tokens", "output_tokens")
    return {
        **{name: run[name] + execution[name] for name in names},
        "cost": total_cost([run["cost"], execution["cost"]]),
    }


def attention(record: Mapping[str, Any]) -> list[Note]:
    """What went wrong, was retried, undone or dropped; the worst first."""
    notes = [Note("failed", "⚠", "Files", HALF_CHANGED)] if record["half_changed"] else []
    notes += [note for item in record["items"] for note in _of_item(item)]
    for number, execution in enumerate(record["executions"], 1):
        if execution["outcome"] == "interrupted":
            why = execution["error"] or f"{execution['completed']} of {execution['total']} items completed"
            notes.append(Note("interrupted", "■", f"Execution {number}", f"interrupted: {text_of(why, MAX_REASON)}"))
    for number, run in enumerate(own_runs(record), 1):
        if run["error"] and run["execution"] is None:
            notes.append(Note("failed", "✗", f"Run {number}", f"failed: {text_of(run['error'], MAX_REASON)}"))
    notes += [_dropped(item) for item in record["dropped"]]
    order = ("failed", "interrupted", "conflict", "retried", "undone", "dropped")
    return sorted(notes, key=lambda note: order.index(note.kind))


def _of_item(item: Mapping[str, Any]) -> Iterator[Note]:
    subject = f"{name_of(item['id'])}: {text_of(item['content'])}"
    tried = f" after {number_of(len(item['attempts']), 'attempt')}" if item["attempts"] else ""
    if item["status"] == Status.BLOCKED:
        why = f": {text_of(item['error'], MAX_REASON)}" if item["error"] else ""
        yield Note("failed", "✗", subject, f"blocked{tried}{why}")
    if item["interrupted"]:
        yield Note("interrupted", "■", subject, f"interrupted{tried}; now {item['status'].replace('_', ' ')}")
    attempts = item["attempts"]
    for index, attempt in enumerate(attempts):
        if attempt["outcome"] == "conflict":
            why = f": {_reason(attempt['reason'], MAX_REASON)}" if attempt["reason"] else ""
            yield Note(
                "conflict",
                "⇄",
                subject,
                f"attempt {attempt['place']} ended in a conflict{why}{_then(attempts[index + 1 :])}",
            )
    others = [attempt for attempt in attempts[:-1] if attempt["outcome"] != "conflict"]
    if others and item["status"] != Status.BLOCKED:
        why = "; ".join(_failed(attempt) for attempt in others[:5])
        more = f"; and {len(others) - 5} more" if len(others) > 5 else ""
        last = attempts[-1]["outcome"] or GOES_ON
        yield Note("retried", "↻", subject, f"tried {len(attempts)} times, finally {last}: {why}{more}")
    for undone in item["rolled_back"]:
        files = f": {files_of(undone['files'])}" if undone["files"] else ""
        yield Note("undone", "↶", subject, f"rolled back at {moment(undone['at'])}{files}")
    if item["status"] == Status.CANCELLED:
        by = f" by {name_of(item['set_by'])}" if item["set_by"] else ""
        why = f": {text_of(item['notes'], MAX_REASON)}" if item["notes"] else ""
        yield Note("dropped", "⊘", subject, f"cancelled{by}{why}")


def _then(later: Sequence[Mapping[str, Any]]) -> str:
    """What came of the item after a conflict."""
    if not later:
        return ""
    return f"; run again{' alone' if later[0]['alone'] else ''}: {later[0]['outcome'] or GOES_ON}"


def _reason(text: str, limit: int = MAX_TEXT) -> str:
    """As it may stand inside a sentence."""
    return text_of(text, limit).rstrip(".")


def _failed(attempt: Mapping[str, Any]) -> str:
    why = f" ({_reason(attempt['reason'])})" if attempt["reason"] else ""
    return f"attempt {attempt['place']} {attempt['outcome'] or GOES_ON}{why}"


def _dropped(item: Mapping[str, Any]) -> Note:
    subject = f"{name_of(item['id'])}: {text_of(item['content'])}"
    was = item["status"].replace("_", " ")
    return Note("dropped", "⊘", subject, f"dropped by {name_of(item['by'])} at {moment(item['at'])} while it was {was}")


def execution_line(execution: Mapping[str, Any]) -> list[str]:
    """What is to be said of an execution, in parts."""
    done = f"{execution['completed']:,} of {number_of(execution['total'], 'item')} completed"
    failed = f", {execution['failed']:,} failed" if execution["failed"] else ""
    took = f"{lasted(execution['seconds'])}{'' if execution['outcome'] else ' so far'}"
    if execution["saving_seconds"] >= 1:
        took += f" ({lasted(execution['saving_seconds'])} for saving and merging files)"
    parts = [f"{done}{failed}", took, number_of(execution["parallel"], "worker")]
    if execution["mode"]:
        parts.append(f"mode {text_of(execution['mode'], MAX_ID)}")
    if execution["speed_up"] is not None:
        parts.append(f"{execution['speed_up']:.1f}× as fast as one at a time ({lasted(execution['serial_seconds'])})")
    if execution["retried"]:
        parts.append(f"{execution['retried']:,} retried")
    if execution["conflicts"]:
        parts.append(number_of(execution["conflicts"], "conflict"))
    if has_tokens(execution):
        parts += [f"tokens: {tokens_of(execution)}", f"cost: {money(execution['cost'])}"]
    return parts


def path_of(path: Mapping[str, Any] | None, most: int = 20) -> str:
    """`t1 → t3 → t4 (2m 31s)`; nothing for less than two items."""
    if path is None or len(path["item_ids"]) < 2:
        return ""
    ids = path["item_ids"]
    names = [name_of(item_id) for item_id in (ids if len(ids) <= most else [*ids[:5], ids[-1]])]
    if len(ids) > most:
        names.insert(5, f"… {len(ids) - 6:,} more …")
    return f"{' → '.join(names)} ({lasted(path['seconds'])})"


def kind_of_item(item: Mapping[str, Any]) -> str:
    """Its colours: one of `pictures.drawing.KINDS`."""
    if item["status"] == Status.COMPLETED:
        return "reported" if mark_of(item) == NOT_VERIFIED else "done"
    return {Status.BLOCKED: "blocked", Status.IN_PROGRESS: "running"}.get(Status(item["status"]), "quiet")
