"""A run of an agent that a framework drives: what the adapters of all frameworks share.

Above it are the adapters, which translate a framework's hooks into these calls; below it is the planner's run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import headway
from headway.core.errors import HeadwayError
from headway.core.json_text import BadJson, parse_json
from headway.core.text import sanitize_for_display
from headway.planner import LimitReached, RunStopped
from headway.planner.run import EFFECTS

if TYPE_CHECKING:
    from headway.planner import Planner, ToolAnswer
    from headway.session import Session

SessionSource: TypeAlias = "Session | Callable[[Any], Session]"
"""A session, or what finds that of a run by what the framework knows of it."""
Effects: TypeAlias = Mapping[str, str] | Callable[[str], str | None]
"""What each of the agent's own tools does: read, write, execute or network; what is not in it is guessed by name."""

_EXECUTES = re.compile(r"run|exec|execute|bash|shell|deploy")
_READS = re.compile(r"read|ls|list|glob|grep|search|find|get|view|show|look|query|fetch|think|task|ask")
_WRITES = re.compile(r"write|edit|create|delete|remove|move|rename|patch|apply|update|insert|replace|save")
_NETWORK = re.compile(r"web|http|url|browser")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_EXIT_CODE = re.compile(r"\bexit(?:ed with)?[ _](?:code|status):? ?(-?\d+)", re.IGNORECASE)
_EXIT_FIELDS = ("exit_code", "exitCode", "returncode", "return_code")
_PATH_FIELDS = ("path", "file_path", "filename", "file", "notebook_path")
USAGE = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
"""What the planner calls the tokens that a request took."""
_NO_TASK = "(Continue.)"
_KEPT = 10_000
"""Characters of a result that the log keeps."""
_SEARCHED = 4_000
"""Characters at each end of a result in which an exit code is looked for."""


class PlannerSource:
    """The planner of each run; its tools and instructions are those of the first."""

    def __init__(self, session: SessionSource, options: Mapping[str, Any]) -> None:
        self._find_session = session if callable(session) else None
        self._options = options
        self.first = (headway.open(memory=True) if callable(session) else session).planner(**options)

    def find(self, context: object) -> Planner:
        """Return the planner of a run of which the framework knows this."""
        return self.first if self._find_session is None else self._find_session(context).planner(**self._options)


class FrameworkRun:
    """One run, from the first request to the last. It may be called from several threads."""

    def __init__(self, planner: Planner, task: str, model: str = "", effects: Effects | None = None) -> None:
        self._effects = effects or {}
        self._run = planner.run(task.strip() or _NO_TASK, model=model).__enter__()
        self._names = frozenset(tool.name for tool in planner.tools)
        self._length = 0
        self._is_unanswered = False
        """Whether a request was prepared whose answer has not come."""
        self._open: set[str] = set()
        """Ids of the calls that have started and not finished."""
        self.is_over = False
        self.refusal: RunStopped | LimitReached | None = None
        """Why the run must not go on, once a request or call was refused."""

    def render_tail(self, length: int | None) -> str:
        """Return what goes behind a history of so many messages, in the next request only; None if no one knows."""
        if self._is_unanswered:
            self._run.request_failed()
        if length is not None:
            if length < self._length:
                self._run.compacted()
            self._length = length
        self._is_unanswered = True
        with self._keep_refusal():
            return self._run.context()

    def note_answer(self, **usage: int) -> None:
        """Note that the request was answered, and the tokens that it took, named as the planner does."""
        self._is_unanswered = False
        if any(usage.values()):
            self._run.usage(**usage)

    def note_compaction(self) -> None:
        self._run.compacted()

    def call(self, name: str, arguments: object, call_id: str | None = None) -> ToolAnswer:
        """Run one of the planner's tools."""
        with self._keep_refusal():
            return self._run.call(name, arguments, call_id)

    def start_tool(self, call_id: str, name: str, arguments: object) -> None:
        """Note that one of the agent's own tools starts; a planner's tool, or a second start, changes nothing."""
        if name not in self._names and call_id not in self._open:
            with self._keep_refusal():
                self._run.tool_started(call_id, name, to_arguments(arguments), effect=self._find_effect(name))
            self._open.add(call_id)

    def finish_tool(
        self, call_id: str, name: str, arguments: object, result: object, *, ok: bool, denied: bool = False
    ) -> None:
        """Note what came of a call that started."""
        if call_id not in self._open or self.is_over:
            return
        self._open.discard(call_id)
        effect = self._find_effect(name)
        files = list_files(to_arguments(arguments)) if effect == "write" and ok else []
        exit_code = find_exit_code(result) if effect == "execute" else None
        text = to_text(result)[:_KEPT]
        self._run.tool_finished(
            call_id, ok=ok and not exit_code, exit_code=exit_code, files=files, text=text, denied=denied
        )

    def render_nudge(self, answer: str = "") -> str | None:
        """Return the line with which an agent that stops with this answer goes on; None if it may stop."""
        return self._run.on_stop(answer)

    def end(self, error: BaseException | None = None) -> None:
        """End the run; whatever it had in progress is pending again. A second end changes nothing."""
        if self.is_over:
            return
        self.is_over = True
        error = self.refusal or error  # a framework may have made another error of it
        self._run.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)

    @contextmanager
    def _keep_refusal(self) -> Generator[None]:
        try:
            yield
        except (RunStopped, LimitReached) as error:
            self.refusal = error
            raise

    def _find_effect(self, name: str) -> str:
        declared = self._effects(name) if callable(self._effects) else self._effects.get(name)
        return declared or guess_effect(name)


