"""`headway demo`: the whole story, offline. Real files, tools, tests, git and log; only the model is scripted."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from headway.cli.live import LiveBox
from headway.cli.logs import keep_logs_off_the_screen
from headway.core.errors import HeadwayError
from headway.project import open_session
from headway.session import Session

if TYPE_CHECKING:
    from headway.execute import ExecutionResult
    from headway.testing import ScriptedModel

PACE = 0.7
"""Seconds that the scripted model takes for an answer."""


@click.command()
@click.option("--fast", is_flag=True, help="Run without pauses.")
@click.option("--keep", is_flag=True, help="Keep the demo project, so that you can explore it.")
def demo(fast: bool, keep: bool) -> None:
    """Watch a plan being made, turned into todos and executed in parallel: offline, without a key, in a new folder.

    The folder is removed at the end; the report is kept.
    """
    keep_logs_off_the_screen(debug=False)
    folder = tempfile.mkdtemp(prefix="headway-demo-")
    click.echo("The model is scripted; the files, tools, tests, the list and its log are real.\n")
    program = _program_name()
    # So that the project's tests run wherever Headway does.
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH") or os.defpath])
    try:
        _tell_story(program, folder, fast=fast, keep=keep)
    finally:
        if not keep:
            _remove(folder)


def _tell_story(program: str, folder: str, *, fast: bool, keep: bool) -> None:
    from headway.cli.demo_story import build_conversations
    from headway.testing import ScriptedModel

    _make_project(folder)
    session = open_session(folder, "demo")
    session.store.set_current(session.name)
    model = ScriptedModel(conversations=build_conversations(0.0 if fast or not os.isatty(1) else PACE))
    try:
        asyncio.run(_play_story(session, folder, model))
        _show_end(session, folder, keep=keep)
    except KeyboardInterrupt:
        click.echo("\nStopped; everything is kept." if keep else "\nStopped.")
    finally:
        session.close()
    if keep:
        _print_next_steps(program, folder)
    else:
        click.echo(f"\nThe demo project was removed. To keep and explore it: {program} demo --keep")


def _remove(folder: str) -> None:
    from headway.execute import on_disk

    with suppress(OSError):
        on_disk.remove(folder)


def _make_project(folder: str) -> None:
    from headway.cli.demo_story import FILES, TEST

    for name, text in FILES.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    if shutil.which("git"):
        who = ["-c", "user.name=Headway", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false"]
        for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "Dates, and tests that fail"]):
            subprocess.run(["git", *words], cwd=folder, check=False, capture_output=True)
    click.echo(f"A project with tests that fail, in {folder}:\n")
    click.echo(f"    $ {TEST}\n    {_run_tests(folder)}\n")


def _run_tests(folder: str) -> str:
    """The last line that the project's tests print."""
    from headway.cli.demo_story import TEST

    done = subprocess.run(TEST.split(), cwd=folder, check=False, capture_output=True, text=True)
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


async def _play_story(session: Session, folder: str, model: ScriptedModel) -> None:
    from headway.cli.demo_story import TASK, WORKERS
    from headway.cli.execution_view import ExecutionView
    from headway.views.execution_lines import ending_lines
    from headway.views.plan import plan_lines

    click.echo(f'1. Plan mode: "{TASK}"\n')
    with LiveBox() as box:
        view = ExecutionView(box)
        unsubscribe = session.subscribe(view.handle, to_the_end=2.0)
        try:
            await _make_plan(session, folder, model)
            await asyncio.to_thread(unsubscribe)
            assert session.plan is not None
            box.print_line("\n" + "\n".join(plan_lines(session.plan)))
            box.print_line(f"\n2. The plan becomes {len(session.plan_to_todos().todos)} todos: headway plan to-todos\n")
            box.print_line(
                f"3. They are executed, up to {WORKERS} in parallel: headway todos execute-all --parallel={WORKERS}\n"
            )
            unsubscribe = session.subscribe(view.handle, to_the_end=2.0)
            box.show(session.todos)
            result = await _execute_plan(session, folder, model)
        finally:
            await asyncio.to_thread(unsubscribe)
            view.close()
    lines = ending_lines(
        str(result.outcome), len(result.completed), len(result.failed), result.total, result.seconds, error=result.error
    )
    click.echo("\n" + "\n".join(lines))
    if not result.ok:
        raise HeadwayError(result.error or "The demo did not finish.")


async def _make_plan(session: Session, folder: str, model: ScriptedModel) -> None:
    from headway.agent import run_loop
    from headway.cli.demo_story import TASK

    result = await run_loop(session, TASK, model=model, project=folder, planning=True)
    session.set_plan_mode(False)
    if not result.ok or session.plan is None:
        raise HeadwayError(result.error or "The demo did not make a plan.")


async def _execute_plan(session: Session, folder: str, model: ScriptedModel) -> ExecutionResult:
    from headway.cli.demo_story import WORKERS
    from headway.execute import execute_all

    return await execute_all(session, model=model, mode="yolo", parallel=WORKERS, project=folder)


def _show_end(session: Session, folder: str, *, keep: bool) -> None:
    from headway.cli.demo_story import TEST
    from headway.cli.report import write_html
    from headway.views.listing import list_lines

    click.echo("\n4. The result: ✓ its check passed, ✓? not verified\n")
    click.echo("\n".join(f"    {line}".rstrip() for line in list_lines(session.todos)))
    click.echo(f"\n    $ {TEST}\n    {_run_tests(folder)}")
    report = write_html(session, folder)
    if not keep:
        descriptor, kept = tempfile.mkstemp(".html", "headway-demo-report-")
        os.close(descriptor)
        report = shutil.copyfile(report, kept)
    click.echo(f"\n5. The report, with timeline and graph: open {report}")


def _program_name() -> str:
    """How Headway is called here."""
    named = sys.argv[0] == "headway" or shutil.which("headway")
    return "headway" if named else os.path.relpath(sys.argv[0])


def _print_next_steps(program: str, folder: str) -> None:
    click.echo("\nContinue with it, for example:\n")
    for words in ("todos list", "todos rollback step-3", "todos history", "report"):
        click.echo(f"    {program} {words} --project {folder}")
