"""How many steps of an expected schedule each filter allows, side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hockeystick import _validate as check
from hockeystick.errors import BudgetExceeded, HockeystickError, PrecisionError
from hockeystick.fdp.schedule import EqualSteps, profile_of
from hockeystick.filters.base import Filter
from hockeystick.filters.registry import registered
from hockeystick.filters.request import Expected, checked_expected
from hockeystick.guarantee import Kind
from hockeystick.profile.resolution import BOTH

__all__ = ["AllowedSteps", "allowed_steps"]

FIXED = "fixed in advance"
# More rounds of a schedule than this are not counted.
MOST_ROUNDS = 10**9
# Relative accuracy of the epsilon of the fixed schedule, and, as a fraction of 1, of the number of
# its rounds: a table shows no more.
ACCURACY, PARTS = 2e-3, 500


class AllowedSteps(NamedTuple):
    """The steps that one filter allows, or why it allows none.

    Attributes
    ----------
    filter : str
        Its name.
    kind : str
        How far its guarantee is established.
    steps : int or None
        None where the filter cannot be built for this target, or not charge these steps.
    note : str
        The reason, or what would allow more.
    """

    filter: str
    kind: Kind
    steps: int | None
    note: str = ""


class _Target(NamedTuple):
    """A schedule of steps, one round of it, within (epsilon, delta)."""

    epsilon: float
    delta: float
    expected: tuple[EqualSteps, ...]

    @property
    def steps(self) -> int:
        return sum(one.steps for one in self.expected)

    def smallest_round(self) -> _Target:
        """The same proportions in the fewest steps."""
        common = math.gcd(*(one.steps for one in self.expected))
        return self._replace(
            expected=tuple(one._replace(steps=one.steps // common) for one in self.expected)
        )


def allowed_steps(*, epsilon: float, delta: float, expected: Expected) -> list[AllowedSteps]:
    """Steps, in the expected proportions, that fit into (epsilon, delta).

    Every step is a request, as in training; where longer requests allow more steps, a note says how
    many. Whole rounds are counted: one step more, clipped to fit what is left, may follow. One
    row for each registered filter that can be built for such a target. The last row is
    the same schedule with its parameters fixed in advance, which no proven filter exceeds; it is no
    filter. The approximate filter is asymptotic and may exceed it: that is its error.

    Parameters
    ----------
    epsilon, delta
        The guarantee of the whole run.
    expected
        The steps (rate, noise_multiplier, steps) of one round, over and over; with a common factor
        of all numbers of steps left out.

    Returns
    -------
    list of AllowedSteps
        In the order in which filters were registered.

    Examples
    --------
    >>> from hockeystick.filters.comparison import allowed_steps
    >>> rows = allowed_steps(epsilon=1.0, delta=1e-5, expected=[(1.0, 20.0, 1)])
    >>> {row.filter: row.steps for row in rows}["Gaussian"]
    28
    """
    target = _Target(
        check.positive("epsilon", epsilon),
        check.small_probability("delta", delta),
        checked_expected(expected),
    )
    for one in target.expected:
        check.noise_scale("noise_multiplier in expected", one.noise_multiplier)
    rows = [_allowed(one, target) for one in registered() if issubclass(one, Filter)]
    found = [row for row in rows if row is not None]
    proven = [row.steps or 0 for row in found if row.kind == "proven"]
    once = target.smallest_round()
    return [*found, _fixed(once, known=max(proven, default=0) // once.steps)]


def _allowed(filter_class: type[Filter], target: _Target) -> AllowedSteps | None:
    """Of one filter; a step is requested once, because equal requests cost the same."""
    name, kind = filter_class.__name__, filter_class.kind
    try:
        budget = filter_class.for_target(**target._asdict())
    except HockeystickError as error:
        return AllowedSteps(name, kind, None, str(error))
    if budget is None:
        return None
    once = target.smallest_round()
    try:
        steps = _rounds(budget, once.expected, at_once=False) * once.steps
        if steps == 0:
            return AllowedSteps(name, kind, 0, "not a single round fits")
        blocks = _rounds(budget, target.expected, at_once=True) * target.steps
    except HockeystickError as error:
        return AllowedSteps(name, kind, None, str(error))
    return AllowedSteps(name, kind, steps, f"{blocks:,} in requests as given" * (blocks > steps))


def _rounds(budget: Filter, expected: Sequence[EqualSteps], *, at_once: bool) -> int:
    """How many rounds fit, each setting in one request or step by step."""
    counted = budget.rounds(expected)
    if counted is not None:
        return min(counted, MOST_ROUNDS)
    charge = 0.0
    for rate, noise, steps in expected:
        try:
            permit = budget.request(
                rate=rate, noise_multiplier=noise, steps=steps if at_once else 1, clip=False
            )
        except BudgetExceeded:
            return 0
        charge += permit.charge if at_once else steps * permit.charge
        permit.cancel()
    return min(math.floor(budget.budget / charge), MOST_ROUNDS)


def _fixed(target: _Target, *, known: int) -> AllowedSteps:
    """By the profile arithmetic, for rounds that are fixed beforehand.

    As many as a proven filter allows, `known`, fit without being accounted for.
    """

    def fits(rounds: int) -> bool:
        if rounds <= known:
            return True
        profile = profile_of(_repeated(target.expected, rounds))
        assert profile is not None
        try:
            found = profile.epsilon_bounds(target.delta, directions=BOTH, accuracy=ACCURACY)
        except PrecisionError as error:
            return error.upper <= target.epsilon
        return found.upper <= target.epsilon

    low, high = 0, 1
    while high <= MOST_ROUNDS and fits(high):
        low, high = high, 2 * high
    while high - low > max(1, low // PARTS):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return AllowedSteps(FIXED, "proven", low * target.steps, "not a filter")


def _repeated(schedule: Sequence[EqualSteps], rounds: int) -> list[EqualSteps]:
    return [one._replace(steps=rounds * one.steps) for one in schedule]
