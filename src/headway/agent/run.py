"""`run_loop`: puts a run together, watches over it, and ends it in order, however it ends."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_ai.messages import ModelRequest, ModelResponse, UserPromptPart

from headway.agent.budget import Budget
from headway.agent.check_approvals import CheckApprovals
from headway.agent.compaction import to_headway_message
from headway.agent.config import LoopConfig, Reason, RunResult
from headway.agent.conversation import Conversation, to_stored_message
from headway.agent.loop import Loop
from headway.agent.model_requests import ModelRequests
from headway.agent.models import context_window, resolve_model, turn_off_client_retries
from headway.agent.prompt import add_plan_mode, instructions
from headway.agent.questions import LoggedQuestions
from headway.agent.request_builder import RequestBuilder
from headway.agent.run_checks import RunChecks
from headway.agent.server_windows import ask_for_window, assumed_window
from headway.agent.streaming_client import StreamingClient
from headway.agent.tool_runner import ToolRunner
from headway.core.clock import format_local_time, now
from headway.core.errors import HeadwayError, RunRefused, StoreError
from headway.core.logs import logger
from headway.core.run_events import MessageAdded, RunError
from headway.core.text import sanitize_for_display, to_storable
from headway.planner.planner import Planner
from headway.planner.recorder import Recorder
from headway.planner.run import LimitReached, PlannerRun
from headway.project import project_folder_of
from headway.tools.approvals import Approvals, Ask
from headway.tools.checks.run_check import CheckRunner
from headway.tools.executor import Executor
from headway.tools.shell.bash import Bash
from headway.tools.todos import resolve_tools
from headway.views.spoken_words import add_date

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from headway.core.events import Event
    from headway.session import Session
    from headway.tools.base import Tool
    from headway.tools.functions import Function
    from headway.tools.limits import Limits

T = TypeVar("T")
_HALT = 0.8
"""Seconds that what is under way gets to end itself; a person who stops a run waits no longer."""
_DELIVERY = 2.0
"""Seconds that listeners get at the end for what they have not heard yet."""
_GO_ON = "(Continue where you were interrupted.)"


async def run_loop(
    session: Session,
    task: str | None = None,
    *,
    model: str | Model,
    tools: Iterable[Tool[Any] | Function] | None = None,
    approvals: Approvals | None = None,
    on_event: Callable[[Event], object] | None = None,
    config: LoopConfig | None = None,
    limits: Limits | None = None,
    base_url: str | None = None,
    project: str | os.PathLike[str] | None = None,
    planning: bool | None = None,
    new_conversation: bool = False,
    variables: Mapping[str, str] | None = None,
    run_checks: bool = True,
) -> RunResult:
    """Have the model work on a task, with the session's list, until there is a reason to end.

    A task continues the session's conversation; with `new_conversation` the model is sent nothing of it, and the list
    alone goes on. Without a task, the conversation goes on where it was. `tools` are the built-in ones unless given;
    `approvals` says what they may do without asking (default: nothing that needs it); `planning` turns plan mode on or
    off, which else is as the session has it; `variables` are set for commands; with `run_checks` Headway runs a todo's
    check before the model may complete it. Whatever goes wrong on the way is the result's `reason` and `error`; what
    cannot even begin raises a `HeadwayError`. Being cancelled ends the run within a second and goes through.
    """
    _check_arguments(session, model, approvals, on_event, config)
    config = config or LoopConfig()
    folder = os.path.abspath(project or project_folder_of(session) or ".")
    asked = resolve_model(model, base_url=base_url)
    approvals = approvals or Approvals()
    named = model if isinstance(model, str) else asked.model_id
    recorder = PlannerRun(Planner(session, config), task or _GO_ON, named)
    recorder.call_later = asyncio.get_running_loop().call_later
    ask = LoggedQuestions(recorder, approvals.ask) if approvals.ask else None
    executor = Executor(
        resolve_tools(tools, config.todo_tools, folder, config.dialect_tools),
        session,
        project=folder,
        approvals=approvals,
        limits=limits,
        on_output=lambda call_id, text: recorder.publish_live(text, "output", call_id),
        ask=ask,
        variables=variables,
    )
    if new_conversation and task is None:
        raise HeadwayError("A new conversation needs a task; say what to do.")
    first = _first_messages(session, task, is_new=new_conversation or session.state.runs.get(session.agent_id) is None)
    end_delivery = session.log.deliver_in_background()
    unsubscribe = session.subscribe(to_thread_listener(on_event), to_the_end=_DELIVERY) if on_event else lambda: None
    try:
        recorder.begin(
            task or _GO_ON,
            named,
            config.max_rounds,
            [MessageAdded(message=to_stored_message(message, recorder.redact)) for message in first],
            require_evidence=config.require_evidence,
            new_conversation=new_conversation,
            mode=str(approvals.mode),
        )
        if planning is not None:
            session.set_plan_mode(planning)
        client = StreamingClient(asked, apart=isinstance(model, str) and asked.base_url is not None)
        # A model that was passed may be in use elsewhere: its client is left as it is.
        retries_off = isinstance(model, str) and turn_off_client_retries(asked)
        make_instructions = _make_instructions(config, folder)
        checks = _make_checks(session, folder, executor, config, limits, ask) if run_checks else None
        try:
            return await _run_supervised(
                recorder, first, client, asked, executor, make_instructions, config, checks, retries_off=retries_off
            )
        finally:
            if checks is not None:
                checks.end()
    finally:
        # In a thread: a listener may have to run on this loop to hear the rest.
        await asyncio.shield(asyncio.to_thread(_finish_delivery, end_delivery, unsubscribe))


def _check_arguments(session: object, model: object, approvals: object, on_event: object, config: object) -> None:
    """Raise a sentence for what cannot be meant; what is typed wrong shows up late otherwise."""
    from pydantic_ai.models import Model

    wanted: tuple[tuple[str, object, bool, str], ...] = (
        ("session", session, hasattr(session, "todo_list"), "a session from headway.open"),
        ("model", model, isinstance(model, str | Model), "a `provider:name` or a pydantic-ai model"),
        ("approvals", approvals, approvals is None or isinstance(approvals, Approvals), "an Approvals object"),
        ("on_event", on_event, on_event is None or callable(on_event), "a function"),
        ("config", config, config is None or isinstance(config, LoopConfig), "a LoopConfig"),
    )
    for name, value, fits, what in wanted:
        if not fits:
            raise HeadwayError(f"`{name}` must be {what}, not '{sanitize_for_display(value)}'.")


def _make_checks(
    session: Session, folder: str, executor: Executor, config: LoopConfig, limits: Limits | None, ask: Ask | None
) -> RunChecks:
    bash = next((tool for tool in executor.tools if isinstance(tool, Bash)), None)
    env, sandbox = (bash.env, bash.sandbox) if bash is not None else ((), None)
    approvals = CheckApprovals(folder, executor.approvals, ask=ask)
    runner = CheckRunner(folder, session, limits, env, sandbox, approvals.is_approved)
    return RunChecks(session, folder, runner, approvals, config.verify_tries)


def _make_instructions(config: LoopConfig, folder: str) -> Callable[[bool], str]:
    """Return what the model is told at the beginning, in plan mode or not."""

    def make_instructions(planning: bool) -> str:
        own = config.instructions
        if own is None:
            return instructions(
                folder,
                todo_tools=config.todo_tools,
                tracking=config.tracking_in_force,
                planning=planning,
                writers=config.writers,
            )
        return add_plan_mode(own) if planning else own

    return make_instructions


def _first_messages(session: Session, task: str | None, *, is_new: bool) -> list[ModelRequest]:
    """Return what a run begins with: the user's words, in a new conversation with the date; or a word to go on if the
    model spoke last."""
    if task is not None:
        if not task.strip():
            raise HeadwayError("The task is empty; say what to do.")
        words = to_storable(task)
        return [ModelRequest([UserPromptPart(add_date(words, format_local_time(now())[:10]) if is_new else words)])]
    before = Conversation.load(session).messages
    if not before:
        raise HeadwayError("This session has no conversation to continue; say what to do.")
    return [to_headway_message(_GO_ON)] if isinstance(before[-1], ModelResponse) else []


def _load_conversation(session: Session, first: list[ModelRequest]) -> Conversation:
    """What was said before, and now the user's words as they are: in the log they are without keys and tokens."""
    conversation = Conversation.load(session)
    if first:
        last = conversation.messages[-1]
        assert isinstance(last, ModelRequest)
        conversation.messages[-1] = replace(last, parts=[*last.parts[:-1], *first[-1].parts])
    return conversation


