"""What an attacker can achieve: advantage, true positive rate, Bayes risk, from delta(epsilon).

A membership inference attack tests the run without the example against the run with it. With the
profile H(g) = sup_S P(S) - g Q(S) of the pair, in whichever direction is the larger one:

- its advantage, true minus false positive rate, is at most H(1) = delta(0);
- its true positive rate at the false positive rate a is at most min over g of H(g) + g a;
- its Bayes risk at the prior pi (the probability that the example is in the data) is at least
  pi (1 - H((1 - pi) / pi)), for pi <= 1/2, and that of 1 - pi beyond.

[Kulynych24], [DongRothSu22]. Each holds for every g, so where the minimum is not found exactly
the number is still a bound.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from hockeystick import _validate as check
from hockeystick._numerics.divergence import tradeoff_from_law
from hockeystick._numerics.law import Resolution, Side
from hockeystick._numerics.search import minimize_on_interval
from hockeystick.errors import InvalidParameter
from hockeystick.profile import Profile
from hockeystick.profile.curves import FINE, TRADEOFF_ROUNDING
from hockeystick.profile.resolution import BOTH, DELTA_NATS, Direction, oriented

__all__ = ["AttackRisk", "RiskBounds"]

# The best order is found to this accuracy in its logarithm; the bound is flat there, so the loss is
# of the order of its square.
ORDER_ACCURACY = 3e-3
# The law in which the threshold of the best test is looked up; any threshold gives a bound.
COARSE = Resolution(0.03, 1e-20, DELTA_NATS)
# Orders below e^-30 bound the true positive rate by 1 - 1e-13 at best.
LARGEST_LOG_ORDER = 30.0
# What the chord may lose to floating point, relatively.
CHORD_ROUNDING = 1e-13


# The false positive rate and the prior of `risks`.
USUAL_RATE, USUAL_PRIOR = 0.001, 0.5


class RiskBounds(NamedTuple):
    """Between these the risk of the best attack lies; None where no such side is known.

    Attributes
    ----------
    lower, upper
        Of an advantage and a true positive rate the upper one is the guarantee, of a Bayes risk
        the lower one.
    """

    lower: float | None
    upper: float | None


class AttackRisk(ABC):
    """The risks of whatever has a `delta(epsilon)`."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """An upper bound on delta at an epsilon of at least 0."""

    @abstractmethod
    def answer(self, *, delta: float | None = None, epsilon: float | None = None) -> Any:
        """The same number with its lower bound."""

    @property
    @abstractmethod
    def directions(self) -> tuple[Direction, ...]:
        """Which directions the numbers cover."""

    @property
    @abstractmethod
    def exact_profile(self) -> Profile | None:
        """The profile of the run's own pair, where it is known."""

    def advantage(self) -> float:
        """An upper bound on the advantage of membership inference: true minus false positive rate.

        Returns
        -------
        float
            delta(0), the total variation distance of the two runs; where that bound is empty, one
            by the other epsilons.

        Examples
        --------
        >>> import hockeystick as hs
        >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=1)
        >>> round(hs.account(plan, noise_multiplier=1.0).advantage(), 3)
        0.383
        """
        return self._delta_by_chords(0.0)

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """An upper bound on the true positive rate of any attack with this false positive rate.

        Parameters
        ----------
        false_positive_rate
            In (0, 1).

        Returns
        -------
        float
            The least H(g) + g a over the orders g. One evaluation of delta in each direction where
            the run's own pair is known, and about thirty elsewhere.

        Examples
        --------
        >>> import hockeystick as hs
        >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=1)
        >>> round(hs.account(plan, noise_multiplier=1.0).true_positive_rate(0.1), 3)
        0.389
        """
        rate = check.small_probability("false_positive_rate", false_positive_rate)
        self._require_both()
        profile = self.exact_profile
        if profile is None:
            return min(1.0, self._in_every_direction(rate))
        return min(1.0, max(self._in_one(profile, one, rate) for one in BOTH))

    def bayes_risk(self, prior: float) -> float:
        """A lower bound on the error probability of an attacker who knows the prior.

        Parameters
        ----------
        prior
            The probability that the example is in the data, in (0, 1).

        Returns
        -------
        float
            At most min(prior, 1 - prior), the error of a guess.

        Examples
        --------
        >>> import hockeystick as hs
        >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=1)
        >>> round(hs.account(plan, noise_multiplier=1.0).bayes_risk(0.5), 3)
        0.309
        """
        prior = check.small_probability("prior", prior)
        self._require_both()
        smaller = min(prior, 1 - prior)
        return smaller * (1 - self._delta_by_chords(math.log((1 - smaller) / smaller)))

    def risks(
        self, *, false_positive_rate: float = USUAL_RATE, prior: float = USUAL_PRIOR
    ) -> dict[str, RiskBounds]:
        """All three from both sides: by what the best attack cannot exceed, and what it reaches.

        Parameters
        ----------
        false_positive_rate
            In (0, 1), of the true positive rate.
        prior
            In (0, 1), of the Bayes risk.

        Returns
        -------
        dict of RiskBounds
            "advantage", "true_positive_rate" and "bayes_risk".

        Examples
        --------
        >>> import hockeystick as hs
        >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=1_000)
        >>> found = hs.account(plan, noise_multiplier=1.0).risks()["advantage"]
        >>> 0.16 < found.lower <= found.upper < 0.162
        True
        """
        chance = min(check.small_probability("prior", prior), 1 - prior)
        reached = self.answer(epsilon=math.log((1 - chance) / chance)).lower
        rate = self.true_positive_rate(false_positive_rate)
        return {
            "advantage": RiskBounds(self.answer(epsilon=0.0).lower, self.advantage()),
            "true_positive_rate": RiskBounds(self._attained_rate(false_positive_rate), rate),
            "bayes_risk": RiskBounds(
                self.bayes_risk(prior), None if reached is None else chance * (1 - reached)
            ),
        }

    def _attained_rate(self, rate: float) -> float | None:
        """That of the most powerful test, from below; None where the run's pair is not known."""
        profile = self.exact_profile
        if profile is None:
            return None
        levels = np.array([rate])
        powers = [
            1 - tradeoff_from_law(oriented(profile.expression.law(Side.LOWER, FINE), one), levels)
            for one in BOTH
        ]
        return max(0.0, *(float(power[0]) for power in powers)) * (1 - TRADEOFF_ROUNDING)

    def _delta_by_chords(self, epsilon: float) -> float:
        """delta(epsilon) for an epsilon of at least 0; where that is 1, by that of a larger one.

        Budgets of filters are bounds by moments, which say nothing at epsilon = 0. H is convex in
        the order: between the orders 1/G and G it lies below the chord from 1 - (1 - delta) / G,
        the other direction at G, to delta. So it takes both directions.
        """
        own = self.delta(epsilon)
        if own < 1 or set(self.directions) != set(BOTH):
            return own
        order = math.exp(epsilon)

        def chord(largest: float) -> float:
            high, low = math.exp(largest), math.exp(-largest)
            share = (order - low) / (high - low)
            delta = self.delta(largest)
            return share * delta + (1 - share) * (1 - (1 - delta) * low)

        start = max(epsilon, ORDER_ACCURACY)
        best = minimize_on_interval(chord, start, LARGEST_LOG_ORDER, tolerance=ORDER_ACCURACY)
        return min(own, chord(best) * (1 + CHORD_ROUNDING))

    def _require_both(self) -> None:
        if set(self.directions) != set(BOTH):
            allowed = "'both' for the risk of an attack that may go either way"
            raise InvalidParameter("direction", allowed, self.directions)

    def _in_every_direction(self, rate: float) -> float:
        """The least H(g) + g a with the larger direction's H, convex on either side of g = 1.

        Below 1 through H(g) = 1 - g + g H'(1/g), where H' belongs to the other direction.
        """

        def above(epsilon: float) -> float:
            return self.delta(epsilon) + math.exp(epsilon) * rate

        def below(epsilon: float) -> float:
            return 1 - math.exp(-epsilon) * (1 - self.delta(epsilon) - rate)

        sides = (above, -math.log(rate)), (below, LARGEST_LOG_ORDER)
        return min(
            side(minimize_on_interval(side, 0.0, end, tolerance=ORDER_ACCURACY))
            for side, end in sides
        )

    def _in_one(self, profile: Profile, direction: Direction, rate: float) -> float:
        """H(g) + g a at the threshold of the most powerful test, which a coarse law shows."""
        law = oriented(profile.expression.law(Side.UPPER, COARSE), direction)
        above = np.cumsum(law.q[::-1])
        place = min(int(np.searchsorted(above, rate)), law.loss.size - 1)
        order = float(law.loss[::-1][place])
        delta = profile.delta_bounds(order, directions=(direction,)).upper
        return delta + math.exp(order) * rate
