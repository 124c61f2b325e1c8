"""A JupyterHub whose servers get the device their user chooses.

For a cluster: ``jupyter dra rbac hub --namespace jupyterhub | kubectl apply -f -`` first.
"""

from jupyter_dra.hub import check_profiles

c = get_config()  # noqa: F821

c.JupyterHub.spawner_class = "dra"
c.JupyterHub.allow_named_servers = True
# A server that waits for a device counts as one that starts: let a whole class wait.
c.JupyterHub.concurrent_spawn_limit = 300

# What the form offers. Leave `tiers` out to offer every DeviceClass that is not hidden.
c.DRASpawner.tiers = [
    {
        "name": "small",
        "device_class": "small-gpu",
        "display_name": "Small GPU",
        "description": "Notebooks, inference of small models",
        "counts": [1],
        # Choices remembered under this name go on to work.
        "former": ["gpu-old"],
    },
    {
        "name": "large",
        "device_class": "high-memory-gpu",
        "display_name": "High-memory GPU",
        "counts": [1, 2],
    },
    {
        "name": "near-network",
        "display_name": "GPU beside a fast network card",
        "device_class": "high-memory-gpu",
        "requirement": {"near": [{"tier": "rdma-nic"}], "align": "numaNode", "count": 1},
        "groups": ["research"],
    },
]
# A limit that holds whatever people start; groups may have more. A ResourceQuota behind it is a good idea.
c.DRASpawner.max_devices = 2
c.DRASpawner.group_max_devices = {"research": 4}
# Waiting for a device is not failing; only what comes after counts as slow.
c.DRASpawner.wait_timeout = 2 * 3600
c.DRASpawner.launch_timeout = 600

# KubeSpawner's own settings go on to hold; limits stay beside the claim.
c.KubeSpawner.image = "quay.io/jupyter/pytorch-notebook:cuda12-latest"
c.KubeSpawner.cpu_limit = 4
c.KubeSpawner.cpu_guarantee = 0.5
c.KubeSpawner.mem_limit = "16G"
c.KubeSpawner.mem_guarantee = "1G"

# Profiles may carry devices too, under `dra`; two choices put two claims side by side. A list that contradicts
# itself stops the hub here.
profiles: list[dict] = []
check_profiles(profiles)
c.KubeSpawner.profile_list = profiles
