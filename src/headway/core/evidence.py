"""Evidence: what shows that an item is done, how it is checked and how it is written down.

Loaded only where there is some; most commands never meet any.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headway.core.rules import Fault, check_choice, check_text, check_texts, check_whole, is_object
from headway.core.text import shown, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class EvidenceLevel(StrEnum):
    REPORTED = "reported"
    VERIFIED = "verified"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What shows that an item is done."""

    level: EvidenceLevel
    command: str | None = None
    exit_code: int | None = None
    files: tuple[str, ...] = ()


def check_evidence(value: object) -> Evidence:
    if isinstance(value, Evidence):
        return value
    if not is_object(value):
        raise Fault(f"Expected object, received {type_name(value)}")
    for key in value:
        if key not in ("level", "command", "exit_code", "files"):
            raise Fault(f"Unknown field '{shown(key)}'")
    code = value.get("exit_code")
    command = value.get("command")
    return Evidence(
        EvidenceLevel(
            str(check_choice(value.get("level"), {level.value: level for level in EvidenceLevel}, EvidenceLevel))
        ),
        None if command is None else check_text(command),
        None if code is None else check_whole(code),
        check_texts(value.get("files") or ()),
    )


def evidence_record(evidence: Evidence) -> dict[str, object]:
    return {
        "level": evidence.level,
        "command": evidence.command,
        "exit_code": evidence.exit_code,
        "files": list(evidence.files),
    }


def read_evidence(record: dict[str, Any]) -> Evidence:
    return Evidence(EvidenceLevel(record["level"]), record["command"], record["exit_code"], tuple(record["files"]))
