"""Failures as exit codes: one table, and one line on stderr without a traceback.

In: an error. Out: its code for scripts, and its message for people (or JSON for programs).
"""

import json
import sys

from ricordo.errors import (
    BudgetError,
    ConflictError,
    DamageError,
    LLMError,
    NotFoundError,
    ReceiptError,
    RicordoError,
    SchemaError,
    SettingsError,
    StoreError,
    StoreUnavailable,
    ValidationError,
)

OK = 0
FAILED = 1  # the command ran and found something wrong: damage, refused documents, a failed batch
USAGE = 2
BROKEN_PIPE = 141  # as a shell reports a program that wrote to a closed pipe
INTERRUPTED = 130  # as a shell reports Ctrl-C

# The most particular class first; the first match counts.
EXIT_CODES: tuple[tuple[type[Exception], int], ...] = (
    (ValidationError, USAGE),
    (SettingsError, USAGE),
    (BudgetError, USAGE),
    (NotFoundError, 3),
    (ConflictError, 4),
    (StoreUnavailable, 5),
    (SchemaError, 5),
    (DamageError, 6),
    (ReceiptError, 6),
    (StoreError, 5),
    (LLMError, 7),
    (RicordoError, FAILED),
    (OSError, USAGE),
)


def exit_code(error: Exception) -> int:
    """The code of the first class in the table that fits."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), FAILED)


def report(error: Exception, *, as_json: bool) -> None:
    """One line on stderr."""
    if as_json:
        plain = {"error": type(error).__name__, "message": str(error), "exit_code": exit_code(error)}
        line = json.dumps(plain, ensure_ascii=False)
    else:
        line = "ricordo: " + " ".join(str(error).split())
    print(line, file=sys.stderr)
