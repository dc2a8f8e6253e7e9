"""Execute todos as the settings of the project say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
