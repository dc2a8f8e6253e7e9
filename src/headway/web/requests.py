"""What a request says, and what comes back if it cannot be done: an error as data, with a status that fits.

`{"error": {"kind", "code", "message", "violations"?}}`: 400 for what is not understood, 404 for what is not there,
409 for what goes against the state, 422 for what breaks the rules, 503 while the store is busy.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from headway.core.errors import (
    ClaimRefused,
    FilesChanged,
    HeadwayError,
    InvalidPlan,
    InvalidTodos,
    NoPlan,
    NoRun,
    NothingToUndo,
    NotRunnable,
    QuestionNotKept,
    RunRefused,
    SessionNotFound,
    StoreBusy,
    StoreError,
    TodoNotFound,
)
from headway.core.json_text import BadJson, parse_json
from headway.core.rules import DuplicateKeys, is_object
from headway.core.text import join_first_few, sanitize_for_display
from headway.tools.violations import list_violations
from headway.web.changes import AlreadyThere

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

MAX_BODY = 2_000_000
MOST_FIELDS = 50
MOST_FAULTS = 20
LONGEST = 4_000
"""Characters of an error's sentence."""
_STATUS: tuple[tuple[type[HeadwayError], int], ...] = (
    (InvalidTodos, 422),
    (InvalidPlan, 422),
    (TodoNotFound, 404),
    (SessionNotFound, 404),
    (NoRun, 409),
    (QuestionNotKept, 409),
    (NoPlan, 409),
    (NothingToUndo, 409),
    (RunRefused, 409),
    (NotRunnable, 409),
    (ClaimRefused, 409),
    (AlreadyThere, 409),
    (StoreBusy, 503),
    (StoreError, 503),
)


class BadRequest(HeadwayError):
    code = "bad_request"


def answer_errors(handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """With an error as data."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except HeadwayError as error:
            return JSONResponse({"error": _to_error_record(error)}, _find_status(error))

    return answer


def _find_status(error: HeadwayError) -> int:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 400)


def _to_error_record(error: HeadwayError) -> dict[str, Any]:
    message = str(error)
    if len(message) > LONGEST:
        message = f"{message[:LONGEST]}…"
    record: dict[str, Any] = {"kind": type(error).__name__, "code": error.code, "message": message}
    if isinstance(error, InvalidTodos | InvalidPlan):
        record["violations"] = _first_few([*error.violations])
    if isinstance(error, FilesChanged):
        record |= {"files": error.files, "items": error.items}
    return record


def _first_few(faults: list[str]) -> list[str]:
    more = [f"and {len(faults) - MOST_FAULTS:,} more"] if len(faults) > MOST_FAULTS else []
    return [*faults[:MOST_FAULTS], *more]


async def read_body(request: Request) -> Any:
    """The body's JSON."""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                raise BadRequest(f"The request is longer than {MAX_BODY:,} bytes; send it in smaller parts.")
    except ClientDisconnect:
        raise BadRequest("The request ended before it was complete; send it again.") from None
    try:
        return await asyncio.to_thread(lambda: parse_json(body.decode("utf-8")))
    except (BadJson, UnicodeDecodeError) as error:
        raise BadRequest(
            f"The request is not valid JSON ({sanitize_for_display(str(error), 200)}); send one JSON object."
        ) from None


async def read_valid(request: Request, kind: TypeAdapter[Any]) -> Any:
    """The body, as what it must be; all that is wrong with it at once."""
    value = await read_body(request)
    if isinstance(value, DuplicateKeys) and value.repeated:
        raise BadRequest(f"These fields appear more than once: {join_first_few(value.repeated)}; send each only once.")
    if is_object(value) and len(value) > MOST_FIELDS:
        raise BadRequest(
            f"The request has {len(value):,} fields, more than the {MOST_FIELDS} allowed; send only known fields."
        )
    return await asyncio.to_thread(_validate, value, kind)


def _validate(value: Any, kind: TypeAdapter[Any]) -> Any:
    try:
        return kind.validate_python(value)
    except ValidationError as error:
        lines = "\n".join(f"- {line}" for line in _first_few(list_violations(error, value)))
        raise BadRequest(f"The request is not valid; correct this and send it again:\n{lines}") from None


def read_number(request: Request, name: str, default: int) -> int:
    """A whole number in the address."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise BadRequest(f"`{name}` must be a whole number, not '{sanitize_for_display(text)}'.")
    return int(text)


async def answer_http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: "Nothing was found at this address.", 405: "This address does not support that method."}
    return JSONResponse(
        {"error": {"kind": "HTTP", "code": "http", "message": words.get(status, "The request failed.")}}, status
    )
