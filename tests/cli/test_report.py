"""`headway report`: what came of a session."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.support.processes import run
from tests.support.scripts import call, creating, script, turn, write

import headway as api

from .commands import Headway, data


def test_an_empty_session_says_so(headway: Headway) -> None:
    assert "Nothing has happened in this session yet." in headway("report").output


def test_items_and_runs_are_told_with_what_they_took(project: Path, headway: Headway) -> None:
    model = script(
        turn("", creating("Write the notes", "Sing")),
        turn("", write("notes.txt", "hello\n")),
        turn("", call("update_todo_item", item_id="t1", status="completed")),
        turn("", call("update_todo_item", item_id="t2", status="cancelled")),
        turn("Done.", usage={"input_tokens": 1000, "output_tokens": 10}),
    )
    assert run("run", "Write and sing", "--model", model, "--mode", "auto_edit").code == 0
    text = headway("report").output
    assert "## Items" in text and "## Runs" in text
    assert "Write the notes" in text and "files: notes.txt" in text
    assert "1. Write and sing" in text and "all_done after 5 rounds" in text

    record = data(headway("report", "--json"))
    assert data(headway("report", "--format", "json"))["items"] == record["items"]
    first, second = record["items"]
    assert (first["status"], first["set_by"], first["files"]) == ("completed", "model", ["notes.txt"])
    assert first["evidence"] is None or first["evidence"]["level"] == "reported"
    assert second["status"] == "cancelled"
    (only,) = record["runs"]
    assert only["reason"] == "all_done" and only["rounds"] == 5 and only["seconds"] >= 0
    assert first["rounds"] >= 1 and only["agent"] == "main"
    assert record["tokens"] == only["input_tokens"] + only["output_tokens"] > 1000


def test_hostile_text_stays_on_its_line_and_is_no_markup(project: Path, headway: Headway) -> None:
    session = api.open(project)
    session.add("# Heading\n- item \x1b[31m <script>", notes="a\nb")
    lines = headway("report").output.splitlines()
    assert "\x1b" not in "".join(lines)
    assert not [line for line in lines if line.startswith("# Heading")]
    assert any("\\<script>" in line for line in lines)


def test_other_agents_are_left_out_unless_named(project: Path, headway: Headway) -> None:
    session = api.open(project)
    session.add("Ours")
    session.agent("sub-1").add("Theirs")
    assert "Theirs" not in headway("report").output
    assert "Theirs" in headway("report", "--agent", "sub-1").output


# as a page


def written(headway: Headway, *words: str) -> Path:
    """The file that the command says it wrote."""
    said = headway("report", "--format", "html", *words).output
    assert said.startswith("✅ Wrote the report to ") and said.count("\n") == 1
    return Path(said.removeprefix("✅ Wrote the report to ").strip())


def test_a_page_goes_to_the_projects_folder_and_says_where(project: Path, headway: Headway) -> None:
    api.open(project).add("Ours <b>")
    path = written(headway)
    assert path.parent == Path(".headway/reports") and path.name.startswith("default-") and path.suffix == ".html"
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "Ours &lt;b&gt;" in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_second_page_does_not_take_the_place_of_the_first(project: Path, headway: Headway) -> None:
    first, second = written(headway), written(headway)
    assert first != second and first.exists() and second.exists()


def test_the_name_of_a_session_is_no_path(project: Path, headway: Headway) -> None:
    api.open(project, "../../etc/x y 会话").add("One")
    path = written(headway, "--session", "../../etc/x y 会话")
    assert path.parent == Path(".headway/reports") and path.name.startswith("etc-x-y-会话-")


def test_a_page_can_be_printed(project: Path, headway: Headway) -> None:
    assert headway("report", "--format", "html", "--output", "-").output.startswith("<!doctype html>")
    assert not Path(".headway/reports").exists()


@pytest.mark.parametrize(("kind", "begin"), [("md", "# Report of"), ("json", "{"), ("html", "<!doctype")])
def test_every_format_can_go_to_a_file(project: Path, headway: Headway, kind: str, begin: str) -> None:
    target = project / "out"
    target.write_text("what was there", encoding="utf-8")
    target.chmod(0o640)
    assert headway("report", "--format", kind, "--output", "out").output == "✅ Wrote the report to out\n"
    assert target.read_text(encoding="utf-8").startswith(begin)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert not [name for name in os.listdir(project) if name.startswith(".report-")]


def test_with_json_the_path_is_data(project: Path, headway: Headway) -> None:
    path = data(headway("report", "--format", "html", "--json"))["path"]
    assert os.path.isabs(path) and os.path.isfile(path)
    assert data(headway("report", "--format", "html", "--json", "--output", "x.html")) == {"path": "x.html"}


@pytest.mark.parametrize(
    ("name", "said"),
    [(".", "'.' is not a file"), ("pipe", "'pipe' is not a file"), ("no/where", "could not be written")],
)
def test_what_cannot_be_written_to_is_said_in_a_sentence(project: Path, headway: Headway, name: str, said: str) -> None:
    os.mkfifo("pipe")
    result = headway("report", "--format", "html", "--output", name, code=1)
    assert result.output.startswith("Error: ") and said in result.output and result.output.count("\n") == 1


def test_a_link_that_leads_out_is_not_written_through(
    project: Path, headway: Headway, tmp_path_factory: pytest.TempPathFactory
) -> None:
    api.open(project).add("One")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    Path(".headway/reports").symlink_to(elsewhere)
    assert "is a link that leads out of the project" in headway("report", "--format", "html", code=1).output
    assert list(elsewhere.iterdir()) == []


def test_a_format_that_there_is_not_is_a_usage_error(headway: Headway) -> None:
    assert "'pdf' is not one of" in headway("report", "--format", "pdf", code=2).output
