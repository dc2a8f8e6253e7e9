"""Every hostile repository is opened, run, executed, watched, listed, reported and served: nothing comes of it.

Nothing runs that was not approved, nothing outside of the project changes, the user's git is the same byte for byte,
and whatever is refused is refused in a sentence.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.support.processes import Done, Form, Running, headway, run_to_end, until
from tests.support.scripts import bash, call, turn, write

from .repositories import REPOSITORIES, SMOKE
from .world import World

_SESSION = "default"
_MADE = "made-in-auto-edit.txt"
_ALLOWED = (_MADE, "attempt.txt", "link", "up", "up/x")
"""What the model may write in `auto_edit` where it is new, or a file."""
_CASES = [
    pytest.param(name, marks=[pytest.mark.more, *([pytest.mark.smoke] if name in SMOKE else [])])
    for name in REPOSITORIES
]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    for name in [name for name in os.environ if name.startswith(("HEADWAY_", "GIT_"))]:
        if name not in ("HEADWAY_TESTS", "HEADWAY_TESTS_WARM"):
            monkeypatch.delenv(name)
    world = World(tmp_path)
    monkeypatch.setenv("HOME", str(world.home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(world.home / "config"))
    monkeypatch.chdir(world.project)
    return world


def model_of(world: World) -> str:
    """Write a model that looks around, then does all that it must not; what it says in an attempt is one change."""
    forbidden = [
        bash(world.leaves("bash")),
        *(write(path) for path in (".envrc", ".git/hooks/pre-commit", ".headway/config.toml", "../home/sibling/x")),
        *(
            write(path)
            for path in (".git/config", f"{world.home}/.bashrc", "conftest.py", ".GIT/config", "link", "up/x")
        ),
    ]
    looks = [
        call("ls"),
        call("glob", pattern="**/*"),
        call("grep", pattern="TODO"),
        call("read_file", path="README.md"),
    ]
    looks += [
        call("read_file", path=path)
        for path in ("link", "pipe", ".headway/headway.db", "dir/.bashrc", "out/.ssh/id_rsa")
    ]
    attempt = [turn("", write("attempt.txt"), call("report_item", status="completed")), "Done."]
    form: Form = {
        "conversations": [
            {"match": "Execute todo", "turns": attempt},
            {"match": "Go on", "turns": [turn("I look.", *looks), turn("I act.", write(_MADE), *forbidden), "Done."]},
        ]
    }
    script = world.home / "script.json"
    script.write_text(json.dumps(form), encoding="utf-8")
    return f"scripted:{script}"


class Visit:
    """All that a person does in a project, with what they are told."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.model = model_of(world)
        self.told: dict[str, Done] = {}

    def do(self, *words: str) -> Done:
        done = run_to_end(headway(*words, env=self.world.environ))
        self.told[" ".join(words)] = done
        return done

    def everything(self) -> None:
        self.do("config", "show")
        self.do("todos", "list")
        self.do("sessions", "list")
        self.do("todos", "add", "Do it")
        self.watch()
        self.serve()
        self.do("run", "Go on", "--model", self.model)
        self.do("run", "Go on", "--model", self.model, "--mode=auto_edit")
        self.do("todos", "execute-all", "--model", self.model, "--mode=auto_edit")
        self.do("diff")
        self.do("todos", "list", "--json")
        self.do("report")
        self.do("report", "--format=html")
        self.do("todos", "rollback", "t1")
        self.do("clean", "--dry-run")
        self.do("clean", "--all", "--yes")
        self.do("sessions", "list", "--json")

    def watch(self) -> None:
        watching = Running("watch", "--json", env=self.world.environ)
        until(lambda: watching.has_ended or self.do("todos", "add", "Watch it").code or watching.out.has_line())
        if not watching.has_ended:
            watching.signal(signal.SIGINT)
        self.told["watch --json"] = watching.end()

    def serve(self) -> None:
        server = Running("web", "--json", env={**self.world.environ, "HEADWAY_MODEL": self.model})
        until(lambda: server.has_ended or server.out.has_line())
        if not server.has_ended:
            self._ask(json.loads(server.out.line()))
            server.signal(signal.SIGTERM)
        self.told["web"] = server.end()

    def _ask(self, place: Form) -> None:
        token = str(place["link"]).rpartition("=")[2]

        def ask(method: str, path: str, body: object = None) -> tuple[int, bytes]:
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            with closing(http.client.HTTPConnection("127.0.0.1", place["port"], timeout=30)) as connection:
                connection.request(method, path, json.dumps(body) if body is not None else None, headers)
                answer = connection.getresponse()
                return answer.status, answer.read()

        session = f"/api/sessions/{_SESSION}"
        for path in ("/", "/api/project", "/api/sessions", session, f"{session}/events?whole=1", f"{session}/report"):
            status, body = ask("GET", path)
            assert status in (200, 400, 404, 409, 500, 503) and b"Traceback" not in body, (path, status, body)
            assert status < 500 or b'"message"' in body, (path, body)
        ask("POST", f"{session}/changes", {"kind": "add", "content": "From the page"})
        status, _ = ask("POST", f"{session}/run", {"action": "execute", "mode": "default"})
        if status != 200:
            return

        def has_ended() -> bool:
            state = json.loads(ask("GET", session)[1])
            for question in state["questions"]:
                no = {"question_id": question["question_id"], "agent": question["agent"], "reply": "no"}
                ask("POST", f"{session}/answers", no)
            return state["run"] is not None and not state["run"]["goes_on"]

        until(has_ended)


def is_plain(done: Done) -> bool:
    """Whether a command said in a sentence what is wrong, if anything is, and printed nothing that steers terminals."""
    words = done.out + done.err
    errors = [line for line in done.err.split("\n") if line.startswith("Error: ")]
    if "Traceback" in words or len(errors) > 1 or re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", words):
        return False
    return done.code != 1 or not errors or len(errors[0]) < 1_200


@contextmanager
def nothing_happens(world: World) -> Generator[None]:
    """Fail unless all is as it was, but for what the user allowed."""
    before = world.outside(), world.users_git(), world.files()
    yield
    assert world.ran() == []
    assert world.outside() == before[0]
    assert world.users_git() == before[1]
    assert without_allowed(world.files()) == without_allowed(before[2])


def without_allowed(files: dict[str, object]) -> dict[str, object]:
    return {path: what for path, what in files.items() if path not in _ALLOWED}


@pytest.mark.parametrize("name", _CASES)
def test_nothing_comes_of_a_hostile_repository(name: str, world: World) -> None:
    refusal = REPOSITORIES[name](world)
    visit = Visit(world)
    visit.world.home.joinpath("config").mkdir(exist_ok=True)
    with nothing_happens(world):
        visit.everything()
    assert {words: done for words, done in visit.told.items() if not is_plain(done)} == {}
    added = visit.told["todos add Do it"]
    if refusal:
        assert refusal in added.err + visit.told["config show"].err, added
    else:
        assert added.code == 0, added
