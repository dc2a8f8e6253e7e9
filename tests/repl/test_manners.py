"""The terminal session on terminals of all kinds, and without one: how it looks, and what it keeps and leaves."""

from __future__ import annotations

import os
import re
import signal
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.processes import NOTHING, until
from tests.support.scripts import bash, creating, script, turn, writing
from tests.support.terminal import Terminal

import headway as api
from headway.core.run_events import RunStarted

from .screens import CTRL_C, CTRL_D, WITHOUT_UNICODE

ESCAPE, UP = "\x1b", "\x1b[A"
NAME = "m"
COLOURS = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")
NO_MODEL = "No model is set"
STATE = "home/state/headway/history"

pytestmark = [pytest.mark.more, pytest.mark.usefixtures("project")]


class Talk(Terminal):
    """A terminal session that waits for a message."""

    def __init__(
        self,
        *words: str,
        model: str = "",
        columns: int = 100,
        lines: int = 30,
        loaded: bool = True,
        env: Mapping[str, str] = NOTHING,
    ) -> None:
        words = (*(("--model", model) if model else ()), *words)
        env = {"XDG_STATE_HOME": os.path.abspath("home/state"), **env}
        super().__init__(*words, columns=columns, lines=lines, loaded=loaded, env=env)

    @property
    def bottom(self) -> str:
        """The line about the session, which is drawn last."""
        return self.shown.rstrip().rpartition("\n")[2]

    @property
    def is_idle(self) -> bool:
        """Whether the screen is drawn to its end, and nothing goes on."""
        return bool(re.search(r"(/help|tokens( [·-] \S+)?|/\d+|….?)$", self.bottom))

    @property
    def typed(self) -> str:
        """What stands at the prompt, to the bottom line; while it is drawn anew, that there is none."""
        lines = self.shown.rstrip().split("\n")[:-1]
        at = max((number for number, line in enumerate(lines) if line.startswith(">")), default=None)
        return "(no prompt)" if at is None else "\n".join(lines[at:]).removeprefix(">").strip()

    def idle(self, *texts: str) -> str:
        """The screen, when nothing goes on and these texts are there."""
        return self.until(lambda shown: self.is_idle and all(text in shown for text in texts))

    def say(self, text: str, *texts: str) -> str:
        """The screen, when it was sent and has come to an end with these texts."""
        self.send(f"{text}\r")
        return self.idle(*texts)

    def leave(self) -> int:
        self.send(CTRL_D)
        return self.end()


def tasks(name: str = NAME) -> list[str]:
    return [event.data.task for event in api.open(".", name).events() if isinstance(event.data, RunStarted)]


def files(project: Path) -> list[str]:
    """Everything that there is now."""
    return sorted(str(path.relative_to(project)) for path in project.rglob("*") if path.is_file())


# sizes


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), pytest.param(40, 12, marks=pytest.mark.smoke)])
def test_everything_fits_on_the_screen(columns: int, lines: int) -> None:
    answer = f"我先看一下 the parser.\n\n| a | 中文 |\n|---|---|\n| 1 | {'long ' * 20} |\n\n```\n{'x' * 200}\n```\n"
    items = creating("读取解析器 and find out why it keeps the spaces at the end", "Fix it", "Run the tests")
    model = script(turn(answer, items), turn("End."))
    terminal = Talk("--session", NAME, "--mode", "yolo", model=model, columns=columns, lines=lines)
    terminal.idle()
    shown = terminal.say("请修复解析器 please", "Failed after", "└──")
    assert terminal.bottom.startswith("scripted:script.json")
    boxed = [line for line in shown.splitlines() if line.startswith(("┌", "│", "└"))]
    assert len(boxed) == 5 and boxed[0].endswith("┐") and boxed[-1].endswith("┘")
    assert len({len(line) for line in (boxed[0], boxed[-1])}) == 1
    assert "> 请修复解析器 please" in terminal.all and "我先看一下 the parser." in terminal.all
    assert terminal.leave() == 0 and terminal.given_back


