"""The completion log: which calls write a block, how it looks, and that nothing in a list can break it."""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
import unicodedata
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.processes import function, start
from tests.support.projects import temporary_folder
from tests.support.tables import check_rows

import headway
from headway import Session, Status, Todo
from headway.contracts.completion_log import format_block, log_completion
from headway.core.model import CompletionLog
from headway.tools.todo_write import TodoWriteTool

from .envelopes import accepted, params, todo
from .samples import HOSTILE, files_in

NAME = re.compile(r"memory/todos/todoList-(\d{8}-\d{6})\.md")
HEADING = re.compile(r"# task(\d+)-(\d{8}-\d{6})")


@pytest.fixture
def tool(folder: Path, session: Session) -> TodoWriteTool:
    return TodoWriteTool(folder, session)


def finish(tool: TodoWriteTool, *contents: str, summary: str = "The whole task") -> str | None:
    """Sends a finished list; returns where it was logged, if it was."""
    found = accepted(tool, *(todo(content, "completed") for content in contents), summary=summary)
    saved = found["data"].get("persisted_to")
    last = found["text"].split("\n")[-1]
    assert last == ("-------------------" if saved is None else f"(Saved to {saved})")
    return saved


def logged(tool: TodoWriteTool) -> str:
    (path,) = Path(tool.project_root, "memory", "todos").iterdir()
    return path.read_text(encoding="utf-8")


def headings(text: str) -> list[int]:
    """The numbers of the blocks in a file."""
    return [int(found[1]) for line in text.split("\n") if (found := HEADING.fullmatch(line))]


def stamps_are_near(stamp: str) -> bool:
    moment = datetime.strptime(stamp, "%Y%m%d-%H%M%S")
    return abs((datetime.now() - moment).total_seconds()) < 60


# The format.


def test_a_block_looks_exactly_as_specified(tool: TodoWriteTool):
    found = accepted(
        tool,
        todo("修复 multi_edit 重叠检测逻辑", "completed"),
        todo("性能优化脚本", "cancelled"),
        todo("更新 multi_edit 文档", "completed"),
        todo("运行相关测试", "completed"),
        summary="修复 multi_edit 重叠检测并完善文档与测试",
    )
    name = NAME.fullmatch(found["data"]["persisted_to"])
    assert name is not None
    assert found["text"].endswith(f"-------------------\n(Saved to {name[0]})")
    text = Path(tool.project_root, name[0]).read_bytes().decode("utf-8")
    heading, rest = text.split("\n", 1)
    block = HEADING.fullmatch(heading)
    assert block is not None
    assert block[1] == "1"
    assert stamps_are_near(block[2]) and stamps_are_near(name[1])
    assert rest == (
        "\n"
        "总任务概述：修复 multi_edit 重叠检测并完善文档与测试\n"
        "\n"
        "[3/4] Completed: 完成的任务.\n"
        "- 修复 multi_edit 重叠检测逻辑\n"
        "- 更新 multi_edit 文档\n"
        "- 运行相关测试\n"
        "\n"
        "[1/4] Cancelled: 取消的任务.\n"
        "- ~~性能优化脚本~~\n"
        "\n"
    )


