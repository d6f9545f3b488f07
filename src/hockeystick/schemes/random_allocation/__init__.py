"""Random allocation: a fresh uniform set of steps for each example in every block."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import ClassVar, Self

import numpy as np

from hockeystick._numerics.mixed_ratio import rate_of_counts
from hockeystick._validate import boolean, positive_integer
from hockeystick.bounds.counted_picks import CountedPicks
from hockeystick.errors import InvalidParameter
from hockeystick.profile import Profile
from hockeystick.schemes.base import Sampling
from hockeystick.schemes.batches import (
    Indices,
    batch_size_within,
    independent_subset,
    members_by_bin,
    nearest_divisor,
)
from hockeystick.schemes.capabilities import (
    Allocation,
    Candidate,
    DominatingPair,
    Missing,
    PairBuilder,
    Run,
    Simulator,
    Step,
)
from hockeystick.schemes.marks import Participations
from hockeystick.schemes.mixtures import MixtureBlocks
from hockeystick.schemes.pairs import needs_independent_noise

__all__ = ["RandomAllocation"]


@dataclass(frozen=True, kw_only=True)
class RandomAllocation(Sampling):
    """In every block of `out_of` steps each example joins a fresh uniform set of `picks` steps.

    Examples and blocks are independent. One block takes O(examples + out_of) work for one pick and
    O(examples * out_of) for more; memory is O(examples + out_of).

    Parameters
    ----------
    picks
        Steps that an example joins in each block.
    out_of
        Number of steps in a block; the number of all steps must be a multiple of it, unless
        `truncate` is true.
    truncate
        Allow a partial last block: it is drawn as if it were whole, and what falls outside the run
        is dropped.

    Examples
    --------
    >>> import hockeystick as hs
    >>> hs.RandomAllocation.for_batch_size(500, examples=50_000)
    RandomAllocation(picks=1, out_of=100, truncate=False)
    >>> scheme = hs.RandomAllocation(picks=1, out_of=2)
    >>> [batch.tolist() for batch in scheme.batches(examples=4, steps=4, rng=1)]
    [[1, 2], [0, 3], [0, 2, 3], [1]]
    """

    name: ClassVar[str] = "random-allocation"
    picks: int
    out_of: int
    truncate: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "picks", positive_integer("picks", self.picks))
        object.__setattr__(self, "out_of", positive_integer("out_of", self.out_of, largest=None))
        if not self.picks <= self.out_of:
            raise InvalidParameter("picks", f"an integer in [1, out_of={self.out_of}]", self.picks)
        object.__setattr__(self, "truncate", boolean("truncate", self.truncate))

    @classmethod
    def for_batch_size(
        cls, batch_size: float, *, examples: int, picks: int = 1, truncate: bool = False
    ) -> Self:
        """The block length whose expected batch size, picks * examples / out_of, is nearest.

        Of two that are equally near, the longer block (smaller batch) is taken.
        """
        number, examples = batch_size_within(batch_size, examples=examples)
        picks = positive_integer("picks", picks)
        out_of = nearest_divisor(picks * examples, target=Fraction(number))
        return cls(picks=picks, out_of=out_of, truncate=truncate)

    def expected_batch_size(self, examples: int) -> float:
        """picks * examples / out_of."""
        return self.picks * positive_integer("examples", examples) / self.out_of

    def check_steps(self, steps: int) -> int:
        """The number of steps; a partial last block is refused unless `truncate` is true."""
        steps = super().check_steps(steps)
        if steps % self.out_of and not self.truncate:
            allowed = f"a multiple of out_of={self.out_of} (or truncate=True for a partial block)"
            raise InvalidParameter("steps", allowed, steps)
        return steps

    def most_participations(self, steps: int) -> int:
        """`picks` in every full block, and at most min(picks, length) in a partial last one."""
        blocks, rest = divmod(self.check_steps(steps), self.out_of)
        return blocks * self.picks + min(self.picks, rest)

    def first_steps(self, steps: int) -> RandomAllocation:
        """With a last block of which only the first part is drawn."""
        return replace(self, truncate=True) if steps % self.out_of else self

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        for start in range(0, steps, self.out_of):
            length = min(self.out_of, steps - start)
            if self.picks == 1:
                yield from members_by_bin(examples, self.out_of, wanted=length, rng=rng)
            else:
                yield from _many_picks(self, examples, length, rng)

    def dominating_pair(self, run: Run) -> PairBuilder | Missing:
        """Independent draws composed; exact for one pick, and where every step is picked.

        One pick out of t: the likelihood ratio is the average of t independent copies of the step's
        [FeldmanShenfeld25, Lemma 3.1]. Several picks: see `parallel_allocations`; with Gaussian
        noise also exact where all steps but one are picked.
        """

        def pair(step: Step) -> DominatingPair:
            once = step(1.0)
            parts = [_allocated(once, draws) for draws in self._allocations(run)]
            hidden, _ = self._hidden(run)
            whole = hidden <= 1 and run.steps % self.out_of == 0
            exact = self.picks in (1, self.out_of) or whole
            profile = reduce(Profile.compose, parts)
            if exact:
                return DominatingPair(profile, exact)
            return DominatingPair(profile, exact, self._below(run, step), self._counted(run, once))

        return needs_independent_noise(run, self.name) or pair

    def _hidden(self, run: Run) -> tuple[int, int]:
        """How many of the steps of a block are hidden, and how many beside them are known.

        Two sets S, S' of k of t steps have k - (t - k) + |complements in common| steps in common,
        and with Gaussian noise the inner products of their means, |S n S'| / sigma^2, are all that
        matters: k picks out of t are t - k picks out of t, composed with 2k - t steps in which
        everybody takes part. The two pairs are equal.
        """
        left_out = self.out_of - self.picks
        if run.mechanism is None and 0 < left_out < self.picks:
            return left_out, self.picks - left_out
        return self.picks, 0

    def _counted(self, run: Run, step: Profile) -> CountedPicks | None:
        """The picks of whole blocks, of which a truncated last one is a part."""
        if run.mechanism is not None or run.adjacency != "add-remove":
            return None
        return CountedPicks(self.picks, self.out_of, -(-run.steps // self.out_of), step)

    def _below(self, run: Run, step: Step) -> tuple[Profile, ...]:
        """What several picks out of t dominate, in every whole block.

        One pick: a set of steps dominates a set that it contains (analyses/convolution.py). With
        Gaussian noise also the sum of the outputs of a block, a Gaussian mechanism with the
        sensitivity picks / sqrt(t) whichever steps were picked: a post-processing of the run.
        """
        blocks, known = run.steps // self.out_of, self._hidden(run)[1]
        if blocks == 0:
            return ()
        one = step(1.0).allocate(self.out_of)
        below = [(one.compose(step(math.sqrt(known))) if known else one).self_compose(blocks)]
        if run.mechanism is None:
            below.append(step(self.picks / math.sqrt(self.out_of)).self_compose(blocks))
        return tuple(below)

    def parallel_allocations(self, run: Run) -> list[Allocation] | Missing:
        """The draws of one step each that together dominate the run, with independent noise.

        Several picks out of t: draw a uniformly random partition of the block into one part per
        pick and pick one step in each part. That is a uniform set of steps, and revealing the
        partition, which does not depend on the data, can only help the adversary; so the block is
        dominated by one allocation per part, composed ([FeldmanShenfeld25, Lemma 3.11], with part
        sizes that differ by at most one). Steps of different parts are interleaved, but given the
        partition the run is a step-by-step post-processing of independent pairs. An upper bound
        only, unless there is one part or all parts are single steps. With Gaussian noise and more
        than half of the steps, the steps that are not picked are hidden instead (`_hidden`).
        """
        return needs_independent_noise(run, self.name) or self._allocations(run)

    def _allocations(self, run: Run) -> list[Allocation]:
        """Whole blocks, and what is left of a truncated last block.

        One pick falls inside the rest with probability rest/out_of and is uniform there; if all
        steps are picked, every step takes part; otherwise the whole block is charged, of which the
        truncated one is a post-processing.
        """
        blocks, rest = divmod(run.steps, self.out_of)
        hidden, known = self._hidden(run)
        short, longer = divmod(self.out_of, hidden)
        ending: list[Allocation] = []
        if rest and self.picks == 1:
            ending.append(Allocation(self.out_of, rest, 1))
        elif rest and self.picks == self.out_of:
            ending.append(Allocation(1, 1, rest))
        elif rest:
            blocks += 1
        whole = [
            Allocation(short, short, blocks * (hidden - longer)),
            Allocation(short + 1, short + 1, blocks * longer),
            Allocation(1, 1, blocks * known),
        ]
        return [allocation for allocation in (*whole, *ending) if allocation.count]

    def mixture_blocks(self, run: Run) -> MixtureBlocks | Missing:
        """With correlated noise and one pick: a mixture over the columns of each block."""
        if not run.correlated:
            return Missing("it is for correlated noise, profile is for independent noise")
        if self.picks > 1:
            return Missing(
                f"it needs picks=1, got picks={self.picks}; shorter blocks with one pick each draw "
                "as many steps, and gaussian takes any number of picks"
            )
        return MixtureBlocks(run.strategy, spacing=run.steps, length=self.out_of)

    def simulation(self, run: Run) -> Simulator | Missing:
        """With independent noise block by block; with correlated noise for one pick."""
        from hockeystick.schemes.random_allocation.simulation import AllocationLaw, AllocationRun
        from hockeystick.schemes.simulation.block_tuples import BlockTupleSource
        from hockeystick.schemes.simulation.participation_run import simulator

        if not run.correlated:
            return Simulator(lambda simulation: AllocationRun(self, run.steps, simulation))
        if self.picks > 1:
            return Missing("with correlated noise random allocation is simulated with one pick")
        source = BlockTupleSource(run.strategy, self.out_of, 1.0)
        return simulator(
            run,
            lambda held: AllocationLaw(self.out_of, run.steps),
            gap=1,
            tuples=lambda held: source,
        )

    @classmethod
    def candidates(cls, *, batch_size: float, examples: int, steps: int) -> Iterator[Candidate]:
        """Each example once per epoch, with independent noise."""
        if batch_size <= examples / 2:
            sampling = cls.for_batch_size(batch_size, examples=examples, truncate=True)
            yield Candidate(sampling, seconds=2.5)


def _allocated(step: Profile, draws: Allocation) -> Profile:
    one = step.allocate(draws.steps_run).subsample(rate_of_counts(draws.steps_run, draws.length))
    return one.self_compose(draws.count)


def _many_picks(
    scheme: RandomAllocation, examples: int, length: int, rng: np.random.Generator
) -> Iterator[Indices]:
    """The first `length` batches of a block, by sequential selection.

    An example that needs k more of the r steps left takes the next one with probability k / r. That
    makes all sets of `picks` steps equally likely, and never misses or exceeds the number. Nobody
    needs more than `picks`, so a Poisson sample at the rate picks / r is thinned to k / picks: a
    batch costs what drawing that sample costs.
    """
    taken = Participations(examples, most=scheme.picks)
    for remaining in range(scheme.out_of, scheme.out_of - length, -1):
        rate = min(1.0, scheme.picks / remaining)
        drawn = independent_subset(examples, rate=rate, rng=rng)
        # k of `most` numbers lead into the batch: with integers k = most is certain, k = 0 never.
        most = min(scheme.picks, remaining)
        batch = drawn[rng.integers(most, size=drawn.size) < scheme.picks - taken[drawn]]
        taken.add(batch)
        yield batch