@pytest.mark.parametrize("active", [0, 24, 49])
@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (40, 12)])
def test_of_fifty_items_the_active_one_is_in_sight(active: int, columns: int, lines: int) -> None:
    session = api.open(".", NAME)
    session.write(
        [{"content": f"Item {n} 项目", "status": "in_progress" if n == active else "pending"} for n in range(50)]
    )
    terminal = Talk("--session", NAME, columns=columns, lines=lines)
    shown = terminal.idle(f"● Item {active} 项目...", "┘")
    assert "more" in shown and shown.count("┌─ Tasks") == 1


@pytest.mark.parametrize("active", [0, 49])
def test_of_fifty_items_the_active_one_is_in_sight_while_much_is_typed(active: int) -> None:
    session = api.open(".", NAME)
    session.write([{"content": f"Item {n}", "status": "in_progress" if n == active else "pending"} for n in range(50)])
    terminal = Talk("--session", NAME, "--mode", "yolo", model=script(turn("", bash("sleep 60"))), columns=40, lines=12)
    terminal.idle(f"● Item {active}...")
    terminal.send("Go\r")
    terminal.until(lambda shown: "● bash sleep" in shown)
    terminal.send("Then this\rand that\rand more\r")
    terminal.until(lambda shown: "queued: and more" in shown)
    terminal.send(f"one{ESCAPE}\rtwo{ESCAPE}\rthree")
    shown = terminal.until(lambda shown: "three\n" in shown and "scripted" in terminal.bottom)
    assert f"● Item {active}..." in shown


def test_an_item_and_a_message_of_ten_thousand_characters_leave_the_screen_whole() -> None:
    api.open(".", NAME).add("长" * 5_000 + "x" * 5_000)
    terminal = Talk("--session", NAME, model=script("Hello."), columns=80, lines=24)
    shown = terminal.idle("长长长")
    assert [len(line) for line in shown.splitlines() if line.startswith(("┌", "└"))] == [79, 79]
    terminal.send(f"{ESCAPE}[200~{'word ' * 2_000}last{ESCAPE}[201~")
    terminal.until(lambda shown: "last" in shown and "scripted" in terminal.bottom)
    assert "└──" in terminal.shown
    terminal.say("", "word last\nHello.")
    assert len(tasks()[0]) == 10_004
    assert terminal.leave() == 0


# colour and characters


def test_without_colour_nothing_is_coloured() -> None:
    model = script(turn("# A **bold** `word`\n\n```python\nx = 1\n```\n", creating("One"), bash("exit 3")), "End.")
    terminal = Talk(model=model, columns=80, env={"NO_COLOR": "1"})
    terminal.idle()
    terminal.send("Go\r")
    terminal.until(lambda shown: "n no >" in shown)
    terminal.send("y\r")
    terminal.until(lambda shown: "Failed after" in shown and "/help" in shown)
    terminal.say("/nonsense", "No command")
    assert terminal.leave() == 0
    assert not COLOURS.search(terminal.raw)
    assert "\x1b[0;1m" in terminal.raw  # bold is no colour


def test_with_colour_something_is_coloured() -> None:
    terminal = Talk()
    terminal.idle(NO_MODEL)
    assert COLOURS.search(terminal.raw)


def everything_at_once() -> str:
    """A model that says and does what there are signs for."""
    text = "# 标题\n\n- one — “two” …\n\n> 三\n\n| a | 中 |\n|---|---|\n| 1 | 2 |\n\n```\n中\n```\n\n* * *\n"
    steps = [turn(text, writing(("第一", "completed"), ("第二", "in_progress"), ("Three", "pending")))]
    return script(*steps, turn("", bash("exit 3"), bash("echo 中文")), turn("End.", error={"status": 401}))


@pytest.mark.smoke
def test_without_unicode_only_ascii_is_printed() -> None:
    terminal = Talk(model=everything_at_once(), env=WITHOUT_UNICODE)
    terminal.until(lambda shown: "Headway. What" in shown and "tokens" in terminal.bottom)
    terminal.send("Go\r")
    shown = terminal.until(lambda shown: "n no >" in shown)
    assert "+- Tasks ---" in shown and "| * ??..." in shown
    terminal.send("a\r")
    terminal.until(lambda shown: "echo" in shown and "Failed after" in shown)
    terminal.say("/todos list", "Three")
    terminal.say("/help", "Details of a command")
    terminal.send("/mo")
    terminal.until(lambda shown: "Show or set the model." in shown)
    terminal.send(CTRL_C)
    assert terminal.leave() == 0
    assert terminal.raw.isascii()
    failed, worked = (terminal.all[terminal.all.index(f" bash {what}") - 1] for what in ("exit 3", "echo"))
    assert failed != worked and "?" not in failed + worked


