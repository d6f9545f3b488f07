"""`Profile`: the privacy profile and its algebra."""

from __future__ import annotations

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.profile.curves import proves_domination
from hockeystick.profile.expressions.composed import Maximum, Minimum, compose
from hockeystick.profile.neighbours import NeighbourChains
from hockeystick.profile.values import DEFAULT_ACCURACY

__all__ = ["DEFAULT_ACCURACY", "Profile"]


class Profile(NeighbourChains):
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

    def compose(self, other: Profile) -> Profile:
        """Both mechanisms, run on the same data.

        Parameters
        ----------
        other
            A profile with the same kind of bound.

        Returns
        -------
        Profile
            Of the pair (P x P', Q x Q').

        Examples
        --------
        >>> import hockeystick as hs
        >>> step = hs.Profile.gaussian(noise_multiplier=1.0)
        >>> step.compose(step).epsilon(1e-5) == step.self_compose(2).epsilon(1e-5)
        True
        """
        self._require_same_bound(other)
        self._require_composable()
        other._require_composable()
        return self._like(compose([(self.expression, 1), (other.expression, 1)]))

    def self_compose(self, count: int) -> Profile:
        """The mechanism run `count` times; O(log count) products of laws.

        Parameters
        ----------
        count
            A positive integer.

        Returns
        -------
        Profile
            Of the pair (P^count, Q^count).

        Examples
        --------
        >>> import hockeystick as hs
        >>> hs.Profile.gaussian(noise_multiplier=4.0).self_compose(16)
        Profile(Gaussian(mu=1.0))
        """
        count = check.positive_integer("count", count)
        if count > 1:
            self._require_composable()
        return self._like(compose([(self.expression, count)]))

    def subsample(self, rate: float) -> Profile:
        """Poisson subsampling: the example takes part with probability `rate`.

        Parameters
        ----------
        rate
            In (0, 1].

        Returns
        -------
        Profile
            Of the pair ((1 - rate) Q + rate P, Q).

        Examples
        --------
        >>> import hockeystick as hs
        >>> step = hs.Profile.gaussian(noise_multiplier=1.0).subsample(0.01)
        >>> round(step.epsilon(1e-5), 3)
        0.199
        """
        return self._like(self.expression.subsample(check.sampling_rate("rate", rate)))

    def allocate(self, steps: int) -> Profile:
        """Random allocation: the example takes part in one of `steps` runs, drawn uniformly.

        [FeldmanShenfeld25, Lemma 3.1]; O(log steps) averages of laws.

        Parameters
        ----------
        steps
            A positive integer.

        Returns
        -------
        Profile
            Of the pair (average over i of Q x .. P_i .. x Q, Q x .. x Q).

        Examples
        --------
        >>> import hockeystick as hs
        >>> step = hs.Profile.gaussian(noise_multiplier=1.0)
        >>> round(step.allocate(1000).epsilon(1e-6), 3)
        0.172
        """
        steps = check.positive_integer("steps", steps)
        if steps > 1:
            self._require_composable()
        return self._like(self.expression.allocate(steps))

    def reverse(self) -> Profile:
        """The add direction. Subsampling and allocation act before it.

        Returns
        -------
        Profile
            Of the pair (Q, P).

        Examples
        --------
        >>> import hockeystick as hs
        >>> step = hs.Profile.gaussian(noise_multiplier=1.0)
        >>> step.reverse().subsample(0.1).delta(0.05) == step.subsample(0.1).reverse().delta(0.05)
        True
        """
        return self._like(self.expression.reverse())

    def symmetrize(self) -> Profile:
        """The larger of both directions, for all epsilon.

        Returns
        -------
        Profile
            The maximum of the profile and its `reverse()`.

        Examples
        --------
        >>> import hockeystick as hs
        >>> run = hs.Profile.gaussian(noise_multiplier=1.0).subsample(0.1)
        >>> run.symmetrize().delta(0.1) == max(run.delta(0.1), run.reverse().delta(0.1))
        True
        """
        return self.maximum(self.reverse())

    def maximum(self, other: Profile) -> Profile:
        """The pointwise maximum: valid for the worse of two mechanisms. Take maxima last.

        Parameters
        ----------
        other
            A profile with the same kind of bound.

        Returns
        -------
        Profile
            The larger delta at every epsilon.

        Examples
        --------
        >>> import hockeystick as hs
        >>> a, b = hs.Profile.laplace(scale=1.0), hs.Profile.gaussian(noise_multiplier=1.0)
        >>> a.maximum(b).delta(1.5) == b.delta(1.5)
        True
        """
        self._require_same_bound(other)
        return self._like(Maximum(self.expression, other.expression))

    def minimum(self, other: Profile) -> Profile:
        """The best of two bounds on one mechanism.

        Parameters
        ----------
        other
            A profile with the same kind of bound.

        Returns
        -------
        Profile
            The largest convex function below both: the true profile is one.

        Examples
        --------
        >>> import hockeystick as hs
        >>> step = hs.Profile.gaussian(noise_multiplier=1.0)
        >>> round(hs.Profile.from_epsilon_delta(1.0).minimum(step).epsilon(1e-5), 3)
        1.0
        """
        self._require_same_bound(other)
        return self._like(Minimum(self.expression, other.expression))

    def dominates(self, other: Profile, *, slack: float = 1e-200) -> bool:
        """Whether this pair provably dominates the other.

        That is, lower(self) >= upper(other) at every g > 0. False means not proven.

        Parameters
        ----------
        other
            Any profile.
        slack
            Differences of delta below it are ignored (in both directions), because the far tails of
            both laws are truncated.

        Returns
        -------
        bool
            True is a proof up to the slack.

        Examples
        --------
        >>> import hockeystick as hs
        >>> step = hs.Profile.gaussian(noise_multiplier=1.0)
        >>> step.dominates(step.subsample(0.5)), step.subsample(0.5).dominates(step)
        (True, False)
        """
        slack = check.at_least("slack", slack, 0.0)
        return proves_domination(self._evaluator, other._evaluator, slack)

    def __repr__(self) -> str:
        suffix = "" if self.bound == "upper" else ", bound='lower'"
        return f"Profile({self.expression!r}{suffix})"

    def _require_composable(self) -> None:
        if self.bound == "lower" and not self.expression.lower_composes:
            raise InvalidParameter(
                "bound", "'upper' when composing after a maximum or symmetrisation", self.bound
            )
