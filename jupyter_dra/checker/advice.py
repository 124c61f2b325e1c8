"""What to say beside the server's words: where a field belongs, what was probably meant, how to put it right."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from jupyter_dra.cel import compile_selector, string_literal
from jupyter_dra.checker.findings import ERROR, Finding, ServerText
from jupyter_dra.checker.subjects import CLAIM_KINDS, Subject, dig, write_path
from jupyter_dra.checker.tree import Spot, Steps, Tree
from jupyter_dra.checker.writing import dump
from jupyter_dra.errors import CELCompileError
from jupyter_dra.validation import FieldError, Problem, schemas
from jupyter_dra.validation.conversion import EXACT_FIELDS

ATTRIBUTE_FIELDS = {
    "stringValue": "string",
    "intValue": "int",
    "boolValue": "bool",
    "versionValue": "version",
    "str": "string",
    "integer": "int",
    "boolean": "bool",
}
REFUSED = "The server refuses the unknown field."
DROPPED = "The server refuses it; a client without strict validation loses it without a word."
_WANTS = (
    (re.compile(r"of type \[\]"), "a list"),
    (re.compile(r"of type map\["), "a mapping"),
    (re.compile(r"of type int(32|64)$"), "a whole number"),
    (re.compile(r"of type bool$"), "true or false"),
    (re.compile(r"of type string$"), "text"),
    (re.compile(r"of type v\w+\.\w*(Name|Mode|Policy|Operator|Effect|Type|Protocol)$"), "text"),
)
_GOT = {
    "string": "text",
    "number": "a number",
    "bool": "a truth value",
    "array": "a list",
    "object": "a mapping",
}


def unknown_field(subject: Subject, problem: Problem, server: ServerText) -> Finding:
    """A field the server does not know: moved, misspelt, elsewhere, or nowhere."""
    steps = problem.steps
    name = str(steps[-1])
    moved = _moved(subject, steps, name)
    if moved is not None:
        message, fix, repair = moved
        return subject.finding(
            "field-moved",
            ERROR,
            message,
            steps,
            path=problem.path,
            why=REFUSED,
            fix=fix,
            server=server,
            repair=repair,
        )
    way, repair = _what_then(subject, steps, name)
    return subject.finding(
        "unknown-field",
        ERROR,
        f"{subject.kind} has no field {write_path(steps)}.",
        steps,
        path=problem.path,
        why=DROPPED,
        fix=way,
        server=server,
        repair=repair,
    )


def _moved(subject: Subject, steps: Steps, name: str) -> tuple[str, str, Any] | None:
    """Message, fix and repair for a field that has another place in this version."""
    parent = steps[:-1]
    version = subject.api_version
    if subject.is_claim:
        if len(parent) >= 2 and parent[-2] == "requests" and name in EXACT_FIELDS:
            message = f"In {version} {name} stands under exactly."
            present = [field for field in EXACT_FIELDS if field in dig(subject.value, parent)]
            return message, f"Put {_and(present)} under exactly.", ("nest", parent)
        return _moved_in_claim(subject, steps, name)
    if (
        subject.pod_steps is not None
        and len(parent) >= 2
        and parent[-2] == "resourceClaims"
        and name == "source"
    ):
        message = "The wrapper source is gone since Kubernetes 1.31."
        fix = "Write resourceClaimName or resourceClaimTemplateName directly beside name."
        return message, fix, ("unwrap", steps)
    if subject.kind == "ResourceSlice":
        if name == "basic":
            message = f"In {version} attributes and capacity stand directly in the device, without basic."
            return message, "Remove the level basic.", ("unwrap", steps)
        right = ATTRIBUTE_FIELDS.get(name)
        if right is not None and "attributes" in parent:
            message = f"An attribute's value stands under {right}, not {name}."
            fix = f"Write {right}. An attribute has exactly one of string, int, bool and version."
            return message, fix, ("rename", steps, right)
    return None


def _moved_in_claim(subject: Subject, steps: Steps, name: str) -> tuple[str, str, Any] | None:
    spec = subject.spec_steps
    renamed = {"resourceClassName": "deviceClassName"}.get(name, name)
    if steps[:-1] == spec and renamed in EXACT_FIELDS:
        where = write_path((*subject.devices_steps, "requests", 0, "exactly", renamed))
        message = f"{name} does not stand at {write_path(spec)} in {subject.api_version}."
        return message, f"It belongs at {where}.", ("gather", spec)
    if subject.kind == "ResourceClaimTemplate" and steps == ("spec", "devices"):
        message = "A template's claim stands one level deeper, under spec.spec."
        return message, "Put devices under spec.spec.", ("nest-spec", ("spec",))
    if name in {"requests", "constraints", "config"} and steps[:-1] == spec:
        message = f"{name} stands under {write_path(subject.devices_steps)}."
        return message, f"Put {name} under devices.", ("nest-devices", spec)
    return None


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _what_then(subject: Subject, steps: Steps, name: str) -> tuple[str | None, Any]:
    """The likeliest meaning of an unknown field: a misspelling, or its place elsewhere in the kind."""
    kind = schemas.find_kind(subject.value.get("apiVersion"), subject.value.get("kind"))
    if kind is None:
        return None, None
    known = _fields_at(kind, steps[:-1])
    beside = dig(subject.value, steps[:-1])
    near = difflib.get_close_matches(
        name, [field for field in known if field not in beside], n=1, cutoff=0.75
    )
    if not near:
        lowered = {field.lower(): field for field in known if field not in beside}
        near = [lowered[name.lower()]] if name.lower() in lowered else []
    if near:
        return f"Did you mean {near[0]}?", ("rename", steps, near[0])
    if name in {"true", "false"} and (key := _surprising_key(subject, steps)) is not None:
        return f'Quote the field name "{key}": YAML reads it as {name}.', None
    if steps[-2:-1] and "firstAvailable" in steps and name == "adminAccess":
        return "Admin access exists under exactly only, not in alternatives.", None
    places = places_of(kind.type, name)
    if places:
        shown = " or ".join(places[:2])
        return f"It stands at {shown}.", None
    return "Remove it.", None


def _surprising_key(subject: Subject, steps: Steps) -> str | None:
    parent = subject.written(steps[:-1])
    for key, _ in parent.real().pairs if parent is not None else ():
        if key.plain and key.text.lower() in {"on", "off", "y", "n", "yes", "no"}:
            return key.text
    return None


def _fields_at(kind: schemas.Kind, steps: Steps) -> list[str]:
    current = schemas.shape(kind.type)
    for step in steps:
        if current.kind == "struct" and isinstance(step, str):
            found = current.fields.get(step)
            if found is None:
                return []
            current = schemas.shape(found.type)
        elif current.elem is not None:
            current = schemas.shape(current.elem)
    return list(current.fields)


@lru_cache(maxsize=512)
def places_of(type_name: str, wanted: str) -> tuple[str, ...]:
    """Where a kind has a field of this name, nearest first, status left out."""
    found: list[str] = []
    queue: list[tuple[str, str, int]] = [(type_name, "", 0)]
    seen: set[str] = set()
    while queue and len(found) < 3:
        name, path, depth = queue.pop(0)
        shape = schemas.shape(name)
        if shape.kind in {"list", "map"} and shape.elem is not None:
            queue.append((shape.elem, f"{path}[]" if shape.kind == "list" else f"{path}[…]", depth))
            continue
        if name in seen or depth > 9:
            continue
        seen.add(name)
        for field in shape.fields.values():
            below = f"{path}.{field.name}" if path else field.name
            if field.name == wanted and path:
                found.append(below)
            elif field.name not in {"status", "managedFields"}:
                queue.append((field.type, below, depth + 1))
    return tuple(found)


def wrong_type(problem: Problem, node: Tree | None) -> str:
    """What the field wants and what stands there."""
    where = problem.path
    if problem.code == "bad-quantity":
        shown = f"{node.text!r} " if node is not None and node.kind == "scalar" else "This "
        return f"{shown}is no Kubernetes quantity."
    if problem.code != "wrong-type":
        return f"{where} cannot be read: {problem.text}."
    got = re.search(r"cannot unmarshal (\w+)", problem.text)
    have = _GOT.get(got.group(1), got.group(1)) if got else "something else"
    for pattern, words in _WANTS:
        if pattern.search(problem.text):
            return f"{where} wants {words}, not {have}."
    return f"{where} wants an object with fields, not {have}."


def wrong_type_fix(problem: Problem, node: Tree | None) -> str | None:
    if problem.code == "bad-quantity":
        text = node.text if node is not None else ""
        number = re.match(r"\s*([0-9.]+)\s*([kKMGTPE])i?[bB]?\s*$", text)
        if number:
            unit = number.group(2)
            unit = "k" if unit == "K" else unit
            return f"Write {number.group(1)}{unit} (decimal) or {number.group(1)}{unit.upper()}i (binary)."
        return "Write a number with one of k, M, G, T or Ki, Mi, Gi, Ti."
    if "DeviceCapacity" in problem.text and node is not None and node.kind == "scalar":
        return f"Write {{value: {node.text}}}."
    if re.search(r"of type \[\]", problem.text):
        return "Begin each entry with '- '."
    return None


def way_from_alpha(subject: Subject, others: Sequence[Subject] = ()) -> str:
    """The way from an alpha manifest to v1, in words, for claims with a draft whose guesses are marked.

    ``others`` are the objects beside it: a MIG profile among driver parameters becomes a selector of the draft.
    """
    words = (
        "Rewrite it for resource.k8s.io/v1: resourceClassName becomes deviceClassName of a DeviceClass that exists on "
        "the cluster, driver parameters become CEL selectors or opaque config, allocationMode has another meaning."
    )
    if subject.kind not in CLAIM_KINDS:
        return words
    spec = dig(subject.value, subject.spec_steps)
    exactly: dict[str, Any] = {"deviceClassName": str(spec.get("resourceClassName") or "GUESS")}
    devices: dict[str, Any] = {"devices": {"requests": [{"name": "device", "exactly": exactly}]}}
    draft = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": subject.kind,
        "metadata": {
            name: value for name, value in subject.metadata.items() if name in {"name", "namespace"}
        },
        "spec": {"spec": devices} if subject.kind == "ResourceClaimTemplate" else devices,
    }
    notes = ["# Guess: the class has the old name; look which DeviceClasses the cluster has."]
    parameters = dig(spec, ("parametersRef",))
    if parameters:
        what = f"{parameters.get('kind')} {parameters.get('name')}"
        profile = _profile_of(parameters, subject, others)
        if profile is None:
            notes.append(
                f"# Guess: nothing of {what} is in here; say what it asked for as selectors or config."
            )
        else:
            has = 'has(device.attributes["gpu.nvidia.com"].profile)'
            text = f'{has} && device.attributes["gpu.nvidia.com"].profile == {string_literal(profile)}'
            exactly["selectors"] = [{"cel": {"expression": text}}]
            notes.append(
                f"# Guess: the selector stands for the profile of {what}; parts may have another class."
            )
    return f"{words} A draft:\n" + "\n".join(notes) + "\n" + dump(draft)


def _profile_of(parameters: Mapping[str, Any], subject: Subject, others: Sequence[Subject]) -> str | None:
    for other in others:
        if (other.kind, other.name, other.home) == (
            parameters.get("kind"),
            parameters.get("name"),
            subject.home,
        ) and other.api_version.startswith("gpu.resource.nvidia.com/"):
            profile = dig(other.value, ("spec",)).get("profile")
            return profile if isinstance(profile, str) else None
    return None


def alpha_fields(subject: Subject) -> Iterator[Finding]:
    """The removed fields of an alpha claim, each with what took its place."""
    spec = dig(subject.value, subject.spec_steps)
    words = {
        "resourceClassName": "deviceClassName under spec.devices.requests[].exactly",
        "parametersRef": "CEL selectors (what device) and opaque config (how it is set up)",
    }
    for name, instead in words.items():
        if name in spec:
            steps = (*subject.spec_steps, name)
            text = f"{name} was removed; {instead} took its place."
            yield subject.finding("version-removed", ERROR, text, steps)
    if str(spec.get("allocationMode")) in {"WaitForFirstConsumer", "Immediate"}:
        steps = (*subject.spec_steps, "allocationMode")
        text = (
            f"allocationMode {spec['allocationMode']} was removed; allocation always waits for the first pod."
        )
        yield subject.finding("version-removed", ERROR, text, steps)


def explain_rule(subject: Subject, error: FieldError) -> tuple[str, str | None, str | None]:
    """Message, why and fix for a refusal by rule."""
    where = error.path or subject.kind
    special = _SPECIAL.get(error.rule or "")
    if special is not None:
        return special
    if error.rule == "cel":
        return _explain_cel(error)
    if error.type == "Required value":
        return f"{where} is missing.", error.detail or None, None
    if error.type == "Duplicate value":
        return f"{where} repeats a value that may appear once.", None, "Use another name or remove it."
    if error.type == "Unsupported value":
        return f"{where} is {error.bad_value!r}.", error.detail, None
    if error.type == "Too many":
        return f"{where} has {error.bad_value} entries.", f"It {error.detail}.", None
    if error.type == "Not found":
        return f"{where} refers to {error.bad_value!r}, which is not there.", error.detail or None, None
    name = next((str(step) for step in reversed(error.steps) if isinstance(step, str)), subject.kind)
    if error.detail.startswith("must "):
        return f"{name} {error.detail}.", None, None
    return f"{name}: {error.detail or error.type}.", None, None


_SPECIAL: Mapping[str, tuple[str, str | None, str | None]] = {
    "request-kind": (
        "A request needs exactly one of exactly and firstAvailable.",
        "exactly asks for one kind of device, firstAvailable lists alternatives.",
        "Put the request's fields under exactly.",
    ),
    "request-reference": (
        "This names no request of the claim.",
        "Constraints and config refer to requests by name, to alternatives as request/alternative.",
        "Use the name of a request, or leave the list out to mean all.",
    ),
    "claim-source": (
        "An entry of resourceClaims needs exactly one of resourceClaimName and resourceClaimTemplateName.",
        "The first uses a claim that exists, the second makes a claim of its own for each pod.",
        "Keep one of the two.",
    ),
    "unknown-claim": (
        "The container names a claim the pod does not declare.",
        "resources.claims uses the names of spec.resourceClaims, which are local to the pod.",
        "Use such a name, or declare the claim under spec.resourceClaims.",
    ),
    "admin-namespace": (
        "adminAccess needs a label on the namespace, which this one lacks.",
        "Admin access ignores other people's allocations and is meant for monitoring; the label "
        'resource.kubernetes.io/admin-access: "true" says that the namespace may use it.',
        "Remove adminAccess, or ask the admin for a namespace with the label.",
    ),
    "counters-apart": (
        "sharedCounters and devices may not stand in one slice.",
        "Since Kubernetes 1.35 counters stand in slices of their own and hold for the whole pool.",
        "Split the slice in two of the same pool and generation, with resourceSliceCount 2 in both.",
    ),
    "cel-cost": (
        "The API server finds this selector too expensive.",
        "Its estimate of the cost is above the limit of 1,000,000.",
        "Use fewer nested loops; for text use has(x) && x.matches(…).",
    ),
}


def _explain_cel(error: FieldError) -> tuple[str, str | None, str | None]:
    try:
        compile_selector(str(error.bad_value))
    except CELCompileError as problem:
        return f"The selector does not compile: {problem.message}.", None, problem.hint
    return f"The selector is refused: {error.detail}.", None, None


def selector_spot(subject: Subject, steps: Steps, error: FieldError) -> Spot | None:
    """The place inside the expression the compiler points to, in the text's lines and columns."""
    node = subject.written(steps)
    if node is None or node.kind != "scalar":
        return None
    try:
        compile_selector(str(error.bad_value))
    except CELCompileError as problem:
        return inside(node, problem.line, problem.column, subject.document.text)
    return node.start


