"""The checks of an execution: which one each attempt has, whether it may run, and what it says when it did.

A todo's own check decides whether it is completed. The project's check, for todos without one, may verify them; it
fails one only if it passed on the execution's first checkpoint.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from glob import escape, glob
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from headway.core.evidence import Evidence
from headway.tools.checks.check_command import CHANGED_FILES, can_fail
from headway.tools.checks.check_files import CheckFiles, list_changed_check_files, read_check_files
from headway.tools.checks.judge_check import judge_check

if TYPE_CHECKING:
    from headway.agent.check_approvals import CheckApprovals
    from headway.core.model import Todo
    from headway.execute.workspaces import Workspace, Workspaces
    from headway.tools.checks.run_check import CheckResult, CheckRunner

# Environments that a worktree shares with the project and that point back into it, as an editable install does.

_LARGEST = 1_000_000
_MAPPED = re.compile(r"""['"]([\w.]+)['"]\s*[:,]\s*['"]([^'"\n]+)['"]""")
"""A module and its path, as the finders of editable installs name them."""
_IGNORES_PATHS = re.compile(r"PYTHONPATH|(?<!\S)-[a-zA-Z]*[IE]\b|(?<!\S)env\s+-i\b|--isolated\b")
"""What keeps a command from seeing the paths that are put in front."""
_HIDES_ENVIRONMENT = frozenset({"tox", "nox"})


@dataclass(frozen=True, slots=True)
class LinkedEnvironments:
    """What the environments that commands use have of the project's own modules."""

    paths: tuple[str, ...] = ()
    """Folders of the project in which modules are looked for."""
    modules: Mapping[str, str] | None = None
    """Module → its path in the project."""
    unmapped: str | None = None
    """What points into the project in a way that cannot be led elsewhere."""

    @property
    def points_back(self) -> bool:
        return bool(self.paths or self.modules or self.unmapped)


def read_environments(project: str, linked: Iterable[str], environ: Mapping[str, str]) -> LinkedEnvironments:
    """Return what points back into the project: in its linked folders, and in the environment that is in use."""
    reader = _Reader(os.path.realpath(project))
    for name in linked:
        folder = os.path.join(project, name)
        if os.path.basename(name) == "node_modules":
            reader.read_node_modules(folder)
    for prefix in _prefixes(project, linked, environ):
        for site in _site_packages(prefix):
            reader.read_site_packages(site)
    return LinkedEnvironments(tuple(reader.paths), reader.modules, reader.unmapped)


def variables_for(found: LinkedEnvironments, project: str, worktree: str, shims: str) -> dict[str, str]:
    """Return the variables with which commands find the worktree's modules first.

    `shims`: a folder for links, where a module's path does not end in its name.
    """
    if not found.paths and not found.modules:
        return {}
    home = os.path.realpath(project)
    paths = [_to_worktree_path(path, home, worktree) for path in found.paths]
    for name, path in (found.modules or {}).items():
        there = _to_worktree_path(path, home, worktree)
        if os.path.basename(there).removesuffix(".py") == name:
            paths.append(os.path.dirname(there))
        else:
            paths.append(shims)
            os.makedirs(shims, exist_ok=True)
            link = os.path.join(shims, f"{name}.py" if there.endswith(".py") else name)
            with suppress(FileNotFoundError):
                os.unlink(link)
            os.symlink(there, link)
    return {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}


def must_run_in_project(check: str, found: LinkedEnvironments, project: str) -> str | None:
    """Return why a check that runs in a worktree could be about the project's files instead; None if it is not."""
    if any(path in check for path in {os.path.realpath(project), os.path.abspath(project)}):
        return "it names the project's folder"
    if found.unmapped is not None:
        return f"{found.unmapped} points into the project"
    if found.points_back and (_IGNORES_PATHS.search(check) or not _HIDES_ENVIRONMENT.isdisjoint(check.split())):
        return "it searches for modules in its own paths"
    return None


def _to_worktree_path(path: str, home: str, worktree: str) -> str:
    return os.path.normpath(os.path.join(worktree, os.path.relpath(path, home)))


def _prefixes(project: str, linked: Iterable[str], environ: Mapping[str, str]) -> Iterator[str]:
    """The Python environments that commands may use."""
    prefixes = [os.path.join(project, name) for name in linked]
    prefixes += [environ[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if environ.get(name)]
    for program in ("python", "python3", "pytest"):
        if found := shutil.which(program, path=environ.get("PATH")):
            prefixes.append(os.path.dirname(os.path.dirname(os.path.abspath(found))))
    yield from dict.fromkeys(prefixes)


def _site_packages(prefix: str) -> Iterator[str]:
    for pattern in ("lib*/python*/site-packages", "lib*/python*/dist-packages", "Lib/site-packages"):
        yield from glob(os.path.join(escape(prefix), pattern))


class _Reader:
    def __init__(self, home: str) -> None:
        self._home = home
        self.paths: dict[str, None] = {}
        self.modules: dict[str, str] = {}
        self.unmapped: str | None = None

    def read_site_packages(self, site: str) -> None:
        with suppress(OSError):
            # What a distribution says of itself comes last: it counts only where nothing else says it.
            for name in sorted(os.listdir(site), key=lambda name: (name.endswith(".dist-info"), name)):
                path = os.path.join(site, name)
                if name.endswith((".pth", ".egg-link")):
                    self._read_paths(path)
                elif name.endswith(".py") and "editable" in name:
                    self._read_finder(path)
                elif name.endswith(".dist-info"):
                    self._read_origin(path)
                elif os.path.islink(path) and self._is_ours(os.path.realpath(path)):
                    self.modules[name.removesuffix(".py")] = os.path.realpath(path)

    def read_node_modules(self, folder: str) -> None:
        """Links of workspaces lead to the project's own packages; Node follows them wherever they are found."""
        with suppress(OSError):
            for name in sorted(os.listdir(folder)):
                entries = [name]
                if name.startswith("@"):
                    entries = [f"{name}/{inner}" for inner in os.listdir(os.path.join(folder, name))]
                for entry in entries:
                    path = os.path.join(folder, entry)
                    if os.path.islink(path) and self._is_ours(os.path.realpath(path)):
                        self._note(f"node_modules/{entry}")

    def _read_paths(self, file: str) -> None:
        for line in _read(file).splitlines():
            text = line.strip()
            if not text or text.startswith("#") or text == ".":
                continue
            if text.startswith(("import ", "import\t")):
                if self._home in text:
                    self._note(os.path.basename(file))
            elif self._is_ours(path := os.path.realpath(os.path.join(os.path.dirname(file), text))):
                self._add_path(path, file)

    def _read_finder(self, file: str) -> None:
        text = _read(file)
        found = [(name, path) for name, path in _MAPPED.findall(text) if self._is_ours(os.path.realpath(path))]
        for name, path in found:
            real = os.path.realpath(path)
            if os.path.basename(real) == "__init__.py":
                real = os.path.dirname(real)
            if "." in name or not os.path.exists(real):
                self._note(os.path.basename(file))
            else:
                self.modules[name] = real
        if not found and self._home in text:
            self._note(os.path.basename(file))

    def _read_origin(self, folder: str) -> None:
        """An editable install of the project itself, of which nothing else says where its modules are."""
        with suppress(ValueError, AttributeError):
            origin: object = json.loads(_read(os.path.join(folder, "direct_url.json")) or "null")
            if not isinstance(origin, dict) or not origin.get("dir_info", {}).get("editable"):  # type: ignore[reportUnknownMemberType]
                return
            path = os.path.realpath(unquote(urlsplit(str(origin.get("url"))).path))  # type: ignore[reportUnknownMemberType]
            known = [*self.paths, *self.modules.values()]
            if self._is_ours(path) and not any(other == path or other.startswith(f"{path}/") for other in known):
                self._note(os.path.basename(folder))

    def _add_path(self, path: str, file: str) -> None:
        # What a build put together, such as setuptools' strict mode, is made of links to the project's files.
        if os.path.isdir(path) and "__editable__" not in path:
            self.paths[path] = None
        else:
            self._note(os.path.basename(file))

    def _note(self, what: str) -> None:
        self.unmapped = self.unmapped or what

    def _is_ours(self, path: str) -> bool:
        """Whether it is in the project, and not in an environment that is there too."""
        inside = os.path.relpath(path, self._home)
        parts = inside.split(os.sep)
        return parts[0] != ".." and not {"site-packages", "node_modules", ".headway"} & set(parts)


def _read(file: str) -> str:
    with suppress(OSError):
        if os.path.isfile(file) and os.path.getsize(file) <= _LARGEST:
            with open(file, encoding="utf-8", errors="replace") as opened:
                return opened.read()
    return ""


_CACHES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".coverage"})
FAILED_BEFORE = "the project's check fails, as it did before the execution"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check says about an attempt."""

    evidence: Evidence | None = None
    """What it shows; None if it did not pass, or did not run."""
    passed: bool = False
    failure: str = ""
    """How it failed, with its last lines; nothing if it did not, or if that does not count."""
    note: str = ""
    """Why it says nothing."""
    is_own: bool = False
    """Whether it is the todo's own check, and not the project's."""

    @property
    def completes(self) -> bool:
        """Whether it completes the todo though the model reported nothing."""
        return self.is_own and self.evidence is not None and self.evidence.level == "verified"


NO_CHECK = Verdict()


class ExecutionChecks:
    """One per execution."""

    def __init__(
        self,
        runner: CheckRunner,
        approvals: CheckApprovals,
        workspaces: Workspaces,
        *,
        project_check: str | None,
        linked: Sequence[str],
    ) -> None:
        self._runner = runner
        self._approvals = approvals
        self._workspaces = workspaces
        self.project_check = project_check
        self._linked = linked
        self._first: str | None = None
        """The execution's first checkpoint."""
        self._baselines: dict[str, asyncio.Task[CheckResult | None] | asyncio.Task[CheckResult]] = {}
        """Command → how the project's check ended on the first checkpoint."""

    async def ask(self, todos: Iterable[Todo]) -> str:
        """Ask about all checks that may not run yet, in one question; say which will not."""
        declined = await self._approvals.ask([todo.verify for todo in todos if todo.verify])
        if not declined:
            return ""
        one = len(declined) == 1
        return f"{len(declined)} {'check is' if one else 'checks are'} not run: {self._explain(declined[0])}."

    def _explain(self, check: str) -> str:
        return self._approvals.explain(check).removeprefix("check not run: ")

    async def begin(self, todo: Todo, workspace: Workspace, changed: Changed) -> AttemptCheck:
        """Note what is there before an attempt, in its folder."""
        self._first = self._first or workspace.checkpoint
        check, is_own = (todo.verify, True) if todo.verify else (self.project_check, False)
        environments, variables = await asyncio.to_thread(self._look_at_environments, workspace)
        one = AttemptCheck(self, workspace, check or "", is_own, changed, environments, variables)
        if check is None:
            return one
        looks_at_project = not workspace.name or one.reason_to_run_in_project is not None
        if not is_own and looks_at_project and check not in self._baselines and CHANGED_FILES not in check:
            self._baselines[check] = asyncio.create_task(self.run(check, self.project_folder, (), {}))
            await asyncio.shield(self._baselines[check])
        if is_own and await self._approvals.ask([check]):
            one.note = self._approvals.explain(check)
            return one
        one.before = await asyncio.to_thread(read_check_files, one.local_check, workspace.folder, variables)
        if is_own and not workspace.name:  # in the project's own files, nothing can be looked at later as it was
            one.failed_before = not (await self.run(check, workspace.folder, (), variables)).has_passed
        return one

    def _look_at_environments(self, workspace: Workspace) -> tuple[LinkedEnvironments, dict[str, str]]:
        if not workspace.name:
            return LinkedEnvironments(), {}
        project = self._workspaces.project
        found = read_environments(project, self._linked, os.environ)
        shims = os.path.join(os.path.dirname(workspace.folder), f"{os.path.basename(workspace.folder)}.modules")
        return found, variables_for(found, project, workspace.folder, shims)

    @property
    def project_folder(self) -> str:
        return self._workspaces.project

    async def run(self, check: str, folder: str, files: Iterable[str], variables: Mapping[str, str]) -> CheckResult:
        return await self._runner.run(check, folder, files=files, variables=variables)

    async def run_until_settled(
        self, check: str, folder: str, files: Sequence[str], variables: Mapping[str, str]
    ) -> CheckResult:
        return await self._runner.run_until_settled(check, folder, files=files, variables=variables)

    async def failed_on_checkpoint(self, check: str, checkpoint: str | None, files: Sequence[str]) -> bool | None:
        """Return whether a check fails on a checkpoint; None where that cannot be found out."""
        result = await self._run_on(check, checkpoint, files)
        return None if result is None else not result.has_passed

    async def failed_at_first(self, check: str, files: Sequence[str]) -> bool | None:
        """Return whether the project's check failed before anything was done; it is run once."""
        key = f"{check}\0{files}" if CHANGED_FILES in check else check
        if key not in self._baselines:
            self._baselines[key] = asyncio.create_task(self._run_on(check, self._first, files))
        result = await asyncio.shield(self._baselines[key])
        return None if result is None else not result.has_passed

    async def close(self) -> None:
        """End what still runs."""
        for task in self._baselines.values():
            task.cancel()
        await asyncio.gather(*self._baselines.values(), return_exceptions=True)

    async def _run_on(self, check: str, checkpoint: str | None, files: Sequence[str]) -> CheckResult | None:
        if checkpoint is None or not self._workspaces.isolated:
            return None
        async with self._workspaces.copy_checkpoint(checkpoint) as workspace:
            _, variables = await asyncio.to_thread(self._look_at_environments, workspace)
            there = [file for file in files if os.path.lexists(os.path.join(workspace.folder, file))]
            if CHANGED_FILES in check and not there:
                return None
            return await self.run(check, workspace.folder, there, variables)


