"""Bounds of a Gram matrix: stateless, enclosing quadrature, never worse than a revealed bin."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.analyses.gram import GramBound
from hockeystick.analyses.gram.search import upper
from hypothesis_strategies import thinned
from references.gram_search import kernel_of

BOTH = ("remove", "add")


def answers_of(bound, requests):
    """Value, direction, details and lower bound for each request, in this order."""
    found = {}
    for name, at in requests:
        one = getattr(bound, name)(at, directions=BOTH, accuracy=1e-3)
        found[name, at] = one.value, one.direction, dict(one.details), one.lower
    return found


@pytest.mark.slow
def test_answers_do_not_depend_on_earlier_requests():
    """In any order, and again: the same value, direction, details and lower bound."""
    requests = [("epsilon", 1e-3), ("delta", 0.5)]
    kernel = kernel_of("arc")[:8, :8]
    bound = GramBound(kernel, 1e4)
    first = answers_of(bound, requests)
    bound.as_profile()
    assert answers_of(bound, requests[::-1]) == first
    assert answers_of(GramBound(kernel, 1e4), requests[::-1]) == first
    assert all(lower <= value for value, _, _, lower in first.values())


def test_the_details_name_the_direction_that_decides():
    """One direction alone gives the same number, or less."""
    bound = GramBound(kernel_of("line"), 1e4)
    both = bound.epsilon(1e-4, directions=BOTH, accuracy=1e-3)
    alone = [bound.epsilon(1e-4, directions=(one,), accuracy=1e-3) for one in BOTH]
    assert both.value == max(one.value for one in alone)
    assert both.direction == max(alone, key=lambda one: one.value).direction


def integrated(gram, epsilon, *, step=0.02, reach=10.0):
    """delta of two bins in both directions, by a trapezoidal rule in the plane of the two means."""
    root = np.linalg.cholesky(gram)
    z = np.arange(-reach, reach + math.sqrt(gram.max()), step)
    density = np.exp(-z * z / 2) * step / math.sqrt(2 * math.pi)
    first, second = (
        density_ratio(row[0] * z[:, None] + row[1] * z, square)
        for row, square in zip(root, np.diagonal(gram), strict=True)
    )
    ratio = (first + second) / 2
    remove = density @ np.maximum(ratio - math.exp(epsilon), 0.0) @ density
    add = density @ np.maximum(1 - math.exp(epsilon) * ratio, 0.0) @ density
    return {"remove": float(remove), "add": float(add)}


def density_ratio(product, square):
    """Of a shifted normal law to one around 0."""
    return np.exp(product - square / 2)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.4, 1.0, 3.0])
@pytest.mark.parametrize("coefficients", [[1.0, 0.1], [1.0, 0.9, 0.8, 0.7], [1.0, 0.0, 0.0, 2.0]])
def test_two_bins_at_small_deltas(coefficients, factor):
    """Where no simulation reaches: deltas from 0.1 to 1e-10 between the bounds, both directions."""
    gram = hs.strategies.from_coefficients(coefficients, steps=4).gram(spacing=2)
    gram = gram / (factor**2 * np.diagonal(gram).max())
    bound = GramBound(gram, 1e4)
    for epsilon in (0.5, 2.0, 6.0):
        for direction, delta in integrated(gram, epsilon).items():
            if delta < 1e-10:
                continue
            answer = bound.delta(epsilon, directions=(direction,), accuracy=1e-3)
            assert answer.lower <= delta * (1 + 1e-3)
            assert answer.value >= delta * (1 - 1e-3)


def many_epochs():
    """Six bins that take part sixty times: at noise 1 nothing hides the example."""
    return hs.Plan(
        sampling=hs.BallsInBins(bins=6), steps=360, strategy=hs.strategies.bsr(360, bands=3)
    )


@pytest.mark.parametrize("noise", thinned([1.0, 0.5], normal=1))
@pytest.mark.slow
@pytest.mark.parametrize("delta", thinned([1e-12, 1e-5], normal=1))
def test_low_noise_is_never_worse_than_a_revealed_bin(noise, delta):
    """Where lattices leave floating point, or lose too much, the bin counts as revealed."""
    found, revealed = (
        hs.account(many_epochs(), noise_multiplier=noise, method=method, budget=1e4).epsilon(delta)
        for method in ("gram", "gaussian")
    )
    assert math.isfinite(found)
    assert 0.5 * revealed <= found <= revealed * (1 + 1e-9)


@pytest.mark.slow
def test_calibration_finds_its_way_from_low_noise():
    """The search starts at noise 1, far below the answer."""
    found = hs.calibrate(
        many_epochs(),
        epsilon=2.0,
        delta=1e-5,
        method="gram",
        budget=1e5,
        accuracy=0.01,
        start=1.0,
    )
    assert found.noise_multiplier > 10
    assert 1.9 <= found.guarantee.epsilon(1e-5) <= 2.0


def test_extreme_questions_have_answers():
    """Choices are made for numbers on a grid, on which delta stays below 1."""
    bound = GramBound(kernel_of("line"), 1e4)
    assert bound.epsilon(0.95, directions=BOTH, accuracy=1e-3).value == 0.0
    assert bound.delta(60.0, directions=BOTH, accuracy=1e-3).value <= 1e-12


@pytest.mark.slow
def test_noises_of_a_calibration_share_their_choice():
    """The second noise takes a part of what the first one takes, and each is what it is alone."""
    kernel = kernel_of("ring")
    upper._CHOICES.clear()
    near = [GramBound(kernel * scale, 1e6) for scale in (0.9, 1.1)]
    together = [one.epsilon(1e-4, directions=BOTH, accuracy=1e-3).value for one in near]
    assert len(upper._CHOICES) == len(BOTH)
    upper._CHOICES.clear()
    alone = GramBound(kernel * 1.1, 1e6).epsilon(1e-4, directions=BOTH, accuracy=1e-3)
    assert alone.value == together[1] > together[0]
