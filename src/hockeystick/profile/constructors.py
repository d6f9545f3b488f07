"""Ways to make a profile: from a mechanism, from masses, from (epsilon, delta), from a PLD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.profile.curves import Side
from hockeystick.profile.expressions import discrete
from hockeystick.profile.expressions.concentrated import Concentrated
from hockeystick.profile.expressions.discrete_gaussian import LARGEST_DEVIATION, DiscreteGaussian
from hockeystick.profile.expressions.mechanisms import GaussianPair, Laplace
from hockeystick.profile.expressions.replaced import ReplacedGaussian
from hockeystick.profile.values import ProfileValues

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

__all__ = ["ProfileConstructors"]


# Masses of the two laws of a replaced example differ by about rate / noise multiplier; below this
# share floating point does not tell them apart to eight digits.
SMALLEST_REPLACED = 1e-6


class ProfileConstructors(ProfileValues):
    """The constructors of `Profile`. All take `bound`: "upper" or "lower" bounds."""

    @classmethod
    @check.known_names_only
    def gaussian(cls, *, noise_multiplier: float, bound: Side = "upper") -> Self:
        """The Gaussian mechanism: N(1, noise_multiplier^2) against N(0, noise_multiplier^2).

        Parameters
        ----------
        noise_multiplier
            Standard deviation of the noise over the sensitivity.
        bound
            "upper" or "lower".

        Returns
        -------
        Profile
            Its numbers come from a formula, those of its compositions too [BalleWang18].

        Examples
        --------
        >>> import hockeystick as hs
        >>> hs.Profile.gaussian(noise_multiplier=2.0)
        Profile(Gaussian(mu=0.5))
        """
        noise = check.noise_scale("noise_multiplier", noise_multiplier)
        return cls(GaussianPair(1 / noise), bound=bound)

    @classmethod
    @check.known_names_only
    def replaced_gaussian(
        cls, *, noise_multiplier: float, rate: float, bound: Side = "upper"
    ) -> Self:
        """A Poisson-sampled Gaussian step when one example is replaced by another.

        (1 - rate) N(0, 1) + rate N(mu, 1) against (1 - rate) N(0, 1) + rate N(-mu, 1) with mu =
        1 / noise_multiplier: the proof is in `profile/expressions/replaced.py`.

        Parameters
        ----------
        noise_multiplier
            Standard deviation of the noise over the clip norm of one example.
        rate
            In (0, 1].
        bound
            "upper" or "lower".

        Returns
        -------
        Profile
            Tight for both orders: the pair is its own mirror image.

        Examples
        --------
        >>> import hockeystick as hs
        >>> run = hs.Profile.replaced_gaussian(noise_multiplier=1.0, rate=0.01).self_compose(1000)
        >>> round(run.epsilon(1e-6), 2)
        3.22
        """
        noise = check.noise_scale("noise_multiplier", noise_multiplier)
        rate = check.sampling_rate("rate", rate)
        if not rate >= SMALLEST_REPLACED * max(noise, 1.0):
            allowed = f"at least {SMALLEST_REPLACED:g} times the noise multiplier, or times 1"
            raise InvalidParameter("rate", allowed, rate)
        pair = GaussianPair(2 / noise) if rate == 1 else ReplacedGaussian(1 / noise, rate)
        return cls(pair, bound=bound)

    @classmethod
    @check.known_names_only
    def laplace(cls, *, scale: float, bound: Side = "upper") -> Self:
        """The Laplace mechanism on a query of sensitivity 1.

        Parameters
        ----------
        scale
            Scale of the noise; the mechanism is 1/scale-DP.
        bound
            "upper" or "lower".

        Returns
        -------
        Profile
            Its numbers come from a formula.

        Examples
        --------
        >>> import hockeystick as hs
        >>> hs.Profile.laplace(scale=2.0).delta(0.5)
        0.0
        """
        return cls(Laplace(check.noise_scale("scale", scale)), bound=bound)

    @classmethod
    @check.known_names_only
    def discrete_gaussian(
        cls, *, deviation: float, sensitivity: int = 1, bound: Side = "upper"
    ) -> Self:
        """Discrete Gaussian noise on an integer query [CanonneKamathSteinke20]; tight.

        Parameters
        ----------
        deviation
            Masses are proportional to e^(-x^2 / (2 deviation^2)); at most 1e5.
        sensitivity
            How far apart the query may be, an integer of at least 1.
        bound
            "upper" or "lower".

        Examples
        --------
        >>> import hockeystick as hs
        >>> run = hs.Profile.discrete_gaussian(deviation=2.0).self_compose(10)
        >>> round(run.epsilon(1e-6), 2)
        8.31
        """
        noise = check.noise_scale("deviation", deviation)
        shift = check.positive_integer("sensitivity", sensitivity)
        if not noise <= LARGEST_DEVIATION:
            raise InvalidParameter("deviation", f"at most {LARGEST_DEVIATION:g}", deviation)
        return cls(DiscreteGaussian(noise, shift), bound=bound)

    @classmethod
    def zcdp(cls, rho: float, xi: float = 0.0) -> Self:
        """Concentrated privacy: Renyi divergences of at most xi + rho a at every order a.

        Compositions add xi and rho up before they are converted [CanonneKamathSteinke20].

        Parameters
        ----------
        rho
            Above 0.
        xi
            At least 0.

        Examples
        --------
        >>> import hockeystick as hs
        >>> round(hs.Profile.zcdp(0.1).epsilon(1e-6), 2)
        2.14
        """
        return cls(Concentrated(check.positive("rho", rho), check.at_least("xi", xi, 0.0)))

    @classmethod
    def randomized_response(
        cls, *, epsilon: float, buckets: int = 2, bound: Side = "upper"
    ) -> Self:
        """Randomized response: the true value is e^epsilon times likelier than each other one.

        Parameters
        ----------
        epsilon
            Above 0.
        buckets
            The number of values, at least 2.
        bound
            "upper" or "lower".

        Returns
        -------
        Profile
            Exact: the pair is discrete.

        Examples
        --------
        >>> import hockeystick as hs
        >>> round(hs.Profile.randomized_response(epsilon=1.0).delta(0.0), 4)
        0.4621
        """
        return cls(discrete.randomized_response(epsilon, buckets), bound=bound)

    @classmethod
    def from_epsilon_delta(
        cls, epsilon: float, delta: float = 0.0, *, bound: Side = "upper"
    ) -> Self:
        """The pair that dominates every (epsilon, delta)-DP mechanism [KairouzOhViswanath15].

        Parameters
        ----------
        epsilon
            At least 0.
        delta
            In [0, 1).
        bound
            "upper" or "lower".

        Returns
        -------
        Profile
            Exact: the pair is discrete.

        Examples
        --------
        >>> import hockeystick as hs
        >>> hs.Profile.from_epsilon_delta(1.0, 1e-6).delta(1.0)
        1e-06
        """
        return cls(discrete.from_epsilon_delta(epsilon, delta), bound=bound)

    @classmethod
    def from_pmfs(cls, p: Any, q: Any, *, bound: Side = "upper") -> Self:
        """A discrete pair, given by its probabilities.

        Parameters
        ----------
        p, q
            The probabilities of the same outcomes under P and under Q.
        bound
            "upper" or "lower".

        Returns
        -------
        Profile
            Exact: the pair is discrete.

        Examples
        --------
        >>> import hockeystick as hs
        >>> round(hs.Profile.from_pmfs([0.75, 0.25], [0.25, 0.75]).delta(0.0), 6)
        0.5
        """
        return cls(discrete.from_pmfs(p, q), bound=bound)

    @classmethod
    def from_cells(cls, edges: Any, *, p: Any, q: Any, bound: Side = "upper") -> Self:
        """A monotone likelihood ratio, given by the P- and Q-mass between consecutive losses.

        Valid for any pair with these masses; the distance between the bounds is set by the cells.

        Parameters
        ----------
        edges
            Increasing values of log dP/dQ; the outermost may be infinite.
        p, q
            p[k] and q[k] are the masses of edges[k] <= loss < edges[k+1].
        bound
            "upper" or "lower".

        Returns
        -------
        Profile
            No finer than the cells: a smaller accuracy raises `PrecisionError`.

        Examples
        --------
        >>> import hockeystick as hs
        >>> run = hs.Profile.from_cells([-1, 0, 1], p=[0.3, 0.7], q=[0.7, 0.3])
        >>> lower, upper = run.delta_bounds(0.5, accuracy=0.3)
        >>> lower <= upper
        True
        """
        return cls(discrete.from_cells(edges, p, q), bound=bound)

    @classmethod
    def from_pld(cls, pld: PrivacyLossDistribution) -> Self:
        """The profile of a dp-accounting privacy loss distribution (extra `pld`).

        Parameters
        ----------
        pld
            A pessimistic distribution; both directions are taken if it has both.

        Returns
        -------
        Profile
            An upper bound wherever the distribution is one.
        """
        from hockeystick.profile.pld import expression_from_pld

        return cls(expression_from_pld(pld))
