"""`account_prefixes`: what checkpoints guarantee whose numbers of steps are fixed in advance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hockeystick import _validate as check
from hockeystick.accounting import account
from hockeystick.guarantee import Guarantee
from hockeystick.plan import Plan, require_plan

__all__ = ["account_prefixes"]


@check.known_names_only
def account_prefixes(
    plan: Plan, steps: Iterable[int], *, noise_multiplier: float | None = None, **settings: Any
) -> dict[int, Guarantee]:
    """What the model guarantees after so many steps, for several numbers of steps at once.

    Each holds for a run of which only that model is released, and whose number of steps was fixed
    without looking at outputs. Of several released checkpoints together the last one's holds.

    Parameters
    ----------
    plan
        The whole run.
    steps
        After which the models are released; at most those of the plan.
    noise_multiplier, settings
        Those of `account`.

    Returns
    -------
    dict
        For each number of steps the guarantee of `plan.prefix(steps)`.

    Examples
    --------
    >>> import hockeystick as hs
    >>> plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=1000)
    >>> found = hs.account_prefixes(plan, [100, 1000], noise_multiplier=1.0)
    >>> {steps: round(one.epsilon(1e-5), 2) for steps, one in found.items()}
    {100: 0.72, 1000: 1.83}
    """
    require_plan(plan)
    return {
        number: account(plan.prefix(number), noise_multiplier=noise_multiplier, **settings)
        for number in steps
    }
