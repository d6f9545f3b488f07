"""Which proven methods apply to b-min-sep sampling, and where they are other schemes'."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.errors import UnsupportedPlan
from hockeystick.schemes import ConjecturedUserMinSep, MinSep, UserMinSep
from in_one_test import in_one_test


def account(plan, noise, **options):
    """The guarantee at one noise multiplier."""
    return hs.account(plan, noise_multiplier=noise, **options)


def proven(plan):
    """The names of the proven methods."""
    return [name for name, kind in hs.methods(plan).items() if kind == "proven"]


# -- gaussian -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", [UserMinSep, ConjecturedUserMinSep])
@pytest.mark.parametrize(("most", "expected"), [(None, 4), (2, 2)])
def test_gaussian_of_users(scheme, most, expected):
    """Three examples at once, as often as the separation allows or until the user stops."""
    sampling = scheme(rate=0.1, separation=5, examples_per_user=3, max_participations=most)
    guarantee = account(hs.Plan(sampling=sampling, steps=20), 4.0, method="gaussian")
    known = hs.Profile.gaussian(noise_multiplier=4.0 / (3 * math.sqrt(expected)))
    assert guarantee.epsilon(1e-6) == pytest.approx(known.epsilon(1e-6), rel=1e-9)
    assert (guarantee.unit, guarantee.kind) == ("user", "proven")
    assert guarantee.answer(delta=1e-6).lower is None


def test_gaussian_of_examples():
    """The sensitivity of the strategy for the separation; the unit is an example."""
    strategy = strategies.bsr(40, bands=8)
    plan = hs.Plan(sampling=MinSep(rate=0.1, separation=5), steps=40, strategy=strategy)
    guarantee = account(plan, 3.0, method="gaussian")
    known = hs.Profile.gaussian(noise_multiplier=3.0 / strategy.sensitivity(separation=5))
    assert guarantee.epsilon(1e-6) == pytest.approx(known.epsilon(1e-6), rel=1e-9)
    assert guarantee.unit == "example"


def test_gaussian_is_exact_only_for_what_happens():
    """At rate 1 all begin at the first step; a worse pattern elsewhere is only a bound."""
    cold = MinSep(rate=1.0, separation=2, warm_start=False)
    first, last = (
        strategies.from_matrix(np.diag(diagonal)) for diagonal in ([2.0, 1.0], [1.0, 2.0])
    )
    lowers = [
        account(hs.Plan(sampling=cold, steps=2, strategy=strategy), 1.0, method="gaussian")
        .answer(delta=1e-5)
        .lower
        for strategy in (first, last)
    ]
    assert lowers[0] > 0
    assert lowers[1] is None
    blocked = UserMinSep(rate=1.0, separation=2, examples_per_user=1, warm_up=3)
    answer = account(hs.Plan(sampling=blocked, steps=4), 1.0, method="gaussian").answer(delta=1e-5)
    assert answer.lower is None


# -- profile ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheme", "same"),
    [
        (MinSep(rate=0.1, separation=1), hs.Poisson(rate=0.1)),
        (MinSep(rate=0.1, separation=1, warm_start=False), hs.Poisson(rate=0.1)),
        (
            MinSep(rate=0.1, separation=1, max_participations=2),
            hs.Poisson(rate=0.1, max_participations=2),
        ),
        (MinSep(rate=1.0, separation=6), hs.BallsInBins(bins=6)),
        (MinSep(rate=1.0, separation=30), hs.BallsInBins(bins=30)),
        (
            MinSep(rate=1.0, separation=6, warm_start=False),
            hs.CyclicPoisson(rate=1.0, groups=6),
        ),
    ],
)
def test_schemes_under_another_name(scheme, same):
    """The same profile, and the same claim to be exact."""
    answers = [
        account(hs.Plan(sampling=sampling, steps=20), 0.9, method="profile").answer(delta=1e-6)
        for sampling in (scheme, same)
    ]
    assert answers[0].value == pytest.approx(answers[1].value, rel=1e-9)
    assert (answers[0].lower is None) == (answers[1].lower is None)


def test_stopping_is_only_a_bound():
    """Bins go on where an example with a limit stops: the number is kept, its lower bound not."""
    plan = hs.Plan(sampling=MinSep(rate=1.0, separation=6, max_participations=1), steps=20)
    free = hs.Plan(sampling=MinSep(rate=1.0, separation=6), steps=20)
    stopped, going = (account(p, 0.9, method="profile").answer(delta=1e-6) for p in (plan, free))
    assert stopped.value == going.value
    assert stopped.lower is None
    assert going.lower is not None


def test_cold_turns_of_unlike_columns_are_only_a_bound():
    """The first group need not be the worst one."""
    plan = hs.Plan(
        sampling=MinSep(rate=1.0, separation=2, warm_start=False),
        steps=2,
        strategy=strategies.from_matrix(np.diag([1.0, 2.0])),
    )
    assert account(plan, 1.0, method="profile").answer(delta=1e-5).lower is None


@pytest.mark.parametrize("groups", [1, 4])
def test_secret_groups(groups):
    """The pair of public groups, which is a bound unless there is one group."""
    answers = [
        account(
            hs.Plan(
                sampling=hs.CyclicPoisson(rate=0.2, groups=groups, random_phase=secret), steps=40
            ),
            1.0,
            method="profile",
        ).answer(delta=1e-6)
        for secret in (True, False)
    ]
    assert answers[0].value == answers[1].value
    assert (answers[0].lower is None) == (groups > 1)


# -- which methods apply ------------------------------------------------------------------------

BANDED = strategies.bsr(20, bands=4)


@in_one_test
@pytest.mark.parametrize(
    ("scheme", "strategy", "expected"),
    [
        (MinSep(rate=0.1, separation=4), BANDED, ["gaussian", "renyi", "poisson-reduction"]),
        (MinSep(rate=0.1, separation=3), BANDED, ["gaussian", "poisson-reduction"]),
        (MinSep(rate=0.1, separation=3), None, ["gaussian", "renyi", "poisson-reduction"]),
        (
            MinSep(rate=0.1, separation=1),
            None,
            ["gaussian", "profile", "renyi", "poisson-reduction"],
        ),
        (MinSep(rate=0.1, separation=1), BANDED, ["gaussian", "poisson-reduction"]),
        (
            UserMinSep(rate=0.1, separation=1, examples_per_user=2),
            None,
            ["gaussian", "profile", "renyi", "poisson-reduction"],
        ),
        (
            UserMinSep(rate=0.1, separation=1, examples_per_user=2),
            BANDED,
            ["gaussian", "poisson-reduction"],
        ),
        (
            UserMinSep(rate=0.1, separation=4, examples_per_user=2),
            BANDED,
            ["gaussian", "poisson-reduction"],
        ),
        (
            ConjecturedUserMinSep(rate=0.1, separation=4, examples_per_user=2),
            BANDED,
            ["gaussian", "poisson-reduction"],
        ),
    ],
)
def test_applicable_methods(scheme, strategy, expected):
    """By scheme and strategy, all proven; the law of participation where columns do not meet."""
    plan = hs.Plan(sampling=scheme, steps=20, strategy=strategy)
    if plan.strategy.bands <= scheme.separation:
        expected = [expected[0], "known-participation", *expected[1:]]
    assert proven(plan) == expected


@pytest.mark.parametrize(
    ("scheme", "method", "reason"),
    [
        (
            MinSep(rate=0.1, separation=3),
            "renyi",
            "at most separation=3 bands, this strategy has 4",
        ),
        (MinSep(rate=0.1, separation=3), "profile", "unless separation or rate is 1"),
        (
            UserMinSep(rate=0.1, separation=4, examples_per_user=2),
            "profile",
            "unless separation is 1",
        ),
        (
            UserMinSep(rate=0.1, separation=4, examples_per_user=2),
            "renyi",
            "unless separation is 1",
        ),
        (
            UserMinSep(rate=0.1, separation=1, examples_per_user=2),
            "profile",
            "user-min-sep with correlated noise",
        ),
        (
            ConjecturedUserMinSep(rate=0.1, separation=4, examples_per_user=2),
            "renyi",
            "conjectured-user-min-sep",
        ),
    ],
)
def test_objections(scheme, method, reason):
    """What does not apply says why, and what does."""
    plan = hs.Plan(sampling=scheme, steps=20, strategy=BANDED)
    with pytest.raises(UnsupportedPlan, match=reason):
        account(plan, 1.0, method=method)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.8, 12.0])
def test_auto_takes_the_best(noise):
    """The smallest of all proven numbers: moments at low noise, independent draws at high noise."""
    strategy = strategies.bsr(300, bands=4)
    plan = hs.Plan(sampling=MinSep(rate=0.01, separation=4), steps=300, strategy=strategy)
    values = {
        method: account(plan, noise, method=method, budget=1e7).epsilon(1e-5)
        for method in proven(plan)
    }
    automatic = account(plan, noise, budget=1e7).answer(delta=1e-5)
    assert automatic.value == pytest.approx(min(values.values()), rel=1e-3)
    assert automatic.method == ("renyi" if noise < 1 else "poisson-reduction")
    assert automatic.value < values["gaussian"] / 3
