"""Random non-negative matrices: every law that a search computes, beside quadrature and draws.

A case is a matrix, a candidate that the search has computed (any cut, tilt and fineness), a
direction and an epsilon.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from hockeystick._numerics.law import Side
from hockeystick.analyses.gram.law.reading import LawReading
from hockeystick.analyses.gram.search.candidates import Majorants
from hockeystick.analyses.gram.search.evaluation import GramQuery, LawCache
from hockeystick.analyses.gram.search.lower import LowerSearch
from hockeystick.analyses.gram.search.upper import MajorantChoice, UpperSearch
from references.sum_law import band, exact, ratios

BUDGET, DRAWS = 1e4, 4_000
RNG = np.random.default_rng(11)
NORMAL, WHICH = RNG.standard_normal((DRAWS, 8)), RNG.random(DRAWS)


def random_matrix(rng, bins):
    """Inner products of non-negative vectors, dense or with few common entries, of any size."""
    means = rng.random((bins, bins + 2)) * (rng.random((bins, bins + 2)) < rng.uniform(0.2, 1.0))
    means[np.arange(bins), np.arange(bins)] += 0.3
    if rng.random() < 0.4:
        # As for a Toeplitz strategy, with or without the end of the run.
        c = np.append(1.0, np.sort(rng.random(min(bins, 3)))[::-1])
        rows = [np.concatenate((np.zeros(i), c, np.zeros(bins - i))) for i in range(bins)]
        means = np.array(rows)[:, : bins if rng.random() < 0.5 else None]
    gram = means @ means.T
    return gram * math.exp(rng.uniform(-3.0, 1.5)) / gram.max()


def truth(gram, epsilon, *, remove):
    """An interval with delta: by quadrature up to three bins, by draws from there on."""
    if len(gram) <= 3:
        value = exact(gram, epsilon, remove=remove, step=0.1)
        return value * (1 - 1e-7), value * (1 + 1e-7)
    return band(ratios(gram, NORMAL, WHICH, remove=remove), epsilon, remove=remove)


def checked(gram, rng):
    """How many cases of one matrix were compared, in both directions, from above and below."""
    spread = math.sqrt(gram.max())
    epsilons = [0.0, *(spread * rng.uniform(0.0, 2.0, 4)).tolist()]
    delta = 10.0 ** rng.uniform(-6, -1)
    query = GramQuery(delta, None, 1e-6 * delta)
    majorants, laws = Majorants(gram), LawCache()
    search, lower = UpperSearch(majorants, BUDGET), LowerSearch(gram, BUDGET)
    count = 0
    for direction in ("remove", "add"):
        known = [truth(gram, e, remove=direction == "remove") for e in epsilons]
        search.best(query, direction)
        # All that is tried when a majorant is chosen, for this matrix.
        MajorantChoice(majorants, BUDGET, query, direction, laws).best()
        for epsilon, (_, highest) in zip(epsilons, known, strict=True):
            at = GramQuery(None, epsilon, 1e-8)
            assert lower.best(at, (direction,)) <= highest
            count += 1
        for key, law in [*search.laws._laws.items(), *laws._laws.items()]:
            if key.direction != direction:
                continue
            assert key.side is Side.UPPER
            reading = LawReading(law, key.candidate.mixture.common, direction, key.side)
            for epsilon, (lowest, _) in zip(epsilons, known, strict=True):
                assert reading.delta(epsilon) >= lowest, (key, epsilon)
                count += 1
    return count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "cases"), [(0, 1_000), pytest.param(1, 10_000, marks=pytest.mark.long)]
)
def test_random_matrices_are_enclosed(seed, cases):
    """Two to eight bins; no law of any candidate is below the truth, no lower bound above it."""
    rng = np.random.default_rng([3, seed])
    count = 0
    while count < cases:
        bins = int(rng.choice([2, 3, 3, 4, 6, 8]))
        count += checked(random_matrix(rng, bins), rng)
