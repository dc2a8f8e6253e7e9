"""What a run does becomes what is printed, event by event."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headway as api
from headway.core.events import Event, PlanModeChanged
from headway.core.model import PERSON
from headway.core.run_events import (
    ApprovalAnswered,
    MessageAdded,
    RoundStarted,
    RunControlRequested,
    RunError,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Usage,
)
from headway.repl.transcript import Piece, Transcript, find_last_words
from headway.views.spoken_words import answer_text

if TYPE_CHECKING:
    from headway.core.events import EventData

MISSED = Piece("line", "Some of the answer came too fast to show. In full:", "!")


def event(data: EventData, actor: str = "agent") -> Event:
    return Event(1, "2026-01-01T00:00:00Z", "main", actor, data)


def heard(transcript: Transcript, *all_data: EventData) -> list[Piece]:
    return [piece for data in all_data for piece in transcript.handle(event(data))]


def printed(*all_data: EventData) -> list[Piece]:
    return heard(Transcript(), *all_data)


def says(text: str) -> Piece:
    return Piece("markdown", text)


def line(mark: str, text: str, why: str = "") -> Piece:
    return Piece("line", text, mark, why)


def answer(*texts: str, kind: str = "response") -> MessageAdded:
    thought = {"part_kind": "thinking", "content": "Hm."}
    parts = [thought, *({"part_kind": "text", "content": text} for text in texts)]
    return MessageAdded(message={"kind": kind, "parts": parts})


def begun(call_id: str = "c1", summary: str = "bash make") -> ToolStarted:
    return ToolStarted(round=1, call_id=call_id, tool=summary.split()[0], summary=summary, effect="execute")


def done(call_id: str = "c1", text: str = "fine", *, tool: str = "bash", effect: str = "execute") -> ToolFinished:
    return ToolFinished(round=1, call_id=call_id, tool=tool, ok=True, text=text, effect=effect)


ROUND = RoundStarted(run_id="r1", round=1, max_rounds=50)


# what the model says


def test_an_answer_is_printed_block_by_block_as_it_comes():
    transcript = Transcript()
    assert heard(transcript, ROUND, TextDelta(text="I look "), TextDelta(text="first.\n")) == []
    assert transcript.rest == "I look first.\n"
    assert heard(transcript, TextDelta(text="\nThen I")) == [says("I look first.")]
    assert transcript.rest == "Then I"
    assert heard(transcript, TextDelta(text=" act."), answer("I look first.\n\nThen I act.")) == [says("Then I act.")]
    assert transcript.rest == ""


@given(st.lists(st.sampled_from(["One.", " ", "\n\n", "二", "```\n", "a\n"]), max_size=20))
def test_an_answer_that_was_heard_in_full_is_printed_once(pieces: list[str]):
    streamed = [TextDelta(text=piece) for piece in pieces]
    deltas = printed(ROUND, *streamed)
    ended = printed(ROUND, *streamed, answer("".join(pieces)))
    assert MISSED not in ended
    assert ended[: len(deltas)] == deltas
    assert "".join("".join(piece.text for piece in ended).split()) == "".join("".join(pieces).split())


def test_an_answer_of_which_nothing_was_heard_is_printed_when_it_is_there():
    assert printed(ROUND, answer("All of it.\n\nReally.")) == [says("All of it.\n\nReally.")]


def test_of_an_answer_that_came_too_fast_the_whole_is_printed_in_the_end():
    pieces = printed(ROUND, TextDelta(text="One.\n\nTw"), answer("One.\n\nTwo.\n\nThree."))
    assert pieces == [says("One."), says("Tw"), MISSED, says("One.\n\nTwo.\n\nThree.")]


def test_an_answer_in_several_parts_is_one():
    assert printed(ROUND, TextDelta(text="One. "), TextDelta(text="Two."), answer("One. ", "Two.")) == [
        says("One. Two.")
    ]


def test_the_answer_of_one_round_is_not_taken_for_that_of_the_next():
    pieces = printed(
        ROUND, TextDelta(text="A long first answer."), answer("A long first answer."), ROUND, answer("Next.")
    )
    assert pieces == [says("A long first answer."), says("Next.")]


@pytest.mark.parametrize("kind", ["request", "other"])
def test_what_the_model_is_told_is_not_printed(kind: str):
    assert printed(ROUND, answer("Do it.", kind=kind)) == []
    assert answer_text(answer("Do it.", kind=kind).message) == ""


@pytest.mark.parametrize("parts", ["", '"parts": []', '"parts": [{}]', '"parts": [{"part_kind": "text"}]'])
def test_a_message_without_words_prints_nothing(parts: str):
    more = f", {parts}" if parts else ""
    assert printed(MessageAdded(message=json.loads(f'{{"kind": "response"{more}}}'))) == []


def test_a_round_in_which_the_model_said_nothing_prints_nothing():
    assert printed(ROUND, answer("(no answer)")) == []


def test_what_the_model_says_before_a_call_stands_above_it():
    transcript = Transcript()
    assert heard(transcript, TextDelta(text="I run it"), begun(), done()) == [says("I run it"), line("✓", "bash make")]


# what is under way


def test_what_is_waited_for_is_told_until_it_comes():
    transcript = Transcript()
    heard(transcript, RoundStarted(run_id="r1", round=3, max_rounds=50))
    assert transcript.doing == "Round 3/50: waiting for the model"
    heard(transcript, TextDelta(text="Hm, ", kind="reasoning"))
    assert transcript.doing == "Thinking"
    heard(transcript, TextDelta(text="So"))
    assert transcript.doing == ""
    heard(transcript, RoundStarted(run_id="r1", round=4, max_rounds=50), begun())
    assert transcript.doing == ""


def test_thinking_is_not_printed():
    transcript = Transcript()
    assert heard(transcript, ROUND, TextDelta(text="Secret.\n\nThoughts.\n\n", kind="reasoning")) == []
    assert transcript.rest == ""


def test_a_call_is_under_way_with_its_last_line_until_it_is_done():
    transcript = Transcript()
    heard(transcript, begun(), TextDelta(text="one\ntwo\n", kind="output", call_id="c1"))
    assert [what for what, _ in transcript.running.values()] == ["bash make"]
    assert transcript.output == "two"
    heard(transcript, TextDelta(text="\n", kind="output", call_id="c1"))
    assert transcript.output == "two"
    assert heard(transcript, done()) == [line("✓", "bash make")]
    assert (transcript.running, transcript.output) == ({}, "")


def test_calls_that_run_together_end_each_under_its_own_name():
    transcript = Transcript()
    heard(transcript, begun("c1", "bash one"), begun("c2", "bash two"))
    assert heard(transcript, done("c2"), done("c1")) == [line("✓", "bash two"), line("✓", "bash one")]


def test_a_call_whose_beginning_was_missed_ends_under_the_name_of_its_tool():
    assert printed(done("c9")) == [line("✓", "bash")]


def test_what_a_run_left_unfinished_is_over_with_it():
    transcript = Transcript()
    pieces = heard(
        transcript,
        TextDelta(text="Half a sen"),
        begun(),
        RunFinished(run_id="r1", reason="cancelled", rounds=1, tool_calls=1),
    )
    assert pieces == [says("Half a sen")]
    assert (transcript.rest, transcript.running, transcript.doing) == ("", {}, "")


def test_the_last_calls_can_be_looked_at_and_only_so_many():
    transcript = Transcript()
    for number in range(150):
        heard(transcript, begun(f"c{number}", f"bash {number}"), done(f"c{number}", f"out {number}"))
    assert len(transcript.calls) == 100
    what, call = transcript.calls[-1]
    assert (what, call.text) == ("bash 149", "out 149")


# what else happens


def test_a_call_that_failed_says_why():
    failed = ToolFinished(round=1, call_id="c1", tool="bash", ok=True, text="boom", exit_code=2)
    assert printed(begun(), failed) == [line("✗", "bash make", "exit code 2")]


def test_what_a_new_list_dropped_is_told():
    text = "✅ 2 items\nNote: 1 open item was dropped: Old\nGo on.\nNote: another"
    pieces = printed(begun("c1", "TodoWrite"), done("c1", text, tool="TodoWrite", effect="todo"))
    assert pieces == [
        line("✓", "TodoWrite"),
        line("!", "1 open item was dropped: Old"),
        line("!", "another"),
    ]


def test_what_a_command_prints_is_no_note_about_the_list():
    assert printed(begun(), done("c1", "Note: all items were dropped")) == [line("✓", "bash make")]


def test_a_request_that_is_made_again_is_told_and_its_answer_begins_anew():
    pieces = printed(
        ROUND,
        TextDelta(text="Half"),
        RunError(message="It is busy.", retry_in=2.4),
        TextDelta(text="Whole an"),
        TextDelta(text="swer."),
        answer("Whole answer."),
    )
    assert pieces == [says("Half"), line("!", "It is busy. Retrying in 2 s."), says("Whole answer.")]


def test_a_request_that_is_made_again_at_once_names_no_time():
    assert printed(RunError(message="It is busy.", retry_in=0.0)) == [line("!", "It is busy.")]


def test_what_ends_a_run_is_told_at_its_end_only():
    assert printed(RunError(message="The key is wrong.")) == []


@pytest.mark.parametrize(
    ("request_", "said"), [("pause", "Paused after this round"), ("resume", "Resumed"), ("stop", "Stopped")]
)
def test_what_another_asks_of_the_run_is_told_with_who_it_was(request_: str, said: str):
    assert Transcript().handle(event(RunControlRequested(request=request_), "watcher")) == [
        line("!", f"{said} by watcher")
    ]


def test_that_the_person_stopped_it_is_told_at_its_end_only():
    assert Transcript().handle(event(RunControlRequested(request="stop"), PERSON)) == []


def test_a_no_is_told_with_its_reason_and_a_yes_is_not():
    assert printed(ApprovalAnswered(question_id="q1", reply="no", reason="not on this branch")) == [
        line("⊘", "no", "not on this branch")
    ]
    assert (
        printed(ApprovalAnswered(question_id="q1", reply="once"), ApprovalAnswered(question_id="q2", reply="always"))
        == []
    )


@pytest.mark.parametrize("on", [True, False])
def test_plan_mode_is_left_to_the_prompt(on: bool):
    assert printed(PlanModeChanged(on=on)) == []


def test_what_a_person_need_not_see_is_not_printed():
    usage = Usage(
        round=1,
        input_tokens=1,
        output_tokens=1,
        cache_read_tokens=0,
        cache_write_tokens=0,
        total_tokens=2,
        total_cost=None,
    )
    assert printed(RunStarted(run_id="r1", task="task", model="m", max_rounds=50, holder="me"), usage) == []


def test_long_and_hostile_words_of_others_are_cut_and_harmless():
    hostile = "\x1b[2J\x07\u202e\n" + "x" * 10_000
    pieces = printed(
        RunError(message=hostile, retry_in=1.0), ApprovalAnswered(question_id="q1", reply="no", reason=hostile)
    )
    pieces += Transcript().handle(event(RunControlRequested(request="pause"), hostile))
    for piece in pieces:
        assert len(piece.text) <= 500 and len(piece.why) <= 200
        assert not {"\x1b", "\x07", "\u202e", "\n"} & {*piece.text, *piece.why}


def test_the_last_words_are_those_of_the_conversation_and_not_an_execution() -> None:
    session = api.open(memory=True)
    said = (
        RunStarted(run_id="r1", task="Hi", model="m", max_rounds=50, holder="here"),
        answer("Hello."),
        RunStarted(run_id="r2", task="Execute all: 2 todos", model="m", max_rounds=0, holder="here"),
    )
    events = [Event(version, "2026-01-01T00:00:00.000Z", "main", "loop", data) for version, data in enumerate(said, 1)]
    session.store.append(session.name, 0, events, None)
    assert find_last_words(session) == ("Hi", "Hello.")
