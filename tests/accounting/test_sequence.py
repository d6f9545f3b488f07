"""Several plans as one: composed, calibrated with a common factor, and refused where unclear."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import hockeystick as hs
from in_one_test import in_one_test

PHASE = hs.Plan(sampling=hs.Poisson(rate=0.02), steps=100)
BLOCK = hs.Plan(sampling=hs.RandomAllocation(picks=1, out_of=20), steps=20)
USERS = hs.Plan(sampling=hs.UserMinSep(rate=0.1, separation=2, examples_per_user=2), steps=6)
BINS = hs.Plan(sampling=hs.BallsInBins(bins=2), steps=6, strategy=hs.strategies.bsr(6, bands=2))
DELTA = 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["both", "add", "remove"])
@pytest.mark.parametrize(
    ("one", "times"),
    [(PHASE, 2), (PHASE, 3), (BLOCK, 2), (hs.Plan(sampling=hs.FullBatch(), steps=3), 4)],
)
def test_equal_phases_are_one_longer_run(one, times, direction):
    """Within the accuracy, in both directions: composition loses nothing where parts are tight."""
    together = hs.account(hs.Sequence([one] * times), noise_multiplier=1.5, direction=direction)
    longer = hs.account(
        hs.Plan(sampling=one.sampling, steps=times * one.steps),
        noise_multiplier=1.5,
        direction=direction,
    )
    found, expected = (guarantee.answer(delta=DELTA) for guarantee in (together, longer))
    assert found.value == pytest.approx(expected.value, rel=1e-3)
    assert found.lower is not None
    assert found.lower <= expected.value
    assert expected.lower <= found.value


def test_each_part_has_its_own_noise():
    """The factor times the relative one; parts are composed by `Guarantee.compose`, exactly."""
    sequence = hs.Sequence([PHASE, (BLOCK, 2.0)])
    noises = sequence.noise_multipliers(0.8)
    assert noises == (0.8, 1.6)
    apart = [
        hs.account(part.plan, noise_multiplier=noise)
        for part, noise in zip(sequence.parts, noises, strict=True)
    ]
    together = hs.account(sequence, noise_multiplier=0.8)
    assert together.epsilon(DELTA) == apart[0].compose(apart[1]).epsilon(DELTA)
    assert [one["noise_multiplier"] for one in together.plans] == list(noises)
    assert together.epsilon(DELTA) > max(one.epsilon(DELTA) for one in apart)


def test_a_sequence_of_one_is_its_plan():
    """With relative noise 1 to the last digit, and otherwise with the product."""
    alone = hs.account(PHASE, noise_multiplier=1.2).epsilon(DELTA)
    assert hs.account(hs.Sequence([PHASE]), noise_multiplier=1.2).epsilon(DELTA) == alone
    assert hs.account(hs.Sequence([(PHASE, 2.0)]), noise_multiplier=0.6).epsilon(DELTA) == alone


@pytest.mark.slow
@pytest.mark.parametrize(
    "parts",
    [
        [(PHASE, 1.0), (PHASE, 1.5)],
        [PHASE, BLOCK],
        pytest.param([(BINS, 0.5), PHASE], marks=[pytest.mark.slow, pytest.mark.long]),
        [(hs.Plan(sampling=hs.FullBatch(), steps=5), 20.0), PHASE],
    ],
    ids=["raised", "schemes", "bins", "full batch"],
)
def test_the_common_factor_meets_the_target(parts):
    """As `account` evaluates it, and not by much."""
    sequence = hs.Sequence(parts)
    found = hs.calibrate(sequence, epsilon=2.0, delta=DELTA)
    reached = hs.account(sequence, noise_multiplier=found.noise_multiplier).epsilon(DELTA)
    assert reached == found.guarantee.epsilon(DELTA)
    assert 2.0 * (1 - 2e-3) <= reached <= 2.0


def test_methods_are_those_of_all_parts():
    """With the weakest kind; draws are about one plan."""
    assert hs.methods(hs.Sequence([PHASE, PHASE])) == {
        name: kind for name, kind in hs.methods(PHASE).items() if name != "monte-carlo"
    }
    both = hs.methods(hs.Sequence([PHASE, BINS]))
    assert set(both) == (set(hs.methods(PHASE)) & set(hs.methods(BINS))) - {"monte-carlo"}
    for name in both:
        found = hs.account(hs.Sequence([PHASE, PHASE]), noise_multiplier=2.0, method=name)
        assert found.kind == both[name]
        assert math.isfinite(found.epsilon(DELTA))


def test_draws_of_a_sequence_are_refused():
    """With the reason, in `account` and in `calibrate`."""
    sequence = hs.Sequence([PHASE, PHASE])
    with pytest.raises(hs.errors.UnsupportedPlan, match="one plan"):
        hs.account(sequence, noise_multiplier=1.0, method=hs.MonteCarlo(epsilon=1.0))
    with pytest.raises(hs.errors.UnsupportedPlan, match="one plan"):
        hs.calibrate(sequence, epsilon=1.0, delta=DELTA, method="monte-carlo")


@in_one_test
@pytest.mark.parametrize(
    "parts",
    [
        [],
        PHASE,
        [PHASE, USERS],
        [(PHASE, 0.0)],
        [(PHASE, -1.0)],
        [(PHASE, math.nan)],
        [(PHASE, math.inf)],
        [(PHASE, True)],
        [(PHASE, "2")],
        [(1.0, PHASE)],
        [PHASE.sampling],
        [hs.Sequence([PHASE])],
        [replace(PHASE, mechanism=hs.Profile.laplace(scale=2.0))],
        None,
    ],
    ids=str,
)
def test_what_is_no_sequence_is_refused(parts):
    """In one sentence that names the parts or the relative noise."""
    with pytest.raises(hs.errors.InvalidParameter, match=r"parts|relative_noise"):
        hs.Sequence(parts)


@pytest.mark.parametrize("noise", [None, 0.0, math.nan, 1e308])
def test_the_noise_of_every_part_is_checked(noise):
    """Also the product with the relative noise."""
    with pytest.raises(hs.errors.InvalidParameter, match="noise_multiplier"):
        hs.account(hs.Sequence([(PHASE, 1e10)]), noise_multiplier=noise)


def test_sequences_are_values():
    """Equal parts are equal sequences; they cannot change, and are described as plain values."""
    one, other = hs.Sequence([PHASE, (BLOCK, 2)]), hs.Sequence([(PHASE, 1.0), (BLOCK, 2.0)])
    assert one == other
    assert hash(one) == hash(other)
    assert one != hs.Sequence([PHASE, BLOCK])
    with pytest.raises(AttributeError):
        one.parts = ()
    described = one.describe()["parts"]
    assert [part["relative_noise"] for part in described] == [1.0, 2.0]
    assert described[0]["sampling"] == {"scheme": "poisson", "rate": 0.02}
    assert repr(one).startswith("Sequence([(Plan(")
