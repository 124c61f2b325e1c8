"""Pure planning: would it fit, where, how sure is that, why not, and what small change would help."""

from jupyter_dra.planner.inventory import Inventory
from jupyter_dra.planner.picture import DevicePicture, PictureRow
from jupyter_dra.planner.plans import Detail, Plan, PlanOptions, plan
from jupyter_dra.planner.visibility import Visibility
from jupyter_dra.planner.wish import Wanted

__all__ = [
    "Detail",
    "DevicePicture",
    "Inventory",
    "PictureRow",
    "Plan",
    "PlanOptions",
    "Visibility",
    "Wanted",
    "plan",
]
