"""Plans: what they hold, how those from outside are checked, and how they become items.

Loaded only where a plan is; most commands never meet one.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.core.errors import InvalidPlan
from headway.core.graph import list_edge_faults
from headway.core.model import Priority
from headway.core.rules import DuplicateKeys, Fault, check_text, check_texts, is_array, is_object
from headway.core.text import json_type_name, sanitize_for_display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


@dataclass(frozen=True, slots=True)
class PlanStep:
    id: str
    description: str
    module: str | None = None
    dependencies: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    estimated_time: str | None = None
    verify: str | None = None
    """Command that shows that the step is done."""


@dataclass(frozen=True, slots=True)
class Plan:
    title: str
    overview: str
    steps: tuple[PlanStep, ...]
    risks: tuple[str, ...] = ()
    testing_strategy: str | None = None
    estimated_duration: str | None = None

    @staticmethod
    def from_markdown(text: str) -> Plan:
        """Return the plan that a text describes. Raises `InvalidPlan` with every fault and its line."""
        from headway.core.plan_markdown import parse_edited_plan

        return parse_edited_plan(text)

    def to_markdown(self) -> str:
        """Return the plan as Markdown; `from_markdown` gives it back."""
        from headway.core.plan_markdown import plan_to_markdown

        return plan_to_markdown(self)


_PLAN_NAMES = {
    "title": "title",
    "overview": "overview",
    "risks": "risks",
    "testingStrategy": "testing_strategy",
    "testing_strategy": "testing_strategy",
    "estimatedDuration": "estimated_duration",
    "estimated_duration": "estimated_duration",
}
_STEP_NAMES = {
    "id": "id",
    "description": "description",
    "module": "module",
    "dependencies": "dependencies",
    "depends_on": "dependencies",
    "risks": "risks",
    "estimatedTime": "estimated_time",
    "estimated_time": "estimated_time",
    "verify": "verify",
}
_MANY = frozenset({"risks", "dependencies"})


def check_plan(raw: object) -> Plan:
    """The plan, or `InvalidPlan` with every fault."""
    if isinstance(raw, Plan):
        raw = to_plan_record(raw)
    if not is_object(raw):
        raise InvalidPlan([f"(root): Expected object, received {json_type_name(raw)}"])
    faults: list[str] = []
    steps_raw = raw.get("steps")
    rest = {key: value for key, value in raw.items() if key != "steps"}
    fields = _check_fields(rest, _PLAN_NAMES, ("title", "overview"), "", faults)
    if isinstance(raw, DuplicateKeys):
        faults.extend(f"{sanitize_for_display(key)}: Duplicate field" for key in raw.repeated)
    steps = _check_steps(steps_raw, "steps" in raw, faults)
    if faults:
        raise InvalidPlan(faults)
    return Plan(steps=tuple(steps), **fields)  # type: ignore[arg-type]


def _check_steps(raw: object, given: bool, faults: list[str]) -> list[PlanStep]:
    if not given:
        faults.append("steps: Required")
        return []
    if not is_array(raw):
        faults.append(f"steps: Expected array, received {json_type_name(raw)}")
        return []
    if not raw:
        faults.append("steps: Must have at least one step")
        return []
    steps: list[PlanStep] = []
    edges: dict[str, tuple[str, ...]] = {}
    paths: dict[str, str] = {}
    for index, item in enumerate(raw):
        path = f"steps[{index}]"
        if not is_object(item):
            faults.append(f"{path}: Expected object, received {json_type_name(item)}")
            continue
        before = len(faults)
        fields = _check_fields(item, _STEP_NAMES, ("id", "description"), path + ".", faults)
        if isinstance(item, DuplicateKeys):
            faults.extend(f"{path}.{sanitize_for_display(key)}: Duplicate field" for key in item.repeated)
        step_id = fields.get("id")
        if step_id in edges:
            faults.append(f"{path}.id: Duplicate id '{sanitize_for_display(step_id)}'")
        # No id begins with a space: such a node stands for a step whose own id cannot be used.
        node = step_id if isinstance(step_id, str) and step_id not in edges else f" {index}"
        paths[node] = f"{path}.dependencies"
        edges[node] = check_texts(fields.get("dependencies", ()))
        if len(faults) == before:
            steps.append(PlanStep(**fields))  # type: ignore[arg-type]
    faults.extend(list_edge_faults(edges, paths, "steps"))
    return steps


def _check_fields(
    raw: Mapping[str, object], names: Mapping[str, str], required: tuple[str, ...], prefix: str, faults: list[str]
) -> dict[str, object]:
    result: dict[str, object] = {}
    seen: set[str] = set()
    for key in required:
        if key not in raw:
            faults.append(f"{prefix}{key}: Required")
    for key, value in raw.items():
        name = names.get(key)
        if name is None:
            faults.append(f"{prefix}{sanitize_for_display(key)}: Unknown field")
            continue
        if name in seen:
            faults.append(f"{prefix}{key}: Given twice, also under another name")
            continue
        seen.add(name)
        if value is None and key not in required:
            continue
        try:
            checked = check_texts(value) if name in _MANY else check_text(value)
            if checked is None and key in required:
                raise Fault("Required")
            result[name] = checked
        except Fault as fault:
            faults.append(f"{prefix}{key}: {fault}")
    return result


def to_plan_record(plan: Plan) -> dict[str, object]:
    """Return the plan as JSON, in the names of `create_plan`; what is empty is left out."""
    record: dict[str, object] = {"title": plan.title, "overview": plan.overview}
    record["steps"] = [
        _drop_empty(
            {
                "id": step.id,
                "description": step.description,
                "module": step.module,
                "dependencies": list(step.dependencies),
                "risks": list(step.risks),
                "estimatedTime": step.estimated_time,
                "verify": step.verify,
            }
        )
        for step in plan.steps
    ]
    rest = {
        "risks": list(plan.risks),
        "testingStrategy": plan.testing_strategy,
        "estimatedDuration": plan.estimated_duration,
    }
    return {**record, **_drop_empty(rest)}


def parse_plan_record(record: dict[str, Any]) -> Plan:
    """Return the plan that `to_plan_record` wrote; not checked again, so that rules may become stricter."""
    steps = [
        PlanStep(
            step["id"],
            step["description"],
            step.get("module"),
            tuple(step.get("dependencies", ())),
            tuple(step.get("risks", ())),
            step.get("estimatedTime"),
            step.get("verify"),
        )
        for step in record["steps"]
    ]
    return Plan(
        record["title"],
        record["overview"],
        tuple(steps),
        tuple(record.get("risks", ())),
        record.get("testingStrategy"),
        record.get("estimatedDuration"),
    )


def _drop_empty(record: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in record.items() if value not in (None, [])}


def to_todo_items(plan: Plan) -> list[dict[str, object]]:
    """Return the steps as items: same ids, same dependencies, priority by position."""
    return [
        {
            "id": step.id,
            "content": step.description,
            "active_form": None,
            "status": "pending",
            "priority": Priority.HIGH if index < 3 else Priority.MEDIUM if index < 6 else Priority.LOW,
            "module": step.module,
            "depends_on": step.dependencies,
            "risks": step.risks,
            "estimated_time": step.estimated_time,
            "verify": step.verify,
            "created_from": "plan",
        }
        for index, step in enumerate(plan.steps)
    ]
