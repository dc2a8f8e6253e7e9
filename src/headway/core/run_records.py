"""Runs as a snapshot keeps them, and back. Loaded only where there are any."""

from __future__ import annotations

from headway.core import run_events as facts
from headway.core.runs import Run
from headway.core.tracking import Track, Work
from headway.core.value import fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_OF_OLD_TRACK: list[Any] = [(), False, None]
"""What tracks of older snapshots do not have at their end."""


def _track_record(track: Track) -> list[object]:
    return [track.successes, track.failures, track.blocked, track.command, track.files, track.matching_ok, track.note]


def _read_track(record: list[Any]) -> Track:
    successes, failures, blocked, command, files, matching_ok, note = (*record, *_OF_OLD_TRACK[len(record) - 4 :])
    return Track(successes, failures, blocked, command, tuple(files), matching_ok, note)


def run_state_record(run: Run) -> dict[str, object]:
    record: dict[str, object] = fields_of(run)
    record["tracks"] = {todo_id: _track_record(track) for todo_id, track in run.tracks.items()}
    work = run.work
    record["work"] = [_track_record(work.track), work.failed_calls, work.broken, work.denied]
    record["forced"] = sorted(run.forced)
    record["started_by_model"] = sorted(run.started_by_model)
    record["asked"] = sorted(run.asked)
    if run.batch is not None or run.executed:
        from headway.core.batches import batch_record, executed_record

        record["batch"] = run.batch and batch_record(run.batch)
        record["executed"] = executed_record(run.executed)
    record["questions"] = {
        question_id: [fields_of(asked), answer and fields_of(answer)]
        for question_id, (asked, answer) in run.questions.items()
    }
    return record


def read_run_state(record: dict[str, Any]) -> Run:
    record["tracks"] = {todo_id: _read_track(track) for todo_id, track in record["tracks"].items()}
    if "work" in record:
        track, *rest = record["work"]
        record["work"] = Work(_read_track(track), *rest)
    record.pop("changed_by", None)  # of older snapshots
    record["forced"] = frozenset(record["forced"])
    record["asked"] = frozenset(record.get("asked", ()))
    if record.get("batch") or record.get("executed"):
        from headway.core.batches import Batch, read_executed

        record["batch"] = Batch(*record["batch"]) if record["batch"] else None
        record["executed"] = read_executed(record["executed"])
    record["started"] = tuple(record["started"])
    record["started_by_model"] = frozenset(record.get("started_by_model", ()))
    record["set_by_user"] = {todo_id: tuple(before) for todo_id, before in record.get("set_by_user", {}).items()}
    record["questions"] = {
        question_id: (facts.ApprovalAsked(**asked), facts.ApprovalAnswered(**answer) if answer else None)
        for question_id, (asked, answer) in record["questions"].items()
    }
    return Run(**record)
