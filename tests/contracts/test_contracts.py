"""Contracts that every method has to keep on every scheme it applies to."""

from __future__ import annotations

import itertools
from functools import cache

import pytest

import hockeystick as hs
from hockeystick.analyses import METHODS
from hypothesis_strategies import thinned
from in_one_test import in_one_test

SCHEMES = {
    "full-batch": hs.FullBatch(),
    "poisson": hs.Poisson(rate=0.05),
    "capped poisson": hs.Poisson(rate=0.05, max_participations=3),
    "cyclic-poisson": hs.CyclicPoisson(rate=0.2, groups=4),
    "balls-in-bins": hs.BallsInBins(bins=20),
    "uneven bins": hs.BallsInBins(bins=15),
    "idle bins": hs.BallsInBins(bins=50),
    "one pick": hs.RandomAllocation(picks=1, out_of=20),
    "three picks": hs.RandomAllocation(picks=3, out_of=20),
    "truncated": hs.RandomAllocation(picks=1, out_of=50, truncate=True),
}
# `conditional` takes a second for each number, so it has a short run; others of it are in
# test_matrix_allocation.py.
SHORT = hs.BallsInBins(bins=2)
CASES = [
    pytest.param(
        scheme,
        method,
        id=f"{name}-{method}",
        marks=[
            *[pytest.mark.slow] * bool(METHODS[method].second_to),
            *[pytest.mark.long] * (name == "truncated" and method == "poisson-reduction"),
        ],
    )
    for (name, scheme), method in itertools.product(SCHEMES.items(), METHODS)
    if METHODS[method].objection(hs.Plan(sampling=scheme, steps=40)) is None
    and not METHODS[method].by_draws
    and method != "conditional"
]
CASES.append(pytest.param(SHORT, "conditional", id="two bins-conditional", marks=pytest.mark.slow))


def steps_of(scheme):
    """Of a small run; the longer ones of SHORT have several epochs."""
    return 2 if scheme is SHORT else 40


@cache
def epsilon_of(scheme, method, *, noise=1.0, times=1, direction="both", delta=1e-5):
    """Epsilon of a small run, or one that is several times as long."""
    plan = hs.Plan(sampling=scheme, steps=round(times * steps_of(scheme)))
    return hs.account(plan, noise_multiplier=noise, method=method, direction=direction).epsilon(
        delta
    )


@pytest.mark.parametrize(("scheme", "method"), CASES)
def test_more_noise_is_more_private(scheme, method):
    """Epsilon falls with the noise."""
    values = [epsilon_of(scheme, method, noise=noise) for noise in (0.6, 1.0, 4.0)]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1] > 0


@pytest.mark.parametrize(("scheme", "method"), CASES)
def test_more_steps_are_less_private(scheme, method):
    """Epsilon grows with the number of steps."""
    values = [epsilon_of(scheme, method, times=times) for times in (1, 2.5)]
    assert values == sorted(values)
    stops = scheme.most_participations(40) == scheme.most_participations(100)
    assert values[0] < values[-1] or (stops and method == "gaussian")


@pytest.mark.parametrize(("scheme", "method"), CASES)
def test_both_directions_are_covered(scheme, method):
    """The two-sided epsilon is the larger of the two directions, up to the accuracy."""
    both, add, remove = (
        epsilon_of(scheme, method, direction=direction) for direction in ("both", "add", "remove")
    )
    assert both == pytest.approx(max(add, remove), rel=1e-3)
    assert both >= max(add, remove) * (1 - 1e-3)


@pytest.mark.parametrize(("scheme", "method"), CASES)
@pytest.mark.parametrize("delta", thinned([1e-5, 1e-12, 1e-3], normal=1))
def test_delta_of_epsilon(scheme, method, delta):
    """A guarantee's delta at the epsilon of another one of the same run is at most that delta."""
    plan = hs.Plan(sampling=scheme, steps=steps_of(scheme))
    guarantee = hs.account(plan, noise_multiplier=1.0, method=method)
    assert guarantee.delta(epsilon_of(scheme, method, delta=delta)) <= delta * (1 + 1e-2)


