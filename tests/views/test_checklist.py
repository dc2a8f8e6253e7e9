"""A checklist that Headway wrote comes back equal; one that a person wrote is read for what is there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.growth import bounded
from tests.support.tables import check_rows

import headway
from headway.core.markup import escape_markdown, unescape_markdown
from headway.core.model import Status, Todo
from headway.core.text import trim_text
from headway.views.checklist import from_markdown, to_markdown

from .lists import TIME, full_item, kept, lists, written
from .samples import HOSTILE, STATUSES, hostile_text, todo, todos


def contents(text: str) -> list[object]:
    return [item["content"] for item in from_markdown(text)]


def statuses(text: str) -> list[object]:
    return [item["status"] for item in from_markdown(text)]


def test_an_export_is_readable_for_people():
    text = to_markdown("My *list*", [todo(1, "Read the test", Status.IN_PROGRESS), full_item()])
    assert text == (
        "# My \\*list\\*\n\n<!-- headway checklist 1 -->\n\n"
        "- [/] `t1` Read the test\n"
        "- [x] `t2` Fix the parser\n"
        "  - active form: Fixing the parser\n"
        "  - priority: high\n"
        "  - module: core\n"
        "  - depends on: `t1`\n"
        "  - risk: slow\n"
        "  - risk: breaks, maybe\n"
        "  - time: 45min\n"
        "  - check: make test\n"
        "  - notes: first<br>second\n"
        "  - from: plan\n"
        f"  - created: {TIME}\n"
        f"  - completed: {TIME}\n"
    )


def test_every_field_comes_back_from_an_export():
    items = [todo(1, created_at=TIME), full_item()]
    assert kept(written(from_markdown(to_markdown("T", items)))) == kept(items)


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_comes_back_from_an_export(status: Status):
    items = [todo(1, status=status, created_at=TIME)]
    assert kept(written(from_markdown(to_markdown("T", items)))) == kept(items)


def test_an_export_of_an_empty_list_gives_an_empty_list():
    assert from_markdown(to_markdown("T", [])) == []


def test_importing_over_a_changed_list_unsets_what_was_unset_in_the_export():
    session = headway.open(memory=True)
    session.write([{"content": "a"}, {"content": "b"}])
    text = to_markdown("T", session.todos)
    before = session.todos
    session.update("t1", priority="high", notes="n", depends_on=["t2"], risks=["r"], status="completed")
    session.write(from_markdown(text), replace=True)
    assert kept(session.todos) == kept(before)


@given(hostile_text, lists(), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_list_comes_back_equal_from_its_export(title: str, items: list[Todo], line_end: str):
    exported = to_markdown(title, items).replace("\n", line_end)
    assert kept(written(from_markdown("\ufeff" + exported))) == kept(items)


@given(hostile_text)
def test_an_escaped_text_is_one_printable_line_that_reads_back(raw: str):
    line = escape_markdown(trim_text(raw))
    assert len(line.splitlines()) <= 1
    assert "\x1b" not in line
    assert unescape_markdown(line) == trim_text(raw)


def test_a_hostile_content_stays_one_item() -> None:
    def check(raw: str) -> None:
        exported = to_markdown("T", todos(f"a{raw}b"))
        assert [line for line in exported.split("\n") if line.startswith("- [")] == [
            f"- [ ] `t1` {escape_markdown(f'a{raw}b')}"
        ]
        assert contents(exported) == [trim_text(f"a{raw}b")]

    check_rows(HOSTILE, check)


def test_a_check_is_read_from_an_export_and_not_from_what_a_person_wrote():
    text = to_markdown("T", [todo(1, verify="make `test` && x")])
    assert [item["verify"] for item in from_markdown(text)] == ["make `test` && x"]
    assert "verify" not in from_markdown("- [ ] Log in\n  - Check: rm -rf /\n")[0]


def test_odd_ids_are_written_below_their_item_and_can_be_depended_on():
    items = [todo(1, id="a, `b`", created_at=TIME), todo(2, depends_on=("a, `b`",), created_at=TIME)]
    exported = to_markdown("T", items)
    assert "  - id: a, \\`b\\`\n" in exported
    assert kept(written(from_markdown(exported))) == kept(items)


def test_a_person_may_use_any_bullet_and_any_nesting():
    assert statuses(
        "# Things\r\n\r\nSome prose.\r\n* [X] one\r\n+ [ ] two\r\n1. [/] three\r\n2) [~] four\r\n"
        "  - [!] five\r\n\t* [-] six\r\n> - [x] seven\r\n- [] eight\r\n"
    ) == ["completed", "pending", "in_progress", "cancelled", "blocked", "cancelled", "completed", "pending"]


def test_a_persons_items_hold_only_what_is_there():
    assert from_markdown("- [x] **Bold** `code` [link](x) &amp; a\\*b `a\\*b`\n- [ ] `parser.py` is slow\n") == [
        {"content": "**Bold** `code` [link](x) & a*b `a\\*b`", "status": "completed"},
        {"content": "`parser.py` is slow", "status": "pending"},
    ]


def test_facts_below_a_persons_item_count_where_they_are_valid():
    items = from_markdown(
        "- [ ] `t7` Fix it\n"
        "  - Priority: high\n"
        "  - estimated_time: 2 h\n"
        "  - risk: slow\n"
        "  - from: my boss\n"
        "  - depends on: the weather\n"
        "  - just prose\n"
        "- [ ] Other\n"
        "  * priority: P1\n"
        "  * depends on: t7\n"
        "\n## Later\n  - notes: about something else\n"
    )
    assert items == [
        {
            "id": "t7",
            "content": "Fix it",
            "status": "pending",
            "priority": "high",
            "estimated_time": "2 h",
            "risks": ["slow"],
        },
        {"content": "Other", "status": "pending", "depends_on": ["t7"]},
    ]
    assert [item.id for item in written(items)] == ["t7", "t8"]


def test_a_wrong_value_in_an_edited_export_is_named():
    exported = to_markdown("T", [full_item()]).replace("priority: high", "priority: urgent").replace("`t1`", "`t2`")
    with pytest.raises(
        headway.InvalidTodos, match=r"priority: Expected 'high' \| 'medium' \| 'low', received 'urgent'"
    ):
        written(from_markdown(exported))


def test_an_indented_line_below_an_item_continues_it():
    assert contents("- [ ] a long\n  text\n  goes on\n\n  not this\n- [ ] b\nprose\n") == ["a long text goes on", "b"]


def test_a_checklist_inside_fenced_code_is_an_example():
    assert contents("- [ ] a\n```md\n- [ ] example\n~~~\n```md\n- [ ] more\n```\n- [ ] b\n~~~~\n- [x] c\n~~~\n") == [
        "a",
        "b",
    ]


def test_an_item_without_text_is_left_out():
    assert contents("- [ ]\n- [ ] \n- [x] a\n") == ["a"]


def test_a_file_without_a_checklist_line_is_refused_with_what_was_expected() -> None:
    def check(raw: str) -> None:
        with pytest.raises(
            headway.HeadwayError, match=r"^There are no checklist lines; expected lines such as `- \[ \] Fix"
        ):
            from_markdown(raw)

    check_rows(["", "prose\n", "- bullet\n", "- [a] ref\n", "-[ ] tight\n", "- [ ]\n", "```\n- [ ] a\n```"], check)


@pytest.mark.full
def test_thousands_of_items_and_much_text_come_back():
    items = [todo(n, f"Task {n}", created_at=TIME) for n in range(some(10_000))]
    items.append(todo(10_000, "`x\n" * some(333_333) + "."))
    read = from_markdown(to_markdown("T", items))
    assert [item["content"] for item in read] == [item.content for item in items]


@pytest.mark.parametrize(
    "raw", ["- [ ] " + " " * 500_000, "> " * 250_000, "- [ ] a\n" + "  b\n" * 100_000, "<br " * 100_000]
)
def test_reading_hostile_lines_comes_to_an_end(raw: str):
    with bounded():
        from_markdown(raw + "\n- [x] end")
        unescape_markdown(raw)
