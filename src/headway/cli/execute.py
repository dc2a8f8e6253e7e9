"""`headway todos execute` and `execute-all`: items are worked on by the agent."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from headway.cli.options import (
    CommandContext,
    ModeType,
    complete_ids,
    is_in_terminal_session,
    print_json,
    print_sandbox,
    with_session_flags,
)
from headway.cli.output import print_open_elsewhere
from headway.cli.require_evidence import EvidenceCommand, require_evidence_option, required_level
from headway.core.errors import HeadwayError, NotRunnable
from headway.core.model import FINISHED
from headway.execute.options import ExecutionOptions
from headway.views.listing import is_half_changed
from headway.views.terminal import to_visible

if TYPE_CHECKING:
    from headway.cli.live import LiveBox
    from headway.cli.run_view import RunView
    from headway.core.execution_events import ExecutionFinished
    from headway.execute import ExecutionResult
    from headway.session import Session
    from headway.settings.model import Settings
    from headway.tools.approvals import Ask

_MODE = "Approval mode during the execution: default, auto_edit, sandboxed or yolo."
_IN_PLACE = "Work in the project's own files, one item at a time, for work that cannot be isolated."
_LAST_EVENTS = 50


@click.command("execute", cls=EvidenceCommand)
@click.argument("todo_id", metavar="ID", shell_complete=complete_ids)
@click.option("--mode", type=ModeType(), help=_MODE)
@click.option(
    "--retries", type=click.IntRange(0, 100), default=0, help="Number of retries after a failure (default: 0)."
)
@click.option("--in-place", is_flag=True, help=_IN_PLACE)
@require_evidence_option
@with_session_flags
def execute_one(
    chosen: CommandContext, todo_id: str, mode: str | None, retries: int, in_place: bool, require_evidence: str | None
) -> None:
    """Have the agent do one item whose dependencies are completed.

    \b
    headway todos execute step-1 --mode=auto_edit
    """
    _execute(
        chosen,
        ExecutionOptions(
            todo_id, mode, retries=retries, require_evidence=required_level(require_evidence), in_place=in_place
        ),
    )


@click.command("execute-all", cls=EvidenceCommand)
@click.option("--mode", type=ModeType(), help=_MODE)
@click.option("--parallel", type=click.IntRange(1, 64), help="Maximum items at once (default: the setting, else 1).")
@click.option(
    "--retries", type=click.IntRange(0, 100), default=1, help="Number of retries for a failed item (default: 1)."
)
@click.option("--keep-going", is_flag=True, help="Continue with items that do not depend on a failed one.")
@click.option("--in-place", is_flag=True, help=_IN_PLACE)
@require_evidence_option
@with_session_flags
def execute_all(
    chosen: CommandContext,
    mode: str | None,
    parallel: int | None,
    retries: int,
    keep_going: bool,
    in_place: bool,
    require_evidence: str | None,
) -> None:
    """Have the agent do all pending items, each once its dependencies are completed.

    Each attempt works in a folder of its own, and its changes are merged into your files if it succeeds. Ctrl+C
    stops it and keeps everything; the same command continues where it stopped, and retries failed items. With
    --json: one event per line.

    \b
    headway todos execute-all --mode=auto_edit
    headway todos execute-all --mode=yolo --parallel=4 --keep-going
    """
    if in_place and parallel is not None and parallel > 1:
        raise click.UsageError("With --in-place, items run one at a time; omit --parallel.")
    wanted = ExecutionOptions(None, mode, parallel, retries, keep_going, required_level(require_evidence), in_place)
    _execute(chosen, wanted)


def _execute(chosen: CommandContext, wanted: ExecutionOptions) -> None:
    if is_in_terminal_session(click.get_current_context()):
        _execute_here(chosen, wanted)
        return
    from headway.cli.logs import keep_logs_off_the_screen
    from headway.cli.run import NO_MODEL

    keep_logs_off_the_screen(debug=chosen.debug)
    session = chosen.open()
    loaded = chosen.settings(mode=wanted.mode)
    for notice in loaded.notices:
        click.echo(f"Note: {notice}", err=True)
    wanted = replace(wanted, model=chosen.model)
    if wanted.only is None and not chosen.json and all(todo.status in FINISHED for todo in session.todos):
        _settle_files(chosen, session)
        click.echo("No pending todos")
        print_open_elsewhere(chosen, session)
        return
    _refuse_unready(chosen, session, wanted)
    if loaded.settings.model is None:
        raise HeadwayError(NO_MODEL)
    print_sandbox(loaded)
    sys.exit(_execute_for_exit_code(chosen, session, loaded.settings, wanted))


def _execute_here(chosen: CommandContext, wanted: ExecutionOptions) -> None:
    """In the terminal session, as a run of its own."""
    if chosen.live is None or chosen.session is not None or chosen.agent is not None:
        raise HeadwayError(
            "Only the list of the open session can be executed here; switch with /session, or use a shell."
        )
    _refuse_unready(chosen, chosen.live.session, wanted)
    if wanted.only is None and all(todo.status in FINISHED for todo in chosen.live.session.todos):
        _settle_files(chosen, chosen.live.session)
    chosen.live.execute(replace(wanted, model=click.get_current_context().params.get("model")))


def _settle_files(chosen: CommandContext, session: Session) -> None:
    """Put right what a killed process left half changed, though nothing is to be executed."""
    if not is_half_changed(session.state, session.agent_id):
        return
    from headway.execute.recover_files import describe_recovery, recover_before_execution

    if recovery := describe_recovery(recover_before_execution(session, chosen.folder())):
        click.echo(to_visible(recovery))


def _refuse_unready(chosen: CommandContext, session: Session, wanted: ExecutionOptions) -> None:
    """What is wrong with the item is said whether or not there is a model."""
    from headway.core.errors import TodoNotFound
    from headway.core.executions import refuse_unready

    if wanted.only is not None:
        todo_list = session.todo_list
        if wanted.only not in todo_list.items:
            raise TodoNotFound(wanted.only, todo_list.items)
        try:
            refuse_unready(todo_list.items[wanted.only], todo_list)
        except NotRunnable as error:
            if chosen.json:
                raise
            from headway.app.advice import explain_error

            click.echo(f"❌ {explain_error(error, chosen.program)}", err=True)
            sys.exit(1)


def _execute_for_exit_code(
    chosen: CommandContext, session: Session, settings: Settings, wanted: ExecutionOptions
) -> int:
    from headway.app.execution import execute_todos, format_execution_end, result_lines
    from headway.cli.foreground import INTERRUPTED, ForegroundRun

    front: ForegroundRun[ExecutionResult] = ForegroundRun(session)
    before = session.version

    async def work(ask: Ask | None) -> ExecutionResult:
        return await execute_todos(
            session, wanted, settings, settings.make_approvals(ask), settings.model or "", chosen.folder()
        )

    try:
        result, code = front.run(work, None if chosen.json else partial(_make_view, agent=session.agent_id))
    except KeyboardInterrupt:
        result, code = None, INTERRUPTED
    if result is None:
        if code == INTERRUPTED and not chosen.json:
            end = _find_end_in_log(session, before)
            if end is not None:
                _print_lines(["", *format_execution_end(session, end, None, wanted, "headway ")])
        return code
    if chosen.json and result.outcome == "nothing":
        print_json({"type": "NothingToExecute", "session_id": session.name}, indent=None)
    elif not chosen.json:
        lines = result_lines(session, result, wanted)
        _print_lines(lines if result.outcome == "nothing" else ["", *lines])
    if result.outcome == "interrupted":
        return INTERRUPTED
    return 0 if result.ok else 1


def _print_lines(lines: list[str]) -> None:
    from headway.views.terminal import has_unicode, to_ascii

    text = "\n".join(lines)
    click.echo(text if has_unicode(sys.stdout) else to_ascii(text))


def _find_end_in_log(session: Session, before: int) -> ExecutionFinished | None:
    """How an execution ended that nobody waited for."""
    from headway.core.execution_events import ExecutionFinished

    last = session.store.events(session.name, max(session.version - _LAST_EVENTS, before))
    ends = [event.data for event in last if isinstance(event.data, ExecutionFinished)]
    return ends[-1] if ends else None


def _make_view(box: LiveBox, agent: str) -> RunView:
    from headway.cli.execution_view import ExecutionView

    return ExecutionView(box, agent)
