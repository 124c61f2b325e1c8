"""podside as a real process with a real ipykernel, reached through the relay as Jupyter does."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient

from jupyter_dra.errors import ClusterError, ConflictError, RefusedError
from jupyter_dra.kernels.control import PodControl
from jupyter_dra.kernels.last_words import LOST, TORN
from jupyter_dra.kernels.relay import Relay
from jupyter_dra.kernels.runtime import KernelPods
from jupyter_dra.kernels.tls import Dialer
from jupyter_dra.kernels.unanswered import told_by_us
from jupyter_dra.sessions.loop import BackgroundLoop

from .conftest import LocalPod, Pods, alive, eventually

ROOT = str(Path(__file__).resolve().parents[2])


def connect(background: BackgroundLoop, pod: LocalPod) -> PodControl:
    pod.port  # noqa: B018 (waits until podside listens)
    return background.call(PodControl.connect(Dialer(pod, pod.credentials)))


def wait_until_ready(background: BackgroundLoop, pod: LocalPod) -> None:
    """As the session service does: a plain client's own wait gives up on slow starts (it trusts the heartbeat)."""
    control = connect(background, pod)
    eventually(lambda: background.call(control._request("state"))["kernel"]["state"] == "running", 60)
    background.call(control.close())


@contextmanager
def client_of(background: BackgroundLoop, pod: LocalPod) -> Iterator[tuple[BlockingKernelClient, Relay]]:
    async def open_relay() -> Relay:
        relay = Relay("k")
        await relay.open()
        relay.retarget(pod, pod.credentials)
        return relay

    wait_until_ready(background, pod)
    relay = background.call(open_relay())
    client = BlockingKernelClient()
    client.load_connection_info(relay.connection_info())
    client.start_channels()
    try:
        client.wait_for_ready(timeout=30)
        yield client, relay
    finally:
        client.stop_channels()
        background.call(relay.close())
        client.context.term()


def run(client: BlockingKernelClient, code: str, answer: str | None = None) -> str:
    """Execute and return what was printed; ``answer`` is typed at the first prompt."""
    printed: list[str] = []

    def on_output(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])

    def on_prompt(message: dict[str, Any]) -> None:
        assert answer is not None
        client.input(answer)

    reply = client.execute_interactive(
        code, timeout=30, output_hook=on_output, stdin_hook=on_prompt if answer is not None else None
    )
    return "".join(printed) if reply["content"]["status"] == "ok" else reply["content"]["ename"]


def events_of(background: BackgroundLoop, control: PodControl, *kinds: str) -> dict[str, Any]:
    """Wait for the next event of one of the kinds and return its facts, kind included."""

    async def wait() -> dict[str, Any]:
        async for event in control.events:
            if event.kind in kinds:
                return {"kind": event.kind, **event.params}
        raise AssertionError("the connection closed")

    return background.call(asyncio.wait_for(wait(), 20))


def test_a_cell_runs_asks_for_input_and_can_be_interrupted(pods: Pods, background: BackgroundLoop) -> None:
    pod = pods.start()
    control = connect(background, pod)
    with client_of(background, pod) as (client, _relay):
        assert run(client, "x = 42; print(x)") == "42\n"
        assert run(client, "print('hello', input('name? '))", answer="Ada") == "hello Ada\n"
        # What comes right behind a failed cell is aborted, unless the cell says that it may run.
        code = "import time; print('in', flush=True)\nfor i in range(3000): time.sleep(0.01)"
        client.execute(code, stop_on_error=False)
        while client.get_iopub_msg(timeout=10)["msg_type"] != "stream":
            continue
        began = time.monotonic()
        background.call(control.interrupt())
        assert client.get_shell_msg(timeout=10)["content"]["ename"] == "KeyboardInterrupt"
        assert time.monotonic() - began < 2
        assert run(client, "print(x)") == "42\n"


def test_restart_in_place_keeps_addresses_and_the_client_recovers(
    pods: Pods, background: BackgroundLoop
) -> None:
    pod = pods.start()
    control = connect(background, pod)
    with client_of(background, pod) as (client, relay):
        before = relay.connection_info()
        run(client, "x = 1")
        began = time.monotonic()
        assert background.call(control.restart())["starts"] == 2
        assert run(client, "print(input('name? '))", answer="again") == "again\n"
        assert time.monotonic() - began < 4  # the bar is 1 s on a quiet machine
        assert run(client, "x") == "NameError"
        assert relay.connection_info() == before
    history = background.call(control._request("state"))["kernel"]["history"]
    assert [entry["event"] for entry in history] == ["started", "died", "started"]
    assert history[1]["requested"] is True


