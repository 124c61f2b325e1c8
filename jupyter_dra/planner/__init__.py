"""Pure planning: would it fit, where, how sure is that, why not, and what small change would help."""

from jupyter_dra.planner.inventory import Inventory
from jupyter_dra.planner.plans import Plan, plan
from jupyter_dra.planner.visibility import Visibility

__all__ = ["Inventory", "Plan", "Visibility", "plan"]
