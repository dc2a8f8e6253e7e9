"""Agents' own settings: where each keeps its MCP servers, and how the one of Headway is put there and taken out again.

Nothing else in a file changes; what it was before is kept beside it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from headway.core.errors import HeadwayError
from headway.core.text import sanitize_for_display
from headway.mcp.jsonc import BadJsonc, parse_jsonc, remove_entry, set_entry
from headway.project import home_folder

NAME = "headway"
BACKUP = ".before-headway"


@dataclass(frozen=True, slots=True)
class AgentClient:
    """A program in which agents work."""

    name: str
    title: str
    path: tuple[str, ...]
    """Keys under which its servers are, with the one of Headway."""
    project_file: str | None
    """In the project; None if it keeps servers for the user alone."""
    user_file: str
    """In the home folder."""
    shape: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What an entry has besides the command."""
    is_command_list: bool = False
    """Whether the command and its arguments are one list."""
    has_own_path: bool = False
    """Whether it starts servers with another PATH than a shell has, so that only a whole path is found."""
    hint: str = ""

    def build_entry(self, arguments: Sequence[str]) -> dict[str, Any]:
        command = find_program(whole=self.has_own_path)
        if self.is_command_list:
            return {**self.shape, "command": [command, *arguments]}
        return {**self.shape, "command": command, "args": list(arguments)}


def _config(name: str) -> str:
    return f".config/{name}"


_VSCODE = (
    "Library/Application Support/Code/User/mcp.json" if sys.platform == "darwin" else _config("Code/User/mcp.json")
)

CLIENTS: dict[str, AgentClient] = {
    client.name: client
    for client in (
        AgentClient(
            "claude",
            "Claude Code",
            ("mcpServers", NAME),
            ".mcp.json",
            ".claude.json",
            {"type": "stdio", "alwaysLoad": True},
            hint="It asks before it uses the server. Where nobody can be asked: --allowedTools mcp__headway",
        ),
        AgentClient(
            "codex",
            "Codex",
            ("mcp_servers", NAME),
            None,
            ".codex/config.toml",
            {"required": True, "default_tools_approval_mode": "approve"},
            has_own_path=True,
            hint="Codex uses it in every project, and does not ask before each call of its tools.",
        ),
        AgentClient(
            "gemini",
            "Gemini CLI",
            ("mcpServers", NAME),
            ".gemini/settings.json",
            ".gemini/settings.json",
            {"trust": True},
            hint="It is trusted, since Gemini CLI leaves out the tools of other servers when nobody can be asked.",
        ),
        AgentClient(
            "cursor", "Cursor", ("mcpServers", NAME), ".cursor/mcp.json", ".cursor/mcp.json", has_own_path=True
        ),
        AgentClient(
            "vscode",
            "VS Code",
            ("servers", NAME),
            ".vscode/mcp.json",
            "Library/Application Support/Code/User/mcp.json"
            if sys.platform == "darwin"
            else _config("Code/User/mcp.json"),
            {"type": "stdio"},
            has_own_path=True,
        ),
        AgentClient(
            "opencode",
            "OpenCode",
            ("mcp", NAME),
            "opencode.json",
            _config("opencode/opencode.json"),
            {"type": "local", "enabled": True},
            is_command_list=True,
        ),
        AgentClient(
            "zed",
            "Zed",
            ("context_servers", NAME),
            ".zed/settings.json",
            _config("zed/settings.json"),
            {"source": "custom"},
            has_own_path=True,
        ),
        AgentClient(
            "qwen",
            "Qwen Code",
            ("mcpServers", NAME),
            ".qwen/settings.json",
            ".qwen/settings.json",
            {"trust": True},
            hint="It is trusted, so that its tools need no approval.",
        ),
    )
}


def find_program(*, whole: bool) -> str:
    """The command that starts this installation: its name if a shell finds it by that, and `whole` is off."""
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.executable)), "headway")
    program = beside if os.path.exists(beside) else os.path.abspath(sys.argv[0])
    found = shutil.which("headway")
    is_found = found is not None and os.path.realpath(found) == os.path.realpath(program)
    return "headway" if is_found and not whole else program


def find_file(client: AgentClient, project: str, environ: Mapping[str, str], *, user: bool) -> str:
    """Return the settings file of a client, whether or not it is there."""
    if user or client.project_file is None:
        if client.name == "codex" and (folder := environ.get("CODEX_HOME")):
            return os.path.join(folder, "config.toml")
        config = environ.get("XDG_CONFIG_HOME", "")
        if client.user_file.startswith(_config("")) and os.path.isabs(config):
            return os.path.join(config, client.user_file.removeprefix(_config("")))
        return os.path.join(home_folder(environ), client.user_file)
    file = os.path.join(project, client.project_file)
    if os.path.realpath(file) != os.path.join(os.path.realpath(project), client.project_file):
        raise HeadwayError(f"'{client.project_file}' is a link, or in a folder that is one; replace it, or use --user.")
    return file