def test_in_the_c_locale_only_ascii_is_printed() -> None:
    env = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    terminal = Talk(model=script("So — “so”. 中文"), loaded=False, env=env)
    terminal.until(lambda shown: "tokens" in terminal.bottom)
    terminal.say("Go", "Finished after 1 round")
    assert terminal.leave() == 0
    assert terminal.raw.isascii()


# without a screen


@pytest.mark.smoke
def test_a_dumb_terminal_has_a_plain_prompt_and_questions_in_words(project: Path) -> None:
    model = script(turn("Let me 看.", creating("Run it"), bash("touch 1\ntouch 2")), turn("", error={"status": 401}))
    terminal = Terminal("--model", model, "--session", NAME, env={"TERM": "dumb"})
    terminal.until(lambda shown: shown.startswith("Project: ") and shown.rstrip("\n").endswith("\n>"))
    terminal.send("Go\n")
    terminal.asked("? Run: touch 1")
    assert "y: yes, a: allow all bash calls in this run, n: no, or n REASON >" in terminal.shown
    assert "    touch 1\n    touch 2\n" in terminal.shown
    terminal.send("what?\n")
    terminal.until(lambda shown: shown.count("n REASON >") == 2)
    assert not (project / "1").exists()
    terminal.send("是\n")
    terminal.until(lambda shown: "Failed after" in shown and shown.rstrip().endswith("\n>"))
    assert (project / "2").exists()
    terminal.send(CTRL_D)
    assert terminal.end() == 1
    assert "\x1b" not in terminal.raw and terminal.given_back
    places = [terminal.all.index(text) for text in ("Let me 看.", "? Run", "✓ bash touch 1", "Failed after")]
    assert places == sorted(places)


def test_what_was_typed_on_a_dumb_terminal_before_a_question_does_not_answer_it(project: Path) -> None:
    model = script(
        turn("", bash("touch there; until [ -e go ]; do sleep 0.02; done")), turn("", bash("touch 2")), "End."
    )
    terminal = Terminal("--model", model, "--session", NAME, env={"TERM": "dumb"})
    terminal.until(lambda shown: shown.startswith("Project: ") and shown.rstrip("\n").endswith("\n>"))
    terminal.send("Go\n")
    terminal.asked("? Run: touch there")
    terminal.send("y\n")
    until(lambda: (project / "there").exists())
    terminal.send("y\n")
    (project / "go").touch()
    terminal.asked("? Run: touch 2")
    terminal.send("n\n")
    terminal.until(lambda shown: "Finished after" in shown)
    assert not (project / "2").exists()


def test_a_question_on_a_dumb_terminal_can_be_answered_elsewhere(project: Path) -> None:
    model = script(turn("", bash("touch 1")), "End.")
    terminal = Terminal("--model", model, "--session", NAME, env={"TERM": "dumb"})
    terminal.until(lambda shown: shown.startswith("Project: ") and shown.rstrip("\n").endswith("\n>"))
    terminal.send("Go\n")
    terminal.asked("? Run: touch 1")
    session = api.open(project, NAME)
    assert session.run is not None
    session.answer(next(iter(session.run.questions)), "once")
    terminal.until(lambda shown: "Finished after" in shown and shown.rstrip().endswith("\n>"))
    assert (project / "1").exists()
    terminal.send("/quit\n")
    assert terminal.end() == 0


def test_ctrl_c_on_a_dumb_terminal_stops_the_run_and_then_leaves() -> None:
    model = script(turn("", bash("touch begun; sleep 60")))
    terminal = Terminal("--model", model, "--session", NAME, "--mode", "yolo", env={"TERM": "dumb"})
    terminal.until(lambda shown: shown.startswith("Project: ") and shown.rstrip("\n").endswith("\n>"))
    terminal.send("Go\n")
    until(lambda: Path("begun").exists())
    terminal.send(CTRL_C)
    terminal.until(lambda shown: "Stopped after" in shown and shown.rstrip().endswith("\n>"))
    terminal.send(CTRL_C)
    assert terminal.end() == 130


