"""The realised schedule, priced afterwards and shown beside the claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hockeystick.fdp.realised import equal_steps_together, profile_of, stretch_of
from hockeystick.fdp.schedules import Stretch
from hockeystick.filters.request import as_number
from hockeystick.guarantee import Guarantee, directions_for
from hockeystick.ledger.store import Entry
from hockeystick.profile import DEFAULT_ACCURACY, Profile
from hockeystick.profile.refinement import Direction

__all__ = ["DIAGNOSTIC", "Audit", "Compared", "audit_of"]

DIAGNOSTIC = (
    "diagnostic only: the steps were chosen while the run went on, so the price of the realised "
    "schedule is no guarantee"
)
DELTAS = (1e-4, 1e-5, 1e-6, 1e-8)


class Compared(NamedTuple):
    """One delta: what the filter claims, and what the realised schedule costs."""

    delta: float
    claimed: float
    realised: float


@dataclass(frozen=True, eq=False)
class Audit:
    """The price of what was permitted, beside the filter's claim; printing it shows both.

    `realised` is None if nothing ran. `unpriced` counts requests whose profile this process does
    not know.
    """

    claim: Guarantee
    schedule: tuple[Stretch, ...]
    realised: Profile | None
    unpriced: int
    directions: tuple[Direction, ...]
    diagnostic = DIAGNOSTIC

    def epsilon(self, delta: float) -> Compared:
        """Both epsilons at one delta."""
        return Compared(delta, self.claim.epsilon(delta), self._realised(delta))

    def exceeds_claim(self, delta: float) -> bool:
        """Whether the realised schedule alone already costs more than the filter claims."""
        compared = self.epsilon(delta)
        return compared.realised > compared.claimed * (1 + DEFAULT_ACCURACY)

    def __str__(self) -> str:
        steps = sum(stretch.steps for stretch in self.schedule)
        lines = [
            f"claim: {self.claim.method}, {self.claim.kind}; realised: {steps} sampled Gaussian "
            f"steps in {len(self.schedule)} settings, {' and '.join(self.directions)}",
            f"{'delta':>10} {'claimed':>10} {'realised':>10}",
        ]
        lines += [
            f"{row.delta:>10.0e} {row.claimed:>10.4f} {row.realised:>10.4f}"
            for row in map(self.epsilon, DELTAS)
        ]
        if self.unpriced:
            lines.append(f"{self.unpriced} requests with profiles unknown here are not priced")
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
    stretches = [stretch_of(entry.request) for entry in counted if "profile" not in entry.request]
    schedule = equal_steps_together(one for one in stretches if one is not None)
    known = [
        profiles[entry.number].self_compose(int(as_number(entry.request["steps"])))
        for entry in others
        if entry.number in profiles
    ]
    return Audit(
        claim=claim,
        schedule=schedule,
        realised=profile_of(schedule, others=known),
        unpriced=len(others) - len(known) + stretches.count(None),
        directions=directions_for(direction),
    )
