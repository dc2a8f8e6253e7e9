"""What has to be seen through, also when whoever waits for it is cancelled meanwhile, once or several times."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def finish_despite_cancel(work: Coroutine[Any, Any, T]) -> T:
    """The result of the work. A cancellation that came meanwhile goes through afterwards."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        if not task.cancelled():
            task.exception()  # asked for, so that nothing complains that nobody did
        raise asyncio.CancelledError
    return task.result()
