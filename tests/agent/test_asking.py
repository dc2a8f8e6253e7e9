"""How a model is asked: in pieces and in order, on this loop or apart from it, and never for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, Self, TypeVar

import pytest
from pydantic_ai import exceptions
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.settings import ModelSettings

from headway.agent import explain
from headway.agent.streaming_client import StreamingClient, ignore_event
from headway.core.errors import ModelBusy
from headway.testing import Call, ScriptedModel, Turn

from .asking import made
from .loopback import Loopback, silent_server

T = TypeVar("T")
Step = Callable[[], Awaitable[object]]
Events = list[ModelResponseStreamEvent]
OnEvent = Callable[[ModelResponseStreamEvent], None]
passing = partial(asyncio.sleep, 0)
# The loopback server closes each connection without saying so before; a request on it would be lost now and then.
SETTINGS = ModelSettings(max_retries=0, extra_headers={"Connection": "close"})
WORDS = "one two three four five six seven eight nine ten"


@pytest.fixture(params=[False, True], ids=["here", "apart"])
def apart(request: pytest.FixtureRequest) -> bool:
    return request.param


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    for thread in threading.enumerate():
        if thread.name == "headway-model":
            thread.join(20)
            assert not thread.is_alive(), "the thread of a model did not end"


async def ask(
    asker: StreamingClient, on_event: OnEvent = ignore_event, *, text: str = "Hello", streamed: bool = True
) -> ModelResponse:
    messages: list[ModelMessage] = [ModelRequest.user_text_prompt(text)]
    return await bounded(asker.ask(messages, SETTINGS, ModelRequestParameters(), on_event, streamed=streamed))


async def bounded(waited_for: Awaitable[T]) -> T:
    """Fails instead of hanging; not with a `TimeoutError`, which some tests expect."""
    limit = asyncio.timeout(20)
    try:
        async with limit:
            return await waited_for
    except TimeoutError:
        assert not limit.expired(), "it hung"
        raise


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=20)
    assert done, "it hung"
    assert task.cancelled()


def text_of(events: Events) -> str:
    text = ""
    for event in events:
        if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
            text += event.part.content
        if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
            text += event.delta.content_delta
    return text


class Custom(Model):
    """A model of the tests, which does in a request what it is given."""

    def __init__(self, does: Step | None = None) -> None:
        super().__init__()
        self.does = does

    @property
    def model_name(self) -> str:
        return "custom"

    @property
    def system(self) -> str:
        return "custom"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        if self.does:
            await self.does()
        return ModelResponse([TextPart("Whole")])


class Stuck:
    """Waits in a model until the test is over."""

    def __init__(self) -> None:
        self.begun, self.over = threading.Event(), threading.Event()

    async def blocking(self) -> None:
        self.begun.set()
        self.over.wait(60)

    async def waiting(self) -> None:
        self.begun.set()
        while not self.over.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    async def has_begun(self) -> None:
        assert await asyncio.to_thread(self.begun.wait, 20)


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    stuck = Stuck()
    yield stuck
    stuck.over.set()


async def test_an_answer_comes_in_pieces_that_are_all_there_before_it_is_returned(apart: bool) -> None:
    script = [Turn(WORDS, thinking="Let me see", calls=[Call("ls", {"path": "."}), Call("pwd")])]
    events: Events = []
    async with StreamingClient(ScriptedModel(script), apart=apart) as asker:
        answer = await ask(asker, events.append)
        assert text_of(events) == answer.text == WORDS
    assert [call.tool_name for call in answer.tool_calls] == ["ls", "pwd"]
    started = [event.part.part_kind for event in events if isinstance(event, PartStartEvent)]
    assert started == ["thinking", "text", "tool-call", "tool-call"]


async def test_the_events_are_the_same_and_in_the_same_order_here_and_apart() -> None:
    async def events(apart: bool) -> Events:
        found: Events = []
        turn = Turn(WORDS * 50, calls=[Call("ls", {"path": "a" * 500})])
        async with StreamingClient(ScriptedModel([turn]), apart=apart) as asker:
            await ask(asker, found.append)
        return found

    here = await events(apart=False)
    assert len(here) > 400
    assert here == await events(apart=True)


async def test_events_are_passed_on_where_the_model_was_asked(apart: bool) -> None:
    where: set[tuple[int, asyncio.AbstractEventLoop]] = set()
    async with StreamingClient(ScriptedModel([WORDS]), apart=apart) as asker:
        await ask(asker, lambda _: where.add((threading.get_ident(), asyncio.get_running_loop())))
    assert where == {(threading.get_ident(), asyncio.get_running_loop())}


async def test_only_a_model_apart_runs_in_another_thread(apart: bool) -> None:
    threads: set[int] = set()
    seen: list[str] = []
    variable = ContextVar("variable", default="not set")

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        threads.add(threading.get_ident())
        seen.append(variable.get())
        yield "Hello"

    variable.set("set by the caller")
    async with StreamingClient(FunctionModel(stream_function=stream), apart=apart) as asker:
        await ask(asker)
    assert (threads == {threading.get_ident()}) is not apart
    assert seen == ["set by the caller"]


async def test_the_model_is_asked_with_just_what_was_given(apart: bool) -> None:
    model = ScriptedModel(["Hello"])
    messages: list[ModelMessage] = [ModelRequest.user_text_prompt("Hi")]
    parameters = ModelRequestParameters(instruction_parts=[InstructionPart(content="Be kind.")])
    async with StreamingClient(model, apart=apart) as asker:
        await bounded(asker.ask(messages, {"temperature": 0.5}, parameters))
    [request] = model.requests
    assert request.messages == messages
    assert request.settings == {"temperature": 0.5}
    assert request.parameters is parameters
    assert request.instructions == "Be kind."


async def test_an_answer_can_be_asked_for_whole(apart: bool) -> None:
    model = ScriptedModel(["Hello"])
    events: Events = []
    async with StreamingClient(model, apart=apart) as asker:
        answer = await ask(asker, events.append, streamed=False)
    assert (answer.text, events, model.requests[0].streamed) == ("Hello", [], False)


async def test_a_model_that_cannot_stream_answers_whole(apart: bool) -> None:
    def function(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse([TextPart("Whole")])

    events: Events = []
    for model in (Custom(), FunctionModel(function)):
        async with StreamingClient(model, apart=apart) as asker:
            assert (await ask(asker, events.append)).text == "Whole"
    assert events == []


async def test_a_stream_that_ends_in_not_implemented_is_not_asked_for_again(apart: bool) -> None:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "Half an "
        raise NotImplementedError("of the model's own")

    def function(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise AssertionError("asked again")

    events: Events = []
    async with StreamingClient(FunctionModel(function, stream_function=stream), apart=apart) as asker:
        with pytest.raises(NotImplementedError, match="of the model's own"):
            await ask(asker, events.append)
    assert text_of(events) == "Half an "


async def test_test_models_can_be_asked(apart: bool) -> None:
    async with StreamingClient(TestModel(custom_output_text="Hello you"), apart=apart) as asker:
        events: Events = []
        assert (await ask(asker, events.append)).text == text_of(events) == "Hello you"


async def test_what_the_model_raises_is_raised_after_the_events_before_it(apart: bool) -> None:
    script = [{"error": {"status": 429}}, {"error": {"after": "Half an ", "kind": "connection"}}, "Yes"]
    events: Events = []
    async with StreamingClient(ScriptedModel(script), apart=apart) as asker:
        with pytest.raises(exceptions.ModelRateLimitError):
            await ask(asker, events.append)
        assert events == []
        with pytest.raises(exceptions.ModelConnectionError):
            await ask(asker, events.append)
        assert text_of(events) == "Half an "
        assert (await ask(asker)).text == "Yes"


@pytest.mark.parametrize("kind", [TimeoutError, SystemExit, KeyboardInterrupt, StopIteration, GeneratorExit])
async def test_nothing_that_the_model_raises_is_lost(apart: bool, kind: type[BaseException]) -> None:
    async def fail() -> None:
        if model.does is fail:
            model.does = None
            raise error

    error = kind("from inside")
    expected = RuntimeError if kind is StopIteration else kind  # a coroutine cannot raise it
    model = Custom(fail)
    async with StreamingClient(model, apart=apart) as asker:
        with pytest.raises(expected) as raised:
            await ask(asker)
        assert error in (raised.value, raised.value.__cause__)
        assert (await ask(asker)).text == "Whole"


async def test_a_thread_that_is_ended_from_inside_says_so() -> None:
    def leave() -> None:
        raise SystemExit("from a callback")

    async def fail() -> None:
        asyncio.get_running_loop().call_soon(leave)
        await asyncio.sleep(60)

    asker = await StreamingClient(Custom(fail), apart=True).__aenter__()
    for attempt in (ask(asker), ask(asker), asker.__aexit__(None, None, None)):
        with pytest.raises(SystemExit, match="from a callback"):
            await attempt


async def test_an_exit_of_a_request_that_no_one_waits_for_is_not_lost(stuck: Stuck) -> None:
    async def exit_late() -> None:
        await stuck.waiting()
        raise SystemExit("late")

    with pytest.raises(SystemExit, match="late"):
        async with StreamingClient(Custom(exit_late), apart=True) as asker:
            task = asyncio.create_task(ask(asker))
            await stuck.has_begun()
            await cancelled(task)
            stuck.over.set()


async def test_what_on_event_raises_ends_the_request(apart: bool) -> None:
    def refuse(event: ModelResponseStreamEvent) -> None:
        seen.append(event)
        raise ValueError("not this one")

    seen: Events = []
    async with StreamingClient(ScriptedModel([WORDS, "Yes"]), apart=apart) as asker:
        with pytest.raises(ValueError, match="not this one"):
            await ask(asker, refuse)
        assert (await ask(asker)).text == "Yes"
    assert len(seen) == 1


async def test_a_cancelled_request_says_nothing_more_and_the_next_one_is_answered(apart: bool) -> None:
    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "Yes"
        while not cut_off.is_set():
            await asyncio.sleep(0.001)
            yield ", yes"

    events: Events = []
    cut_off = threading.Event()
    async with StreamingClient(FunctionModel(stream_function=stream), apart=apart) as asker:
        task = asyncio.create_task(ask(asker, events.append))
        async with asyncio.timeout(20):
            while len(events) < 5:
                await asyncio.sleep(0.001)
        await cancelled(task)
        heard = len(events)
        cut_off.set()
        assert (await ask(asker)).text == "Yes"
    assert len(events) == heard


async def test_a_request_can_be_cancelled_before_it_has_begun(apart: bool) -> None:
    async with StreamingClient(ScriptedModel(["Yes", "Yes"]), apart=apart) as asker:
        task = asyncio.create_task(ask(asker))
        await asyncio.sleep(0)
        await cancelled(task)
        assert (await ask(asker)).text == "Yes"


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_model_that_falls_silent_is_given_up(apart: bool, streamed: bool) -> None:
    model = ScriptedModel([Turn("Hello you", delay=100), "Yes"])
    async with StreamingClient(model, apart=apart, stall_seconds=0.1) as asker:
        with pytest.raises(TimeoutError) as stalled:
            await ask(asker, streamed=streamed)
    async with StreamingClient(model, apart=apart) as asker:
        assert (await ask(asker)).text == "Yes"
    assert isinstance(explain(stalled.value, model), ModelBusy)


async def test_an_answer_may_take_long_while_it_keeps_coming() -> None:
    async def answer(apart: bool) -> str | None:
        model = ScriptedModel([Turn(WORDS * 3, delay=2.2)])
        async with StreamingClient(model, apart=apart, stall_seconds=2) as asker:
            return (await ask(asker)).text

    assert await asyncio.gather(answer(apart=False), answer(apart=True)) == [WORDS * 3] * 2


async def test_a_model_can_be_asked_several_things_at_once(apart: bool) -> None:
    texts = [f"question {at:02}" for at in range(20)]
    model = ScriptedModel(conversations={text: [Turn(f"{text}: {WORDS}", delay=0.1)] for text in texts})
    async with StreamingClient(model, apart=apart) as asker:
        answers = await asyncio.gather(*(ask(asker, text=text) for text in texts))
    assert [answer.text for answer in answers] == [f"{text}: {WORDS}" for text in texts]


async def test_an_asker_can_be_left_and_entered_again(apart: bool, loopback: Loopback) -> None:
    asker = StreamingClient(made("openai", loopback.url), apart=apart)
    for _ in range(3):
        async with asker:
            with pytest.raises(RuntimeError, match="is in use"):
                await asker.__aenter__()
            assert (await ask(asker)).text == "Hello you"
        with pytest.raises(RuntimeError, match="inside 'async with"):
            await ask(asker)


class Door(Custom):
    """A model that is entered and left in its own way."""

    def __init__(self, *, inward: Step = passing, outward: Step = passing) -> None:
        super().__init__()
        self.inward, self.outward = inward, outward

    async def __aenter__(self) -> Self:
        await self.inward()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.outward()


async def test_a_model_is_entered_and_left_in_the_thread_that_asks_it(apart: bool) -> None:
    async def note() -> None:
        threads.append(threading.get_ident())

    threads: list[int] = []
    async with StreamingClient(Door(inward=note, outward=note), apart=apart):
        assert len(threads) == 1
    assert threads[0] == threads[1]
    assert (threads[0] == threading.get_ident()) is not apart


@pytest.mark.parametrize("kind", [ValueError, SystemExit])
async def test_a_model_that_cannot_be_entered_or_left_says_why(apart: bool, kind: type[BaseException]) -> None:
    async def refuse() -> None:
        raise kind("shut")

    with pytest.raises(kind, match="shut"):
        await bounded(StreamingClient(Door(inward=refuse), apart=apart).__aenter__())
    asker = await StreamingClient(Door(outward=refuse), apart=apart).__aenter__()
    with pytest.raises(kind, match="shut"):
        await bounded(asker.__aexit__(None, None, None))


@pytest.fixture
def left_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that is stuck is not waited for as long as usual."""
    monkeypatch.setattr("headway.agent.streaming_client._PARTING_SECONDS", 0.1)


