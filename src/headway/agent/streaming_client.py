"""How the agent loop asks a model: streamed, never for ever, and with a long history out of the way of other runs.

Above is the loop, below a pydantic-ai model. Failures pass through as the model raised them: `failures.py` words them,
and whether to ask again is the loop's to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, NoReturn, Self

if TYPE_CHECKING:
    from types import TracebackType

    from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponseStreamEvent
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

_PARTING_SECONDS = 1.0
"""How long leaving waits for the model's thread."""
_CLOSING_SECONDS = 0.5
"""How long the thread waits for requests that are being closed before it closes the connections under them."""


def ignore_event(event: ModelResponseStreamEvent) -> None:
    """For those who wait for the whole answer."""


class StreamingClient:
    """Asks one model, streamed. To be used inside `async with`, on the event loop that entered it.

    With `apart`, the model lives in a thread with an event loop of its own. While a long history is turned into a
    request, the page, the screen and other runs on the caller's loop would stand still: at round 300 for 155 ms with
    Google's library and 43 ms with Anthropic's, instead of 14 and 9 (`make bench`: "stall, Google"). That is for
    models that nobody else uses; connections of one that the caller made belong to the caller's loop.
    """

    def __init__(self, model: Model, *, apart: bool, stall_seconds: float = 300) -> None:
        """`stall_seconds` is how long a model may send nothing, also before its answer begins."""
        self._model = model
        self._apart = apart
        self._stall_seconds = stall_seconds
        self._entered = False
        self._thread: _ModelThread | None = None
        self._heard: dict[asyncio.Timeout, float] = {}
        """When the model was last heard from, for each question that it is asked."""
        self._timer: asyncio.TimerHandle | None = None
        """For all of them, since most are answered long before their time: set anew only when it goes off."""

    async def __aenter__(self) -> Self:
        if self._entered:
            raise RuntimeError("This client is in use; create another, or leave it first.")
        self._entered = True
        try:
            if self._apart:
                self._thread = await _ModelThread.start(self._model)
            else:
                await self._model.__aenter__()
        except BaseException:
            self._entered = False
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        thread, self._thread = self._thread, None
        if thread:
            await thread.end()
        else:
            await self._model.__aexit__(kind, error, trace)

    async def ask(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings,
        parameters: ModelRequestParameters,
        on_event: Callable[[ModelResponseStreamEvent], None] = ignore_event,
        *,
        streamed: bool = True,
    ) -> ModelResponse:
        """The model's answer; each event of it is passed to `on_event` before, in order and on the caller's loop.

        A model that cannot stream, or `streamed=False`, gives the answer without events. Raises what the model raises,
        and `TimeoutError` for a stall. It can be cancelled at any time; apart, the request is closed in the background.
        """
        if not self._entered:
            raise RuntimeError("Ask a model inside 'async with StreamingClient(…)'.")
        loop = asyncio.get_running_loop()
        question = _ModelCall(messages, settings, parameters, streamed)
        async with asyncio.timeout(None) as limit:

            def on_part(event: ModelResponseStreamEvent) -> None:
                self._heard[limit] = loop.time()
                on_event(event)

            self._heard[limit] = loop.time()
            if self._timer is None:
                self._timer = loop.call_later(self._stall_seconds, self._end_silent_requests, loop)
            try:
                if self._thread:
                    return await self._thread.ask(question, on_part)
                return await question.ask(self._model, on_part)
            finally:
                del self._heard[limit]

    def _end_silent_requests(self, loop: asyncio.AbstractEventLoop) -> None:
        """End what was not heard from for too long, and look again when the next one may be."""
        self._timer = None
        now = loop.time()
        due = {limit: at + self._stall_seconds for limit, at in self._heard.items() if not limit.expired()}
        for limit, when in due.items():
            if when <= now:
                limit.reschedule(now)
        if later := [when for when in due.values() if when > now]:
            self._timer = loop.call_at(min(later), self._end_silent_requests, loop)


@dataclass(frozen=True, slots=True)
class _ModelCall:
    messages: list[ModelMessage]
    settings: ModelSettings
    parameters: ModelRequestParameters
    streamed: bool

    async def ask(self, model: Model, on_event: Callable[[ModelResponseStreamEvent], None]) -> ModelResponse:
        """Return the answer. All of it happens on the loop that runs this."""
        # pydantic-ai's FunctionModel has such an attribute, and cannot stream when it is None.
        if self.streamed and getattr(model, "stream_function", ...) is not None:
            begun = False
            try:
                async with model.request_stream(self.messages, self.settings, self.parameters) as stream:
                    begun = True
                    async for event in stream:
                        on_event(event)
                    return stream.get()
            except NotImplementedError:
                if begun:
                    raise
        return await model.request(self.messages, self.settings, self.parameters)


class _PendingCall:
    """A question on its way to the model's thread and back. Only the asking loop touches it."""

    def __init__(self, on_event: Callable[[ModelResponseStreamEvent], None]) -> None:
        self._on_event = on_event
        self.outcome: asyncio.Future[ModelResponse | _Failure] = asyncio.get_running_loop().create_future()
        """Done as well when it was cancelled: what arrives later is dropped."""

    def take(self, events: list[ModelResponseStreamEvent]) -> None:
        if self.outcome.done():
            return
        try:
            for event in events:
                self._on_event(event)
        except BaseException as error:  # whoever asks gets it, as without a thread
            self.settle(_Failure(error))

    def settle(self, outcome: ModelResponse | _Failure) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