def test_labels_can_be_english(tool: TodoWriteTool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TODO_LOG_LANG", "en")
    accepted(tool, todo("A", "completed"), todo("B", "cancelled"), summary="Both")
    assert logged(tool).split("\n")[1:] == [
        "",
        "Overall task: Both",
        "",
        "[1/2] Completed: finished tasks.",
        "- A",
        "",
        "[1/2] Cancelled: cancelled tasks.",
        "- ~~B~~",
        "",
        "",
    ]


@pytest.mark.parametrize("language", ["zh", "", "de"])
def test_any_other_language_gives_the_chinese_labels(
    tool: TodoWriteTool, monkeypatch: pytest.MonkeyPatch, language: str
):
    monkeypatch.setenv("TODO_LOG_LANG", language)
    finish(tool, "A")
    assert "总任务概述：The whole task" in logged(tool)


@pytest.mark.parametrize(
    ("status", "there", "left_out"),
    [("completed", "[2/2] Completed", "Cancelled"), ("cancelled", "[2/2] Cancelled", "Completed")],
)
def test_a_section_without_items_is_left_out(tool: TodoWriteTool, status: str, there: str, left_out: str):
    accepted(tool, todo("A", status), todo("B", status))
    assert there in logged(tool)
    assert left_out not in logged(tool)


# When a block is written.


@pytest.mark.parametrize("statuses", [[], ["pending"], ["completed", "pending"], ["cancelled", "in_progress"]])
def test_a_list_that_is_empty_or_unfinished_is_not_logged(tool: TodoWriteTool, folder: Path, statuses: list[str]):
    found = accepted(tool, *(todo(f"Task {n}", status) for n, status in enumerate(statuses)))
    assert "persisted_to" not in found["data"]
    assert "Saved" not in found["text"]
    assert files_in(folder) == []


def test_a_refused_call_is_not_logged(tool: TodoWriteTool, folder: Path):
    tool.run(params(todo("A", "completed"), summary=""))
    tool.run(params(todo("x" * 61, "completed")))
    assert files_in(folder) == []


def test_later_completions_are_added_to_the_file_that_the_first_one_named(tool: TodoWriteTool):
    first = finish(tool, "A")
    before = logged(tool)
    accepted(tool, todo("B"))
    assert finish(tool, "B") == first
    assert finish(tool, "B", "C") == first
    assert logged(tool).startswith(before)
    assert headings(logged(tool)) == [1, 2, 3]


def test_the_same_finished_list_with_the_same_summary_is_logged_once(tool: TodoWriteTool):
    assert finish(tool, "A", "B")
    before = logged(tool)
    assert finish(tool, "A", "B") is None
    assert finish(tool, " A ", "B", summary=" The whole task ") is None
    assert logged(tool) == before


def test_a_changed_summary_is_logged(tool: TodoWriteTool):
    assert finish(tool, "A", summary="One")
    assert finish(tool, "A", summary="Two")
    assert [line for line in logged(tool).split("\n") if line.startswith("总")] == [
        "总任务概述：One",
        "总任务概述：Two",
    ]


def test_a_list_that_was_taken_up_again_and_finished_again_is_logged_again(tool: TodoWriteTool):
    finish(tool, "A")
    accepted(tool, todo("A", "in_progress"))
    assert finish(tool, "A")
    assert headings(logged(tool)) == [1, 2]


def test_a_list_that_a_person_finished_is_logged_when_the_tool_is_next_called(tool: TodoWriteTool):
    accepted(tool, todo("A"))
    tool.session.update("t1", status="completed")
    assert finish(tool, "A")
    assert headings(logged(tool)) == [1]


def test_a_list_that_a_person_made_different_since_the_last_block_is_logged(tool: TodoWriteTool):
    finish(tool, "A")
    tool.session.add("B", status="completed")
    assert finish(tool, "A", "B")
    assert headings(logged(tool)) == [1, 2]


def test_the_log_is_made_anew_under_its_name_if_someone_deleted_it(tool: TodoWriteTool, folder: Path):
    saved = finish(tool, "A")
    assert saved is not None
    (folder / saved).unlink()
    assert finish(tool, "B") == saved
    assert headings(logged(tool)) == [2]


def test_what_a_person_wrote_into_the_file_stays(tool: TodoWriteTool, folder: Path):
    saved = finish(tool, "A")
    assert saved is not None
    with (folder / saved).open("a", encoding="utf-8") as file:
        file.write("my note\n")
    finish(tool, "B")
    assert "my note\n# task2-" in logged(tool)


def test_the_number_goes_on_when_the_session_is_opened_again(folder: Path):
    paths: set[str | None] = set()
    for content in ("A", "B", "C"):
        session = headway.open(folder)
        tool = TodoWriteTool(folder, session)
        paths.add(finish(tool, content))
        assert finish(tool, content) is None
        session.close()
    assert len(paths) == 1
    assert headings(logged(TodoWriteTool(folder))) == [1, 2, 3]


def test_sessions_that_finish_in_the_same_second_use_files_of_their_own(folder: Path):
    paths = [finish(TodoWriteTool(folder, headway.open(folder, name)), "A") for name in ("one", "two", "three")]
    paths.append(finish(TodoWriteTool(folder), "in memory"))
    assert len(set(paths)) == 4
    for path in paths:
        assert path is not None
        assert NAME.fullmatch(path)
        assert headings((folder / path).read_text(encoding="utf-8")) == [1]


def test_a_name_that_is_taken_is_not_written_to(tool: TodoWriteTool, folder: Path):
    logs = folder / "memory" / "todos"
    logs.mkdir(parents=True)
    start = datetime.now()
    taken = [logs / f"todoList-{start + timedelta(seconds=n):%Y%m%d-%H%M%S}.md" for n in range(30)]
    for path in taken:
        path.write_text("mine", encoding="utf-8")
    saved = finish(tool, "A")
    assert saved is not None
    assert saved == f"memory/todos/todoList-{start + timedelta(seconds=30):%Y%m%d-%H%M%S}.md"
    assert {path.read_text(encoding="utf-8") for path in taken} == {"mine"}


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="needs a clock whose zone can be set")
def test_times_are_local(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "CST-8")
    time.tzset()
    try:
        block = format_block(3, "2025-01-02T09:42:33.000Z", "x", [Todo("t1", "A", status=Status.COMPLETED)])
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()
    assert block.startswith("# task3-20250102-174233\n")


