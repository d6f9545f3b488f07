"""The residual filter: fixed compositions, given away in any order."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick._numerics.envelope import deltas
from hockeystick._numerics.law import Side
from hockeystick.errors import BudgetExceeded, InvalidParameter
from hockeystick.filters.residual.composition import StepClass, WhatMayFollow, covers, law_of
from hockeystick.filters.residual.decision import Menus
from hockeystick.filters.residual.menus import MenuState

EPSILON, DELTA = 2.0, 1e-5
SMALL = filters.MenuDesign(menus=[[(0.01, 0.9, 60), (0.01, 1.4, 200)]], exchanges=8, slack=1e-8)


def profile_of(counts: dict[tuple[float, float], int]) -> hs.Profile:
    """The composition of sampled Gaussians, by the profile arithmetic alone."""
    parts = [
        hs.Profile.gaussian(noise_multiplier=noise).subsample(rate).self_compose(count)
        for (rate, noise), count in counts.items()
        if count
    ]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.compose(part)
    return whole


def residual(**more: object) -> filters.Residual:
    """A filter with a small menu, built without a search."""
    return filters.Residual(epsilon=EPSILON, delta=DELTA, **{"design": SMALL, **more})


def permitted(f: filters.Filter, requests: object) -> int:
    """Steps until the first refusal."""
    count = 0
    for rate, noise in requests:
        try:
            f.request(rate=rate, noise_multiplier=noise, clip=False)
        except BudgetExceeded:
            break
        count += 1
    return count


def test_the_guarantee_is_that_of_the_menu() -> None:
    """Epsilon is that of the composition fixed in advance, both directions, and the slack."""
    claimed = residual().guarantee()
    exact = profile_of({(0.01, 0.9): 60, (0.01, 1.4): 200}).delta_bounds(
        0.5, directions=("remove", "add"), accuracy=5e-3
    )
    slack = SMALL.exchanges * SMALL.slack
    assert exact.lower + slack <= claimed.delta(0.5) <= 1.02 * exact.upper + slack
    assert claimed.epsilon(DELTA) <= EPSILON
    assert claimed.profile.delta(0.5) >= claimed.delta(0.5) * (1 - 1e-9)


def test_menus_add_up() -> None:
    """Two menus have the sum of their deltas: each may be the one that lasts longest."""
    two = filters.MenuDesign(menus=[[(0.01, 0.9, 60)], [(0.01, 1.4, 400)]])
    both = filters.Residual(epsilon=EPSILON, delta=DELTA, design=two).guarantee()
    alone = [
        filters.Residual(epsilon=EPSILON, delta=DELTA, design=filters.MenuDesign(menus=[menu]))
        for menu in two.menus
    ]
    for epsilon in (0.3, 1.0):
        total = sum(one.guarantee().delta(epsilon) for one in alone)
        assert math.isclose(both.delta(epsilon), total, rel_tol=1e-6)
    with pytest.raises(InvalidParameter, match="design"):
        filters.Residual(
            epsilon=0.5, delta=DELTA, design=filters.MenuDesign(menus=[[(0.01, 0.9, 600)]])
        )


def test_steps_are_served_by_what_dominates_them() -> None:
    """Whatever the order, a step takes the weakest class that has less noise and a larger rate."""
    f = residual(
        design=filters.MenuDesign(menus=[[(0.01, 0.9, 2), (0.01, 1.4, 2), (0.02, 2.0, 1)]])
    )
    f.request(rate=0.01, noise_multiplier=1.5)
    f.request(rate=0.015, noise_multiplier=3.0)
    f.request(rate=0.005, noise_multiplier=2.1, sensitivity=1.4)  # noise 1.5
    assert f.menus == [{(0.01, 0.9): 2}]
    f.request(rate=0.01, noise_multiplier=1.4, steps=2)
    with pytest.raises(BudgetExceeded, match="nothing is left"):
        f.request(rate=0.001, noise_multiplier=50.0)
    assert f.menus == [{}]


@pytest.mark.parametrize("noise", [math.nextafter(0.9, 0), 0.899999])
def test_less_noise_is_not_served(noise: float) -> None:
    """At the border of a class: one bit less noise than it has is refused without an exchange."""
    f = residual(design=filters.MenuDesign(menus=[[(0.01, 0.9, 2)]]))
    with pytest.raises(BudgetExceeded):
        f.request(rate=0.01, noise_multiplier=noise, clip=False)
    with pytest.raises(BudgetExceeded):
        f.request(rate=math.nextafter(0.01, 1), noise_multiplier=0.9, clip=False)
    assert f.history == ()
    f.request(rate=0.01, noise_multiplier=0.9, clip=False)


def test_the_last_steps_are_clipped() -> None:
    """A step that no class serves is clipped to one that does, and the record agrees."""
    f = residual(design=filters.MenuDesign(menus=[[(0.01, 1.4, 3)]]))
    permit = f.request(rate=0.01, noise_multiplier=0.7, steps=2)
    assert math.isclose(permit.clip_scale, 0.5, rel_tol=1e-12)
    assert permit.clip_scale <= 0.5
    assert permit.effective_noise_multiplier >= 1.4
    assert f.menus == [{(0.01, 1.4): 1}]
    with pytest.raises(BudgetExceeded):
        f.request(rate=0.01, noise_multiplier=0.7, steps=2)


@pytest.mark.parametrize(
    ("wanted", "steps"), [((0.01, 1.2), 1), ((0.01, 3.0), 5), ((0.004, 1.0), 1), ((0.02, 1.6), 1)]
)
def test_exchanges_are_dominated(wanted: tuple[float, float], steps: int) -> None:
    """What an exchange leaves, with what it gave, is below what there was, at every epsilon.

    On a finer grid than that of the exchange, in both directions, up to the slack.
    """
    states = [MenuState({StepClass(0.01, 0.9): 60, StepClass(0.01, 1.4): 200}, 8)]
    menus = Menus(slack=1e-8)
    states[0].counts[StepClass(0.01, 0.9)] = 40 if wanted[0] < 0.02 else 60
    before = dict(states[0].counts)
    changes = menus.for_steps(states, StepClass(*wanted), steps, clip=False)
    assert changes is not None
    assert changes.got[0]
    after = dict(before)
    for kind, count in changes.given[0].items():
        after[kind] -= count
    for kind, count in changes.got[0].items():
        assert kind.serves(*wanted)
        after[kind] = after.get(kind, 0) + count
    assert min(after.values()) >= 0
    lower = law_of(before, Side.LOWER, step=0.004, tail=1e-12)
    upper = law_of(after, Side.UPPER, step=0.004, tail=1e-12)
    losses = np.linspace(-1.5, 1.5, 61)
    assert np.all(deltas(upper, losses) <= deltas(lower, losses) + 1e-8)
    # By the profile arithmetic, refined by itself.
    for direction in ("remove", "add"):
        there, left = (
            profile_of({(*kind,): n for kind, n in counts.items()}).delta_bounds(
                0.3, directions=(direction,), accuracy=5e-3
            )
            for counts in (before, after)
        )
        assert left.lower <= there.upper + 1e-8


def test_the_comparison_refuses_what_is_larger() -> None:
    """`covers` needs every order: more variance is refused, and so are longer tails."""
    counts = {StepClass(0.01, 1.4): 100}
    follow = WhatMayFollow(counts, slack=1e-9)
    assert follow.allows({StepClass(0.01, 1.4): 97})
    assert not follow.allows({StepClass(0.01, 1.4): 101})
    # A third of the variance, but larger losses.
    assert not follow.allows({StepClass(0.01, 0.7): 5})
    laws = {
        count: law_of({StepClass(0.01, 1.4): count}, Side.UPPER, step=0.01, tail=1e-12)
        for count in (100, 101)
    }
    assert covers(laws[101], laws[100], 1e-7)
    assert not covers(laws[100], laws[101], 1e-9)


def test_nothing_is_exchanged_beyond_the_number() -> None:
    """Every exchange adds its slack to delta, so there are no more than the design says."""
    f = residual(design=filters.MenuDesign(menus=[[(0.01, 1.0, 300)]], exchanges=2, slack=1e-8))
    for rate, noise in ((0.01, 2.0), (0.02, 3.0)):
        f.request(rate=rate, noise_multiplier=noise, clip=False)
        assert "got" in f.history[-1].request
    with pytest.raises(BudgetExceeded):
        f.request(rate=0.04, noise_multiplier=5.0, clip=False)
    # Steps that something serves take it.
    f.request(rate=0.01, noise_multiplier=1.0)
    assert "got" not in f.history[-1].request
    assert len(f.history) == 3


def test_the_weakest_steps_serve_weaker_ones() -> None:
    """Without an exchange, which would take strong steps for them; others are exchanged for."""
    menu = [(0.05, 1.5, 50), (0.01, 1.5, 20)]
    f = residual(design=filters.MenuDesign(menus=[menu], exchanges=2, slack=1e-8))
    for _ in range(20):
        f.request(rate=0.002, noise_multiplier=1.5)
    assert f.menus == [{(0.05, 1.5): 50}]
    f.request(rate=0.002, noise_multiplier=1.5)
    assert f.menus[0][0.05, 1.5] < 50
    assert f.menus[0][0.002, 1.5] > 1


def test_a_mechanism_is_paid_for_as_a_whole() -> None:
    """A profile takes a part of the menu that dominates it; what is too much is refused."""
    f = residual()
    mechanism = hs.Profile.gaussian(noise_multiplier=2.0).subsample(0.02)
    permit = f.request(profile=mechanism, steps=2)
    left = f.menus[0]
    had = profile_of({(0.01, 0.9): 60, (0.01, 1.4): 200})
    has = profile_of(left).compose(mechanism.self_compose(2))
    there, after = (
        one.delta_bounds(0.3, directions=("remove", "add"), accuracy=5e-3) for one in (had, has)
    )
    assert after.lower <= there.upper + 1e-8
    permit.cancel()
    assert f.menus[0] == {(0.01, 0.9): 60, (0.01, 1.4): 200}
    with pytest.raises(BudgetExceeded):
        f.request(profile=hs.Profile.gaussian(noise_multiplier=0.5))


def test_the_state_survives(tmp_path: Path) -> None:
    """A second process sees every request, exchange and cancellation; interrupted permits count."""
    where = {"ledger": tmp_path / "budget.db", "name": "run"}
    first = residual(**where)
    first.request(rate=0.01, noise_multiplier=2.0).commit()  # by an exchange
    first.request(rate=0.01, noise_multiplier=0.9, steps=3)  # never committed
    cancelled = first.request(rate=0.01, noise_multiplier=0.9, steps=2)
    second = filters.join(**where)
    assert isinstance(second, filters.Residual)
    assert second.menus == first.menus
    assert second.spent == first.spent
    cancelled.cancel()
    assert second.menus[0][0.01, 0.9] == first.menus[0][0.01, 0.9]
    second.request(rate=0.01, noise_multiplier=1.4).commit()
    before = dict(first.menus[0])
    first.request(rate=0.01, noise_multiplier=1.4).commit()
    assert first.menus[0][0.01, 1.4] == before[0.01, 1.4] - 1
    assert residual(**where).menus == second.menus


def test_a_menu_that_cannot_pay_ends() -> None:
    """It is not revived by a later step, nor by a cancellation; the others go on."""
    design = filters.MenuDesign(menus=[[(0.01, 0.9, 5)], [(0.01, 1.4, 50)]])
    f = residual(design=design)
    f.request(rate=0.01, noise_multiplier=0.9).cancel()  # the second menu cannot pay for it
    assert f.menus == [{(0.01, 0.9): 5}, {}]
    assert permitted(f, [(0.01, 1.4)] * 50) == 5
    g = residual(design=design)
    assert permitted(g, [(0.01, 1.4)] * 90) == 50


def test_a_range_is_served() -> None:
    """Full batches with noise anywhere in [40, 80]: 85 % of what is fixed in advance, any order.

    And half of what steps of one kind alone would be.
    """
    f = filters.Residual(epsilon=1.0, delta=1e-5, expected=[(1.0, (40.0, 80.0), 1)])
    budget = filters.Levy(epsilon=1.0, delta=1e-5).budget  # largest sum of 1/noise^2
    steps = int(budget / np.mean(1 / np.linspace(40, 80, 400) ** 2))
    noises = 40 + 40 * (np.arange(steps) + 0.5) / steps
    shuffled = np.random.default_rng(1).permutation(noises)
    for order in (noises, noises[::-1], shuffled):
        g = filters.Residual(epsilon=1.0, delta=1e-5, design=f.design)
        assert permitted(g, [(1.0, noise) for noise in order]) >= 0.85 * steps
    for noise in (44.0, 76.0):
        g = filters.Residual(epsilon=1.0, delta=1e-5, design=f.design)
        alone = budget * noise**2
        assert permitted(g, [(1.0, noise)] * int(alone)) >= 0.5 * alone


def test_exceptions_are_clipped() -> None:
    """A step that was expected, and a little stronger than what is left, is clipped by as little.

    Others are exchanged for it if it may not be clipped, was not expected, or comes all the time.
    """
    menu = [(0.01, 0.9, 1), *((0.01, 0.92 + 0.02 * k, 16) for k in range(4))]
    f = residual(design=filters.MenuDesign(menus=[menu], exchanges=90, slack=1e-9))
    assert f.request(rate=0.01, noise_multiplier=0.9).clip_scale == 1.0
    permit = f.request(rate=0.01, noise_multiplier=0.9)
    assert 0.978 < permit.clip_scale <= 0.9 / 0.92
    assert f.menus[0][0.01, 0.92] == 15
    assert f.request(rate=0.01, noise_multiplier=0.9, clip=False).clip_scale == 1.0
    assert f.request(rate=0.01, noise_multiplier=0.89).clip_scale == 1.0
    again = [f.request(rate=0.01, noise_multiplier=0.895).clip_scale for _ in range(4)]
    assert max(again[:3]) < 1.0 == again[3]


def test_rounded_requests_are_announced() -> None:
    """A range with a step: every value has its own class, and any order of them is served.

    Without the step the strongest values find nothing, and the refusal says what to announce.
    """
    made = {"epsilon": 1.0, "delta": 1e-5}
    f = filters.Residual(**made, expected=[(1.0, (40.0, 80.0, 2.0), 1)])
    values = [40.0 + 2 * k for k in range(21)]
    assert {noise for _, noise in f.menus[0]} <= set(values)
    steps = f.design.steps
    requests = [(1.0, values[int((k + 0.5) / steps * 21)]) for k in range(steps)]
    for order in (requests, requests[::-1]):
        g = filters.Residual(**made, design=f.design)
        assert permitted(g, order) == steps
    plain = filters.MenuDesign(menus=[[(1.0, noise + 0.01, 2) for noise in values]])
    with pytest.raises(BudgetExceeded, match=r"announce \(low, high, step\)"):
        filters.Residual(**made, design=plain).request(noise_multiplier=40.0, clip=False)


@pytest.mark.parametrize(
    "expected",
    [
        [(0.01, (1.0, 2.0, 0.0), 1)],
        [(0.01, (1.0, 2.0, 1e-6), 1)],
        [(0.01, (1.0, 2.0, math.nan), 1)],
        [(0.01, (2.0, 1.0), 1)],
        [(0.01, (1.0, 2.0, 3.0, 4.0), 1)],
        [(0.01, (1.0, math.nan), 1)],
        [((0.0, 0.1), 1.0, 1)],
        [(0.01, 1.0)],
        "abc",
        [],
    ],
)
def test_ranges_are_checked(expected: object) -> None:
    """The smaller end first, two ends, numbers."""
    with pytest.raises(InvalidParameter):
        filters.Residual(epsilon=1.0, delta=1e-5, expected=expected)


@pytest.mark.parametrize(
    "menus", [[], [[]], [[(0.01, 1.0, 0)]], [[(0.01, math.nan, 3)]], [[(2.0, 1.0, 3)]], [3]]
)
def test_designs_are_checked(menus: object) -> None:
    """Menus are lists of classes with a rate, a noise and a number of steps."""
    with pytest.raises(InvalidParameter):
        filters.MenuDesign(menus=menus)


def test_a_description_builds_the_same_filter() -> None:
    """With the design to the last digit."""
    again = filters.from_description(residual().describe())
    assert isinstance(again, filters.Residual)
    assert again.design == SMALL
    assert filters.MenuDesign.from_text(SMALL.as_text()) == SMALL
    with pytest.raises(InvalidParameter):
        filters.MenuDesign.from_text('{"menus": 3}')