@in_one_test
@pytest.mark.parametrize(("scheme", "method"), CASES)
def test_description(scheme, method):
    """A guarantee says what it is about."""
    plan = hs.Plan(sampling=scheme, steps=steps_of(scheme))
    guarantee = hs.account(plan, noise_multiplier=1.0, method=method)
    assert (guarantee.kind, guarantee.method) == (hs.methods(plan)[method], method)
    assert (guarantee.unit, guarantee.adjacency) == ("example", "zero-out / add-remove")
    assert guarantee.plans[0]["noise_multiplier"] == 1.0


@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param(
            scheme,
            id=name,
            marks=[
                *[pytest.mark.slow] * ("bins" in name),
                *[pytest.mark.long] * (name in ("uneven bins", "idle bins")),
            ],
        )
        for name, scheme in SCHEMES.items()
    ],
)
def test_methods_agree(scheme):
    """No proven upper bound lies below another method's proven lower bound."""
    plan = hs.Plan(sampling=scheme, steps=40)
    answers = [
        hs.account(plan, noise_multiplier=0.9, method=method).answer(delta=1e-6)
        for method, kind in hs.methods(plan).items()
        if kind == "proven"
    ]
    lowers = [answer.lower for answer in answers if answer.lower is not None]
    assert all(answer.value >= lower for answer in answers for lower in lowers)
    automatic = hs.account(plan, noise_multiplier=0.9).epsilon(1e-6)
    assert automatic <= min(answer.value for answer in answers) * (1 + 1e-3)


@in_one_test
@pytest.mark.parametrize(
    ("amplified", "plain"),
    [
        (hs.Poisson(rate=1.0), hs.FullBatch()),
        (hs.CyclicPoisson(rate=1.0, groups=1), hs.FullBatch()),
        (hs.CyclicPoisson(rate=0.05, groups=1), hs.Poisson(rate=0.05)),
        (hs.RandomAllocation(picks=1, out_of=1), hs.FullBatch()),
        (hs.BallsInBins(bins=1), hs.FullBatch()),
        (hs.BallsInBins(bins=40), hs.RandomAllocation(picks=1, out_of=40)),
        (hs.BallsInBins(bins=50), hs.RandomAllocation(picks=1, out_of=50, truncate=True)),
        (hs.RandomAllocation(picks=4, out_of=4), hs.FullBatch()),
        (hs.RandomAllocation(picks=7, out_of=7, truncate=True), hs.FullBatch()),
    ],
)
def test_special_cases_coincide(amplified, plain):
    """Schemes that describe the same batches have the same epsilon."""
    assert epsilon_of(amplified, "profile") == pytest.approx(epsilon_of(plain, "profile"), rel=1e-9)


def test_composition_of_runs_is_one_longer_run():
    """Two runs composed equal one run of both lengths, and the order does not matter."""
    scheme = hs.Poisson(rate=0.02)

    def run(steps):
        return hs.account(hs.Plan(sampling=scheme, steps=steps), noise_multiplier=1.1)

    whole = run(700).epsilon(1e-6)
    assert run(300).compose(run(400)).epsilon(1e-6) == whole
    assert run(400).compose(run(300)).epsilon(1e-6) == whole


def test_fifty_phases():
    """Fifty noise levels compose to an epsilon that brackets a published-grid PLD value."""
    step = hs.Poisson(rate=0.01)
    guarantee = None
    for i in range(50):
        run = hs.account(hs.Plan(sampling=step, steps=1000), noise_multiplier=0.8 + 0.03 * i)
        guarantee = run if guarantee is None else guarantee.compose(run)
    answer = guarantee.answer(delta=1e-6)
    # dp-accounting 0.6.0 (pessimistic, default grid) says 11.87281.
    assert answer.lower <= 11.87281
    assert answer.value >= answer.lower > 11.87281 * (1 - 1.1e-3)
    assert answer.value < 11.87281 * (1 + 1.1e-3)
    assert len(guarantee.plans) == 50
