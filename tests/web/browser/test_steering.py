"""Runs from the page: begun, watched, paused, stopped and asked about, whoever began them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect
from tests.support import scripts
from tests.support.processes import Form, start

import headway

from ..conftest import SCRIPT, Begun
from ..running import Door, Scripted, asking, ended, started, states, turn
from ..serving import Server, at, item, program
from .knowing import Own
from .tabs import Tabs, row


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name="Run", exact=True)


def button(page: Page, name: str) -> Locator:
    return panel(page).get_by_role("button", name=name, exact=True)


def questions(page: Page) -> Locator:
    return page.get_by_role("region", name="Questions for you").get_by_role("article")


async def begin(page: Page, mode: str = "yolo") -> None:
    """Executes all, by the dialog."""
    await button(page, "Execute all…").click()
    await page.get_by_label("Approvals").select_option(mode)
    await page.get_by_role("dialog").get_by_role("button", name="Execute all").click()
    await expect(page.get_by_role("dialog")).to_have_count(0)


def events(server: Server, name: str, kind: str) -> list[Form]:
    return [one for one in server.get(f"{at(name)}/events?limit=1000").data if one["type"] == kind]


def another_door(folder: Path) -> Door:
    (folder / "another").mkdir()
    return Door(folder / "another")


# executing


async def test_all_items_are_executed_as_is_chosen_and_the_page_follows(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted, door: Door
) -> None:
    begun("a", item("b", "a"), "c")
    asked = ["Done.", "Nothing ran."]
    scripted(a=[turn(door.command), *asked], b=asked, c=[turn("cmp /bin/sh /bin/sh"), "Done."])
    page = await tabs.open(name)
    await button(page, "Execute all…").click()
    dialog = page.get_by_role("dialog", name="Execute the list")
    await expect(dialog).to_contain_text("3 pending items")
    await dialog.get_by_label("Approvals").select_option("yolo")
    await dialog.get_by_label("Run in parallel").fill("2")
    await dialog.get_by_label("Retries").fill("3")
    await dialog.get_by_label("Continue with items").check()
    await dialog.get_by_label("Ask for evidence").check()
    await dialog.get_by_role("button", name="Execute all").click()
    await expect(dialog).to_have_count(0)
    door.reached()
    await expect(row(page, "c")).to_have_class(re.compile("k-reported|k-done"))
    await expect(row(page, "a")).to_have_class(re.compile("k-running"))
    await expect(panel(page)).to_contain_text("Running, 2 of 3 started")
    await expect(panel(page)).to_contain_text("now: a · yolo: never asks · 2 in parallel")
    await expect(button(page, "Execute all…")).to_be_hidden()
    await expect(page).to_have_title(re.compile("^● 1/3 "))
    door.let()
    await expect(panel(page)).to_contain_text("Last run complete")
    await expect(panel(page)).to_contain_text("3 of 3 completed")
    await expect(page.locator("#figures")).to_contain_text("3 of 3 completed")
    await expect(page).to_have_title(re.compile("^3/3 "))
    (batch,) = events(server, name, "BatchStarted")
    wanted = {"mode": "yolo", "parallel": 2, "retries": 3, "keep_going": True, "require_evidence": True}
    assert {field: batch[field] for field in wanted} == wanted
    server.made(name, "add", content="One more")
    await page.reload()
    await button(page, "Execute all…").click()
    await expect(dialog.get_by_label("Approvals")).to_have_value("default")
    await expect(dialog.get_by_label("Run in parallel")).to_have_value("2")
    await expect(dialog.get_by_label("Retries")).to_have_value("3")
    await expect(dialog.get_by_label("Continue with items")).to_be_checked()
    await expect(dialog.get_by_label("Ask for evidence")).to_be_checked()


@pytest.mark.smoke
async def test_a_run_pauses_between_rounds_goes_on_and_is_stopped(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted, door: Door, tmp_path: Path
) -> None:
    begun("a", "b")
    second = another_door(tmp_path)
    scripted(a=[turn(door.command), turn("true"), "Done."], b=[turn(second.command), "Done."])
    page = await tabs.open(name)
    await begin(page)
    door.reached()
    await button(page, "Pause").click()
    await expect(panel(page)).to_contain_text("Pausing after this round, 1 of 2 started")
    door.let()
    await expect(panel(page)).to_contain_text("Paused, 1 of 2 started")
    assert events(server, name, "ToolFinished")
    await expect(row(page, "a")).to_have_class(re.compile("k-running"))
    await expect(button(page, "Resume")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(row(page, "b")).to_have_class(re.compile("k-running"))
    await expect(button(page, "Pause")).to_be_visible()
    second.reached()
    await button(page, "Stop").click()
    await expect(panel(page)).to_contain_text("Last run interrupted")
    await expect(button(page, "Execute all…")).to_be_focused()
    assert ended(server, name)["goes_on"] is False
    await expect(row(page, "a")).to_have_class(re.compile("k-reported|k-done"))
    await expect(row(page, "b")).to_have_class(re.compile("k-quiet"))
    assert states(server, name) == {"a": "completed", "b": "pending"}


async def test_a_run_of_another_process_is_seen_and_steered(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted, door: Door
) -> None:
    begun("a", "b")
    model = scripted(a=[turn(door.command), "Done."], b=["Done."])
    page = await tabs.open(name)
    await expect(panel(page)).to_contain_text("No run yet")
    words = ("todos", "execute-all", "--mode=yolo", f"--model={model}", "--session", name)
    process = start(program(server.folder, "headway", *words))
    await expect(panel(page)).to_contain_text("Running, 1 of 2 started")
    door.reached()
    await button(page, "Pause").click()
    await expect(panel(page)).to_contain_text("Pausing after this round")
    await button(page, "Resume").click()
    await expect(panel(page)).to_contain_text("now: a")
    await button(page, "Stop").click()
    await expect(panel(page)).to_contain_text("Last run interrupted")
    process.wait()
    requests = [one["request"] for one in events(server, name, "RunRequested") if one["agent_id"] == "main"]
    assert requests == ["pause", "resume", "stop"]
    assert states(server, name) == {"a": "pending", "b": "pending"}


async def test_one_item_is_executed_from_its_detail(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun(item("a", status="completed"), "b")
    scripted(b=[turn("exit 3", "true"), "Done."])
    page = await tabs.open(name, item="b")
    detail = page.get_by_role("complementary", name="Item")
    await detail.get_by_role("button", name="Execute…").click()
    dialog = page.get_by_role("dialog", name="Execute this item")
    await dialog.get_by_label("Approvals").select_option("yolo")
    await dialog.get_by_role("button", name="Execute", exact=True).click()
    await expect(panel(page)).to_contain_text("1 of 1 completed")
    assert states(server, name) == {"a": "completed", "b": "completed"}
    calls = detail.get_by_role("list", name="Tool calls").get_by_role("listitem")
    await expect(calls).to_contain_text([re.compile("exit 3.*exit code 3"), "true"])
    await expect(detail).to_contain_text(re.compile("Attempt 1 .* completed"))


async def test_the_agent_is_sent_a_message_and_what_it_says_is_shown(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun(item("a", status="completed"))
    scripted(said=["Heard it all. " * 300 + "That is all."])
    page = await tabs.open(name)
    await page.keyboard.press("m")
    await page.get_by_label("What should the agent do?").fill("I said it")
    await page.get_by_role("button", name="Send").click()
    await expect(panel(page)).to_contain_text("Last run finished")
    said = panel(page).get_by_role("group", name="The agent’s last message")
    await expect(said).to_contain_text("Heard it all.")
    await expect(said).not_to_contain_text("That is all.")
    await said.get_by_role("button", name="Show all").click()
    await expect(said).to_contain_text("That is all.")
    await said.get_by_role("button", name="Show less").click()
    await expect(said).not_to_contain_text("That is all.")
    assert [one["task"] for one in events(server, name, "RunStarted") if one["agent_id"] == "main"][-1] == "I said it"


async def test_a_refused_start_is_one_sentence_and_takes_nothing_away(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted, door: Door
) -> None:
    begun("a", item("b", "a"))
    (server.folder / SCRIPT).unlink(missing_ok=True)
    page = await tabs.open(name)
    await button(page, "Execute all…").click()
    dialog = page.get_by_role("dialog", name="Execute the list")
    await dialog.get_by_label("Approvals").select_option("yolo")
    await dialog.get_by_label("Run in parallel").fill("3")
    tabs.expect_error("400|409")
    await dialog.get_by_role("button", name="Execute all").click()
    await expect(dialog.locator(".problem")).to_contain_text(SCRIPT)
    started(server, name, mode="yolo", model=scripted(a=[turn(door.command), "Done."], b=["Done."]), parallel=1)
    door.reached()
    await dialog.get_by_role("button", name="Execute all").click()
    await expect(dialog.locator(".problem")).to_contain_text("A run is already in progress in this session")
    await expect(dialog.get_by_label("Approvals")).to_have_value("yolo")
    await expect(dialog.get_by_label("Run in parallel")).to_have_value("3")
    await dialog.get_by_role("button", name="Cancel").click()
    door.let()
    await expect(panel(page)).to_contain_text("2 of 2 completed")


async def test_the_last_run_says_why_it_ended_and_what_failed(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a", "b", "c", item("d", "c"))
    refused = {"error": {"status": 401, "message": "No such key"}}
    scripted(a=["Done."], b=[refused], c=[refused])
    page = await tabs.open(name)
    started(server, name, keep_going=True, retries=0)
    await expect(panel(page)).to_contain_text("Last run failed")
    await expect(panel(page)).to_contain_text("b failed: The scripted model refused the key")
    await expect(panel(page)).to_contain_text("failed: b, c · 1 of 4 completed")
    for one in "bc":
        await expect(row(page, one)).to_have_class(re.compile("k-blocked"))


async def test_a_run_that_can_do_nothing_says_what_waits_for_what(
    tabs: Tabs, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun(item("a", status="cancelled"), item("b", "a"))
    scripted(b=["Done."])
    page = await tabs.open(name)
    await begin(page)
    await expect(panel(page)).to_contain_text("Last run ended with items left")
    await expect(panel(page)).to_contain_text("b waits for a (cancelled")


async def test_without_a_model_the_page_says_how_to_set_one(own: Own, server: Server, scripted: Scripted) -> None:
    headway.open(own.server.folder, "mine").write([item("a")])
    page = await own.tabs.open("mine")
    await expect(panel(page)).to_contain_text("No model is set. Set one with: headway model provider:name")
    own.tabs.expect_error("400")
    await page.keyboard.press("x")
    dialog = page.get_by_role("dialog", name="Execute the list")
    await dialog.get_by_label("Retries").fill("7")
    await dialog.get_by_role("button", name="Execute all").click()
    await expect(dialog.locator(".problem")).to_contain_text("No model is set; set one with")
    await expect(dialog.get_by_label("Retries")).to_have_value("7")
    scripted(a=["Done."])
    settings = f'model = "scripted:{server.folder / SCRIPT}"\nmode = "auto_edit"\nparallel = 3\n'
    (own.server.folder / ".headway" / "config.toml").write_text(settings, encoding="utf-8")
    assert start(program(own.server.folder, "headway", "config", "trust", "--yes")).end().code == 0
    await dialog.get_by_role("button", name="Cancel").click()
    await page.keyboard.press("x")
    await expect(dialog).to_contain_text("Model scripted:")
    await expect(dialog.get_by_label("Approvals")).to_have_value("auto_edit")
    await expect(dialog.get_by_label("Approvals")).to_contain_text("auto_edit (project setting): Edit files")
    await dialog.get_by_role("button", name="Execute all").click()
    await expect(panel(page)).to_contain_text("1 of 1 completed")
    await expect(panel(page)).not_to_contain_text("No model is set")


async def test_a_run_resumes_in_its_own_mode_whatever_was_chosen_for_another(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a")
    headway.open(server.folder, f"{name} other").write([item("b", status="completed")])
    scripted(a=["Done."], said=[turn("echo 1"), "Done."])
    page = await tabs.open(name)
    await begin(page, "yolo")
    await expect(panel(page)).to_contain_text(re.compile("Last run complete.*yolo: never asks"))
    await page.get_by_role("navigation").get_by_role("button", name=f"{name} other").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text(f"{name} other")
    await expect(panel(page)).to_contain_text("No run yet")
    await page.keyboard.press("m")
    dialog = page.get_by_role("dialog", name="Message to the agent")
    await expect(dialog.get_by_label("Approvals")).to_have_value("default")
    await dialog.get_by_label("What should the agent do?").fill("I said it")
    await dialog.get_by_role("button", name="Send").click()
    await expect(questions(page)).to_have_count(1)
    await expect(panel(page)).to_contain_text("default: asks first · scripted")
    await button(page, "Stop").click()
    await expect(panel(page)).to_contain_text(re.compile("Last run stopped.*default: asks first"))
    await expect(button(page, "Resume")).to_have_attribute("title", re.compile("default: asks first"))
    await button(page, "Resume").click()
    await expect(questions(page)).to_contain_text("echo 1")
    await button(page, "Stop").click()
    await expect(questions(page)).to_have_count(0)


async def test_never_asking_is_never_chosen_for_a_person(own: Own, server: Server, scripted: Scripted) -> None:
    headway.open(own.server.folder, "mine").write([item("a")])
    for words in (["model", f"scripted:{server.folder / SCRIPT}"], ["mode", "yolo", "--user", "--yes"]):
        assert start(program(own.server.folder, "headway", *words)).end().code == 0
    page = await own.tabs.open("mine")
    await page.keyboard.press("x")
    dialog = page.get_by_role("dialog", name="Execute the list")
    await expect(dialog.get_by_label("Approvals")).to_contain_text("yolo (project setting): Never ask")
    await expect(dialog.get_by_label("Approvals")).to_have_value("default")
    scripted(a=["Done."])
    await dialog.get_by_role("button", name="Execute all").click()
    await expect(panel(page)).to_contain_text(re.compile("Last run complete.*default: asks first"))


# questions


@pytest.mark.smoke
async def test_a_question_comes_by_itself_and_the_answer_reaches_the_model(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a")
    writes = [scripts.turn("", scripts.write("asked.txt", f"{one} words\n")) for one in ("new", "newer")]
    scripted(a=[*writes, turn("echo 1 > once.txt"), turn("echo 2 > once.txt"), "Then not."])
    page = await tabs.open(name)
    await begin(page, "default")
    await expect(questions(page)).to_contain_text("write_file wants to change files for a")
    await expect(questions(page).locator(".diff-added")).to_have_text("+new words\n")
    await expect(page).to_have_title(re.compile(r"^\? "))
    await questions(page).get_by_role("button", name="Always allow").click()
    await expect(questions(page).get_by_label("Command")).to_have_text("echo 1 > once.txt")
    (asked,) = (server.folder / ".headway" / "worktrees").glob("*/asked.txt")
    assert asked.read_text(encoding="utf-8") == "newer words\n"
    await page.keyboard.press("q")
    await expect(questions(page).get_by_role("button", name="Allow once")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(questions(page).get_by_label("Command")).to_have_text("echo 2 > once.txt")
    await questions(page).get_by_label("Why not?").fill("Not in this folder")
    await page.keyboard.press("Enter")
    await expect(questions(page)).to_have_count(0)
    await expect(panel(page)).to_contain_text("Last run")
    assert [one["reply"] for one in events(server, name, "ApprovalAnswered")] == ["always", "once", "no"]
    *allowed, refused = [one for one in events(server, name, "ToolFinished") if one["effect"] != "todo"]
    assert [one["ok"] for one in allowed] == [True, True, True]
    assert (refused["denied"], "Not in this folder" in refused["text"]) == (True, True)


async def test_questions_of_several_agents_are_answered_here_and_elsewhere(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    session = begun(item("a", status="completed"))
    page = await tabs.open(name)
    async with asking(session, server.folder, "main", "one", "two"):
        await expect(questions(page)).to_have_count(3)
        of_main, of_one, of_two = (questions(page).filter(has_text=f"echo {one}") for one in ("main", "one", "two"))
        await of_two.get_by_label("Why not?").fill("Because")
        await of_one.get_by_role("button", name="Allow once").focus()
        for agent in ("one", "two"):
            asked = next(one for one in server.state(name)["questions"] if one["agent"] == agent)
            session.agent(agent).answer(asked["question_id"], "once")
        await expect(of_one).to_have_count(0)
        await expect(of_two).to_contain_text("answered elsewhere")
        await expect(of_two.get_by_label("Why not?")).to_have_value("Because")
        await expect(of_two.get_by_role("button", name="Allow once")).to_be_hidden()
        await expect(of_main.get_by_label("Why not?")).to_have_value("")
        await expect(of_main.get_by_role("button", name="Allow once")).not_to_be_focused()
        await page.keyboard.press("q")
        await expect(of_main.get_by_role("button", name="Allow once")).to_be_focused()
        await of_two.get_by_role("button", name="Close").click()
        await expect(questions(page)).to_have_count(1)
        await of_main.get_by_role("button", name="Allow once").click()
        await expect(questions(page)).to_have_count(0)
        await expect(panel(page)).to_contain_text("Last run finished")


# taking back


async def test_what_an_item_did_is_seen_and_rolled_back_with_what_is_in_the_way_if_that_is_wanted(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a", item("b", "a"))
    scripted(a=[turn("echo '<b>a</b>' > back.txt"), "Done."], b=[turn("echo b > back.txt"), "Done."])
    made = server.folder / "back.txt"
    page = await tabs.open(name, item="a")
    detail = page.get_by_role("complementary", name="Item")
    dialog = page.get_by_role("dialog", name="Roll back this item")
    started(server, name, mode="yolo")
    ended(server, name)
    await detail.get_by_text("File changes").click()
    await expect(detail.locator(".diff")).to_contain_text("+<b>a</b>")
    await detail.get_by_role("button", name="Roll back…").click()
    await expect(dialog).to_contain_text("Later work in the same files stays")
    later = dialog.get_by_label("Also roll back b")
    await expect(later).to_be_hidden()
    tabs.expect_error("409")
    await dialog.get_by_role("button", name="Roll back").click()
    await expect(dialog.locator(".problem")).to_contain_text("conflicting changes were made to back.txt later, by b")
    assert made.read_text(encoding="utf-8") == "b\n"
    await later.check()
    await dialog.get_by_role("button", name="Roll back").click()
    told = page.get_by_role("dialog", name="Rolled back")
    await expect(told).to_contain_text("Rolled back a and b: 1 file restored.")
    await expect(told.get_by_role("listitem")).to_have_text("back.txt")
    await told.get_by_role("button", name="Close").click()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    for one in "ab":
        await expect(row(page, one)).to_have_class(re.compile("k-quiet"))
    await expect(detail.get_by_text("File changes")).to_be_hidden()
    assert not made.exists()


async def test_plan_mode_pauses_an_execution_and_the_page_says_so_with_its_mode(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted, door: Door
) -> None:
    begun("a")
    started(server, name, mode="yolo", model=scripted(a=[turn(door.command), "Done."]))
    page = await tabs.open(name)
    await expect(panel(page)).to_contain_text("yolo: never asks")
    door.reached()
    server.made(name, "plan_mode", on=True)
    await expect(panel(page)).to_contain_text("Paused until plan mode is off")
    await expect(button(page, "Resume")).to_be_hidden()
    server.made(name, "plan_mode", on=False)
    await expect(panel(page)).to_contain_text("Running")
    door.let()
    await expect(panel(page)).to_contain_text("1 of 1 completed")
