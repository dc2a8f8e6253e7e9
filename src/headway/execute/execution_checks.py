"""The checks of an execution: which one each attempt has, whether it may run, and what it says when it did.

A todo's own check decides whether it is completed. The project's check, for todos without one, may verify them; it
fails one only if it passed on the execution's first checkpoint.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from headway.core.evidence import Evidence
from headway.execute.linked_environments import (
    LinkedEnvironments,
    must_run_in_project,
    read_environments,
    variables_for,
)
from headway.tools.checks.check_command import CHANGED_FILES, can_fail
from headway.tools.checks.check_files import CheckFiles, list_changed_check_files, read_check_files
from headway.tools.checks.judge_check import judge_check

if TYPE_CHECKING:
    from headway.agent.check_approvals import CheckApprovals
    from headway.core.model import Todo
    from headway.execute.workspaces import Workspace, Workspaces
    from headway.tools.checks.run_check import CheckResult, CheckRunner

_CACHES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".coverage"})
FAILED_BEFORE = "the project's check fails, as it did before the execution"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check says about an attempt."""

    evidence: Evidence | None = None
    """What it shows; None if it did not pass, or did not run."""
    passed: bool = False
    failure: str = ""
    """How it failed, with its last lines; nothing if it did not, or if that does not count."""
    note: str = ""
    """Why it says nothing."""
    is_own: bool = False
    """Whether it is the todo's own check, and not the project's."""

    @property
    def completes(self) -> bool:
        """Whether it completes the todo though the model reported nothing."""
        return self.is_own and self.evidence is not None and self.evidence.level == "verified"


NO_CHECK = Verdict()


class ExecutionChecks:
    """One per execution."""

    def __init__(
        self,
        runner: CheckRunner,
        approvals: CheckApprovals,
        workspaces: Workspaces,
        *,
        project_check: str | None,
        linked: Sequence[str],
    ) -> None:
        self._runner = runner
        self._approvals = approvals
        self._workspaces = workspaces
        self.project_check = project_check
        self._linked = linked
        self._first: str | None = None
        """The execution's first checkpoint."""
        self._baselines: dict[str, asyncio.Task[CheckResult | None] | asyncio.Task[CheckResult]] = {}
        """Command → how the project's check ended on the first checkpoint."""

    async def ask(self, todos: Iterable[Todo]) -> str:
        """Ask about all checks that may not run yet, in one question; say which will not."""
        declined = await self._approvals.ask([todo.verify for todo in todos if todo.verify])
        if not declined:
            return ""
        one = len(declined) == 1
        return f"{len(declined)} {'check is' if one else 'checks are'} not run: {self._explain(declined[0])}."

    def _explain(self, check: str) -> str:
        return self._approvals.explain(check).removeprefix("check not run: ")

    async def begin(self, todo: Todo, workspace: Workspace, changed: Changed) -> AttemptCheck:
        """Note what is there before an attempt, in its folder."""
        self._first = self._first or workspace.checkpoint
        check, is_own = (todo.verify, True) if todo.verify else (self.project_check, False)
        environments, variables = await asyncio.to_thread(self._look_at_environments, workspace)
        one = AttemptCheck(self, workspace, check or "", is_own, changed, environments, variables)
        if check is None:
            return one
        looks_at_project = not workspace.name or one.reason_to_run_in_project is not None
        if not is_own and looks_at_project and check not in self._baselines and CHANGED_FILES not in check:
            self._baselines[check] = asyncio.create_task(self.run(check, self.project_folder, (), {}))
            await asyncio.shield(self._baselines[check])
        if is_own and await self._approvals.ask([check]):
            one.note = self._approvals.explain(check)
            return one
        one.before = await asyncio.to_thread(read_check_files, one.local_check, workspace.folder, variables)
        if is_own and not workspace.name:  # in the project's own files, nothing can be looked at later as it was
            one.failed_before = not (await self.run(check, workspace.folder, (), variables)).has_passed
        return one

    def _look_at_environments(self, workspace: Workspace) -> tuple[LinkedEnvironments, dict[str, str]]:
        if not workspace.name:
            return LinkedEnvironments(), {}
        project = self._workspaces.project
        found = read_environments(project, self._linked, os.environ)
        shims = os.path.join(os.path.dirname(workspace.folder), f"{os.path.basename(workspace.folder)}.modules")
        return found, variables_for(found, project, workspace.folder, shims)

    @property
    def project_folder(self) -> str:
        return self._workspaces.project

    async def run(self, check: str, folder: str, files: Iterable[str], variables: Mapping[str, str]) -> CheckResult:
        return await self._runner.run(check, folder, files=files, variables=variables)

    async def run_until_settled(
        self, check: str, folder: str, files: Sequence[str], variables: Mapping[str, str]
    ) -> CheckResult:
        return await self._runner.run_until_settled(check, folder, files=files, variables=variables)

    async def failed_on_checkpoint(self, check: str, checkpoint: str | None, files: Sequence[str]) -> bool | None:
        """Return whether a check fails on a checkpoint; None where that cannot be found out."""
        result = await self._run_on(check, checkpoint, files)
        return None if result is None else not result.has_passed

    async def failed_at_first(self, check: str, files: Sequence[str]) -> bool | None:
        """Return whether the project's check failed before anything was done; it is run once."""
        key = f"{check}\0{files}" if CHANGED_FILES in check else check
        if key not in self._baselines:
            self._baselines[key] = asyncio.create_task(self._run_on(check, self._first, files))
        result = await asyncio.shield(self._baselines[key])
        return None if result is None else not result.has_passed

    async def close(self) -> None:
        """End what still runs."""
        for task in self._baselines.values():
            task.cancel()
        await asyncio.gather(*self._baselines.values(), return_exceptions=True)

    async def _run_on(self, check: str, checkpoint: str | None, files: Sequence[str]) -> CheckResult | None:
        if checkpoint is None or not self._workspaces.isolated:
            return None
        async with self._workspaces.copy_checkpoint(checkpoint) as workspace:
            _, variables = await asyncio.to_thread(self._look_at_environments, workspace)
            there = [file for file in files if os.path.lexists(os.path.join(workspace.folder, file))]
            if CHANGED_FILES in check and not there:
                return None
            return await self.run(check, workspace.folder, there, variables)


