"""How many steps of an expected schedule each filter would allow, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.search import bracket
from hockeystick.errors import BudgetExceeded, HockeystickError, InvalidParameter, PrecisionError
from hockeystick.fdp.realised import profile_of
from hockeystick.fdp.schedules import Stretch
from hockeystick.filters.approximate_gaussian import ApproximateGaussian
from hockeystick.filters.base import Filter
from hockeystick.filters.gaussian import Gaussian
from hockeystick.filters.levy.filter import Levy
from hockeystick.filters.renyi.charge import budget_at_order, prices
from hockeystick.filters.renyi.filter import Renyi
from hockeystick.filters.renyi.orders import order_of_smallest
from hockeystick.guarantee import Kind
from hockeystick.profile import Profile
from hockeystick.profile.refinement import BOTH

__all__ = ["Allowance", "allowances"]

FIXED = "fixed in advance"
# More rounds of a schedule than this are not counted.
MOST_ROUNDS = 10**9
ACCURACY = 2e-3
# Which regime of the approximate filter is tried.
HALF = 0.5


class Allowance(NamedTuple):
    """The steps that one filter allows, or why it allows none; `filter` is its name."""

    filter: str
    kind: Kind
    steps: int | None
    note: str = ""


class _Expected(NamedTuple):
    """A round of the schedule, over and over, within (epsilon, delta)."""

    epsilon: float
    delta: float
    rate: float
    noise_multipliers: tuple[float, ...]
    block: int

    @property
    def round_length(self) -> int:
        return self.block * len(self.noise_multipliers)


def allowances(
    *,
    epsilon: float,
    delta: float,
    rate: float,
    noise_multipliers: Sequence[float],
    block: int = 1,
) -> list[Allowance]:
    """Whole rounds of blocks, each noise multiplier in turn, that fit into (epsilon, delta).

    The last row is the same schedule with its parameters fixed in advance, which no filter exceeds;
    it is no filter. The approximate filter is asymptotic and may exceed it: that is its error.
    """
    expected = _Expected(
        check.positive("epsilon", epsilon),
        check.small_probability("delta", delta),
        check.sampling_rate("rate", rate),
        tuple(check.noise_scale("noise_multiplier", noise) for noise in noise_multipliers),
        check.positive_integer("block", block),
    )
    if not expected.noise_multipliers:
        raise InvalidParameter("noise_multipliers", "one or more", noise_multipliers)
    found = [_allowed(name, make, expected) for name, make in FILTERS.items()]
    steps = [one.steps or 0 for one in found if one.kind == "proven"]
    return [*found, _fixed(expected, known=max(steps) // expected.round_length)]


def _allowed(name: str, make: Callable[[_Expected], Filter], expected: _Expected) -> Allowance:
    """Of one filter; a round is priced once, because equal requests cost the same."""
    kind = KINDS[name]
    try:
        budget = make(expected)
    except HockeystickError as error:
        return Allowance(name, kind, None, str(error))
    try:
        for noise in expected.noise_multipliers:
            budget.request(
                rate=expected.rate, noise_multiplier=noise, steps=expected.block, clip=False
            )
    except BudgetExceeded:
        return Allowance(name, kind, 0, "not a single round fits")
    except HockeystickError as error:
        return Allowance(name, kind, None, str(error))
    rounds = min(math.floor(budget.budget / budget.spent), MOST_ROUNDS)
    return Allowance(name, kind, rounds * expected.round_length)


def _fixed(expected: _Expected, *, known: int) -> Allowance:
    """By the profile arithmetic, for rounds that are fixed beforehand.

    So many as a proven filter allows, `known`, fit without being priced.
    """

    def fits(rounds: int) -> bool:
        if rounds <= known:
            return True
        schedule = [
            Stretch(expected.rate, noise, rounds * expected.block)
            for noise in expected.noise_multipliers
        ]
        profile = profile_of(schedule)
        assert profile is not None
        try:
            found = profile.epsilon_bounds(expected.delta, directions=BOTH, accuracy=ACCURACY)
        except PrecisionError as error:
            return error.upper <= expected.epsilon
        return found.upper <= expected.epsilon

    low, high = 0, 1
    while high <= MOST_ROUNDS and fits(high):
        low, high = high, 2 * high
    while high - low > max(1, low // 500):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return Allowance(FIXED, "proven", low * expected.round_length, "not a filter")


def _mu(expected: _Expected) -> float:
    """The Gaussian mechanism that is (epsilon, delta)-DP, and not less private."""

    def fits(noise: float) -> bool:
        return Profile.gaussian(noise_multiplier=noise).epsilon(expected.delta) <= expected.epsilon

    high = 1.0
    while not fits(high):
        high *= 2
    low = high / 2
    while fits(low):
        low, high = low / 2, low
    return 1 / bracket(fits, low, high, tolerance=1e-6)[1]


def _order(expected: _Expected) -> float:
    """The Renyi order at which a round costs the smallest share of the budget."""
    squares = np.array([noise**-2.0 for noise in expected.noise_multipliers])

    def share(order: float) -> float:
        budget = budget_at_order(order, expected.epsilon, expected.delta)
        total = float(prices(order, expected.rate, squares).sum())
        return total / budget if budget > 0 else math.inf

    return order_of_smallest(share)


FILTERS: dict[str, Callable[[_Expected], Filter]] = {
    "Gaussian": lambda one: Gaussian(mu=_mu(one)),
    "Renyi": lambda one: Renyi(
        epsilon=one.epsilon,
        delta=one.delta,
        order=_order(one),
    ),
    "Levy": lambda one: Levy(
        epsilon=one.epsilon,
        delta=one.delta,
        rates=one.rate,
        noise_multipliers=one.noise_multipliers,
        steps=one.block,
    ),
    "ApproximateGaussian": lambda one: ApproximateGaussian(
        mu=_mu(one), regime="small" if one.rate < HALF else "large"
    ),
}
KINDS: dict[str, Kind] = {
    "Gaussian": Gaussian.kind,
    "Renyi": Renyi.kind,
    "Levy": Levy.kind,
    "ApproximateGaussian": ApproximateGaussian.kind,
}
