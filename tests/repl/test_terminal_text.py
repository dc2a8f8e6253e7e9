"""What the terminal session makes of keys and words: completion, answers in Markdown, calls and what they answered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.scripts import bash, call, script, turn, write
from tests.support.terminal import one_box

from .screens import CTRL_O, CTRL_U, ENTER, TAB, bottom, kept, prompt, talk, typed, words

pytestmark = pytest.mark.more

# completion


def test_tab_completes_a_command_at_once_where_only_one_fits(project: Path) -> None:
    terminal = talk(model=script("Hello."))
    terminal.send(f"/pl{TAB}")
    terminal.until(lambda seen: typed(seen).startswith("/plan"))
    terminal.send(f" to{TAB}")
    terminal.until(lambda seen: typed(seen) == "/plan to-todos")
    terminal.send(ENTER)
    terminal.idle("❌ No active plan")


def test_tab_goes_through_what_fits_enter_takes_it_and_enter_again_sends_it(project: Path) -> None:
    terminal = talk(model=script("Hello."))
    terminal.send(f"/plan {TAB}")
    first = typed(terminal.until(lambda seen: re.fullmatch("/plan [a-z-]+", typed(seen))))
    taken = [first]
    for _ in range(7):
        terminal.send(TAB)
        taken.append(typed(terminal.until(lambda seen: typed(seen) != taken[-1])))
        if taken[-1] in (first, "/plan"):  # around once
            break
    assert {"/plan show", "/plan to-todos", "/plan on", "/plan off", "/plan clear", "/plan edit"} <= {*taken}
    while typed(terminal.seen) != "/plan on":
        before = typed(terminal.seen)
        terminal.send(TAB)
        terminal.until(lambda seen, before=before: typed(seen) != before)
    terminal.send(ENTER)
    terminal.until(lambda seen: "Turn plan mode on" not in seen)
    assert typed(terminal.seen) == "/plan on"
    assert not kept(project).plan_mode
    terminal.send(ENTER)
    terminal.until(lambda seen: prompt(seen) == "[PLAN] >")


def test_ids_are_offered_with_the_texts_of_their_items_and_then_the_statuses(project: Path) -> None:
    kept(project).write([{"id": "first", "content": "Read 解析器"}, {"id": "second", "content": "Fix it"}])
    terminal = talk(model=script("Hello."))
    terminal.send(f"/todos update {TAB}")
    seen = terminal.until(lambda seen: "first   Read 解析器" in seen and "second  Fix it" in seen)
    assert one_box(seen, "○ Read 解析器", "○ Fix it")
    terminal.send(f"{ENTER} {TAB}")
    seen = terminal.until_there("pending", "in_progress", "completed", "cancelled", "blocked")
    terminal.send(CTRL_U)
    terminal.type("/todos update second ca")
    terminal.send(TAB)
    terminal.until(lambda seen: typed(seen) == "/todos update second cancelled")
    terminal.send(ENTER)
    terminal.idle("✅ Updated second → cancelled")


def test_modes_are_completed_and_the_mode_is_that_of_the_bottom_line(project: Path) -> None:
    terminal = talk(model=script("Hello."))
    terminal.send("/mode ")
    terminal.send(TAB)
    terminal.until_there("default", "auto_edit", "sandboxed", "yolo")
    terminal.send(CTRL_U)
    terminal.type("/mode au")
    terminal.send(f"{TAB}{ENTER}")
    terminal.idle("✅ The mode is auto_edit")
    terminal.until(lambda seen: " · auto_edit" in bottom(seen))


def test_files_are_completed_after_an_at_sign(project: Path) -> None:
    (project / "parser.py").touch()
    (project / "src").mkdir()
    (project / "src" / "my 文件.txt").touch()
    terminal = talk(model=script("Hello."))
    terminal.send(f"look at @pa{TAB}")
    terminal.until(lambda seen: typed(seen) == "look at @parser.py")
    terminal.send(f" and @sr{TAB}")
    terminal.until(lambda seen: typed(seen) == "look at @parser.py and @src/")
    terminal.send(TAB)
    terminal.until(lambda seen: typed(seen) == 'look at @parser.py and @"src/my 文件.txt"')


# what the model says


ANSWER = """I found **two** things in `parse.py`:

- the *first* one
- the second 第二个

```python
x = [1, 2]
**y
```

## Then

1. do it
2. be done 完成 with it, and that is a longer line which has to be broken somewhere since it is so very long.
"""
READ = (
    "I found two things in parse.py:•the first one•the second 第二个 x = [1, 2] **y Then 1 do it 2 be done 完成 with"
    " it, and that is a longer line which has to be broken somewhere since it is so very long."
)


def answered(everything: str) -> str:
    """What stands between the message and the end of its run."""
    _, after = everything.split("> go\n")
    return re.split("^✓ Finished after", after, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("columns", [100, pytest.param(76, marks=pytest.mark.smoke)])
def test_an_answer_is_seen_while_it_comes_and_drawn_when_its_blocks_are_whole(project: Path, columns: int) -> None:
    terminal = talk(model=script(turn(ANSWER, delay=1)), columns=columns, lines=40)
    terminal.looks = []
    terminal.say("go")
    terminal.busy("I found **two**")  # not drawn before it is known what it is
    seen = terminal.busy("I found two things in parse.py:", "the *first*")
    assert "第二个" not in seen
    terminal.busy("• the second 第二个", "x = [1")
    terminal.idle("✓ Finished after 1 round")
    assert words(answered(terminal.all)) == words(READ)
    assert all(look.count("two") <= 1 and look.count("第二个") <= 1 for look in terminal.looks)


LINES = [f"line-{number}" for number in range(3_000)]
NUMBERED = [f"{number}. {line}" for number, line in enumerate(LINES[:900], 1)]  # longer than what is kept back
CHINESE = [f"第{number}行，说明解析器的边界情况。" for number in range(300)]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("\n".join(LINES[:900]), "".join(LINES[:900])),
        ("\n\n".join(LINES[:300]), "".join(LINES[:300])),
        ("\n".join(f"- {line}" for line in LINES[:400]), "".join(f"•{line}" for line in LINES[:400])),
        ("\n".join(["```", *LINES[:900], "```"]), "".join(LINES[:900])),
        ("\n".join(CHINESE), "".join(CHINESE)),
    ],
    ids=["lines", "paragraphs", "list", "code", "chinese"],
)
def test_of_an_answer_that_comes_at_once_nothing_is_missing_and_nothing_there_twice(
    project: Path, text: str, read: str
) -> None:
    terminal = talk(model=script(text))
    terminal.say("go")
    terminal.idle("✓ Finished after 1 round")
    assert words(answered(terminal.all)) == words(read)
    assert prompt(terminal.seen) == ">"


LONG = [
    ("\n".join(f"- {line}" for line in LINES), "".join(f"•{line}" for line in LINES)),
    ("\n".join(NUMBERED), "".join(NUMBERED).replace(". ", "")),
]


@pytest.mark.parametrize(("text", "read"), LONG, ids=["list", "numbers"])
def test_of_a_long_answer_that_comes_at_once_nothing_is_missing_in_the_end(project: Path, text: str, read: str) -> None:
    terminal = talk(model=script(text))
    terminal.say("go")
    terminal.idle("✓ Finished after 1 round")
    assert words(answered(terminal.all)).endswith(words(read))
    assert prompt(terminal.seen) == ">"


# Not strict: it depends on how fast the answer comes.
def test_of_a_long_answer_that_comes_at_once_nothing_is_there_twice(project: Path) -> None:
    text, read = LONG[0]
    terminal = talk(model=script(text))
    terminal.say("go")
    terminal.idle("✓ Finished after 1 round")
    assert words(answered(terminal.all)) == words(read)


def test_what_a_model_says_cannot_control_the_terminal(project: Path) -> None:
    terminal = talk(model=script(turn("A \x1b[2J\x1b]0;title\x07 b \u202e c", bash("printf '\\033[2J\\033]0;x\\007'"))))
    terminal.say("go")
    terminal.until_there("Failed after")
    terminal.send(CTRL_O)
    terminal.until_there("● bash printf")
    assert not re.search("\x1b\\]|\x1b\\[2J|\x07|\u202e", terminal.raw)


def test_what_looks_like_html_in_an_answer_is_there_to_read(project: Path) -> None:
    terminal = talk(model=script("Use a Vec<String> here.\n\n<Parser>\nreads it\n</Parser>"))
    terminal.say("go")
    terminal.idle("✓ Finished after 1 round")
    assert words(answered(terminal.all)) == words("Use a Vec<String> here. <Parser> reads it </Parser>")


# calls


def test_each_call_is_one_line_with_what_came_of_it(project: Path) -> None:
    long = bash(f"exit 3 # {'long ' * 40}")
    calls = [turn("I look.", call("ls"), bash("echo out")), turn("", long), turn("", write("a.txt")), "Done."]
    terminal = talk(model=script(*calls))
    terminal.say("go")
    terminal.idle("✓ Finished after 4 rounds")
    lines = answered(terminal.all).splitlines()
    assert lines[:3] == ["I look.", "✓ ls", "✓ bash echo out"]
    assert lines[3].startswith("✗ bash exit 3 # long long") and lines[3].endswith(": exit code 3")
    assert lines[4].startswith("✓ write_file a.txt")
    assert lines[5:] == ["Done."]


def test_ctrl_o_shows_what_the_last_call_answered_and_then_the_one_before(project: Path) -> None:
    calls = [turn("", bash("echo first-1; echo first-2")), turn("", bash("echo other; exit 3")), "Done."]
    terminal = talk(model=script(*calls))
    terminal.send(CTRL_O)
    terminal.until_there("No tool call has finished yet.")
    terminal.say("go")
    terminal.idle("✓ Finished after 3 rounds")
    terminal.send(CTRL_O)
    seen = terminal.until_there("● bash echo other; exit 3", "    other", "[exit code 3]")
    assert "    first-1" not in seen
    terminal.send(CTRL_O)
    terminal.until_there("● bash echo first-1; echo first-2", "    first-1\n    first-2")
    terminal.send(CTRL_O)
    terminal.until(lambda seen: seen.count("● bash echo other; exit 3") == 2)


def test_ctrl_o_begins_with_the_newest_call_again_when_there_is_a_new_one(project: Path) -> None:
    terminal = talk(model=script(turn("", bash("echo 1"), bash("echo 2")), "Done."))
    terminal.say("go")
    terminal.idle("✓ Finished after 2 rounds")
    terminal.send(CTRL_O)
    terminal.until_there("● bash echo 2")
    script(turn("", bash("echo 3")), "Done.")
    terminal.say("again")
    terminal.idle("✓ bash echo 3")
    terminal.send(CTRL_O)
    terminal.until_there("● bash echo 3")
    terminal.send(CTRL_O)
    terminal.until(lambda seen: seen.count("● ") == 3)
    assert terminal.seen.count("● bash echo 2") == 2


def test_what_runs_is_seen_with_the_last_line_it_printed(project: Path) -> None:
    command = "echo one; echo two 第二; until [ -e go ]; do sleep 0.02; done"
    terminal = talk(model=script(turn("", bash(command)), "Done."))
    terminal.say("go")
    terminal.busy("● bash echo one", "  two 第二")
    (project / "go").touch()
    terminal.idle("✓ bash echo one", "Done.")
    assert "● bash" not in terminal.seen and "\n  two 第二" not in terminal.seen