async def test_entering_can_be_cancelled(stuck: Stuck) -> None:
    asker = StreamingClient(Door(inward=stuck.waiting), apart=True)
    task = asyncio.create_task(asker.__aenter__())
    await stuck.has_begun()
    await cancelled(task)
    with pytest.raises(RuntimeError, match="inside 'async with"):
        await ask(asker)


@pytest.mark.usefixtures("left_soon")
async def test_cancelling_does_not_wait_for_a_model_that_will_not_stop(stuck: Stuck) -> None:
    async with StreamingClient(Custom(stuck.waiting), apart=True) as asker:
        task = asyncio.create_task(ask(asker))
        await stuck.has_begun()
        await cancelled(task)


@pytest.mark.usefixtures("left_soon")
async def test_leaving_does_not_wait_for_a_thread_that_is_stuck(stuck: Stuck) -> None:
    async with StreamingClient(Custom(stuck.blocking), apart=True) as asker:
        task = asyncio.create_task(ask(asker))
        await stuck.has_begun()
    with pytest.raises(RuntimeError, match="was closed during a request"):
        await bounded(task)


@pytest.mark.usefixtures("left_soon")
async def test_leaving_does_not_wait_for_a_model_that_cannot_be_left(stuck: Stuck) -> None:
    asker = await StreamingClient(Door(outward=stuck.waiting), apart=True).__aenter__()
    await bounded(asker.__aexit__(None, None, None))


