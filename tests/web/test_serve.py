"""How the server starts and ends: its address and token are kept, private, and never someone else's."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from tests.support import projects, warm
from tests.support.processes import PROGRAM, WAIT, Form, Started, start
from tests.support.tables import check_rows

from headway.app.advice import explain_error
from headway.app.server_places import PAGE
from headway.core.errors import HeadwayError
from headway.web.security import TICKET_LASTS, Tickets

from .serving import JSON, Server, at, environment, program

SESSIONS = "/api/sessions"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", environment(tmp_path / "project")["XDG_CONFIG_HOME"])
    made = tmp_path / "project"
    made.mkdir()
    return made


def web(folder: Path, *words: str) -> Started:
    return start(program(folder, "headway", "web", *words))


def kept(folder: Path) -> Form:
    return json.loads((folder / ".headway" / "web.json").read_text(encoding="utf-8"))


def test_the_command_prints_the_link_and_ends_with_ctrl_c(folder: Path) -> None:
    """The program as a shell executes it, with all that it loads."""
    executed = warm.Order(
        kind=warm.EXEC, name=PROGRAM, words=["web", "--json"], folder=str(folder), env=environment(folder)
    )
    process = start(executed)
    told = json.loads(process.out.line())
    assert told["link"] == f"http://127.0.0.1:{told['port']}/?token={kept(folder)['token']}"
    with socket.create_connection(("127.0.0.1", told["port"]), timeout=WAIT) as sock:
        sock.sendall(
            f"GET /api/sessions HTTP/1.1\r\nHost: 127.0.0.1:{told['port']}\r\nConnection: close\r\n\r\n".encode()
        )
        assert sock.recv(100).startswith(b"HTTP/1.1 401 ")
    process.signal(signal.SIGINT)
    done = process.end()
    assert (done.out, "Traceback" in done.err) == ("", False)


def test_where_it_is_served_already_the_link_is_told_again(folder: Path) -> None:
    told = json.loads(web(folder, "--json").out.line())
    refused = web(folder, "--port", "1").end()
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("Error: The page of this project is already being served at http://127.0.0.1:")
    for more in ([], ["--port", str(told["port"])]):
        code, out, errors = web(folder, *more).end()
        assert (code, errors) == (0, "")
        assert (
            out.startswith(f"Headway is already running at http://127.0.0.1:{told['port']}. ") and told["link"] in out
        )
    assert kept(folder)["port"] == told["port"]


def test_where_someone_else_has_the_port_the_key_is_another_one(folder: Path) -> None:
    """Pages that are still open have sent theirs there."""
    other, place = PAGE.listen(str(folder), None)
    other.setblocking(False)
    with closing(other):
        found, second = PAGE.listen(str(folder), None)
        found.close()
        with pytest.raises(BlockingIOError):  # nobody has come
            other.accept()
    assert (second.port != place.port, second.token != place.token) == (True, True)
    assert kept(folder) == {"port": second.port, "token": second.token}


def test_a_ticket_lets_one_browser_in_once(server: Server) -> None:
    ticket = server.post("/api/tickets", {}).data["ticket"]
    nobody = {"Host": server.host}
    assert server.send("GET", f"{SESSIONS}?ticket={ticket}", nobody).status == 401  # only the page takes it
    assert server.send("HEAD", f"/?ticket={ticket}", nobody).status == 200  # a look from afar does not use it up
    first = server.send("GET", f"/?ticket={ticket}", nobody)
    assert first.status == 303
    tab = {"Authorization": f"Tab {server.tab_key(first.headers['location'].removeprefix('/#tab='))}"}
    cookie = first.headers["set-cookie"].partition(";")[0]
    assert server.send("GET", SESSIONS, {**nobody, **tab, "Cookie": cookie}).status == 200
    assert server.send("GET", f"/?ticket={ticket}", nobody).status == 401
    assert server.send("POST", "/api/tickets", {**nobody, **JSON}).status == 401


def test_a_ticket_does_not_last(monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = Tickets()
    ticket, now = tickets.issue(), time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + TICKET_LASTS + 1)
    assert not tickets.take(ticket) and not tickets.take("")


def test_a_port_that_is_taken_is_one_sentence(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, out, errors = web(folder, "--port", str(port)).end()
    assert (code, out) == (1, "")
    assert errors == f"Error: Port {port} is already in use; choose another one with --port, or omit --port.\n"
    assert not (folder / ".headway" / "web.json").exists()


def test_a_port_that_cannot_be_is_refused(folder: Path) -> None:
    for odd in ("0", "65536"):
        assert web(folder, "--port", odd).end().code == 2


def test_port_and_token_are_kept_for_the_owner_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        bound, place = PAGE.listen(str(folder), None)
    finally:
        os.umask(before)
    bound.close()
    file = folder / ".headway" / "web.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert kept(folder) == {"port": place.port, "token": place.token}
    assert {one.name for one in file.parent.iterdir()} == {"web.json", ".gitignore"}
    assert len(place.token) >= 32
    again, second = PAGE.listen(str(folder), None)
    again.close()
    assert second == place == PAGE.read_place(str(folder))


def test_another_project_has_another_token(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (one, first), (two, second) = PAGE.listen(str(folder), None), PAGE.listen(str(tmp_path / "other"), None)
    one.close()
    two.close()
    assert first.token != second.token
    assert first.port != second.port


def test_a_port_that_is_asked_for_is_the_one(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    bound, place = PAGE.listen(str(folder), port)
    assert (bound.getsockname(), place.port) == (("127.0.0.1", port), port)
    with pytest.raises(HeadwayError, match=f"^Port {port} is already in use; choose another one.$") as refused:
        PAGE.listen(str(folder), port)
    said = f"Port {port} is already in use; choose another one with --port, or omit --port."
    assert explain_error(refused.value) == said
    bound.close()


SENSELESS = (
    "",
    "{",
    "[]",
    "null",
    "{}",
    '{"port": 8000}',
    '{"port": "8000", "token": "%s"}' % ("x" * 40),
    '{"port": true, "token": "%s"}' % ("x" * 40),
    '{"port": 0, "token": "%s"}' % ("x" * 40),
    '{"port": 70000, "token": "%s"}' % ("x" * 40),
    '{"port": 8000, "token": "short"}',
    '{"port": 8000, "token": ""}',
    '{"port": 8000, "token": ["x"]}',
    '{"port": 8000, "token": "%s"}' % ("é" * 40),
    "\x00",
    "[" * 100_000,
)


def test_a_file_that_makes_no_sense_is_replaced(folder: Path) -> None:
    file = folder / ".headway" / "web.json"
    file.parent.mkdir()

    def replaces(text: str) -> None:
        file.write_text(text, encoding="utf-8")
        assert PAGE.read_place(str(folder)) is None
        bound, place = PAGE.listen(str(folder), None)
        bound.close()
        assert kept(folder) == {"port": place.port, "token": place.token}
        assert len(place.token) >= 32

    check_rows(SENSELESS, replaces)


@pytest.mark.parametrize("is_tracked", [True, False], ids=["by git", "in an archive"])
def test_a_token_that_came_with_the_project_is_not_used(folder: Path, is_tracked: bool) -> None:
    projects.repository(folder)
    (folder / ".headway").mkdir(mode=0o700)
    file = folder / ".headway" / "web.json"
    file.write_text(json.dumps({"port": 8000, "token": "t" * 40}), encoding="utf-8")
    file.chmod(0o600)
    if is_tracked:
        subprocess.run(["git", "-C", folder, "add", "-f", ".headway/web.json"], check=True)
    assert PAGE.read_place(str(folder)) is None
    bound, place = PAGE.listen(str(folder), None)
    bound.close()
    assert place.token != "t" * 40 and (is_tracked or PAGE.read_place(str(folder)) == place)


def test_a_project_that_was_copied_has_a_token_of_its_own(folder: Path, tmp_path: Path) -> None:
    bound, place = PAGE.listen(str(folder), None)
    bound.close()
    shutil.copytree(folder, tmp_path / "copy")
    assert PAGE.read_place(str(folder)) == place and PAGE.read_place(str(tmp_path / "copy")) is None


def test_a_token_that_others_could_read_is_not_used_again(folder: Path) -> None:
    bound, place = PAGE.listen(str(folder), None)
    bound.close()
    (folder / ".headway").chmod(0o755)
    (folder / ".headway" / "web.json").chmod(0o644)
    again, second = PAGE.listen(str(folder), None)
    again.close()
    assert second.token != place.token


def test_a_folder_that_leads_out_of_the_project_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (folder / ".headway").symlink_to(tmp_path / "outside")
    code, out, errors = web(folder).end()
    assert (code, out) == (1, "")
    assert "is a link that leads out of the project" in errors and "Traceback" not in errors
    assert not [*(tmp_path / "outside").iterdir()]


def test_a_file_that_is_a_link_is_replaced_and_what_it_leads_to_is_left_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs", encoding="utf-8")
    (folder / ".headway").mkdir()
    (folder / ".headway" / "web.json").symlink_to(tmp_path / "theirs")
    bound, _ = PAGE.listen(str(folder), None)
    bound.close()
    assert (tmp_path / "theirs").read_text(encoding="utf-8") == "theirs"
    assert not (folder / ".headway" / "web.json").is_symlink()


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="There is no folder"):
        PAGE.listen(str(tmp_path / "none"), None)


# requests that do not arrive whole


def test_a_request_that_is_half_sent_holds_no_connection(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    server = Server(tmp_path / "project", "serve_impatiently")
    begin = f"POST {at('mine')}/changes HTTP/1.1\r\nHost: {server.host}\r\n"
    key = f"Authorization: Bearer {server.token}\r\n"
    whole = f"{begin}{key}Content-Type: application/json\r\nContent-Length: 50\r\n\r\n"
    asked = f"GET {SESSIONS} HTTP/1.1\r\nHost: {server.host}\r\n{key}\r\n"
    with ExitStack() as stack:
        halves: list[socket.socket] = []
        for sent in ("", "GET", begin, f"{whole}{{", asked + "GET / HT"):
            sock = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=WAIT))
            sock.sendall(sent.encode())
            halves.append(sock)
        slow = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=WAIT))
        slow.sendall(f"{begin}X-Long: ".encode())
        with pytest.raises(ConnectionError):  # each byte does not begin the time anew
            while True:
                slow.sendall(b"x")
                time.sleep(0.01)
        for sock in halves:
            answer = b""
            while part := sock.recv(65_536):
                answer += part
            assert answer.count(b"HTTP/1.1") <= 1
        with server.stream_of_all() as stream:  # what takes long is the answer
            assert stream.sessions() == []
            time.sleep(0.6)
            server.made("mine", "add", content="One")
            assert [one["name"] for one in stream.sessions()] == ["mine"]
    assert server.stop() == ""


# what becomes of the files meanwhile


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("own") / "project"
    folder.mkdir()
    server = Server(folder)
    yield server
    assert "Traceback" not in server.stop()


def written_by_a_newer_version(server: Server, name: str) -> None:
    server.made(name, "add", content="One")
    with closing(sqlite3.connect(server.folder / ".headway" / "headway.db")) as db:
        found = "session_id = (SELECT id FROM sessions WHERE name = ?)"
        db.execute(f"UPDATE events SET type = 'FromTheFuture' WHERE {found}", (name,))
        db.commit()


def test_a_session_that_cannot_be_read_says_so_and_others_can(own: Server) -> None:
    own.made("readable", "add", content="One")
    written_by_a_newer_version(own, "newer")
    for path in ("", "/events", "/stream", "/report"):
        answer = own.get(f"{at('newer')}{path}")
        assert (answer.status, answer.error["kind"]) == (503, "StoreTooNew")
    assert own.state("readable")["version"] == 1


def test_a_session_that_cannot_be_read_hides_no_other(own: Server) -> None:
    own.made("seen", "add", content="One")
    written_by_a_newer_version(own, "newest")
    assert "seen" in {one["name"] for one in own.get("/api/sessions").data}


def test_files_that_are_removed_under_the_server_are_an_empty_project(own: Server) -> None:
    own.made("removed", "add", content="One")
    with own.stream("removed") as stream:
        stream.next()
        shutil.rmtree(own.folder / ".headway")
        assert stream.next().kind == "gone"
    assert own.get("/api/sessions").data == []
    assert own.get(at("removed")).status == 404
    assert own.made("removed", "add", content="Anew")["version"] == 1
