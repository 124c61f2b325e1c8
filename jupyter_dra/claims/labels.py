"""Labels and annotations on the objects we make, and the annotations an admin may set on a DeviceClass."""

from __future__ import annotations

PREFIX = "jupyter-dra.dev/"

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGED_BY_VALUE = "jupyter-dra"
COMPONENT = "app.kubernetes.io/component"
COMPONENT_KERNEL = "kernel"

SESSION = PREFIX + "session"
USER = PREFIX + "user"
SERVER = PREFIX + "server"
KERNEL_ID = PREFIX + "kernel-id"

REQUIREMENT = PREFIX + "requirement"
NAME = PREFIX + "name"
CREATED = PREFIX + "created"
"""On everything of a session: the epoch at which it was begun."""
NOTEBOOK = PREFIX + "notebook"
REPLACES = PREFIX + "replaces"
"""On a kernel pod: the pod whose kernel it takes over."""
LEASE_ENDS = PREFIX + "lease-ends"
"""On a claim of ours: when it is expected back, for those who wait."""
STOPPED_BY = PREFIX + "stopped-by"
"""On a pod that an administrator stops: JSON ``{"by", "because"}``, for its owner to read."""
SEAL = PREFIX + "seal"

DISPLAY_NAME = PREFIX + "display-name"
DESCRIPTION = PREFIX + "description"
PRICE_PER_HOUR = PREFIX + "price-per-hour"
HIDDEN = PREFIX + "hidden"
DEFAULTS = PREFIX + "defaults"
LIMITS = PREFIX + "limits"
GROUPS = PREFIX + "groups"
SCALES_FROM_ZERO = PREFIX + "scales-from-zero"

TIER_ANNOTATIONS = (
    DISPLAY_NAME,
    DESCRIPTION,
    PRICE_PER_HOUR,
    HIDDEN,
    DEFAULTS,
    LIMITS,
    GROUPS,
    SCALES_FROM_ZERO,
)
