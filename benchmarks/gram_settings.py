"""What a setting of the search of `gram` does to epsilon and to the time, on a few plans.

    python benchmarks/gram_settings.py                          the usual variations
    python benchmarks/gram_settings.py tilts=(1.0,) sum_step=0.7     others, each on its own

Names are fields of `GramSettings` or of its `LatticeSettings`. Every line compares with the
settings as they are: a ratio of epsilon above 1 is a looser bound, a ratio of the CPU time below 1
is saved time.
"""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np

import hockeystick as hs
from hockeystick.analyses.gram import GramBound
from hockeystick.analyses.gram.law import LatticeSettings
from hockeystick.analyses.gram.search import SETTINGS, GramSettings

BUDGET, DELTA, ACCURACY = 3e6, 1e-5, 1e-3
# Bins and noise of narrow and wide bands, on a line and on a ring, at low and at high noise.
PLANS = {
    "bsr 4, 100 x 10, low": (hs.strategies.bsr(1_000, 4), 100, 1.5),
    "bsr 4, 100 x 10, high": (hs.strategies.bsr(1_000, 4), 100, 6.0),
    "bsr 64, 100 x 10": (hs.strategies.bsr(1_000, 64), 100, 8.0),
    "band_mf 16, 100 x 1": (hs.strategies.band_mf(100, 16), 100, 1.5),
    "bsr 2, 20 x 1": (hs.strategies.bsr(20, 2), 20, 1.0),
    "bisr 4, 1,000 x 2": (hs.strategies.bisr(2_000, 4), 1_000, 2.0),
}
VARIATIONS = (
    "tilts=(0.5,)",
    "spacings=()",
    "usual_group=64",
    "usual_group=256",
    "left_out=()",
    "left_out=(1.0,)",
    "coarse_work=0.03",
    "medium_work=0.4",
    "finest_work=3.0",
    "finalists=1",
    "epsilon_rate=0.06",
    "coarse=0.7",
    "aliasing=1e-6",
    "sampling_share=1e9",
    "state_step=0.6",
    "sum_step=0.9",
    "own_step=0.5",
    "slowness=1e9",
    "product_cost=0.1",
    "grid_steps=20.0",
    "copy_step=0.04",
)


def varied(text: str) -> GramSettings:
    """The settings with one field replaced, of the search or of the lattices."""
    name, value = text.split("=", 1)
    change = {name: ast.literal_eval(value)}
    if name in {field.name for field in fields(LatticeSettings)}:
        return replace(SETTINGS, lattices=replace(SETTINGS.lattices, **change))
    return replace(SETTINGS, **change)


def measured(settings: GramSettings) -> Iterator[tuple[float, float]]:
    """Epsilon and CPU seconds for every plan."""
    for strategy, bins, noise in PLANS.values():
        kernel = strategy.gram(spacing=bins) / noise**2
        start = time.process_time()
        bound = GramBound(kernel, BUDGET, settings)
        found = bound.epsilon(DELTA, directions=("remove", "add"), accuracy=ACCURACY)
        yield found.value, time.process_time() - start


def main(variations: list[str]) -> None:
    """One line for each variation: ratios of epsilon and of time, plan by plan."""
    list(measured(SETTINGS))  # compiles the kernels
    usual = np.array(list(measured(SETTINGS)))
    print("   ".join(PLANS))
    print("   ".join(f"{epsilon:.4f} in {seconds:.2f} s" for epsilon, seconds in usual))
    for text in variations:
        ratios = np.array(list(measured(varied(text)))) / usual
        line = "   ".join(f"{epsilon:.4f} {seconds:4.2f}" for epsilon, seconds in ratios)
        print(f"{text:36} {line}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(VARIATIONS))
