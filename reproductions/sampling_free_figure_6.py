"""Figure 6 of the sampling-free paper: the bound on the posterior by family of weights.

Jensen's inequality holds with any weights on the bins. Tried are uniform ones (the paper's option
1), those close to the current bin (option 3) and those close to the mean of the observation (option
2, here with a choice for every bin that the observation may come from). The rest is as in Figure 4,
with the library's division of a bad event of 1e-5 and 50 bins (the bins are our own choice).

Usage: python reproductions/sampling_free_figure_6.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from curves import Drawing, Panels, run
from hockeystick import strategies
from hockeystick._numerics.law import FloatArray
from hockeystick.analyses.conditional.bound import ConditionalBound
from hockeystick.analyses.conditional.odds import FAMILIES, Weights
from sampling_free_figure_4 import EPOCHS, library_shares, posterior_curve, posterior_drawing

BAD_EVENT = 1e-5
UNIFORM, ALL = "uniform (option 1)", "all three"
CHOICES: dict[str, tuple[tuple[str, ...], bool]] = {
    UNIFORM: (("uniform",), False),
    "uniform and current (options 1 and 3)": (("uniform", "current"), False),
    "uniform and reference (options 1 and 2)": (("uniform", "reference"), True),
    ALL: (FAMILIES, True),
}


def draw(small: bool) -> Panels:
    """The panels; in small mode 10 bins and one noise."""
    bins = 10 if small else 50
    made = {"BSR(4)": strategies.bsr, "BISR(4)": strategies.bisr}
    panels = [
        panel(name, make(EPOCHS * bins, 4).summed_columns(spacing=bins) / noise, noise)
        for name, make in made.items()
        for noise in ([2.0] if small else [2.0, 5.0])
    ]
    title = "Bound on the largest posterior probability of a bin, by family of weights"
    return Panels("sampling_free_figure_6", title, panels, columns=2)


def panel(name: str, levels: FloatArray, noise: float) -> Drawing:
    """All choices of families for one strategy and noise."""
    bins, curves = levels.shape[1], []
    for label, (families, by_bin) in CHOICES.items():
        began = time.perf_counter()
        shares = library_shares(
            ConditionalBound(lambda: levels, weights=Weights(families), by_bin=by_bin), BAD_EVENT
        )
        curves.append(posterior_curve(label, shares, bins, time.perf_counter() - began))
    return posterior_drawing(name, bins, noise, curves, BAD_EVENT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; with --output also write picture and numbers."""
    return run(draw, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
