"""Items being executed on a real terminal: what a person sees of them, is asked and answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.executions import (
    ALL,
    COMPLETE,
    FAILED,
    FAILS,
    NAME,
    at,
    done,
    door,
    in_worktree,
    item,
    let,
    listed,
    scripted,
    starts,
    states,
)
from tests.support.processes import NOTHING
from tests.support.scripts import LONG, bash, talking, turn, write
from tests.support.terminal import Terminal, one_box, whole_box

import headway as api
from headway.core.run_events import ToolFinished

CTRL_C, CTRL_D = "\x03", "\x04"
WITHOUT_UNICODE = {"PYTHONIOENCODING": "ascii"}
PROMPT = "a: allow all "
HOSTILE = "Fix \x1b[31mred\x1b[0m\x07 \x1b]0;title\x07\n▶ [9/9] Fake \u202edetrever\u200b 解析"

pytestmark = [pytest.mark.more, pytest.mark.usefixtures("repository")]


def executing(
    *words: str, model: str, mode: str = "yolo", columns: int = 80, lines: int = 30, env: Mapping[str, str] = NOTHING
) -> Terminal:
    mode_words = (f"--mode={mode}",) if mode else ()
    return Terminal(*ALL, *mode_words, *words, "--model", model, columns=columns, lines=lines, env=env)


def doing(shown: str) -> list[str]:
    """The lines about what runs, above the box."""
    above = shown[: shown.index("┌─ Tasks")] if "┌─ Tasks" in shown else ""
    return [line for line in above.splitlines() if line.startswith("● ")]


def results() -> list[str]:
    """What models were told of their calls."""
    return [event.data.text for event in api.open(".", NAME).events() if isinstance(event.data, ToolFinished)]


# one after the other


def test_what_the_model_of_an_item_says_and_does_is_seen_under_its_heading(repository: Path) -> None:
    listed(item("s1", "Write it"), item("s2", "Implement JWT", estimated_time="45min"))
    model = scripted(s1=["Written."], s2=[turn("I begin.", write("a.txt")), door("a"), talking()])
    terminal = executing(model=model)
    shown = terminal.until(lambda shown: "● bash touch" in shown and one_box(shown, rows=4))
    lines = shown.splitlines()
    place = lines.index("▶ [2/2] Implement JWT ⏱ 45min")
    assert lines[place + 1 : place + 3] == ["I begin.", "✓ write_file a.txt"]
    assert re.fullmatch(r"✓\? s1: Write it \(reported, \d+\.\d s\)", lines[place - 1])
    assert "│ ● Implement JWT..." in shown and "│ ✓ Write it" in shown
    let("a")
    terminal.until(lambda shown: re.search(r"^So on.*\n┌─ Tasks", shown, re.MULTILINE))
    terminal.send(CTRL_C)
    assert terminal.end() == 130
    assert terminal.given_back


@pytest.mark.parametrize(
    ("words", "code", "last"),
    [
        (("--retries=0",), 1, ["Progress: 1 completed, 1 failed"]),
        (("--retries=1",), 0, [COMPLETE, "Executed 2/2 todos in "]),
    ],
)
def test_the_end_stands_under_one_box_and_the_terminal_is_given_back(
    words: tuple[str, ...], code: int, last: list[str]
) -> None:
    listed("s1", "s2")
    terminal = executing(*words, model=done("s1", s2=[*FAILS, "Done."]))
    assert terminal.end() == code
    assert terminal.given_back
    assert one_box(terminal.all, rows=4)
    below = terminal.all[terminal.all.index("└──") :]
    assert all(text in below for text in last)
    assert "waiting for the model" not in terminal.all


# several at once


@pytest.mark.smoke
def test_each_item_that_runs_has_a_line_with_what_it_does_until_it_ends() -> None:
    listed(*(item(f"s{number}", f"Item {number}") for number in range(1, 5)))
    waiting = {f"s{number}": [door(f"d{number}"), turn("", bash("true")), "Done."] for number in range(1, 4)}
    terminal = executing("--parallel=3", model=done("s4", **waiting))
    shown = terminal.until(lambda shown: shown.count("  bash touch") == 3 and one_box(shown, rows=6))
    assert [line.split("  ")[0] for line in doing(shown)] == ["● s1", "● s2", "● s3"]
    assert shown.count("│ ● Item") == 3
    assert [line for line in shown.splitlines() if line.startswith("▶")] == [f"▶ [{n}/4] Item {n}" for n in (1, 2, 3)]
    let("d2")
    terminal.until(lambda shown: "✓? s4: Item 4" in shown and len(doing(shown)) == 2 and one_box(shown, rows=6))
    assert [line.split("  ")[0] for line in doing(terminal.shown)] == ["● s1", "● s3"]
    let("d1", "d3")
    assert terminal.end() == 0
    assert terminal.given_back
    assert one_box(terminal.all, rows=6) and doing(terminal.all) == []
    assert "bash touch" not in terminal.all, "what each does is only seen while it does"
    assert "Executed 4/4 todos in " in terminal.all


def test_at_once_it_is_seen_when_a_model_is_waited_for_and_when_it_answers() -> None:
    listed("s1", "s2")
    model = scripted(s1=[turn("", bash("true")), talking()], s2=[turn(thinking="Hm.", delay=LONG)])
    terminal = executing("--parallel=2", model=model)
    terminal.until(lambda shown: "● s1  answering …" in shown and "● s2  waiting for the model …" in shown)
    assert "So on" not in terminal.shown, "what several say at once would be all mixed up"
    terminal.send(CTRL_C)
    assert terminal.end() == 130


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (40, 12)])
def test_wide_characters_and_long_texts_keep_their_place(columns: int, lines: int) -> None:
    text = "解析器的边界情况 " * 8
    listed(*(item(f"编号-{number}", f"{number} {text}", estimated_time="45 分钟") for number in range(6)))
    model = scripted(**{f"编号-{number}": [door(f"d{number}"), "完成了。"] for number in range(6)})
    terminal = executing("--parallel=6", model=model, columns=columns, lines=lines)
    most = min(6, lines // 3)
    terminal.until(lambda shown: len(doing(shown)) == most and shown.count("bash touch") == most)
    at(*(f"d{number}" for number in range(6)))
    box = whole_box(terminal.until(lambda shown: shown.rstrip().endswith("┘") and whole_box(shown)))
    assert box is not None and len(box[0]) == len(box[-1]) <= columns
    let(*(f"d{number}" for number in range(6)))
    assert terminal.end() == 0
    assert len([line for line in terminal.all.splitlines() if line.startswith("┌─ Tasks")]) == 1
    begun = [line for line in terminal.all.splitlines() if line.startswith("▶")]
    assert len(begun) == 6, "each stands on one line"


def test_another_process_changes_the_list_and_the_box_shows_it_in_place() -> None:
    session = listed("s1", "s2")
    terminal = executing("--parallel=2", model=scripted(s1=[door("a"), "Done."], s2=[door("b"), "Done."], t1=["Done."]))
    at("a", "b")
    session.add("Mine too 我的")
    terminal.until(lambda shown: "│ ○ Mine too 我的" in shown and one_box(shown, rows=5))
    let("a")
    terminal.until(
        lambda shown: "✓? t1: Mine too 我的" in shown and "│ ✓ Mine too 我的" in shown and one_box(shown, rows=5)
    )
    let("b")
    assert terminal.end() == 0
    assert "▶ [3/3] Mine too 我的" in terminal.all and "Executed 3/3 todos in " in terminal.all


# terminals of all kinds, and none


@pytest.mark.parametrize(("env", "parallel"), [({"NO_COLOR": "1"}, 1), ({"TERM": "dumb"}, 2)])
def test_without_colour_everything_is_plain_text(env: dict[str, str], parallel: int) -> None:
    listed(item("s1", "第一"), item("s2", "Two"))
    terminal = executing(f"--parallel={parallel}", model=done("s1", s2=FAILS * 2), env=env)
    assert terminal.end() == 1
    assert not re.search(r"\x1b\[[\d;]*m", terminal.raw) and ("TERM" not in env or "\x1b" not in terminal.raw)
    places = [terminal.all.index(text) for text in ("▶ [1/2] 第一", "✓? s1: 第一", FAILED, "Progress: 1 completed")]
    assert places == sorted(places)


def test_without_unicode_what_happens_is_seen_in_ascii() -> None:
    listed(item("s1", "第一", estimated_time="1h"), "s2")
    terminal = executing("--parallel=2", model=done("s1", s2=[door("a"), *FAILS * 2]), env=WITHOUT_UNICODE)
    terminal.until(lambda shown: "● s2" in shown or "* s2  bash" in shown or "? s2  bash" in shown)
    let("a")
    assert terminal.end() == 1
    shown = terminal.all
    assert "+- Tasks ---" in shown and "[1/2] ?? ? 1h" in shown
    assert "+? s1: ??" in shown and "x s2: Do s2: Its last command failed" in shown
    before_the_end = terminal.raw[: terminal.raw.index("Batch Execution")].rpartition("\n")[0]
    assert before_the_end.isascii()


@pytest.mark.parametrize(
    ("env", "loaded"),
    [
        (WITHOUT_UNICODE, True),
        ({"LC_ALL": "C", "LANG": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, False),
    ],
)
def test_without_unicode_nothing_but_ascii_is_printed(env: dict[str, str], loaded: bool) -> None:
    listed(item("s1", "第一"))
    terminal = Terminal(*ALL, "--mode=yolo", "--model", done("s1"), env=env, loaded=loaded)
    assert terminal.end() == 0
    assert terminal.raw.isascii()


def test_without_unicode_a_beginning_does_not_look_like_a_question() -> None:
    listed("s1")
    terminal = executing(model=done("s1"), env=WITHOUT_UNICODE)
    assert terminal.end() == 0
    assert "? [1/1]" not in terminal.all and "[1/1] Do s1" in terminal.all


@pytest.mark.parametrize("parallel", [1, 2])
def test_hostile_items_are_shown_and_not_obeyed(parallel: int) -> None:
    listed(item("s1", HOSTILE, estimated_time="1h\x1b[2J"), item("s2", "Two"))
    terminal = executing(f"--parallel={parallel}", model=scripted(s1=FAILS * 2, s2=[*FAILS * 2]), columns=120)
    assert terminal.end() == 1
    for obeyed in ("\x1b]0;", "\x1b[2J", "\x1b[31mred", "\x07", "\u202e", "\u200b"):
        assert obeyed not in terminal.raw
    assert [line for line in terminal.all.splitlines() if line.startswith("▶ [9/9]")] == []
    assert "Fix ␛[31mred␛[0m␇" in terminal.all and "解析" in terminal.all


def test_how_long_an_item_takes_and_which_attempt_it_is_is_seen_however_long_its_text_is() -> None:
    listed(item("s1", "A long text " * 20, estimated_time="45min"))
    terminal = executing(model=scripted(s1=[*FAILS, "Done."]))
    assert terminal.end() == 0
    first, second = [line for line in terminal.all.splitlines() if line.startswith("▶")]
    assert first.endswith("⏱ 45min")
    assert second.endswith("(attempt 2)")


# questions


@pytest.mark.smoke
def test_by_default_the_person_is_asked_and_yes_no_and_always_count(repository: Path) -> None:
    listed("s1", "s2", "s3")
    model = scripted(
        s1=[turn("", bash("touch 1")), turn("", bash("touch 2")), turn("", bash("true")), "Done."],
        s2=[turn("", bash("touch 3")), "Done."],
        s3=[turn("", write("4")), "Done."],
    )
    terminal = executing(mode="", model=model)
    terminal.asked("? Run: touch 1")
    assert not (repository / "1").exists() and "\x1b[?25h" in terminal.raw
    terminal.send("y\n")
    terminal.asked("? Run: touch 2")
    assert in_worktree("1") and not (repository / "1").exists()
    terminal.send("n use the other 文件\n")
    terminal.asked("? Run: true")
    terminal.send("a\n")
    terminal.asked("? Create 4")
    assert (repository / "3").exists(), "always is for all items of the execution"
    terminal.send("y\n")
    assert terminal.end() == 0
    assert sorted(path.name for path in repository.glob("[0-9]")) == ["1", "3", "4"]
    assert [text for text in results() if "use the other 文件" in text]
    assert terminal.all.count(PROMPT) == 4 and "Executed 3/3 todos in " in terminal.all


def test_at_once_it_says_which_item_asks_and_one_is_asked_after_the_other(repository: Path) -> None:
    listed(item("s1", "First"), item("s2", "第二"))
    model = scripted(**{name: [turn("", bash(f"touch {name}")), "Done."] for name in ("s1", "s2")})
    terminal = executing("--parallel=2", "--retries=0", mode="default", model=model)
    texts = {"s1": "First", "s2": "第二"}
    left = {*texts}
    for answer in ("y", "n not now"):
        shown = terminal.until(
            lambda shown: shown.rstrip().endswith(">") and any(f"? Run: touch {one}" in shown for one in left)
        )
        (name,) = [one for one in left if f"? Run: touch {one}" in shown]
        lines = shown.splitlines()
        place = lines.index(f"? Run: touch {name}")
        assert lines[place - 1] == f"? {name}: {texts[name]}"
        assert shown.count(PROMPT) == 2 - len(left) + 1
        left.discard(name)
        terminal.send(f"{answer}\n")
    assert terminal.end() == 1
    assert terminal.given_back and one_box(terminal.all, rows=4)
    assert sorted(states().values()) == ["blocked", "completed"]
    assert len([*repository.glob("s[12]")]) == 1
    assert "bash was denied" in terminal.all


def test_in_auto_edit_only_commands_are_asked_about(repository: Path) -> None:
    listed("s1")
    terminal = executing(
        mode="auto_edit", model=scripted(s1=[turn("", write("a.txt")), turn("", bash("touch 1")), "Done."])
    )
    terminal.asked("? Run: touch 1")
    assert in_worktree("a.txt")
    terminal.send("y\n")
    assert terminal.end() == 0
    assert terminal.all.count(PROMPT) == 1


def test_an_item_that_was_told_no_is_blocked_and_says_so() -> None:
    listed("s1", "s2")
    terminal = executing("--retries=0", mode="default", model=done("s2", s1=[turn("", bash("touch 1")), "As you say."]))
    terminal.asked("? Run: touch 1")
    terminal.send("n\n")
    assert terminal.end() == 1
    assert "s1 failed: bash was denied; allow it, or choose another mode." in terminal.all
    assert states() == {"s1": "blocked", "s2": "pending"}


def test_the_end_of_the_input_is_a_no(repository: Path) -> None:
    listed("s1")
    terminal = executing("--retries=0", mode="default", model=scripted(s1=[turn("", bash("touch 1")), "As you say."]))
    terminal.asked("? Run: touch 1")
    terminal.send(CTRL_D)
    assert terminal.end() == 1
    assert not (repository / "1").exists() and terminal.given_back


def test_without_a_keyboard_nobody_is_asked(repository: Path) -> None:
    listed("s1")
    model = scripted(s1=[turn("", bash("touch 1")), "As you say."] * 2)
    terminal = Terminal(*ALL, "--model", model, typed=False)
    assert terminal.end() == 1
    assert PROMPT not in terminal.all and "bash was denied" in terminal.all
    assert len(starts()) == 2 and not (repository / "1").exists()
