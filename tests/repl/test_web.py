"""The page from within the terminal session: `/web`."""

from __future__ import annotations

import json
import re
import socket
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from tests.support.processes import WAIT, run, until
from tests.support.scripts import bash, script, turn

from .screens import NAME, Repl, kept, talk

SESSION = f"/api/sessions/{NAME}"

pytestmark = pytest.mark.more


class Page:
    """Whoever has the link that is on the screen."""

    def __init__(self, seen: str) -> None:
        found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", seen)
        assert found
        self.port, self.token = int(found[1]), found[2]

    def ask(self, method: str, path: str, value: object = None) -> Any:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request(method, path, None if value is None else json.dumps(value), headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        try:
            return json.loads(answer.read())
        finally:
            connection.close()


@pytest.mark.smoke
def test_the_page_is_served_as_long_as_the_terminal_session_lasts(project: Path) -> None:
    terminal = talk(model=script("Hello."))
    terminal.say("/web")
    page = Page(terminal.idle("Headway is running at"))
    page.ask("POST", f"{SESSION}/changes", {"kind": "add", "content": "From the page"})
    terminal.until_there("○ From the page")
    terminal.say("/web")
    terminal.until(lambda seen: seen.count(page.token) == 2)
    again = run("web")  # another process finds it
    assert again.code == 0 and page.token in again.out
    stream = HTTPConnection("127.0.0.1", page.port, timeout=WAIT)  # a page that stays open
    stream.request("GET", f"{SESSION}/stream", headers={"Authorization": f"Bearer {page.token}"})
    assert stream.getresponse().status == 200
    assert terminal.leave() == 0
    stream.close()
    assert "Traceback" not in terminal.all and "Cancel" not in terminal.all
    with pytest.raises(ConnectionRefusedError):
        page.ask("GET", SESSION)


def test_a_question_of_the_terminal_session_is_answered_on_the_page(project: Path) -> None:
    model = script(turn("", bash("touch made")), "Done.")
    terminal = Repl("--session", NAME, "--model", model)
    terminal.idle()
    terminal.say("/web")
    page = Page(terminal.idle("Headway is running at"))
    terminal.say("make it")
    until(lambda: kept(project).version and page.ask("GET", SESSION)["questions"])
    (question,) = page.ask("GET", SESSION)["questions"]
    page.ask("POST", f"{SESSION}/answers", {"question_id": question["question_id"], "reply": "once"})
    terminal.idle("Done.")
    assert (project / "made").exists()


def test_a_session_in_memory_has_no_page(project: Path) -> None:
    terminal = Repl("--memory")
    terminal.idle()
    terminal.say("/web")
    terminal.until_there("Error: This session exists only in memory")
    assert not (project / ".headway").exists()


def test_a_port_that_is_taken_is_told(project: Path) -> None:
    terminal = talk(model=script("Hello."))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        terminal.say(f"/web --port {port}")
        terminal.until_there(f"Error: Port {port} is already in use; choose another one with --port")
        terminal.say("/web")
        page = Page(terminal.idle("Headway is running at"))
        terminal.say(f"/web --port {port}")  # the page that there is stays
        terminal.until_there("Error: The page of this project is already being served")
        page.ask("GET", "/api/sessions")
