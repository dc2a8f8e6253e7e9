"""A conversation is stored as it goes and loaded as it was, from any log that a run can leave; keys stay out of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

import headway
from headway.agent import LoopConfig, RunResult, repair_messages, run_loop
from headway.agent.config import Reason
from headway.agent.conversation import Conversation, to_stored_message
from headway.core.clock import format_local_time, now
from headway.core.errors import HeadwayError, StoreCorrupt
from headway.core.events import Event
from headway.core.run_events import MessageAdded, RunStarted
from headway.core.secrets import Redactor
from headway.project import open_store
from headway.session import Session
from headway.testing import Call, Failure, ScriptedModel, Turn
from headway.testing.script import Request
from headway.tools import tool
from headway.tools.approvals import Approvals
from headway.views.spoken_words import add_date, find_spoken_words

from .bodies import NO_JSON, cut_off, said_in, told, untailed

TASK = 'Look at it: 你好 👩‍👩‍👧 ﷽ a\u0301\u202e \\ " \x07 \u0000 e\u2028nd.'
HALF = "\ud83d"
WIDE = "宽 👩‍👩‍👧 ﷽ \u202e \x1b[31m \u0000 \\u0041 \u2028 “”"


@tool(effect="read")
def look(text: str = "") -> str:
    """Gives a text back."""
    return f"You said: {text}"


@tool(effect="read")
def fail() -> str:
    """Fails."""
    raise ValueError("no such thing: 错误")


@tool(effect="execute")
def change() -> str:
    """Changes something."""
    return "Changed."


TOOLS = [look, fail, change]


async def run(session: Session, model: Any, task: str | None = TASK, tools: Any = TOOLS, **about: Any) -> RunResult:
    approvals: Approvals | None = about.pop("approvals", None)
    new: bool = about.pop("new_conversation", False)
    settings: dict[str, Any] = {"instructions": "Work.", "max_nudges": 0, **about}
    config = LoopConfig(**settings)
    return await run_loop(
        session, task, model=model, tools=tools, config=config, approvals=approvals, new_conversation=new
    )


def texts(messages: Sequence[ModelMessage]) -> str:
    return "\n".join(text for message in messages for text in said_in(message))


VARIED = [
    Turn(text="I look.", thinking="What is it? 🤔", calls=[Call("look", {"text": WIDE})]),
    Turn(calls=[Call("look", {"text": str(number)}) for number in range(3)]),
    Turn(calls=[Call("fail"), Call("change"), Call("look", NO_JSON), Call("no such tool"), Call("missing")]),
    Turn(calls=[Call("look", {"text": "twice"}, id="same"), Call("look", id="same"), Call("look", "", id=" ")]),
    Turn(text=f"Half {HALF}", calls=[Call("look", f'{{"text": "half {HALF} \\ud83d"}}')]),
    Turn(calls=[Call("create_todo_list", {"items": [{"description": WIDE}, {"description": "Wait"}]})]),
    Turn(thinking="I only think."),
    Turn(text="Then on.", calls=[Call("look")]),
    Turn(text="Done. ✓"),
]


def checked(folder: Path, script: Sequence[Turn], seen: list[int]) -> ScriptedModel:
    """A model that compares, whenever it is asked, what it is told with what another process would load."""

    def maker(turn: Turn) -> Callable[[list[ModelMessage], Request], Turn]:
        def answer(messages: list[ModelMessage], request: Request) -> Turn:
            loaded = Conversation.load(headway.open(folder)).messages
            assert told(loaded) == told(untailed(messages))
            seen.append(len(loaded))
            return turn

        return answer

    return ScriptedModel([maker(turn) for turn in script])


async def test_what_is_loaded_is_what_was_in_memory_in_every_round(tmp_path: Path) -> None:
    seen: list[int] = []
    for task, script in ((TASK, VARIED), ("And more", VARIED[:2] + VARIED[-1:]), (None, VARIED[-1:])):
        result = await run(headway.open(tmp_path), checked(tmp_path, script, seen), task)
        assert result.error is None
    assert len(seen) == len(VARIED) + 3 + 1
    assert seen == sorted(seen)


async def test_an_answer_and_each_result_is_stored_before_the_next_thing_happens(tmp_path: Path) -> None:
    there: list[list[str]] = []

    @tool(effect="execute")
    def step(number: int) -> str:
        """One of several, one after the other."""
        events = [*headway.open(tmp_path).events()]
        there.append([event.type for event in events if event.type in ("MessageAdded", "ToolFinished")])
        return f"Step {number}."

    model = ScriptedModel([Turn(calls=[Call("step", {"number": at}) for at in range(3)]), "Done."])
    await run(headway.open(tmp_path), model, tools=[step], approvals=Approvals(allow=["step"]))
    asked = ["MessageAdded", "MessageAdded"]
    assert there == [asked, [*asked, "ToolFinished"], [*asked, "ToolFinished", "ToolFinished"]]


class Plain(ScriptedModel):
    """A model that does not stream, and gives arguments as objects, as some providers do."""

    def __init__(self, *args: dict[str, Any] | None) -> None:
        super().__init__([])
        self._calls_to_come = [ToolCallPart("look", arg, f"call-{at}") for at, arg in enumerate(args)]
        self.sent: list[list[ModelMessage]] = []

    async def request(
        self, messages: list[ModelMessage], model_settings: Any, model_request_parameters: Any
    ) -> ModelResponse:
        self.sent.append([*messages])
        calls, self._calls_to_come = self._calls_to_come, []
        thought = ThinkingPart("Hm", id="x", signature="s", provider_name="plain", provider_details={"a": None})
        return ModelResponse([thought, *calls]) if calls else ModelResponse([TextPart("Done.")])

    def request_stream(
        self, messages: Any, model_settings: Any, model_request_parameters: Any, run_context: Any = None
    ) -> Any:
        raise NotImplementedError


OBJECTS: list[dict[str, Any] | None] = [
    {"text": "a", "more": {"nothing": None, "list": [None, 1.5, True, {"deep": None}]}},
    {"text": None},
    {"text": WIDE, "": "", "\u0000": [[]]},
    {},
    None,
]


async def test_arguments_that_come_as_an_object_are_loaded_as_they_were(tmp_path: Path) -> None:
    model = Plain(*OBJECTS)
    result = await run(headway.open(tmp_path), model)
    assert result.error is None
    loaded = Conversation.load(headway.open(tmp_path)).messages
    assert told(loaded[:-1]) == told(model.sent[-1])
    calls = [part for part in loaded[1].parts if isinstance(part, ToolCallPart)]
    assert [call.args_as_dict() for call in calls] == [args or {} for args in OBJECTS]


async def test_half_a_character_in_an_object_does_not_end_the_run(tmp_path: Path) -> None:
    """As JSON can write it; as text, it cannot be sent or stored."""
    result = await run(headway.open(tmp_path), Plain({"text": f"half {HALF}"}))
    assert result.error is None
    loaded = texts(Conversation.load(headway.open(tmp_path)).messages)
    assert "You said: half \ufffd" in loaded


async def test_very_long_arguments_and_results_are_stored_once_and_loaded_as_they_were(tmp_path: Path) -> None:
    long = "ä" * 2_500_000
    sent: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        sent.append([*messages])
        if len(sent) > 2:
            return ModelResponse([TextPart("Done.")])
        args = json.dumps({"text": long}, ensure_ascii=False)
        return ModelResponse([ToolCallPart("swallow", args, f"call-{len(sent)}")])

    @tool(effect="read")
    def swallow(text: str) -> str:
        """Says how much it was."""
        return f"{len(text)} characters"

    result = await run(headway.open(tmp_path), FunctionModel(answer), tools=[swallow])
    assert result.error is None
    loaded = Conversation.load(headway.open(tmp_path)).messages
    assert told(loaded[:-1]) == told(sent[-1])
    assert f"{len(long)} characters" in texts(loaded)
    assert sum(file.stat().st_size for file in (tmp_path / ".headway").iterdir() if "wal" not in file.name) < 12_000_000


# keys and tokens

OPENAI = "sk-proj-A1b2C3d4E5f6G7h8I9j0K1l2M3n4"
GITHUB = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
OWN = "correct-horse-battery-staple"
BEGIN, END = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
PEM = f"{BEGIN}\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n{END}"
KEYS = {"openai": OPENAI, "github": GITHUB, "environment": OWN, "pem": PEM}


@pytest.fixture(params=KEYS.values(), ids=[*KEYS])
def key(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DEPLOY_PASSWORD", OWN)
    return request.param


def on_disk(folder: Path) -> bytes:
    """All that is kept, what is not yet in the main file included."""
    files = [file for file in (folder / ".headway").rglob("*") if file.is_file()]
    assert any(file.name == "headway.db" for file in files)
    return b"\n".join(file.read_bytes() for file in files)


def leaked(folder: Path, key: str) -> list[bytes]:
    """Lines of the key that stand on the disk, as they are or as JSON has them."""
    disk = on_disk(folder)
    lines = [line for line in key.split("\n") if not line.startswith("--")]
    return [form for line in lines for form in (line.encode(), json.dumps(line)[1:-1].encode()) if form in disk]


async def test_keys_stay_out_of_the_file_and_the_model_sees_them_in_the_same_run(tmp_path: Path, key: str) -> None:
    session = headway.open(tmp_path)
    model = ScriptedModel(
        [
            Turn(text=f"I use {key} .", thinking=f"The key is {key} .", calls=[Call("look", {"text": f"a {key} z"})]),
            Turn(calls=[Call("look", json.dumps({"text": key})), Call("no_tool", {"password": key})]),
            "Done.",
        ]
    )
    result = await run(session, model, f"Log in with {key} and look.")
    assert result.error is None
    assert leaked(tmp_path, key) == []
    seen = texts(model.requests[-1].messages)
    for words in (f"Log in with {key} and look.", f"I use {key} .", f"The key is {key} .", f"You said: a {key} z"):
        assert words in seen
    assert json.dumps(key)[1:-1] in seen  # in the arguments
    loaded = texts(Conversation.load(headway.open(tmp_path)).messages)
    assert "Log in with" in loaded
    assert "[redacted]" in loaded
    again = ScriptedModel(["Hello."])
    assert (await run(headway.open(tmp_path), again, "Who are you?")).reason == Reason.FINISHED
    assert leaked(tmp_path, key) == []


async def test_keys_stay_out_of_the_file_when_the_conversation_is_shortened(tmp_path: Path, key: str) -> None:
    def turn(messages: list[ModelMessage], request: Request) -> Turn:
        if not request.streamed:
            return Turn(text=f"The key {key} was used.")
        return Turn(text="word " * 300, calls=[Call("look", {"text": f"with {key} {len(messages)}."})])

    session = headway.open(tmp_path)
    await run(session, ScriptedModel([turn] * 60), f"Log in with {key} .", max_rounds=20, context_window=5_000)
    assert "ConversationCompacted" in [event.type for event in session.events()]
    assert leaked(tmp_path, key) == []


async def test_a_key_that_a_short_line_cuts_in_two_stays_out_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call is told in one line of at most 200 characters."""
    monkeypatch.setenv("DEPLOY_PASSWORD", OWN)
    calls = [Call("look", {"text": "x" * before + f" {key}"}) for before in range(160, 200, 3) for key in (OPENAI, OWN)]
    await run(headway.open(tmp_path), ScriptedModel([Turn(calls=calls), "Done."]))
    assert b"You said: xxx" in on_disk(tmp_path)
    for key in (OPENAI, OWN):
        assert key[:12].encode() not in on_disk(tmp_path)


