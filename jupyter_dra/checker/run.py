"""The check itself: read, judge as the server does, then as the scheduler and experience do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jupyter_dra.checker import otherforms
from jupyter_dra.checker.celrisks import check_selectors, costly, texts_of
from jupyter_dra.checker.claimrules import check_claim, check_config
from jupyter_dra.checker.demand import devices_needed
from jupyter_dra.checker.findings import ERROR, HINT, CheckResult, Finding, ServerAnswer
from jupyter_dra.checker.plain import read_values
from jupyter_dra.checker.podrules import check_pod
from jupyter_dra.checker.served import check_served
from jupyter_dra.checker.slicerules import check_nodes, check_pools
from jupyter_dra.checker.subjects import Subject, listed, read_subjects
from jupyter_dra.checker.tree import Document, Limits, TextProblem, read_documents
from jupyter_dra.checker.world import World, build_world
from jupyter_dra.errors import BudgetExceeded, InputError
from jupyter_dra.planner import Inventory
from jupyter_dra.validation import versions

NEWEST = "1.37"


@dataclass(slots=True)
class Reading:
    """A text read: its documents with their values, its objects, and what could not be read."""

    documents: list[tuple[Document, Any]] = field(default_factory=list)
    subjects: list[Subject] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)
    count: int = 0


def documents(text: str, *, most_bytes: int | None = None) -> list[Any]:
    """The documents of a YAML or JSON text as plain values, read safely.

    Raises:
        InputError: it cannot be read; the message has line and column.
    """
    limits = Limits() if most_bytes is None else scaled(most_bytes)
    try:
        found = list(read_values(text, limits))
    except TextProblem as problem:
        place = f"line {problem.spot.line}, column {problem.spot.column}"
        raise InputError(
            f"{problem.message[:-1]} ({place}).",
            code=problem.code,
            next_step=problem.fix or None,
            params={"line": problem.spot.line, "column": problem.spot.column},
        ) from None
    return found


def scaled(most_bytes: int) -> Limits:
    """Limits for larger texts: as many values as so many bytes can honestly hold."""
    base = Limits()
    factor = max(1, most_bytes // base.most_bytes)
    return Limits(most_bytes, base.most_documents * factor, base.most_nodes * factor, base.most_depth)


def read(text: str) -> Reading:
    """Read a text for checking; what cannot be read becomes a finding."""
    reading = Reading()
    try:
        for number, document in enumerate(read_documents(text)):
            reading.count = number + 1
            if isinstance(document, TextProblem):
                reading.problems.append(_unreadable(document, number))
                continue
            try:
                value = document.value()
            except TextProblem as problem:
                reading.problems.append(_unreadable(problem, number))
                continue
            reading.documents.append((document, value))
            reading.subjects += read_subjects(document, value)
    except TextProblem as problem:
        reading.problems.append(_unreadable(problem, reading.count))
    return reading


def _unreadable(problem: TextProblem, number: int) -> Finding:
    return Finding(
        problem.code,
        ERROR,
        problem.message,
        why=problem.why or None,
        fix=problem.fix or None,
        document=number,
        line=problem.spot.line,
        column=problem.spot.column,
    )


def check(
    source: str | bytes | Iterable[Mapping[str, Any]] | Mapping[str, Any],
    *,
    target: str = NEWEST,
    inventory: Inventory | None = None,
    fix: bool = False,
    file: str | None = None,
    server: Iterable[ServerAnswer] | None = None,
) -> CheckResult:
    """Check manifests as the API server and the scheduler would, and beyond.

    Args:
        source: YAML or JSON text (several documents, Lists, kernelspecs, profile lists), or plain documents.
        target: Kubernetes minor version, 1.34 to 1.37; a patch level is ignored.
        inventory: what the cluster has, for everything that depends on it.
        fix: also repair what can be repaired by small edits of the text.
        file: name to show in findings.
        server: what a live server said to a dry run of each document.

    Raises:
        InputError: a target that is not known.

    >>> result = check("apiVersion: v1\\nkind: Pod\\nmetadata: {name: p}\\nspec: {containers: []}")
    >>> result.as_dict()["findings"][0]["path"]
    'spec.containers'
    """
    target = minor_version(target)
    text = as_text(source)
    if isinstance(text, Finding):
        return CheckResult((replace(text, file=file),), 0, target)
    findings, reading, world = examine(text, target, inventory)
    result = CheckResult(
        tuple(replace(finding, file=file) for finding in findings),
        reading.count,
        target,
        devices_needed(reading.subjects, world),
    )
    if fix:
        from jupyter_dra.checker.mending import mend

        result = mend(text, result, target, inventory, file, (findings, reading, world))
    return result if server is None else result.with_server(tuple(server))


def minor_version(text: str) -> str:
    """``1.36`` for ``v1.36.2`` and the like; raises InputError for what is not known."""
    parts = text.lstrip("v").split(".")
    minor = ".".join(parts[:2])
    if minor not in versions.TARGETS:
        known = ", ".join(versions.TARGETS)
        raise InputError(
            f"Kubernetes {text} is not a target this checker knows.", next_step=f"Use one of {known}."
        )
    return minor


def as_text(source: Any) -> str | Finding:
    """The text to check; documents given as values are written as YAML first."""
    if isinstance(source, bytes):
        try:
            return source.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = source.count(b"\n", 0, error.start) + 1
            column = error.start - (source.rfind(b"\n", 0, error.start) + 1) + 1
            text = "The text is not UTF-8."
            return Finding("not-text", ERROR, text, line=line, column=column, fix="Save it as UTF-8.")
    if isinstance(source, str):
        return source.removeprefix("\ufeff")
    from jupyter_dra.checker.writing import dump

    entries = [source] if isinstance(source, Mapping) else list(source)
    return "---\n".join(dump(entry) for entry in entries)


def examine(text: str, target: str, inventory: Inventory | None) -> tuple[list[Finding], Reading, World]:
    """All findings of a text, in its order, with what they rest on."""
    reading = read(text)
    world = build_world(reading.subjects, inventory)
    found = [*reading.problems, *_judge(reading, world, target)]
    rank = {ERROR: 0, "warning": 1, HINT: 2}
    found.sort(
        key=lambda one: (one.document, one.item or 0, one.line or 0, one.column or 0, rank[one.severity])
    )
    return unique(found), reading, world


def unique(findings: Iterable[Finding]) -> list[Finding]:
    """One finding per place, path and code."""
    seen: set[tuple[Any, ...]] = set()
    kept = []
    for finding in findings:
        key = (finding.document, finding.item, finding.path, finding.code, finding.line, finding.message)
        if key not in seen:
            seen.add(key)
            kept.append(finding)
    return kept


def _judge(reading: Reading, world: World, target: str) -> Iterator[Finding]:
    tiers: list[Mapping[str, Any]] = []
    for document, value in reading.documents:
        plain = isinstance(value, Mapping) and not value.get("kind")
        if plain and isinstance(value.get("tiers"), list):
            tiers += listed(value, ("tiers",))
        profiles = list(otherforms.profile_lists(value))
        if profiles:
            yield from otherforms.check_profiles(document, value)
        elif not isinstance(value, Mapping):
            yield _no_object(document)
    for subject in reading.subjects:
        yield from _judge_subject(subject, world, target, reading.subjects)
    yield from check_pools(reading.subjects, target)
    yield from check_nodes(reading.subjects, world)
    yield from otherforms.check_rights(reading.subjects)
    yield from otherforms.check_parameters(reading.subjects)
    yield from otherforms.check_queues(reading.subjects, world, tiers)


def _no_object(document: Document) -> Finding:
    spot = document.tree.start
    return Finding(
        "no-object",
        ERROR,
        "The document is no Kubernetes object.",
        document=document.index,
        line=spot.line,
        column=spot.column,
        fix="Begin with apiVersion and kind.",
    )


def _judge_subject(
    subject: Subject, world: World, target: str, others: Sequence[Subject]
) -> Iterator[Finding]:
    if otherforms.is_kernelspec(subject.value):
        yield from otherforms.check_kernelspec(subject)
        return
    if not subject.kind and not subject.api_version:
        if not any(True for _ in otherforms.profile_lists(subject.value)) and not _is_note(subject.value):
            yield _no_object(subject.document)
        return
    if not world.read(texts_of(subject)):
        yield from costly(subject, world, unread=True)
        return
    yield from check_served(subject, target, world.namespaces, others)
    if subject.version in versions.NEVER_AGAIN:
        return
    yield from _on_devices(check_selectors(subject, world), subject, world)
    if subject.is_claim:
        yield from _on_devices(check_claim(subject, world), subject, world)
    if subject.is_dra and subject.kind == "DeviceClass":
        yield from check_config(subject, ("spec", "config"))
    if subject.pod_steps is not None:
        yield from check_pod(subject, world, target)


def _on_devices(findings: Iterator[Finding], subject: Subject, world: World) -> Iterator[Finding]:
    """What is found out by trying selectors on devices, as far as their allowance lasts."""
    try:
        yield from findings
    except BudgetExceeded:
        yield from costly(subject, world, unread=False)


def _is_note(value: Mapping[str, Any]) -> bool:
    """Settings that stand beside objects in one file, such as tiers."""
    return bool({"tiers", "profile_list", "profileList"} & set(value))