# what is typed


@pytest.mark.parametrize("key", [f"{ESCAPE}\r", "\\\r", "\n"])
def test_a_message_may_have_several_lines(key: str) -> None:
    terminal = Talk("--session", NAME, model=script("Hello."))
    terminal.idle()
    terminal.send(f"first{key}第二{key}third")
    terminal.until(lambda shown: terminal.typed == "first\n第二\nthird")
    terminal.say("", "Finished after 1 round")
    assert tasks() == ["first\n第二\nthird"]


def test_what_is_pasted_is_not_sent_before_enter_is_pressed() -> None:
    terminal = Talk("--session", NAME, model=script("Hello."))
    terminal.idle()
    terminal.send(f"{ESCAPE}[200~/quit\r\nsecond\rthird\n{ESCAPE}[201~")
    terminal.until(lambda shown: terminal.typed == "/quit\nsecond\nthird")
    assert not terminal.has_ended
    terminal.send("\x15" * 6 + CTRL_C)
    terminal.until(lambda shown: terminal.typed == "")
    assert tasks() == []


def test_what_was_typed_is_there_again_the_next_time(project: Path) -> None:
    terminal = Talk("--session", NAME, model=script("Hello."))
    terminal.idle()
    terminal.say("Fix 解析器\\\rand test it", "Finished after 1 round")
    assert terminal.leave() == 0
    assert stat.S_IMODE((project / STATE).stat().st_mode) == 0o600
    assert stat.S_IMODE((project / STATE).parent.stat().st_mode) == 0o700
    terminal = Talk("--session", "other", model=script("Hello."))
    terminal.idle()
    terminal.send(UP)
    terminal.until(lambda shown: terminal.typed == "Fix 解析器\nand test it")


def test_a_session_in_memory_leaves_nothing_behind(project: Path) -> None:
    model = script(turn("", creating("One"), bash("echo made")), turn("End.", error={"status": 401}))
    before = files(project)
    terminal = Talk("--memory", "--mode", "yolo", model=model)
    terminal.idle()
    terminal.say("A secret", "Failed after", "✓ bash echo made", "○ One")
    terminal.send(UP)
    terminal.until(lambda shown: terminal.typed == "A secret")
    terminal.send(CTRL_C)
    assert terminal.leave() == 0
    assert files(project) == before
    assert "--continue" not in terminal.all


def test_a_history_that_cannot_be_kept_is_no_reason_not_to_begin(project: Path) -> None:
    (project / "home/state").mkdir(parents=True)
    (project / "home/state/headway").write_text("a file where the folder would be")
    terminal = Talk(model=script("Hello."))
    terminal.idle()
    terminal.say("Hi", "Finished after 1 round")
    assert terminal.leave() == 0


# what is set


def test_without_a_model_it_says_how_to_set_one_and_commands_work() -> None:
    terminal = Talk("--session", NAME)
    shown = terminal.idle(NO_MODEL, "no model ·")
    assert "/model provider:name" in shown and 'Type "demo"' in shown
    terminal.say("/todos add 第一", "Added t1", "○ 第一")
    shown = terminal.say("Hello?", "> Hello?")
    terminal.until(lambda shown: shown.count(NO_MODEL) == 2)
    assert tasks() == []
    script("Here I am.")
    terminal.say("/model scripted:script.json", "scripted:script.json ·")
    terminal.say("Hello?", "Here I am.")
    assert terminal.leave() == 0


def test_how_to_set_a_model_takes_three_lines() -> None:
    terminal = Talk(columns=80)
    lines = terminal.idle(NO_MODEL, "no model ·").splitlines()
    at = next(number for number, line in enumerate(lines) if NO_MODEL in line)
    assert lines[at + 2].startswith('  Type "demo"') and lines[at + 3] == ">"


def test_the_demo_is_shown_until_it_is_stopped_and_the_session_goes_on(project: Path) -> None:
    terminal = Talk(lines=60, env={"TMPDIR": str(project)})
    terminal.idle('Type "demo"', "no model ·")
    terminal.send("demo\r")
    terminal.until(lambda shown: "● Give each language" in shown)
    assert "The model is scripted" in terminal.shown
    terminal.send(CTRL_C)
    terminal.idle("The demo project was removed.", "headway demo --keep")
    assert not [*project.glob("headway-demo-*")]
    terminal.say("/todos add x", "Added t1")
    assert terminal.leave() == 0 and terminal.given_back


