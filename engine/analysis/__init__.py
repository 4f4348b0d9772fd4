"""What can be known of a tree without running it: what runs can cost, and walks that take every step."""

from engine.analysis.budgets import ASSUMED, Bound, Bounds, Range, bounds
from engine.analysis.covering import Cover, Left, Taken, Walk, cover
from engine.analysis.steps import Step

__all__ = ["ASSUMED", "Bound", "Bounds", "Cover", "Left", "Range", "Step", "Taken", "Walk", "bounds", "cover"]
