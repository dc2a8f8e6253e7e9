"""Runs as a snapshot keeps them, and back. Loaded only where there are any."""

from __future__ import annotations

from headway.core import run_events as facts
from headway.core.runs import Run
from headway.core.tracking import RunWork, TodoCalls
from headway.core.value import to_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_OF_OLD_TRACK: list[Any] = [(), False, None]
"""What tracks of older snapshots do not have at their end."""


def _to_track_record(track: TodoCalls) -> list[object]:
    return [track.successes, track.failures, track.blocked, track.command, track.files, track.matching_ok, track.note]


def _read_track(record: list[Any]) -> TodoCalls:
    successes, failures, blocked, command, files, matching_ok, note = (*record, *_OF_OLD_TRACK[len(record) - 4 :])
    return TodoCalls(successes, failures, blocked, command, tuple(files), matching_ok, note)


def to_run_record(run: Run) -> dict[str, object]:
    record: dict[str, object] = to_fields(run)
    record["tracks"] = {todo_id: _to_track_record(track) for todo_id, track in run.tracks.items()}
    work = run.work
    record["work"] = [_to_track_record(work.track), work.failed_calls, work.broken, work.denied]
    record["forced"] = sorted(run.forced)
    record["started_by_model"] = sorted(run.started_by_model)
    record["asked"] = sorted(run.asked)
    record["batch"] = record.pop("execution")
    if run.execution is not None or run.executed:
        from headway.core.executions import to_attempts_record, to_execution_record

        record["batch"] = run.execution and to_execution_record(run.execution)
        record["executed"] = to_attempts_record(run.executed)
    record["questions"] = {
        question_id: [to_fields(asked), answer and to_fields(answer)]
        for question_id, (asked, answer) in run.questions.items()
    }
    return record


def parse_run_record(record: dict[str, Any]) -> Run:
    record["tracks"] = {todo_id: _read_track(track) for todo_id, track in record["tracks"].items()}
    if "work" in record:
        track, *rest = record["work"]
        record["work"] = RunWork(_read_track(track), *rest)
    record.pop("changed_by", None)  # of older snapshots
    record["forced"] = frozenset(record["forced"])
    record["asked"] = frozenset(record.get("asked", ()))
    if record.get("batch") or record.get("executed"):
        from headway.core.executions import Execution, read_attempts_record

        record["batch"] = Execution(*record["batch"]) if record["batch"] else None
        record["executed"] = read_attempts_record(record["executed"])
    record["execution"] = record.pop("batch", None)
    record["started"] = tuple(record["started"])
    record["started_by_model"] = frozenset(record.get("started_by_model", ()))
    record["set_by_user"] = {todo_id: tuple(before) for todo_id, before in record.get("set_by_user", {}).items()}
    record["questions"] = {
        question_id: (facts.ApprovalAsked(**asked), facts.ApprovalAnswered(**answer) if answer else None)
        for question_id, (asked, answer) in record["questions"].items()
    }
    return Run(**record)
