"""The settings as one typed object: what can be set, within which bounds, and what holds when nothing is said.

Checks one value at a time; where values come from is `load`'s matter, and what they mean that of whoever uses them.
"""

from __future__ import annotations

import re
from enum import StrEnum
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, Any, ClassVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from headway.core.text import sanitize_for_display
from headway.planner.config import TodoTools, Tracking
from headway.tools.effects import Mode
from headway.tools.limits import Limits
from headway.tools.sandbox.use import SandboxUse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headway.tools.approvals import Approvals, Ask
    from headway.tools.base import Tool
    from headway.tools.sandbox.sandbox import Sandbox


class Inject(StrEnum):
    """Where the model is shown the list."""

    TAIL = "tail"
    """After everything else, in the request only: what a provider has cached stays valid."""
    TOOL = "tool"
    """At the end of the last tool's result, in the request only: for servers that refuse a user message there."""
    SYSTEM = "system"
    """In a marked block of the system message, replaced each round."""


class Thinking(StrEnum):
    """How much a model thinks before it answers, or reasons: it knows them as effort."""

    OFF = "off"
    ON = "on"
    """As much as the model does by itself."""
    MINIMAL = "minimal"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    XHIGH = "xhigh"
    MAX = "max"


MAX_COMMAND = 4_000
"""Characters of the project's check."""
SEARCHES = ("brave", "tavily")
_MODEL = re.compile(r"[A-Za-z0-9_.-]+:\S(?:.*\S)?")
_ALLOWED = re.compile(r"[A-Za-z0-9_-]{1,64}(?:\s*:\s*\S.*)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")


def _check_model(text: str) -> str:
    if not _MODEL.fullmatch(text) or not text.isprintable():
        raise ValueError(
            f"Expected 'provider:name', such as 'openai:NAME' or 'ollama:NAME', received '{sanitize_for_display(text)}'"
        )
    return text


def _check_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable, parts = False, None
    if parts is not None and "@" in parts.netloc:
        raise ValueError("Must not contain a user name or password; those belong in the environment")
    if not usable or not text.isprintable() or " " in text:
        raise ValueError(f"Expected an http or https URL, received '{sanitize_for_display(text)}'")
    return text


def _check_dialect(name: str) -> str:
    from headway.contracts.dialects import list_dialects

    if name not in (known := list_dialects()):
        raise ValueError(f"There is no dialect '{sanitize_for_display(name)}'; choose from: {', '.join(known)}")
    return name


def _check_search(text: str) -> str:
    name, _, url = text.partition(":")
    if name == "searxng" and url:
        return f"searxng:{_check_url(url.strip())}"
    if text not in SEARCHES:
        raise ValueError(f"Expected 'brave' | 'tavily' | 'searxng:URL', received '{sanitize_for_display(text)}'")
    return text


def _check_allowed(text: str) -> str:
    if not _ALLOWED.fullmatch(text):
        raise ValueError(f"Expected 'tool' or 'tool: pattern', received '{sanitize_for_display(text)}'")
    return text


def _check_host(text: str) -> str:
    """A name or an address, in the one way of writing it that is compared."""
    name = text.lower()
    try:
        return str(ip_address(name.removeprefix("[").removesuffix("]")))
    except ValueError:
        if len(name) > 253 or not _HOST.fullmatch(name):
            raise ValueError(
                f"Expected a host or an IP address without a port, received '{sanitize_for_display(text)}'"
            ) from None
    return name


def _check_hosts(text: str) -> str:
    return f"*.{_check_host(text[2:])}" if text.startswith("*.") else _check_host(text)


def _check_linked(text: str) -> str:
    parts = text.split("/")
    if not text.isprintable() or any(part in ("", ".", "..") for part in parts) or parts[0] in (".git", ".headway"):
        raise ValueError(
            f"Expected a folder inside the project, such as 'node_modules', received '{sanitize_for_display(text)}'"
        )
    return text


def _check_pattern(text: str) -> str:
    if not text.strip() or not text.isprintable() or text.startswith("#"):
        raise ValueError(
            "Expected a pattern as in .gitignore, such as '*.sqlite' or 'data/', "
            f"received '{sanitize_for_display(text)}'"
        )
    return text


def _path(text: str) -> str:
    if not text.startswith(("/", "~/")) or not text.isprintable():
        raise ValueError(
            f"Expected a full path, such as '~/lib' or '/srv/data', received '{sanitize_for_display(text)}'"
        )
    return text


def _check_command(text: str) -> str:
    if len(text) > MAX_COMMAND or not text.isprintable():
        raise ValueError(f"Expected one line of at most {MAX_COMMAND:,} characters")
    return text


def _check_variable(text: str) -> str:
    if not _VARIABLE.fullmatch(text):
        raise ValueError(f"Expected the name of an environment variable, received '{sanitize_for_display(text)}'")
    return text


