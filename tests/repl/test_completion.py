from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.tables import check_rows

from headway.cli.app import COMMANDS
from headway.cli.options import OFFERED
from headway.core.model import Status
from headway.repl import completion
from headway.repl.completion import Candidate, complete

from .at_terminal import AtTerminal

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def at(project: Path) -> AtTerminal:
    """At a list whose ids are not all easy to type."""
    at = AtTerminal(project)
    items = [("t1", "First 第一"), ("a b", "With a space"), ("it's", "With an apostrophe"), ('"q', "With a quote")]
    at.session.write([{"id": name, "content": text, "status": "pending"} for name, text in items])
    return at


def texts(at: AtTerminal, line: str) -> list[str]:
    return [found.text for found in complete(line, at.chosen)]


def line_after(line: str, found: Candidate) -> str:
    return line[: len(line) + found.start] + found.text


# commands


def test_a_slash_offers_every_command_that_works_here_with_what_it_does(at: AtTerminal) -> None:
    found = complete("/", at.chosen)
    here = {name: command.line for name, command in COMMANDS.items() if command.where != "shell"}
    assert {one.text: one.meta for one in found} == here
    assert {one.start for one in found} == {0}


FITTING: list[tuple[str, list[str]]] = [
    ("/to", ["todos"]),
    ("  /to", ["todos"]),
    ("／to", ["todos"]),
    ("/todos u", ["undo", "update"]),
    ("/qu", ["quit"]),
    ("/run", []),
    ("/run ", []),
    ("/nope ", []),
    ("/nope c", []),
    ("/todos nope a", []),
    ("/sessions re", ["resume"]),
    ("/todos update t1 ", list(Status)),
    ("/todos update t1 c", ["completed", "cancelled"]),
    ("/todos update t1 completed ", []),
    ("/todos add x --aft", ["--after"]),
    ("/todos add x --after t", ["t1"]),
    ("/todos add x --after=t", ["t1"]),
    ("/todos add x --priority ", ["high", "medium", "low"]),
    ("/todos add x --priority=m", ["medium"]),
    ("/todos add ", []),
    ("/mode ", ["default", "auto_edit", "sandboxed", "yolo"]),
    ("/mode a", ["auto_edit"]),
    ("/model open", ["openai:"]),
    ("/session ", ["mine", "new"]),
    ("/session n", ["new"]),
    ("/sessions resume m", ["mine"]),
    ("/todos list --session m", ["mine"]),
    ("/config set mo", ["model", "mode"]),
    ("/config set mode y", ["yolo"]),
    ("/help to", ["todos"]),
    ("/help todos ad", ["add"]),
    ("/help todos add ", []),
    ("/help --", ["--help"]),
    ("/--", []),
    ("todos", []),
    ("", []),
]


def test_what_fits_is_offered(at: AtTerminal) -> None:
    def check(line: str, offered: list[str]) -> None:
        assert texts(at, line) == offered

    check_rows(FITTING, check)


def test_an_id_comes_with_its_text_and_is_quoted_where_it_must_be(at: AtTerminal) -> None:
    assert complete("/todos update ", at.chosen) == [
        Candidate("t1", 0, "t1", "First 第一"),
        Candidate('"a b"', 0, "a b", "With a space"),
        Candidate("it's", 0, "it's", "With an apostrophe"),
        Candidate('"\\"q"', 0, '"q', "With a quote"),
    ]


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("/todos update a", '/todos update "a b"'),
        ('/todos update "a', '/todos update "a b"'),
        ('/todos update "a ', '/todos update "a b"'),
        ("/todos update 'a ", '/todos update "a b"'),
        ("/todos update a\\ ", '/todos update "a b"'),
        ("/todos add x --after=a", '/todos add x --after="a b"'),
        ('/todos add x --after="a ', '/todos add x --after="a b"'),
        ("/todos  update   it", "/todos  update   it's"),
    ],
)
def test_what_is_chosen_takes_the_place_of_what_was_typed_and_works(at: AtTerminal, line: str, after: str) -> None:
    (found,) = complete(line, at.chosen)
    assert line_after(line, found) == after
    status = " completed" if "update" in after else ""
    assert at(after + status).startswith("✅")


def test_ids_are_those_of_the_session_that_is_open_or_named(at: AtTerminal) -> None:
    at("/todos add Other --session else")
    at("/session new")
    assert texts(at, "/todos drop ") == []
    at("/todos add Here")
    assert [found.meta for found in complete("/todos drop ", at.chosen)] == ["Here"]
    assert [found.meta for found in complete("/todos drop --session else ", at.chosen)] == ["Other"]


def test_an_empty_list_offers_nothing(project: Path) -> None:
    assert texts(AtTerminal(project), "/todos update ") == []


