"""The CIFAR setting of the b-min-sep paper at delta = 1e-8, where the paper has no numbers.

The rows of `b_min_sep_cifar_table` with proven noise, and b-min-sep and balls-in-bins with verified
noise; strategies for which tuples of replicas find no noise are left out, because nothing else can
verify there. "Optimistic" is an estimate, and no guarantee. Takes some minutes.

Usage: python reproductions/b_min_sep_small_delta_table.py [--small] [--output DIR]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence

import hockeystick as hs
from b_min_sep_cifar_table import (
    BANDS,
    EPSILONS,
    SEED,
    STEPS,
    b_min_sep,
    balls_in_bins,
    cyclic_poisson,
)
from b_min_sep_search import KINDS, Choice, Target, best_proven, verified
from b_min_sep_tables import Entry, Table
from curves import run
from hockeystick.montecarlo.noise_estimate import quick_estimate
from hockeystick.strategies import Strategy

DELTA, DRAWS = 1e-8, 20_000
SCHEMES: dict[str, Callable[[Strategy], hs.Plan]] = {
    "balls-in-bins": balls_in_bins,
    "b-min-sep": b_min_sep,
}


def estimates(target: Target, bands: Sequence[int]) -> Iterator[Choice]:
    """For every strategy for which tuples of replicas find a noise."""
    for kind, make in KINDS.items():
        per_column = None
        for number in bands:
            begin = time.perf_counter()
            strategy = make(target.steps, number)
            longest = float(strategy.column_norms.max())
            noise = quick_estimate(
                target.plan(strategy),
                epsilon=target.epsilon,
                delta=target.delta,
                start=None if per_column is None else per_column * longest,
                draws=DRAWS,
                seed=SEED,
            )
            if noise is None:
                continue
            per_column = noise / longest
            error = noise**2 * strategy.mean_squared_error()
            seconds = round(time.perf_counter() - begin, 1)
            yield Choice(kind, number, noise, error, seconds, seed=SEED, draws=DRAWS)


def sampled_entries(row: str, epsilon: float, bands: Sequence[int]) -> Iterator[Entry]:
    """The verified number and the optimistic one."""
    target = Target(epsilon, DELTA, SCHEMES[row], STEPS)
    found = list(estimates(target, bands))
    if not found:
        return
    best = min(found, key=lambda choice: choice.mse)
    yield Entry(row, epsilon, None, verified(target, best, draws=None, seed=SEED))
    yield Entry(f"{row}, optimistic", epsilon, None, best)


def table(small: bool) -> Table:
    """All rows; one epsilon and few bands if small."""
    epsilons, bands = ((8.0,), (2, 4)) if small else (EPSILONS, BANDS)
    entries: list[Entry] = []
    for epsilon in epsilons:
        target = Target(epsilon, DELTA, cyclic_poisson, STEPS)
        entries.append(Entry("DP-SGD", epsilon, None, best_proven(target, (1,))))
        entries.append(Entry("cyclic Poisson", epsilon, None, best_proven(target, (1, *bands))))
        for row in ("b-min-sep",) if small else tuple(SCHEMES):
            entries += sampled_entries(row, epsilon, bands)
    rows = ["DP-SGD", "cyclic Poisson"]
    rows += [name for row in SCHEMES for name in (row, f"{row}, optimistic")]
    return Table(
        "b_min_sep_small_delta_table",
        "MSE in the CIFAR setting at δ = 1e-8",
        {"steps": STEPS, "delta": DELTA},
        sorted(entries, key=lambda entry: (rows.index(entry.row), entry.epsilon)),
        "cyclic Poisson",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line."""
    return run(table, __doc__ or "", arguments)


if __name__ == "__main__":
    sys.exit(main())