class Settings(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    model: Annotated[str, AfterValidator(_check_model)] | None = None
    """The model, as `provider:name`."""
    base_url: Annotated[str, AfterValidator(_check_url)] | None = None
    """An OpenAI-compatible server to use instead of the provider's own."""
    mode: Mode = Mode.DEFAULT
    """Which calls need approval."""
    allow: tuple[Annotated[str, AfterValidator(_check_allowed)], ...] = ()
    """Calls that need no approval: a tool, or `tool: pattern`, such as `bash: pytest *`."""
    hosts: tuple[Annotated[str, AfterValidator(_check_hosts)], ...] = ()
    """Hosts that need no approval; `*.python.org` includes all subdomains."""
    private_hosts: tuple[Annotated[str, AfterValidator(_check_host)], ...] = ()
    """Private hosts or addresses that may be reached, such as localhost."""
    ask_before_editing: tuple[Annotated[str, AfterValidator(_check_pattern)], ...] = ()
    """Additional files to ask about in `auto_edit`, in `.gitignore` syntax; `!` takes a file out."""
    sandbox: SandboxUse = SandboxUse.AUTO
    """Whether commands run in a sandbox: where there is one, always, or not."""
    sandbox_read: tuple[Annotated[str, AfterValidator(_path)], ...] = ()
    """Additional files and folders that commands can read in the sandbox."""
    env: tuple[Annotated[str, AfterValidator(_check_variable)], ...] = ()
    """Additional environment variables to pass to commands."""
    web_search: Annotated[str, AfterValidator(_check_search)] | None = None
    """The search provider: `brave`, `tavily` or `searxng:URL`."""
    tracking: Tracking | None = None
    """Who decides that an item is done; if not set: manual where the model has a todo tool, else auto."""
    todo_tools: TodoTools = TodoTools.LIGHT
    """Which todo tools the model has."""
    dialect: Annotated[str, AfterValidator(_check_dialect)] | None = None
    """The todo tool of another agent that takes their place, such as `claude`, `gemini` or `codex`."""
    parallel: int = Field(default=1, ge=1, le=64)
    """Maximum number of items executed in parallel."""
    linked: tuple[Annotated[str, AfterValidator(_check_linked)], ...] = (".venv", "venv", "node_modules")
    """Ignored folders to link into each worktree."""
    checkpoint_exclude: tuple[Annotated[str, AfterValidator(_check_pattern)], ...] = ()
    """Additional files to leave out of checkpoints, in `.gitignore` syntax; `!` includes a file again."""
    checkpoint_max_file_mb: int = Field(default=20, ge=1, le=10_000)
    """Files larger than this are left out of checkpoints."""
    keep_executions: int = Field(default=20, ge=1)
    """Number of latest executions whose checkpoints are kept, however old."""
    keep_days: int = Field(default=30, ge=0)
    """Number of days for which checkpoints are kept, however many there are."""
    verify: Annotated[str, AfterValidator(_check_command)] | None = None
    """The project's check: a command that shows whether work is done; `{files}` stands for the changed files."""
    verify_tries: int = Field(default=2, ge=0, le=20)
    """How often the output of a failed check goes back to the model before the todo counts as failed."""
    max_rounds: int = Field(default=50, ge=1)
    """Maximum number of rounds in a run."""
    max_cost: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Maximum cost of a run in US dollars."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Maximum number of tokens in a run."""
    context_window: int | None = Field(default=None, ge=1_000)
    """Size of the context window in tokens; if not set, what is known of the model or what its server says."""
    reply_tokens: int | None = Field(default=None, ge=16)
    """Maximum number of tokens in an answer; if not set, as many as the model allows."""
    temperature: float | None = Field(default=None, ge=0, le=2, allow_inf_nan=False)
    """The sampling temperature; if not set, the model's default."""
    thinking: Thinking | None = None
    """The reasoning effort of the model; if not set, the model's default."""
    inject: Inject = Inject.TAIL
    """Where the model is shown the list."""
    remind_after: int = Field(default=8, ge=1)
    """Rounds of work without a change of the list after which the model is reminded to update it."""
    max_nudges: int = Field(default=2, ge=0)
    """How often a model that stops while items are open is asked to continue."""
    retries: int = Field(default=4, ge=0)
    """How often a request that failed for a passing reason is repeated."""
    limits: Limits = Limits()
    """Limits on the input, duration and output of tools."""

    def make_tools(self, project: str, environ: Mapping[str, str] | None = None) -> list[Tool[Any]]:
        """The built-in tools as they are set, for one folder."""
        from headway.tools.builtin import builtin_tools

        return builtin_tools(
            project,
            todo_tools=self.todo_tools,
            env=self.env,
            private_hosts=self.private_hosts,
            web_search=self.web_search,
            ask_before_editing=self.ask_before_editing,
            sandbox=self.commands_sandbox(),
            environ=environ,
        )

    def make_approvals(self, ask: Ask | None = None, **hooks: Any) -> Approvals:
        """What a run may do as it is set; `ask` puts questions to a person, `hooks` are those of `Approvals`."""
        from headway.tools.approvals import Approvals

        has_sandbox = self.commands_sandbox() is not None
        return Approvals(ask, mode=self.mode, allow=self.allow, hosts=self.hosts, has_sandbox=has_sandbox, **hooks)

    def explain_sandbox(self) -> str:
        """Say in what commands run, for the start of a run; nothing where the sandbox was turned off.

        Raises if it must run in a sandbox and there is none.
        """
        from headway.tools.sandbox.sandbox import describe_sandbox

        self.commands_sandbox()
        is_off = self.sandbox is SandboxUse.OFF and self.mode is not Mode.SANDBOXED
        return "" if is_off else describe_sandbox(self.sandbox, self.mode)

    def commands_sandbox(self) -> Sandbox | None:
        """Return the sandbox that commands run in, if they run in one. Raises if they must and there is none."""
        from headway.settings.files import headway_folders
        from headway.tools.sandbox.sandbox import open_sandbox

        return open_sandbox(self.sandbox, self.sandbox_read, headway_folders())


HARMLESS = frozenset({"model", "tracking", "todo_tools"})
"""All that is taken from a file which came with the project: nothing that says what may be done, spent or reached."""
