"""Opacus' record of a run as a guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from hockeystick.accounting.account import account
from hockeystick.errors import InvalidParameter
from hockeystick.guarantee import Guarantee
from hockeystick.plan import Plan
from hockeystick.schemes import FullBatch, Poisson

__all__ = ["from_opacus"]


def from_opacus(accountant: Any) -> Guarantee:
    """What the steps that Opacus recorded guarantee, if its batches were Poisson samples.

    Opacus accounts every run as Poisson sampling. That is so for the loader that it makes with
    `poisson_sampling=True`; with shuffled batches the number is not a guarantee, and nothing in
    the record tells.

    Parameters
    ----------
    accountant
        An accountant of Opacus, its `state_dict()`, or its history: triples (noise multiplier,
        sample rate, steps).

    Returns
    -------
    Guarantee
        Of all steps together; proven and tight for Poisson batches.

    Examples
    --------
    >>> import hockeystick as hs
    >>> found = hs.interop.from_opacus([(1.0, 0.01, 500), (2.0, 0.01, 500)])
    >>> round(found.epsilon(1e-6), 2)
    1.65
    """
    steps = _history(accountant)
    return reduce(Guarantee.compose, (_phase(*one) for one in steps))


def _history(accountant: Any) -> list[tuple[float, float, int]]:
    """The triples, wherever they stand."""
    if isinstance(accountant, Mapping):
        found = accountant.get("history", ())
    else:
        found = getattr(accountant, "history", accountant)
    try:
        triples = [(float(noise), float(rate), int(steps)) for noise, rate, steps in found]
    except (TypeError, ValueError):
        triples = []
    if not triples:
        allowed = "an accountant of Opacus with at least one step, or its history"
        raise InvalidParameter("accountant", allowed, accountant)
    return triples


def _phase(noise: float, rate: float, steps: int) -> Guarantee:
    sampling = FullBatch() if rate == 1 else Poisson(rate=rate)
    return account(Plan(sampling=sampling, steps=steps), noise_multiplier=noise)
