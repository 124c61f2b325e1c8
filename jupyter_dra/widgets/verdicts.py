"""The verdicts of a plan in words, as the panel says them."""

from __future__ import annotations

VERDICTS = {
    "fits": "Fits now",
    "busy": "Taken now",
    "impossible": "Not possible here",
    "invalid": "The server would refuse this claim",
    "unknown": "Cannot be sure",
}
