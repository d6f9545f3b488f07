"""A fresh uniform set of steps for each example in every block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from hockeystick._validate import positive_integer
from hockeystick.errors import InvalidParameter
from hockeystick.schemes.base import Indices, Sampling, batch_size_within
from hockeystick.schemes.bins import members_by_bin, nearest_divisor

__all__ = ["RandomAllocation"]


@dataclass(frozen=True, kw_only=True)
class RandomAllocation(Sampling):
    """In every block of `out_of` steps each example joins a fresh uniform set of `picks` steps.

    Examples and blocks are independent. The number of steps must be a multiple of `out_of`, unless
    `truncate` is true: the last block is then drawn as if it were whole, and what falls outside the
    run is dropped. One block takes O(examples + out_of) work for one pick and
    O(examples * out_of) for more; memory is O(examples + out_of).
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
        if not isinstance(self.truncate, (bool, np.bool_)):
            raise InvalidParameter("truncate", "True or False", self.truncate)
        object.__setattr__(self, "truncate", bool(self.truncate))

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

    def _draw(self, examples: int, steps: int, rng: np.random.Generator) -> Iterator[Indices]:
        for start in range(0, steps, self.out_of):
            length = min(self.out_of, steps - start)
            if self.picks == 1:
                yield from members_by_bin(examples, self.out_of, wanted=length, rng=rng)
            else:
                yield from _many_picks(self, examples, length, rng)


def _many_picks(
    scheme: RandomAllocation, examples: int, length: int, rng: np.random.Generator
) -> Iterator[Indices]:
    """The first `length` batches of a block, by sequential selection.

    An example that needs k more of the r steps left takes the next one with probability k / r. That
    makes all sets of `picks` steps equally likely, and never misses or exceeds the number.
    """
    narrow = np.min_scalar_type(scheme.out_of)
    needed = np.full(examples, scheme.picks, dtype=narrow)
    for remaining in range(scheme.out_of, scheme.out_of - length, -1):
        taken = rng.integers(remaining, size=examples, dtype=narrow) < needed
        needed -= taken
        yield np.flatnonzero(taken).astype(np.int64, copy=False)
