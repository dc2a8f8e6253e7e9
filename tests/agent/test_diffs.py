"""What a call changed in files is kept with it, for people: without keys, not too long, and never sent to a model."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import headway
from headway import Session
from headway.agent.conversation import Conversation
from headway.agent.tool_runner import MAX_DIFF, shorten_diff
from headway.core.codec import to_event_dict
from headway.core.run_events import ToolFinished
from headway.core.secrets import Redactor
from headway.testing import Call, ScriptedModel, Turn
from headway.tools import Context, Tool, ToolInput, ToolResult, builtin_tools

from .looping import facts, run, texts

KEY = "sk-" + "a1b2c3d4" * 4
PRIVATE = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQ\n" * 8 + "-----END PRIVATE KEY-----"


async def diffs(session: Session, folder: Path, *calls: Call) -> list[str | None]:
    model = ScriptedModel([*(Turn(calls=[call]) for call in calls), "Done."])
    await run(session, model, tools=builtin_tools(folder))
    return [call.diff for call in facts(session, ToolFinished)]


def writing(path: str, content: str) -> Call:
    return Call("write_file", {"path": path, "content": content})


async def test_what_write_file_and_edit_changed_is_in_the_log(session: Session, tmp_path: Path) -> None:
    found = await diffs(
        session,
        tmp_path,
        writing("a.txt", "one\ntwo\n"),
        Call("edit", {"path": "a.txt", "old_string": "two", "new_string": "二"}),
        writing("a.txt", "one\n二\n"),
        Call("edit", {"path": "a.txt", "old_string": "nowhere", "new_string": "x"}),
        Call("read_file", {"path": "a.txt"}),
        Call("bash", {"command": "echo three >> a.txt"}),
    )
    assert found == [
        "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two",
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+二",
        *[None] * 4,
    ]


async def test_the_model_is_never_told_also_when_the_conversation_goes_on(
    kept_session: Session, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("mark-before\n", encoding="utf-8")
    calls = [Call("bash", {"command": "true"}), writing("b.txt", "x\n")]
    model = ScriptedModel([Turn(calls=calls), "Done.", "More."])
    await run(kept_session, model, tools=builtin_tools(tmp_path))
    await run(headway.open(tmp_path), model, "And now?", tools=builtin_tools(tmp_path))
    assert facts(kept_session, ToolFinished)[1].diff
    for request in model.requests:
        assert "@@ -0,0" not in "".join(texts(request.messages))
        assert "/dev/null" not in str(request.messages)


async def test_keys_are_not_kept_also_where_they_were_taken_out(kept_session: Session, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"{KEY}\n{PRIVATE}\nend\n", encoding="utf-8")
    new = KEY.replace("a1", "z9")
    await diffs(
        kept_session,
        tmp_path,
        Call("read_file", {"path": "a.txt"}),
        writing("a.txt", f"key = {new}\nend\n"),
        Call("edit", {"path": "a.txt", "old_string": f"key = {new}", "new_string": PRIVATE}),
    )
    _, replaced, edited = facts(kept_session, ToolFinished)
    assert replaced.diff is not None and edited.diff is not None
    assert replaced.diff.splitlines()[3:] == ["-[redacted]", "-[redacted]", "+key = [redacted]", " end"]
    assert edited.diff.splitlines()[3:] == ["-key = [redacted]", "+[redacted]", " end"]
    with closing(sqlite3.connect(tmp_path / ".headway/headway.db")) as store:
        kept = str(store.execute("SELECT data FROM events").fetchall())
    assert "a1b2c3d4a1b2" not in kept and "z9b2c3d4" not in kept and "MIIEvQ" not in kept


def test_what_is_too_long_is_cut_at_the_end_of_a_line_and_says_how_much_more_there_is() -> None:
    lines = [f"+line {number}" for number in range(5_000)]
    cut = shorten_diff("\n".join(lines), Redactor())
    assert cut is not None
    *kept, last = cut.split("\n")
    assert MAX_DIFF - 100 < len(cut) <= MAX_DIFF
    assert kept == lines[: len(kept)]
    assert last == f"… {5_000 - len(kept):,} lines more"


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_diff_of_just_the_limit_is_whole_and_a_line_that_is_too_long_goes(end: str) -> None:
    whole = f"+{'x' * (MAX_DIFF - 1 - len(end))}{end}"
    assert shorten_diff(whole, Redactor()) == whole
    more = "… 2 lines more" if end else "… 1 line more"
    assert shorten_diff(f"+a\n{whole}x{end}", Redactor()) == f"+a\n{more}"
    assert shorten_diff(f"+{'x' * MAX_DIFF}{end}", Redactor()) == "… 1 line more"
    assert shorten_diff("", Redactor()) is None


def test_a_key_across_the_cut_is_not_kept_in_part() -> None:
    before = "\n".join(f"+{'x' * 98}" for _ in range(199))
    for sign in "+- ":
        key = "\n".join(f"{sign}{line}" for line in PRIVATE.splitlines())
        cut = shorten_diff(f"{before}\n{key}\n{before}", Redactor())
        assert cut is not None and "MIIEvQ" not in cut and len(cut) <= MAX_DIFF
        assert f"\n{sign}[redacted]\n" in cut


def test_a_diff_that_is_written_otherwise_has_no_keys_either() -> None:
    assert shorten_diff(f"{PRIVATE}\n-{KEY}\n", Redactor()) == "[redacted]\n-[redacted]\n"


class Nothing(ToolInput):
    pass


@pytest.mark.parametrize("odd", [7, ["+a"], b"+a"])
async def test_a_plug_in_whose_diff_is_no_text_has_none(session: Session, odd: Any) -> None:
    class Odd(Tool[Nothing]):
        name, description, input = "odd", "Answers oddly.", Nothing

        async def run(self, call: Nothing, context: Context) -> ToolResult:
            return ToolResult("done", diff=odd)

    result = await run(session, [Turn(calls=[Call("odd")]), "Done."], tools=[Odd()])
    assert result.error is None
    assert [(call.text, call.diff) for call in facts(session, ToolFinished)] == [("done", None)]


async def test_a_session_that_was_written_without_diffs_is_read_and_goes_on(
    kept_session: Session, tmp_path: Path
) -> None:
    await diffs(kept_session, tmp_path, writing("a.txt", "one\n"))
    kept_session.close()
    with closing(sqlite3.connect(tmp_path / ".headway/headway.db")) as store:
        rows = store.execute("SELECT version, data FROM events WHERE data LIKE '%\"diff\"%'").fetchall()
        assert len(rows) == 1
        for version, data in rows:
            older = {name: value for name, value in json.loads(data).items() if name != "diff"}
            store.execute("UPDATE events SET data = ? WHERE version = ?", (json.dumps(older), version))
        store.execute("DELETE FROM snapshots")
        store.commit()
    again = headway.open(tmp_path)
    [call] = facts(again, ToolFinished)
    assert (call.tool, call.diff, call.files) == ("write_file", None, ("a.txt",))
    assert len(Conversation.load(again).messages) == 4
    assert (await run(again, ["More."], "And now?")).ok


async def test_programs_get_the_diff_with_the_event(session: Session, tmp_path: Path) -> None:
    await diffs(session, tmp_path, writing("a.txt", "one\n"))
    [event] = [event for event in session.events() if isinstance(event.data, ToolFinished)]
    assert to_event_dict(event, session.name)["diff"] == "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one"