async def test_a_key_that_a_summary_cuts_in_two_stays_out_as_well(tmp_path: Path) -> None:
    """A call is told in 160 characters there, when the model does not write the summary."""
    lengths = iter([*range(110, 150, 2)] * 5)

    def turn(messages: list[ModelMessage], request: Request) -> Turn:
        if not request.streamed:
            return Turn(error=Failure(500))
        return Turn(text="word " * 100, calls=[Call("look", {"text": "x" * next(lengths) + f" {OPENAI}"})])

    session = headway.open(tmp_path)
    await run(session, ScriptedModel([turn] * 90), max_rounds=40, context_window=5_000)
    assert "ConversationCompacted" in [event.type for event in session.events()]
    assert OPENAI[:12].encode() not in on_disk(tmp_path)


@pytest.mark.parametrize("secret", ['pass"word\\with-all', "пароль-от-сервера", "line one\nline two 12345"])
async def test_a_password_of_the_environment_is_found_in_arguments_as_json_has_it(
    tmp_path: Path, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_PASSWORD", secret)
    calls = [Call("look", json.dumps({"text": secret}, ensure_ascii=ascii)) for ascii in (False, True)]
    await run(headway.open(tmp_path), ScriptedModel([Turn(calls=calls), "Done."]))
    loaded = Conversation.load(headway.open(tmp_path)).messages
    args = [part.args_as_dict() for part in loaded[1].parts if isinstance(part, ToolCallPart)]
    assert len(args) == 2
    assert [arg for arg in args if secret in str(arg.get("text"))] == []


_texts = st.sampled_from(
    [OPENAI, GITHUB, OWN, PEM, BEGIN, END, '"', "\\", "\\\\", "\n", "a", "{", "token=", '"password": "', "é", ": "]
)
_values = st.lists(_texts, max_size=6).map("".join)
_objects = st.dictionaries(
    st.one_of(_values, st.sampled_from(["password", "api_key", "token", "Authorization"])),
    st.recursive(
        _values, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_values, inner, max_size=2))
    ),
    max_size=4,
)


