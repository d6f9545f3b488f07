"""Private runs with exact arithmetic: sums on a lattice, within the clip norm, and their claims."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hockeystick as hs
from hockeystick.errors import InvalidParameter
from hockeystick.strategies.noise import TOTAL_VARIATION
from hockeystick.training.gradients import clipped_sum, lengths
from hockeystick.training.sum_lattice import LEAST_SHARE, SumLattice, added_delta, answer_of
from in_one_test import in_one_test

DATA = np.random.default_rng(0).normal(size=(80, 6))
POISSON = hs.Plan(sampling=hs.Poisson(rate=0.2), steps=4)
FULL = hs.Plan(sampling=hs.FullBatch(), steps=4)


def made(plan=POISSON, **options):
    """A run on the data, not begun."""
    settings = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "arithmetic": "exact", **options}
    return hs.training.PrivateRun(plan, examples=80, dimension=6, **settings)


def lattice_of(dimension, clip=1.0, noise=1.0):
    """For a hundred examples."""
    return SumLattice.of(
        noise_multiplier=noise, max_grad_norm=clip, dimension=dimension, examples=100
    )


def squared_points(numbers):
    """The squared length in units of the lattice, exactly."""
    return sum(int(n) ** 2 for n in numbers)


@in_one_test
@pytest.mark.parametrize("noise", [0.3, 1.0, 7.7])
@pytest.mark.parametrize("clip", [1.0, 0.37, 1e-9, 3e7])
@pytest.mark.parametrize("dimension", [1, 5, 1000])
def test_no_example_is_longer_than_the_clip_norm(dimension, clip, noise):
    """After rounding, in exact arithmetic, whatever the gradient; and hardly one is shorter."""
    lattice = lattice_of(dimension, clip, noise)
    rng = np.random.default_rng(dimension)
    rows = rng.normal(size=(40, dimension)) * 10.0 ** rng.uniform(-12, 12, size=(40, 1))
    # Coordinates that all are just above the middle between two points, and a zero row.
    most = np.floor(clip / lattice.spacing / np.sqrt(dimension)) + 0.5 + 1e-9
    rows = np.vstack([rows, np.full((1, dimension), most * lattice.spacing), rows[:1] * 0])
    longest = (Fraction(clip) / Fraction(lattice.spacing)) ** 2
    for row in rows:
        points = clipped_sum(row[None], clip, lattice)
        assert (points == np.rint(points)).all()
        assert squared_points(points) <= longest
    # The noise is not less than what is accounted for that length.
    assert Fraction(lattice.spacing) * 2**lattice.resolution >= Fraction(noise) * Fraction(clip) * (
        1 - Fraction(1, 2**50)
    )
    shortened = lattice.shortened(clip)
    assert clip * (1 - 2.0**-9) < shortened < clip


@in_one_test
@pytest.mark.parametrize("gamma", [None, 0.01])
@pytest.mark.parametrize("clip", [1.0, 1e-14, 1e-100, 1e100])
@pytest.mark.parametrize("size", [1e308, 1e305, 1e300, 1e-300, 1e-320])
def test_gradients_at_the_ends_of_floating_point_are_not_too_long(size, clip, gamma):
    """Weights that are no normal numbers are rounded coarsely: such gradients contribute nothing.

    In floating point too, up to its rounding, and with budgets of single examples.
    """
    lattice, rng = lattice_of(3, clip), np.random.default_rng(7)
    longest = (Fraction(clip) / Fraction(lattice.spacing)) ** 2
    for row in rng.uniform(-1, 1, size=(20, 3)) * size:
        assert squared_points(clipped_sum(row[None], clip, lattice, gamma=gamma)) <= longest
        near = clipped_sum(row[None], clip, gamma=gamma)
        assert lengths(near[None]) <= clip * (1 + 1e-15)
    if gamma is None:
        budgets = hs.filters.Individual.gaussian(mu=10.0, examples=80)
        run = made(filter=budgets, max_grad_norm=clip, noise_multiplier=1e-3, plan=FULL)
        found = run.step(lambda batch: np.full((len(batch), 6), 0.7 * size)) * 80
        assert lengths(found[None]) <= 80 * clip * (1 + 0.1)


def test_a_count_on_the_lattice_has_points():
    """Noise of the count that is wider than the lattice has points is refused at the start."""
    wide = hs.training.AdaptiveClipping(start=1.0, count_noise=1e8)
    with pytest.raises(InvalidParameter, match="count_noise"):
        made(max_grad_norm=wide)
    made(max_grad_norm=hs.training.AdaptiveClipping(start=1.0, count_noise=1e6))


def test_without_the_allowance_examples_are_too_long():
    """The test above can fail: clipping to the clip norm itself is not enough."""
    dimension = next(d for d in range(1000, 2000) if 2**24 / np.sqrt(d) % 1 > 0.6)
    lattice = lattice_of(dimension)
    row = np.full((1, dimension), 1 / np.sqrt(dimension))
    row = (np.floor(row / lattice.spacing) + 0.55) * lattice.spacing
    points = lattice.sum(row, 1.0 / np.maximum(lengths(row), 1.0))
    assert squared_points(points) > (Fraction(1) / Fraction(lattice.spacing)) ** 2


def test_sums_do_not_depend_on_their_order():
    """Integers, in any order and in any parts."""
    lattice = lattice_of(6)
    whole = clipped_sum(DATA, 1.0, lattice)
    shuffled = clipped_sum(DATA[np.random.default_rng(1).permutation(80)], 1.0, lattice)
    parts = sum(clipped_sum(part, 1.0, lattice) for part in np.array_split(DATA, 7))
    assert whole.tolist() == shuffled.tolist() == parts.tolist()
    near = clipped_sum(DATA, 1.0)
    np.testing.assert_allclose(whole * lattice.spacing, near, atol=80 * 2 * lattice.spacing)


def test_the_release_is_sum_plus_noise():
    """On the lattice, with the noise of the plan that is accounted."""
    strategy = hs.strategies.band_mf(4, bands=2)
    plan = hs.Plan(sampling=hs.FullBatch(), steps=4, strategy=strategy)
    run = made(plan, rng=3)
    assert run.plan.strategy.exact() is run.plan.strategy
    assert run.plan.strategy != strategy
    again = run.plan.noise(6, scale=1.0, arithmetic="exact")
    again.restore(run._noise.state())
    lattice = lattice_of(6)
    for _ in range(4):
        found = run.step(lambda batch: DATA[batch])
        points = clipped_sum(DATA, 1.0, lattice) + next(again)
        assert found.tolist() == (points * lattice.spacing / 80).tolist()


def test_large_noise_and_dimension_get_a_finer_lattice():
    """Rounding takes at most a thousandth of the clip norm."""
    for noise, dimension in [(1.0, 10**6), (100.0, 10**8), (1000.0, 10**9)]:
        lattice = lattice_of(dimension, noise=noise)
        assert 1 - lattice.shortened(1.0) < 2.0**-9.9
    assert lattice_of(10**6).resolution == 24
    with pytest.raises(InvalidParameter, match="examples"):
        SumLattice.of(noise_multiplier=1e-4, max_grad_norm=1.0, dimension=3, examples=10**5)


def test_filters_permit_lengths_after_rounding():
    """A shortened step, and budgets of single examples, bound what is rounded."""
    lattice = lattice_of(6)
    run = made(filter=hs.filters.Gaussian(mu=1.6), noise_multiplier=1.0)
    run.step(lambda batch: DATA[batch])
    assert run.record().arithmetic == "exact"
    budgets = hs.filters.Individual.gaussian(mu=0.5, examples=80)
    limited = made(filter=budgets)
    for _ in range(3):
        limited.step(lambda batch: DATA[batch] * 0.3)
    lengths_allowed = np.array([0.0, 1e-9, 0.3, 1.0])
    rows = np.full((4, 6), 0.2)
    weights = lattice.weights(lengths(rows), lengths_allowed)
    for row, weight, allowed in zip(rows, weights, lengths_allowed, strict=True):
        points = lattice.sum(row[None], np.array([weight]))
        longest = Fraction(allowed) / Fraction(lattice.spacing)
        assert squared_points(points) <= longest**2


@pytest.mark.parametrize("arithmetic", ["float", "exact"])
def test_statements_say_which(arithmetic):
    """And recomputing them gives their number."""
    run = made(arithmetic=arithmetic)
    assert run.arithmetic == arithmetic
    stated = run.statement(delta=1e-5)
    assert stated.arithmetic == arithmetic
    assert hs.training.check_statement(stated).holds
    assert ("computed in integers" in stated.paragraph()) == (arithmetic == "exact")


def test_a_strategy_that_is_not_exact_is_noticed():
    """In a statement that says so."""
    strategy = hs.strategies.from_coefficients([1.0, 0.3], steps=4)
    plan = hs.Plan(sampling=hs.FullBatch(), steps=4, strategy=strategy)
    for of, holds in ((plan, False), (plan.exact(), True)):
        record = hs.training.RunRecord(
            plan=of, noise_multiplier=5.0, max_grad_norm=1.0, taken_steps=4, arithmetic="exact"
        )
        found = hs.training.check_statement(hs.training.statement(record, delta=1e-5))
        assert found.holds == holds


def test_the_distance_of_the_noise_is_added_to_delta():
    """For both data sets and every run; named in the paragraph, refused where it would count."""
    guarantee = hs.account(POISSON, noise_multiplier=1.0)
    answer = answer_of(guarantee, delta=1e-5, exact_runs=2)
    assert answer.value == guarantee.epsilon(1e-5)
    added = added_delta(answer.value, 2)
    assert added >= 2 * Fraction(TOTAL_VARIATION) * (1 + Fraction(np.exp(answer.value)))
    assert added <= 1e-5 * LEAST_SHARE
    with pytest.raises(InvalidParameter, match="delta"):
        answer_of(guarantee, delta=1e-27, exact_runs=1)


@pytest.mark.parametrize(
    ("rate", "steps", "epsilon"), [(0.1, 20, 8.0), (0.02, 20, 3.0), (0.05, 100, 1.0)]
)
def test_exact_statements_are_what_was_calibrated(rate, steps, epsilon):
    """Not above the epsilon that was asked, and as `verify` recomputes it."""
    plan = hs.Plan(sampling=hs.Poisson(rate=rate), steps=steps).exact()
    found = hs.calibrate(plan, epsilon=epsilon, delta=1e-5)
    record = hs.training.RunRecord(
        plan=plan,
        noise_multiplier=found.noise_multiplier,
        max_grad_norm=1.0,
        taken_steps=steps,
        arithmetic="exact",
    )
    stated = hs.training.statement(record, delta=1e-5)
    assert stated.epsilon <= epsilon
    assert f"adds {added_delta(stated.epsilon, 1):.1e} to δ" in stated.paragraph()
    assert hs.training.check_statement(stated).holds


def test_verified_claims_of_exact_runs():
    """A claim that was verified is stated as it was made, and holds when it is verified again."""
    plan = hs.Plan(sampling=hs.MinSep(rate=0.05, separation=2), steps=20).exact()
    found = hs.verify(plan, noise_multiplier=2.0, epsilon=2.0, delta=1e-3, seed=1)
    record = hs.training.RunRecord(
        plan=plan, noise_multiplier=2.0, max_grad_norm=1.0, taken_steps=20, arithmetic="exact"
    )
    stated = hs.training.statement(record, delta=1e-3, guarantee=found)
    assert (stated.epsilon, stated.kind) == (2.0, "verified")
    assert hs.training.check_statement(stated).holds


def test_batches_are_cryptographic_too():
    """With the extra installed; a seed stays a seed."""
    pytest.importorskip("randomgen")
    assert not made().record().seeded
    assert made(rng=3).record().seeded
    first, second = (made(rng=3).step(lambda batch: DATA[batch]) for _ in range(2))
    assert first.tolist() == second.tolist()


def test_unknown_arithmetic_is_refused():
    """Before anything is made."""
    with pytest.raises(InvalidParameter, match="arithmetic"):
        made(arithmetic="fixed")