def inside(node: Tree, line: int, column: int, text: str) -> Spot:
    """A place inside a scalar's text; exact for plain, quoted and block scalars without escapes."""
    if node.style not in {"|", ">"}:
        quote = 1 if node.style else 0
        shift = quote + column - 1
        return Spot(node.start.at + shift, node.start.line, node.start.column + shift)
    lines = text[node.start.at : node.end.at].split("\n")[1:]
    indent = min((len(one) - len(one.lstrip()) for one in lines if one.strip()), default=0)
    row = line - 1
    if node.style == ">":
        # Folded lines are joined by one space each.
        row = 0
        while row < len(lines) - 1 and column > len(lines[row]) - indent + 1:
            column -= len(lines[row]) - indent + 1
            row += 1
    return Spot(node.start.at, node.start.line + 1 + row, indent + column)


_MEMORY = re.compile(
    r"""device\.(?:capacity|attributes)\[(?P<q>["'])(?P<key>[^"']*)(?P=q)\](?P<rest>\.(?:isGreaterThan|isLessThan|compareTo)\()"""
)


def repair_for_rule(subject: Subject, error: FieldError) -> Any:
    """The mechanical repair of a refusal, or None."""
    if error.rule == "counters-apart":
        return ("split-slice", ())
    if error.rule == "cel":
        better = better_expression(str(error.bad_value), driver_of(subject, error.steps))
        if better is not None:
            return ("set", error.steps, better)
    return None


