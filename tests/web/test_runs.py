"""Runs from the page: items are executed in the server, questions come to the page, and people stay in charge."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from tests.support import scripts
from tests.support.processes import Form, until

import headway
from headway.core.clock import now
from headway.core.run_events import ApprovalAsked
from headway.planner.recorder import Recorder

from .conftest import SCRIPT, Begun
from .running import Door, Scripted, answer, asked, ended, started, states, turn
from .serving import Server, at, item

# executing


def test_all_items_are_executed_with_the_model_of_the_settings(
    server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a", item("b", "a"))
    scripted(a=[turn("echo a > made-a.txt"), "Done."], b=[turn("cat made-a.txt"), "Done."])
    started(server, name, mode="yolo")
    run = ended(server, name)
    assert states(server, name) == {"a": "completed", "b": "completed"}
    assert (server.folder / "made-a.txt").read_text(encoding="utf-8") == "a\n"
    assert run["model"].startswith("scripted:")
    assert (run["batch"]["total_count"], run["batch"]["active"]) == (2, False)
    (mine,) = [one for one in server.get("/api/sessions").data if one["name"] == name]
    assert (mine["running"], mine["completed"]) == (False, 2)


def test_undo_on_the_page_takes_back_the_files_of_an_execution_and_says_what_it_did(
    server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a")
    made = server.folder / "made-by-undone.txt"
    started(server, name, mode="yolo", model=scripted(a=[turn(f"echo a > {made.name}"), "Done."]))
    ended(server, name)
    assert made.exists()
    told = server.made(name, "undo")["did"]
    assert told == ["execution of a: a completed → pending", f"Removed 1 file: {made.name}"]
    assert (states(server, name), made.exists()) == ({"a": "pending"}, False)
    assert server.made(name, "redo")["did"][-1] == f"Restored 1 file: {made.name}"
    made.write_text("mine\n", encoding="utf-8")
    refused = server.change(name, "undo")
    assert (refused.status, refused.data["error"]["kind"]) == (409, "FilesChanged")
    assert states(server, name) == {"a": "completed"}


def test_one_item_is_executed_if_only_that_is_wanted(
    server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a", "b")
    started(server, name, only="b", model=scripted(b=["Done."]), retries=0)
    ended(server, name)
    assert states(server, name) == {"a": "pending", "b": "completed"}


def test_a_message_is_answered(server: Server, name: str, begun: Begun, scripted: Scripted) -> None:
    begun(item("a", status="completed"))
    started(server, name, "message", text="I said it", model=scripted(said=["Heard."]))
    assert ended(server, name)["reason"] == "finished"
    assert "I said it" in server.get(f"{at(name)}/events").text


def test_what_the_model_says_to_a_message_can_be_read(
    server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun(item("a", status="completed"))
    started(server, name, "message", text="I said it", model=scripted(said=["Heard."]))
    ended(server, name)
    assert "Heard." in server.get(f"{at(name)}/events").text


def test_a_run_is_heard_on_the_stream(server: Server, name: str, begun: Begun, scripted: Scripted) -> None:
    begun("a")
    with server.stream(name, after=1) as stream:
        started(server, name, model=scripted(a=["Done."]))
        ended(server, name)
        heard = stream.until(server.state(name)["version"])
    runs = [told.data["run"] for told in heard if told.data.get("run")]
    assert runs[-1] == server.state(name)["run"]


def test_what_cannot_be_executed_is_told_at_once(server: Server, name: str, begun: Begun, scripted: Scripted) -> None:
    session = begun("a", item("b", "a"), item("c", status="completed"))
    model = scripted(a=["Done."])
    before = session.version
    wrong: list[tuple[int, Form]] = [
        (404, {"only": "none", "model": model}),
        (409, {"only": "b", "model": model}),
        (400, {"model": "scripted:none.json"}),
        (400, {"model": "nobody"}),
        (400, {"model": model, "parallel": 0}),
        (400, {"model": model, "parallel": 65}),
        (400, {"model": model, "retries": -1}),
        (400, {"model": model, "mode": "odd"}),
        (400, {"model": model, "odd": 1}),
        (400, {"model": 5}),
    ]
    for status, fields in wrong:
        answer = server.run(name, "execute", **fields)
        assert (answer.status, bool(answer.error["message"])) == (status, True), (fields, answer.body)
        assert "flag" not in answer.error["message"], fields
    for action in ("odd", "", "execute-all"):
        assert server.run(name, action).error["kind"] == "BadRequest"
    assert session.version == before


def test_in_plan_mode_nothing_is_executed(server: Server, name: str, begun: Begun, scripted: Scripted) -> None:
    begun("a")
    server.made(name, "plan_mode", on=True)
    answer = server.run(name, "execute", model=scripted(a=["Done."]))
    assert 400 <= answer.status < 500
    assert "Plan mode is on" in answer.error["message"]
    assert states(server, name) == {"a": "pending"}


# control


@pytest.mark.parametrize("action", ["stop", "pause", "resume"])
def test_without_a_run_there_is_nothing_to_control(server: Server, name: str, begun: Begun, action: str) -> None:
    session = begun("a")
    answer = server.run(name, action)
    assert (answer.status, answer.error["kind"]) == (409, "NoRun")
    assert server.run(name, action, id="a").status == 400
    assert session.version == 1


def test_a_run_is_stopped_and_no_other_begins_while_it_goes_on(
    server: Server, name: str, begun: Begun, scripted: Scripted, door: Door
) -> None:
    begun("a", "b")
    model = scripted(a=[turn(door.command), "Done."], b=["Done."])
    started(server, name, mode="yolo", model=model)
    door.reached()
    assert server.state(name)["run"]["goes_on"] is True
    assert next(one for one in server.get("/api/sessions").data if one["name"] == name)["running"] is True
    for action in ("execute", "message"):
        refused = server.run(name, action, model=model)
        assert (refused.status, refused.error["kind"]) == (409, "RunRefused")
    assert server.run(name, "stop").data == {}
    ended(server, name)
    assert "completed" not in states(server, name).values()
    door.let()
    until(lambda: server.run(name, "execute", mode="yolo", model=model).status == 200)
    ended(server, name)
    assert states(server, name) == {"a": "completed", "b": "completed"}


def test_a_run_is_paused_and_goes_on(server: Server, name: str, begun: Begun, scripted: Scripted, door: Door) -> None:
    begun("a", "b")
    started(server, name, mode="yolo", model=scripted(a=[turn(door.command), "Done."], b=["Done."]))
    door.reached()
    assert server.run(name, "pause").data == {}
    until(lambda: server.state(name)["run"]["pausing"])
    assert server.state(name)["run"]["paused"] is False, "its command goes on"
    door.let()
    until(lambda: server.state(name)["run"]["paused"])
    assert server.state(name)["run"]["pausing"] is False
    assert server.run(name, "resume").data == {}
    assert ended(server, name)["paused"] is False
    assert states(server, name) == {"a": "completed", "b": "completed"}


def test_a_run_that_is_continued_has_its_own_mode_and_all_else_that_was_wanted(
    server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a", "b")
    scripted(a=[turn("echo a > asked-again.txt"), "Done."])
    wanted: Form = {"mode": "auto_edit", "only": "a", "retries": 3, "in_place": True, "require_evidence": True}
    assert server.run(name, "continue").error["kind"] == "NoRun"
    started(server, name, **wanted)
    asked(server, name)
    assert server.run(name, "continue").error["kind"] == "RunRefused"
    assert server.run(name, "stop").data == {}
    assert ended(server, name)["mode"] == "auto_edit"
    assert server.run(name, "continue", mode="yolo").status == 400
    started(server, name, "continue")
    assert asked(server, name)["command"] == "echo a > asked-again.txt"
    log = server.get(f"{at(name)}/events?limit=1000").data
    first, second = [{key: one[key] for key in wanted} for one in log if one["type"] == "BatchStarted"]
    assert first == second == wanted
    server.run(name, "stop")
    ended(server, name)


def test_a_conversation_goes_on_in_the_mode_of_its_last_run(
    server: Server, name: str, begun: Begun, scripted: Scripted, door: Door
) -> None:
    begun(item("a", status="completed"))
    scripted(said=[turn(door.command), "Done."])
    started(server, name, "message", text="I said it", mode="yolo")
    door.reached()
    server.run(name, "stop")
    assert ended(server, name)["mode"] == "yolo"
    door.let()
    for action in ("continue", "message"):
        started(server, name, action)
        assert ended(server, name)["mode"] == "yolo"
    started(server, name, "message", text="I said it")
    assert server.state(name)["run"]["mode"] == "default", "another message has the mode of the settings"
    server.run(name, "stop")
    ended(server, name)


def test_what_an_item_did_is_rolled_back(server: Server, name: str, begun: Begun, scripted: Scripted) -> None:
    begun("a", item("b", "a"), "c")
    model = scripted(a=[turn("echo a > rolled.txt"), "Done."], b=["Done."])
    started(server, name, mode="yolo", only="a", model=model)
    ended(server, name)
    assert (server.folder / "rolled.txt").exists()
    done = server.run(name, "rollback", id="a")
    assert (done.status, done.data["files"], done.data["removed"]) == (200, ["rolled.txt"], ["rolled.txt"]), done.body
    assert not (server.folder / "rolled.txt").exists()
    assert states(server, name)["a"] == "pending"
    assert server.run(name, "rollback", id="none").status == 404
    never = server.run(name, "rollback", id="c")
    assert (400 <= never.status < 500, bool(never.error["message"])) == (True, True)
    assert server.run(name, "rollback").status == 400
    assert server.run(name, "rollback", id="a", with_later="maybe").status == 400


def test_items_in_the_way_of_a_rollback_are_named_and_rolled_back_with_it_if_that_is_wanted(
    server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a", item("b", "a"))
    started(
        server,
        name,
        mode="yolo",
        model=scripted(a=[turn("echo a > way.txt"), "Done."], b=[turn("echo b > way.txt"), "Done."]),
    )
    ended(server, name)
    refused = server.run(name, "rollback", id="a")
    assert (refused.status, refused.error["kind"]) == (409, "FilesChanged")
    assert (refused.error["files"], refused.error["items"]) == (["way.txt"], ["b"])
    assert (server.folder / "way.txt").read_text() == "b\n"
    done = server.run(name, "rollback", id="a", with_later=True)
    assert (done.status, done.data["with_later"]) == (200, ["b"]), done.body
    assert states(server, name) == {"a": "pending", "b": "pending"} and not (server.folder / "way.txt").exists()


def test_what_an_item_changed_is_given_as_a_diff(server: Server, name: str, begun: Begun, scripted: Scripted) -> None:
    begun(item("a/1 ö"), "b")
    started(
        server, name, mode="yolo", only="a/1 ö", model=scripted(**{"a/1 ö": [turn("echo a > differs.txt"), "Done."]})
    )
    ended(server, name)
    told = server.get(f"{at(name)}/todos/{quote('a/1 ö', safe='')}/diff")
    assert told.status == 200 and told.data["diff"].endswith("+++ b/differs.txt\n@@ -0,0 +1 @@\n+a\n"), told.body
    assert told.data["cut"] is False
    assert server.get(f"{at(name)}/todos/b/diff").status == 409
    assert server.get(f"{at(name)}/todos/none/diff").status == 404


def test_in_place_is_as_wanted_and_refused_with_several_at_once(
    server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a")
    model = scripted(a=["Done."])
    refused = server.run(name, "execute", mode="yolo", in_place=True, parallel=2, model=model)
    assert refused.status == 400 and "one at a time" in refused.error["message"]
    started(server, name, mode="yolo", in_place=True, model=model)
    ended(server, name)
    (begins,) = [one for one in server.get(f"{at(name)}/events?limit=1000").data if one["type"] == "BatchStarted"]
    assert (begins["in_place"], begins["worktrees"], begins["parallel"]) == (True, False, 1)


def test_plan_mode_pauses_a_run_that_executes(
    server: Server, name: str, begun: Begun, scripted: Scripted, door: Door
) -> None:
    begun("a")
    started(server, name, mode="yolo", model=scripted(a=[turn(door.command), "Done."]))
    door.reached()
    server.made(name, "plan_mode", on=True)
    run = server.state(name)["run"]
    assert (run["paused"], run["goes_on"], run["batch"]["mode"]) == (True, True, "yolo")
    refused = server.run(name, "resume")
    assert refused.status == 400 and "turn plan mode off to resume it" in refused.error["message"]
    door.let()
    server.made(name, "plan_mode", on=False)
    assert ended(server, name)["paused"] is False
    assert states(server, name) == {"a": "completed"}


# questions


def test_a_question_comes_to_the_page_and_its_answer_lets_the_run_go_on(
    server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a")
    with server.stream(name, after=1) as stream:
        started(server, name, mode="default", model=scripted(a=[turn("echo a > asked.txt"), "Done."]))
        question = asked(server, name)
        heard = stream.until(server.state(name)["version"])
        assert [told.data["questions"] for told in heard if told.data.get("questions")][-1] == [question]
    assert (question["item_id"], question["tool"], question["command"]) == ("a", "bash", "echo a > asked.txt")
    assert not (server.folder / "asked.txt").exists()
    assert answer(server, name, question, "once") == {"reply": "once", "reason": ""}
    ended(server, name)
    assert (server.state(name)["questions"], states(server, name)) == ([], {"a": "completed"})
    assert (server.folder / "asked.txt").exists()


@pytest.mark.parametrize(
    "command",
    [
        "echo a > asked.txt # -----BEGIN PRIVATE KEY-----\nid > hidden.txt\n#-----END PRIVATE KEY-----",
        "token=a1b2c3`id>hidden.txt`",
        f"echo ghp_{'a1' * 18} > hidden.txt",
    ],
)
def test_a_question_says_what_runs_where_the_log_leaves_out_keys(
    server: Server, name: str, begun: Begun, scripted: Scripted, command: str
) -> None:
    begun("a")
    started(server, name, mode="default", model=scripted(a=[turn(command), "Done."]), retries=0)
    question = asked(server, name)
    assert (question["command"], question["exact"]) == (command, True)
    assert server.get(f"{at(name)}/questions/{question['question_id']}").data == question
    log = server.get(f"{at(name)}/events?limit=1000&whole=1").text
    assert "[redacted]" in log
    for hidden in ("END PRIVATE", "id>hidden", "a1a1a1"):
        assert hidden not in log
    answer(server, name, question, "no")
    ended(server, name)
    closed = {"question_id": question["question_id"], "exact": False}
    assert server.get(f"{at(name)}/questions/{question['question_id']}").data == closed
    assert not [*(server.folder / ".headway/headway.db-questions").iterdir()]


def test_a_long_diff_is_sent_whole_to_whoever_asks_for_it(
    server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a")
    content = "".join(f"line {number}\n" for number in range(5_000))
    writes = scripts.turn("", scripts.write("long.txt", content))
    started(server, name, mode="default", model=scripted(a=[writes, "Done."]), retries=0)
    question = asked(server, name)
    assert not question["exact"] and len(question["diff"]) <= 20_000
    whole = server.get(f"{at(name)}/questions/{question['question_id']}").data
    assert whole["exact"] and whole["diff"].split("\n")[3:] == [f"+{line}" for line in content.splitlines()]
    answer(server, name, question, "once")
    ended(server, name)
    assert (server.folder / "long.txt").read_text(encoding="utf-8") == content


def test_what_the_page_cannot_show_it_cannot_allow(server: Server, name: str, begun: Begun) -> None:
    session = begun("a")
    recorder = Recorder(session, now)
    recorder.begin("Ask", "scripted", 5)
    try:
        recorder.record(
            ApprovalAsked(question_id="q1", tool="bash", effect="execute", line="Run: [redacted]", command="[redacted]")
        )
        question = asked(server, name)
        assert question["exact"] is False
        assert server.get(f"{at(name)}/questions/q1").data == question
        for reply in ("once", "always", "offline"):
            refused = server.post(f"{at(name)}/answers", {"question_id": "q1", "reply": reply})
            assert (refused.status, refused.error["kind"]) == (409, "QuestionNotKept")
        assert answer(server, name, question, "no") == {"reply": "no", "reason": ""}
    finally:
        recorder.end("cancelled", None)


def test_a_no_with_its_reason_reaches_the_model(server: Server, name: str, begun: Begun, scripted: Scripted) -> None:
    begun("a")
    model = scripted(a=[turn("echo a > refused.txt"), "Then not."])
    started(server, name, mode="default", model=model, retries=0)
    reply = answer(server, name, asked(server, name), "no", reason="Not in this folder")
    assert reply == {"reply": "no", "reason": "Not in this folder"}
    ended(server, name)
    assert not (server.folder / "refused.txt").exists()
    assert "Not in this folder" in server.get(f"{at(name)}/events?limit=1000").text


def test_a_message_that_asks_is_answered_by_whoever_is_first(
    server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    session = begun("a")
    started(server, name, "message", text="I said it", mode="default", model=scripted(said=[turn("echo m"), "Done."]))
    question = asked(server, name)
    assert question["agent"] == "main"
    session.answer(question["question_id"], "no", "From a terminal")
    late = server.post(f"{at(name)}/answers", {"question_id": question["question_id"], "reply": "once"})
    assert late.status == 409 or late.data == {"reply": "no", "reason": "From a terminal"}
    ended(server, name)


def test_an_answer_to_nothing_is_refused(server: Server, name: str, begun: Begun, scripted: Scripted) -> None:
    session = begun("a")
    given: Form = {"question_id": "none", "reply": "once"}
    assert server.post(f"{at(name)}/answers", given).error["kind"] == "NoRun"
    wrong: list[Form] = [{"reply": "perhaps"}, {"reply": None}, {"question_id": 5}, {"odd": 1}, {"agent": ""}]
    for fields in wrong:
        assert server.post(f"{at(name)}/answers", given | fields).status == 400, fields
    assert server.post(f"{at(name)}/answers", {}).status == 400
    assert session.version == 1
    started(server, name, "message", text="I said it", mode="default", model=scripted(said=[turn("echo m"), "Done."]))
    question = asked(server, name)
    for fields in ({}, {"question_id": question["question_id"], "agent": "nobody"}):
        answer = server.post(f"{at(name)}/answers", given | fields)
        assert 400 <= answer.status < 500, answer.body
    assert server.state(name)["questions"] == [question]
    assert server.run(name, "stop").status == 200
    ended(server, name)
    assert server.state(name)["questions"] == []


def test_a_server_that_ends_leaves_no_run_going_on(
    server: Server, tmp_path: Path, scripted: Scripted, door: Door
) -> None:
    shared = server
    folder = tmp_path / "own"
    folder.mkdir()
    session = headway.open(folder, "mine")
    session.write([item("a")])
    scripted(a=[turn(door.command), "Done."])
    server = Server(folder, HEADWAY_MODEL=f"scripted:{shared.folder / SCRIPT}")
    try:
        started(server, "mine", mode="yolo")
        door.reached()
        assert "Traceback" not in server.stop()
        assert "completed" not in {str(todo.status) for todo in session.todos}
        assert session.run is not None
        assert (session.run.is_active, session.state.runs["main"].execution is not None) == (False, True)
        session.add("Goes on")
    finally:
        server.stop()
