"""Errors in the words of a surface: the sentence, and how what it advises is done there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.agent.config import RunResult
    from headway.core.errors import HeadwayError
    from headway.settings import Settings

_ADVICE = {
    "choose_model": {"headway ": "with --model", "/": "with /model"},
    "set_base_url": "with '{program}config set base_url URL'",
    "start_conversation": "; omit --continue to start one",
    "start_run": {"headway ": "with headway run", "/": "with a message"},
    "reset_todo": "with {program}todos update",
    "leave_plan_mode": "with {program}plan off",
    "add_check": "with: {program}todos edit {todo_id} --verify COMMAND",
    "choose_port": "with --port, or omit --port",
    "adopt_file": "with '{program}sessions adopt'",
}


def explain_error(error: HeadwayError, program: str = "headway ") -> str:
    """Return the sentence with advice; commands begin with `program`: `headway ` in a shell, `/` in a session."""
    said = _ADVICE.get(error.advice, "")
    advice = said if isinstance(said, str) else said[program]
    advice = advice.format(program=program, **error.advice_data)
    joint = "" if advice.startswith(";") else " "
    return f"{str(error).removesuffix('.')}{joint}{advice}." if advice else str(error)


def explain_result(result: RunResult, program: str = "headway ") -> str | None:
    """Return what went wrong in a run, with advice."""
    return explain_error(result.failure, program) if result.failure is not None else result.error


def explain_missing_model(model: str, settings: Settings, program: str = "headway ") -> str | None:
    """Return what keeps the model from being used, if anything. Sends nothing."""
    from headway.agent.providers import parse_model_name
    from headway.core.errors import ModelNotReady

    try:
        parse_model_name(model, settings.base_url)
    except ModelNotReady as error:
        return explain_error(error, program)
    return None