def better_expression(text: str, driver: str | None) -> str | None:
    """A selector that compiles and means what an often-made mistake meant, or None."""
    where = f'device.capacity["{driver}"]' if driver else "device.capacity[device.driver]"

    def quantity(match: re.Match[str]) -> str:
        key = match.group("key").rpartition("/")[2]
        return f'{where}.?{key}.orValue(quantity("0")){match.group("rest")}'

    changed = _MEMORY.sub(quantity, text)
    changed = _OPERATOR.sub(_compare, changed)
    if changed == text:
        return None
    try:
        compile_selector(changed)
    except CELCompileError:
        return None
    return changed


# quantity OP quantity("…") and the like; the left side is one capacity lookup.
_OPERATOR = re.compile(
    r"""(?P<left>device\.capacity\[[^\]]+\]\.\??\w+(?:\.orValue\(quantity\(["'][^"']*["']\)\))?)\s*"""
    r"""(?P<op>>=|<=|>|<)\s*(?P<right>quantity\(["'][^"']*["']\))"""
)


def _compare(match: re.Match[str]) -> str:
    return f"{match.group('left')}.compareTo({match.group('right')}) {match.group('op')} 0"


def driver_of(subject: Subject, steps: Steps) -> str | None:
    """The driver a selector's object fixes by itself, as a class with ``device.driver == …`` does."""
    if subject.kind not in CLAIM_KINDS | {"DeviceClass"}:
        return None
    for selector in dig(subject.view, steps[:-4]).get("selectors") or ():
        expression = dig(selector, ("cel",)).get("expression") if isinstance(selector, Mapping) else None
        found = re.search(r"""device\.driver\s*==\s*(["'])([^"']+)\1""", str(expression or ""))
        if found:
            return found.group(2)
    return None
