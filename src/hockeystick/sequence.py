"""Sequence: several plans on the same data, fixed in advance, as one run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hockeystick import _validate as check
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Accountable, Part, Plan

__all__ = ["Sequence"]


@dataclass(frozen=True, init=False, repr=False)
class Sequence(Accountable):
    """Several plans, run one after the other on the same data, each with its own relative noise.

    `account(sequence, noise_multiplier=s)` is the guarantee of all parts together, part i with the
    noise s * relative_noise_i; `calibrate(sequence, ...)` finds the common factor s. The profiles
    of the parts are composed, so the number is as tight as those of the parts are.

    All plans and noises are fixed before the first part begins. A later part may go on from the
    model that an earlier one released, but if its plan or its noise, or whether it is run at all,
    depends on what was seen, the composition does not hold: that needs a filter (`hs.filters`).

    Parameters
    ----------
    parts
        Pairs of a plan and its relative noise, above 0; a plan alone has relative noise 1. All of
        them protect the same unit.

    Raises
    ------
    InvalidParameter
        If there is no part, or the parts do not protect the same unit.

    Examples
    --------
    Noise that is half as large again in the second phase:

    >>> import hockeystick as hs
    >>> phase = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100)
    >>> sequence = hs.Sequence([(phase, 1.0), (phase, 1.5)])
    >>> found = hs.calibrate(sequence, epsilon=1.0, delta=1e-5)
    >>> [round(noise, 2) for noise in sequence.noise_multipliers(found.noise_multiplier)]
    [0.91, 1.37]
    >>> hs.account(sequence, noise_multiplier=found.noise_multiplier).epsilon(1e-5) <= 1.0
    True
    """

    _parts: tuple[Part, ...]

    def __init__(self, parts: Iterable[Plan | tuple[Plan, float]]) -> None:
        try:
            given = tuple(parts)
        except TypeError:
            raise InvalidParameter("parts", ALLOWED, parts) from None
        if not given:
            raise InvalidParameter("parts", "one plan or more", given)
        object.__setattr__(self, "_parts", tuple(_part(one) for one in given))
        units = [plan.sampling.unit for plan, _ in self.parts]
        if len(set(units)) > 1:
            raise InvalidParameter("parts", "plans that protect the same unit", units)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Named pairs (plan, relative_noise), in their order."""
        return self._parts

    def __repr__(self) -> str:
        return f"Sequence({[tuple(part) for part in self._parts]!r})"

    def noise_multipliers(self, factor: float) -> tuple[float, ...]:
        """The noise multipliers of the parts.

        Parameters
        ----------
        factor
            The common factor: what `calibrate` finds, and what `account` takes as the noise
            multiplier of the sequence.

        Returns
        -------
        tuple of float
            The factor times the relative noise of each part.

        Examples
        --------
        >>> import hockeystick as hs
        >>> plan = hs.Plan(sampling=hs.FullBatch(), steps=1)
        >>> hs.Sequence([plan, (plan, 2.0)]).noise_multipliers(1.5)
        (1.5, 3.0)
        """
        factor = check.positive("factor", factor)
        return tuple(factor * relative for _, relative in self.parts)

    def describe(self) -> dict[str, Any]:
        """The sequence as plain values, for JSON."""
        return {
            "parts": [
                {**plan.describe(), "relative_noise": relative} for plan, relative in self.parts
            ]
        }


ALLOWED = "plans, or pairs of a plan and its relative noise"


def _part(given: Any) -> Part:
    """A plan with its relative noise."""
    plan, relative = given if isinstance(given, tuple) and len(given) == 2 else (given, 1.0)
    if not isinstance(plan, Plan):
        raise InvalidParameter("parts", ALLOWED, given)
    if plan.mechanism is not None:
        allowed = "plans with Gaussian noise; compose other guarantees by Guarantee.compose"
        raise InvalidParameter("parts", allowed, plan)
    return Part(plan, check.positive("relative_noise", relative))
