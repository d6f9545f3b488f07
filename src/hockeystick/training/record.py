"""RunRecord: what really happened in a run, as far as a privacy statement needs it."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

from hockeystick import _validate as check
from hockeystick._version import __version__
from hockeystick.errors import InvalidParameter
from hockeystick.plan import Plan

__all__ = ["RunRecord", "versions_of"]


def versions_of(*packages: str) -> dict[str, str]:
    """The versions of hockeystick, NumPy and the named packages, as far as they are installed."""
    found = {"hockeystick": __version__}
    for package in ("numpy", *packages):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A run that has ended, or stands still: the plan, its noise, and the steps that were taken.

    `filter` is what `describe_filter` says about the filter that governed the run, or None. With a
    filter `noise_multiplier` and `max_grad_norm` are where the run started; steps may have had
    others. `seeded` says that batches and noise came from a seed or generator of the caller, which
    then has to be as secret as the data. `probe` is what the probe for influences between examples
    found, or None if none was run. `versions` are those of the software that ran.
    """

    plan: Plan
    noise_multiplier: float
    max_grad_norm: float
    taken_steps: int
    filter: Mapping[str, object] | None = None
    seeded: bool = False
    probe: Mapping[str, object] | None = None
    versions: Mapping[str, str] = field(default_factory=versions_of)

    def __post_init__(self) -> None:
        if not isinstance(self.plan, Plan):
            raise InvalidParameter("plan", "a Plan", self.plan)
        for name in ("noise_multiplier", "max_grad_norm"):
            object.__setattr__(self, name, check.positive(name, getattr(self, name)))
        object.__setattr__(self, "taken_steps", _steps_within(self.taken_steps, self.plan.steps))
        object.__setattr__(self, "seeded", check.boolean("seeded", self.seeded))

    @property
    def planned_steps(self) -> int:
        """The steps of the plan, for which a run without a filter is priced."""
        return self.plan.steps


def _steps_within(taken: int, planned: int) -> int:
    """An integer between 0 and the number of planned steps."""
    allowed = f"an integer in [0, {planned}], the planned steps"
    try:
        number = operator.index(taken)
    except TypeError:
        raise InvalidParameter("taken_steps", allowed, taken) from None
    if isinstance(taken, bool) or not 0 <= number <= planned:
        raise InvalidParameter("taken_steps", allowed, taken)
    return number
