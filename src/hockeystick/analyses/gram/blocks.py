"""Random allocation with correlated noise: blocks that have nothing in common, composed.

The example adds one column of C for each block of steps. Its trajectories have the Gram matrix
A G A^T, G that of the columns and A the incidence of steps in trajectories, and a matrix above G is
one above A G A^T too. If it has nothing between blocks, the run is dominated by the composition of
one mixture over steps for each block (docs/gram.md, "A fresh draw in every block").
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.mixed_ratio import rate_of_counts
from hockeystick.analyses.gram.bound import GramBound
from hockeystick.analyses.gram.order.separated_blocks import highest_block, separated_blocks
from hockeystick.bounds.bound import Bound, UpperBound
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.profile import Profile
from hockeystick.profile.refinement import Direction

__all__ = ["BlockBound"]

# A whole profile takes as long as several numbers.
SHARE_OF_BUDGET = 0.3
# The first and the last of so many blocks are worth a profile of their own.
FEW_BLOCKS = 3


class BlockBound(Bound):
    """Upper bounds for one pick in each block of `length` columns with the given inner products."""

    def __init__(self, kernel: FloatArray, length: int, budget: float) -> None:
        self._kernel = kernel
        self._length = length
        self._budget = SHARE_OF_BUDGET * budget

    def epsilon(
        self, delta: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """Of the composition."""
        run = ProfileBound(self._profile)
        return run.epsilon(delta, directions=directions, accuracy=accuracy)

    def delta(
        self, epsilon: float, *, directions: Sequence[Direction], accuracy: float
    ) -> UpperBound:
        """Of the composition."""
        run = ProfileBound(self._profile)
        return run.delta(epsilon, directions=directions, accuracy=accuracy)

    def as_profile(self) -> Profile:
        """The composition of all blocks."""
        return self._profile

    @cached_property
    def _profile(self) -> Profile:
        """One kernel above those of all whole blocks; the rest of a block is drawn by chance."""
        blocks = separated_blocks(self._kernel, self._length)
        count = self._kernel.shape[0] // self._length
        parts = [
            self._one(highest_block(alike)).self_compose(len(alike))
            for alike in _groups(blocks[:count])
        ]
        rests = [
            self._one(rest).subsample(rate_of_counts(rest.shape[0], self._length))
            for rest in blocks[count:]
        ]
        return reduce(Profile.compose, parts + rests)

    def _one(self, block: FloatArray) -> Profile:
        return GramBound(block, self._budget).as_profile()


def _groups(blocks: list[FloatArray]) -> list[list[FloatArray]]:
    """All in one, or where they are few the two ends apart from the others, which pay twice.

    The order of the steps in a block does not matter: the first one may be turned round, so that
    both ends pay in the same place.
    """
    if len(blocks) > FEW_BLOCKS:
        return [blocks]
    first, last = blocks[0], blocks[-1]
    turned = min((first, first[::-1, ::-1]), key=lambda one: float(np.maximum(one, last).sum()))
    ends = [turned, last] if len(blocks) > 1 else blocks
    return [group for group in (ends, blocks[1:-1]) if group]
