"""How the tests execute items: a model that answers by script, doors at which items wait, and what is read of it."""

from __future__ import annotations

import asyncio
import atexit
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic_ai.messages import ModelMessage, ToolReturnPart, UserPromptPart
from tests.support.counts import ON_DISK
from tests.support.projects import temporary_folder

import headway
from headway import Event, Session
from headway.agent import LoopConfig
from headway.core.events import ListDelta
from headway.core.evolve import fold
from headway.core.execution_events import AttemptFinished, AttemptStarted, ExecutionFinished, ExecutionStarted
from headway.core.model import State
from headway.execute import ExecutionResult, execute, execute_all
from headway.testing import Call, Request, ScriptedModel, Turn
from headway.tools import Tool, builtin_tools, tool

from .shadows import git

BOUND = 60.0
"""Seconds after which an execution hangs. Nothing here takes a tenth of it."""
MANY = 400
T = TypeVar("T")
Answer = str | Turn | Callable[[list[ModelMessage], Request], str | Turn]
Items = Iterable[str | dict[str, object]]
shared_folders = ExitStack()
"""Temporary folders that several tests share."""
atexit.register(shared_folders.close)

# projects and lists


def commit_files(folder: Path, files: Mapping[str, str]) -> Path:
    """A repository of the user's own, with these files committed."""
    lay_out(folder, _committed(tuple(files.items())))
    return folder


@cache
def _committed(files: tuple[tuple[str, str], ...]) -> dict[str, bytes]:
    """All the files of such a repository, which git makes once."""
    with temporary_folder() as folder:
        git(folder, "init", "-q", "-b", "trunk", "--template=")
        put(folder, dict(files))
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "first")
        (folder / ".git" / "info").mkdir()
        return all_files(folder)


def all_files(folder: Path) -> dict[str, bytes]:
    """Every file of a project, also of the repository and of Headway."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def lay_out(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def put(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def texts(folder: Path) -> dict[str, str]:
    """The files of a project, apart from the repository's and Headway's own."""
    found: dict[str, str] = {}
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".git", ".headway")]
        found |= {os.path.relpath(os.path.join(at, name), folder): Path(at, name).read_text() for name in names}
    return found


def opened(folder: Path, items: Items, name: str = "default") -> Session:
    """A session with a list; an item as a text has that for its id."""
    session = headway.open(folder, name)
    listed(session, items)
    return session


def in_memory(items: Items) -> Session:
    """A session with a list whose items change no files; `make soak` runs the same tests with one on disk."""
    session = headway.open(shared_folders.enter_context(temporary_folder()) if ON_DISK else ".", memory=not ON_DISK)
    listed(session, items)
    return session


def listed(session: Session, items: Items) -> None:
    session.write([{"id": one, "content": f"Do {one}"} if isinstance(one, str) else one for one in items], replace=True)


def item(todo_id: str, *needs: str, **fields: object) -> dict[str, object]:
    return {"id": todo_id, "content": f"Do {todo_id}", "depends_on": list(needs), **fields}


# what a model answers


def model(**turns: Iterable[Answer]) -> ScriptedModel:
    """Item (`_` for `-`) → what its model answers, attempt after attempt."""
    return scripted({name.replace("_", "-"): given for name, given in turns.items()})


def scripted(turns: Mapping[str, Iterable[Answer]]) -> ScriptedModel:
    """A text alone answers for a model that has reported the item as completed; `silent` makes one that has not."""
    conversations = {f"Execute todo: {name}\n": _reporting(given) for name, given in turns.items()}
    return ScriptedModel(conversations=conversations)


def _reporting(answers: Iterable[Answer]) -> list[Answer]:
    turns: list[Answer] = []
    for answer in answers:
        has_reported = bool(turns) and _calls(turns[-1]) == ["report_item"]
        turns += [answer] if has_reported else _reported(answer)
    return turns


def _reported(answer: Answer) -> list[Answer]:
    if isinstance(answer, Doing):
        return [Doing(answer.do, turn) for turn in _reported(answer.answer)[:1]] + _reported(answer.answer)[1:]
    ends = isinstance(answer, str) or (isinstance(answer, Turn) and bool(answer.text) and not answer.calls)
    return [report("completed"), answer] if ends and not isinstance(answer, Silent) else [answer]


def _calls(answer: Answer) -> list[str]:
    return [call.name for call in answer.calls] if isinstance(answer, Turn) else []


class Silent(Turn):
    """The last answer of a model that has reported nothing."""


def silent(text: str) -> Turn:
    return Silent(text=text)


def bash(command: str, **more: object) -> Turn:
    return Turn(calls=[Call("bash", {"command": command, **more})])


def write(path: str, content: str) -> Turn:
    return Turn(calls=[Call("write_file", {"path": path, "content": content})])


def report(status: str, reason: str = "") -> Turn:
    return Turn(calls=[Call("report_item", {"status": status, "reason": reason})])


def waits(door: str) -> Turn:
    return Turn(calls=[Call("wait_at", {"door": door})])


def runs(*commands: str, says: str = "Done.") -> list[Answer]:
    """An item whose model runs these commands and ends."""
    return [*(bash(command) for command in commands), says]


@dataclass(frozen=True)
class Doing:
    """An answer before which something happens."""

    do: Callable[[], object]
    answer: Answer

    def __call__(self, messages: list[ModelMessage], request: Request) -> str | Turn:
        self.do()
        return self.answer(messages, request) if callable(self.answer) else self.answer


def does(do: Callable[[], object], answer: str | Turn) -> Answer:
    return Doing(do, answer)


def always(*calls: Turn, says: str = "Done.") -> list[Answer]:
    """An item whose model makes these calls one after the other, in every attempt anew."""

    def turn(messages: list[ModelMessage], request: Request) -> str | Turn:
        made = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
        return [*calls, report("completed"), says][made]

    return [turn] * MANY


def prompts(asked: ScriptedModel, todo_id: str) -> list[str]:
    """What each attempt at an item began with."""
    found: list[str] = []
    for request in asked.requests:
        first = next(part.content for part in request.messages[0].parts if isinstance(part, UserPromptPart))
        if len(request.messages) == 1 and f"Execute todo: {todo_id}\n" in str(first):
            found.append(str(first))
    return found


# doors


@dataclass
class Doors:
    """Where items wait until the test lets them pass."""

    reached: Counter[str] = field(default_factory=Counter[str])
    inside: int = 0
    most: int = 0
    """How many waited at once, at most."""
    _opened: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])

    def _door(self, name: str) -> asyncio.Event:
        return self._opened.setdefault(name, asyncio.Event())

    def open(self, *names: str) -> None:
        for name in names:
            self._door(name).set()

    def tools(self, folder: str) -> list[Tool[Any]]:
        @tool(effect="read")
        async def wait_at(door: str) -> str:
            """Waits at a door."""
            self.reached[door] += 1
            self.inside += 1
            self.most = max(self.most, self.inside)
            try:
                await self._door(door).wait()
            finally:
                self.inside -= 1
            return "open"

        return [*builtin_tools(folder), wait_at]

    async def until(self, *names: str) -> None:
        """Waits until items stand at these doors."""
        await until(lambda: all(self.reached[name] for name in names))


# executing


async def go(session: Session, answers: ScriptedModel, **how: Any) -> ExecutionResult:
    """`execute_all`, bounded in time, without questions."""
    async with asyncio.timeout(BOUND):
        return await execute_all(session, model=answers, **_usual(how))


async def one(session: Session, todo_id: str, answers: ScriptedModel, **how: Any) -> ExecutionResult:
    async with asyncio.timeout(BOUND):
        return await execute(session, todo_id, model=answers, **_usual(how))


def _usual(how: dict[str, Any]) -> dict[str, Any]:
    given = {"config": LoopConfig(instructions="Work.", max_nudges=0, todo_tools="full"), "mode": "yolo", **how}
    return {name: value for name, value in given.items() if value is not None}


def begun(session: Session, answers: ScriptedModel, **how: Any) -> asyncio.Task[ExecutionResult]:
    return asyncio.create_task(go(session, answers, **how))


async def cancelled(task: asyncio.Task[ExecutionResult]) -> None:
    """Cancels it, and waits for its end."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def until(holds: Callable[[], object], seconds: float = BOUND) -> None:
    end = asyncio.get_running_loop().time() + seconds
    while not holds():
        assert asyncio.get_running_loop().time() < end, "it did not come about in time"
        await asyncio.sleep(0.01)


