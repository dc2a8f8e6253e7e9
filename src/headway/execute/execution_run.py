"""Executes items: picks those that can run, has each worked on, and ends in order, however it ends.

The session is the only source of truth: what can run is looked up before each start, so that a list that others change
meanwhile is never overlooked. An execution is a run of its session: people stop, pause and resume it as any other, and
one whose process is gone is cut off as any other.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from headway.core.errors import HeadwayError, NoRun
from headway.core.execution_events import ExecutionFinished, ExecutionStarted, ModeChanged
from headway.core.graph import is_ready, list_waiting
from headway.core.model import EXECUTOR, Status, Todo
from headway.core.text import sanitize_for_display
from headway.execute.attempts import Attempt, Attempts
from headway.execute.finish_despite_cancel import finish_despite_cancel
from headway.execute.options import ExecutionEnding, ExecutionOptions, ExecutionResult
from headway.execute.recover_files import describe_recovery
from headway.execute.schedule import Schedule
from headway.planner.recorder import LOOK_EVERY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headway.agent.config import LoopConfig
    from headway.core.runs import Run
    from headway.execute.attempt_run import AttemptSettings
    from headway.execute.execution_checks import ExecutionChecks
    from headway.execute.recover_files import SettledChange
    from headway.execute.workspaces import Workspaces
    from headway.planner.recorder import Recorder
    from headway.session import Session

_PATIENCE = 2.0
"""Seconds that items get to end when the execution does."""
_MOST_NAMED = 10
_REASONS = {ExecutionEnding.COMPLETE: "finished", ExecutionEnding.INTERRUPTED: "cancelled"}


class ExecutionRun:
    """One execution, from its first item to its last."""

    def __init__(
        self,
        session: Session,
        options: ExecutionOptions,
        recorder: Recorder,
        settings: AttemptSettings,
        workspaces: Workspaces,
        checks: ExecutionChecks,
        recovered: Mapping[str, SettledChange],
    ) -> None:
        self._session = session
        self._options = options
        self._config = settings.config
        self._approvals = settings.approvals
        self._workspaces = workspaces
        at_once = options.parallel or 1
        self._parallel = min(at_once, workspaces.most_at_once or at_once)
        self._recorder = recorder
        self._checks = checks
        self._recovered = recovered
        self._attempts = Attempts(
            session, recorder, workspaces, settings, checks, retries=options.retries, recovered=recovered
        )
        self._running: dict[str, Attempt] = {}
        self._again: set[str] = set()
        """Blocked items that are taken up."""
        self._left_out: set[str] = set()
        """Items that are not begun any more."""
        self._alone: list[str] = []
        """Items whose changes were in conflict with another's, to be run again when nothing else runs."""
        self._completed: list[str] = []
        self._failed: dict[str, str] = {}
        """Item → why."""
        self._stopped = False
        """Whether someone stopped an item by itself."""
        self._tokens, self._cost = 0, 0.0
        self._paused: set[str] = set()
        """Sub-agents that were told to pause."""
        self._began = time.monotonic() - workspaces.saving_seconds
        self._schedule = Schedule(self._is_to_run, in_order=self._parallel == 1)

    # beginning and end

    async def run(self, mode: str) -> ExecutionResult:
        """Executes what is to be executed, in a run that has begun, and ends it. Being cancelled goes through."""
        ending: ExecutionEnding | None = None
        error: str | None = None
        try:
            self._again = list_blocked_by_execution(self._session)
            if self._options.only is not None:
                self._again.add(self._options.only)
            items = self._session.todo_list.items
            self._schedule.update(items)
            unchecked = await self._ask_about_checks(items)
            self._recorder.record(self._to_started_event(mode, unchecked))
            ending = await self._run_all()
        except asyncio.CancelledError:
            ending = ExecutionEnding.INTERRUPTED
            raise
        except BaseException as failure:
            error = str(failure) or type(failure).__name__
            raise
        finally:
            result = await finish_despite_cancel(self._wind_up(ending, error))
        return result

    async def _ask_about_checks(self, items: Mapping[str, Todo]) -> str:
        """Ask about the checks of all items, unless someone stops the execution first; say which are not run."""
        asking = asyncio.create_task(self._checks.ask(todo for todo in items.values() if self._is_to_run(todo)))
        stopping = asyncio.create_task(self._recorder.wait_until(lambda run: run.stopping))
        try:
            await asyncio.wait({asking, stopping}, return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else ""
        finally:
            asking.cancel()
            stopping.cancel()

    async def _wind_up(self, ending: ExecutionEnding | None, error: str | None) -> ExecutionResult:
        try:
            await self._halt()
            await self._checks.close()
            result = self._to_result(ending)
            with suppress(HeadwayError):  # told by what is raised already, or by the end
                self._recorder.record(self._to_finished_event(result))
            self._recorder.end(_REASONS.get(result.outcome, "error"), error or result.error)
            return result
        finally:
            await asyncio.to_thread(self._workspaces.close)

    def _to_started_event(self, mode: str, unchecked: str) -> ExecutionStarted:
        options, workspaces = self._options, self._workspaces
        return ExecutionStarted(
            mode=mode,
            parallel=self._parallel,
            total=self._schedule.count_left,
            retries=options.retries,
            keep_going=options.keep_going,
            require_evidence=options.require_evidence is not False,
            only=options.only,
            checkpoints=workspaces.shadow is not None,
            worktrees=workspaces.isolated,
            note=" ".join(note for note in (describe_recovery(self._recovered), workspaces.note, unchecked) if note),
            in_place=options.in_place,
            saving_seconds=round(workspaces.saving_seconds, 3),
        )

    def _to_finished_event(self, result: ExecutionResult) -> ExecutionFinished:
        completed, failed = len(result.completed), len(result.failed)
        saving = round(self._workspaces.saving_seconds, 3)
        return ExecutionFinished(
            outcome=str(result.outcome),
            completed=completed,
            failed=failed,
            total=result.total,
            seconds=result.seconds,
            failed_items=result.failed,
            saving_seconds=saving,
        )

    def _to_result(self, ending: ExecutionEnding | None) -> ExecutionResult:
        run = self._session.run
        begun = run.execution.index if run is not None and run.execution is not None else 0
        error = None
        if self._failed:
            todo_id = next(iter(self._failed))
            error = f"{sanitize_for_display(todo_id, 40)} failed: {self._failed[todo_id]}"
        elif ending is ExecutionEnding.WAITING:
            error = f"Some items cannot run: {self._explain_waiting()}."
        elif ending is ExecutionEnding.FAILED:
            error = "This execution has reached its limit; raise max_tokens or max_cost, and run it again."
        return ExecutionResult(
            ending or ExecutionEnding.FAILED,
            tuple(self._completed),
            tuple(self._failed),
            max(begun + self._schedule.count_not_started, len(self._completed)),
            round(time.monotonic() - self._began, 3),
            error if ending is not ExecutionEnding.INTERRUPTED else None,
        )

    def _explain_waiting(self) -> str:
        """What waits for what."""
        left = [other for other in list_waiting(self._session.todo_list.items) if other.todo.status is Status.PENDING]
        lines = [f"{sanitize_for_display(other.todo.id, 40)} {other.reason}" for other in left[:_MOST_NAMED]]
        more = [f"and {len(left) - _MOST_NAMED} more"] if len(left) > _MOST_NAMED else []
        return "; ".join([*lines, *more])

    async def _halt(self) -> None:
        """Ends what is being worked on; the items go back to pending."""
        running = [*self._running.values()]
        in_plan_mode = self._session.plan_mode
        for one in running:
            one.task.cancel()
            one.unwanted = one.unwanted or in_plan_mode  # nothing comes into the project's files while it is on
        if running:
            await asyncio.wait([one.task for one in running], timeout=_PATIENCE)
        # What is not recorded here, the end of the run records.
        ends = [self._end_attempt(one) for one in running if one.task.done()]
        for failure in await asyncio.gather(*ends, return_exceptions=True):
            if isinstance(failure, BaseException) and not isinstance(failure, HeadwayError):
                raise failure

    # from item to item

    def _is_to_run(self, todo: Todo) -> bool:
        """Whether the item is to be run, as it is now; whether it can be, its dependencies say."""
        if self._options.only not in (None, todo.id) or todo.id in self._left_out or todo.id in self._running:
            return False
        return todo.status is Status.PENDING or (todo.status is Status.BLOCKED and todo.id in self._again)

    async def _run_all(self) -> ExecutionEnding:
        while True:
            run = self._recorder.current_run
            self._schedule.update(self._session.todo_list.items)
            self._give_up_unwanted()
            if run.stopping:
                return ExecutionEnding.INTERRUPTED
            self._pass_on_pause(run)
            if run.execution is not None and run.execution.mode != (mode := str(self._approvals.mode)):
                self._recorder.record(ModeChanged(mode=mode))
            if not self._recorder.is_paused:
                await self._start_runnable()
                if not self._running:
                    return self._find_ending()
            await self._wait()

    def _find_ending(self) -> ExecutionEnding:
        if self._failed:
            return ExecutionEnding.FAILED
        if self._stopped:
            return ExecutionEnding.INTERRUPTED
        if self._schedule.count_left:
            return ExecutionEnding.WAITING if self._share_of_limits() else ExecutionEnding.FAILED
        return ExecutionEnding.COMPLETE

    async def _wait(self) -> None:
        in_plan_mode = self._session.plan_mode
        tasks = [one.task for one in self._running.values() if not (in_plan_mode and one.task.done())]
        if tasks:
            await asyncio.wait(tasks, timeout=LOOK_EVERY, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(LOOK_EVERY)
        if self._session.plan_mode:  # what has ended comes into the project's files when plan mode is off
            return
        for one in [one for one in self._running.values() if one.task.done()]:
            await finish_despite_cancel(self._end_attempt(one))

    def _pass_on_pause(self, run: Run) -> None:
        """What is being worked on pauses when the execution does."""
        agents = {one.agent for one in self._running.values()}
        wanted = agents - self._paused if run.paused else agents & self._paused
        for agent in wanted:
            sub = self._session.agent(agent)
            with suppress(NoRun):  # it has not begun yet: the next time
                (sub.pause_run if run.paused else sub.resume_run)(actor=EXECUTOR)
                self._paused ^= {agent}

    def _give_up_unwanted(self) -> None:
        """Stops work on items that someone cancelled, completed, dropped or set to pending meanwhile."""
        items = self._session.todo_list.items
        for one in self._running.values():
            todo = items.get(one.todo.id)
            if (todo is None or todo.status is not Status.IN_PROGRESS) and not one.unwanted:
                one.unwanted = True
                one.task.cancel()

    async def _start_runnable(self) -> None:
        """As many items as there is room for."""
        while len(self._running) < self._parallel:
            config = self._share_of_limits()
            if config is None or (self._failed and not self._options.keep_going):
                return
            todo, alone = self._next_todo()
            if todo is None:
                return
            one = await self._attempts.start(todo, config, left=self._schedule.count_not_started, alone=alone)
            if one is not None:
                self._schedule.mark_started(todo.id)
                self._running[todo.id] = one
            self._schedule.update(self._session.todo_list.items)

    def _next_todo(self) -> tuple[Todo | None, bool]:
        """The item to begin now, and whether it is to run alone."""
        if any(one.alone for one in self._running.values()):
            return None, False
        items = self._session.todo_list.items
        self._alone = [todo_id for todo_id in self._alone if todo_id in items and is_ready(items[todo_id], items)]
        if self._alone:
            return (None, False) if self._running else (self._schedule.take(self._alone.pop(0)), True)
        modules = () if self._workspaces.isolated else {one.todo.module for one in self._running.values()} - {None}
        return self._schedule.take_next([module for module in modules if module is not None]), False

    def _share_of_limits(self) -> LoopConfig | None:
        """The configuration as it was given, with an item's share of what is left to use; None if nothing is.

        Each of those that run at once gets its share, so that together they keep to the limit.
        """
        config, shares = self._config, self._parallel
        if config.max_tokens is not None:
            left = (config.max_tokens - self._tokens) // shares
            if left < 1:
                return None
            config = replace(config, max_tokens=left)
        if config.max_cost is not None:
            if self._cost >= config.max_cost:
                return None
            config = replace(config, max_cost=(config.max_cost - self._cost) / shares)
        return config

    async def _end_attempt(self, one: Attempt) -> None:
        todo_id = one.todo.id
        ended = await self._attempts.end(one)
        del self._running[todo_id]
        if one.todo.module is not None:
            self._schedule.release_module(one.todo.module)
        self._tokens += ended.tokens
        self._cost += ended.cost
        if ended.outcome == "completed":
            self._completed.append(todo_id)
        elif ended.outcome == "conflict":
            self._alone.append(todo_id)
        elif ended.outcome == "blocked" and not ended.again:
            self._failed[todo_id] = ended.reason
            self._left_out.add(todo_id)
        elif ended.outcome == "interrupted":
            self._left_out.add(todo_id)
            todo = self._session.todo_list.items.get(todo_id)
            self._stopped = self._stopped or (todo is not None and todo.status is Status.PENDING)


def list_blocked_by_execution(session: Session) -> set[str]:
    """Items that an execution left blocked, and that nobody has changed since."""
    run = session.run
    items = session.todo_list.items
    executed = run.executed if run is not None else {}
    return {
        todo_id
        for todo_id, last in executed.items()
        if last.failed and todo_id in items and items[todo_id].status is Status.BLOCKED
    }
