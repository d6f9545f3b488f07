"""Figures 2 and 4 of the b-min-sep paper: MSE in the CIFAR setting, verified and optimistic.

50,000 examples, batches of 500, 2,000 steps, delta 1e-5, and once more at delta 1e-8, which is not
in the paper. DP-SGD is Poisson sampling with
independent noise; cyclic Poisson has as many groups as the optimised Toeplitz strategy has bands,
the best of 1, 2, 4, ..., 64, and so has b-min-sep sampling as its separation, with a warm start.
Balls-in-bins has 100 bins. The latter two take the best of `band_mf` and `bsr`; "optimistic" is
what exact accounting would give, by estimates, and no guarantee. Draws are of tuples of replicas.
Takes some tens of minutes of one core.

Usage: python reproductions/b_min_sep_cifar_table.py [--small] [--output DIR]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

import hockeystick as hs
from b_min_sep_search import Choice, Target, best_estimate, best_proven, estimated, verified
from b_min_sep_tables import Entry, Table
from curves import run
from hockeystick.strategies import Strategy

STEPS, EXAMPLES, BATCH_SIZE, BINS = 2_000, 50_000, 500, 100
# Of the paper, and of large data sets.
DELTA, SMALL_DELTA = 1e-5, 1e-8
BANDS = (2, 4, 8, 16, 32, 64)
SEED = 6
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
# As printed in the paper, by row and epsilon.
PRINTED = {
    "DP-SGD": (10625.72, 3397.66, 1321.63, 676.88, 414.09),
    "cyclic Poisson": (10456.94, 3113.98, 983.42, 337.71, 126.57),
    "balls-in-bins": (11541.26, 3391.55, 987.52, 308.25, 101.14),
    "balls-in-bins, optimistic": (10658.16, 3132.04, 930.29, 290.38, 95.27),
    "b-min-sep": (11377.86, 3213.94, 952.94, 285.66, 90.07),
    "b-min-sep, optimistic": (10300.22, 2968.02, 880.02, 272.00, 84.85),
}
# Where the search for the best number of bands begins.
FIRST = {
    "balls-in-bins": dict(zip(EPSILONS, (16, 32, 64, 100, 100), strict=True)),
    "b-min-sep": dict(zip(EPSILONS, (8, 16, 32, 64, 64), strict=True)),
}


def printed(row: str, epsilon: float, delta: float = DELTA) -> float | None:
    """The paper's number."""
    return PRINTED[row][EPSILONS.index(epsilon)] if delta == DELTA else None


def cyclic_poisson(strategy: Strategy) -> hs.Plan:
    """As many groups as bands."""
    sampling = hs.CyclicPoisson.for_batch_size(BATCH_SIZE, examples=EXAMPLES, groups=strategy.bands)
    return hs.Plan(sampling=sampling, steps=STEPS, strategy=strategy)


def balls_in_bins(strategy: Strategy) -> hs.Plan:
    """An epoch of 100 steps, whatever the strategy is."""
    return hs.Plan(sampling=hs.BallsInBins(bins=BINS), steps=STEPS, strategy=strategy)


def b_min_sep(strategy: Strategy) -> hs.Plan:
    """The separation is the number of bands."""
    sampling = hs.MinSep.for_batch_size(BATCH_SIZE, examples=EXAMPLES, separation=strategy.bands)
    return hs.Plan(sampling=sampling, steps=STEPS, strategy=strategy)


MONTE_CARLO: dict[str, tuple[Callable[[Strategy], hs.Plan], tuple[int, ...]]] = {
    "balls-in-bins": (balls_in_bins, (*BANDS, BINS)),
    "b-min-sep": (b_min_sep, BANDS),
}


def target(plan: Callable[[Strategy], hs.Plan], epsilon: float, delta: float = DELTA) -> Target:
    """In the setting of the table."""
    return Target(epsilon, delta, plan, STEPS)


def entry(row: str, aim: Target, choice: Choice) -> Entry:
    """Beside the paper's number."""
    about = printed(row, aim.epsilon, aim.delta)
    return Entry(row, aim.epsilon, about, choice, aim.delta)


def proven_entries(epsilon: float, bands: Sequence[int], delta: float = DELTA) -> list[Entry]:
    """DP-SGD, which is a single group and band, and cyclic Poisson."""
    aim = target(cyclic_poisson, epsilon, delta)
    found = {"DP-SGD": best_proven(aim, (1,)), "cyclic Poisson": best_proven(aim, bands)}
    return [entry(row, aim, one) for row, one in found.items()]


def sampled_entries(row: str, epsilon: float, delta: float = DELTA) -> list[Entry]:
    """The optimistic number, of the best strategy by estimates, and the verified one."""
    plan, bands = MONTE_CARLO[row]
    aim, first = target(plan, epsilon, delta), FIRST[row][epsilon]
    guess = PRINTED[f"{row}, optimistic"][EPSILONS.index(epsilon)]
    # The square of what a Gaussian mechanism needs more at a smaller delta, about.
    guess *= math.log(1 / delta) / math.log(1 / DELTA)
    optimistic = best_estimate(aim, bands, first=first, guess=guess, seed=SEED)
    proved = verified(aim, optimistic, draws=None, seed=SEED)
    return [entry(row, aim, proved), entry(f"{row}, optimistic", aim, optimistic)]


def small_entries() -> list[Entry]:
    """One epsilon, and for balls-in-bins the estimate for one strategy."""
    row, epsilon = "balls-in-bins, optimistic", 2.0
    one = estimated(target(balls_in_bins, epsilon), "bsr", 64, guess=920.0, seed=SEED)
    return [*proven_entries(epsilon, (1, 8)), entry(row, target(balls_in_bins, epsilon), one)]


def table(small: bool) -> Table:
    """All rows, in the order of the paper."""
    if small:
        entries = small_entries()
    else:
        entries = [
            one
            for delta in (DELTA, SMALL_DELTA)
            for epsilon in EPSILONS
            for found in (
                proven_entries(epsilon, (1, *BANDS), delta),
                *(sampled_entries(row, epsilon, delta) for row in MONTE_CARLO),
            )
            for one in found
        ]
    return as_table(entries)


def as_table(entries: list[Entry]) -> Table:
    """Sorted by delta, by row, in the order of the paper, and by epsilon."""
    rows = list(PRINTED)
    return Table(
        "b_min_sep_cifar_table",
        "MSE in the CIFAR setting: 2,000 steps, batches of 500 of 50,000",
        {"steps": STEPS, "examples": EXAMPLES, "batch_size": BATCH_SIZE},
        sorted(entries, key=lambda one: (-(one.delta or 0), rows.index(one.row), one.epsilon)),
        "cyclic Poisson",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line."""
    return run(table, __doc__ or "", arguments)


if __name__ == "__main__":
    sys.exit(main())
