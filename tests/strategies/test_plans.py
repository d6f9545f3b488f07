"""Plans with a strategy: what is refused, what applies, and closed forms."""

from __future__ import annotations

import itertools
from functools import reduce

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.errors import InvalidParameter, UnsupportedPlan

DELTA = 1e-5


def epsilon(sampling, strategy, *, noise=1.5, **options):
    """Epsilon of a run with the strategy."""
    plan = hs.Plan(sampling=sampling, steps=strategy.steps, strategy=strategy)
    return hs.account(plan, noise_multiplier=noise, **options).epsilon(DELTA)


def test_a_strategy_for_other_steps_is_refused():
    """It would say nothing about this run."""
    with pytest.raises(InvalidParameter, match="a strategy for steps=10") as caught:
        hs.Plan(sampling=hs.FullBatch(), steps=10, strategy=strategies.bsr(9, 2))
    assert caught.value.name == "strategy"


@pytest.mark.parametrize("bad", ["bsr", 3, np.eye(4), strategies.bsr])
def test_what_is_no_strategy_is_refused(bad):
    """A matrix has to go through `from_matrix`, which checks it."""
    with pytest.raises(InvalidParameter, match=r"^strategy must be") as caught:
        hs.Plan(sampling=hs.FullBatch(), steps=4, strategy=bad)
    assert caught.value.name == "strategy"


def test_a_mechanism_excludes_a_strategy():
    """Only the Gaussian mechanism has a noise that can be correlated."""
    mechanism = hs.Profile.laplace(scale=2.0)
    with pytest.raises(InvalidParameter, match=r"^strategy must be"):
        hs.Plan(
            sampling=hs.FullBatch(), steps=4, strategy=strategies.bsr(4, 2), mechanism=mechanism
        )
    for same in (strategies.identity(4), strategies.bsr(4, 1), None):
        plan = hs.Plan(sampling=hs.FullBatch(), steps=4, strategy=same, mechanism=mechanism)
        assert not plan.correlated


