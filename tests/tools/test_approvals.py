"""Who may do what without being asked, and what becomes of the question when somebody must be."""

from __future__ import annotations

import asyncio
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.support.tables import check_rows

import headway
from headway import HeadwayError
from headway.tools import Answer, Effect, Executor, Mode, Preview, Question, tool
from headway.tools.approvals import Approvals, Reply, parse_pattern

from .samples import ALWAYS, NO, ONCE, Marking, Person, executor

UNASKED = {Effect.READ, Effect.PLAN, Effect.TODO}
WHILE_PLANNING = {Effect.READ, Effect.NETWORK, Effect.PLAN}


@pytest.mark.parametrize("effect", Effect)
@pytest.mark.parametrize("mode", Mode)
async def test_a_call_runs_exactly_when_the_table_says_so(tmp_path: Path, effect: Effect, mode: Mode):
    for planning, allowed, reply in product((False, True), (False, True), (Reply.ONCE, Reply.ALWAYS, Reply.NO, None)):
        session = headway.open(memory=True)
        session.set_plan_mode(planning)
        person = Person(Answer(reply or Reply.NO, "not now"))
        marking = Marking(effect)
        runner = executor(
            tmp_path,
            marking,
            session=session,
            ask=person if reply else None,
            mode=mode,
            allow=["marking: her*"] if allowed else ["marking: elsewhere", "other: here"],
        )
        result = await runner.call("marking", {"subject": "here"})

        closed = planning and effect not in WHILE_PLANNING
        free = effect in UNASKED or mode is Mode.YOLO or allowed or (mode is Mode.AUTO_EDIT and effect is Effect.WRITE)
        runs = not closed and (free or reply in (Reply.ONCE, Reply.ALWAYS))
        case = (planning, allowed, reply)
        assert (result.ok, bool(marking.ran), result.effect) == (runs, runs, effect if runs else None), case
        assert len(person.questions) == (0 if closed or free or reply is None else 1), case
        if closed:
            assert "plan mode changes nothing" in result.text
        elif not runs:
            assert ("The user declined marking: not now" if reply else "nobody is there to give it") in result.text, (
                case
            )


async def test_the_question_carries_what_a_person_needs(tmp_path: Path):
    person, told = Person(ONCE), list[Any]()

    def note(question: Question, answer: Answer) -> None:
        told.append((question, answer))

    runner = executor(
        tmp_path,
        Marking(Effect.WRITE),
        ask=person,
        on_asked=told.append,
        on_answered=note,
    )
    await runner.call("marking", {"subject": "a.txt"}, "call-7")
    [asked] = person.questions
    assert (asked.tool, asked.effect, asked.call_id) == ("marking", Effect.WRITE, "call-7")
    preview = asked.preview
    assert (preview.line, preview.path, preview.diff, preview.command) == ("Mark a.txt", "a.txt", "+ mark", "mark")
    assert told == [asked, (asked, ONCE)]


async def test_a_function_is_shown_with_its_arguments_as_they_are_named_and_whole(tmp_path: Path):
    @tool
    def deploy(command: str, times: int = 1) -> None: ...

    person = Person(NO)
    await executor(tmp_path, deploy, ask=person).call("deploy", {"command": "x" * 1_000 + "\n\x1b[2Jend"})
    assert person.questions[0].preview.line == f'deploy(command="{"x" * 1_000}\\n\\u001b[2Jend")'


async def test_once_is_for_one_call_and_always_for_the_tool(tmp_path: Path):
    person = Person(ONCE, ALWAYS)
    runner = executor(tmp_path, Marking(Effect.EXECUTE), Marking(Effect.EXECUTE, "other"), ask=person)
    for _ in range(4):
        await runner.call("marking", {})
    assert len(person.questions) == 2
    await runner.call("other", {})
    assert len(person.questions) == 3


async def test_a_host_is_asked_about_once_and_another_again(tmp_path: Path):
    for reply in (ONCE, ALWAYS):
        person = Person(reply)
        runner = executor(tmp_path, Marking(Effect.NETWORK), Marking(Effect.NETWORK, "other"), ask=person)
        for name, host in [("marking", "a.org"), ("marking", "A.org"), ("other", "a.org"), ("marking", "b.org")]:
            assert (await runner.call(name, {"subject": host})).ok
        assert [question.preview.host for question in person.questions] == ["a.org", "b.org"]
        assert person.questions[0].allowed_by_always == "all requests to a.org in this run"


