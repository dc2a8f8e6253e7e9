"""What is heard of a run while it goes on, by whom, and that no listener holds it up."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from headway import Event, Session
from headway.core.run_events import TextDelta, ToolFinished
from headway.testing import Call, ScriptedModel, Turn
from headway.tools import builtin_tools, tool

from .looping import BOUND, calling, elsewhere, facts, run, texts, types, until, writing


class Heard:
    """Keeps what a listener is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def text(self, kind: str) -> list[str]:
        deltas = (event.data for event in self.events)
        return [delta.text for delta in deltas if isinstance(delta, TextDelta) and delta.kind == kind]

    def versions(self) -> list[int]:
        return [event.version for event in self.events if event.version]


async def test_text_and_reasoning_are_heard_as_they_come_and_not_logged(session: Session) -> None:
    heard = Heard()
    held = threading.Event()

    def second(messages: list[ModelMessage], request: object) -> str:
        assert held.wait(BOUND), "the text of the first round was not heard before the second"
        return "end"

    def on_event(event: Event) -> None:
        heard(event)
        if heard.text("text") == ["One", " two"]:
            held.set()

    turns = [Turn(text="One two", thinking="hm and hm", calls=[Call("look")]), second]
    await run(session, turns, on_event=on_event)
    assert heard.text("text") == ["One", " two", "end"]
    assert heard.text("reasoning") == ["hm", " and", " hm"]
    assert "TextDelta" not in types(session)
    assert all(event.version == 0 for event in heard.events if isinstance(event.data, TextDelta))


async def test_what_is_logged_is_heard_once_and_in_order(session: Session) -> None:
    heard = Heard()
    await run(session, [writing(("A", "in_progress")), calling("look", "look"), "Done."], on_event=heard, max_nudges=0)
    assert heard.versions() == [event.version for event in session.events()]
    assert {event.session_id for event in heard.events} == {"default"}
    assert {event.agent for event in heard.events} == {"main"}
    updates = [event for event in heard.events if event.type == "TodoListUpdated"]
    assert updates
    assert updates[-1].todos is not None


async def test_what_a_command_prints_is_heard_while_it_runs(session: Session, tmp_path: Path) -> None:
    heard = Heard()
    turns = [calling("bash", command="echo one; echo two"), "Done."]
    await run(session, turns, tools=builtin_tools(tmp_path), on_event=heard)
    assert "".join(heard.text("output")) == "one\ntwo\n"
    [call_id] = {e.data.call_id for e in heard.events if isinstance(e.data, TextDelta) and e.data.kind == "output"}
    assert call_id == facts(session, ToolFinished)[0].call_id


async def test_a_listener_may_be_a_coroutine_function(session: Session) -> None:
    heard = Heard()

    async def on_event(event: Event) -> None:
        await asyncio.sleep(0)
        heard(event)

    await run(session, [calling("look"), "Done."], on_event=on_event)
    assert heard.versions() == [event.version for event in session.events()]


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_listener_that_raises_changes_nothing_and_hears_the_rest(session: Session, is_async: bool) -> None:
    heard = Heard()

    def on_event(event: Event) -> None:
        heard(event)
        raise ValueError("no")

    async def on_event_later(event: Event) -> None:
        on_event(event)

    result = await run(session, [calling("look"), "Done."], on_event=on_event_later if is_async else on_event)
    assert result.text == "Done."
    assert heard.versions() == [event.version for event in session.events()]


async def test_a_listener_that_exits_hears_the_rest(session: Session) -> None:
    heard = Heard()

    def on_event(event: Event) -> None:
        heard(event)
        raise SystemExit

    assert (await run(session, ["Done."], on_event=on_event)).text == "Done."
    assert heard.versions() == [event.version for event in session.events()]


async def test_a_slow_listener_does_not_slow_the_rounds(session: Session) -> None:
    over = threading.Event()
    waited: list[bool] = []

    def on_event(event: Event) -> None:
        if event.type == "RunStarted":
            waited.append(over.wait(BOUND))

    def last(messages: list[ModelMessage], request: object) -> str:
        over.set()  # reached only if no round waited for the listener
        return "Done."

    assert (await run(session, [*[calling("look")] * 5, last], on_event=on_event)).text == "Done."
    assert waited == [True]


