"""Against a cluster: tiers, plans, sessions from the shell, headless runs, their exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from tests.localcluster_fixture import LocalCluster

from .conftest import Command


def test_tiers_devices_and_plans_of_a_cluster(live: Command) -> None:
    tiers = live("tiers", "-o", "json")
    assert tiers.status == 0, tiers.err
    assert tiers.json["context"]["server_version"] == "1.37"
    assert {"small-gpu", "high-memory-gpu"} <= {one["name"] for one in tiers.json["tiers"]}
    assert live("devices", "--tier", "small-gpu", "-o", "json").json["devices"]
    plan = live("plan", "--vram", "80GB", "--architecture", "Hopper", "-o", "json")
    assert (plan.status, plan.json["verdict"]) == (0, "fits")
    assert live("plan", "--tier", "small-gpu", "--vram", "800GB").status == 4


def test_a_session_from_the_shell(live: Command, shared_cluster: LocalCluster) -> None:
    launched = live("launch", "--tier", "small-gpu", "--name", "shell", "-o", "json")
    assert launched.status == 0, launched.err
    assert "Device reserved: L4 24 GB" in launched.err
    session_id = launched.json["id"]
    try:
        assert [one["id"] for one in live("sessions", "-o", "json").json["sessions"]] == [session_id]
        described = live("describe", session_id)
        assert "L4" in described.out or "24 GB" in described.out
        assert live("restart", session_id).status == 0
        moved = live("restart", session_id, "--cpu", "2", "-o", "json")
        assert moved.status == 0, moved.err
        assert moved.json["devices"][0]["device"] == launched.json["devices"][0]["device"]
        assert moved.json["kernels"][0]["pod"] == f"{session_id}-1"
        assert f"moved to pod {session_id}-1" in live("describe", session_id).out
        attached = live("attach", "shell", "-o", "json")
        assert attached.status == 0, attached.err
        assert len(attached.json["kernels"]) == 2
        extended = live("extend", session_id, "--by", "1h", "-o", "json")
        assert extended.json["lease"]["ends_at"] > launched.json["lease"]["ends_at"]
        too_long = live("extend", session_id, "--by", "300h")
        assert too_long.status == 7
        assert session_id in too_long.err and extended.json["lease"]["longest_until"] in too_long.err
        assert "podside" in live("logs", session_id).out
    finally:
        stopped = live("stop", "shell")
    assert (stopped.status, "ended" in stopped.out) == (0, True)
    shared_cluster.wait_gone("resourceclaims", session_id)
    assert "You stopped the session." in live("describe", "shell").out
    assert live("sessions").out.strip() == "You hold no device."


def test_a_name_that_two_sessions_have_is_not_guessed_at(live: Command) -> None:
    ids = [live("launch", "--tier", "small-gpu", "--name", "twin", "-o", "json").json["id"] for _ in range(2)]
    try:
        refused = live("stop", "twin")
        assert refused.status == 5
        assert all(one in refused.err for one in ids) and "by its id" in refused.err
        assert {one["id"] for one in live("sessions", "-o", "json").json["sessions"]} == set(ids)
    finally:
        assert live("stop", *ids).status == 0


NODE = ("--tier", "tpu-v6e-node")
"""A tier that is offered in eights only."""


def test_a_tier_that_offers_only_whole_nodes_gives_one_where_no_number_is_said(live: Command) -> None:
    claim = live("claim", *NODE, "-o", "json").json
    assert claim["spec"]["devices"]["requests"][0]["exactly"]["count"] == 8
    plan = live("plan", *NODE, "-o", "json")
    assert (plan.json["launch"]["can"], plan.json["requirement"]) == ("yes", {"tier": "tpu-v6e-node"})
    session = live("launch", *NODE, "-o", "json").json
    try:
        assert len(session["devices"]) == 8 and session["requirement"] == {"tier": "tpu-v6e-node"}
    finally:
        assert live("stop", session["id"]).status == 0


def test_a_script_runs_on_the_whole_node_of_its_tier(live: Command, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from jupyter_dra.widgets import held\nprint(len(held.read_session(held.run_folder())['devices']))\n"
    )
    said = live("run", str(script), *NODE)
    assert (said.status, said.out.strip()) == (0, "8"), said.err


@pytest.mark.parametrize("word", ["plan", "launch", "run"])
def test_a_number_that_is_not_offered_ends_with_what_to_ask_for(
    live: Command, tmp_path: Path, word: str
) -> None:
    script = tmp_path / "script.py"
    script.touch()
    said = live(word, *([str(script)] if word == "run" else []), *NODE, "--count", "1")
    assert said.status == (125 if word == "run" else 7)
    assert "1 device of tpu-v6e-node is not offered." in said.out + said.err
    assert "Ask for 8." in said.out + said.err
    assert live("sessions").out.strip() == "You hold no device."


def test_a_plan_ends_with_the_status_its_launch_would_have(live: Command) -> None:
    longer = ("--tier", "small-gpu", "--lease", "300h")
    plan, launch = live("plan", *longer), live("launch", *longer)
    assert (plan.status, launch.status) == (7, 7)
    assert "launch: no (limit) · A lease of 12d12h is longer than the longest allowed, 12h." in plan.out
    assert "A lease of 12d12h is longer" in launch.err
    assert live("plan", "--tier", "small-gpu", "--lease", "1h").status == 0


def test_an_administrator_ends_a_session_and_its_owner_reads_why(
    live: Command, shared_cluster: LocalCluster
) -> None:
    session_id = live("launch", "--tier", "small-gpu", "-o", "json").json["id"]
    assert live("stop", session_id, "--because", "noon").status != 0
    before = shared_cluster.get("pods", f"{session_id}-0")
    assert before is not None
    stopped = live("stop", session_id, "--as-admin", "--because", "maintenance at noon", "-o", "json")
    assert stopped.json["sessions"][0]["state"] == "releasing"
    shared_cluster.wait_gone("resourceclaims", session_id)
    assert live("stop", "nobody-abcde", "--as-admin").status == 1


@pytest.mark.parametrize(
    ("code", "status", "shown"),
    [
        ("print('seen')", 0, "seen"),
        ("import sys; sys.exit(7)", 7, ""),
        ("raise ValueError('no')", 1, "ValueError: no"),
    ],
)
def test_a_scripts_exit_status_is_the_commands(
    live: Command, tmp_path: Path, shared_cluster: LocalCluster, code: str, status: int, shown: str
) -> None:
    script = tmp_path / "script.py"
    script.write_text(code)
    said = live("run", str(script), "--tier", "small-gpu")
    assert said.status == status, said.err
    assert shown in said.out + said.err
    assert live("sessions").out.strip() == "You hold no device."


def test_a_notebook_is_run_written_and_released(live: Command, tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print(6 * 7)")])
    path = tmp_path / "answer.ipynb"
    nbformat.write(notebook, path)
    report = tmp_path / "report.json"
    said = live("run", str(path), "--vram", "24GB", "--report", str(report))
    assert said.status == 0, said.err
    assert "Device reserved: L4 24 GB" in said.err and "Connected" in said.err
    assert said.err.rstrip().endswith(f"Written to {path}; the device is given back.")
    assert nbformat.read(path, as_version=4).cells[0].outputs[0]["text"] == "42\n"
    assert json.loads(report.read_text())["status"] == 0
    assert live("sessions").out.strip() == "You hold no device."


def test_a_failing_notebook_keeps_its_outputs_and_releases(live: Command, tmp_path: Path) -> None:
    cells = [nbformat.v4.new_code_cell(code) for code in ("print('kept')", "1 / 0", "print('never')")]
    path = tmp_path / "fails.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    said = live("run", str(path), "--vram", "24GB", "--quiet")
    assert said.status == 1
    assert "ZeroDivisionError" in said.err and "Written to" not in said.err
    outputs = [cell.outputs for cell in nbformat.read(path, as_version=4).cells]
    assert outputs[0][0]["text"] == "kept\n"
    assert outputs[1][0]["ename"] == "ZeroDivisionError"
    assert live("sessions").out.strip() == "You hold no device."


def test_a_run_that_cannot_start_says_so_and_leaves_the_file(live: Command, tmp_path: Path) -> None:
    path = tmp_path / "n.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")]), path)
    before = path.read_bytes()
    report = tmp_path / "report.json"
    said = live("run", str(path), "--tier", "small-gpu", "--vram", "800GB", "--report", str(report))
    assert said.status == 125
    assert json.loads(report.read_text())["code"] == "impossible"
    assert path.read_bytes() == before


def test_busy_is_an_answer_and_waiting_starts_when_a_device_is_freed(
    live: Command, shared_cluster: LocalCluster
) -> None:
    """Both medium GPUs are taken; a third launch is refused, or waits until one is given back."""
    import threading

    held = [
        live("launch", "--tier", "medium-gpu", "--name", f"hold-{n}", "-o", "json").json["id"]
        for n in range(2)
    ]
    try:
        refused = live("launch", "--tier", "medium-gpu")
        assert refused.status == 3, refused.err
        plan = live("plan", "--tier", "medium-gpu", "-o", "json")
        assert (plan.status, plan.json["verdict"]) == (3, "busy")
        assert {one["claim"] for one in plan.json["holders"]} == set(held)

        def free_one() -> None:
            shared_cluster.wait(
                lambda: any(
                    one["metadata"]["name"].startswith("third-")
                    for one in shared_cluster.list("resourceclaims")
                )
            )
            shared_cluster.kubectl("delete", "pod", f"{held[0]}-0", "--wait=false")

        thread = threading.Thread(target=free_one)
        thread.start()
        third = live("launch", "--tier", "medium-gpu", "--name", "third", "--wait", "1m", "-o", "json")
        thread.join()
        assert third.status == 0, third.err
        held.append(third.json["id"])
    finally:
        assert live("stop", "--all").status == 0


def test_describe_tells_a_session_in_words(live: Command) -> None:
    session_id = live("launch", "--tier", "small-gpu", "--name", "told", "-o", "json").json["id"]
    try:
        assert live("restart", session_id).status == 0
        extended = live("extend", session_id, "1h")
        assert extended.status == 0, extended.err
        assert "in 4 h 59 min" in extended.out or "in 5 h" in extended.out
        told = live("describe", session_id).out
        assert "Steps       Request checked" in told
        assert "The kernel restarted in place, on the same device." in told
        assert "died" not in told, "a restart that was asked for is no death"
        assert "{" not in told
        assert live("extend", session_id, "1h", "--by", "2h").status == 5
    finally:
        live("stop", session_id)


def test_plain_memory_is_asked_back(live: Command) -> None:
    said = live("plan", "--memory", "80GB")
    assert said.status == 2
    assert "--vram" in said.err and "--host-memory" in said.err
