"""Calls of the envelope contract, and answers checked for what every answer must have."""

from __future__ import annotations

import json
from typing import Any

from headway.tools.todo_write import TodoWriteTool

STATS = ["time_ms", "total", "pending", "in_progress", "completed", "cancelled"]


def todo(content: str, status: str = "pending") -> dict[str, object]:
    return {"content": content, "status": status}


def params(*todos: object, summary: object = "The whole task") -> dict[str, object]:
    return {"summary": summary, "todos": list(todos)}


def answer(tool: TodoWriteTool, sent: object) -> dict[str, Any]:
    """The answer to a call. Whatever was sent, it is a whole envelope and nothing else."""
    text = tool.run(sent)
    text.encode()
    found = json.loads(text, parse_constant=_refuse)
    failed = found["status"] == "error"
    assert list(found) == ["status", "data", "text", *(["error"] if failed else []), "stats", "context"]
    assert found["status"] in ("success", "partial", "error")
    assert isinstance(found["text"], str) and found["text"]
    assert list(found["stats"]) == STATS
    assert all(type(count) is int and count >= 0 for count in found["stats"].values())
    assert list(found["context"]) == ["cwd", "params_input"]
    if failed:
        assert found["data"] == {}
        assert list(found["error"]) == ["code", "message"]
        assert found["error"]["code"] in ("INVALID_PARAM", "INTERNAL_ERROR")
        assert found["error"]["message"]
    else:
        assert list(found["data"])[:3] == ["todos", "recap", "summary"]
        assert [entry["id"] for entry in found["data"]["todos"]] == [
            f"t{place}" for place, _ in enumerate(found["data"]["todos"], 1)
        ]
        assert len(found["data"]["recap"]) < 300
    return found


def _refuse(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def accepted(tool: TodoWriteTool, *todos: object, summary: str = "The whole task") -> dict[str, Any]:
    found = answer(tool, params(*todos, summary=summary))
    assert found["status"] == "success", found
    return found


def violations(tool: TodoWriteTool, sent: object) -> list[str]:
    """What is wrong with a call that must be refused; the message and the text both say it."""
    found = answer(tool, sent)
    assert found["status"] == "error"
    assert found["error"]["code"] == "INVALID_PARAM"
    first, *lines = found["text"].split("\n")
    assert first == "TodoWrite changed nothing. Correct this and send the complete list again:"
    assert found["error"]["message"] == "; ".join(line.removeprefix("- ") for line in lines)
    return [line.removeprefix("- ") for line in lines]
