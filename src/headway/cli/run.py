"""`headway run "task"`: one task, no questions beyond approvals; the list live, a line for each call, a summary."""

from __future__ import annotations

import os
import shlex
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from headway.app.advice import explain_result
from headway.app.session_choice import explain_left_behind
from headway.cli.foreground import INTERRUPTED, ForegroundRun
from headway.cli.logs import keep_logs_off_the_screen
from headway.cli.loop_options import loop_options
from headway.cli.new_session import TakesNew, check_flags, choose_or_name, new_option
from headway.cli.options import MODES, CommandContext, complete_sessions, print_sandbox, with_project_flags
from headway.cli.require_evidence import EvidenceCommand, require_evidence_option, required_level
from headway.core.errors import HeadwayError, RunGoesOn, RunRefused
from headway.core.events import PlanUpdated
from headway.core.model import FINISHED
from headway.core.run_events import RunStarted, ToolFinished
from headway.core.text import sanitize_for_display
from headway.project import choose_session_name, open_store
from headway.session import Session
from headway.tools.effects import parse_mode

if TYPE_CHECKING:
    from headway.agent import LoopConfig, RunResult
    from headway.cli.live import LiveBox
    from headway.cli.run_view import RunView
    from headway.core.events import Event
    from headway.session import SessionStore
    from headway.settings import LoadedSettings
    from headway.settings.model import Settings
    from headway.tools.approvals import Ask

NO_MODEL = (
    "No model is set: choose one with --model provider:name, or permanently with 'headway config set model "
    "provider:name --user'. To try Headway without a model, run 'headway demo'."
)


class RunCommand(TakesNew, EvidenceCommand):
    """With options whose value is optional."""


@click.command("run", cls=RunCommand)
@click.argument("task", nargs=-1)
@click.option("--continue", "go_on", is_flag=True, help="Resume the last conversation; the task is then optional.")
@new_option
@click.option(
    "--session",
    metavar="NAME",
    shell_complete=complete_sessions,
    help="Use this session (new or existing) for this command only.",
)
@click.option("--plan", is_flag=True, help="Turn plan mode on: explore and plan, change nothing.")
@click.option(
    "--mode",
    type=click.Choice([*MODES]),
    help="default asks before writes and commands, auto_edit only before commands, sandboxed before neither in the "
    "sandbox, yolo never.",
)
@click.option("--max-rounds", type=click.IntRange(min=1), help="Maximum number of rounds (default: 50).")
@click.option("--max-tokens", type=click.IntRange(min=1), help="Maximum number of tokens.")
@click.option("--max-cost", type=click.FloatRange(min=0, min_open=True), help="Maximum cost in US dollars.")
@loop_options
@require_evidence_option
@click.option("--memory", is_flag=True, help="Keep nothing: the session is discarded when the command ends.")
@with_project_flags
def run(
    chosen: CommandContext,
    task: tuple[str, ...],
    go_on: bool,
    new: str | None,
    plan: bool,
    mode: str | None,
    max_rounds: int | None,
    max_tokens: int | None,
    max_cost: float | None,
    require_evidence: str | None,
    memory: bool,
    **settings: object,
) -> None:
    """Have the agent work on TASK in this project.

    This starts a new conversation in the current session, with the existing todo list: headway watch shows it live
    from another terminal, and headway todos changes it while the agent works. Ctrl+C stops it and keeps everything.
    With --json: one event per line.

    \b
    headway run "Work through the todo list" --mode auto_edit
    headway run --continue "Now update the changelog"    in the same conversation
    headway run --continue                               resume an interrupted run
    headway run --new "Something else"                   in a new session, with a list of its own

    The exit code is 0 if the task is done, 1 if it failed or reached a limit, 130 if it was stopped.
    """
    text = " ".join(task).strip() or None
    if text is None and not go_on:
        raise click.UsageError('Say what to do, for example: headway run "Fix the failing test"')
    check_flags(chosen, go_on=go_on, new=new, memory=memory)
    try:
        code = _run_task(
            chosen,
            text,
            go_on=go_on,
            new=new,
            plan=plan,
            memory=memory,
            mode=mode,
            max_rounds=max_rounds,
            max_tokens=max_tokens,
            max_cost=max_cost,
            require_evidence=required_level(require_evidence),
            **settings,
        )
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)


def _run_task(
    chosen: CommandContext,
    task: str | None,
    *,
    go_on: bool,
    new: str | None,
    plan: bool,
    memory: bool,
    require_evidence: bool | str,
    **flags: object,
) -> int:
    from headway.agent.config import to_loop_config

    keep_logs_off_the_screen(debug=chosen.debug)
    store = open_store(chosen.folder(), memory=memory)
    loaded = chosen.settings(**flags)
    if go_on and task is None and flags.get("mode") is None:
        loaded = _take_mode_of_last_run(chosen, store, loaded, flags)
    for notice in loaded.notices:
        click.echo(f"Note: {notice}", err=True)
    if loaded.settings.model is None:
        raise HeadwayError(NO_MODEL)
    print_sandbox(loaded)
    session = store.session(choose_or_name(chosen, store, go_on=go_on, new=new))
    if new is not None and (left := explain_left_behind(store, choose_session_name(store, os.environ))):
        click.echo(f"Note: {left}", err=True)
    if not plan and session.plan_mode:
        click.echo("Note: Plan mode is on, so nothing will be changed; 'headway plan off' turns it off.", err=True)
    config = to_loop_config(loaded.settings, require_evidence=require_evidence)
    current = new is not None
    work = _TaskRun(
        chosen, session, loaded.settings, task, config, go_on=go_on, current=current, plan=plan, memory=memory
    )
    return work.exit_code()