@settings(max_examples=20)
@given(st.lists(st.tuples(_objects, st.booleans(), st.sampled_from([None, 1])), min_size=1, max_size=6))
@example([({"a": [BEGIN, {"b": 1}], "c": END}, True, None)])  # what is between them would take brackets with it
async def test_what_is_left_of_arguments_without_keys_can_still_be_read(objects: Sequence[Any]) -> None:
    calls = [Call("look", json.dumps(value, ensure_ascii=ascii, indent=indent)) for value, ascii, indent in objects]
    session = headway.open(memory=True)
    result = await run(session, ScriptedModel([Turn(calls=calls), "Done."]))
    assert result.error is None
    _, answer, results, _ = Conversation.load(session).messages
    args = [json.loads(part.args_as_json_str()) for part in answer.parts if isinstance(part, ToolCallPart)]
    assert len(args) == len(results.parts) == len(calls)
    assert all(isinstance(value, dict) for value in args)


# logs that end anywhere


def accepted(messages: Sequence[ModelMessage]) -> bool:
    """What every provider wants: each call answered right after it, once, and nothing else answered."""
    due: list[str] = []
    for message in messages:
        given = [part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)]
        if given != due:
            return False
        due = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
    return not due and bool(messages) and isinstance(messages[0], ModelRequest)


