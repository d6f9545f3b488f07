"""What an analysis declares about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hockeystick.guarantee import Analysis, Kind
from hockeystick.plan import Plan

__all__ = ["Method"]


@dataclass(frozen=True)
class Method:
    """A named analysis.

    `objection(plan)` is None if the method applies, otherwise one clause that says why not.
    `analyse(plan, noise_multiplier)` prices the plan; the noise multiplier is None exactly if the
    plan brings its own mechanism. `competes` says whether "auto" asks it: a method does not if
    another one that applies to the same plans is never worse.
    """

    name: str
    kind: Kind
    summary: str
    objection: Callable[[Plan], str | None]
    analyse: Callable[[Plan, float | None], Analysis]
    competes: bool = True
