"""Hyperparameter search: what the best of a random number of private runs guarantees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar

from hockeystick import _validate as check
from hockeystick.accounting import account
from hockeystick.accounting.noise_search import Calibration, first_guess, noise_secant
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Analysis, Guarantee
from hockeystick.plan import Accountable, require_accountable
from hockeystick.profile import DEFAULT_ACCURACY
from hockeystick.profile.resolution import BOTH
from hockeystick.randomness import RandomSource, generator
from hockeystick.tuning.run_counts import NegativeBinomialCount, PoissonCount, RunCount
from hockeystick.tuning.selection import SelectionBound

__all__ = ["Best", "RandomRuns"]

Distribution = Literal["geometric", "poisson", "negative-binomial"]
DISTRIBUTIONS = ("geometric", "poisson", "negative-binomial")
# The range of expected runs; below 1 a search mostly makes none.
LEAST_MEAN, MOST_MEAN = 0.01, 1e9
# Shapes of negative binomial laws; beyond, the law is nearly that of Poisson.
MOST_SHAPE = 1e3
METHOD = "selection"

Setting = TypeVar("Setting")


class Best(NamedTuple):
    """The best run of a search.

    Attributes
    ----------
    score
        Its score.
    setting
        The setting it was made with.
    output
        What it returned beside the score.
    """

    score: float
    setting: Any
    output: Any


@check.with_known_names
@dataclass(frozen=True, kw_only=True)
class RandomRuns:
    """A search that makes a random number of private runs and releases only the best.

    How many runs are made is secret, and so are all outputs and scores but those of the best run.
    Then the search costs little more than one run: for a geometric number of runs three times its
    epsilon at worst [LiuTalwar19], and less where delta is small beside it. The bounds here come
    from the whole profile of one run, with a proof for every order of the outputs
    (docs/tuning.md); they are at most those of [KoskelaRedbergWang24].

    Parameters
    ----------
    distribution
        Of the number of runs K: "geometric", "poisson" (which may make none) or
        "negative-binomial" (without 0).
    mean
        The expected number of runs; above 1 unless the law is "poisson".
    shape
        For "negative-binomial": the parameter eta of [PapernotSteinke22]. 1 is the geometric law
        and 0 the logarithmic one, whose numbers vary more, and whose epsilon is smaller.

    Examples
    --------
    >>> import hockeystick as hs
    >>> search = hs.tuning.RandomRuns(distribution="geometric", mean=10)
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=1000)
    >>> one = hs.account(plan, noise_multiplier=1.0)
    >>> print(f"{one.epsilon(1e-6):.2f} {search.guarantee(one).epsilon(1e-6):.2f}")
    2.13 2.97
    """

    distribution: Distribution = "geometric"
    mean: float
    shape: float | None = None

    def __post_init__(self) -> None:
        check.choice("distribution", self.distribution, DISTRIBUTIONS)
        mean = check.positive("mean", self.mean)
        if not LEAST_MEAN <= mean <= MOST_MEAN:
            raise InvalidParameter("mean", f"in [{LEAST_MEAN}, {MOST_MEAN:g}]", mean)
        if self.distribution != "poisson" and not mean > 1:
            raise InvalidParameter("mean", f"above 1 for the {self.distribution} law", mean)
        object.__setattr__(self, "mean", mean)
        if self.distribution != "negative-binomial" and self.shape is not None:
            raise InvalidParameter("shape", "None unless the law is negative-binomial", self.shape)
        if self.distribution == "negative-binomial":
            shape = check.at_least("shape", self.shape, 0.0)
            if not shape <= MOST_SHAPE:
                raise InvalidParameter("shape", f"in [0, {MOST_SHAPE:g}]", shape)
            object.__setattr__(self, "shape", shape)

    @cached_property
    def count(self) -> RunCount:
        """The law of the number of runs."""
        if self.distribution == "poisson":
            return PoissonCount(self.mean)
        shape = 1.0 if self.shape is None else self.shape
        return NegativeBinomialCount.with_mean(self.mean, shape=shape)

    def draw(self, *, rng: RandomSource = None) -> int:
        """How many runs to make. Keep it secret: it is not part of what is released.

        Parameters
        ----------
        rng
            A seed, a generator, "chacha", or None for a cryptographic seed.

        Returns
        -------
        int
            May be 0 for the law "poisson": then nothing is released.

        Examples
        --------
        >>> import hockeystick as hs
        >>> hs.tuning.RandomRuns(distribution="geometric", mean=10).draw(rng=1) >= 1
        True
        """
        return self.count.draw(generator(rng))

    def best_of(
        self,
        run: Callable[[Setting], tuple[float, Any]],
        settings: Sequence[Setting],
        *,
        rng: RandomSource = None,
    ) -> Best | None:
        """Makes the runs, each with a setting drawn uniformly, and returns the best alone.

        Parameters
        ----------
        run
            Trains with a setting and returns (score, output), for instance (accuracy, model). Both
            must come from a run with the guarantee that is given to `guarantee`: a score computed
            from private data is part of what it releases.
        settings
            What is searched; chosen without looking at the data.
        rng
            For the number of runs and the settings.

        Returns
        -------
        Best or None
            None if no run was made, which happens for the law "poisson" alone.

        Examples
        --------
        >>> import hockeystick as hs
        >>> search = hs.tuning.RandomRuns(distribution="geometric", mean=30)
        >>> search.best_of(lambda rate: (-abs(rate - 0.3), "model"), [0.1, 0.3], rng=3).setting
        0.3
        """
        if not len(settings) > 0:
            raise InvalidParameter("settings", "at least one", settings)
        source = generator(rng)
        best: tuple[float, float, Best] | None = None
        for _ in range(self.count.draw(source)):
            setting = settings[int(source.integers(len(settings)))]
            score, output = run(setting)
            score = check.real("score", score)
            # Ties are broken at random: the proof needs an order without ties.
            tie = float(source.random())
            if best is None or (score, tie) > best[:2]:
                best = score, tie, Best(score, setting, output)
        return None if best is None else best[2]

    def guarantee(self, base: Guarantee) -> Guarantee:
        """What the search guarantees if every run has the guarantee `base`.

        Parameters
        ----------
        base
            Of one run, its score included, in both directions.

        Returns
        -------
        Guarantee
            Of the same kind, for the released setting, score and output of the best run.

        Examples
        --------
        >>> import hockeystick as hs
        >>> search = hs.tuning.RandomRuns(distribution="geometric", mean=10)
        >>> one = hs.account(hs.Plan(sampling=hs.FullBatch(), steps=1), noise_multiplier=4.0)
        >>> one.epsilon(1e-6) < search.guarantee(one).epsilon(1e-6) < 2 * one.epsilon(1e-6)
        True
        """
        if not isinstance(base, Guarantee):
            raise InvalidParameter("base", "a Guarantee", base)
        if set(base.directions) != set(BOTH):
            raise InvalidParameter("base", "a guarantee for both directions", base.directions)
        bound = SelectionBound(base.profile, self.count)
        return replace(
            base,
            analyses=(Analysis(f"{METHOD}({base.method})", base.kind, bound),),
            plans=(*base.plans, self.describe()),
            reserve=tuple,
        )

    def calibrate(self, plan: Accountable, *, epsilon: float, delta: float) -> Calibration:
        """The noise of one run with which the whole search meets (epsilon, delta).

        Parameters
        ----------
        plan
            One run.
        epsilon, delta
            The target of the search.

        Returns
        -------
        Calibration
            Its guarantee is that of the search.

        Raises
        ------
        CalibrationError
            If no noise multiplier up to 1e7 meets the target.

        Examples
        --------
        >>> import hockeystick as hs
        >>> search = hs.tuning.RandomRuns(distribution="poisson", mean=5)
        >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=1)
        >>> found = search.calibrate(plan, epsilon=2.0, delta=1e-6)
        >>> 1.999 < found.guarantee.epsilon(1e-6) <= 2.0
        True
        """
        require_accountable(plan)
        target = check.wanted_epsilon("epsilon", epsilon)
        delta = check.small_probability("delta", delta)
        tried: dict[float, Guarantee] = {}

        def epsilon_at(noise: float) -> float:
            tried[noise] = self.guarantee(account(plan, noise_multiplier=noise))
            return tried[noise].epsilon(delta)

        start = first_guess(plan, epsilon=target / 2, delta=delta)
        noise = noise_secant(epsilon_at, target, start=start, tolerance=DEFAULT_ACCURACY).noise
        return Calibration(noise, tried[noise], target, delta, len(tried))

    def describe(self) -> dict[str, Any]:
        """The search as plain values, for JSON."""
        described: dict[str, Any] = {"runs": self.distribution, "mean": self.mean}
        return described if self.shape is None else {**described, "shape": self.shape}