async def recorded(folder: Path) -> list[Event]:
    """The log of a run with all that may be cut in two, and of a second one that goes on."""
    session = headway.open(folder)

    def work(messages: list[ModelMessage], request: Request) -> Turn:
        return (
            Turn(text="Much was done.") if not request.streamed else Turn(calls=[Call("look", {"text": "x" * 4_000})])
        )

    varied = [VARIED[0], VARIED[2], VARIED[5]]
    await run(session, ScriptedModel([*varied, *[work] * 9]), max_rounds=7, context_window=6_000)
    await run(session, ScriptedModel([VARIED[1], Turn(error=Failure(400))]), "And more")
    return [*session.events()]


async def test_a_log_that_ends_after_any_event_is_loaded_and_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    events = await recorded(tmp_path / "whole")
    assert {"ConversationCompacted", "ToolFinished", "RunError", "Usage"} <= {event.type for event in events}
    began = next(event.version for event in events if isinstance(event.data, MessageAdded))
    before: list[dict[str, Any]] = []
    for version in range(1, len(events) + 1):
        folder = tmp_path / f"{version}"
        folder.mkdir()
        open_store(folder).append("default", 0, events[:version], None)
        session = headway.open(folder)
        messages = Conversation.load(session).messages
        assert repair_messages(messages) == messages
        assert bool(messages) == (version >= began)
        assert not messages or accepted(messages)
        model = ScriptedModel([Turn(calls=[Call("look")]), "Done."])
        result = await run(session, model, "Go on." if version % 2 or version < began else None)
        assert result.reason == Reason.FINISHED, (version, result.error)
        for request in model.requests:
            history = untailed(request.messages)
            assert accepted(history)
        assert told(untailed(model.requests[0].messages))[: len(messages) - 1] == told(messages)[:-1]
        session.close()
        before = told(messages)
    assert before