Changed = Callable[[], Awaitable[Sequence[str]]]


@dataclass(slots=True)
class AttemptCheck:
    """The check of one attempt."""

    checks: ExecutionChecks
    workspace: Workspace
    check: str
    """Nothing if there is none."""
    is_own: bool
    changed: Changed
    """Returns the files that the attempt has changed so far."""
    environments: LinkedEnvironments
    variables: dict[str, str]
    """What commands of the attempt are given."""
    before: CheckFiles = field(default_factory=lambda: CheckFiles({}, frozenset(), False))
    failed_before: bool | None = None
    note: str = ""
    """Why it does not run."""
    _by_check: set[str] = field(default_factory=set[str])
    """Files that came about while a check ran."""

    @property
    def runs(self) -> bool:
        return bool(self.check) and not self.note

    @property
    def reason_to_run_in_project(self) -> str | None:
        """Why it has to run in the project, after the merge; None if it runs in the attempt's folder."""
        if not self.workspace.name or not self.runs:
            return None
        return must_run_in_project(self.check, self.environments, self.checks.project_folder)

    @property
    def local_check(self) -> str:
        """The command as it is about the attempt's folder, to find the check's own files there."""
        check = self.check
        for path in {os.path.realpath(self.checks.project_folder), self.checks.project_folder}:
            check = check.replace(path, self.workspace.folder)
        return check

    async def run(self) -> Verdict:
        """Run the check in the attempt's folder."""
        if not self.runs or self.reason_to_run_in_project:
            return replace(NO_CHECK, note=self.note, is_own=self.is_own)
        return await self._run_in(self.workspace.folder, self.variables)

    async def run_in_project(self) -> Verdict:
        """Run the check on the attempt's changes when they are in the project."""
        return await self._run_in(self.checks.project_folder, {})

    async def _run_in(self, folder: str, variables: Mapping[str, str]) -> Verdict:
        changed = await self._list_changed()
        if CHANGED_FILES in self.check and not changed:
            return replace(NO_CHECK, note="the check needs changed files, and no file was changed")
        weaker = partial(list_changed_check_files, self.before, self.local_check, self.workspace.folder, self.variables)
        weakened = await asyncio.to_thread(weaker)
        existing = [file for file in changed if os.path.lexists(os.path.join(folder, file))]
        result = await self.checks.run_until_settled(self.check, folder, existing, variables)
        self._by_check |= {*await self.changed()} - {*changed}
        if not result.has_passed:
            return await self._judge_failure(result, existing)
        # Once more: the check itself runs code of the attempt.
        weakened = weakened or await asyncio.to_thread(weaker)
        failed_before = bool(self.failed_before)
        if not changed and not weakened and self.is_own and not failed_before and not self.reason_to_run_in_project:
            failed_before = bool(await self.checks.failed_on_checkpoint(self.check, self.workspace.checkpoint, ()))
        shown = judge_check(
            result,
            weakened=weakened,
            changed=changed,
            failed_before=failed_before,
            can_fail=can_fail(self.check),
        )
        return Verdict(shown, True, is_own=self.is_own)

    async def _list_changed(self) -> tuple[str, ...]:
        """Return what the work changed, and neither a check nor what any command leaves behind."""
        changed = await self.changed()
        return tuple(path for path in changed if path not in self._by_check and _CACHES.isdisjoint(path.split("/")))

    async def _judge_failure(self, result: CheckResult, files: Sequence[str]) -> Verdict:
        if not self.is_own and await self.checks.failed_at_first(self.check, files) is not False:
            return replace(NO_CHECK, note=FAILED_BEFORE)
        return Verdict(failure=result.explain(), is_own=self.is_own)
