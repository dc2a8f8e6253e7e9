"""What must hold of every adapter, said once; a test module of a framework says how an agent is run there."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import headway
from headway import HeadwayError, Session
from headway.core.run_events import ToolFinished

TASK = "Fix the date parser."
ITEMS = ["Read the test", "Write the parser", "Run the tests"]
Tools = Mapping[str, Callable[..., Awaitable[str]]]


@dataclass
class Turn:
    """An answer of the scripted model: words, calls as (name, arguments), or an error."""

    text: str = ""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    error: str = ""
    before: Callable[[], object] = lambda: None
    """What happens while the model thinks."""

    key: int = field(default_factory=count(1).__next__)

    @property
    def ids(self) -> list[str]:
        """The ids of its calls."""
        return [f"{'todo' if 'todo' in name else 'own'}-{self.key}-{at}" for at, (name, _) in enumerate(self.calls)]


@dataclass
class Outcome:
    """What came of a run: each request's messages as JSON, and those that the framework keeps."""

    requests: list[list[str]]
    history: list[str]
    error: BaseException | None = None

    @property
    def tails(self) -> list[str]:
        """What stood in each request behind the history, which is a part of what is kept, byte for byte."""
        found: list[str] = []
        for messages in self.requests:
            if messages == self.history[: len(messages)]:
                found.append("")
            else:
                assert messages[:-1] == self.history[: len(messages) - 1]
                found.append(messages[-1])
        return found


def create(*items: str) -> Turn:
    return Turn(calls=[("create_todo_list", {"items": [{"description": text} for text in items]})])


def done(*ids: str) -> Turn:
    return Turn(calls=[("todo", {"done": [*ids]})])


def own(name: str, **arguments: str) -> Turn:
    return Turn(calls=[(name, arguments)])


