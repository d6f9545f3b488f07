"""Balls-in-bins: one bin for each example, drawn once for the whole run.

Losses are drawn with any noise, through inner products. The outputs enter the likelihood ratio
through their inner products with the means m_i of the bins, which are jointly Gaussian: one number
for each bin instead of one for each step, with the Gram matrix of the means as covariance. The bins
take the place of the steps in simulation/participation_run.py, and an example joins exactly one of
them, or none if some lie beyond the end of the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.mixed_ratio import rate_of_counts
from hockeystick._validate import positive_integer
from hockeystick.profile import Profile
from hockeystick.profile.expressions.sampled import drawn_uniformly
from hockeystick.schemes.balls_in_bins.tuples import BinTupleSource
from hockeystick.schemes.base import Sampling
from hockeystick.schemes.batches import (
    Indices,
    batch_size_within,
    nearest_divisor,
    same_members_again,
)
from hockeystick.schemes.capabilities import (
    Candidate,
    DominatingPair,
    Missing,
    PairBuilder,
    Run,
    Simulator,
    Step,
)
from hockeystick.schemes.mixtures import MixtureBlocks, UniformMixture
from hockeystick.schemes.pairs import counted_lengths
from hockeystick.schemes.simulation import Simulation
from hockeystick.schemes.simulation.columns import DenseColumns, Trajectories
from hockeystick.schemes.simulation.participation_run import ParticipationRun
from hockeystick.strategies import Strategy, band_mf, bsr

__all__ = ["BallsInBins", "bin_run"]


# A Gram matrix of this many bins takes half a gigabyte.
MOST_BINS = 8_000
# Numbers of bands that `compare` tries: few, because each takes an analysis of seconds; and those
# that are tried where draws may verify them.
BANDS, DRAWN_BANDS = (16, 64), (8, 16, 32)


@dataclass(frozen=True, kw_only=True)
class BallsInBins(Sampling):
    """Each example draws one of `bins` bins and joins the steps bin, bin + bins, bin + 2 bins, ...

    Examples are independent; the draw holds for the whole run, so the same batches return in every
    epoch. If `bins` does not divide the number of steps, the first bins take part once more than
    the others; bins beyond the number of steps never do. Drawing takes O(examples + bins) once,
    and a batch is handed out in constant time.

    Parameters
    ----------
    bins
        Bins, of which each example draws one.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.BallsInBins.for_batch_size(500, examples=50_000)
    BallsInBins(bins=100)
    >>> [batch.tolist() for batch in hs.BallsInBins(bins=2).batches(examples=4, steps=3, rng=1)]
    [[1, 2], [0, 3], [1, 2]]
    """

    name: ClassVar[str] = "balls-in-bins"
    bins: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", positive_integer("bins", self.bins))

    @classmethod
    def for_batch_size(cls, batch_size: float, *, examples: int) -> Self:
        """The number of bins whose expected batch size, examples / bins, is nearest.

        Of two that are equally near, the larger number of bins (smaller batch) is taken.
        """
        number, examples = batch_size_within(batch_size, examples=examples)
        return cls(bins=nearest_divisor(examples, target=Fraction(number)))

    def expected_batch_size(self, examples: int) -> float:
        """examples / bins, in every step."""
        return positive_integer("examples", examples) / self.bins

    def most_participations(self, steps: int) -> int:
        """ceil(steps / bins), reached by the first bin."""
        return -(-self.check_steps(steps) // self.bins)

    @property
    def least_gap(self) -> int:
        """Participations are exactly `bins` steps apart."""
        return self.bins

    @property
    def participation_known(self) -> bool:
        """With a single bin every example joins every step."""
        return self.bins == 1

    def first_steps(self, steps: int) -> BallsInBins:
        """The scheme itself: bins are drawn once, and some may not have come yet."""
        return self

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        return same_members_again(examples, self.bins, steps=steps, rng=rng)

    def dominating_pair(self, run: Run) -> PairBuilder | Missing:
        """With independent noise: one random allocation of what a bin does in the whole run.

        The bins' contributions lie in different coordinates of C G, so given the data the
        likelihood ratios of the bins are independent, and that of the run is their average: random
        allocation of a mechanism that composes all participations of a bin. For the Gaussian
        mechanism and C = I that is one Gaussian mechanism with sensitivity sqrt(participations).
        With correlated noise, see `uniform_mixture`.
        """
        bands = run.strategy.bands
        if bands == 1 or self.bins == 1:
            return lambda step: self._pair(run, step)
        return Missing(
            f"it needs independent noise under {self.name}, this strategy has {bands} bands"
        )

    def _pair(self, run: Run, step: Step) -> DominatingPair:
        """Exact; the first bins take part once more if the bins do not divide the steps."""
        if run.strategy.is_identity:
            once = step(1.0)
            often, longer = divmod(run.steps, self.bins)
            counts = [(often, self.bins - longer), (often + 1, longer)]
            parts = [(once.self_compose(times), many) for times, many in counts if times and many]
            exact = True
        else:
            gram = run.strategy.gram(spacing=self.bins)
            lengths, exact = counted_lengths(np.sqrt(np.diagonal(gram)))
            parts = [(step(length), many) for length, many in lengths.items()]
        pair = drawn_uniformly([(profile.expression, many) for profile, many in parts])
        # Bins beyond the end of the run never take part.
        share = rate_of_counts(min(self.bins, run.steps), self.bins)
        return DominatingPair(Profile(pair).subsample(share), tight=exact)

    def uniform_mixture(self, run: Run) -> UniformMixture | Missing:
        """One Gaussian for each bin, with any strategy [SchuchardtKalinin26, Lemma 2.8]."""
        if min(self.bins, run.steps) > MOST_BINS:
            return Missing(
                f"it needs the Gram matrix of all bins, of which there may be at most {MOST_BINS:,}"
            )
        if run.mechanism is not None:
            return Missing("it needs the Gaussian mechanism")
        return UniformMixture(run.strategy, self.bins)

    def mixture_blocks(self, run: Run) -> MixtureBlocks | Missing:
        """The same mixture as a single block, of which not all inner products are needed."""
        if run.mechanism is not None:
            return Missing("it needs the Gaussian mechanism")
        return UniformMixture(run.strategy, self.bins).as_blocks

    def simulation(self, run: Run) -> Simulator | Missing:
        """Through the inner products with the means of the bins."""
        mixture = self.uniform_mixture(run)
        if isinstance(mixture, Missing):
            return mixture
        return Simulator(lambda simulation: bin_run(simulation, run.strategy, self.bins))

    @classmethod
    def candidates(cls, *, batch_size: float, examples: int, steps: int) -> Iterator[Candidate]:
        """The same batches in every epoch, with independent noise and with few bands."""
        if batch_size > examples / 2:
            return
        sampling = cls.for_batch_size(batch_size, examples=examples)
        yield Candidate(sampling, seconds=1.5)
        for bands in BANDS:
            if bands <= min(steps, sampling.bins):
                yield Candidate(sampling, band_mf, {"bands": bands}, seconds=20 + bands / 2)
        for bands in DRAWN_BANDS:
            if 2 * bands <= sampling.bins + 1 and sampling.bins <= steps:
                parameters = {"bands": bands}
                yield Candidate(sampling, bsr, parameters, seconds=10 + bands, by_draws=True)


class BinColumns(DenseColumns):
    """The means of the bins in place of the columns of a strategy, by a root of their products."""

    def __init__(self, gram: FloatArray, bins: int) -> None:
        self._bins = bins
        values, vectors = np.linalg.eigh(gram)
        root = np.ascontiguousarray((vectors * np.sqrt(np.maximum(values, 0.0))).T)
        super().__init__(root, gram)

    def signal(self, trajectories: Trajectories, out: FloatArray) -> None:
        """The row of the bin that was joined, or nothing; the sum over all balls of a tuple."""
        if trajectories.where.shape[1] > 1:
            super().signal(trajectories, out)
            return
        np.take(self._gram, trajectories.where[:, 0], axis=0, out=out)
        out[trajectories.number == 0] = 0.0

    def of_steps(self, products: FloatArray) -> FloatArray:
        """Sums over the steps of each bin."""
        bins = self._gram.shape[0]
        steps = np.arange(0, products.shape[1], self._bins)
        padded = np.zeros((products.shape[0], steps.size * self._bins))
        padded[:, : products.shape[1]] = products
        summed = padded.reshape(products.shape[0], steps.size, self._bins).sum(axis=1)
        return np.ascontiguousarray(summed[:, :bins])

    def overlaps(self, separation: int) -> FloatArray:
        """None: an example joins one bin."""
        return np.zeros(self._gram.shape[0])


@dataclass(frozen=True, eq=False)
class OneBin:
    """One of the bins, or none; `weights` are the probabilities with which bins are drawn."""

    bins: int
    weights: FloatArray
    log_staying_out: float = 0.0

    @property
    def expected(self) -> FloatArray:
        """The same for every bin."""
        return np.full(self.weights.size, 1 / self.bins)

    @property
    def expected_squares(self) -> FloatArray:
        """A bin is joined once or not at all."""
        return self.expected

    def trajectories(self, draws: int, rng: np.random.Generator) -> Trajectories:
        """By the inverse of the cumulative weights."""
        chosen = np.searchsorted(np.cumsum(self.weights), rng.random(draws), side="right")
        inside = chosen < self.weights.size
        where = np.where(inside, chosen, 0)[:, None]
        return Trajectories(where, np.ones_like(where), inside.astype(np.int64))

    def plain(self, factors: FloatArray, half: FloatArray) -> FloatArray:
        """log of the average of the factors over all bins; those out of the run have 1."""
        idle = self.bins - self.weights.size
        losses: FloatArray = np.log((factors.sum(axis=1) + idle) / self.bins)
        return losses

    def logarithmic(self, exponents: FloatArray, half: FloatArray) -> FloatArray:
        """The same from the exponents."""
        idle = self.bins - self.weights.size
        top = np.maximum(exponents.max(axis=1), 0.0)
        total = np.exp(exponents - top[:, None]).sum(axis=1) + idle * np.exp(-top)
        losses: FloatArray = top + np.log(total / self.bins)
        return losses

    def weighted(self, log_weights: FloatArray) -> tuple[Self, float]:
        """Bins with their probabilities multiplied."""
        idle = self.bins - self.weights.size
        logs = np.append(log_weights, math.log(idle) if idle else -math.inf)
        total = float(np.logaddexp.reduce(logs))
        law = replace(self, weights=np.exp(log_weights - total))
        return law, total - math.log(self.bins)


def bin_run(run: Simulation, strategy: Strategy, bins: int) -> ParticipationRun:
    """log LR, O(bins^2) for each draw and O(bins) for each noise level.

    Tuples of replicas where every bin takes part.
    """
    whole = run.present and run.plan.steps >= bins > 1
    tuples = BinTupleSource(strategy, bins) if whole else None
    return ParticipationRun(run, *_ingredients(strategy, bins), tuples=tuples)


@lru_cache(maxsize=4)
def _ingredients(strategy: Strategy, bins: int) -> tuple[BinColumns, OneBin]:
    mixture = UniformMixture(strategy, bins)
    return BinColumns(mixture.kernel, bins), OneBin(bins, np.full(mixture.used, 1 / bins))