def test_a_killed_kernel_is_reported_with_its_signal_and_started_again_within_the_limit(
    pods: Pods, background: BackgroundLoop
) -> None:
    pod = pods.start()
    control = connect(background, pod)
    with client_of(background, pod) as (client, _relay):
        for attempt in range(4):
            client.execute("import os; os.kill(os.getpid(), 9)")
            death = events_of(background, control, "died")
            assert death["code"] == "crashed"
            assert death["signal"] == "SIGKILL"
            assert death["exit_code"] == 137
            assert death["requested"] is False
            if attempt == 3:
                with pytest.raises(RefusedError) as caught:
                    background.call(control.start(auto=True))
                assert caught.value.code == "restart-limit"
            else:
                background.call(control.start(auto=True))
                assert run(client, "print(1)") == "1\n"
        background.call(control.start())  # by hand: always
        assert run(client, "print(2)") == "2\n"


def test_a_kernel_that_crashes_with_no_server_there_is_restarted_by_podside(
    pods: Pods, background: BackgroundLoop
) -> None:
    pod = pods.start()
    with client_of(background, pod) as (client, _relay):
        client.execute("import os; os.abort()")
        eventually(lambda: "autorestart" in pod.log())
    with client_of(background, pod) as (client, _relay):
        assert run(client, "print('back')") == "back\n"


def test_what_a_dead_kernel_is_asked_is_answered_where_it_did_not_run(
    pods: Pods, background: BackgroundLoop
) -> None:
    pod = pods.start()
    with client_of(background, pod) as (client, _relay):
        client.execute("import os; os.abort()")
        eventually(lambda: "autorestart" in pod.log())
        reply = client.execute_interactive("print('early')", timeout=15, output_hook=lambda message: None)
        if reply["content"]["status"] == "error":
            assert told_by_us(reply["content"]) in (LOST, TORN)


def test_large_output_arrives_whole(pods: Pods, background: BackgroundLoop) -> None:
    pod = pods.start()
    with client_of(background, pod) as (client, _relay):
        assert len(run(client, "for _ in range(40): print('y' * 250_000)")) == 40 * 250_001


def test_a_held_pod_starts_its_kernel_only_when_told(pods: Pods, background: BackgroundLoop) -> None:
    pod = pods.start(hold=True)
    control = connect(background, pod)
    assert control.state["kernel"]["state"] == "held"
    assert background.call(control.start())["starts"] == 1
    with client_of(background, pod) as (client, _relay):
        assert run(client, "print(1)") == "1\n"


def test_busy_and_idle_are_told_and_housekeeping_is_no_activity(
    pods: Pods, background: BackgroundLoop
) -> None:
    pod = pods.start()
    control = connect(background, pod)
    events_of(background, control, "ready")
    with client_of(background, pod) as (client, _relay):
        run(client, "pass")
        events_of(background, control, "idle")
        client.execute("import time; time.sleep(1)")
        assert events_of(background, control, "busy", "idle")["kind"] == "busy"
        assert background.call(control._request("state"))["lease"]["idle_since"] is None
        assert events_of(background, control, "idle")["at"]
        since = background.call(control._request("state"))["lease"]["idle_since"]
        for _ in range(3):
            client.kernel_info(reply=True, timeout=10)
        assert background.call(control._request("state"))["lease"]["idle_since"] == since


def test_facts_lease_and_kernel_stand_in_session_json(pods: Pods, background: BackgroundLoop) -> None:
    pod = pods.start(facts={"session": {"id": "s-1"}}, lease={"lease_seconds": 60, "longest_seconds": 120})
    control = connect(background, pod)
    device = {"driver": "gpu.example.com", "pool": "n", "name": "gpu-0"}
    background.call(control.facts({"devices": [device], "kernel": "mine", "lease": "never"}))
    background.call(control.lease(ends_at=time.time() + 100, idle_seconds=50))
    facts = json.loads((pod.run / "session.json").read_text())
    assert facts["kind"] == "SessionFacts"
    assert facts["session"] == {"id": "s-1"}
    assert facts["devices"] == [device]
    assert facts["kernel"]["starts"] == 1  # what podside knows itself cannot be overwritten
    assert facts["lease"]["idle_limit_seconds"] == 50
    with pytest.raises(ConflictError) as caught:
        background.call(control.lease(ends_at=time.time() + 1000))
    assert caught.value.code == "longest-lease"


def figures(folder: Path, percent: int | None) -> dict[str, str]:
    """The environment of a pod whose device has these figures; None: its driver tells none."""
    path = folder / "figures.json"
    told = None if percent is None else 80 << 30
    device = {"uuid": "GPU-1", "utilisation_percent": percent, "memory_used_bytes": told}
    path.write_text(json.dumps({"devices": [{**device, "memory_total_bytes": told}]}))
    return {"JUPYTER_DRA_SIMULATED_USAGE": str(path)}


