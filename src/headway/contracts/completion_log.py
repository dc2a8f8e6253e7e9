"""The completion log: a Markdown file in the project to which each finished list of a session is added as a block.

Blocks are added whole and flushed to disk, one writer at a time. Item text cannot break the structure of the file.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import contextmanager

from headway.contracts.limits import is_log_in_english
from headway.core.clock import add_seconds, format_local_stamp, now
from headway.core.codec import to_json
from headway.core.errors import HeadwayError
from headway.core.events import ListDelta
from headway.core.model import FINISHED, MODEL, CompletionLog, Status
from headway.core.text import neutralize
from headway.store.folder import lock_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from headway.core.model import Todo
    from headway.session import Session

FOLDER = ("memory", "todos")
_LABELS = {
    False: ("总任务概述：", "完成的任务", "取消的任务"),
    True: ("Overall task: ", "finished tasks", "cancelled tasks"),
}
_NAME = re.compile(r"memory/todos/todoList-\d{8}-\d{6}\.md")
_LEADING_MARKUP = re.compile(r"^(?:[#>+*=|`_\[\-]|\d+[.)]|~~~)")
_HTML = re.compile(r"(\\*)(<)")
_HTML_OR_STROKE = re.compile(r"(\\*)([<~])")


def is_finished(todos: Sequence[Todo]) -> bool:
    return bool(todos) and all(todo.status in FINISHED for todo in todos)


def log_completion(session: Session, project_root: str, summary: str, todos: Sequence[Todo]) -> str | None:
    """Adds a block for a finished list of the session; returns the file's path in the project.

    None if this very list was logged already and has not changed since. Raises OSError if the file cannot be written.
    """
    folder = _make_folder(project_root)
    with lock_folder(folder):
        logged = session.state.completion_log
        digest = _compute_digest(summary, todos)
        last = logged.last if logged else {}
        if _was_logged(session, last.get(session.agent_id, ""), digest):
            return None
        moment = now()
        named = logged.path if logged and _NAME.fullmatch(logged.path) else None
        path = named or _find_free_name(project_root, moment)
        blocks = (logged.blocks if logged else 0) + 1
        text = format_block(blocks, moment, summary, todos)
        with _append(os.path.join(project_root, *path.split("/")), text):
            session.log_completion(
                CompletionLog(path, blocks, {**last, session.agent_id: f"{session.todo_list.changed_in}-{digest}"}),
                actor=MODEL,
            )
        return path


def _was_logged(session: Session, last: str, digest: str) -> bool:
    """Whether this list was the last one logged, and no item was touched since in what the log shows of it."""
    version, _, logged = last.partition("-")
    if logged != digest:
        return False
    deltas = [event.data for event in session.events(int(version)) if event.agent == session.agent_id]
    return not any(isinstance(delta, ListDelta) and _touches(delta) for delta in deltas)


def _touches(delta: ListDelta) -> bool:
    fields = [*delta.changed.values()]
    return bool(delta.added or delta.removed) or any("content" in sides or "status" in sides for sides in fields)


def format_block(number: int, moment: str, summary: str, todos: Sequence[Todo]) -> str:
    overall, done_label, cancelled_label = _LABELS[is_log_in_english()]
    lines = [f"# task{number}-{format_local_stamp(moment)}", "", f"{overall}{to_markdown_text(summary)}", ""]
    done = [todo for todo in todos if todo.status is Status.COMPLETED]
    cancelled = [todo for todo in todos if todo.status is Status.CANCELLED]
    if done:
        lines += [f"[{len(done)}/{len(todos)}] Completed: {done_label}."]
        lines += [*(f"- {to_markdown_text(todo.content)}" for todo in done), ""]
    if cancelled:
        lines += [f"[{len(cancelled)}/{len(todos)}] Cancelled: {cancelled_label}."]
        lines += [*(f"- ~~{to_markdown_text(todo.content, struck=True)}~~" for todo in cancelled), ""]
    return "\n".join(lines) + "\n"


def to_markdown_text(text: str, *, struck: bool = False) -> str:
    """Text on one line that starts no Markdown structure, holds no HTML and, if struck, does not end the stroke."""
    line = (_HTML_OR_STROKE if struck else _HTML).sub(r"\1\1\\\2", neutralize(text).strip())
    if (len(line) - len(line.rstrip("\\"))) % 2:
        line += "\\"
    found = _LEADING_MARKUP.match(line)
    return f"{line[: found.end() - 1]}\\{line[found.end() - 1 :]}" if found else line


def _compute_digest(summary: str, todos: Sequence[Todo]) -> str:
    content = to_json([summary, *([todo.content, todo.status] for todo in todos)])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _make_folder(project_root: str) -> str:
    """The log's folder, made if it is missing; never one that a link leads out of the project."""
    if not os.path.isdir(project_root):
        raise OSError("the project's folder does not exist")
    folder = os.path.join(project_root, *FOLDER)
    root = os.path.realpath(project_root)
    if os.path.commonpath([os.path.realpath(folder), root]) != root:
        raise OSError("memory/todos leads out of the project")
    os.makedirs(folder, exist_ok=True)
    return folder


def _find_free_name(project_root: str, moment: str) -> str:
    """The name for this second, or for the next one that no other session has taken."""
    for second in range(10_000):
        path = "/".join([*FOLDER, f"todoList-{format_local_stamp(add_seconds(moment, second))}.md"])
        if not os.path.lexists(os.path.join(project_root, *path.split("/"))):
            return path
    raise OSError("every file name for the log is in use")


def _truncate(handle: int, path: str, size: int) -> None:
    os.ftruncate(handle, size)
    if not size:
        os.unlink(path)


@contextmanager
def _append(path: str, text: str) -> Generator[None]:
    """Adds the text as a whole: if it does not fit, or what is done with it fails, the file is as before."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    try:
        size = os.fstat(handle).st_size
        data = text.encode()
        try:
            while data:
                data = data[os.write(handle, data) :]
            os.fsync(handle)
        except BaseException:
            _truncate(handle, path, size)
            raise
        try:
            yield
        except HeadwayError:  # not recorded; after anything else it may be, and a block that stands twice is no loss
            _truncate(handle, path, size)
            raise
    finally:
        os.close(handle)
