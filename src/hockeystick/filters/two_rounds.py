"""The natural f-DP filter for two rounds of a one-parameter family: any noises, or any rates."""

from __future__ import annotations

from collections.abc import Mapping

from hockeystick import _validate as check
from hockeystick._numerics.law import Resolution, Side
from hockeystick.bounds.profiles import ProfileBound
from hockeystick.errors import BudgetExceeded, InvalidParameter
from hockeystick.filters.natural_fdp import ProfileBudget, exact_name, upper_profile
from hockeystick.filters.request import (
    Expected,
    GaussianStep,
    StepRequest,
    checked_expected,
    request_of,
)
from hockeystick.filters.residual.composition import NATS, StepClass, covers, law_of
from hockeystick.filters.stateful import StatefulFilter
from hockeystick.guarantee import Analysis, Guarantee, Kind
from hockeystick.ledger.heads import Where
from hockeystick.ledger.store import Entry
from hockeystick.profile import Profile

__all__ = ["TwoRounds"]

# Rounds for which the filter is proved (docs/adaptive.md).
ROUNDS = 2
# What the comparison may overlook, in H at every g, and what it cuts off; the guarantee has it.
SLACK, TAIL = 1e-12, 1e-14
# The grid of the comparison.
STEP = 0.005


class TwoRounds(ProfileBudget, StatefulFilter[list[GaussianStep]]):
    """The budget's profile, for two steps of a fixed rate with any noises, or of any rates.

    The natural filter over T steps is valid if all products of up to T - 1 members of the family
    are ordered [Tran26, Theorem 3.6]. For two steps these are the members themselves: steps of one
    rate are ordered by their noise and steps of one noise by their rate, infinitely many of them.
    A step is permitted if its product with the first one is dominated by the budget at every g > 0.
    Given the first output, every second step that is permitted lies in one chain, so that the
    strongest of any finitely many dominates the others, and by monotone convergence the supremum
    over all of them is within the budget too.

    Proven, in both directions; the comparison overlooks 1e-12, which the guarantee has. Steps are
    not clipped. Some hundredths of a second per request.

    Parameters
    ----------
    rate, noise_multiplier
        Exactly one of them: that of all steps. The other one is free.
    budget
        A profile, any one.
    expected
        Checked, and not used: there is nothing to choose.
    ledger, name
        Where the spending is kept, and under which name.
    must_exist, label
        Whether the budget has to be there, and who spends; see `Filter`.

    Examples
    --------
    >>> import hockeystick as hs
    >>> step = hs.Profile.gaussian(noise_multiplier=1.0).subsample(0.1)
    >>> f = hs.filters.TwoRounds(rate=0.1, budget=step.self_compose(2))
    >>> permits = [f.request(rate=0.1, noise_multiplier=one) for one in (1.3, 0.99)]
    >>> len(permits)
    2
    """

    kind: Kind = "proven"
    given_again = "its budget"
    unit = "rounds"

    def __init__(
        self,
        *,
        budget: Profile,
        rate: float | None = None,
        noise_multiplier: float | None = None,
        expected: Expected | None = None,
        ledger: Where | None = None,
        name: str = "default",
        must_exist: bool | None = None,
        label: str = "",
    ) -> None:
        checked_expected(expected)
        if (rate is None) == (noise_multiplier is None):
            given = (rate, noise_multiplier)
            raise InvalidParameter("rate, noise_multiplier", "exactly one of the two", given)
        self.rate = None if rate is None else check.sampling_rate("rate", rate)
        self.noise_multiplier = (
            None
            if noise_multiplier is None
            else check.noise_scale("noise_multiplier", noise_multiplier)
        )
        self._profile = upper_profile("budget", budget)
        self._law = self._profile.expression.law(Side.LOWER, Resolution(STEP, TAIL, NATS))
        fixed = {"rate": self.rate, "noise_multiplier": self.noise_multiplier}
        super().__init__(
            budget=float(ROUNDS),
            description={**fixed, "budget": exact_name(self._profile)},
            ledger=ledger,
            name=name,
            must_exist=must_exist,
            label=label,
        )

    def guarantee(self) -> Guarantee:
        """The budget's profile H, and what the comparison may overlook.

        With the probability k everything is told: k + (1 - k) H >= H + SLACK if k (1 - H) >= SLACK.
        """
        told = Profile.from_epsilon_delta(0.0, 2 * SLACK / (1 - self._profile.delta(0.0)))
        bound = ProfileBound(self._profile.compose(told))
        analysis = Analysis("natural f-DP filter", self.kind, bound)
        return Guarantee((analysis,))

    def _start(self) -> list[GaussianStep]:
        return []

    def _apply(self, state: list[GaussianStep], entry: Entry) -> None:
        if entry.status != "cancelled":
            found = request_of(entry.request, entry.status)
            assert found.step is not None
            state.extend([found.step] * found.steps)

    def _decision(
        self, state: list[GaussianStep], request: StepRequest, left: float
    ) -> tuple[float, Mapping[str, object]]:
        step = request.step
        if step is None or not self._is_member(step):
            fixed = f"rate {self.rate:g}" if self.rate else f"noise {self.noise_multiplier:g}"
            raise InvalidParameter("request", f"steps of {fixed}", request.as_json(1.0))
        if request.steps > left:
            raise BudgetExceeded(f"The order of products is known for {ROUNDS} rounds only.")
        counts: dict[StepClass, int] = {}
        for one in [*state, *[step] * request.steps]:
            kind = StepClass(one.rate, one.noise_multiplier / one.sensitivity)
            counts[kind] = counts.get(kind, 0) + 1
        product = law_of(counts, Side.UPPER, step=STEP, tail=TAIL)
        if not covers(self._law, product, SLACK):
            raise BudgetExceeded("With this step the product is not dominated by the budget.")
        return float(request.steps), request.as_json(1.0)

    def _is_member(self, step: GaussianStep) -> bool:
        if self.rate is not None:
            return step.rate == self.rate
        return step.noise_multiplier / step.sensitivity == self.noise_multiplier

    # -- what a filter with one number has to know -------------------------------------------------

    def _charge_of_step(self, step: GaussianStep) -> float:
        return 1.0

    def _largest_scale(self, step: GaussianStep, left: float) -> float:
        return 0.0