def test_independent_noise_is_the_default():
    """A plan knows its strategy, and describes it."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=7)
    assert plan.strategy == strategies.identity(7)
    assert plan.describe()["strategy"] == {"factorization": "identity"}
    assert not plan.correlated


@pytest.mark.parametrize(
    "strategy",
    [
        strategies.bsr(30, 5),
        strategies.bisr(30, 5),
        strategies.blt(30, 2),
        strategies.from_coefficients([0.5, 2.0, 0.1], 30),
        strategies.from_matrix(np.tril(np.ones((30, 30)))),
    ],
    ids=repr,
)
def test_full_batch_is_one_gaussian(strategy):
    """The sensitivity is the length of C 1, by either method, and the answer is exact."""
    length = np.linalg.norm(strategy.to_matrix().sum(axis=1))
    expected = hs.Profile.gaussian(noise_multiplier=40.0 / length).epsilon(DELTA)
    plan = hs.Plan(sampling=hs.FullBatch(), steps=30, strategy=strategy)
    for method in ("auto", "profile", "gaussian"):
        answer = hs.account(plan, noise_multiplier=40.0, method=method).answer(delta=DELTA)
        assert answer.value == pytest.approx(expected, rel=1e-6)
        assert answer.lower is not None


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("steps", "groups", "bands"), [(40, 8, 8), (40, 8, 3), (43, 8, 5)])
def test_cyclic_poisson_is_a_composition(steps, groups, bands, direction):
    """Of subsampled Gaussians of the column norm, one for each turn of the first group."""
    strategy = strategies.bsr(steps, bands)
    norm = np.linalg.norm(strategy.coefficients)
    turns = -(-steps // groups)
    profile = hs.Profile.gaussian(noise_multiplier=1.5 / norm).subsample(0.2).self_compose(turns)
    expected = (profile if direction == "remove" else profile.reverse()).epsilon(DELTA)
    scheme = hs.CyclicPoisson(rate=0.2, groups=groups)
    reached = epsilon(scheme, strategy, method="profile", direction=direction)
    assert reached == pytest.approx(expected, rel=1e-3)


def test_columns_of_different_lengths():
    """A diagonal C under Poisson sampling: each step has its own noise."""
    diagonal = np.array([0.5, 2.0, 1.0, 1.0])
    parts = [hs.Profile.gaussian(noise_multiplier=1.5 / d).subsample(0.3) for d in diagonal]
    expected = reduce(hs.Profile.compose, parts)
    reached = epsilon(hs.Poisson(rate=0.3), strategies.from_matrix(np.diag(diagonal)))
    assert reached == pytest.approx(expected.symmetrize().epsilon(DELTA), rel=1e-3)


def test_many_lengths_are_rounded_up_by_little():
    """A hundred different columns cost at least their own composition, and little more."""
    diagonal = np.linspace(1.0, 1.2, 100)
    plan = {"sampling": hs.Poisson(rate=0.05)}
    reached = epsilon(**plan, strategy=strategies.from_matrix(np.diag(diagonal)))
    largest = epsilon(**plan, strategy=strategies.from_coefficients([1.2], 100))
    middle = epsilon(**plan, strategy=strategies.from_coefficients([1.1], 100))
    assert middle < reached < largest
    assert reached < middle + 0.25 * (largest - middle)


def test_more_bands_than_groups():
    """`profile` does not apply, `gaussian` does."""
    strategy = strategies.bsr(40, 9)
    scheme = hs.CyclicPoisson(rate=0.2, groups=8)
    plan = hs.Plan(sampling=scheme, steps=40, strategy=strategy)
    assert list(hs.methods(plan)) == ["gaussian"]
    with pytest.raises(UnsupportedPlan, match="at most 8 bands under cyclic-poisson"):
        hs.account(plan, noise_multiplier=1.0, method="profile")
    length = strategy.sensitivity(separation=8, participations=5)
    expected = hs.Profile.gaussian(noise_multiplier=3.0 / length).epsilon(DELTA)
    guarantee = hs.account(plan, noise_multiplier=3.0)
    assert guarantee.epsilon(DELTA) == pytest.approx(expected, rel=1e-9)
    assert (guarantee.method, guarantee.kind) == ("gaussian", "proven")
    assert guarantee.answer(delta=DELTA).lower is None


def test_other_schemes_reveal_the_participation():
    """Without an analysis of their own only `gaussian` is left."""
    scheme = hs.RandomAllocation(picks=2, out_of=10)
    plan = hs.Plan(sampling=scheme, steps=40, strategy=strategies.bsr(40, 4))
    assert list(hs.methods(plan)) == ["gaussian"]


def test_poisson_with_correlated_noise():
    """Overlapping columns: steps that dominate them are better than known participation."""
    plan = hs.Plan(sampling=hs.Poisson(rate=0.02), steps=40, strategy=strategies.bsr(40, 4))
    kinds = hs.methods(plan)
    assert [name for name in kinds if kinds[name] == "proven"] == ["gaussian", "poisson-reduction"]
    amplified = hs.account(plan, noise_multiplier=3.0)
    known = hs.account(plan, noise_multiplier=3.0, method="gaussian")
    assert amplified.epsilon(DELTA) < 0.2 * known.epsilon(DELTA)


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_poisson_with_correlated_noise_against_enumeration(direction):
    """Three steps, all eight ways to take part: the bound is above the simulated truth."""
    strategy, rate, noise = strategies.bsr(3, 2), 0.4, 1.5
    patterns = np.array(list(itertools.product([0, 1], repeat=3)))
    chances = np.prod(np.where(patterns == 1, rate, 1 - rate), axis=1)
    means = patterns @ strategy.to_matrix().T
    rng = np.random.default_rng(7)
    y = noise * rng.standard_normal((200_000, 3))
    if direction == "remove":
        y += means[rng.choice(8, p=chances, size=len(y))]
    exponents = (y @ means.T - (means**2).sum(axis=1) / 2) / noise**2
    losses = np.log(np.exp(exponents) @ chances)
    sign = -1.0 if direction == "remove" else 1.0
    truth = np.maximum(-np.expm1(np.minimum(0.5 + sign * losses, 0.0)), 0.0)
    plan = hs.Plan(sampling=hs.Poisson(rate=rate), steps=3, strategy=strategy)
    bound = hs.account(
        plan, noise_multiplier=noise, method="poisson-reduction", direction=direction
    ).delta(0.5)
    error = truth.std() / np.sqrt(len(truth))
    assert truth.mean() + 4 * error < bound < 2 * truth.mean()


@pytest.mark.parametrize(
    "scheme", [hs.FullBatch(), hs.Poisson(rate=0.1), hs.CyclicPoisson(rate=0.3, groups=4)]
)
def test_twice_the_identity_is_twice_the_sensitivity(scheme):
    """C as it stands: scaling C is scaling the noise."""
    doubled = epsilon(scheme, strategies.from_coefficients([2.0], 20), noise=3.0)
    single = epsilon(scheme, strategies.identity(20), noise=1.5)
    assert doubled == pytest.approx(single, rel=1e-3)


def test_known_participation():
    """At rate 1 the cyclic run is the Gaussian mechanism of the first group's columns."""
    strategy = strategies.bsr(12, 6)
    chosen = strategy.to_matrix()[:, ::4].sum(axis=1)
    expected = hs.Profile.gaussian(noise_multiplier=2.0 / np.linalg.norm(chosen)).epsilon(DELTA)
    plan = hs.Plan(sampling=hs.CyclicPoisson(rate=1.0, groups=4), steps=12, strategy=strategy)
    answer = hs.account(plan, noise_multiplier=2.0).answer(delta=DELTA)
    assert answer.value == pytest.approx(expected, rel=1e-6)
    assert answer.lower is not None