@pytest.mark.threat("T34")
@pytest.mark.parametrize(
    ("lease", "percent", "code"),
    [
        ({"lease_seconds": 2}, None, "lease-over"),
        ({"idle_limit_seconds": 1}, 0, "idle"),
        ({"idle_limit_seconds": 1, "idle_by": "kernel"}, None, "idle"),
        ({"idle_limit_seconds": 1, "lease_seconds": 4}, None, "lease-over"),
        ({"idle_limit_seconds": 1, "lease_seconds": 4}, 60, "lease-over"),
    ],
    ids=["lease", "idle", "idle-by-the-kernel-alone", "device-use-not-known", "device-in-use"],
)
def test_the_pod_ends_by_itself_when_the_server_is_gone(
    pods: Pods, tmp_path: Path, lease: dict[str, float], percent: int | None, code: str
) -> None:
    pod = pods.start(lease=lease, env=figures(tmp_path, percent))
    assert pod.process.wait(20) == 0
    told = json.loads((pod.run / "termination-log").read_text())
    assert told["code"] == code
    assert f"ending: {code}" in pod.log()


def test_a_running_cell_is_never_ended_by_idling(
    pods: Pods, background: BackgroundLoop, tmp_path: Path
) -> None:
    pod = pods.start(env=figures(tmp_path, 0))
    control = connect(background, pod)
    with client_of(background, pod) as (client, _relay):
        client.execute("import time; print('in', flush=True); time.sleep(3.5); print('done')")
        while client.get_iopub_msg(timeout=20)["msg_type"] != "stream":
            continue
        background.call(control.lease(idle_seconds=1))
        assert client.get_shell_msg(timeout=30)["content"]["status"] == "ok"
    assert pod.process.wait(20) == 0
    assert json.loads((pod.run / "termination-log").read_text())["code"] == "idle"


def test_a_measured_cell_has_its_own_peak_and_device_time(
    pods: Pods, background: BackgroundLoop, tmp_path: Path
) -> None:
    pod = pods.start(env=figures(tmp_path, 50))
    with client_of(background, pod) as (client, _relay):
        run(client, "1")
        (pod.run / "measure").touch()
        run(client, "import time; time.sleep(1)")
        cell = eventually(lambda: _finished_cell(pod))
    assert cell["peak_bytes"] == 80 << 30
    assert cell["seconds"] >= 1
    assert 0.2 <= cell["device_seconds"] <= cell["seconds"]


def _finished_cell(pod: LocalPod) -> dict[str, Any] | None:
    usage = json.loads((pod.run / "session.json").read_text())["usage"] or {}
    cell: dict[str, Any] | None = usage.get("cell")
    return cell if cell and not cell["running"] and cell["seconds"] >= 1 else None


def test_sigterm_ends_everything_at_once(pods: Pods, background: BackgroundLoop) -> None:
    pod = pods.start()
    with client_of(background, pod) as (client, _relay):
        code = "import subprocess, os; p = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        pids = run(client, code + "print(os.getpid(), p.pid)").split()
    began = time.monotonic()
    pod.process.send_signal(signal.SIGTERM)
    assert pod.process.wait(10) == 143
    assert time.monotonic() - began < 2
    assert not any(alive(int(pid)) for pid in pids)


def test_kill_9_of_podside_leaves_no_kernel(pods: Pods, background: BackgroundLoop) -> None:
    pod = pods.start()
    with client_of(background, pod) as (client, _relay):
        pid = int(run(client, "import os; print(os.getpid())"))
    pod.process.kill()
    eventually(lambda: not alive(pid))


def test_zombies_of_the_kernel_are_reaped(pods: Pods, background: BackgroundLoop) -> None:
    pod = pods.start()
    with client_of(background, pod) as (client, _relay):
        # The shell ends at once; its background child becomes podside's, as it would become PID 1's.
        run(client, "import subprocess; subprocess.run(['sh', '-c', 'sleep 0.2 & echo $! > orphan'])")
        orphan = int(run(client, "print(open('orphan').read())"))
        eventually(lambda: not Path(f"/proc/{orphan}").exists())
        assert run(client, "print(1)") == "1\n"


def test_a_kernel_that_cannot_start_ends_the_pod_with_its_status(pods: Pods) -> None:
    pod = pods.start(argv=("python", "-c", "import sys; print('no ipykernel here'); sys.exit(3)"))
    assert pod.process.wait(20) == 3
    assert json.loads((pod.run / "termination-log").read_text())["code"] == "crashed"
    assert "no ipykernel here" in pod.log()
    missing = pods.start(argv=("no-such-program",))
    assert missing.process.wait(20) == 127