def test_of_ten_thousand_items_the_first_are_offered_and_typing_finds_the_others(at: AtTerminal) -> None:
    items = [{"id": f"n{number}", "content": f"Item {number}", "status": "pending"} for number in range(10_000)]
    at.session.write(items, replace=True)
    assert texts(at, "/todos update ") == [f"n{number}" for number in range(OFFERED)]
    assert texts(at, "/todos update n9999") == ["n9999"]


def test_hostile_text_is_harmless(at: AtTerminal, project: Path) -> None:
    at.session.write([{"id": "t\u202e1", "content": "\x1b[2J\nx", "status": "pending"}], replace=True)
    at.session.add("\x1b[2J\nx")
    (project / "bad\x1b[2J\nname").touch()
    (project / "good").touch()
    for line in ("/todos update ", "look at @", "/todos import "):
        found = complete(line, at.chosen)
        assert found
        assert not {"\x1b", "\n", "\u202e"} & set("".join(f"{one.text}{one.display}{one.meta}" for one in found))


def test_a_store_that_cannot_be_read_offers_nothing(at: AtTerminal, project: Path) -> None:
    (project / "broken/.headway").mkdir(parents=True)
    (project / "broken/.headway/headway.db").write_text("no database" * 100, encoding="utf-8")
    assert texts(at, "/todos update --project broken ") == []
    assert texts(at, "/todos update --project nowhere ") == []


# paths


@pytest.fixture
def files(project: Path) -> Path:
    for path in ("src/headway/app.py", "src/hello.py", "src/my file.txt", "src/my dir/x", "README.md", ".github/x"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).touch()
    for folder in (".headway", "node_modules", ".venv", "__pycache__"):
        (project / folder).mkdir(exist_ok=True)
    return project


@pytest.mark.parametrize(
    ("message", "offered"),
    [
        ("look at @", ["README.md", "src/"]),
        ("look at @src/he", ["src/headway/", "src/hello.py"]),
        ("@src/headway/", ["src/headway/app.py"]),
        ("看看@src/he", ["src/headway/", "src/hello.py"]),
        ("看看（@src/hel", ["src/hello.py"]),
        ("@read", ["README.md"]),
        ("@.g", [".github/"]),
        ("@./sr", ["./src/"]),
        ("two @README.md and @src/hel", ["src/hello.py"]),
        ("several\nlines @src/hel", ["src/hello.py"]),
        ("done: @README.md ", []),
        ("me@src", []),
        ("a.b@src", []),
        ("@node", []),
        ("@.ve", []),
        ("@nothing/he", []),
        ("@README.md/", []),
        ("@/", []),
        ("@/etc/", []),
        ("@../", []),
        ("@src/../../", []),
        ("src/he", []),
        ("/todos add @src/he", []),
    ],
)
def test_files_of_the_project_are_offered_after_an_at(
    at: AtTerminal, files: Path, message: str, offered: list[str]
) -> None:
    assert texts(at, message) == [f"@{path}" for path in offered]


def test_a_path_takes_the_place_of_what_was_typed_of_it(at: AtTerminal, files: Path) -> None:
    for line in ("see @src/my", 'see @"src/my', 'see @"src/my '):
        found = complete(line, at.chosen)
        assert [line_after(line, one) for one in found] == ['see @"src/my dir/', 'see @"src/my file.txt"']
        assert [one.display for one in found] == ["my dir/", "my file.txt"]


def test_paths_are_those_of_the_project_wherever_it_was_started(
    at: AtTerminal, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files / "src")
    assert texts(at, "@src/hel") == ["@src/hello.py"]


def test_no_link_leads_out_of_the_project(
    at: AtTerminal, files: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").touch()
    (files / "link").symlink_to(outside)
    (files / "lint").symlink_to(outside / "secret")
    (files / "line").symlink_to("README.md")
    assert texts(at, "@lin") == ["@line"]
    assert texts(at, "@link/") == []


def test_a_big_folder_offers_the_first_names(at: AtTerminal, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "big").mkdir()
    for number in range(500):
        (files / f"big/f{number:03}").touch()
    assert texts(at, "@big/") == [f"@big/f{number:03}" for number in range(OFFERED)]
    assert texts(at, "@big/f49") == [f"@big/f{number}" for number in range(490, 500)]
    seen: list[object] = []
    scandir = os.scandir

    def watched(path: str) -> object:
        seen.append(path)
        return scandir(path)

    monkeypatch.setattr(completion.os, "scandir", watched)
    texts(at, "@big/f")
    assert len(seen) == 1


def test_arguments_that_are_paths_are_completed_from_the_working_folder(
    at: AtTerminal, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files / "src")
    assert texts(at, "/todos import ") == ["headway/", "hello.py", '"my dir/', '"my file.txt"']
    assert texts(at, '/todos import "my dir/') == ['"my dir/x"']
    assert texts(at, "/todos import ../READ") == ["../README.md"]
    assert texts(at, "/todos import nowhere/") == []
