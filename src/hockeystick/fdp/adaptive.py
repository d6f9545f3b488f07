"""Two stages of which the second is chosen after seeing the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hockeystick import _validate as check
from hockeystick._numerics.law import FloatArray, Law, joined
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.sources import checked_edges, gauss_legendre
from hockeystick.fdp.trade_off import Bound, TradeOff, joint_bound

__all__ = [
    "FirstStage",
    "WorstSelection",
    "adaptive_height",
    "adaptive_tradeoff",
    "worst_selection",
]

# A privacy profile: takes an array of orders g >= 0 and returns the array of its heights H(g), as
# `TradeOff.curve()` and `GaussianTradeOff.height` do.
Heights = Callable[[FloatArray], Any]
# A density: takes an array of outcomes and returns the array of its values.
Density = Callable[[FloatArray], Any]
IntArray = NDArray[np.int64]
# How far masses may be from summing to one.
SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class FirstStage:
    """The outcomes y of the first mechanism with their masses under P and under Q.

    `discrete`, `of_tradeoff` and `from_densities` build it.

    Parameters
    ----------
    outcome
        The outcomes, which selection rules see.
    p, q
        Their masses under P and under Q.
    bound
        "exact", or on which side of the truth the masses are.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.fdp.FirstStage.discrete([0.6, 0.4], [0.4, 0.6]).outcome.tolist()
    [0.0, 1.0]
    """

    outcome: FloatArray
    p: FloatArray
    q: FloatArray
    bound: Bound = "exact"

    @classmethod
    def discrete(cls, p: Any, q: Any) -> FirstStage:
        """Outcomes 0, 1, ... with the given masses; exact."""
        p, q = _masses("p", p), _masses("q", q)
        if p.shape != q.shape:
            raise InvalidParameter("q", f"as long as p ({p.size})", q.size)
        return cls(np.arange(float(p.size)), p, q)

    @classmethod
    def of_tradeoff(cls, tradeoff: TradeOff) -> FirstStage:
        """The likelihood ratio itself as the outcome, from 0 to infinity."""
        law = tradeoff.law
        p = np.concatenate(([0.0], law.p, [law.p_infinite]))
        q = np.concatenate(([law.q_zero], law.q, [0.0]))
        with np.errstate(over="ignore"):
            ratio = np.concatenate(([0.0], np.exp(law.loss), [np.inf]))
        return cls(ratio, p, q, tradeoff.bound)

    @classmethod
    def from_densities(cls, p: Density, q: Density, *, edges: Any, nodes: int = 20) -> FirstStage:
        """A real outcome with the given densities, by Gauss and Legendre between the edges.

        An approximation: put an edge wherever the selection rule or a density is not smooth.
        """
        points, weights = gauss_legendre(checked_edges(edges), nodes=nodes)
        y, weight = points.ravel(), weights.ravel()
        return cls(y, weight * np.asarray(p(y)), weight * np.asarray(q(y)), "estimate")


@dataclass(frozen=True, eq=False)
class WorstSelection:
    """The worst selection rule at one order.

    Attributes
    ----------
    gamma : float
        The order.
    choice : numpy.ndarray
        The index of the second mechanism after each outcome.
    height : float
        H of the adaptive composition.
    budget : float
        The largest H of a composition whose second mechanism is fixed: what the natural filter
        would have allowed.
    """

    gamma: float
    choice: IntArray
    height: float
    budget: float

    @property
    def excess(self) -> float:
        """By how much adaptivity exceeds the budget; positive for a counterexample."""
        return self.height - self.budget


def adaptive_height(
    first: FirstStage, seconds: Sequence[Heights], *, choice: Any, gamma: Any
) -> Any:
    """H of the adaptive composition, for one order or an array.

    H(g) = sum over y of p(y) H_choice(y)(g q(y)/p(y)) [Tran26, Appendix B.1]. Exact for a discrete
    first stage; as good as its quadrature otherwise. O(orders x outcomes).

    Parameters
    ----------
    first
        The first stage.
    seconds
        Privacy profiles of the second mechanisms, as functions of arrays of orders.
    choice
        The index of the one used after each outcome: an array, or a function of the outcomes.
    gamma
        One order or an array.

    Returns
    -------
    float or numpy.ndarray
        H, like gamma.

    Examples
    --------
    >>> import hockeystick as hs
    >>> first = hs.fdp.FirstStage.discrete([0.6, 0.4], [0.4, 0.6])
    >>> height = hs.fdp.adaptive_height(first, [hs.fdp.gdp(1.0).height], choice=[0, 0], gamma=1.0)
    >>> round(height, 6)
    0.410995
    """
    chosen = _choices(choice, first, seconds)
    orders = _orders(gamma)
    total = np.zeros(orders.size)
    for index, second in enumerate(seconds):
        total += _weighted(first, second, orders, chosen == index)
    return float(total[0]) if np.ndim(gamma) == 0 else total.reshape(np.shape(gamma))


def adaptive_tradeoff(first: FirstStage, seconds: Sequence[TradeOff], *, choice: Any) -> TradeOff:
    """The trade-off function of the adaptive composition: every outcome followed by its choice.

    Exact if both stages are: the pair of the two outcomes together is discrete.

    Parameters
    ----------
    first
        The first stage.
    seconds
        Trade-off functions of the second mechanisms.
    choice
        The index of the one used after each outcome: an array, or a function of the outcomes.

    Returns
    -------
    TradeOff
        Of both outcomes together.

    Examples
    --------
    >>> import hockeystick as hs
    >>> one = hs.fdp.from_pmfs([0.6, 0.4], [0.4, 0.6])
    >>> first = hs.fdp.FirstStage.of_tradeoff(one)
    >>> fixed = hs.fdp.adaptive_tradeoff(first, [one], choice=[0, 0, 0, 0])
    >>> hs.fdp.blackwell_order(fixed, one.tensor(one))
    <Order.EQUAL: 'equal'>
    """
    chosen = _choices(choice, first, seconds)
    outcomes = zip(chosen.tolist(), first.p.tolist(), first.q.tolist(), strict=True)
    parts = [_scaled(seconds[k].law, p, q) for k, p, q in outcomes]
    loss, joint_p, joint_q = (np.concatenate([part[i] for part in parts]) for i in range(3))
    p_infinite, q_zero = (float(sum(part[i] for part in parts)) for i in (3, 4))
    bound = joint_bound([first.bound, *(second.bound for second in seconds)])
    return TradeOff.of_law(joined(loss, joint_p, joint_q, p_infinite, q_zero), bound=bound)


def worst_selection(
    first: FirstStage, seconds: Sequence[Heights], *, gamma: float
) -> WorstSelection:
    """The selection rule with the largest H at one order.

    After y the second mechanism with the largest H at g q(y)/p(y) [Tran26, Theorem B.1]: that
    attains the bound H_1 (x) max H_2, so no rule is worse at this order.

    Parameters
    ----------
    first
        The first stage.
    seconds
        Privacy profiles of the second mechanisms, as functions of arrays of orders.
    gamma
        The order.

    Returns
    -------
    WorstSelection
        The rule, its H, and the largest H without adaptivity.

    Examples
    --------
    >>> import hockeystick as hs
    >>> one = hs.fdp.from_pmfs([0.6, 0.4], [0.4, 0.6])
    >>> leak = hs.fdp.from_pmfs([0.9, 0.1, 0.0], [0.9, 0.0, 0.1])
    >>> first = hs.fdp.FirstStage.of_tradeoff(one)
    >>> worst = hs.fdp.worst_selection(first, [one.curve(), leak.curve()], gamma=1.5)
    >>> worst.excess > 0  # the natural filter is not valid for these two
    True
    """
    gamma = check.at_least("gamma", gamma, 0.0)
    if not seconds:
        raise InvalidParameter("seconds", "at least one profile", seconds)
    at = _arguments(first, np.array([gamma]))[0]
    table = np.array([np.asarray(second(at)) for second in seconds])
    choice = np.argmax(table, axis=0).astype(np.int64)
    return WorstSelection(
        gamma, choice, float(table.max(axis=0) @ first.p), float((table @ first.p).max())
    )


def _weighted(
    first: FirstStage, second: Heights, orders: FloatArray, used: NDArray[np.bool_]
) -> FloatArray:
    """The part of the sum over the outcomes that are followed by this second mechanism."""
    if not used.any():
        return np.zeros(orders.size)
    part = FirstStage(first.outcome[used], first.p[used], first.q[used])
    at = _arguments(part, orders)
    heights: FloatArray = np.asarray(second(at.ravel())).reshape(at.shape) @ part.p
    return heights


def _arguments(first: FirstStage, orders: FloatArray) -> FloatArray:
    """g q(y)/p(y) for every order and outcome; where P has no mass its value does not matter."""
    ratio = np.where(first.p > 0, first.q / np.where(first.p > 0, first.p, 1.0), 0.0)
    arguments: FloatArray = np.multiply.outer(orders, ratio)
    return arguments


def _scaled(law: Law, p: float, q: float) -> Law:
    """The joint masses of one first outcome and everything that may follow it."""
    if p > 0 and q > 0:
        shift = np.log(p) - np.log(q)
        return Law(law.loss + shift, p * law.p, q * law.q, p * law.p_infinite, q * law.q_zero)
    empty = np.empty(0)
    return Law(empty, empty, empty, p, q)


def _choices(choice: Any, first: FirstStage, seconds: Sequence[object]) -> IntArray:
    """One index for each outcome, from indices or from a function of the outcomes."""
    values = choice(first.outcome) if callable(choice) else choice
    chosen = check.vector("choice", values)
    allowed = f"one index below {len(seconds)} for each of {first.p.size} outcomes"
    whole = np.all((chosen >= 0) & (chosen < len(seconds)) & (chosen == np.floor(chosen)))
    if chosen.shape != first.p.shape or not whole:
        raise InvalidParameter("choice", allowed, values)
    return chosen.astype(np.int64)


def _orders(gamma: Any) -> FloatArray:
    orders = check.vector("gamma", gamma, "not negative")
    if not np.all((orders >= 0) & np.isfinite(orders)):
        raise InvalidParameter("gamma", "finite and not negative", gamma)
    return np.atleast_1d(orders).ravel()


def _masses(name: str, values: Any) -> FloatArray:
    allowed = "a vector of non-negative masses that sum to 1"
    masses = check.vector(name, values, allowed)
    if masses.ndim != 1 or not np.all(masses >= 0) or not abs(masses.sum() - 1) <= SUM_TOLERANCE:
        raise InvalidParameter(name, allowed, values)
    return masses
