"""Every adaptive strategy that a filter permits, on mechanisms with a few outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import filters
from hockeystick.errors import BudgetExceeded
from references.worst_rules import Pair, binned, both_directions, worst_height

Ask = Callable[[filters.Filter, int], object]


def worst_delta(
    pairs: Sequence[Pair],
    *,
    make: Callable[[], filters.Filter],
    ask: Ask,
    epsilon: float,
    longest: int,
) -> float:
    """The height of the worst rule, which may choose any mechanism that is still permitted."""

    def after(chosen: tuple[int, ...]) -> Pair | None:
        f = make()
        try:
            for index in chosen:
                ask(f, index)
        except BudgetExceeded:
            return None
        return pairs[chosen[-1]]

    return worst_height(after, choices=len(pairs), epsilon=epsilon, longest=longest)


DISCRETE: list[Pair] = [
    (np.array([0.6, 0.4]), np.array([0.4, 0.6])),
    (np.array([0.1, 0.9]), np.array([0.01, 0.99])),
    (np.array([0.5, 0.3, 0.2]), np.array([0.25, 0.35, 0.4])),
]


@pytest.mark.parametrize(
    ("order", "epsilon"), [(2.5, 1.5), (3.0, 1.0), (3.5, 1.0), (6.0, 0.5), (6.0, 1.0)]
)
def test_renyi_holds(order: float, epsilon: float) -> None:
    """No strategy exceeds delta, in either direction, and the worst one is not far below it."""
    delta = 0.1
    found = []
    for pairs in both_directions(DISCRETE):
        profiles = [hs.Profile.from_pmfs(p, q) for p, q in pairs]
        found.append(
            worst_delta(
                pairs,
                make=lambda: filters.Renyi(epsilon=epsilon, delta=delta, order=order),
                ask=lambda f, index, known=profiles: f.request(profile=known[index]),
                epsilon=epsilon,
                longest=6,
            )
        )
    assert max(found) <= delta
    assert max(found) >= 0.1 * delta


NOISE = (1.1, 1.7, 3.0)


@pytest.mark.parametrize("epsilon", [0.0, 0.7, 1.5])
def test_gaussian_holds(epsilon: float) -> None:
    """No strategy over binned Gaussians exceeds the profile of the budget, which is nearly reached.

    Half the budget would not cover them.
    """
    mu = 1.2
    pairs = [binned(1 / noise, (0.5 / noise - 0.8, 0.5 / noise + 0.8)) for noise in NOISE]
    limit = hs.Profile.gaussian(noise_multiplier=1 / mu).delta(epsilon)
    half = hs.Profile.gaussian(noise_multiplier=2 / mu).delta(epsilon)
    for members in both_directions(pairs):
        found = worst_delta(
            members[:2],
            make=lambda: filters.Gaussian(mu=mu),
            ask=lambda f, index: f.request(noise_multiplier=NOISE[index], clip=False),
            epsilon=epsilon,
            longest=4,
        )
        assert half < found <= limit


def sampled(rate: float, noise: float) -> Pair:
    """Three bins of a sampled Gaussian."""
    return binned(1 / noise, (0.5 / noise - 0.5, 0.5 / noise + 1.0), rate)


KINDS = ((0.5, 0.8), (0.5, 1.5), (0.3, 1.0))
TWO_MENUS = filters.MenuDesign(menus=[[(0.5, 0.8, 1), (0.5, 1.5, 2)], [(0.5, 1.5, 4)]])
EXCHANGED = filters.MenuDesign(menus=[[(0.5, 0.8, 2)]], exchanges=1, slack=1e-3)


@pytest.mark.parametrize(("design", "longest"), [(TWO_MENUS, 4), (EXCHANGED, 4)])
def test_residual_holds(design: filters.MenuDesign, longest: int) -> None:
    """No strategy over sampled Gaussians in bins exceeds the sum of the menus, nor is far below.

    Requests are served by stronger classes and by exchanges, and one menu outlives the other.
    """
    pairs = [sampled(*kind) for kind in KINDS]
    make = lambda: filters.Residual(epsilon=0.4, delta=0.7, design=design)  # noqa: E731
    claim = make().guarantee().delta(0.4)
    used = KINDS if design is TWO_MENUS else KINDS[:2]
    found = [
        worst_delta(
            members[: len(used)],
            make=make,
            ask=lambda f, index: f.request(
                rate=used[index][0], noise_multiplier=used[index][1], clip=False
            ),
            epsilon=0.4,
            longest=longest,
        )
        for members in both_directions(pairs)
    ]
    assert 0.3 * claim < max(found) <= claim


@pytest.mark.parametrize(
    ("menu", "wanted", "left"),
    [((0.5, 1.5, 4), 1.3, {(0.5, 1.5): 2}), ((0.5, 1.5, 4), 1.38, {(0.5, 1.5): 2})],
)
def test_copies_hold(
    menu: tuple[float, float, int], wanted: float, left: dict[tuple[float, float], int]
) -> None:
    """Two weaker steps in the place of a stronger one: no strategy exceeds the claim."""
    design = filters.MenuDesign(menus=[[menu]], exchanges=2, slack=1e-3)
    kinds = ((0.5, wanted), *left)
    make = lambda: filters.Residual(epsilon=0.4, delta=0.7, design=design)  # noqa: E731
    f = make()
    f.request(rate=0.5, noise_multiplier=wanted, clip=False)
    assert f.menus[0] == left
    claim = f.guarantee().delta(0.4)
    found = [
        worst_delta(
            members,
            make=make,
            ask=lambda f, index: f.request(
                rate=kinds[index][0], noise_multiplier=kinds[index][1], clip=False
            ),
            epsilon=0.4,
            longest=5,
        )
        for members in both_directions([sampled(*kind) for kind in kinds])
    ]
    assert 0.3 * claim < max(found) <= claim


def test_several_orders_hold() -> None:
    """No strategy exceeds delta, although each order alone would have stopped some runs earlier."""
    delta, orders = 0.1, [(2.5, 0.5), (6.0, 0.5)]
    found, longer = [], False
    for pairs in both_directions(DISCRETE):
        profiles = [hs.Profile.from_pmfs(p, q) for p, q in pairs]
        found.append(
            worst_delta(
                pairs,
                make=lambda: filters.RenyiOrders(epsilon=1.0, delta=delta, orders=orders),
                ask=lambda f, index, known=profiles: f.request(profile=known[index]),
                epsilon=1.0,
                longest=6,
            )
        )
        for index, profile in enumerate(profiles):
            alone = [
                _steps(filters.Renyi(epsilon=1.0, delta=0.5 * delta, order=order), profile)
                for order, _ in orders
            ]
            both = _steps(filters.RenyiOrders(epsilon=1.0, delta=delta, orders=orders), profile)
            assert both == max(alone), index
            longer = longer or min(alone) < both
    assert longer
    assert 0.1 * delta < max(found) <= delta


def _steps(f: filters.Filter, profile: hs.Profile) -> int:
    for count in range(100):
        try:
            f.request(profile=profile)
        except BudgetExceeded:
            return count
    raise AssertionError


def worst_odometer(pairs: Sequence[Pair], profiles: Sequence[hs.Profile], longest: int) -> float:
    """max over rules that choose and stop of sum over outputs of (P - e^(epsilon then) Q)+."""

    def epsilon(chosen: tuple[int, ...]) -> float:
        odometer = filters.Odometer(delta=0.1)
        for index in chosen:
            odometer.request(profile=profiles[index])
        return odometer.epsilon

    return worst_height(
        lambda chosen: pairs[chosen[-1]],
        choices=len(pairs),
        epsilon=epsilon,
        longest=longest,
        exhaustive=False,
    )


def test_the_odometer_holds() -> None:
    """Whatever is chosen and whenever it stops, P(E) - E_Q[1_E e^epsilon] is at most delta."""
    found = []
    for pairs in both_directions(DISCRETE):
        profiles = [hs.Profile.from_pmfs(p, q) for p, q in pairs]
        found.append(worst_odometer(pairs[:2], profiles[:2], longest=5))
    assert 0.001 < max(found) <= 0.1
