"""A plan that was written for an editor comes back equal; what a person makes of it is read, or named by its line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.growth import assert_linear
from tests.support.tables import check_rows

from headway.core import text as core_text
from headway.core.errors import InvalidPlan
from headway.core.plan_markdown import TEMPLATE, is_blank, parse_edited_plan, plan_from_markdown, plan_to_markdown
from headway.core.plans import Plan, PlanStep, check_plan
from headway.core.text import trim_text

from .samples import HOSTILE, hostile_text

SAMPLE = Plan(
    "Add JWT login",
    "Users log in with a token.\n\nWhy: `sessions.py` keeps **state**.",
    (
        PlanStep("step-1", "Read `auth/session.py`", "auth", estimated_time="45min", verify="make `test`"),
        PlanStep("step-2", "Issue tokens", "auth", ("step-1",), ("Clock skew", "Keys in logs"), "1.5 h"),
        PlanStep("step-3", "写测试", None, ("step-1", "step-2")),
    ),
    ("Old clients break",),
    "pytest, then by hand",
    "1 day",
)
FACTS = "`- module:`, `- depends on:`, `- time:`, `- check:` or `- risk:`"
WRITTEN = """\
# Add JWT login

Users log in with a token.

Why: `sessions.py` keeps **state**.

## Steps

1. **step-1** Read `auth/session.py`
   - module: auth
   - time: 45min
   - check: make `test`
2. **step-2** Issue tokens
   - module: auth
   - depends on: step-1
   - time: 1.5 h
   - risk: Clock skew
   - risk: Keys in logs
3. **step-3** 写测试
   - depends on: step-1, step-2

## Risks

- Old clients break

## Testing strategy

pytest, then by hand

## Duration

