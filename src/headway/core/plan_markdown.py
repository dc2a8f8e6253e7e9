"""A plan as Markdown that a person edits, and back. What was written and not changed comes back equal.

Texts stay as they are but for what would be read as something else: emphasis, links and code are the author's own.
Comments that begin a line are left out. What cannot be read is named by its line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headway.core import markup
from headway.core.errors import InvalidPlan
from headway.core.plans import Plan, check_plan
from headway.core.text import sanitize_for_display

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headway.core.plans import PlanStep

TEMPLATE = """\
<!-- Write the plan below, save and close. Comments like this one are ignored. -->

#

<!-- ↑ The title. Below it: what to do, why, and how. -->

## Steps

<!--
1. **step-1** What to do first
   - module: parser
   - time: 45min
   - check: pytest -q tests/test_parser.py
2. **step-2** What to do next
   - depends on: step-1
   - risk: What could go wrong

A step without an id gets its number as id, such as step-3; "depends on: 1, 2" names steps by their numbers.
-->

1.

## Risks

## Testing strategy

## Duration
"""
_SECTIONS = {
    "overview": "overview",
    "steps": "steps",
    "risks": "risks",
    "risk": "risks",
    "testing strategy": "testingStrategy",
    "testing": "testingStrategy",
    "duration": "estimatedDuration",
    "estimated duration": "estimatedDuration",
}
_TEXTS = ("overview", "testingStrategy", "estimatedDuration")
"""Sections of running text."""
_LABELS = {
    "module": "module",
    "depends on": "dependencies",
    "dependencies": "dependencies",
    "time": "estimatedTime",
    "estimated time": "estimatedTime",
    "check": "verify",
    "verify": "verify",
    "risk": "risks",
    "risks": "risks",
}
_SAID = {"dependencies": "depends on", "estimatedTime": "time", "risks": "risk", "verify": "check"}
_KEPT = "\u200c\u200d\u3000"
"""Not printable to Python, at home in some scripts and in emoji."""
_READ_OTHERWISE = re.compile(
    r"(?P<code>(?<!`)`[^`\n]+`(?!`))|\\(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#\d{1,7};|(?:amp|lt|gt|quot);)|(?<=!)\[|`"
)
"""What unescaping, a comment or an eager viewer would take for something else; code is left as it is."""
_COMMENT = re.compile(r"\s*<!--")
_TITLE = re.compile(r" {0,3}#(?!#)(?P<name>.*)$")
_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})(?:\s+(?P<name>.*))?$")
_STEP = re.compile(r" {0,2}\d{1,9}[.)](?:\s+(?P<text>.*))?$")
_STEP_ID = re.compile(r"\*\*(?P<id>(?:\\.|[^\\*])+)\*\*\s*[:：]?\s*(?P<text>.*)$")
_BULLET = re.compile(r"\s*[-*+](?:\s+(?P<text>.*))?$")
_FACT = re.compile(r"(?P<label>[A-Za-z][A-Za-z _]{0,30})[:：]\s*(?P<text>.*)$")
_BETWEEN = re.compile("[,，、]")
_MARKED = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<bold>[^*]+)\*\*")
_LINE_END = re.compile(r"\r\n|\n|\r")
_STEP_SAMPLE = "`1. **step-1** What to do`"


def plan_to_markdown(plan: Plan) -> str:
    """The plan for an editor; `plan_from_markdown` gives it back."""
    lines = [f"# {_to_one_line(plan.title)}", "", *_format_text(plan.overview), "", "## Steps", ""]
    for number, step in enumerate(plan.steps, 1):
        lines += _format_step(f"{number}. ", step)
    if plan.risks:
        lines += ["", "## Risks", "", *(f"- {_to_one_line(risk)}" for risk in plan.risks)]
    if plan.testing_strategy:
        lines += ["", "## Testing strategy", "", *_format_text(plan.testing_strategy)]
    if plan.estimated_duration:
        lines += ["", "## Duration", "", *_format_text(plan.estimated_duration)]
    return "\n".join(lines) + "\n"


def _format_step(mark: str, step: PlanStep) -> Iterator[str]:
    text = _to_one_line(step.description)
    if text[0] in ":：":
        text = f"&#{ord(text[0])};{text[1:]}"
    yield f"{mark}**{markup.escape_markdown(step.id)}** {text}"
    indent = " " * len(mark)
    if step.module:
        yield f"{indent}- module: {_to_one_line(step.module)}"
    if step.dependencies:
        yield f"{indent}- depends on: {', '.join(_format_reference(node) for node in step.dependencies)}"
    if step.estimated_time:
        yield f"{indent}- time: {_to_one_line(step.estimated_time)}"
    if step.verify:
        yield f"{indent}- check: {_to_one_line(step.verify)}"
    for risk in step.risks:
        yield f"{indent}- risk: {_to_one_line(risk)}"


def _format_reference(step_id: str) -> str:
    return _BETWEEN.sub(lambda found: f"&#{ord(found[0])};", markup.escape_markdown(step_id))


def _to_one_line(text: str) -> str:
    """The text on one line."""
    line = _READ_OTHERWISE.sub(_escape_match, text)
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() or char in _KEPT else _escape_unprintable(char) for char in line)


def _escape_match(found: re.Match[str]) -> str:
    code = found["code"]
    if code is None:
        return f"\\{found[0]}"
    return code if code.isprintable() else f"\\`{_to_one_line(code[1:-1])}\\`"


def _escape_unprintable(char: str) -> str:
    return "<br>" if char == "\n" else f"&#{ord(char)};"


def _format_text(text: str) -> Iterator[str]:
    """Running text, line by line."""
    for raw in text.split("\n"):
        line = _to_one_line(raw)
        bare = line.rstrip()
        line = bare + "".join(f"&#{ord(char)};" for char in line[len(bare) :])
        start = len(line) - len(line.lstrip())
        yield f"{line[:start]}\\{line[start:]}" if line[start : start + 1] == "#" else line


def plan_from_markdown(text: str) -> dict[str, object]:
    """Return what the text says, for `check_plan`. Raises `InvalidPlan` with every line that cannot be read."""
    return _read_text(text).to_raw_plan()


def parse_edited_plan(text: str) -> Plan:
    """The plan that a person wrote. Raises `InvalidPlan` with every fault and its line."""
    reader = _read_text(text)
    try:
        return check_plan(reader.to_raw_plan())
    except InvalidPlan as error:
        raise InvalidPlan([reader.locate_violation(violation) for violation in error.violations]) from None


def is_blank(text: str) -> bool:
    """Whether the text has nothing in it but comments."""
    return not any(line.strip() for _, line in _number_lines(text, []))


def _read_text(text: str) -> _PlanReader:
    reader = _PlanReader()
    for number, line in _number_lines(text, reader.faults):
        reader.take(number, line)
    if reader.faults:
        raise InvalidPlan(reader.faults)
    return reader


def _number_lines(text: str, faults: list[str]) -> Iterator[tuple[int, str]]:
    """The numbered lines outside comments."""
    opened = 0
    for number, line in enumerate(_LINE_END.split(text.removeprefix("\ufeff")), 1):
        here, commented = 0, opened > 0
        while opened or _COMMENT.match(line, here):
            if not opened:
                opened, here, commented = number, line.index("<!--", here) + 4, True
            end = line.find("-->", here)
            if end < 0:
                break
            opened, here = 0, end + 3
        rest = "" if opened else line[here:].rstrip()
        if rest or not commented:
            yield number, rest
    if opened:
        faults.append(f"line {opened}: The comment that starts here is not closed; close it with -->")


class _FoundStep:
    """A step as it was found: the parts of each text, to be joined."""

    def __init__(self, number: int, step_id: str | None, text: str) -> None:
        self.places = {"": number}
        self.id = step_id
        self.description = [text]
        self.one: dict[str, list[str]] = {}
        self.many: dict[str, list[list[str]]] = {}
        self.last = self.description
        """What an indented line goes on with."""

    def record(self, ids: Sequence[str], number: int) -> dict[str, object]:
        """The step as data. What it needs is named by id, or by the number of a step where no id is that number."""
        record: dict[str, object] = {"id": ids[number]}
        record["description"] = _join_parts(self.description)
        record |= {name: _join_parts(parts) for name, parts in self.one.items()}
        if needed := [
            node for parts in self.many.get("dependencies", ()) for node in _parse_references("".join(parts))
        ]:
            record["dependencies"] = [_find_step_id(node, ids) for node in needed]
        if risks := [_join_parts(parts) for parts in self.many.get("risks", ())]:
            record["risks"] = risks
        return record


class _PlanReader:
    """Takes the lines one after the other; then has the plan, where its parts were, and what could not be read."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._places: dict[str, int] = {}
        self._title: str | None = None
        self._section: str | None = None
        """Where the lines belong; "" where it is not known, and they were complained of already."""
        self._texts: dict[str, list[str]] = {}
        self._steps: list[_FoundStep] = []
        self._risks: list[list[str]] = []
        self._after_blank = False

    def take(self, number: int, line: str) -> None:
        if self._title is None and (title := _TITLE.match(line)):
            self._title = markup.unescape_markdown(title["name"].strip())
            self._places["title"] = self._places["overview"] = number
            self._section = "overview"
            return
        heading = _HEADING.match(line)
        if heading and self._take_heading(number, len(heading["level"]), (heading["name"] or "").strip()):
            return
        if self._section is None and line.strip():
            self._add_fault(number, "A plan starts with its title, such as `# Add a login`")
            self._section = ""
        elif self._section in _TEXTS:
            self._texts.setdefault(self._section, []).append(markup.unescape_markdown(line))
        elif not line.strip():
            self._after_blank = True
            return
        elif self._section == "steps":
            self._take_step_line(number, line)
        elif self._section == "risks":
            self._take_risk_line(number, line)
        self._after_blank = False

    def _take_heading(self, number: int, level: int, name: str) -> bool:
        """Whether it is a heading, and not a line of text that looks like one."""
        section = _SECTIONS.get(name.rstrip(":：").lower())
        if section is None and level > 2 and self._section in _TEXTS:
            return False
        if section is None:
            known = "Steps, Risks, Testing strategy and Duration"
            self._add_fault(
                number, f"'{sanitize_for_display(name)}' is not a heading of a plan; the headings are {known}"
            )
        elif section in self._places and section != "overview":
            self._add_fault(
                number, f"The heading '{sanitize_for_display(name)}' is already in line {self._places[section]}"
            )
        else:
            self._places[section] = number
        self._section = section or ""
        return True

    def _take_step_line(self, number: int, line: str) -> None:
        step = self._steps[-1] if self._steps else None
        if found := _STEP.match(line):
            text = found["text"] or ""
            named = _STEP_ID.match(text)
            step_id = markup.unescape_markdown(named["id"]) if named else None
            self._steps.append(_FoundStep(number, step_id, named["text"] if named else text))
        elif found := _BULLET.match(line):
            self._take_fact(number, step, found["text"] or "")
        elif step is not None and line[0] in " \t":
            step.last.append(("\n" if self._after_blank else " ") + line.strip())
        else:
            self._add_fault(
                number, (f"Expected a step such as {_STEP_SAMPLE}, or a detail of a step such as `- module: …`")
            )

    def _take_fact(self, number: int, step: _FoundStep | None, text: str) -> None:
        fact = _FACT.match(text)
        name = _LABELS.get(" ".join(fact["label"].replace("_", " ").lower().split())) if fact else None
        if fact is None or name is None:
            self._add_fault(
                number,
                "Expected `- module:`, `- depends on:`, `- time:`, `- check:` or `- "
                f"risk:`, found '{sanitize_for_display(text)}'",
            )
        elif step is None:
            self._add_fault(number, f"This does not belong to a step; write a step above it, such as {_STEP_SAMPLE}")
        elif name in step.one:
            self._add_fault(number, f"'{fact['label']}' is given twice for this step; keep only one")
        else:
            step.last = [fact["text"]]
            step.places.setdefault(name, number)
            if name in ("dependencies", "risks"):
                step.many.setdefault(name, []).append(step.last)
            else:
                step.one[name] = step.last

    def _take_risk_line(self, number: int, line: str) -> None:
        if found := _BULLET.match(line):
            self._risks.append([found["text"] or ""])
        elif self._risks and line[0] in " \t":
            self._risks[-1].append(("\n" if self._after_blank else " ") + line.strip())
        else:
            self._add_fault(number, "Expected a risk such as `- It may be slow`")

    def _add_fault(self, number: int, text: str) -> None:
        self.faults.append(f"line {number}: {text}")

    def to_raw_plan(self) -> dict[str, object]:
        taken = {step.id for step in self._steps}
        further = len(self._steps)
        ids: list[str] = []
        for number, step in enumerate(self._steps, 1):
            fresh = f"step-{number}"
            if step.id is None:
                while fresh in taken:
                    further += 1
                    fresh = f"step-{further}"
                taken.add(fresh)
            ids.append(fresh if step.id is None else step.id)
        raw: dict[str, object] = {"title": self._title or "", "overview": ""}
        raw |= {name: "\n".join(lines) for name, lines in self._texts.items()}
        raw["steps"] = [step.record(ids, number) for number, step in enumerate(self._steps)]
        if self._risks:
            raw["risks"] = [_join_parts(parts) for parts in self._risks]
        return raw

    def locate_violation(self, violation: str) -> str:
        """A violation of the plan with the line it is about."""
        path, _, what = violation.partition(": ")
        if path in ("title", "overview", "steps"):
            missing = {
                "title": "The title is missing; start with `# ` and the title",
                "overview": "The overview is missing; write it below the title",
                "steps": f"There are no steps; write them below `## Steps`, such as {_STEP_SAMPLE}",
            }
            what = what if what.startswith("Dependency cycle") else missing[path]
            return f"line {self._places.get(path, 1)}: {what}"
        found = re.fullmatch(r"steps\[(\d+)\]\.(\w+)", path)
        if found is None:
            return violation
        places = self._steps[int(found[1])].places
        return f"line {places.get(found[2], places[''])}: {_SAID.get(found[2], found[2])}: {what}"


def _find_step_id(reference: str, ids: Sequence[str]) -> str:
    if reference in ids or not re.fullmatch("[1-9][0-9]{0,4}", reference) or int(reference) > len(ids):
        return reference
    return ids[int(reference) - 1]


def _join_parts(parts: Sequence[str]) -> str:
    return markup.unescape_markdown("".join(parts))


def _parse_references(raw: str) -> list[str]:
    found = [part.strip() for part in _BETWEEN.split(raw)]
    return [
        (marked["code"] or marked["bold"]) if (marked := _MARKED.fullmatch(part)) else markup.unescape_markdown(part)
        for part in found
        if part
    ]