async def test_always_for_a_tools_commands_does_not_open_every_host(tmp_path: Path):
    class Both(Marking):
        def effect_of(self, call: Any) -> Effect:
            return Effect.NETWORK if "." in call.subject else Effect.EXECUTE

        def host(self, call: Any) -> str | None:
            return call.subject if "." in call.subject else None

    person = Person(ALWAYS)
    runner = executor(tmp_path, Both(Effect.EXECUTE), ask=person)
    for subject in ("x", "y", "a.org", "b.org"):
        await runner.call("marking", {"subject": subject})
    assert [question.preview.line for question in person.questions] == ["Mark x", "Mark a.org", "Mark b.org"]


async def test_calls_to_one_host_at_once_share_one_question_whatever_the_answer(tmp_path: Path):
    for reply in (ONCE, NO):
        person = Slow(reply)
        runner = executor(tmp_path, Marking(Effect.NETWORK), ask=person)
        results = await asyncio.gather(*(runner.call("marking", {"subject": "a.org"}) for _ in range(1_000)))
        assert {result.ok for result in results} == {reply is ONCE}
        assert len(person.questions) == 1


async def test_a_no_to_a_host_is_remembered_with_its_reason_and_asked_of_no_other(tmp_path: Path):
    person = Person(Answer(Reply.NO, "ours alone"), ONCE)
    runner = executor(tmp_path, Marking(Effect.NETWORK), Marking(Effect.NETWORK, "other"), ask=person)
    for name, host in [("marking", "a.org"), ("marking", "A.ORG"), ("other", "a.org")]:
        result = await runner.call(name, {"subject": host})
        assert (result.ok, result.denied) == (False, True)
        assert result.text.startswith(f"The user declined {name}: ours alone\n")
    assert (await runner.call("marking", {"subject": "b.org"})).ok
    assert [question.preview.host for question in person.questions] == ["a.org", "b.org"]


async def test_a_no_to_a_command_counts_for_that_call_alone(tmp_path: Path):
    runner = executor(tmp_path, Marking(Effect.EXECUTE), ask=Person(NO, ONCE))
    assert [(await runner.call("marking", {})).ok for _ in range(2)] == [False, True]


class Slow(Person):
    async def __call__(self, question: Question) -> Answer:
        for _ in range(5):
            await asyncio.sleep(0)
        return await super().__call__(question)


async def test_a_thousand_calls_wait_for_one_always(tmp_path: Path):
    person, marking = Slow(ALWAYS), Marking(Effect.EXECUTE)
    runner = executor(tmp_path, marking, ask=person)
    results = await asyncio.gather(*(runner.call("marking", {"subject": str(at)}) for at in range(1_000)))
    assert all(result.ok for result in results)
    assert (len(person.questions), len(marking.ran)) == (1, 1_000)


async def test_only_one_question_is_open_at_a_time(tmp_path: Path):
    open_now = most = 0

    async def ask(question: Question) -> Answer:
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0)
        open_now -= 1
        return ONCE

    runner = executor(tmp_path, Marking(Effect.EXECUTE), ask=ask)
    await asyncio.gather(*(runner.call("marking", {}) for _ in range(20)))
    assert most == 1


async def test_the_question_shows_what_the_call_would_change_at_that_time(tmp_path: Path):
    class Counting(Marking):
        async def preview(self, call: Any, context: Any) -> Any:
            shown = await super().preview(call, context)
            return type(shown)(f"after {len(self.ran)}")

    person = Slow(ONCE)
    runner = executor(tmp_path, Counting(Effect.WRITE), ask=person)
    for _ in range(3):
        assert (await runner.call("marking", {})).ok
    assert [question.preview.line for question in person.questions] == ["after 0", "after 1", "after 2"]


async def test_a_call_whose_work_was_changed_by_another_one_meanwhile_is_not_run(tmp_path: Path):
    class Counting(Marking):
        async def preview(self, call: Any, context: Any) -> Any:
            return Preview(f"after {len(self.ran)}")

    marking = Counting(Effect.WRITE)

    async def ask(question: Question) -> Answer:
        marking.ran.append("by another")
        return ONCE

    result = await executor(tmp_path, marking, ask=ask).call("marking", {})
    assert (result.ok, result.denied, result.effect) == (False, True, None)
    assert result.text == (
        "marking was not run: what it would do changed while the user was being asked; check the current state, "
        "then call it again."
    )
    assert marking.ran == ["by another"]


