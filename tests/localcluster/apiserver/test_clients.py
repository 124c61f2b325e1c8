"""The Python clients that users, KubeSpawner and we have: each does its daily work against the local cluster."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

# The blocking client leaves sockets of its pool open; that is not ours to mend.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

Maker = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def _collect_leftovers() -> Iterator[None]:
    """Let sockets that the clients forgot be found here and not in somebody else's test."""
    yield
    gc.collect()


def test_the_blocking_client_creates_patches_lists_watches_and_deletes(
    service: Any, namespace: str, pod: Maker
) -> None:
    from kubernetes import client, config, watch

    with config.new_client_from_config(str(service.kubeconfig)) as connection:
        core = client.CoreV1Api(connection)
        made = core.create_namespaced_pod(namespace, pod("p"))  # type: ignore[arg-type]  # takes dictionaries
        assert made.metadata is not None and made.metadata.uid
        core.patch_namespaced_pod("p", namespace, {"metadata": {"labels": {"a": "b"}}})
        listed = core.list_namespaced_pod(namespace, label_selector="a=b")
        assert [item.metadata and item.metadata.name for item in listed.items] == ["p"]
        core.patch_namespaced_pod("p", namespace, [{"op": "remove", "path": "/metadata/labels/a"}])
        seen = []
        stream = watch.Watch().stream(
            core.list_namespaced_pod, namespace, resource_version="0", timeout_seconds=5
        )
        for event in stream:
            seen.append((event["type"], event["object"].metadata.name))
            if event["type"] == "DELETED":
                break
            if event["type"] == "ADDED":
                core.delete_namespaced_pod("p", namespace, grace_period_seconds=0)
        # Between the two a scheduler may say that there is no node.
        assert (seen[0], seen[-1]) == (("ADDED", "p"), ("DELETED", "p"))
        secret = core.create_namespaced_secret(
            namespace, client.V1Secret(metadata=client.V1ObjectMeta(name="s"), string_data={"a": "b"})
        )
        assert secret.data == {"a": "Yg=="}
        deleted = core.delete_namespaced_secret("s", namespace)
        assert isinstance(deleted, dict) and deleted["status"] == "Success"
        claims = client.ResourceV1Api(connection)
        assert claims.list_device_class().items == []
        with pytest.raises(client.ApiException) as caught:
            core.read_namespaced_pod("none", namespace)
        assert caught.value.status == 404


def test_the_dynamic_client_finds_claims_by_discovery(service: Any, namespace: str, claim: Maker) -> None:
    from kubernetes import config, dynamic

    with config.new_client_from_config(str(service.kubeconfig)) as connection:
        kinds = dynamic.DynamicClient(connection).resources
        claims = kinds.get(api_version="resource.k8s.io/v1", kind="ResourceClaim")
        assert claims.create(namespace=namespace, body=claim("c")).metadata.name == "c"
        assert claims.get(namespace=namespace, name="c").spec.devices.requests[0].name == "gpu"
        assert claims.delete(namespace=namespace, name="c")


def test_the_asynchronous_client_of_the_product_works(service: Any, namespace: str, claim: Maker) -> None:
    from kubernetes.aio import client, config

    async def run() -> None:
        await config.load_kube_config(config_file=str(service.kubeconfig))
        async with client.ApiClient() as connection:
            claims = client.ResourceV1Api(connection)
            await claims.create_namespaced_resource_claim(
                namespace,
                claim("c"),  # type: ignore[arg-type]  # takes dictionaries
            )
            listed = await claims.list_namespaced_resource_claim(namespace)
            assert [item.metadata and item.metadata.name for item in listed.items] == ["c"]
            await claims.delete_namespaced_resource_claim("c", namespace)

    asyncio.run(run())


def test_the_client_of_kubespawner_creates_and_deletes_as_it_does(
    service: Any, namespace: str, pod: Maker
) -> None:
    from kubernetes_asyncio import client, config

    async def run() -> None:
        await config.load_kube_config(config_file=str(service.kubeconfig))
        async with client.ApiClient() as connection:
            core = client.CoreV1Api(connection)
            manifest = pod("p", nodeName="n")
            await core.create_namespaced_pod(namespace, manifest)  # type: ignore[arg-type]  # takes dictionaries
            options = client.V1DeleteOptions(grace_period_seconds=1)
            deleted = await core.delete_namespaced_pod("p", namespace, body=options, grace_period_seconds=1)
            assert deleted.metadata.deletion_timestamp is not None
            await core.delete_namespaced_pod("p", namespace, grace_period_seconds=0)
            with pytest.raises(client.ApiException) as caught:
                await core.read_namespaced_pod("p", namespace)
            assert caught.value.status == 404
            account = client.V1ServiceAccount(metadata=client.V1ObjectMeta(name="robot"))
            await core.create_namespaced_service_account(namespace, account)
            await core.delete_namespaced_service_account("robot", namespace)

    asyncio.run(run())


def test_the_reflector_of_kubespawner_follows_pods_through_trouble(
    service: Any, namespace: str, pod: Maker
) -> None:
    from kubernetes_asyncio import config
    from kubespawner.clients import shared_client
    from kubespawner.spawner import PodReflector

    pods = f"/api/v1/namespaces/{namespace}/pods"

    def body(name: str) -> dict[str, Any]:
        made = pod(name)
        made["metadata"]["labels"] = {"component": "singleuser-server"}
        return made

    async def reflected(reflector: Any) -> AsyncIterator[set[str]]:
        while True:
            yield {name.rpartition("/")[2] for name in reflector.pods}
            await asyncio.sleep(0.02)

    async def until(reflector: Any, wanted: set[str]) -> None:
        async with asyncio.timeout(20):
            async for names in reflected(reflector):
                if names == wanted:
                    return

    async def run() -> None:
        await config.load_kube_config(config_file=str(service.kubeconfig))
        api = service.admin
        await asyncio.to_thread(api.post, pods, body("before"))
        reflector = PodReflector(namespace=namespace, on_failure=lambda: None)
        await reflector.start()
        try:
            await until(reflector, {"before"})
            await asyncio.to_thread(api.post, pods, body("after"))
            await until(reflector, {"before", "after"})
            await asyncio.to_thread(api.delete, f"{pods}/before")
            await until(reflector, {"after"})
            await asyncio.to_thread(
                api.post, "/jupyter-dra/faults", {"expire_history": True, "drop_watches": True}
            )
            await asyncio.to_thread(api.post, pods, body("later"))
            await until(reflector, {"after", "later"})
        finally:
            await reflector.stop()
            await shared_client("CoreV1Api").api_client.close()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

    asyncio.run(run())