async def test_a_call_whose_result_was_lost_is_said_not_to_have_finished(tmp_path: Path) -> None:
    events = await recorded(tmp_path)
    at = next(event.version for event in events if event.type == "ToolFinished")
    messages = Conversation.load(cut_off(events, at - 1)).messages
    assert "This call did not finish" in texts(messages[-1:])
    assert "You said" not in texts(messages)


async def test_a_new_conversation_has_the_list_and_nothing_that_was_said_before(tmp_path: Path) -> None:
    events = await recorded(tmp_path)
    for version in (0, *(event.version for event in events)):  # wherever the old one ended, compacted or not
        session = cut_off(events, version) if version else headway.open(tmp_path)
        added = session.add("Fix the parser")
        model = ScriptedModel([Turn(calls=[Call("look", {"text": "new"})]), "Done."])
        assert (await run(session, model, "Something else", new_conversation=True)).ok
        asked, *block = said_in(model.requests[0].messages[0])
        assert (len(model.requests[0].messages), asked) == (
            1,
            add_date("Something else", format_local_time(now())[:10]),
        )
        assert f"[ ] {added.id}: Fix the parser" in block[0]
        assert session.todo_list.items[added.id] == added
        loaded = texts(Conversation.load(session).messages)
        assert loaded.startswith("Something else") and loaded.endswith("Done.")
        later = ScriptedModel(["Still here."])
        assert (await run(session, later, "And now?")).ok  # the last conversation goes on, also in another process
        assert texts(untailed(later.requests[0].messages)) == f"{loaded}\nAnd now?"
        again = session.store.session(session.name)
        assert [event.data.task for event in again.events() if isinstance(event.data, RunStarted)][-1] == "And now?"


async def test_a_new_conversation_needs_a_task(session: Session) -> None:
    with pytest.raises(HeadwayError, match="needs a task"):
        await run(session, ScriptedModel(["Hello."]), None, new_conversation=True)


async def test_a_list_that_is_finished_is_shown_once_in_each_conversation(session: Session) -> None:
    session.write([{"content": "A", "status": "completed"}])
    model = ScriptedModel([Turn(calls=[Call("look")]), "Done."] * 3)
    for new in (True, False, True):
        await run(session, model, new_conversation=new)
    assert ["[x] t1: A" in texts(request.messages) for request in model.requests] == [
        True,
        False,
        False,
        False,
        True,
        False,
    ]


async def test_a_session_without_a_conversation_has_nothing_to_go_on_with(tmp_path: Path) -> None:
    session = headway.open(tmp_path)
    session.add("Only a list")
    assert Conversation.load(session).messages == []
    with pytest.raises(HeadwayError, match="no conversation to continue"):
        await run(session, ScriptedModel(["Hello."]), None)
    assert session.run is None


