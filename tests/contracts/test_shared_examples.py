"""Why examples that several users share have no amplification: a star of users.

One example belongs to user u and to a hundred others, each of whom has one more. If it is drawn in
the first step, nobody's other example can join the second: an empty second batch tells the draw.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import hockeystick as hs

RATE, NEIGHBOURS, EPSILON = 0.1, 100, 2.0
# Between outputs at which densities are summed; half of it changes no digit that is shown.
GRID = 0.02
# The event: nobody seems to be in the second batch, and the first output is large.
FEW, LARGE = 1.8, 2.55
SCHEME = hs.UserMinSep(rate=RATE, separation=2, examples_per_user=2)


def star() -> hs.Attribution:
    """Example 0 belongs to everybody, example i > 0 to user i alone."""
    others = np.arange(1, NEIGHBOURS + 1)
    return hs.Attribution.from_pairs(
        examples=np.concatenate([np.zeros(NEIGHBOURS + 1, dtype=int), others]),
        users=np.concatenate([[0], others, others]),
        number_of_examples=NEIGHBOURS + 1,
        number_of_users=NEIGHBOURS + 1,
    )


def true_delta_from_below() -> float:
    """P(event) - e^epsilon Q(event), the second batch being the same law in both worlds."""
    joined = np.arange(NEIGHBOURS + 1)
    chances = stats.binom.pmf(joined, NEIGHBOURS, RATE * (1 - RATE))
    empty_if_drawn = stats.norm.cdf(FEW)
    empty_if_not = float(chances @ stats.norm.cdf(FEW - joined))
    with_contents = RATE * empty_if_drawn * stats.norm.sf(LARGE - 1)
    with_contents += (1 - RATE) * empty_if_not * stats.norm.sf(LARGE)
    empty = RATE * empty_if_drawn + (1 - RATE) * empty_if_not
    return float(with_contents - math.exp(EPSILON) * empty * stats.norm.sf(LARGE))


def density(mean: float, at: np.ndarray) -> np.ndarray:
    """Of one output."""
    return stats.norm.pdf(at - mean)


def heights(p: np.ndarray, q: np.ndarray) -> tuple[float, float]:
    """Delta when removing and when adding, from densities on a grid of two outputs."""
    factor = math.exp(EPSILON)
    removed, added = (np.maximum(a - factor * b, 0).sum() for a, b in ((p, q), (q, p)))
    return float(removed) * GRID**2, float(added) * GRID**2


def pair_of_the_theorem() -> tuple[float, float]:
    """[DongGanesh26, Theorem 6.1]: one user with k_u = 2 examples, nobody else, by integration."""
    outputs = np.arange(-9.0, 12.0, GRID)
    chances = stats.binom.pmf(range(3), 2, RATE)
    # A draw in the first step excludes the user from the second.
    p = sum(
        chances[first]
        * chances[second]
        * np.outer(density(first, outputs), density(0 if first else second, outputs))
        for first in range(3)
        for second in range(3)
    )
    return heights(p, np.outer(density(0, outputs), density(0, outputs)))


def pair_of_the_star() -> tuple[float, float]:
    """The user's contents show in the first output, those of the others in the second."""
    first, second = np.arange(-9.0, 12.0, GRID), np.arange(-9.0, 40.0, GRID)
    chances = stats.binom.pmf(np.arange(NEIGHBOURS + 1), NEIGHBOURS, RATE * (1 - RATE))
    crowd = sum(chance * density(number, second) for number, chance in enumerate(chances))
    absent = np.outer(density(0, first), (1 - RATE) * crowd)
    drawn = RATE * density(0, second)
    return heights(
        absent + np.outer(density(1, first), drawn), absent + np.outer(density(0, first), drawn)
    )


def test_a_user_alone_does_not_stand_for_the_star():
    """What would be claimed for a user alone is half of what the star leaks at least."""
    claimed = hs.account(hs.Plan(sampling=SCHEME, steps=2), noise_multiplier=1.0).delta(EPSILON)
    assert 1.9 * claimed < true_delta_from_below()
    assert pair_of_the_theorem()[0] < claimed


def test_the_theorem_claims_less_than_a_third():
    """The theorem's own pair and the star, in both directions."""
    removed, added = pair_of_the_theorem()
    assert removed == pytest.approx(5.561e-4, rel=1e-3)
    assert added == 0
    star_removed, star_added = pair_of_the_star()
    assert star_removed == pytest.approx(1.9045e-3, rel=1e-3)
    assert star_added == pytest.approx(1.3276e-3, rel=1e-3)
    assert star_removed > true_delta_from_below()


def test_the_law_of_the_second_batch_is_the_samplers():
    """Drawn first, nobody else joins; otherwise each other one with probability p (1 - p)."""
    shared = hs.UserMinSep(rate=RATE, separation=2, examples_per_user=2, shared_examples=True)
    rng = np.random.default_rng(5)
    drawn, joined = np.zeros(3_000, dtype=bool), np.zeros(3_000)
    for i in range(drawn.size):
        first, second = shared.batches(examples=star(), steps=2, rng=rng)
        drawn[i], joined[i] = 0 in first, (second > 0).sum()
    assert not joined[drawn].any()
    expected = NEIGHBOURS * RATE * (1 - RATE)
    error = joined[~drawn].std() / math.sqrt((~drawn).sum())
    assert joined[~drawn].mean() == pytest.approx(expected, abs=4.5 * error)


def test_what_is_said_about_the_star_holds():
    """With shared examples only bounds that need no secret draw are left."""
    shared = hs.UserMinSep.for_batch_size(2.0, examples=star(), separation=2)
    assert shared.shared_examples
    plan = hs.Plan(
        sampling=hs.UserMinSep(rate=RATE, separation=2, examples_per_user=2, shared_examples=True),
        steps=2,
    )
    assert list(hs.methods(plan)) == ["gaussian", "known-participation"]
    assert hs.account(plan, noise_multiplier=1.0).delta(EPSILON) > true_delta_from_below()
    with pytest.raises(hs.errors.UnsupportedPlan, match="several users share"):
        hs.verify(plan, noise_multiplier=1.0, epsilon=EPSILON, delta=1e-3)
