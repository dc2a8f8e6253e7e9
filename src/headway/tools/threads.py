"""Threads for functions that may hang: none is waited for at the end, and one that hangs takes nothing from others."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")
_NAME = "headway tool"


async def run_in_thread(work: Callable[[], object]) -> tuple[object, BaseException | None]:
    """Return what the work returns, or what it raises, in a thread of its own."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[tuple[object, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(found: tuple[object, BaseException | None]) -> None:
        if not outcome.done():
            outcome.set_result(found)

    def run() -> None:
        try:
            found = (context.run(work), None)
        except BaseException as error:  # goes on where it is waited for
            found = (None, error)
        with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
            loop.call_soon_threadsafe(settle, found)

    threading.Thread(target=run, name=_NAME, daemon=True).start()
    return await outcome


async def call_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """As `asyncio.to_thread`, in one of these threads: whoever has to know whether it is still at it can ask."""
    result, error = await run_in_thread(functools.partial(function, *args, **kwargs))
    if error is not None:
        raise error
    return cast("T", result)


async def wait_until_idle(seconds: float) -> None:
    """Wait, at most so long, until no thread is at work: one cannot be stopped, and may still write something."""
    deadline = time.monotonic() + seconds
    while any(thread.name == _NAME for thread in threading.enumerate()) and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