async def test_other_work_goes_on_while_a_model_apart_computes() -> None:
    async def compute() -> None:
        for _ in range(5):
            assert ticked.wait(20), "nothing else ran meanwhile"
            ticked.clear()

    async def tick() -> None:
        while True:
            await asyncio.sleep(0.005)
            ticked.set()

    ticked = threading.Event()
    ticker = asyncio.create_task(tick())
    async with StreamingClient(Custom(compute), apart=True) as asker:
        assert (await ask(asker)).text == "Whole"
    ticker.cancel()


def long_history(rounds: int = 1_000) -> list[ModelMessage]:
    messages: list[ModelMessage] = [ModelRequest.user_text_prompt("Hello")]
    for at in range(rounds):
        messages += [
            ModelResponse([TextPart(f"Step {at}"), ToolCallPart("read", {"path": f"src/{at}.py"}, f"call-{at}")]),
            ModelRequest([ToolReturnPart("read", "some text\n" * 30, f"call-{at}")]),
        ]
    return messages


async def test_a_long_history_does_not_hold_up_the_caller(loopback: Loopback) -> None:
    async def tick() -> None:
        nonlocal ticks
        while not loopback.bodies:
            await asyncio.sleep(0.005)
            ticks += 1

    ticks = 0
    history = long_history()
    async with StreamingClient(made("openai", loopback.url), apart=True) as asker:
        ticker = asyncio.create_task(tick())
        answer = await bounded(asker.ask(history, SETTINGS, ModelRequestParameters()))
        await bounded(ticker)
    assert answer.text == "Hello you"
    assert len(loopback.bodies[0]["messages"]) == len(history)
    assert ticks > 5


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_server_answers(apart: bool, streamed: bool, loopback: Loopback) -> None:
    events: Events = []
    async with StreamingClient(made("openai", loopback.url), apart=apart) as asker:
        for _ in range(3):
            assert (await ask(asker, events.append, streamed=streamed)).text == "Hello you"
    assert text_of(events) == ("Hello you" * 3 if streamed else "")
    assert [body.get("stream", False) for body in loopback.bodies] == [streamed] * 3


