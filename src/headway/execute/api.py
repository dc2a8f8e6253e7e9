"""`execute` and `execute_all`: items of a session's list are worked on by a model until they are done."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from headway.agent.check_approvals import CheckApprovals
from headway.agent.config import LoopConfig
from headway.agent.models import resolve_model
from headway.agent.questions import LoggedQuestions
from headway.agent.run import to_thread_listener
from headway.core.clock import now
from headway.core.errors import HeadwayError, TodoNotFound
from headway.core.executions import refuse_unready
from headway.core.model import Status, Todo
from headway.core.text import sanitize_for_display
from headway.execute.attempt_run import AttemptSettings, Tools
from headway.execute.execution_checks import ExecutionChecks
from headway.execute.execution_run import ExecutionRun, list_blocked_by_execution
from headway.execute.finish_despite_cancel import finish_despite_cancel
from headway.execute.options import ExecutionEnding, ExecutionOptions, ExecutionResult, required_level
from headway.execute.recover_files import recover_before_execution
from headway.execute.thinning import thin_out_quietly
from headway.execute.workspaces import Workspaces, open_workspaces
from headway.planner.recorder import Recorder
from headway.project import project_folder_of
from headway.settings.model import Settings
from headway.tools.approvals import Approvals, check_mode
from headway.tools.checks.run_check import CheckRunner

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from headway.core.events import Event
    from headway.core.graph import WaitingTodo
    from headway.execute.checkpoint_rules import CheckpointRules
    from headway.session import Session
    from headway.tools.base import Tool
    from headway.tools.effects import Mode, ModeName
    from headway.tools.functions import Function
    from headway.tools.limits import Limits
    from headway.tools.sandbox.sandbox import Sandbox

_DELIVERY = 2.0
_DEFAULTS = Settings()
_TO_EXECUTE = " To execute an item, first set it to pending."


def next_todos(session: Session) -> tuple[list[Todo], list[WaitingTodo]]:
    """What can start now, and what cannot with the reason."""
    return session.next_todos()


@dataclass(frozen=True, slots=True)
class ExecutionSetup:
    """With what items are executed."""

    base_url: str | None = None
    """As in `run_loop`; so are `config`, `limits`, `project`, `on_event` and `approvals`."""
    config: LoopConfig = field(default_factory=LoopConfig)
    """What may be used is for all items together."""
    limits: Limits | None = None
    project: str | os.PathLike[str] | None = None
    on_event: Callable[[Event], object] | None = None
    approvals: Approvals = field(default_factory=Approvals)
    tools: Tools | Iterable[Tool[Any] | Function] | None = None
    """Makes the tools for a folder, since each attempt works in a worktree of its own; None: the built-in ones.
    Tools that belong to no folder may be given as they are."""
    linked: Sequence[str] | None = None
    """Ignored folders that work needs, to be linked into the worktrees."""
    checkpoints: CheckpointRules | None = None
    """What checkpoints leave out, and how long they are kept."""
    verify: str | None = None
    """The project's check, for items without one of their own. It comes from settings and is not asked about."""
    verify_tries: int = _DEFAULTS.verify_tries
    """How often a model is sent the output of a check that failed, before its attempt fails."""
    env: Sequence[str] = ()
    """Further environment variables that checks are given."""
    sandbox: Sandbox | None = None
    """What checks run in; commands run in that of the tools."""


async def execute(
    session: Session,
    todo_id: str,
    *,
    model: str | Model,
    retries: int = 0,
    require_evidence: bool | str = False,
    mode: Mode | ModeName | None = None,
    in_place: bool = False,
    base_url: str | None = None,
    config: LoopConfig | None = None,
    limits: Limits | None = None,
    project: str | os.PathLike[str] | None = None,
    on_event: Callable[[Event], object] | None = None,
    approvals: Approvals | None = None,
    tools: Tools | Iterable[Tool[Any] | Function] | None = None,
    linked: Sequence[str] | None = None,
    checkpoints: CheckpointRules | None = None,
    verify: str | None = None,
    verify_tries: int = _DEFAULTS.verify_tries,
    env: Sequence[str] = (),
    sandbox: Sandbox | None = None,
) -> ExecutionResult:
    """Have a model do one item.

    The parameters that `execute_all` has too mean the same there. Raises `NotRunnable` if the item cannot be executed
    now, with the dependencies that are not completed.
    """
    return await execute_with(
        session,
        model,
        ExecutionOptions(todo_id, mode, retries=retries, require_evidence=require_evidence, in_place=in_place),
        ExecutionSetup(
            base_url=base_url,
            config=config or LoopConfig(),
            limits=limits,
            project=project,
            on_event=on_event,
            approvals=approvals or Approvals(),
            tools=tools,
            linked=linked,
            checkpoints=checkpoints,
            verify=verify,
            verify_tries=verify_tries,
            env=env,
            sandbox=sandbox,
        ),
    )


