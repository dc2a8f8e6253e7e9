from __future__ import annotations

import ast
import io
import json
import re
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables import check_rows

import headway as api
from headway.cli import help as help_module
from headway.cli.app import COMMANDS, app
from headway.repl.slash import quote_word, split_words

from .at_terminal import AtTerminal

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def say(project: Path) -> AtTerminal:
    return AtTerminal(project)


def contents(say: AtTerminal) -> list[str]:
    return [todo.content for todo in say.session.todos]


# the same commands


def test_a_slash_command_does_what_the_command_does_in_the_session_that_is_open(say: AtTerminal) -> None:
    assert say('/todos add "Write it"') == "✅ Added t1 “Write it”\n1 pending"
    assert say('/todos add "Before" --priority=high --after t1').startswith("✅ Added t2 “Before”")
    assert contents(say) == ["Write it", "Before"]
    assert say("/todos list").startswith("📋 Todo List (2 total)\n2 pending\n")


def test_the_session_may_be_kept_in_memory(project: Path) -> None:
    say = AtTerminal(project, memory=True)
    say("/todos add A")
    assert contents(say) == ["A"]
    assert say("/sessions").startswith("* mine ")
    assert not (project / ".headway").exists()


def test_a_flag_names_another_session_or_project_as_in_a_shell(say: AtTerminal, project: Path) -> None:
    (project / "other").mkdir()
    say("/todos add B --session else")
    say("/todos add C --project other")
    assert contents(say) == []
    assert [todo.content for todo in api.open(project, "else").todos] == ["B"]
    assert [todo.content for todo in api.open(project / "other").todos] == ["C"]


def test_a_session_that_was_named_at_the_start_does_not_hold_after_another_was_taken(say: AtTerminal) -> None:
    say.chosen.session = "mine"
    say("/session new")
    say("/todos add A")
    assert say.session.name.startswith("session-") and contents(say) == ["A"]


def test_data_is_json_and_stays_as_it_is(say: AtTerminal) -> None:
    say('/todos add "Say: headway todos undo"')
    assert json.loads(say("/todos list --json"))["todos"][0]["content"] == "Say: headway todos undo"
    assert "Say: headway todos undo" in say("/todos export --format md")


@pytest.mark.parametrize("line", ["/", "/help", "/ ", "／help", "/ help"])
def test_a_slash_alone_lists_all_that_can_be_typed(say: AtTerminal, line: str) -> None:
    context = click.Context(app, info_name="headway", obj=say.chosen)
    said = say(line)
    lines = said.splitlines()
    paths = [entry.path for entry in help_module.list_entries(app, context)]
    assert [row.split("  ")[0] for row in lines[: len(paths)]] == [f"/{path}" for path in paths]
    assert {"todos add", "quit", "mode"} <= set(paths)
    assert "run" not in paths
    assert lines[-2:] == [
        "Details of a command: /help COMMAND",
        "Only in a shell: headway completion, headway demo, headway mcp, headway run, headway watch.",
    ]


def test_help_of_one_command_is_written_with_slashes(say: AtTerminal) -> None:
    assert say("/help todos add") == say("/todos add --help") == say("/help /todos add")
    assert say("/todos add -h").startswith("Usage: /todos add [OPTIONS] TEXT")
    assert '/todos add "Write the parser"' in say("/help todos")
    assert say("/todos") == say("/todos --help") == say("/help todos")
    assert "headway" not in say("/todos").replace("Headway", "")


@pytest.mark.parametrize("line", ["/quit", "/exit"])
def test_quit_and_exit_leave(say: AtTerminal, line: str) -> None:
    assert (say(line), say.has_left) == ("", True)


# mistakes