async def test_an_answer_that_breaks_off_leaves_what_came(apart: bool, loopback: Loopback) -> None:
    loopback.behaviour = "break off"
    events: Events = []
    model = made("openai", loopback.url)
    async with StreamingClient(model, apart=apart) as asker:
        with pytest.raises(exceptions.ModelConnectionError) as broken:
            await ask(asker, events.append)
        assert text_of(events) == "Half an "
        assert isinstance(explain(broken.value, model), ModelBusy)
        loopback.behaviour = "answer"
        assert (await ask(asker)).text == "Hello you"


async def test_a_status_is_raised_as_pydantic_ai_has_it(apart: bool, loopback: Loopback) -> None:
    loopback.fail(401)
    async with StreamingClient(made("openai", loopback.url), apart=apart) as asker:
        with pytest.raises(exceptions.ModelAuthenticationError):
            await ask(asker)


async def test_a_server_that_is_silent_can_be_left_at_any_time(apart: bool, loopback: Loopback) -> None:
    loopback.behaviour = "hang"
    async with StreamingClient(made("openai", loopback.url), apart=apart) as asker:
        for _ in range(3):
            asked = len(loopback.bodies)
            task = asyncio.create_task(ask(asker))
            async with asyncio.timeout(20):
                while len(loopback.bodies) == asked:
                    await asyncio.sleep(0.01)
            await cancelled(task)
        loopback.behaviour = "answer"
        assert (await ask(asker)).text == "Hello you"


