"""The Levy filter: times on one path add up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hockeystick import _validate as check
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import InvalidParameter
from hockeystick.filters.base import ROUNDING, SMALLEST_PRICE, SMALLEST_SCALE, Filter
from hockeystick.filters.levy.charge import block_of, block_variance, price, rounded_up
from hockeystick.filters.levy.design import Wanted, designed, largest_time
from hockeystick.filters.levy.process import LevyProcess
from hockeystick.filters.request import Asked, Sampled
from hockeystick.guarantee import Analysis, Guarantee
from hockeystick.profile import Profile
from hockeystick.profile.expressions.composed import compose

__all__ = ["Levy"]

# How close the clip of the last request comes to what is left, and how often that is tried.
ENOUGH, CLOSE, MOST_TRIES = 0.99, 1.002, 16
# Steps with less noise are not compared with the process.
SMALLEST_NOISE = 1e-2


class Levy(Filter):
    """(epsilon, delta)-DP for any adaptive run whose times on a Levy path add up to the budget.

    The transcript is simulated from one path of a process D whose pairs satisfy D_s x D_t =
    D_(s+t). A block of steps M is charged the smallest time t with M x C <= D_t x C in Blackwell's
    order, C a Gaussian pair that is paid for once; the guarantee is D_K x C. The process is
    designed for what is expected: `rates` and `noise_multipliers` (a number, or several, each as
    often as it is expected) in blocks of `steps`. Anything else may be asked for as well, and
    costs more. Larger blocks are cheaper than their steps one by one.

    Proven, in both directions, for any choice of steps and of when to stop; see docs/levy.md. With
    full batches only it is the Gaussian filter. Building takes some seconds; the first request of
    a setting (rounded to four digits, to the dearer side) some tenths of a second, the same again
    microseconds. `process` skips the design: the one of an earlier filter, for instance.
    """

    kind = "proven"
    unit = "time of the process"

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        rates: float | Sequence[float] = 1.0,
        noise_multipliers: float | Sequence[float] = 1.0,
        steps: int = 1,
        process: LevyProcess | None = None,
        ledger: str | Path | None = None,
        name: str = "default",
    ) -> None:
        self.epsilon = check.positive("epsilon", epsilon)
        self.delta = check.small_probability("delta", delta)
        wanted = Wanted(
            rates=_several("rates", rates, largest=1.0),
            noise_multipliers=_several("noise_multipliers", noise_multipliers),
            steps=check.positive_integer("steps", steps),
            epsilon=self.epsilon,
            delta=self.delta,
        )
        self.process = designed(wanted) if process is None else process
        budget = largest_time(self.process, epsilon=self.epsilon, delta=self.delta)
        if not budget > 0:
            allowed = f"large enough for the process at delta = {self.delta:g}"
            raise InvalidParameter("epsilon", allowed, epsilon)
        self._blocks: dict[tuple[float, float, int], float] = {}
        super().__init__(
            budget=budget,
            description={
                "filter": "Levy",
                "epsilon": self.epsilon,
                "delta": self.delta,
                "process": self.process.as_json(),
            },
            ledger=ledger,
            name=name,
        )

    def guarantee(self) -> Guarantee:
        """The profile of the process at the time K, with its catalyst, in both directions."""
        bound = ProfileBound(Profile(self.process.pair(self.budget)))
        return Guarantee((Analysis("levy filter", self.kind, bound),))

    # -- prices -----------------------------------------------------------------------------------

    def _price(self, asked: Asked) -> float:
        """Of the whole block: it is dominated as one mechanism."""
        if asked.sampled is not None:
            key = (asked.sampled, asked.steps)
            if key not in self._prices:
                self._prices[key] = self._price_block(asked.sampled, asked.steps)
            return self._prices[key]
        assert asked.profile is not None
        block = compose([(asked.profile.expression, asked.steps)])
        if block not in self._prices:
            self._prices[block] = max(self._price_profile(Profile(block)), SMALLEST_PRICE)
        return self._prices[block]

    def _price_block(self, step: Sampled, steps: int) -> float:
        noise = step.noise_multiplier / step.sensitivity
        whole = self._price_full_batches(1 / noise, steps)
        if noise < SMALLEST_NOISE or (step.rate == 1.0 and not self.process.sizes):
            return whole
        rate, noise = rounded_up(step.rate, noise)
        key = (rate, noise, steps)
        if key not in self._blocks:
            found = price(
                self.process,
                block_of(rate, noise, steps),
                limit=self.budget,
                variance=block_variance(rate, noise, steps),
            )
            self._blocks[key] = max(found * (1 + ROUNDING), SMALLEST_PRICE)
        return min(self._blocks[key], whole)

    def _price_full_batches(self, mu: float, steps: int) -> float:
        """By the Gaussian part alone: sampling only helps."""
        if not self.process.gaussian > 0:
            return math.inf
        return max(mu * mu * steps / self.process.gaussian * (1 + ROUNDING), SMALLEST_PRICE)

    def _price_sampled(self, step: Sampled) -> float:
        return self._price_block(step, 1)

    def _price_profile(self, profile: Profile) -> float:
        return price(self.process, profile.expression, limit=self.budget) * (1 + ROUNDING)

    # -- the last request -------------------------------------------------------------------------

    def _decide(
        self, asked: Asked, price: float, spent: float
    ) -> tuple[float, Mapping[str, object]]:
        """The charge and the clip scale, given what is spent."""
        left = self._budget - spent
        if price <= left or asked.sampled is None or not asked.clip or not left > 0:
            return super()._decide(asked, price, spent)
        scale, charge = self._clipped(asked.sampled, asked.steps, left)
        if not scale >= SMALLEST_SCALE:
            return super()._decide(replace(asked, clip=False), price, spent)
        return charge, asked.as_json(scale)

    def _largest_scale(self, step: Sampled, left: float) -> float:
        return self._clipped(step, 1, left)[0]

    def _clipped(self, step: Sampled, steps: int, left: float) -> tuple[float, float]:
        """A clip scale at which the block costs at most `left`, and what it is charged.

        That is all that is left, unless the price jumps: beyond what the process was designed for.
        Prices are about proportional to the block's variance, which gives the next try.
        """
        if step.rate == 1.0 and not self.process.sizes:
            longest = math.sqrt(left * self.process.gaussian / steps) / step.mu
            return min(longest, 1.0) * (1 - ROUNDING), left
        best, charge, too_long, scale = 0.0, left, 1.0, 1.0
        for _ in range(MOST_TRIES):
            cost = self._price_block(step.shortened(scale), steps)
            if cost <= left:
                best, charge = scale, cost
            else:
                too_long = scale
            if ENOUGH * left <= cost <= left or best * CLOSE > too_long:
                break
            scale = _scale_of(step, steps, share=0.998 * left / cost, scale=scale)
            if not best < scale < too_long:
                scale = math.sqrt(max(best, too_long / 10) * too_long)
        return best, left if charge >= ENOUGH * left else charge


def _scale_of(step: Sampled, steps: int, *, share: float, scale: float) -> float:
    """The clip scale at which a block has this share of the variance that it has at `scale`."""
    noise = step.noise_multiplier / step.sensitivity
    scales = np.geomspace(SMALLEST_SCALE, 1.0, 4000).tolist()
    found = [block_variance(step.rate, noise / one, steps) for one in scales]
    aim = share * block_variance(step.rate, noise / scale, steps)
    return float(scales[max(int(np.searchsorted(found, aim, side="right")) - 1, 0)])


def _several(
    name: str, given: float | Sequence[float], *, largest: float = 1e9
) -> tuple[float, ...]:
    """One number or several, all positive."""
    allowed = f"one or more numbers in (0, {largest:g}]"
    values = np.atleast_1d(check.vector(name, given, allowed))
    if values.ndim != 1 or not values.size or not np.all((values > 0) & (values <= largest)):
        raise InvalidParameter(name, allowed, given)
    return tuple(values.tolist())
