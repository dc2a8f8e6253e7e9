"""`session.work(…)`: a worker's claim for the length of a `with` block, kept alive by a thread."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress

from headway.core.errors import HeadwayError
from headway.core.model import Status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

    from headway.core.model import Todo
    from headway.session import Session


@contextmanager
def work_on_next(session: Session, actor: str, lease: float, *, wait: bool, interval: float) -> Generator[Todo | None]:
    """Do what `Session.work` says."""
    todo = session.claim(actor, lease)
    while todo is None and wait and session.progress.open:
        time.sleep(interval)
        todo = session.claim(actor, lease)
    if todo is None:
        yield None
        return
    over = threading.Event()
    renewals = threading.Thread(
        target=_renew, args=(session, todo.id, actor, lease, over), name="headway claim", daemon=True
    )
    renewals.start()
    try:
        yield todo
    except BaseException:
        _end(over, renewals)
        with suppress(HeadwayError):  # lost meanwhile, or dropped: the error of the block says more
            if _is_held(session, todo.id, actor):
                session.release(todo.id, actor)
        raise
    _end(over, renewals)
    if _is_held(session, todo.id, actor):
        session.update(todo.id, status=Status.COMPLETED, actor=actor)


def _renew(session: Session, todo_id: str, actor: str, lease: float, over: threading.Event) -> None:
    while not over.wait(lease / 3):
        with suppress(HeadwayError):  # a busy store is asked again; what is lost for good is said at the end
            if not _is_held(session, todo_id, actor):
                return
            session.renew(todo_id, actor, lease)


def _is_held(session: Session, todo_id: str, actor: str) -> bool:
    """Return whether the worker still has to say what became of the todo."""
    todo = session.todo_list.items.get(todo_id)
    return todo is not None and todo.status is Status.IN_PROGRESS and todo.owner == actor


def _end(over: threading.Event, renewals: threading.Thread) -> None:
    over.set()
    renewals.join()
