"""What is said while items are executed, and at the end of it: each event, each outcome."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import pytest
from tests.support.tables import check_rows

from headway.core.events import Event, ListDelta, PlanModeChanged
from headway.core.evidence import Evidence, EvidenceLevel
from headway.core.execution_events import (
    AttemptFinished,
    AttemptStarted,
    ExecutionFinished,
    ExecutionStarted,
    ModeChanged,
)
from headway.core.run_events import ApprovalAsked, EvidenceAsked, RoundStarted, TextDelta, ToolFinished, ToolStarted
from headway.views.execution_lines import (
    MAX_ID,
    MAX_TEXT,
    ExecutionLines,
    ending_lines,
    format_attempt_end,
    shorten_start_line,
    started_lines,
)
from headway.views.terminal import count_cells

if TYPE_CHECKING:
    from headway.core.events import EventData

HOSTILE = "a\x1b[31m\x07\nb\u202e"


def event(data: EventData, agent: str = "main") -> Event:
    return Event(1, "2026-01-01T00:00:00Z", agent, "loop", data)


def batch(parallel: int = 1, note: str = "") -> Event:
    return event(ExecutionStarted(mode="yolo", parallel=parallel, total=5, note=note))


def begun(
    item_id: str = "s2",
    content: str = "Implement JWT",
    *,
    attempt: int = 1,
    time: str | None = None,
    alone: bool = False,
    restored: tuple[str, ...] = (),
) -> AttemptStarted:
    return AttemptStarted(
        item_id=item_id,
        content=content,
        agent=f"{item_id} #1",
        attempt=attempt,
        index=2,
        total=5,
        alone=alone,
        estimated_time=time,
        restored=restored,
    )


def over(
    outcome: str = "completed",
    reason: str = "",
    *,
    item_id: str = "s2",
    again: bool = False,
    files: tuple[str, ...] = (),
    seconds: float = 4.24,
) -> AttemptFinished:
    return AttemptFinished(
        item_id=item_id,
        agent=f"{item_id} #1",
        attempt=1,
        outcome=outcome,
        reason=reason,
        again=again,
        files=files,
        seconds=seconds,
    )


def calling(summary: str, agent: str = "s2 #1") -> Event:
    return event(ToolStarted(round=1, call_id="c1", tool="bash", summary=summary, effect="execute"), agent)


def called(agent: str = "s2 #1") -> Event:
    return event(ToolFinished(round=1, call_id="c1", tool="bash", ok=True, text=""), agent)


def executing(*events: Event) -> ExecutionLines:
    found = ExecutionLines()
    for one in events:
        found.handle(one)
    return found


# beginnings


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (begun(), "[2/5] Implement JWT"),
        (begun(time="45min"), "[2/5] Implement JWT ⏱ 45min"),
        (begun(attempt=2), "[2/5] Implement JWT (attempt 2)"),
        (begun(attempt=3, time="1h"), "[2/5] Implement JWT ⏱ 1h (attempt 3)"),
        (begun(alone=True), "[2/5] Implement JWT (again, alone)"),
        (begun(alone=True, attempt=2), "[2/5] Implement JWT (again, alone)"),
    ],
)
def test_an_item_begins_with_its_place_its_text_its_time_and_its_attempt(data: AttemptStarted, text: str) -> None:
    assert started_lines(data) == [("▶", text, "")]


def test_files_that_were_restored_are_named() -> None:
    def restored(*files: str) -> list[tuple[str, str, str]]:
        return started_lines(begun(restored=files))[1:]

    assert restored("a.py") == [(" ", "Restored 1 file to its state before the previous attempt: a.py", "")]
    assert restored("a.py", "b") == [(" ", "Restored 2 files to their state before the previous attempt: a.py, b", "")]


def test_long_and_hostile_texts_are_cut_and_made_harmless() -> None:
    ((_, what, _),) = started_lines(begun(content=HOSTILE + "x" * 500))
    assert what.isprintable() and len(what) == len("[2/5] ") + MAX_TEXT and what.endswith("…")
    _, what, _ = format_attempt_end(over(item_id=f"{HOSTILE}{'i' * 90}"), HOSTILE + "x" * 500)
    assert what.isprintable() and len(what) == MAX_ID + len(": ") + MAX_TEXT + len(" (reported, 4.2 s)")


def test_of_a_line_that_is_too_long_the_time_and_the_attempt_stay() -> None:
    def check(end: str, text: str) -> None:
        line = shorten_start_line(f"[2/5] {text}{end}", 60)
        assert count_cells(line) <= 60 and line.endswith(end) and line.startswith(f"[2/5] {text[:2]}")
        assert shorten_start_line(f"[2/5] {text}{end}", 200) == f"[2/5] {text}{end}"

    check_rows(
        product(
            ["", " ⏱ 45min", " (attempt 2)", " ⏱ 45 分钟 (again, alone)"],
            ["Short", "A long text, " * 8 + "it is", "解析器的边界情况" * 6, "Takes ⏱ long, says who" * 4],
        ),
        check,
    )


# ends


def test_every_outcome_of_an_item_has_a_line_of_its_own() -> None:
    def check(data: AttemptFinished, line: tuple[str, str, str]) -> None:
        assert format_attempt_end(data, "Do it", "verified") == line

    check_rows(
        [
            (over(), ("✓", "s2: Do it (verified, 4.2 s)", "")),
            (over(files=("a",)), ("✓", "s2: Do it (verified, 4.2 s, 1 file)", "")),
            (over(files=("a", "b")), ("✓", "s2: Do it (verified, 4.2 s, 2 files)", "")),
            (over(seconds=151.2), ("✓", "s2: Do it (verified, 2m 31s)", "")),
            (over("blocked", "No way."), ("✗", "s2: Do it", "No way.")),
            (over("blocked", "No way.", again=True), ("✗", "s2: Do it", "No way. Retrying.")),
            (over("blocked", "No way", again=True), ("✗", "s2: Do it", "No way. Retrying.")),
            (over("cancelled", "Not needed."), ("⊘", "s2: Do it", "Not needed.")),
            (over("interrupted", "The run was stopped."), ("⏸", "s2: Do it", "interrupted")),
            (
                replace(over("interrupted"), taken_away="dropped"),
                ("⏸", "s2: Do it", "stopped, since it was dropped meanwhile"),
            ),
            (
                over("conflict", "Others changed a.py.", again=True),
                ("!", "s2: Do it", "Others changed a.py. It will run again on its own."),
            ),
        ],
        check,
    )


def test_of_an_item_whose_beginning_was_missed_the_id_is_named() -> None:
    assert ExecutionLines().handle(event(over())) == [("✓?", "s2 (reported, 4.2 s)", "")]


@pytest.mark.parametrize(
    ("level", "line"),
    [
        ("verified", ("✓", "s2: Implement JWT (verified, 4.2 s)", "")),
        ("command_ok", ("✓?", "s2: Implement JWT (command ok, 4.2 s)", "")),
        ("reported", ("✓?", "s2: Implement JWT (reported, 4.2 s)", "")),
        (None, ("✓?", "s2: Implement JWT (reported, 4.2 s)", "")),
    ],
)
def test_an_item_that_ends_says_how_sure_that_is(level: str | None, line: tuple[str, str, str]) -> None:
    evidence = level and Evidence(EvidenceLevel(level))
    listed = ListDelta(
        cause="execute", changed={"s2": {"status": ("in_progress", "completed"), "evidence": (None, evidence)}}
    )
    assert executing(event(begun()), event(listed)).handle(event(over())) == [line]


def test_an_execution_that_is_complete_says_how_much_in_what_time() -> None:
    lines = ending_lines("complete", 5, 0, 5, 61.0)
    assert lines == ["✅ Batch Execution Complete!", "Executed 5/5 todos in 1m 01s"]


def test_an_execution_that_failed_says_why_how_far_it_came_and_how_to_resume() -> None:
    resume = "Resume with: headway todos execute-all   (also retries failed items)"
    failed = ["❌ Batch Execution Failed", "s3 failed: No way.", "Progress: 2 completed, 1 failed", resume]
    assert ending_lines("failed", 2, 1, 5, 1.0, error="s3 failed: No way.") == failed
    assert ending_lines("failed", 2, 1, 5, 1.0) == [failed[0], *failed[2:]]
    assert ending_lines("failed", 2, 1, 5, 1.0, resume="/todos execute s3")[-1].startswith(
        "Resume with: /todos execute s3 "
    )


def test_an_execution_that_was_stopped_says_how_far_it_came_and_how_to_resume() -> None:
    lines = ending_lines("interrupted", 1, 0, 5, 1.0, resume="headway todos execute-all --mode=yolo")
    assert lines == [
        "⏸ Batch Execution Interrupted",
        "Completed: 1/5 todos",
        "Resume with: headway todos execute-all --mode=yolo",
    ]


def test_where_items_only_wait_it_says_what_tells_for_what() -> None:
    lines = ending_lines("waiting", 1, 0, 3, 1.0, error="Items are left that cannot run.")
    assert lines == [
        "⏸ Items are left that cannot run.",
        "Progress: 1 completed, 0 failed",
        "For details: headway todos next",
    ]


def test_where_there_is_nothing_to_do_it_says_so() -> None:
    assert ending_lines("nothing", 0, 0, 0, 0.0) == ["No pending todos"]
    assert ending_lines("nothing", 0, 0, 0, 0.0, error="In progress: t2.") == ["No pending todos", "In progress: t2."]


# what goes on


def test_an_execution_begins_with_its_mode_and_a_note_where_there_is_one() -> None:
    mode = (" ", "Mode: yolo (never asks)", "")
    assert ExecutionLines().handle(batch()) == [mode]
    assert ExecutionLines().handle(batch(note="There is no git.")) == [mode, ("!", "There is no git.", "")]


def test_a_mode_that_is_changed_and_plan_mode_are_told_while_items_are_executed() -> None:
    going_on = executing(batch())
    assert going_on.handle(event(ModeChanged(mode="default"))) == [
        (" ", "Mode: default (asks before writes and commands)", "")
    ]
    assert going_on.handle(event(PlanModeChanged(on=True))) == [
        ("⏸", "The execution is paused until plan mode is off", "")
    ]
    assert going_on.handle(event(PlanModeChanged(on=False))) == [
        ("!", "The execution is no longer paused by plan mode", "")
    ]
    going_on.handle(event(ExecutionFinished(outcome="complete", completed=1, failed=0, total=1, seconds=1.0)))
    assert going_on.handle(event(PlanModeChanged(on=True))) == []


def test_what_was_removed_not_merged_or_left_is_named_file_by_file_however_much_it_is() -> None:
    files = tuple(f"src/file_{number}.py" for number in range(60))
    data = replace(
        over(files=files),
        removed=files,
        not_merged=(".env",),
        by_others=("mine.txt", "a\x1b[31m"),
        committed=True,
        worktree=".headway/worktrees/1-2-3",
    )
    _, *details = executing(batch()).handle(event(data))
    assert {mark for mark, _, _ in details} == {" "}
    assert [what for _, what, _ in details] == [
        f"removed: {', '.join(files)}",
        "not merged (ignored, copied or linked): .env",
        "changed during the attempt, but not by its file tools: mine.txt, a␛[31m",
        "Its commits were merged as uncommitted changes.",
        "Its files stay until the next attempt: .headway/worktrees/1-2-3",
    ]


def test_one_item_ends_with_a_line_about_itself() -> None:
    def lines(outcome: str, became: str = "", error: str | None = None) -> list[str]:
        return ending_lines(outcome, 1, 0, 1, 12.04, error=error, only="step-1", became=became, resume="it")

    assert lines("complete", "completed (verified)") == ["✅ step-1 completed (verified) in 12.0 s"]
    assert lines("complete", "cancelled") == ["⊘ step-1 cancelled in 12.0 s"]
    assert lines("interrupted", "pending") == ["⏸ step-1 interrupted after 12.0 s", "Resume with: it"]
    again = "Resume with: it   (also retries failed items)"
    assert lines("failed", "blocked", "step-1 failed: No way.") == ["❌ step-1 failed: No way.", again]
    assert lines("failed", "blocked") == ["❌ step-1 failed.", again]


def test_other_events_say_nothing_by_themselves() -> None:
    going_on = executing(batch(), event(begun()))
    for data in (
        EvidenceAsked(item_ids=("s2",)),
        ExecutionFinished(outcome="complete", completed=1, failed=0, total=1, seconds=1.0),
        RoundStarted(run_id="r1", round=1, max_rounds=50),
    ):
        assert going_on.handle(event(data)) == []
    assert going_on.handle(calling("bash ls")) == []


def test_what_each_item_does_is_known_in_the_order_in_which_they_began() -> None:
    going_on = executing(batch(2), event(begun("s2", "Two")), event(begun("s1", "One")))
    assert going_on.activity_lines() == ["s2  Two", "s1  One"]
    going_on.handle(calling("bash make", "s1 #1"))
    assert going_on.activity_lines() == ["s2  Two", "s1  bash make"]
    going_on.handle(called("s1 #1"))
    assert going_on.activity_lines() == ["s2  Two", "s1  waiting for the model …"]
    going_on.handle(event(TextDelta(text="So", kind="text"), "s1 #1"))
    going_on.handle(event(RoundStarted(run_id="r1", round=1, max_rounds=50), "s2 #1"))
    assert going_on.activity_lines() == ["s2  waiting for the model …", "s1  answering …"]
    going_on.handle(event(over(item_id="s2")))
    assert going_on.activity_lines() == ["s1  answering …"]


@pytest.mark.parametrize("kind", ["reasoning", "output"])
def test_what_a_model_thinks_and_a_command_prints_changes_nothing_of_what_is_done(kind: str) -> None:
    going_on = executing(batch(2), event(begun()), calling("bash make"))
    going_on.handle(event(TextDelta(text="Hm.", kind=kind), "s2 #1"))
    assert going_on.activity_lines() == ["s2  bash make"]


def test_what_an_item_did_before_is_forgotten_when_it_begins_again() -> None:
    going_on = executing(batch(2), event(begun()), calling("bash make"), event(over("blocked", "No.", again=True)))
    assert going_on.activity_lines() == []
    going_on.handle(event(begun(attempt=2)))
    assert going_on.activity_lines() == ["s2  Implement JWT"]


def test_of_events_side_by_side_only_those_of_items_are_hidden() -> None:
    going_on = executing(batch(2), event(begun()))
    assert going_on.side_by_side
    assert going_on.is_hidden(calling("bash ls")) and going_on.is_hidden(
        event(TextDelta(text="So", kind="text"), "s2 #1")
    )
    assert not going_on.is_hidden(event(TextDelta(text="So", kind="text"), "main"))
    assert not going_on.is_hidden(event(TextDelta(text="So", kind="text"), "another"))
    going_on.handle(event(over()))
    assert not going_on.is_hidden(calling("bash ls"))


def test_one_after_the_other_nothing_is_hidden() -> None:
    going_on = executing(batch(1), event(begun()))
    assert not going_on.side_by_side and not going_on.is_hidden(calling("bash ls"))


def test_a_new_execution_begins_with_nothing_of_the_one_before() -> None:
    going_on = executing(batch(2), event(begun()), batch(1))
    assert (going_on.activity_lines(), going_on.side_by_side) == ([], False)


def test_whose_a_question_is_is_said_with_id_and_text_and_of_others_nothing() -> None:
    going_on = executing(batch(2), event(begun(f"s\x1b{'i' * 90}", "Implement JWT")))
    asked = ApprovalAsked(question_id="q1", tool="bash", effect="execute", line="Run: ls")
    whose = going_on.describe_todo(event(asked, f"s\x1b{'i' * 90} #1"))
    assert whose.isprintable() and whose.endswith("…: Implement JWT")
    assert going_on.describe_todo(event(asked)) == ""
