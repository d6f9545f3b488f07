"""b-min-sep sampling for data that belongs to several users at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hockeystick.schemes.user_min_sep.attribution import Attribution
from hockeystick.schemes.user_min_sep.sampler import UserSampling
from hockeystick.schemes.user_min_sep.smallest_rate import smallest_rate

__all__ = ["UserMinSep"]


@dataclass(frozen=True, kw_only=True)
class UserMinSep(UserSampling):
    """Every example is drawn with probability `rate`; users rest after each draw of theirs.

    b_min_sep, Algorithm 3: a drawn example joins the batch unless an example of one of its users
    was *drawn* in the last `separation` - 1 steps, whether or not that one joined. No user has more
    than `examples_per_user` examples. The first `warm_up` rounds are drawn and thrown away; with
    `separation` - 1 of them every batch has the long-run law, and more change nothing. With
    `max_participations` a user stops after that many steps.

    A single example that is one user's only one is *not* sampled as by `MinSep`: there, draws while
    resting have no effect.
    """

    name: ClassVar[str] = "user-min-sep"
    draws_block: ClassVar[bool] = True

    @classmethod
    def _rate_for(cls, batch_size: float, attribution: Attribution, separation: int) -> float:
        """The smallest: beyond some rate draws block more than they add."""
        size = _LongRunSize(attribution, separation)
        lowest = min(batch_size / attribution.examples, size.rising_until)
        return smallest_rate(size, batch_size, lowest=lowest)

    def expected_batch_size(self, examples: int | Attribution) -> float:
        """The sum of rate * (1 - rate)^((separation - 1) |N(e)|) over the examples e.

        N(e) are the examples that share a user with e, which is one of them. This is exact from
        step `separation` on, and from the first after as many rounds of warm-up; earlier batches
        are larger. With `max_participations` batches shrink once users have stopped.
        """
        return _LongRunSize(self.check_attribution(examples), self.separation)(self.rate)


class _LongRunSize:
    """The expected batch size as a function of the rate.

    An example joins if it is drawn and no neighbour was in the last `separation` - 1 steps; the
    draws are independent.
    """

    def __init__(self, attribution: Attribution, separation: int) -> None:
        sizes, self._counts = np.unique(attribution.neighbourhood_sizes, return_counts=True)
        self._draws = (separation - 1) * sizes
        self.rising_until = 1 / (1 + float(self._draws[-1]))

    def __call__(self, rate: float) -> float:
        return rate * float(self._counts @ (1 - rate) ** self._draws)