# what the log and the list say


def facts(session: Session, kind: type[T]) -> list[T]:
    return [event.data for event in session.events() if isinstance(event.data, kind)]


def starts(session: Session) -> list[str]:
    return [fact.item_id for fact in facts(session, AttemptStarted)]


def outcomes(session: Session) -> list[tuple[str, str]]:
    return [(fact.item_id, fact.outcome) for fact in facts(session, AttemptFinished)]


def states(session: Session) -> dict[str, str]:
    return {todo.id: str(todo.status) for todo in session.todos}


def todo(session: Session, todo_id: str) -> headway.Todo:
    return session.todo_list.items[todo_id]


def sound(session: Session) -> None:
    """What holds after every execution, however it ended."""
    log: list[Event] = list(session.events())
    state = session.state
    assert fold(State(), log) == state, "the log is not the state"
    assert [event.version for event in log] == list(range(1, len(log) + 1))
    assert not [todo.id for todo in session.todos if str(todo.status) == "in_progress"]
    assert all(not run.is_active for run in state.runs.values())
    kinds = Counter(type(event.data) for event in log)
    assert kinds[ExecutionFinished] <= kinds[ExecutionStarted]
    _in_order(log)


def _in_order(log: list[Event]) -> None:
    """Nothing runs twice at once, nor before what it needs is completed; what began ended."""
    working: set[str] = set()
    before = State()
    for event in log:
        data = event.data
        if isinstance(data, AttemptStarted):
            assert data.item_id not in working, "it ran twice at once"
            working.add(data.item_id)
            items = before.list_of("main").items
            assert all(str(items[node].status) == "completed" for node in items[data.item_id].depends_on)
        elif isinstance(data, AttemptFinished):
            working.discard(data.item_id)  # of one that was cut off, the end may be told later
        elif event.type == "RunFinished" and event.agent == "main":
            working.clear()
        before = fold(before, [event])
    assert not working


def changes(session: Session) -> list[ListDelta]:
    return [event.data for event in session.events() if isinstance(event.data, ListDelta) and event.agent == "main"]
