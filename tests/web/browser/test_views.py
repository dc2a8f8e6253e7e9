"""The views of a session: plan, graph, timeline, log, and what was done on one item. All of them live."""

from __future__ import annotations

import json
import re

import pytest
from playwright.async_api import Locator, Page, expect
from tests.support.processes import Form, until

import headway
from headway.core.clock import now
from headway.core.run_commands import StartRun
from headway.core.run_events import RunFinished, RunStarted, ToolStarted

from ..conftest import Begun
from ..running import Door, Scripted, started, turn
from ..serving import Server, at, item
from .tabs import Tabs, row, shown

PLAN: Form = {
    "title": "A new parser",
    "overview": "First the lexer.",
    "steps": [
        {"id": "s1", "description": "Write the lexer", "module": "lexer", "risks": ["Unicode"]},
        {"id": "s2", "description": "Write the rest", "dependencies": ["s1"], "estimatedTime": "2 h"},
    ],
    "risks": ["It takes long"],
    "testingStrategy": "With examples",
}


def view(page: Page, name: str) -> Locator:
    return page.get_by_role("tabpanel", name=name)


async def write_plan(page: Page, plan: object) -> None:
    text = plan if isinstance(plan, str) else json.dumps(plan)
    await page.get_by_label("Plan as JSON").fill(text)
    await page.get_by_role("dialog").get_by_role("button", name=re.compile("^Save")).click()


# the plan