async def test_a_server_that_is_silent_is_given_up(apart: bool, loopback: Loopback) -> None:
    loopback.behaviour = "hang"
    async with StreamingClient(made("openai", loopback.url), apart=apart, stall_seconds=0.2) as asker:
        with pytest.raises(TimeoutError):
            await ask(asker)


async def test_a_cancelled_request_is_closed(apart: bool) -> None:
    async with silent_server() as (url, asked, closed), StreamingClient(made("openai", url), apart=apart) as asker:
        task = asyncio.create_task(ask(asker))
        await bounded(asked.wait())
        await cancelled(task)
        await bounded(closed.wait())


async def test_leaving_closes_what_is_still_asked() -> None:
    async with silent_server() as (url, asked, closed):
        async with StreamingClient(made("openai", url), apart=True) as asker:
            task = asyncio.create_task(ask(asker))
            await bounded(asked.wait())
        await bounded(closed.wait())
        with pytest.raises(RuntimeError, match="was closed"):
            await bounded(task)


async def test_two_servers_are_asked_at_once(apart: bool, loopback: Loopback) -> None:
    async with (
        silent_server() as (url, asked, _),
        StreamingClient(made("openai", url), apart=apart) as silent,
        StreamingClient(made("openai", loopback.url), apart=apart) as asker,
    ):
        task = asyncio.create_task(ask(silent))
        await bounded(asked.wait())
        answers = await asyncio.gather(*(ask(asker) for _ in range(5)))
        assert [answer.text for answer in answers] == ["Hello you"] * 5
        await cancelled(task)
