"""A JupyterHub whose servers get the device their user chooses.

For a cluster: ``jupyter dra rbac hub --namespace jupyterhub | kubectl apply -f -`` first.
"""

c = get_config()  # noqa: F821

c.JupyterHub.spawner_class = "dra"

# What the form offers. Leave `tiers` out to offer every visible DeviceClass.
c.DRASpawner.tiers = [
    {
        "name": "small",
        "device_class": "small-gpu",
        "display_name": "Small GPU",
        "description": "Notebooks, inference of small models",
        "counts": [1],
        "former": ["gpu-old"],
    },
    {
        "name": "large",
        "device_class": "high-memory-gpu",
        "display_name": "High-memory GPU",
        "counts": [1, 2],
    },
]
c.DRASpawner.max_devices = 2
c.DRASpawner.wait_timeout = 2 * 3600

# KubeSpawner's own settings go on to hold; limits stay beside the claim.
c.KubeSpawner.cpu_limit = 4
c.KubeSpawner.cpu_guarantee = 1
c.KubeSpawner.mem_limit = "16G"
