"""What shows on the page that an item is done, and the check that a person gives it there."""

from __future__ import annotations

import re

from playwright.async_api import expect

from headway.core.evidence import Evidence, EvidenceLevel

from ..conftest import Begun
from .tabs import Tabs, detail, form, new_item, row

PASSED = Evidence(EvidenceLevel.VERIFIED, "pytest -q", 0, ("calc.py",), 1.5, "collected 2 items\n<b>2 passed</b>")
WEAKENED = Evidence(EvidenceLevel.COMMAND_OK, "pytest -q", 0, note="check changed: tests/test_calc.py")
INFERRED = Evidence(EvidenceLevel.INFERRED)
WORDS = {"a": "verified", "b": "command ok", "c": "inferred", "d": "reported"}


async def test_only_what_is_verified_has_a_plain_tick_and_the_details_tell_of_the_check(
    tabs: Tabs, name: str, begun: Begun
) -> None:
    session = begun(*WORDS)
    for todo_id, evidence in zip(WORDS, (PASSED, WEAKENED, INFERRED, None), strict=True):
        session.update(todo_id, status="completed", evidence=evidence, verify="pytest -q")
    page = await tabs.open(name)
    for todo_id, word in WORDS.items():
        mark = row(page, todo_id).get_by_role("button", name=re.compile(f"^Completed, {word}: change"))
        await expect(mark).to_have_text("✓" if word == "verified" else "✓?")
        await expect(row(page, todo_id)).to_have_class(re.compile("k-done" if word == "verified" else "k-reported"))
    for todo_id in "bcd":
        await expect(row(page, todo_id).locator(".about-level")).to_have_text(WORDS[todo_id])
    await expect(page.locator("#head")).to_contain_text("4 of 4 completed · 1 verified")
    facts = detail(page).locator(".facts > div")
    evidence, check = (facts.filter(has=page.get_by_text(what, exact=True)) for what in ("Evidence", "Check"))
    await row(page, "a").locator(".open").click()
    await expect(evidence).to_contain_text("✓ verified — its declared check passed")
    await expect(evidence.locator("pre.command")).to_have_text("pytest -q  → exit code 0, 1.5 s")
    await expect(evidence.locator(".output")).to_have_text("collected 2 items\n<b>2 passed</b>")
    await expect(check).to_contain_text("pytest -q")
    await row(page, "b").locator(".open").click()
    await expect(evidence).to_contain_text("✓? command ok")
    await expect(evidence).to_contain_text("check changed: tests/test_calc.py")
    await row(page, "c").locator(".open").click()
    await expect(evidence).to_contain_text("✓? inferred — based on the agent’s calls")


async def test_a_check_is_given_with_a_new_item_changed_and_taken_away(tabs: Tabs, name: str, begun: Begun) -> None:
    session = begun("a")
    page = await tabs.open(name)
    await new_item(page).fill("Fix the parser")
    await page.get_by_label("Check: a command").fill(" pytest -q ")
    await page.keyboard.press("Enter")
    await expect(row(page, "t1")).to_contain_text("Fix the parser")
    assert session.todo_list.items["t1"].verify == "pytest -q"
    await expect(page.get_by_label("Check: a command")).to_have_value("")
    await row(page, "t1").locator(".open").click()
    for typed, kept in (("make test", "make test"), ("", None)):
        await detail(page).get_by_role("button", name="Edit").click()
        await form(page).get_by_label("Check", exact=True).fill(typed)
        await form(page).get_by_role("button", name="Save").click()
        await expect(form(page)).to_have_count(0)
        assert session.todo_list.items["t1"].verify == kept
