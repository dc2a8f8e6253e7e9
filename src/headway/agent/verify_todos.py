"""Run the check of a todo when someone asks for it, in the project's own files; what it shows becomes its evidence.

Nothing is known of how the work was done, so that a check verifies it only if it failed before on the same files of its
own, or if the files that were changed are known and none of them is one of those.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from headway.core.errors import HeadwayError, TodoNotFound
from headway.core.evidence import CHECK_FAILED, Evidence, EvidenceLevel
from headway.core.model import Status, Todo
from headway.core.text import sanitize_for_display
from headway.project import project_folder_of
from headway.session import Session
from headway.tools.checks.check_command import can_fail
from headway.tools.checks.check_files import CheckFiles, read_check_files
from headway.tools.checks.judge_check import judge_check
from headway.tools.checks.run_check import CheckRunner

T = TypeVar("T")


def verify_todo(session: Session, todo_id: str, *, project: str | None = None) -> Todo:
    """Run the check of a todo and keep what it shows."""
    from headway.settings import load_settings

    items = session.todo_list.items
    if todo_id not in items:
        raise TodoNotFound(todo_id, items)
    todo = items[todo_id]
    if not todo.verify:
        name = sanitize_for_display(todo_id, 40)
        raise HeadwayError(f"'{name}' has no check; add one.").with_advice("add_check", todo_id=name)
    folder = project or project_folder_of(session) or "."
    settings = load_settings(folder).settings
    before = todo.evidence
    files = before.files if before is not None and todo.status is Status.COMPLETED else ()
    own, stamp = read_check_files(todo.verify, folder), before.check_files if before is not None else None
    # Whoever asks for it approves of it.
    runner = CheckRunner(
        folder, session, settings.limits, settings.env, settings.commands_sandbox(), lambda check: True
    )
    result = _run_to_end(runner.run(todo.verify, folder, files=files))
    if result.has_passed:
        evidence = judge_check(
            result,
            weakened=_list_weakened(before, own, [file for file in files if file in own.contents]),
            changed=files,
            failed_before=own.is_as_stamped(stamp or "-"),
            can_fail=can_fail(todo.verify),
        )
        if before is not None and before.level is EvidenceLevel.VERIFIED and before.command == todo.verify:
            evidence = before
    else:
        seconds, output = result.seconds, result.output or None
        evidence = Evidence(
            EvidenceLevel.REPORTED,
            result.command,
            result.exit_code,
            tuple(files),
            seconds,
            output,
            CHECK_FAILED,
            own.stamp(),
        )
    return session.record_check(todo_id, evidence)


def _list_weakened(before: Evidence | None, own: CheckFiles, changed: list[str]) -> list[str]:
    stamp = before.check_files if before is not None else None
    if stamp is not None and not own.is_as_stamped(stamp):
        return ["its own files, after it failed"]
    if before is not None and before.note is not None and before.note.startswith("check changed: "):
        return [before.note.removeprefix("check changed: ")]
    return changed if stamp is None else []


def _run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Return what comes of the work, also where a loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    found: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(asyncio.run(work))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="headway check")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]
