"""Operations that are exact on atoms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from hockeystick._numerics.law import from_losses, moments, reverse, subsample
from hypothesis_strategies import law_of, pairs, quick, rates
from references import outcomes as plain
from references.laws import measure
from references.sandwich import assert_same_profile


@quick
@given(pair=pairs())
def test_reverse_exchanges_p_and_q(pair):
    """The law of (Q, P)."""
    law = law_of(pair)
    assert_same_profile(plain.reverse(measure(law)), reverse(law))
    twice = reverse(reverse(law))
    assert twice.loss.tolist() == law.loss.tolist()
    assert twice.p.tolist() == law.p.tolist()
    assert (twice.p_infinite, twice.q_zero) == (law.p_infinite, law.q_zero)


@quick
@given(pair=pairs(), rate=rates())
def test_subsampling_is_exact(pair, rate):
    """Atom by atom 1 - rate + rate LR, atoms at zero and infinity included."""
    law = law_of(pair)
    assert_same_profile(plain.subsample(measure(law), rate), subsample(law, rate))


@pytest.mark.parametrize("loss", [-800.0, -1.0, -1e-12, 0.0, 1e-12, 1.0, 800.0])
def test_masses_follow_from_the_loss(loss):
    """The smaller mass is the larger one times e^-|loss|, without overflow."""
    law = from_losses(np.array([loss]), np.array([0.25]))
    larger, smaller = (law.p, law.q) if loss >= 0 else (law.q, law.p)
    assert larger[0] == 0.25
    assert smaller[0] == pytest.approx(0.25 * np.exp(-abs(loss)), rel=1e-15)


def test_moments_of_a_known_law():
    """Mean and standard deviation of the loss under both measures."""
    law = from_losses(np.array([-1.0, 1.0]), np.array([0.75, 0.75]))
    got = moments(law)
    low = 0.75 / np.e
    total = 0.75 + low
    mean = (0.75 - low) / total
    assert got.mean_p == pytest.approx(mean, rel=1e-14)
    assert got.mean_q == pytest.approx(-mean, rel=1e-14)
    assert got.sd_p == pytest.approx(np.sqrt(1 - mean**2), rel=1e-14)
    assert got.sd_q == pytest.approx(np.sqrt(1 - mean**2), rel=1e-14)
