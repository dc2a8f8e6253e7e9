"""The API: what can be read of a session and changed in it, and how errors come back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from tests.support.processes import Form

import headway

from .conftest import Begun
from .serving import JSON, Server, at, item

STEPS = [{"id": "s1", "description": "First"}, {"id": "s2", "description": "Second", "dependencies": ["s1"]}]
PLAN = {"title": "A plan", "overview": "All of it", "steps": STEPS}
BAD_TEXTS = [b"", b"{", b"nonsense", b'{"kind": "clear"', b"\xff\xfe", b"NaN", b"[" * 100_000, b"9" * 9_000, b'"\\u00"']


def contents(server: Server, name: str) -> list[str]:
    return [todo["content"] for todo in server.state(name)["todos"]]


def wrong(server: Server, name: str, status: int, kind: str, /, **change: object) -> str:
    """The message of the error that a change comes to; nothing else happens."""
    before = server.get(at(name)).body
    answer = server.post(f"{at(name)}/changes", change)
    assert (answer.status, answer.error["kind"]) == (status, kind), answer.body
    assert server.get(at(name)).body == before
    return answer.error["message"]


# reading


def test_the_sessions_are_listed_with_what_is_done(server: Server, name: str, begun: Begun) -> None:
    begun("a", item("b", status="completed"), item("c", status="cancelled"), "d")
    found = {one["name"]: one for one in server.get("/api/sessions").data}
    mine = found[name]
    assert (mine["version"], mine["total"], mine["completed"], mine["running"]) == (1, 4, 2, False)
    assert mine["created_at"] == mine["updated_at"]
    assert server.post(f"{at(name)}/current", {}).data == {}
    now = {one["name"] for one in server.get("/api/sessions").data if one["current"]}
    assert now == {name} == {headway.open(server.folder).store.current()}


def test_the_state_is_that_of_the_session(server: Server, name: str, begun: Begun) -> None:
    session = begun("a", item("b", "a", priority="high", notes="<b>bold</b>"))
    state = server.state(name)
    assert {key: state[key] for key in ("session", "version", "plan", "plan_mode", "run", "questions")} == {
        "session": name,
        "version": session.version,
        "plan": None,
        "plan_mode": False,
        "run": None,
        "questions": [],
    }
    assert [(todo["id"], todo["depends_on"], todo["priority"], todo["notes"]) for todo in state["todos"]] == [
        ("a", [], None, None),
        ("b", ["a"], "high", "<b>bold</b>"),
    ]
    assert (state["can_undo"], state["can_redo"]) == (True, False)


def test_what_is_not_there_is_not_found(server: Server) -> None:
    for path in ("", "/events", "/stream", "/report"):
        answer = server.get(f"{at('nobody')}{path}")
        assert (answer.status, answer.error["kind"]) == (404, "SessionNotFound")
        assert "nobody" in answer.error["message"]
    for path, body in (
        ("/changes", {"kind": "clear"}),
        ("/run", {"action": "stop"}),
        ("/answers", {"question_id": "1", "reply": "no"}),
        ("/current", {}),
    ):
        assert server.post(f"{at('nobody')}{path}", body).status == 404
    assert server.put(f"{at('nobody')}/plan", PLAN).status == 404
    assert server.delete(f"{at('nobody')}/plan").status == 404
    for path in ("/api", "/api/session", f"{at('nobody')}/nothing", "/nothing"):
        assert server.get(path).error["code"] == "http"
    assert "nobody" not in {one["name"] for one in server.get("/api/sessions").data}


def test_what_is_asked_for_in_the_wrong_way_is_not_done(server: Server, name: str, begun: Begun) -> None:
    session = begun("a")
    for path in ("", "/events", "/stream", "/report"):
        assert server.post(f"{at(name)}{path}", {"kind": "clear"}).status == 405
    for path in ("/changes", "/plan", "/run", "/answers", "/current"):
        assert server.get(f"{at(name)}{path}").status == 405
    assert session.version == 1


@pytest.mark.parametrize("bad", ["%00", "%0a", "x" * 201, "%1b%5b31m", "%e2%80%ae"])
def test_a_name_that_no_session_can_have_is_refused(server: Server, bad: str) -> None:
    assert server.get(f"/api/sessions/{bad}").status == 400
    answer = server.post(f"/api/sessions/{bad}/changes", {"kind": "add", "content": "x"})
    assert (answer.status, answer.error["kind"], answer.error["code"]) == (400, "HeadwayError", "error")


@pytest.mark.parametrize("odd", ["日本語", "..", "a?b#c", "100%", "<script>", "'quoted\"", "a\\b", "🦊"])
def test_a_session_of_any_name_can_be_worked_with(server: Server, odd: str) -> None:
    assert server.made(odd, "add", content="One")["version"] == 1
    assert server.state(odd)["session"] == odd
    assert [todo.content for todo in headway.open(server.folder, odd).todos] == ["One"]


def test_the_log_comes_in_pages(server: Server, name: str, begun: Begun) -> None:
    session = begun("a")
    for number in range(30):
        session.update("a", notes=f"Note {number}")
    path = f"{at(name)}/events"
    assert [event["version"] for event in server.get(path).data] == [*range(1, 32)]
    found: list[Form] = []
    while page := server.get(f"{path}?limit=7&after={len(found)}").data:
        assert len(page) <= 7
        found += page
    assert found == server.get(path).data
    assert server.get(f"{path}?limit=0").data == server.get(f"{path}?after=31").data == []
    assert server.get(f"{path}?after=999999999999999&limit=999999999999999").data == []
    assert found[0]["changes"] == [{"id": "a", "kind": "added", "content": "Do a"}]
    assert found[1]["changes"] == [{"id": "a", "kind": "changed", "fields": ["notes"]}]


def test_the_log_is_never_sent_at_once_if_it_is_long(server: Server, name: str, begun: Begun) -> None:
    session = begun("a")
    session.set_plan_mode(True)
    with closing(sqlite3.connect(server.folder / ".headway" / "headway.db")) as db:
        (found,) = db.execute("SELECT id FROM sessions WHERE name = ?", (name,)).fetchone()
        row = db.execute("SELECT * FROM events WHERE session_id = ? AND version = 2", (found,)).fetchone()
        again = [(found, version, *row[2:]) for version in range(3, 1_012)]
        db.executemany(f"INSERT INTO events VALUES ({', '.join('?' * len(row))})", again)
        db.commit()
    path = f"{at(name)}/events"
    assert (len(server.get(path).data), len(server.get(f"{path}?limit=5000").data)) == (200, 1_000)


@pytest.mark.parametrize("text", ["-1", "x", "", "1.5", "1e3", "%D9%A3", "%00", "9" * 16, "0x1", "+1", "%201"])
def test_a_page_that_is_no_number_is_refused(server: Server, name: str, begun: Begun, text: str) -> None:
    begun("a")
    for field in ("after", "limit"):
        answer = server.get(f"{at(name)}/events?{field}={text}")
        assert (answer.status, answer.error["kind"]) == (400, "BadRequest")
        assert answer.error["message"].startswith(f"`{field}` must be a whole number")


def test_the_report_comes_in_three_formats(server: Server, name: str, begun: Begun) -> None:
    begun(item("a", content="<script>alert(1)</script>"))
    html, data, text = (server.get(f"{at(name)}/report{query}") for query in ("", "?format=json", "?format=md"))
    assert [one.headers["content-type"].partition(";")[0] for one in (html, data, text)] == [
        "text/html",
        "application/json",
        "text/markdown",
    ]
    assert "<script>alert" not in html.text and "&lt;script&gt;" in html.text
    assert isinstance(data.data, dict)
    assert text.text.startswith("# Report of session")
    assert server.get(f"{at(name)}/report?format=html").status == 200
    for odd in ("pdf", "", "HTML", "..%2f"):
        assert (
            server.get(f"{at(name)}/report?format={odd}").error["message"]
            == "The format of a report must be html, json or md."
        )


def elements(picture: Any) -> Iterator[Any]:
    """An element with all that are in it, as (tag, attributes, children)."""
    yield picture
    for child in picture[2]:
        if not isinstance(child, str):
            yield from elements(child)


def test_graph_and_timeline_come_as_elements_whatever_is_asked_for(server: Server, name: str, begun: Begun) -> None:
    session = begun("a", item("b", "a", content='<script>"\u202e'))
    session.update("a", status="in_progress", actor="worker")
    graph = server.get(f"{at(name)}/graph?item=b").data
    labels = {one[1]["data-id"]: one[2][0][2][0] for one in elements(graph["picture"]) if "data-id" in one[1]}
    assert labels == {"a": "a: Do a. In progress", "b": 'b: <script>"\ufffd. Pending, depends on a'}
    assert [one[1]["data-id"] for one in elements(graph["picture"]) if "is-chosen" in one[1].get("class", "")] == ["b"]
    for query in ("", "?zone=Asia/Kathmandu&width=800", "?zone=../nowhere&width=0&names=9999999&item=gone"):
        timeline = server.get(f"{at(name)}/timeline{query}").data
        assert timeline["about"] == "1 work period, 1 change by you."
        assert [one[1]["data-id"] for one in elements(timeline["picture"]) if "data-id" in one[1]] == ["a"]
    assert server.get(f"{at(name)}/timeline?width=wide").status == 400
    session.clear()
    assert server.get(f"{at(name)}/graph").data["picture"] is None


# changing


def test_the_first_item_begins_a_session(server: Server, name: str) -> None:
    assert server.get(at(name)).status == 404
    made = server.made(name, "add", content="First")
    assert made["version"] == 1
    assert [(todo.id, todo.content) for todo in headway.open(server.folder, name).todos] == [(made["id"], "First")]
    (event,) = server.get(f"{at(name)}/events").data
    assert event["actor"] == "user"


def test_an_item_that_is_wrong_begins_nothing(server: Server, name: str) -> None:
    assert server.change(name, "add", content=" ").status == 422
    assert server.change(name, "add", content="x", after="none").status == 404
    assert server.get(at(name)).status == 404
    assert name not in {one["name"] for one in server.get("/api/sessions").data}


def test_items_are_added_where_they_are_wanted(server: Server, name: str, begun: Begun) -> None:
    begun("a", "b")
    made = server.made(name, "add", content="Between", after="a", priority="high", verify="make", depends_on=["a", "b"])
    assert contents(server, name) == ["Do a", "Between", "Do b"]
    added = server.state(name)["todos"][1]
    assert (added["id"], added["priority"], added["depends_on"]) == (made["id"], "high", ["a", "b"])
    assert added["verify"] == "make"


def test_items_are_edited_moved_and_dropped(server: Server, name: str, begun: Begun) -> None:
    begun("a", "b", item("c", "a"))
    fields = {
        "content": "New",
        "priority": "low",
        "notes": "N",
        "module": "m",
        "estimated_time": "1h",
        "verify": "make test",
    }
    assert server.made(name, "edit", id="a", **fields)["id"] == "a"
    assert {key: server.state(name)["todos"][0][key] for key in fields} == fields
    server.made(name, "edit", id="a", notes=None, status="in_progress")
    first = server.state(name)["todos"][0]
    assert (first["notes"], first["status"], first["module"]) == (None, "in_progress", "m")
    server.made(name, "move", id="a", position=3)
    assert contents(server, name) == ["Do b", "Do c", "New"]
    server.made(name, "edit", id="b", depends_on=["a"])
    assert server.made(name, "drop", id="b")["dropped"] == ["Do b"]
    assert contents(server, name) == ["Do c", "New"]
    assert server.made(name, "clear")["dropped"] == ["Do c", "New"]
    assert contents(server, name) == []


def test_changes_are_taken_back_and_made_again(server: Server, name: str, begun: Begun) -> None:
    begun("a")
    for number in range(3):
        server.made(name, "add", content=f"More {number}")
    server.made(name, "undo")
    assert contents(server, name) == ["Do a", "More 0", "More 1"]
    server.made(name, "undo", n=2)
    assert contents(server, name) == ["Do a"]
    server.made(name, "redo", n=3)
    assert contents(server, name) == ["Do a", "More 0", "More 1", "More 2"]
    state = server.state(name)
    assert (state["can_undo"], state["can_redo"]) == (True, False)


def test_a_plan_is_set_made_into_items_and_cleared(server: Server, name: str, begun: Begun) -> None:
    begun("a")
    assert server.put(f"{at(name)}/plan", PLAN).data == {"version": 2}
    assert server.state(name)["plan"] == PLAN
    assert server.made(name, "plan_to_todos")["dropped"] == ["Do a"]
    assert contents(server, name) == ["First", "Second"]
    assert server.delete(f"{at(name)}/plan").status == 200
    assert server.state(name)["plan"] is None
    server.made(name, "plan_mode", on=True)
    assert server.state(name)["plan_mode"] is True
    server.made(name, "plan_mode", on=False)
    assert server.state(name)["plan_mode"] is False


def test_a_plan_that_breaks_the_rules_is_refused_with_every_fault(server: Server, name: str, begun: Begun) -> None:
    begun("a")
    faults: list[tuple[object, list[str]]] = [
        ({"title": "T"}, ["overview: Required", "steps: Required"]),
        (5, ["(root): Expected object, received number"]),
        ({**PLAN, "odd": 1}, ["odd: Unknown field"]),
    ]
    for plan, violations in faults:
        answer = server.put(f"{at(name)}/plan", plan)
        assert (answer.status, answer.error["kind"], answer.error["violations"]) == (422, "InvalidPlan", violations)
    for text in BAD_TEXTS:
        assert server.put(f"{at(name)}/plan", text).status in (400, 422)
    assert (server.state(name)["plan"], server.state(name)["version"]) == (None, 1)


# errors


def test_an_item_that_is_not_there_is_named(server: Server, name: str, begun: Begun) -> None:
    begun("a")
    changes: list[Form] = [
        {"kind": "edit", "id": "none", "notes": "x"},
        {"kind": "move", "id": "none", "position": 1},
        {"kind": "drop", "id": "none"},
        {"kind": "add", "content": "x", "after": "none"},
    ]
    for change in changes:
        assert "No todo has the id 'none'; the ids are: a." in wrong(server, name, 404, "TodoNotFound", **change)


def test_what_breaks_the_rules_comes_back_with_every_fault(server: Server, name: str, begun: Begun) -> None:
    begun("a", item("b", "a"))
    changes: list[Form] = [
        {"kind": "add", "content": ""},
        {"kind": "add", "content": "x", "priority": "odd"},
        {"kind": "add", "content": "x", "depends_on": ["none"]},
        {"kind": "edit", "id": "a", "content": " "},
        {"kind": "edit", "id": "a", "content": None},
        {"kind": "edit", "id": "a", "status": "odd"},
        {"kind": "edit", "id": "a", "depends_on": ["b"]},
        {"kind": "edit", "id": "a", "depends_on": ["a"]},
    ]
    for change in changes:
        wrong(server, name, 422, "InvalidTodos", **change)
        assert server.post(f"{at(name)}/changes", change).error["violations"]


def test_what_is_not_understood_comes_back_with_what_is_wrong(server: Server, name: str, begun: Begun) -> None:
    begun("a")
    changes: list[tuple[Form, str]] = [
        ({}, "kind"),
        ({"kind": "odd"}, "kind: Expected 'begin' | 'add'"),
        ({"kind": None}, "kind"),
        ({"kind": "add"}, "content: Required"),
        ({"kind": "add", "content": 5}, "content: Expected string, received number"),
        ({"kind": "add", "content": "x", "odd": 1}, "odd: Unknown field"),
        ({"kind": "add", "content": "x", "id": "mine"}, "id: Unknown field"),
        ({"kind": "add", "content": "x", "depends_on": "a"}, "depends_on: Expected array"),
        ({"kind": "edit", "id": "a", "owner": "me"}, "owner: Unknown field"),
        ({"kind": "move", "id": "a", "position": "first"}, "position"),
        ({"kind": "move", "id": "a", "position": 1.5}, "position"),
        ({"kind": "undo", "n": 0}, "n: Must be at least 1"),
        ({"kind": "undo", "n": 1_001}, "n: Must be at most"),
        ({"kind": "redo", "n": -1}, "n: Must be at least 1"),
        ({"kind": "plan_mode"}, "on: Required"),
        ({"kind": "plan_mode", "on": 7}, "on: "),
        ({"kind": "clear", "id": "a"}, "id: Unknown field"),
    ]
    for change, told in changes:
        assert told in wrong(server, name, 400, "BadRequest", **change), change


def test_a_word_is_not_taken_for_a_truth_value_or_a_number(server: Server, name: str, begun: Begun) -> None:
    begun("a", "b")
    assert server.change(name, "plan_mode", on="yes").status == 400
    assert server.change(name, "move", id="a", position="2").status == 400


def test_a_key_that_comes_twice_is_refused(server: Server, name: str, begun: Begun) -> None:
    begun("a")
    body = b'{"kind": "drop", "id": "none", "id": "a"}'
    assert server.post(f"{at(name)}/changes", body).status == 400


@pytest.mark.parametrize("kind", ["undo", "redo", "plan_to_todos"])
def test_what_goes_against_the_state_is_told_as_that(server: Server, name: str, begun: Begun, kind: str) -> None:
    begun("a").undo()
    server.made(name, "redo")
    server.made(name, "undo")
    server.made(name, "add", content="x")
    assert server.change(name, kind, **({} if kind == "plan_to_todos" else {"n": 50})).status == 409


@pytest.mark.parametrize("path", ["changes", "run", "answers"])
def test_what_is_no_json_object_is_refused(server: Server, name: str, begun: Begun, path: str) -> None:
    session = begun("a")
    for body in (*BAD_TEXTS, b"[]", b"null", b"5", b'"clear"', b'[{"kind": "clear"}]'):
        answer = server.post(f"{at(name)}/{path}", body)
        assert (answer.status, answer.error["kind"]) == (400, "BadRequest"), body[:40]
    assert session.version == 1


def test_a_request_that_is_too_long_is_refused(server: Server, name: str, begun: Begun) -> None:
    session = begun("a")
    long = b'{"kind": "clear"}' + b" " * 2_000_000
    for path in ("changes", "run", "answers"):
        answer = server.post(f"{at(name)}/{path}", long)
        assert answer.status == 400
        assert answer.error["message"] == "The request is longer than 2,000,000 bytes; send it in smaller parts."
    assert server.put(f"{at(name)}/plan", long).status == 400
    head = [f"POST {at(name)}/changes HTTP/1.1", *(f"{key}: {value}" for key, value in {**server.own, **JSON}.items())]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (long[:1_500_000], long[1_500_000:]))
    chunked = "\r\n".join([*head, "Transfer-Encoding: chunked", "Connection: close", "", ""]).encode() + chunks
    assert server.raw(chunked + b"0\r\n\r\n", "POST").status == 400
    assert session.version == 1


def test_an_item_may_be_as_odd_as_it_is(server: Server, name: str) -> None:
    texts = ["</script><script>", "日本語 🦊", "a\nb", "\u202eabc", "'; DROP TABLE events; --", "x" * 300]
    for text in texts:
        server.made(name, "add", content=text)
    server.post(f"{at(name)}/changes", b'{"kind": "add", "content": "half \\ud800 of one"}')
    assert contents(server, name) == [todo.content for todo in headway.open(server.folder, name).todos]
    assert len(contents(server, name)) == len(texts) + 1


def test_people_who_change_at_once_lose_nothing(server: Server, name: str, in_threads: Callable[..., None]) -> None:
    in_threads(*(lambda n=n: server.made(name, "add", content=f"Item {n}") for n in range(24)))
    assert sorted(contents(server, name)) == sorted(f"Item {n}" for n in range(24))
    assert server.state(name)["version"] == 24
