"""Table "MSE, CIFAR setting" of the b-min-sep paper: the rows that need no Monte Carlo.

50,000 examples, batches of 500, 2,000 steps, delta 1e-5. MSE is noise_multiplier^2 times the mean
squared error of the strategy. DP-SGD is Poisson sampling with independent noise; cyclic Poisson has
as many groups as the optimised Toeplitz strategy has bands, the best of 1, 2, 4, ..., 64.

Usage: python reproductions/b_min_sep_cifar_table.py [--small] [--output DIR]
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import hockeystick as hs

STEPS, EXAMPLES, BATCH_SIZE, DELTA = 2_000, 50_000, 500, 1e-5
BANDS = (1, 2, 4, 8, 16, 32, 64)
# As printed in the paper, by epsilon.
DP_SGD = {0.5: 10625.72, 1.0: 3397.66, 2.0: 1321.63, 4.0: 676.88, 8.0: 414.09}
CYCLIC_POISSON = {0.5: 10456.94, 1.0: 3113.98, 2.0: 983.42, 4.0: 337.71, 8.0: 126.57}


@dataclass(frozen=True)
class Entry:
    """One number of the table, as printed and as computed; `bands` is the best number of bands."""

    row: str
    epsilon: float
    printed: float
    computed: float
    bands: int

    @property
    def difference(self) -> float:
        """Relative to the printed number."""
        return self.computed / self.printed - 1


def error(epsilon: float, bands: int) -> float:
    """MSE of cyclic Poisson with a banded strategy; one band is DP-SGD."""
    strategy = hs.strategies.band_mf(STEPS, bands)
    sampling = hs.CyclicPoisson.for_batch_size(BATCH_SIZE, examples=EXAMPLES, groups=bands)
    plan = hs.Plan(sampling=sampling, steps=STEPS, strategy=strategy)
    found = hs.calibrate(plan, epsilon=epsilon, delta=DELTA)
    return found.noise_multiplier**2 * strategy.mean_squared_error()


def entries(epsilons: Sequence[float], bands: Sequence[int]) -> list[Entry]:
    """Both rows at each epsilon."""
    found = []
    for epsilon in epsilons:
        errors = {number: error(epsilon, number) for number in bands}
        best = min(errors, key=errors.__getitem__)
        found.append(Entry("DP-SGD", epsilon, DP_SGD[epsilon], errors[1], 1))
        printed = CYCLIC_POISSON[epsilon]
        found.append(Entry("cyclic Poisson", epsilon, printed, errors[best], best))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; with --output also write it as CSV."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--small", action="store_true", help="epsilon 2 and three bands only")
    parser.add_argument("--output", type=Path, metavar="DIR", help="where to write the table")
    options = parser.parse_args(arguments)
    epsilons, bands = ((2.0,), (1, 4, 8)) if options.small else (tuple(DP_SGD), BANDS)
    found = entries(epsilons, bands)
    print(f"{'row':<16}{'epsilon':>8}{'printed':>12}{'computed':>12}{'difference':>12}{'bands':>7}")
    for entry in found:
        print(
            f"{entry.row:<16}{entry.epsilon:>8g}{entry.printed:>12.2f}{entry.computed:>12.2f}"
            f"{entry.difference:>12.2%}{entry.bands:>7}"
        )
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        with (options.output / "b_min_sep_cifar_table.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, [field.name for field in fields(Entry)])
            writer.writeheader()
            writer.writerows(asdict(entry) for entry in found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
