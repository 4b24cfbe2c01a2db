"""All errors, as a tree: one class for each case that a caller can handle differently.

Each message names the problem and the remedy; the cause is chained. The command line maps the classes to exit codes,
and the server to HTTP statuses, in one table each.

    RicordoError
    ├── ValidationError      bad input, nothing was changed: correct the named field
    ├── SettingsError        bad setting: correct the named key
    ├── NotFoundError        no such session, turn or receipt for this user
    ├── ConflictError        the same id has other content already, or a number is taken
    ├── BudgetError          the limit is too small for what must never be cut
    ├── ReceiptError         a past context cannot be rebuilt from what is still stored
    ├── LLMError             a language model did not answer
    └── StoreError           the database refused or failed
        ├── StoreUnavailable     away or busy: the same call may work later
        ├── SchemaError          the schema is newer than this version, or was edited
        └── DamageError          stored bytes do not match their checksum: run `verify`
"""

from typing import Literal


class RicordoError(Exception):
    """Base of every error that Ricordo raises on purpose; `code` names the case where one class has several."""

    code = ""


class ValidationError(RicordoError):
    """Input was refused before anything was written; `field` names it."""

    def __init__(self, field: str, problem: str, *, code: str = "") -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem
        self.code = code


class SettingsError(RicordoError):
    """A setting is unknown or has the wrong type; `key` names it."""

    def __init__(self, key: str, problem: str, *, code: str = "") -> None:
        super().__init__(f"setting {key!r}: {problem}")
        self.key = key
        self.problem = problem
        self.code = code


class NotFoundError(RicordoError):
    """The session, turn or receipt does not exist for this user."""


class ConflictError(RicordoError):
    """The id or number is already taken by different content."""


class BudgetError(RicordoError):
    """The token limit is too small for the part that must never be cut."""


class ReceiptError(RicordoError):
    """The context named by a receipt can no longer be rebuilt exactly."""


FailureCause = Literal["refused", "rate_limited", "failed", "timeout", "unreachable", "cut", "empty", "stopped"]


class LLMError(RicordoError):
    """A language model is away, refuses, or gives no usable answer; the message names the model and the remedy.

    `cause` is the kind of failure, and `status` the HTTP status that the model's server sent, if any. `shown` is a
    sentence for the user in the language of the question, without names of hosts or models.
    """

    def __init__(self, message: str, *, cause: FailureCause = "failed", status: int | None = None) -> None:
        super().__init__(message)
        self.cause: FailureCause = cause
        self.status = status
        self.shown = ""


class StoreError(RicordoError):
    """The database refused or failed an operation."""


class StoreUnavailable(StoreError):  # noqa: N818 - a state, not a mistake of the caller
    """The database is away or busy; the same call may work later."""


class SchemaError(StoreError):
    """The database schema does not belong to this version of Ricordo."""


class DamageError(StoreError):
    """Stored data does not match its checksum or cannot be read back."""
