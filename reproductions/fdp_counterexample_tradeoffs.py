"""Figure 1 of the f-DP filter paper: trade-off functions of Example 3.3, with corrected branches.

Above, the products of the later steps cross: neither is the more private one. Below, the budget
that allows both of them, and the adaptive composition, which falls under it. On the left the remove
direction, on the right both. With the branches as printed the composition stays above the budget.

Usage: python reproductions/fdp_counterexample_tradeoffs.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from curves import Drawing, Panels, run
from fdp_example_curves import (
    ADAPTED,
    AS_PRINTED,
    BUDGET,
    drawn,
    errors,
    example_curves,
    lines,
    paper_tradeoff,
)
from hockeystick.fdp import PrivacyCurve

__all__ = ["draw", "main"]


def draw(small: bool) -> Panels:
    """Four panels; in small mode few points on coarse polygons."""
    count = 21 if small else 201
    futures, composed = example_curves(small)
    shown = {label: composed[label] for label in (BUDGET, ADAPTED, AS_PRINTED)}
    panels = [
        _panel("(a) Steps 2 and 3, remove", futures, count, symmetric=False),
        _panel("(b) Steps 2 and 3, both directions", futures, count, symmetric=True),
        _panel("(c) All steps, remove", shown, count, symmetric=False),
        _panel("(d) All steps, both directions", shown, count, symmetric=True),
    ]
    title = "Trade-off functions of the counterexample to the natural f-DP filter"
    name = "fdp_counterexample_tradeoffs"
    return Panels(name, title, panels, columns=2, legends=True)


def _panel(
    title: str, polygons: dict[str, PrivacyCurve], count: int, *, symmetric: bool
) -> Drawing:
    """False negative against false positive rates."""
    functions = {label: paper_tradeoff(polygon) for label, polygon in polygons.items()}
    if symmetric:
        functions = {label: function.symmetrize() for label, function in functions.items()}
    axes = ("false positive rate", "false negative rate")
    return drawn(title, axes, lines({**functions}, errors(count)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