def _take_mode_of_last_run(
    chosen: CommandContext, store: SessionStore, loaded: LoadedSettings, flags: dict[str, object]
) -> LoadedSettings:
    """Return the settings with which the last run goes on as it was wanted, and say its mode if another one is set."""
    run = store.session(choose_or_name(chosen, store, go_on=True, new=None)).run
    if run is None or not run.mode or (mode := parse_mode(run.mode)) == loaded.settings.mode:
        return loaded
    click.echo(f"Note: The run is resumed in its own mode, {mode}; choose another one with --mode.", err=True)
    return chosen.settings(**{**flags, "mode": str(mode)})


class _TaskRun:
    """One run in front of a person, or of a program."""

    def __init__(
        self,
        chosen: CommandContext,
        session: Session,
        settings: Settings,
        task: str | None,
        config: LoopConfig,
        *,
        go_on: bool,
        current: bool,
        plan: bool,
        memory: bool,
    ) -> None:
        """`current`: its session becomes the project's current one as soon as it has begun."""
        self._chosen = chosen
        self._session = session
        self._settings = settings
        self._task = task
        self._config = config
        self._go_on = go_on
        self._current = current
        self._plan = plan
        self._memory = memory
        self._front: ForegroundRun[RunResult] = ForegroundRun(session, heard=self._handle_event)
        self._denied = 0
        """Calls that were not allowed."""
        self._planned = False
        """Whether it made a plan."""

    def exit_code(self) -> int:
        began = time.monotonic()
        result, code = self._front.run(self._run_loop, None if self._chosen.json else _make_view)
        if result is None:
            return code
        if not self._chosen.json:
            self._print_summary(result, time.monotonic() - began)
        if result.reason == "cancelled":
            return INTERRUPTED
        return 0 if result.ok else 1

    def _handle_event(self, event: Event) -> None:
        if isinstance(event.data, RunStarted) and event.agent == self._session.agent_id and not self._chosen.json:
            from headway.views.terminal import project_line

            click.echo(project_line(self._chosen.folder()))
        if isinstance(event.data, RunStarted) and self._current:
            with suppress(HeadwayError):
                self._session.store.set_current(self._session.name)
        if isinstance(event.data, ToolFinished) and event.data.denied:
            self._denied += 1
        if isinstance(event.data, PlanUpdated):
            self._planned = True

    async def _run_loop(self, ask: Ask | None) -> RunResult:
        from headway.app.runs import run_message

        try:
            return await run_message(
                self._session,
                self._task,
                self._settings,
                self._settings.make_approvals(ask),
                self._chosen.folder(),
                config=self._config,
                keeps_outputs=not self._memory,
                planning=self._plan or None,  # without the flag, the session stays as it is
                new_conversation=not self._go_on,
            )
        except RunGoesOn as error:
            raise RunRefused(f"{error.what}: wait for it, stop it, or start another session with --new.") from error

    def _print_summary(self, result: RunResult, seconds: float) -> None:
        from headway.views.run_summary import summary_lines

        lines = summary_lines(
            result.reason,
            result.rounds,
            seconds,
            self._session.todos,
            error=explain_result(result),
            files=result.files,
            input_tokens=result.input_tokens,
            cached_tokens=result.cache_read_tokens,
            output_tokens=result.output_tokens,
            cost=result.cost,
        )
        if self._denied:
            lines.append(f"Denied: {self._denied} call{'' if self._denied == 1 else 's'}{self._explain_denied()}")
        click.echo("\n" + "\n".join([*lines, *self._plan_lines()]))
        if self._memory:
            return
        named = (
            ""
            if self._chosen.session is None
            else f" --session {shlex.quote(sanitize_for_display(self._session.name))}"
        )
        if not result.ok:
            click.echo(f"Resume with: headway run --continue{named}")
        elif self._is_question(result.text):
            click.echo(f'Answer with: headway run --continue{named} "…"')

    def _is_question(self, text: str) -> bool:
        """Whether the run ended with a question of the model before everything was done."""
        is_open = any(todo.status not in FINISHED for todo in self._session.todos)
        return is_open and text.rstrip().endswith(("?", "？"))

    def _explain_denied(self) -> str:
        if self._session.plan_mode:
            return " (plan mode is on)"
        return (
            "" if self._front.asks else (" (there is no terminal to ask in; see --mode, and `allow` in headway config)")
        )

    def _plan_lines(self) -> list[str]:
        """The plan, if this run made one, and what can be done with it."""
        state = self._session.state
        if not self._planned or state.plan is None:
            return []
        from headway.views.plan import plan_lines

        lines = ["", *plan_lines(state.plan), ""]
        if self._memory:
            return lines[:-1]
        lines.append("Turn it into todos with: headway plan to-todos")
        return [*lines, "Leave plan mode with: headway plan off"] if state.plan_mode else lines


def _make_view(box: LiveBox) -> RunView:
    from headway.cli.run_view import RunView

    return RunView(box)
