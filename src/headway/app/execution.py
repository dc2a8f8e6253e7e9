"""Execute todos as the settings of the project say, and tell in the lines of a terminal what came of it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from headway.core.text import sanitize_for_display

if TYPE_CHECKING:
    from headway.core.execution_events import ExecutionFinished
    from headway.execute.checkpoint_rules import CheckpointRules
    from headway.execute.options import ExecutionOptions, ExecutionResult
    from headway.session import Session
    from headway.settings.model import Settings
    from headway.tools.approvals import Approvals


async def execute_todos(
    session: Session, options: ExecutionOptions, settings: Settings, approvals: Approvals, model: str, folder: str
) -> ExecutionResult:
    """Execute what the options say, and leave the rest to the settings."""
    from headway.agent.config import to_loop_config
    from headway.execute.api import ExecutionSetup, execute_with

    parallel = 1 if options.in_place or options.only is not None else settings.parallel
    setup = ExecutionSetup(
        base_url=settings.base_url,
        tools=settings.make_tools,
        approvals=approvals,
        config=to_loop_config(settings),
        limits=settings.limits,
        project=folder,
        linked=settings.linked,
        checkpoints=to_checkpoint_rules(settings),
        verify=settings.verify,
        verify_tries=settings.verify_tries,
        env=settings.env,
        sandbox=settings.commands_sandbox(),
    )
    return await execute_with(session, model, replace(options, parallel=options.parallel or parallel), setup)


def to_checkpoint_rules(settings: Settings) -> CheckpointRules:
    from headway.execute.checkpoint_rules import CheckpointRules

    return CheckpointRules(
        settings.checkpoint_exclude,
        settings.checkpoint_max_file_mb,
        settings.keep_executions,
        settings.keep_days,
    )


def result_lines(
    session: Session, result: ExecutionResult, wanted: ExecutionOptions, program: str = "headway "
) -> list[str]:
    """What executing items came to, and how to go on."""
    from headway.core.execution_events import ExecutionFinished

    done, failed = len(result.completed), len(result.failed)
    end = ExecutionFinished(
        outcome=str(result.outcome), completed=done, failed=failed, total=result.total, seconds=result.seconds
    )
    return format_execution_end(session, end, result.error, wanted, program)


def format_execution_end(
    session: Session, end: ExecutionFinished, error: str | None, wanted: ExecutionOptions, program: str
) -> list[str]:
    from headway.views.execution_lines import ending_lines, format_status
    from headway.views.terminal import to_visible

    return ending_lines(
        end.outcome,
        end.completed,
        end.failed,
        end.total,
        end.seconds,
        error=error and to_visible(sanitize_for_display(error, 1_000)),
        resume=resume_command(wanted, program),
        only=wanted.only,
        became=format_status(session.todo_list.items.get(wanted.only)) if wanted.only is not None else "",
        program=program,
    )


def resume_command(wanted: ExecutionOptions, program: str = "headway ") -> str:
    """The command that goes on with it, fit to be copied into a shell."""
    words = (
        ["execute-all"] if wanted.only is None else ["execute", shlex.quote(sanitize_for_display(wanted.only, 1_000))]
    )
    words += [f"--mode={wanted.mode}"] if wanted.mode else []
    words += [f"--parallel={wanted.parallel}"] if wanted.parallel and wanted.only is None else []
    words += [f"--retries={wanted.retries}"] if wanted.retries != (wanted.only is None) else []
    words += ["--keep-going"] if wanted.keep_going else []
    words += ["--in-place"] if wanted.in_place else []
    if evidence := wanted.require_evidence:
        words.append("--require-evidence" if evidence in (True, "command_ok") else f"--require-evidence={evidence}")
    words += [f"--model={shlex.quote(wanted.model)}"] if wanted.model else []
    return f"{program}todos {' '.join(words)}"
