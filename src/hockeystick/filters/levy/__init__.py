"""The Levy filter: times on one path add up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from hockeystick import _validate as check
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import InvalidParameter
from hockeystick.fdp.schedule import EqualSteps
from hockeystick.filters.base import Filter
from hockeystick.filters.charging import ROUNDING, SMALLEST_CHARGE, SMALLEST_SCALE
from hockeystick.filters.levy.charge import block_of, block_variance, charge_of, rounded_up
from hockeystick.filters.levy.process import LevyProcess
from hockeystick.filters.levy.search import ExpectedRun, designed
from hockeystick.filters.registry import parameters_of
from hockeystick.filters.request import Expected, GaussianStep, StepRequest, checked_expected, kept
from hockeystick.guarantee import Analysis, Guarantee
from hockeystick.ledger.heads import Where
from hockeystick.profile import Profile
from hockeystick.profile.expressions.composed import compose

__all__ = ["Levy"]

# The clip of the last request is close enough if it spends this share of what is left, or if the
# next longer scale that was too long is this close; each of at most so many tries is one charge, of
# some tenths of a second.
ENOUGH, CLOSE, MOST_TRIES = 0.99, 1.002, 16
# Steps with less noise are not compared with the process: their losses are beyond any lattice.
SMALLEST_NOISE = 1e-2


class Levy(Filter):
    """(epsilon, delta)-DP for any adaptive run whose times on a Levy path add up to the budget.

    The transcript is simulated from one path of a process D whose pairs satisfy D_s x D_t =
    D_(s+t). A block of steps M is charged the smallest time t with M x C <= D_t x C in Blackwell's
    order, C a Gaussian pair, the catalyst, that is paid for once; the guarantee is D_K x C. Larger
    blocks cost less than their steps one by one, typically by 2 to 10 %.

    Proven, in both directions, for any choice of steps and of when to stop; see docs/levy.md. With
    full batches only it is the Gaussian filter. Building takes some seconds; the first request of
    a setting (rounded to four digits, to the more expensive side) some tenths of a second, the same
    again microseconds.

    Parameters
    ----------
    epsilon, delta
        The guarantee of the whole run.
    expected
        Expected steps (rate, noise_multiplier, steps), as many of each as are expected, in
        proportion. The process is designed for them. Anything else may be requested as well, and
        costs more. The default is full batches.
    block
        Steps of one request. The default, 1, suits training, where every step is a request, and is
        within about 2 % of the steps for longer blocks; a process for long blocks makes single
        steps expensive.
    process
        Skips the design: the process of an earlier filter, for instance.
    ledger
        A path or a database URL in which the spending is kept; in memory by default.
    name
        Which budget of the ledger this is.
    must_exist, label
        Whether the budget has to be there, and who spends; see `Filter`.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.filters.Levy(epsilon=1.0, delta=1e-5)  # full batches: no design is needed
    >>> permit = f.request(noise_multiplier=10.0, steps=3)
    >>> round(permit.charge, 6), round(f.budget, 4)
    (0.03, 0.0719)
    """

    kind = "proven"
    unit = "time of the process"
    parameters = ("epsilon", "delta", "process")

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        expected: Expected | None = None,
        block: int = 1,
        process: LevyProcess | None = None,
        ledger: Where | None = None,
        name: str = "default",
        must_exist: bool | None = None,
        label: str = "",
    ) -> None:
        if not (process is None or isinstance(process, LevyProcess)):
            raise InvalidParameter("process", "a LevyProcess or None", process)
        self.epsilon = check.positive("epsilon", epsilon)
        self.delta = check.small_probability("delta", delta)
        block = check.positive_integer("block", block)
        expected = kept(expected)
        run = ExpectedRun(checked_expected(expected), self.epsilon, self.delta, block)
        self.process = designed(run) if process is None else process
        budget = self.process.largest_time(epsilon=self.epsilon, delta=self.delta)
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
            must_exist=must_exist,
            label=label,
            follows={"process": ("expected", expected)} if process is None else {},
        )

    @classmethod
    def for_target(cls, *, epsilon: float, delta: float, expected: Sequence[EqualSteps]) -> Levy:
        """The filter itself."""
        return cls(epsilon=epsilon, delta=delta, expected=expected)

    def describe(self) -> dict[str, object]:
        """With the process in one line of text."""
        return {**super().describe(), "process": self.process.as_text()}

    @classmethod
    def from_description(cls, description: Mapping[str, Any], **kept: Any) -> Self:
        """With the process to its last digit."""
        values = parameters_of(description, name=cls.__name__, parameters=cls.parameters)
        process = LevyProcess.from_text(values["process"])
        return cls(**{**values, "process": process}, **kept)

    def guarantee(self) -> Guarantee:
        """The profile of the process at the time K, with its catalyst, in both directions."""
        bound = ProfileBound(Profile(self.process.pair(self.budget)))
        return Guarantee((Analysis("levy filter", self.kind, bound),))

    # -- charges -----------------------------------------------------------------------------------

    def _charge(self, request: StepRequest) -> float:
        """Of the whole block: it is dominated as one mechanism."""
        if request.step is not None:
            key = (request.step, request.steps)
            if key not in self._charges:
                self._charges[key] = self._charge_of_block(request.step, request.steps)
            return self._charges[key]
        assert request.profile is not None
        block = compose([(request.profile.expression, request.steps)])
        if block not in self._charges:
            self._charges[block] = max(self._charge_of_profile(Profile(block)), SMALLEST_CHARGE)
        return self._charges[block]

    def _charge_of_block(self, step: GaussianStep, steps: int) -> float:
        noise = step.noise_multiplier / step.sensitivity
        whole = self._charge_of_full_batches(1 / noise, steps)
        if noise < SMALLEST_NOISE or (step.rate == 1.0 and not self.process.sizes):
            return whole
        rate, noise = rounded_up(step.rate, noise)
        key = (rate, noise, steps)
        if key not in self._blocks:
            found = charge_of(
                self.process,
                block_of(rate, noise, steps),
                limit=self.budget,
                variance=block_variance(rate, noise, steps),
            )
            self._blocks[key] = max(found * (1 + ROUNDING), SMALLEST_CHARGE)
            if steps > 1 and not found < math.inf:
                # Where no time was found for the block, those of its steps add up.
                self._blocks[key] = steps * self._charge_of_block(step, 1) * (1 + ROUNDING)
        return min(self._blocks[key], whole)

    def _charge_of_full_batches(self, mu: float, steps: int) -> float:
        """By the Gaussian part alone: sampling only helps."""
        if not self.process.gaussian > 0:
            return math.inf
        return max(mu * mu * steps / self.process.gaussian * (1 + ROUNDING), SMALLEST_CHARGE)

    def _charge_of_step(self, step: GaussianStep) -> float:
        return self._charge_of_block(step, 1)

    def _charge_of_profile(self, profile: Profile) -> float:
        return charge_of(self.process, profile.expression, limit=self.budget) * (1 + ROUNDING)

    # -- the last request -------------------------------------------------------------------------

    def _decide(
        self, request: StepRequest, charge: float, spent: float
    ) -> tuple[float, Mapping[str, object]]:
        """The charge and the clip scale, given what is spent."""
        left = self._budget - spent
        if charge <= left or request.step is None or not request.clip or not left > 0:
            return super()._decide(request, charge, spent)
        scale, clipped = self._clipped(request.step, request.steps, left)
        if not scale >= SMALLEST_SCALE:
            return super()._decide(replace(request, clip=False), charge, spent)
        return clipped, request.as_json(scale)

    def _largest_scale(self, step: GaussianStep, left: float) -> float:
        return self._clipped(step, 1, left)[0]

    def _clipped(self, step: GaussianStep, steps: int, left: float) -> tuple[float, float]:
        """A clip scale at which the block costs at most `left`, and what it is charged.

        That is all that is left, unless the charge jumps: beyond what the process was designed for.
        Charges are about proportional to the block's variance, which gives the next try.
        """
        if step.rate == 1.0 and not self.process.sizes:
            longest = math.sqrt(left * self.process.gaussian / steps) / step.mu
            return min(longest, 1.0) * (1 - ROUNDING), left
        best, charge, too_long, scale = 0.0, left, 1.0, 1.0
        for _ in range(MOST_TRIES):
            cost = self._charge_of_block(step.clipped(scale), steps)
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


def _scale_of(step: GaussianStep, steps: int, *, share: float, scale: float) -> float:
    """The clip scale at which a block has this share of the variance that it has at `scale`."""
    noise = step.noise_multiplier / step.sensitivity
    scales = np.geomspace(SMALLEST_SCALE, 1.0, 4000).tolist()
    found = [block_variance(step.rate, noise / one, steps) for one in scales]
    aim = share * block_variance(step.rate, noise / scale, steps)
    return float(scales[max(int(np.searchsorted(found, aim, side="right")) - 1, 0)])
