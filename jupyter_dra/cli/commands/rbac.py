"""``jupyter dra rbac``: the least rights, as manifests."""

from __future__ import annotations

import argparse

from .. import exits
from ..options import add_output
from ..output import write


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "role", choices=("user", "occupancy", "queue", "hub", "admin", "viewer"), help="for whom"
    )
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", default="default", help="the namespace of the Role"
    )
    parser.add_argument("--user", metavar="NAME", help="bind it to this user")
    parser.add_argument("--group", metavar="NAME", help="bind it to this group")
    parser.add_argument(
        "--service-account", metavar="NAME", help="bind it to this service account of the namespace"
    )
    add_output(parser, "yaml", "json", "table")


def run(arguments: argparse.Namespace) -> int:
    from ...claims import to_yaml
    from ...cluster import rbac
    from ..output import show

    subject = next(
        (
            {"kind": kind, "name": name, **more}
            for kind, name, more in (
                ("User", arguments.user, {}),
                ("Group", arguments.group, {}),
                ("ServiceAccount", arguments.service_account, {"namespace": arguments.namespace}),
            )
            if name
        ),
        None,
    )
    document = rbac(arguments.role, namespace=arguments.namespace, subject=subject)
    items = document["items"]
    if arguments.output == "json":
        show(document, "json", "")
    else:
        write("---\n".join(to_yaml(item) for item in items).rstrip("\n"))
    return exits.DONE