def check_effects(effects: Effects | None) -> Effects | None:
    """Return the effects; raise a sentence for one that there is not."""
    for name, effect in () if effects is None or callable(effects) else effects.items():
        if effect not in EFFECTS:
            raise HeadwayError(
                f"The effect of {sanitize_for_display(name)} cannot be '{sanitize_for_display(effect)}'; "
                f"choose from: {', '.join(EFFECTS)}."
            )
    return effects


def guess_effect(name: str) -> str:
    """Return what a tool of this name does, if nobody says: by its words, else it executes something."""
    words = {word.lower() for word in _WORDS.findall(name)}
    kinds = (("execute", _EXECUTES), ("write", _WRITES), ("network", _NETWORK), ("read", _READS))
    return next((effect for effect, known in kinds if any(map(known.fullmatch, words))), "execute")


def to_arguments(arguments: object) -> dict[str, Any]:
    """Return a call's arguments as an object, also if they came as JSON or as nothing that can be read."""
    if isinstance(arguments, str):
        try:
            arguments = parse_json(arguments) if arguments.strip() else {}
        except BadJson:
            return {}
    return dict(cast("Mapping[str, Any]", arguments)) if isinstance(arguments, Mapping) else {}


def to_text(content: object) -> str:
    """Return the words of a prompt or a result, which may be a text, parts that have one, or anything else."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list | tuple):
        return str(content)
    parts = cast("Sequence[Any]", content)
    texts = [cast("dict[str, Any]", part).get("text") if isinstance(part, dict) else part for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


def list_files(arguments: Mapping[str, object]) -> list[str]:
    """Return the paths that a call names."""
    return [value for name in _PATH_FIELDS if isinstance(value := arguments.get(name), str) and value]


def find_exit_code(result: object) -> int | None:
    """Return the exit code that a result has as a field, or says in words."""
    if isinstance(result, list):
        result = to_text(cast("list[object]", result))
    if isinstance(result, str):
        ends = result if len(result) <= 2 * _SEARCHED else f"{result[:_SEARCHED]}\n{result[-_SEARCHED:]}"
        found = _EXIT_CODE.search(ends)
        return int(found[1]) if found else None
    read = cast("Mapping[str, object]", result).get if isinstance(result, Mapping) else partial(_get, result)
    for name in _EXIT_FIELDS:
        value = read(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _get(thing: object, name: str) -> object:
    return getattr(thing, name, None)
