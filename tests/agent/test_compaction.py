"""A history that does not fit gives way to a summary: what the budget says, what is kept, what is there afterwards."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ToolCallPart, ToolReturnPart

import headway
from headway.agent import LoopConfig, RunResult, run_loop
from headway.agent.budget import Budget
from headway.agent.compaction import find_split
from headway.agent.config import Reason
from headway.agent.conversation import Conversation
from headway.core.events import Event
from headway.core.run_events import ConversationCompacted
from headway.session import Session
from headway.testing import Call, Failure, ScriptedModel, Turn
from headway.testing.script import Request
from headway.tools import tool

from .bodies import Body, Wire, cut_off, said_in, tail_of, told, untailed
from .histories import whole

HEADING = "(The earlier conversation was too long and is summarised here.)"
WINDOW = 6_000
TASK = "Rename the colour module, everywhere.\n\nKeep “old names” working: 颜色 → 色彩 \\ 100%."
MORE = "Then tell me what `headway todo` prints."
Ask = Callable[[list[ModelMessage], Request], Turn]


# what fits


def test_before_anything_is_known_the_estimate_is_on_the_safe_side() -> None:
    budget = Budget(10_000, 1_000)
    english = "The quick brown fox jumps over the lazy dog. " * 100
    assert budget.estimate_tokens(len(english.encode())) > len(english.split())
    assert budget.fits(9_000)
    assert not budget.fits(40_000)


def test_a_report_of_the_provider_takes_the_place_of_the_estimate() -> None:
    budget = Budget(10_000, 1_000)
    budget.calibrate(1_000, 500)
    assert budget.estimate_tokens(2_000) == 1_000
    assert budget.fits(18_000)
    assert not budget.fits(18_010)
    budget.calibrate(4_000, 1_000)
    assert budget.fits(36_000)
    for nothing in ((0, 0), (100, 0), (0, 100)):  # some servers report no tokens
        budget.calibrate(*nothing)
        assert budget.estimate_tokens(4_000) == 1_000


@given(st.integers(1_000, 2_000_000), st.integers(16, 64_000), st.floats(0.05, 1), st.integers(0, 100_000))
def test_what_has_room_fits(window: int, reply: int, per_byte: float, besides: int) -> None:
    budget = Budget(window, reply)
    budget.calibrate(1_000_000, round(per_byte * 1_000_000))
    room = budget.history_room(besides)
    assert budget.reply <= window / 4
    if room:
        assert budget.fits(besides + room - 1)
        assert not budget.fits(besides + room + 30)
    else:
        assert not budget.fits(besides + 30)


@given(st.one_of(st.none(), st.integers(1_000, 1_000_000)), st.integers(100, 5_000_000))
def test_what_the_provider_found_too_long_does_not_fit_any_more(window: int | None, size: int) -> None:
    budget = Budget(window, 8_000)
    for _ in range(3):
        before = budget.history_room(0)
        budget.note_refused(size)
        assert not budget.fits(size)
        assert budget.window is not None
        assert budget.window >= 1
        assert window is None or budget.history_room(0) <= before


def test_where_no_window_is_known_everything_fits_until_the_provider_says_no() -> None:
    budget = Budget(None, 8_000)
    assert budget.fits(10**12)
    budget.note_refused(1_000_000)
    assert not budget.fits(1_000_000)
    assert budget.fits(500_000)


# where it is parted


@given(whole(max_turns=8), st.integers(0, 600))
def test_a_call_and_its_results_are_never_parted(messages: list[ModelMessage], room: int) -> None:
    first = find_split(Conversation(messages), room)
    for part in (messages[:first], messages[first:]):
        assert calls_in(part) == results_in(part)


@given(whole(max_turns=8), st.integers(0, 600))
def test_as_many_of_the_newest_messages_are_kept_as_have_room(messages: list[ModelMessage], room: int) -> None:
    conversation = Conversation(messages)
    first = find_split(conversation, room)
    kept = sum(conversation.sizes[first:])
    asked = not results_in(messages[-1:])  # what was just asked is kept, whatever its size
    assert kept <= room or (asked and first == len(messages) - 1)
    smaller = [at for at in range(first) if calls_in(messages[at:]) == results_in(messages[at:])]
    assert all(sum(conversation.sizes[at:]) > room for at in smaller)


def calls_in(messages: Sequence[ModelMessage]) -> Counter[str]:
    return Counter(p.tool_call_id for m in messages for p in m.parts if isinstance(p, ToolCallPart))


def results_in(messages: Sequence[ModelMessage]) -> Counter[str]:
    return Counter(p.tool_call_id for m in messages for p in m.parts if isinstance(p, ToolReturnPart))


# in a run


def look(size: int = 1_200) -> Any:
    """A tool whose every answer is another one."""
    count = iter(range(1, 10_000))

    @tool(effect="read")
    def look() -> str:
        """Looks."""
        return f"Finding {next(count)}. " + "word " * (size // 5)

    return look


class Worker:
    """A model that looks again and again; it is asked for a summary now and then."""

    def __init__(self, rounds: int, summary: Turn | Ask | None = None, calls: int = 1) -> None:
        self.summary = summary or Turn(text="The files a.py and b.py were renamed.")
        self.calls = [Call("look")] * calls
        self.left = rounds
        self.summaries: list[tuple[Request, int]] = []
        """Each with how many requests there were before it."""
        self.asked: list[Request] = []
        self.model = ScriptedModel([self._turn] * 500)

    def _turn(self, messages: list[ModelMessage], request: Request) -> Turn:
        if not request.streamed:
            self.summaries.append((request, len(self.asked)))
            return self.summary(messages, request) if callable(self.summary) else self.summary
        self.asked.append(request)
        self.left -= 1
        return Turn(text=f"Step {len(self.asked)}.", calls=self.calls) if self.left > 0 else Turn(text="Done.")


async def run(session: Session, model: Any, task: str | None = TASK, size: int = 1_200, **about: Any) -> RunResult:
    settings: dict[str, Any] = {"context_window": WINDOW, "instructions": "Work.", "max_nudges": 0, **about}
    return await run_loop(session, task, model=model, tools=[look(size)], config=LoopConfig(**settings))


def compactions(session: Session) -> list[Event]:
    return [event for event in session.events() if isinstance(event.data, ConversationCompacted)]


async def test_a_long_run_never_asks_for_more_than_fits(session: Session) -> None:
    worker = Worker(60)
    result = await run(session, worker.model, max_rounds=60)
    assert result.reason == Reason.FINISHED
    assert len(compactions(session)) >= 3
    for request in worker.asked:
        sizes = [len(text.encode()) for message in request.messages for text in said_in(message)]
        assert sum(sizes) / 4 < WINDOW
    assert worker.asked[-1].messages != worker.asked[0].messages


async def test_what_the_provider_reports_decides_when_it_is_too_long(tmp_path: Path) -> None:
    first: dict[float, int] = {}
    for per_byte in (0.1, 0.25, 1.0):
        session = headway.open(tmp_path, f"{per_byte}")

        def turn(messages: list[ModelMessage], request: Request, per_byte: float = per_byte) -> Turn:
            size = sum(len(text) for message in messages for text in said_in(message)) + 3_000
            return Turn(calls=[Call("look")], usage={"input_tokens": round(size * per_byte)})

        await run(session, ScriptedModel([turn] * 99), max_rounds=40)
        events = [event.type for event in session.events()]
        at = events.index("ConversationCompacted") if "ConversationCompacted" in events else len(events)
        first[per_byte] = events[:at].count("RoundStarted")
    assert first[1.0] < first[0.25] < first[0.1]


async def test_tokens_from_a_providers_cache_count_too(session: Session) -> None:
    def turn(number: int, body: Body) -> Turn:
        usage = {"input_tokens": 9, "cache_read_tokens": len(body.raw) // 8, "cache_write_tokens": len(body.raw) // 8}
        return Turn(text="Much was done.", calls=[Call("look")] if body.parsed.get("stream") else [], usage=usage)  # pyright: ignore[reportArgumentType]

    wire = Wire("anthropic", turn)
    result = await run(session, wire.model(), max_rounds=40)
    assert result.error is None
    assert compactions(session)
    assert max(len(body.raw) / 4 for body in wire.bodies) < WINDOW


async def test_the_model_writes_the_summary_on_the_history_it_knows(session: Session) -> None:
    worker = Worker(25)
    session.add("Stay open")
    await run(session, worker.model, max_rounds=25)
    request, asked = worker.summaries[0]
    before = worker.asked[asked - 1]
    *known, last = request.messages
    assert told(known) == told(before.messages[: len(known)])
    assert told([last])[0]["parts"][:-1] == told([before.messages[len(known)]])[0]["parts"][: len(last.parts) - 1]
    assert "about to be shortened" in " ".join(said_in(last))
    assert request.parameters == before.parameters
    settings: Any = request.settings
    assert settings["max_tokens"] == min(2_000, WINDOW // 4)
    everything = " ".join(text for message in request.messages for text in said_in(message))
    assert "<todo-list>" not in everything


async def test_a_summary_takes_the_place_of_what_was_said_and_the_newest_is_kept_whole(session: Session) -> None:
    worker = Worker(25)
    await run(session, worker.model, max_rounds=25)
    events = [*session.events()]
    for event in compactions(session):
        before = Conversation.load(cut_off(events, event.version - 1)).messages
        summary, *kept = Conversation.load(cut_off(events, event.version)).messages
        assert kept
        assert len(kept) < len(before)
        assert told(kept) == told(before[-len(kept) :])
        (text,) = said_in(summary)
        assert text.startswith(HEADING)
        assert text.endswith("The files a.py and b.py were renamed.")


NOT_A_SUMMARY = {
    "fails": Turn(error=Failure(500)),
    "refuses": Turn(error=Failure(400)),
    "is too long": Turn(error=Failure(kind="context")),
    "breaks off": Turn(error=Failure(kind="connection")),
    "says nothing": Turn(),
    "says blanks": Turn(text=" \n "),
    "only thinks": Turn(thinking="How would I put it?"),
    "calls tools": Turn(calls=[Call("look")]),
}


@pytest.mark.parametrize("turn", NOT_A_SUMMARY.values(), ids=NOT_A_SUMMARY.keys())
async def test_without_a_summary_of_the_model_what_was_called_is_listed(session: Session, turn: Turn) -> None:
    worker = Worker(25, turn)
    result = await run(session, worker.model, max_rounds=25)
    assert result.reason == Reason.FINISHED
    assert result.tool_calls == 24  # what the summary called was not run
    assert worker.summaries
    summary = next(text for asked in worker.asked for text in said_in(asked.messages[0]) if text.startswith(HEADING))
    assert "- look {}: success" in summary
    assert "- said: Step 1." in summary
    assert TASK in summary


async def test_the_users_words_last_through_many_compactions(session: Session) -> None:
    worker = Worker(30)
    session.add("Stay open")
    for task in (TASK, MORE):
        await run(session, worker.model, task, max_rounds=30, max_nudges=1)
        worker.left = 30
    assert len(compactions(session)) >= 4
    (summary,) = said_in(worker.asked[-1].messages[0])
    assert summary.startswith(HEADING)
    assert summary.count(f"- {TASK}\n") == 1
    assert summary.count(f"- {MORE}\n") == 1
    assert "still open" not in summary.partition("# What was done")[0]  # the loop's own words are not the user's


async def test_without_the_models_help_a_summary_does_not_repeat_itself(session: Session) -> None:
    worker = Worker(80, Turn(error=Failure(500)))
    await run(session, worker.model, max_rounds=80)
    assert len(compactions(session)) >= 6
    (summary,) = said_in(worker.asked[-1].messages[0])
    assert summary.count(HEADING) == 1
    assert summary.count(TASK) == 1
    newest = int(summary.rpartition("- said: Step ")[2].partition(".")[0])
    assert newest > 50


async def test_after_a_compaction_the_list_is_shown_once_and_as_it_is(tmp_path: Path) -> None:
    session, person = headway.open(tmp_path), headway.open(tmp_path)
    session.write([{"content": "First"}, {"content": "Second"}])
    lists: list[str] = []

    def summary(messages: list[ModelMessage], request: Request) -> Turn:
        person.add(f"Added while the summary was written {len(person.todos)}")
        return Turn(text="Much.")

    def turn(messages: list[ModelMessage], request: Request) -> Turn:
        if not request.streamed:
            return summary(messages, request)
        lists.append(tail_of(messages))
        assert [todo.content for todo in person.todos if todo.content not in lists[-1]] == []
        assert sum(text.count("Current Task List") for message in messages for text in said_in(message)) == 1
        return Turn(calls=[Call("look")])

    result = await run(session, ScriptedModel([turn] * 99), max_rounds=30)
    assert result.error is None
    assert len(compactions(session)) >= 2
    assert len(person.todos) >= 4
    assert [f"(Round {number}/30)" in tail for number, tail in enumerate(lists, 1)] == [True] * 30


async def test_what_is_loaded_is_what_the_run_goes_on_with(tmp_path: Path) -> None:
    """In every round, so also right after each of several compactions."""
    session = headway.open(tmp_path)
    worker = Worker(30)
    session.add("Stay open")
    await run(session, worker.model, max_rounds=30)
    events = [*session.events()]
    assert len(compactions(session)) >= 2
    rounds = [event.version for event in events if event.type == "TodoListContextInjected"]
    assert len(rounds) == len(worker.asked)
    for version, request in zip(rounds, worker.asked, strict=True):
        assert told(Conversation.load(cut_off(events, version)).messages) == told(untailed(request.messages))
    for event in compactions(session):
        after = next(request for version, request in zip(rounds, worker.asked, strict=True) if version > event.version)
        assert told(Conversation.load(cut_off(events, event.version)).messages) == told(untailed(after.messages))


async def test_a_compaction_that_keeps_nothing_is_loaded_as_one(session: Session) -> None:
    """The newest message is a result that takes more room than there is."""
    worker = Worker(4)
    result = await run(session, worker.model, size=20_000, max_rounds=4)
    assert result.reason == Reason.FINISHED
    events = [*session.events()]
    alone = [
        event for event in compactions(session) if len(Conversation.load(cut_off(events, event.version)).messages) == 1
    ]
    assert alone
    for event in alone:
        (summary,) = Conversation.load(cut_off(events, event.version)).messages
        assert TASK in " ".join(said_in(summary))
    assert told(Conversation.load(session).messages[:-1]) == told(worker.asked[-1].messages)


@pytest.mark.parametrize("killed", ["before", "after"])
async def test_a_run_that_was_killed_at_a_compaction_goes_on(session: Session, killed: str) -> None:
    await run(session, Worker(25).model, max_rounds=25)
    events = [*session.events()]
    for event in compactions(session):
        cut = cut_off(events, event.version - (killed == "before"))
        worker = Worker(3)
        result = await run(cut, worker.model, MORE)
        assert result.reason == Reason.FINISHED
        texts = " ".join(text for message in worker.asked[0].messages for text in said_in(message))
        assert TASK in texts
        assert MORE in texts


# when the provider says no


async def test_a_provider_with_an_unknown_window_says_when_it_is_too_long(session: Session) -> None:
    refused: list[int] = []

    def turn(messages: list[ModelMessage], request: Request) -> Turn:
        assert request.streamed  # what does not fit is not sent again for a summary
        size = sum(len(text) for message in messages for text in said_in(message))
        if size > 24_000:
            refused.append(size)
            return Turn(error=Failure(kind="context"))
        return Turn(text="I look.", calls=[Call("look")])

    result = await run(session, ScriptedModel([turn] * 99), max_rounds=60, context_window=None)
    assert result.error is None
    assert result.tool_calls >= 50
    assert 1 <= len(refused) <= 5
    assert TASK in " ".join(said_in(Conversation.load(session).messages[0]))
    errors = [event.data for event in session.events() if event.type == "RunError"]
    assert len(errors) == len(refused)
    assert all(error.retry_in is not None for error in errors)  # pyright: ignore


async def test_a_provider_that_never_has_enough_room_ends_the_run_with_a_sentence(session: Session) -> None:
    await run(session, Worker(6).model, context_window=None)
    never = ScriptedModel([Turn(error=Failure(kind="context"))] * 200)
    result = await run(session, never, MORE, context_window=None)
    assert result.reason == Reason.ERROR
    assert_sentence(result.error)
    assert len(never.requests) < 20
    worker = Worker(3)
    assert (await run(session, worker.model, "Go on.", context_window=None)).reason == Reason.FINISHED
    texts = " ".join(text for message in worker.asked[0].messages for text in said_in(message))
    assert "Go on." in texts
    assert MORE in texts
    assert TASK in texts


async def test_a_summary_that_is_too_long_itself_does_not_lose_what_the_user_asked_for(session: Session) -> None:
    too_long = Turn(error=Failure(kind="context"))
    model = ScriptedModel([Turn(calls=[Call("look")]), too_long, too_long, too_long, too_long])
    result = await run(session, model, size=20_000, context_window=None)
    assert result.reason == Reason.ERROR
    assert_sentence(result.error)
    worker = Worker(2)
    await run(session, worker.model, MORE, context_window=None)
    texts = " ".join(text for message in worker.asked[0].messages for text in said_in(message))
    assert TASK in texts


def step_by_step() -> ScriptedModel:
    """A model that says much, and writes no summary."""
    steps = iter(range(1, 1_000))

    def turn(messages: list[ModelMessage], request: Request) -> Turn:
        if not request.streamed:
            return Turn(error=Failure(500))
        text = "I will look at the next file of the project. " * 5
        return Turn(text=f"Step {next(steps)}. {text}", calls=[Call("look")])

    return ScriptedModel([turn] * 99)


def steps_in(messages: Sequence[ModelMessage]) -> list[str]:
    return re.findall(r"Step (\d+)", " ".join(text for message in messages for text in said_in(message)))


async def test_a_list_of_calls_is_no_longer_than_there_is_room_for_it(session: Session) -> None:
    result = await run(session, step_by_step(), size=20, max_rounds=60, context_window=3_000)
    assert result.error is None
    assert result.rounds == 60
    assert 3 <= len(compactions(session)) < 25


async def test_a_list_of_calls_that_is_too_long_has_the_newest_ones(session: Session) -> None:
    await run(session, step_by_step(), size=20, max_rounds=60, context_window=3_000)
    events = [*session.events()]
    for event in compactions(session):
        before = Conversation.load(cut_off(events, event.version - 1)).messages
        summary, *kept = Conversation.load(cut_off(events, event.version)).messages
        assert steps_in(before[: -len(kept)])[-1] in steps_in([summary])


def assert_sentence(error: str | None) -> None:
    assert error is not None
    assert error.endswith(".")
    assert "\n" not in error
    assert "context window" in error
    assert "itself failed" not in error
    assert len(error) < 300


async def test_one_message_that_does_not_fit_is_told_in_a_sentence_and_the_session_goes_on(session: Session) -> None:
    model = ScriptedModel([])
    for _ in range(2):
        result = await run(session, model, "Read this: " + "word " * 20_000)
        assert result.reason == Reason.ERROR
        assert_sentence(result.error)
    assert model.requests == []
    worker = Worker(3)
    result = await run(session, worker.model, MORE)
    assert result.reason == Reason.FINISHED
    texts = [text for message in worker.asked[0].messages for text in said_in(message)]
    assert sum(map(len, texts)) / 4 < WINDOW
    assert texts[-1] == MORE
    assert "Read this: word" in texts[0]


async def test_tools_and_instructions_that_leave_no_room_are_told_in_a_sentence(session: Session) -> None:
    result = await run(session, ScriptedModel(["Hello."]), instructions="Be brief. " * 3_000)
    assert result.reason == Reason.ERROR
    assert_sentence(result.error)


async def test_a_model_writes_the_summary_whenever_the_older_part_fits(session: Session) -> None:
    """Also when the round that was too much was large: it is kept, or gone, but not what the model is asked about."""
    worker = Worker(25, calls=3)
    await run(session, worker.model, size=4_500, max_rounds=25, context_window=16_000)
    assert len(compactions(session)) >= 2
    assert len(worker.summaries) == len(compactions(session))


# what a round costs


class Lines:
    """Counts the lines of Headway that run here, other than those of the scripted model."""

    def __init__(self) -> None:
        self.count = 0
        self._ours = str(Path(headway.__file__).parent)

    @contextmanager
    def counted(self) -> Generator[None]:
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(before)

    def _called(self, frame: FrameType, event: str, about: object) -> Any:
        name = frame.f_code.co_filename
        return self._run if name.startswith(self._ours) and "/testing/" not in name else None

    def _run(self, frame: FrameType, event: str, about: object) -> Any:
        self.count += event == "line"
        return self._run


async def test_a_round_of_a_long_run_costs_no_more_than_one_of_a_short_one(session: Session) -> None:
    lines, seen = Lines(), list[int]()

    def turn(messages: list[ModelMessage], request: Request) -> Turn:
        seen.append(lines.count)
        return Turn(text="I look.", calls=[Call("look")])

    session.add("Stay open")
    with lines.counted():
        await run(session, ScriptedModel([turn] * 241, keep_requests=1), size=50, max_rounds=241, context_window=None)
    early, late = seen[80] - seen[40], seen[240] - seen[200]  # each some snapshots long
    assert early > 1_000
    assert late < early * 1.15