async def test_runs_do_not_share_what_was_answered(tmp_path: Path):
    for effect in (Effect.EXECUTE, Effect.NETWORK):
        persons = [Person(ALWAYS), Person(NO)]
        first, second = (executor(tmp_path, Marking(effect), ask=person) for person in persons)
        assert (await first.call("marking", {})).ok
        assert not (await second.call("marking", {})).ok
    assert not (await Executor([Marking(Effect.EXECUTE)], project=tmp_path).call("marking", {})).ok


@pytest.mark.parametrize("nonsense", [None, "once", True, Reply.ONCE, object()])
async def test_an_answer_that_is_none_is_a_no(tmp_path: Path, nonsense: object):
    marking = Marking(Effect.EXECUTE)
    result = await executor(tmp_path, marking, ask=Person(nonsense)).call("marking", {})
    assert not result.ok and not marking.ran
    assert "the answer was not valid" in result.text


async def test_plain_words_in_an_answer_count_as_what_they_say(tmp_path: Path):
    marking = Marking(Effect.EXECUTE)
    runner = executor(tmp_path, marking, ask=Person(Answer("no", "busy"), Answer("once")))
    assert "declined marking: busy" in (await runner.call("marking", {})).text
    assert (await runner.call("marking", {})).ok


async def test_a_reason_is_told_on_one_line(tmp_path: Path):
    result = await executor(tmp_path, Marking(Effect.EXECUTE), ask=Person(Answer(Reply.NO, " a\n\x1b[2J "))).call(
        "marking", {}
    )
    assert result.text.startswith("The user declined marking: a ␛[2J\nDo not try")
    plain = await executor(tmp_path, Marking(Effect.EXECUTE), ask=Person(NO)).call("marking", {})
    assert "The user declined marking.\n" in plain.text


async def test_an_asker_that_fails_is_a_no_and_the_next_question_is_asked(tmp_path: Path):
    asked = 0

    async def ask(question: Question) -> Answer:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise OSError("no terminal")
        return ONCE

    runner = executor(tmp_path, Marking(Effect.EXECUTE), ask=ask)
    assert "the question could not be asked" in (await runner.call("marking", {})).text
    assert (await runner.call("marking", {})).ok


async def test_a_call_that_is_cancelled_while_nobody_answers_frees_the_way(tmp_path: Path):
    silent, answers = asyncio.Event(), list[Any]()

    async def ask(question: Question) -> Answer:
        answers.append(question)
        if len(answers) == 1:
            await silent.wait()
        return ONCE

    runner = executor(tmp_path, Marking(Effect.EXECUTE), ask=ask)
    waiting = asyncio.create_task(runner.call("marking", {}))
    behind = asyncio.create_task(runner.call("marking", {}))
    while not answers:
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await asyncio.wait_for(behind, 10)).ok


async def test_a_question_that_is_cancelled_goes_through_and_the_next_one_is_asked(tmp_path: Path):
    first = True

    async def ask(question: Question) -> Answer:
        nonlocal first
        if first:
            first = False
            raise asyncio.CancelledError
        return ONCE

    runner = executor(tmp_path, Marking(Effect.EXECUTE), ask=ask)
    with pytest.raises(asyncio.CancelledError):
        await runner.call("marking", {})
    assert (await asyncio.wait_for(runner.call("marking", {}), 10)).ok


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("bash", ("bash", None)),
        (" bash ", ("bash", None)),
        ("bash: pytest *", ("bash", "pytest *")),
        ("bash:pytest", ("bash", "pytest")),
        ("web_fetch: localhost:8000", ("web_fetch", "localhost:8000")),
        ("my-tool : [::1]:80", ("my-tool", "[::1]:80")),
    ],
)
def test_a_pattern_has_a_name_and_what_it_covers(text: str, read: tuple[str, str | None]):
    assert parse_pattern(text) == read


def test_a_wrong_pattern_is_named():
    def check(text: str) -> None:
        with pytest.raises(HeadwayError) as caught:
            Approvals(allow=["fine", text])
        assert str(caught.value).startswith(f"'{text[:40]}")
        assert "is not a valid allow pattern; write it like 'bash: pytest *'." in str(caught.value)

    check_rows(["", " ", ":", ": x", "bash:", "bash: ", "bash pytest *", "*", "ba*: x", "搜: x", "a" * 65], check)