@dataclass(slots=True)
class _Failure:
    """An error as a value: a future does not take every exception, and reports those that no one fetched."""

    error: BaseException

    def reraise(self) -> NoReturn:
        try:
            raise self.error
        finally:
            # The error's traceback leads back to this object; kept here, it would keep the whole request in memory.
            del self.error


class _ModelThread:
    """One model in a thread with an event loop of its own, from entering the model to leaving it.

    `_here` is the loop that asks, `_there` the one in the thread. Each method belongs to one of them, and reaches the
    other with `_call_on_loop` and `_call_in_thread` only, which keep the order.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._here = asyncio.get_running_loop()
        self._there = asyncio.new_event_loop()
        # Here:
        self._entered: asyncio.Future[None] = self._here.create_future()
        self._ended: asyncio.Future[BaseException | None] = self._here.create_future()
        self._waiting: set[_PendingCall] = set()
        # There:
        self._over = asyncio.Event()
        self._tasks: dict[_PendingCall, asyncio.Task[None]] = {}

    def _call_in_thread(self, callback: Callable[..., object], *args: object) -> None:
        with suppress(RuntimeError):  # closed: then `_end` is on its way here, or was there
            self._there.call_soon_threadsafe(callback, *args)

    def _call_on_loop(self, callback: Callable[..., object], *args: object) -> None:
        with suppress(RuntimeError):  # closed: no one is left to be told
            self._here.call_soon_threadsafe(callback, *args)

    # Here, on the loop that asks.

    @classmethod
    async def start(cls, model: Model) -> Self:
        self = cls(model)
        Thread(target=self._run, name="headway-model", daemon=True).start()
        try:
            await asyncio.wait([self._entered, self._ended], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._call_in_thread(self._over.set)
            raise
        if self._ended.done():
            raise self._end_error()
        return self

    async def ask(self, question: _ModelCall, on_event: Callable[[ModelResponseStreamEvent], None]) -> ModelResponse:
        if self._ended.done():
            raise self._end_error()
        # The thread may still read the list when the caller, having cancelled, changes it.
        question = _ModelCall([*question.messages], question.settings, question.parameters, question.streamed)
        request = _PendingCall(on_event)
        self._waiting.add(request)
        self._call_in_thread(self._start, request, question)
        try:
            outcome = await request.outcome
        finally:
            self._waiting.discard(request)
            self._call_in_thread(self._stop, request)
        if isinstance(outcome, _Failure):
            outcome.reraise()
        return outcome

    async def end(self) -> None:
        """Leave the model. A thread that cannot be ended is left behind, and ends with the process at the latest."""
        for request in self._waiting:
            request.settle(_Failure(RuntimeError("The model was closed during a request.")))
        self._call_in_thread(self._over.set)
        await asyncio.wait([self._ended], timeout=_PARTING_SECONDS)
        if self._ended.done() and (error := self._ended.result()):
            raise error

    def _end(self, error: BaseException | None) -> None:
        self._ended.set_result(error)
        for request in self._waiting:
            request.settle(_Failure(self._end_error()))

    def _end_error(self) -> BaseException:
        return self._ended.result() or RuntimeError("The model's thread has ended.")

    # There, in the thread.

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._there) as runner:
                runner.run(self._serve_until_ended())
        except BaseException as error:  # also SystemExit: it is raised here, where it can end the program
            self._call_on_loop(self._end, error)
        else:
            self._call_on_loop(self._end, None)

    async def _serve_until_ended(self) -> None:
        async with self._model:
            self._call_on_loop(self._entered.set_result, None)
            await self._over.wait()
            for task in self._tasks.values():
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks.values(), timeout=_CLOSING_SECONDS)

    def _start(self, request: _PendingCall, question: _ModelCall) -> None:
        task = self._tasks[request] = self._there.create_task(self._serve(request, question))
        task.add_done_callback(lambda _: self._tasks.pop(request))

    def _stop(self, request: _PendingCall) -> None:
        if task := self._tasks.get(request):
            task.cancel()

    async def _serve(self, request: _PendingCall, question: _ModelCall) -> None:
        batch: list[ModelResponseStreamEvent] = []

        def hand_over() -> None:
            nonlocal batch
            if batch:
                self._call_on_loop(request.take, batch)
                batch = []

        def on_event(event: ModelResponseStreamEvent) -> None:
            # What arrives at once wakes the other loop once: when the model has nothing more and waits.
            if not batch:
                self._there.call_soon(hand_over)
            batch.append(event)

        try:
            response = await question.ask(self._model, on_event)
        except BaseException as error:  # whatever it is, it is raised where the model was asked
            cancelled = (task := asyncio.current_task()) and task.cancelling()
            if cancelled and not isinstance(error, Exception):
                raise  # no one waits for it: a cancellation ends here, and SystemExit is raised by `_run`
            hand_over()
            self._call_on_loop(request.settle, _Failure(error))
        else:
            hand_over()
            self._call_on_loop(request.settle, response)
