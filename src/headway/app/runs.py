"""Have the agent work on a message, as the settings of the project say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.agent import LoopConfig, RunResult
    from headway.session import Session
    from headway.settings.model import Settings
    from headway.tools.approvals import Approvals


async def run_message(
    session: Session,
    text: str | None,
    settings: Settings,
    approvals: Approvals,
    folder: str,
    *,
    model: str | None = None,
    config: LoopConfig | None = None,
    keeps_outputs: bool = True,
    planning: bool | None = None,
    new_conversation: bool = False,
) -> RunResult:
    """Run the loop on a message; without a text, the conversation goes on where it was.

    `model` and `config` stand in for those of the settings; `keeps_outputs` is off where nothing is to be kept.
    """
    from headway.agent import run_loop
    from headway.agent.config import to_loop_config

    return await run_loop(
        session,
        text,
        model=model or settings.model or "",
        base_url=settings.base_url,
        tools=settings.make_tools(folder),
        approvals=approvals,
        config=config or to_loop_config(settings),
        limits=settings.limits if keeps_outputs else settings.limits.model_copy(update={"kept_bytes": 0}),
        project=folder,
        planning=planning,
        new_conversation=new_conversation,
    )
