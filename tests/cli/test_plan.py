"""`headway plan …`: the plan shown, edited, cleared and made into todos; plan mode."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner, Result
from tests.support.terminal import Terminal

import headway as api
from headway.cli.app import app
from headway.cli.options import CommandContext
from headway.core.plan_markdown import plan_to_markdown
from headway.execute.options import ExecutionOptions

from .commands import Headway, data

PLAN: dict[str, Any] = {
    "title": "Add 登录",
    "overview": "Users log in.",
    "steps": [
        {"id": "step-1", "description": "Read", "module": "auth", "estimatedTime": "45min"},
        {"id": "step-2", "description": "Write", "dependencies": ["step-1"], "estimatedTime": "2h", "risks": ["Slow"]},
    ],
    "risks": ["Old clients"],
    "testingStrategy": "pytest",
    "estimatedDuration": "3h",
}


@pytest.fixture
def planned(kept_session: api.Session) -> api.Session:
    kept_session.set_plan(PLAN)
    return kept_session


class Typed:
    """A terminal session, as far as a command sees it; its editor does what the test says."""

    def __init__(self, session: api.Session, left: str | None = None) -> None:
        self.session = session
        self.model: str | None = None
        self.mode = "default"
        self.is_in_memory = True
        self.left = left
        self.opened = ""

    def use_session(self, name: str) -> None:
        raise AssertionError

    def execute(self, options: ExecutionOptions) -> None:
        raise AssertionError

    def serve(self, port: int | None) -> NoReturn:
        raise AssertionError

    def leave(self) -> None:
        raise AssertionError

    def edit(self, text: str, suffix: str) -> str | None:
        assert suffix == ".md"
        self.opened = text
        return self.left

    def run(self, *words: str, code: int = 0) -> Result:
        result = CliRunner().invoke(app, list(words), obj=CommandContext(live=self, program="/"))
        assert result.exit_code == code, result.output
        return result


# show


def test_the_plan_is_shown_with_all_there_is_to_know(headway: Headway, planned: api.Session):
    assert headway("plan", "show").stdout == (
        "📋 Plan: Add 登录\n\nUsers log in.\n\nSteps (2)\n"
        "  1. step-1: Read\n     module: auth · time: 45min\n"
        "  2. step-2: Write\n     depends on: step-1 · time: 2h\n     risk: Slow\n\n"
        "Risks\n  - Old clients\n\nTesting strategy\n  pytest\n\nDuration: 3h\n"
        "Critical path: step-1 → step-2 (2 of 2 steps, 2h 45min)\n"
    )


def test_the_plan_is_shown_as_data(headway: Headway, planned: api.Session):
    shown = data(headway("plan", "show", "--json"))
    assert (shown["plan"], shown["plan_mode"], shown["critical_path"]) == (PLAN, False, ["step-1", "step-2"])
    assert (shown["session"], shown["version"]) == ("default", 1)


@pytest.mark.parametrize("command", ["show", "to-todos", "clear"])
def test_without_a_plan_it_says_so_and_how_to_make_one(headway: Headway, command: str):
    result = headway("plan", command, code=1)
    assert (result.stdout, result.stderr.splitlines()) == (
        "",
        [
            "❌ No active plan",
            "Write one with: headway plan edit; or have the agent make one in plan mode: headway plan on",
        ],
    )
    result = headway("plan", command, "--json", code=1)
    assert (result.stdout, result.stderr) == ("", '{"error": {"message": "No active plan; set one first."}}\n')


def test_a_session_that_is_named_must_be_there(headway: Headway, planned: api.Session):
    for command in ("show", "to-todos", "off", "clear"):
        assert "There is no session 'other'" in headway("plan", command, "--session", "other", code=1).stderr


def test_an_unknown_command_names_the_nearest(headway: Headway):
    assert "did you mean 'show'?" in headway("plan", "shwo", code=2).stderr


# to-todos


def test_todos_are_made_of_the_plan_and_what_is_dropped_is_named(headway: Headway, planned: api.Session):
    planned.write([{"content": "Old"}, {"content": "Done", "status": "completed"}])
    assert headway("plan", "to-todos").stdout == (
        '✅ Created 2 todos from plan "Add 登录"\nDropped unfinished: Old. Undo with: headway todos undo\nNext '
        "steps:\n  headway todos list          list all of them\n  headway todos next          show what can start "
        "now\n  headway todos execute-all   have the agent work on them\n"
    )
    found = [(todo.id, todo.depends_on, todo.priority, todo.created_from) for todo in planned.todos]
    assert found == [("step-1", (), "high", "plan"), ("step-2", ("step-1",), "high", "plan")]
    headway("todos", "undo")
    assert [todo.content for todo in planned.todos] == ["Old", "Done"]


def test_priority_follows_the_position(headway: Headway, kept_session: api.Session):
    kept_session.set_plan({**PLAN, "steps": [{"id": f"s{n}", "description": "Do"} for n in range(1, 9)]})
    headway("plan", "to-todos")
    assert [str(todo.priority) for todo in kept_session.todos] == ["high"] * 3 + ["medium"] * 3 + ["low"] * 2


def test_one_step_is_one_todo_and_hostile_titles_stay_on_their_line(headway: Headway, kept_session: api.Session):
    kept_session.set_plan({"title": "a\n\x1b[2Jb", "overview": "O", "steps": [{"id": "s", "description": "Do"}]})
    assert headway("plan", "to-todos").stdout.splitlines()[0] == '✅ Created 1 todo from plan "a ␛[2Jb"'


def test_in_plan_mode_it_says_how_to_leave_it(headway: Headway, planned: api.Session):
    planned.set_plan_mode(True)
    assert "headway plan off            leave plan mode" in headway("plan", "to-todos").stdout


def test_todos_made_of_the_plan_are_data(headway: Headway, planned: api.Session):
    planned.write([{"content": "Old"}])
    made = data(headway("plan", "to-todos", "--json"))
    assert [todo["id"] for todo in made["todos"]] == ["step-1", "step-2"]
    assert (made["changed"], [todo["content"] for todo in made["dropped"]]) == (True, ["Old"])


# plan mode


def test_plan_mode_is_kept_in_the_session_and_said(headway: Headway, kept_session: api.Session):
    assert headway("plan", "on").stdout == (
        "✅ Plan mode is on: the agent reads, searches and plans, but changes no files and runs no commands.\nLeave "
        "it with: headway plan off\n"
    )
    assert kept_session.plan_mode
    assert "Plan mode is already on: the agent reads" in headway("plan", "on").stdout
    assert headway("plan", "off").stdout == (
        "✅ Plan mode is off: the agent may change files and run commands, subject to your approval.\n"
    )
    assert not kept_session.plan_mode
    assert headway("plan", "off").stdout == "Plan mode is already off.\n"


def test_leaving_plan_mode_with_a_plan_says_how_to_go_on(headway: Headway, planned: api.Session):
    planned.set_plan_mode(True)
    last = headway("plan", "off").stdout.splitlines()[-1]
    assert last == 'Turn the plan "Add 登录" into todos with: headway plan to-todos'


def test_plan_mode_as_data(headway: Headway):
    found = [data(headway("plan", word, "--json")) for word in ("on", "on", "off", "off")]
    assert [(each["plan_mode"], each["changed"]) for each in found] == [
        (True, True),
        (True, False),
        (False, True),
        (False, False),
    ]


# clear


def test_clearing_removes_the_plan_and_not_the_todos(headway: Headway, planned: api.Session):
    planned.plan_to_todos()
    assert headway("plan", "clear").stdout == '✅ Removed the plan "Add 登录"; the todos are unchanged\n'
    assert (planned.plan, len(planned.todos)) == (None, 2)
    planned.set_plan(PLAN)
    assert data(headway("plan", "clear", "--json"))["plan"] is None


# typed with a slash


def test_in_the_terminal_session_commands_are_named_as_they_are_typed_there(planned: api.Session):
    typed = Typed(planned)
    planned.write([{"content": "Old"}])
    planned.set_plan_mode(True)
    said = "".join(typed.run("plan", word).stdout for word in ("off", "on", "to-todos"))
    for command in ("/todos undo", "/todos list", "/todos next", "/plan off", "/plan to-todos"):
        assert command in said
    typed.run("plan", "clear")
    said += typed.run("plan", "show", code=1).output
    assert "/plan edit" in said and "/plan on" in said and "headway " not in said


def test_a_list_that_was_made_of_the_plan_is_not_offered_again_and_what_begins_anew_is_named(planned: api.Session):
    typed = Typed(planned)
    typed.run("plan", "to-todos")
    assert "to-todos" not in typed.run("plan", "off").stdout
    first = planned.todos[0].id
    planned.update(first, status="completed")
    said = typed.run("plan", "to-todos").stdout
    assert "1 item that was started or finished is pending again. Undo with: /todos undo" in said
    planned.undo()
    assert planned.todos[0].status == "completed"


def test_in_the_terminal_session_its_own_editor_is_used(planned: api.Session):
    typed = Typed(planned, plan_to_markdown(api.Plan("New", "O", (api.PlanStep("a", "Do"),))))
    assert typed.run("plan", "edit").stdout == (
        '✅ The plan is now "New" (1 step)\nTurn it into todos with: /plan to-todos\n'
    )
    assert typed.opened.startswith("# Add 登录\n")
    typed.left = None
    assert typed.run("plan", "edit").stdout == "The editor ended with an error, so nothing changed.\n"
    assert planned.plan is not None and planned.plan.title == "New"


def test_a_session_in_memory_keeps_its_draft_in_the_project(project: Path):
    session = api.open(memory=True)
    typed = Typed(session, "# T\n")
    assert "/plan edit opens it again" in typed.run("plan", "edit", code=1).stderr
    assert (project / ".headway/plan-draft.md").read_text() == "# T\n"
    typed.left = "# T\nO\n## Steps\n1. A\n"
    typed.run("plan", "edit")
    assert session.plan == api.Plan("T", "O", (api.PlanStep("step-1", "A"),))


# edit, in a terminal


def editor(folder: Path, script: str) -> str:
    """An editor that changes the file as a script says; what it was given is in `opened.md`, its name in `name`."""
    path = folder / "fake editor"
    path.write_text(f'#!/bin/sh\nfor file; do :; done\necho "$@" > name\ncp "$file" opened.md\n{script}\n')
    path.chmod(0o755)
    return f"'{path}'"


def edit(script: str, *words: str, code: int = 0, env: dict[str, str] | None = None) -> str:
    """What `headway plan edit` prints in a terminal, with an editor that runs this script on "$file"."""
    command = editor(Path.cwd(), script)
    terminal = Terminal("plan", "edit", *words, columns=200, env=env if env is not None else {"EDITOR": command})
    ended = terminal.end()
    printed = terminal.raw.replace("\r\n", "\n")
    assert ended == code, printed
    return printed


def test_what_is_saved_becomes_the_plan(planned: api.Session):
    assert edit("sed -i 's/Users log in/Users 登录/; s/: auth/: login/' \"$file\"") == (
        '✅ The plan is now "Add 登录" (2 steps)\nTurn it into todos with: headway plan to-todos\n'
    )
    assert planned.plan is not None
    assert (planned.plan.overview, planned.plan.steps[0].module) == ("Users 登录.", "login")
    assert Path("name").read_text().strip().endswith(".md")
    assert not Path(".headway/plan-draft.md").exists()


def test_saving_what_was_there_changes_nothing(planned: api.Session):
    assert edit("true") == "Nothing changed.\n"
    assert edit('printf "\\n\\n" >> "$file"') == "Nothing changed.\n"
    assert edit('sed -i "s/^1[.] /1) /" "$file"') == "Nothing changed.\n"
    assert data_of(edit("true", "--json"))["changed"] is False
    assert planned.version == 1


def data_of(printed: str) -> Any:
    return json.loads(printed)


def test_without_a_plan_a_template_says_how_to_write_one(kept_session: api.Session):
    assert edit("true") == "Nothing changed.\n"
    assert "1. **step-1** What to do first" in Path("opened.md").read_text()
    assert kept_session.version == 0
    made = data_of(edit('printf "# T\\n\\nWhy\\n\\n## Steps\\n\\n1. Do\\n" > "$file"', "--json"))
    assert made["plan"] == {"title": "T", "overview": "Why", "steps": [{"id": "step-1", "description": "Do"}]}
    assert made["changed"] is True


def test_a_faulty_text_is_kept_and_opened_again_with_what_is_wrong(planned: api.Session):
    printed = edit('sed -i "s/depends on: step-1/depends on: step-9 -->/" "$file"', code=1)
    assert printed == (
        "Error: This is not a valid plan yet, so nothing changed:\n- line 11: depends on: Unknown id 'step-9 "
        "-->'\nYour text is saved in .headway/plan-draft.md; headway plan edit opens it again.\n"
    )
    draft = Path(".headway/plan-draft.md")
    assert "depends on: step-9 -->" in draft.read_text()
    assert draft.stat().st_mode & 0o777 == 0o600
    assert planned.version == 1

    printed = edit("true", "--json", code=1)
    assert '"violations": ["line 11: depends on: Unknown id' in printed
    opened = Path("opened.md").read_text()
    assert opened.startswith("<!-- headway: This text is not the plan yet.")
    assert "line 14: depends on: Unknown id 'step-9 -- >'" in opened
    assert opened.split("\n")[13].strip() == "- depends on: step-9 -->"
    assert "headway:" not in draft.read_text()

    assert "The plan is now" in edit('sed -i "s/step-9 -->/step-1/; s/Read/Look/" "$file"')
    assert not draft.exists()
    assert planned.plan is not None and planned.plan.steps[0].description == "Look"
    assert list(Path(".headway").glob("*plan*")) == []


def test_an_emptied_file_gives_the_draft_up(planned: api.Session):
    edit('echo "# T" > "$file"', code=1)
    assert edit(': > "$file"') == "The text was empty, so nothing changed, and the draft was discarded.\n"
    assert edit(': > "$file"') == "The text was empty, so nothing changed.\n"
    assert not Path(".headway/plan-draft.md").exists()
    assert planned.plan is not None


def test_a_plan_that_was_changed_meanwhile_is_not_overwritten(planned: api.Session):
    steps = "[{'id': 'a', 'description': 'b'}]"
    other = f"import headway; headway.open().set_plan({{'title': 'X', 'overview': 'O', 'steps': {steps}}})"
    script = f'sed -i "s/Read/Look/" "$file"; "{sys.executable}" -c "{other}"'
    printed = edit(script, code=1)
    assert "Someone else changed the plan while you edited it" in printed and "plan-draft.md" in printed
    assert planned.plan is not None and planned.plan.title == "X"
    assert "The plan is now" in edit("true")
    assert "No errors were found" in Path("opened.md").read_text()
    assert planned.plan.steps[0].description == "Look"


@pytest.mark.parametrize("script", ["exit 3", "kill -9 $$", 'rm "$file"'])
def test_an_editor_that_fails_changes_nothing(planned: api.Session, script: str):
    assert edit(f'echo "# T" > "$file"; {script}') == "The editor ended with an error, so nothing changed.\n"
    assert planned.version == 1 and not Path(".headway/plan-draft.md").exists()


def test_ctrl_c_belongs_to_the_editor(planned: api.Session):
    printed = edit('trap : INT; kill -INT $PPID; sed -i "s/Read/Look/" "$file"; sleep 0.2')
    assert "The plan is now" in printed


def test_an_editor_that_is_not_there_is_told(planned: api.Session):
    printed = edit("true", env={"EDITOR": "no-such-editor --wait"}, code=1)
    assert printed == (
        "Error: The editor 'no-such-editor' could not be started (No such file or directory);"
        " set EDITOR to another one.\n"
    )


def test_visual_comes_before_editor_and_both_may_have_arguments(planned: api.Session):
    command = editor(Path.cwd(), "true")
    assert edit("true", env={"VISUAL": f"{command} --wait -n", "EDITOR": "false"}) == "Nothing changed.\n"
    assert Path("name").read_text().startswith("--wait -n /")


def test_text_in_another_encoding_is_not_taken(planned: api.Session):
    printed = edit("printf '# \\300\\301\\n\\nO\\n\\n## Steps\\n\\n1. Do\\n' > \"$file\"", code=1)
    assert "- line 1: Not UTF-8 text; save it as UTF-8\n" in printed
    assert planned.version == 1


def test_without_a_terminal_it_says_so(headway: Headway, planned: api.Session):
    said = "The editor needs a terminal; run headway plan edit in one."
    assert headway("plan", "edit", code=1).stderr == f"Error: {said}\n"
    assert data_of(headway("plan", "edit", "--json", code=1).stderr) == {"error": {"message": said}}


# drafts that are no files of ours


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "large"])
def test_a_draft_that_is_no_file_of_ours_is_left_alone(planned: api.Session, project: Path, kind: str):
    draft = project / ".headway/plan-draft.md"
    secret = project / "secret"
    secret.write_text("secret")
    expected = {"link": "could not be read: it is a link", "large": "is larger than 10 MB"}.get(kind, "is not a file")
    if kind == "link":
        draft.symlink_to(secret)
    elif kind == "folder":
        draft.mkdir()
    elif kind == "pipe":
        os.mkfifo(draft)
    else:
        draft.write_bytes(b"x" * 10_000_001)
    typed = Typed(planned, "# T")
    said = typed.run("plan", "edit", code=1).stderr
    assert said == f"Error: The draft .headway/plan-draft.md {expected}; move it out of the way.\n"
    assert (typed.opened, secret.read_text()) == ("", "secret")


def test_a_draft_that_cannot_be_in_the_project_is_kept_elsewhere(
    project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    (project / ".headway").write_text("not a folder")
    said = Typed(api.open(memory=True), "# T").run("plan", "edit", code=1).stderr
    [kept] = elsewhere.iterdir()
    assert str(kept) in said and kept.read_text() == "# T"
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_draft_that_can_be_kept_nowhere_is_printed(project: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(project / "nowhere"))
    (project / ".headway").write_text("not a folder")
    said = Typed(api.open(memory=True), "# 标题\x1b\n").run("plan", "edit", code=1).stderr
    assert said == (
        "Error: Your text is not a valid plan yet, and could not be saved (No such file or directory); copy it "
        "from here:\n\n# 标题␛\n\n"
    )


def test_a_text_is_kept_when_the_store_fails(planned: api.Session, project: Path):
    class Failing(Typed):
        def edit(self, text: str, suffix: str) -> str | None:
            for file in (project / ".headway").glob("headway.db*"):
                file.write_bytes(b"no database " * 1_000)
            return text.replace("Read", "Look")

    said = Failing(planned).run("plan", "edit", code=1).stderr
    assert said.endswith(" Your text is saved in .headway/plan-draft.md.\n")
    assert "Look" in (project / ".headway/plan-draft.md").read_text()


def test_a_plan_comes_from_a_file_or_standard_input(headway: Headway, tmp_path: Path) -> None:
    text = "# Add a login\n\nUsers log in.\n\n## Steps\n\n1. Read\n2. Write\n   - depends on: 1\n"
    (tmp_path / "plan.md").write_text(text, encoding="utf-8")
    assert headway("plan", "import", str(tmp_path / "plan.md")).stdout == (
        '✅ The plan is now "Add a login" (2 steps)\nTurn it into todos with: headway plan to-todos\n'
    )
    steps = data(headway("plan", "show", "--json"))["plan"]["steps"]
    assert [step.get("dependencies") for step in steps] == [None, ["step-1"]]
    (tmp_path / "plan.md").write_text(f"{text}   - owner: me\n", encoding="utf-8")
    assert "line 10: Expected `- module:`" in headway("plan", "import", str(tmp_path / "plan.md"), code=1).stderr
    gone = headway("plan", "import", str(tmp_path / "gone.md"), code=1).stderr
    assert gone.endswith("gone.md' does not exist; name a Markdown file.\n")
    assert len(data(headway("plan", "show", "--json"))["plan"]["steps"]) == 2