MISTAKES: list[tuple[str, str]] = [
    ("/todos ad x", "No command '/todos ad'; did you mean '/todos add'?"),
    ("/todo list", "No command '/todo'; did you mean '/todos'?"),
    ("/undo", "No command '/undo'; did you mean '/todos undo'?"),
    ("/xyzzy", "No command '/xyzzy'; see /help."),
    ("/todos xyzzyxyzzy", "No command '/todos xyzzyxyzzy'; see /help todos."),
    ("/help todos ad", "No command '/todos ad'; did you mean '/todos add'?"),
    ("/help xyzzy", "No command '/xyzzy'; see /help."),
    ("/help mode more", "'mode' has no subcommands; omit 'more'."),
    ("/help run", "'/run' works only in a shell; here, type the task itself, without a slash."),
    ("/run Fix it", "'/run' works only in a shell; here, type the task itself, without a slash."),
    ("/demo", "'/demo' works only in a shell; leave with /quit, then type headway demo."),
    ("/completion", "'/completion' works only in a shell; Tab completion works here without it."),
    (
        "/watch",
        "'/watch' works only in a shell; use Ctrl+T here, or headway watch in another terminal.",
    ),
    ("/todos add", "Missing argument 'TEXT'; see /help todos add."),
    (
        "/todos add Write it now",
        "Got unexpected extra arguments (it now); quote a text that contains spaces, or see /help todos add.",
    ),
    ('/todos add "unclosed', 'A " is not closed; put one at the end of the text as well.'),
    ("/todos update t1", "Missing argument 'STATUS'; see /help todos update."),
    (
        "/todos update t1 complete",
        "Invalid value for 'STATUS': 'complete' is not a valid status; did you mean 'completed'? Choose from: "
        "pending, in_progress, completed, cancelled, blocked.",
    ),
    ("/todos update t9 completed", "No todo has the id 't9'; the ids are: t1."),
    ("/todos add x --after t9", "No todo has the id 't9'; the ids are: t1."),
    ("/todos undo 5", "Only 1 change can be undone."),
    ("/todos redo", "There is nothing to redo in this list."),
    ("/todos import nope.json", "'nope.json' does not exist; name a JSON or Markdown file."),
    ("/todos import -", "Standard input is empty; expected a JSON export or a Markdown checklist."),
    ("/sessions resume nope", "There is no session 'nope' in this project; the sessions are: mine."),
    ("/sessions delete mine --yes", "You are in 'mine'; switch to another session before you delete it."),
    ("/config set modes x", "There is no setting 'modes'; did you mean 'mode'?"),
    ("/--plan", "You are already in the terminal session; enter a command, or type / to see all of them."),
    (
        "/--plan todos list",
        "--plan has no effect before a command; omit it, or put it after a command that accepts it.",
    ),
]


def test_a_mistake_is_answered_with_one_sentence_and_changes_nothing(say: AtTerminal) -> None:
    say("/todos add First")

    def check(line: str, sentence: str) -> None:
        assert say(line) == f"Error: {sentence}"
        assert contents(say) == ["First"]
        assert not say.has_left

    check_rows(MISTAKES, check)


def test_an_unknown_option_names_the_nearest(say: AtTerminal) -> None:
    said = say("/todos add x --aftr t1")
    assert said.startswith("Error: No such option")
    assert "--after" in said
    assert "Usage" not in said