def test_undo_takes_back_the_list_not_the_log(tool: TodoWriteTool):
    accepted(tool, todo("A"))
    finish(tool, "A")
    before = logged(tool)
    assert [entry.status for entry in tool.session.undo()] == [Status.PENDING]
    assert logged(tool) == before


# Nothing in a list can break the structure.


def shape(block: str) -> tuple[int, int, int]:
    """How many lines of a block start a heading, an item, or a section."""
    lines = block.splitlines()
    return (
        sum(line.startswith("#") for line in lines),
        sum(line.startswith("- ") for line in lines),
        sum(line.startswith("[") for line in lines),
    )


def is_bare(marks: str, text: str) -> bool:
    """One of the marks is in the text without an odd number of backslashes before it."""
    return re.search(rf"(?<!\\)(?:\\\\)*[{marks}]", text) is not None


def is_struck_as_a_whole(line: str) -> bool:
    inside = line[4:-2]
    whole = line.startswith("- ~~") and line.endswith("~~") and (len(inside) - len(inside.rstrip("\\"))) % 2 == 0
    return whole and not is_bare("~<", inside)


def block_of(*todos: object, summary: str = "The whole task") -> str:
    """What is logged of a finished list."""
    with temporary_folder() as folder:
        tool = TodoWriteTool(folder, headway.open(memory=True))
        accepted(tool, *todos, summary=summary)
        return logged(tool)


def test_hostile_text_stays_on_its_line() -> None:
    def check(text: str) -> None:
        block = block_of(todo(text, "completed"), todo(text, "cancelled"), summary=text)
        assert shape(block) == (1, 2, 2)
        done, struck = (line for line in block.splitlines() if line.startswith("- "))
        assert re.match(r"- [^\s#>+*=|`_\[-]", done)
        assert is_struck_as_a_whole(struck)
        assert not is_bare("<", done)
        assert block.count("\n") == len(block.splitlines())

    check_rows(HOSTILE, check)


