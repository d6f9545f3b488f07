"""The privacy profile and its algebra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.profile.curves import (
    FINE,
    Side,
    proves_domination,
    renyi_divergences,
    tradeoff_curve,
)
from hockeystick.profile.expressions import discrete
from hockeystick.profile.expressions.base import Expression
from hockeystick.profile.expressions.composed import compose
from hockeystick.profile.expressions.envelope import Maximum, Minimum
from hockeystick.profile.expressions.mechanisms import GaussianPair, Laplace
from hockeystick.profile.refinement import Bounds, Evaluator
from hockeystick.profile.resolution import Direction

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

__all__ = ["DEFAULT_ACCURACY", "Profile"]

DEFAULT_ACCURACY = 1e-3
# Moments are computed together, in time that grows with the square of the largest order.
LARGEST_ORDER = 10_000


class Profile:
    """The privacy profile H(g) = sup_S P(S) - g Q(S) of a pair (P, Q), as a proven bound.

    P is the output with the example, Q without it; `delta(epsilon)` is the oriented H(P || Q) at
    e^epsilon (the remove direction), `reverse()` gives the other one. A profile is a description:
    nothing is computed before a number is requested, and then the grid is refined until upper and
    lower bound agree to the requested accuracy. Every number is an upper bound, discretisation and
    truncation included, unless the profile was built with bound="lower".

    A number of an n-fold composition or allocation costs O(N^2 log n) with N about a thousand grid
    points, whatever the delta.

    Parameters
    ----------
    expression
        What the law of dP/dQ is computed from; users call `gaussian` and the other constructors.
    bound
        "upper" for upper bounds, "lower" for lower ones.

    Examples
    --------
    >>> import hockeystick as hs
    >>> step = hs.Profile.gaussian(noise_multiplier=0.8)
    >>> run = step.subsample(0.01).self_compose(1_000)
    >>> print(f"{run.epsilon(1e-6):.2f} {run.reverse().epsilon(1e-6):.2f}")
    3.71 2.20
    >>> step.dominates(hs.Profile.gaussian(noise_multiplier=1.0))
    True
    """

    def __init__(self, expression: Expression, *, bound: Side = "upper") -> None:
        check.choice("bound", bound, ("upper", "lower"), "'upper' or 'lower'")
        self._evaluator = Evaluator(expression)
        self.bound: Side = bound

    # -- constructors ---------------------------------------------------------------------------

    @classmethod
    def gaussian(cls, *, noise_multiplier: float, bound: Side = "upper") -> Profile:
        """The Gaussian mechanism: N(1, noise_multiplier^2) against N(0, noise_multiplier^2)."""
        return cls(
            GaussianPair(1 / check.noise_scale("noise_multiplier", noise_multiplier)), bound=bound
        )

    @classmethod
    def laplace(cls, *, scale: float, bound: Side = "upper") -> Profile:
        """The Laplace mechanism with the given scale on a query of sensitivity 1."""
        return cls(Laplace(check.noise_scale("scale", scale)), bound=bound)

    @classmethod
    def randomized_response(
        cls, *, epsilon: float, buckets: int = 2, bound: Side = "upper"
    ) -> Profile:
        """Randomized response over `buckets` values: the truth is e^epsilon times likelier."""
        return cls(discrete.randomized_response(epsilon, buckets), bound=bound)

    @classmethod
    def from_epsilon_delta(
        cls, epsilon: float, delta: float = 0.0, *, bound: Side = "upper"
    ) -> Profile:
        """The pair that dominates every (epsilon, delta)-DP mechanism."""
        return cls(discrete.from_epsilon_delta(epsilon, delta), bound=bound)

    @classmethod
    def from_pmfs(cls, p: Any, q: Any, *, bound: Side = "upper") -> Profile:
        """A discrete pair, given by the probabilities of the same outcomes under P and under Q."""
        return cls(discrete.from_pmfs(p, q), bound=bound)

    @classmethod
    def from_cells(cls, edges: Any, *, p: Any, q: Any, bound: Side = "upper") -> Profile:
        """A monotone likelihood ratio, given by the P- and Q-mass between consecutive losses.

        `edges` are increasing values of log dP/dQ (the outermost may be infinite); p[k] and q[k]
        are the masses of edges[k] <= loss < edges[k+1]. Valid for any pair with these masses; the
        distance between the bounds is set by the cells.
        """
        return cls(discrete.from_cells(edges, p, q), bound=bound)

    @classmethod
    def from_pld(cls, pld: PrivacyLossDistribution) -> Profile:
        """The profile of a dp-accounting privacy loss distribution (extra `pld`)."""
        from hockeystick.profile.pld import expression_from_pld

        return cls(expression_from_pld(pld))

    def to_pld(self, *, interval: float = 1e-3) -> PrivacyLossDistribution:
        """A pessimistic dp-accounting distribution on multiples of `interval` (extra `pld`)."""
        from hockeystick.profile.pld import pld_from_law

        if self.bound != "upper":
            raise InvalidParameter("bound", "'upper' for an exported distribution", self.bound)
        interval = check.positive("interval", interval)
        return pld_from_law(self._evaluator.laws(FINE).upper, interval=interval)

    # -- numbers --------------------------------------------------------------------------------

    def delta(self, epsilon: float, *, accuracy: float = DEFAULT_ACCURACY) -> float:
        """H(P || Q) at e^epsilon."""
        return self._pick(self.delta_bounds(epsilon, accuracy=accuracy))

    def epsilon(self, delta: float, *, accuracy: float = DEFAULT_ACCURACY) -> float:
        """The smallest epsilon >= 0 with H(P || Q) at e^epsilon at most delta."""
        return self._pick(self.epsilon_bounds(delta, accuracy=accuracy))

    def delta_bounds(
        self,
        epsilon: float,
        *,
        directions: Sequence[Direction] = ("remove",),
        accuracy: float = DEFAULT_ACCURACY,
    ) -> Bounds:
        """Lower and upper bound on the largest H at e^epsilon over the directions of the pair."""
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
        """Lower and upper bound on the largest epsilon(delta) over the directions of the pair."""
        delta = check.small_probability("delta", delta)
        accuracy = check.relative_accuracy("accuracy", accuracy)
        return self._evaluator.epsilon(delta, directions, accuracy)

    def renyi(self, order: Any) -> Any:
        """An upper bound on the Renyi divergence of P from Q, for one order above 1 or an array.

        Integer orders come from moments, all of them in one pass; between two of them
        (order - 1) times the divergence is convex, so the chord is a bound. Infinite where P has
        mass that Q has not, and where the pair is known only numerically, up to such a tail.
        """
        orders = check.vector("order", order, "numbers above 1")
        if not np.all((orders > 1) & (orders <= LARGEST_ORDER)):
            raise InvalidParameter("order", f"in (1, {LARGEST_ORDER}]", order)
        value = renyi_divergences(self.expression, orders)
        return float(value) if np.ndim(order) == 0 else value

    def tradeoff(self, alpha: Any, *, accuracy: float = DEFAULT_ACCURACY) -> Any:
        """Smallest type II error of a test of Q against P at type I error alpha (float or array).

        An upper profile gives a lower bound on the trade-off function: the attacker is at most this
        strong. `accuracy` is absolute here.
        """
        accuracy = check.relative_accuracy("accuracy", accuracy)
        levels = check.vector("alpha", alpha, "in [0, 1]")
        if not np.all((levels >= 0) & (levels <= 1)):
            raise InvalidParameter("alpha", "in [0, 1]", alpha)
        value = tradeoff_curve(self._evaluator, levels, side=self.bound, accuracy=accuracy)
        return float(value) if np.ndim(alpha) == 0 else value

    # -- algebra --------------------------------------------------------------------------------

    def compose(self, other: Profile) -> Profile:
        """Both mechanisms run on the same data."""
        self._require_same_bound(other)
        self._require_composable()
        other._require_composable()
        return self._like(compose([(self.expression, 1), (other.expression, 1)]))

    def self_compose(self, count: int) -> Profile:
        """The mechanism run `count` times."""
        count = check.positive_integer("count", count)
        if count > 1:
            self._require_composable()
        return self._like(compose([(self.expression, count)]))

    def subsample(self, rate: float) -> Profile:
        """Poisson subsampling: the example takes part with probability `rate`."""
        return self._like(self.expression.subsample(check.sampling_rate("rate", rate)))

    def allocate(self, steps: int) -> Profile:
        """Random allocation: the example takes part in one of `steps` runs, drawn uniformly."""
        steps = check.positive_integer("steps", steps)
        if steps > 1:
            self._require_composable()
        return self._like(self.expression.allocate(steps))

    def reverse(self) -> Profile:
        """The pair (Q, P): the add direction. Subsampling and allocation act before it."""
        return self._like(self.expression.reverse())

    def symmetrize(self) -> Profile:
        """The larger of both directions, for all epsilon."""
        return self.maximum(self.reverse())

    def maximum(self, other: Profile) -> Profile:
        """The pointwise maximum: valid for the worse of two mechanisms. Take maxima last."""
        self._require_same_bound(other)
        return self._like(Maximum(self.expression, other.expression))

    def minimum(self, other: Profile) -> Profile:
        """The best of two bounds on one mechanism: the convex envelope of the minimum."""
        self._require_same_bound(other)
        return self._like(Minimum(self.expression, other.expression))

    def dominates(self, other: Profile, *, slack: float = 1e-200) -> bool:
        """Whether this pair provably dominates the other.

        That is, lower(self) >= upper(other) at every g > 0.

        False means not proven. Differences of delta below `slack` are ignored (in both directions),
        because the far tails of both laws are truncated.
        """
        slack = check.at_least("slack", slack, 0.0)
        return proves_domination(self._evaluator, other._evaluator, slack)

    # -- inside ---------------------------------------------------------------------------------

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

    def as_profile(self) -> Profile:
        """Itself: what other sources of numbers have to be turned into."""
        return self

    def __repr__(self) -> str:
        suffix = "" if self.bound == "upper" else ", bound='lower'"
        return f"Profile({self.expression!r}{suffix})"

    def _pick(self, bounds: Bounds) -> float:
        return bounds.upper if self.bound == "upper" else bounds.lower

    def _like(self, expression: Expression) -> Profile:
        return Profile(expression, bound=self.bound)

    def _require_same_bound(self, other: Profile) -> None:
        if self.bound != other.bound:
            raise InvalidParameter("other", f"a profile with bound={self.bound!r}", other.bound)

    def _require_composable(self) -> None:
        if self.bound == "lower" and not self.expression.lower_composes:
            raise InvalidParameter(
                "bound", "'upper' when composing after a maximum or symmetrisation", self.bound
            )