async def test_a_slow_listener_hears_everything_in_order_also_when_thousands_of_pieces_wait(session: Session) -> None:
    heard = Heard()
    behind = threading.Event()

    def on_event(event: Event) -> None:
        if event.type == "RoundStarted":
            behind.wait(BOUND)
        heard(event)

    def last(messages: list[ModelMessage], request: object) -> str:
        behind.set()
        return "Done."

    flood = Turn(text="word " * 1_500, calls=[Call("look")])
    await run(session, [flood, flood, last], on_event=on_event)
    assert heard.versions() == [event.version for event in session.events()]


@pytest.fixture
def not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listeners that have not heard everything in the end get less time for it than usual."""
    monkeypatch.setattr("headway.agent.run._DELIVERY", 0.2)


@pytest.mark.usefixtures("not_waited_for_long")
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_dead_listener_does_not_keep_a_run_from_ending(session: Session, is_async: bool) -> None:
    dead = threading.Event()
    returned: list[bool] = []

    async def on_event_later(event: Event) -> None:
        returned.append(await asyncio.to_thread(dead.wait, BOUND))

    def on_event(event: Event) -> None:
        returned.append(dead.wait(BOUND))

    result = await run(session, [calling("look"), "Done."], on_event=on_event_later if is_async else on_event)
    returned_before_the_end = [*returned]
    dead.set()
    assert result.text == "Done."
    assert returned_before_the_end == []


@pytest.mark.usefixtures("not_waited_for_long")
async def test_after_a_dead_listener_the_next_run_is_heard(session: Session) -> None:
    dead = threading.Event()
    heard = Heard()
    await run(session, ["One."], on_event=lambda event: dead.wait(BOUND))
    try:
        await run(session, ["Two."], on_event=heard)
        assert "RunFinished" in [event.type for event in heard.events]
    finally:
        dead.set()


@pytest.mark.usefixtures("not_waited_for_long")
async def test_a_slow_listener_hears_the_end(session: Session) -> None:
    heard = Heard()
    late = threading.Event()

    def on_event(event: Event) -> None:
        late.wait(BOUND)
        heard(event)

    await run(session, [calling("look"), "Done."], on_event=on_event)
    late.set()
    await until(lambda: heard.versions() == [event.version for event in session.events()], 1)


def answers(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
        return ModelResponse([TextPart("It is there.")])
    return ModelResponse([TextPart("I look."), ToolCallPart("look", {"at": "x"}, "")])


async def test_a_model_that_cannot_stream_is_asked_and_heard_all_the_same(session: Session) -> None:
    heard = Heard()
    result = await run(session, FunctionModel(answers), on_event=heard)
    assert (result.text, result.tool_calls, result.cost) == ("It is there.", 1, None)
    assert heard.text("text") == ["I look.", "It is there."]


async def test_sub_agents_run_beside_the_main_one_each_with_its_own_conversation_and_list(session: Session) -> None:
    both = asyncio.Barrier(2)

    @tool(effect="read")
    async def meet() -> str:
        """Waits until both are there."""
        await asyncio.wait_for(both.wait(), BOUND / 2)
        return "met"

    sub = session.agent("sub-1")
    heard, heard_by_sub = Heard(), Heard()
    mine = ScriptedModel([calling("meet"), writing(("Main work", "pending")), "Main."])
    its = ScriptedModel([calling("meet"), writing(("Sub work", "pending")), "Sub."])
    main, other = await asyncio.gather(
        run(session, mine, "Main task", tools=[meet], on_event=heard, max_nudges=0),
        run(sub, its, "Sub task", tools=[meet], on_event=heard_by_sub, max_nudges=0),
    )
    assert (main.text, other.text) == ("Main.", "Sub.")
    assert [todo.content for todo in session.todos] == ["Main work"]
    assert [todo.content for todo in sub.todos] == ["Sub work"]
    assert texts(mine.requests[-1].messages)[0] == "user: Main task"
    assert texts(its.requests[-1].messages)[0] == "user: Sub task"
    assert {event.agent for event in heard_by_sub.events} == {"sub-1"}
    versions = [event.version for event in session.events()]
    assert versions == list(range(1, len(versions) + 1))
    assert heard_by_sub.versions() == [event.version for event in session.events() if event.agent == "sub-1"]


async def test_another_process_follows_a_run_and_hears_all_of_it_once(kept_session: Session, tmp_path: Path) -> None:
    follow = """
seen = []
for event in session.follow(timeout=20):
    seen.append(event.version)
    if event.type == "RunFinished":
        break
print(seen)
"""
    watching = asyncio.create_task(elsewhere(tmp_path, follow))
    await run(kept_session, [calling("look"), writing(("A", "completed")), "Done."])
    assert await watching == str([event.version for event in kept_session.events()])
