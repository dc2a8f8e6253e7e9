"""Checks in an ordinary run: when its model completes a todo that has one, Headway runs it in the project first.

The list refuses the completion and names the todos (`ChecksNeeded`); their checks are run, and the call is made again
with what they showed. A check that fails is the call's answer.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headway.core.evidence import CHECK_FAILED, Evidence, EvidenceLevel
from headway.core.log import CompletionChecks
from headway.core.model import FINISHED, Status, Todo
from headway.core.text import sanitize_for_display
from headway.tools.checks.changed_files import Tree, list_changed, read_tree
from headway.tools.checks.check_command import can_fail
from headway.tools.checks.check_files import CheckFiles, list_changed_check_files, read_check_files
from headway.tools.checks.judge_check import judge_check

if TYPE_CHECKING:
    from headway.agent.check_approvals import CheckApprovals
    from headway.core.model import State
    from headway.session import Session
    from headway.tools.base import ToolResult
    from headway.tools.checks.run_check import CheckRunner

OWN_CHECK = "the model wrote the check in the same run, and nobody has approved it"


@dataclass(frozen=True, slots=True)
class _WorkStart:
    """What was there when work on a todo began."""

    check: str
    files: CheckFiles
    tree: Tree


class RunChecks:
    """One per run."""

    def __init__(self, session: Session, folder: str, runner: CheckRunner, approvals: CheckApprovals, tries: int):
        self._session = session
        self._folder = folder
        self._runner = runner
        self._approvals = approvals
        self._tries = tries
        self._completions = CompletionChecks()
        self._declared: dict[str, str] = {}
        """Todo → its check as it was when the run began."""
        self._starts: dict[str, _WorkStart] = {}
        self._others: defaultdict[str, set[str]] = defaultdict(set)
        """Todo → other todos that were worked on since its files were noted."""
        self._working: set[str] = set()
        """Todos that were in progress when the list was last looked at."""
        self._finished: set[str] = set()
        self._failures: dict[str, int] = {}
        """Todo → how often its check has failed."""
        self._items: object = None

    async def begin(self) -> None:
        """From now on completions in this run are checked, until `end`."""
        items = self._session.todo_list.items
        self._declared = {todo.id: todo.verify for todo in items.values() if todo.verify}
        self._session.log.completion_checks[self._session.agent_id] = self._completions
        await self.note_start(self._session.state)

    def end(self) -> None:
        self._session.log.completion_checks.pop(self._session.agent_id, None)

    async def note_start(self, state: State) -> None:
        """Before a call: note what is there, for todos on which work begins."""
        items = state.list_of(self._session.agent_id).items
        if items is self._items:
            return
        self._items = items
        working = {todo.id for todo in items.values() if todo.status is Status.IN_PROGRESS}
        finished = {todo.id for todo in items.values() if todo.status in FINISHED}
        # A todo that is completed without ever being in progress was begun when the one before it ended.
        anew = finished != self._finished
        for todo_id in self._starts:
            self._others[todo_id] |= working - {todo_id}
        begins = [
            todo
            for todo in items.values()
            if todo.verify
            and todo.id not in finished
            and (
                todo.id not in self._starts
                or self._begins_after_others(todo.id, working)
                or (anew and todo.id not in working)
            )
        ]
        self._working, self._finished = working, finished
        if begins:
            await asyncio.to_thread(self._note_files, begins)

    def _begins_after_others(self, todo_id: str, working: set[str]) -> bool:
        """Whether work on it begins now, after work on another todo; what was changed without one counts as its own."""
        return todo_id in working and todo_id not in self._working and bool(self._others[todo_id])

    def _note_files(self, todos: list[Todo]) -> None:
        tree = read_tree(self._folder)
        for todo in todos:
            check = todo.verify or ""
            known = self._starts.get(todo.id)
            # Reading a check's files again is only worth while when work on it begins.
            again = known is None or known.check != check or todo.id in self._working
            files = read_check_files(check, self._folder) if again or known is None else known.files
            if again:
                self._others[todo.id] = set()
            self._starts[todo.id] = _WorkStart(check, files, tree)

    async def complete(
        self, result: ToolResult, call: Callable[[], Awaitable[ToolResult]], report: Callable[[str], None]
    ) -> ToolResult:
        """Return the answer to a call that completed todos: the result as it is, unless checks were needed for it."""
        needed = self._completions.take_needed()
        if not needed:
            return result
        try:
            failures = [text for todo_id in needed if (text := await self._check(todo_id, report))]
            if failures:
                text = "\n\n".join(failures)
                return replace(
                    result, text=f"{text}\n\nNothing was changed. Fix the problem, then complete the todo again."
                )
            return await call()
        finally:
            self._completions.results.clear()

    async def _check(self, todo_id: str, report: Callable[[str], None]) -> str | None:
        """Run a todo's check, and say how it failed; nothing if the todo may be completed."""
        todo = self._session.todo_list.items.get(todo_id)
        if todo is None or not todo.verify:
            return None
        check, results = todo.verify, self._completions.results
        if await self._approvals.ask([check]):
            results[todo_id] = self._approvals.explain(check)
            return None
        tree = await asyncio.to_thread(read_tree, self._folder)
        start = self._starts.get(todo_id) or _WorkStart(check, read_check_files(check, self._folder), tree)
        changed = list_changed(start.tree, tree)
        own = start.files
        weakened = await asyncio.to_thread(list_changed_check_files, own, check, self._folder)
        result = await self._runner.run_until_settled(check, self._folder, files=changed, report=report)
        if not result.has_passed:
            failures = self._failures[todo_id] = self._failures.get(todo_id, 0) + 1
            if failures <= self._tries:
                return f"{sanitize_for_display(todo_id, 40)} is not completed. {result.explain()}"
            results[todo_id] = Evidence(
                EvidenceLevel.REPORTED,
                result.command,
                result.exit_code,
                tuple(changed),
                result.seconds,
                result.output or None,
                CHECK_FAILED,
            )
            return None
        # Once more: the check itself runs code that the model wrote.
        weakened = weakened or await asyncio.to_thread(list_changed_check_files, own, check, self._folder)
        evidence = judge_check(
            result,
            weakened=weakened,
            changed=changed,
            failed_before=todo_id in self._failures,
            can_fail=can_fail(check),
        )
        if self._declared.get(todo_id) != check and not self._approvals.is_approved(check):
            evidence = replace(evidence, level=min(evidence.level, EvidenceLevel.COMMAND_OK), note=OWN_CHECK)
        results[todo_id] = evidence
        return None
