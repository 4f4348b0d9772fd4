"""What can be known of a tree without running it: what runs cost, walks that take every step, differences."""

from engine.analysis.budgets import ASSUMED, Bound, Bounds, Range, bounds
from engine.analysis.comparing import BranchChange, Difference, FieldChange, NodeChange, compare
from engine.analysis.covering import Cover, Left, Taken, Walk, cover
from engine.analysis.steps import Step

__all__ = [
    "ASSUMED",
    "Bound",
    "Bounds",
    "BranchChange",
    "Cover",
    "Difference",
    "FieldChange",
    "Left",
    "NodeChange",
    "Range",
    "Step",
    "Taken",
    "Walk",
    "bounds",
    "compare",
    "cover",
]