def test_a_clean_exit_with_nobody_there_gives_the_device_back(pods: Pods, background: BackgroundLoop) -> None:
    pod = pods.start(runtime=KernelPods(python=sys.executable, port=0, decision_seconds=2))
    with client_of(background, pod) as (client, _relay):
        client.execute("import os; os._exit(0)")
        eventually(lambda: "kernel ended" in pod.log())
    assert pod.process.wait(40) == 0
    assert json.loads((pod.run / "termination-log").read_text())["code"] == "exited"


@pytest.mark.threat("T12")
def test_keys_are_readable_by_the_owner_only_and_never_on_a_command_line(
    pods: Pods, background: BackgroundLoop
) -> None:
    mask = os.umask(0)
    try:
        pod = pods.start()
        with client_of(background, pod) as (client, relay):
            pid = int(run(client, "import os; print(os.getpid())"))
            folder = Path(relay.connection_info()["ip"]).parent
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.iterdir())
    finally:
        os.umask(mask)
    assert stat.S_IMODE(pod.run.stat().st_mode) == 0o700
    assert stat.S_IMODE((pod.run / "k").stat().st_mode) == 0o700
    for path in (path for path in pod.run.rglob("*") if path.is_file()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    key = json.loads(pod.materials.secret_data["podside.json"])["key"].encode()
    for process in (pid, pod.process.pid):
        assert key not in Path(f"/proc/{process}/cmdline").read_bytes()
        assert key not in Path(f"/proc/{process}/environ").read_bytes()


def test_load_ext_works_in_an_image_without_the_package(pods: Pods, background: BackgroundLoop) -> None:
    device = {
        "driver": "gpu.example.com",
        "pool": "n",
        "name": "gpu-0",
        "product": "Example GPU",
        "request": "gpu",
    }
    pod = pods.start(facts={"devices": [device]})
    with client_of(background, pod) as (client, _relay):
        run(client, f"import sys; sys.path[:] = [entry for entry in sys.path if entry != {ROOT!r}]")
        assert run(client, "print([p for p in sys.path if 'modules' in p])").count("modules") == 1
        assert run(
            client, "%load_ext jupyter_dra\nimport jupyter_dra; print(jupyter_dra.__file__)"
        ).startswith(str(pod.run / "modules"))
        assert "Example GPU" in run(client, "print(get_ipython().run_line_magic('dra', ''))")
        assert "needs jupyter_dra" in run(client, "%dra launch")
        # The first example asks like this, whatever the image holds.
        asked = "from jupyter_dra import held_devices\nprint([one['name'] for one in held_devices()])"
        assert run(client, asked) == "['gpu-0']\n"


def test_the_small_module_steps_aside_for_the_real_package(pods: Pods, background: BackgroundLoop) -> None:
    pod = pods.start()
    with client_of(background, pod) as (client, _relay):
        code = f"import sys; sys.path.append({ROOT!r}); import jupyter_dra; print(jupyter_dra.__file__)"
        assert run(client, code).startswith(os.path.join(ROOT, "jupyter_dra"))
        assert run(client, "from jupyter_dra.widgets.plain import visible; print(visible('a'))") == "a\n"


def test_an_older_python_runs_podside(pods: Pods, background: BackgroundLoop) -> None:
    python = next((p for p in _old_pythons() if _works(p)), None)
    if python is None:
        pytest.skip("no Python 3.8 or 3.9 on this machine")
    pod = pods.start(python=python, argv=("sleep", "60"))
    control = connect(background, pod)
    assert control.state["kernel"]["state"] == "starting"
    background.call(control.end())
    assert pod.process.wait(20) == 0


def _old_pythons() -> list[str]:
    found = [path for name in ("python3.8", "python3.9") if (path := shutil.which(name))]
    return found + [str(path) for path in sorted(Path.home().glob(".pyenv/versions/3.[89].*/bin/python3"))]


def _works(python: str) -> bool:
    return subprocess.run([python, "-c", "import ssl"], capture_output=True, check=False).returncode == 0


def test_a_lost_pod_fails_every_request_in_words(pods: Pods, background: BackgroundLoop) -> None:
    pod = pods.start(hold=True)
    control = connect(background, pod)
    pod.stop()
    assert events_of(background, control, "closed")["why"] in ("closed", "broken")
    with pytest.raises(ClusterError, match="lost"):
        background.call(control.start())


def test_messages_sent_while_the_kernel_starts_are_not_lost(pods: Pods, background: BackgroundLoop) -> None:
    pod = pods.start()
    control = connect(background, pod)
    with client_of(background, pod) as (client, _relay):
        run(client, "x = 1")
        background.call(control.kill())
        number = client.execute("print('kept')")
        background.call(control.start())
        while True:
            try:
                message = client.get_shell_msg(timeout=20)
            except queue.Empty:
                pytest.fail("the request was lost")
            if message["parent_header"].get("msg_id") == number:
                break
        assert message["content"]["status"] == "ok"
