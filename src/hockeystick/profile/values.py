"""Values of a profile: delta, epsilon, Renyi divergences and the trade-off function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.profile.curves import FINE, Side, renyi_divergences, tradeoff_curve
from hockeystick.profile.expressions import Expression
from hockeystick.profile.refinement import Bounds, Evaluator
from hockeystick.profile.resolution import Direction

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

__all__ = ["DEFAULT_ACCURACY", "ProfileValues"]

# Upper and lower bounds on epsilon agree to 0.1 % unless said otherwise.
DEFAULT_ACCURACY = 1e-3
# Moments are computed together, in time that grows with the square of the largest order.
LARGEST_ORDER = 10_000


class ProfileValues:
    """What can be read from a profile; see `Profile`.

    Parameters
    ----------
    expression
        What the law of dP/dQ is computed from.
    bound
        "upper" for upper bounds, "lower" for lower ones.
    """

    def __init__(self, expression: Expression, *, bound: Side = "upper") -> None:
        check.choice("bound", bound, ("upper", "lower"), "'upper' or 'lower'")
        self._evaluator = Evaluator(expression)
        self.bound: Side = bound

    def delta(self, epsilon: float, *, accuracy: float = DEFAULT_ACCURACY) -> float:
        """H(P || Q) at e^epsilon.

        Parameters
        ----------
        epsilon
            Any real number; below 0 as well.
        accuracy
            How far the bounds on epsilon may be apart, relatively; delta is five times coarser.

        Returns
        -------
        float
            At least the truth, or at most the truth if the profile has bound="lower".

        Raises
        ------
        PrecisionError
            If the accuracy is out of reach; it carries the bounds that were reached.

        Examples
        --------
        >>> import hockeystick as hs
        >>> round(hs.Profile.laplace(scale=1.0).delta(0.5), 4)
        0.2212
        """
        return self._pick(self.delta_bounds(epsilon, accuracy=accuracy))

    def epsilon(self, delta: float, *, accuracy: float = DEFAULT_ACCURACY) -> float:
        """The smallest epsilon >= 0 with H(P || Q) at e^epsilon at most delta.

        Parameters
        ----------
        delta
            In (0, 1).
        accuracy
            How far upper and lower bound may be apart, relatively.

        Returns
        -------
        float
            At least the truth, or at most the truth if the profile has bound="lower".

        Raises
        ------
        PrecisionError
            If the accuracy is out of reach; it carries the bounds that were reached.

        Examples
        --------
        >>> import hockeystick as hs
        >>> round(hs.Profile.gaussian(noise_multiplier=1.0).epsilon(1e-5), 3)
        4.377
        """
        return self._pick(self.epsilon_bounds(delta, accuracy=accuracy))

    def delta_bounds(
        self,
        epsilon: float,
        *,
        directions: Sequence[Direction] = ("remove",),
        accuracy: float = DEFAULT_ACCURACY,
    ) -> Bounds:
        """Lower and upper bound on the largest H at e^epsilon over the directions of the pair.

        Parameters
        ----------
        epsilon, accuracy
            As in `delta`.
        directions
            "remove" for H(P || Q), "add" for H(Q || P), or both.

        Returns
        -------
        Bounds
            A named tuple (lower, upper).

        Examples
        --------
        >>> import hockeystick as hs
        >>> run = hs.Profile.gaussian(noise_multiplier=1.0).subsample(0.1).self_compose(4)
        >>> lower, upper = run.delta_bounds(0.5, directions=("remove", "add"))
        >>> lower < upper < 1.005 * lower
        True
        """
        epsilon = check.real("epsilon", epsilon)
        accuracy = check.relative_accuracy("accuracy", accuracy)
        return self._evaluator.delta(epsilon, directions, accuracy)

    def epsilon_bounds(
        self,
        delta: float,
        *,
        directions: Sequence[Direction] = ("remove",),
        accuracy: float = DEFAULT_ACCURACY,
    ) -> Bounds:
        """Lower and upper bound on the largest epsilon(delta) over the directions of the pair.

        Parameters
        ----------
        delta, accuracy
            As in `epsilon`.
        directions
            "remove" for (P, Q), "add" for (Q, P), or both.

        Returns
        -------
        Bounds
            A named tuple (lower, upper).

        Examples
        --------
        >>> import hockeystick as hs
        >>> run = hs.Profile.gaussian(noise_multiplier=1.0).subsample(0.1).self_compose(4)
        >>> lower, upper = run.epsilon_bounds(1e-5, directions=("remove", "add"))
        >>> lower < upper < 1.001 * lower
        True
        """
        delta = check.small_probability("delta", delta)
        accuracy = check.relative_accuracy("accuracy", accuracy)
        return self._evaluator.epsilon(delta, directions, accuracy)

    def renyi(self, order: Any) -> Any:
        """An upper bound on the Renyi divergence of P from Q.

        Integer orders come from moments, all of them in one pass; between two of them
        (order - 1) times the divergence is convex, so the chord is a bound. Infinite where P has
        mass that Q has not, and where the pair is known only numerically, up to such a tail.

        Parameters
        ----------
        order
            One order above 1, or an array of orders.

        Returns
        -------
        float or array
            One number for each order.

        Examples
        --------
        >>> import hockeystick as hs
        >>> round(hs.Profile.gaussian(noise_multiplier=2.0).renyi(8), 6)
        1.0
        """
        orders = check.vector("order", order, "numbers above 1")
        if not np.all((orders > 1) & (orders <= LARGEST_ORDER)):
            raise InvalidParameter("order", f"in (1, {LARGEST_ORDER}]", order)
        value = renyi_divergences(self.expression, orders)
        return float(value) if np.ndim(order) == 0 else value

    def tradeoff(self, alpha: Any, *, accuracy: float = DEFAULT_ACCURACY) -> Any:
        """The smallest type II error of a test of Q against P at type I error alpha.

        An upper profile gives a lower bound on the trade-off function: the attacker is at most this
        strong.

        Parameters
        ----------
        alpha
            One level in [0, 1], or an array of levels.
        accuracy
            How far the bounds may be apart, absolutely.

        Returns
        -------
        float or array
            One number for each level.

        Examples
        --------
        >>> import hockeystick as hs
        >>> round(hs.Profile.gaussian(noise_multiplier=1.0).tradeoff(0.5), 3)
        0.159
        """
        accuracy = check.relative_accuracy("accuracy", accuracy)
        levels = check.vector("alpha", alpha, "in [0, 1]")
        if not np.all((levels >= 0) & (levels <= 1)):
            raise InvalidParameter("alpha", "in [0, 1]", alpha)
        value = tradeoff_curve(self._evaluator, levels, side=self.bound, accuracy=accuracy)
        return float(value) if np.ndim(alpha) == 0 else value

    def to_pld(self, *, interval: float = 1e-3) -> PrivacyLossDistribution:
        """A pessimistic dp-accounting distribution (extra `pld`).

        Parameters
        ----------
        interval
            Losses are multiples of it, rounded up.

        Returns
        -------
        PrivacyLossDistribution
            Both directions; its deltas are never below those of the pair.
        """
        from hockeystick.profile.pld import pld_from_law

        if self.bound != "upper":
            raise InvalidParameter("bound", "'upper' for an exported distribution", self.bound)
        interval = check.positive("interval", interval)
        return pld_from_law(self._evaluator.laws(FINE).upper, interval=interval)

    @property
    def expression(self) -> Expression:
        """The description that the numbers are computed from."""
        return self._evaluator.expression

    @property
    def evaluator(self) -> Evaluator:
        """What computes the numbers and remembers laws."""
        return self._evaluator

    @property
    def has_formula(self) -> bool:
        """Whether numbers come from a closed form."""
        return self._evaluator.has_closed_form()

    def _pick(self, bounds: Bounds) -> float:
        return bounds.upper if self.bound == "upper" else bounds.lower
