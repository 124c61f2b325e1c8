"""--fix: repairs by small edits, repeated until nothing more can be repaired, then judged again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jupyter_dra.checker import repairs
from jupyter_dra.checker.demand import devices_needed
from jupyter_dra.checker.draft import Draft
from jupyter_dra.checker.editing import CannotEdit
from jupyter_dra.checker.findings import ERROR, CheckResult, Finding
from jupyter_dra.checker.run import Reading, examine
from jupyter_dra.checker.tree import Document, TextProblem
from jupyter_dra.checker.world import World
from jupyter_dra.planner import Inventory

ROUNDS = 12
# Findings that a person must settle although they are no errors.
OPEN = {"extended-resource-off", "version-removed"}


Seen = tuple[list[Finding], Reading, World]


def mend(
    text: str,
    before: CheckResult,
    target: str,
    inventory: Inventory | None,
    file: str | None,
    seen: Seen,
) -> CheckResult:
    """The result for the mended text, with the text itself and what a person must still settle.

    ``seen`` is the examination of the text as it was given.
    """
    failed: set[tuple[int, str]] = set()
    findings, reading, world = seen
    for _ in range(ROUNDS):
        changed = _round(text, findings, reading, world, failed)
        if changed is None:
            break
        text = changed
        findings, reading, world = examine(text, target, inventory)
    left = [replace(finding, file=file) for finding in findings]
    undecided = tuple(one for one in left if one.severity == ERROR or one.code in OPEN or _asked(one))
    places = {(one.code, one.path, one.object, one.document) for one in left}
    gone = tuple(
        one for one in before.findings if (one.code, one.path, one.object, one.document) not in places
    )
    return CheckResult(
        tuple(left),
        reading.count,
        target,
        devices_needed(reading.subjects, world),
        fixed=text,
        undecided=undecided,
        repaired=gone,
    )


def _asked(finding: Finding) -> bool:
    """Repairs that were meant to happen and could not."""
    return finding.repair is not None


def _round(
    text: str, findings: list[Finding], reading: Reading, world: World, failed: set[tuple[int, str]]
) -> str | None:
    """One pass over all documents; None where nothing could be changed."""
    wanted: dict[int, list[Finding]] = {}
    for finding in findings:
        if finding.repair is not None and (finding.document, repr(finding.repair)) not in failed:
            wanted.setdefault(finding.document, []).append(finding)
    changed = False
    for document, _ in reversed(reading.documents):
        todo = wanted.get(document.index)
        if not todo:
            continue
        new = _mend_document(document, todo, reading, world, failed)
        start, end = document.span
        if new is not None and new != text[start:end]:
            text = text[:start] + new + text[end:]
            changed = True
    return text if changed else None


def _mend_document(
    document: Document,
    todo: list[Finding],
    reading: Reading,
    world: World,
    failed: set[tuple[int, str]],
) -> str | None:
    start, end = document.span
    chunk = document.text[start:end]
    try:
        draft = Draft(chunk)
    except TextProblem:
        return None
    added: list[Mapping[str, Any]] = []
    done: set[str] = set()
    for finding in todo:
        name = repr((finding.item, finding.repair))
        if name in done:
            continue
        done.add(name)
        subject = next(
            (one for one in reading.subjects if one.document is document and one.item == finding.item), None
        )
        saved = draft.text
        try:
            added += repairs.repair(draft, subject, finding, world)
        except (CannotEdit, TextProblem, KeyError, IndexError, TypeError, AttributeError):
            failed.add((document.index, repr(finding.repair)))
            draft = Draft(saved)
    return repairs.with_documents(draft.text, added, first=start == 0)
