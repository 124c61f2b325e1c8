"""``jupyter dra plan``: the verdict on a requirement or a claim, with reasons and what would help."""

from __future__ import annotations

import argparse
from typing import Any

from ...claims.arguments import add_requirement_arguments, requirement_from_arguments, requirement_values
from ...errors import InputError
from ...planner.permission import refusal_words
from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, several, show

_WORDS = {
    "fits": "Fits now",
    "busy": "All taken for now",
    "impossible": "Not possible here",
    "invalid": "Needs a correction",
    "unknown": "Cannot be sure",
}


def configure(parser: argparse.ArgumentParser) -> None:
    add_requirement_arguments(parser, session=True)
    parser.add_argument(
        "-f", "--filename", metavar="FILE", help="plan this claim or template (- reads standard input)"
    )
    parser.add_argument("--all-nodes", action="store_true", help="name every node, not only the best fifty")
    add_cluster(parser, offline=True)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import open_surroundings, read_claims

    if arguments.filename and requirement_values(arguments):
        raise InputError(
            "plan takes a requirement or a file, not both.",
            path="--filename",
            next_step="Leave out one of the two.",
        )
    wanted: Any = (
        read_claims(arguments.filename)
        if arguments.filename
        else requirement_from_arguments(arguments, namespace=arguments.namespace)
    )
    with open_surroundings(arguments) as around:
        document = around.plan(wanted, all_nodes=arguments.all_nodes)
    show(document, arguments.output, _in_words(document))
    refused = refusal_words(document["launch"]) is not None
    return exits.REFUSED if refused else exits.VERDICTS[document["verdict"]]


def _in_words(plan: dict[str, Any]) -> str:
    lines = [f"{_WORDS[plan['verdict']]} · {_summary(plan)}"]
    lines += [f"  {clean(reason['message'])}" for reason in plan["reasons"]]
    lines += _findings(plan)
    if not plan["certainty"]["sure"]:
        lines.append("not sure: " + ", ".join(clean(_code(one)) for one in plan["certainty"]["reasons"]))
    if plan["relaxations"]:
        lines.append("would help:")
        lines += [f"  {clean(one['message'])}" + _gain(one) for one in plan["relaxations"]]
    lines += _refused(plan["launch"])
    return "\n".join(lines)


def _refused(launch: dict[str, Any]) -> list[str]:
    """Why the user may not launch this, though devices may be free, and what may be asked for."""
    words = refusal_words(launch)
    if words is None:
        return []
    lines = [f"launch: no ({clean(launch['code'])}) · {clean(words[1])}"]
    return lines + ([f"  → {clean(launch['params']['next'])}"] if launch["params"].get("next") else [])


def _findings(plan: dict[str, Any]) -> list[str]:
    """Each finding once, with what to do; alternatives of one request repeat them, and reasons say some already."""
    said = {reason["message"] for reason in plan["reasons"]}
    lines = []
    for finding in plan["findings"]:
        if finding["message"] in said:
            continue
        said.add(finding["message"])
        where = f"{clean(finding['path'])}: " if finding["path"] and finding["severity"] == "error" else ""
        lines.append(f"  ! {where}{clean(finding['message'])}")
        if finding["fix"]:
            lines.append(f"    → {clean(finding['fix'])}")
    return lines


def _code(reason: Any) -> str:
    return str(reason.get("code", reason)) if isinstance(reason, dict) else str(reason)


def _gain(relaxation: dict[str, Any]) -> str:
    free = relaxation.get("free")
    return f" · {free} free" if free else ""


def _summary(plan: dict[str, Any]) -> str:
    counts = plan["counts"]
    if plan["verdict"] == "impossible":
        return "no node has this, even with everything free."
    if plan["verdict"] == "invalid":
        return "a condition cannot work."
    likely = next((node for node in plan["nodes"] if node["likely"]), None)
    text = f"{several(counts['matching'], 'device')} on {several(counts['matching_nodes'], 'node')}"
    text += " matches" if counts["matching"] == 1 else " match"
    if counts["free"] is not None:
        text += f", {counts['free']} free"
    elif counts["free_at_most"] is not None:
        text += f", at most {counts['free_at_most']} free"
    if likely and likely["devices"] and plan["verdict"] in ("fits", "unknown"):
        first = likely["devices"][0]
        text += f". Likely {clean(first['label'])} ({clean(first['device'])}) on {clean(likely['name'])}"
    return text + "."
