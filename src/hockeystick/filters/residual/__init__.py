"""The residual filter: a composition fixed in advance, given away in any order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

from hockeystick import _validate as check
from hockeystick.errors import BudgetExceeded, InvalidParameter
from hockeystick.fdp.schedule import EqualSteps
from hockeystick.filters.charging import ROUNDING, SMALLEST_SCALE
from hockeystick.filters.registry import parameters_of
from hockeystick.filters.request import GaussianStep, StepRequest
from hockeystick.filters.residual.composition import StepClass, bound_of
from hockeystick.filters.residual.decision import Changes, Menus, applied
from hockeystick.filters.residual.menus import (
    ExpectedRanges,
    MenuDesign,
    MenuState,
    checked_ranges,
    least_noise,
    paid,
)
from hockeystick.filters.residual.search import designed
from hockeystick.filters.stateful import StatefulFilter
from hockeystick.guarantee import Analysis, Guarantee
from hockeystick.ledger.heads import Where
from hockeystick.ledger.store import Entry

__all__ = ["Residual"]

# Every request has a charge, so that the ledger sees that something has happened.
SMALLEST_SHARE = 2.0**-40
# A step with this many times the variance of the strongest one left may have been rounded: by 2 %.
ROUNDED = 1.1


class Residual(StatefulFilter[list[MenuState]]):
    """(epsilon, delta)-DP for any adaptive run that is served from menus of steps.

    The state is a composition R of steps that would be (epsilon, delta)-DP if it were fixed in
    advance. A request for M is granted if an R' is known with R >= M x R' in Blackwell's order, and
    R' is the next state: a step is paid for with one that dominates it; when there is none, a part
    of R is exchanged for steps of the wanted kind. So the whole run is a post-processing of the
    first composition, for any choice of steps and of when to stop. Several such compositions, the
    menus, share delta, and the run ends when none of them can pay.

    Proven, in both directions; see docs/residual.md. Building takes some seconds, a request some
    ten microseconds, copies hundredths of a second, an exchange about a second; slack limits them.

    Parameters
    ----------
    epsilon, delta
        The guarantee of the whole run.
    expected
        Expected steps (rate, noise_multiplier, steps), as many of each as are expected, in
        proportion; a rate or a noise multiplier may be a range (low, high), or (low, high, step) if
        it is rounded. Anything else may be requested as well, and costs more. The default is full
        batches.
    block
        How many steps a request has: in ranges the menu has as many equal ones.
    design
        Skips the search: the design of an earlier filter, for instance.
    ledger
        A path or a database URL in which the spending is kept; in memory by default.
    name
        Which budget of the ledger this is.
    must_exist, label
        Whether the budget has to be there, and who spends; see `Filter`.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.filters.Residual(epsilon=1.0, delta=1e-5, expected=[(1.0, (20.0, 40.0), 1)])
    >>> permit = f.request(noise_multiplier=31.4)
    >>> permit.clip_scale, f.guarantee().epsilon(delta=1e-5) <= 1.0
    (1.0, True)
    """

    kind = "proven"
    unit = "share of the menu"
    parameters = ("epsilon", "delta", "design")

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        expected: ExpectedRanges | None = None,
        block: int = 1,
        design: MenuDesign | None = None,
        ledger: Where | None = None,
        name: str = "default",
        must_exist: bool | None = None,
        label: str = "",
    ) -> None:
        if not (design is None or isinstance(design, MenuDesign)):
            raise InvalidParameter("design", "a MenuDesign or None", design)
        self.epsilon = check.positive("epsilon", epsilon)
        self.delta = check.small_probability("delta", delta)
        rows, block = checked_ranges(expected), check.positive_integer("block", block)
        self.design = (
            designed(rows, epsilon=self.epsilon, delta=self.delta, block=block)
            if design is None
            else design
        )
        self._bound = bound_of(self.design, self.delta)
        reached = self._bound.delta(self.epsilon, directions=("remove", "add"), accuracy=1.0).value
        if not reached <= self.delta:
            allowed = f"one with delta <= {self.delta:g} at epsilon = {self.epsilon:g}"
            raise InvalidParameter("design", allowed, f"delta = {reached:g}")
        self._menus = Menus(slack=self.design.slack, exchanges=self.design.exchanges)
        self._whole = [max(state.variance, math.ulp(0.0)) for state in self._start()]
        super().__init__(
            budget=1.0,
            description={
                "filter": "Residual",
                "epsilon": self.epsilon,
                "delta": self.delta,
                "design": self.design.as_json(),
            },
            ledger=ledger,
            name=name,
            must_exist=must_exist,
            label=label,
            follows={"design": ("expected", expected)} if design is None else {},
        )

    @classmethod
    def for_target(
        cls, *, epsilon: float, delta: float, expected: Sequence[EqualSteps]
    ) -> Residual:
        """The filter itself."""
        return cls(epsilon=epsilon, delta=delta, expected=expected)

    def describe(self) -> dict[str, object]:
        """With the design in one line of text."""
        return {**super().describe(), "design": self.design.as_text()}

    @classmethod
    def from_description(cls, description: Mapping[str, Any], **kept: Any) -> Self:
        """With the design to its last digit."""
        values = parameters_of(description, name=cls.__name__, parameters=cls.parameters)
        return cls(**{**values, "design": MenuDesign.from_text(values["design"])}, **kept)

    def guarantee(self) -> Guarantee:
        """The menus' profiles, added up, in both directions."""
        return Guarantee((Analysis("residual filter", self.kind, self._bound),))

    @property
    def menus(self) -> list[dict[tuple[float, float], int]]:
        """What is left: for each menu steps of each (rate, noise multiplier); empty if it ended."""
        with self._lock:
            self._refresh()
            return [
                {} if one.ended else {(*kind,): n for kind, n in one.counts.items() if n}
                for one in self._state
            ]

    # -- the state ---------------------------------------------------------------------------------

    def _start(self) -> list[MenuState]:
        return [MenuState(menu.start(), self.design.exchanges) for menu in self.design.menus]

    def _apply(self, state: list[MenuState], entry: Entry) -> None:
        applied(state, entry.request, cancelled=entry.status == "cancelled")

    def _decision(
        self, state: list[MenuState], request: StepRequest, left: float
    ) -> tuple[float, Mapping[str, object]]:
        scale: float = 1.0
        if request.step is None:
            assert request.profile is not None
            mechanism = request.profile.expression
            changes = self._menus.for_mechanism(state, mechanism, request.steps)
        else:
            noise = request.step.noise_multiplier / request.step.sensitivity
            wanted = StepClass(request.step.rate, noise)
            changes = self._menus.for_steps(state, wanted, request.steps, clip=request.clip)
            if changes is None and request.clip:
                scale, changes = self._clipped(state, request.step, request.steps)
        if changes is None:
            raise self._refusal(state, request.step)
        charge = self._share(state, changes)
        return min(charge, left / 2), {**request.as_json(scale), **changes.as_json()}

    def _clipped(
        self, state: list[MenuState], step: GaussianStep, steps: int
    ) -> tuple[float, Changes | None]:
        """The largest clip scale at which a menu can pay for the steps one by one."""
        noise = step.noise_multiplier / step.sensitivity
        found = [
            least
            for one in state
            if not one.ended
            for least in [least_noise(one, step.rate, noise, steps)]
            if least is not None
        ]
        if not found:
            return 0.0, None
        scale = noise / min(found) * (1 - ROUNDING)
        if not SMALLEST_SCALE <= scale <= 1:
            return 0.0, None
        clipped = step.clipped(scale)
        wanted = StepClass(step.rate, clipped.noise_multiplier / clipped.sensitivity)
        taken = {
            k: payment
            for k, one in enumerate(state)
            if not one.ended
            for payment in [paid(one, wanted, steps)]
            if payment is not None
        }
        ended = [k for k, one in enumerate(state) if not one.ended and k not in taken]
        return scale, Changes(taken=taken, ended=ended) if taken else None

    def _share(self, state: list[MenuState], changes: Changes) -> float:
        """By how much the fullest menu has shrunk: what the ledger counts."""
        before = after = 0.0
        for k, one in enumerate(state):
            if one.ended:
                continue
            here = one.variance
            before = max(before, here / self._whole[k])
            if k in changes.taken:
                lost = (*changes.taken[k].items(), *changes.given.get(k, {}).items())
                here -= math.fsum(kind.variance * n for kind, n in lost)
                here += math.fsum(kind.variance * n for kind, n in changes.got.get(k, {}).items())
                after = max(after, here / self._whole[k])
        return max(before - after, SMALLEST_SHARE)

    def _refusal(self, state: list[MenuState], step: GaussianStep | None) -> BudgetExceeded:
        """What is left, in the words of the user."""
        kinds = [(kind, n) for one in state if not one.ended for kind, n in one.counts.items() if n]
        rest = "nothing is left"
        if kinds:
            kind, _ = max(kinds, key=lambda one: one[0].variance)
            rest = f"steps up to rate {kind.rate:g} with noise from {kind.noise:g} on would fit"
            asked = None if step is None else step.noise_multiplier / step.sensitivity
            if step and asked and StepClass(step.rate, asked).variance <= ROUNDED * kind.variance:
                rest += "; if requests are rounded, announce (low, high, step) in expected"
        return BudgetExceeded(
            f"No menu of the filter ({self._meaning}) can pay for the request any more; {rest}.",
            page="docs/stopping.md#when-the-budget-is-used-up",
        )

    # -- what a filter with one number has to know -------------------------------------------------

    def _charge_of_step(self, step: GaussianStep) -> float:
        """Of one step at the start, as a share of the menu: requests are decided otherwise."""
        noise = step.noise_multiplier / step.sensitivity
        return StepClass(step.rate, noise).variance / self._whole[0]

    def _largest_scale(self, step: GaussianStep, left: float) -> float:
        return 1.0
