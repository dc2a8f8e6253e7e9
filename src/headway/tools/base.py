"""`Tool`: the one type of everything a model may call. It declares its input and its effect; the executor decides.

Below are the tools themselves, one module each with its description in a Markdown file beside it. Functions become
tools in `functions`. Nothing here knows of models, providers or terminals.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from headway.contracts.arguments import ToolFault as ToolFault
from headway.contracts.arguments import parse_call, refuse_faults
from headway.core.errors import HeadwayError
from headway.core.exact_text import exact_line
from headway.core.text import sanitize_for_display
from headway.tools.effects import Effect
from headway.tools.limits import Limits
from headway.tools.violations import list_violations

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

    from headway.session import Session
    from headway.tools.files.known_files import KnownFiles
    from headway.tools.outputs import OutputFiles

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class ToolInput(BaseModel):
    """Base of the built-in tools' inputs: an unknown field is an error."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


Input = TypeVar("Input", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call came to."""

    text: str
    """For the model."""
    ok: bool = True
    denied: bool = False
    """A person said no, or plan mode did: the tool has not failed, it was not run."""
    effect: Effect | None = None
    """What the call did to the world, set by the executor; None if it never ran."""
    exit_code: int | None = None
    """Of a command."""
    files: tuple[str, ...] = ()
    """Files that it changed, relative to the project."""
    diff: str | None = None
    """What it changed in them, for people."""
    kept: str | None = None
    """Where the whole text is, if `text` was cut."""

    def with_effect(self, effect: Effect | None) -> ToolResult:
        """The result of a call with this effect."""
        return ToolResult(self.text, self.ok, self.denied, effect, self.exit_code, self.files, self.diff, self.kept)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a person needs to see before they say yes: all that will be done, as `core.exact_text` writes it.

    Safe to print; the same call has the same, if nothing changed.
    """

    line: str
    """What is about to happen, in one line."""
    command: str | None = None
    path: str | None = None
    diff: str | None = None
    host: str | None = None

    @property
    def details(self) -> list[str]:
        """Return what the line does not say already: the whole command, the diff."""
        is_said = self.command is not None and self.line == f"Run: {self.command}"
        return [text for text in (None if is_said else self.command, self.diff) if text]


@dataclass(frozen=True, slots=True)
class ToolLimits:
    seconds: float | None = None
    """Longest run; None: the tool keeps time itself, or needs none."""
    output_chars: int | None = None
    """Longest answer; None: the run's own limit."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a call can use: one per call, made by the executor from what its run has."""

    project: str
    """Folder whose `.headway` the run belongs to."""
    session: Session | None
    limits: Limits
    seen: KnownFiles
    """Files as this run last read or wrote them."""
    outputs: OutputFiles
    report: Callable[[str], None] = field(default=lambda text: None)
    """Takes output while it is produced, for whoever watches."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment variables for commands, such as where the modules of the folder are."""
    network: bool = False
    """Whether a command in the sandbox has the network: a person approved the call, and did not say no to that."""


class Tool(ABC, Generic[Input]):
    """Something a model may call. Make one from a function with `@tool`, or derive a class."""

    name: str
    description: str
    input: type[Input]
    effect: Effect = Effect.EXECUTE
    aliases: tuple[str, ...] = ()
    """Other names under which calls are accepted; a model is told only of the first."""
    limits: ToolLimits = ToolLimits()
    folder: str | None = None
    """The folder it works in, if it has one."""
    can_be_stopped: bool = True
    """Whether a call is over when it is cancelled; a function that runs in a thread goes on."""

    @abstractmethod
    async def run(self, call: Input, context: Context) -> ToolResult: ...

    def effect_of(self, call: Input) -> Effect:
        """What this very call would do."""
        return self.effect

    async def preview(self, call: Input, context: Context) -> Preview:
        """What a person is asked about. Raises `ToolFault` where the call cannot work anyway."""
        values = call.model_dump(mode="json", by_alias=True, exclude_unset=True, warnings=False, fallback=repr)
        arguments = ", ".join(f"{name}={_format_preview(value)}" for name, value in values.items())
        return Preview(f"{self.name}({arguments})")

    def edits_project(self, call: Input) -> bool:
        """Whether all it can write are files of the project, so that `auto_edit` need not ask."""
        return False

    def runs_in_sandbox(self, call: Input) -> bool:
        """Whether all it does happens in a sandbox, so that `sandboxed` need not ask."""
        return False

    def subject(self, call: Input) -> str | None:
        """What allow-list patterns are compared with: a path, a host; None if only the tool's name counts."""
        return None

    def host(self, call: Input) -> str | None:
        """The host that a network call reaches."""
        return None

    def matches(self, pattern: str, call: Input) -> bool:
        """Whether an allow-list pattern covers this call."""
        subject = self.subject(call)
        return subject is not None and fnmatchcase(subject, pattern)

    def parameters(self) -> dict[str, Any]:
        """The input's JSON schema, as a model is told of it."""
        return build_schema(self.input)

    def parse_input(self, arguments: object) -> Input:
        """The input, checked. Raises `ToolFault` with every violation."""
        return validate_call(self.name, self.input, arguments)


def validate_call(name: str, model: type[Input], arguments: object) -> Input:
    """The arguments of a call of a tool, as its input. Raises `ToolFault` with every violation."""
    values, repeated = parse_call(name, arguments)
    try:
        call, faults = model.model_validate(values), repeated
    except ValidationError as error:
        call, faults = None, [*list_violations(error, values), *repeated]
    refuse_faults(name, faults, build_schema(model).get("properties", ()) if faults else ())
    assert call is not None
    return call


def _format_preview(value: object) -> str:
    """As JSON, so that one argument cannot look like several; all of it, since it is what a person approves."""
    return exact_line(json.dumps(value, ensure_ascii=False))


class _Untitled(GenerateJsonSchema):
    """Titles repeat the names of fields and cost tokens in every request."""

    ignored_warning_kinds = frozenset({"skipped-choice", "non-serializable-default"})  # pyright: ignore[reportAssignmentType]

    def field_title_should_be_set(self, schema: CoreSchema | Any) -> bool:
        return False


_schemas: WeakKeyDictionary[type[BaseModel], dict[str, Any]] = WeakKeyDictionary()


def build_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Made once for each kind of input: a run's tools are new, their inputs are not."""
    if model not in _schemas:
        _schemas[model] = _build_schema(model)
    return deepcopy(_schemas[model])  # nobody can spoil it for others


def _build_schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(schema_generator=_Untitled)
    if reference := schema.pop("$ref", None):  # a model that contains itself; a tool's schema must be an object
        schema = {**schema["$defs"][reference.rpartition("/")[2]], **schema}
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
        part.pop("description", None)
        for described in part.get("properties", {}).values():
            _drop_null_choices(described)
    return schema


def _drop_null_choices(described: dict[str, Any]) -> None:
    """Of what may be left out, says only what it is when it is sent: every word goes along with every request."""
    choices = [choice for choice in described.get("anyOf", ()) if choice.get("type") != "null"]
    if described.get("default", ...) is None:
        del described["default"]
        if len(choices) == 1:
            del described["anyOf"]
            described.update(choices[0])
        elif choices:
            described["anyOf"] = choices


def check_tool_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise HeadwayError(
            f"A tool cannot be named '{sanitize_for_display(name)}'; use 1 to 64 "
            "of the characters A-Z, a-z, 0-9, _ and -, "
            "starting with a letter or _."
        )
    return name


def read_description(module_file: str) -> str:
    """The description in the Markdown file of the same name."""
    return Path(module_file).with_suffix(".md").read_text(encoding="utf-8").strip()
