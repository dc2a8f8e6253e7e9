"""Executions that are cut off or killed after so many events, and resumed: what then must hold."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from tests.support.projects import temporary_folder

import headway
from headway.execute import ExecutionEnding

from .dags import Dag, lines_of
from .executing import sound, states, texts
from .playing import kill, play


async def cut_and_resumed(dag: Dag, cuts: list[int], parallel: int) -> None:
    with temporary_folder() as folder:
        session = dag.open(folder)
        for after in cuts:
            await _cut_off(session, after, parallel)
            sound(session)
        result = await play(session, parallel=parallel)
        assert result.outcome in (ExecutionEnding.COMPLETE, ExecutionEnding.NOTHING)
        assert set(states(session).values()) == {"completed"}
        assert not any(todo.interrupted for todo in session.todos)
        _assert_undisturbed(dag, folder, parallel)
        sound(session)


def killed_and_resumed(dag: Dag, cuts: list[int], parallel: int) -> None:
    with temporary_folder() as folder:
        dag.open(folder).close()
        for after in cuts:
            kill(folder, f"#{after}", parallel=parallel)
            session = headway.open(folder)
            assert "in_progress" not in states(session).values()
            session.close()
        session = headway.open(folder)
        asyncio.run(play(session, parallel=parallel))
        assert set(states(session).values()) == {"completed"}
        _assert_undisturbed(dag, folder, parallel)


async def _cut_off(session: headway.Session, after: int, parallel: int) -> None:
    """Cancels an execution after so many events, unless it has ended before."""
    loop = asyncio.get_running_loop()
    heard = 0

    def listen(event: headway.Event) -> None:
        nonlocal heard
        heard += 1
        if heard == after:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)

    task = asyncio.create_task(play(session, parallel=parallel, on_event=listen))
    with suppress(asyncio.CancelledError):
        await task


def _assert_undisturbed(dag: Dag, folder: Path, parallel: int) -> None:
    found = texts(folder)
    assert found == dag.in_order() if parallel == 1 else lines_of(found) == lines_of(dag.in_order())