def test_a_bad_settings_file_is_named_in_one_sentence_and_the_session_goes_on(project: Path) -> None:
    settings = project / ".headway/config.toml"
    settings.parent.mkdir()
    settings.write_text("model = [")
    terminal = Talk("--session", NAME, columns=250, model=script("Hello."))
    shown = terminal.until(lambda shown: "❌" in shown and "tokens" in terminal.bottom)
    (said,) = [line for line in shown.splitlines() if "❌" in line]
    assert "config.toml' is not valid TOML" in said and said.endswith(".")
    terminal.say("/todos add x", "Added t1")
    terminal.say("Hi", "> Hi")
    terminal.until(lambda shown: shown.count("❌") == 2)
    settings.write_text("")
    terminal.say("Hi again", "Hello.")
    assert tasks() == ["Hi again"]


def test_a_provider_without_a_key_is_told_in_one_sentence_and_the_session_goes_on() -> None:
    terminal = Talk("--session", NAME, model="openai:gpt-5")
    terminal.idle()
    shown = terminal.say("Hi", "❌")
    (said,) = [line for line in shown.splitlines() if "❌" in line]
    assert "OPENAI_API_KEY" in said and said.endswith(".")
    script("Hello.")
    terminal.say("/model scripted:script.json", "scripted:script.json ·")
    terminal.say("Hi", "Hello.")
    assert terminal.leave() == 0


def test_what_is_sent_while_the_settings_are_still_loaded_is_answered() -> None:
    terminal = Talk("--session", NAME, model=script("Hello."), loaded=False)
    terminal.until(lambda shown: re.search("^>", shown, re.MULTILINE))
    terminal.send("Hi there\r")
    terminal.until(lambda shown: "Hello." in shown and "Finished after 1 round" in shown)
    assert tasks() == ["Hi there"]
    assert terminal.leave() == 0


def test_what_is_sent_while_the_settings_are_still_loaded_can_be_stopped() -> None:
    terminal = Talk("--session", NAME, model=script("Hello."), loaded=False)
    terminal.until(lambda shown: re.search("^>", shown, re.MULTILINE))
    terminal.send("Hi there\r")
    terminal.until(lambda shown: "Ctrl+C stop" in shown)
    terminal.send(CTRL_C)
    terminal.until(lambda shown: "Stopped" in shown or "Finished" in shown)
    assert terminal.leave() == 0 and terminal.given_back


# which session


@pytest.mark.parametrize("named", [("--session", "mine"), ("--new=mine",)])
def test_a_session_can_be_named_and_gone_on_with(project: Path, named: tuple[str, ...]) -> None:
    terminal = Talk(*named, model=script("Hello **you**."))
    terminal.idle()
    terminal.say("Hi 你", "Hello you.")
    assert terminal.leave() == 0
    is_new = named == ("--new=mine",)
    again = ["--continue"] if is_new else ["--continue", "--session", "mine"]
    assert f"Resume with: headway {' '.join(again)}   (session mine)" in terminal.all
    assert api.open(project).store.current() == ("mine" if is_new else None)
    terminal = Talk(*again, model=script("Again."))
    shown = terminal.idle("Resuming mine.")
    assert "> Hi 你" in shown and "Hello you." in shown and "· mine" in terminal.bottom
    terminal.say("Once more", "Again.")
    assert terminal.leave() == 0
    assert tasks("mine") == ["Hi 你", "Once more"]


def test_a_session_in_which_nothing_was_done_is_not_kept(project: Path) -> None:
    terminal = Talk(model=script("Hello."))
    terminal.idle()
    assert terminal.leave() == 0
    assert [info.name for info in api.open(project).store.sessions()] == []
    assert "--continue" not in terminal.all


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_gives_the_terminal_back(number: signal.Signals) -> None:
    terminal = Talk(model=script("Hello."))
    terminal.idle()
    terminal.signal(number)
    terminal.end()
    assert terminal.given_back
