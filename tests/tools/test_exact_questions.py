"""Whatever a model sends: what a person is shown is exactly what runs, on every surface that shows it."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any
from unicodedata import category

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.responses import JSONResponse
from tests.support.counts import some

import headway
from headway.agent.check_approvals import CheckApprovals
from headway.agent.questions import LoggedQuestions
from headway.app.questions import question_text, to_printable
from headway.core.clock import now
from headway.core.exact_text import exact_line, exact_lines, parse_exact
from headway.core.text import neutralize_lines
from headway.planner.recorder import Recorder
from headway.repl.renderer import Renderer
from headway.tools import Answer, Approvals, Executor, Question, tool
from headway.tools.base import Preview
from headway.tools.files.file_change import FileChange
from headway.tools.files.workspace import Workspace
from headway.tools.shell.bash import Bash
from headway.tools.web.web_fetch import WebFetch
from headway.tools.web.web_search import WebSearch, find_search_provider
from headway.views.terminal import to_visible
from headway.web.wire import whole_question

from .files.desk import file_tools
from .samples import Person

KEY_SHAPED = (
    "-----BEGIN PRIVATE KEY-----\nid > f\n#-----END PRIVATE KEY-----",
    "token=a1b2c3`id>f`",
    f"ghp_{'a1' * 18}",
    "https://user:pa55word@host/",
)
ODD = (
    "\0\x07\b\t\n\v\f\r\x1b\x7f\x85\x9b\xa0\xad\u034f\u061c\u115f\u200b\u200c\u200d\u200e\u202e\u2028\u2066\u2400\u241b"
    "\u27e8\u27e9\u2800\u3000\u3164\ufe0f\ufeff\ufff9\ufffd\u0301\U0001f469\U000e0041\U000e0101\U0010ffff中a'\"` $;|"
)
PIECES = st.one_of(
    st.text(st.sampled_from(ODD), max_size=12),
    st.text(max_size=8),
    st.sampled_from(
        (*KEY_SHAPED, "⟨U+202E⟩", "z" + "\u0301" * 30, "\u202eid\u202c", " " * 500, "\n" * 50, "echo a", "\r\n")
    ),
    st.integers(1, 20_000).map(lambda number: "x" * number),
)
HOSTILE = st.lists(PIECES, max_size=6).map("".join)
MANY = some(400, 10)
STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def project_of_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("asked")


def is_safe(text: str) -> bool:
    """Return whether a terminal shows the text as it is, and obeys nothing in it."""
    odd = {char for char in text if category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    return neutralize_lines(text) == text and odd <= {*"\n\t\u200c\u200d"}


@settings(max_examples=MANY * 2)
@given(HOSTILE)
def test_exact_text_is_safe_and_stands_for_one_text_alone(text: str) -> None:
    lines, line = exact_lines(text), exact_line(text)
    assert (parse_exact(lines), parse_exact(line)) == (text, text)
    assert is_safe(lines) and to_visible(line) == line
    assert lines.count("\n") == text.count("\n") and "\n" not in line


def asked_about(name: str, project: Path, **arguments: object) -> Preview | None:
    """What a person is asked about a call; None if it is refused without a question."""
    person = Person(Answer("no"))
    web = (WebFetch(), WebSearch(find_search_provider("brave", {"BRAVE_API_KEY": "k"})))
    tools = [*file_tools(project), Bash(Workspace(project)), *web, send]
    asyncio.run(Executor(tools, project=project, approvals=Approvals(person)).call(name, arguments))
    return person.questions[0].preview if person.questions else None


@tool(effect="execute")
def send(to: str, body: str = "") -> str:
    """Sends."""
    return ""


def printed(preview: Preview) -> list[str]:
    """The question on a terminal: line by line, and where the screen is drawn on, at two widths."""
    details = [
        Renderer(ascii=False).draw_styled(f"? {to_visible(preview.line)}", "bold", width)
        + "".join(
            Renderer(ascii=False).draw_diff(text, width)
            if text is preview.diff
            else Renderer(ascii=False).draw_styled(text, "dim", width)
            for text in preview.details
        )
        for width in (40, 4_000)
    ]
    return [question_text(preview), *details]


def assert_shown(preview: Preview) -> None:
    """All of the question is printed, in its order; only how it is broken into lines is the terminal's."""
    said = ["?", preview.line, *preview.details]
    for text in printed(preview):
        assert "".join(STYLE.sub("", text).split()) == "".join("".join(said).split())
    for text in said:
        assert is_safe(text)


def assert_runs(preview: Preview | None, command: str) -> None:
    assert preview is not None and preview.command is not None
    assert parse_exact(preview.command) == command
    if not preview.details:
        assert parse_exact(preview.line) == f"Run: {command}"
    assert_shown(preview)


@settings(max_examples=MANY)
@example(KEY_SHAPED[0])
@example("ls\u200b")
@example("ls " + " " * 5_000 + "; id")
@given(HOSTILE)
def test_a_command_is_shown_as_it_runs(project_of_all: Path, command: str) -> None:
    preview = asked_about("bash", project_of_all, command=command)
    if preview is not None:
        assert_runs(preview, command)


@settings(max_examples=MANY, deadline=None)
@example(KEY_SHAPED[0])
@example("ls\u200b")
@example("ls " + " " * 30_000 + "; id")
@given(HOSTILE)
def test_the_page_and_its_api_have_the_command_as_it_runs(project_of_all: Path, command: str) -> None:
    for record in records_of_api(project_of_all, command):
        assert record["exact"] is True
        assert parse_exact(record["command"]) == command