ESCAPED = [
    ("plain: a_b *c* `d` #e", "plain: a_b *c* `d` #e", "plain: a_b *c* `d` #e"),
    ("# heading", "\\# heading", "\\# heading"),
    ("12. twelve", "12\\. twelve", "12\\. twelve"),
    ("- [ ] task", "\\- [ ] task", "\\- [ ] task"),
    ("[ ] task", "\\[ ] task", "\\[ ] task"),
    ("```sh", "\\```sh", "\\```sh"),
    ("~~~", "~~\\~", "\\~\\~\\~"),
    ("a ~~b~~", "a ~~b~~", "a \\~\\~b\\~\\~"),
    ("<!-- x -->", "\\<!-- x -->", "\\<!-- x -->"),
    ("a\\<b", "a\\\\\\<b", "a\\\\\\<b"),
    ("a\\", "a\\\\", "a\\\\"),
    ("two\nlines\r\nhere", "two lines  here", "two lines  here"),
]
"""A text, and how it is written as it is and struck."""


def test_markup_is_escaped_only_where_it_would_be_obeyed() -> None:
    def check(text: str, line: str, struck: str) -> None:
        lines = block_of(todo(text, "completed"), todo(text, "cancelled")).split("\n")
        assert f"- {line}" in lines
        assert f"- ~~{struck}~~" in lines

    check_rows(ESCAPED, check)


MARKUP = st.text(
    st.sampled_from(list("ab \n\r\t\\~<>#-*+=|`_[]().!&1é修\u2028\x1b\0\x85\x1c")), min_size=1, max_size=12
)
ITEMS = st.lists(st.tuples(MARKUP | st.text(min_size=1, max_size=30), st.booleans()), min_size=1, max_size=5)


@given(ITEMS, MARKUP | st.text(max_size=30))
def test_any_block_has_exactly_the_lines_it_should_have(items: list[tuple[str, bool]], summary: str):
    todos = [
        Todo(f"t{n}", text, status=Status.COMPLETED if done else Status.CANCELLED)
        for n, (text, done) in enumerate(items)
    ]
    sections = len({done for _, done in items})
    block = format_block(7, "2025-01-02T03:04:05.000Z", summary, todos)
    assert shape(block) == (1, len(items), sections)
    assert len(block.splitlines()) == block.count("\n") == 4 + len(items) + 2 * sections
    assert not any(unicodedata.category(char) == "Cc" for char in block.replace("\n", ""))
    assert not is_bare("<", block)
    listed = [line for line in block.splitlines() if line.startswith("- ")]
    for struck in listed[sum(done for _, done in items) :]:
        assert is_struck_as_a_whole(struck)


# Several processes.


def run_finishers(folder: Path, *jobs: tuple[str, list[str]]) -> list[dict[str, object]]:
    """Runs one process for each (session, contents), all at once; returns their answers."""
    started = [
        start(function("tests.contracts.finisher:main", folder, session, *contents), given=None)
        for session, contents in jobs
    ]
    for process in started:
        assert process.out.line() == "ready"
    for process in started:
        process.write("go\n")
    done = [process.end() for process in started]
    assert [one.code for one in done] == [0] * len(jobs)
    return [answer for one in done for answer in one.events]


def blocks(text: str) -> dict[int, list[str]]:
    """number → the lines of the block, without blank ones."""
    found: dict[int, list[str]] = {}
    for line in text.splitlines():
        if heading := HEADING.fullmatch(line):
            found[int(heading[1])] = []
        elif line:
            found[max(found)].append(line)
    return found


def test_processes_that_finish_at_once_in_one_session_leave_whole_blocks(folder: Path):
    names = [[f"{letter}{n}" for n in range(5)] for letter in "ab"]
    answers = run_finishers(folder, ("default", names[0]), ("default", names[1]))
    assert [found["status"] for found in answers] == ["success"] * 10
    (path,) = (folder / "memory" / "todos").iterdir()
    written = blocks(path.read_text(encoding="utf-8"))
    assert list(written) == list(range(1, 11))
    assert sorted(tuple(lines) for lines in written.values()) == sorted(
        (f"总任务概述：All of {name}", "[1/1] Completed: 完成的任务.", f"- {name}") for name in [*names[0], *names[1]]
    )