def format_entry(client: AgentClient, entry: Mapping[str, Any]) -> str:
    """Return the settings with nothing but the entry, for a person to copy."""
    return _set("", "settings.toml" if client.user_file.endswith(".toml") else "settings.json", client.path, entry)


def install_entry(client: AgentClient, file: str, entry: Mapping[str, Any]) -> bool:
    """Put the entry into the file; False if it is there already."""
    before = _read(file)
    after = _set(before or "", file, client.path, entry)
    if after == before:
        return False
    if before is not None and (_remove(before, file, client.path) == before or not os.path.exists(file + BACKUP)):
        _write(file + BACKUP, before)
    _write(file, after)
    return True


def uninstall_entry(client: AgentClient, file: str) -> bool:
    """Remove the entry from the file; False if there is none. What nobody else changed is as it was before."""
    text = _read(file)
    if text is None:
        return False
    after = _remove(text, file, client.path)
    if after == text:
        return False
    kept = _read(file + BACKUP)
    entry = _get(_parse(text, file), client.path)
    if kept is not None and _remove(kept, file, client.path) == kept and _set(kept, file, client.path, entry) == text:
        after = kept
    if kept is None and _parse(after, file) in ({}, {client.path[0]: {}}):
        os.unlink(file)
    else:
        _write(file, after)
    with suppress(FileNotFoundError):
        os.unlink(file + BACKUP)
    return True


def _get(value: Any, path: Sequence[str]) -> Any:
    for key in path:
        value = value[key]
    return value


def _parse(text: str, file: str) -> Any:
    if not file.endswith(".toml"):
        return parse_jsonc(text)
    import tomllib

    return tomllib.loads(text)


def _set(text: str, file: str, path: Sequence[str], entry: Mapping[str, Any]) -> str:
    try:
        if not file.endswith(".toml"):
            return set_entry(text, path, entry)
        import tomlkit

        document = cast("dict[str, Any]", tomlkit.parse(text))
        servers = document.setdefault(path[0], tomlkit.table(is_super_table=True))
        if path[1] in servers and servers[path[1]] == entry:
            return text
        servers[path[1]] = json.loads(json.dumps(entry))
        return tomlkit.dumps(cast("Any", document))
    except (BadJsonc, ValueError, TypeError) as error:
        raise _make_unreadable(file, error) from None


def _remove(text: str, file: str, path: Sequence[str]) -> str:
    try:
        if not file.endswith(".toml"):
            return remove_entry(text, path)
        import tomlkit

        document = cast("dict[str, Any]", tomlkit.parse(text))
        if path[1] not in document.get(path[0], {}):
            return text
        del document[path[0]][path[1]]
        if not document[path[0]]:
            del document[path[0]]
        return tomlkit.dumps(cast("Any", document))
    except (BadJsonc, ValueError, TypeError) as error:
        raise _make_unreadable(file, error) from None


def _make_unreadable(file: str, error: Exception) -> HeadwayError:
    where = f" ({sanitize_for_display(str(error), 120)})" if str(error) else ""
    name = sanitize_for_display(file, 300)
    return HeadwayError(
        f"'{name}' is not in the form that its program expects{where}; correct it, or show the entry with --print and "
        "add it yourself."
    )


def _read(file: str) -> str | None:
    try:
        with open(file, encoding="utf-8", newline="") as opened:
            return opened.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise HeadwayError(f"'{sanitize_for_display(file, 300)}' could not be read ({why}).") from None


def _write(file: str, text: str) -> None:
    """Replace the file, also where it is a link to where someone keeps it; with the rights that it had."""
    file = os.path.realpath(file)
    folder = os.path.dirname(file)
    try:
        os.makedirs(folder, exist_ok=True)
        mode = os.stat(file).st_mode & 0o777 if os.path.exists(file) else 0o644
        handle, draft = tempfile.mkstemp(dir=folder, prefix=".headway-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as opened:
                opened.write(text)
            os.chmod(draft, mode)
            os.replace(draft, file)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise
    except OSError as error:
        raise HeadwayError(f"'{sanitize_for_display(file, 300)}' could not be written ({error.strerror}).") from None
