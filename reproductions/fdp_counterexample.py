"""Figures 3, 4 and 5 of the f-DP filter paper: privacy profiles of Example 3.3, and its branches.

With the branches exchanged the adaptive composition exceeds the budget around the calibration
point, and at the calibration point no rule exceeds it by more. With the branches as printed it
stays within the budget at every order: the panels on the right show all differences.

Usage: python reproductions/fdp_counterexample.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from curves import Drawing, Panels, run
from fdp_example_3_3 import calibration_point
from fdp_example_curves import BUDGET, drawn, example_curves, lines, orders
from hockeystick.fdp import PrivacyCurve

__all__ = ["draw", "main"]


def draw(small: bool) -> Panels:
    """A row for each adjacency; in small mode few points on coarse polygons."""
    x = orders(17 if small else 161)
    futures, composed = example_curves(small)
    panels = [
        _panel("Figure 3: steps 2 and 3, remove", futures, x),
        _panel("Figures 4 and 5: all steps, remove", composed, x),
        _excess("Above the budget, remove", composed, x),
        _panel("Steps 2 and 3, both directions", _both(futures), x),
        _panel("Figures 4 and 5: both directions", _both(composed), x),
        _excess("Above the budget, both directions", _both(composed), x),
    ]
    title = "Privacy profiles of the counterexample to the natural f-DP filter"
    return Panels("fdp_counterexample", title, panels, columns=3, legends=True)


def _both(polygons: dict[str, PrivacyCurve]) -> dict[str, PrivacyCurve]:
    """The symmetrised curves."""
    return {label: one.tradeoff().symmetrize().curve() for label, one in polygons.items()}


def _panel(title: str, polygons: dict[str, PrivacyCurve], x: Sequence[float]) -> Drawing:
    """H against the order; the dotted line is the calibration point."""
    return drawn(title, ("γ", "H(γ)"), lines({**polygons}, x), vertical=calibration_point())


def _excess(title: str, composed: dict[str, PrivacyCurve], x: Sequence[float]) -> Drawing:
    """H minus the budget: positive where the filter is refuted."""
    budget = composed[BUDGET]

    def above(polygon: PrivacyCurve) -> Callable[[Any], Any]:
        return lambda gamma: polygon(gamma) - budget(gamma)

    curves = lines({label: above(polygon) for label, polygon in composed.items()}, x)
    return drawn(title, ("γ", "H(γ) − budget"), curves, vertical=calibration_point())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