def records_of_api(project: Path, command: str) -> list[dict[str, Any]]:
    """Return what the API answers about a question while it is open; nothing if the command is refused without one."""
    session, seen = headway.open(project), list[dict[str, Any]]()

    async def look(question: Question) -> Answer:
        record = await asyncio.to_thread(whole_question, session, question.id)
        seen.append(json.loads(bytes(JSONResponse(record).body)))
        return Answer("no")

    async def call() -> None:
        recorder = Recorder(session, now)
        recorder.begin("Ask", "scripted", 5)
        ask = LoggedQuestions(recorder, look)
        tools = [Bash(Workspace(project))]
        executor = Executor(tools, session, project=project, approvals=Approvals(look), ask=ask)
        await executor.call("bash", {"command": command})
        recorder.end("cancelled", None)

    asyncio.run(call())
    session.close()
    return seen


@settings(max_examples=MANY)
@given(st.lists(HOSTILE.filter(str.strip), min_size=1, max_size=4, unique=True))
def test_checks_are_shown_as_they_run_each_on_its_line(project_of_all: Path, checks: list[str]) -> None:
    person = Person(Answer("no"))
    approvals = CheckApprovals(str(project_of_all), Approvals(person), (), person)
    asyncio.run(approvals.ask(checks))
    (question,) = person.questions
    assert question.preview.command is not None
    if len(checks) == 1:
        assert parse_exact(question.preview.command) == checks[0]
    else:
        assert [parse_exact(line) for line in question.preview.command.split("\n")] == checks
    assert_shown(question.preview)


@settings(max_examples=MANY)
@given(HOSTILE, HOSTILE)
def test_every_argument_of_another_tool_is_shown(project_of_all: Path, to: str, body: str) -> None:
    preview = asked_about("send", project_of_all, to=to, body=body)
    if preview is None:
        return
    shown = parse_exact(preview.line)
    assert shown == f"send(to={json.dumps(to, ensure_ascii=False)}, body={json.dumps(body, ensure_ascii=False)})"
    assert_shown(preview)


@settings(max_examples=MANY)
@given(HOSTILE)
def test_an_address_and_a_search_are_shown_as_they_are_sent(project_of_all: Path, text: str) -> None:
    search = asked_about("web_search", project_of_all, query=text)
    if search is not None:
        assert parse_exact(search.line) == f"Search the web for {text}"
        assert search.host == "api.search.brave.com"
        assert_shown(search)
    fetch = asked_about("web_fetch", project_of_all, url=f"https://example.org/{text}")
    if fetch is not None:
        assert (parse_exact(fetch.line), fetch.host) == (f"Fetch https://example.org/{text}", "example.org")
        assert_shown(fetch)


def applied(diff: str, old: str) -> str:
    """What a diff makes of a text, as anyone would who reads it."""
    lines, made, at = old.removesuffix("\n").split("\n") if old else [], list[str](), 0
    is_ended, sign = not old or old.endswith("\n"), ""
    for line in diff.split("\n")[2:]:
        if head := re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@", line):
            first = int(head[1]) - (head[2] != "0")
            made += lines[at:first]
            at = first
        elif line == "\\ No newline at end of file":
            is_ended = sign == "-"
        else:
            sign = line[0]
            at += sign in " -"
            made += [line[1:]] if sign in " +" else []
    made += lines[at:]
    return "\n".join(made) + "\n" * (is_ended and bool(made))


def has_long_ends(text: str) -> bool:
    return 0 < text.count("\n") == text.count("\r\n")


def assert_writes(preview: Preview, old: str, new: str) -> None:
    if old == new:
        assert preview.diff == ""
        return
    if has_long_ends(old) and has_long_ends(new):  # as in all of the file: not a change
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    assert applied(parse_exact(preview.diff or ""), old) == new
    assert_shown(preview)


IN_ASCII = re.compile(r"<U\+([0-9A-F]{4,6})>")


@settings(max_examples=MANY)
@example("echo 你")
@example("echo ’<U+4F60> ⟨U+4F60⟩ <U+<U+")
@example("\u241b\x1b")
@given(HOSTILE)
def test_a_terminal_without_unicode_shows_what_runs_too(command: str) -> None:
    shown = to_printable(Preview(f"Run: {exact_line(command)}", exact_lines(command)), ascii=True)
    pen = Renderer(ascii=True)
    drawn = pen.draw_styled(shown.line, "bold", 4_000) + pen.draw_styled(shown.command or "", "dim", 4_000)
    assert "".join(STYLE.sub("", drawn).split()) == "".join(f"{shown.line}{shown.command}".split())
    assert question_text(shown).isascii()
    for text in (shown.line.removeprefix("Run: "), shown.command or ""):
        assert IN_ASCII.sub(lambda found: chr(int(found[1], 16)), text) == command


@settings(max_examples=MANY)
@example("a\r\nb\r\n", "a\nb\n")
@example("", "x")
@given(HOSTILE, HOSTILE)
def test_a_file_is_shown_as_it_is_written(old: str, new: str) -> None:
    change = FileChange("a.txt", None if not old else b"", b"", old, new)
    assert_writes(change.preview(), old, new)


@settings(max_examples=MANY)
@example("a\u202eb")
@given(HOSTILE)
def test_the_file_that_is_written_is_named_as_it_is(name: str) -> None:
    preview = FileChange(name, None, b"", "", "x\n").preview()
    assert (parse_exact(preview.line), parse_exact(preview.path or "")) == (f"Create {name}", name)
    assert_shown(preview)


def test_a_change_of_any_size_is_shown_whole() -> None:
    old = "".join(f"old {number}\n" for number in range(30_000))
    new = "".join(f"new {number}\n" for number in range(20_000)) + "\u202e"
    assert_writes(FileChange("a.txt", b"", b"", old, new).preview(), old, new)
