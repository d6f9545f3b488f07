"""The realised schedule, accounted for afterwards and shown beside the claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hockeystick.fdp.schedule import EqualSteps, merged, profile_of, recorded_steps
from hockeystick.filters.request import as_number
from hockeystick.guarantee import Guarantee, directions_for
from hockeystick.ledger.store import Entry
from hockeystick.profile import DEFAULT_ACCURACY, Profile
from hockeystick.profile.resolution import Direction

__all__ = ["DIAGNOSTIC", "Audit", "AuditPoint", "audit_of"]

DIAGNOSTIC = (
    "diagnostic only: the steps were chosen while the run went on, so the epsilon of the "
    "realised schedule is no guarantee"
)
# Rows of the printed table.
DELTAS = (1e-4, 1e-5, 1e-6, 1e-8)


class AuditPoint(NamedTuple):
    """One delta: the epsilon that the filter claims, and that of the realised schedule.

    Attributes
    ----------
    delta : float
        As given.
    claimed : float
        By the filter, however the steps were chosen.
    realised : float
        Of the steps, had they been fixed in advance: no guarantee.
    """

    delta: float
    claimed: float
    realised: float


@dataclass(frozen=True, eq=False)
class Audit:
    """Epsilon of what was permitted, beside the filter's claim; printing it shows both.

    Attributes
    ----------
    claim : Guarantee
        That of the filter.
    schedule : tuple of EqualSteps
        The sampled Gaussian steps that were permitted, equal ones together.
    realised : Profile or None
        Their composition, as if they had been fixed in advance; None if nothing ran.
    unaccounted : int
        Requests whose profile this process does not know.
    directions : tuple of str
        "add", "remove" or both.

    Examples
    --------
    >>> import hockeystick as hs
    >>> f = hs.filters.Gaussian(mu=1.0)
    >>> f.request(noise_multiplier=2.0).commit()
    >>> point = f.audit().epsilon(1e-5)
    >>> round(point.claimed, 2), round(point.realised, 2)
    (4.38, 1.99)
    """

    claim: Guarantee
    schedule: tuple[EqualSteps, ...]
    realised: Profile | None
    unaccounted: int
    directions: tuple[Direction, ...]
    diagnostic = DIAGNOSTIC

    def epsilon(self, delta: float) -> AuditPoint:
        """Both epsilons at one delta."""
        return AuditPoint(delta, self.claim.epsilon(delta), self._realised(delta))

    def exceeds_claim(self, delta: float) -> bool:
        """Whether the realised schedule alone already costs more than the filter claims."""
        compared = self.epsilon(delta)
        return compared.realised > compared.claimed * (1 + DEFAULT_ACCURACY)

    def __str__(self) -> str:
        steps = sum(part.steps for part in self.schedule)
        lines = [
            f"claim: {self.claim.method}, {self.claim.kind}; realised: {steps} sampled Gaussian "
            f"steps in {len(self.schedule)} settings, {' and '.join(self.directions)}",
            f"{'delta':>10} {'claimed':>10} {'realised':>10}",
        ]
        lines += [
            f"{row.delta:>10.0e} {row.claimed:>10.4f} {row.realised:>10.4f}"
            for row in map(self.epsilon, DELTAS)
        ]
        if self.unaccounted:
            lines.append(f"{self.unaccounted} requests with profiles unknown here are left out")
        if self.claim.note is not None:
            lines.append(f"claim: {self.claim.note}")
        return "\n".join([*lines, DIAGNOSTIC])

    def _realised(self, delta: float) -> float:
        if self.realised is None:
            return 0.0
        return self.realised.epsilon_bounds(delta, directions=self.directions).upper


def audit_of(
    history: Iterable[Entry],
    *,
    claim: Guarantee,
    profiles: Mapping[int, Profile],
    direction: str,
) -> Audit:
    """The audit of everything reserved or committed."""
    counted = [entry for entry in history if entry.status != "cancelled"]
    others = [entry for entry in counted if "profile" in entry.request]
    steps = [recorded_steps(entry.request) for entry in counted if "profile" not in entry.request]
    schedule = merged(one for one in steps if one is not None)
    known = [
        profiles[entry.number].self_compose(int(as_number(entry.request["steps"])))
        for entry in others
        if entry.number in profiles
    ]
    return Audit(
        claim=claim,
        schedule=schedule,
        realised=profile_of(schedule, others=known),
        unaccounted=len(others) - len(known) + steps.count(None),
        directions=directions_for(direction),
    )