async def test_a_plan_is_written_refused_corrected_and_becomes_the_list(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    begun("a")
    page = await tabs.open(name, view="plan")
    plan = view(page, "Plan")
    await expect(plan).to_contain_text("No plan yet")
    await plan.get_by_role("button", name="Write a plan…").click()
    dialog = page.get_by_role("dialog", name="Write a plan")
    wrong = {"title": "", "steps": [{"id": "s1", "dependencies": ["s9"]}]}
    tabs.expect_error("422")
    await write_plan(page, wrong)
    faults = server.put(f"{at(name)}/plan", wrong).error["violations"]
    assert len(faults) > 2
    await expect(dialog.locator(".problem li")).to_have_count(len(faults))
    await expect(dialog.get_by_label("Plan as JSON")).to_have_value(json.dumps(wrong))
    await write_plan(page, "{no plan")
    await expect(dialog.locator(".problem")).to_contain_text("This is not valid JSON")
    await write_plan(page, PLAN)
    await expect(dialog).to_have_count(0)
    await expect(plan.get_by_role("heading", name="A new parser")).to_be_visible()
    await expect(plan.locator(".step")).to_contain_text([re.compile("lexer.*Risk: Unicode"), "Write the rest"])
    await expect(plan.locator(".step").nth(1)).to_contain_text("about 2 h")
    await expect(plan.locator(".step").nth(1)).to_contain_text("after s1")
    await plan.get_by_role("button", name="Edit…").click()
    await write_plan(page, {**PLAN, "title": "A newer parser"})
    await expect(plan.get_by_role("heading", name="A newer parser")).to_be_visible()
    await plan.get_by_role("button", name="Turn into list…").click()
    await expect(page.get_by_role("dialog")).to_contain_text("The 2 steps of the plan will replace the 1 item")
    await page.get_by_role("button", name="Replace the list").click()
    await expect(row(page, "s2")).to_contain_text("Write the rest")
    assert await shown(page) == ["s1", "s2"]
    await page.locator("#notice").get_by_role("button", name="Undo").click()
    await expect(row(page, "a")).to_be_visible()


async def test_plan_mode_is_set_and_a_plan_is_removed_and_brought_back(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    session = begun("a")
    session.set_plan(PLAN)
    page = await tabs.open(name, view="plan")
    plan = view(page, "Plan")
    mode = plan.get_by_role("switch", name=re.compile("Plan mode"))
    await mode.check()
    await expect(mode).to_be_checked()
    until(lambda: server.state(name)["plan_mode"])
    session.set_plan_mode(False)
    await expect(mode).not_to_be_checked()
    await plan.get_by_role("button", name="Remove").click()
    await expect(plan).to_contain_text("No plan yet")
    await page.locator("#notice").get_by_role("button", name="Restore").click()
    await expect(plan.get_by_role("heading", name="A new parser")).to_be_visible()
    session.plan_to_todos()
    session.update("s1", status="in_progress")
    await expect(plan.locator(".step").first).to_have_class(re.compile("k-running"))
    await plan.get_by_role("button", name="s1", exact=True).click()
    await expect(page.get_by_role("complementary", name="Item")).to_contain_text("Write the lexer")


async def test_a_plan_that_another_changes_meanwhile_is_not_overwritten_unseen(
    tabs: Tabs, server: Server, name: str, begun: Begun
) -> None:
    session = begun("a")
    session.set_plan(PLAN)
    page = await tabs.open(name, view="plan")
    await view(page, "Plan").get_by_role("button", name="Edit…").click()
    dialog = page.get_by_role("dialog", name="Edit the plan")
    mine = json.dumps({**PLAN, "title": "Mine"})
    await dialog.get_by_label("Plan as JSON").fill(mine)
    session.set_plan({**PLAN, "title": "Theirs"})
    await expect(dialog.locator(".problem")).to_contain_text("it is now “Theirs” with 2 steps")
    await expect(dialog.get_by_label("Plan as JSON")).to_have_value(mine)
    assert server.state(name)["plan"]["title"] == "Theirs"
    await dialog.get_by_role("button", name="Overwrite").click()
    await expect(view(page, "Plan").get_by_role("heading", name="Mine")).to_be_visible()


# the graph


def node(page: Page, todo_id: str) -> Locator:
    return view(page, "Graph").locator(f'.node[data-id="{todo_id}"]')


async def where(place: Locator) -> tuple[float, float]:
    box = await place.bounding_box()
    assert box is not None
    return box["x"], box["y"]


async def test_the_graph_shows_what_depends_on_what_and_follows(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a", item("b", "a"), item("c", "a"), item("d", "b", "c"), "e")
    page = await tabs.open(name, view="graph")
    graph, edges = view(page, "Graph"), view(page, "Graph").locator(".edge")
    await expect(graph).to_contain_text("The longest unfinished chain has 3 items")
    await expect(graph).to_contain_text("1 item without dependencies is not shown")
    await expect(edges).to_have_count(4)
    await expect(node(page, "d")).to_have_accessible_name("d: Do d. Pending, depends on b, c")
    places = [(await where(node(page, one)))[0] for one in "abcd"]
    assert places[0] + 99 < places[1] < places[3] - 99
    assert abs(places[1] - places[2]) < 9
    session.update("a", status="in_progress")
    await expect(node(page, "a")).to_have_class(re.compile("k-running"))
    session.update("a", status="completed")
    await expect(node(page, "a")).to_have_accessible_name("a: Do a. Completed, reported")
    await node(page, "a").focus()
    session.update("e", depends_on=["d"])
    await expect(edges).to_have_count(5)
    await expect(node(page, "a")).to_be_focused()
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("ArrowDown")
    await expect(node(page, "c")).to_be_focused()
    await page.keyboard.press("Enter")
    detail = page.get_by_role("complementary", name="Item")
    await expect(detail.get_by_role("heading", name="Do c")).to_be_visible()
    await node(page, "d").click()
    await expect(detail.get_by_role("heading", name="Do d")).to_be_visible()
    await expect(node(page, "d")).to_have_class(re.compile("is-chosen"))
    for one in "bcde":
        session.update(one, depends_on=[])
    await expect(graph).to_contain_text("No item depends on another")
    await expect(node(page, "d")).to_be_hidden()


async def test_of_a_long_list_the_graph_shows_the_part_that_matters(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("i1", *(item(f"i{number}", f"i{number - 1}") for number in range(2, 301)))
    page = await tabs.open(name, view="graph")
    graph = view(page, "Graph")
    await expect(graph).to_contain_text("Showing 80 of 300 linked items")
    await expect(node(page, "i250")).to_have_count(0)
    await page.get_by_role("tab", name="List").click()
    await row(page, "i250").get_by_text("Do i250").click()
    await page.get_by_role("tab", name="Graph").click()
    await expect(node(page, "i250")).to_be_in_viewport()
    await expect(node(page, "i251")).to_have_count(1)
    await node(page, "i249").click()
    await expect(page.get_by_role("complementary", name="Item").get_by_role("heading", name="Do i249")).to_be_visible()


# the timeline


async def test_the_timeline_shows_who_worked_on_what_while_it_happens(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted, door: Door
) -> None:
    session = begun("a", "b", "c")
    page = await tabs.open(name, view="timeline")
    timeline = view(page, "Timeline")
    await expect(timeline).to_contain_text("1 change by you")
    model = scripted(a=[{"error": {"status": 400}}, turn("true"), "Done."], b=[turn(door.command), "Done."])
    session.update("c", status="in_progress", actor="worker-1")
    started(server, name, mode="yolo", model=model, retries=1)
    door.reached()
    lanes = timeline.get_by_role("list", name="Who worked on what").get_by_role("listitem")
    executor = lanes.filter(has_text="Executor").get_by_role("button")
    await expect(executor).to_have_count(3)
    kinds = [re.compile("k-blocked"), re.compile("k-reported"), re.compile("k-running")]
    await expect(executor).to_have_class(kinds)
    await expect(lanes.filter(has_text="worker-1").get_by_role("button", name="c: Do c")).to_have_class(
        re.compile("k-running")
    )
    door.let()
    await expect(executor.nth(2)).to_have_class(re.compile("k-reported"))
    await expect(executor.nth(2)).to_have_accessible_name(re.compile(r"b: Do b — .* to .*, .* s"))
    session.update("c", status="completed", actor="worker-1")
    await expect(timeline.get_by_role("button", name="c: Do c")).to_have_class(re.compile("k-reported"))
    await timeline.get_by_role("button", name="Wider").click()
    await executor.nth(0).click()
    detail = page.get_by_role("complementary", name="Item")
    await expect(detail.get_by_role("heading", name="Do a")).to_be_visible()
    await expect(detail.locator(".try")).to_contain_text(
        [re.compile("Attempt 1 .* blocked, retried"), re.compile("Attempt 2 .* completed")]
    )


# the log


def long_log(session: headway.Session, calls: int) -> None:
    """A run that made so many calls, in one change."""
    begun, ended = (
        RunStarted(run_id="r1", task="", model="scripted", max_rounds=9, holder="nobody"),
        RunFinished(run_id="r1", reason="finished", rounds=1, tool_calls=calls),
    )
    made = [
        ToolStarted(round=1, call_id=f"c{number}", tool="bash", summary=f"call {number}")
        for number in range(1, calls + 1)
    ]
    session.log.execute(lambda state: StartRun("main", "loop", now(), begun, [*made, ended]))


async def test_a_long_log_is_read_to_its_beginning_and_stays_in_place(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a")
    long_log(session, 2_997)
    page = await tabs.open(name, view="log")
    log = page.locator("#view-log")  # by roles and names it takes long to find something among so many
    events, older, newest = log.locator("[data-version]"), log.locator(".older"), log.locator(".to-end")
    await expect(log).to_contain_text("300 of 3,000 events")
    await expect(events.last).to_be_in_viewport()
    session.add("One more")
    await expect(events.last).to_contain_text("One more")
    await expect(events.last).to_be_in_viewport()
    await expect(newest).to_be_hidden()
    await log.locator(".events-frame").hover()
    await page.mouse.wheel(0, -2_000)
    await expect(newest).to_be_visible()
    for drawn in (501, 1_401, 2_301, 3_001):
        await older.scroll_into_view_if_needed()
        looked_at = log.locator(f'[data-version="{await events.first.get_attribute("data-version")}"]')
        place = await where(looked_at)
        await older.click()
        await expect(events).to_have_count(drawn)
        assert await where(looked_at) == pytest.approx(place, abs=3)
    await expect(older).to_be_hidden()
    await expect(events.first).to_contain_text("added a: Do a")
    place = await where(looked_at)
    session.add("Even more")
    await expect(events).to_have_count(3_002)
    assert await where(looked_at) == pytest.approx(place, abs=3)
    await newest.click()
    await expect(events.last).to_contain_text("Even more")
    await expect(events.last).to_be_in_viewport()
    await expect(newest).to_be_hidden()


async def test_the_log_is_filtered_and_each_event_opens_to_what_it_did(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted
) -> None:
    begun("a", "b")
    written = {
        "text": "I write it.",
        "calls": [{"name": "write_file", "args": {"path": "log.txt", "content": "new\n"}}],
    }
    long = turn("seq 1 1200; echo the-end")
    page = await tabs.open(name, view="log")
    log = view(page, "Log")
    events = log.get_by_role("list", name="Events").get_by_role("listitem")
    started(
        server, name, mode="yolo", model=scripted(a=[written, long, "Done."], b=[turn("exit 4"), turn("true"), "Ok."])
    )
    await expect(events.last).to_contain_text("run finished")
    await expect(events.filter(has_text="said: I write it.")).to_contain_text("a #1")
    await expect(events.filter(has_text="prompt: Execute todo: a")).to_have_count(1)
    await expect(events.filter(has_text="tokens in")).to_have_count(0)
    await log.get_by_label("Which events").select_option("Problems")
    await expect(events).to_contain_text(["exit 4 — exit code 4"])
    await log.get_by_label("Which events").select_option("Tools and questions")
    await log.get_by_label("Whose events").select_option("a #1")
    await expect(events).to_have_count(6)
    await expect(events).to_contain_text([*["write_file"] * 2, *["seq 1 1200"] * 2, *["report_item"] * 2])
    await log.get_by_role("searchbox", name="Filter the log").fill("WRITE_FILE — ok")
    await expect(events).to_have_count(1)
    await events.locator("summary").click()
    await expect(events.locator("summary")).to_be_in_viewport()
    await expect(events.locator(".diff-added")).to_have_text("+new\n")
    await log.get_by_role("searchbox", name="Filter the log").fill("seq 1 1200")
    await events.last.locator("summary").click()
    await expect(events.last.get_by_label("Command")).to_have_text("seq 1 1200; echo the-end")
    await expect(events.last.locator(".output")).not_to_contain_text("the-end")
    await events.last.get_by_role("button", name="Show all").click()
    await expect(events.last.locator(".output")).to_contain_text("the-end")
    await expect(events.last.get_by_role("button", name="Show all")).to_have_count(0)
    await log.get_by_role("searchbox", name="Filter the log").fill("nothing like this")
    await expect(log).to_contain_text("No loaded event matches")


# one item


async def test_an_item_tells_what_was_done_on_it_and_who_has_it(
    tabs: Tabs, server: Server, name: str, begun: Begun, scripted: Scripted, door: Door
) -> None:
    session = begun("a", item("b", "a"), "c")
    page = await tabs.open(name, item="a")
    detail = page.get_by_role("complementary", name="Item")
    facts = detail.locator(".facts > div")
    calls = detail.get_by_role("list", name="Tool calls").get_by_role("listitem")
    await expect(detail).to_contain_text("No activity yet.")
    started(server, name, mode="yolo", only="a", model=scripted(a=[turn("exit 5"), turn(door.command), "It is done."]))
    door.reached()
    await expect(calls).to_contain_text(["exit code 5", "running"])
    await calls.last.locator("summary").click()
    await expect(calls.last).to_contain_text("bash · ")
    door.let()
    await expect(calls.last).to_have_class(re.compile("k-done"))
    await expect(calls.last.get_by_label("Command")).to_contain_text("sleep 0.02")
    await expect(detail.locator(".try")).to_contain_text(
        re.compile("Attempt 1 .* completed .* 2 calls.*It is done.", re.S)
    )
    await expect(facts.filter(has_text="Evidence")).to_contain_text("✓? reported")
    await expect(facts.filter(has_text="Took")).to_contain_text(" s")
    await expect(facts.filter(has_text="Tool calls")).to_contain_text("2, 1 failed")
    await facts.filter(has_text="Needed by").get_by_role("button", name="b").click()
    await expect(detail.get_by_role("heading", name="Do b")).to_be_visible()
    await expect(facts.filter(has_text="Depends on").get_by_role("button")).to_have_text("✓? a")
    assert session.claim("worker-1") is not None
    await expect(facts.filter(has_text="Owner")).to_have_text(re.compile(r"worker-1 until \d\d:\d\d"))
    session.update("b", status="completed", actor="worker-1")
    await expect(detail.get_by_role("button", name="Completed, reported")).to_be_visible()
    await expect(facts.filter(has_text="Owner")).to_have_text("Ownerworker-1")
    long_log(session, 700)
    page = await tabs.open(name, item="a")
    detail = page.get_by_role("complementary", name="Item")
    await expect(detail).to_contain_text("No activity in the latest events")
    await detail.get_by_role("button", name="Search earlier events").click()
    await expect(detail.get_by_role("list", name="Tool calls").get_by_role("listitem")).to_have_count(2)
    await expect(detail.locator(".try")).to_contain_text("Attempt 1")


async def test_the_report_opens(tabs: Tabs, name: str, begun: Begun) -> None:
    begun("a", item("b", "a"))
    page = await tabs.open(name)
    async with page.expect_popup() as opened:
        await page.get_by_role("link", name="Report").click()
    report = await opened.value
    await expect(report.get_by_role("heading", level=1)).to_contain_text(name)
    await expect(report.get_by_role("cell", name="Do b")).to_be_visible()
