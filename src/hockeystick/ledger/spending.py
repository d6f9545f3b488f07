"""What is spent and what is left of a budget, as epsilons beside its own unit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from hockeystick.errors import PrecisionError
from hockeystick.fdp.schedule import EqualSteps, merged, profile_of, recorded_steps
from hockeystick.ledger.records import BudgetRecord
from hockeystick.profile import Profile
from hockeystick.profile.resolution import BOTH

__all__ = ["Spending", "epsilon_of_steps", "spending_of", "spending_of_entries"]

# Of the epsilon of steps that were not fixed in advance: a diagnostic needs no more.
ACCURACY = 1e-2
# More steps than this are not counted. A last step that lacks less than this share, because charges
# are rounded up, is counted: it is clipped by as little.
MOST_STEPS, ROUNDED_UP = 10**9, 1e-9


class Spending(NamedTuple):
    """What was spent of a budget and what is left of it, as epsilons at one delta.

    Epsilons do not add up, and only the guarantee of the whole budget holds for steps that were
    chosen while the run went on. `spent` and `left` are therefore diagnostics with a definition:
    the epsilon of the steps so far, had they been fixed in advance, and by how much it would grow
    if all that is left went into steps like the latest one.

    Attributes
    ----------
    delta : float
        That of the budget, or as given.
    epsilon : float
        The guarantee of the whole budget at this delta.
    spent : float or None
        Epsilon of the steps so far, had they been fixed in advance; None if some are not known.
    left : float or None
        How much more it would be after `steps_left` further steps; the whole epsilon where nothing
        is spent, and 0 where nothing is left.
    steps_left : int or None
        Steps like the latest one that still fit; None before the first.
    """

    delta: float
    epsilon: float
    spent: float | None
    left: float | None
    steps_left: int | None


class _Spent(Protocol):
    """A reservation, in memory or read from a ledger."""

    @property
    def charge(self) -> float: ...

    @property
    def request(self) -> Mapping[str, object]: ...

    @property
    def status(self) -> str: ...


def spending_of(record: BudgetRecord, *, delta: float | None = None) -> Spending | None:
    """Of a budget in a ledger, at its own delta, or at the given one where it has none.

    Parameters
    ----------
    record
        What `read_ledger` gave.
    delta
        For budgets that stand for mu.

    Returns
    -------
    Spending or None
        None where neither the caller nor the budget has a delta, or the budget no guarantee.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.filters.Gaussian(mu=1.0, ledger="budget.db", name="survey")
    >>> f.request(noise_multiplier=2.0).commit()
    >>> (record,) = hs.ledger.read_ledger("budget.db")
    >>> found = hs.ledger.spending_of(record, delta=1e-5)
    >>> round(found.spent, 2), round(found.left, 2), found.steps_left, round(found.epsilon, 2)
    (1.99, 2.38, 3, 4.38)
    """
    at = record.guarantee.get("delta", delta)
    whole = _whole(record.guarantee, at)
    if at is None or whole is None:
        return None
    return spending_of_entries(
        record.entries,
        left=record.budget - record.spent,
        epsilon=whole,
        delta=at,
        kind=record.kind,
    )


def spending_of_entries(
    entries: Sequence[_Spent], *, left: float, epsilon: float, delta: float, kind: str
) -> Spending:
    """The same from reservations, what is left in the unit, and the guarantee at this delta.

    Steps that a proven filter allowed have at most its epsilon also if they were fixed; bounds on
    them that are above it were only not refined far enough. An asymptotic filter may allow more.
    """
    counted = [entry for entry in entries if entry.status != "cancelled"]
    if not counted:
        return Spending(delta, epsilon, 0.0, epsilon, None)
    parts = [recorded_steps(entry.request) for entry in counted]
    steps = [part for part in parts if part is not None]
    if len(steps) < len(parts):
        return Spending(delta, epsilon, None, None, None)
    latest, charge = steps[-1], counted[-1].charge
    fit = left * latest.steps / charge if charge > 0 else 0.0
    more = math.floor(min(max(fit, 0.0), MOST_STEPS) + ROUNDED_UP)
    most = epsilon if kind == "proven" else math.inf
    spent = min(epsilon_of_steps(steps, delta=delta), most)
    if not more:
        return Spending(delta, epsilon, spent, 0.0, 0)
    whole = epsilon_of_steps([*steps, latest._replace(steps=more)], delta=delta)
    return Spending(delta, epsilon, spent, max(min(whole, most) - spent, 0.0), more)


def epsilon_of_steps(steps: Sequence[EqualSteps], *, delta: float) -> float:
    """An upper bound on epsilon for these steps, Poisson-sampled Gaussians in any order.

    Valid if their parameters did not depend on outputs. The larger of both directions.
    """
    profile = profile_of(merged(steps))
    if profile is None:
        return 0.0
    try:
        return profile.epsilon_bounds(delta, directions=BOTH, accuracy=ACCURACY).upper
    except PrecisionError as error:
        return error.upper


def _whole(guarantee: Mapping[str, float], delta: float | None) -> float | None:
    """Epsilon of the whole budget at this delta."""
    if delta is None or "mu" not in guarantee:
        return guarantee.get("epsilon")
    return Profile.gaussian(noise_multiplier=1 / guarantee["mu"]).epsilon(delta)