def to_thread_listener(on_event: Callable[[Event], object]) -> Callable[[Event], None]:
    """The listener as the thread calls it that delivers: one event after the other, coroutines on the caller's loop."""
    loop = asyncio.get_running_loop()

    def tell(event: Event) -> None:
        answer = on_event(event)
        if inspect.iscoroutine(answer):
            if loop.is_closed():
                answer.close()
                return
            asyncio.run_coroutine_threadsafe(answer, loop).result()
        else:
            with suppress(RuntimeError):  # the loop is gone
                loop.call_soon_threadsafe(_do_nothing)  # a listener that touched the loop need not know of threads

    return tell


def _finish_delivery(end_delivery: Callable[[float], None], unsubscribe: Callable[[], None]) -> None:
    deadline = time.monotonic() + _DELIVERY
    unsubscribe()
    end_delivery(max(deadline - time.monotonic(), 0))


def _do_nothing() -> None:
    pass


async def _run_supervised(
    recorder: PlannerRun,
    first: list[ModelRequest],
    client: StreamingClient,
    model: Model,
    executor: Executor,
    make_instructions: Callable[[bool], str],
    config: LoopConfig,
    checks: RunChecks | None,
    *,
    retries_off: bool,
) -> RunResult:
    """Run the loop; end it when it is over, when a person wants it, or when it is cancelled."""
    calls = ToolRunner(executor, recorder, checks)
    loop: Loop | None = None
    reason, error = Reason.ERROR, None
    failure: HeadwayError | None = None
    connections = AsyncExitStack()
    try:
        await connections.enter_async_context(client)
        if checks is not None:
            await checks.begin()
        budget = await _run_until_stopped(_find_budget(model, config), recorder)
        if budget is None:
            reason = Reason.CANCELLED
        else:
            requests = ModelRequests(model, client, recorder, budget, config, retries_off=retries_off)
            builder = RequestBuilder(make_instructions, executor, config.inject, model)
            conversation = _load_conversation(recorder.session, first)
            loop = Loop(config, recorder, conversation, builder, requests, calls)
            reason = await _run_until_stopped(loop.run(), recorder) or Reason.CANCELLED
    except HeadwayError as ended_by:
        failure, error = ended_by, str(ended_by)
        reason = Reason(failure.limit) if isinstance(failure, LimitReached) else Reason.ERROR
        with suppress(StoreError, RunRefused):
            recorder.record(RunError(message=error))
    except asyncio.CancelledError:
        reason = Reason.CANCELLED
        raise
    except BaseException as mistake:
        error = (
            f"Headway itself failed ({type(mistake).__name__}: "
            f"{sanitize_for_display(recorder.redact(str(mistake)), 200)})."
        )
        raise
    finally:
        if (unwritten := _end_run(recorder, reason, error)) is not None:
            reason, error = Reason.ERROR, error or unwritten
        await _close_connections(connections)
    return RunResult(
        recorder.run_id,
        reason,
        rounds=recorder.round,
        text=loop.text if loop else "",
        error=error,
        failure=failure,
        tool_calls=recorder.tool_calls,
        files=tuple(calls.files),
        input_tokens=recorder.input_tokens,
        output_tokens=recorder.output_tokens,
        cache_read_tokens=recorder.cache_read_tokens,
        cost=recorder.cost,
    )


