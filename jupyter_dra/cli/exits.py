"""Exit statuses of all commands (contract §1)."""

from __future__ import annotations

from ..errors import (
    BudgetExceeded,
    CELRuntimeError,
    ClusterError,
    ConflictError,
    DRAError,
    InputError,
    NotFoundError,
    RefusedError,
)

DONE = 0
FINDINGS = 1
USAGE = 2
BUSY = 3
IMPOSSIBLE = 4
INVALID = 5
UNKNOWN = 6
REFUSED = 7
NO_CLUSTER = 8
NOT_STARTED = 125
INTERRUPTED = 130

VERDICTS = {"fits": DONE, "busy": BUSY, "impossible": IMPOSSIBLE, "invalid": INVALID, "unknown": UNKNOWN}

MEANING = """\
exit statuses:
  0 done, fits, clean    1 findings, failed, not running    2 usage
  3 busy                 4 impossible                       5 invalid    6 unknown
  7 not allowed (limit, quota, policy)                      130 interrupted
  8 no cluster, unreachable, no rights for the command
"""


def status_of(error: DRAError) -> int:
    """The exit status an error stands for."""
    if error.code in VERDICTS:
        return VERDICTS[error.code]
    if error.code == "class-missing":
        return IMPOSSIBLE
    if error.code == "longest-lease":
        return REFUSED  # a limit, though the state of the session decides it
    for kind, status in (
        (RefusedError, REFUSED),
        (ClusterError, NO_CLUSTER),
        (NotFoundError, FINDINGS),
        (ConflictError, BUSY),
        (BudgetExceeded, UNKNOWN),
        (InputError, INVALID),
        (CELRuntimeError, INVALID),
    ):
        if isinstance(error, kind):
            return status
    return FINDINGS
