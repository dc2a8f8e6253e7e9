"""Headway in the settings of other programs: put there once, taken out again, and nothing else is touched."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.support import processes
from tests.support.processes import run

from headway.mcp.clients import BACKUP, CLIENTS, find_file
from headway.mcp.jsonc import parse_jsonc

THEIRS = {
    ".json": '{\n  // mine\n  "theme": "dark",\n  "%s": {\n    "other": {"command": "x"}, // kept\n  },\n}\n',
    ".toml": '# mine\nmodel = "m"\n\n[%s.other]\ncommand = "x"  # kept\n',
}


def read(file: Path) -> Any:
    text = file.read_text(encoding="utf-8")
    return tomllib.loads(text) if file.suffix == ".toml" else parse_jsonc(text)


def settings_of(name: str, project: Path, *, user: bool) -> Path:
    return Path(find_file(CLIENTS[name], str(project), processes.environment(), user=user))


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("user", [False, True])
def test_it_is_added_once_and_removed_without_a_trace(project: Path, name: str, user: bool) -> None:
    words = [name, *(["--user"] if user else [])]
    file, client = settings_of(name, project, user=user), CLIENTS[name]
    assert "does not have it" in run("mcp", "uninstall", *words).out
    for original in (None, THEIRS[file.suffix] % client.path[0]):
        if original is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(original, encoding="utf-8")
            file.chmod(0o600)
        added = run("mcp", "install", *words)
        assert added.code == 0 and f"Added Headway to {client.title}" in added.out
        entry = read(file)[client.path[0]]["headway"]
        command = entry["command"] if client.is_command_list else [entry["command"], *entry["args"]]
        assert command[1:] == ["mcp"] and (command[0] == "headway" or os.access(command[0], os.X_OK))
        once = file.read_bytes()
        assert "has it already" in run("mcp", "install", *words).out and file.read_bytes() == once
        if original is not None:
            assert "kept" in file.read_text(encoding="utf-8") and read(file)[client.path[0]]["other"]
            assert Path(f"{file}{BACKUP}").read_text(encoding="utf-8") == original
            assert file.stat().st_mode & 0o777 == 0o600
        assert "Removed Headway" in run("mcp", "uninstall", *words).out
        assert (file.read_text(encoding="utf-8") if file.exists() else None) == original
        assert not Path(f"{file}{BACKUP}").exists()


def test_what_others_change_meanwhile_stays(project: Path) -> None:
    file = project / ".mcp.json"
    file.write_text('{"mcpServers": {"a": {"command": "x"}}}', encoding="utf-8")
    run("mcp", "install", "claude", "--session", "docs")
    settings = json.loads(file.read_text(encoding="utf-8"))
    assert settings["mcpServers"]["headway"] == {
        "type": "stdio",
        "alwaysLoad": True,
        "command": settings["mcpServers"]["headway"]["command"],
        "args": ["mcp", "--session", "docs"],
    }
    settings["mcpServers"]["b"] = {"command": "y"}
    file.write_text(json.dumps(settings), encoding="utf-8")
    assert "Added" in run("mcp", "install", "claude").out
    assert "Removed" in run("mcp", "uninstall", "claude").out
    assert json.loads(file.read_text(encoding="utf-8")) == {
        "mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}
    }


def test_the_entry_can_be_shown_and_what_cannot_be_read_is_left_alone(project: Path) -> None:
    shown = run("mcp", "install", "gemini", "--print")
    assert shown.err == ".gemini/settings.json:\n\n" and not (project / ".gemini").exists()
    assert json.loads(shown.out)["mcpServers"]["headway"]["trust"] is True
    assert tomllib.loads(run("mcp", "install", "codex", "--print").out)["mcp_servers"]["headway"]["required"] is True
    (project / ".mcp.json").write_text('{"mcpServers": [', encoding="utf-8")
    refused = run("mcp", "install", "claude")
    assert refused.code == 1 and refused.err.endswith(
        ".mcp.json' is not in the form that its program expects (line 1, column 17); correct it, or show the entry "
        "with --print and add it yourself.\n"
    )
    assert (project / ".mcp.json").read_text(encoding="utf-8") == '{"mcpServers": ['
    codex = settings_of("codex", project, user=True)
    codex.parent.mkdir(parents=True)
    codex.write_text("mcp_servers = 5\n", encoding="utf-8")
    assert "is not in the form that its program expects" in run("mcp", "install", "codex").err
    codex.write_text("[", encoding="utf-8")
    assert "is not in the form that its program expects" in run("mcp", "uninstall", "codex").err
    assert "'claud' is not one of" in run("mcp", "install", "claud").err


def test_no_link_of_a_project_leads_elsewhere(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "settings.json").write_text("{}", encoding="utf-8")
    (project / ".gemini").symlink_to(outside)
    (project / ".mcp.json").symlink_to(outside / "settings.json")
    for name in ("claude", "gemini"):
        refused = run("mcp", "install", name)
        assert refused.code == 1 and "is a link" in refused.err
    assert (outside / "settings.json").read_text(encoding="utf-8") == "{}"
    mine = settings_of("claude", project, user=True)
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.symlink_to(outside / "settings.json")
    assert run("mcp", "install", "claude", "--user").code == 0
    assert mine.is_symlink() and "headway" in (outside / "settings.json").read_text(encoding="utf-8")