async def _close_connections(connections: AsyncExitStack) -> None:
    """Leave the model. What goes wrong with it now changes nothing about the run."""
    try:
        await connections.aclose()
    except Exception:
        logger().exception("The connections to the model could not be closed.")


def _end_run(recorder: Recorder, reason: Reason, error: str | None) -> str | None:
    """End the run; return why that could not be written, or None."""
    try:
        recorder.end(reason, error)
    except StoreError as failure:
        return str(failure)
    return None


async def _find_budget(model: Model, config: LoopConfig) -> Budget:
    """Return what fits: as it is set, else as it is known, else as the server says, else as it is assumed."""
    window = config.context_window or context_window(model) or await ask_for_window(model)
    return Budget(window or assumed_window(model), config.reply_tokens, is_assumed=window is None)


async def _run_until_stopped(working: Coroutine[Any, Any, T], recorder: Recorder) -> T | None:
    """Return what the work comes to; None if a person stopped the run before."""
    work = asyncio.create_task(working, name="headway run")
    stop = asyncio.create_task(recorder.wait_until(lambda run: run.stopping), name="headway stop")
    try:
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            return work.result()
        stop.result()  # raises if the run was taken away
        return None
    finally:
        stop.cancel()
        await _halt(work)


async def _halt(work: asyncio.Task[Any]) -> None:
    """End what is under way; what does not end in time is left to itself."""
    if not work.done():
        work.cancel()
        await asyncio.wait({work}, timeout=_HALT)
    work.add_done_callback(_retrieve_error)


def _retrieve_error(work: asyncio.Task[Any]) -> None:
    if not work.cancelled():
        work.exception()  # asked for, so that nothing complains that nobody did
