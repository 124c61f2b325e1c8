"""Pods as local processes, seen from outside: through the API and with kubectl."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.localcluster_fixture import LocalCluster, pod_manifest

PYTHON = ("python", "-c")


def state_of(cluster: LocalCluster, pod: str, phase: str) -> dict[str, Any]:
    state: dict[str, Any] = cluster.wait_for_pod(pod, phase)["status"]["containerStatuses"][0]["state"]
    return state


def log_of(cluster: LocalCluster, pod: str) -> str:
    return str(cluster.request("GET", f"/api/v1/namespaces/default/pods/{pod}/log").get("text", ""))


def test_a_pod_that_ends_well_has_succeeded_and_its_log_stays(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(pod_manifest("well", *PYTHON, "print('42 is the answer')"))
    state = state_of(shared_cluster, "well", "Succeeded")
    assert state["terminated"]["reason"] == "Completed"
    assert state["terminated"]["exitCode"] == 0
    assert shared_cluster.kubectl("logs", "well") == "42 is the answer\n"


def test_the_exit_status_of_the_program_is_the_containers(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(pod_manifest("seven", *PYTHON, "raise SystemExit(7)"))
    terminated = state_of(shared_cluster, "seven", "Failed")["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (7, "Error")


def test_a_killed_program_exits_with_128_plus_the_signal(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(pod_manifest("killed", *PYTHON, "import os; os.kill(os.getpid(), 9)"))
    assert state_of(shared_cluster, "killed", "Failed")["terminated"]["exitCode"] == 137


def test_a_program_that_does_not_exist_is_a_start_error(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(pod_manifest("typo", "no-such-program"))
    terminated = state_of(shared_cluster, "typo", "Failed")["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (128, "StartError")
    assert "no-such-program" in terminated["message"]


def test_a_pod_over_its_memory_limit_is_killed_and_says_so(shared_cluster: LocalCluster) -> None:
    grow = "x = bytearray(200 << 20); import time; time.sleep(60)"
    limit = {"resources": {"limits": {"memory": "100Mi"}}}
    shared_cluster.apply(pod_manifest("hungry", *PYTHON, grow, container=limit))
    terminated = state_of(shared_cluster, "hungry", "Failed")["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (137, "OOMKilled")


def test_the_environment_is_the_pods_and_nothing_of_the_agents(shared_cluster: LocalCluster) -> None:
    show = "import os, json; print(json.dumps(dict(os.environ)))"
    env = [
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "WHERE", "value": "$(POD_IP):80 $$(POD_IP) $(NONE)"},
    ]
    shared_cluster.apply(pod_manifest("clean", *PYTHON, show, container={"env": env}))
    shared_cluster.wait_for_pod("clean", "Succeeded")
    seen = json.loads(log_of(shared_cluster, "clean"))
    address = shared_cluster.read("pods", "clean")["status"]["podIP"]
    assert seen["POD_IP"] == address
    assert address.startswith("127.")
    assert seen["WHERE"] == f"{address}:80 $(POD_IP) $(NONE)"
    assert seen["NVIDIA_VISIBLE_DEVICES"] == "void"
    ours = {"PATH", "HOME", "TMPDIR", "HOSTNAME", "LANG", "NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}
    assert set(seen) - ours == {"POD_IP", "WHERE", "JUPYTER_DRA_POD"} | ({"LC_CTYPE"} & set(seen))


def test_pods_start_in_the_clusters_working_directory(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(pod_manifest("here", *PYTHON, "import os; print(os.getcwd())"))
    shared_cluster.wait_for_pod("here", "Succeeded")
    assert Path(log_of(shared_cluster, "here").strip()) == shared_cluster.dir.resolve()


def test_every_pod_has_an_address_of_its_own(shared_cluster: LocalCluster) -> None:
    if sys.platform != "linux":
        pytest.skip("this system has one loopback address")
    for number in range(3):
        shared_cluster.apply(pod_manifest(f"address-{number}", "sleep", "60"))
    addresses = {shared_cluster.wait_for_pod(f"address-{number}")["status"]["podIP"] for number in range(3)}
    assert len(addresses) == 3


def test_secret_files_appear_under_our_prefix_with_their_modes(shared_cluster: LocalCluster) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "files"},
        "stringData": {"script.py": "import sys; print('from the secret', sys.argv[1])"},
    }
    volume = {"name": "ours", "secret": {"secretName": "files", "defaultMode": 0o400}}
    mount = {"volumeMounts": [{"name": "ours", "mountPath": "/jupyter-dra/podside", "readOnly": True}]}
    shared_cluster.apply(
        secret,
        pod_manifest(
            "mounted",
            "python",
            "/jupyter-dra/podside/script.py",
            "--file=/jupyter-dra/podside/script.py",
            container=mount,
            volumes=[volume],
        ),
    )
    shared_cluster.wait_for_pod("mounted", "Succeeded")
    text = log_of(shared_cluster, "mounted")
    assert text.startswith("from the secret --file=")
    path = Path(text.strip().split("--file=")[1])
    assert path.is_relative_to(shared_cluster.dir)
    assert path.stat().st_mode & 0o777 == 0o400


def test_a_pod_waits_for_its_secret_and_says_what_is_missing(shared_cluster: LocalCluster) -> None:
    volume = {"name": "late", "secret": {"secretName": "late-secret"}}
    mount = {"volumeMounts": [{"name": "late", "mountPath": "/jupyter-dra/late"}]}
    shared_cluster.apply(
        pod_manifest("waits", "cat", "/jupyter-dra/late/word", container=mount, volumes=[volume])
    )

    def told() -> bool:
        events = shared_cluster.list("events")
        return any(
            e["reason"] == "FailedMount" and 'secret "late-secret" not found' in e["message"] for e in events
        )

    shared_cluster.wait(told)
    shared_cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "late-secret"},
            "stringData": {"word": "at last"},
        }
    )
    shared_cluster.wait_for_pod("waits", "Succeeded")
    assert log_of(shared_cluster, "waits") == "at last"


def test_a_memory_backed_folder_has_a_path_short_enough_for_sockets(shared_cluster: LocalCluster) -> None:
    volume = {"name": "run", "emptyDir": {"medium": "Memory"}}
    mount = {"volumeMounts": [{"name": "run", "mountPath": "/run/jupyter-dra"}]}
    make = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1] + '/' + 'k' * 40); print('ok')"
    shared_cluster.apply(
        pod_manifest("socket", *PYTHON, make, "/run/jupyter-dra", container=mount, volumes=[volume])
    )
    shared_cluster.wait_for_pod("socket", "Succeeded")
    assert log_of(shared_cluster, "socket") == "ok\n"


def test_deleting_a_pod_lets_it_end_by_itself_within_its_grace(shared_cluster: LocalCluster) -> None:
    marker = shared_cluster.dir / "said-goodbye"
    program = (
        "import signal, time, pathlib\n"
        f"signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path({str(marker)!r}).touch(), exit(0)))\n"
        "print('ready', flush=True)\ntime.sleep(60)"
    )
    shared_cluster.apply(pod_manifest("polite", *PYTHON, program, terminationGracePeriodSeconds=20))
    shared_cluster.wait(lambda: "ready" in log_of(shared_cluster, "polite"))
    shared_cluster.kubectl("delete", "pod", "polite", "--wait")
    assert marker.exists()
    assert shared_cluster.get("pods", "polite") is None


def test_a_pod_that_ignores_the_signal_is_killed_after_its_grace(shared_cluster: LocalCluster) -> None:
    program = (
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print(os.getpid(), flush=True); time.sleep(60)"
    )
    shared_cluster.apply(pod_manifest("stubborn", *PYTHON, program))
    pid = int(shared_cluster.wait(lambda: log_of(shared_cluster, "stubborn")))
    shared_cluster.kubectl("delete", "pod", "stubborn", "--wait")
    shared_cluster.wait(lambda: not Path(f"/proc/{pid}").exists() if sys.platform == "linux" else True)


def test_a_force_deleted_pod_leaves_no_process(shared_cluster: LocalCluster) -> None:
    child = (
        "import subprocess, time; p = subprocess.Popen(['sleep', '61'], start_new_session=True);"
        "print(p.pid, flush=True); time.sleep(60)"
    )
    shared_cluster.apply(pod_manifest("forced", *PYTHON, child))
    grandchild = int(shared_cluster.wait(lambda: log_of(shared_cluster, "forced")))
    shared_cluster.kubectl("delete", "pod", "forced", "--force", "--grace-period=0")
    shared_cluster.wait(lambda: not is_alive(grandchild))


def test_what_a_program_started_ends_with_it(shared_cluster: LocalCluster) -> None:
    program = "import subprocess; p = subprocess.Popen(['sleep', '62'], start_new_session=True); print(p.pid)"
    shared_cluster.apply(pod_manifest("leaver", *PYTHON, program))
    shared_cluster.wait_for_pod("leaver", "Succeeded")
    assert not is_alive(int(log_of(shared_cluster, "leaver")))


def test_a_container_that_always_restarts_backs_off_and_counts(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(pod_manifest("loops", *PYTHON, "raise SystemExit(1)", restartPolicy="Always"))

    def backing_off() -> dict[str, Any] | None:
        status = (shared_cluster.get("pods", "loops") or {}).get("status") or {}
        first = (status.get("containerStatuses") or [{}])[0]
        waiting = first.get("state", {}).get("waiting") or {}
        return first if waiting.get("reason") == "CrashLoopBackOff" else None

    first = shared_cluster.wait(backing_off)
    assert first["lastState"]["terminated"]["exitCode"] == 1
    assert "back-off 10s restarting failed container=main" in first["state"]["waiting"]["message"]
    shared_cluster.kubectl("delete", "pod", "loops", "--wait")


def test_init_containers_run_first_and_a_failed_one_fails_the_pod(shared_cluster: LocalCluster) -> None:
    shared = {"name": "shared", "emptyDir": {}}
    mount = {"volumeMounts": [{"name": "shared", "mountPath": "/jupyter-dra/shared"}]}
    first = {
        "name": "first",
        "image": "python",
        "command": [*PYTHON, "open('/jupyter-dra/shared/word', 'w').write('made before')"],
        **mount,
    }
    shared_cluster.apply(
        pod_manifest(
            "staged",
            "cat",
            "/jupyter-dra/shared/word",
            container=mount,
            volumes=[shared],
            initContainers=[first],
        ),
        pod_manifest(
            "broken",
            "true",
            initContainers=[{"name": "first", "image": "python", "command": [*PYTHON, "exit(3)"]}],
        ),
    )
    shared_cluster.wait_for_pod("staged", "Succeeded")
    assert (
        shared_cluster.request("GET", "/api/v1/namespaces/default/pods/staged/log?container=main")["text"]
        == "made before"
    )
    shared_cluster.wait_for_pod("broken", "Failed")


def test_a_pod_past_its_deadline_fails_with_that_reason(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(pod_manifest("deadline", "sleep", "60", activeDeadlineSeconds=1))
    status = shared_cluster.wait_for_pod("deadline", "Failed")["status"]
    assert status["reason"] == "DeadlineExceeded"


def test_an_image_that_is_not_there_is_told_like_a_registry_would(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(
        pod_manifest("unpulled", "true", container={"image": "registry.invalid/team/kernel:1"})
    )

    def waiting() -> bool:
        status = (shared_cluster.get("pods", "unpulled") or {}).get("status") or {}
        first = (status.get("containerStatuses") or [{}])[0]
        reason = (first.get("state", {}).get("waiting") or {}).get("reason")
        return reason in ("ErrImagePull", "ImagePullBackOff")

    shared_cluster.wait(waiting)
    shared_cluster.kubectl("delete", "pod", "unpulled", "--wait")


def test_an_image_without_a_command_runs_a_stand_in_that_says_so(shared_cluster: LocalCluster) -> None:
    pod = pod_manifest("standin", container={"image": "vllm/vllm-openai:latest"})
    del pod["spec"]["containers"][0]["command"]
    shared_cluster.apply(pod)
    text = shared_cluster.wait(lambda: log_of(shared_cluster, "standin"))
    assert text.startswith("stand-in: ")
    shared_cluster.kubectl("delete", "pod", "standin", "--wait")


def test_logs_can_be_followed_tailed_and_stamped(shared_cluster: LocalCluster) -> None:
    program = "import time\nfor i in range(5): print('line', i, flush=True); time.sleep(0.05)"
    shared_cluster.apply(pod_manifest("chatty", *PYTHON, program))
    shared_cluster.wait(lambda: "line 0" in log_of(shared_cluster, "chatty"))
    assert shared_cluster.kubectl("logs", "-f", "chatty").splitlines()[-1] == "line 4"
    assert shared_cluster.kubectl("logs", "chatty", "--tail=2") == "line 3\nline 4\n"
    stamped = shared_cluster.kubectl("logs", "chatty", "--timestamps").splitlines()
    assert stamped[0].endswith("Z line 0")
    assert stamped[0].startswith("20")


def test_events_tell_the_story_in_order(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(pod_manifest("story", "true"))
    uid = shared_cluster.wait_for_pod("story", "Succeeded")["metadata"]["uid"]

    def reasons() -> list[str] | None:
        events = [e for e in shared_cluster.list("events") if e["involvedObject"].get("uid") == uid]
        found = [e["reason"] for e in sorted(events, key=lambda e: e["metadata"]["name"])]
        return found if len(found) >= 4 else None

    assert shared_cluster.wait(reasons) == ["Scheduled", "Pulled", "Created", "Started"]


def test_a_termination_message_reaches_the_status(shared_cluster: LocalCluster) -> None:
    volume = {"name": "run", "emptyDir": {"medium": "Memory"}}
    container = {
        "volumeMounts": [{"name": "run", "mountPath": "/run/jupyter-dra"}],
        "terminationMessagePath": "/run/jupyter-dra/termination-log",
    }
    write = "import sys; open(sys.argv[1], 'w').write('{\"code\": \"idle\"}'); sys.exit(3)"
    shared_cluster.apply(
        pod_manifest(
            "message",
            *PYTHON,
            write,
            "/run/jupyter-dra/termination-log",
            container=container,
            volumes=[volume],
        )
    )
    assert state_of(shared_cluster, "message", "Failed")["terminated"]["message"] == '{"code": "idle"}'


def test_the_last_lines_of_the_log_are_the_message_when_asked_for(shared_cluster: LocalCluster) -> None:
    container = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    shared_cluster.apply(pod_manifest("fallback", *PYTHON, "print('why'); exit(1)", container=container))
    assert state_of(shared_cluster, "fallback", "Failed")["terminated"]["message"] == "why\n"


def test_an_evicted_pod_says_so(shared_cluster: LocalCluster) -> None:
    shared_cluster.apply(pod_manifest("evicted", "sleep", "60"))
    shared_cluster.wait_for_pod("evicted")
    shared_cluster.kubectl("annotate", "pod", "evicted", "jupyter-dra.dev/fault=evict")
    status = shared_cluster.wait_for_pod("evicted", "Failed")["status"]
    assert status["reason"] == "Evicted"


def test_a_frozen_pod_stands_still_until_it_is_let_go(shared_cluster: LocalCluster) -> None:
    program = "import time\nfor i in range(10000): print(i, flush=True); time.sleep(0.01)"
    shared_cluster.apply(pod_manifest("frozen", *PYTHON, program))
    shared_cluster.wait(lambda: log_of(shared_cluster, "frozen"))
    shared_cluster.kubectl("annotate", "pod", "frozen", "jupyter-dra.dev/fault=freeze")

    def still() -> str | None:
        before = log_of(shared_cluster, "frozen")
        shared_cluster.kubectl("get", "pods")
        return before if log_of(shared_cluster, "frozen") == before else None

    before = shared_cluster.wait(still)
    shared_cluster.kubectl("annotate", "pod", "frozen", "jupyter-dra.dev/fault-")
    shared_cluster.wait(lambda: len(log_of(shared_cluster, "frozen")) > len(before))
    shared_cluster.kubectl("delete", "pod", "frozen", "--wait")


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    if sys.platform == "linux":
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    return True
