"""User-level b-min-sep sampling that forgets draws which did not join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hockeystick.schemes.conjectured_user_min_sep.simulated_size import (
    simulated_rate,
    simulated_size,
)
from hockeystick.schemes.min_sep.scheme import MinSep
from hockeystick.schemes.user_min_sep.attribution import Attribution
from hockeystick.schemes.user_min_sep.sampler import UserSampling

__all__ = ["ConjecturedUserMinSep"]


@dataclass(frozen=True, kw_only=True)
class ConjecturedUserMinSep(UserSampling):
    """Every example is drawn with probability `rate`; users rest after each batch they join.

    b_min_sep, Algorithm 4: a drawn example joins the batch unless an example of one of its users
    *joined* one of the last `separation` - 1 batches. Otherwise as `UserMinSep`, with larger
    batches at the same rate. That its privacy is that of a user alone is a conjecture (6.2 there),
    and guarantees about it are labelled so. For examples that several users share it is false, as
    for `UserMinSep`, and no such guarantee is given.

    Where no two examples share a user this is `MinSep` with a cold start.
    """

    name: ClassVar[str] = "conjectured-user-min-sep"
    draws_block: ClassVar[bool] = False
    conjectured: ClassVar[bool] = True

    @classmethod
    def _rate_for(cls, batch_size: float, attribution: Attribution, separation: int) -> float:
        """In closed form where no two examples share a user, else by bisection on a simulation.

        More than examples / separation is refused: at rate 1 that is what batches have.
        """
        alone = MinSep.for_batch_size(
            batch_size, examples=attribution.examples, separation=separation
        )
        if not attribution.shares_users:
            return alone.rate
        return simulated_rate(attribution, batch_size=batch_size, separation=separation)

    def expected_batch_size(self, examples: int | Attribution) -> float:
        """In the long run; exact where no two examples share a user.

        Otherwise the mean of a simulation with a fixed seed, whose standard error is about a third
        of a percent, and more for batches of less than 25. Early batches are larger without a
        warm-up; with `max_participations` batches shrink once users have stopped.
        """
        attribution = self.check_attribution(examples)
        if attribution.shares_users:
            return simulated_size(attribution, rate=self.rate, separation=self.separation)
        alone = MinSep(rate=self.rate, separation=self.separation)
        return alone.expected_batch_size(attribution.examples)