async def execute_all(
    session: Session,
    *,
    model: str | Model,
    parallel: int = 1,
    retries: int = 1,
    keep_going: bool = False,
    require_evidence: bool | str = False,
    mode: Mode | ModeName | None = None,
    in_place: bool = False,
    base_url: str | None = None,
    config: LoopConfig | None = None,
    limits: Limits | None = None,
    project: str | os.PathLike[str] | None = None,
    on_event: Callable[[Event], object] | None = None,
    approvals: Approvals | None = None,
    tools: Tools | Iterable[Tool[Any] | Function] | None = None,
    linked: Sequence[str] | None = None,
    checkpoints: CheckpointRules | None = None,
    verify: str | None = None,
    verify_tries: int = _DEFAULTS.verify_tries,
    env: Sequence[str] = (),
    sandbox: Sandbox | None = None,
) -> ExecutionResult:
    """Have a model do all items that are pending, or that an execution left blocked, each when it can run.

    `parallel` items run at once. One that fails is tried again `retries` times; with `keep_going`, what does not depend
    on it runs on. Whatever goes wrong with an item is in the result; being cancelled ends it within moments and goes
    through.

    `base_url`, `config`, `limits`, `project`, `on_event` and `approvals` are as in `run_loop`; the limits of `config`
    are for all items together, and `mode` is that of `approvals` as long as this lasts. `tools` makes the tools for a
    folder, since each attempt works in a worktree of its own (None: the built-in ones); `linked` are ignored folders
    that work needs there. With `in_place`, work is done in the project's own files, one item at a time, and nothing is
    ever restored. `verify` is the check of items without one of their own, and is not asked about; `verify_tries` is
    how often a model is sent the output of one that failed; `env` names further variables that checks are given, and
    `sandbox` is what they run in. `checkpoints` says what checkpoints leave out, and how long they are kept.
    """
    return await execute_with(
        session,
        model,
        ExecutionOptions(
            mode=mode,
            parallel=parallel,
            retries=retries,
            keep_going=keep_going,
            require_evidence=require_evidence,
            in_place=in_place,
        ),
        ExecutionSetup(
            base_url=base_url,
            config=config or LoopConfig(),
            limits=limits,
            project=project,
            on_event=on_event,
            approvals=approvals or Approvals(),
            tools=tools,
            linked=linked,
            checkpoints=checkpoints,
            verify=verify,
            verify_tries=verify_tries,
            env=env,
            sandbox=sandbox,
        ),
    )


async def execute_with(
    session: Session, model: str | Model, options: ExecutionOptions, setup: ExecutionSetup
) -> ExecutionResult:
    """Have a model do what the options say."""
    folder = os.path.abspath(setup.project or project_folder_of(session) or ".")
    approvals, on_event = setup.approvals, setup.on_event
    resolve_model(model, base_url=setup.base_url)  # what is wrong with it is said before anything begins
    if session.plan_mode:
        raise HeadwayError("Plan mode is on, which changes nothing; first turn it off.").with_advice("leave_plan_mode")
    recovered = await finish_despite_cancel(asyncio.to_thread(recover_before_execution, session, folder))
    task = _describe_task(session, options)
    if task is None:
        return ExecutionResult(ExecutionEnding.NOTHING, error=_explain_in_progress(session))
    recorder = Recorder(session, now)
    end_delivery = session.log.deliver_in_background()
    unsubscribe = session.subscribe(to_thread_listener(on_event), to_the_end=_DELIVERY) if on_event else None
    try:
        with _use_mode(approvals, options.mode):
            # First of all the session is taken: what another execution has under way is not to be touched.
            recorder.begin(task, model if isinstance(model, str) else model.model_id, 0, mode=str(approvals.mode))
            try:
                opened = partial(_open_workspaces, session, options, folder, setup, _make_progress_listener(recorder))
                workspaces = await finish_despite_cancel(asyncio.to_thread(opened))
                if approvals.lacks_sandbox:
                    note = "There is no sandbox, so the mode sandboxed asks as default does."
                    workspaces.note = f"{note} {workspaces.note}".strip()
                tools = _make_tools_for_folders(setup.tools, setup.config, isolated=workspaces.isolated)
            except BaseException as error:
                recorder.end("cancelled" if isinstance(error, asyncio.CancelledError) else "error", str(error))
                raise
            settings = AttemptSettings(
                model,
                tools,
                approvals,
                setup.config,
                setup.limits,
                setup.base_url,
                required_level(options.require_evidence),
                setup.verify_tries,
            )
            checks = _make_checks(session, folder, recorder, approvals, workspaces, setup)
            try:
                execution = ExecutionRun(session, options, recorder, settings, workspaces, checks, recovered)
                return await execution.run(str(approvals.mode))
            finally:
                await finish_despite_cancel(asyncio.to_thread(thin_out_quietly, session, workspaces.shadow))
    finally:
        await finish_despite_cancel(asyncio.to_thread(_finish_delivery, end_delivery, unsubscribe))


