"""Selectors that compile and still fail or mislead: judged by their text and on the devices that are known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator, Sequence

from jupyter_dra.cel.syntax import Call, Literal, Node
from jupyter_dra.checker.advice import inside
from jupyter_dra.checker.celaccess import DRIVER, Access, Comparison, accesses, comparisons, domain_of, walk
from jupyter_dra.checker.findings import ERROR, HINT, WARNING, Finding
from jupyter_dra.checker.subjects import Subject, dig
from jupyter_dra.checker.tree import Spot, Steps
from jupyter_dra.checker.world import Sample, World, compiled, expressions
from jupyter_dra.claims import parse_size, sold_as_but_less
from jupyter_dra.errors import DRAError
from jupyter_dra.model import Quantity, Semver
from jupyter_dra.model.names import c_identifier_problems

UNIQUE = {"uuid", "serial", "pciBusID", "pciAddr", "pciAddress", "mac"}
ATTEMPT = "A selector that raises ends the whole scheduling attempt; nodes that would fit are not used."


def texts_of(subject: Subject) -> Iterator[str]:
    """The selectors of a class, claim or template."""
    if subject.is_dra and subject.kind == "DeviceClass":
        yield from expressions(dig(subject.view, ("spec",)).get("selectors"))
    elif subject.is_claim:
        for _, wish in subject.wishes():
            yield from expressions(wish.get("selectors"))


def costly(subject: Subject, world: World, *, unread: bool) -> Iterator[Finding]:
    """Said once, where the selectors of a text are more than a check looks at."""
    if world.cut_short:
        return
    world.cut_short = True
    yield subject.finding(
        "selectors-costly",
        WARNING,
        "The selectors are too long together; from here on objects with further ones are not looked at."
        if unread
        else "The selectors take too long to be tried on every device; from here on they are not tried.",
        why="The API server may still take them, and the scheduler try them.",
        fix="Check fewer objects at once."
        if unread
        else "Ask for attributes by name instead of looping over all.",
    )


def check_selectors(subject: Subject, world: World) -> Iterator[Finding]:
    """All selectors of a class, claim or template."""
    if subject.is_dra and subject.kind == "DeviceClass":
        steps: Steps = ("spec", "selectors")
        texts = expressions(dig(subject.view, ("spec",)).get("selectors"))
        yield from _check_list(subject, steps, texts, world.samples, world, None)
    elif subject.is_claim:
        for steps, wish in subject.wishes():
            name = str(wish.get("deviceClassName") or "")
            covered = world.in_class(name)
            texts = expressions(wish.get("selectors"))
            devices = (world.named_after(name) or world.samples) if covered is None else covered
            yield from _check_list(subject, (*steps, "selectors"), texts, devices, world, covered)


def _check_list(
    subject: Subject,
    steps: Steps,
    texts: Sequence[str],
    devices: Sequence[Sample],
    world: World,
    covered: Sequence[Sample] | None,
) -> Iterator[Finding]:
    left = list(devices)
    for index, text in enumerate(texts):
        selector = compiled(text)
        if selector is None:
            return  # said by the server's part; what follows cannot be judged
        where = (*steps, index, "cel", "expression")
        told = yield from _by_text(subject, where, text, selector.node, world)
        outcomes = [(sample, world.outcome(text, sample)) for sample in left]
        if not told:
            yield from _by_devices(subject, where, text, outcomes, world, covered)
        left = [sample for sample, result in outcomes if result is True]


def _spot(subject: Subject, steps: Steps, text: str, at: int) -> Spot | None:
    node = subject.written(steps)
    if node is None or node.kind != "scalar":
        return None
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return inside(node, line, column, subject.document.text)


def _by_text(
    subject: Subject, steps: Steps, text: str, node: Node, world: World
) -> Generator[Finding, None, bool]:
    """What the text alone tells; returns True where it fails on every device."""
    fatal = False
    for finding in _constants(subject, steps, text, node):
        fatal = True
        yield finding
    for finding in _domains(subject, steps, text, node):
        fatal = True
        yield finding
    for access in accesses(node):
        for finding in _by_name(subject, steps, text, access, world):
            fatal = fatal or finding.severity == ERROR
            yield finding
    for entry in comparisons(node):
        yield from _sizes(subject, steps, text, entry, world)
    return fatal


def _constants(subject: Subject, steps: Steps, text: str, node: Node) -> Iterator[Finding]:
    """Literals that no device can save: quantity("40GB"), semver("9.0")."""
    for current in walk(node):
        if not (isinstance(current, Call) and current.target is None and current.args):
            continue
        literal = current.args[0]
        if not (isinstance(literal, Literal) and isinstance(literal.value, str)):
            continue
        problem, better = _bad_literal(current, literal.value)
        if problem is not None:
            yield subject.finding(
                "cel-raises",
                ERROR,
                f'{current.function}("{literal.value}") raises on every device: {problem}.',
                steps,
                why=f"The API server does not look into texts. {ATTEMPT}",
                fix=f"Write {better}." if better else None,
                spot=_spot(subject, steps, text, literal.at),
                repair=("set", steps, text.replace(literal.value, better_text(better), 1))
                if better
                else None,
            )


def _domains(subject: Subject, steps: Steps, text: str, node: Node) -> Iterator[Finding]:
    """Qualified names where a domain stands: device.attributes["example.com/model"]."""
    for current in walk(node):
        place = domain_of(current)
        if place is None or place[1] is None or "/" not in place[1]:
            continue
        area, literal = place[0], str(place[1])
        domain, _, name = literal.rpartition("/")
        yield subject.finding(
            "cel-name-impossible",
            ERROR,
            f"{literal} is used as the domain; the domain is {domain} and the name {name}.",
            steps,
            why="The first index is a domain; a name with a slash is none, so nothing is found there.",
            fix=f'Write device.{area}["{domain}"].{name}.',
            spot=_spot(subject, steps, text, current.at),
        )


def better_text(call: str) -> str:
    """The text between the quotes of a suggested call."""
    return call.split('"')[1]


def _bad_literal(call: Call, text: str) -> tuple[str | None, str | None]:
    if call.function == "quantity":
        try:
            Quantity.parse(text)
        except DRAError as error:
            unit = re.fullmatch(r"([0-9.]+)\s*([kKMGTPE])(i?)[bB]?", text.strip())
            better = f'quantity("{unit.group(1)}{_unit(unit)}")' if unit else None
            return error.message, better
    elif call.function == "semver" and len(call.args) == 1:
        try:
            Semver.parse(text)
        except DRAError as error:
            parts = text.lstrip("v").split(".")
            plain = all(part.isdigit() for part in parts) and len(parts) <= 3
            numbers = [str(int(part)) for part in parts] + ["0"] * (3 - len(parts)) if plain else []
            return error.message, f'semver("{".".join(numbers)}")' if numbers else None
    return None, None


def _unit(match: re.Match[str]) -> str:
    letter = match.group(2)
    if match.group(3):
        return f"{letter.upper()}i"
    return "k" if letter == "K" else letter


def _by_name(subject: Subject, steps: Steps, text: str, access: Access, world: World) -> Iterator[Finding]:
    if access.domain is not None and "/" in access.domain:
        return
    if c_identifier_problems(access.name):
        why = "Names of attributes and capacities are C identifiers of at most 32 characters."
        message = f"No device can have the name {access.name}."
        if len(access.name) > 32:
            message = f"{access.name} has {len(access.name)} characters; names have at most 32, so no device has it."
        yield subject.finding(
            "cel-name-impossible", ERROR, message, steps, why=why, spot=_spot(subject, steps, text, access.at)
        )
        return
    if access.name in UNIQUE:
        message = f"A selector on {access.name} fits one card; it breaks when the card is replaced."
        fix = "Select by product, architecture or memory instead."
        yield subject.finding(
            "pinned-device", HINT, message, steps, fix=fix, spot=_spot(subject, steps, text, access.at)
        )
    yield from _published(subject, steps, text, access, world)


def _published(subject: Subject, steps: Steps, text: str, access: Access, world: World) -> Iterator[Finding]:
    """Whether any known device of the domain publishes the name."""
    if access.domain in {None, DRIVER}:
        return
    domain = str(access.domain)
    owners = world.of_domain(domain)
    if not owners:
        return
    full = f"{domain}/{access.name}"
    if any(full in sample.keys(access.area) for sample in owners):
        return
    other = "capacity" if access.area == "attributes" else "attributes"
    where = "this inventory" if world.real else f"the driver {domain}, as far as known,"
    if any(full in sample.keys(other) for sample in owners):
        better = _as_capacity(text, domain, access.name) if other == "capacity" else None
        yield subject.finding(
            "cel-memory-attribute",
            ERROR if world.real and not access.guarded else WARNING,
            f"{access.name} is published under {other}, not {access.area}, on the devices of {where.rstrip(',')}"
            + ("; quantities are not compared with operators and texts." if better else "."),
            steps,
            why=f"The selector fails: no such key: {access.name}, on {owners[0].name} first. {ATTEMPT}",
            fix=f"Write {better}. It picks a whole device with at least this much, not a share of one."
            if better
            else f'Write device.{other}["{domain}"].{access.name}.',
            spot=_spot(subject, steps, text, access.at),
            repair=("set", steps, better) if better else None,
        )
        return
    names = sorted({name.partition("/")[2] for sample in owners for name in sample.keys(access.area)})
    yield subject.finding(
        "cel-attribute-unknown",
        WARNING,
        f"No device of {where} publishes {access.name} under {access.area}.",
        steps,
        why=None if access.guarded else f"The selector raises there: no such key. {ATTEMPT}",
        fix=f"Known are {', '.join(names[:12])}." if names else None,
        spot=_spot(subject, steps, text, access.at),
    )


def _as_capacity(text: str, domain: str, name: str) -> str | None:
    """``device.attributes["d"].memory >= "16Gi"`` as a comparison of quantities."""
    pattern = (
        rf"""device\.attributes\[(["']){re.escape(domain)}\1\]\.\??{re.escape(name)}(?:\.orValue\([^)]*\))?\s*"""
        r"""(>=|<=|==|>|<)\s*(?:quantity\()?(["'])([^"']+)\3\)?"""
    )
    match = re.search(pattern, text)
    if match is None:
        return None
    better = f'device.capacity["{domain}"].{name}.compareTo(quantity("{match.group(4)}")) {match.group(2)} 0'
    changed = text[: match.start()] + better + text[match.end() :]
    return changed if compiled(changed) is not None else None


def _sizes(subject: Subject, steps: Steps, text: str, entry: Comparison, world: World) -> Iterator[Finding]:
    """The two traps of memory sizes: strictly greater, and binary units of decimal cards."""
    if entry.area != "capacity" or entry.operator not in {">", ">="}:
        return
    try:
        asked = Quantity.parse(entry.text)
    except DRAError:
        return
    driver = None if entry.domain in {None, DRIVER} else entry.domain
    owners = world.of_domain(driver) if driver else world.samples
    amounts = [amount for sample in owners if (amount := sample.quantity(entry.name)) is not None]
    spot = _spot(subject, steps, text, entry.at)
    if entry.operator == ">":
        exact = [sample.name for sample in owners if sample.quantity(entry.name) == asked]
        example = f" ({exact[0]} has exactly that)" if exact else ""
        yield subject.finding(
            "strict-greater",
            WARNING if exact else HINT,
            f"isGreaterThan leaves out devices with exactly {entry.text}{example}.",
            steps,
            fix=f'For "at least" write compareTo(quantity("{entry.text}")) >= 0.',
            spot=spot,
        )
    if entry.name.endswith("emory") and entry.text.endswith("Gi"):
        short = sold_as_but_less(parse_size(entry.text), [amount.bytes for amount in amounts])
        if short is not None:
            shown = next(amount.text for amount in amounts if amount.bytes == short)
            decimal = entry.text.removesuffix("i")
            yield subject.finding(
                "literal-gi",
                WARNING,
                f"{entry.text} leaves out cards sold as {decimal}B: they report {shown}.",
                steps,
                why="Cards are sold by decimal size; Gi is 7 % more.",
                fix=f'Write quantity("{decimal}").',
                spot=spot,
            )


def _by_devices(
    subject: Subject,
    steps: Steps,
    text: str,
    outcomes: Sequence[tuple[Sample, bool | str]],
    world: World,
    covered: Sequence[Sample] | None,
) -> Iterator[Finding]:
    """What the selector does on the devices that are known."""
    if not world.real:
        # Nobody runs all drivers of the catalog: only those the selector speaks of count.
        outcomes = [
            (sample, result) for sample, result in outcomes if f'"{sample.driver}"' in text.replace("'", '"')
        ]
    raised = [(sample, result) for sample, result in outcomes if isinstance(result, str)]
    if raised:
        sample, result = raised[0]
        count = sum(max(entry.count, 1) for entry, _ in raised)
        certain = world.real or len(raised) == len(outcomes)
        which = f"on {sample.name}" if world.real else f"on devices of {sample.driver} such as {sample.name}"
        more = f" and {count - 1} more" if world.real and count > 1 else ""
        yield subject.finding(
            "cel-raises" if certain else "cel-unguarded",
            ERROR if certain else WARNING,
            f"The selector fails: {_short(str(result))} {which}{more}.",
            steps,
            why=ATTEMPT,
            fix=_guard(text, str(result)),
        )
        return
    if world.real and outcomes and not any(result is True for _, result in outcomes):
        yield from _no_match(subject, steps, text, [sample for sample, _ in outcomes], covered)
    elif not outcomes and not world.real:
        yield from _unguarded(subject, steps, text)


def _short(error: str) -> str:
    return error.partition(". consider using")[0]


def _guard(text: str, error: str) -> str | None:
    missing = re.match(r"no such key: (\w+)", error)
    if missing:
        return (
            f"Guard it: .?{missing.group(1)}.orValue(…), or has(….{missing.group(1)}) && … for text methods."
        )
    if error.startswith("no such overload"):
        return "Compare versions with compareTo(semver(…)), quantities with compareTo(quantity(…))."
    if "could not be converted to bool" in error:
        return "Compare the value with something."
    return None


def _unguarded(subject: Subject, steps: Steps, text: str) -> Iterator[Finding]:
    selector = compiled(text)
    if selector is None:
        return
    for access in accesses(selector.node):
        if not access.guarded:
            yield subject.finding(
                "cel-unguarded",
                HINT,
                f"Devices without {access.name} make the selector raise.",
                steps,
                why=ATTEMPT,
                fix=f"Guard it: .?{access.name}.orValue(…).",
                spot=_spot(subject, steps, text, access.at),
            )


def _no_match(
    subject: Subject, steps: Steps, text: str, devices: Sequence[Sample], covered: Sequence[Sample] | None
) -> Iterator[Finding]:
    """No device satisfies the selector: say what there is instead."""
    selector = compiled(text)
    if selector is None or (covered is None and subject.kind != "DeviceClass"):
        return
    total = sum(max(sample.count, 1) for sample in devices)
    shown = list(_existing(selector.node, devices))
    near = list(_near(selector.node, devices))
    yield subject.finding(
        "cel-no-match",
        WARNING,
        f"0 of {total} devices satisfy this selector.",
        steps,
        why=" ".join([*shown, *near[:1]]) or None,
        fix="Use one of the values that exist." if shown else near[0] if near else None,
    )


def _existing(node: Node, devices: Sequence[Sample]) -> Iterator[str]:
    for access in accesses(node):
        if access.area != "attributes" or access.name == "type":
            continue
        values: Counter[str] = Counter()
        for sample in devices:
            full = access.of(sample.driver)
            value = sample.attribute(full)
            if value is None and full.startswith(f"{sample.driver}/"):
                value = sample.attribute(access.name)
            if value is not None:
                values[str(value)] += max(sample.count, 1)
        if values:
            listed = ", ".join(f"{value} ({count})" for value, count in values.most_common(8))
            yield f"{access.name} is {listed}."


def _near(node: Node, devices: Sequence[Sample]) -> Iterator[str]:
    for entry in comparisons(node):
        amounts = sorted(
            (amount for sample in devices if (amount := sample.quantity(entry.name)) is not None),
            key=lambda amount: amount.nanos,
        )
        if not amounts or entry.operator not in {">", ">="}:
            continue
        try:
            asked = Quantity.parse(entry.text)
        except DRAError:
            continue
        short = asked - amounts[-1]
        if short.nanos > 0:
            have = amounts[-1].text
            yield f"The nearest has {have}, {short.canonical()} short of {entry.text}: ask for {have}."
