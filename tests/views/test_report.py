"""The report as data and as Markdown: what came of items, executions and runs, also of those that were cut off."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.tables import check_rows

from headway.core.events import Event
from headway.core.evidence import Evidence, EvidenceLevel
from headway.core.execution_events import ExecutionFinished
from headway.core.graph import find_critical_path
from headway.core.model import MAIN_AGENT
from headway.core.run_events import RunStarted, Usage
from headway.core.runs import CUT_OFF
from headway.views.pictures.timeline import assign_lanes
from headway.views.report.markdown import MOST_NOTES, MOST_ROWS, report_markdown
from headway.views.report.wording import format_duration
from headway.views.usage import UsageCounter

from .report_logs import BEGAN, Story, item
from .samples import HOSTILE

VERIFIED = Evidence(EvidenceLevel.VERIFIED, "pytest -q", 0, ("a.py",), 1.5, "collected 2 items\n2 passed")
USED: dict[str, Any] = {"rounds": 2, "tool_calls": 5, "failed_calls": 1, "input_tokens": 100, "output_tokens": 10}


def by_id(record: dict[str, Any]) -> dict[str, Any]:
    return {each["id"]: each for each in record["items"]}


def two_at_once() -> Story:
    """a and b side by side, then c, which needs both: 10 s, 4 s, 6 s."""
    story = Story(item("a", "First"), item("b", "Second"), item("c", "Third", "a", "b"))
    story.execution(2).start("a").start("b").wait(4).finish("b", cost=0.25, cached_tokens=40, **USED)
    story.wait(6).finish("a", evidence=VERIFIED, files=("a.py",), cost=0.5, **USED)
    story.start("c").wait(6).finish("c", cost=0.25, **USED)
    return story.finish_all("complete", 3, 0, 16.0)


# executions


def test_an_empty_session_has_an_empty_report() -> None:
    record = Story().record()
    assert record["items"] == record["runs"] == record["executions"] == record["dropped"] == []
    assert record["statistics"]["total"] == record["tokens"] == record["cost"] == record["seconds"] == 0
    assert record["speed_up"] is record["critical_path"] is record["by_hand"] is record["plan"] is None
    assert report_markdown(Story().report()).endswith("Nothing has happened in this session yet.\n")


def test_an_execution_is_told_with_its_speed_path_and_cost() -> None:
    record = two_at_once().record()
    (execution,) = record["executions"]
    assert (execution["outcome"], execution["mode"], execution["parallel"]) == ("complete", "auto_edit", 2)
    assert (execution["completed"], execution["failed"], execution["total"]) == (3, 0, 3)
    assert (execution["seconds"], execution["serial_seconds"], execution["speed_up"]) == (16.0, 20.0, 1.25)
    assert execution["critical_path"] == {"item_ids": ["a", "c"], "seconds": 16.0}
    assert (execution["input_tokens"], execution["cached_tokens"], execution["cost"]) == (300, 40, 1.0)
    assert [(bar["item_id"], bar["start"], bar["end"], bar["lane"]) for bar in execution["timeline"]] == [
        ("a", 0.0, 10.0, 1),
        ("b", 0.0, 4.0, 2),
        ("c", 10.0, 16.0, 1),
    ]
    assert (record["speed_up"], record["serial_seconds"]) == (1.25, 20.0)
    assert record["critical_path"] == {"item_ids": ["a", "c"], "seconds": 16.0}
    assert (record["tokens"], record["cost"]) == (330, 1.0)


def test_an_item_has_the_sum_of_its_attempts_and_what_shows_that_it_is_done() -> None:
    record = two_at_once().record()
    first, second, _ = record["items"]
    assert (first["status"], first["set_by"], first["evidence_level"]) == ("completed", "executor", "verified")
    assert (second["evidence_level"], second["evidence"]) == ("reported", None)
    assert (first["worked_seconds"], first["rounds"], first["tool_calls"], first["failed_calls"]) == (10.0, 2, 5, 1)
    assert (first["input_tokens"], first["output_tokens"], first["cost"], first["files"]) == (100, 10, 0.5, ["a.py"])
    (attempt,) = first["attempts"]
    assert attempt["agent"].startswith("a #")
    assert (attempt["attempt"], attempt["outcome"], attempt["seconds"], attempt["alone"]) == (
        1,
        "completed",
        10.0,
        False,
    )
    assert record["evidence"] == {"inferred": 0, "reported": 2, "command_ok": 0, "verified": 1}


def test_each_level_has_its_mark_and_word_and_a_check_its_time_and_last_lines() -> None:
    noted = Evidence(EvidenceLevel.COMMAND_OK, "make", 0, note="check changed: tests/test_a.py")
    inferred = Evidence(EvidenceLevel.INFERRED)
    story = Story(
        *(
            item(name, name, verify=check)
            for name, check in zip("abcde", (None, "make test", None, None, "all"), strict=True)
        )
    )
    story.execution(1)
    for item_id, evidence in (("a", VERIFIED), ("b", noted), ("c", inferred), ("d", None)):
        story.start(item_id).wait(1).finish(item_id, evidence=evidence)
    text = report_markdown(story.report())
    assert "- Done: 4 of 5 (1 verified, 1 command ok, 1 reported, 1 inferred)" in text
    lines = [line for line in text.split("\n") if line.startswith(("- ✓", "- ○", "  evidence", "  output", "  check"))]
    assert [line.replace("\\", "") for line in lines] == [
        "- ✓ a: a",
        "  evidence: pytest -q → exit code 0 in 1.5 s; a.py",
        "  output: collected 2 items; 2 passed",
        "- ✓? b: b",
        "  evidence: make → exit code 0; check changed: tests/test_a.py "
        "(the item changed a file that its check depends on)",
        "  check: make test",
        "- ✓? c: c",
        "- ✓? d: d",
        "- ○ e: e",
        "  check: all",
    ]
    assert "  completed, command ok" in text and "  completed, inferred" in text


def test_runs_of_sub_agents_are_counted_and_belong_to_their_items() -> None:
    runs = two_at_once().record()["runs"]
    assert [(run["agent"] == MAIN_AGENT, run["item_id"]) for run in runs] == [
        (True, None),
        (False, "a"),
        (False, "b"),
        (False, "c"),
    ]
    assert [run["input_tokens"] for run in runs] == [0, 100, 100, 100]


def test_a_retry_is_told_with_why_the_first_attempt_failed() -> None:
    story = Story(item("a", "First")).execution(1).start("a").wait(3)
    story.finish("a", "blocked", reason="It broke.", again=True, **USED)
    story.start("a", restored=("x.py",)).wait(2).finish("a", **USED).finish_all("complete", 1, 0, 5.0)
    record = story.record()
    (only,) = record["items"]
    assert [(each["attempt"], each["outcome"], each["again"]) for each in only["attempts"]] == [
        (1, "blocked", True),
        (2, "completed", False),
    ]
    assert (only["retried"], only["error"], only["rounds"], only["input_tokens"]) == (1, None, 4, 200)
    assert only["attempts"][1]["restored"] == ["x.py"]
    assert record["executions"][0]["retried"] == 1
    assert "tried 2 times, finally completed: attempt 1 blocked (It broke)" in report_markdown(story.report())


def test_a_conflict_is_told_with_what_happened_and_is_no_work_that_a_serial_run_would_do() -> None:
    story = Story(item("a", "First"), item("b", "Second")).execution(2).start("a").start("b").wait(10).finish("a")
    story.finish(
        "b", "conflict", reason="Others changed the same places: x.py.", again=True, kept="c0ffee", files=("x.py",)
    )
    story.start("b", alone=True, again=True).wait(5).finish("b", files=("y.py",)).finish_all("complete", 2, 0, 15.0)
    record = story.record()
    second = by_id(record)["b"]
    assert second["conflicts"] == [
        {"attempt": 1, "place": 1, "files": ["x.py"], "reason": "Others changed the same places: x.py."}
    ]
    assert [(each["attempt"], each["place"], each["alone"]) for each in second["attempts"]] == [
        (1, 1, False),
        (1, 2, True),
    ]
    assert second["files"] == ["y.py"]
    (execution,) = record["executions"]
    assert (execution["conflicts"], execution["serial_seconds"], execution["speed_up"]) == (1, 15.0, 1.0)
    text = report_markdown(story.report())
    assert "attempt 1 ended in a conflict: Others changed the same places: x.py; run again alone: completed" in text
    assert "b #2 (alone)" in text


def test_a_blocked_item_says_why_and_stays_so_when_its_note_is_gone() -> None:
    story = Story(item("a", "First")).execution(1).start("a").wait(1)
    story.finish("a", "blocked", reason="No key.").finish_all("failed", 0, 1, 1.0, "a")
    assert by_id(story.record())["a"]["error"] == "No key."
    story.session.update("a", notes=None)
    record = story.record()
    assert by_id(record)["a"]["error"] == "No key."
    assert record["executions"][0]["failed_items"] == ["a"]
    text = report_markdown(story.report())
    assert "blocked after 1 attempt: No key." in text and "  error: No key." in text


def test_what_was_rolled_back_is_no_longer_changed() -> None:
    story = two_at_once().wait(60).roll_back("a", "a.py")
    record = story.record()
    first = by_id(record)["a"]
    assert (first["status"], first["files"]) == ("pending", [])
    assert [each["files"] for each in first["rolled_back"]] == [["a.py"]]
    assert [each["item_id"] for each in record["executions"][0]["rolled_back"]] == ["a"]
    assert "rolled back at 2026-01-02 03:05:21 UTC: a.py" in report_markdown(story.report())


def test_what_saving_files_took_is_said_where_it_counts() -> None:
    def line(seconds: float) -> str:
        story = Story(item("a", "First")).execution(1).start("a").wait(12).finish("a")
        story.log(
            ExecutionFinished(
                outcome="complete",
                completed=1,
                failed=0,
                total=1,
                seconds=12.0,
                failed_items=(),
                saving_seconds=seconds,
            )
        ).end("all_done")
        record = story.record()
        assert record["executions"][0]["saving_seconds"] == seconds
        return report_markdown(story.report())

    assert "9.7 s for saving and merging files" in line(9.7)
    assert "saving" not in line(0.2)


# what goes on, and what was cut off


def test_an_execution_that_goes_on_is_told_as_far_as_it_is() -> None:
    story = Story(item("a", "First"), item("b", "Second")).execution(2).start("a").wait(1)
    agent = story.agent_of("a")
    story.round(1, 50, 5, 0.1, agent=agent).call(1, files=["x.py"], agent=agent).call(1, ok=False, agent=agent).wait(2)
    record = story.record()
    (execution,) = record["executions"]
    assert (execution["outcome"], execution["ended_at"], execution["seconds"], execution["speed_up"]) == (
        None,
        None,
        3.0,
        None,
    )
    (attempt,) = by_id(record)["a"]["attempts"]
    assert (attempt["outcome"], attempt["seconds"], attempt["rounds"], attempt["cost"]) == (None, None, 1, 0.1)
    assert (attempt["tool_calls"], attempt["failed_calls"], attempt["files"]) == (2, 1, ["x.py"])
    assert [(bar["outcome"], bar["end"]) for bar in execution["timeline"]] == [(None, 3.0)]
    assert record["runs"][0]["seconds"] is None
    assert "### Execution 1: in progress" in report_markdown(story.report())


def test_an_execution_that_was_stopped_leaves_interrupted_attempts() -> None:
    story = Story(item("a", "First"), item("b", "Second")).execution(2).start("a").start("b").wait(4)
    story.finish("b", "interrupted").log(
        ExecutionFinished(outcome="interrupted", completed=0, failed=0, total=2, seconds=4.0)
    ).end("cancelled")
    record = story.record()
    assert record["executions"][0]["outcome"] == "interrupted"
    first, second = record["items"]
    assert first["attempts"][0]["outcome"] == second["attempts"][0]["outcome"] == "interrupted"
    assert first["attempts"][0]["seconds"] == 4.0
    assert first["interrupted"] and second["interrupted"]
    assert "interrupted after 1 attempt; now pending" in report_markdown(story.report())


def test_a_killed_execution_ends_where_it_was_last_heard_of() -> None:
    story = Story(item("a", "First")).execution(2).start("a").wait(5)
    agent = story.agent_of("a")
    story.round(1, 10, 1, 0.1, agent=agent).wait(86_400).end("error", CUT_OFF)
    record = story.record()
    (execution,) = record["executions"]
    assert (execution["outcome"], execution["seconds"], execution["error"]) == ("interrupted", 5.0, CUT_OFF)
    assert record["runs"][0]["seconds"] == 5.0
    (attempt,) = by_id(record)["a"]["attempts"]
    assert (attempt["outcome"], attempt["seconds"], attempt["reason"]) == ("interrupted", 5.0, CUT_OFF)
    assert "Execution 1  \n  interrupted: The run was cut off" in report_markdown(story.report())


def test_an_execution_after_a_killed_one_is_another() -> None:
    story = Story(item("a", "First")).execution(1).start("a").wait(5).end("error", CUT_OFF)
    story.end("error", CUT_OFF, agent=story.agent_of("a")).wait(100)
    story.execution(1).start("a", restored=("x.py",)).wait(2).finish("a").finish_all("complete", 1, 0, 2.0)
    record = story.record()
    assert [each["outcome"] for each in record["executions"]] == ["interrupted", "complete"]
    assert [each["place"] for each in by_id(record)["a"]["attempts"]] == [1, 2]
    assert by_id(record)["a"]["retried"] == 1


def test_a_clock_that_went_back_makes_nothing_negative() -> None:
    story = Story(item("a", "First"), item("b", "Second")).execution(2).start("a").wait(10).start("b")
    story.at = BEGAN
    story.finish("a", seconds=0.0).finish("b", seconds=0.0).finish_all("complete", 2, 0, 0.0)
    (execution,) = story.record()["executions"]
    assert all(0 <= bar["start"] <= bar["end"] for bar in execution["timeline"])
    assert execution["seconds"] == 0 and execution["speed_up"] is None


@pytest.mark.parametrize(("parallel", "items", "fast"), [(1, 2, None), (2, 1, None), (2, 2, 2.0)])
def test_speed_is_compared_only_where_items_ran_side_by_side(parallel: int, items: int, fast: float | None) -> None:
    names = "ab"[:items]
    story = Story(*(item(name, name) for name in names)).execution(parallel)
    for name in names:
        story.start(name)
    story.wait(3)
    for name in names:
        story.finish(name)
    assert story.finish_all("complete", items, 0, 3.0).record()["executions"][0]["speed_up"] == fast


# the list and ordinary runs


def test_items_that_were_dropped_unfinished_are_named_with_who_and_when() -> None:
    story = Story("Stays", "Goes", "Is done").wait(1)
    story.session.update("t3", status="completed")
    story.session.drop("t2", actor="worker")
    story.session.drop("t3")
    (dropped,) = story.record()["dropped"]
    assert (dropped["id"], dropped["content"], dropped["by"], dropped["at"]) == ("t2", "Goes", "worker", story.at)
    assert "dropped by worker at 2026-01-02 03:04:06 UTC while it was pending" in report_markdown(story.report())
    story.session.undo(2)
    assert story.record()["dropped"] == []


def test_taking_back_that_something_was_added_drops_nothing() -> None:
    story = Story("One")
    story.session.add("Two")
    story.session.undo()
    assert story.record()["dropped"] == []


def test_an_ordinary_run_is_told_with_what_each_item_took() -> None:
    story = Story("First", "Second").run("Do both").round(1, 100, 10, 0.5)
    story.session.update("t1", status="in_progress")
    story.wait(2).call(1, files=["a.py"]).call(1, ok=False).round(2, 200, 20, 1.5).call(2).wait(1)
    story.session.update("t1", status="completed")
    story.session.update("t2", status="in_progress")
    story.round(3, 50, 5, 1.75).call(3).wait(4).end("finished")
    record = story.record()
    first, second = record["items"]
    assert (first["rounds"], first["tool_calls"], first["failed_calls"], first["files"]) == (2, 3, 1, ["a.py"])
    assert (first["input_tokens"], first["cost"], first["worked_seconds"]) == (300, 1.5, 3.0)
    assert (second["rounds"], second["input_tokens"], second["cost"]) == (1, 50, 0.25)
    (run,) = record["runs"]
    assert [(bar["item_id"], bar["start"], bar["end"], bar["outcome"]) for bar in run["timeline"]] == [
        ("t1", 0.0, 3.0, "completed"),
        ("t2", 3.0, 7.0, "interrupted"),
    ]
    assert record["by_hand"] is None and record["executions"] == []


def test_the_time_between_an_interruption_and_the_next_start_is_no_work() -> None:
    story = Story("First").run("Do it").round(7, 100, 10, 0.5)
    story.session.update("t1", status="in_progress")
    story.wait(2).end("cancelled").wait(1_000).run("Go on").round(1, 100, 10, 0.5)
    story.session.update("t1", status="in_progress")
    story.wait(3)
    story.session.update("t1", status="completed")
    (first,) = story.end("finished").record()["items"]
    assert (first["seconds"], first["worked_seconds"]) == (1_005.0, 5.0)
    assert (first["started_at_round"], first["completed_at_round"]) == (1, 1)


def test_a_todo_that_a_run_completes_without_starting_it_again_is_in_its_timeline() -> None:
    story = Story("First", "Second").run("Do it").round(1, 100, 10, 0.5)
    story.session.update("t1", status="in_progress")
    story.wait(2).end("cancelled").wait(1_000).run("Go on").round(1, 100, 10, 0.5).wait(3)
    story.session.update("t1", status="completed")
    story.session.update("t2", status="completed")
    record = story.end("finished").record()
    assert [[(bar["item_id"], bar["start"], bar["end"]) for bar in run["timeline"]] for run in record["runs"]] == [
        [("t1", 0.0, 2.0)],
        [("t1", 0.0, 3.0)],
    ]
    assert record["items"][0]["worked_seconds"] == 5.0


def test_what_belongs_to_no_todo_makes_up_the_sum() -> None:
    story = Story("First").run("Do it").round(1, 100, 10, 0.5)
    story.session.update("t1", status="in_progress")
    story.round(2, 200, 20, 1.5).call(2).round(3, 50, 5, 1.75).end("finished")
    record = story.record()
    (first,) = record["items"]
    rest = record["unattributed"]
    for name in ("input_tokens", "cached_tokens", "output_tokens", "cost"):
        assert first[name] + rest[name] == record[name]
    assert (rest["input_tokens"], rest["output_tokens"], rest["cost"]) == (150, 15, 0.75)
    assert "Of that, no todo of the list took 165 tokens · cost: $0.75" in story.report().markdown()
    assert "Of what all runs took, no todo of the list took 165 tokens · cost: $0.75" in story.report().html()


def test_work_outside_of_runs_has_a_timeline_of_its_own() -> None:
    story = Story("First").wait(10)
    story.session.update("t1", status="in_progress")
    story.wait(5)
    assert story.record()["by_hand"]["timeline"][0]["outcome"] is None
    story.session.update("t1", status="completed")
    by_hand = story.wait(100).record()["by_hand"]
    assert (by_hand["seconds"], by_hand["timeline"][0]["end"], by_hand["timeline"][0]["outcome"]) == (
        5.0,
        5.0,
        "completed",
    )


def test_a_price_that_is_not_known_leaves_the_sum_unknown() -> None:
    story = Story(item("a", "First"), item("b", "Second")).execution(2).start("a").start("b").wait(1)
    story.finish("a", cost=None, **USED).finish("b", cost=0.5, **USED).finish_all("complete", 2, 0, 1.0)
    record = story.record()
    assert [each["cost"] for each in record["items"]] == [None, 0.5]
    assert record["cost"] is record["executions"][0]["cost"] is None


def test_another_agent_has_its_own_report() -> None:
    story = two_at_once()
    story.session.agent("helper").add("Theirs")
    record = story.record("helper")
    assert [each["content"] for each in record["items"]] == ["Theirs"]
    assert record["runs"] == record["executions"] == []


def test_the_plan_is_named() -> None:
    story = Story("One")
    plan = story.session.set_plan({"title": "The plan", "overview": "All.", "steps": [{"id": "a", "description": "x"}]})
    record = story.record(plan=plan)
    assert record["plan"] == {"title": "The plan", "overview": "All.", "steps": 1}
    assert "Plan: The plan" in report_markdown(story.report(plan=plan))


# Markdown


def test_hostile_text_is_no_markup_in_markdown() -> None:
    def check(text: str) -> None:
        story = Story(item("a", f"x{text}", notes=f"y{text}"), item(f"b|{text}", "z")).execution(1).start("a")
        story.finish("a", "blocked", reason=text, files=(text,)).finish_all("failed", 0, 1, 1.0, "a")
        said = report_markdown(story.report())
        assert not {"\x1b", "\x00", "\u202e", "\ud800"} & set(said)
        assert not [line for line in said.splitlines() if line.startswith(("## System", "[x]"))]
        said.encode()

    check_rows([text for text in HOSTILE if text.strip()], check)


@pytest.mark.parametrize(("number", "more"), [(MOST_ROWS, False), (MOST_ROWS + 1, True)])
def test_a_long_timeline_is_cut_and_says_so(number: int, more: bool) -> None:
    story = Story(*(item(f"i{n}", "x") for n in range(number))).execution(1)
    for n in range(number):
        story.start(f"i{n}").wait(1).finish(f"i{n}")
    text = report_markdown(story.finish_all("complete", number, 0, float(number)).report())
    assert ("… 1 more" in text) is more
    assert text.count("✓ completed |") == MOST_ROWS


@pytest.mark.parametrize(("number", "more"), [(MOST_NOTES, False), (MOST_NOTES + 1, True)])
def test_many_notes_are_cut_and_say_so(number: int, more: bool) -> None:
    story = Story(*(item(f"i{n}", "x", status="cancelled") for n in range(number)))
    assert ("- … 1 more" in report_markdown(story.report())) is more


def test_times_are_said_in_their_units() -> None:
    def check(seconds: float, said: str) -> None:
        assert format_duration(seconds) == said

    check_rows(
        [
            (0, "0.0 s"),
            (59.94, "59.9 s"),
            (61, "1m 01s"),
            (3_599, "59m 59s"),
            (3_600, "1h 00m"),
            (172_799, "47h 59m"),
            (172_800, "2d 0h"),
        ],
        check,
    )


# the parts


def test_what_mixed_runs_used_is_each_ones_own() -> None:
    def event(agent: str, data: Any) -> Event:
        return Event(1, BEGAN, agent, "loop", data)

    def used(cost: float) -> Usage:
        return Usage(
            round=1,
            input_tokens=10,
            output_tokens=1,
            cache_read_tokens=5,
            cache_write_tokens=0,
            total_tokens=11,
            total_cost=cost,
        )

    begun = [
        event(agent, RunStarted(run_id=agent, task="x", model="m", max_rounds=9, holder="h")) for agent in ("a", "b")
    ]
    spending = UsageCounter()
    for fact in (*begun, event("a", used(0.1)), event("b", used(0.2)), event("a", used(0.3))):
        spending.count(fact)
    runs = spending.runs
    assert [(run.agent, run.input_tokens, run.cost) for run in runs] == [("a", 20, 0.3), ("b", 10, 0.2)]


graphs = st.integers(0, 8).flatmap(
    lambda size: st.tuples(
        st.lists(st.floats(0, 100), min_size=size, max_size=size),
        st.sets(st.tuples(st.integers(0, max(size - 1, 0)), st.integers(0, max(size - 1, 0))), max_size=12),
    )
)


@given(graphs)
def test_the_critical_path_is_the_longest_chain(graph: tuple[list[float], set[tuple[int, int]]]) -> None:
    weights = {str(index): weight for index, weight in enumerate(graph[0])}
    needs = {node: [str(low) for low, high in graph[1] if low < high and str(high) == node] for node in weights}

    def longest(node: str) -> float:
        return weights[node] + max((longest(other) for other in needs[node]), default=0.0)

    chain = find_critical_path({node: [*needs.get(node, ())] for node in weights}, weights)
    assert all(one in needs[other] for one, other in pairwise(chain))
    assert sum(weights[node] for node in chain) == pytest.approx(max(map(longest, weights), default=0.0))


def test_what_depends_on_itself_is_in_no_chain() -> None:
    assert find_critical_path({"a": ["b"], "b": ["a"], "c": ["c"]}, {"a": 1.0, "b": 1.0, "c": 1.0}) == []


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20))))
def test_nothing_overlaps_in_a_lane_and_there_are_no_more_than_needed(stretches: list[tuple[int, int]]) -> None:
    times = [(float(start), float(start + long)) for start, long in stretches]
    lanes = assign_lanes(times)
    for lane in set(lanes):
        own = sorted(time for time, at in zip(times, lanes, strict=True) if at == lane)
        assert all(one[1] <= other[0] for one, other in pairwise(own))
    most = max((sum(start <= at < end for start, end in times) for at, _ in times), default=0)
    if all(start < end for start, end in times):
        assert len(set(lanes)) == most


@settings(max_examples=some(40, 2), deadline=None)
@given(st.lists(st.tuples(st.integers(1, 20), st.booleans()), min_size=2, max_size=6))
def test_the_figures_of_an_execution_agree_with_each_other(work: list[tuple[int, bool]]) -> None:
    names = [f"i{n}" for n in range(len(work))]
    story = Story(*(item(name, name) for name in names)).execution(len(names))
    for name in names:
        story.start(name)
    for (took, fine), name in zip(work, names, strict=True):
        story.wait(took)
        story.finish(name, "completed" if fine else "blocked", reason="" if fine else "No.")
    (execution,) = story.end("error").record()["executions"]
    bars = execution["timeline"]
    assert execution["serial_seconds"] == pytest.approx(sum(bar["end"] - bar["start"] for bar in bars))
    assert execution["speed_up"] == round(execution["serial_seconds"] / execution["seconds"], 2)
    assert execution["completed"] + execution["failed"] == len(work) == len({bar["lane"] for bar in bars})
    assert execution["critical_path"]["seconds"] <= execution["seconds"] <= execution["serial_seconds"]
