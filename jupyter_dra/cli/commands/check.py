"""``jupyter dra check``: manifests judged as the API server and the scheduler would."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from .. import exits
from ..options import add_cluster, add_output
from ..output import clean, clean_block, several, show, write

if TYPE_CHECKING:
    from ...checker import CheckResult, ServerAnswer

_MARKS = {"error": "error", "warning": "warning", "hint": "hint"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="YAML or JSON files; - reads standard input")
    parser.add_argument("--fix", action="store_true", help="print the mended text")
    parser.add_argument("--write", action="store_true", help="write the mended text into the file")
    parser.add_argument("--strict", action="store_true", help="warnings count as problems too")
    parser.add_argument(
        "--target", default=None, metavar="VERSION", help="Kubernetes version to judge for: 1.34 to 1.37"
    )
    parser.add_argument(
        "--server", action="store_true", help="also ask the cluster (dry run), and show where the two differ"
    )
    add_cluster(parser, offline=True)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    from ..surroundings import read_text

    if arguments.write and "-" in arguments.files:
        raise InputError("--write cannot write standard input.", code="usage", next_step="Use --fix.")
    texts = {path: read_text(path) for path in arguments.files}
    inventory = _inventory(arguments)
    fix = arguments.fix or arguments.write
    results = {path: _checked(arguments, path, text, inventory, fix) for path, text in texts.items()}
    if arguments.write:
        for path, result in results.items():
            if isinstance(result.fixed, str) and result.fixed != texts[path]:
                _replace(Path(path), result.fixed)
    document = _together(results)
    show(document, arguments.output, _in_words(results, arguments))
    bad = not document["clean"] or (arguments.strict and document["summary"]["warnings"])
    return exits.FINDINGS if bad else exits.DONE


def _inventory(arguments: argparse.Namespace) -> Any:
    """What is known of the cluster: only what the command line names; a check needs none."""
    if not (arguments.inventory or arguments.context or arguments.kubeconfig or arguments.server):
        return None
    from ..surroundings import open_surroundings

    with open_surroundings(arguments) as around:
        # Taken over whole: nothing changes it any more once the connection is closed.
        return around.ask(lambda inventory: inventory)


def _checked(arguments: argparse.Namespace, path: str, text: str, inventory: Any, fix: bool) -> CheckResult:
    from ...checker import check

    answers = asyncio.run(_ask_server(arguments, text)) if arguments.server else None
    target = {"target": arguments.target} if arguments.target else {}
    return check(text, fix=fix, file=path, inventory=inventory, server=answers, **target)


async def _ask_server(arguments: argparse.Namespace, text: str) -> list[ServerAnswer]:
    from ...checker import ask_server
    from ...cluster import connect

    async with await connect(arguments.context, arguments.kubeconfig, arguments.namespace) as client:
        return await ask_server(text, lambda manifest: client.create(manifest, dry_run=True))


def _replace(path: Path, text: str) -> None:
    """Replace a file in one step; a link is refused, so that nothing outside is written (threat T26)."""
    if path.is_symlink():
        raise InputError(
            f"{path} is a link; it is not written through.",
            code="link",
            path=str(path),
            next_step="Name the file that it leads to.",
        )
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(temporary, path.stat().st_mode & 0o7777)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _together(results: dict[str, CheckResult]) -> dict[str, Any]:
    """One CheckResult document over all files."""
    documents = [result.as_dict() for result in results.values()]
    if len(documents) == 1:
        return documents[0]
    total: dict[str, Any] = {**documents[0], "clean": all(one["clean"] for one in documents)}
    total["findings"] = [finding for one in documents for finding in one["findings"]]
    total["undecided"] = [finding for one in documents for finding in one["undecided"]]
    total["summary"] = {
        name: sum(one["summary"][name] or 0 for one in documents) for name in documents[0]["summary"]
    }
    fixed = {path: result.fixed for path, result in results.items() if result.fixed is not None}
    total["fixed"] = fixed or None
    if any("server_says" in one for one in documents):
        total["server_says"] = [answer for one in documents for answer in one.get("server_says", ())]
        total["differs"] = any(one.get("differs") for one in documents)
    return total


def _in_words(results: dict[str, CheckResult], arguments: argparse.Namespace) -> str:
    if arguments.fix and not arguments.write:
        # The mended text alone goes to standard output, so that it can be piped to kubectl.
        for result in results.values():
            for finding in result.undecided:
                write(_line(finding.as_dict()), sys.stderr)
        return "---\n".join(
            clean_block(result.fixed).rstrip("\n") + "\n"
            for result in results.values()
            if isinstance(result.fixed, str)
        ).rstrip("\n")
    lines = []
    for path, result in results.items():
        found = result.as_dict()
        lines += [_line(finding) + _explained(finding) for finding in found["findings"]]
        for answer in found.get("server_says", ()):
            verdict = "accepts it" if answer["accepted"] else f"refuses it: {clean(answer['text'])}"
            lines.append(f"{clean(path)}: document {answer['document']}: the server {verdict}")
        summary = found["summary"]
        lines.append(
            f"{clean(path)}: "
            + ", ".join(
                several(summary[name] or 0, name[:-1])
                for name in ("documents", "errors", "warnings", "hints")
            )
            + (
                f" · needs {several(summary['devices_needed'], 'device')}"
                if summary["devices_needed"]
                else ""
            )
        )
    return "\n".join(lines)


def _line(finding: dict[str, Any]) -> str:
    place = ":".join(
        str(part) for part in (finding["file"], finding["line"], finding["column"]) if part is not None
    )
    about = finding["object"]
    named = f"{about['kind']} {about['name']}: " if about and about.get("name") else ""
    path = f"{finding['path']}: " if finding["path"] else ""
    return clean(
        f"{place}: {_MARKS[finding['severity']]}: {named}{path}{finding['message']} [{finding['code']}]"
    )


def _explained(finding: dict[str, Any]) -> str:
    text = ""
    if finding["why"]:
        text += f"\n    {clean(finding['why'])}"
    if finding["fix"]:
        text += f"\n    → {clean(finding['fix'])}"
    return text
