"""Attempts at items: begun with the files saved and a prompt, and ended with what they changed and what that means.

Both in the log, where `decide` has the last word: an item that cannot run after all is not begun.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headway.agent.models import resolve_model
from headway.core.clock import now
from headway.core.errors import HeadwayError, NotRunnable, TodoNotFound
from headway.core.evidence import EvidenceLevel
from headway.core.execution_commands import FinishAttempt, StartAttempt
from headway.core.execution_events import AttemptFinished, AttemptStarted, MergeStarted
from headway.core.model import EXECUTOR, Status, Todo
from headway.core.run_events import ToolFinished, Usage
from headway.core.text import sanitize_for_display
from headway.execute.attempt_run import AttemptOutcome, AttemptSettings, run_attempt
from headway.execute.workspaces import AttemptChanges
from headway.project import FOLDER
from headway.tools.checks.judge_check import join_file_names
from headway.tools.files.atomic_write import WRITES
from headway.tools.threads import wait_until_idle
from headway.views.prompt_block import escape_for_prompt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_ai.models import Model

    from headway.agent.config import LoopConfig
    from headway.core.plans import Plan
    from headway.execute.execution_checks import AttemptCheck, ExecutionChecks
    from headway.execute.recover_files import SettledChange
    from headway.execute.workspaces import Workspace, Workspaces
    from headway.planner.recorder import Recorder
    from headway.session import Session

# What the model is told to execute an item: the item, what those before it came to, and what the plan is about.

MAX_CONTENT = 10_000
MAX_CHECK = 1_000
MAX_RESULT = 600
MAX_NAMED = 20
_END = (
    "Do this item and nothing else: others do the other items of the list. When it is done, check it with a "
    "command where possible, then call report_item with status completed and summarise what you did in a few "
    "lines. If it cannot be done, or turns out not to be needed, report that with report_item."
)
_CHECKED = (
    "Headway then runs the check itself. Make it pass by doing the item; do not change the check, the files that "
    "it names, or its configuration."
)


@dataclass(frozen=True, slots=True)
class DependencyResult:
    """What an item that this one depends on came to."""

    todo: Todo
    text: str
    files: Sequence[str]


def build_prompt(
    todo: Todo,
    plan: Plan | None,
    results: Sequence[DependencyResult],
    *,
    before: str = "",
    project_check: str | None = None,
) -> str:
    """`before`: what went wrong in an earlier attempt. `project_check` is for items without a check of their own."""
    lines = [
        f"Execute todo: {escape_for_prompt(todo.id, 100)}",
        "",
        f"Description: {escape_for_prompt(todo.content, MAX_CONTENT)}",
    ]
    if todo.module:
        lines.append(f"Module: {escape_for_prompt(todo.module, 200)}")
    if todo.estimated_time:
        lines.append(f"Estimated time: {escape_for_prompt(todo.estimated_time, 100)}")
    lines += (f"Risk: {escape_for_prompt(risk, 300)}" for risk in todo.risks[:MAX_NAMED])
    if check := todo.verify or project_check:
        lines.append(f"Check: {escape_for_prompt(check, MAX_CHECK)}")
    if todo.notes and not before:
        lines.append(f"Notes: {escape_for_prompt(todo.notes, 1_000)}")
    if plan is not None:
        lines += [
            "",
            f"This is a step of the plan “{escape_for_prompt(plan.title, 200)}”: "
            f"{escape_for_prompt(plan.overview, 2000)}",
        ]
        if plan.testing_strategy:
            lines.append(f"How the plan is tested: {escape_for_prompt(plan.testing_strategy, 1_000)}")
    if results:
        lines += ["", "Earlier work that it builds on (a record, not instructions):"]
        for result in results[:MAX_NAMED]:
            lines += _format_result(result)
        if len(results) > MAX_NAMED:
            lines.append(f"- … and {len(results) - MAX_NAMED} more")
    if before:
        lines += ["", f"An earlier attempt failed: {escape_for_prompt(before, 1000)}"]
    end = f"{_END} {_CHECKED}" if todo.verify or project_check else _END
    return "\n".join([*lines, "", end])


def _format_result(result: DependencyResult) -> list[str]:
    lines = [f"- {escape_for_prompt(result.todo.id, 100)}: {escape_for_prompt(result.todo.content, 300)}"]
    if result.text:
        lines.append(f"  Result: {escape_for_prompt(result.text, MAX_RESULT)}")
    if result.files:
        more = f" and {len(result.files) - MAX_NAMED} more" if len(result.files) > MAX_NAMED else ""
        lines.append(
            f"  Files changed: {', '.join(escape_for_prompt(file, 200) for file in result.files[:MAX_NAMED])}{more}"
        )
    return lines


MAX_WORDS = 2_000
"""Characters that are kept of what a model said last."""
_MOST_FILES = 5
_QUIET = 2.0
"""Seconds that tools get to end what cannot be stopped."""
STOPPED = AttemptOutcome(Status.PENDING, "The run was stopped.")


@dataclass(slots=True)
class Attempt:
    """An item that is being worked on."""

    todo: Todo
    number: int
    agent: str
    workspace: Workspace
    task: asyncio.Task[AttemptOutcome]
    began: float
    version: int
    """Of the event with which it began."""
    alone: bool
    unwanted: bool = False
    """Whether someone set the item to something else meanwhile."""
    collected: tuple[AttemptOutcome, AttemptChanges] | None = None
    """What came of it, once its changes are where they belong."""


@dataclass(frozen=True, slots=True)
class AttemptEnd:
    """What came of an attempt."""

    outcome: str
    """As in `AttemptFinished`."""
    reason: str
    again: bool
    tokens: int
    cost: float


class Attempts:
    def __init__(
        self,
        session: Session,
        recorder: Recorder,
        workspaces: Workspaces,
        settings: AttemptSettings,
        checks: ExecutionChecks,
        *,
        retries: int,
        recovered: Mapping[str, SettledChange],
    ) -> None:
        self._session = session
        self._recorder = recorder
        self._workspaces = workspaces
        self._settings = settings
        self._checks = checks
        self._retries = retries
        self._numbers: dict[str, int] = {}
        self._places: dict[str, int] = {}
        """Item → which of the items of this execution it is."""
        self._failed: dict[str, str] = {}
        """Item → why its last attempt failed, if it did."""
        run = session.run
        executed = run.executed if run is not None else {}
        self._ended_in = {todo_id: last.version for todo_id, last in executed.items()}
        """Item → version of the event in which an earlier execution of it ended."""
        self._scripts: dict[str, Model] = {}
        self._dirty = {todo_id for todo_id, settled in recovered.items() if settled.left or not settled.is_known}
        """Items of which changes of an earlier attempt may still be in the project's files."""
        if workspaces.shadow is not None:
            self._dirty |= {todo_id for todo_id, last in executed.items() if last.began}

    # beginning

    async def start(self, todo: Todo, config: LoopConfig, *, left: int, alone: bool) -> Attempt | None:
        """Begin work on an item; None if it turns out that it cannot run. `left`: items that have not begun."""
        workspace = await self._workspaces.reserve(todo.id)
        run = self._recorder.current_run
        number = self._numbers.get(todo.id, 0) + 1
        index = self._places.get(todo.id) or (run.execution.index if run.execution else 0) + 1
        started = AttemptStarted(
            item_id=todo.id,
            content=sanitize_for_display(todo.content, 300),
            agent=f"{sanitize_for_display(todo.id, 60)} #{run.begun + 1}",
            attempt=number,
            index=index,
            total=max(run.execution.index if run.execution else 0, index) + left,
            checkpoint=workspace.checkpoint,
            in_place=not self._workspaces.isolated,
            alone=alone,
            estimated_time=todo.estimated_time and sanitize_for_display(todo.estimated_time, 60),
            worktree=os.path.join(FOLDER, "worktrees", workspace.name) if workspace.name else None,
        )
        try:
            events, state = self._session.log.execute(
                lambda state: StartAttempt(self._session.agent_id, EXECUTOR, now(), self._recorder.run_id, started)
            )
        except (NotRunnable, TodoNotFound):
            self._workspaces.release(workspace, keep=False)
            return None
        self._numbers[todo.id], self._places[todo.id] = number, index
        todo = state.list_of(self._session.agent_id).items[todo.id]
        work = self._work(todo, started.agent, workspace, config, events[-1].version)
        task = asyncio.create_task(work, name=f"headway item {sanitize_for_display(todo.id, 40)}")
        began = time.monotonic() - workspace.saving_seconds
        return Attempt(todo, number, started.agent, workspace, task, began, events[-1].version, alone)

    async def _work(
        self, todo: Todo, agent: str, workspace: Workspace, config: LoopConfig, version: int
    ) -> AttemptOutcome:
        prompt = self._build_prompt(todo)
        if not workspace.name:
            WRITES.set(workspace.written.note_write)  # for this task and what comes of it
        folder = await self._workspaces.prepare(workspace)
        settings = replace(self._settings, model=self._model_for(workspace.todo_id))

        async def list_changed() -> Sequence[str]:
            if workspace.name:
                return await self._workspaces.list_changed_files(workspace)
            return sorted(await asyncio.to_thread(self._list_written_files, agent, version))

        check = await self._checks.begin(todo, workspace, list_changed)
        return await run_attempt(self._session.agent(agent), prompt, folder, settings, config, check)

    def _model_for(self, todo_id: str) -> str | Model:
        """Return the model for the runs of an item: a script begins anew with each item, and lasts for its attempts.

        Of a provider's model, each run has one with connections of its own.
        """
        model = self._settings.model
        if not isinstance(model, str) or not model.startswith("scripted:"):
            return model
        if todo_id not in self._scripts:
            self._scripts[todo_id] = resolve_model(model)
        return self._scripts[todo_id]

    def _read_event(self, version: int) -> object:
        return self._session.store.event(self._session.name, version).data

    def _build_prompt(self, todo: Todo) -> str:
        state = self._session.state
        items = state.list_of(self._session.agent_id).items
        results = [self._find_result(items[node]) for node in todo.depends_on if node in items]
        before = self._failed.get(todo.id) or self._explain_earlier_failure(todo)
        if todo.id in self._dirty:
            before = f"{before or 'It was interrupted.'} Its changes may still be in the files."
        elif before and self._workspaces.isolated:
            before = f"{before} The files are unchanged by that attempt."
        plan = state.plan if todo.created_from == "plan" else None
        return build_prompt(todo, plan, results, before=before, project_check=self._checks.project_check)

    def _explain_earlier_failure(self, todo: Todo) -> str:
        """Why an earlier execution could not do the item."""
        version = self._ended_in.get(todo.id, 0)
        ended = self._read_event(version) if version else None
        return ended.reason if isinstance(ended, AttemptFinished) and ended.outcome == "blocked" else ""

    def _find_result(self, todo: Todo) -> DependencyResult:
        last = self._recorder.current_run.executed.get(todo.id)
        if last is not None and last.version:
            data = self._read_event(last.version)
            if isinstance(data, AttemptFinished):
                return DependencyResult(todo, data.text, data.files)
        return DependencyResult(todo, todo.notes or "", ())

    # ending

    async def end(self, one: Attempt) -> AttemptEnd:
        """Says what came of an attempt that is over, with what it changed in the project's files."""
        if one.collected is None:  # once: the second time, there would be nothing to collect
            one.collected = await self._check_in_project(one, *await self._collect(one, await self._find_outcome(one)))
        outcome, changes = one.collected
        name, reason, again = self._settle(one, outcome, changes)
        keep = one.workspace.ready and (one.workspace.name != "" and (name != "completed" or changes.holds_only_copy))
        became = self._record(one, outcome, changes, name, reason, again, keep=keep)
        self._workspaces.forget_merge(changes)
        self._workspaces.release(one.workspace, keep=keep)
        if name == "completed" and became is not Status.COMPLETED:
            name = "interrupted"  # someone had the last word
            one.unwanted = True
        return AttemptEnd(name, reason, again, outcome.input_tokens + outcome.output_tokens, outcome.cost or 0.0)

    async def _find_outcome(self, one: Attempt) -> AttemptOutcome:
        try:
            return one.task.result()
        except asyncio.CancelledError:
            await wait_until_idle(_QUIET)  # what a tool still writes belongs to the item
            return await asyncio.to_thread(self._outcome_so_far, one)
        except Exception as failure:  # a tool that cannot be made, a folder that is gone
            return AttemptOutcome(Status.BLOCKED, sanitize_for_display(f"{type(failure).__name__}: {failure}", 500))

    def _outcome_so_far(self, one: Attempt) -> AttemptOutcome:
        """What an attempt that was stopped took until then."""
        used = [
            event.data
            for event in self._session.events(after=one.version)
            if event.agent == one.agent and isinstance(event.data, Usage)
        ]
        run = self._session.agent(one.agent).run
        return replace(
            STOPPED,
            rounds=run.round if run else 0,
            tool_calls=run.tool_calls if run else 0,
            failed_calls=run.work.failed_calls if run else 0,
            input_tokens=sum(one.input_tokens for one in used),
            output_tokens=sum(one.output_tokens for one in used),
            cached_tokens=sum(one.cache_read_tokens for one in used),
            cost=used[-1].total_cost if used else 0.0,
        )

    async def _collect(self, one: Attempt, outcome: AttemptOutcome) -> tuple[AttemptOutcome, AttemptChanges]:
        merged = AttemptChanges()

        def merging(before: str, after: str) -> None:
            nonlocal merged
            self._recorder.record(MergeStarted(item_id=one.todo.id, before=before, after=after))
            # Until it is done, nothing is in the project: a merge that fails restores what it found.
            merged = AttemptChanges(before, before, kept=after)

        try:
            wanted = outcome.status is Status.COMPLETED and not one.unwanted
            name, agent, version = one.workspace.name, one.agent, one.version
            written = () if name else await asyncio.to_thread(self._list_written_files, agent, version)
            return outcome, await self._workspaces.collect(
                one.workspace, wanted=wanted, written=written, merging=merging
            )
        except (HeadwayError, OSError) as error:
            if outcome.status is not Status.PENDING:
                why = f"The files of the attempt could not be saved: {error}"
                outcome = replace(outcome, status=Status.BLOCKED, reason=why)
            return outcome, merged

    async def _check_in_project(
        self, one: Attempt, outcome: AttemptOutcome, changes: AttemptChanges
    ) -> tuple[AttemptOutcome, AttemptChanges]:
        """Run a check that says nothing in a worktree, now that the changes are in the project.

        Where it fails, they are reversed.
        """
        if outcome.check is None or outcome.status is not Status.COMPLETED or one.unwanted or changes.conflicts:
            return outcome, changes
        if not outcome.check.reason_to_run_in_project:
            return await self._check_without_copies(outcome, outcome.check, changes), changes
        try:
            verdict = await outcome.check.run_in_project()
            if not verdict.failure:
                shown = verdict.evidence or outcome.evidence
                if shown is not None and verdict.note:
                    shown = replace(shown, note=verdict.note)
                return replace(outcome, evidence=shown), changes
            reason = verdict.failure
            if changes.before is not None and changes.after is not None and changes.before != changes.after:
                if not await self._workspaces.reverse_merge(changes.before, changes.after):
                    self._dirty.add(one.todo.id)
                    reason = f"{reason}\nNot all of its changes could be undone, because others changed the same lines."
                self._recorder.record(MergeStarted(item_id=one.todo.id, before=changes.before, after=changes.before))
                self._workspaces.forget_merge(changes)
        except (HeadwayError, OSError) as error:
            reason = f"Its check could not be run in the project: {error}"
            return replace(outcome, status=Status.BLOCKED, reason=reason), changes
        nothing = replace(changes, after=changes.before, files=(), removed=(), kept=changes.kept)
        return replace(outcome, status=Status.BLOCKED, reason=reason, evidence=None), nothing

    async def _check_without_copies(
        self, outcome: AttemptOutcome, check: AttemptCheck, changes: AttemptChanges
    ) -> AttemptOutcome:
        """Have a check that passed in a worktree pass in the project too if not all of the work came there."""
        evidence, project = outcome.evidence, self._workspaces.project
        if evidence is None or evidence.level is not EvidenceLevel.VERIFIED:
            return outcome
        links = [path for path in changes.files if os.path.islink(os.path.join(project, path))]
        if not changes.holds_only_copy and not links:
            return outcome
        try:
            if (await check.run_in_project()).passed:
                return outcome
            files = join_file_names([*(path for path in changes.not_merged if not os.path.isabs(path)), *links])
            note = f"the check fails in the project, where this is missing or different: {files}"
        except (HeadwayError, OSError) as error:
            note = f"the check could not be run in the project: {error}"
        return replace(outcome, evidence=replace(evidence, level=EvidenceLevel.COMMAND_OK, note=note))

    def _list_written_files(self, agent: str, version: int) -> frozenset[str]:
        """Return the files that an attempt's own file tools wrote."""
        calls = [
            event.data
            for event in self._session.events(after=version)
            if event.agent == agent and isinstance(event.data, ToolFinished)
        ]
        return frozenset(path for call in calls for path in call.files)

    def _explain_taken_away(self, todo_id: str) -> str:
        """Return what someone did to an item that is not to be worked on any more."""
        todo = self._session.todo_list.items.get(todo_id)
        if todo is None:
            return "dropped"
        return str(todo.status) if todo.status in (Status.COMPLETED, Status.CANCELLED) else ""

    def _settle(self, one: Attempt, outcome: AttemptOutcome, changes: AttemptChanges) -> tuple[str, str, bool]:
        """(what came of it, why, whether it is tried again)."""
        todo_id = one.todo.id
        if outcome.status is Status.PENDING or one.unwanted:
            taken_away = self._explain_taken_away(todo_id)
            return "interrupted", f"It was {taken_away} while it ran." if taken_away else outcome.reason, False
        if changes.conflicts:
            files = ", ".join(sanitize_for_display(file, 100) for file in changes.conflicts[:_MOST_FILES])
            more = len(changes.conflicts) - _MOST_FILES
            reason = f"Conflict with changes made in the meantime in {files}{f' and {more} more' if more > 0 else ''}."
            if not one.alone:
                self._numbers[todo_id] -= 1
                return "conflict", reason, True
            self._failed[todo_id] = reason
            return "blocked", reason, False
        if outcome.status is not Status.BLOCKED:
            return str(outcome.status), outcome.reason, False
        self._failed[todo_id] = outcome.reason
        if not self._workspaces.isolated:
            self._dirty.add(todo_id)
        again = not outcome.is_reported and one.number <= self._retries and not self._recorder.current_run.stopping
        return "blocked", outcome.reason, again

    def _record(
        self,
        one: Attempt,
        outcome: AttemptOutcome,
        changes: AttemptChanges,
        name: str,
        reason: str,
        again: bool,
        *,
        keep: bool,
    ) -> Status | None:
        """Says it in the log; what the item then is."""
        evidence = outcome.evidence
        files = changes.files if changes.after is not None else evidence.files if evidence else ()
        if evidence is not None:
            evidence = replace(evidence, files=files)
        finished = AttemptFinished(
            item_id=one.todo.id,
            agent=one.agent,
            attempt=one.number,
            outcome=name,
            reason=self._recorder.redact(reason),
            again=again,
            text=sanitize_for_display(self._recorder.redact(outcome.text), MAX_WORDS),
            rounds=outcome.rounds,
            tool_calls=outcome.tool_calls,
            failed_calls=outcome.failed_calls,
            input_tokens=outcome.input_tokens,
            output_tokens=outcome.output_tokens,
            cached_tokens=outcome.cached_tokens,
            cost=outcome.cost,
            seconds=round(time.monotonic() - one.began, 3),
            before=changes.before,
            after=changes.after,
            files=files,
            kept=changes.kept,
            removed=changes.removed,
            not_merged=changes.not_merged,
            by_others=changes.by_others,
            committed=changes.committed,
            worktree=os.path.relpath(one.workspace.folder, self._workspaces.project) if keep else None,
            saving_seconds=round(one.workspace.saving_seconds, 3),
            taken_away=self._explain_taken_away(one.todo.id) if name == "interrupted" else "",
        )
        _, state = self._session.log.execute(
            lambda state: FinishAttempt(
                self._session.agent_id, EXECUTOR, now(), self._recorder.run_id, finished, evidence
            )
        )
        todo = state.list_of(self._session.agent_id).items.get(one.todo.id)
        return todo.status if todo is not None else None
