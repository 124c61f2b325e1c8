"""The server's part: versions, strict decoding and rules, said with the API server's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jupyter_dra.checker import advice
from jupyter_dra.checker.findings import ERROR, HINT, WARNING, Finding, ServerText
from jupyter_dra.checker.scalars import SURPRISING
from jupyter_dra.checker.subjects import GROUP, Subject, meant, without_wrappers, write_path
from jupyter_dra.checker.tree import Steps, Tree, key_text
from jupyter_dra.validation import (
    Decoded,
    FieldError,
    Problem,
    apply_defaults,
    decode,
    schemas,
    status_text,
    to_v1,
    validate,
    versions,
)

CODES = {
    "Required value": "required",
    "Invalid value": "invalid",
    "Duplicate value": "duplicate",
    "Not found": "not-found",
    "Unsupported value": "not-supported",
    "Forbidden": "forbidden",
    "Too long": "too-long",
    "Too many": "too-many",
    "Internal error": "invalid",
}
RULE_CODES = {"cel": "cel-compile", "cel-cost": "cel-cost", "admin-namespace": "admin-namespace"}
# What admission fills in before the server validates a pod.
_ADMITTED = {"serviceAccountName": "default"}


def check_served(
    subject: Subject,
    target: str,
    namespaces: Mapping[str, Mapping[str, str]],
    others: Sequence[Subject] = (),
) -> Iterator[Finding]:
    """Everything the target's API server would refuse about an object, as if nothing stopped it early.

    ``namespaces`` are the labels of the namespaces that are known, by name; ``others`` the objects beside it.
    """
    yield from _doubles(subject, subject.tree, ())
    if subject.is_dra and subject.version in versions.NEVER_AGAIN | {"v1alpha3"}:
        found = list(_removed(subject, target, others))
        if found:
            yield from found
            return
    kind = schemas.find_kind(subject.value.get("apiVersion"), subject.value.get("kind"))
    if kind is None:
        yield from _unknown_kind(subject, target)
        return
    if subject.is_dra:
        yield from _not_served(subject, target)
    decoded = decode(_sorted(subject.value), target=target)
    yield from _decode_findings(subject, decoded)
    yield from _rule_findings(subject, kind, target, namespaces, decoded)
    for dropped in versions.dropped_fields(to_v1(decoded.value), target):
        gate = dropped.gate
        since = f", on by default since 1.{gate.on}" if gate.on else ""
        yield subject.finding(
            "field-dropped",
            WARNING,
            f"Kubernetes {target} drops {dropped.steps[-1]} without a word: its feature is off by default.",
            dropped.steps,
            why=f"Feature gate {gate.name} (known since 1.{gate.known}{since}).",
            fix=f"Ask the admin whether {gate.name} is on, or do without the field.",
        )


def _sorted(value: Any) -> Any:
    """Fields in the order in which kubectl sends them."""
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(entry) for entry in value] if isinstance(value, list) else value


def _doubles(subject: Subject, tree: Tree, steps: Steps) -> Iterator[Finding]:
    """Fields written twice anywhere in the object."""
    stack: list[tuple[Tree, Steps]] = [(tree, steps)]
    while stack:
        node, path = stack.pop()
        seen: set[str] = set()
        for key, value in node.pairs:
            name = key_text(key)
            if name in seen:
                where = (*path, name)
                yield subject.finding(
                    "yaml-duplicate-key",
                    ERROR,
                    f"{name} is written twice here; the later value wins, the earlier is lost.",
                    where,
                    why="kubectl keeps the last value; a server that gets both refuses the object.",
                    fix="Keep one of the two.",
                    server=ServerText(400, f'strict decoding error: duplicate field "{write_path(where)}"'),
                    spot=key.start,
                )
            seen.add(name)
            stack.append((value, (*path, name)))
        stack += [(item, (*path, index)) for index, item in enumerate(node.items)]


def _removed(subject: Subject, target: str, others: Sequence[Subject]) -> Iterator[Finding]:
    stand = versions.served(subject.version, subject.kind, target)
    if stand != "gone" and subject.kind not in versions.OLD_KINDS:
        return
    yield subject.finding(
        "version-removed",
        ERROR,
        f"{subject.api_version} {subject.kind} was removed; no cluster since Kubernetes 1.32 accepts it.",
        ("apiVersion",),
        why="The alpha versions named a ResourceClass and driver parameters; v1 has DeviceClasses and selectors.",
        fix=advice.way_from_alpha(subject, others),
        server=ServerText(404, f'no matches for kind "{subject.kind}" in version "{subject.api_version}"'),
    )
    yield from advice.alpha_fields(subject)


def _unknown_kind(subject: Subject, target: str) -> Iterator[Finding]:
    if not subject.kind or not subject.api_version:
        missing = "kind" if not subject.kind else "apiVersion"
        label = "Kind" if missing == "kind" else missing
        yield subject.finding(
            "required",
            ERROR,
            f"The object has no {missing}.",
            (missing,),
            server=ServerText(400, f"Object '{label}' is missing"),
            fix=f"Say which {missing} it is.",
        )
        return
    if subject.is_dra or subject.kind in versions.KINDS | versions.OLD_KINDS:
        yield subject.finding(
            "version-not-served",
            ERROR,
            f"There is no {subject.kind} in {subject.api_version}.",
            ("apiVersion",),
            server=ServerText(
                404, f'no matches for kind "{subject.kind}" in version "{subject.api_version}"'
            ),
            fix=f"Write {GROUP}/v1." if subject.kind in versions.KINDS else advice.way_from_alpha(subject),
        )
        return
    yield subject.finding(
        "kind-unknown",
        HINT,
        f"{subject.kind} ({subject.api_version}) is not a kind this checker knows; it was passed over.",
        ("kind",),
    )


def _not_served(subject: Subject, target: str) -> Iterator[Finding]:
    stand = versions.served(subject.version, subject.kind, target)
    if stand == "on":
        return
    where: Steps = ("apiVersion",)
    has_v1 = versions.served("v1", subject.kind, target) == "on"
    repair = "migrate" if has_v1 and subject.version.startswith("v1beta") else None
    if stand in {"gone", "unknown"}:
        yield subject.finding(
            "version-not-served",
            ERROR,
            f"Kubernetes {target} does not serve {subject.kind} in {subject.api_version}.",
            where,
            server=ServerText(
                404, f'no matches for kind "{subject.kind}" in version "{subject.api_version}"'
            ),
            fix=f"Write {GROUP}/v1." if has_v1 else "Ask the admin which versions the cluster serves.",
            repair=repair,
        )
        return
    on = f"{GROUP}/v1 is on since 1.{versions.V1_SINCE.get(subject.kind, versions.OLDEST)}"
    yield subject.finding(
        "version-old",
        WARNING,
        f"{subject.api_version} is off by default on Kubernetes {target}; {on}.",
        where,
        why="Beta versions of this group need --runtime-config on the API server and will be removed.",
        fix=f"Migrate to {GROUP}/v1; the checker can do it." if repair else None,
        repair=repair,
    )


def _decode_findings(subject: Subject, decoded: Decoded) -> Iterator[Finding]:
    message = decoded.message()
    for problem in decoded.problems:
        if problem.code == "duplicate-field":
            continue  # told by the text itself, with both places
        text = message
        if problem.strict and decoded.fatal is not None:
            text = Decoded(decoded.kind, decoded.value, decoded.strict_problems).message()
        elif not problem.strict and problem is not decoded.fatal:
            text = Decoded(decoded.kind, decoded.value, (problem,)).message()
        server = ServerText(400, text or problem.text)
        yield from _explain(subject, problem, server)


def _explain(subject: Subject, problem: Problem, server: ServerText) -> Iterator[Finding]:
    steps, node = problem.steps, subject.written(problem.steps)
    if problem.code == "unknown-field":
        yield advice.unknown_field(subject, problem, server)
    elif problem.code == "wrong-type" and node is not None and node.plain and node.text in SURPRISING:
        yield subject.finding(
            "yaml-boolean",
            ERROR,
            f"YAML reads the unquoted word {node.text} as {'true' if _is_true(node) else 'false'}.",
            steps,
            path=problem.path,
            server=server,
            why="YAML 1.1, which kubectl reads, takes y, n, yes, no, on and off for truth values.",
            fix=f'Write "{node.text}" in quotes.',
            repair=("quote", steps),
        )
    elif (
        problem.code == "wrong-type"
        and node is not None
        and node.plain
        and "of type string" in problem.text + "g"
    ):
        yield from _unquoted(subject, problem, node, server)
    else:
        yield subject.finding(
            problem.code if problem.code in {"bad-quantity", "wrong-type"} else "wrong-type",
            ERROR,
            advice.wrong_type(problem, node),
            steps,
            path=problem.path,
            server=server,
            fix=advice.wrong_type_fix(problem, node),
        )


def _is_true(node: Tree) -> bool:
    return node.text.lower() in {"y", "yes", "on"}


def _unquoted(subject: Subject, problem: Problem, node: Tree, server: ServerText) -> Iterator[Finding]:
    if problem.text.endswith(" of type string") or ".string" in problem.text or "number into" in problem.text:
        yield subject.finding(
            "yaml-number",
            ERROR,
            f"{node.text} is not text unless it is quoted.",
            problem.steps,
            path=problem.path,
            server=server,
            why="YAML reads it as a number or truth value; the field wants text.",
            fix=f'Write "{node.text}" in quotes.',
            repair=("quote", problem.steps),
        )
        return
    yield subject.finding(
        "wrong-type",
        ERROR,
        advice.wrong_type(problem, node),
        problem.steps,
        path=problem.path,
        server=server,
        fix=advice.wrong_type_fix(problem, node),
    )


def _rule_findings(
    subject: Subject,
    kind: schemas.Kind,
    target: str,
    namespaces: Mapping[str, Mapping[str, str]],
    as_written: Decoded,
) -> Iterator[Finding]:
    """The rules, on the object as it was meant: misplaced fields in their place, unknown ones left out."""
    view = to_v1(meant(subject.value)) if subject.is_dra else without_wrappers(subject.value)
    decoded = as_written if view == subject.value else decode(_sorted(view), target=target)
    value = apply_defaults(decoded.value)
    known = decoded.kind or kind
    meta = value.setdefault("metadata", {})
    if known.namespaced and not meta.get("namespace"):
        meta["namespace"] = "default"
    if meta.get("generateName") and not meta.get("name"):
        meta["name"] = f"{meta['generateName']}x"
    if known.kind == "LimitRange" and not meta.get("name"):
        meta["name"] = "x"  # the server makes up a name (registry/core/limitrange/strategy.go)
    if known.kind == "Pod" and not known.group:
        for name, admitted in _ADMITTED.items():
            if not value["spec"].get(name):
                value["spec"][name] = value["spec"]["serviceAccount"] = admitted
    labels = namespaces.get(subject.home)
    if labels is None and subject.is_claim:
        labels = {}
    errors = validate(value, target=target, namespace_labels=labels)
    if not errors:
        return
    broken = {problem.path for problem in decoded.problems if not problem.strict}
    lost = [problem.steps for problem in decoded.problems if problem.strict]
    text = status_text(known.kind, known.group, str(meta.get("name") or ""), errors)
    for error in errors:
        if error.path in broken or any(path.startswith(error.path + ".") for path in broken):
            continue  # the value was lost in decoding, and that is said already
        if len(error.steps) > 2 and any(steps[: len(error.steps)] == error.steps for steps in lost):
            continue  # what stands there has a wrong name, which is said with the right one
        yield rule_finding(subject, error, ServerText(422, text))


def rule_finding(subject: Subject, error: FieldError, server: ServerText) -> Finding:
    """A rule's refusal as a finding."""
    code = RULE_CODES.get(error.rule or "", CODES[error.type])
    if error.rule == "counters-apart":
        code = "counters-apart"
    steps = error.steps
    message, why, fix = advice.explain_rule(subject, error)
    spot = None
    if error.rule == "cel":
        spot = advice.selector_spot(subject, steps, error)
    return subject.finding(
        code,
        ERROR,
        message,
        steps,
        path=error.path,
        why=why,
        fix=fix,
        server=server,
        spot=spot,
        repair=advice.repair_for_rule(subject, error),
    )
