"""Whatever is proposed, what is certified dominates, or is dominated."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick.analyses.gram.order.domination import (
    LagFamily,
    chain_above,
    chain_below,
    chain_shapes,
    diagonal_below,
    independent_above,
    two_chains_above,
)
from references.gram_certificate import KINDS, matrix_of, random_target

TOLERANCE = 1e-9


def parts_of(rng, family):
    """Amplitudes and entries N that no programme would propose."""
    amplitudes = rng.exponential(size=family.rows.shape[1]) * family.lags[0]
    extra = rng.exponential(size=family.lags.size) * (rng.random(family.lags.size) < 0.3)
    extra[0] = 0.0
    return amplitudes, extra


def assert_dominates(larger, smaller, nonnegative):
    """larger - smaller - N is positive semidefinite for the given N >= 0."""
    assert nonnegative.min() >= 0
    lowest = np.linalg.eigvalsh(larger - smaller - nonnegative)[0]
    assert lowest >= -TOLERANCE * np.abs(larger).max()


def entries(target, extra):
    """N as a matrix, with the amplitudes of the target."""
    half = np.zeros(target.bins)
    half[: min(extra.size, target.bins)] = extra[: target.bins]
    if target.ring:
        d = np.arange(target.bins)
        half = extra[np.minimum(d, target.bins - d)]
    return matrix_of(target, half)


@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_any_proposal_is_raised_above_the_target(kind, ring):
    """Random amplitudes and N: the diagonal gets what the spectrum lacks."""
    rng = np.random.default_rng([11, ring, KINDS.index(kind)])
    for _ in range(5):
        target = random_target(rng, kind=kind, ring=ring, falling=True)
        family = LagFamily(target, chain_shapes(0.6))
        amplitudes, extra = parts_of(rng, family)
        certified = family.raised(amplitudes, extra)
        assert np.array_equal(certified[:-1], amplitudes[:-1])
        mixture = chain_above(target, 0.6, certified)
        kept = mixture.common * (1 - np.outer(target.amplitudes, target.amplitudes))
        smaller = matrix_of(target, target.values)
        assert_dominates(mixture.gram(), smaller, entries(target, extra) + kept)


@pytest.mark.parametrize("ring", [False, True])
def test_two_chains_are_raised_above_the_target(ring):
    """The same with one more amplitude."""
    rng = np.random.default_rng([12, ring])
    target = random_target(rng, kind="decaying", ring=ring, falling=False)
    family = LagFamily(target, chain_shapes(0.3, 0.9))
    amplitudes, extra = parts_of(rng, family)
    mixture = two_chains_above(target, (0.3, 0.9), family.raised(amplitudes, extra))
    assert_dominates(mixture.gram(), matrix_of(target, target.values), entries(target, extra))


@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_any_proposal_is_lowered_below_the_target_or_refused(kind, ring):
    """The last amplitude is reduced, or there is nothing to reduce."""
    rng = np.random.default_rng([13, ring, KINDS.index(kind)])
    certified = 0
    for factor in (1.0, 0.3, 0.05, 0.005):
        target = random_target(rng, kind=kind, ring=ring, falling=True)
        family = LagFamily(target, chain_shapes(0.6))
        amplitudes, _ = parts_of(rng, family)
        found = family.lowered(amplitudes, np.zeros(family.lags.size), factor)
        if found is None:
            continue
        certified += 1
        mixture = chain_below(target, 0.6, found)
        common = found[0] * np.outer(target.amplitudes, target.amplitudes)
        larger = matrix_of(target, target.values)
        assert_dominates(larger, mixture.gram(), np.maximum(common - mixture.common, 0.0))
    assert certified or kind != "decaying"


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_always_a_majorant_and_a_minorant(kind):
    """The largest entry for all pairs is entrywise larger, the diagonal alone smaller."""
    target = random_target(np.random.default_rng(14), kind=kind, ring=False, falling=False)
    matrix = matrix_of(target, target.values)
    for rho in (0.1, 0.9):
        above = chain_above(target, rho, independent_above(target)).gram()
        below = chain_below(target, rho, diagonal_below(target)).gram()
        assert np.all(above >= matrix * (1 - 1e-14))
        assert np.all(below <= matrix)