1 day
"""


def markdown(*steps: str, overview: str = "Why.") -> str:
    return "\n".join(["# T", "", overview, "", "## Steps", "", *steps, ""])


def back(plan: Plan) -> Plan:
    return check_plan(plan_from_markdown(plan_to_markdown(plan)))


def faults(text: str) -> list[str]:
    with pytest.raises(InvalidPlan) as caught:
        parse_edited_plan(text)
    return caught.value.violations


# there and back


def test_a_plan_is_written_as_a_person_would_write_it():
    assert plan_to_markdown(SAMPLE) == WRITTEN
    assert parse_edited_plan(WRITTEN) == SAMPLE


def test_a_plan_of_what_is_required_has_no_empty_parts():
    plan = Plan("T", "O", (PlanStep("a", "Do"),))
    assert plan_to_markdown(plan) == "# T\n\nO\n\n## Steps\n\n1. **a** Do\n"
    assert back(plan) == plan


MARKS = ["## Steps", "# T", "1. **a** b", "- module: x", "<!--", "-->", "**", "`c`", "<br>", "&#10;", "&amp;"]
text = st.one_of(
    hostile_text,
    st.text(st.sampled_from("#*-_`\\<>!&;:：,，、[]().1 a字\n\t"), max_size=30),
    st.lists(
        st.sampled_from([*MARKS, "\n", " ", "\\", "![x](y)", "<b>", "\u3000", "\x85", "step-1", "\r\n", "\ufeff"]),
        max_size=8,
    ).map("".join),
)
sound = text.map(trim_text).filter(lambda text: not core_text.is_blank(text))
maybe = st.none() | sound


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    ids = draw(st.lists(sound | st.sampled_from(["step-1", "a", "Steps"]), min_size=1, max_size=4, unique=True))
    several = st.lists(sound, max_size=3).map(tuple)
    steps = [
        PlanStep(
            step_id,
            draw(sound),
            draw(maybe),
            tuple(draw(st.lists(st.sampled_from(ids[:place]), max_size=4))) if place else (),
            draw(several),
            draw(maybe),
            draw(maybe),
        )
        for place, step_id in enumerate(ids)
    ]
    plan = Plan(draw(sound), draw(sound), tuple(steps), draw(several), draw(maybe), draw(maybe))
    return check_plan(plan)


@settings(max_examples=some(400))
@given(plans(), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_plan_comes_back_equal(plan: Plan, line_end: str):
    written = plan_to_markdown(plan)
    assert "\x1b" not in written
    assert check_plan(plan_from_markdown("\ufeff" + written.replace("\n", line_end))) == plan
    assert parse_edited_plan("\n".join(line.rstrip() for line in written.split("\n"))) == plan


def test_a_hostile_text_stays_where_it_was() -> None:
    def check(raw: str) -> None:
        plan = check_plan(
            {
                "title": raw,
                "overview": raw,
                "steps": [
                    {"id": raw, "description": raw, "module": raw, "risks": [raw], "estimatedTime": raw, "verify": raw},
                    {"id": "b", "description": f"x{raw}", "dependencies": [raw]},
                ],
                "risks": [raw],
                "testingStrategy": raw,
                "estimatedDuration": raw,
            }
        )
        assert back(plan) == plan

    check_rows([text for text in HOSTILE if text], check)


@given(text)
def test_any_text_is_read_or_refused_in_words(raw: str):
    try:
        parse_edited_plan(raw)
    except InvalidPlan as error:
        assert all(line.startswith("line ") for line in error.violations)


def test_text_looks_as_it_was_meant_wherever_it_can():
    said = "**bold** _it_ a * b, a < b & c, [link](x), C:\\temp, `List<int>`, snake_case, #4, ~x~"
    plan = Plan("T", said, (PlanStep("a", said),))
    assert plan_to_markdown(plan).count(said) == 2
    assert back(plan) == plan


def test_what_would_be_read_as_something_else_is_written_so_that_it_is_not() -> None:
    def check(raw: str, line: str) -> None:
        plan = check_plan({"title": "T", "overview": raw, "steps": [{"id": "a", "description": "b"}]})
        assert plan_to_markdown(plan).split("\n")[2] == (line if raw[0] != " " else f"\\{line}")
        assert back(plan) == plan

    check_rows(
        [
            ("# no heading", "\\# no heading"),
            ("  ## Steps", "## Steps"),
            ("<!-- seen -->", "\\<!-- seen -->"),
            ("a <br> b <script>", "a \\<br> b \\<script>"),
            ("odd ` tick", "odd \\` tick"),
            ("```sh", "\\`\\`\\`sh"),
            ("\\*", "\\\\*"),
            ("ends in \\", "ends in \\\\"),
            ("&amp; &x;", "\\&amp; &x;"),
            ("![pixel](http://x)", "!\\[pixel](http://x)"),
            ("bell \x07 `x\x07`", "bell &#7; \\`x&#7;\\`"),
        ],
        check,
    )


def test_lines_of_running_text_stay_lines():
    overview = "one\n\n  - two \n## three\n\n\nfour"
    plan = Plan("T", overview, (PlanStep("a", "b"),), testing_strategy=overview, estimated_duration="1\n2")
    assert "one\n\n  - two&#32;\n\\## three\n\n\nfour\n" in plan_to_markdown(plan)
    assert back(plan) == plan


def test_elsewhere_a_new_line_is_a_break():
    plan = Plan("a\nb", "O", (PlanStep("c\nd", "e\nf", risks=("g\nh",)),))
    assert "# a<br>b\n" in plan_to_markdown(plan)
    assert back(plan) == plan


def test_ids_with_commas_and_marks_can_be_depended_on():
    plan = check_plan(
        {
            "title": "T",
            "overview": "O",
            "steps": [
                {"id": "a, b，c、d", "description": ": x"},
                {"id": "`x`", "description": "：y"},
                {"id": "**z**", "description": "z", "dependencies": ["a, b，c、d", "`x`", "`x`"]},
            ],
        }
    )
    assert back(plan) == plan


@pytest.mark.full
def test_thousands_of_steps_come_back():
    steps = tuple(PlanStep(f"s{n}", "Do", dependencies=(f"s{n - 1}",) if n else ()) for n in range(some(10_000)))
    plan = Plan("T", "O", steps)
    assert back(plan) == plan


# what a person writes


def test_a_step_without_an_id_gets_its_number():
    plan = parse_edited_plan(
        markdown("1. **step-1** A", "1. B", "   - depends on: step-1", "1) C", "   - depends on: step-2")
    )
    assert [(step.id, step.description, step.dependencies) for step in plan.steps] == [
        ("step-1", "A", ()),
        ("step-2", "B", ("step-1",)),
        ("step-3", "C", ("step-2",)),
    ]


def test_a_fresh_id_is_never_one_that_is_taken():
    plan = parse_edited_plan(markdown("1. A", "2. **step-1** B", "3. **step-4** C", "4. D"))
    assert [step.id for step in plan.steps] == ["step-5", "step-1", "step-4", "step-6"]


def test_many_steps_without_ids_among_taken_ones_are_numbered_in_one_pass():
    def number(many: int) -> None:
        plan = parse_edited_plan(markdown(*["1. A"] * many, *[f"1. **step-{n}** B" for n in range(1, many + 1)]))
        assert len({step.id for step in plan.steps}) == 2 * many

    assert_linear(number, 300)


def test_what_is_written_loosely_is_understood():
    plan = parse_edited_plan(
        "#Title\n\n## Overview:\nWhy.\n\n### A note\nmore\n\n### STEPS\n"
        "  1. **a**: First\n* Module： core\n\n1)  **b** — second,\n   which goes on\n\n   and on\n"
        "    + depends_on: `a`, **a**\n    + Depends on: a、a，a\n\t- Estimated time: 2 h\n   - risks: one\n     more\n"
        "   - module:\n\n"
        "## risk\n* slow\n  indeed\n\n+ other\n-\n## Testing\nby hand\n## estimated duration\n2h"
    )
    assert plan == Plan(
        "Title",
        "Why.\n\n### A note\nmore",
        (
            PlanStep("a", "First", "core"),
            PlanStep("b", "— second, which goes on\nand on", None, ("a",) * 5, ("one more",), "2 h"),
        ),
        ("slow indeed", "other"),
        "by hand",
        "2h",
    )


def test_comments_are_left_out_where_they_begin_a_line():
    plan = parse_edited_plan(
        "<!-- a -->\n# T <!-- stays -->\n\none\n  <!-- b\n## Steps\nc --> <!--d-->\ntwo\n<!-- e --> three\n\n## Steps\n"
        "<!-- 1. no -->\n1. A\n   <!-- - module: no -->\n"
    )
    assert plan == Plan("T <!-- stays -->", "one\ntwo\n three", (PlanStep("step-1", "A"),))


def test_a_text_of_comments_is_blank():
    assert is_blank("") and is_blank("\n <!-- a\nb -->\n\n<!-- open")
    assert not is_blank("<!-- a --> b")


def test_the_template_asks_for_what_is_missing():
    assert faults(TEMPLATE) == [
        "line 3: The title is missing; start with `# ` and the title",
        "line 3: The overview is missing; write it below the title",
        "line 21: description: Required",
    ]


def test_a_template_filled_in_is_a_plan():
    text = TEMPLATE.replace("\n#\n", "\n# T\n").replace("## Steps", "Why.\n\n## Steps").replace("\n1.\n", "\n1. Do\n")
    assert parse_edited_plan(text) == Plan("T", "Why.", (PlanStep("step-1", "Do"),))


def test_each_fault_names_its_line() -> None:
    def check(text: str, expected: list[str]) -> None:
        assert faults(text) == expected

    check_rows(
        [
            (
                "",
                [
                    "line 1: The title is missing; start with `# ` and the title",
                    "line 1: The overview is missing; write it below the title",
                    "line 1: There are no steps; write them below `## Steps`, such as `1. **step-1** What to do`",
                ],
            ),
            ("\nHello\nworld\n", ["line 2: A plan starts with its title, such as `# Add a login`"]),
            (
                "# T\nO\n## Stepps\n1. A",
                [
                    "line 3: 'Stepps' is not a heading of a plan; the headings are"
                    " Steps, Risks, Testing strategy and Duration"
                ],
            ),
            (
                "# T\nO\n# U\n",
                [
                    (
                        "line 3: 'U' is not a heading of a plan; the headings are Steps, Risks, Testing strategy and "
                        "Duration"
                    )
                ],
            ),
            ("# T\nO\n## Steps\n1. A\n## Steps\n1. B", ["line 5: The heading 'Steps' is already in line 3"]),
            (
                "# T\nO\n## Steps\n- module: x",
                ["line 4: This does not belong to a step; write a step above it, such as `1. **step-1** What to do`"],
            ),
            (
                "# T\nO\n## Steps\nDo it",
                [
                    "line 4: Expected a step such as `1. **step-1** What to do`,"
                    " or a detail of a step such as `- module: …`"
                ],
            ),
            (
                markdown("1. A", "   - colour: red"),
                [f"line 8: Expected {FACTS}, found 'colour: red'"],
            ),
            (
                markdown("1. A", "   - B\x1b"),
                [f"line 8: Expected {FACTS}, found 'B␛'"],
            ),
            (
                markdown("1. A", "   - time: 1h", "   - time: 2h"),
                ["line 9: 'time' is given twice for this step; keep only one"],
            ),
            (markdown("1. A", "", "## Risks", "slow"), ["line 10: Expected a risk such as `- It may be slow`"]),
            (
                markdown("1. A", "<!-- open", "2. B"),
                ["line 8: The comment that starts here is not closed; close it with -->"],
            ),
            (markdown("1. **a**"), ["line 7: description: Required"]),
            (markdown("1. **a** A", "2. **a** B"), ["line 8: id: Duplicate id 'a'"]),
            (markdown("1. **a** A", "   - depends on: b"), ["line 8: depends on: Unknown id 'b'"]),
            (markdown("1. **a** A", "   - depends on: a"), ["line 8: depends on: 'a' depends on itself"]),
            (
                markdown("1. **a** A", "   - depends on: b", "2. **b** B", "   - depends on: a"),
                ["line 5: Dependency cycle a → b → a"],
            ),
            (
                markdown(),
                ["line 5: There are no steps; write them below `## Steps`, such as `1. **step-1** What to do`"],
            ),
            (markdown("1. A", overview=""), ["line 1: The overview is missing; write it below the title"]),
        ],
        check,
    )


def test_all_lines_that_cannot_be_read_are_named_at_once():
    text = "intro\n# T\nO\n## Foo\nskipped\n## Steps\nx\n1. A\n   - b\n## Risks\ny\n"
    assert [line.partition(": ")[0] for line in faults(text)] == ["line 1", "line 4", "line 7", "line 9", "line 11"]
    with pytest.raises(InvalidPlan, match="line 11: Expected a risk"):
        plan_from_markdown(text)


MANY = some(100_000)


@pytest.mark.full
@pytest.mark.parametrize(
    "raw",
    [
        *("<!---->" * MANY, "`" * 3 * MANY, "`a" * MANY, "<!--\n" * MANY, "  x\n" * MANY, "**" * MANY),
        *("- depends on: " + "a," * MANY, "&#" * MANY, "\\" * (3 * MANY + 1), "1. **" + "\\*" * MANY),
    ],
)
def test_hostile_lines_are_read_to_their_end(raw: str):
    for text in (raw, markdown("1. **a** A", f"   {raw}"), f"# T\n{raw}"):
        try:
            plan_to_markdown(parse_edited_plan(text))
        except InvalidPlan:
            continue
    assert plan_to_markdown(Plan(raw, raw, (PlanStep(raw, raw),)))


def test_a_step_may_name_what_it_needs_by_number() -> None:
    plan = Plan.from_markdown(
        "# T\n\nWhy.\n\n## Steps\n\n1. A\n2. **b** B\n   - depends on: 1\n3. C\n   - depends on: 1, 2\n4. **1** D\n"
    )
    assert [step.dependencies for step in plan.steps] == [(), ("1",), ("1", "b"), ()]
    plan = Plan.from_markdown("# T\n\nWhy.\n\n## Steps\n\n1. A\n2. **b** B\n3. C\n   - depends on: 1, 2\n")
    assert plan.steps[2].dependencies == ("step-1", "b")
    assert Plan.from_markdown(plan.to_markdown()) == plan
    with pytest.raises(InvalidPlan, match="line 9: depends on: Unknown id '4'"):
        Plan.from_markdown("# T\n\nWhy.\n\n## Steps\n\n1. A\n2. B\n   - depends on: 4\n")
