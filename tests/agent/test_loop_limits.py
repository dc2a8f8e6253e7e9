"""What a run may use, and what it does when a request fails: rounds, tokens, money, the window, asking again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import headway
from headway import Event, HeadwayError, Session
from headway.agent import LoopConfig
from headway.core.run_events import (
    ConversationCompacted,
    MessageAdded,
    RoundStarted,
    RunError,
    RunFinished,
    TextDelta,
    Usage,
)
from headway.testing import Call, Failure, Request, ScriptedModel, Turn
from headway.tools import builtin_tools, tool

from .asking import made
from .loopback import Loopback
from .looping import (
    BOUND,
    added,
    calling,
    creating,
    facts,
    in_turn,
    is_valid,
    look,
    most_tokens,
    run,
    setting,
    texts,
    types,
    until,
)

BUSY = Failure(500, retry_after=0)
"""A failure that is over at once."""


# rounds


@pytest.mark.parametrize("most", [1, 2, 5])
async def test_there_are_exactly_as_many_rounds_as_may_be(session: Session, most: int) -> None:
    model = ScriptedModel([calling("look")] * 9)
    result = await run(session, model, max_rounds=most)
    assert (result.reason, result.rounds, result.tool_calls) == ("max_rounds", most, most)
    assert len(model.requests) == most
    assert [(fact.round, fact.max_rounds) for fact in facts(session, RoundStarted)] == [
        (number, most) for number in range(1, most + 1)
    ]


async def test_a_model_that_ends_in_the_last_round_has_finished(session: Session) -> None:
    result = await run(session, [calling("look"), "Done."], max_rounds=2)
    assert (result.reason, result.rounds) == ("finished", 2)


async def test_a_list_that_is_done_in_the_last_round_is_done(session: Session) -> None:
    turns = [creating("A"), setting("t1", "completed")]
    assert (await run(session, turns, max_rounds=2)).reason == "all_done"


@pytest.mark.parametrize(
    "config",
    [
        {"max_rounds": 0},
        {"max_rounds": True},
        {"max_tokens": 0},
        {"max_cost": 0},
        {"max_cost": float("nan")},
        {"retries": -1},
        {"inject": "both"},
        {"tracking": "none"},
        {"todo_tools": "some"},
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused_in_a_sentence(config: dict[str, Any]) -> None:
    with pytest.raises(HeadwayError, match=f"`{next(iter(config))}`"):
        LoopConfig(**config)


# tokens


class Metered:
    """Answers that take a number of tokens each, and no more than asked for."""

    def __init__(self, asked: int, answered: int) -> None:
        self.asked = asked
        self.answered = answered
        self.most: list[int | None] = []
        """How long each answer could be."""

    def __call__(self, messages: object, request: Request) -> Turn:
        most = most_tokens(request)
        self.most.append(most)
        output = self.answered if most is None else min(self.answered, most)
        return Turn(
            calls=[Call("look", {"at": str(len(self.most))})],
            usage={"input_tokens": self.asked, "output_tokens": output},
        )


@pytest.mark.parametrize("limit", [2_100, 3_300, 3_400, 3_500, 5_000, 7_777])
async def test_a_run_uses_no_more_tokens_than_it_may_and_does_not_stop_long_before(
    session: Session, limit: int
) -> None:
    meter = Metered(1_000, 100)
    result = await run(session, [meter] * 20, max_tokens=limit)
    used = result.input_tokens + result.output_tokens
    assert used <= limit
    assert limit - used < 1_300  # another request would not have fitted
    assert result.reason == "max_tokens" and not result.ok
    assert result.error is not None
    assert f"used {used:,} of its {limit:,} tokens" in result.error
    assert "a higher max_tokens" in result.error
    assert facts(session, RunFinished)[-1].reason == "max_tokens"
    assert [error.message for error in facts(session, RunError)] == [result.error]
    assert facts(session, Usage)[-1].total_tokens == used


async def test_an_answer_may_be_as_long_as_what_is_left(session: Session) -> None:
    meter = Metered(1_000, 100)
    await run(session, [meter] * 20, max_tokens=4_000)
    used = [0, *(fact.total_tokens for fact in facts(session, Usage))]
    for most, before in zip(meter.most, used, strict=False):
        assert most is not None
        assert 16 <= most <= 4_000 - before
    assert meter.most == sorted(meter.most, key=lambda most: -(most or 0))


async def test_a_first_request_that_is_too_large_is_not_made(session: Session) -> None:
    model = ScriptedModel(["Never."])
    result = await run(session, model, "word " * 2_000, max_tokens=1_000)
    assert (result.reason, result.input_tokens, model.requests) == ("max_tokens", 0, [])
    assert "used 0 of its 1,000 tokens" in (result.error or "")
    assert (await run(session, model, "Shorter")).text == "Never."


async def test_a_limit_counts_for_one_run(session: Session) -> None:
    for _ in range(3):
        meter = Metered(1_000, 100)
        result = await run(session, [meter, "Done."], max_tokens=4_000)
        assert result.reason == "finished"


async def test_a_judge_counts_too(session: Session) -> None:
    verdict = Turn(calls=setting("t1", "completed").calls, usage={"input_tokens": 5_000, "output_tokens": 10})
    turns = [creating("Look at it", "B"), calling("look"), verdict, "Never."]
    result = await run(session, turns, tracking="judge", complete_after=1, max_tokens=8_000, max_nudges=0)
    assert result.input_tokens > 5_000
    assert facts(session, Usage)[-1].total_tokens == result.input_tokens + result.output_tokens


async def test_a_limit_that_is_far_does_not_ask_for_longer_answers_than_models_give(session: Session) -> None:
    model = ScriptedModel(["Done."])
    await run(session, model, max_tokens=1_000_000, reply_tokens=4_000)
    assert (most_tokens(model.requests[0]) or 0) <= 4_000


async def test_without_a_limit_none_is_sent(session: Session) -> None:
    model = ScriptedModel(["Done."])
    await run(session, model)
    assert most_tokens(model.requests[0]) is None


# money


class Priced(ScriptedModel):
    """A scripted model that costs what a real one does: 3 dollars a million tokens in, 15 out."""

    @property
    def model_name(self) -> str:
        return "claude-sonnet-4-5"

    @property
    def system(self) -> str:
        return "anthropic"


@pytest.mark.parametrize(("limit", "answers"), [(0.5, 1), (1.0, 3), (1.3, 4)])
async def test_a_run_costs_no_more_than_it_may(session: Session, limit: float, answers: int) -> None:
    meter = Metered(100_000, 1_000)  # $0.315
    result = await run(session, Priced([meter] * 20), max_cost=limit)
    assert result.cost == pytest.approx(0.315 * answers)
    assert len(meter.most) == answers
    assert result.reason == "max_cost"
    assert result.error is not None
    assert f"has cost ${result.cost:.4f} of its limit of ${limit:g}" in result.error
    assert facts(session, Usage)[-1].total_cost == pytest.approx(result.cost)


async def test_money_that_is_nearly_gone_bounds_the_answer(session: Session) -> None:
    meter = Metered(100_000, 1_000)
    await run(session, Priced([meter] * 20), max_cost=0.64)
    # After the first answer $0.325 are left, of which the next request takes about $0.3.
    assert len(meter.most) == 2
    assert meter.most[1] is not None
    assert 1_000 < meter.most[1] < 2_000


async def test_where_the_price_is_not_known_a_limit_in_dollars_is_refused_before_anything_is_spent(
    session: Session,
) -> None:
    asked: list[object] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(messages)
        return ModelResponse([TextPart("Done.")])

    result = await run(session, FunctionModel(answer), max_cost=5)
    assert (result.reason, asked) == ("error", [])
    assert "is not known, so a limit of $5 cannot be enforced; set max_tokens" in (result.error or "")
    free = await run(session, ["Done."], max_cost=0.01)
    assert (free.reason, free.cost) == ("finished", 0)


# asking again


async def test_a_request_that_was_too_early_is_made_again_when_the_provider_said(session: Session) -> None:
    busy = Turn(error=Failure(429, message="slow down", retry_after=0.25))
    model = ScriptedModel([calling("look"), busy, "Done."])
    result = await run(session, model)
    assert (result.text, result.rounds) == ("Done.", 2)
    [error] = facts(session, RunError)
    assert error.retry_in == 0.25
    assert "slow down" in error.message
    assert texts(model.requests[1].messages) == texts(model.requests[2].messages)
    assert len(facts(session, Usage)) == 2


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529])
async def test_a_provider_with_trouble_of_its_own_is_asked_again(session: Session, status: int) -> None:
    trouble = Turn(error=Failure(status, retry_after=0))
    assert (await run(session, [trouble, trouble, "Done."])).text == "Done."
    assert [error.retry_in for error in facts(session, RunError)] == [0, 0]


async def test_what_may_work_later_is_asked_again_after_a_moment(session: Session) -> None:
    async def fail_once(agent: Session, failure: Failure) -> None:
        result = await run(agent, [Turn(error=failure), "Done."])
        assert (result.text, result.reason) == ("Done.", "finished")
        [error] = facts(agent, RunError)
        assert error.retry_in is not None
        assert 0 < error.retry_in <= 2

    failures = [Failure(kind="timeout"), Failure(kind="connection"), Failure(kind="connection", after="Half an")]
    tries = (fail_once(session.agent(f"agent-{at}"), one) for at, one in enumerate(failures))
    failed = [error for error in await asyncio.gather(*tries, return_exceptions=True) if error]
    assert not failed, failed


async def test_an_answer_that_breaks_off_is_heard_again_and_kept_once(session: Session) -> None:
    heard: list[str] = []

    def on_event(event: Event) -> None:
        if isinstance(event.data, TextDelta):
            heard.append(event.data.text)
        elif isinstance(event.data, RunError):
            heard.append("<again>")

    broken = Turn(error=Failure(500, after="Half an answer", retry_after=0))
    model = ScriptedModel([broken, Turn("Half an answer and the rest.", calls=[Call("look")]), "Done."])
    await run(session, model, on_event=on_event)
    assert "".join(heard) == "Half an answer<again>Half an answer and the rest.Done."
    assert texts(model.requests[2].messages) == [
        "user: Do it",
        "model: Half an answer and the rest.",
        "call: look {}",
        "result: saw it",
    ]
    assert len(facts(session, MessageAdded)) == 3


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_it_is_asked_again_only_so_often(session: Session, retries: int) -> None:
    model = ScriptedModel([Turn(error=BUSY)] * 9)
    result = await run(session, model, retries=retries)
    assert len(model.requests) == retries + 1
    assert (result.reason, result.rounds) == ("error", 1)
    assert [error.retry_in for error in facts(session, RunError)] == [*[0.0] * retries, None]
    assert (await run(session, ["Here."], None)).text == "Here."


async def test_every_request_may_be_made_again_so_often(session: Session) -> None:
    failed = [Turn(error=BUSY)] * 2
    result = await run(session, [*failed, calling("look"), *failed, "Done."], retries=2)
    assert (result.text, result.rounds) == ("Done.", 2)


async def test_a_provider_that_wants_to_be_left_alone_for_long_is_not_waited_for(session: Session) -> None:
    model = ScriptedModel([Turn(error=Failure(429, retry_after=3_600)), "Never."])
    result = await run(session, model)
    assert (result.reason, len(model.requests)) == ("error", 1)
    assert "3600 seconds" in (result.error or "")


@pytest.mark.parametrize(
    "failure", [Failure(401), Failure(402), Failure(403), Failure(404), Failure(400), Failure(422)]
)
async def test_what_will_not_work_later_either_ends_the_run_at_once_with_one_sentence(
    session: Session, failure: Failure
) -> None:
    model = ScriptedModel([Turn(error=failure), "Never."])
    result = await run(session, model)
    assert (result.reason, len(model.requests)) == ("error", 1)
    assert result.error
    assert result.error.endswith(".")
    assert "\n" not in result.error
    assert [(error.message, error.retry_in) for error in facts(session, RunError)] == [(result.error, None)]


async def test_a_model_that_fails_in_its_own_way_ends_the_run_with_a_sentence(session: Session) -> None:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise RuntimeError("the model has a bug")

    result = await run(session, FunctionModel(answer))
    assert result.reason == "error"
    assert "the model has a bug" in (result.error or "")
    assert types(session)[-2:] == ["RunError", "RunFinished"]


@pytest.mark.parametrize("failure", [Failure(401), Failure(404), Failure(400), Failure(kind="context")])
async def test_after_an_error_the_session_goes_on(session: Session, failure: Failure) -> None:
    session.add("Mine")
    assert (await run(session, [calling("look"), *[Turn(error=failure)] * 9])).reason == "error"
    session.add("Also mine")
    model = ScriptedModel(["Here."])
    assert (await run(session, model, "And now?", max_nudges=0)).text == "Here."
    assert is_valid(model.requests[0].messages)
    assert texts(model.requests[0].messages)[0].startswith("user: ")
    assert [todo.content for todo in session.todos] == ["Mine", "Also mine"]


async def test_a_model_that_says_nothing_is_asked_once_more(session: Session) -> None:
    model = ScriptedModel([Turn(), "Sorry, here I am."])
    result = await run(session, model)
    assert (result.text, result.rounds) == ("Sorry, here I am.", 1)
    assert len(facts(session, Usage)) == 2
    assert texts(model.requests[1].messages) == texts(model.requests[0].messages)


@pytest.mark.parametrize("nothing", [Turn(), Turn(text=" \n"), Turn(thinking="hm")])
async def test_a_model_that_keeps_saying_nothing_fails_the_run_and_can_be_asked_again(
    session: Session, nothing: Turn
) -> None:
    model = ScriptedModel([nothing, nothing, "Now."])
    result = await run(session, model)
    assert (result.reason, result.text, result.rounds) == ("error", "", 1)
    assert result.error == ("'scripted' gave an empty answer twice; rephrase the request, or choose another model.")
    assert len(facts(session, Usage)) == 2
    assert (await run(session, model, "And now?")).text == "Now."
    assert is_valid(model.requests[2].messages)


# the context window


def big(size: int = 8_000) -> Callable[..., object]:
    @tool(effect="read")
    def read(number: int) -> str:
        """Reads much."""
        return f"result {number} " + "word " * (size // 5)

    return read


class Reader:
    """Reads so often, then ends; writes a summary when asked for one."""

    def __init__(self, times: int, summary: Turn | None = None) -> None:
        self.left = times
        self.number = 0
        self.summary = summary or Turn("I read on and on.")

    def __call__(self, messages: list[ModelMessage], request: Request) -> Turn:
        if "about to be shortened" in texts(messages)[-1]:
            return self.summary
        self.number += 1
        return Turn("Done.") if self.number > self.left else Turn(calls=[Call("read", {"number": self.number})])


async def test_a_history_that_does_not_fit_gives_way_to_a_summary_and_the_run_goes_on(
    kept_session: Session, tmp_path: Path
) -> None:
    model = ScriptedModel([Reader(12)] * 40, context_window=12_000)
    result = await run(kept_session, model, "Read all of it", tools=[big()])
    assert (result.reason, result.text, result.tool_calls) == ("finished", "Done.", 12)
    assert len(facts(kept_session, ConversationCompacted)) >= 1
    assert all(fact.input_tokens <= 12_000 for fact in facts(kept_session, Usage))
    assert all(is_valid(request.messages) for request in model.requests)
    last = texts(model.requests[-1].messages)
    assert "Read all of it" in last[0]
    assert last[-1].startswith("result: result 12 word")
    later = ScriptedModel(["Here."], context_window=12_000)
    await run(headway.open(tmp_path), later, "And now?", tools=[big()])
    assert texts(later.requests[0].messages) == [*last, "model: Done.", "user: And now?"]


@pytest.mark.parametrize(("window", "size"), [(16_000, 20_000), (32_000, 30_000)])
async def test_the_model_writes_the_summary_where_it_can(session: Session, window: int, size: int) -> None:
    model = ScriptedModel([Reader(9)] * 40, context_window=window)
    await run(session, model, "Read all of it", tools=[big(size)])
    assert "I read on and on." in texts(model.requests[-1].messages)[0]


async def test_where_the_model_cannot_summarise_the_calls_themselves_are_told(session: Session) -> None:
    model = ScriptedModel([Reader(8, Turn(error=Failure(500)))] * 40, context_window=12_000)
    result = await run(session, model, "Read all of it", tools=[big()])
    assert (result.reason, result.tool_calls) == ("finished", 8)
    first = texts(model.requests[-1].messages)[0]
    assert "Read all of it" in first
    assert '- read {"number":1}: success' in first


async def test_a_provider_that_says_it_is_too_long_is_asked_with_less_and_the_run_goes_on(session: Session) -> None:
    too_long = Turn(error=Failure(kind="context"))
    reads = [calling("read", number=number) for number in range(1, 7)]
    model = ScriptedModel([*reads, too_long, "Done."])
    result = await run(session, model, "Read all of it", tools=[big()])
    assert (result.reason, result.text) == ("finished", "Done.")
    assert [error.retry_in for error in facts(session, RunError)] == [0]
    before, after = model.requests[-2].messages, model.requests[-1].messages
    assert len("".join(texts(after))) < len("".join(texts(before)))
    assert is_valid(after)
    assert "Read all of it" in texts(after)[0]


async def test_asking_with_less_is_no_round_of_its_own(session: Session) -> None:
    reads = [calling("read", number=number) for number in range(1, 7)]
    result = await run(session, [*reads, Turn(error=Failure(kind="context")), "Done."], tools=[big()], max_rounds=7)
    assert (result.reason, result.text, result.rounds) == ("finished", "Done.", 7)


async def test_a_finished_list_is_shown_again_if_the_request_that_showed_it_was_too_long(session: Session) -> None:
    reads = [calling("read", number=number) for number in range(1, 7)]
    done = in_turn(creating("A"), setting("t1", "completed"))
    model = ScriptedModel([*reads, done, Turn(error=Failure(kind="context")), "Done."])
    await run(session, model, tools=[big()])
    assert "[x] t1: A" in added(model.requests[-1])


async def test_a_task_that_can_never_fit_ends_with_a_sentence_and_the_session_goes_on(session: Session) -> None:
    model = ScriptedModel(["Never."], context_window=2_000)
    result = await run(session, model, "word " * 20_000)
    assert (result.reason, model.requests) == ("error", [])
    assert "does not fit into the model's context window" in (result.error or "")
    refused = ScriptedModel([Turn(error=Failure(kind="context"))] * 20)
    result = await run(session, refused, "Or this?")
    assert "does not fit" in (result.error or "")
    assert len(refused.requests) < 20
    assert (await run(session, ScriptedModel(["Here."], context_window=4_000), "And this?")).text == "Here."


async def test_tools_that_alone_do_not_fit_end_the_run_with_a_sentence(session: Session, tmp_path: Path) -> None:
    model = ScriptedModel(["Never."], context_window=2_000)
    result = await run(session, model, "Hello", tools=builtin_tools(tmp_path))
    assert result.reason == "error"
    assert "does not fit" in (result.error or "")


async def test_after_a_compaction_the_block_is_the_current_one_and_stands_once(session: Session) -> None:
    session.write([{"content": "A"}])

    def edited(messages: object, request: object) -> Turn:
        session.update("t1", content="A, edited")
        return Turn(error=Failure(kind="context"))

    model = ScriptedModel(
        [
            *[calling("look", at=f"{number}" * 3_000) for number in range(6)],
            edited,
            "Done.",
        ]
    )
    await run(session, model, max_nudges=0, remind_after=50)
    assert len(model.requests[-1].messages) < len(model.requests[-2].messages)
    assert "".join(texts(model.requests[-1].messages)).count("<todo-list>") == 1
    assert "[ ] t1: A, edited\n" in added(model.requests[-1])


# real providers


@pytest.mark.parametrize("provider", ["openai", "compatible", "anthropic", "google"])
async def test_only_the_loop_asks_a_provider_again(session: Session, loopback: Loopback, provider: str) -> None:
    loopback.fail(500)
    loopback.headers["retry-after"] = "0"
    result = await run(session, made(provider, loopback.url), retries=1)
    assert result.reason == "error"
    assert len(loopback.paths) == 2
    assert [error.retry_in is None for error in facts(session, RunError)] == [False, True]


@pytest.mark.parametrize("status", [401, 404])
async def test_a_provider_that_refuses_is_asked_once(session: Session, loopback: Loopback, status: int) -> None:
    loopback.fail(status)
    result = await run(session, "compatible:m", base_url=loopback.url)
    assert (result.reason, len(loopback.paths)) == ("error", 1)


async def test_a_model_by_name_streams_and_counts(session: Session, loopback: Loopback) -> None:
    heard: list[str] = []

    def on_event(event: Event) -> None:
        if isinstance(event.data, TextDelta):
            heard.append(event.data.text)

    result = await run(session, "compatible:m", base_url=loopback.url, on_event=on_event, tools=[look])
    assert (result.text, result.input_tokens, result.output_tokens, result.cost) == ("Hello you", 7, 2, None)
    assert "".join(heard) == "Hello you"
    [body] = loopback.bodies
    assert body["messages"][0] == {"role": "system", "content": "Work."}
    assert body["tools"][0]["function"]["name"] == "look"


async def test_a_connection_that_breaks_off_is_made_again(session: Session, loopback: Loopback) -> None:
    loopback.behaviour = "break off"

    def on_event(event: Event) -> None:
        if isinstance(event.data, RunError):
            loopback.behaviour = "answer"

    result = await run(session, "compatible:m", base_url=loopback.url, on_event=on_event)
    assert (result.text, len(loopback.paths)) == ("Hello you", 2)
    assert len(facts(session, MessageAdded)) == 2


@pytest.mark.parametrize("by_name", [True, False])
async def test_a_provider_that_never_answers_does_not_keep_a_run_from_being_stopped(
    session: Session, loopback: Loopback, by_name: bool
) -> None:
    loopback.behaviour = "hang"
    model = "compatible:m" if by_name else made("compatible", loopback.url)
    work = asyncio.create_task(run(session, model, base_url=loopback.url if by_name else None))
    await until(lambda: loopback.paths)
    session.stop_run()
    assert (await asyncio.wait_for(work, BOUND / 3)).reason == "cancelled"
    assert [end.reason for end in facts(session, RunFinished)] == ["cancelled"]