def test_nobody_is_asked_so_deleting_wants_to_be_meant(say: AtTerminal, monkeypatch: pytest.MonkeyPatch) -> None:
    say("/todos add A --session else")
    terminal = io.StringIO("y\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert say("/sessions delete else").endswith("confirm with --yes.")
    assert sys.stdin is terminal
    assert say("/sessions delete else --yes") == "✅ Deleted else"


def test_a_mistake_of_ours_does_not_end_the_terminal_session(say: AtTerminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("gone")

    monkeypatch.setattr("headway.cli.todos.list_lines", broken)
    assert say("/todos list") == "Error: /todos failed (KeyError: 'gone'); try it with --debug to see where."
    assert say("/todos list --debug").startswith("Traceback")


def test_an_error_with_debug_shows_where_it_comes_from(say: AtTerminal) -> None:
    said = say("/todos update t9 completed --debug")
    assert said.startswith("Traceback")
    assert said.endswith("No todo has the id 't9'; the list is empty.")


def test_ctrl_c_in_a_command_stops_only_the_command(say: AtTerminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("headway.cli.todos.list_lines", stopped)
    assert say("/todos list").strip() == "Stopped."


# what is typed


@pytest.mark.parametrize(
    ("words", "content"),
    [
        ("don't", "don't"),
        ("'tis", "'tis"),
        ('"don\'t do it"', "don't do it"),
        ("'say \"it\"'", 'say "it"'),
        ('"say \\"it\\""', 'say "it"'),
        ('5"', '5"'),
        ("a\\ b", "a b"),
        ("C:\\new", "C:\\new"),
        ("写测试", "写测试"),
        ("“写测试”", "“写测试”"),
        ("「写测试」，好", "「写测试」，好"),
        ("全角　空格", "全角　空格"),
        ('"two\nlines"', "two\nlines"),
        ("x='y'", "x='y'"),
        ("a#b", "a#b"),
        ("$HOME `id` *", None),
    ],
)
def test_words_are_taken_as_they_are_meant(say: AtTerminal, words: str, content: str | None) -> None:
    said = say(f"/todos add {words}")
    if content is None:
        assert said.startswith("Error: Got unexpected extra arguments (`id` *); quote a text")
    else:
        assert contents(say) == [content]


def test_quotes_after_an_option_belong_to_its_value() -> None:
    assert [word.text for word in split_words("add --after='a b' --x=\"c d\"")] == ["add", "--after=a b", "--x=c d"]


def test_an_unfinished_quote_reaches_to_the_end_while_it_is_typed() -> None:
    assert [word.text for word in split_words('update "a b', unfinished=True)] == ["update", "a b"]
    assert [word.text for word in split_words('update "a b')] == ["update", '"a', "b"]


@given(st.lists(st.text(alphabet=st.sampled_from(" ab\"'\\\n\t=-“中"), max_size=8), max_size=4))
def test_a_quoted_word_is_read_back_as_it_was(words: list[str]) -> None:
    assert [word.text for word in split_words(" ".join(map(quote_word, words)))] == words


@given(st.text(alphabet=st.sampled_from(" ab\"'\\\n=-“中"), max_size=20))
def test_no_line_is_too_strange_to_be_split(line: str) -> None:
    for unfinished in (False, True):
        ends = [(word.start, word.end) for word in split_words(line, unfinished=unfinished)]
        assert all(start < end <= len(line) for start, end in ends)
        assert ends == sorted(ends)


# what is printed


def test_commands_are_named_as_they_are_typed_here(say: AtTerminal) -> None:
    assert say("/todos list") == 'The list is empty. Add a todo with: /todos add "…"'
    say("/todos add A")
    assert "(redo with: /todos redo)" in say("/todos undo")
    say("/todos redo")
    assert say("/todos drop t1").endswith("Undo with: /todos undo")


_HERE = "|".join(name for name, command in COMMANDS.items() if command.where != "shell")
_AS_IN_A_SHELL = re.compile(rf"\bheadway (?:{_HERE})\b")
HINTS: list[tuple[str, str]] = [
    ("/todos list", "Add a todo with: /todos add"),
    ("/todos verify", "add one with: /todos edit ID --verify"),
    ("/plan show", "Write one with: /plan edit; or have the agent make one in plan mode: /plan on"),
    ("/plan on", "Leave it with: /plan off"),
    ("/plan import plan.md", "Turn it into todos with: /plan to-todos"),
    ("/plan off", "with: /plan to-todos"),
    ("/plan on", "Leave it with: /plan off"),
    ("/plan to-todos", "  /todos execute-all "),
    ("/todos clear", "Undo with: /todos undo"),
    ("/todos undo", "(redo with: /todos redo)"),
    ("/session new mine", "switch to it with: /session mine"),
    ("/session new other", "switch back with: /session mine"),
    ("/todos list", "switch to it with: /session mine"),
    ("/todos next", "switch to it with: /session mine"),
    ("/mode", "'/mode default --user' ends that"),
    ("/mode", "Change it with: /mode NAME"),
    ("/model", "set one with: /model PROVIDER:NAME"),
    ("/config", "no model yet: /config set model PROVIDER:NAME"),
    ("/config", "is not as '/config set' wrote it here"),
    ("/config", "trust it with '/config trust'"),
    ("/config set xyzzy 1", "see: /config show"),
    (
        "/config set mode yolo",
        "until you leave with '/mode yolo', or keep it for all projects with '/mode yolo --user'",
    ),
    ("/config set mode auto_edit", "trust it with '/config trust'"),
    ("/clean", "Free space with: /clean checkpoints --older-than=7d, or: /clean --all"),
    ("/model openai:gpt-5", "choose another model with /model"),
]
"""What is typed one after the other, and the command that the answer names."""


def test_every_hint_of_a_command_names_what_is_typed_here(say: AtTerminal, project: Path) -> None:
    (project / "plan.md").write_text("# Say\n\nWhy\n\n## Steps\n\n1. Write it\n", encoding="utf-8")
    (project / ".headway").mkdir(exist_ok=True)
    (project / ".headway/config.toml").write_text('allow = ["bash: make *"]\n', encoding="utf-8")
    (project / "config/headway").mkdir(parents=True, exist_ok=True)
    (project / "config/headway/config.toml").write_text('mode = "yolo"\n', encoding="utf-8")

    for line, hint in HINTS:
        said = say(line)
        assert hint in said, (line, said)
        assert not _AS_IN_A_SHELL.search(said), line


def test_no_text_of_a_command_that_works_here_has_its_name_as_in_a_shell() -> None:
    only_in_a_shell = {"app", "demo", "run"}
    files = [*_SOURCE.glob("app/*.py"), *_SOURCE.glob("settings/*.py"), *_SOURCE.glob("cli/*.py")]
    found = [
        f"{file.name}:{text.lineno}: {text.value}"
        for file in files
        if file.stem not in only_in_a_shell
        for text in _list_texts(ast.parse(file.read_text(encoding="utf-8")))
        if _AS_IN_A_SHELL.search(str(text.value))
    ]
    assert len(files) > 40 and not found


_SOURCE = Path(api.__file__).parent


def _list_texts(tree: ast.Module) -> list[ast.Constant]:
    """The texts in a module without its docstrings, from which help is made."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [text for text in texts if id(text) not in docs]


def test_what_an_item_says_stays_as_it_is_beside_a_hint(say: AtTerminal) -> None:
    say('/todos add "Say: headway todos undo"')
    assert say("/todos drop t1").endswith("Dropped unfinished: Say: headway todos undo. Undo with: /todos undo")


def test_what_an_item_says_stays_as_it_is(say: AtTerminal) -> None:
    say('/todos add "Explain: headway todos undo"')
    assert "Explain: headway todos undo" in say("/todos list")
    assert "Explain: headway todos undo" in say("/todos history")


def test_hostile_text_is_harmless(say: AtTerminal) -> None:
    for line in (
        "/todos add \x1b[2J\u202eabc",
        "/\x1b[2J",
        "/todos \x1b]0;x\x07",
        "/todos add x --\x1b[2J",
        "/todos list",
    ):
        said = say(line)
        assert not {"\x1b", "\x07", "\u202e"} & set(said)
    assert len(contents(say)) == 1


def test_nothing_reaches_the_terminal_and_colours_are_left_out(
    say: AtTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def colourful(*_: object) -> list[str]:
        click.echo("first", err=True)
        sys.stdout.write("second\n")
        return [click.style("third", fg="red"), str(sys.stdout.isatty())]

    monkeypatch.setattr("headway.cli.todos.list_lines", colourful)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert say("/todos list") == "first\nsecond\nthird\nFalse"
        assert (sys.stdout, sys.stderr) == (out, err)
    assert (out.getvalue(), err.getvalue()) == ("", "")


def test_what_other_threads_print_meanwhile_goes_where_it_did(say: AtTerminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_others(*_: object) -> list[str]:
        def other() -> None:
            print("elsewhere")
            print("also", file=sys.stderr)
            sys.stdout.flush()

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return ["here"]

    monkeypatch.setattr("headway.cli.todos.list_lines", with_others)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        assert say("/todos list") == "here"
    assert (out.getvalue(), err.getvalue()) == ("elsewhere\n", "also\n")


def test_commands_at_the_same_time_do_not_mix_what_they_print(project: Path) -> None:
    people = [AtTerminal(project, f"s{number}") for number in range(4)]
    said: dict[int, list[str]] = {}
    before = sys.stdout

    def work(number: int) -> None:
        said[number] = [people[number](f'/todos add "of {number}"') for _ in range(5)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.stdout is before
    for number, lines in said.items():
        assert lines == [f"✅ Added t{n} “of {number}”\n{n} pending" for n in range(1, 6)]


def test_a_list_of_ten_thousand_items_is_shown(say: AtTerminal) -> None:
    items = [{"content": f"Item {number}", "status": "pending"} for number in range(10_000)]
    say.session.write(items, replace=True)
    assert "(10000 total)" in say("/todos list")


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.where == "shell"])
def test_a_command_for_the_shell_says_what_to_do_instead(name: str) -> None:
    instead = COMMANDS[name].instead
    assert instead and not instead.endswith(".")