@pytest.mark.parametrize("wrong", [{"allow": "bash"}, {"hosts": "a.org"}, {"allow": [3]}, {"mode": "always"}])
def test_wrong_options_are_refused_in_a_sentence(wrong: dict[str, Any]):
    with pytest.raises(
        HeadwayError,
        match=r"must be a list of strings|is not a valid mode; choose from: default, auto_edit, sandboxed, yolo",
    ):
        Approvals(**wrong)


@pytest.mark.parametrize(
    ("pattern", "subject", "covered"),
    [
        ("marking", "anything", True),
        ("also: src/*", "src/a.py", True),
        ("also: src/*", "tests/a.py", False),
        ("marking: localhost:8000", "localhost:8000", True),
        ("marking: localhost:8000", "localhost:8001", False),
        ("marking: SRC/*", "src/a", False),
        ("mark: *", "x", False),
    ],
)
async def test_allow_patterns_cover_calls_under_every_name_of_the_tool(
    tmp_path: Path, pattern: str, subject: str, covered: bool
):
    runner = executor(tmp_path, Marking(Effect.EXECUTE, aliases=("also",)), allow=[pattern])
    for name in ("marking", "also"):
        assert (await runner.call(name, {"subject": subject})).ok is covered


async def test_only_a_star_or_the_bare_name_covers_a_tool_that_has_no_subject(tmp_path: Path):
    @tool
    def deploy(where: str) -> None: ...

    for pattern, covered in {"deploy": True, "deploy: *": True, "deploy: x": False, "deploy: x*": False}.items():
        assert (await executor(tmp_path, deploy, allow=[pattern]).call("deploy", {"where": "x"})).ok is covered


@pytest.mark.parametrize(
    ("known", "host", "reached"),
    [
        ("a.org", "a.org", True),
        ("A.org", "a.ORG", True),
        ("a.org", "a.org:8080", True),
        ("a.org:80", "a.org:80", True),
        ("a.org:80", "a.org:81", False),
        ("*.a.org", "docs.a.org", True),
        ("*.a.org", "a.org", False),
        ("*.a.org", "evil-a.org", False),
        ("a.org", "a.org.evil.net", False),
        ("::1", "::1", True),
        ("::1", "[::1]:8000", True),
        ("[::1]", "[::1]:8000", True),
        ("fe80::", "fe80::1", False),
        ("[::1]", "1", False),
    ],
)
async def test_known_hosts_are_reached_without_asking(tmp_path: Path, known: str, host: str, reached: bool):
    for planning in (False, True):
        session = headway.open(memory=True)
        session.set_plan_mode(planning)
        runner = executor(tmp_path, Marking(Effect.NETWORK), session=session, hosts=[known])
        assert (await runner.call("marking", {"subject": host})).ok is reached


async def test_auto_edit_still_asks_about_a_tool_that_may_write_anywhere(tmp_path: Path):
    class Anywhere(Marking):
        def edits_project(self, call: Any) -> bool:
            return call.subject == "inside"

    person = Person(NO)
    runner = executor(tmp_path, Anywhere(Effect.WRITE), mode="auto_edit", ask=person)
    assert (await runner.call("marking", {"subject": "inside"})).ok
    assert not (await runner.call("marking", {"subject": "outside"})).ok
    assert [question.preview.path for question in person.questions] == ["outside"]


async def test_the_mode_can_be_changed_in_the_middle_of_a_run_by_its_name(tmp_path: Path):
    approvals = Approvals()
    runner = Executor([Marking(Effect.EXECUTE)], project=tmp_path, approvals=approvals)
    assert not (await runner.call("marking", {})).ok
    approvals.mode = "yolo"
    assert approvals.mode is Mode.YOLO
    assert (await runner.call("marking", {})).ok
    with pytest.raises(
        HeadwayError, match="'always' is not a valid mode; choose from: default, auto_edit, sandboxed, yolo"
    ):
        approvals.mode = "always"  # pyright: ignore
    assert approvals.mode is Mode.YOLO


async def test_a_question_that_failed_is_asked_again_for_the_host(tmp_path: Path):
    asked: list[Question] = []

    async def ask(question: Question) -> Answer:
        asked.append(question)
        if len(asked) == 1:
            raise RuntimeError("no terminal")
        return Answer("no", "not there") if len(asked) == 2 else Answer("once")

    runner = Executor([Marking(Effect.NETWORK)], project=tmp_path, approvals=Approvals(ask))
    assert "could not be asked" in (await runner.call("marking", {})).text
    assert "declined marking: not there" in (await runner.call("marking", {})).text
    assert "declined marking: not there" in (await runner.call("marking", {})).text
    assert len(asked) == 2


