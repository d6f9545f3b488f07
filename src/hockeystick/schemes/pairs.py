"""Building blocks of dominating pairs: one participation, compositions, several examples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.mixed_ratio import rounded_up
from hockeystick._validate import LARGEST_NOISE, SMALLEST_NOISE
from hockeystick.errors import InvalidParameter, PrecisionError
from hockeystick.profile import Profile
from hockeystick.profile.constructors import SMALLEST_REPLACED
from hockeystick.profile.expressions.mechanisms import GaussianPair, random_shift
from hockeystick.profile.expressions.replaced import ReplacedGaussian
from hockeystick.schemes.capabilities import (
    DominatingPair,
    Missing,
    Run,
    SampledRun,
    offered,
    reason_of,
)
from hockeystick.schemes.participants import Step

__all__ = [
    "SHARED_EXAMPLES",
    "composed_rounds",
    "counted_lengths",
    "displaced_step",
    "dominating_pair",
    "gaussian_step",
    "missing_pair",
    "needs_gaussian",
    "needs_independent_noise",
    "several_sampled",
    "step_of",
    "too_many_bands",
    "too_many_steps",
]

# More different lengths than these are rounded up: each takes a composition of its own, and 16 in
# geometric progression are at most a few percent apart for the usual strategies.
MOST_LENGTHS = 16
# What goes through the steps one by one takes some seconds for so many.
MOST_STEPS = 10_000_000
# The objection to amplification where others' participation depends on a user's draws.
SHARED_EXAMPLES = (
    "examples that several users share reveal their draws through other users' batches, so that "
    "nothing is amplified"
)


# -- one participation ---------------------------------------------------------------------------


@dataclass(frozen=True)
class AddedStep:
    """An example that is there or not; a mechanism of its own has columns of length 1 only."""

    mechanism: Profile | None
    noise_multiplier: float | None

    def __call__(self, length: float) -> Profile:
        """The mechanism, or the Gaussian one with this sensitivity."""
        if self.mechanism is not None:
            return self.mechanism
        assert self.noise_multiplier is not None
        return gaussian_step(self.noise_multiplier, length)

    def sampled(self, length: float, rate: float) -> Profile:
        """The subsampled pair."""
        return self(length).subsample(rate)


@dataclass(frozen=True)
class ReplacedStep:
    """An example that is one or another one, with Gaussian noise.

    Both take part in the same steps, because batches are drawn without regard to what is in them.
    """

    noise_multiplier: float

    def __call__(self, length: float) -> Profile:
        """Two gradients within the clip norm are at most twice the clip norm apart."""
        return gaussian_step(self.noise_multiplier, 2 * length)

    def sampled(self, length: float, rate: float) -> Profile:
        """The gradient changes its sign: the proof is in profile/expressions/replaced.py."""
        gaussian_step(self.noise_multiplier, length)  # the same limits of floating point
        return Profile.replaced_gaussian(noise_multiplier=self.noise_multiplier / length, rate=rate)


def displaced_step(step: Profile, rate: float, *, adjacency: str) -> Profile:
    """An example that takes part in the place of another one: two clip norms, either way.

    `step` is the Gaussian pair of a participation; with replaced examples it is twice as wide
    already. The pair of an example that is replaced, with gradients of twice the clip norm.
    """
    mu = step.expression.gaussian_mu() * (2 if adjacency == "add-remove" else 1)
    # Far smaller rates are rounded up: masses would be differences below floating point.
    rate = min(1.0, max(rate, SMALLEST_REPLACED * max(1 / mu, 1.0)))
    pair = GaussianPair(2 * mu) if rate == 1 else ReplacedGaussian(mu, rate)
    return Profile(pair)


def gaussian_step(noise_multiplier: float, length: float) -> Profile:
    """The Gaussian mechanism on columns of the given length.

    `PrecisionError` where it is too small beside them to compute with, `InvalidParameter` where it
    is too large.
    """
    low, high = SMALLEST_NOISE * length, LARGEST_NOISE * length
    if not noise_multiplier >= low:
        raise PrecisionError(
            f"Noise multiplier {noise_multiplier:g} is too small for floating point beside columns "
            f"of length {length:g}: no bound was computed.",
            lower=0.0,
            upper=math.inf,
        )
    if not noise_multiplier <= high:
        allowed = f"at most {high:g} for columns of length {length:g}"
        raise InvalidParameter("noise_multiplier", allowed, noise_multiplier)
    return Profile(GaussianPair(1 / (noise_multiplier / length)))


def step_of(run: Run, noise_multiplier: float | None) -> Step:
    """The profile of one participation, by the length of its column."""
    if run.adjacency == "add-remove":
        return AddedStep(run.mechanism, noise_multiplier)
    assert noise_multiplier is not None
    return ReplacedStep(noise_multiplier)


# -- the pair of a run ---------------------------------------------------------------------------


def missing_pair(run: SampledRun) -> str | None:
    """Why no dominating pair is known for the run, in one clause; None if one is."""
    if run.adjacency != "add-remove":
        reason = needs_gaussian(run) or reason_of(run.sampling.replaced_pair(run))
        if reason is not None:
            return reason
    return reason_of(run.sampling.dominating_pair(run))


def dominating_pair(run: SampledRun, noise_multiplier: float | None) -> DominatingPair:
    """The pair of a run for which `missing_pair` is None."""
    return offered(run.sampling.dominating_pair(run))(step_of(run, noise_multiplier))


# -- reasons why something is missing ------------------------------------------------------------


def needs_independent_noise(run: Run, scheme: str) -> Missing | None:
    """The usual objection: steps can be composed only if their noise is independent."""
    if not run.correlated:
        return None
    return Missing(f"no dominating pair is known for {scheme} with correlated noise")


def needs_gaussian(run: Run) -> str | None:
    """The objection to a mechanism of which only one participation is known."""
    return None if run.mechanism is None else "it needs the Gaussian mechanism"


def too_many_steps(run: Run) -> str | None:
    """The objection of analyses that go through the steps one by one."""
    if run.steps <= MOST_STEPS:
        return None
    return f"it goes through the steps one by one, of which there may be at most {MOST_STEPS:,}"


def too_many_bands(run: Run, scheme: str, *, groups: int) -> Missing | None:
    """The objection to columns that overlap."""
    bands = run.strategy.bands
    if bands <= groups:
        return None
    return Missing(
        f"it needs a strategy with at most {groups} band{'s' if groups > 1 else ''} under "
        f"{scheme}, this one has {bands}"
    )


# -- compositions --------------------------------------------------------------------------------


def composed_rounds(run: Run, step: Step, *, rate: float, groups: int) -> DominatingPair:
    """The worst group's steps, each subsampled at the rate, composed.

    If an example can only join steps that are at least `bands` apart, the columns of C that belong
    to them have no row in common. Its contributions to C G + Z then lie in different coordinates,
    each sampled independently, so the run is the composition of Gaussian mechanisms with the
    columns' lengths as sensitivities, each subsampled [ChoquetteChoo23, Theorem 4].

    In round r group g has step g + r * groups. Groups are public. Each round is charged the longest
    column that any group has there; a group that has the longest in all of them is the worst, and
    the pair is its own. All columns of a Toeplitz strategy are charged in full, although the end of
    the run may cut the last one short: that is how such runs are accounted for in the literature,
    and it costs nothing if whole rounds are run.
    """
    rounds = -(-run.steps // groups)
    coefficients = run.strategy.coefficients
    if coefficients is not None:
        lengths = {float(np.linalg.norm(coefficients)): rounds}
        tight = (rounds - 1) * groups + run.strategy.bands <= run.steps
    else:
        lengths, tight = _longest_by_round(run.strategy.column_norms, rounds, groups)
    parts = [step.sampled(length, rate).self_compose(count) for length, count in lengths.items()]
    return DominatingPair(reduce(Profile.compose, parts), tight=tight)


def _longest_by_round(
    columns: FloatArray, rounds: int, groups: int
) -> tuple[dict[float, int], bool]:
    """How many rounds have which length, and whether they are those of one group."""
    padded = np.zeros(rounds * groups)
    padded[: columns.size] = columns
    by_round = padded.reshape(rounds, groups)
    longest = by_round.max(axis=1)
    tight = bool((by_round == longest[:, None]).all(axis=0).any())
    lengths, exact = counted_lengths(longest)
    return lengths, tight and exact


def counted_lengths(lengths: FloatArray) -> tuple[dict[float, int], bool]:
    """How often each length occurs, and whether none was rounded up. All are positive."""
    exact = np.unique(lengths).size <= MOST_LENGTHS
    if not exact:
        grid = np.geomspace(lengths.min(), lengths.max(), MOST_LENGTHS)
        grid[-1] = lengths.max()
        lengths = grid[np.searchsorted(grid, lengths)]
    values, counts = np.unique(lengths, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True)), exact


# -- several examples of a user in one step ------------------------------------------------------


def several_sampled(step: Profile, *, rate: float, copies: int, tries: int = 1) -> Profile:
    """The pair of a step for which each of `copies` examples is sampled independently.

    Their clipped gradients add up, at worst in one direction, so j of them shift the output by j
    clip norms: P is a binomial mixture of N(j, s^2) and Q is N(0, s^2). `step` is the pair of a
    single example. With several independent `tries` the one that samples most examples counts.

    Built as the pair given that some example is sampled, subsampled at the probability of that: the
    likelihood ratio is then near 1 in closed form, and not as a difference of large masses.
    """
    if rate == 1:
        return step if copies == 1 else _shifted(step, [copies], [1.0])
    taking_part = rounded_up(-math.expm1(copies * tries * math.log1p(-rate)))
    if copies == 1:
        return step.subsample(rate if tries == 1 else taking_part)
    weights = _largest_counts(rate, copies, tries)
    return _shifted(step, list(range(1, copies + 1)), weights).subsample(taking_part)


def _largest_counts(rate: float, copies: int, tries: int) -> list[float]:
    """The probabilities that the largest of `tries` binomial counts is 1, ..., `copies`.

    With B = P(at most j) and h = P(j), B^tries - (B - h)^tries without a difference: tiny ones
    count too, since the smallest likelihood ratios are made of them.
    """
    masses = [_binomial(j, rate, copies) for j in range(copies + 1)]
    weights = []
    for at_most, mass in list(zip(accumulate(masses), masses, strict=True))[1:]:
        ratio = mass / at_most if mass > 0 else 0.0
        missed = -math.expm1(tries * math.log1p(-ratio)) if ratio < 1 else 1.0
        weights.append(min(at_most, 1.0) ** tries * missed)
    return weights


def _binomial(count: int, rate: float, copies: int) -> float:
    """P(count), through logarithms."""
    log_ways = math.log(math.comb(copies, count))
    return math.exp(log_ways + count * math.log(rate) + (copies - count) * math.log1p(-rate))


def _shifted(step: Profile, counts: list[int], weights: list[float]) -> Profile:
    """The step's shift times a random count."""
    one = step.expression.order()
    return Profile(random_shift([count * one for count in counts], weights))
