"""The error tree, and the shape every error a user sees has.

::

    DRAError
    ├── InputError            what was given cannot be used             (exit 5, HTTP 422)
    │   ├── CELCompileError       the API server would refuse the text
    │   ├── QuantityError, VersionError, NameRuleError
    │   └── RequirementError      a requirement field, or their combination
    ├── CELRuntimeError       a selector raises on a device: fatal for the whole attempt
    ├── AllocationError       the allocator's fatal and node-only outcomes
    ├── BudgetExceeded        a search or a selector used up its steps
    ├── RefusedError          limit, policy, quota                      (exit 7, HTTP 403)
    ├── ConflictError         busy, impossible, longest-lease           (exit 3, 4 or 7, HTTP 409)
    ├── NotFoundError         no such session, object, file             (exit 1, HTTP 404)
    ├── ClusterError          no cluster, unreachable, too old, no right (exit 8, HTTP 503)
    └── SessionEnded          a session ended before or while it was used

Codes are kebab-case and stable; programs use ``code`` and ``params``, people read ``message`` and ``next_step``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Controls, formats (direction, zero width, tags), surrogates, private use, line and paragraph separators.
_HIDDEN = frozenset(["Cc", "Cf", "Cs", "Co", "Zl", "Zp"])


def one_line(text: object) -> str:
    """Text of strangers as a log or a terminal may hold it: it stays one line, and nothing in it is obeyed or unseen.

    >>> one_line("no\\nWARNING forged")
    'no\\\\nWARNING forged'
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    from unicodedata import category

    return "".join(repr(one)[1:-1] if category(one) in _HIDDEN else one for one in shown)


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """The object an error or finding is about; ``namespace`` is None for cluster-scoped kinds."""

    kind: str
    name: str | None = None
    namespace: str | None = None
    api_version: str | None = None

    def as_dict(self) -> dict[str, str | None]:
        return {
            "api_version": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
        }


class DRAError(Exception):
    """Base of every error this project raises on purpose.

    Args:
        message: one sentence for people.
        code: stable kebab-case code; defaults to the class's own.
        object: what it is about.
        path: field path as the API server writes it (``spec.devices.requests[0].name``).
        next_step: one thing the reader can do.
        params: values for programs and translations.
    """

    code = "error"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        object: ObjectRef | None = None,
        path: str | None = None,
        next_step: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.object = object
        self.path = path
        self.next_step = next_step
        self.params: dict[str, Any] = dict(params or {})

    def __str__(self) -> str:
        """The message on one line, as logs and tracebacks show it; faces take ``message``."""
        return one_line(self.message)


class InputError(DRAError):
    """What was given cannot be used as it is."""

    code = "invalid"


class QuantityError(InputError):
    """A text that is no Kubernetes quantity."""

    code = "quantity"


class VersionError(InputError):
    """A text that is no semantic version."""

    code = "version"


class NameRuleError(InputError):
    """A text that breaks a Kubernetes naming rule."""

    code = "name"


class CELCompileError(InputError):
    """The API server would refuse this expression.

    ``line`` and ``column`` count from 1, like the API server's ``<input>:1:40``.
    ``hint`` explains the commonest mistake of this form, or is None.
    """

    code = "cel-compile"

    def __init__(self, message: str, *, line: int = 1, column: int = 1, hint: str | None = None) -> None:
        super().__init__(message, next_step=hint, params={"line": line, "column": column})
        self.line = line
        self.column = column
        self.hint = hint


class CELRuntimeError(DRAError):
    """Evaluation of a selector failed: the scheduler would end the whole attempt (never read it as false)."""

    code = "cel-runtime"


class BudgetExceeded(DRAError):
    """A search or an evaluation used up the steps it was given; the answer stays open."""

    code = "search-budget"


class AllocationError(DRAError):
    """The allocator's error outcome.

    ``kind`` is one of: cel-runtime, cel-compile, class-missing, too-many-devices, all-incomplete-pool,
    all-invalid-pool, all-constraint, invalid-pools, feature-disabled. ``node_only`` is true where only the asked
    node is rejected and the scheduler goes on with others; otherwise the pod's whole attempt ends.
    """

    code = "allocation"

    def __init__(self, message: str, *, kind: str, node_only: bool = False, **context: Any) -> None:
        super().__init__(message, code=kind, **context)
        self.kind = kind
        self.node_only = node_only


class RequirementError(InputError):
    """A requirement field, or a combination of fields, that cannot become a claim."""

    code = "requirement"


class RefusedError(DRAError):
    """Not allowed: ``code`` is limit, policy or quota."""

    code = "policy"


class ConflictError(DRAError):
    """The state of things forbids it now: ``code`` is busy, impossible, longest-lease, in-use."""

    code = "busy"


class NotFoundError(DRAError):
    """There is no such thing, or it is not yours; the two are answered alike."""

    code = "not-found"


class ClusterError(DRAError):
    """The cluster cannot be used: ``code`` is no-cluster, unreachable, forbidden, too-old, unauthorized."""

    code = "unreachable"


class SessionEnded(DRAError):
    """A session ended; ``code`` is one of the end codes of the contract."""

    code = "stopped"