@pytest.mark.parametrize("by", ["the run", "the question"])
async def test_a_question_that_is_cancelled_is_still_told_as_answered(tmp_path: Path, by: str):
    told, asked = list[tuple[Question, Answer]](), asyncio.Event()

    async def ask(question: Question) -> Answer:
        asked.set()
        if by == "the question":
            raise asyncio.CancelledError
        await asyncio.Event().wait()
        return ONCE

    def note(question: Question, answer: Answer) -> None:
        told.append((question, answer))

    marking = Marking(Effect.EXECUTE)
    task = asyncio.create_task(executor(tmp_path, marking, ask=ask, on_answered=note).call("marking", {}, "call-1"))
    await asyncio.wait_for(asked.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [(question, answer)] = told
    assert (question.call_id, answer) == ("call-1", Answer(Reply.NO, "the run was stopped"))
    assert not marking.ran


@pytest.mark.parametrize("answer", [ONCE, NO])
async def test_who_keeps_a_record_of_questions_does_not_decide_the_call(
    tmp_path: Path, answer: Answer, caplog: pytest.LogCaptureFixture
):
    def fail(*about: object) -> None:
        raise OSError("the record is full")

    runner = executor(tmp_path, Marking(Effect.EXECUTE), ask=Person(answer), on_asked=fail, on_answered=fail)
    result = await runner.call("marking", {})
    assert (result.ok, result.denied) == (answer is ONCE, answer is NO)
    assert caplog.text.count("Reporting a question failed") == 2


async def test_an_answer_that_is_not_understood_is_logged_with_what_an_answer_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    await executor(tmp_path, Marking(Effect.EXECUTE), ask=Person(True)).call("marking", {})
    assert [record.getMessage() for record in caplog.records] == [
        "An answer must be Answer('once'), 'always', 'offline' or Answer('no', reason=…)."
    ]


async def test_the_way_to_allow_a_call_is_told_as_it_would_be_written(tmp_path: Path):
    @tool
    def deploy(where: str) -> None: ...

    @tool(effect="network")
    def search(query: str) -> None: ...

    runner = executor(tmp_path, deploy, search, Marking(Effect.EXECUTE), Marking(Effect.NETWORK, "fetch"))
    hints = {
        "deploy": ({"where": "x"}, "the setting `allow`, for example 'deploy', or another `mode`"),
        "search": ({"query": "x"}, "the setting `allow`, for example 'search', or another `mode`"),
        "marking": ({"subject": "src/a"}, "the setting `allow`, for example 'marking: src/a', or another `mode`"),
        "fetch": ({"subject": "a.org"}, "the setting `hosts`"),
    }
    for name, (arguments, hint) in hints.items():
        assert f"tell the user to allow it ({hint})." in (await runner.call(name, arguments)).text


@pytest.mark.parametrize(
    ("known", "host", "reached"),
    [
        ("bücher.de", "xn--bcher-kva.de", True),
        ("BÜCHER.de", "xn--bcher-kva.de:8080", True),
        ("*.例子.cn", "docs.xn--fsqu00a.cn", True),
        ("*.例子.cn", "xn--fsqu00a.cn", False),
        ("bucher.de", "xn--bcher-kva.de", False),
    ],
)
async def test_hosts_in_any_script_are_known_as_they_are_reached(tmp_path: Path, known: str, host: str, reached: bool):
    call = {"subject": host}
    assert (await executor(tmp_path, Marking(Effect.NETWORK), hosts=[known]).call("marking", call)).ok is reached


async def test_a_function_that_is_not_async_can_answer(tmp_path: Path) -> None:
    def ask(question: Question) -> Answer:
        return Answer("once") if question.tool == "marking" else Answer("no")

    runner = Executor([Marking(Effect.EXECUTE)], project=tmp_path, approvals=Approvals(ask))
    assert (await runner.call("marking", {})).ok


async def test_a_reply_that_there_is_not_is_no_no_of_the_users(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="'yes' is not a valid reply; choose from: once, always, offline, no"):
        Answer("yes")  # pyright: ignore[reportArgumentType]

    def ask(question: Question) -> Answer:
        return Answer("yes")  # pyright: ignore[reportArgumentType]

    runner = Executor([Marking(Effect.EXECUTE)], project=tmp_path, approvals=Approvals(ask))
    text = (await runner.call("marking", {})).text
    assert text.startswith("marking was not run: the question could not be asked.") and "declined" not in text
