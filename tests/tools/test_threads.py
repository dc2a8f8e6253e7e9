"""Functions in threads; whatever becomes of whoever waits."""

from __future__ import annotations

import asyncio
import gc
import threading
import time

import pytest

from headway.tools.threads import run_in_thread


@pytest.mark.parametrize("seconds", [0, 0.0003, 0.02])
async def test_what_a_function_returns_comes_whenever_it_ends(seconds: float) -> None:
    def work() -> int:
        time.sleep(seconds)
        return 42

    for _ in range(20):
        assert await run_in_thread(work) == (42, None)


@pytest.mark.parametrize("seconds", [0, 0.02])
async def test_what_it_raises_is_given_out(seconds: float) -> None:
    def work() -> None:
        time.sleep(seconds)
        raise SystemExit(3)

    answer, error = await run_in_thread(work)
    assert answer is None and isinstance(error, SystemExit)


async def test_whoever_waits_can_give_up_and_the_next_call_is_served() -> None:
    go = threading.Event()
    waiting = asyncio.create_task(run_in_thread(go.wait))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await run_in_thread(lambda: "next") == ("next", None)
    go.set()


async def test_other_tasks_go_on_meanwhile() -> None:
    go = threading.Event()
    waiting = asyncio.create_task(run_in_thread(lambda: go.wait(30)))
    await asyncio.sleep(0)
    go.set()  # only reached if the loop is not held up
    assert (await asyncio.wait_for(waiting, 30))[0] is True


def test_a_loop_that_is_gone_when_it_ends_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    go, ended = threading.Event(), threading.Event()

    def work() -> None:
        go.wait(30)
        ended.set()

    async def give_up() -> None:
        task = asyncio.create_task(run_in_thread(work))
        await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(give_up())
    go.set()
    assert ended.wait(30)
    gc.collect()
    assert capsys.readouterr().err == ""


async def test_many_at_once_all_come_back() -> None:
    answers = await asyncio.gather(*(run_in_thread(lambda number=number: number) for number in range(200)))
    assert [answer for answer, _ in answers] == list(range(200))
