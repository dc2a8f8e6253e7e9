"""Every error Headway raises, in one tree. Each message is a sentence that says what is wrong and what to do.

Each class has a `code` for programs, which never changes. Those of other parts are defined there.

HeadwayError
├── InvalidTodos      (ValueError)    a list or item that breaks the rules; lists every violation
├── InvalidPlan       (ValueError)    a plan that breaks the rules; lists every violation
├── SettingsError     (ValueError)    a setting that cannot be used
├── TodoNotFound      (LookupError)   no item has that id
├── SessionNotFound   (LookupError)   no session has that name
├── NoPlan                            the session has no plan
├── NothingToUndo                     undo or redo went further than the history does
├── ListChanged                       the list is no longer as it was at the version that the change was made for
├── ClaimRefused                      the item belongs to another worker, or the lease ran out
├── RunRefused                        the run cannot begin, or is over for others
│   └── RunGoesOn                     another run has the session
├── NoRun                             no run is going on that could be asked for something
├── QuestionNotKept                   the exact text of a question is not there, so it cannot be allowed here
├── NotRunnable                       the item cannot be executed, or rolled back, as things are
│   ├── FilesChanged                  later changes are in the way of a rollback or an undo
│   └── FilesBusy                     something in the session has its files; `headway.execute`
├── EvidenceMissing                   nothing shows that the items are done; the same change works the second time
├── ChecksNeeded                      the todos' checks have to run before the model may complete them
├── ModelError                        the model cannot be used, or a request to it failed
│   ├── ModelNotReady                 something must be set, installed, started or corrected first
│   ├── ModelBusy                     the same request may work later
│   ├── ContextTooLong                the request does not fit into the model's context window
│   └── UserAfterToolRefused          the server accepts no user message after a tool's result
├── RunStopped                        a person stopped the run; `headway.planner`
├── LimitReached                      the run has used what it may; `headway.planner`
├── ToolFault                         a call that cannot be done, in words for the model; `headway.contracts`
│   ├── Denied                        the call may not run; `headway.tools`
│   └── PathNotFound                  nothing has that path; `headway.tools`
├── NoCheckpoints                     no files can be saved, or what was saved cannot be used; `headway.execute`
├── AlreadyServed                     another process serves the project; `headway.app`
├── AlreadyThere                      a session that was to begin is there; `headway.web`
├── BadRequest                        the page's server cannot take a request; `headway.web`
└── StoreError        (OSError)       the log cannot be read or written
    ├── StoreConflict                 someone else appended first (retried by the session)
    ├── StoreBusy                     another process holds the file for too long
    ├── StoreReadOnly                 the file or its folder may not be written
    ├── StoreFull                     no room left on the disk
    ├── StoreTooNew                   the file was made by a newer Headway
    ├── StoreForeign                  the file may be someone else's, and was not adopted
    └── StoreCorrupt                  the file is damaged or is not a Headway file
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self


class HeadwayError(Exception):
    """Base of all errors raised on purpose."""

    code = "error"
    """What kind of error it is, for programs."""
    advice = ""
    """What would help and is done in another way on every surface, as `headway.app.advice` names it."""
    advice_data: Mapping[str, str] = {}

    def with_advice(self, advice: str, **data: str) -> Self:
        """Return this error, whose sentence ends so that a surface can add how that is done there."""
        self.advice, self.advice_data = advice, data
        return self


class _Invalid(HeadwayError, ValueError):
    subject = "input"

    def __init__(self, violations: Sequence[str]) -> None:
        self.violations: list[str] = list(violations)
        """Each as `path: what is wrong`."""
        lines = "\n".join(f"- {line}" for line in self.violations)
        super().__init__(f"Invalid {self.subject}; correct this and send it again:\n{lines}")


class InvalidTodos(_Invalid):
    code = "invalid_todos"
    subject = "todos"


class InvalidPlan(_Invalid):
    code = "invalid_plan"
    subject = "plan"


class SettingsError(HeadwayError, ValueError):
    code = "settings_error"

    def __init__(self, message: str, violations: Sequence[str] = ()) -> None:
        self.violations: list[str] = list(violations)
        """Each as `key: what is wrong`."""
        super().__init__("\n".join([message, *(f"- {line}" for line in self.violations)]))


class TodoNotFound(HeadwayError, LookupError):
    code = "todo_not_found"

    def __init__(self, todo_id: str, known: Iterable[str]) -> None:
        from headway.core.text import sanitize_for_display

        self.todo_id = todo_id
        self.known: list[str] = list(known)
        first = ", ".join(sanitize_for_display(i, 40) for i in self.known[:20])
        more = f" and {len(self.known) - 20} more" if len(self.known) > 20 else ""
        there = f"the ids are: {first}{more}" if self.known else "the list is empty"
        super().__init__(f"No todo has the id '{sanitize_for_display(todo_id, 40)}'; {there}.")


class SessionNotFound(HeadwayError, LookupError):
    code = "session_not_found"


class NoPlan(HeadwayError):
    code = "no_plan"

    def __init__(self) -> None:
        super().__init__("No active plan; set one first.")


class QuestionNotKept(HeadwayError):
    code = "question_not_kept"

    def __init__(self) -> None:
        super().__init__(
            "The exact text of this question is not available here, so you can only decline it here; to allow it, "
            "answer where the run was started."
        )


class NothingToUndo(HeadwayError):
    code = "nothing_to_undo"


class ListChanged(HeadwayError):
    code = "list_changed"

    def __init__(self, expected: int, changed_in: int) -> None:
        self.expected = expected
        self.changed_in = changed_in
        """The version in which the list last changed."""
        super().__init__(
            f"The list has changed since version {expected}, last in version {changed_in}; read it again before you "
            "change it."
        )


class ClaimRefused(HeadwayError):
    code = "claim_refused"


class RunRefused(HeadwayError):
    code = "run_refused"


class RunGoesOn(RunRefused):
    code = "run_goes_on"

    def __init__(self, session: str, since: str | None, holder: str) -> None:
        from headway.core.clock import format_local_time
        from headway.core.text import sanitize_for_display

        self.session = session
        self.since = since
        self.holder = holder
        when = format_local_time(since) if since else "just now"
        self.what: str = (
            f"Another run has been using the session '{sanitize_for_display(session)}' "
            f"since {when} ({sanitize_for_display(holder, 120)})"
        )
        """The sentence without its advice: each surface offers another session in its own way."""
        super().__init__(f"{self.what}: wait for it, stop it, or use another session.")


class NoRun(HeadwayError):
    code = "no_run"


class NotRunnable(HeadwayError):
    code = "not_runnable"


class FilesChanged(NotRunnable):
    """Later changes are in the way of a rollback."""

    code = "files_changed"

    def __init__(
        self, message: str, files: Sequence[str] = (), items: Sequence[str] = (), *, is_momentary: bool = False
    ) -> None:
        self.is_momentary = is_momentary
        """Whether they changed while it was done, so that the same may work now."""
        self.files: list[str] = list(files)
        """Where they are."""
        self.items: list[str] = list(items)
        """Which items made them; none: someone else."""
        super().__init__(message)


class EvidenceMissing(HeadwayError):
    code = "evidence_missing"

    def __init__(self, item_ids: Sequence[str]) -> None:
        from headway.core.text import join_first_few

        self.item_ids: list[str] = list(item_ids)
        super().__init__(
            f"Nothing shows yet that this is done: {join_first_few(self.item_ids)}. "
            "After the last edit, run a command that "
            "checks it, such as its tests; then write the list again. If nothing can check it, write the same list "
            "again."
        )


class ChecksNeeded(HeadwayError):
    code = "checks_needed"

    def __init__(self, todo_ids: Sequence[str]) -> None:
        from headway.core.text import join_first_few

        self.todo_ids: list[str] = list(todo_ids)
        super().__init__(
            f"The check must run first: {join_first_few(self.todo_ids)}. Make the same change again when it has run."
        )


class ModelError(HeadwayError):
    code = "model_error"


class ModelNotReady(ModelError):
    code = "model_not_ready"


class ModelBusy(ModelError):
    code = "model_busy"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        """Seconds that the provider asked to wait, where it said."""
        super().__init__(message)


class ContextTooLong(ModelError):
    code = "context_too_long"


class UserAfterToolRefused(ModelError):
    code = "user_after_tool_refused"


class StoreError(HeadwayError, OSError):
    code = "store_error"


class StoreConflict(StoreError):
    code = "store_conflict"


class StoreBusy(StoreError):
    code = "store_busy"


class StoreReadOnly(StoreError):
    code = "store_read_only"


class StoreFull(StoreError):
    code = "store_full"


class StoreTooNew(StoreError):
    code = "store_too_new"


class StoreForeign(StoreError):
    code = "store_foreign"


class StoreCorrupt(StoreError):
    code = "store_corrupt"