async def test_agents_of_one_session_have_conversations_of_their_own(tmp_path: Path) -> None:
    session = headway.open(tmp_path)
    await run(session, ScriptedModel(["I am the first."]), "First task")
    await run(session.agent("helper"), ScriptedModel(["I help."]), "Second task")
    assert "Second" not in texts(Conversation.load(session).messages)
    assert "First" not in texts(Conversation.load(session.agent("helper")).messages)
    model = ScriptedModel(["Still here."])
    await run(session, model, "Third task")
    assert "I help" not in texts(model.requests[0].messages)


async def test_a_message_of_another_version_is_told_in_a_sentence(tmp_path: Path) -> None:
    session = headway.open(tmp_path)
    await run(session, ScriptedModel(["Hello."]))
    events = [*session.events()]
    at = next(event.version for event in events if isinstance(event.data, MessageAdded))
    odd = Event(at, events[at].at, "main", "loop", MessageAdded(message={"kind": "telepathy", "parts": []}))
    broken = cut_off([*events[: at - 1], odd, *events[at:]], len(events))
    with pytest.raises(StoreCorrupt, match=r"upgrade Headway.*new session\.$"):
        Conversation.load(broken)


async def test_the_file_grows_with_what_is_said_and_not_faster(tmp_path: Path) -> None:
    sizes: dict[int, int] = {}
    for rounds in (30, 60, 120):
        folder = tmp_path / f"{rounds}"
        folder.mkdir()
        session = headway.open(folder)
        session.write([{"content": f"Item {number}"} for number in range(10)])
        looks = (Call("look", {"text": f"{number:03}" + "x" * 500}) for number in range(rounds))
        turns = [Turn(text="I look.", calls=[look]) for look in looks]
        await run(session, ScriptedModel([*turns, "Done."], keep_requests=1), max_rounds=rounds + 1)
        session.close()
        sizes[rounds] = sum(file.stat().st_size for file in (folder / ".headway").rglob("*") if file.is_file())
    first, second = sizes[60] - sizes[30], sizes[120] - sizes[60]
    assert first > 30 * 1_000
    assert second < first * 2 * 1.5


@pytest.mark.parametrize(
    "arguments",
    [
        '{"password":     "hunter2hunter2X9"}',
        '{\n  "password":\n      "hunter2hunter2X9"\n}',
        '{"password"\t\t\t\t:"hunter2hunter2X9"}',
        '{"password":"hunter2\\u0026hunter2X9"}',
        '{"pass\\u0077ord":"hunter2hunter2X9"}',
        '{"password" : "hunter2hunter2X9"}',
    ],
)
def test_keys_in_arguments_stay_out_however_the_model_writes_them(arguments: str) -> None:
    record = to_stored_message(ModelResponse([ToolCallPart("connect", arguments, "c")]), Redactor({}))
    text = json.dumps(record)
    assert "hunter2X9" not in text and "[redacted]" in text


async def test_the_first_message_of_a_conversation_has_the_date_and_the_system_prompt_has_none(tmp_path: Path) -> None:
    session = headway.open(tmp_path)
    model = ScriptedModel(["One.", "Two.", "Three."])
    await run(session, model, "First")
    await run(session, model, "Second")
    await run(session, model, "Third", new_conversation=True)
    today = f"(Today is {format_local_time(now())[:10]}.)"
    said = [[text for message in request.messages for text in said_in(message)] for request in model.requests]
    assert [[today in text for text in texts] for texts in said] == [[True], [True, False, False], [True]]
    assert today[:10] not in str(model.requests[0].instructions)
    shown = [
        find_spoken_words(event.data.message)[1] for event in session.events() if isinstance(event.data, MessageAdded)
    ]
    assert shown == ["First", "One.", "Second", "Two.", "Third", "Three."]