def _make_checks(
    session: Session,
    folder: str,
    recorder: Recorder,
    approvals: Approvals,
    workspaces: Workspaces,
    setup: ExecutionSetup,
) -> ExecutionChecks:
    project_check = setup.verify
    ask = LoggedQuestions(recorder, approvals.ask) if approvals.ask else None
    linked = setup.linked
    check_approvals = CheckApprovals(folder, approvals, [project_check] if project_check else [], ask)
    return ExecutionChecks(
        CheckRunner(
            folder,
            session,
            setup.limits,
            setup.env,
            setup.sandbox,
            check_approvals.is_approved,
        ),
        check_approvals,
        workspaces,
        project_check=project_check,
        linked=_DEFAULTS.linked if linked is None else linked,
    )


def _make_progress_listener(recorder: Recorder) -> Callable[[int], None]:
    """Return a function that tells whoever watches how many files are saved; called in a thread."""
    loop = asyncio.get_running_loop()

    def show(files: int) -> None:
        line = f"Saving the project's files… {files:,} file{'' if files == 1 else 's'}"
        loop.call_soon_threadsafe(recorder.publish_live, line, "progress")

    return show


def _open_workspaces(
    session: Session,
    options: ExecutionOptions,
    folder: str,
    setup: ExecutionSetup,
    on_saving: Callable[[int], None],
) -> Workspaces:
    in_memory = project_folder_of(session) is None
    return open_workspaces(
        folder,
        session.name,
        parallel=options.parallel or 1,
        in_memory=in_memory,
        in_place=options.in_place,
        linked=setup.linked,
        rules=setup.checkpoints,
        on_saving=on_saving,
    )


def _finish_delivery(end_delivery: Callable[[float], None], unsubscribe: Callable[[], None] | None) -> None:
    if unsubscribe is not None:
        unsubscribe()
    end_delivery(_DELIVERY)


def _describe_task(session: Session, options: ExecutionOptions) -> str | None:
    """What is to be done, in a line; None if there is nothing. Raises if it cannot be."""
    todo_list = session.todo_list
    if options.only is not None:
        todo = todo_list.items.get(options.only)
        if todo is None:
            raise TodoNotFound(options.only, todo_list.items)
        refuse_unready(todo, todo_list)
        return f"Execute {sanitize_for_display(todo.id, 40)}: {sanitize_for_display(todo.content, 200)}"
    again = list_blocked_by_execution(session)
    pending = [todo for todo in todo_list.items.values() if todo.status is Status.PENDING or todo.id in again]
    return f"Execute all: {len(pending)} todo{'' if len(pending) == 1 else 's'}" if pending else None


def _explain_in_progress(session: Session) -> str | None:
    """Return which items are not executed because they are in progress, and what to do; None if none is."""
    items = [todo for todo in session.todos if todo.status is Status.IN_PROGRESS]
    if not items:
        return None
    names = "; ".join(
        f"{sanitize_for_display(todo.id, 40)}{f' by {sanitize_for_display(todo.owner)}' if todo.owner else ''}"
        for todo in items[:10]
    )
    more = f"; and {len(items) - 10} more" if len(items) > 10 else ""
    run = session.run
    advice = "" if run is not None and run.is_active else _TO_EXECUTE
    return f"In progress: {names}{more}.{advice}"


def _make_tools_for_folders(
    tools: Tools | Iterable[Tool[Any] | Function] | None, config: LoopConfig, *, isolated: bool
) -> Tools:
    if tools is None:
        from headway.tools.builtin import builtin_tools

        return partial(builtin_tools, todo_tools=config.todo_tools)
    if callable(tools):
        return tools
    given = [*tools]
    if isolated and any(getattr(tool, "folder", None) is not None for tool in given):
        raise HeadwayError(
            "Each attempt works in its own folder; pass `tools` as a function that creates them for a folder, such "
            "as builtin_tools, or set in_place=True."
        )
    return lambda folder: given


@contextmanager
def _use_mode(approvals: Approvals, mode: str | None) -> Generator[None]:
    """As it was before, however it ends."""
    if mode is None:
        yield
        return
    before = approvals.mode
    approvals.mode = check_mode(mode)
    try:
        yield
    finally:
        approvals.mode = before
