"""Random allocation with correlated noise: the composition of blocks that share nothing.

The example adds one column of C for each block of steps. Its trajectories have the Gram matrix
A G A^T, G that of the columns and A the incidence of steps in trajectories, and a majorant of G
gives one of A G A^T. If its blocks share nothing, the run is dominated by the composition of one
mixture over steps for each block (docs/gram.md, "A fresh draw in every block").
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce

import numpy as np

from hockeystick._numerics.law import FloatArray
from hockeystick._numerics.mixed_ratio import rate_of_counts
from hockeystick.analyses.gram.bound import GramBound
from hockeystick.analyses.gram.order.blocks import highest_block, separated_blocks
from hockeystick.analyses.gram.search.settings import SETTINGS, Settings
from hockeystick.bounds.bound import Bound, UpperBound
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.profile import Profile
from hockeystick.profile.refinement import Direction

__all__ = ["BlockBound"]


class BlockBound(Bound):
    """Upper bounds for one pick in each block of `length` columns with the given inner products."""

    def __init__(
        self, kernel: FloatArray, length: int, budget: float, settings: Settings = SETTINGS
    ) -> None:
        self._kernel = kernel
        self._length = length
        self._budget = settings.block_work * budget
        self._settings = settings

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
        """One kernel above those of all whole blocks; a partial block is subsampled."""
        settings = self._settings
        blocks = separated_blocks(
            self._kernel, self._length, levels=settings.levels, far=settings.far_blocks
        )
        count = self._kernel.shape[0] // self._length
        parts = [
            self._one(highest_block(alike)).self_compose(len(alike))
            for alike in _groups(blocks[:count], settings.few_blocks)
        ]
        rests = [
            self._one(rest).subsample(rate_of_counts(rest.shape[0], self._length))
            for rest in blocks[count:]
        ]
        return reduce(Profile.compose, parts + rests)

    def _one(self, block: FloatArray) -> Profile:
        return GramBound(block, self._budget, self._settings).as_profile()


def _groups(blocks: list[FloatArray], few: int) -> list[list[FloatArray]]:
    """All in one, or where they are few the two ends apart from the others.

    The others compensate for neighbours on both sides. The order of the steps in a block does not
    matter: the first one may be reversed, so that both ends compensate in the same place.
    """
    if len(blocks) > few:
        return [blocks]
    first, last = blocks[0], blocks[-1]
    aligned = min((first, first[::-1, ::-1]), key=lambda one: float(np.maximum(one, last).sum()))
    ends = [aligned, last] if len(blocks) > 1 else blocks
    return [group for group in (ends, blocks[1:-1]) if group]