def test_processes_that_finish_at_once_in_two_sessions_leave_two_files(folder: Path):
    answers = run_finishers(folder, ("one", ["a"]), ("two", ["b"]))
    assert [found["status"] for found in answers] == ["success"] * 2
    texts = [path.read_text(encoding="utf-8") for path in (folder / "memory" / "todos").iterdir()]
    assert [headings(text) for text in texts] == [[1], [1]]
    assert sorted(text.split("\n")[5] for text in texts) == ["- a", "- b"]


def test_a_stored_path_that_leads_elsewhere_is_not_used(folder: Path):
    session = headway.open(folder)
    session.log_completion(CompletionLog("../escape.md", 1, {}))
    saved = accepted(TodoWriteTool(folder, session), todo("A", "completed"))["data"]["persisted_to"]
    assert saved.startswith("memory/todos/todoList-")
    assert not (folder.parent / "escape.md").exists()
    session.close()


def test_a_folder_that_is_kept_locked_makes_the_answer_partial(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("headway.store.folder.PATIENCE", 0.1)
    (folder / "memory" / "todos").mkdir(parents=True)
    handle = os.open(folder / "memory" / "todos", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        found = json.loads(TodoWriteTool(folder).run(params(todo("A", "completed"))))
    finally:
        os.close(handle)
    assert found["status"] == "partial"
    assert "another process has locked the folder" in found["text"]


def test_a_project_that_does_not_exist_is_not_made(folder: Path):
    found = json.loads(TodoWriteTool(folder / "nowhere").run(params(todo("A", "completed"))))
    assert found["status"] == "partial"
    assert not (folder / "nowhere").exists()


def test_a_list_that_another_process_sent_meanwhile_is_logged_once(folder: Path):
    first, second = headway.open(folder), headway.open(folder)
    done = [todo("A", "completed")]
    first.write(done, replace=True, summary="S")
    second.write(done, replace=True, summary="S")
    assert log_completion(second, str(folder), "S", second.todos) is not None
    assert log_completion(first, str(folder), "S", first.todos) is None
    first.close()
    second.close()


def test_the_lists_of_sub_agents_are_told_apart(folder: Path):
    session = headway.open(folder)
    main, sub = TodoWriteTool(folder, session), TodoWriteTool(folder, session.agent("sub"))
    assert "persisted_to" in accepted(sub, todo("B", "completed"))["data"]
    assert "persisted_to" in accepted(main, todo("A", "completed"))["data"]
    assert "persisted_to" not in accepted(sub, todo("B", "completed"))["data"]
    session.close()


def test_an_interrupt_after_the_block_is_recorded_does_not_lose_it(folder: Path, monkeypatch: pytest.MonkeyPatch):
    session = headway.open(folder)
    session.write([todo("A", "completed")], replace=True)
    record = Session.log_completion

    def interrupted(self: Session, log: CompletionLog, *, actor: str = "user") -> None:
        record(self, log, actor=actor)
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "log_completion", interrupted)
    with pytest.raises(KeyboardInterrupt):
        log_completion(session, str(folder), "S", session.todos)
    (file,) = (folder / "memory" / "todos").iterdir()
    assert "# task1-" in file.read_text(encoding="utf-8")
    session.close()


def test_what_the_log_does_not_show_may_change_without_a_new_block(folder: Path):
    session = headway.open(folder)
    tool = TodoWriteTool(folder, session)
    assert finish(tool, "A") is not None
    session.update("t1", notes="n", priority="high")
    session.undo()
    assert finish(tool, "A") is None
    session.update("t1", status="pending")
    assert finish(tool, "A") is not None
    session.close()