def tidy(text: str) -> str:
    """Return JSON without what is new each time: times and made-up ids."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)?", "TIME", text)
    return re.sub(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", "ID", text)


async def read(path: str) -> str:
    return f"the text of {path}"


async def write_file(path: str, text: str) -> str:
    return f"wrote {len(text)} characters to {path}"


async def bash(command: str) -> str:
    return f"{command}: {'failed with exit code 1' if 'bad' in command else 'exit code 0'}"


async def boom(path: str) -> str:
    raise ConnectionError(f"no {path} here")


TOOLS: Tools = {"read": read, "write_file": write_file, "bash": bash, "boom": boom}


class Obligations(ABC):
    """Tests of an adapter; a framework's class says how to run an agent."""

    raises_tool_errors = True
    """Whether a tool that raises ends the run."""

    @abstractmethod
    async def drive(
        self, turns: list[Turn], session: Session | None, *, tools: Tools = TOOLS, task: str = TASK, **options: Any
    ) -> Outcome:
        """Run an agent whose model answers like this, with Headway if there is a session."""

    async def test_the_history_is_what_it_was_without_headway_but_for_todo_calls(self) -> None:
        session = headway.open(memory=True)
        own_turns = [own("read", path=f"{number}.py") for number in range(20)]
        turns = [create(*(f"Read {number}.py" for number in range(20)))]
        for number, turn in enumerate(own_turns, 1):
            turns += [turn, done(f"t{number}")]
        with_headway = await self.drive([*turns, Turn("All is read.")], session)
        without = await self.drive([*own_turns, Turn("All is read.")], None)
        assert [message for message in with_headway.history if '"todo-' not in message] == without.history
        assert [todo.status for todo in session.todos] == ["completed"] * 20
        tails = with_headway.tails
        assert len(tails) == 42 and all(f"Read {number}.py" in tails[2 * number + 1] for number in range(20))
        assert without.tails == [""] * 21

    async def test_a_persons_edit_is_told_once_in_the_next_request(self) -> None:
        session = headway.open(memory=True)

        def edit() -> None:
            session.update("t2", content="Write the new parser", actor="user")

        turns = [
            create(*ITEMS),
            own("read", path="a.py"),
            own("read", path="b.py"),
            done("t1", "t2", "t3"),
            Turn("Done."),
        ]
        turns[1].before = edit
        tails = (await self.drive(turns, session)).tails
        told = [at for at, tail in enumerate(tails) if "The user changed the list" in tail]
        assert told == [2], tails

    async def test_calls_and_evidence_are_recorded(self) -> None:
        session = headway.open(memory=True)
        turns = [
            create(*ITEMS),
            own("write_file", path="parser.py", text="x = 1"),
            own("bash", command="pytest bad"),
            own("bash", command="pytest"),
            done("t1"),
            done("t2", "t3"),
            Turn("Done."),
        ]
        await self.drive(turns, session)
        first = session.todos[0]
        assert first.evidence is not None
        assert first.evidence.level == "command_ok" and first.evidence.files == ("parser.py",)
        assert [(call.tool.rpartition("__")[2], call.ok) for call in list_calls(session)] == [
            ("write_file", True),
            ("bash", False),
            ("bash", True),
        ]

    async def test_wrong_arguments_of_a_todo_call_are_an_error_result_and_change_nothing(self) -> None:
        session = headway.open(memory=True)
        wrong = [Turn(calls=[("todo", {"done": ["t9"], "colour": "red"})]) for _ in range(2)]
        outcome = await self.drive([create(*ITEMS), *wrong, done("t1", "t2", "t3"), Turn("Done.")], session)
        assert outcome.error is None
        assert sum("colour" in message and "todo-" in message for message in outcome.history) >= 2
        assert [todo.status for todo in session.todos] == ["completed"] * 3

    async def test_an_effect_that_there_is_not_is_refused_before_the_agent_runs(self) -> None:
        with pytest.raises(HeadwayError, match="The effect of read cannot be 'reads'; choose from: read, write"):
            await self.drive([], headway.open(memory=True), effects={"read": "reads"})

    async def test_no_item_is_in_progress_after_an_error_of_the_model(self) -> None:
        session = headway.open(memory=True)
        outcome = await self.drive([create(*ITEMS), Turn(error="out of service")], session)
        assert outcome.error is not None
        assert [todo.status for todo in session.todos] == ["pending"] * 3
        assert not any(run.is_active for run in session.state.runs.values())

    async def test_no_item_is_in_progress_after_a_tool_that_raises(self) -> None:
        session = headway.open(memory=True)
        outcome = await self.drive([create(*ITEMS), own("boom", path="x"), Turn("?"), Turn("It failed.")], session)
        assert (outcome.error is not None) == self.raises_tool_errors
        assert not any(todo.status == "in_progress" for todo in session.todos)
        assert [call.ok for call in list_calls(session)] == [False]

    async def test_no_item_is_in_progress_after_a_cancelled_run(self) -> None:
        session = headway.open(memory=True)
        began = asyncio.Event()

        async def hang(path: str) -> str:
            began.set()
            await asyncio.sleep(60)
            return path

        work = asyncio.create_task(
            self.drive([create(*ITEMS), own("hang", path="x"), Turn("Done.")], session, tools={"hang": hang})
        )
        await began.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert [todo.status for todo in session.todos] == ["pending"] * 3

    async def test_a_run_that_a_person_stops_ends_before_the_next_request(self) -> None:
        session = headway.open(memory=True)
        turns = [create(*ITEMS), own("read", path="a.py"), own("read", path="b.py"), Turn("Done.")]
        turns[1].before = session.stop_run
        outcome = await self.drive(turns, session)
        assert len(outcome.requests) == 2
        assert [(run.is_active, run.reason) for run in session.state.runs.values()] == [(False, "cancelled")]
        assert [todo.status for todo in session.todos] == ["pending"] * 3

    async def test_an_agent_that_stops_early_goes_on(self) -> None:
        session = headway.open(memory=True)
        turns = [
            create(*ITEMS),
            own("read", path="a.py"),
            Turn("I am finished."),
            done("t1", "t2", "t3"),
            Turn("Now I am."),
        ]
        outcome = await self.drive(turns, session)
        assert [todo.status for todo in session.todos] == ["completed"] * 3
        assert sum("still open" in message for message in outcome.history) == 1
        assert outcome.error is None

    async def test_a_sub_agents_list_stays_its_own(self) -> None:
        session = headway.open(memory=True)

        async def delegate(task: str) -> str:
            turns = [create("Look it up"), done("t1"), Turn("It is 7.")]
            return (await self.drive(turns, session.agent("helper"), task=task)).history[-1]

        turns = [create(*ITEMS), own("delegate", task="How many?"), done("t1", "t2", "t3"), Turn("Done.")]
        outcome = await self.drive(turns, session, tools={"delegate": delegate})
        assert [todo.content for todo in session.todos] == ITEMS
        assert [todo.content for todo in session.agent("helper").todos] == ["Look it up"]
        assert not any("Look it up" in tail for tail in outcome.tails)

    async def test_the_list_survives_kill_9(self, tmp_path: Path) -> None:
        module = f"tests.{type(self).__module__.removeprefix('tests.')}"
        code = f"import asyncio, {module} as it; asyncio.run(it.{type(self).__name__}().be_killed())"
        env = {**os.environ, "PYTHONPATH": os.getcwd(), "HEADWAY_TEST_PROJECT": str(tmp_path)}
        log = tmp_path / "log.txt"
        with log.open("w") as output:  # no pipe: what it started may hold that open for longer
            command = [sys.executable, "-c", code]
            process = subprocess.Popen(command, env=env, stdout=output, stderr=output, start_new_session=True)
            try:
                assert process.wait(120) == -9, log.read_text()
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        with headway.open(str(tmp_path)) as session:
            assert [todo.content for todo in session.todos] == ITEMS
            outcome = await self.drive([done("t1", "t2", "t3"), Turn("Done.")], session, task="Go on.")
            assert ITEMS[1] in outcome.tails[0]
            assert [todo.status for todo in session.todos] == ["completed"] * 3

    async def be_killed(self) -> None:
        """In a process of its own: die while the model thinks."""
        session = headway.open(os.environ["HEADWAY_TEST_PROJECT"])
        turns = [create(*ITEMS), own("read", path="a.py"), Turn("never", before=lambda: os.kill(os.getpid(), 9))]
        await self.drive(turns, session)


def list_calls(session: Session) -> list[ToolFinished]:
    """Return the recorded calls of the agent's own tools."""
    found = [event.data for event in session.events() if isinstance(event.data, ToolFinished)]
    return [call for call in found if "todo" not in call.tool]


def to_json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def list_blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of all messages of a request in Anthropic's protocol."""
    found: list[dict[str, Any]] = []
    for message in body["messages"]:
        content = message["content"]
        found += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return found
