"""Input that is taken as it was sent: the rules of the core find every fault of it, all at once."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from headway.core.json_text import BadJson, parse_json
from headway.tools.base import ToolFault


class AsSent(BaseModel):
    sent: Any


def parse_as_sent(name: str, arguments: object) -> AsSent:
    """The arguments of a call; only what is no JSON at all is refused here."""
    if isinstance(arguments, str) and arguments.strip():
        try:
            return AsSent(sent=parse_json(arguments))
        except BadJson as error:
            raise ToolFault(
                f"{name} was not run: its arguments are not valid JSON ({error}); send one JSON object."
            ) from None
    return AsSent(sent={} if arguments is None or isinstance(arguments, str) else arguments)