Changed = Callable[[], Awaitable[Sequence[str]]]


@dataclass(slots=True)
class AttemptCheck:
    """The check of one attempt."""

    checks: ExecutionChecks
    workspace: Workspace
    check: str
    """Nothing if there is none."""
    is_own: bool
    changed: Changed
    """Returns the files that the attempt has changed so far."""
    environments: LinkedEnvironments
    variables: dict[str, str]
    """What commands of the attempt are given."""
    before: CheckFiles = field(default_factory=lambda: CheckFiles({}, frozenset(), False))
    failed_before: bool | None = None
    note: str = ""
    """Why it does not run."""
    _by_check: set[str] = field(default_factory=set[str])
    """Files that came about while a check ran."""

    @property
    def runs(self) -> bool:
        return bool(self.check) and not self.note

    @property
    def reason_to_run_in_project(self) -> str | None:
        """Why it has to run in the project, after the merge; None if it runs in the attempt's folder."""
        if not self.workspace.name or not self.runs:
            return None
        return must_run_in_project(self.check, self.environments, self.checks.project_folder)

    @property
    def local_check(self) -> str:
        """The command as it is about the attempt's folder, to find the check's own files there."""
        check = self.check
        for path in {os.path.realpath(self.checks.project_folder), self.checks.project_folder}:
            check = check.replace(path, self.workspace.folder)
        return check

    async def run(self) -> Verdict:
        """Run the check in the attempt's folder."""
        if not self.runs or self.reason_to_run_in_project:
            return replace(NO_CHECK, note=self.note, is_own=self.is_own)
        return await self._run_in(self.workspace.folder, self.variables)

    async def run_in_project(self) -> Verdict:
        """Run the check on the attempt's changes when they are in the project."""
        return await self._run_in(self.checks.project_folder, {})

    async def _run_in(self, folder: str, variables: Mapping[str, str]) -> Verdict:
        changed = await self._list_changed()
        if CHANGED_FILES in self.check and not changed:
            return replace(NO_CHECK, note="the check needs changed files, and no file was changed")
        weaker = partial(list_changed_check_files, self.before, self.local_check, self.workspace.folder, self.variables)
        weakened = await asyncio.to_thread(weaker)
        existing = [file for file in changed if os.path.lexists(os.path.join(folder, file))]
        result = await self.checks.run_until_settled(self.check, folder, existing, variables)
        self._by_check |= {*await self.changed()} - {*changed}
        if not result.has_passed:
            return await self._judge_failure(result, existing)
        # Once more: the check itself runs code of the attempt.
        weakened = weakened or await asyncio.to_thread(weaker)
        failed_before = bool(self.failed_before)
        if not changed and not weakened and self.is_own and not failed_before and not self.reason_to_run_in_project:
            failed_before = bool(await self.checks.failed_on_checkpoint(self.check, self.workspace.checkpoint, ()))
        shown = judge_check(
            result,
            weakened=weakened,
            changed=changed,
            failed_before=failed_before,
            can_fail=can_fail(self.check),
        )
        return Verdict(shown, True, is_own=self.is_own)

    async def _list_changed(self) -> tuple[str, ...]:
        """Return what the work changed, and neither a check nor what any command leaves behind."""
        changed = await self.changed()
        return tuple(path for path in changed if path not in self._by_check and _CACHES.isdisjoint(path.split("/")))

    async def _judge_failure(self, result: CheckResult, files: Sequence[str]) -> Verdict:
        if not self.is_own and await self.checks.failed_at_first(self.check, files) is not False:
            return replace(NO_CHECK, note=FAILED_BEFORE)
        return Verdict(failure=result.explain(), is_own=self.is_own)
